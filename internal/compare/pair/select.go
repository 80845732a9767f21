package pair

import (
	"cmp"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/tensor"
)

// skips are the reasons to leave tensors out, and which of them had a use.
type skips struct {
	keys    []string
	exclude *dumpdir.NameSet
	used    map[string]bool
}

// reason returns why t is skipped; nil if it is not.
func (s *skips) reason(t *Tensor) *Skipped {
	for _, k := range s.keys {
		for _, name := range t.Names() {
			if k != "" && strings.Contains(name, k) {
				s.used[k] = true
				return &Skipped{Code: SkipKey, Key: k}
			}
		}
	}
	if name, ok := t.in(s.exclude); ok {
		s.used[name] = true
		return &Skipped{Code: Excluded, Key: name}
	}
	return nil
}

// occurrence is what a tensor has in common with its other runs in a round:
// all names of the operator, or it is another operator.
type occurrence struct {
	names, opType string
	kind          tensor.Kind
	index         int
	slice         string
}

// latest returns those of tensors that no later one supersedes, and the others.
// Only tensors with a timestamp take part.
//
// A short timestamp may be none: layer1.0.1 and layer1.0.2 can be two modules
// of a network. They are, if the other side has files of all these names.
func latest(tensors []*Tensor, npu bool, otherStems map[string]bool) (kept []*Tensor, old []Superseded) {
	groups := make(map[occurrence][]*Tensor)
	first := make(map[occurrence]*Tensor, len(tensors)) // most have no other run
	for _, t := range tensors {
		if t.Timestamp == 0 {
			continue
		}
		at := occurrence{strings.Join(t.distinctNames(), "\x00"), t.OpType, t.Kind, t.Index, t.Slice}
		if one := first[at]; one == nil {
			first[at] = t
		} else {
			if groups[at] == nil {
				groups[at] = []*Tensor{one}
			}
			groups[at] = append(groups[at], t)
		}
	}
	by := make(map[*Tensor]*Tensor)
	for _, group := range groups {
		if areModules(group, otherStems) {
			continue
		}
		last := slices.MaxFunc(group, func(a, b *Tensor) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
		for _, t := range group {
			if t.Timestamp < last.Timestamp {
				by[t] = last
			}
		}
	}
	for _, t := range tensors {
		if last := by[t]; last != nil {
			old = append(old, Superseded{t.ID, last.ID, npu})
		} else {
			kept = append(kept, t)
		}
	}
	return kept, old
}

// areModules reports whether the timestamps of group are rather parts of names.
func areModules(group []*Tensor, otherStems map[string]bool) bool {
	const shortestReal = 1e9 // a number of timestampDigits
	for _, t := range group {
		if t.OpType != "" || t.Timestamp >= shortestReal || !otherStems[t.Stem] {
			return false
		}
	}
	return true
}

func stems(tensors []*Tensor) map[string]bool {
	all := make(map[string]bool, len(tensors))
	for _, t := range tensors {
		all[t.Stem] = true
	}
	return all
}
