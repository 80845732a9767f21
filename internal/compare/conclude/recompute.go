package conclude

import (
	"context"
	"maps"
	"slices"

	"dumptool/internal/check"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// CheckMode says which operators are recomputed from their own inputs.
type CheckMode string

// The modes.
const (
	// CheckSuspects recomputes the operators that the evidence suspects: origins, operators that may have amplified
	// the errors of their inputs, operators damaged by either. It also recomputes operators that the evidence cannot
	// judge, or whose error is close to its bound. Without such operators no tensors are read.
	CheckSuspects CheckMode = "suspects"
	CheckAll      CheckMode = "all"
	CheckNone     CheckMode = "none"
)

// CheckModes lists the modes.
func CheckModes() []CheckMode { return []CheckMode{CheckSuspects, CheckAll, CheckNone} }

// RecomputeOptions are the options for recomputed operators.
type RecomputeOptions struct {
	// Check says which operators of the NPU are recomputed from their own inputs, empty for none.
	Check CheckMode
}

// recomputeOperators recomputes the operators of a side with some names, or all operators without names. It returns the
// judgements of their outputs, and warnings about unreadable files. change, unless nil, changes the operators first.
func (o *Options) recomputeOperators(ctx context.Context, p *plan.Plan, npu bool, names []string, change func(*dumpdir.Op)) (map[record.OutputKey]*record.RecomputedOutput, []lang.Sentence, error) {
	path, other, rounds := o.Ref, o.NPU, o.RefRounds
	if npu {
		path, other, rounds = o.NPU, o.Ref, o.NPURounds
	}
	run, err := check.OpenRun(ctx, path, o.files, dumpdir.Options{Skip: o.Skip, Other: other, Stem: o.StemOf(npu), IR: o.IR})
	if err == nil && change != nil {
		err = run.ReadHeaders(ctx, dumpdir.HeaderOptions{Workers: o.Workers, Version: o.Version})
	}
	if err != nil {
		return nil, nil, err
	}
	if change != nil {
		for _, round := range run.Rounds {
			for _, op := range round.Ops {
				change(op)
			}
		}
	}
	opt := check.Options{Select: rounds, Workers: o.Workers, Graph: true, Seed: 1, Budget: check.DefaultBudget}
	if len(names) > 0 {
		if opt.Ops, err = dumpdir.NewNameSet(names); err != nil {
			return nil, nil, err
		}
	}
	return check.RecomputeOperators(ctx, run, opt, p.Sharding.IsInSameShard())
}

// maxSuspects limits, each by itself, the recomputed operators at which an error may begin and the recomputed operators
// that other operators damaged. With CheckAll there is no limit.
const maxSuspects = 64

// Recompute recomputes operators of a report, sets Self of their rows and judges the rounds again. A new origin
// may make other operators suspects, which are recomputed next. If ctx ends, the report counts as interrupted.
func Recompute(ctx context.Context, p *plan.Plan, o *Options, rep *record.Report) error {
	if rep.Interrupted || o.Standard.Name != "" {
		return nil
	}
	r := &recomputation{Plan: p, opt: o, rep: rep, steps: p.ShardedSteps(), results: make(map[record.OutputKey]*record.RecomputedOutput), npuComputed: make(map[string]bool), refComputed: make(map[string]bool), remaining: [...]int{maxSuspects, maxSuspects}}
	switch {
	case o.Check == CheckAll:
		if _, err := r.recompute(ctx, nil, nil); err != nil {
			return err
		}
	case o.Check != CheckSuspects || o.Judge.Verdict.Mode != limits.ByEvidence:
		return nil
	}
	for more := true; more; {
		if o.Check == CheckSuspects {
			if err := r.recomputeSuspects(ctx); err != nil {
				return err
			}
		}
		var err error
		if more, err = r.recomputeReference(ctx); err != nil {
			return err
		}
	}
	return nil
}

// recomputation is the state of recomputing operators of a report.
type recomputation struct {
	*plan.Plan
	opt     *Options
	rep     *record.Report
	steps   map[string]*plan.ShardedStep
	results map[record.OutputKey]*record.RecomputedOutput // the results
	// npuComputed and refComputed are the operators that were recomputed on the NPU and in the reference. remaining is
	// how many more operators of each list of suspectedOperators may be recomputed.
	npuComputed, refComputed map[string]bool
	remaining                [2]int
}

// recomputeSuspects recomputes suspects until none are left.
func (a *recomputation) recomputeSuspects(ctx context.Context) error {
	for more := true; more; {
		lists, suspects := a.suspectedOperators()
		first := len(a.npuComputed) == 0
		var names []string
		total := 0
		for i, list := range lists {
			total += len(list)
			list = list[:min(len(list), a.remaining[i])]
			a.remaining[i] -= len(list)
			names = append(names, list...)
		}
		if first && len(names) < total {
			a.rep.Listed.Warnings = append(a.rep.Listed.Warnings, lang.Say("%d operators are suspected: the first %d in the data flow were computed again from their own inputs (--check all computes every one)", total, len(names)))
		}
		if first {
			names = addUndecided(a.rep, a.steps, names, suspects)
		}
		for _, name := range names {
			a.npuComputed[name] = true
		}
		var err error
		if more, err = a.recompute(ctx, names, suspects); err != nil {
			return err
		}
		more = more || len(names) > 0
	}
	return nil
}

// recompute recomputes the named operators, or all operators without names, and judges the rounds again with the
// results for the suspects; nil stands for all operators. more reports whether rows got new results. Without dumped
// inputs nothing can be recomputed.
func (a *recomputation) recompute(ctx context.Context, names []string, suspects map[suspectedOperator]bool) (more bool, err error) {
	rep, o := a.rep, a.opt
	if !a.MayRecompute {
		return false, nil
	}
	var unread []lang.Sentence
	if suspects == nil || len(names) > 0 {
		var found map[record.OutputKey]*record.RecomputedOutput
		if found, unread, err = o.recomputeOperators(ctx, a.Plan, true, names, nil); err != nil {
			if rep.Interrupted = ctx.Err() != nil; rep.Interrupted {
				o.judgeRounds(rep)
				o.setTotals(rep, newSumsOf(rep))
			}
			return false, err
		}
		maps.Copy(a.results, found)
	}
	rep.Listed.Warnings = append(rep.Listed.Warnings, unread...)
	for i := range rep.Rows {
		row := &rep.Rows[i]
		if row.Self == nil && row.Kind == string(tensor.Output) && row.NPUPath != "" && (suspects == nil || suspects[suspectOf(row, a.steps)]) {
			row.Self = a.results[row.NPUOutput()]
			more = more || row.Self != nil
		}
	}
	if more || len(unread) > 0 {
		o.judgeRounds(rep)
		o.setTotals(rep, newSumsOf(rep))
	}
	return more, nil
}

// suspectedOperator is an operator of a round. If ranks are sharded differently from the reference, it is an operator of
// all ranks of a step: all ranks of a step are in one shard, so that results do not depend on the division into shards.
type suspectedOperator struct {
	step        *plan.ShardedStep
	round, name string
}

func suspectOf(row *record.Row, steps map[string]*plan.ShardedStep) suspectedOperator {
	if s := steps[row.Round]; s != nil {
		return suspectedOperator{step: s, name: row.NPUName()}
	}
	return suspectedOperator{round: row.Round, name: row.NPUName()}
}

// suspectedOperators returns the operators with a suspected output, and the names to recompute next, in the order of
// the data flow: of the operators at which an error may begin, and of the operators that they damaged, because a
// second error may hide there. Both are recomputed together: an operator is also judged by its peers.
func (a *recomputation) suspectedOperators() (names [2][]string, suspects map[suspectedOperator]bool) {
	suspects = make(map[suspectedOperator]bool)
	named := map[string]bool{}
	for i := range names {
		for _, row := range a.rep.AllRows() {
			e := row.Evidence
			mayBegin := e != nil && e.Level >= record.SuspectedOrigin || row.Status == record.ShapeMismatch && row.Common != nil
			isDamaged := e != nil && row.Status == record.Fail
			if row.Kind != string(tensor.Output) || row.NPUPath == "" || i == 0 && !mayBegin || !mayBegin && !isDamaged {
				continue
			}
			suspects[suspectOf(row, a.steps)] = true
			if name := row.NPUName(); !a.npuComputed[name] && !named[name] {
				names[i], named[name] = append(names[i], name), true
			}
		}
	}
	return names, suspects
}

const (
	// maxUndecided is the largest number of operators of a round that are recomputed without being suspected.
	maxUndecided = 1024
	// fullScore is the score from which on an operator uses all of its expected error. Sums in too few bits, another
	// epsilon, and 1 in 100 healthy operators reach it.
	fullScore = 1.1
	// farAboveRatio: an operator beyond its limits is recomputed if its score exceeds this multiple of the median score of
	// its class.
	farAboveRatio = 4
)

// addUndecided adds operators that the evidence can neither accuse nor clear: operators that use all of their expected
// error, operators so ill-conditioned that only an error of 30 % would be seen, and operators beyond their limits
// whose score is far above the scores of their class.
func addUndecided(rep *record.Report, steps map[string]*plan.ShardedStep, names []string, suspects map[suspectedOperator]bool) []string {
	named := make(map[string]bool)
	for _, name := range names {
		named[name] = true
	}
	counts := make(map[string]int) // number of operators by round
	for _, isUndecided := range []func(*record.Row) bool{isAtBound, isInsensitive, isAboveClass(rep)} {
		for _, row := range rep.AllRows() {
			s := suspectOf(row, steps)
			if row.Evidence == nil || row.Kind != string(tensor.Output) || row.NPUPath == "" || suspects[s] || counts[row.Round] == maxUndecided || !isUndecided(row) {
				continue
			}
			suspects[s] = true
			counts[row.Round]++
			if name := row.NPUName(); !named[name] {
				names, named[name] = append(names, name), true
			}
		}
	}
	return names
}

// isAtBound reports whether the error of an operator uses all of its expected error.
func isAtBound(row *record.Row) bool {
	e := row.Evidence
	return e.Judged && e.Rounding > 0 && e.Score > fullScore && e.Class != optype.Unknown.String()
}

// isInsensitive reports whether the evidence would only see a large fault of the row.
func isInsensitive(row *record.Row) bool {
	e := row.Evidence
	return !e.Judged && e.Power.IsDefined() && !e.Start
}

// isAboveClass returns a predicate for rows that are beyond their limits with a score far above the median of
// their class.
func isAboveClass(rep *record.Report) func(*record.Row) bool {
	scores := map[string][]float64{}
	for _, row := range rep.AllRows() {
		if e := row.Evidence; e != nil && row.Kind == string(tensor.Output) {
			scores[e.Class] = append(scores[e.Class], float64(e.Score))
		}
	}
	median := map[string]float64{}
	for class, all := range scores {
		slices.Sort(all)
		median[class] = all[len(all)/2]
	}
	return func(row *record.Row) bool {
		e := row.Evidence
		return row.Pair.Status == record.Fail && float64(e.Score) > farAboveRatio*median[e.Class]
	}
}
