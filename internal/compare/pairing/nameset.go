package pairing

import (
	"fmt"
	"regexp"
	"strings"
)

// NameSet is a set of operators: exact names, and patterns with the prefix re:
// that match a whole name.
type NameSet struct {
	texts    []string
	index    nameIndex
	patterns []pattern
}

type pattern struct {
	text string
	re   *regexp.Regexp
}

const patternPrefix = "re:"

// NewNameSet makes a set of names; the error is for a bad pattern.
func NewNameSet(names []string) (*NameSet, error) {
	s := new(NameSet)
	for _, text := range names {
		expr, isPattern := strings.CutPrefix(text, patternPrefix)
		if !isPattern {
			s.index.add(text, len(s.texts))
			s.texts = append(s.texts, text)
			continue
		}
		// The first compilation is for an error that quotes what was written.
		if _, err := regexp.Compile(expr); err != nil {
			return nil, fmt.Errorf("pattern %q, want a regular expression: %w", text, err)
		}
		re, err := regexp.Compile(`^(?:` + expr + `)$`)
		if err != nil {
			return nil, fmt.Errorf("pattern %q, want a regular expression: %w", text, err)
		}
		s.texts = append(s.texts, text)
		s.patterns = append(s.patterns, pattern{text, re})
	}
	return s, nil
}

// match returns the name or pattern that t has.
func (s *NameSet) match(t *Tensor) (string, bool) {
	if s == nil {
		return "", false
	}
	names := t.names()
	if i, ok := s.index.find(names...); ok {
		return s.texts[i], true
	}
	for _, p := range s.patterns {
		for _, name := range names {
			if p.re.MatchString(name) {
				return p.text, true
			}
		}
	}
	return "", false
}
