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

// items reads the inside of an object or array, up to the closing bracket.
type items struct {
	p       *parser
	v       *Value
	closing byte
	one     func(*Value) // reads a member or an element

	count    int // items read
	lastEnd  int // end of the last item
	comma    int // offset of the comma after the last item, and its end, which is 0 without
	commaEnd int
}

func (s *items) read() {
	p := s.p
	for {
		p.space()
		switch c := p.peek(); {
		case p.stopped:
			return
		case p.atEnd():
			s.truncated()
			return
		case c == s.closing:
			if s.commaEnd > 0 {
				p.problem(TrailingComma, s.comma, s.commaEnd, "trailing comma before \"%c\"; remove it", "\"%c\" 前有多余的逗号，请删除", c).replace("")
			}
			p.take()
			return
		case c == '}' || c == ']':
			if s.wrongBracket(c) {
				return
			}
		case c == ',' || c == ';':
			s.separator(c)
		case c == ':':
			p.problem(Unexpected, p.pos, p.next(), "found a colon that follows no key", "冒号前没有键")
			p.pos = p.next()
		default:
			s.item()
		}
	}
}

func (s *items) item() {
	if s.count > 0 && s.commaEnd == 0 {
		missing := s.p.problem(MissingComma, s.lastEnd, s.lastEnd, "missing comma between this value and the next", "该值与下一个值之间缺少逗号")
		if s.onNewLine() {
			missing.replace(",")
		}
	}
	before := len(s.v.Members) + len(s.v.Elems)
	s.one(s.v)
	if len(s.v.Members)+len(s.v.Elems) == before {
		return // nothing that could count as an item
	}
	s.count++
	s.lastEnd, s.commaEnd = s.p.pos, 0
	if s.v.Kind == Object {
		last := &s.v.Members[len(s.v.Members)-1]
		s.lastEnd = max(last.KeyEnd, last.Value.End)
	}
}

// onNewLine reports whether here, on another line than the last item, a member
// of an object or an object in an array starts. Two strings of an array may be
// one that was broken.
func (s *items) onNewLine() bool {
	elems := s.v.Elems
	whole := len(elems) == 0 || elems[len(elems)-1].Kind == Object && s.p.peek() == '{'
	return whole && bytes.IndexByte(s.p.src[s.lastEnd:s.p.pos], '\n') >= 0
}

func (s *items) separator(c byte) {
	p := s.p
	start, end := p.pos, p.next()
	switch {
	case s.count == 0 || s.commaEnd > 0:
		p.problem(ExtraComma, start, end, "\"%c\" with nothing before it; remove it", "\"%c\" 前没有内容，请删除", c).replace("")
		p.pos = end
		return
	case c == ';':
		p.problem(MissingComma, start, end, "found a semicolon where a comma is expected", "此处应为逗号，实际为分号").replace(",")
		p.pos = end
	default:
		p.take()
	}
	s.comma, s.commaEnd = start, end
}

// wrongBracket handles a closing bracket of the other sort. When an outer
// bracket fits, ours is the one that is missing, and it reports true.
func (s *items) wrongBracket(c byte) bool {
	p := s.p
	opening := c - 2 // in ASCII, for both sorts
	if outer := p.open[:len(p.open)-1]; bytes.IndexByte(outer, opening) >= 0 {
		line, column := s.opened()
		p.problem(WrongBracket, p.pos, p.next(),
			"found \"%c\", but \"%c\" must come first: it closes the bracket of line %d, column %d", "实际为 \"%c\"，但应先有 \"%c\" 闭合第 %d 行第 %d 列的括号", c, s.closing, line, column)
		return true
	}
	p.problem(WrongBracket, p.pos, p.next(), "found \"%c\" where \"%c\" is expected", "实际为 \"%c\"，此处应为 \"%c\"", c, s.closing)
	p.pos = p.next()
	return false
}

func (s *items) truncated() {
	p := s.p
	if n := len(p.problems); n > 0 && p.problems[n-1].Cause == Truncated {
		return // one message for all brackets that stay open
	}
	line, column := s.opened()
	p.problem(Truncated, len(p.src), len(p.src),
		"the file ends too early: \"%c\" is missing for the bracket of line %d, column %d", "文件过早结束：缺少 \"%c\" 闭合第 %d 行第 %d 列的括号", s.closing, line, column)
}

// opened returns where the bracket stands that is being read. It looks at the
// whole text and so does nothing when the message would be dropped.
func (s *items) opened() (line, column int) {
	if s.p.full() {
		return 0, 0
	}
	return (&Document{src: s.p.src}).Position(s.v.Start)
}
