package sidefile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"dumptool/internal/lang"
)

// scanner reads the literals of JSON and Python that hold names: dicts and
// lists of texts.
type scanner struct {
	text string
	pos  int
}

// wrong returns an error about the place pos.
func (s *scanner) wrong(pos int, format string, args ...any) error {
	return fmt.Errorf("%s: %s", s.place(pos), fmt.Sprintf(format, args...))
}

// place names the place pos: line and column from 1, columns in bytes.
func (s *scanner) place(pos int) string {
	before := s.text[:pos]
	return fmt.Sprintf("line %d, column %d", strings.Count(before, "\n")+1, pos-strings.LastIndex(before, "\n"))
}

func (s *scanner) space() {
	for s.pos < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.pos]) >= 0 {
		s.pos++
	}
}

// take skips white space, and c if it is next.
func (s *scanner) take(c byte) bool {
	s.space()
	if s.pos < len(s.text) && s.text[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// expected returns the error for something else than what is wanted.
func (s *scanner) expected(want string) error {
	if s.pos >= len(s.text) {
		return s.wrong(len(s.text), "the text ends, want %s", want)
	}
	r, _ := utf8.DecodeRuneInString(s.text[s.pos:])
	return s.wrong(s.pos, "found %q, want %s", r, want)
}

// end wants nothing more.
func (s *scanner) end() error {
	if s.space(); s.pos < len(s.text) {
		return s.expected("nothing more")
	}
	return nil
}

// list calls item for every element up to closer. The opening is read already.
func (s *scanner) list(closer byte, item func() error) error {
	for !s.take(closer) {
		if err := item(); err != nil {
			return err
		}
		if s.take(',') {
			continue
		}
		if !s.take(closer) {
			return s.expected(fmt.Sprintf("a comma or %q", closer))
		}
		break
	}
	return nil
}

// str reads a text in quotes, with the prefix u or r that Python allows.
func (s *scanner) str() (value string, pos int, err error) {
	s.space()
	pos = s.pos
	raw := false
	if s.pos < len(s.text) {
		switch s.text[s.pos] {
		case 'u', 'U':
			s.pos++
		case 'r', 'R':
			raw = true
			s.pos++
		}
	}
	if s.pos >= len(s.text) || s.text[s.pos] != '"' && s.text[s.pos] != '\'' {
		s.pos = pos
		return "", pos, s.expected("a text in quotes")
	}
	quote := s.text[s.pos]
	s.pos++
	var b strings.Builder
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == quote:
			s.pos++
			return b.String(), pos, nil
		case c == '\n':
			return "", pos, s.wrong(pos, "the text has no closing quote in its line")
		case c == '\\' && !raw:
			if err := s.escape(&b); err != nil {
				return "", pos, err
			}
		case c == '\\' && s.pos+1 < len(s.text) && s.text[s.pos+1] != '\n':
			b.WriteString(s.text[s.pos : s.pos+2]) // a raw text keeps both
			s.pos += 2
		default:
			b.WriteByte(c)
			s.pos++
		}
	}
	return "", pos, s.wrong(pos, "the text has no closing quote")
}

// escape reads an escape of JSON or Python.
func (s *scanner) escape(b *strings.Builder) error {
	start := s.pos
	text := s.text[start:]
	if len(text) < 2 {
		return s.wrong(start, "the text ends in an escape")
	}
	if i := strings.IndexByte(`'"/0`, text[1]); i >= 0 {
		b.WriteByte("'\"/\x00"[i])
		s.pos += 2
		return nil
	}
	if r := surrogates(text); r != utf8.RuneError {
		b.WriteRune(r)
		s.pos += len(`\ud83d\ude00`)
		return nil
	}
	r, _, rest, err := strconv.UnquoteChar(text, 0)
	if err != nil || text[1] >= '0' && text[1] <= '9' {
		return s.wrong(start, "found the escape %q, want one of Python or JSON that is a character", lang.Clip(text[:min(len(text), escapeLength(text[1]))]))
	}
	b.WriteRune(r)
	s.pos += len(text) - len(rest)
	return nil
}

// surrogates returns the character that two escapes of surrogates stand for, or
// utf8.RuneError.
func surrogates(text string) rune {
	if len(text) < len(`\ud83d\ude00`) || text[1] != 'u' || text[6:8] != `\u` {
		return utf8.RuneError
	}
	high, err := strconv.ParseUint(text[2:6], 16, 16)
	low, err2 := strconv.ParseUint(text[8:12], 16, 16)
	if err != nil || err2 != nil {
		return utf8.RuneError
	}
	return utf16.DecodeRune(rune(high), rune(low))
}

// escapeLength is how many bytes an escape has that begins with \ and c.
func escapeLength(c byte) int {
	switch c {
	case 'x':
		return 4
	case 'u':
		return 6
	case 'U':
		return 10
	}
	return 2
}

// ParseList returns the names in the values of a list flag, each once: a value
// is a comma list, or a list or tuple literal of JSON or Python.
func ParseList(values ...string) ([]string, error) {
	var names []string
	seen := make(map[string]bool)
	add := func(name string) {
		if name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, value := range values {
		text := strings.TrimSpace(value)
		closer := map[bool]byte{strings.HasPrefix(text, "["): ']', strings.HasPrefix(text, "("): ')'}[true]
		if closer == 0 {
			for name := range strings.SplitSeq(text, ",") {
				add(strings.TrimSpace(name))
			}
			continue
		}
		s := &scanner{text: text, pos: 1}
		err := s.list(closer, func() error {
			name, pos, err := s.str()
			if err == nil && name == "" {
				err = s.wrong(pos, "an empty name")
			}
			add(name)
			return err
		})
		if err == nil {
			err = s.end()
		}
		if err != nil {
			return nil, fmt.Errorf("list of names: %w", err)
		}
	}
	return names, nil
}
