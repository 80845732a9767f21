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
}

// parse reads a text that is UTF-8.
func parse(src []byte) *parser {
	p := &parser{src: src}
	if bytes.HasPrefix(src, []byte(bom)) {
		p.pos = len(bom)
		p.problem(ByteOrderMark, 0, p.pos, "the file starts with a byte order mark; save it as UTF-8 without one").replace("")
	}
	p.space()
	if p.atEnd() {
		p.problem(Empty, p.pos, p.pos, "the file holds no value")
		return p
	}
	p.root = p.value()
	p.space()
	switch c := p.peek(); {
	case p.atEnd():
	case c == '}' || c == ']':
		p.problem(ExtraData, p.pos, p.next(), "\"%c\" closes nothing: the document has already ended", c)
	default:
		p.problem(ExtraData, p.pos, p.next(), "extra data after the end of the document")
	}
	return p
}

// problem adds to the list while there is room. The caller may add what repairs it.
func (p *parser) problem(cause Cause, start, end int, format string, args ...any) *Problem {
	if p.stopped || p.full() {
		p.more = p.more || !p.stopped
		return new(Problem)
	}
	p.problems = append(p.problems, Problem{Cause: cause, Offset: start, Length: end - start, Message: fmt.Sprintf(format, args...)})
	return &p.problems[len(p.problems)-1]
}

// full reports whether the list has no room.
func (p *parser) full() bool { return len(p.problems) >= MaxProblems }

// stop ends reading at a limit.
func (p *parser) stop(cause Cause, format string, limit int) {
	if p.full() {
		p.problems = p.problems[:MaxProblems-1]
		p.more = true
	}
	p.problem(cause, p.pos, p.pos, format, limit)
	p.stopped = true
	p.pos = len(p.src)
}

// value reads what starts here. The caller has skipped space and made sure
// that neither the end nor a separator stands here.
func (p *parser) value() *Value {
	if p.values++; p.values > MaxValues {
		p.stop(TooMany, "the document holds more than %d values; what follows was not read", MaxValues)
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
	case p.atNumber() || p.atWord():
		p.word(v)
	default:
		p.unexpected("a value")
	}
	v.End = p.pos
	return v
}

func (p *parser) container(v *Value, c byte) {
	if len(p.open) >= MaxDepth {
		p.stop(TooDeep, "brackets are nested more than %d levels deep; what follows was not read", MaxDepth)
		return
	}
	p.take()
	p.open = append(p.open, c)
	items := items{p: p, v: v}
	if c == '[' {
		v.Kind, items.closing, items.one = Array, ']', p.element
	} else {
		v.Kind, items.closing, items.one = Object, '}', p.member
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
		p.problem(Unexpected, p.pos, p.next(), "found \"%c\" where a key in double quotes is expected", c)
		p.value()
		return
	case p.atWord() || p.atNumber():
		m.Key = p.run()
		p.problem(UnquotedKey, m.KeyStart, p.pos, "the key %s must be in double quotes", quoteShort(m.Key)).replace(Quote(m.Key))
	default:
		p.unexpected("a key in double quotes")
		return
	}
	m.KeyEnd = p.pos
	m.Value = p.valueOf(&m)
	v.Members = append(v.Members, m)
}

// valueOf reads the colon behind a key and the value.
func (p *parser) valueOf(m *Member) *Value {
	p.space()
	if p.colon(m.KeyEnd) {
		p.space()
		if !p.atEnd() && strings.IndexByte(",}]", p.peek()) < 0 {
			return p.value()
		}
		if !p.atEnd() {
			p.problem(MissingValue, m.KeyStart, m.KeyEnd, "the key %s has no value", quoteShort(m.Key))
		}
	}
	return &Value{Start: m.KeyEnd, End: m.KeyEnd}
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
		p.problem(MissingColon, p.pos, p.next(), `found "=" where ":" is expected`).replace(":")
		p.pos = p.next()
	case strings.IndexByte(",;}]", c) >= 0:
		p.problem(MissingValue, keyEnd, keyEnd, "a colon and a value are missing after this key")
		return false
	default:
		missing := p.problem(MissingColon, keyEnd, keyEnd, "missing colon after this key")
		if strings.IndexByte("{[\"'", c) >= 0 || p.atNumber() || p.atWord() {
			missing.replace(":")
		}
	}
	return true
}

// unexpected reports a run of characters that start nothing and skips it.
func (p *parser) unexpected(wanted string) {
	start := p.pos
	for first := true; !p.atEnd() && (first || !p.atDelimiter()); first = false {
		p.pos = p.next()
	}
	p.problem(Unexpected, start, p.pos, "found %s where %s is expected", quoteShort(string(p.src[start:p.pos])), wanted)
}
