package compare

import (
	"slices"

	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/record"
)

// failsFast reports whether a row ends a run that stops at the first failure, whatever
// comes before it. By evidence a row that is beyond the limits need not fail.
func (p *Plan) failsFast(row *record.Row) bool {
	if !p.opt.FailFast || !slices.Contains(p.opt.FailOn, row.Status) {
		return false
	}
	return row.Status != record.Fail || p.opt.Judge.Verdict.Mode != ByEvidence || record.Has(row.Reasons, record.Gate)
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

// firstFailure is the index of the first part that fails, -1 for none.
func (p *Plan) firstFailure(parts []Part) int {
	if !p.opt.FailFast {
		return -1
	}
	failed := slices.IndexFunc(parts, func(x Part) bool { return p.failsFast(x.Row) })
	if p.opt.Judge.Verdict.Mode != ByEvidence {
		return failed
	}
	for _, round := range p.rounds {
		var rows []record.Row
		var evidence []diagnose.Evidence
		var at []int
		for i := range parts {
			if p.Pairs[parts[i].Pair].round == round {
				rows, evidence, at = append(rows, *parts[i].Row), append(evidence, parts[i].Evidence), append(at, i)
			}
		}
		diagnose.Judge(rows, evidence, diagnose.Network{Graph: round.network(rows), Ordered: round.OrderKnown, AnyClass: !p.opt.Judge.Verdict.classes()}).Apply()
		for k := range rows {
			if (failed < 0 || at[k] < failed) && slices.Contains(p.opt.FailOn, rows[k].Status) {
				failed = at[k]
			}
		}
	}
	return failed
}
