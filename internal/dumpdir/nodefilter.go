package dumpdir

import (
	"iter"
	"slices"
	"strings"

	"dumptool/internal/sidefile"
)

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
