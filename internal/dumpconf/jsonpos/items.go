package jsonpos

import (
	"bytes"
	"fmt"
)

// items reads the inside of an object or array, up to the closing bracket.
type items struct {
	p       *parser
	v       *Value
	closing byte
	one     func(*Value) // reads a member or an element

	count    int // items read
	lastEnd  int // end of the last item
	comma    int // offset of the comma after the last item, when hasComma
	commaLen int
	hasComma bool
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
			s.close()
			return
		case c == '}' || c == ']':
			if s.wrongBracket(c) {
				return
			}
		case c == ',' || c == ';':
			s.separator(c)
		case c == ':':
			p.problem(Problem{Cause: Unexpected, Offset: p.pos, Length: p.runeSize(),
				Message: "found a colon that follows no key"})
			p.pos += p.runeSize()
		default:
			s.item()
		}
	}
}

func (s *items) item() {
	if s.count > 0 && !s.hasComma {
		pr := Problem{Cause: MissingComma, Offset: s.lastEnd, Message: "missing comma between this value and the next"}
		if s.onNewLine() {
			pr.Edits = []Edit{{Offset: s.lastEnd, Text: ","}}
		}
		s.p.problem(pr)
	}
	before := len(s.v.Members) + len(s.v.Elems)
	s.one(s.v)
	if len(s.v.Members)+len(s.v.Elems) == before {
		return // nothing that could count as an item
	}
	s.count++
	s.lastEnd = s.p.pos
	if s.v.Kind == Object {
		last := &s.v.Members[len(s.v.Members)-1]
		s.lastEnd = max(last.KeyEnd, last.Value.End)
	}
	s.hasComma = false
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
	start, size := p.pos, p.runeSize()
	switch {
	case s.count == 0 || s.hasComma:
		p.pos += size
		p.problem(Problem{Cause: ExtraComma, Offset: start, Length: size,
			Message: fmt.Sprintf("\"%c\" with nothing before it; remove it", c),
			Edits:   []Edit{{Offset: start, Length: size}}})
		return
	case c == ';':
		p.pos += size
		p.problem(Problem{Cause: MissingComma, Offset: start, Length: size,
			Message: "found a semicolon where a comma is expected",
			Edits:   []Edit{{Offset: start, Length: size, Text: ","}}})
	default:
		p.take()
	}
	s.comma, s.commaLen, s.hasComma = start, size, true
}

func (s *items) close() {
	if s.hasComma {
		s.p.problem(Problem{Cause: TrailingComma, Offset: s.comma, Length: s.commaLen,
			Message: fmt.Sprintf("trailing comma before \"%c\"; remove it", s.closing),
			Edits:   []Edit{{Offset: s.comma, Length: s.commaLen}}})
	}
	s.p.take()
}

// wrongBracket handles a closing bracket of the other sort. When an outer
// bracket fits, ours is the one that is missing, and it reports true.
func (s *items) wrongBracket(c byte) bool {
	p := s.p
	opening := byte('{')
	if c == ']' {
		opening = '['
	}
	outer := p.open[:len(p.open)-1]
	for _, o := range outer {
		if o == opening {
			line, col := s.opened()
			p.problem(Problem{Cause: WrongBracket, Offset: p.pos, Length: p.runeSize(),
				Message: fmt.Sprintf("found \"%c\", but \"%c\" must come first: it closes the bracket of line %d, column %d", c, s.closing, line, col)})
			return true
		}
	}
	p.problem(Problem{Cause: WrongBracket, Offset: p.pos, Length: p.runeSize(),
		Message: fmt.Sprintf("found \"%c\" where \"%c\" is expected", c, s.closing)})
	p.pos += p.runeSize()
	return false
}

func (s *items) truncated() {
	p := s.p
	line, col := s.opened()
	if len(p.problems) > 0 && p.problems[len(p.problems)-1].Cause == Truncated {
		return // one message for all brackets that stay open
	}
	p.problem(Problem{Cause: Truncated, Offset: len(p.src),
		Message: fmt.Sprintf("the file ends too early: \"%c\" is missing for the bracket of line %d, column %d", s.closing, line, col)})
}

// opened returns where the bracket stands that is being read. It looks at the
// whole text and so does nothing when the message would be dropped.
func (s *items) opened() (line, column int) {
	if s.p.full() {
		return 0, 0
	}
	d := Document{src: s.p.src[:s.v.Start], lines: lineStarts(s.p.src[:s.v.Start])}
	return d.Position(s.v.Start)
}
