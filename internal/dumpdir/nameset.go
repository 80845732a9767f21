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

// NameSet is a set of operators: exact names, and patterns for whole names, with the prefix re: or
// with * and ?. The nil set has all operators.
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

// NewNameSet makes a set of names and patterns.
func NewNameSet(names []string) (*NameSet, error) {
	s := new(NameSet)
	for _, text := range names {
		expr, isPattern := strings.CutPrefix(text, patternPrefix)
		if !isPattern {
			s.index.Add(text, len(s.texts))
			s.texts = append(s.texts, text)
			if !strings.ContainsAny(text, "*?") {
				continue
			}
			expr = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(text))
		}
		// The first compilation is for an error that quotes the text of the user.
		if _, err := regexp.Compile(expr); err != nil {
			return nil, lang.Errorf("pattern %q, want a regular expression: %w", text, err)
		}
		re, err := regexp.Compile(`^(?:` + expr + `)$`)
		if err != nil {
			return nil, lang.Errorf("pattern %q, want a regular expression: %w", text, err)
		}
		if isPattern {
			s.texts = append(s.texts, text)
		}
		s.patterns = append(s.patterns, pattern{text, re})
	}
	return s, nil
}

// ExactName returns the element of a set for operators of exactly this name.
func ExactName(name string) string {
	if strings.HasPrefix(name, patternPrefix) || strings.ContainsAny(name, "*?") {
		return patternPrefix + regexp.QuoteMeta(name)
	}
	return name
}

// OpsText returns the value of --ops, or of another list of names, for operators of exactly this
// name. A name with characters that are special in a list is put into a JSON list.
func OpsText(name string) string {
	element := ExactName(name)
	if strings.TrimSpace(element) != element || strings.ContainsAny(element, ",\n") || strings.IndexAny(element, "[(@") == 0 {
		return "[" + jsonpos.Quote(element) + "]"
	}
	return element
}

// Texts are the given names and patterns.
func (s *NameSet) Texts() []string {
	if s == nil {
		return nil
	}
	return s.texts
}

// Match returns the name or pattern of the set for an operator with these names, the best first.
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

// Includes reports whether the set contains the operator, or a group in the path of one of its
// tensors.
func (s *NameSet) Includes(op *Op) bool {
	if s == nil {
		return true
	}
	if _, ok := s.Match(op.Names()...); ok {
		return true
	}
	return slices.ContainsFunc(op.Tensors, func(t Tensor) bool { return t.Operator != nil && s.PrefixLength(t.Path) >= 0 })
}

// dropUnwanted drops the tensors outside the set, unless the set contains the operator itself.
func (s *NameSet) dropUnwanted(op *Op) {
	if s == nil {
		return
	}
	if _, whole := s.Match(op.Names()...); !whole {
		op.Tensors = slices.DeleteFunc(op.Tensors, func(t Tensor) bool { return s.PrefixLength(t.Path) < 0 })
	}
}

// PrefixLength returns the number of components of the shortest beginning of a path that is in the
// set, such as Op, Op/12, /Op/12/ or /Op/12/input/self: -1 if no beginning is, 0 for the nil set.
func (s *NameSet) PrefixLength(path []string) int {
	if s == nil {
		return 0
	}
	_, n := s.matchPath(path)
	return n
}

// MatchPath returns the name or pattern of the set for the shortest matching beginning of a path.
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

// NodeFilter renames and skips operators of the NPU by name, like the options of HPAA's
// run_npu_data_analysis.py. The nil filter changes nothing.
type NodeFilter struct {
	// Map gives operators the names of the reference; nil for none.
	Map *sidefile.NameMap
	// SkipKeys are parts of names of operators to skip.
	SkipKeys []string
	// Exclude are operators to skip; nil for none.
	Exclude *NameSet
}

// NodeSkip is the reason why a NodeFilter skips an operator.
type NodeSkip string

// The reasons, with the same words as in compare.
const (
	NodeSkipKey  NodeSkip = "SKIP_KEY"
	NodeExcluded NodeSkip = "EXCLUDED"
)

// Rename returns the reference's name of an NPU operator: the name in the map, else npu itself.
func (f *NodeFilter) Rename(npu string) string {
	if f == nil || f.Map == nil {
		return npu
	}
	if entry, ok := f.Map.FindNPU(npu); ok {
		return entry.Ref
	}
	return npu
}

// Skip returns the reason to skip an operator with a name from Rename; empty for none.
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

// Unmatched returns the names of Exclude without an operator; names are from Rename.
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
