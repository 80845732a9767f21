package diagnose

import (
	"fmt"
	"math"
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

// Rule (a) is held back where few elements make the mean: a sum that cancels to
// nearly 0 has a large relative error by right.
const (
	jumpRED = 0.05 // sqrt(sum d^2/sum r^2)
	jumpP90 = 0.1  // of the relative error
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
}

// rules are the tests of a failing row with a result, in their order; the first
// that finds something decides.
func rules() []func(*subject) []Finding {
	return []func(*subject) []Finding{
		(*subject).modelNaN,
		(*subject).nonFinite,
		(*subject).jumped,
		(*subject).inputBad,
		(*subject).uneven,
		(*subject).damaged,
		(*subject).accumulated,
		(*subject).unknown,
	}
}

// judge says why a row is bad.
func (n *network) judge(row int, inputs *resolved) []Finding {
	op := &n.ops[row]
	s := &subject{network: n, op: op, result: op.Result, inputs: inputs, numbers: n.measure(inputs.rows)}
	switch {
	case op.State == NotCompared || op.State == Passed:
		return nil
	case op.State == Warned && op.Result != nil:
		return s.modelNaN()
	case op.State == Warned:
		return nil
	case op.Result == nil:
		return s.withPatterns(s.inputBad())
	}
	for _, rule := range rules() {
		if findings := rule(s); len(findings) > 0 {
			return s.withPatterns(findings)
		}
	}
	return slices.Clone(op.Patterns)
}

// withPatterns puts the patterns of the row after the findings.
func (s *subject) withPatterns(findings []Finding) []Finding {
	for _, f := range s.op.Patterns {
		if !has(findings, f.Code) {
			findings = append(findings, f)
		}
	}
	return findings
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
		return append(single(OverflowFP16, f), s.inputBad()...)
	}
	return append(single(NPUNaN, npuNaNOf(s.result)), s.inputBad()...)
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
	return append([]Finding{{CalcError, s.documented(), strings.Join(evidence, "; ")}}, s.inputBad()...)
}

// jumps is the evidence of the rules (a) and (b).
func (s *subject) jumps() (evidence []string) {
	r, in := s.result, s.numbers
	few := r.RED.Value < jumpRED && r.RelQuantiles.P90.Value < jumpP90
	if in.meanRel.Defined && r.MeanRel.Defined && in.meanRel.Value < goodMeanRel && r.MeanRel.Value > badMeanRel && !few {
		evidence = append(evidence, fmt.Sprintf("mean relative error %.3g > %g, of the inputs %.3g < %g (%s)",
			r.MeanRel.Value, float64(badMeanRel), in.meanRel.Value, goodMeanRel, s.inputNames()))
	}
	if in.pearson.Defined && r.Pearson.Defined && in.pearson.Value > goodPearson && r.Pearson.Value < badPearson &&
		r.BothFinite() >= minJumpElements {
		evidence = append(evidence, fmt.Sprintf("Pearson correlation %.3g < %g, of the inputs %.4g > %g (%s)",
			r.Pearson.Value, badPearson, in.pearson.Value, goodPearson, s.inputNames()))
	}
	return evidence
}

// inputBad clears an operator that got bad inputs.
func (s *subject) inputBad() []Finding {
	var bad []string
	for _, row := range s.inputs.rows {
		op := &s.network.ops[row]
		if op.State != Failed {
			continue
		}
		text := rowName(op)
		if r := op.Result; r != nil {
			text += fmt.Sprintf(" (%d of %d errors, mean relative error %s)", r.StrictErrors(), r.Total, metricText(r.MeanRel))
		}
		bad = append(bad, text)
	}
	if len(bad) == 0 {
		return nil
	}
	return []Finding{{LayerInputBad, s.ours(), "bad input " + someOf(bad) + s.guess()}}
}

// uneven is rule (c).
func (s *subject) uneven() []Finding {
	axes := Uneven(s.result)
	if len(axes) == 0 {
		return nil
	}
	return []Finding{{CalcError, Medium, axes[0].Evidence()}}
}

// damaged lets the patterns speak that no rounding makes.
func (s *subject) damaged() []Finding {
	if len(s.op.Patterns) == 0 {
		return nil
	}
	switch s.op.Patterns[0].Code {
	case Bias, Underflow, ModelNaN:
		return nil
	}
	return slices.Clone(s.op.Patterns)
}

// accumulated holds where the error grew no more than rounding makes it, and
// all over.
func (s *subject) accumulated() []Finding {
	r, in := s.result, s.numbers
	if !in.meanRel.Defined || !r.MeanRel.Defined || r.Mismatch.Count > 0 || s.outliers() {
		return nil
	}
	format, _ := precisionOf(r.NPUDType)
	rounding := format.epsilon * math.Sqrt(assumedSum)
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

// unknown leaves it to the patterns, and without any tells the numbers that no
// rule took.
func (s *subject) unknown() []Finding {
	if len(s.op.Patterns) > 0 {
		return slices.Clone(s.op.Patterns)
	}
	r, in := s.result, s.numbers
	text := fmt.Sprintf("mean relative error %s, Pearson correlation %s", metricText(r.MeanRel), metricText(r.Pearson))
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
