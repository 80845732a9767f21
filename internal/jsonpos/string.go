package jsonpos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"dumptool/internal/lang"
)

// literal is a string being read.
type literal struct {
	p          *parser
	start      int
	open       byte // the quote in ASCII
	isNonASCII bool // the opening quote is not ASCII
	out        strings.Builder

	isRaw          bool    // backslashes are literal
	isUnrepairable bool    // an escape that cannot be repaired
	escapes        Problem // the first bad escape, with the edits for all
	control        []Edit  // for raw control characters
	badUTF8        int     // offset of the first one, -1 for none
}

// stringLiteral reads a string with any kind of quotes.
func (p *parser) stringLiteral() string {
	l := &literal{p: p, start: p.pos, open: p.peek(), badUTF8: -1}
	p.pos = p.next()
	l.isNonASCII = p.pos > l.start+1
	end, closed := l.findEnd()
	l.isRaw = isWindowsPath(p.src[p.pos:end])
	l.decode(p.src[p.pos:end])
	p.pos = end
	l.close(closed)
	return l.out.String()
}

// findEnd returns the end of the string's text. An unclosed string ends with its line, before trailing
// separators.
func (l *literal) findEnd() (end int, closed bool) {
	src := l.p.src
	i := l.p.pos
	for i < len(src) && src[i] != '\n' && src[i] != '\r' {
		if src[i] == '\\' && i+1 < len(src) && src[i+1] != '\n' && src[i+1] != '\r' {
			i += 2
			continue
		}
		if l.isClosing(i) {
			return i, true
		}
		i++
	}
	line := src[l.p.pos:i]
	if cut := bytes.IndexAny(line, "“”"); cut >= 0 {
		return l.p.pos + cut, true
	}
	return l.p.pos + len(bytes.TrimRight(line, ",}] \t")), false
}

// isClosing reports whether offset i holds the closing quote.
func (l *literal) isClosing(i int) bool {
	c := l.p.src[i]
	if c < utf8.RuneSelf {
		return c == l.open
	}
	return l.isNonASCII && l.p.peekAt(i) == l.open
}

// close consumes the closing quote and reports problems of the string.
func (l *literal) close(closed bool) {
	p, textEnd := l.p, l.p.pos
	if closed {
		p.pos = p.next()
	}
	var quotes *Problem
	switch {
	case !closed && len(bytes.TrimLeft(p.src[textEnd:], " \t\r\n")) == 0:
		p.addProblem(Truncated, l.start, textEnd, "quote without partner: the file ends inside a string")
	case !p.mayStartAt(l.start) || closed && !p.mayEndHere():
		l.reportUnpaired(l.start+1, textEnd, "quote without partner: the quotes of this line do not pair up, or text touches one from outside")
	case !closed:
		l.reportUnpaired(textEnd, textEnd, "quote without partner: the string has no closing quote on its line")
	case l.isNonASCII || p.pos > textEnd+1:
		at := l.start
		if !l.isNonASCII {
			at = textEnd
		}
		r, size := utf8.DecodeRune(p.src[at:])
		quotes = p.addProblem(FullWidth, at, at+size, "typographic quote %c; use '\"'", r)
	case l.open == '\'':
		quotes = p.addProblem(SingleQuotes, l.start, p.pos, "single quotes; use double quotes")
	}
	var whole []Edit
	if !l.isUnrepairable && l.badUTF8 < 0 {
		whole = []Edit{{l.start, p.pos - l.start, Quote(l.out.String())}}
	}
	if quotes != nil {
		quotes.Edits = whole
	}
	l.reportEscapes(whole)
}

// separator matches the text between a string and the next value.
var separator = lang.Pattern(`[ \t]*[\]},:][\]}\[{", \t]`)

// reportUnpaired reports an unclosed string up to end, and suggests its line with the missing quote: before the word
// that touches the string, or else at the first separator.
func (l *literal) reportUnpaired(end, textEnd int, en string) {
	const longest = 200 // bytes
	full := l.p.isFull()
	found := l.p.addProblem(OpenString, l.start, end, en)
	if full {
		return
	}
	src, missing := l.p.src, textEnd
	start := bytes.LastIndexByte(src[:l.start], '\n') + 1
	line, _, _ := bytes.Cut(src[start:], []byte("\n"))
	if !l.p.mayStartAt(l.start) {
		missing = len(bytes.TrimRightFunc(src[:l.start], func(r rune) bool { return !isBoundary(r) }))
	} else if at := separator().FindIndex(src[l.start+1 : l.p.pos]); at != nil {
		missing = l.start + 1 + at[0]
	}
	repaired := strings.TrimSpace(string(src[start:missing]) + `"` + string(src[missing:start+len(line)]))
	if quotes := strings.Count(repaired, `"`) - strings.Count(repaired, `\"`); quotes%2 == 0 && len(repaired) <= longest && !strings.Contains(repaired, `""`) {
		found.Repaired = repaired
	}
}

// mayStartAt reports whether a string may begin at start.
func (p *parser) mayStartAt(start int) bool {
	r, size := utf8.DecodeLastRune(p.src[:start])
	return size == 0 || isBoundary(r) || bytes.HasSuffix(p.src[:start], []byte("*/"))
}

// mayEndHere reports whether a string may end before this place.
func (p *parser) mayEndHere() bool {
	r, size := utf8.DecodeRune(p.src[p.pos:])
	return size == 0 || isBoundary(r) || startsComment(p.src, p.pos)
}

// isBoundary reports whether a character may be directly beside a string.
func isBoundary(r rune) bool {
	if c := fullWidth[r]; c != 0 {
		return c != '"' && c != '\''
	}
	_, blank := invisible[r]
	return blank || r < ' ' || unicode.IsSpace(r) || r < utf8.RuneSelf && bytes.IndexByte([]byte("{}[](),:;="), byte(r)) >= 0
}

// reportEscapes reports problems between the quotes.
func (l *literal) reportEscapes(whole []Edit) {
	if e := l.escapes; !e.Message.IsZero() {
		bad := l.p.addProblem(BadEscape, e.Offset, e.Offset+e.Length, "%s", e.Message)
		switch {
		case l.isUnrepairable:
		case l.isRaw:
			bad.Edits = whole
		default:
			bad.Edits = e.Edits
		}
	}
	if len(l.control) > 0 {
		at := l.control[0].Offset
		l.p.addProblem(ControlChar, at, at+1, "raw tab or control character in a string; write it as an escape sequence").Edits = l.control
	}
	if l.badUTF8 >= 0 {
		l.p.addProblem(BadUTF8, l.badUTF8, l.badUTF8+1, "the text is no UTF-8; save the file as UTF-8")
	}
}

// isWindowsPath reports whether a string begins like C:\ and has a backslash that cannot be an
// escape: then all backslashes are literal.
func isWindowsPath(body []byte) bool {
	if len(body) < 4 || body[1] != ':' || body[2] != '\\' || body[3] == '\\' {
		return false
	}
	for i := 0; i+1 < len(body); i++ {
		if body[i] == '\\' {
			if strings.IndexByte(escapes, body[i+1]) < 0 {
				return true
			}
			i++
		}
	}
	return false
}

func (l *literal) decode(body []byte) {
	base := l.p.pos
	for i := 0; i < len(body); {
		c := body[i]
		switch {
		case c == '\\':
			i += l.decodeEscape(body[i:], base+i)
		case c < ' ':
			l.control = append(l.control, Edit{base + i, 1, escapeControl(rune(c))})
			l.out.WriteByte(c)
			i++
		case c < utf8.RuneSelf:
			l.out.WriteByte(c)
			i++
		default:
			r, size := utf8.DecodeRune(body[i:])
			if r == utf8.RuneError && size == 1 && l.badUTF8 < 0 {
				l.badUTF8 = base + i
			}
			l.out.WriteRune(r)
			i += size
		}
	}
}

const escapes = `"\/bfnrtu`

var simpleEscapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// decodeEscape decodes the escape sequence at the start of s and returns its length; at is the offset of s in the file.
func (l *literal) decodeEscape(s []byte, at int) int {
	if len(s) < 2 {
		l.isUnrepairable = true
		return l.addBadEscape(at, 1, '\\')
	}
	plain, simple := simpleEscapes[s[1]]
	switch {
	case l.isRaw && s[1] != '\\' && s[1] != '"':
		return l.addBadEscape(at, 2, '\\')
	case simple:
		l.out.WriteByte(plain)
		return 2
	case s[1] == '\'' && l.open == '\'':
		l.out.WriteByte('\'')
		return 2
	case s[1] == 'u':
		return l.unicodeEscape(s, at)
	default:
		return l.addBadEscape(at, 2, '\\')
	}
}

func (l *literal) unicodeEscape(s []byte, at int) int {
	r, ok := parseHex4(s)
	if !ok {
		return l.addBadEscape(at, 2, '\\')
	}
	if !utf16.IsSurrogate(r) {
		l.out.WriteRune(r)
		return 6
	}
	if low, ok := parseHex4(s[6:]); ok {
		if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
			l.out.WriteRune(full)
			return 12
		}
	}
	l.isUnrepairable = true
	l.addBadEscape(at, 6, utf8.RuneError)
	return 6
}

func parseHex4(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(v), err == nil
}

// unquote decodes a string of strict JSON.
func unquote(text []byte) string {
	if inner := text[1 : len(text)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		panic(err) // the text is a valid string
	}
	return s
}

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// addBadEscape records a bad escape of length bytes, decoded as r. It returns how many bytes r replaces: 1, the backslash.
func (l *literal) addBadEscape(at, length int, r rune) int {
	src := l.p.src
	end := min(at+length, len(src))
	for end < len(src) && length > 1 && !utf8.RuneStart(src[end]) {
		end++
	}
	if l.escapes.Message.IsZero() {
		l.escapes = Problem{Offset: at, Length: end - at,
			Message: lang.Say(`%s is no escape sequence; write a backslash as \\`, printable(src[at:end]))}
	}
	l.escapes.edit(at, 1, `\\`)
	l.out.WriteRune(r)
	return 1
}

// printable replaces characters without a visible form.
func printable(text []byte) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return utf8.RuneError
		}
		return r
	}, string(text))
}

// Quote formats s as a JSON string.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			b.WriteString(escapeControl(r))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// escapeControl returns the escape sequence of a control character.
func escapeControl(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	default:
		return fmt.Sprintf(`\u%04x`, r)
	}
}
