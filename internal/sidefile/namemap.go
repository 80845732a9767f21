package sidefile

import (
	"iter"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"dumptool/internal/filename"
	"dumptool/internal/lang"
)

// NameMap pairs operators of the NPU with operators of the reference whose names differ.
type NameMap struct {
	Entries []MapEntry
	// Cells are names of modules, or parts of them, to replace in names.
	Cells []MapEntry
	// Calls are functions of MindSpore with another name in PyTorch.
	Calls []CallEntry
	// Layers map the names of modules of the NPU to the reference, by the class of the module
	// around them.
	Layers map[string]map[string]string

	ref, npu filename.Index
}

// MapEntry is a pair of names.
type MapEntry struct {
	Ref, NPU string
	Place    Position
}

// Position is the place of an entry in a text, from line 1, column 1; columns count bytes.
type Position struct{ Line, Column int }

// Text is the position in both languages.
func (p Position) Text() lang.Text { return lang.Say("line %d, column %d", p.Line, p.Column).Text() }

func (p Position) String() string { return p.Text().String() }

// ParseNameMap parses a dict of JSON or Python with names of the reference as keys and names of the
// NPU as values. An empty text is an empty map. Repeated names, on either side, are an error.
func ParseNameMap(text string) (*NameMap, error) {
	m := new(NameMap)
	s := &scanner{text: strings.TrimPrefix(text, "\ufeff")}
	if s.skipSpace(); s.pos == len(s.text) {
		return m, nil
	}
	err := m.parse(s)
	if err != nil {
		return nil, lang.Errorf("name map: %w", err)
	}
	return m, nil
}

func (m *NameMap) parse(s *scanner) error {
	if !s.skip('{') {
		return s.unexpectedError(lang.Plain("{"))
	}
	err := s.parseList('}', func() error {
		ref, refPos, err := s.quotedText()
		if err != nil {
			return err
		}
		if !s.skip(':') {
			return s.unexpectedError(lang.Say("a colon"))
		}
		npu, npuPos, err := s.quotedText()
		if err != nil {
			return err
		}
		return m.add(ref, npu, s.position(refPos), s.position(npuPos))
	})
	if err != nil {
		return err
	}
	return s.checkEnd()
}

func (m *NameMap) add(ref, npu string, refPlace, npuPlace Position) error {
	switch {
	case ref == "":
		return lang.Errorf("%s: an empty name of the reference", refPlace)
	case npu == "":
		return lang.Errorf("%s: an empty name of the NPU", npuPlace)
	}
	i := len(m.Entries)
	if old, added := m.ref.Add(ref, i); !added {
		return lang.Errorf("%s: the reference's %q was mapped before, at %s", refPlace, ref, m.Entries[old].Place)
	}
	if old, added := m.npu.Add(npu, i); !added {
		return lang.Errorf("%s: the NPU's %q was mapped before, from %q at %s", npuPlace, npu, m.Entries[old].Ref, m.Entries[old].Place)
	}
	m.Entries = append(m.Entries, MapEntry{ref, npu, refPlace})
	return nil
}

// FindRef returns the entry of a reference operator: the entry with the first name of names that the map has, exact
// or normalised as in file names.
func (m *NameMap) FindRef(names ...string) (*MapEntry, bool) { return m.find(&m.ref, names) }

// FindNPU returns the entry of an NPU operator; see FindRef.
func (m *NameMap) FindNPU(names ...string) (*MapEntry, bool) { return m.find(&m.npu, names) }

func (m *NameMap) find(index *filename.Index, names []string) (*MapEntry, bool) {
	if i, ok := index.Find(names...); ok {
		return &m.Entries[i], true
	}
	return nil, false
}

// Missing returns a sentence for every name of the map that is missing on its side. ref and npu are the names of each
// operator of a side, the best name first.
func (m *NameMap) Missing(ref, npu iter.Seq[[]string]) []lang.Sentence {
	inRef, inNPU := numbersOf(&m.ref, ref), numbersOf(&m.npu, npu)
	m.markCells(inRef, ref, func(e *MapEntry) string { return e.Ref })
	m.markCells(inNPU, npu, func(e *MapEntry) string { return e.NPU })
	var missing []lang.Sentence
	for i, e := range m.Entries {
		if !inRef[i] {
			missing = append(missing, lang.Say("%s: the reference has no %q", e.Place, e.Ref))
		}
		if !inNPU[i] {
			missing = append(missing, lang.Say("%s: the NPU has no %q", e.Place, e.NPU))
		}
	}
	return missing
}

// numbersOf returns the numbers in index of the operators.
func numbersOf(index *filename.Index, ops iter.Seq[[]string]) map[int]bool {
	all := make(map[int]bool)
	for names := range ops {
		if k, ok := index.Find(names...); ok {
			all[k] = true
		}
	}
	return all
}

// scanner parses literals of JSON and Python: dicts and lists of texts.
type scanner struct {
	text string
	pos  int
}

// errorAt returns an error at offset pos.
func (s *scanner) errorAt(pos int, format string, args ...any) error {
	at := s.position(pos)
	return lang.Errorf("line %d, column %d: %v", at.Line, at.Column, lang.Say(format, args...))
}

// position returns the position of offset pos.
func (s *scanner) position(pos int) Position {
	before := s.text[:pos]
	return Position{strings.Count(before, "\n") + 1, pos - strings.LastIndex(before, "\n")}
}

func (s *scanner) skipSpace() {
	for s.pos < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.pos]) >= 0 {
		s.pos++
	}
}

// skip skips white space, and c if it is next.
func (s *scanner) skip(c byte) bool {
	s.skipSpace()
	if s.pos < len(s.text) && s.text[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// unexpectedError returns the error for unexpected text.
func (s *scanner) unexpectedError(want lang.Sentence) error {
	if s.pos >= len(s.text) {
		return s.errorAt(len(s.text), "the text ends, want %s", want)
	}
	r, _ := utf8.DecodeRuneInString(s.text[s.pos:])
	return s.errorAt(s.pos, "found %q, want %s", r, want)
}

// checkEnd checks that no text is left.
func (s *scanner) checkEnd() error {
	if s.skipSpace(); s.pos < len(s.text) {
		return s.unexpectedError(lang.Say("nothing more"))
	}
	return nil
}

// parseList calls item for every element up to closer, after the opening bracket.
func (s *scanner) parseList(closer byte, item func() error) error {
	for !s.skip(closer) {
		if err := item(); err != nil {
			return err
		}
		if s.skip(',') {
			continue
		}
		if !s.skip(closer) {
			return s.unexpectedError(lang.Say("a comma or %q", closer))
		}
		break
	}
	return nil
}

// quotedText parses a quoted text, with Python's prefixes u and r.
func (s *scanner) quotedText() (value string, pos int, err error) {
	s.skipSpace()
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
		return "", pos, s.unexpectedError(lang.Say("a text in quotes"))
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
			return "", pos, s.errorAt(pos, "the text has no closing quote in its line")
		case c == '\\' && !raw:
			if err := s.parseEscape(&b); err != nil {
				return "", pos, err
			}
		case c == '\\' && s.pos+1 < len(s.text) && s.text[s.pos+1] != '\n':
			b.WriteString(s.text[s.pos : s.pos+2]) // raw text keeps both
			s.pos += 2
		default:
			b.WriteByte(c)
			s.pos++
		}
	}
	return "", pos, s.errorAt(pos, "the text has no closing quote")
}

// parseEscape parses an escape of JSON or Python.
func (s *scanner) parseEscape(b *strings.Builder) error {
	start := s.pos
	text := s.text[start:]
	if len(text) < 2 {
		return s.errorAt(start, "the text ends in an escape")
	}
	if i := strings.IndexByte(`'"/0`, text[1]); i >= 0 {
		b.WriteByte("'\"/\x00"[i])
		s.pos += 2
		return nil
	}
	if r := decodeSurrogates(text); r != utf8.RuneError {
		b.WriteRune(r)
		s.pos += len(`\ud83d\ude00`)
		return nil
	}
	r, _, rest, err := strconv.UnquoteChar(text, 0)
	if err != nil || text[1] >= '0' && text[1] <= '9' {
		return s.errorAt(start, "found the escape %q, want one of Python or JSON that is a character", lang.Clip(text[:min(len(text), escapeLength(text[1]))]))
	}
	b.WriteRune(r)
	s.pos += len(text) - len(rest)
	return nil
}

// decodeSurrogates returns the character of two surrogate escapes, or utf8.RuneError.
func decodeSurrogates(text string) rune {
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

// escapeLength returns the length of an escape that begins with \ and c.
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

// ParseList returns the distinct names in the values of a list flag. A value is a comma-separated
// list, or a list or tuple literal of JSON or Python.
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
		err := s.parseList(closer, func() error {
			name, pos, err := s.quotedText()
			if err == nil && name == "" {
				err = s.errorAt(pos, "an empty name")
			}
			add(name)
			return err
		})
		if err == nil {
			err = s.checkEnd()
		}
		if err != nil {
			return nil, lang.Errorf("list of names: %w", err)
		}
	}
	return names, nil
}
