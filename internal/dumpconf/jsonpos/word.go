package jsonpos

import (
	"fmt"
	"regexp"
	"strings"
)

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// atNumber reports whether something starts here that is meant as a number.
func (p *parser) atNumber() bool {
	c := p.peek()
	next := byte(0)
	if p.pos+1 < len(p.src) {
		next = p.src[p.pos+1]
	}
	return isDigit(c) || c == '-' || c == '+' || c == '.' && isDigit(next)
}

func (p *parser) number(v *Value) {
	end := p.wordEnd()
	text := string(p.src[p.pos:end])
	pr := Problem{Cause: BadNumber, Offset: p.pos, Length: end - p.pos}
	p.pos = end
	switch {
	case jsonNumber.MatchString(text):
		v.Kind, v.Text = Number, text
		return
	case isNaN(strings.TrimLeft(text, "+-")):
		pr.Cause = NotANumber
		pr.Message = text + " is no JSON value"
	default:
		pr.Message = fmt.Sprintf("%s is no JSON number; put it in double quotes if it is text", short(text))
	}
	p.problem(pr)
}

func isNaN(text string) bool {
	switch strings.ToLower(text) {
	case "nan", "inf", "infinity":
		return true
	default:
		return false
	}
}

// word reads true, false and null, and what people write in their place.
func (p *parser) word(v *Value) {
	end := p.wordEnd()
	text := string(p.src[p.pos:end])
	pr := Problem{Offset: p.pos, Length: end - p.pos}
	p.pos = end
	meant := strings.ToLower(text)
	if meant == "none" || meant == "nil" || meant == "undefined" {
		meant = "null"
	}
	switch {
	case meant == "true" || meant == "false":
		v.Kind, v.Text = Bool, meant
	case meant == "null":
		v.Kind = Null
	case isNaN(text):
		pr.Cause, pr.Message = NotANumber, text+" is no JSON value"
		p.problem(pr)
		return
	default:
		v.Kind, v.Text = String, text
		pr.Cause = UnquotedValue
		pr.Message = fmt.Sprintf("%s must be in double quotes", short(text))
		pr.Edits = []Edit{{Offset: pr.Offset, Length: pr.Length, Text: Quote(text)}}
		p.problem(pr)
		return
	}
	if text != meant {
		pr.Cause = PythonConstant
		pr.Message = fmt.Sprintf("%s is no JSON; write %s", text, meant)
		pr.Edits = []Edit{{Offset: pr.Offset, Length: pr.Length, Text: meant}}
		p.problem(pr)
	}
}

func (p *parser) unquotedKey() string {
	start := p.pos
	p.pos = p.wordEnd()
	text := string(p.src[start:p.pos])
	p.problem(Problem{Cause: UnquotedKey, Offset: start, Length: p.pos - start,
		Message: fmt.Sprintf("the key %s must be in double quotes", short(text)),
		Edits:   []Edit{{Offset: start, Length: p.pos - start, Text: Quote(text)}}})
	return text
}
