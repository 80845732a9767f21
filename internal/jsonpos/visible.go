package jsonpos

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Visible returns a JSON text with the characters of its strings that a terminal
// would obey instead of show, which encoding/json leaves as they are - DEL, C1
// control characters, invisible and direction-changing ones - as escape
// sequences. It means the same as before.
func Visible(text []byte) []byte {
	if bytes.IndexFunc(text, hidden) < 0 {
		return text
	}
	var out []byte
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch high, low := utf16.EncodeRune(r); {
		case !hidden(r):
			out = append(out, text[:n]...)
		case high != unicode.ReplacementChar:
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out
}

// hidden reports whether r, which stands in a string, has no visible form of its
// own. Spaces of all widths pass.
func hidden(r rune) bool {
	return r >= 0x7f && !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r)
}
