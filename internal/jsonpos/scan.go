package jsonpos

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"dumptool/internal/lang"
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
var invisible = map[rune]lang.Text{
	'\u00a0': {EN: "no-break space", ZH: "不换行空格"},
	'\u3000': {EN: "full-width space", ZH: "全角空格"},
	'\u200b': {EN: "zero-width space", ZH: "零宽空格"},
	'\ufeff': {EN: "byte order mark", ZH: "字节序标记"},
	'\u2028': {EN: "line separator", ZH: "行分隔符"},
	'\u2029': {EN: "paragraph separator", ZH: "段落分隔符"},
	'\v':     {EN: "vertical tab", ZH: "垂直制表符"},
	'\f':     {EN: "form feed", ZH: "换页符"},
}

func (p *parser) atEnd() bool { return p.pos >= len(p.src) }

// next returns the offset behind the character here.
func (p *parser) next() int {
	_, size := utf8.DecodeRune(p.src[p.pos:])
	return p.pos + size
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
	if end := p.next(); end > p.pos+1 {
		c := p.peek()
		p.problem(FullWidth, p.pos, end, "full-width %s; use \"%c\"", "全角字符 %s，请用 \"%c\"", p.src[p.pos:end], c).replace(string(c))
	}
	p.pos = p.next()
}

// space skips white space; comments and characters that only look like space
// are problems.
func (p *parser) space() {
	for !p.atEnd() {
		switch c := p.src[p.pos]; {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
			p.pos++
		case commentMark(p.src[p.pos:]) != "":
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
				name = lang.Sayf("control character U+%04X", "控制字符 U+%04X", r).Text()
			}
			p.problem(cause, p.pos, p.pos+size, "%s between values; use an ordinary space", "值之间有%s，请用普通空格", name).replace(" ")
			p.pos += size
		}
	}
}

// commentMark returns the mark of the comment that starts a text, or nothing.
func commentMark(text []byte) string {
	switch {
	case bytes.HasPrefix(text, []byte("#")):
		return "#"
	case bytes.HasPrefix(text, []byte("//")):
		return "//"
	case bytes.HasPrefix(text, []byte("/*")):
		return "/*"
	default:
		return ""
	}
}

// commentEnd returns the end of the comment that starts at pos. A line comment does
// not hold the end of its line.
func commentEnd(src []byte, pos int) (end int, closed bool) {
	if commentMark(src[pos:]) == "/*" {
		if i := bytes.Index(src[pos+2:], []byte("*/")); i >= 0 {
			return pos + i + 4, true
		}
		return len(src), false
	}
	line, _, _ := bytes.Cut(src[pos:], []byte("\n"))
	return pos + len(bytes.TrimSuffix(line, []byte("\r"))), true
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

// comment reports a comment, whose repair takes the blanks before it away too.
func (p *parser) comment() {
	start, mark := p.pos, commentMark(p.src[p.pos:])
	end, closed := commentEnd(p.src, start)
	p.pos = end
	found := p.problem(Comment, start, end, "comment (%s); JSON has no comments, remove it", "注释(%s)：JSON 不支持注释，请删除", mark)
	blanks := start - len(bytes.TrimRight(p.src[:start], " \t"))
	switch {
	case !closed:
	case mark == "/*":
		found.edit(start-blanks, end-start+blanks, " ") // it may stand between two words
	default:
		found.edit(start-blanks, end-start+blanks, "")
	}
}

// atDelimiter reports whether something known starts here.
func (p *parser) atDelimiter() bool {
	switch c := p.peek(); c {
	case ',', ':', ';', '=', '{', '}', '[', ']', '"', '\'', ' ', '\t', '\n', '\r':
		return true
	default:
		return commentMark(p.src[p.pos:]) != ""
	}
}

// quoteShort quotes a text for a message and cuts it to a readable length.
func quoteShort(s string) string { return strconv.Quote(Shorten(s, 40)) }
