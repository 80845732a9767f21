package jsonpos

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
