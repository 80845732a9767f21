package report

import (
	"fmt"
	"strings"

	"dumptool/internal/dumpconf"
	"dumptool/internal/ui"
)

// ConfigText says how findings are printed for people: in the manner of
// compilers, which editors know how to read.
type ConfigText struct {
	// Width is the number of columns of the terminal. With 0 messages are one
	// line each; lines of the file are cut in any case.
	Width int
}

// excerptWidth is how wide lines of a file may become without a terminal.
const excerptWidth = 120

// Append appends all findings of a report. The name stands before each.
func (c ConfigText) Append(dst []byte, name string, r *dumpconf.Report) []byte {
	places := newConfigPlaces(r)
	for i := range r.Findings {
		f := &r.Findings[i]
		dst = c.heading(dst, name, f.Place, f.Severity.String(), f.Message+configCodes(f))
		dst = c.excerpt(dst, places, f.Place)
		if f.Suggestion != "" {
			dst = c.wrapped(dst, "      = ", "suggestion: "+ui.Escape(f.Suggestion))
		}
		for _, other := range f.Related {
			dst = c.heading(dst, name, other.Place, "note", other.Message)
			dst = c.excerpt(dst, places, other.Place)
		}
	}
	return dst
}

// configCodes names the rule of a finding and the runtime's own code.
func configCodes(f *dumpconf.Finding) string {
	if f.Code == "" {
		return " [" + f.Rule + "]"
	}
	return " [" + f.Rule + ", " + f.Code + "]"
}

// heading appends where something is, how bad it is and what.
func (c ConfigText) heading(dst []byte, name string, at dumpconf.Place, kind, message string) []byte {
	line := fmt.Sprintf("%s:%d:%d: %s: %s", ui.Escape(name), at.Line, at.Column, kind, ui.Escape(message))
	for i, part := range wrap(line, c.Width, c.Width-len(tabText)) {
		if i > 0 {
			dst = append(dst, tabText...)
		}
		dst = append(dst, part+"\n"...)
	}
	return dst
}

// excerpt appends the line of a place, and a mark below it.
func (c ConfigText) excerpt(dst []byte, places *configPlaces, at dumpconf.Place) []byte {
	if !places.shown() {
		return dst
	}
	gutter := fmt.Sprintf("%5d |", at.Line)
	width := c.Width
	if width <= 0 {
		width = excerptWidth
	}
	start, end := places.span(at)
	e := newExcerpt(places.text, start, end, width-len(gutter)-1)
	for _, line := range []string{gutter + " " + e.line, strings.Repeat(" ", len(gutter)-1) + "| " + e.mark} {
		dst = append(dst, strings.TrimRight(line, " ")+"\n"...)
	}
	return dst
}

// wrapped appends a text behind a mark.
func (c ConfigText) wrapped(dst []byte, mark, text string) []byte {
	room := c.Width - len(mark)
	if c.Width > 0 {
		room = max(room, 1)
	}
	for i, part := range wrap(text, room, room) {
		if i > 0 {
			mark = strings.Repeat(" ", len(mark))
		}
		dst = append(dst, mark+part+"\n"...)
	}
	return dst
}
