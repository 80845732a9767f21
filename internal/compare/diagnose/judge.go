package diagnose

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/compare/verdict"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
)

// The limits of the jump rules of the HPAA manual: the mean relative error rises
// from below 0.1 to above 1, or the correlation falls from above 0.9 to below 0.1.
const (
	goodMeanRel = 0.1
	badMeanRel  = 1
	goodPearson = 0.9
	badPearson  = 0.1
)

// A few elements of the reference near 0 make the mean relative error large without any fault, and a norm that subtracts
// a large mean amplifies rounding. A jump of the mean relative error therefore also needs jumpRED or jumpP50: if most
// elements share the error, the RED is about 1. A fall of the correlation does not count if RED and P90 are small: in
// a nearly constant tensor only rounding errors are correlated.
const (
	jumpRED  = 1 // sqrt(sum d^2/sum r^2); it must also exceed rounding
	jumpP50  = 2 // of the relative error
	smallRED = 0.05
	smallP90 = 0.1 // of the relative error
)

// minCorrelated is the number of elements from which on a correlation is
// meaningful.
const minCorrelated = 16

const (
	// growth is the largest growth of rounding errors in an operator, as a factor.
	growth = 10
	// outlier is a multiple of the 99 % quantile of |d| that rounding never reaches.
	outlier = 100
	// assumedSum is the assumed length of sums in an operator; the real length is unknown.
	assumedSum = 4096
)

// judge returns why a row is bad: specific patterns that its inputs do not have, jumps, and bad
// inputs that explain it; without any of these, accumulated rounding or the unexplained
// numbers.
func (r *row) judge() []finding.Finding {
	switch {
	case r.isGood() && r.status != record.Pass && r.isCompared:
		return r.findModelNaN()
	case !r.hasFailed():
		return nil
	case !r.isCompared:
		return finding.Merge(r.findShapeCause(), r.patterns())
	}
	findings := slices.Concat(r.ownPatterns(), r.findModelNaN(), r.findNonFinite(), r.findJumps())
	inputs := r.findBadInputCause()
	if uneven := r.source.Uneven; len(inputs) == 0 && !finding.Has(findings, finding.CalcError) && uneven != nil && !r.failsByRounding {
		// Rounding may also concentrate in part of an axis, if a norm amplifies some columns.
		findings = append(findings, newFindings(finding.CalcError, finding.Medium, unevenText(uneven))...)
	}
	findings = append(findings, inputs...)
	if len(findings) == 0 {
		findings = r.findAccumulated()
	}
	if len(findings) == 0 {
		findings = r.unexplainedFindings()
	}
	return finding.Merge(findings, r.patterns())
}

// findModelNaN finds pairs whose only NaN and infinities are at the same places on both sides: a
// documented rule.
func (r *row) findModelNaN() []finding.Finding {
	if r.result().Mismatch.Count > 0 {
		return nil
	}
	return newFindings(finding.ModelNaN, finding.High, modelNaN(r.result()))
}

// findNonFinite finds NaN and infinities of the NPU that come from no input: a
// documented rule.
func (r *row) findNonFinite() []finding.Finding {
	// NaN propagates; its origin may be further upstream.
	travelled := func(in *row) bool { return in.result() != nil && countNewNonFinite(in.result()) > 0 }
	if npuNonFinite(r.result()) == 0 {
		return nil
	}
	patterns := r.patterns()
	misread := finding.Has(patterns, finding.Endian) || finding.Has(patterns, finding.DTypeMisread) || finding.Has(patterns, finding.BitFlip)
	if misread || slices.ContainsFunc(r.resolveInputs().rows, travelled) {
		return nil
	}
	return r.findNonFiniteCause()
}

// findNonFiniteCause returns the cause of NaN and infinities of the NPU.
func (r *row) findNonFiniteCause() []finding.Finding {
	if evidence := halfOverflow(r.result()); !evidence.IsZero() {
		return newFindings(finding.OverflowFP16, overflowConfidence(r.result()), evidence)
	}
	return newFindings(finding.NPUNaN, finding.High, npuNaN(r.result()))
}

// confidence returns the confidence of a finding: known if the inputs are known, guessed if they are inferred.
func (r *row) confidence(known, guessed finding.Confidence) finding.Confidence {
	if r.resolveInputs().isInferred {
		return guessed
	}
	return known
}

// findJumps finds jumps of the error. They count even with bad inputs. An uneven axis is added to
// the evidence.
func (r *row) findJumps() []finding.Finding {
	evidence := r.jumpEvidence()
	if len(evidence) == 0 {
		return nil
	}
	if r.source.Uneven != nil {
		evidence = append(evidence, unevenText(r.source.Uneven))
	}
	return newFindings(finding.CalcError, r.confidence(finding.High, finding.Medium), lang.Join(evidence, semicolon))
}

// jumpEvidence returns the evidence of the jump rules: a jump of the mean relative error, a fall of the
// correlation.
func (r *row) jumpEvidence() (evidence []lang.Sentence) {
	res, in := r.result(), r.worstInputMetrics()
	red, p50 := res.RED.Value(), res.RelQuantiles.P50.Value()
	var besides lang.Sentence
	switch {
	case !in.meanRel.IsDefined() || !res.MeanRel.IsDefined() || in.meanRel.Value() >= goodMeanRel || res.MeanRel.Value() <= badMeanRel:
	case red >= jumpRED && red > r.maxRoundingRED():
		besides = lang.Say("RED %s >= %d", number(red), jumpRED)
	case p50 >= jumpP50:
		besides = lang.Say("median relative error %s >= %d", number(p50), jumpP50)
	}
	if !besides.IsZero() {
		evidence = append(evidence, lang.Say("mean relative error %s > %d, inputs: %s < %g (%s); %s",
			number(res.MeanRel.Value()), badMeanRel, number(in.meanRel.Value()), goodMeanRel, r.inputNames(), besides))
	}
	if !in.pearson.IsDefined() || !res.Pearson.IsDefined() || in.pearson.Value() <= goodPearson || res.Pearson.Value() >= badPearson ||
		res.CountBothFinite() < minCorrelated || res.RED.Value() < smallRED && res.RelQuantiles.P90.Value() < smallP90 {
		return evidence
	}
	return append(evidence, lang.Say("Pearson correlation %s < %g, inputs: %s > %g (%s)",
		number(res.Pearson.Value()), badPearson, number(in.pearson.Value()), goodPearson, r.inputNames()))
}

// findAccumulated finds rows whose error grows no more than by rounding, all over the tensor. The
// RED must agree, since the mean relative error of the inputs may come from a few references
// near 0.
func (r *row) findAccumulated() []finding.Finding {
	res, in := r.result(), r.worstInputMetrics()
	if !in.meanRel.IsDefined() || !res.MeanRel.IsDefined() || res.Mismatch.Count > 0 || r.hasOutliers() || !res.RED.IsDefined() || res.RED.Value() > r.maxRoundingRED() {
		return nil
	}
	rounding := r.roundingError()
	bound, _ := r.accumulatedBound()
	if res.MeanRel.Value() > bound {
		return nil
	}
	return newFindings(finding.Accumulated, r.confidence(finding.Medium, finding.Low), lang.Say(
		"mean relative error %s <= %s = %d x %s of the inputs (%s) + %s of rounding in %s (sums of %d terms assumed)",
		number(res.MeanRel.Value()), number(bound), growth, number(in.meanRel.Value()), r.inputNames(), number(rounding), res.NPUDType, assumedSum))
}

// accumulatedBound returns the mean relative error up to which rounding may have grown, if the errors of the inputs
// are known.
func (r *row) accumulatedBound() (bound float64, ok bool) {
	in := r.worstInputMetrics().meanRel
	return float64(growth*in.Value()) + r.roundingError(), in.IsDefined()
}

// hasOutliers reports whether a few elements differ by far more than the others.
func (r *row) hasOutliers() bool {
	p99 := r.result().AbsQuantiles.P99
	return p99.IsDefined() && r.result().MaxAbs.Value() > outlier*p99.Value()
}

// unexplainedFindings returns the patterns, or without patterns the numbers that no rule
// explains.
func (r *row) unexplainedFindings() []finding.Finding {
	if len(r.patterns()) > 0 && !r.failsByRounding {
		return slices.Clone(r.patterns())
	}
	res, in := r.result(), r.worstInputMetrics()
	text := lang.Say("mean relative error %s, Pearson correlation %s", metricText(res.MeanRel), metricText(res.Pearson))
	if len(r.resolveInputs().rows) > 0 {
		text = lang.Say("%s, of the inputs %s and %s (%s)", text, metricText(in.meanRel), metricText(in.pearson), r.inputNames())
	}
	parts := []lang.Sentence{text}
	add := func(more lang.Sentence) { parts = append(parts, more) }
	if r.failsByRounding {
		add(lang.Say("RED %s <= %s, the limit for rounding", number(res.RED.Value()), number(r.maxRoundingRED())))
	} else if res.RED.Value() > r.maxRoundingRED() && len(r.resolveInputs().rows) > 0 {
		add(lang.Say("RED %s > %s, the limit for rounding (RED of the inputs: %s)",
			number(res.RED.Value()), number(r.maxRoundingRED()), number(in.red)))
	}
	if r.hasOutliers() {
		add(lang.Say("max |d| %s > %d x its 99 %% quantile %s",
			number(res.MaxAbs.Value()), outlier, number(res.AbsQuantiles.P99.Value())))
	}
	if len(r.resolveInputs().rows) == 0 {
		add(lang.Say("no inputs are known (first operator, with other input data?)"))
	}
	return newFindings(finding.Unknown, finding.Low, lang.Join(parts, semicolon))
}

// withFacts adds facts to the findings that have none.
func (r *row) withFacts(findings []finding.Finding) []finding.Finding {
	for i := range findings {
		f := &findings[i]
		if len(f.Facts) > 0 {
			continue
		}
		switch f.Code {
		case finding.CalcError:
			f.Facts = r.calculationFacts()
		case finding.Accumulated:
			f.Facts = r.meanRelFacts()
			if bound, ok := r.accumulatedBound(); ok {
				f.Facts = f.Facts.Number("allowed", bound)
			}
		case finding.LayerInputBad:
			f.Facts = r.inputFacts()
		default:
			f.Facts = ResultFacts(f.Code, r.result())
		}
	}
	return findings
}

// ResultFacts returns the facts of a reason that follow from the metrics of a row; none for other
// reasons and for a row that was not compared.
func ResultFacts(code finding.Code, r *metrics.Result) (f finding.Facts) {
	if r == nil {
		return nil
	}
	switch code {
	case finding.OverflowFP16, finding.NPUNaN:
		f = f.Int("count", npuNonFinite(r))
		if first := r.Mismatch.First; first != nil {
			f = f.Int("first", first.Offset)
		}
		if r.Ref.Min.IsDefined() {
			f = f.Number("largest_ref", r.Ref.Largest())
		}
	case finding.Bias:
		if r.Bias.IsDefined() && r.BiasZ.IsDefined() {
			f = f.Number("share", (1+math.Abs(r.Bias.Value()))/2).Number("z", r.BiasZ.Value()).Int("count", r.BiasCount)
		}
	case finding.Scale:
		if r.Scale.IsDefined() && r.ScaleResidual.IsDefined() {
			f = f.Number("scale", r.Scale.Value()).Number("residual", r.ScaleResidual.Value())
		}
	case finding.Margin:
		if r.Margin.IsDefined() {
			f = f.Number("margin", r.Margin.Value())
		}
	}
	return f
}

// calculationFacts returns the facts of a calculation error: the uneven axis, and the jump from
// the errors of the inputs.
func (r *row) calculationFacts() (f finding.Facts) {
	if u := r.source.Uneven; u != nil {
		f = f.Int("axis", int64(u.Axis)).Int("size", u.Size).Int("first", u.From).Int("end", u.To)
		if float64(u.Half) >= minHalfRatio {
			f = f.Number("half", float64(u.Half)).Number("rel", float64(u.RelHalf)).Int("limit", minHalfRatio)
		} else {
			f = f.Number("peak", float64(u.Peak)).Number("rel", float64(u.RelPeak)).Int("limit", minPeakRatio)
		}
		f = f.Number("run_share", float64(u.To-u.From)/float64(u.Size))
		if tile := tileOf(u); tile > 1 {
			f = f.Int("tile", tile)
		}
		var box []int
		for _, a := range u.Also {
			box = append(box, a.Axis, int(a.From), int(a.To))
		}
		if box != nil {
			f = f.List("box", box)
		}
	}
	f = append(f, r.meanRelFacts()...)
	if in, res := r.worstInputMetrics().pearson, r.result(); res != nil && in.IsDefined() && res.Pearson.IsDefined() {
		f = f.Number("pearson_in", in.Value()).Number("pearson_out", res.Pearson.Value())
	}
	if in := r.resolveInputs().rows; len(in) > 0 {
		f = f.Int(finding.InputRow, int64(in[0].index))
	}
	return f
}

// meanRelFacts returns the mean relative errors of the inputs and of the row.
func (r *row) meanRelFacts() (f finding.Facts) {
	if in, res := r.worstInputMetrics().meanRel, r.result(); res != nil && in.IsDefined() && res.MeanRel.IsDefined() {
		f = f.Number("mean_rel_in", in.Value()).Number("mean_rel_out", res.MeanRel.Value())
	}
	return f
}

// inputFacts returns the facts of the first bad input.
func (r *row) inputFacts() (f finding.Facts) {
	inputs := r.resolveInputs()
	if i := slices.IndexFunc(inputs.rows, (*row).hasFailed); i >= 0 {
		in := inputs.rows[i]
		f = f.Int(finding.InputRow, int64(in.index))
		if res := in.result(); res != nil {
			f = f.Int("errors", res.StrictErrors()).Int("total", res.Total)
		}
	}
	return f.Flag("inferred", inputs.isInferred)
}

// hasWrongSibling reports whether another output of the operator is wrong by recomputation: then the operator is
// wrong.
func (x *evidenceRow) hasWrongSibling() bool {
	return slices.ContainsFunc(x.operator.outputs, func(r *row) bool { return r != x.row && r.source.Self.IsWrong() })
}

// agreesWithReference reports whether the row equals the reference up to the rounding of the NPU's type.
func (x *evidenceRow) agreesWithReference() bool {
	n := x.noise
	return n != nil && n.NonFinite == 0 && n.RMS <= 2*n.Rounding
}

// countUnproven counts the origins known only from the data flow, not from recomputation.
func (j *Judgement) countUnproven() (n int) {
	for _, x := range j.origins {
		if !x.source.Self.IsWrong() {
			n++
		}
	}
	return n
}

// addRecomputation puts the findings of recomputation before the findings by the reference.
func (x *evidenceRow) addRecomputation(findings []finding.Finding) []finding.Finding {
	self := x.source.Self
	switch {
	case self.IsWrong():
		own := slices.Clone(self.Why)
		own[0].Confidence = finding.High
		own[0].Evidence = joinNonEmpty(lang.Say("recomputed from the NPU inputs: %s", own[0].Evidence), x.excessText())
		return finding.Merge(own, findings)
	case x.isCleared && x.verdict.Kind == verdict.Unwritten: // the fault is the unwritten memory
	case x.isCleared:
		if others := x.findBadInputs(); len(others) > 0 {
			return finding.Merge(newFindings(finding.InputDiffers, self.Confidence(), lang.Say("the NPU result is right for the NPU inputs, but %s of the reference differ by more than rounding", joinFirstRows(others, ""))), findings)
		}
		if a := x.source.Argument; a != nil {
			return finding.Merge(newFindings(finding.ArgumentsDiffer, self.Confidence(), lang.Say("the NPU result is right for the NPU inputs, but argument %s is %.100s on the NPU and %.100s in the reference", a.Name, a.NPU, a.Ref)), findings)
		}
		return finding.Merge(newFindings(finding.ReferenceDiffers, self.Confidence(), lang.Say("the NPU result is right for the NPU inputs: compare the weights and attributes of both sides")), findings)
	}
	if a := x.source.Argument; a != nil {
		return append(findings, newFindings(finding.ArgumentsDiffer, finding.Low, lang.Say("argument %s also differs: %.100s on the NPU, %.100s in the reference", a.Name, a.NPU, a.Ref))...)
	}
	return findings
}

// findBadInputs returns the inputs that differ from the reference by more than rounding.
func (x *evidenceRow) findBadInputs() []*row {
	return lists.Filter(x.inputs(), func(in *row) bool { return in.hasFailed() || in.status == record.Warn })
}

// hasOtherInput reports whether an input is known and differs.
func (x *evidenceRow) hasOtherInput() bool {
	return slices.ContainsFunc(x.inputs(), func(in *row) bool { return in.noise != nil && in.noise.RMS > 0 })
}

// findAgreeingFault returns the findings of a row that is wrong by recomputation but agrees with the reference.
func (x *evidenceRow) findAgreeingFault() []finding.Finding {
	own := x.source.Self.Why
	return finding.Merge(newFindings(finding.SelfWrong, own[0].Confidence, lang.Say("recomputed from the NPU inputs: %s; the reference agrees with the NPU", own[0].Evidence)), own)
}
