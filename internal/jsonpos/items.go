package jsonpos

import "bytes"

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
