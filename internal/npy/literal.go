package npy

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
)

// kind is the type of a Python literal.
type kind uint8

const (
	kindNone kind = iota
	kindBool
	kindInt
	kindString
	kindBytes
	kindTuple
	kindList
	kindDict
)

// headerKeys are the keys of a header.
var headerKeys = []string{"descr", "fortran_order", "shape"}

// literal is one Python literal of a header. Of containers only what a header
// may hold is kept, so that a literal takes no more room than its source.
type literal struct {
	kind    kind
	pos     int                // in the header text
	end     int                // in the header text
	num     int64              // of an int; 0 or 1 of a bool
	text    string             // of a string
	ints    []int64            // of a tuple
	mixed   bool               // the tuple has other items too
	entries map[string]literal // of a dict: the header keys
	stray   *literal           // of a dict: the first other key
}

// parser reads the header text the way ast.literal_eval does, with the L
// suffix of Python 2 integers. It knows what a header can be made of: numbers
// other than integers, sets and the Ellipsis are errors.
type parser struct {
	text []byte
	off  int64 // of the text in the file
	pos  int
}

// maxDepth is the number of nested brackets that Python takes.
const maxDepth = 200

// parse reads the whole text as one literal.
func (p *parser) parse() (literal, error) {
	lit, err := p.value(0)
	if err != nil {
		return literal{}, err
	}
	p.space()
	if p.pos < len(p.text) {
		return literal{}, p.unexpected("the end of the header")
	}
	return lit, nil
}

func (p *parser) value(depth int) (literal, error) {
	if depth > maxDepth {
		return literal{}, p.unexpected("fewer nested brackets")
	}
	p.space()
	switch c := p.peek(); {
	case c == '{':
		return p.dict(depth)
	case c == '(':
		return p.sequence(kindTuple, ')', depth)
	case c == '[':
		return p.sequence(kindList, ']', depth)
	case c == '+' || c == '-':
		return p.signed(depth)
	case isDigit(c):
		return p.number()
	}
	if lit, ok := p.constant(); ok {
		return lit, nil
	}
	return p.stringTokens()
}

// sequence reads a tuple or list; a value in parentheses without a comma is
// the value itself.
func (p *parser) sequence(k kind, closer byte, depth int) (literal, error) {
	lit := literal{kind: k, pos: p.pos}
	p.pos++
	var last literal
	items, commas := 0, 0
	for p.space(); !p.take(closer); p.space() {
		if items > commas {
			return literal{}, p.unexpected("a comma or " + string(closer))
		}
		var err error
		if last, err = p.value(depth + 1); err != nil {
			return literal{}, err
		}
		items++
		if last.kind != kindInt {
			lit.mixed = true
		} else if k == kindTuple {
			lit.ints = append(lit.ints, last.num)
		}
		if p.space(); p.take(',') {
			commas++
		}
	}
	if k == kindTuple && items == 1 && commas == 0 {
		last.pos = lit.pos
		lit = last
	}
	lit.end = p.pos
	return lit, nil
}

// dict reads a dict; of equal keys the last counts.
func (p *parser) dict(depth int) (literal, error) {
	lit := literal{kind: kindDict, pos: p.pos}
	p.pos++
	comma := true
	for p.space(); !p.take('}'); p.space() {
		if !comma {
			return literal{}, p.unexpected("a comma or }")
		}
		key, err := p.value(depth + 1)
		if err != nil {
			return literal{}, err
		}
		if p.space(); !p.take(':') {
			return literal{}, p.unexpected("a colon")
		}
		value, err := p.value(depth + 1)
		if err != nil {
			return literal{}, err
		}
		lit.enter(key, value)
		p.space()
		comma = p.take(',')
	}
	lit.end = p.pos
	return lit, nil
}

// enter adds an entry to a dict.
func (lit *literal) enter(key, value literal) {
	if key.kind == kindString && slices.Contains(headerKeys, key.text) {
		if lit.entries == nil {
			lit.entries = map[string]literal{}
		}
		lit.entries[key.text] = value
	} else if lit.stray == nil {
		lit.stray = &literal{pos: key.pos, end: key.end}
	}
}

// signed reads an integer after a sign; Python takes no second one.
func (p *parser) signed(depth int) (literal, error) {
	pos := p.pos
	negative := p.text[pos] == '-'
	p.pos++
	if p.space(); p.peek() == '+' || p.peek() == '-' {
		return literal{}, p.unexpected("a number")
	}
	lit, err := p.value(depth + 1)
	if err != nil {
		return literal{}, err
	}
	if lit.kind != kindInt {
		return literal{}, p.wrong(lit, "sign is not followed by a number")
	}
	if negative {
		lit.num = -lit.num
	}
	lit.pos = pos
	return lit, nil
}

// number reads an integer: decimal, 0x, 0o or 0b, with underscores.
func (p *parser) number() (literal, error) {
	lit := literal{kind: kindInt, pos: p.pos}
	for isWord(p.peek()) || p.peek() == '.' {
		p.pos++
	}
	lit.end = p.pos
	digits := bytes.TrimSuffix(p.text[lit.pos:lit.end], []byte("L"))
	if len(digits) > 1 && digits[0] == '0' && (isDigit(digits[1]) || digits[1] == '_') &&
		len(bytes.Trim(digits, "0_")) > 0 {
		return literal{}, p.wrong(lit, "decimal integer starts with 0")
	}
	var err error
	lit.num, err = strconv.ParseInt(string(digits), 0, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return literal{}, p.wrong(lit, "integer is over 63 bits")
	case err != nil:
		return literal{}, p.wrong(lit, "number is not an integer")
	}
	if p.space(); p.peek() == 'L' {
		p.pos++
	}
	return lit, nil
}

// constants are Python's named constants.
var constants = map[string]literal{
	"None":  {kind: kindNone},
	"False": {kind: kindBool, num: 0},
	"True":  {kind: kindBool, num: 1},
}

func (p *parser) constant() (lit literal, ok bool) {
	end := p.pos
	for end < len(p.text) && isWord(p.text[end]) {
		end++
	}
	if lit, ok = constants[string(p.text[p.pos:end])]; ok {
		lit.pos, lit.end, p.pos = p.pos, end, end
	}
	return lit, ok
}

// space skips blanks, line ends, comments and continued lines. Newlines count
// as blanks everywhere: outside brackets they can only stand around the dict.
func (p *parser) space() {
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '\\' && p.pos+1 < len(p.text) && isNewline(p.text[p.pos+1]):
			p.pos += 2
		case c == '#':
			for p.pos < len(p.text) && !isNewline(p.text[p.pos]) {
				p.pos++
			}
		case c == ' ' || c == '\t' || c == '\f' || isNewline(c):
			p.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, 0 at the end of the text.
func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

// take skips the next byte if it is c.
func (p *parser) take(c byte) bool {
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// unexpected reports that the text does not go on as it should.
func (p *parser) unexpected(want string) error {
	off := p.off + int64(p.pos)
	if p.pos >= len(p.text) {
		return &FormatError{off, "header ends, want " + want, nil}
	}
	rest := p.text[p.pos:min(p.pos+maxQuoted+1, len(p.text))]
	return &FormatError{off, "header is not a python literal, want " + want, string(rest)}
}

// wrong reports a literal that has no place where it stands.
func (p *parser) wrong(lit literal, msg string) error {
	return &FormatError{p.off + int64(lit.pos), msg, p.quote(lit)}
}

func (p *parser) unsupported(lit literal, msg string) error {
	return &UnsupportedError{p.off + int64(lit.pos), msg, p.quote(lit)}
}

func (p *parser) quote(lit literal) string {
	return string(p.text[lit.pos:min(lit.end, lit.pos+maxQuoted+1)])
}

func isDigit(c byte) bool   { return '0' <= c && c <= '9' }
func isNewline(c byte) bool { return c == '\n' || c == '\r' }
func isWord(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}
