package jsonpos

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// fullWidth maps punctuation that input methods and word processors put in
// place of ASCII.
var fullWidth = map[rune]byte{
	'，': ',', '、': ',', '：': ':', '；': ';', '＝': '=',
	'｛': '{', '｝': '}', '［': '[', '］': ']', '【': '[', '】': ']',
	'“': '"', '”': '"', '„': '"', '‟': '"', '＂': '"',
	'‘': '\'', '’': '\'', '＇': '\'',
}

// invisible are characters that look like space, or like nothing.
var invisible = map[rune]string{
	'\u00a0': "no-break space", '\u3000': "full-width space", '\u200b': "zero-width space",
	'\ufeff': "byte order mark", '\u2028': "line separator", '\u2029': "paragraph separator",
	'\v': "vertical tab", '\f': "form feed",
}

func (p *parser) atEnd() bool { return p.pos >= len(p.src) }

// runeSize returns the bytes of the character here, 0 at the end.
func (p *parser) runeSize() int {
	_, size := utf8.DecodeRune(p.src[p.pos:])
	return size
}

// peek returns the ASCII character here, or the one a full-width character
// stands for. It returns 0 at the end and for everything else.
func (p *parser) peek() byte { return p.peekAt(p.pos) }

func (p *parser) peekAt(pos int) byte {
	if pos >= len(p.src) {
		return 0
	}
	if c := p.src[pos]; c < utf8.RuneSelf {
		return c
	}
	r, _ := utf8.DecodeRune(p.src[pos:])
	return fullWidth[r]
}

// take consumes a punctuation mark and reports it when it is full-width.
func (p *parser) take() {
	size := p.runeSize()
	if size > 1 {
		c := p.peek()
		p.problem(Problem{Cause: FullWidth, Offset: p.pos, Length: size,
			Message: fmt.Sprintf("full-width %s; use \"%c\"", p.src[p.pos:p.pos+size], c),
			Edits:   []Edit{{Offset: p.pos, Length: size, Text: string(c)}}})
	}
	p.pos += size
}

// space skips white space; comments and characters that only look like space
// are problems.
func (p *parser) space() {
	for !p.atEnd() {
		switch c := p.src[p.pos]; {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
			p.pos++
		case p.atComment():
			p.comment()
		default:
			r, size := utf8.DecodeRune(p.src[p.pos:])
			name, ok := invisible[r]
			if !ok && (r >= ' ' || r == utf8.RuneError) {
				return
			}
			cause := FullWidth
			if r < ' ' {
				cause = ControlChar
			}
			if !ok {
				name = fmt.Sprintf("control character U+%04X", r)
			}
			p.problem(Problem{Cause: cause, Offset: p.pos, Length: size,
				Message: name + " between values; use an ordinary space",
				Edits:   []Edit{{Offset: p.pos, Length: size, Text: " "}}})
			p.pos += size
		}
	}
}

func (p *parser) atComment() bool {
	rest := p.src[p.pos:]
	return len(rest) > 0 && rest[0] == '#' ||
		len(rest) > 1 && rest[0] == '/' && (rest[1] == '/' || rest[1] == '*')
}

func (p *parser) comment() {
	start, mark := p.pos, "#"
	end := bytes.IndexByte(p.src[start:], '\n')
	if p.src[start] == '/' {
		mark = string(p.src[start : start+2])
	}
	closed := true
	if mark == "/*" {
		end = bytes.Index(p.src[start+2:], []byte("*/"))
		if closed = end >= 0; closed {
			end += 4
		}
	}
	if end < 0 {
		end = len(p.src) - start
	}
	p.pos = start + end
	if mark != "/*" && p.src[p.pos-1] == '\r' {
		p.pos--
	}
	from := start
	for from > 0 && (p.src[from-1] == ' ' || p.src[from-1] == '\t') {
		from--
	}
	pr := Problem{Cause: Comment, Offset: start, Length: p.pos - start,
		Message: fmt.Sprintf("comment (%s); JSON has no comments, remove it", mark),
		Edits:   []Edit{{Offset: from, Length: p.pos - from, Text: ""}}}
	if mark == "/*" {
		pr.Edits[0].Text = " " // it may stand between two words
	}
	if !closed {
		pr.Edits = nil
	}
	p.problem(pr)
}

// atDelimiter reports whether something known starts here.
func (p *parser) atDelimiter() bool {
	switch c := p.peek(); c {
	case ',', ':', ';', '=', '{', '}', '[', ']', '"', '\'', ' ', '\t', '\n', '\r':
		return true
	default:
		return p.atComment()
	}
}

// atWord reports whether an unquoted word starts here.
func (p *parser) atWord() bool {
	r, _ := utf8.DecodeRune(p.src[p.pos:])
	if r == utf8.RuneError {
		return false
	}
	return unicode.IsLetter(r) || r == '_' || r == '$' || r == '~' || r == '.' || r == '/' && !p.atComment()
}

// wordEnd returns the end of the run of word characters that starts at pos.
func (p *parser) wordEnd() int {
	i, inPath := p.pos, false
	for i < len(p.src) {
		r, size := utf8.DecodeRune(p.src[i:])
		switch {
		case r == '/' && !inPath && i+1 < len(p.src) && (p.src[i+1] == '/' || p.src[i+1] == '*'):
			return i
		case r == '/':
			inPath = true // /data//dump is one word
		case r == utf8.RuneError && size <= 1:
			return i
		case unicode.IsLetter(r) || unicode.IsDigit(r):
		case r < utf8.RuneSelf && bytes.IndexByte([]byte("_-+.$~/|%*"), byte(r)) >= 0:
		default:
			return i
		}
		i += size
	}
	return i
}

// short quotes a text for a message and cuts it to a readable length.
func short(s string) string {
	const most = 40
	if r := []rune(s[:min(len(s), 4*(most+1))]); len(r) > most {
		s = string(r[:most]) + "..."
	}
	return strconv.Quote(s)
}
