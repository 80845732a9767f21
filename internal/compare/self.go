package compare

import (
	"context"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// CheckMode says which operators are computed again from their own inputs.
type CheckMode string

// The modes.
const (
	// CheckSuspects computes those again that the evidence suspects: origins, what may have
	// amplified the errors of its inputs, what they damaged. Without a suspect nothing is read.
	CheckSuspects CheckMode = "suspects"
	CheckAll      CheckMode = "all"
	CheckNone     CheckMode = "none"
)

// CheckModes are all of them.
func CheckModes() []CheckMode { return []CheckMode{CheckSuspects, CheckAll, CheckNone} }

// SelfFunc computes operators of the run of the NPU again, those of some names or all of
// them for none, and returns what their outputs are by themselves, and what could not be
// read for it.
type SelfFunc func(ctx context.Context, names []string) (map[record.OutputAt]*record.Self, []lang.Sentence, error)

// SelfOptions are about operators that are computed again.
type SelfOptions struct {
	// Check says which operators of the NPU are computed again from their own inputs, Self
	// does it; nil for none.
	Check CheckMode
	Self  SelfFunc
}

// mostSuspects is how many operators are computed again unless all are asked for.
const mostSuspects = 64

// ComputeAgain computes operators of a report again and judges its rounds once more with
// what they are by themselves: a verdict is a function of the rows, and what an operator is
// by itself is a part of its row. A run that ends here was interrupted.
func (p *Plan) ComputeAgain(ctx context.Context, rep *record.Report) error {
	o := p.opt
	if o.Self == nil || rep.Interrupted || o.Standard.Name != "" {
		return nil
	}
	var names []string
	switch {
	case o.Check == CheckSuspects && o.Judge.Verdict.Mode == ByEvidence:
		if names = suspects(rep); len(names) == 0 {
			return nil
		}
		if left := len(names) - mostSuspects; left > 0 {
			names = names[:mostSuspects]
			rep.Listed.Warnings = append(rep.Listed.Warnings, lang.Sayf("%d operators are suspected: the first %d in the data flow were computed again from their own inputs (--check all computes every one)",
				"%d 个算子可疑：仅用自身输入重新计算了数据流中的前 %d 个(--check all 则全部计算)", left+mostSuspects, mostSuspects))
		}
	case o.Check != CheckAll:
		return nil
	}
	found, unread, err := o.Self(ctx, names)
	if err != nil {
		if rep.Interrupted = ctx.Err() != nil; rep.Interrupted {
			o.judgeRounds(rep)
			o.sumUp(rep, sumsOf(rep))
		}
		return err
	}
	rep.Listed.Warnings = append(rep.Listed.Warnings, unread...)
	known := false
	for i := range rep.Rows {
		row := &rep.Rows[i]
		if row.Kind == string(tensor.Output) && row.NPUPath != "" {
			row.Self = found[row.OnNPU()]
			known = known || row.Self != nil
		}
	}
	if known || len(unread) > 0 {
		o.judgeRounds(rep)
		o.sumUp(rep, sumsOf(rep))
	}
	return nil
}

// suspects are the names of the operators with an output that is suspected, in the order of
// the data flow: first those that may be where an error begins, then those that one damaged,
// behind which a second error hides.
func suspects(rep *record.Report) (names []string) {
	known := map[string]bool{}
	for _, is := range []func(*record.Row) bool{
		func(row *record.Row) bool { return row.Evidence.Level >= record.SuspectedOrigin },
		func(row *record.Row) bool { return row.Status == record.Fail },
	} {
		for _, row := range rep.All() {
			if name := row.NPUName(); row.Evidence != nil && row.Kind == string(tensor.Output) && row.NPUPath != "" && is(row) && !known[name] {
				names, known[name] = append(names, name), true
			}
		}
	}
	return names
}
