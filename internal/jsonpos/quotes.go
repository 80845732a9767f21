package jsonpos

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// quoteFault returns the first quote that has no partner on its line, or whose
// string has text glued to it from outside, as in ["a,"b"]. It returns -1 when
// all quotes pair up. It reads the text on its own: what the parser makes of
// strings is worth nothing behind such a place.
func quoteFault(src []byte) int {
	p := &parser{src: src}
	for !p.atEnd() {
		switch c := p.peek(); {
		case c == '"' || c == '\'':
			if start := p.pos; !p.skipString(c) {
				return start
			}
		case startsComment(src, p.pos):
			p.pos, _ = commentEnd(src, p.pos)
		default:
			p.pos = p.next()
		}
	}
	return -1
}

// skipString moves behind a string and reports whether it stands alone.
func (p *parser) skipString(quote byte) bool {
	if !p.freeBefore() {
		return false
	}
	end, size := p.closing(quote)
	if end < 0 {
		return false
	}
	p.pos = end + size
	return p.freeBehind()
}

// closing returns where the closing quote of the string here stands, or -1
// when the line has none, and its size.
func (p *parser) closing(quote byte) (end, size int) {
	_, size = utf8.DecodeRune(p.src[p.pos:])
	foreign, typographic := size > 1, -1
	for i := p.pos + size; i < len(p.src) && p.src[i] != '\n' && p.src[i] != '\r'; {
		_, size = utf8.DecodeRune(p.src[i:])
		switch {
		case p.src[i] == '\\' && i+1 < len(p.src) && p.src[i+1] != '\n' && p.src[i+1] != '\r':
			size = 2
		case p.src[i] == quote:
			return i, size
		case size > 1 && p.peekAt(i) == quote:
			if foreign {
				return i, size
			}
			if typographic < 0 {
				typographic = i
			}
		}
		i += size
	}
	if typographic >= 0 && quote == '"' {
		_, size = utf8.DecodeRune(p.src[typographic:])
	}
	return typographic, size
}

// freeBefore reports whether a string may start here.
func (p *parser) freeBefore() bool {
	before := p.src[:p.pos]
	r, size := utf8.DecodeLastRune(before)
	return size == 0 || isBoundary(r) || bytes.HasSuffix(before, []byte("*/"))
}

// freeBehind reports whether a string may end before this place.
func (p *parser) freeBehind() bool {
	r, size := utf8.DecodeRune(p.src[p.pos:])
	return size == 0 || isBoundary(r) || startsComment(p.src, p.pos)
}

// isBoundary reports whether a character may touch a string from outside.
func isBoundary(r rune) bool {
	if c := fullWidth[r]; c != 0 {
		return c != '"' && c != '\''
	}
	_, blank := invisible[r]
	return blank || r < ' ' || unicode.IsSpace(r) || r < utf8.RuneSelf && bytes.IndexByte([]byte("{}[](),:;="), byte(r)) >= 0
}

// startsComment reports whether a comment starts here that stands apart from
// the text before it: /data//dump has none.
func startsComment(src []byte, pos int) bool {
	if commentMark(src[pos:]) == "" {
		return false
	}
	r, size := utf8.DecodeLastRune(src[:pos])
	if size == 0 || bytes.HasSuffix(src[:pos], []byte("*/")) {
		return true
	}
	return r != ':' && (isBoundary(r) || r == '"' || r == '\'' || fullWidth[r] != 0)
}
