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

// CheckMode says which operators are computed again from their own inputs.
type CheckMode string

// The modes.
const (
	// CheckSuspects computes those again that the evidence suspects: origins, what may have
	// amplified the errors of its inputs, what they damaged; and those that it cannot judge,
	// or explains with nothing to spare. Without one of them nothing is read.
	CheckSuspects CheckMode = "suspects"
	CheckAll      CheckMode = "all"
	CheckNone     CheckMode = "none"
)

// CheckModes are all of them.
func CheckModes() []CheckMode { return []CheckMode{CheckSuspects, CheckAll, CheckNone} }

// SelfOptions are about operators that are computed again.
type SelfOptions struct {
	// Check says which operators of the NPU are computed again from their own inputs, empty for none.
	Check CheckMode
}

// selves recomputes the operators of the NPU's run with some names, or all operators without names. It
// returns the judgements of their outputs, and warnings about unreadable files.
func (o *Options) selves(ctx context.Context, p *plan.Plan, names []string) (map[record.OutputAt]*record.Self, []lang.Sentence, error) {
	run, err := check.OpenRun(ctx, o.NPU, o.files, dumpdir.Options{Skip: o.Skip, Other: o.Ref, Stem: o.StemOf(true), IR: o.IR})
	if err != nil {
		return nil, nil, err
	}
	opt := check.Options{Select: o.NPURounds, Workers: o.Workers, Graph: true, Seed: 1, Budget: check.DefaultBudget}
	if len(names) > 0 {
		if opt.Ops, err = dumpdir.NewNameSet(names); err != nil {
			return nil, nil, err
		}
	}
	return check.Selves(ctx, run, opt, p.Sharding.Together())
}

// mostSuspects is how many operators are computed again unless all are asked for.
const mostSuspects = 64

// ComputeAgain computes operators of a report again and judges its rounds once more with
// what they are by themselves: a verdict is a function of the rows, and what an operator is
// by itself is a part of its row. Behind an origin that shows only then others are suspected,
// which are computed next. A run that ends here was interrupted.
func ComputeAgain(ctx context.Context, p *plan.Plan, o *Options, rep *record.Report) error {
	if rep.Interrupted || o.Standard.Name != "" {
		return nil
	}
	r := &recheck{Plan: p, opt: o, rep: rep, steps: p.ShardedSteps(), found: make(map[record.OutputAt]*record.Self)}
	switch {
	case o.Check == CheckAll:
		_, err := r.compute(ctx, nil, nil)
		return err
	case o.Check != CheckSuspects || o.Judge.Verdict.Mode != limits.ByEvidence:
		return nil
	}
	computed, room := make(map[string]bool), mostSuspects
	for first, more := true, true; more; first = false {
		all, is := suspects(rep, r.steps)
		names := slices.DeleteFunc(all, func(name string) bool { return computed[name] })
		if left := len(names) - room; left > 0 {
			if first {
				rep.Listed.Warnings = append(rep.Listed.Warnings, lang.Say("%d operators are suspected: the first %d in the data flow were computed again from their own inputs (--check all computes every one)", left+mostSuspects, mostSuspects))
			}
			names = names[:room]
		}
		room -= len(names)
		if first {
			names = doubtful(rep, r.steps, names, is)
		}
		for _, name := range names {
			computed[name] = true
		}
		var err error
		if more, err = r.compute(ctx, names, is); err != nil {
			return err
		}
	}
	return nil
}

// recheck is a report of which operators are computed again, and what was found about them.
type recheck struct {
	*plan.Plan
	opt   *Options
	rep   *record.Report
	steps map[string]*plan.ShardedStep
	found map[record.OutputAt]*record.Self
}

// compute computes operators of some names again, all for a nil map, and judges the rounds
// with what is known then of the suspects; more is set if that is more than before. Where no
// inputs were dumped nothing can be computed.
func (a *recheck) compute(ctx context.Context, names []string, is map[suspect]bool) (more bool, err error) {
	rep, o := a.rep, a.opt
	if !a.MayCompute {
		return false, nil
	}
	var unread []lang.Sentence
	if is == nil || len(names) > 0 {
		var found map[record.OutputAt]*record.Self
		if found, unread, err = o.selves(ctx, a.Plan, names); err != nil {
			if rep.Interrupted = ctx.Err() != nil; rep.Interrupted {
				o.judgeRounds(rep)
				o.sumUp(rep, sumsOf(rep))
			}
			return false, err
		}
		maps.Copy(a.found, found)
	}
	rep.Listed.Warnings = append(rep.Listed.Warnings, unread...)
	for i := range rep.Rows {
		row := &rep.Rows[i]
		if row.Self == nil && row.Kind == string(tensor.Output) && row.NPUPath != "" && (is == nil || is[suspectOf(row, a.steps)]) {
			row.Self = a.found[row.OnNPU()]
			more = more || row.Self != nil
		}
	}
	if more || len(unread) > 0 {
		o.judgeRounds(rep)
		o.sumUp(rep, sumsOf(rep))
	}
	return more, nil
}

// suspect is an operator of a round, or of all ranks of a step that is sharded otherwise: what
// a shard has whole, so that another round does not change what is said of it.
type suspect struct {
	step        *plan.ShardedStep
	round, name string
}

func suspectOf(row *record.Row, steps map[string]*plan.ShardedStep) suspect {
	if s := steps[row.Round]; s != nil {
		return suspect{step: s, name: row.NPUName()}
	}
	return suspect{round: row.Round, name: row.NPUName()}
}

// suspects are the operators with an output that is suspected, and their names in the order of
// the data flow: first those that may be where an error begins, then those that one damaged,
// behind which a second error hides.
func suspects(rep *record.Report, steps map[string]*plan.ShardedStep) (names []string, known map[suspect]bool) {
	known = make(map[suspect]bool)
	named := make(map[string]bool)
	for _, is := range []func(*record.Row) bool{
		func(row *record.Row) bool {
			return row.Evidence != nil && row.Evidence.Level >= record.SuspectedOrigin || row.Status == record.ShapeMismatch && row.Common != nil
		},
		func(row *record.Row) bool { return row.Evidence != nil && row.Status == record.Fail },
	} {
		for _, row := range rep.All() {
			if row.Kind != string(tensor.Output) || row.NPUPath == "" || !is(row) {
				continue
			}
			known[suspectOf(row, steps)] = true
			if name := row.NPUName(); !named[name] {
				names, named[name] = append(names, name), true
			}
		}
	}
	return names, known
}

const (
	// mostDoubtful is the number of operators of a round that are computed again without being suspected.
	mostDoubtful = 1024
	// leastSpare is the score from which on the error of an operator is all that is expected: sums in too
	// few bits and another epsilon are found there, and 1 in 100 healthy operators.
	leastSpare = 1.1
	// farAbove is how far a score has to be above the median of its class.
	farAbove = 4
)

// doubtful adds operators to the suspects that the evidence can neither accuse nor clear: operators whose
// error is all that is expected, operators so ill-conditioned that only an error of 30 % would be seen, and
// operators beyond their limits whose score is far above the scores of their class.
func doubtful(rep *record.Report, steps map[string]*plan.ShardedStep, names []string, known map[suspect]bool) []string {
	named := make(map[string]bool)
	for _, name := range names {
		named[name] = true
	}
	found := make(map[string]int) // operators of a round
	for _, is := range []func(*record.Row) bool{nothingToSpare, unseen, aboveClass(rep)} {
		for _, row := range rep.All() {
			s := suspectOf(row, steps)
			if row.Evidence == nil || row.Kind != string(tensor.Output) || row.NPUPath == "" || known[s] || found[row.Round] == mostDoubtful || !is(row) {
				continue
			}
			known[s] = true
			found[row.Round]++
			if name := row.NPUName(); !named[name] {
				names, named[name] = append(names, name), true
			}
		}
	}
	return names
}

// nothingToSpare reports whether the error of an operator is all that is expected.
func nothingToSpare(row *record.Row) bool {
	e := row.Evidence
	return e.Judged && e.Rounding > 0 && e.Score > leastSpare && e.Class != optype.Unknown.String()
}

// unseen reports whether the evidence would not see a fault of the row unless it is large.
func unseen(row *record.Row) bool {
	e := row.Evidence
	return !e.Judged && e.Power.Defined() && !e.Start
}

// aboveClass returns a predicate for rows that are beyond their limits with a score far above the median of
// their class.
func aboveClass(rep *record.Report) func(*record.Row) bool {
	scores := map[string][]float64{}
	for _, row := range rep.All() {
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
		return row.Pair.Status == record.Fail && float64(e.Score) > farAbove*median[e.Class]
	}
}
