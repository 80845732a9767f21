package jsonpos

import "bytes"

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
	damage int // offset behind which nothing is certain, -1 without
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
	d := &Document{src: src, damage: -1}
	if p := encodingProblem(src); p != nil {
		d.Problems = []Problem{*p}
		return d
	}
	p := parse(src)
	d.Root, d.Problems, d.More = p.root, p.problems, p.more
	d.conclude()
	return d
}

// Source returns the text the document was read from.
func (d *Document) Source() []byte { return d.src }

// Position returns line and column of a byte offset, both counted from 1.
// Columns are characters; a byte order mark is none.
func (d *Document) Position(offset int) (line, column int) { return d.Cursor().Position(offset) }

// Cursor finds positions in one pass when it is asked in file order.
type Cursor struct {
	src          []byte
	offset       int
	line, column int
}

// Cursor returns a cursor at the start of the text.
func (d *Document) Cursor() *Cursor { return &Cursor{d.src, 0, 1, 1} }

// Position is like that of Document.
func (c *Cursor) Position(offset int) (line, column int) {
	offset = min(max(offset, 0), len(c.src))
	if offset < c.offset || c.offset < len(bom) {
		*c = Cursor{c.src, 0, 1, 1}
	}
	text := c.src[c.offset:offset]
	if c.offset == 0 {
		text = bytes.TrimPrefix(text, []byte(bom))
	}
	c.offset = offset
	c.line, c.column = advance(c.line, c.column, text)
	return c.line, c.column
}
