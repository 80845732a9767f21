package jsonpos

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"dumptool/internal/lang"
)

// parser parses a text. Every loop consumes at least a byte or ends.
type parser struct {
	src      []byte
	root     *Value
	pos      int
	problems []Problem
	hasMore  bool
	brackets []byte // unclosed opening brackets
	values   int
	stopped  bool // a limit was reached
}

// parse parses a text in UTF-8.
func parse(src []byte) *parser {
	p := &parser{src: src}
	if bytes.HasPrefix(src, []byte(bom)) {
		p.pos = len(bom)
		p.addProblem(ByteOrderMark, 0, p.pos, "the file starts with a byte order mark; save it as UTF-8 without one").replace("")
	}
	p.skipSpace()
	if p.isAtEnd() {
		p.addProblem(Empty, p.pos, p.pos, "the file holds no value")
		return p
	}
	p.root = p.readValue()
	p.skipSpace()
	switch c := p.peek(); {
	case p.isAtEnd():
	case c == '}' || c == ']':
		p.addProblem(ExtraData, p.pos, p.next(), "unexpected \"%c\": the document has already ended", c)
	default:
		p.addProblem(ExtraData, p.pos, p.next(), "extra data after the end of the document")
	}
	return p
}

// addProblem adds a problem if the list has room. The caller may add edits.
func (p *parser) addProblem(cause Cause, start, end int, en string, args ...any) *Problem {
	if p.stopped || p.isFull() {
		p.hasMore = p.hasMore || !p.stopped
		return new(Problem)
	}
	p.problems = append(p.problems, Problem{Cause: cause, Offset: start, Length: end - start, Message: lang.Say(en, args...)})
	return &p.problems[len(p.problems)-1]
}

// isFull reports whether the list of problems has no room.
func (p *parser) isFull() bool { return len(p.problems) >= MaxProblems }

// stopAtLimit ends reading at a limit.
func (p *parser) stopAtLimit(cause Cause, en string, limit int) {
	if p.isFull() {
		p.problems = p.problems[:MaxProblems-1]
		p.hasMore = true
	}
	p.addProblem(cause, p.pos, p.pos, en, limit)
	p.stopped = true
	p.pos = len(p.src)
}

// readValue reads the value at the current position. The caller has skipped space and checked for the end and
// separators.
func (p *parser) readValue() *Value {
	if p.values++; p.values > MaxValues {
		p.stopAtLimit(TooMany, "the document holds more than %d values; the rest was not read", MaxValues)
	}
	v := &Value{Start: p.pos, End: p.pos}
	if p.stopped {
		return v
	}
	switch c := p.peek(); {
	case c == '{' || c == '[':
		p.readContainer(v, c)
	case c == '"' || c == '\'':
		v.Kind = String
		v.Text = p.stringLiteral()
	case p.isAtNumber() || p.isAtWord():
		p.readConstant(v)
	default:
		p.skipUnexpected(lang.Text{EN: "a value"})
	}
	v.End = p.pos
	return v
}

func (p *parser) readContainer(v *Value, c byte) {
	if len(p.brackets) >= MaxDepth {
		p.stopAtLimit(TooDeep, "brackets are nested more than %d levels deep; the rest was not read", MaxDepth)
		return
	}
	p.consumeMark()
	p.brackets = append(p.brackets, c)
	items := items{p: p, v: v}
	if c == '[' {
		v.Kind, items.closing, items.readOne = Array, ']', p.readElement
	} else {
		v.Kind, items.closing, items.readOne = Object, '}', p.readMember
	}
	items.read()
	p.brackets = p.brackets[:len(p.brackets)-1]
}

// readElement reads one value of an array.
func (p *parser) readElement(v *Value) {
	v.Elems = append(v.Elems, p.readValue())
}

// readMember reads one key with its value.
func (p *parser) readMember(v *Value) {
	m := Member{KeyStart: p.pos}
	switch c := p.peek(); {
	case c == '"' || c == '\'':
		m.Key = p.stringLiteral()
	case c == '{' || c == '[':
		p.addProblem(Unexpected, p.pos, p.next(), "found \"%c\" where a key in double quotes is expected", c)
		p.readValue()
		return
	case p.isAtWord() || p.isAtNumber():
		m.Key = p.readWord()
		p.addProblem(UnquotedKey, m.KeyStart, p.pos, "the key %s must be in double quotes", quoteShort(m.Key)).replace(Quote(m.Key))
	default:
		p.skipUnexpected(lang.Text{EN: "a key in double quotes"})
		return
	}
	m.KeyEnd = p.pos
	m.Value = p.readMemberValue(&m)
	v.Members = append(v.Members, m)
}

// readMemberValue reads the colon behind a key, and the value.
func (p *parser) readMemberValue(m *Member) *Value {
	p.skipSpace()
	if p.readColon(m.KeyEnd) {
		p.skipSpace()
		if !p.isAtEnd() && strings.IndexByte(",}]", p.peek()) < 0 {
			return p.readValue()
		}
		if !p.isAtEnd() {
			p.addProblem(MissingValue, m.KeyStart, m.KeyEnd, "the key %s has no value", quoteShort(m.Key))
		}
	}
	return &Value{Start: m.KeyEnd, End: m.KeyEnd}
}

// readColon reads the text between key and value and reports whether a value may follow.
func (p *parser) readColon(keyEnd int) bool {
	switch c := p.peek(); {
	case p.isAtEnd():
		return false
	case c == ':':
		p.consumeMark()
	case c == '=':
		p.addProblem(MissingColon, p.pos, p.next(), `found "=" where ":" is expected`).replace(":")
		p.pos = p.next()
	case strings.IndexByte(",;}]", c) >= 0:
		p.addProblem(MissingValue, keyEnd, keyEnd, "a colon and a value are missing after this key")
		return false
	default:
		missing := p.addProblem(MissingColon, keyEnd, keyEnd, "missing colon after this key")
		if strings.IndexByte("{[\"'", c) >= 0 || p.isAtNumber() || p.isAtWord() {
			missing.replace(":")
		}
	}
	return true
}

// skipUnexpected reports and skips characters that begin no value.
func (p *parser) skipUnexpected(wanted lang.Text) {
	start := p.pos
	for first := true; !p.isAtEnd() && (first || !p.isAtDelimiter()); first = false {
		p.pos = p.next()
	}
	p.addProblem(Unexpected, start, p.pos, "found %s where %s is expected", quoteShort(string(p.src[start:p.pos])), wanted)
}

// items reads the contents of an object or array, up to the closing bracket.
type items struct {
	p       *parser
	v       *Value
	closing byte
	readOne func(*Value) // reads a member or an element

	count    int // items read
	lastEnd  int // end of the last item
	comma    int // range of the comma behind the last item; commaEnd is 0 without a comma
	commaEnd int
}

func (s *items) read() {
	p := s.p
	for {
		p.skipSpace()
		switch c := p.peek(); {
		case p.stopped:
			return
		case p.isAtEnd():
			s.reportTruncated()
			return
		case c == s.closing:
			if s.commaEnd > 0 {
				p.addProblem(TrailingComma, s.comma, s.commaEnd, "trailing comma before \"%c\"; remove it", c).replace("")
			}
			p.consumeMark()
			return
		case c == '}' || c == ']':
			if s.handleWrongBracket(c) {
				return
			}
		case c == ',' || c == ';':
			s.readSeparator(c)
		case c == ':':
			p.addProblem(Unexpected, p.pos, p.next(), "found a colon that follows no key")
			p.pos = p.next()
		default:
			s.readItem()
		}
	}
}

func (s *items) readItem() {
	if s.count > 0 && s.commaEnd == 0 {
		missing := s.p.addProblem(MissingComma, s.lastEnd, s.lastEnd, "missing comma between this value and the next")
		if s.isOnNewLine() {
			missing.replace(",")
		}
	}
	before := len(s.v.Members) + len(s.v.Elems)
	s.readOne(s.v)
	if len(s.v.Members)+len(s.v.Elems) == before {
		return // no item was read
	}
	s.count++
	s.lastEnd, s.commaEnd = s.p.pos, 0
	if s.v.Kind == Object {
		last := &s.v.Members[len(s.v.Members)-1]
		s.lastEnd = max(last.KeyEnd, last.Value.End)
	}
}

// isOnNewLine reports whether a member of an object, or an object in an array, begins here on a new line. Two strings
// of an array may be one broken string.
func (s *items) isOnNewLine() bool {
	elems := s.v.Elems
	whole := len(elems) == 0 || elems[len(elems)-1].Kind == Object && s.p.peek() == '{'
	return whole && bytes.IndexByte(s.p.src[s.lastEnd:s.p.pos], '\n') >= 0
}

func (s *items) readSeparator(c byte) {
	p := s.p
	start, end := p.pos, p.next()
	switch {
	case s.count == 0 || s.commaEnd > 0:
		p.addProblem(ExtraComma, start, end, "\"%c\" with nothing before it; remove it", c).replace("")
		p.pos = end
		return
	case c == ';':
		p.addProblem(MissingComma, start, end, "found a semicolon where a comma is expected").replace(",")
		p.pos = end
	default:
		p.consumeMark()
	}
	s.comma, s.commaEnd = start, end
}

// handleWrongBracket handles a closing bracket of the other kind. It returns true if the bracket matches an outer
// one, so that the inner closing bracket is missing.
func (s *items) handleWrongBracket(c byte) bool {
	p := s.p
	opening := c - 2 // in ASCII, for both kinds
	if outer := p.brackets[:len(p.brackets)-1]; bytes.IndexByte(outer, opening) >= 0 {
		line, column := s.openingPosition()
		p.addProblem(WrongBracket, p.pos, p.next(),
			"found \"%c\", but \"%c\" must come first: it closes the bracket of line %d, column %d", c, s.closing, line, column)
		return true
	}
	p.addProblem(WrongBracket, p.pos, p.next(), "found \"%c\" where \"%c\" is expected", c, s.closing)
	p.pos = p.next()
	return false
}

func (s *items) reportTruncated() {
	p := s.p
	if n := len(p.problems); n > 0 && p.problems[n-1].Cause == Truncated {
		return // report only once for all open brackets
	}
	line, column := s.openingPosition()
	p.addProblem(Truncated, len(p.src), len(p.src),
		"the file ends too early: \"%c\" is missing for the bracket of line %d, column %d", s.closing, line, column)
}

// openingPosition returns the position of the current opening bracket. It scans the whole text, so it does nothing if
// the message would be dropped.
func (s *items) openingPosition() (line, column int) {
	if s.p.isFull() {
		return 0, 0
	}
	return (&Document{src: s.p.src}).Position(s.v.Start)
}

// fullWidth maps punctuation of input methods and word processors to ASCII.
var fullWidth = map[rune]byte{
	'，': ',', '、': ',', '：': ':', '；': ';', '＝': '=',
	'｛': '{', '｝': '}', '［': '[', '］': ']', '【': '[', '】': ']',
	'“': '"', '”': '"', '„': '"', '‟': '"', '＂': '"',
	'‘': '\'', '’': '\'', '＇': '\'',
}

// invisible maps characters that look like space, or are invisible, to their names.
var invisible = map[rune]lang.Text{
	'\u00a0': {EN: "no-break space"},
	'\u3000': {EN: "full-width space"},
	'\u200b': {EN: "zero-width space"},
	'\ufeff': {EN: "byte order mark"},
	'\u2028': {EN: "line separator"},
	'\u2029': {EN: "paragraph separator"},
	'\v':     {EN: "vertical tab"},
	'\f':     {EN: "form feed"},
}

func (p *parser) isAtEnd() bool { return p.pos >= len(p.src) }

// next returns the offset behind the character here.
func (p *parser) next() int {
	_, size := utf8.DecodeRune(p.src[p.pos:])
	return p.pos + size
}

// peek returns the ASCII character here, or the ASCII equivalent of a full-width character; 0 at
// the end and for other characters.
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

// consumeMark consumes a punctuation mark and reports a full-width one.
func (p *parser) consumeMark() {
	if end := p.next(); end > p.pos+1 {
		c := p.peek()
		p.addProblem(FullWidth, p.pos, end, "full-width %s; use \"%c\"", p.src[p.pos:end], c).replace(string(c))
	}
	p.pos = p.next()
}

// skipSpace skips white space, and reports comments and characters that look like space.
func (p *parser) skipSpace() {
	for !p.isAtEnd() {
		switch c := p.src[p.pos]; {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
			p.pos++
		case commentMark(p.src[p.pos:]) != "":
			p.reportComment()
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
				name = lang.Say("control character U+%04X", r).Text()
			}
			p.addProblem(cause, p.pos, p.pos+size, "%s between values; use an ordinary space", name).replace(" ")
			p.pos += size
		}
	}
}

// commentMark returns the mark of a comment at the start of a text, or empty.
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

// commentEnd returns the end of the comment at pos. The line end is not part of a line comment.
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

// startsComment reports whether a comment begins here, separated from the text before it: /data//dump contains none.
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

// reportComment reports a comment. Its repair also removes the blanks before it.
func (p *parser) reportComment() {
	start, mark := p.pos, commentMark(p.src[p.pos:])
	end, closed := commentEnd(p.src, start)
	p.pos = end
	found := p.addProblem(Comment, start, end, "comment (%s); JSON has no comments, remove it", mark)
	blanks := start - len(bytes.TrimRight(p.src[:start], " \t"))
	switch {
	case !closed:
	case mark == "/*":
		found.edit(start-blanks, end-start+blanks, " ") // it may separate two words
	default:
		found.edit(start-blanks, end-start+blanks, "")
	}
}

// isAtDelimiter reports whether a delimiter begins here.
func (p *parser) isAtDelimiter() bool {
	switch c := p.peek(); c {
	case ',', ':', ';', '=', '{', '}', '[', ']', '"', '\'', ' ', '\t', '\n', '\r':
		return true
	default:
		return commentMark(p.src[p.pos:]) != ""
	}
}

// quoteShort quotes a text for a message, cut to 40 characters.
func quoteShort(s string) string { return strconv.Quote(Shorten(s, 40)) }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isNumber reports whether a text is a JSON number.
func isNumber(text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("-"))
	whole := digits(text)
	if whole == 0 || whole > 1 && text[0] == '0' {
		return false
	}
	text = text[whole:]
	if len(text) > 0 && text[0] == '.' {
		fraction := digits(text[1:])
		if fraction == 0 {
			return false
		}
		text = text[1+fraction:]
	}
	if len(text) == 0 {
		return true
	}
	if text[0]|0x20 != 'e' {
		return false
	}
	if text = text[1:]; len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	return len(text) > 0 && digits(text) == len(text)
}

// digits returns the number of digits at the beginning of a text.
func digits(text []byte) int {
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return n
}

// isAtNumber reports whether an intended number begins here.
func (p *parser) isAtNumber() bool {
	c := p.peek()
	return isDigit(c) || c == '-' || c == '+' || c == '.' && p.pos+1 < len(p.src) && isDigit(p.src[p.pos+1])
}

// isAtWord reports whether an unquoted word begins here.
func (p *parser) isAtWord() bool {
	r, _ := utf8.DecodeRune(p.src[p.pos:])
	if r == utf8.RuneError {
		return false
	}
	return unicode.IsLetter(r) || r == '_' || r == '$' || r == '~' || r == '.' || r == '/' && commentMark(p.src[p.pos:]) == ""
}

// readWord consumes word characters. A comment ends the run, but /data//dump is one word.
func (p *parser) readWord() string {
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

// readConstant reads numbers, true, false, null, and common substitutes for them.
func (p *parser) readConstant(v *Value) {
	start, number := p.pos, p.isAtNumber()
	text := p.readWord()
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
		p.addProblem(NotANumber, start, p.pos, "%s is no JSON value", text)
		return
	case number:
		p.addProblem(BadNumber, start, p.pos, "%s is no JSON number; put it in double quotes if it is text", quoteShort(text))
		return
	default:
		v.Kind, v.Text = String, text
		p.addProblem(UnquotedValue, start, p.pos, "%s must be in double quotes", quoteShort(text)).replace(Quote(text))
		return
	}
	if text != meant {
		p.addProblem(PythonConstant, start, p.pos, "%s is no JSON; write %s", text, meant).replace(meant)
	}
}
