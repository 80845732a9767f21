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
	s := quoteScan{src: src}
	for s.pos < len(src) {
		switch c := peekQuote(src, s.pos); {
		case c == '"' || c == '\'':
			if start := s.pos; !s.skipString(c) {
				return start
			}
		case startsComment(src, s.pos):
			s.pos = commentEnd(src, s.pos)
		default:
			_, size := utf8.DecodeRune(src[s.pos:])
			s.pos += size
		}
	}
	return -1
}

// quoteScan walks over a text.
type quoteScan struct {
	src []byte
	pos int
}

// skipString moves behind a string and reports whether it stands alone.
func (s *quoteScan) skipString(quote byte) bool {
	if !s.freeBefore() {
		return false
	}
	end, size := s.closing(quote)
	if end < 0 {
		return false
	}
	s.pos = end + size
	return s.freeBehind()
}

// closing returns where the closing quote of the string here stands, or -1
// when the line has none, and its size.
func (s *quoteScan) closing(quote byte) (end, size int) {
	_, size = utf8.DecodeRune(s.src[s.pos:])
	foreign, typographic := size > 1, -1
	for i := s.pos + size; i < len(s.src) && s.src[i] != '\n' && s.src[i] != '\r'; {
		_, size = utf8.DecodeRune(s.src[i:])
		switch {
		case s.src[i] == '\\' && i+1 < len(s.src) && s.src[i+1] != '\n' && s.src[i+1] != '\r':
			size = 2
		case s.src[i] == quote:
			return i, size
		case size > 1 && peekQuote(s.src, i) == quote:
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
		_, size = utf8.DecodeRune(s.src[typographic:])
	}
	return typographic, size
}

// freeBefore reports whether a string may start here.
func (s *quoteScan) freeBefore() bool {
	before := s.src[:s.pos]
	r, size := utf8.DecodeLastRune(before)
	return size == 0 || isBoundary(r) || bytes.HasSuffix(before, []byte("*/"))
}

// freeBehind reports whether a string may end before this place.
func (s *quoteScan) freeBehind() bool {
	r, size := utf8.DecodeRune(s.src[s.pos:])
	return size == 0 || isBoundary(r) || startsComment(s.src, s.pos)
}

// isBoundary reports whether a character may touch a string from outside.
func isBoundary(r rune) bool {
	if c := fullWidth[r]; c != 0 {
		return c != '"' && c != '\''
	}
	_, blank := invisible[r]
	return blank || r < ' ' || unicode.IsSpace(r) || r < utf8.RuneSelf && bytes.IndexByte([]byte("{}[](),:;="), byte(r)) >= 0
}

// peekQuote returns the ASCII quote that stands here in whatever form, or 0.
func peekQuote(src []byte, pos int) byte {
	c := src[pos]
	if c >= utf8.RuneSelf {
		r, _ := utf8.DecodeRune(src[pos:])
		c = fullWidth[r]
	}
	if c != '"' && c != '\'' {
		return 0
	}
	return c
}

// startsComment reports whether a comment starts here that stands apart from
// the text before it: /data//dump has none.
func startsComment(src []byte, pos int) bool {
	rest := src[pos:]
	if !bytes.HasPrefix(rest, []byte("#")) && !bytes.HasPrefix(rest, []byte("//")) && !bytes.HasPrefix(rest, []byte("/*")) {
		return false
	}
	r, size := utf8.DecodeLastRune(src[:pos])
	if size == 0 || bytes.HasSuffix(src[:pos], []byte("*/")) {
		return true
	}
	return r != ':' && (isBoundary(r) || r == '"' || r == '\'' || fullWidth[r] != 0)
}

// commentEnd returns the end of the comment that starts at pos.
func commentEnd(src []byte, pos int) int {
	end, skip := []byte("\n"), 0
	if bytes.HasPrefix(src[pos:], []byte("/*")) {
		end, skip = []byte("*/"), 2
	}
	i := bytes.Index(src[pos+skip:], end)
	if i < 0 {
		return len(src)
	}
	return pos + skip + i + len(end)
}
