package dumpdir

import (
	"iter"
	"regexp"
	"slices"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
)

// NameSet is a set of operators: exact names, and patterns with the prefix re:
// that match a whole name.
type NameSet struct {
	texts    []string
	index    filename.Index
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
			s.index.Add(text, len(s.texts))
			s.texts = append(s.texts, text)
			continue
		}
		// The first compilation is for an error that quotes what was written.
		if _, err := regexp.Compile(expr); err != nil {
			return nil, lang.Errorf("pattern %q, want a regular expression: %w", text, err)
		}
		re, err := regexp.Compile(`^(?:` + expr + `)$`)
		if err != nil {
			return nil, lang.Errorf("pattern %q, want a regular expression: %w", text, err)
		}
		s.texts = append(s.texts, text)
		s.patterns = append(s.patterns, pattern{text, re})
	}
	return s, nil
}

// ExactName returns the element of a set that chooses an operator of this name alone.
func ExactName(name string) string {
	if strings.HasPrefix(name, patternPrefix) {
		return patternPrefix + regexp.QuoteMeta(name)
	}
	return name
}

// OpsText returns the value of --ops, or of another list of names, that chooses the operator
// of a name alone. A name that such a list would take apart, or read as a file, stands in a
// list of JSON.
func OpsText(name string) string {
	element := ExactName(name)
	if strings.TrimSpace(element) != element || strings.ContainsAny(element, ",\n") || strings.IndexAny(element, "[(@") == 0 {
		return "[" + jsonpos.Quote(element) + "]"
	}
	return element
}

// Texts are the names and patterns as they were given.
func (s *NameSet) Texts() []string {
	if s == nil {
		return nil
	}
	return s.texts
}

// Match returns the first name or pattern of the set that is one of the names of
// an operator, the best of which stands first.
func (s *NameSet) Match(names ...string) (string, bool) {
	if s == nil {
		return "", false
	}
	if i, ok := s.index.Find(names...); ok {
		return s.texts[i], true
	}
	for _, p := range s.patterns {
		if slices.ContainsFunc(names, p.re.MatchString) {
			return p.text, true
		}
	}
	return "", false
}

// Wants reports whether the set has the operator; no set wants all. Of a tensor that
// has a path in its file, it may have a group as well.
func (s *NameSet) Wants(op *Op) bool {
	if s == nil {
		return true
	}
	if _, ok := s.Match(op.Names()...); ok {
		return true
	}
	return slices.ContainsFunc(op.Tensors, func(t Tensor) bool { return t.Operator != nil && s.TakenFrom(t.Path) >= 0 })
}

// keep drops the tensors of an operator that the set does not want, where it wants
// some of them.
func (s *NameSet) keep(op *Op) {
	if s == nil {
		return
	}
	if _, whole := s.Match(op.Names()...); !whole {
		op.Tensors = slices.DeleteFunc(op.Tensors, func(t Tensor) bool { return s.TakenFrom(t.Path) < 0 })
	}
}

// TakenFrom returns how many components of a path in a file the shortest name has
// that is in the set, such as Op, Op/12, /Op/12/ or /Op/12/input/self; -1 for none,
// and 0 of no set, which has all.
func (s *NameSet) TakenFrom(path []string) int {
	if s == nil {
		return 0
	}
	_, n := s.matchPath(path)
	return n
}

// MatchPath returns the name or pattern of the set that the shortest part of a path
// in a file has.
func (s *NameSet) MatchPath(path []string) (text string, ok bool) {
	text, n := s.matchPath(path)
	return text, n > 0
}

func (s *NameSet) matchPath(path []string) (text string, n int) {
	name := ""
	for i, part := range path {
		name += "/" + part
		if text, ok := s.Match(name[1:], name, name+"/"); ok {
			return text, i + 1
		}
	}
	return "", -1
}

// NodeFilter names and leaves out operators of the NPU by their names alone, as the
// options of HPAA's run_npu_data_analysis.py say. The nil filter changes nothing.
type NodeFilter struct {
	// Map gives operators the names of the reference; nil for none.
	Map *sidefile.NameMap
	// SkipKeys are texts; operators whose name contains one are left out.
	SkipKeys []string
	// Exclude are operators that are left out; nil for none.
	Exclude *NameSet
}

// NodeSkip says why a NodeFilter leaves an operator out.
type NodeSkip string

// The reasons. They are those of compare for the same options.
const (
	NodeSkipKey  NodeSkip = "SKIP_KEY"
	NodeExcluded NodeSkip = "EXCLUDED"
)

// Rename returns the name of the reference for an operator of the NPU, which is the
// same where the map has none.
func (f *NodeFilter) Rename(npu string) string {
	if f == nil || f.Map == nil {
		return npu
	}
	if entry, ok := f.Map.FindNPU(npu); ok {
		return entry.Ref
	}
	return npu
}

// Skip returns why an operator, by the name that Rename gives it, is left out; empty
// if it is not.
func (f *NodeFilter) Skip(name string) NodeSkip {
	if f == nil {
		return ""
	}
	if slices.ContainsFunc(f.SkipKeys, func(key string) bool { return key != "" && strings.Contains(name, key) }) {
		return NodeSkipKey
	}
	if _, ok := f.Exclude.Match(name); ok {
		return NodeExcluded
	}
	return ""
}

// Unmatched returns the names of Exclude that no operator has, by the names that
// Rename gives them.
func (f *NodeFilter) Unmatched(names iter.Seq[string]) []string {
	if f == nil {
		return nil
	}
	left := slices.Clone(f.Exclude.Texts())
	for name := range names {
		if text, ok := f.Exclude.Match(name); ok {
			left = slices.DeleteFunc(left, func(s string) bool { return s == text })
		}
	}
	return left
}
