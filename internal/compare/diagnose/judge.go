package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/compare/engine"
)

// The numbers of the jump rules of the HPAA manual, (a) and (b).
const (
	goodMeanRel = 0.1
	badMeanRel  = 1
	goodPearson = 0.9
	badPearson  = 0.1
)

// The mean relative error of a few references near 0 is large by right, and a
// norm that takes away a large mean amplifies rounding. Rule (a) needs one of
// these besides: a mean relative error beyond 1 that most elements share makes a
// RED of about 1. Rule (b) is held back where both are small: the correlation of
// a nearly constant tensor is that of its rounding.
const (
	jumpRED  = 1    // sqrt(sum d^2/sum r^2), and more than rounding grows to
	jumpP50  = 2    // of the relative error
	smallRED = 0.05 // for rule (b)
	smallP90 = 0.1  // of the relative error, for rule (b)
)

// minJumpElements is the number of elements from which a correlation says
// something.
const minJumpElements = 16

const (
	growth = 10 // of the mean relative error, that an operator may add
	// outlier is how far beyond the 99 % point of |d| an error is no rounding.
	outlier = 100
	// assumedSum is the length of the sums of an operator, which nobody tells.
	assumedSum = 4096
)

// inputNumbers are the worst numbers of the inputs of an operator.
type inputNumbers struct {
	meanRel, pearson engine.Metric
	red              float64 // 0 where it is not known
}

// measure takes the worst of all inputs with a result.
func (n *network) measure(inputs []int) (in inputNumbers) {
	for _, row := range inputs {
		r := n.ops[row].Result
		if r == nil {
			continue
		}
		if m := r.MeanRel; m.Defined && (!in.meanRel.Defined || m.Value > in.meanRel.Value) {
			in.meanRel = m
		}
		in.red = max(in.red, r.RED.Value)
		if m := r.Pearson; m.Defined && (!in.pearson.Defined || m.Value < in.pearson.Value) {
			in.pearson = m
		}
	}
	return in
}

// subject is one row under judgement.
type subject struct {
	network *network
	op      *Op
	result  *engine.Result
	inputs  *resolved
	numbers inputNumbers
	noise   bool // fails by accumulated rounding only
}

// judge says why a row is bad: the specific patterns that it did not get from
// its inputs, jumps, bad inputs that clear it; where none of these is found,
// what is left.
func (s *subject) judge() []Finding {
	switch {
	case s.op.State == NotCompared || s.op.State == Passed:
		return nil
	case s.op.State == Warned && s.result != nil:
		return s.modelNaN()
	case s.op.State == Warned:
		return nil
	case s.result == nil:
		return s.withPatterns(s.shapeInputBad())
	}
	own := s.own()
	findings := slices.Concat(own, s.modelNaN(), s.nonFinite(), s.jumped())
	cleared := s.inputBad()
	if len(cleared) == 0 && !has(findings, CalcError) {
		findings = append(findings, s.uneven()...)
	}
	findings = append(findings, cleared...)
	if len(findings) == 0 {
		findings = s.rest()
	}
	return s.withPatterns(findings)
}

// rest is for rows that nothing else explains.
func (s *subject) rest() []Finding {
	if f := s.accumulated(); len(f) > 0 {
		return f
	}
	return s.unknown()
}

// withPatterns puts the patterns of the row after the findings.
func (s *subject) withPatterns(findings []Finding) []Finding {
	return joined(findings, s.op.Patterns)
}

// joined adds the findings of codes that are not there yet.
func joined(findings, more []Finding) []Finding {
	var all []Finding
	for _, f := range slices.Concat(findings, more) {
		if !has(all, f.Code) {
			all = append(all, f)
		}
	}
	return all
}

// modelNaN is rule (d): NaN and infinities at the same places on both sides, and
// nowhere else.
func (s *subject) modelNaN() []Finding {
	if s.result.Mismatch.Count > 0 {
		return nil
	}
	return single(ModelNaN, modelNaN(s.result))
}

// nonFinite is rule (e).
func (s *subject) nonFinite() []Finding {
	if npuNonFinite(s.result) == 0 || s.explained() {
		return nil
	}
	for _, row := range s.inputs.rows {
		if r := s.network.ops[row].Result; r != nil && newNonFinite(r) > 0 {
			return nil // NaN travels; the origin is further up
		}
	}
	if f := overflowOf(s.result); f.evidence != "" {
		return single(OverflowFP16, f)
	}
	return single(NPUNaN, npuNaNOf(s.result))
}

// explained reports whether a pattern explains the NaN by how the bits are read.
func (s *subject) explained() bool {
	return has(s.op.Patterns, Endian) || has(s.op.Patterns, DTypeMisread) || has(s.op.Patterns, BitFlip)
}

func single(code string, f found) []Finding {
	if f.evidence == "" {
		return nil
	}
	return []Finding{{code, f.confidence, f.evidence}}
}

// documented is the confidence of a documented rule, less where the inputs are
// a guess.
func (s *subject) documented() string {
	if s.inputs.inferred {
		return Medium
	}
	return High
}

func (s *subject) ours() string {
	if s.inputs.inferred {
		return Low
	}
	return Medium
}

// jumped are the rules (a) and (b). They hold against bad inputs too. What
// rule (c) has to say is told with them.
func (s *subject) jumped() []Finding {
	evidence := s.jumps()
	if len(evidence) == 0 {
		return nil
	}
	if axes := Uneven(s.result); len(axes) > 0 {
		evidence = append(evidence, axes[0].Evidence())
	}
	return []Finding{{CalcError, s.documented(), strings.Join(evidence, "; ")}}
}

// jumps is the evidence of the rules (a) and (b).
func (s *subject) jumps() (evidence []string) {
	r, in := s.result, s.numbers
	red, p50, p90 := r.RED.Value, r.RelQuantiles.P50.Value, r.RelQuantiles.P90.Value
	if in.meanRel.Defined && r.MeanRel.Defined && in.meanRel.Value < goodMeanRel && r.MeanRel.Value > badMeanRel {
		text := fmt.Sprintf("mean relative error %.3g > %g, of the inputs %.3g < %g (%s)",
			r.MeanRel.Value, float64(badMeanRel), in.meanRel.Value, goodMeanRel, s.inputNames())
		switch {
		case red >= jumpRED && red > s.grown():
			evidence = append(evidence, fmt.Sprintf("%s, borne out by the RED %.3g >= %d", text, red, jumpRED))
		case p50 >= jumpP50:
			evidence = append(evidence, fmt.Sprintf("%s, borne out by the median relative error %.3g >= %d", text, p50, jumpP50))
		}
	}
	if in.pearson.Defined && r.Pearson.Defined && in.pearson.Value > goodPearson && r.Pearson.Value < badPearson &&
		r.BothFinite() >= minJumpElements && (red >= smallRED || p90 >= smallP90) {
		evidence = append(evidence, fmt.Sprintf("Pearson correlation %.3g < %g, of the inputs %.4g > %g (%s)",
			r.Pearson.Value, badPearson, in.pearson.Value, goodPearson, s.inputNames()))
	}
	return evidence
}

// uneven is rule (c). Rounding is uneven too, where a norm amplifies some columns.
func (s *subject) uneven() []Finding {
	if s.noise {
		return nil
	}
	axes := Uneven(s.result)
	if len(axes) == 0 {
		return nil
	}
	return []Finding{{CalcError, Medium, axes[0].Evidence()}}
}

// accumulated holds where the error grew no more than rounding makes it, and
// all over. The RED has to agree: the mean relative error of the inputs may be
// that of a few references near 0.
func (s *subject) accumulated() []Finding {
	r, in := s.result, s.numbers
	if !in.meanRel.Defined || !r.MeanRel.Defined || r.Mismatch.Count > 0 || s.outliers() || r.RED.Value > s.grown() {
		return nil
	}
	rounding := s.rounding()
	bound := growth*in.meanRel.Value + rounding
	if r.MeanRel.Value > bound {
		return nil
	}
	return single(Accumulated, foundf(s.ours(), "mean relative error %.3g <= %.3g = %d x %.3g of the inputs (%s) + %.3g, the rounding of %s in sums of %d (assumed)",
		r.MeanRel.Value, bound, growth, in.meanRel.Value, s.inputNames(), rounding, r.NPUDType, assumedSum))
}

// outliers reports whether a few elements are off by far more than the others.
func (s *subject) outliers() bool {
	p99 := s.result.AbsQuantiles.P99
	return p99.Defined && s.result.MaxAbs.Value > outlier*p99.Value
}

// unknown leaves it to the patterns, and where they say nothing tells the numbers that no
// rule took.
func (s *subject) unknown() []Finding {
	if len(s.op.Patterns) > 0 && !s.noise {
		return slices.Clone(s.op.Patterns)
	}
	r, in := s.result, s.numbers
	text := fmt.Sprintf("mean relative error %s, Pearson correlation %s", metricText(r.MeanRel), metricText(r.Pearson))
	if s.noise {
		text += fmt.Sprintf("; the RED %.3g <= %.3g grew no more than rounding makes it", r.RED.Value, s.grown())
	} else if r.RED.Value > s.grown() && len(s.inputs.rows) > 0 {
		text += fmt.Sprintf("; the RED %.3g, of the inputs %.3g, grew by more than rounding, to which %.3g is put down", r.RED.Value, in.red, s.grown())
	}
	if s.outliers() {
		text += fmt.Sprintf("; a few elements are off by far more than the others: |d| %.3g > %d x the 99 %% point %.3g",
			r.MaxAbs.Value, outlier, r.AbsQuantiles.P99.Value)
	}
	if len(s.inputs.rows) == 0 {
		return []Finding{{Unknown, Low, text + "; no inputs are known: if this is the first operator, its input data may differ"}}
	}
	text += fmt.Sprintf(", of the inputs %s and %s (%s)", metricText(in.meanRel), metricText(in.pearson), s.inputNames())
	return []Finding{{Unknown, Low, text}}
}
