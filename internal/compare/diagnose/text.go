package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/record"
	"dumptool/internal/compare/verdict"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// explain returns why the row has its status: the fault of an origin, the origins that damaged
// it, or the share of rounding.
func (x *evidenceRow) explain() []finding.Finding {
	switch {
	case !x.isCompared:
		return x.addRecomputation(finding.Merge(x.findShapeCause(), x.patterns()))
	case x.isOrigin:
		return x.addRecomputation(x.findCause())
	case x.status == record.Fail && len(x.inputRows) > 0:
		return newFindings(finding.LayerInputBad, x.confidence(), x.originsText())
	case x.status == record.Rounding:
		return newFindings(finding.Accumulated, x.confidence(), x.roundingText())
	case x.status == record.Warn && x.source.Self.IsWrong():
		return finding.Merge(x.findAgreeingFault(), x.findModelNaN())
	case x.status == record.Warn && x.verdict.Level == verdict.Suspect:
		return finding.Merge(newFindings(x.describeExcuse()), x.findModelNaN())
	case x.status.Passes():
		return x.findModelNaN()
	}
	return nil
}

// confidence returns how sure the verdict is.
func (x *evidenceRow) confidence() finding.Confidence {
	v := &x.verdict
	switch {
	case x.hasGuessedInputs && len(x.inferredInputs) == 0 || v.Class == optype.Unknown || v.Score < 1.3*v.Limit && v.PeakScore < 3:
		return finding.Low
	case v.Exact && (v.PeakScore >= 3 || v.Score >= 3):
		return finding.High
	}
	return finding.Medium
}

// findCause describes the fault of an origin: a pattern that only a fault makes, or the form of its
// error.
func (x *evidenceRow) findCause() []finding.Finding {
	if len(x.unpaired) > 0 {
		return newFindings(finding.CameIn, finding.Medium, lang.Say("the operator that produced this tensor has no partner on the other side: %s (RED %s, cosine %s)",
			joinFirstRows(x.unpaired, ""), metricText(x.result().RED), metricText(x.result().Cosine)))
	}
	if x.gap != nil {
		return newFindings(finding.CameIn, finding.Medium, lang.Say("inside this module, before %s: no dumped operator produced this input, and it differs (RED %s, cosine %s)", rowName(x.gap.source), metricText(x.gap.result().RED), metricText(x.gap.result().Cosine)))
	}
	own := x.ownPatterns()
	if len(own) > 0 && !x.wasChanged() && x.verdict.Kind != verdict.ZeroRows {
		own[0].Evidence = joinNonEmpty(own[0].Evidence, x.excessText())
		return finding.Merge(own, x.patterns())
	}
	code, confidence := x.code(), x.confidence()
	if x.noise == nil {
		return finding.Merge(x.patterns(), newFindings(finding.Unknown, finding.Low, lang.Say("beyond the limits; the error that rounding explains is unknown")))
	}
	switch code {
	case finding.NPUNaN:
		if x.hasLostNumbers && x.noise.NonFinite == 0 {
			return newFindings(finding.ModelNaN, finding.High, lang.Say("the reference is NaN or infinite at %d elements where the NPU has numbers", lostNumbers(x.result())))
		}
		return x.findNonFiniteCause()
	case finding.StartedApart:
		if x.isExternal {
			return newFindings(code, finding.High, x.startText())
		}
		return newFindings(code, finding.High, lang.Say("no compared operator produced this tensor, and the two sides have nothing in common: cosine %s", metricText(x.result().Cosine)))
	case finding.Memory:
		if x.misreadFrom == nil {
			return finding.Merge(newFindings(code, finding.High, lang.Say("the reference reads the output of %s here; on the NPU the tensor was overwritten in between (%d of %d elements)",
				x.producer.source.Name(), x.result().StrictErrors(), x.noise.Elements)), x.patterns())
		}
		return newFindings(code, finding.High, lang.Say("the NPU read %s here, the reference %s", x.misreadFrom.source.Name(), x.producer.source.Name()))
	case finding.Unwritten:
		return finding.Merge(newFindings(code, finding.High, lang.Say("%s; this operator mixes these rows with written rows", x.unwritten.describe())), x.patterns())
	case finding.OverflowFP16:
		return newFindings(code, finding.High, lang.Say("%d elements are beyond the range of %s (largest %s)",
			x.noise.Overflows, x.noise.Type.Name, element(x.noise.Type.Max)))
	}
	parts := []lang.Sentence{x.describeError(), x.scaledPartText(), x.excessText()}
	if x.source.Uneven != nil && x.verdict.Kind != verdict.Scaled {
		parts = append(parts, unevenText(x.source.Uneven))
	}
	return finding.Merge(newFindings(code, confidence, joinNonEmpty(parts...)), x.patterns())
}

// startText describes an input from outside the run that differs.
func (x *evidenceRow) startText() lang.Sentence {
	n := x.noise
	if past := &x.network.Past; x.isParameter() && past.Change(x.index) > 0 {
		if past.Unchanged[x.index] {
			return lang.Say("the NPU still reads the parameter of the step before, which the reference updated")
		}
		return lang.Say("the parameter differs by %s (rms), and training changed it by only %s since the first compared step", number(n.RMS), number(past.Change(x.index)))
	}
	if before := x.network.Past.OfStepBefore(x.index); before != nil && before.Noise != nil {
		return lang.Say("the reference reads output %d of %s of the step before, the NPU another tensor: the error is %s (rms), the error of that output %s", before.Output, before.Op, number(n.RMS), number(before.Noise.RMS))
	}
	count, by := n.Apart.Count()
	if n.Type.Integer {
		return lang.Say("%d of %d elements differ, and no operator of the run produced the tensor", count, n.Elements)
	}
	return lang.Say("%d of %d elements differ by more than rounding to %s, and no operator of the run produced the tensor (RED %s, cosine %s)", count, n.Elements, by, metricText(x.result().RED), metricText(x.result().Cosine))
}

// joinNonEmpty joins the parts that are not empty.
func joinNonEmpty(parts ...lang.Sentence) lang.Sentence {
	return lang.Join(slices.DeleteFunc(parts, lang.Sentence.IsZero), semicolon)
}

// code returns the code for the form of the error.
func (x *evidenceRow) code() finding.Code {
	n, v, res := x.noise, &x.verdict, x.result()
	switch kind := v.Kind; {
	case x.misreadFrom != nil || x.wasChanged():
		return finding.Memory
	case kind == verdict.Apart:
		return finding.StartedApart
	case kind == verdict.Unwritten:
		return finding.Unwritten
	case kind == verdict.NonFinite:
		return finding.NPUNaN
	case kind == verdict.Overflow:
		return finding.OverflowFP16
	case kind == verdict.Scaled && n.Residual < n.RMS/3:
		return finding.Scale
	case kind == verdict.Constant && res != nil && res.NPU.Max.Value() == 0 && res.NPU.Min.Value() == 0:
		return finding.ZeroOutput
	case kind == verdict.Constant:
		return finding.ConstOutput
	case kind == verdict.Value && math.Abs(n.Mean) > 0.9*n.RMS:
		return finding.Offset
	case (kind == verdict.Value || kind == verdict.Scaled) && x.isUnrelated():
		return finding.Unrelated
	case kind == verdict.Coarse, kind == verdict.Value && !v.Structured && !v.Exact && v.Class == optype.Linear:
		return finding.PrecisionLoss
	}
	return finding.CalcError
}

// wasChanged reports whether an input is a copy of an output in the reference, while on the NPU it
// holds other elements, although the output is right.
func (x *evidenceRow) wasChanged() bool {
	p := x.producer
	return p != nil && x.isInput && !p.hasFailed() && p.isCompared && p.digest(refSide) == x.digest(refSide) && p.digest(npuSide) != x.digest(npuSide)
}

// describeError describes the error of an origin.
func (x *evidenceRow) describeError() lang.Sentence {
	n, v := x.noise, &x.verdict
	if x.code() == finding.Unrelated {
		return lang.Say("the tensors have nothing in common, cosine %s: other input, step, weights, or another tensor?", metricText(x.result().Cosine))
	}
	switch v.Kind {
	case verdict.Scaled:
		return lang.Say("the NPU tensor is the reference times %s (%s %% of the error, z = %s)",
			strconv.FormatFloat(1+n.Scale, 'g', 10, 64), number(100*min(v.ScaleShare, 1)), number(v.ScaleZ))
	case verdict.Sparse:
		return lang.Say("single elements are off by up to %s, %s x the error that rounding explains", number(n.Max), number(v.PeakScore))
	case verdict.Rows:
		return lang.Say("some rows are off by %s x the error that rounding explains", number(v.RowScore))
	case verdict.ZeroRows:
		return lang.Say("rows of zeros where the reference has numbers")
	case verdict.Channels:
		return lang.Say("some channels are off by %s x the error that rounding explains", number(v.ChannelScore))
	case verdict.Constant:
		return lang.Say("all elements of the NPU tensor are the same")
	case verdict.Coarse:
		return lang.Say("the elements use %d of %d mantissa bits, the inputs use more (sums in bfloat16?)", n.Bits, n.Type.Mantissa)
	case verdict.Selected:
		return lang.Say("%d of %d indices differ, and the values that they point to are not ties", n.Differing, n.Elements)
	case verdict.BeyondNoise:
		return lang.Say("the error is %s x the error of the second reference", number(x.secondRatio))
	case verdict.Step:
		return lang.Say("more elements are one quantisation step off than ties explain")
	}
	return lang.Sentence{}
}

// unrelatedCosine is the cosine below which tensors have nothing in common.
const unrelatedCosine = 0.3

// isUnrelated reports whether the two sides have nothing in common.
func (x *evidenceRow) isUnrelated() bool {
	res := x.result()
	return res != nil && res.Cosine.IsDefined() && math.Abs(res.Cosine.Value()) < unrelatedCosine && x.noise.RefStd > 0 && !x.noise.Constant
}

// scaledPartText describes the range of an axis that is multiplied by a factor, unless it is the whole axis.
func (x *evidenceRow) scaledPartText() lang.Sentence {
	n := x.noise
	last := len(n.Shape) - 1
	if last < 0 {
		return lang.Sentence{}
	}
	if first, end, factor, ok := scaledRange(&n.Channels); ok {
		axis := last
		if last >= 3 {
			axis = 1
		}
		return lang.Say("multiplied by %s on [%d, %d) of axis %d, by 1 elsewhere", element(1+factor), first, end, axis)
	}
	if first, end, factor, ok := scaledRange(&n.Rows); ok {
		return lang.Say("multiplied by %s on rows %d to %d of %d, by 1 elsewhere", element(1+factor), first, end-1, n.Rows.Count)
	}
	return lang.Sentence{}
}

// minScaled is the number of elements of a group below which any error looks like a factor.
const minScaled = 8

// scaledErrors is the minimum distance of a group's factor from 1, in standard errors.
const scaledErrors = 8

// scaledRange finds a range of neighbouring groups that are multiplied by a common factor, while the
// groups outside of the range are not; false for none.
func scaledRange(g *noise.Groups) (first, end int64, factor float64, ok bool) {
	if len(g.Scale) != len(g.RMS) || len(g.Scale) < 2 || g.Size*g.Fold < minScaled {
		return 0, 0, 0, false
	}
	count := float64(g.Size * g.Fold)
	from, to, others := -1, -1, 0.0
	for i := range g.Scale {
		s, rr, dd := float64(g.Scale[i]), float64(g.RefRMS[i]), float64(g.RMS[i])
		residual := math.Sqrt(max(float64(dd*dd)-float64(s*s*rr*rr), 0)) / max(rr, math.SmallestNonzeroFloat64) / math.Sqrt(count)
		if rr == 0 || math.Abs(s) <= scaledErrors*residual || math.Abs(s) < 1e-3 {
			others = max(others, math.Abs(s))
			continue
		}
		switch {
		case from < 0:
			from, factor = i, s
		case to != i, math.Abs(s-factor) > float64(0.1*math.Abs(factor))+float64(scaledErrors*residual): // not neighbours, or another factor
			return 0, 0, 0, false
		}
		to = i + 1
	}
	if from < 0 || to-from == len(g.Scale) || others > math.Abs(factor)/4 {
		return 0, 0, 0, false
	}
	return int64(from) * g.Fold, min(int64(to)*g.Fold, g.Count), factor, true
}

// differentData is the relative error from which on the runs may have had different data.
const differentData = 0.5

// excessText compares the error with the expected error.
func (x *evidenceRow) excessText() lang.Sentence {
	if x.noise == nil || x.noise.RMS == 0 {
		return lang.Sentence{}
	}
	v, n := &x.verdict, x.noise
	from := lang.Say("no input is known")
	switch known := len(x.inputs()) > 0; {
	case known:
		from = lang.Say("%s from the inputs (%s), %s from rounding", number(v.Propagated), x.inputsText(), number(v.Expectation.Own))
	case n.RMS > differentData*n.RefRMS:
		from = lang.Say("no input is known (other input data or weights?)")
	}
	return lang.Say("rms error %s, expected %s: %s", number(x.noise.RMS), number(v.Sum), from)
}

// inputsText names the inputs; the operator's own inputs by their kind and number.
func (x *evidenceRow) inputsText() lang.Sentence {
	names, through := joinFirstRows(x.inputs(), x.source.Op+":"), x.operator.bypassed
	switch {
	case len(x.inferredInputs) > 0:
		return lang.Say("%s, by their values", names)
	case x.hasGuessedInputs && len(x.inputs()) == 1:
		return lang.Say("%s, the preceding tensor", names)
	case x.hasGuessedInputs:
		return lang.Say("one of the %d preceding tensors", len(x.inputs()))
	case len(through) > 0 && !x.isInput && len(x.operator.inputs) == 0:
		return lang.Say("%s, through %s (no dump)", names, joinFirstNames(through))
	}
	return names
}

// originsText names the origins that damaged the row.
func (x *evidenceRow) originsText() lang.Sentence {
	origins := make([]*row, len(x.inputRows))
	for i, o := range x.inputRows {
		origins[i] = o.row
	}
	if x.noise == nil || x.verdict.Kind == verdict.InputNaN {
		return lang.Say("the error comes from %s", joinFirstRows(origins, ""))
	}
	return lang.Say("the error comes from %s: rms error %s, expected of damaged inputs %s",
		joinFirstRows(origins, ""), number(x.noise.RMS), number(x.verdict.Sum))
}

// roundingText says how much of the error rounding explains.
func (x *evidenceRow) roundingText() lang.Sentence {
	return lang.Say("rounding of %s over %d operators: rms error %s, expected %s",
		x.noise.Type.Name, x.depth, number(x.noise.RMS), number(x.verdict.Sum))
}

// describeExcuse describes a difference that is no fault, or the growth of an error.
func (x *evidenceRow) describeExcuse() (finding.Code, finding.Confidence, lang.Sentence) {
	n, confidence := x.noise, x.confidence()
	switch x.verdict.Kind {
	case verdict.Drawn:
		return finding.Random, confidence, lang.Say("random numbers: the two sides used different seeds")
	case verdict.Mixed:
		return finding.BatchMixed, finding.High, lang.Say("depends on all rows of the batch, and the batches of the two sides differ: not judged")
	case verdict.Coarse:
		if a := n.Apart; x.isStart() && a != nil && a.Ref != a.NPU { // documents of earlier versions have no Apart
			side, by := lang.Text{EN: "the NPU"}, a.NPU
			if by == tensor.Float32 {
				side, by = lang.Text{EN: "the reference"}, a.Ref
			}
			return finding.PrecisionLoss, finding.High, lang.Say("%s holds %s numbers here, the other side float32: rounded on one side", side, by)
		}
		return finding.PrecisionLoss, confidence, lang.Say("this operator computes in %s; other operators of its type keep float32 precision", x.heldType)
	case verdict.Tied:
		if c := x.source.Common; c != nil && x.source.Self.IsRight() {
			return finding.IndexTie, confidence, lang.Say("%d elements, %d in the reference: the number depends on the input values and is right for the NPU inputs", c.NPU, c.Ref)
		} else if c != nil {
			return finding.IndexTie, confidence, lang.Say("%d elements, %d in the reference: the number depends on the input values, which may tie", c.NPU, c.Ref)
		}
		return finding.IndexTie, confidence, lang.Say("%d of %d indices differ, but point to values that are equal except for rounding", n.Differing, n.Elements)
	case verdict.Renumbered:
		if !n.Type.Integer {
			return finding.IndexDiffers, confidence, lang.Say("the two sides have nothing in common (cosine %s), but the operators that read this tensor agree: rows or blocks in another order?", metricText(x.result().Cosine))
		}
		return finding.IndexDiffers, finding.High, lang.Say("%d of %d integers from outside the run differ, but the operators that read them agree: renumbered indices, a seed or an address", n.Differing, n.Elements)
	case verdict.AtPole:
		if x.source.Self.IsRight() {
			return finding.Pole, finding.High, lang.Say("%d of %d elements are NaN or infinite: the right result for the NPU inputs, which differ from the reference by rounding only", n.NonFinite, n.Elements)
		}
		return finding.Pole, finding.Medium, lang.Say("%d of %d elements are NaN or infinite, and as many elements of an input are 0 on one side alone: divisors too small for the type", n.NonFinite, n.Elements)
	case verdict.Unwritten:
		return finding.Unwritten, finding.High, lang.Say("%s, and differ; the other rows agree", x.unwritten.describe())
	case verdict.Unread:
		if m := x.source.Masked; m != nil {
			return finding.Unread, confidence, lang.Say("%s excludes %d of %d positions; at the remaining positions the rms error is %s", m.By, m.Excluded, m.Positions, number(m.RMS))
		}
		return finding.Unread, confidence, lang.Say("%d of %d rows differ but are never read: every operator that reads the tensor agrees", n.RowsOff, n.Rows.Count)
	}
	return finding.Amplified, finding.Low, lang.Say("the error is %s x the error that rounding explains, but has no pattern of a fault: the operator may amplify its input errors; dump its weights to find out", number(x.verdict.Score))
}

// Evidence has one form: the observation, the numbers, the position, and a hypothesis in brackets with a question
// mark. Metrics have 3 significant digits, elements 6. A probability is given by its limit.

// number is a measured number; element is an element of a tensor, or a number compared
// with elements.
type (
	number  float64
	element float64
)

func (n number) String() string {
	text := strconv.FormatFloat(float64(n), 'g', 3, 64)
	rounded, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return element(rounded).String()
}

func (e element) String() string { return strconv.FormatFloat(float64(e), 'g', 6, 64) }

// semicolon separates the parts of evidence.
var semicolon = lang.Text{EN: "; "}

func (r *row) inputNames() lang.Sentence {
	return lang.Say("%s%s", joinFirstRows(r.resolveInputs().rows, ""), r.howInputsAreKnown())
}

// howInputsAreKnown says how the inputs are known if no graph names them.
func (r *row) howInputsAreKnown() lang.Sentence {
	switch in := r.resolveInputs(); {
	case in.isInferred:
		return lang.Say(", inferred from the execution order")
	case len(in.bypassed) > 0:
		return lang.Say(", through %s (no dump)", joinFirstNames(in.bypassed))
	default:
		return lang.Sentence{}
	}
}

func rowName(r *record.Row) string {
	if r.Kind == "" || r.Kind == string(tensor.Output) {
		return fmt.Sprintf("%s:%d", r.Op, r.Output)
	}
	return fmt.Sprintf("%s:%s:%d", r.Op, r.Kind, r.Output)
}

// maxNames is the maximum number of names in evidence.
const maxNames = 3

// joinFirstNames joins the first maxNames names.
func joinFirstNames(names []string) lang.Sentence {
	shown := min(len(names), maxNames)
	return appendMore(lang.Plain(strings.Join(names[:shown], ", ")), len(names)-shown)
}

// joinFirstRows joins the names of the first maxNames rows, without a prefix.
func joinFirstRows(rows []*row, prefix string) lang.Sentence {
	names := make([]string, 0, maxNames)
	for _, r := range rows[:min(len(rows), maxNames)] {
		names = append(names, strings.TrimPrefix(rowName(r.source), prefix))
	}
	return appendMore(lang.Plain(strings.Join(names, ", ")), len(rows)-len(names))
}

// appendMore appends the number of names that the list omits.
func appendMore(list lang.Sentence, more int) lang.Sentence {
	if more <= 0 {
		return list
	}
	return lang.Say("%s and %d more", list, more)
}

// metricText returns a metric as text, possibly undefined.
func metricText(m metrics.Metric) any {
	if !m.IsDefined() {
		return lang.Text{EN: "undefined"}
	}
	return number(m.Value())
}
