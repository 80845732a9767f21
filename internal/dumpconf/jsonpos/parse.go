package jsonpos

import (
	"bytes"
	"fmt"
	"strings"
)

// parser reads one text. Every loop consumes at least a byte or ends.
type parser struct {
	src      []byte
	root     *Value
	pos      int
	problems []Problem
	more     bool
	open     []byte // opening brackets around the current place
	values   int
	stopped  bool // a limit was reached; what was read so far counts
	textEnd  int  // end of the text without the white space at its end
}

func (p *parser) document() *Value {
	if bytes.HasPrefix(p.src, []byte(bom)) {
		p.problem(Problem{
			Cause: ByteOrderMark, Length: len(bom),
			Message: "the file starts with a byte order mark; save it as UTF-8 without one",
			Edits:   []Edit{{Length: len(bom)}},
		})
		p.pos = len(bom)
	}
	p.space()
	if p.pos == len(p.src) {
		p.problem(Problem{Cause: Empty, Offset: p.pos, Message: "the file holds no value"})
		return nil
	}
	root := p.value()
	p.space()
	if p.pos < len(p.src) && !p.stopped {
		msg := "extra data after the end of the document"
		if c := p.peek(); c == '}' || c == ']' {
			msg = fmt.Sprintf("\"%c\" closes nothing: the document has already ended", c)
		}
		p.problem(Problem{Cause: ExtraData, Offset: p.pos, Length: p.runeSize(), Message: msg})
	}
	return root
}

// problem adds to the list while there is room.
func (p *parser) problem(pr Problem) {
	if p.stopped {
		return
	}
	if p.full() {
		p.more = true
		return
	}
	p.problems = append(p.problems, pr)
}

// full reports whether the list has no room.
func (p *parser) full() bool { return len(p.problems) >= MaxProblems }

// stop ends reading at a limit.
func (p *parser) stop(cause Cause, message string) {
	if p.full() {
		p.problems = p.problems[:MaxProblems-1]
		p.more = true
	}
	p.problem(Problem{Cause: cause, Offset: p.pos, Message: message})
	p.stopped = true
	p.pos = len(p.src)
}

// value reads what starts here. The caller has skipped space and made sure
// that neither the end nor a separator stands here.
func (p *parser) value() *Value {
	if p.values++; p.values > MaxValues {
		p.stop(TooMany, fmt.Sprintf("the document holds more than %d values; what follows was not read", MaxValues))
	}
	v := &Value{Start: p.pos, End: p.pos}
	if p.stopped {
		return v
	}
	switch c := p.peek(); {
	case c == '{' || c == '[':
		p.container(v, c)
	case c == '"' || c == '\'':
		v.Kind = String
		v.Text = p.stringLiteral()
	case p.atNumber():
		p.number(v)
	case p.atWord():
		p.word(v)
	default:
		p.unexpected("a value")
	}
	v.End = p.pos
	return v
}

func (p *parser) container(v *Value, c byte) {
	if len(p.open) >= MaxDepth {
		p.stop(TooDeep, fmt.Sprintf("brackets are nested more than %d levels deep; what follows was not read", MaxDepth))
		return
	}
	p.take()
	p.open = append(p.open, c)
	items := items{p: p, v: v, closing: '}'}
	if c == '[' {
		items.closing = ']'
		v.Kind = Array
		items.one = p.element
	} else {
		v.Kind = Object
		items.one = p.member
	}
	items.read()
	p.open = p.open[:len(p.open)-1]
}

// element reads one value of an array.
func (p *parser) element(v *Value) {
	v.Elems = append(v.Elems, p.value())
}

// member reads one key with its value.
func (p *parser) member(v *Value) {
	m := Member{KeyStart: p.pos}
	switch c := p.peek(); {
	case c == '"' || c == '\'':
		m.Key = p.stringLiteral()
	case c == '{' || c == '[':
		p.problem(Problem{Cause: Unexpected, Offset: p.pos, Length: p.runeSize(),
			Message: fmt.Sprintf("found \"%c\" where a key in double quotes is expected", c)})
		p.value()
		return
	case p.atWord() || p.atNumber():
		m.Key = p.unquotedKey()
	default:
		p.unexpected("a key in double quotes")
		return
	}
	m.KeyEnd = p.pos
	p.space()
	if !p.colon(m.KeyEnd) {
		m.Value = &Value{Start: m.KeyEnd, End: m.KeyEnd}
		v.Members = append(v.Members, m)
		return
	}
	p.space()
	if p.atEnd() || strings.IndexByte(",}]", p.peek()) >= 0 {
		if !p.atEnd() {
			p.problem(Problem{Cause: MissingValue, Offset: m.KeyStart, Length: m.KeyEnd - m.KeyStart,
				Message: fmt.Sprintf("the key %s has no value", short(m.Key))})
		}
		m.Value = &Value{Start: m.KeyEnd, End: m.KeyEnd}
	} else {
		m.Value = p.value()
	}
	v.Members = append(v.Members, m)
}

// colon reads what stands between key and value and reports whether a value
// may follow.
func (p *parser) colon(keyEnd int) bool {
	switch c := p.peek(); {
	case p.atEnd():
		return false
	case c == ':':
		p.take()
	case c == '=':
		size := p.runeSize()
		p.problem(Problem{Cause: MissingColon, Offset: p.pos, Length: size,
			Message: `found "=" where ":" is expected`,
			Edits:   []Edit{{Offset: p.pos, Length: size, Text: ":"}}})
		p.pos += size
	case strings.IndexByte(",;}]", c) >= 0:
		p.problem(Problem{Cause: MissingValue, Offset: keyEnd, Message: "a colon and a value are missing after this key"})
		return false
	default:
		pr := Problem{Cause: MissingColon, Offset: keyEnd, Message: "missing colon after this key"}
		if p.startsValue() {
			pr.Edits = []Edit{{Offset: keyEnd, Text: ":"}}
		}
		p.problem(pr)
	}
	return true
}

func (p *parser) startsValue() bool {
	return strings.IndexByte("{[\"'", p.peek()) >= 0 || p.atNumber() || p.atWord()
}

// unexpected reports a run of characters that start nothing and skips it.
func (p *parser) unexpected(wanted string) {
	start := p.pos
	for first := true; !p.atEnd() && (first || !p.atDelimiter()); first = false {
		p.pos += p.runeSize()
	}
	p.problem(Problem{Cause: Unexpected, Offset: start, Length: p.pos - start,
		Message: fmt.Sprintf("found %s where %s is expected", short(string(p.src[start:p.pos])), wanted)})
}
