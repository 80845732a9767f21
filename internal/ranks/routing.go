package ranks

import (
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
)

// Outcome is an operator of a rank whose integers differ from those of the reference.
type Outcome struct {
	At dumpdir.Coordinates
	Op string
}

// routed are notes about the routers among operators whose integers differ: where two experts are
// nearly as good a token may go to the one or to the other.
func (r *Run) routed(all []Outcome) (notes []*Note) {
	for _, o := range all {
		c := r.callOf(o.At, o.Op)
		if c != nil && c.routes() {
			notes = append(notes, c.Step.note(RoutingFlip, c.Name, []int{c.Rank}))
		}
	}
	return notes
}

// callOf is an operator of a rank, nil for none.
func (r *Run) callOf(at dumpdir.Coordinates, op string) *Call {
	rank, err := strconv.Atoi(at.Rank)
	i := slices.IndexFunc(r.Steps, func(s *Step) bool { return s.of(rank) == at })
	if err != nil || i < 0 {
		return nil
	}
	calls := r.Steps[i].Calls[rank]
	k := slices.IndexFunc(calls, func(c *Call) bool { return c.Name == op })
	if k < 0 {
		return nil
	}
	return calls[k]
}

// routes reports whether an operator stands beside experts in a module, and is none of them.
func (c *Call) routes() bool {
	return c.expert() < 0 && c.Comm == nil && slices.ContainsFunc(c.Step.Calls[c.Rank], func(o *Call) bool {
		if o.expert() < 0 {
			return false
		}
		around := beforeExpert(o.Name)
		for _, word := range expertWords { // experts.local_experts
			around = strings.TrimSuffix(around, "."+word)
		}
		return strings.HasPrefix(c.Name, around+".")
	})
}
