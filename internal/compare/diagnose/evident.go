package diagnose

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/compare/verdict"
	"dumptool/internal/lang"
)

// judged is a row under judgement by evidence.
type judged struct {
	*row
	verdict verdict.Verdict
	// inputs are the tensors that the row was made of, as far as they are known.
	inputs  []*row
	guessed bool // the inputs are those before it
	fedBy   []*judged
	// beyond is the error beside the noise of the second reference, 0 where there is
	// none.
	beyond  float64
	lost    int64 // pairs of which the reference alone is no number
	depth   int   // operators on the longest way to the row
	origin  bool
	damaged bool
}

// tooManyOrigins is the share of the rows from which a graph does not fit the data,
// if there are at least fewOrigins.
const (
	tooManyOrigins = 0.1
	fewOrigins     = 5
)

// Judgement is the verdicts by evidence on the rows of a round.
type Judgement struct {
	*network
	// Unfit is set where the graph is not used, since by it too many operators would
	// be origins.
	Unfit   bool
	walked  []*judged // in the order of the data flow
	of      map[*row]*judged
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
	j := &Judgement{network: n, of: make(map[*row]*judged, len(n.rows))}
	order, looped := n.walk()
	var last before
	for _, o := range order {
		for _, r := range slices.Concat(o.inputs, o.outputs) {
			x := j.judge(r, looped[o], &last)
			j.walked, j.of[r] = append(j.walked, x), x
			if x.origin {
				j.origins = append(j.origins, x)
			}
		}
		for _, r := range o.outputs {
			if r.Noise != "" {
				last.add(r)
			}
		}
	}
	return j
}

// judge judges a row whose inputs are judged.
func (j *Judgement) judge(r *row, looped bool, last *before) *judged {
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
		if r.isInput() || looped || len(o.sources.through) > 0 {
			op.Type = verdict.OpType{}
		}
	case j.Ordered:
		x.inputs, x.guessed = last.rows, len(last.rows) > 0
		op.Type = verdict.OpType{}
	default:
		op.Type = verdict.OpType{}
	}
	op.Guessed = x.guessed
	bad := false // an input of another shape
	for _, in := range x.inputs {
		if before := j.of[in]; before != nil { // nil in a cycle
			x.depth = max(x.depth, before.depth+1)
			x.feed(before.fedBy...)
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
	switch {
	case !r.Compared():
		x.origin = r.failed() && !bad
		return x
	case r.Noise == "":
		x.origin = r.failed() && !op.Tainted
		return x
	}
	x.verdict = op.Judge()
	if x.lost = lostNumbers(r.result()); x.lost > 0 && !j.AnyClass && x.verdict.Level != verdict.Origin {
		x.verdict.Kind = verdict.InputNaN
		if !slices.ContainsFunc(x.inputs, func(in *row) bool {
			return j.of[in] != nil && (j.of[in].lost > 0 || j.of[in].verdict.Kind == verdict.NonFinite)
		}) {
			x.verdict.Level, x.verdict.Kind = verdict.Origin, verdict.NonFinite
		}
	}
	x.compareWithSecond(j, &op)
	x.origin = x.verdict.Level == verdict.Origin || r.Status == record.Fail && x.specific(&op)
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
		x.damaged = x.verdict.Kind == verdict.InputNaN || op.Out.RMS > 3*op.Rounded()
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
		if before := j.of[in]; before != nil {
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
	e := &record.Evidence{Damaged: x.damaged, Level: int(x.verdict.Level), Kind: string(x.verdict.Kind)}
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

// explain says why each row is what it is.
func (j *Judgement) explain() [][]record.Finding {
	reasons := make([][]record.Finding, len(j.rows))
	for _, x := range j.walked {
		reasons[x.index] = x.explain()
	}
	return reasons
}

// explain says why the row is what it is: what an origin does, which origin damaged
// it, how much of it is rounding.
func (x *judged) explain() []record.Finding {
	switch {
	case !x.Compared():
		return record.Merge(x.shapeInputBad(), x.Patterns)
	case x.origin:
		return x.cause()
	case x.Status == record.Fail && len(x.fedBy) > 0:
		return single(record.LayerInputBad, x.confidence(), x.fed())
	case x.Status == record.Rounding:
		return single(record.Accumulated, x.confidence(), x.rounding())
	case x.Status == record.Warn && x.verdict.Level == verdict.Suspect:
		return record.Merge(single(record.Amplified, record.Low, x.amplified()), x.modelNaN())
	case x.Passes():
		return x.modelNaN()
	}
	return nil
}

// Passes reports whether the row is no failure.
func (x *judged) Passes() bool { return x.Status.Passes() }

// confidence is how sure the verdict is.
func (x *judged) confidence() record.Confidence {
	v := &x.verdict
	switch {
	case x.guessed || v.Class == verdict.Unknown || v.Score < 1.3*v.Limit && v.PeakScore < 3:
		return record.Low
	case v.Exact && (v.PeakScore >= 3 || v.Score >= 3):
		return record.High
	}
	return record.Medium
}

// cause says what an origin does: a pattern that only such a fault makes, or what is
// seen of its error.
func (x *judged) cause() []record.Finding {
	own := x.own()
	for i := range own {
		own[i].Evidence = lang.Join([]lang.Sentence{own[i].Evidence, x.excess()}, semicolon)
		break
	}
	if len(own) > 0 {
		return record.Merge(own, x.Patterns)
	}
	code, confidence := x.code(), x.confidence()
	if x.Noise == "" {
		return record.Merge(x.Patterns, single(record.Unknown, record.Low, lang.Sayf("beyond the limits; what rounding explains is not known", "超出门限；无法得知舍入可解释的误差")))
	}
	switch code {
	case record.NPUNaN:
		if x.lost > 0 && x.noise().NonFinite == 0 {
			return single(record.ModelNaN, record.High, lang.Sayf("the reference is NaN or infinite at %d elements where the NPU has numbers", "有 %d 个元素标杆为 NaN 或 inf 而 NPU 为数值", x.lost))
		}
		return x.nonFiniteOrigin()
	case record.OverflowFP16:
		return single(code, record.High, lang.Sayf("%d elements are beyond the range of %s (largest %s)", "%d 个元素超出 %s 的范围(最大 %s)",
			x.noise().Overflows, x.noise().Type.Name, element(x.noise().Type.Max)))
	}
	parts := []lang.Sentence{x.seen(), x.excess()}
	if x.Uneven != nil && x.verdict.Kind != verdict.Scaled {
		parts = append(parts, x.Uneven.text())
	}
	parts = slices.DeleteFunc(parts, lang.Sentence.IsZero)
	return record.Merge(single(code, confidence, lang.Join(parts, semicolon)), x.Patterns)
}

// nonFiniteOrigin says where NaN and infinities come from.
func (x *judged) nonFiniteOrigin() []record.Finding {
	if evidence := halfOverflow(x.result()); !evidence.IsZero() {
		return single(record.OverflowFP16, overflowConfidence(x.result()), evidence)
	}
	return single(record.NPUNaN, record.High, npuNaN(x.result()))
}

// code names what is seen of the error.
func (x *judged) code() record.Code {
	n := x.noise()
	switch x.verdict.Kind {
	case verdict.NonFinite:
		return record.NPUNaN
	case verdict.Overflow:
		return record.OverflowFP16
	case verdict.Scaled:
		return record.Scale
	case verdict.Constant:
		if x.result() != nil && x.result().NPU.Max.Value == 0 && x.result().NPU.Min.Value == 0 {
			return record.ZeroOutput
		}
		return record.ConstOutput
	case verdict.Coarse:
		return record.PrecisionLoss
	case verdict.Value:
		switch {
		case n.Mean > 0.9*n.RMS || -n.Mean > 0.9*n.RMS:
			return record.Offset
		case !x.verdict.Structured && !x.verdict.Exact && x.verdict.Class == verdict.Linear:
			return record.PrecisionLoss
		}
	}
	return record.CalcError
}

// seen says what is seen of the error of an origin.
func (x *judged) seen() lang.Sentence {
	n, v := x.noise(), &x.verdict
	switch v.Kind {
	case verdict.Scaled:
		return lang.Sayf("the NPU tensor is the reference times %s (%s %% of the error, z = %s)", "NPU 张量为标杆的 %s 倍(占误差的 %s %%，z = %s)",
			element(1+n.Scale), number(100*min(v.ScaleShare, 1)), number(v.ScaleZ))
	case verdict.Sparse:
		return lang.Sayf("single elements are off by up to %s, %s x what rounding explains", "个别元素偏差达 %s，为舍入可解释的 %s 倍", number(n.Max), number(v.PeakScore))
	case verdict.Rows:
		return lang.Sayf("some rows are off by %s x what rounding explains", "部分行的误差为舍入可解释的 %s 倍", number(v.RowScore))
	case verdict.Channels:
		return lang.Sayf("some channels are off by %s x what rounding explains", "部分通道的误差为舍入可解释的 %s 倍", number(v.ChannelScore))
	case verdict.Constant:
		return lang.Sayf("all elements of the NPU tensor are the same", "NPU 张量的元素全部相同")
	case verdict.Coarse:
		return lang.Sayf("the elements use %d of %d mantissa bits, those of the inputs more (sums in bfloat16?)", "元素只使用 %d/%d 个尾数位，输入使用得更多(以 bfloat16 累加？)", n.Bits, n.Type.Mantissa)
	case verdict.BeyondNoise:
		return lang.Sayf("the error is %s x that of the second reference", "误差为第二标杆误差的 %s 倍", number(x.beyond))
	case verdict.Step:
		return lang.Sayf("more elements take a neighbouring step than ties explain", "落入相邻量化级的元素多于舍入可解释的数量")
	}
	return lang.Sentence{}
}

// differentData is the relative error from which the runs may have had other data.
const differentData = 0.5

// excess sets the error beside what is expected.
func (x *judged) excess() lang.Sentence {
	if x.Noise == "" || x.noise().RMS == 0 {
		return lang.Sentence{}
	}
	v, n := &x.verdict, x.noise()
	from := lang.Sayf("no input is known", "输入未知")
	if len(x.inputs) == 0 && n.RMS > differentData*n.RefRMS {
		from = lang.Sayf("no input is known (other input data or weights?)", "输入未知(输入数据或权重不同？)")
	}
	if len(x.inputs) > 0 {
		from = lang.Sayf("%s of the inputs (%s), %s of rounding", "输入 %s(%s)，舍入 %s", number(v.Propagated), x.madeOf(), number(v.Expectation.Own))
	}
	return lang.Sayf("rms error %s, expected %s: %s", "误差均方根 %s，预期 %s：%s", number(x.noise().RMS), number(v.Sum), from)
}

// madeOf names the inputs.
func (x *judged) madeOf() lang.Sentence {
	names := make([]string, 0, len(x.inputs))
	for _, in := range x.inputs {
		names = append(names, rowName(in.Row))
	}
	if x.guessed {
		if len(names) == 1 {
			return lang.Sayf("%s, the tensor before", "此前的 %s", names[0])
		}
		return lang.Sayf("one of the %d tensors before", "此前 %d 个张量之一", len(names))
	}
	if through := x.operator.sources.through; len(through) > 0 && !x.isInput() && len(x.operator.inputs) == 0 {
		return lang.Sayf("%s, through %s (no dump)", "%s，经由 %s(无 dump)", someOf(names), someOf(through))
	}
	return someOf(names)
}

// fed names the origins that damaged the row.
func (x *judged) fed() lang.Sentence {
	names := make([]string, 0, len(x.fedBy))
	for _, o := range x.fedBy {
		names = append(names, rowName(o.Row))
	}
	if x.Noise == "" || x.verdict.Kind == verdict.InputNaN {
		return lang.Sayf("the error comes from %s", "误差来自 %s", someOf(names))
	}
	return lang.Sayf("the error comes from %s: rms error %s, expected of damaged inputs %s", "误差来自 %s：误差均方根 %s，由受损输入预期 %s",
		someOf(names), number(x.noise().RMS), number(x.verdict.Sum))
}

// rounding says how much of the error rounding explains.
func (x *judged) rounding() lang.Sentence {
	return lang.Sayf("rounding of %s over %d operators: rms error %s, expected %s", "%s 经 %d 个算子的舍入：误差均方根 %s，预期 %s",
		x.noise().Type.Name, x.depth, number(x.noise().RMS), number(x.verdict.Sum))
}

// amplified says by how much the error grew.
func (x *judged) amplified() lang.Sentence {
	return lang.Sayf("the error is %s x what rounding explains, without the form of a fault: the operator may amplify the error of its inputs; dump its weights to know",
		"误差为舍入可解释的 %s 倍，但没有故障的特征：算子可能放大了输入误差；dump 其权重即可判断", number(x.verdict.Score))
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
