package report

import (
	"io"

	"dumptool/internal/dumpconf"
	"dumptool/internal/ui"
)

// ConfigExplanation is the explanation of a file.
type ConfigExplanation struct {
	Name string
	*dumpconf.Explanation
	Refused *dumpconf.Finding // what the runtime refuses first, or nil
}

// WriteConfigExplanation writes an explanation: the name of the file and its schema,
// then the sections with their lines below.
func (t Text) WriteConfigExplanation(w io.Writer, e *ConfigExplanation) error {
	p := t.to(w)
	p.print(ui.Escape(ConfigName(e.Name)) + " (" + e.Schema.String() + ")\n")
	for _, s := range e.Sections {
		p.print("\n" + t.Lang.Text(s.Title) + "\n")
		for _, line := range s.Lines {
			p.wrapped("  - ", "    ", t.Lang.Text(line))
		}
	}
	return p.err
}

// WriteConfigExplanationJSON writes an explanation as an object on one line.
func WriteConfigExplanationJSON(w io.Writer, e *ConfigExplanation) error {
	type section = dumpconf.Section
	sections := Table[section]{Rows: e.Sections, Columns: []Column[section]{
		words("name", func(s section) string { return s.Name }),
		words("title", func(s section) string { return s.Title.EN }),
		words("lines", func(s section) any {
			lines := []string{}
			for _, line := range s.Lines {
				lines = append(lines, line.EN)
			}
			return lines
		}),
	}}
	return writeLine(w, struct {
		File     string            `json:"file"`
		Schema   string            `json:"schema"`
		Active   bool              `json:"active"`
		Error    *dumpconf.Finding `json:"error,omitempty"`
		Sections Table[section]    `json:"sections"`
		Patterns []string          `json:"patterns"`
		Commands []string          `json:"commands"`
	}{e.Name, e.Schema.String(), e.Active, e.Refused, sections, list(e.Patterns), list(e.Commands)})
}
