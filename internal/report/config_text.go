package report

import (
	"fmt"
	"strings"

	"dumptool/internal/dumpconf"
	"dumptool/internal/ui"
)

// excerptWidth is how wide lines of a file may become without a terminal.
const excerptWidth = 120

// findings prints the findings of a report in the manner of compilers, which
// editors know how to read. The name stands before each. Without a terminal
// messages are one line each; lines of the file are cut in any case.
func (p *printer) findings(name string, r *dumpconf.Report) {
	places := newConfigPlaces(r)
	for i := range r.Findings {
		f := &r.Findings[i]
		p.finding(name, f.Place, f.Severity.String(), p.of(f.Message)+configCodes(f))
		p.excerpt(places, f.Place)
		if f.Suggestion != "" {
			p.wrapped("      = ", "        ", p.say("suggestion: ", "建议：")+f.Suggestion)
		}
		for _, other := range f.Related {
			p.finding(name, other.Place, "note", p.of(other.Message))
			p.excerpt(places, other.Place)
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
func (p *printer) excerpt(places *configPlaces, at dumpconf.Place) {
	if !places.shown() {
		return
	}
	gutter := fmt.Sprintf("%5d |", at.Line)
	width := p.Width
	if width <= 0 {
		width = excerptWidth
	}
	start, end := places.span(at)
	e := newExcerpt(places.text, start, end, width-len(gutter)-1)
	caret := strings.TrimLeft(e.mark, " ")
	p.print(strings.TrimRight(gutter+" "+e.line, " ") + "\n")
	p.print(strings.Repeat(" ", len(gutter)-1) + "| " + strings.TrimSuffix(e.mark, caret) + p.paint(ui.Mark, caret) + "\n")
}
