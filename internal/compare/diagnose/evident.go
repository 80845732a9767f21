package diagnose

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/compare/verdict"
)

// judged is a row under judgement by evidence.
type judged struct {
	*row
	verdict verdict.Verdict
	// inputs are the tensors that the row was made of, as far as they are known.
	inputs  []*row
	guessed bool // the inputs are those before it
	// related is set where the inputs are known by their values.
	related bool
	fedBy   []*judged
	// beyond is the error beside the noise of the second reference, 0 where there is
	// none.
	beyond  float64
	lost    int64 // pairs of which the reference alone is no number
	depth   int   // operators on the longest way to the row
	origin  bool
	damaged bool
	// biasOfInputs is set where the inputs lean to one side as the row does.
	biasOfInputs bool
}

// tooManyOrigins is the share of the rows from which a graph does not fit the data,
// if there are at least fewOrigins.
const (
	tooManyOrigins = 0.1
	fewOrigins     = 5
)

// guessed is the number of rows before a row that may be its inputs where no graph
// says which are.
const guessed = 12

// Judgement is the verdicts by evidence on the rows of a round.
type Judgement struct {
	*network
	// Unfit is set where the graph is not used, since by it too many operators would
	// be origins.
	Unfit   bool
	walked  []*judged // in the order of the data flow
	made    []*row    // the outputs of them whose noise is known
	of      []*judged // the rows by their index, nil until they are walked
	origins []*judged
}

// Judge judges all rows of a round by the errors that their operators add, and sets
// their evidence.
func Judge(rows []record.Row, evidence []Evidence, known Network) *Judgement {
	j := judge(newNetwork(rows, evidence, known))
	if n := len(j.origins); known.Ordered && len(known.Graph) > 0 && n >= fewOrigins && float64(n) > tooManyOrigins*float64(len(j.walked)) {
		known.Graph = nil
		j = judge(newNetwork(rows, evidence, known))
		j.Unfit = true
	}
	for _, x := range j.walked {
		x.Row.Evidence = x.evidence()
		if x.biasOfInputs && record.Has(x.Reasons, record.Bias) {
			x.Reasons = record.Without(x.Reasons, record.Bias)
			if x.Status == record.Warn && len(x.Reasons) == 0 && !x.Forced {
				x.Status = record.Pass
			}
		}
	}
	return j
}

// Origins are the rows where an independent error begins, in the order of the data
// flow.
func (j *Judgement) Origins() []int {
	var rows []int
	for _, x := range j.origins {
		rows = append(rows, x.index)
	}
	return rows
}

// Through returns the operators without compared tensors between a row and its inputs.
func (j *Judgement) Through(row int) []string {
	r := &j.rows[row]
	if !r.isInput() && len(r.operator.inputs) > 0 {
		return nil
	}
	return r.operator.sources.through
}

// judge judges the rows of a network.
func judge(n *network) *Judgement {
	j := &Judgement{network: n, walked: make([]*judged, 0, len(n.rows)), made: make([]*row, 0, len(n.rows)), of: make([]*judged, len(n.rows))}
	order, looped := n.walk()
	for _, o := range order {
		for _, r := range slices.Concat(o.inputs, o.outputs) {
			x := j.judge(r, looped[o])
			j.walked, j.of[r.index] = append(j.walked, x), x
			if x.origin {
				j.origins = append(j.origins, x)
			}
		}
		for _, r := range o.outputs {
			if r.Noise != "" {
				j.made = append(j.made, r)
			}
		}
	}
	return j
}

// judge judges a row whose inputs are judged.
func (j *Judgement) judge(r *row, looped bool) *judged {
	x := &judged{row: r}
	o := r.operator
	_, known := j.Graph[o.name]
	x.depth = 1
	op := verdict.Operator{Out: r.noise(), Type: verdict.TypeOfOperator(r.OpType, r.Op), AnyClass: j.AnyClass}
	switch {
	case !r.isInput() && len(o.inputs) > 0:
		x.inputs = o.inputs
	case known:
		x.inputs = o.sources.rows
		op.Hidden = len(o.sources.through) > 0
		if r.isInput() || looped || op.Hidden {
			op.Type = verdict.OpType{}
		}
	case j.Ordered:
		x.inputs = slices.Clip(j.made[max(0, len(j.made)-guessed):])
		x.guessed = len(x.inputs) > 0
		op.Type = verdict.OpType{}
	default:
		op.Type = verdict.OpType{}
	}
	op.Guessed = x.guessed
	bad := false // an input of another shape
	for _, in := range x.inputs {
		if before := j.of[in.index]; before != nil { // nil in a cycle
			x.depth = max(x.depth, before.depth+1)
			if !before.equal() {
				x.feed(before.fedBy...)
			}
			if before.origin {
				x.feed(before)
			}
		}
		if in.Noise != "" {
			op.Inputs = append(op.Inputs, in.noise())
		} else {
			bad = bad || !in.Compared()
			op.Type = verdict.OpType{}
		}
	}
	op.Tainted = len(x.fedBy) > 0
	within := false // it is bad since what runs inside of it is
	for _, in := range j.inside(r) {
		if before := j.of[in.index]; before != nil && (before.origin || len(before.fedBy) > 0) {
			within = true
			x.feed(before.fedBy...)
			if before.origin {
				x.feed(before)
			}
		}
	}
	switch {
	case !r.Compared():
		x.origin = r.failed() && !bad && !within
		return x
	case r.Noise == "":
		x.origin = r.failed() && !op.Tainted && !within
		return x
	}
	x.verdict = op.Judge()
	if !r.isInput() && !looped && (x.guessed || known && len(o.inputs) == 0) {
		j.byValues(x, &op)
	}
	x.biasOfInputs = op.BiasOfInputs()
	if x.lost = lostNumbers(r.result()); x.lost > 0 && !j.AnyClass && x.verdict.Level != verdict.Origin {
		x.verdict.Kind = verdict.InputNaN
		if !slices.ContainsFunc(x.inputs, func(in *row) bool {
			return j.of[in.index] != nil && (j.of[in.index].lost > 0 || j.of[in.index].verdict.Kind == verdict.NonFinite)
		}) {
			x.verdict.Level, x.verdict.Kind = verdict.Origin, verdict.NonFinite
		}
	}
	x.compareWithSecond(j, &op)
	x.origin = !within && (x.verdict.Level == verdict.Origin || r.Status == record.Fail && x.specific(&op))
	switch {
	case x.guessed && x.origin && len(j.origins) > 0, r.isInput() && !known && len(j.walked) > 0:
		// Not told apart from what came before.
		x.origin = false
		x.feed(j.origins...)
	case !known && len(o.inputs) == 0 && (!j.Ordered || len(j.operators) < 2): // nothing is known of what comes before
		x.origin = x.origin && unordered(&op, &x.verdict)
	}
	if x.verdict.Level == verdict.Origin && !x.origin {
		x.verdict.Level = verdict.Clean
		if len(x.fedBy) == 0 && !(x.Second.Known && x.beyond < noiseGrowth) {
			x.verdict.Level = verdict.Suspect
		}
	}
	if len(x.fedBy) > 0 && !x.origin {
		newNaN := op.Out.NonFinite > 0 || x.lost > 0
		x.damaged = x.verdict.Kind == verdict.InputNaN && newNaN || op.Out.RMS > 3*op.Rounded()
	}
	return x
}

// The limits beside the noise of a second reference: an origin exceeds it, and what its
// inputs exceed it by, by these factors.
const (
	noiseLimit   = 6
	noiseGrowth  = 3
	integerNoise = 0.3 // of storing integers
)

// compareWithSecond judges the error by the noise of the second reference: how far two
// healthy runs are apart. It needs no type and no bound; where both rules speak an
// origin by either counts, and what the second reference amplifies too is rounding.
func (x *judged) compareWithSecond(j *Judgement, op *verdict.Operator) {
	second, out := x.Second, op.Out
	if !second.Known {
		return
	}
	floor := out.Rounding
	if out.Type.Integer {
		floor = integerNoise
	}
	noise := math.Sqrt(float64(second.RMS*second.RMS) + float64(floor*floor))
	x.beyond = max(over(out.RMS, noise), over(out.Max, max(second.Max, 8*floor, 4*second.RMS)))
	limit, nonFinite := 1.0, false
	for _, in := range x.inputs {
		if before := j.of[in.index]; before != nil {
			limit = max(limit, before.beyond)
		}
		nonFinite = nonFinite || in.Noise != "" && in.noise().NonFinite > 0
	}
	limit *= noiseGrowth
	if op.Tainted {
		limit *= noiseGrowth
	}
	switch {
	case nonFinite:
	case out.Type.Integer && second.RMS == 0: // equal integers say nothing about ties
	case x.beyond > noiseLimit && x.beyond > limit && (x.verdict.Level != verdict.Origin || x.verdict.Kind == verdict.Value):
		x.verdict.Level, x.verdict.Kind = verdict.Origin, verdict.BeyondNoise
	case x.verdict.Level == verdict.Suspect && x.beyond < noiseGrowth:
		x.verdict.Level, x.verdict.Kind = verdict.Clean, verdict.None
	}
}

// over is a/b, 0 where a is 0 and infinite where only b is.
func over(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return a / b
}

// equal reports whether the tensor is that of the reference, so that no error comes
// through it, wherever it was computed.
func (x *judged) equal() bool {
	if x.Noise == "" || x.lost > 0 {
		return false
	}
	n := x.noise()
	return n.RMS == 0 && n.NonFinite == 0
}

// lostNumbers counts the pairs whose reference is NaN or infinite while the NPU has a
// number, other than the limit of its type for an infinity.
func lostNumbers(res *metrics.Result) int64 {
	finite := &res.Classes[metrics.Finite]
	return finite[metrics.NaN] + max(finite[metrics.PosInf]+finite[metrics.NegInf]-res.SaturatedErrors, 0)
}

// feed adds origins that the row depends on, each once.
func (x *judged) feed(origins ...*judged) {
	for _, o := range origins {
		if !slices.Contains(x.fedBy, o) {
			x.fedBy = append(x.fedBy, o)
		}
	}
}

// unordered reports whether a row is an origin even where nothing is known of what
// comes before it: its error has a form that rounding does not have, or is large.
func unordered(op *verdict.Operator, v *verdict.Verdict) bool {
	switch v.Kind {
	case verdict.NonFinite, verdict.Overflow, verdict.Scaled, verdict.Constant, verdict.BeyondNoise:
		return true
	}
	return v.Structured || op.Out.RMS > 0.25*op.Out.RefRMS
}

// specific reports whether a failing row has a pattern that only a fault makes, and
// that no input has.
func (x *judged) specific(op *verdict.Operator) bool {
	if x.verdict.Score <= 1.5 || x.verdict.Exact || op.Tainted {
		return false
	}
	for _, f := range x.Patterns {
		switch f.Code {
		case record.Duplicate, record.Shift, record.Layout, record.Endian, record.DTypeMisread, record.ZeroTail, record.Wrap, record.Saturation:
			if !x.inherited(f.Code) {
				return true
			}
		}
	}
	return false
}

// Apply sets the status of all rows. Like Conclude it returns where it began to be
// bad, and why each row is; FirstBad and FirstDamaged are the first origin, if an order
// or the data flow is known.
func (j *Judgement) Apply() (v record.Findings, reasons [][]record.Finding) {
	for _, x := range j.walked {
		if x.Compared() {
			// A gate fails by any rule, and so does a tensor of which the policy leaves
			// nothing to compare.
			gate := record.Has(x.Reasons, record.Gate) || x.failed() && record.Has(x.Reasons, record.NPUNaN)
			x.Status = x.Row.Evidence.Status(x.Row, gate)
			x.Downstream = x.Status == record.Fail && !x.origin && !gate
		}
	}
	v = record.NoFindings()
	v.Origins = j.Origins()
	if len(j.origins) > 0 && (j.Ordered || len(j.Graph) > 0) {
		v.FirstBad, v.FirstDamaged = j.origins[0].index, j.origins[0].index
		if j.Ordered {
			j.lastGood(&v)
		}
		j.follow(&v)
	}
	if j.Ordered {
		j.firsts(&v)
	}
	j.largestJump(&v)
	return v, j.explain()
}

// evidence is what reports have of the verdict, nil for a row that was not compared.
func (x *judged) evidence() *record.Evidence {
	if !x.Compared() {
		return nil
	}
	e := &record.Evidence{Damaged: x.damaged, BiasOfInputs: x.biasOfInputs, Level: int(x.verdict.Level), Kind: string(x.verdict.Kind)}
	for _, o := range x.fedBy {
		e.FedBy = append(e.FedBy, o.index)
	}
	slices.Sort(e.FedBy)
	if x.origin {
		e.Level = record.IsOrigin
	}
	e.Noise = x.beyond
	if n := x.noise(); n != nil {
		v := &x.verdict
		e.Class, e.RMS, e.RefRMS, e.Rounding = v.Class.String(), n.RMS, n.RefRMS, n.Rounding
		e.Expected, e.Propagated, e.Own = v.Sum, v.Propagated, v.Expectation.Own
		if n.RefRMS == 0 && n.RMS == 0 {
			e.Expected = 0 // not the least that scores are relative to
		}
		e.Score, e.Rows, e.Channels, e.Peak, e.ScaleZ = v.Score, v.RowScore, v.ChannelScore, v.PeakScore, v.ScaleZ
	}
	return e
}

// lastGood finds the last good row before the first bad one, in execution order, and
// what was not compared in between.
func (j *Judgement) lastGood(v *record.Findings) {
	for _, r := range j.order {
		if r.index == v.FirstBad {
			return
		}
		switch {
		case r.Status.Passes():
			v.LastGood, v.Suspects = r.index, nil
		case !r.failed():
			v.Suspects = append(v.Suspects, r.index)
		}
	}
}
