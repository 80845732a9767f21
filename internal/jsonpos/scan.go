package jsonpos

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
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

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isNumber reports whether a text is a number as JSON writes it.
func isNumber(text []byte) bool {
	return len(text) > 0 && (text[0] == '-' || isDigit(text[0])) && json.Valid(text)
}

// atNumber reports whether something starts here that is meant as a number.
func (p *parser) atNumber() bool {
	c := p.peek()
	return isDigit(c) || c == '-' || c == '+' || c == '.' && p.pos+1 < len(p.src) && isDigit(p.src[p.pos+1])
}

// atWord reports whether an unquoted word starts here.
func (p *parser) atWord() bool {
	r, _ := utf8.DecodeRune(p.src[p.pos:])
	if r == utf8.RuneError {
		return false
	}
	return unicode.IsLetter(r) || r == '_' || r == '$' || r == '~' || r == '.' || r == '/' && commentMark(p.src[p.pos:]) == ""
}

// run consumes a run of word characters. A comment ends it, but /data//dump is one word.
func (p *parser) run() string {
	start, inPath := p.pos, false
	for p.pos < len(p.src) {
		r, size := utf8.DecodeRune(p.src[p.pos:])
		slash := r == '/' && (inPath || commentMark(p.src[p.pos:]) == "")
		if !slash && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-+.$~|%*", r) {
			break
		}
		inPath = inPath || slash
		p.pos += size
	}
	return string(p.src[start:p.pos])
}

// word reads numbers, true, false and null, and what people write in their place.
func (p *parser) word(v *Value) {
	start, number := p.pos, p.atNumber()
	text := p.run()
	meant := strings.ToLower(text)
	switch meant {
	case "none", "nil", "undefined":
		meant = "null"
	}
	switch {
	case isNumber(p.src[start:p.pos]):
		v.Kind, v.Text = Number, text
		return
	case meant == "true" || meant == "false":
		v.Kind, v.Text = Bool, meant
	case meant == "null":
		v.Kind = Null
	case slices.Contains([]string{"nan", "inf", "infinity"}, strings.TrimLeft(meant, "+-")):
		p.problem(NotANumber, start, p.pos, "%s is no JSON value", "%s 不是 JSON 的值", text)
		return
	case number:
		p.problem(BadNumber, start, p.pos, "%s is no JSON number; put it in double quotes if it is text", "%s 不是 JSON 的数字；若为文本请加双引号", quoteShort(text))
		return
	default:
		v.Kind, v.Text = String, text
		p.problem(UnquotedValue, start, p.pos, "%s must be in double quotes", "%s 必须用双引号", quoteShort(text)).replace(Quote(text))
		return
	}
	if text != meant {
		p.problem(PythonConstant, start, p.pos, "%s is no JSON; write %s", "%s 不符合 JSON，请写 %s", text, meant).replace(meant)
	}
}
