package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"dumptool/internal/dumpconf"
	"dumptool/internal/jsonpos"
	"dumptool/internal/ui"
)

// excerptWidth is how wide lines of a file may become without a terminal.
const excerptWidth = 120

// findings prints the findings of a report in the manner of compilers, which
// editors know how to read. The name stands before each. Without a terminal
// messages are one line each; lines of the file are cut in any case.
func (p *printer) findings(name string, r *dumpconf.Report) {
	text := configTextOf(r)
	for i := range r.Findings {
		f := &r.Findings[i]
		p.finding(name, f.Place, f.Severity.String(), p.of(f.Message)+configCodes(f))
		p.excerpt(text, f.Place)
		if f.Suggestion != "" {
			p.wrapped("      = ", "        ", p.say("suggestion: ", "建议：")+f.Suggestion)
		}
		for _, other := range f.Related {
			p.finding(name, other.Place, "note", p.of(other.Message))
			p.excerpt(text, other.Place)
		}
	}
}

// configCodes names the rule of a finding and the runtime's own code.
func configCodes(f *dumpconf.Finding) string {
	if f.Code == "" {
		return " [" + f.Rule + "]"
	}
	return " [" + f.Rule + ", " + f.Code + "]"
}

// finding prints where something is, how bad it is and what.
func (p *printer) finding(name string, at dumpconf.Place, kind, message string) {
	p.wrappedWith(kind, "", tabText, fmt.Sprintf("%s:%d:%d: %s: %s", name, at.Line, at.Column, kind, message))
}

// excerpt prints the line of a place, and a mark below it.
func (p *printer) excerpt(text configText, at dumpconf.Place) {
	if len(text) == 0 {
		return
	}
	gutter := fmt.Sprintf("%5d |", at.Line)
	width := p.Width
	if width <= 0 {
		width = excerptWidth
	}
	start, end := text.span(at)
	e := newExcerpt(text, start, end, width-len(gutter)-1)
	caret := strings.TrimLeft(e.mark, " ")
	p.print(strings.TrimRight(gutter+" "+e.line, " ") + "\n")
	p.print(strings.Repeat(" ", len(gutter)-1) + "| " + strings.TrimSuffix(e.mark, caret) + p.paint(ui.Mark, caret) + "\n")
}

// configText is the text that places of a report are in; nothing where there is no text
// that could be shown.
type configText []byte

func configTextOf(r *dumpconf.Report) configText {
	noText := func(p jsonpos.Problem) bool {
		return p.Cause == jsonpos.Binary || p.Cause == jsonpos.UTF16 && r.Doc.Root == nil
	}
	if slices.ContainsFunc(r.Doc.Problems, noText) {
		return nil
	}
	return r.Doc.Source()
}

// span returns the bytes of the text that a place covers.
func (t configText) span(at dumpconf.Place) (start, end int) {
	start = min(max(at.Offset, 0), len(t))
	return start, start + min(max(at.Length, 0), len(t)-start)
}

// end returns line and column behind a place.
func (t configText) end(at dumpconf.Place) (line, column int) {
	start, end := t.span(at)
	covered := t[start:end]
	if i := bytes.LastIndexByte(covered, '\n'); i >= 0 {
		return at.Line + bytes.Count(covered, []byte{'\n'}), utf8.RuneCount(covered[i+1:]) + 1
	}
	return at.Line, at.Column + utf8.RuneCount(covered)
}

// excerpt is a line of a text, or the part of it around a place.
type excerpt struct {
	line string
	mark string // carets that stand below the place
}

const (
	ellipsis = "…"
	tabText  = "    " // a tab, of which no terminal knows how wide it was meant
)

// newExcerpt returns the line on which the bytes from start to end of a text
// begin. Of a line that has more than room columns it keeps those around the
// place. It looks at no more of the text than it needs.
func newExcerpt(text []byte, start, end, room int) excerpt {
	room = max(room, 8)
	before, atStart := cellsBefore(text[:start], room)
	line, atEnd := cellsAfter(text[start:end], room)
	place := len(line) // the cells of the place
	if atEnd && bytes.IndexByte(text[start:end], '\n') < 0 {
		var after []string
		after, atEnd = cellsAfter(text[end:], room)
		line = append(line, after...)
	}
	lead, rest := columnsOf(before), columnsOf(line)
	if !atStart || lead+rest > room || !atEnd {
		keep := room - 2 // an ellipsis on either side
		if !atStart || lead > keep/2 {
			lead = max(keep/3, keep-rest)
		}
		before = lastColumns(before, lead, !atStart)
		all := len(line)
		line = firstColumns(line, room-columnsOf(before)-1, !atEnd)
		atEnd = atEnd && len(line) == all
	}
	tail := ""
	if !atEnd {
		tail = ellipsis
	}
	place = min(place, len(line))
	return excerpt{
		line: strings.TrimRight(strings.Join(before, "")+strings.Join(line, "")+tail, " "),
		mark: strings.Repeat(" ", columnsOf(before)) + "^" + strings.Repeat("~", max(0, columnsOf(line[:place])-1)),
	}
}

// columnsOf is the width of cells.
func columnsOf(cells []string) int {
	width := 0
	for _, cell := range cells {
		width += ui.Columns.StringWidth(cell)
	}
	return width
}

// cellsBefore returns what stands before the end of text on its line, a cell for
// each character; not more than a little over room columns. whole is false when
// there is more of the line.
func cellsBefore(text []byte, room int) (cells []string, whole bool) {
	width := 0
	for len(text) > 0 && text[len(text)-1] != '\n' && width <= room {
		r, n := utf8.DecodeLastRune(text)
		cells = append(cells, cellOf(r, text[len(text)-n:]))
		width += ui.Columns.StringWidth(cells[len(cells)-1])
		text = text[:len(text)-n]
	}
	slices.Reverse(cells)
	return cells, len(text) == 0 || text[len(text)-1] == '\n'
}

// cellsAfter is like cellsBefore for what stands at the start of text.
func cellsAfter(text []byte, room int) (cells []string, whole bool) {
	ends := func() bool { return len(text) == 0 || text[0] == '\n' || bytes.HasPrefix(text, []byte("\r\n")) }
	for width := 0; !ends() && width <= room; {
		r, n := utf8.DecodeRune(text)
		cells = append(cells, cellOf(r, text[:n]))
		width += ui.Columns.StringWidth(cells[len(cells)-1])
		text = text[n:]
	}
	return cells, ends()
}

// cellOf returns what is shown for a character.
func cellOf(r rune, bytes []byte) string {
	if r == '\t' {
		return tabText
	}
	return ui.Escape(string(bytes))
}

// lastColumns keeps the last columns of cells, behind an ellipsis when
// something was or is cut away.
func lastColumns(cells []string, columns int, cut bool) []string {
	i := len(cells)
	for width := 0; i > 0; i-- {
		if width += ui.Columns.StringWidth(cells[i-1]); width > columns {
			break
		}
	}
	if i > 0 || cut {
		return append([]string{ellipsis}, cells[i:]...)
	}
	return cells
}

// firstColumns keeps the first columns of cells. The last cell of a line may take
// the column of an ellipsis, unless something was cut away already.
func firstColumns(cells []string, columns int, cut bool) []string {
	width := 0
	for i, cell := range cells {
		width += ui.Columns.StringWidth(cell)
		if width > columns && (i+1 < len(cells) || cut || width > columns+1) {
			return cells[:i]
		}
	}
	return cells
}

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
