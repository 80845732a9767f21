package jsonpos

import (
	"bytes"
	"strings"

	"dumptool/internal/lang"
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
		p.problem(ByteOrderMark, 0, p.pos, "the file starts with a byte order mark; save it as UTF-8 without one", "文件以字节序标记(BOM)开头，请保存为不带 BOM 的 UTF-8").replace("")
	}
	p.space()
	if p.atEnd() {
		p.problem(Empty, p.pos, p.pos, "the file holds no value", "文件中没有值")
		return p
	}
	p.root = p.value()
	p.space()
	switch c := p.peek(); {
	case p.atEnd():
	case c == '}' || c == ']':
		p.problem(ExtraData, p.pos, p.next(), "\"%c\" closes nothing: the document has already ended", "\"%c\" 没有可闭合的括号：文档已经结束", c)
	default:
		p.problem(ExtraData, p.pos, p.next(), "extra data after the end of the document", "文档结束后有多余内容")
	}
	return p
}

// problem adds to the list while there is room. The caller may add what repairs it.
func (p *parser) problem(cause Cause, start, end int, en, zh string, args ...any) *Problem {
	if p.stopped || p.full() {
		p.more = p.more || !p.stopped
		return new(Problem)
	}
	p.problems = append(p.problems, Problem{Cause: cause, Offset: start, Length: end - start, Message: lang.Sayf(en, zh, args...)})
	return &p.problems[len(p.problems)-1]
}

// full reports whether the list has no room.
func (p *parser) full() bool { return len(p.problems) >= MaxProblems }

// stop ends reading at a limit.
func (p *parser) stop(cause Cause, en, zh string, limit int) {
	if p.full() {
		p.problems = p.problems[:MaxProblems-1]
		p.more = true
	}
	p.problem(cause, p.pos, p.pos, en, zh, limit)
	p.stopped = true
	p.pos = len(p.src)
}

// value reads what starts here. The caller has skipped space and made sure
// that neither the end nor a separator stands here.
func (p *parser) value() *Value {
	if p.values++; p.values > MaxValues {
		p.stop(TooMany, "the document holds more than %d values; what follows was not read", "文档超过 %d 个值，之后的内容未读取", MaxValues)
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
		p.unexpected(lang.Text{EN: "a value", ZH: "值"})
	}
	v.End = p.pos
	return v
}

func (p *parser) container(v *Value, c byte) {
	if len(p.open) >= MaxDepth {
		p.stop(TooDeep, "brackets are nested more than %d levels deep; what follows was not read", "括号嵌套超过 %d 层，之后的内容未读取", MaxDepth)
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
		p.problem(Unexpected, p.pos, p.next(), "found \"%c\" where a key in double quotes is expected", "实际为 \"%c\"，此处应为双引号中的键", c)
		p.value()
		return
	case p.atWord() || p.atNumber():
		m.Key = p.run()
		p.problem(UnquotedKey, m.KeyStart, p.pos, "the key %s must be in double quotes", "键 %s 必须用双引号", quoteShort(m.Key)).replace(Quote(m.Key))
	default:
		p.unexpected(lang.Text{EN: "a key in double quotes", ZH: "双引号中的键"})
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
			p.problem(MissingValue, m.KeyStart, m.KeyEnd, "the key %s has no value", "键 %s 没有值", quoteShort(m.Key))
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
		p.problem(MissingColon, p.pos, p.next(), `found "=" where ":" is expected`, `此处应为 ":"，实际为 "="`).replace(":")
		p.pos = p.next()
	case strings.IndexByte(",;}]", c) >= 0:
		p.problem(MissingValue, keyEnd, keyEnd, "a colon and a value are missing after this key", "该键之后缺少冒号和值")
		return false
	default:
		missing := p.problem(MissingColon, keyEnd, keyEnd, "missing colon after this key", "该键之后缺少冒号")
		if strings.IndexByte("{[\"'", c) >= 0 || p.atNumber() || p.atWord() {
			missing.replace(":")
		}
	}
	return true
}

// unexpected reports a run of characters that start nothing and skips it.
func (p *parser) unexpected(wanted lang.Text) {
	start := p.pos
	for first := true; !p.atEnd() && (first || !p.atDelimiter()); first = false {
		p.pos = p.next()
	}
	p.problem(Unexpected, start, p.pos, "found %s where %s is expected", "实际为 %s，此处应为%s", quoteShort(string(p.src[start:p.pos])), wanted)
}
