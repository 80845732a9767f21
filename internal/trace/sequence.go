package trace

import (
	"slices"
)

// knownShare is the minimum share, 0 to 1, of calls whose producers are found by equal tensors; below it the order is
// not derived from equal tensors.
const knownShare = 0.5

// OrderedCalls returns the calls of a rank in the order of execution, if it is known.
func (s *Step) OrderedCalls(rank int) []*Call {
	if calls := s.sequence[rank]; calls != nil {
		return calls
	}
	return s.Calls[rank]
}

// PutInOrder determines the order of calls if the dump does not have it: a call comes after the calls that wrote its
// inputs.
func (s *Step) PutInOrder(d *Digests) {
	for _, rank := range s.Ranks() {
		if s.Ordered[rank] || s.sequence[rank] != nil {
			continue
		}
		calls := s.Calls[rank]
		made := make(map[string][]*Call)
		for _, c := range calls {
			for _, t := range c.Out {
				if mark := d.orderMark(t); mark != "" {
					made[mark] = append(made[mark], c)
				}
			}
		}
		from := make(map[*Call][]*Call)
		known := 0
		unplaced := make(map[*Call]bool)
		for _, c := range calls {
			for _, t := range c.In {
				if mark := d.orderMark(t); mark != "" {
					from[c] = append(from[c], made[mark]...)
					unplaced[c] = unplaced[c] || len(made[mark]) == 0
				}
			}
			if slices.ContainsFunc(from[c], func(by *Call) bool { return by != c }) {
				known++
			} else {
				unplaced[c] = true
			}
		}
		if float64(known) < knownShare*float64(len(calls)) {
			continue
		}
		if s.sequence == nil {
			s.sequence = make(map[int][]*Call)
		}
		s.sequence[rank] = sortTopologically(calls, from)
		for place, c := range s.sequence[rank] {
			c.Place, c.Unplaced = place, unplaced[c]
		}
	}
}

// orderMark returns the mark of a tensor, empty if all elements are equal: several calls write such
// tensors.
func (d *Digests) orderMark(t *Tensor) string {
	mark := d.Mark(t)
	if mark == "" || t.Elements() < 2 || d.IsUniform(t) {
		return ""
	}
	return mark
}

// sortTopologically sorts calls topologically: a call comes after the calls whose outputs it reads. Other calls, and
// calls in a circle, keep their order.
func sortTopologically(calls []*Call, from map[*Call][]*Call) []*Call {
	out := make([]*Call, 0, len(calls))
	seen := make(map[*Call]bool, len(calls))
	type visit struct {
		c    *Call
		next int // next call that it reads from
	}
	for _, first := range calls {
		if seen[first] {
			continue
		}
		seen[first] = true
		stack := []visit{{c: first}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.next == len(from[top.c]) {
				out = append(out, top.c)
				stack = stack[:len(stack)-1]
				continue
			}
			by := from[top.c][top.next]
			top.next++
			if !seen[by] {
				seen[by] = true
				stack = append(stack, visit{c: by})
			}
		}
	}
	return out
}

// IsOrdered reports whether the order of calls is known on all ranks of a step.
func (s *Step) IsOrdered() bool {
	for rank, known := range s.Ordered {
		if !known && s.sequence[rank] == nil {
			return false
		}
	}
	return true
}
