package report

import (
	"dumptool/internal/dumpconf"
	"dumptool/internal/ui"
)

// ConfigExplanation says how an explanation is printed.
type ConfigExplanation struct {
	Lang Lang
	// Width is the number of columns of the terminal; 0 breaks no lines.
	Width int
}

// Append appends an explanation as text: the name of the file and its schema,
// then the sections with their lines below.
func (c ConfigExplanation) Append(dst []byte, name string, e *dumpconf.Explanation) []byte {
	dst = append(dst, ui.Escape(name)+" ("+e.Schema.String()+")\n"...)
	text := ConfigText{Width: c.Width}
	for _, s := range e.Sections {
		dst = append(dst, "\n"+c.Lang.Text(s.Title)+"\n"...)
		for _, line := range s.Lines {
			dst = text.wrapped(dst, "  - ", ui.Escape(c.Lang.Text(line)))
		}
	}
	return dst
}

// explanationJSON is the JSON form of an explanation.
type explanationJSON struct {
	File     string         `json:"file"`
	Schema   string         `json:"schema"`
	Active   bool           `json:"active"`
	Error    *configFinding `json:"error,omitempty"`
	Sections []sectionJSON  `json:"sections"`
	Patterns []string       `json:"patterns"`
	Commands []string       `json:"commands"`
}

type sectionJSON struct {
	Name  string   `json:"name"`
	Title string   `json:"title"`
	Lines []string `json:"lines"`
}

// AppendJSON appends an explanation as a JSON object on one line, without a
// newline. refused is what the runtime refuses first, or nil.
func (c ConfigExplanation) AppendJSON(dst []byte, name string, e *dumpconf.Explanation, refused *dumpconf.Finding) []byte {
	form := explanationJSON{
		File: name, Schema: e.Schema.String(), Active: e.Active, Sections: []sectionJSON{},
		Patterns: append([]string{}, e.Patterns...), Commands: append([]string{}, e.Commands...),
	}
	if refused != nil {
		f := configFindingJSON(refused)
		form.Error = &f
	}
	for _, s := range e.Sections {
		section := sectionJSON{Name: s.Name, Title: c.Lang.Text(s.Title), Lines: []string{}}
		for _, line := range s.Lines {
			section.Lines = append(section.Lines, c.Lang.Text(line))
		}
		form.Sections = append(form.Sections, section)
	}
	return append(dst, marshal(form, "")...)
}
