package jsonpos

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// literal is a string that is being read.
type literal struct {
	p         *parser
	start     int
	open      byte // the quote in ASCII
	foreign   bool // the opening quote is not ASCII
	out       strings.Builder
	badEscape []Edit
	badAt     Problem // of the first bad escape
	control   []Edit
	controlAt int
	badUTF8   int  // offset of the first, -1 without
	literal   bool // backslashes are meant as they stand
	hopeless  bool // an escape that cannot be repaired
}

// stringLiteral reads a string with whatever quotes it has.
func (p *parser) stringLiteral() string {
	l := &literal{p: p, start: p.pos, open: p.peek(), foreign: p.runeSize() > 1, badUTF8: -1}
	p.pos += p.runeSize()
	l.literal = l.windowsPath()
	end, closed := l.find()
	body := p.src[p.pos:end]
	l.decode(body)
	p.pos = end
	l.close(closed)
	return l.out.String()
}

// find returns where the text of the string ends. An open string ends with
// its line, without the separators behind it.
func (l *literal) find() (end int, closed bool) {
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

// isClosing reports whether the string ends before offset i.
func (l *literal) isClosing(i int) bool {
	c := l.p.src[i]
	if c < utf8.RuneSelf {
		return c == l.open
	}
	return l.foreign && l.p.peekAt(i) == l.open
}

// close consumes the closing quote and reports what is wrong with the string.
func (l *literal) close(closed bool) {
	p := l.p
	closing := 0
	if closed {
		closing = p.runeSize()
	}
	textEnd := p.pos
	p.pos += closing
	whole := []Edit{{Offset: l.start, Length: p.pos - l.start, Text: Quote(l.out.String())}}
	if l.hopeless || l.badUTF8 >= 0 {
		whole = nil
	}
	switch {
	case !closed && textEnd >= p.textEnd:
		p.problem(Problem{Cause: Truncated, Offset: l.start, Length: textEnd - l.start,
			Message: "quote without partner: the file ends inside a string"})
	case !closed:
		p.problem(Problem{Cause: OpenString, Offset: l.start, Length: textEnd - l.start,
			Message: "quote without partner: the string has no closing quote on its line"})
	case l.foreign || closing > 1:
		at := l.start
		if !l.foreign {
			at = textEnd
		}
		r, size := utf8.DecodeRune(p.src[at:])
		p.problem(Problem{Cause: FullWidth, Offset: at, Length: size,
			Message: fmt.Sprintf("typographic quote %c; use '\"'", r), Edits: whole})
	case l.open == '\'':
		p.problem(Problem{Cause: SingleQuotes, Offset: l.start, Length: p.pos - l.start,
			Message: "single quotes; use double quotes", Edits: whole})
	}
	l.report(whole)
}

// report tells about the text between the quotes.
func (l *literal) report(whole []Edit) {
	if l.badAt.Message != "" {
		l.badAt.Edits = l.badEscape
		if l.literal {
			l.badAt.Edits = whole
		}
		if l.hopeless {
			l.badAt.Edits = nil
		}
		l.p.problem(l.badAt)
	}
	if len(l.control) > 0 {
		l.p.problem(Problem{Cause: ControlChar, Offset: l.controlAt, Length: 1,
			Message: "raw tab or control character in a string; write it as an escape sequence", Edits: l.control})
	}
	if l.badUTF8 >= 0 {
		l.p.problem(Problem{Cause: BadUTF8, Offset: l.badUTF8, Length: 1,
			Message: "the text is no UTF-8; save the file as UTF-8"})
	}
}

// windowsPath reports whether the string starts like C:\ and has a backslash
// that cannot be an escape: then none of them is.
func (l *literal) windowsPath() bool {
	s := l.p.src[l.p.pos:]
	if len(s) < 4 || s[1] != ':' || s[2] != '\\' || s[3] == '\\' {
		return false
	}
	end, _ := l.find()
	body := l.p.src[l.p.pos:end]
	for i := 0; i+1 < len(body); i++ {
		if body[i] == '\\' {
			if bytes.IndexByte([]byte(`"\/bfnrtu`), body[i+1]) < 0 {
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
			i += l.escape(body[i:], base+i)
		case c < ' ':
			if len(l.control) == 0 {
				l.controlAt = base + i
			}
			l.control = append(l.control, Edit{Offset: base + i, Length: 1, Text: escaped(rune(c))})
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

var simpleEscapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape decodes the sequence at the start of s, which stands at offset at of
// the file, and returns its length.
func (l *literal) escape(s []byte, at int) int {
	if len(s) < 2 {
		l.bad(at, 1, true)
		l.out.WriteByte('\\')
		return 1
	}
	plain, simple := simpleEscapes[s[1]]
	switch {
	case l.literal && s[1] != '\\' && s[1] != '"':
		l.bad(at, 2, false)
		l.out.WriteByte('\\')
		return 1
	case simple:
		l.out.WriteByte(plain)
		return 2
	case s[1] == '\'' && l.open == '\'':
		l.out.WriteByte('\'')
		return 2
	case s[1] == 'u':
		return l.unicodeEscape(s, at)
	default:
		l.bad(at, 2, false)
		l.out.WriteByte('\\')
		return 1
	}
}

func (l *literal) unicodeEscape(s []byte, at int) int {
	r, ok := hex4(s)
	if !ok {
		l.bad(at, 2, false)
		l.out.WriteByte('\\')
		return 1
	}
	if !utf16.IsSurrogate(r) {
		l.out.WriteRune(r)
		return 6
	}
	if low, ok := hex4(s[6:]); ok {
		if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
			l.out.WriteRune(full)
			return 12
		}
	}
	l.bad(at, 6, true)
	l.out.WriteRune(utf8.RuneError)
	return 6
}

func hex4(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range s[2:6] {
		d := strings.IndexByte("0123456789abcdefABCDEF", c)
		if d < 0 {
			return 0, false
		}
		if d > 15 {
			d -= 6
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

func (l *literal) bad(at, length int, hopeless bool) {
	src := l.p.src
	length = min(length, len(src)-at)
	for at+length < len(src) && length > 1 && !utf8.RuneStart(src[at+length]) {
		length++
	}
	if l.badAt.Message == "" {
		l.badAt = Problem{Cause: BadEscape, Offset: at, Length: length,
			Message: fmt.Sprintf("%s is no escape sequence; write a backslash as \\\\", printable(src[at:at+length]))}
	}
	l.badEscape = append(l.badEscape, Edit{Offset: at, Length: 1, Text: `\\`})
	l.hopeless = l.hopeless || hopeless
}

// printable replaces what cannot be shown.
func printable(text []byte) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return utf8.RuneError
		}
		return r
	}, string(text))
}

// Quote writes s as a JSON string.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			b.WriteString(escaped(r))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// escaped writes a control character as an escape sequence.
func escaped(r rune) string {
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
