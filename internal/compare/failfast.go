package compare

import (
	"slices"

	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/record"
	"dumptool/internal/filename"
	"dumptool/internal/finding"
)

// FailOptions say what a failure is, and what follows.
type FailOptions struct {
	// FailOn are the statuses that count as failures, for FailFast: to stop
	// after the first one in execution order.
	FailOn   []record.Status
	FailFast bool
}

// failsFast reports whether a row ends a run that stops at the first failure, whatever
// comes before it. By evidence a row that is beyond the limits need not fail.
func (p *Plan) failsFast(row *record.Row) bool {
	if !p.opt.FailFast || !slices.Contains(p.opt.FailOn, row.Pair.Status) {
		return false
	}
	return row.Pair.Status != record.Fail || p.opt.Judge.Verdict.Mode != ByEvidence || finding.Has(row.Pair.Reasons, finding.Gate)
}

// failFast looks for the first failure of a run while its pairs are compared.
type failFast struct {
	plan  *Plan
	parts []Part // in the order of the plan
	next  int    // the number of parts at which the evidence is looked at again
}

func newFailFast(p *Plan) *failFast { return &failFast{plan: p, next: 1} }

// stops adds a part, and reports whether the run has failed. By evidence that is
// found out when an eighth more is known than the last time, so that the time for it
// grows with the run and not with its square.
func (f *failFast) stops(part Part) bool {
	p := f.plan
	if !p.opt.FailFast {
		return false
	}
	if p.failsFast(part.Row) {
		return true
	}
	if p.opt.Judge.Verdict.Mode != ByEvidence {
		return false
	}
	f.parts = append(f.parts, part)
	if len(f.parts) < f.next {
		return false
	}
	f.next = len(f.parts) + len(f.parts)/8 + 1
	return p.firstFailure(f.parts) >= 0
}

// cut returns the parts up to the first failure.
func (f *failFast) cut(parts []Part) []Part {
	if i := f.plan.firstFailure(parts); i >= 0 {
		return parts[:i+1]
	}
	return parts
}

// firstFailure is the index of the first part that fails, -1 for none; by evidence that
// of the last origin that a failure comes from. What reads a tensor that is compared
// later, where the order is not that of the graph, may be innocent.
func (p *Plan) firstFailure(parts []Part) int {
	if !p.opt.FailFast {
		return -1
	}
	failed := slices.IndexFunc(parts, func(x Part) bool { return p.failsFast(x.Row) })
	if p.opt.Judge.Verdict.Mode != ByEvidence || len(parts) == 0 {
		return failed
	}
	for _, round := range p.rounds {
		var own []record.Row
		var at []int
		for i := range parts {
			if p.Pairs[parts[i].Pair].round == round {
				own, at = append(own, *parts[i].Row), append(at, i)
			}
		}
		begin(own)
		j := diagnose.Judge(own, diagnose.Network{Graph: round.network(own), Ordered: round.OrderKnown, AnyClass: !p.opt.Judge.Verdict.classes()})
		j.Apply()
		j.Write()
		pending := p.pending(round, parts[len(parts)-1].Pair+1)
		for k := range own {
			if !slices.Contains(p.opt.FailOn, own[k].Status) {
				continue
			}
			last, innocent := at[k], false
			for _, origin := range append([]int{k}, fedBy(&own[k])...) {
				last = max(last, at[origin])
				innocent = innocent || slices.ContainsFunc(j.Through(origin), func(op string) bool { return pending[filename.Normalise(op)] })
			}
			if !innocent && (failed < 0 || last < failed) {
				failed = last
			}
		}
	}
	return failed
}

// fedBy are the origins that a row depends on.
func fedBy(row *record.Row) []int {
	if row.Evidence == nil {
		return nil
	}
	return row.Evidence.FedBy
}

// pending are the operators of a round of which tensors are compared from a pair on, by
// their normalised names.
func (p *Plan) pending(round *plannedRound, first int) map[string]bool {
	names := map[string]bool{}
	for i := first; i < len(p.Pairs); i++ {
		if x := &p.Pairs[i]; x.round == round && !x.decided {
			names[filename.Normalise(x.Row.Op)] = true
			if x.Row.NPUOp != "" {
				names[filename.Normalise(x.Row.NPUOp)] = true
			}
		}
	}
	return names
}
