package diagnose

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
)

// Limits between rounding and damage. The HPAA manual has none.
const (
	// maxFewErrors is the share of errors (0 to 1) up to which rounding errors may be uneven.
	maxFewErrors = 0.01
	// sparseShare: below this share of errors (0 to 1) in a bad part of an axis, only the smallest elements of the part are
	// bad.
	sparseShare = 0.25
	// maxRounding is the assumed maximum rounding error of sums in coarse
	// types.
	maxRounding = 0.1
	// inputShare: an input explains an operator's error up to this many times its own
	// error.
	inputShare = 10
)

// roundingError returns the relative error of sums in the type of the row.
func (r *row) roundingError() float64 {
	format, _ := precisionOf(r.result().NPUDType)
	return float64(format.epsilon * math.Sqrt(assumedSum))
}

// maxRoundingRED returns the largest RED that rounding can produce from the RED of the inputs.
func (r *row) maxRoundingRED() float64 {
	return float64(growth*r.worstInputMetrics().red) + math.Min(r.roundingError(), maxRounding)
}

// isRounding reports whether a row fails only by accumulated rounding: its RED exceeds the RED of its inputs by no
// more than rounding can add, the errors are spread over the tensor, and its failing inputs also fail only by rounding.
func (r *row) isRounding() bool {
	res := r.result()
	if !r.hasFailed() || res == nil || res.Mismatch.Count > 0 || !res.RED.IsDefined() || res.RED.Value() > r.maxRoundingRED() {
		return false
	}
	isFew, inputs := errorRatio(res) < maxFewErrors, r.resolveInputs().rows
	if _, float := precisionOf(res.NPUDType); !float || r.hasOutliers() || len(r.jumpEvidence()) > 0 || len(inputs) == 0 && !isFew ||
		slices.ContainsFunc(inputs, func(in *row) bool { return in.hasFailed() && !in.failsByRounding }) {
		return false
	}
	if slices.ContainsFunc(r.patterns(), func(f finding.Finding) bool { return isSpecific(f.Code) && f.Code != finding.Stride }) {
		return false
	}
	// Errors in part of an axis are damage unless only its smallest elements are bad.
	u := r.source.Uneven
	return isFew || u == nil || !(errorRatio(res) >= sparseShare*(float64(u.To-u.From)/float64(u.Size)))
}

func errorRatio(res *metrics.Result) float64 {
	return float64(res.StrictErrors()) / float64(max(res.Total, 1))
}

// damageOf returns the relative error of a tensor: the RED, plus the full magnitude of each
// element that is NaN or infinite on one side.
func damageOf(res *metrics.Result) float64 {
	return math.Sqrt(float64(res.RED.Value()*res.RED.Value()) + float64(res.Mismatch.Count)/float64(max(res.Total, 1)))
}

// isSpecific reports whether rounding cannot cause a pattern.
func isSpecific(code finding.Code) bool {
	return code != finding.Bias && code != finding.Underflow && code != finding.ModelNaN
}

// ownPatterns returns the specific patterns of the row, without patterns that a bad input has too.
func (r *row) ownPatterns() []finding.Finding {
	reference, _ := refNonFinite(r.result())
	return slices.DeleteFunc(slices.Clone(r.patterns()), func(f finding.Finding) bool {
		return r.failsByRounding || !isSpecific(f.Code) && (f.Code != finding.ModelNaN || reference == 0) || r.isInherited(f.Code)
	})
}

// isInherited reports whether a bad input has the pattern too.
func (r *row) isInherited(code finding.Code) bool {
	same := func(f finding.Finding) bool { return familyOf(f.Code) == familyOf(code) }
	return slices.ContainsFunc(r.resolveInputs().rows, func(in *row) bool {
		return in.hasFailed() && slices.ContainsFunc(in.patterns(), same)
	})
}

// familyOf returns a common code for a pattern and the pattern that the next operator turns it
// into.
func familyOf(code finding.Code) finding.Code {
	switch code {
	case finding.ConstOutput:
		return finding.ZeroOutput
	case finding.OverflowFP16:
		return finding.NPUNaN
	default:
		return code
	}
}

// isExplainedBy reports whether a bad input explains the bad row: the errors of both are comparable, and the error of
// the input is more than rounding, or the error of the row is rounding too.
func (r *row) isExplainedBy(in *row) bool {
	switch {
	case !in.hasFailed():
		return false
	case !in.isCompared:
		return true
	case in.failsByRounding:
		return r.failsByRounding
	case countNewNonFinite(in.result()) > 0:
		return true
	}
	return damageOf(in.result())*inputShare >= damageOf(r.result()) ||
		errorRatio(in.result())*inputShare >= errorRatio(r.result())
}

// findBadInputCause finds the bad inputs that explain the row.
func (r *row) findBadInputCause() []finding.Finding {
	var bad []lang.Sentence
	more := 0
	for _, in := range r.resolveInputs().rows {
		switch res := in.result(); {
		case !in.hasFailed() || r.isCompared && !r.isExplainedBy(in):
		case len(bad) == maxNames:
			more++
		case res == nil:
			bad = append(bad, lang.Plain(rowName(in.source)))
		default:
			bad = append(bad, lang.Say("%s (%d of %d elements are errors, mean relative error %s)",
				rowName(in.source), res.StrictErrors(), res.Total, metricText(res.MeanRel)))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return newFindings(finding.LayerInputBad, r.confidence(finding.Medium, finding.Low), lang.Say("bad input %s%s",
		appendMore(lang.Join(bad, lang.Text{EN: ", "}), more), r.howInputsAreKnown()))
}

// findShapeCause is findBadInputCause for a row with different shapes: a preceding operator is a reason
// only if it is known to be an input.
func (r *row) findShapeCause() []finding.Finding {
	if r.resolveInputs().isInferred {
		return nil
	}
	return r.findBadInputCause()
}
