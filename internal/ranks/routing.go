package ranks

import (
	"slices"
	"strconv"

	"dumptool/internal/dumpdir"
	"dumptool/internal/trace"
)

// callOf returns an operator of a rank, nil for none.
func (r *Run) callOf(at dumpdir.Coordinates, op string) *trace.Call {
	rank, err := strconv.Atoi(at.Rank)
	i := slices.IndexFunc(r.Steps, func(s *trace.Step) bool { return s.RoundOf(rank) == at })
	if err != nil || i < 0 {
		return nil
	}
	calls := r.Steps[i].Calls[rank]
	k := slices.IndexFunc(calls, func(c *trace.Call) bool { return c.Name == op })
	if k < 0 {
		return nil
	}
	return calls[k]
}

// isRouter reports whether an operator is a router: it is in a module with experts, but in no expert. If two experts
// score nearly the same, a token may go to either.
func isRouter(c *trace.Call) bool {
	return c.Expert() < 0 && c.Comm == nil && slices.ContainsFunc(c.Step.Calls[c.Rank], func(o *trace.Call) bool {
		return o.Expert() >= 0 && trace.IsInModule(c.Name, trace.ExpertsModule(o.Name))
	})
}
