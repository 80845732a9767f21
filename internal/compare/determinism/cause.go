package determinism

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"dumptool/internal/check"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/exact"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/lang"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// Cause says why a tensor differs between runs.
type Cause string

// The causes. "Right" means: recomputation from the run's own inputs confirms the output.
const (
	// SumOrder: the inputs agree, the operator has sums, and its output is right in every run.
	SumOrder Cause = "SUM_ORDER"
	// RoundingStep is a SumOrder of at most 1 ulp in a type with fewer bits than float32: the sums lie on
	// both sides of a rounding tie.
	RoundingStep Cause = "ROUNDING_STEP"
	// Random: the operator draws its output.
	Random Cause = "RANDOM"
	// Inherited: the inputs differ, and the operator is right in every run; or the input equals an earlier output
	// that differs.
	Inherited Cause = "INHERITED"
	// Input: the input differs, and no earlier output differs.
	Input Cause = "INPUT"
	// Fault: the operator is right in some runs only; or its inputs agree and its output differs although the
	// operator has no sums, or in a single bit of a float32 tensor, or by more than the order of sums explains.
	Fault Cause = "FAULT"
	// Unknown: the inputs were not dumped, or the operator cannot be computed.
	Unknown Cause = "UNKNOWN"
)

const (
	// mostExplained limits the number of recomputed operators.
	mostExplained = 1024
	// certainBits is the evidence in bits from which a single differing element is no chance.
	certainBits = 24
	// singleFraction is the number of fraction bits of float32, fewestUnused how many of them float16 and coarser types
	// leave unused.
	singleFraction, fewestUnused = 23, 13
	// roundoffJump is the largest Drift.jump that roundoff explains. Inputs with at most roundoffSteps Drift.steps
	// differ by roundoff, which changes no output by more than the share roundoffShare of the largest.
	roundoffJump, roundoffSteps, roundoffShare = 64, 8, 0.25
	// No order of sums explains two runs whose largest errors have at least the ratio roughness, or narrowRoughness in
	// types with fewer bits than float32, where most of the error is the rounding of the result.
	roughness, narrowRoughness = 16, 2
)

// call is an execution of an operator in a round.
type call struct {
	round, op string
	execution int
}

func (r *Row) call() call { return call{r.Round, r.Op, r.Execution} }

// isInput reports whether the tensor is an input of its operator.
func (r *Row) isInput() bool { return tensor.Kind(r.Kind).IsInput() }

// recomputedRun has the results of recomputing the outputs of a run.
type recomputedRun struct {
	outputs map[record.OutputKey]*record.RecomputedOutput
	// communications maps the names of communications to whether they are right; empty unless all
	// communications of the run were judged.
	communications map[string]bool
}

// explain sets the causes of all differences.
func (d *Report) explain(ctx context.Context, opt *Options) error {
	names := map[string]bool{}
	inputs := map[call][]*Row{}
	for i := range d.Rows {
		r := &d.Rows[i]
		switch {
		case r.isInput():
			inputs[r.call()] = append(inputs[r.call()], r)
		case r.Differs() && !r.lacksElements() && len(names) < mostExplained:
			names[r.Op] = true
		}
	}
	var runs []recomputedRun
	if len(names) > 0 && len(inputs) > 0 {
		for _, path := range d.Runs {
			one, err := d.recompute(ctx, opt, path, names)
			if err != nil {
				return err
			}
			runs = append(runs, one)
		}
		d.Recomputed = true
	}
	made := map[string]bool{} // contentsKey of earlier differing outputs
	for i := range d.Rows {
		switch r := &d.Rows[i]; {
		case !r.Differs():
		case r.lacksElements():
			r.Cause, r.Why = Unknown, lang.Say("only statistics were dumped")
		case !r.isInput():
			if r.Cause, r.Why = r.cause(inputs[r.call()], runs); d.Recomputed && !names[r.Op] {
				r.Cause, r.Why = Unknown, lang.Say("not recomputed: only the first %d differing operators are", mostExplained)
			}
			made[r.contentsKey()] = true
		case made[r.contentsKey()]:
			r.Cause, r.Why = Inherited, lang.Say("an earlier operator computed it")
		case len(made) == 0:
			r.Cause, r.Why = Input, lang.Say("no earlier output differs")
		default:
			r.Cause, r.Why = Unknown, lang.Say("no dumped operator computed it")
		}
		d.Rows[i].WhyZH = d.Rows[i].Why.Text().Chinese()
	}
	return nil
}

// lacksElements reports whether some run has no elements of the tensor.
func (r *Row) lacksElements() bool {
	return slices.ContainsFunc(r.Drifts, func(drift Drift) bool { return drift.Table })
}

// contentsKey returns a key of the tensor's contents in all runs.
func (r *Row) contentsKey() string {
	var key strings.Builder
	for i := range r.Drifts {
		key.WriteString(r.Drifts[i].contentKey() + " ")
	}
	return key.String()
}

// contentKey returns a key of the content in one run: its checksum, or the difference of its statistics from the first
// run's; empty for a missing or unreadable tensor.
func (d *Drift) contentKey() string {
	switch {
	case d.CRC != nil:
		return fmt.Sprintf("%08x", uint32(*d.CRC))
	case d.Table:
		return d.Why.String()
	}
	return ""
}

// recompute computes operators of a run again from their inputs.
func (d *Report) recompute(ctx context.Context, opt *Options, path string, names map[string]bool) (recomputedRun, error) {
	var all recomputedRun
	run, err := check.OpenRun(ctx, path, opt.Files, dumpdir.Options{IR: opt.IR})
	if err != nil {
		return all, err
	}
	checking := check.Options{Select: opt.Rounds, Workers: opt.Workers, Graph: true, Seed: 1, Budget: check.DefaultBudget}
	if checking.Ops, err = dumpdir.NewNameSet(slices.Sorted(maps.Keys(names))); err != nil {
		return all, err
	}
	var unread []lang.Sentence
	all.outputs, unread, err = check.RecomputeOperators(ctx, run, checking, func(dumpdir.Coordinates) bool { return false })
	if err != nil {
		return all, err
	}
	d.warn(unread)
	all.communications = map[string]bool{}
	for _, round := range run.Rounds {
		for _, op := range round.Ops {
			if name := op.Names()[0]; names[name] && trace.IsCommunication(op) {
				all.communications[name] = true
			}
		}
	}
	if len(all.communications) == 0 {
		return all, nil
	}
	checking.Ops, checking.Only = nil, []string{check.Comm}
	report, err := check.Run(ctx, run, checking)
	if err != nil {
		return all, err
	}
	if report.Ranks == nil || report.Ranks.Events.Checked == 0 || report.Ranks.Events.Skipped > 0 {
		clear(all.communications)
		return all, nil
	}
	for _, f := range report.Ranks.Findings {
		if all.communications[f.Op] {
			all.communications[f.Op] = false
		}
	}
	return all, nil
}

// evidence has the results of recomputing an output in all runs.
type evidence struct {
	wrong, right, within []string // runs; within: computed again and not wrong, maybe with wide bounds
	// hasSums: the order of additions may change the output.
	hasSums bool
	// largestRough is the largest error of the runs with elements beyond the bound of float32 sums, exact of the
	// other runs, both relative to the bound of any unit; 0 for no such run.
	largestRough, largestExact float64
}

// evidence collects the results of recomputing an output.
func (r *Row) evidence(runs []recomputedRun) (e evidence) {
	for i := range r.Drifts {
		drift := &r.Drifts[i]
		if drift.File == nil {
			continue
		}
		self := runs[i].outputs[record.OutputKey{File: r.paths[i], Op: r.Op, Output: r.Output}]
		isRight, isCommunication := runs[i].communications[r.Op]
		switch {
		case isCommunication && isRight, self.IsRight():
			e.right = append(e.right, drift.Run)
		case isCommunication, self.IsWrong():
			e.wrong = append(e.wrong, drift.Run)
		}
		if isRight || self.IsWithinBounds() {
			e.within = append(e.within, drift.Run)
		}
		e.hasSums = e.hasSums || isCommunication || self != nil && self.Adds
		switch {
		case self == nil:
		case self.Beyond > 0:
			e.largestRough = max(e.largestRough, self.Worst)
		default:
			e.largestExact = max(e.largestExact, self.Worst)
		}
	}
	return e
}

// cause returns the cause of a differing output, with the reason. inputs are the inputs of its operator.
func (r *Row) cause(inputs []*Row, runs []recomputedRun) (Cause, lang.Sentence) {
	if len(inputs) == 0 || len(runs) == 0 {
		return Unknown, lang.Say("its inputs were not dumped")
	}
	e, worst, files := r.evidence(runs), r.largestDrift(), r.runCount()
	differ := slices.ContainsFunc(inputs, (*Row).Differs)
	// the operators in a module round their results too: one step there may be many steps of the output
	rounds := msprobe.IsModule(r.Op) && len(e.within) < files
	switch {
	case len(e.wrong) > 0 && len(e.within) > 0:
		return Fault, lang.Say("wrong result from its own inputs in %s, right in %s", strings.Join(e.wrong, ", "), strings.Join(e.within, ", "))
	case !differ && len(e.wrong) == 0 && recompute.TypeOfOperator("", r.Op).Random:
		return Random, lang.Say("its output is random")
	case !differ && !rounds && worst.isFlip():
		return Fault, lang.Say("equal inputs, one bit of element %d differs", *worst.First)
	case len(e.right) < files && worst.jump > roundoffJump && (!differ && !rounds || areClose(inputs) && worst.steps > math.Ldexp(roundoffShare, worst.fraction)):
		return Fault, lang.Say("some elements differ by more than any order of sums explains, most do not")
	case len(e.wrong) == files:
		return Unknown, lang.Say("wrong result from its own inputs in every run: see 'dumptool check'")
	case len(e.right) > 0 && len(e.within) < files && !differ:
		return Fault, lang.Say("equal inputs, but the result is right in %s only", strings.Join(e.right, ", "))
	case !differ && len(e.within) == files && !e.hasSums:
		return Fault, lang.Say("equal inputs, and the operator has no sums")
	case len(e.within) == files && e.largestExact > 0 && (e.largestRough > roughness*e.largestExact || worst.isNarrow() && e.largestRough > narrowRoughness*e.largestExact):
		return Fault, lang.Say("some runs differ by more than any order of float32 sums explains")
	case len(e.right) < files:
		return Unknown, lang.Say("the operator cannot be recomputed in every run")
	case differ:
		return Inherited, lang.Say("right result from its own inputs in every run")
	case worst.isNarrow() && r.ULP() <= 1:
		return RoundingStep, lang.Say("equal inputs, sums in another order: 1 ulp")
	}
	return SumOrder, lang.Say("equal inputs, sums in another order: %g ulp", r.ULP())
}

// runCount counts the runs that have the tensor.
func (r *Row) runCount() (n int) {
	for _, drift := range r.Drifts {
		if drift.File != nil {
			n++
		}
	}
	return n
}

// largestDrift returns the drift of the largest distance.
func (r *Row) largestDrift() *Drift {
	worst := &r.Drifts[0]
	for i := range r.Drifts {
		if drift := &r.Drifts[i]; drift.steps >= worst.steps {
			worst = drift
		}
	}
	return worst
}

// isFlip reports whether the difference is a flipped bit: a single bit differs, and roundoff of that size would have
// changed other elements too. The fewer elements, the larger the difference must be. Types with fewer bits than float32
// hide the roundoff of float32 sums in all elements except the smallest.
func (d *Drift) isFlip() bool {
	distance := d.steps
	if d.isNarrow() {
		distance = math.Ldexp(d.steps, singleFraction-d.fraction) / roundoffJump
	}
	return d.Flipped && (d.ulp() > 1 || math.IsInf(d.steps, 1)) && float64(d.Elements-1)*exact.Log2(distance) > certainBits
}

// areClose reports whether the tensors differ by roundoff only.
func areClose(inputs []*Row) bool {
	return !slices.ContainsFunc(inputs, func(r *Row) bool {
		return slices.ContainsFunc(r.Drifts, func(d Drift) bool { return d.Bits > 0 && !(d.fraction > 0 && d.steps <= roundoffSteps) })
	})
}

// isNarrow reports whether the numbers have fewer bits than float32.
func (d *Drift) isNarrow() bool { return d.fraction > 0 && d.fraction < singleFraction }

// ulp returns the largest distance from the first run in ulp of the numbers, 0 if elements were not compared.
func (d *Drift) ulp() float64 {
	if !d.MaxULP.IsDefined() {
		return 0
	}
	return math.Ldexp(d.MaxULP.Value(), -d.unused)
}

// ULP returns the largest distance of the runs from the first run in ulp, 0 if elements were not compared.
func (r *Row) ULP() (worst float64) {
	for i := range r.Drifts {
		worst = max(worst, r.Drifts[i].ulp())
	}
	return worst
}

// groupRuns groups the runs by their contents in all rows.
func (d *Report) groupRuns() (groups [][]string) {
	keys := make([]strings.Builder, len(d.Runs))
	for i := range d.Rows {
		for run := range d.Rows[i].Drifts {
			keys[run].WriteString(d.Rows[i].Drifts[run].contentKey() + " ")
		}
	}
	at := map[string]int{}
	for run := range keys {
		key := keys[run].String()
		k, ok := at[key]
		if !ok {
			k, at[key], groups = len(groups), len(groups), append(groups, nil)
		}
		groups[k] = append(groups[k], d.Runs[run])
	}
	return groups
}
