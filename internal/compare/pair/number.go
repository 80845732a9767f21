package pair

import (
	"fmt"
	"slices"

	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// withoutNumber is the name of an operator without the number that MindSpore puts
// behind it, -op515 or -op515_2, which differs from graph to graph. It is empty for a
// name without one.
func withoutNumber(t *Tensor) string {
	base, ok := filename.CutOpNumber(t.Name())
	if !ok {
		return ""
	}
	return filename.Normalise(base)
}

// slot is the place of a tensor in its operator.
type slot struct {
	kind  tensor.Kind
	index int
	slice string
}

// numbered are operators of one name but for a number, by their whole names.
type numbered map[string]map[slot]int

// names are the whole names, in the order of their numbers.
func (n numbered) names() []string {
	all := make([]string, 0, len(n))
	for name := range n {
		all = append(all, name)
	}
	slices.SortFunc(all, lang.CompareNatural)
	return all
}

// count pairs the operators that a rule gives the same name: the k-th with the k-th
// where both sides have equally many that no rule before has decided. Otherwise none
// of them has a partner, and the reason is kept.
func (j *join) count(r *rule, ref, npu []*Tensor) {
	refs := groups(r, ref, func(i int) bool { return j.taken[target{ref: i}] })
	npus := groups(r, npu, func(i int) bool { return j.decided[i] })
	for base, here := range npus {
		there := refs[base]
		if len(here) != len(there) {
			for _, at := range here {
				for _, i := range at {
					if len(there) > 0 {
						j.why[i] = fmt.Sprintf("without the number its name is that of %d of the reference's operators and of %d of the NPU's: --map-node-dict decides", len(there), len(here))
					}
				}
			}
			continue
		}
		refNames := there.names()
		for k, name := range here.names() {
			for at, i := range here[name] {
				if partner, ok := there[refNames[k]][at]; ok {
					j.addPair(r, partner, i)
				}
			}
		}
	}
}

// groups are the operators by the name that a rule gives them. One of which a tensor
// is decided already is in no group.
func groups(r *rule, tensors []*Tensor, decided func(int) bool) map[string]numbered {
	all, done := make(map[string]numbered), make(map[string]bool)
	for i, t := range tensors {
		if t != nil && decided(i) {
			done[t.Name()] = true
		}
	}
	for i, t := range tensors {
		if t == nil || done[t.Name()] {
			continue
		}
		base := r.counted(t)
		if base == "" {
			continue
		}
		if all[base] == nil {
			all[base] = make(numbered)
		}
		if all[base][t.Name()] == nil {
			all[base][t.Name()] = make(map[slot]int)
		}
		all[base][t.Name()][slot{t.Kind, t.Index, t.Slice}] = i
	}
	return all
}
