// Package verdict distinguishes rounding errors from faults. It judges the error that an operator adds, not the whole
// error of its output. The error that rounding and the errors of the inputs may cause is bounded: exactly for
// operators such as Relu and Add, by the spread of the normalised rows for norms, by the relative error in several
// views of the input for matrix products. An operator is an origin if its error exceeds the bound, or has a form that
// rounding does not have.
//
// Start at Operator.Judge, which applies the rules of rules.go. Bounds and limits were found by experiments with
// simulated networks of all families, healthy and faulty, some with ill-conditioned operators.
package verdict

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/optype"
)

// Level is the severity of a verdict.
type Level uint8

// Values of Level.
const (
	Clean   Level = iota
	Suspect       // more than rounding explains, but the operator may amplify errors
	Origin        // adds an error of its own
)

// Kind is the form of an error that rounding does not explain.
type Kind uint8

// Values of Kind.
const (
	None     Kind = iota
	Value         // too large as a whole
	Scaled        // by a common factor
	Sparse        // in few elements
	Rows          // in some rows
	Channels      // in some channels
	Constant      // all elements are equal
	Coarse        // fewer mantissa bits than the type has
	Step          // quantised to other steps
	NonFinite
	Overflow
	// BeyondNoise is an error larger than the noise between two references.
	BeyondNoise
	Amplified
	InputBad   // NaN that a damaged input causes
	InputNaN   // an input has NaN or infinities
	Drawn      // other random numbers
	Tied       // other indices, of values that are equal within rounding
	Selected   // other indices
	Unread     // rows that no operator reads
	Apart      // the runs did not start from the same data
	ZeroRows   // rows of zeros
	Renumbered // other integers from outside, with the same results
	Unwritten  // memory that no operator wrote
	AtPole     // NaN and infinities at poles that rounded inputs reach: x/0, log 0
	Mixed      // computed from all rows of batches that differ
)

// kinds are the names of the kinds.
var kinds = [...]string{
	None: "", Value: "VALUE", Scaled: "SCALE", Sparse: "SPARSE", Rows: "ROWS", Channels: "CHANNELS", Constant: "CONST", Coarse: "COARSE", Step: "STEP",
	NonFinite: "NONFINITE", Overflow: "OVERFLOW", BeyondNoise: "NOISE", Amplified: "AMPLIFIED", InputBad: "INPUT_BAD", InputNaN: "INPUT_NAN",
	Drawn: "RANDOM", Tied: "INDEX_TIE", Selected: "INDEX", Unread: "UNREAD", Apart: "STARTED_APART", ZeroRows: "ZERO_ROWS", Renumbered: "INDEX_DIFFERS", Unwritten: "UNWRITTEN", AtPole: "POLE", Mixed: "BATCH_MIXED",
}

// String names the kind as reports do.
func (k Kind) String() string { return kinds[k] }

// Verdict is the result of the rules for a tensor.
type Verdict struct {
	Expectation
	// Score is the error divided by the expected error. RowScore, ChannelScore and PeakScore are the scores of the
	// worst row, channel and element. If Exact is set PeakScore bounds every element.
	Score, RowScore, ChannelScore, PeakScore float64
	// ScaleZ is the significance of a common factor, in standard deviations. ScaleShare is the share of the error
	// that the factor explains, 0 to 1.
	ScaleZ, ScaleShare float64
	// medianRow and medianChannel are the scores of the median row and channel.
	medianRow, medianChannel float64
	// Limit is the score up to which rounding explains the error.
	Limit float64
	Level Level
	Kind  Kind
	Exact bool
	// Structured: rounding does not produce an error of this form.
	Structured bool
	// LeftOut counts the elements that were not judged because another tensor explains their errors.
	LeftOut int64
	// Rule is the name of the rule that decided.
	Rule string
}

// hasOnlyRounding reports whether the error is no larger than the rounding of the type. Without NaN, infinities and
// overflows such a tensor is clean, whatever its inputs are.
func (o *Operator) hasOnlyRounding() bool {
	s := o.Out
	return s.Count == 0 || s.RMS == 0 ||
		!s.Type.Integer && s.RMS <= 1.5*s.Rounding && isWithinRounding(s.Type, &s.Rows) && isWithinRounding(s.Type, &s.Channels)
}

// IsAlwaysClean reports whether the tensor is clean whatever its inputs are.
func (o *Operator) IsAlwaysClean() bool {
	return o.hasOnlyRounding() && (o.AnyClass || o.Out.NonFinite == 0 && o.Out.Overflows == 0)
}

// excludeFlips removes elements from the differences of a gated operator if they appear or vanish because the
// selector is near its threshold. It removes nothing if there are more than 1.5 times as many such elements as
// expected, plus 4. It returns the number of removed elements.
func (o *Operator) excludeFlips() int64 {
	s := o.Out
	if s.OneSided == 0 || o.classOf() != optype.Gated || float64(s.OneSided) > float64(1.5*o.expectedFlips())+4 {
		return 0
	}
	both := *s
	both.RMS, both.Lone = s.RMSWithoutZeros(), 0
	o.Out = &both
	return s.OneSided
}

// expectedFlips is the number of elements that a gated operator probably selects differently because of the error of
// the selector: the elements near the threshold, or in poolings the windows whose two largest elements nearly tie.
// The two largest elements of a window are about one standard deviation apart, and another choice changes two
// elements.
func (o *Operator) expectedFlips() float64 {
	selector := o.selector()
	if o.Type.Form != optype.Pooled {
		return float64(selector.Flips)
	}
	windows := elementCount(selector)
	for _, in := range o.Inputs {
		windows = min(windows, elementCount(in))
	}
	return 2.5 * ratio(selector.RMS, selector.RefStd) * windows
}

// isWithinRounding reports whether the error of every element is at most two rounding errors of the largest element
// of its group.
func isWithinRounding(t noise.Type, groups *noise.Groups) bool {
	eps, least := epsilon(t), smallestStep(t)
	for g, most := range groups.Max {
		if float64(most) > float64(2*eps*float64(groups.RefMax[g]))+least {
			return false
		}
	}
	return true
}

// copiesIntegers reports whether the operator copies the integers of its inputs, or computes integers from them without
// rounding.
func (o *Operator) copiesIntegers() bool {
	return o.Type.Class == optype.Move || o.Type.Class == optype.Quantise || o.Type.Selects || isWide(o.Out.Type) || o.Out.Type.Mantissa == 1
}

// hasZeroRows reports whether some rows, not all, are 0 where the reference is not, while no input has
// such rows, or rows that lost half of their spread. Operators that select or multiply elements make rows
// of zeros of a damaged input.
func (o *Operator) hasZeroRows() bool {
	switch o.classOf() {
	case optype.Unknown, optype.Normalise, optype.BatchNormalise, optype.Linear, optype.Exponential, optype.Reduce:
	default:
		return false
	}
	zero := zeroRows(o.Out)
	return zero > 0 && zero < len(o.Out.Rows.RMS) && len(o.Inputs) > 0 && !o.Out.Type.Integer && !slices.ContainsFunc(o.Inputs, func(in *noise.Noise) bool { return zeroRows(in) > 0 || maxOf(in.Rows.Relative) > 0.5 })
}

// zeroRows counts the rows that are 0 on the NPU but not in the reference, without rows so small that their type rounds
// them to 0.
func zeroRows(n *noise.Noise) (count int) {
	g := &n.Rows
	if g.Size < fewElements || len(g.Scale) != len(g.RMS) {
		return 0
	}
	const exact = 0x1p-20
	for i, scale := range g.Scale {
		if rms := float64(g.RefRMS[i]); rms > limits.ZeroRow*float64(g.Rounding[i]) && math.Abs(float64(scale)+1) < exact && math.Abs(float64(g.RMS[i])-rms) < exact*rms {
			count++
		}
	}
	return count
}

// hasLoneErrors reports whether a few elements are far off and all others are right.
func (o *Operator) hasLoneErrors(v *Verdict) bool {
	if s := o.Out; s.Lone == 0 || s.Lone > max(1, s.Elements/100) || s.Type.Integer {
		return false
	}
	if v.Class.Exact() && len(o.Inputs) > 0 {
		return v.PeakScore > limits.Exact
	}
	return v.PeakScore > 1 && (len(o.Inputs) > 0 || o.Known) && !o.Guessed && !slices.ContainsFunc(o.Inputs, func(in *noise.Noise) bool { return in.Lone > 0 })
}

// ZeroDivisor returns an input of a quotient, or of an operator of unknown type, whose share of elements that are 0
// on one side alone equals the share of NaN and infinities in the output; nil without such an input.
func (o *Operator) ZeroDivisor() *noise.Noise {
	if c := o.classOf(); o.Out.NonFinite == 0 || c != optype.Divide && c != optype.Unknown {
		return nil
	}
	k := slices.IndexFunc(o.Inputs, func(in *noise.Noise) bool {
		return in.OneSided > 0 && in.OneSided*o.Out.Elements == o.Out.NonFinite*in.Elements
	})
	if k < 0 {
		return nil
	}
	return o.Inputs[k]
}

// scoreErrors computes the scores: errors divided by expected errors.
func (o *Operator) scoreErrors() Verdict {
	s := o.Out
	e := o.expectedError()
	v := Verdict{Expectation: e.Expectation, Limit: o.limit(e.Class)}
	eps := epsilon(s.Type)
	v.Score = ratio(s.RMS, v.Sum)
	v.RowScore, v.medianRow = ratioStatistics(s.Rows.RMS, e.rows)
	v.ChannelScore, v.medianChannel = ratioStatistics(s.Channels.RMS, e.channels)
	switch {
	case e.peaks != nil && len(e.peaks) == len(s.Rows.Max):
		v.PeakScore, _ = ratioStatistics(s.Rows.Max, e.peaks)
		v.Exact = true
	case (v.Class == optype.Move || o.Type.Form == optype.LogSoftmax) && len(o.Inputs) > 0:
		times := max(1, o.Type.Factor) // no element changes by more than this times the largest error of an input
		v.PeakScore = ratio(s.Max, float64(times*largest(o.Inputs, func(in *noise.Noise) float64 { return in.Max }))+float64(eps*s.RefMax)+smallestStep(s.Type))
		v.Exact = true
	case o.Type.Form == optype.InstanceNorm || o.Type.Form == optype.GroupNorm:
		v.PeakScore = ratio(s.Max, 6*v.Sum)
	default:
		peak, _ := ratioStatistics(s.Rows.Max, e.rows)
		v.PeakScore = peak / 6
	}
	relative := v.Sum / max(s.RefRMS, tiny)
	if s.RefRMS > 0 {
		scales := sumOf(o.Inputs, func(in *noise.Noise) float64 { return math.Abs(in.Scale) })
		beyond := max(0, math.Abs(s.Scale)-2*scales-2*float64(relative*relative))
		v.ScaleZ = beyond / max(relative, s.Residual/max(s.RefRMS, tiny), tiny) * math.Sqrt(max(float64(s.Count), 1))
	}
	v.ScaleShare = math.Abs(s.Scale) * s.RefRMS / max(s.RMS, tiny)
	return v
}

// Power is the smallest error of the tensor that would exceed rounding, as a root mean square relative to the
// reference; 0 for integers without any expected error. ok is false if the reference is 0.
func (v *Verdict) Power(n *noise.Noise) (power float64, ok bool) {
	switch {
	case n.RefRMS == 0 || n.Count == 0:
		return 0, false
	case v.Class == optype.Quantise:
		return v.Limit * v.Sum / max(n.RefMax, 1), true
	case n.Type.Integer && v.Propagated == 0:
		return 0, true
	}
	return v.Limit * v.Sum / n.RefRMS, true
}

// chanceRatio is the ratio of the error to the expected error that a group of few elements may reach by chance; 1 for
// larger groups.
func chanceRatio(groups *noise.Groups) float64 {
	if elements := groups.Size * groups.Fold; elements > 0 && elements < fewElements {
		return max(1, 3/math.Sqrt(float64(elements)))
	}
	return 1
}

// ratioStatistics returns the largest and the median ratio of an error to its expected error.
func ratioStatistics(errors []float32, expected []float64) (most, median float64) {
	if len(errors) != len(expected) || len(errors) == 0 {
		return 0, 0
	}
	ratios := make([]float64, len(errors))
	for g, e := range expected {
		ratios[g] = ratio(float64(errors[g]), e)
	}
	slices.Sort(ratios)
	return ratios[len(ratios)-1], ratios[len(ratios)/2]
}

// isScaled reports whether a common factor explains most of the error, and is significant.
func (o *Operator) isScaled(v *Verdict) bool {
	return v.ScaleZ > limits.ScaleZ && v.ScaleShare > 0.5 && math.Abs(o.Out.Scale) > 2*epsilon(o.Out.Type)
}

// limit is the score up to which rounding explains the error.
func (o *Operator) limit(class optype.Class) float64 {
	if len(o.Inputs) == 0 {
		return limits.Linear
	}
	return classes[class].limit
}

// isNoise reports whether the error of a tensor exceeds its values, like a gradient whose exact value is 0.
func isNoise(in *noise.Noise) bool { return !in.Type.Integer && in.RefRMS > 0 && in.RMS > in.RefRMS }

// relativeSpread is the error of a tensor divided by its standard deviation.
func relativeSpread(n *noise.Noise) float64 { return ratio(n.RMS, spreadIn(n.RefStd, n.RefRMS)) }

// spreadIn is the standard deviation of numbers, or their root mean square if the standard deviation is at most
// 1/1000 of the root mean square.
func spreadIn(std, rms float64) float64 {
	if std <= 0.001*rms {
		return rms
	}
	return std
}

// isCoarse reports whether the elements use fewer mantissa bits than the inputs and fewer than their type has.
func (o *Operator) isCoarse(v *Verdict) bool {
	s := o.Out
	if s.Type.Integer || s.Elements < 64 || s.Subnormal > limits.Subnormal || v.Score <= 0.8 || s.Bits > s.Type.Mantissa-2 {
		return false
	}
	return !slices.ContainsFunc(o.Inputs, func(in *noise.Noise) bool { return in.Bits <= s.Bits })
}

// peakToRMS is the largest error divided by the root mean square error.
func peakToRMS(n *noise.Noise) float64 { return n.Max / max(n.RMS, tiny) }

// findLocalError finds a part of the tensor whose error stands out from the error of the whole: an operator that
// amplifies all errors has no such part.
func (o *Operator) findLocalError(v *Verdict, k float64) Kind {
	s, convolved := o.Out, o.Type.Form == optype.Convolution
	of := classes[v.Class]
	if o.Type.Class == optype.Gated { // no selector is known
		return None
	}
	b := max(v.Score, 0.7)
	if o.Tainted {
		b *= 2
	}
	rows, channels := b, b
	if !o.Tainted && len(o.Inputs) > 0 { // one bad group of few raises the score of the whole
		rows, channels = min(b, max(v.medianRow, 0.7)), min(b, max(v.medianChannel, 0.7))
	}
	least := min(2*k, limits.LeastLocal*k/o.limit(v.Class))
	switch {
	case of.rows && !(o.Tainted && convolved) && v.RowScore > max(limits.Local*rows, least)*chanceRatio(&s.Rows):
		return Rows
	case of.channels && v.ChannelScore > max(limits.Local*channels, least)*chanceRatio(&s.Channels):
		return Channels
	case !of.elements || s.Max <= float64(o.maxRoundings()*epsilon(s.Type)*s.RefAtMax)+smallestStep(s.Type): // the largest error is rounding
		return None
	}
	peak := v.PeakScore
	if !v.Exact {
		peak /= chanceRatio(&s.Rows)
	}
	stands, far := peak > limits.Peak*b, peakToRMS(s)
	large := s.Max > of.relativeFactor*v.Sum/max(s.RefRMS, tiny)*s.RefAtMax
	switch {
	case stands && peak > limits.Peak && far > max(8, 2.5*largest(o.Inputs, peakToRMS)) && (large || v.Class == optype.Unknown && o.mixesElements()),
		// Sums even out outliers of the inputs, products do not.
		stands && of.mayAmplify && far > max(limits.FarCrest, 1.5*largest(o.Inputs, peakToRMS)) && large:
		return Sparse
	}
	return None
}

// maxRoundings is the number of roundings that one element may be off by: a norm takes a root, which is exact to 2
// roundings in vector units, and has two more products.
func (o *Operator) maxRoundings() float64 {
	if o.Type.Class == optype.Normalise {
		return 4
	}
	return 2
}

// BiasOfInputs reports whether the mean differences of the inputs, absolute or relative to the sizes of the tensors,
// explain at least half of the mean difference of the output. Of guessed inputs only the largest counts, of known
// inputs their sum.
func (o *Operator) BiasOfInputs() bool {
	of := sumOf
	if o.Guessed {
		of = largest
	}
	s := o.Out
	means := of(o.Inputs, func(in *noise.Noise) float64 { return math.Abs(in.Mean) })
	shares := of(o.Inputs, func(in *noise.Noise) float64 { return ratio(math.Abs(in.Mean), in.RefRMS) })
	return max(means, float64(shares*s.RefRMS)) >= 0.5*math.Abs(s.Mean) && s.Mean != 0
}
