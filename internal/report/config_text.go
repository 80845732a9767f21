package report

import (
	"bytes"
	"fmt"
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
