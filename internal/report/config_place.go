package report

import (
	"bytes"
	"unicode/utf8"

	"dumptool/internal/dumpconf"
	"dumptool/internal/jsonpos"
)

// configPlaces finds places of a report in the text that was read. Asked in
// file order it goes over the text once.
type configPlaces struct {
	text []byte
	// wide says that the file is UTF-16: the offsets of places are its own,
	// not those of the text.
	wide bool
	// The last place that was asked for, of a wide file.
	line, column, offset int
}

func newConfigPlaces(r *dumpconf.Report) *configPlaces {
	p := &configPlaces{text: r.Doc.Source(), line: 1, column: 1}
	for i := range r.Doc.Problems {
		switch r.Doc.Problems[i].Cause {
		case jsonpos.UTF16:
			p.wide = true
			if r.Doc.Root == nil {
				p.text = nil
			}
		case jsonpos.Binary:
			p.text = nil
		}
	}
	return p
}

// shown reports whether there is a text to show places in.
func (p *configPlaces) shown() bool { return len(p.text) > 0 }

// span returns the bytes of the text that a place covers.
func (p *configPlaces) span(at dumpconf.Place) (start, end int) {
	if !p.wide {
		start = min(max(at.Offset, 0), len(p.text))
		return start, start + min(max(at.Length, 0), len(p.text)-start)
	}
	start = p.find(at.Line, at.Column)
	end = start
	for left := at.Length; left > 0 && end < len(p.text); {
		r, n := utf8.DecodeRune(p.text[end:])
		end += n
		left -= 2
		if r > 0xffff {
			left -= 2
		}
	}
	return start, end
}

// find returns the offset of a line and column.
func (p *configPlaces) find(line, column int) int {
	if line < p.line || line == p.line && column < p.column {
		p.line, p.column, p.offset = 1, 1, 0
	}
	for p.line < line {
		i := bytes.IndexByte(p.text[p.offset:], '\n')
		if i < 0 {
			return len(p.text)
		}
		p.offset += i + 1
		p.line, p.column = p.line+1, 1
	}
	for p.column < column && p.offset < len(p.text) {
		_, n := utf8.DecodeRune(p.text[p.offset:])
		p.offset += n
		p.column++
	}
	return p.offset
}

// end returns line and column behind a place.
func (p *configPlaces) end(at dumpconf.Place) (line, column int) {
	start, end := p.span(at)
	covered := p.text[start:end]
	if i := bytes.LastIndexByte(covered, '\n'); i >= 0 {
		return at.Line + bytes.Count(covered, []byte{'\n'}), utf8.RuneCount(covered[i+1:]) + 1
	}
	return at.Line, at.Column + utf8.RuneCount(covered)
}
