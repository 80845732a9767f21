package jsonpos

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// Limits of what is read; a text beyond them is reported and not read on.
const (
	MaxDepth    = 64      // levels of brackets
	MaxValues   = 1 << 20 // values in the document
	MaxProblems = 100     // problems that are listed
)

// Document is a text that was read.
type Document struct {
	Root     *Value // nil when there is no value at all
	Problems []Problem
	// More says that there are more problems than Problems lists.
	More bool

	src    []byte
	lines  []int // offset of the first byte of each line
	damage int   // offset behind which nothing is certain, -1 without
}

// Valid reports whether the text is JSON.
func (d *Document) Valid() bool { return len(d.Problems) == 0 }

// Damage returns the place of the first problem of quotes or brackets, behind
// which the document may not be what was meant. It returns false when there is
// none.
func (d *Document) Damage() (offset int, damaged bool) { return d.damage, d.damage >= 0 }

// Parse reads a text. It never fails: what is wrong is listed in Problems. A
// text in UTF-16 or without any text is not read; see FromUTF16.
//
// Reading goes on behind a problem of quotes or brackets, but no problem
// behind it is listed. Problems have edits only when those of all together
// make the text JSON that reads the same.
func Parse(src []byte) *Document {
	d := &Document{src: src, lines: lineStarts(src), damage: -1}
	if pr, bad := encodingProblem(src); bad {
		d.Problems = []Problem{pr}
		return d
	}
	p := parse(src)
	d.Root, d.Problems, d.More = p.root, p.problems, p.more
	d.settle()
	return d
}

// parse reads a text that is UTF-8.
func parse(src []byte) *parser {
	p := &parser{src: src, textEnd: len(bytes.TrimRight(src, " \t\r\n"))}
	p.root = p.document()
	return p
}

// Source returns the text the document was read from.
func (d *Document) Source() []byte { return d.src }

// Position returns line and column of a byte offset, both counted from 1.
// Columns are characters; a byte order mark is none.
func (d *Document) Position(offset int) (line, column int) {
	offset = min(max(offset, 0), len(d.src))
	i := d.lineOf(offset)
	text := d.src[d.lines[i]:offset]
	if i == 0 && len(text) >= len(bom) && string(text[:len(bom)]) == bom {
		text = text[len(bom):]
	}
	return i + 1, utf8.RuneCount(text) + 1
}

// lineOf returns the index of the line that holds an offset.
func (d *Document) lineOf(offset int) int { return sort.SearchInts(d.lines, offset+1) - 1 }

func lineStarts(src []byte) []int {
	lines := []int{0}
	for i, b := range src {
		if b == '\n' {
			lines = append(lines, i+1)
		}
	}
	return lines
}

// Cursor finds positions in one pass when it is asked in file order.
type Cursor struct {
	d            *Document
	offset       int
	line, column int
}

// Cursor returns a cursor at the start of the text.
func (d *Document) Cursor() *Cursor { return &Cursor{d: d, line: 1, column: 1} }

// Position is like that of Document.
func (c *Cursor) Position(offset int) (line, column int) {
	d := c.d
	offset = min(max(offset, 0), len(d.src))
	if c.offset >= len(bom) && offset >= c.offset && (c.line == len(d.lines) || offset < d.lines[c.line]) {
		c.column += utf8.RuneCount(d.src[c.offset:offset])
	} else {
		c.line, c.column = d.Position(offset)
	}
	c.offset = offset
	return c.line, c.column
}
