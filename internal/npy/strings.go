package npy

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// stringForm is what the letters before a quote mean.
type stringForm struct {
	kind kind
	raw  bool // backslashes are ordinary
}

// stringPrefixes are the letters, in lower case, that may precede a quote.
var stringPrefixes = map[string]stringForm{
	"": {kindString, false}, "u": {kindString, false}, "r": {kindString, true},
	"b": {kindBytes, false}, "br": {kindBytes, true}, "rb": {kindBytes, true},
}

// escapes are the one-letter escapes of a string.
var escapes = map[byte]byte{
	'\\': '\\', '\'': '\'', '"': '"',
	'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
}

// hexEscapes are the escapes of a character by number and how many digits they
// have.
var hexEscapes = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// stringTokens reads one string or several side by side, which make one.
func (p *parser) stringTokens() (literal, error) {
	var lit literal
	var text []byte
	for first := true; ; first = false {
		form, quote, ok := p.stringStart()
		switch {
		case !ok && first:
			return literal{}, p.unexpected("a literal")
		case !ok:
			lit.text = string(text)
			return lit, nil
		case first:
			lit = literal{kind: form.kind, pos: p.pos}
		case form.kind != lit.kind:
			return literal{}, p.unexpected("a string of the same type")
		}
		p.pos = quote
		var err error
		if text, err = p.quoted(text, form.raw); err != nil {
			return literal{}, err
		}
		lit.end = p.pos
		p.space()
	}
}

// stringStart looks for a string token and returns where its quote is.
func (p *parser) stringStart() (form stringForm, quote int, ok bool) {
	i := bytes.IndexAny(p.text[p.pos:min(p.pos+3, len(p.text))], `'"`)
	if i < 0 {
		return stringForm{}, 0, false
	}
	form, ok = stringPrefixes[string(bytes.ToLower(p.text[p.pos:p.pos+i]))]
	return form, p.pos + i, ok
}

// quoted appends the text of the string whose opening quote is next.
func (p *parser) quoted(text []byte, raw bool) ([]byte, error) {
	start := literal{pos: p.pos, end: len(p.text)}
	width := 1
	if c := p.text[p.pos]; bytes.HasPrefix(p.text[p.pos:], []byte{c, c, c}) {
		width = 3
	}
	quote := p.text[p.pos : p.pos+width]
	for p.pos += width; p.pos < len(p.text); {
		c := p.text[p.pos]
		switch {
		case bytes.HasPrefix(p.text[p.pos:], quote):
			p.pos += width
			return text, nil
		case isNewline(c) && width == 1:
			return nil, p.wrong(start, "string is not closed on its line")
		case c == '\\' && p.pos+1 == len(p.text):
			p.pos++
		case c == '\\' && raw:
			text = append(text, c, p.text[p.pos+1])
			p.pos += 2
		case c == '\\':
			var err error
			if text, err = p.escape(text); err != nil {
				return nil, err
			}
		default:
			text = append(text, c)
			p.pos++
		}
	}
	return nil, p.wrong(start, "string is not closed")
}

// escape appends the meaning of the escape whose backslash is next. An unknown
// escape stands for itself, backslash included.
func (p *parser) escape(text []byte) ([]byte, error) {
	start := literal{pos: p.pos, end: min(p.pos+10, len(p.text))}
	c := p.text[p.pos+1]
	p.pos += 2
	switch {
	case isNewline(c):
		if c == '\r' {
			p.take('\n')
		}
		return text, nil
	case escapes[c] != 0:
		return append(text, escapes[c]), nil
	case c == 'N':
		return nil, p.unsupported(start, "named character is not supported")
	}
	digits, base := hexEscapes[c], 16
	if '0' <= c && c <= '7' {
		p.pos--
		digits, base = p.octalDigits(), 8
	}
	if digits == 0 {
		return append(text, '\\', c), nil
	}
	end := min(p.pos+digits, len(p.text))
	n, err := strconv.ParseUint(string(p.text[p.pos:end]), base, 32)
	if err != nil || end-p.pos < digits || n > utf8.MaxRune {
		return nil, p.wrong(start, "string has a broken escape")
	}
	p.pos = end
	return utf8.AppendRune(text, rune(n)), nil
}

// octalDigits counts the octal digits that are next, up to three.
func (p *parser) octalDigits() int {
	n := 0
	for n < 3 && p.pos+n < len(p.text) && '0' <= p.text[p.pos+n] && p.text[p.pos+n] <= '7' {
		n++
	}
	return n
}
