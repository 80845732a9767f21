package jsonpos

import (
	"strconv"
	"strings"
)

// scalar reads a value that is no object and no array, and returns its text, which
// is valid until the next call.
func (r *Reader) scalar() ([]byte, error) {
	c := r.space()
	start := r.offset()
	if !r.keeping {
		r.token = start
	}
	var err error
	switch {
	case c == '"':
		err = r.stringLiteral()
	case c == '-' || isDigit(c):
		err = r.word(r.isNumber, "a number")
	case r.Python && (c == 'N' || c == 'I'):
		err = r.word(isNonFinite, "a number")
	case c == 't' || c == 'f' || c == 'n':
		err = r.word(isConstant, "true, false or null")
	default:
		err = r.unexpected("a value")
	}
	return r.buf[start-r.base : r.pos], err
}

// stringLiteral reads a string with its quotes.
func (r *Reader) stringLiteral() error {
	for r.pos++; ; r.pos++ {
		for r.pos < len(r.buf) && r.buf[r.pos] >= ' ' && r.buf[r.pos] != '"' && r.buf[r.pos] != '\\' {
			r.pos++
		}
		switch c := r.peek(); {
		case c == '"':
			r.pos++
			return nil
		case c < ' ':
			return r.unexpected("the rest of the string")
		case c == '\\':
			r.pos++
			c := r.peek()
			if c == 0 || strings.IndexByte(escapes, c) < 0 {
				return r.unexpected("an escape sequence")
			}
			for i := 0; c == 'u' && i < 4; i++ {
				r.pos++
				if !isHex(r.peek()) {
					return r.unexpected("four hexadecimal digits")
				}
			}
		}
	}
}

// word reads letters, digits and signs, which must be valid.
func (r *Reader) word(valid func([]byte) bool, wanted string) error {
	start := r.offset()
	for c := r.peek(); c|0x20 >= 'a' && c|0x20 <= 'z' || isDigit(c) || c == '-' || c == '+' || c == '.'; c = r.peek() {
		r.pos++
	}
	if text := r.buf[start-r.base : r.pos]; !valid(text) {
		return r.errorAt(start, r.where(), strconv.Quote(excerpt(text)), wanted)
	}
	return nil
}

func (r *Reader) isNumber(text []byte) bool {
	return isNumber(text) || r.Python && isNonFinite(text)
}

func isNonFinite(text []byte) bool {
	return string(text) == "NaN" || string(text) == "Infinity" || string(text) == "-Infinity"
}

func isConstant(text []byte) bool {
	return string(text) == "true" || string(text) == "false" || string(text) == "null"
}

// space skips white space and returns the byte that follows, or 0 at the end.
func (r *Reader) space() byte {
	for {
		for r.pos < len(r.buf) {
			switch c := r.buf[r.pos]; c {
			case ' ', '\t', '\r', '\n':
				r.pos++
			default:
				return c
			}
		}
		if !r.fill() {
			return 0
		}
	}
}
