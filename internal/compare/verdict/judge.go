// Package verdict knows rounding from faults. It judges a tensor by the error that
// its operator adds, not by the error that it has: what rounding and the errors of
// the inputs may make of it is bounded, exactly for operators such as Relu and Add,
// by the spread of what they normalise for norms, by the relative error in several
// views of the input for products of matrices. An operator whose error exceeds the
// bound, or has a form that rounding does not have, is an origin.
//
// The bounds and limits were found by experiments with simulated networks of all
// families, healthy and faulty ones; ill-conditioned operators were among them.
package verdict

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/optype"
)

// Level is how bad an operator is.
type Level uint8

// The levels.
const (
	Clean   Level = iota
	Suspect       // more than rounding explains, but perhaps the operator amplifies errors
	Origin        // adds an error of its own
)

// Kind is the form of an error that rounding does not explain.
type Kind uint8

// The kinds.
const (
	None     Kind = iota
	Value         // too large as a whole
	Scaled        // times a factor
	Sparse        // few elements
	Rows          // some rows
	Channels      // some channels
	Constant      // one value
	Coarse        // fewer mantissa bits than the type has
	Step          // quantised to other steps
	NonFinite
	Overflow
	// BeyondNoise is too large beside the noise of a second reference.
	BeyondNoise
	Amplified
	InputBad // NaN of what a damaged input makes
	InputNaN // an input has NaN or infinities
	Drawn    // other random numbers
	Tied     // other indices, of numbers that are equal apart from rounding
	Selected // other indices
	Unread   // rows that nobody reads
	Apart    // what comes in is not the same
	ZeroRows // rows of zeros
)

// kinds are the names of the kinds.
var kinds = [...]string{
	None: "", Value: "VALUE", Scaled: "SCALE", Sparse: "SPARSE", Rows: "ROWS", Channels: "CHANNELS", Constant: "CONST", Coarse: "COARSE", Step: "STEP",
	NonFinite: "NONFINITE", Overflow: "OVERFLOW", BeyondNoise: "NOISE", Amplified: "AMPLIFIED", InputBad: "INPUT_BAD", InputNaN: "INPUT_NAN",
	Drawn: "RANDOM", Tied: "INDEX_TIE", Selected: "INDEX", Unread: "UNREAD", Apart: "STARTED_APART", ZeroRows: "ZERO_ROWS",
}

// String names the kind as reports do.
func (k Kind) String() string { return kinds[k] }

// Verdict is the result of the rules for a tensor.
type Verdict struct {
	Expectation
	// Score is B: the error divided by the expected error. RowScore, ChannelScore and
	// PeakScore are the scores of the worst row, channel and element; the last one is a
	// bound for every element where Exact is set.
	Score, RowScore, ChannelScore, PeakScore float64
	// ScaleZ is by how many standard deviations there is a common factor, ScaleShare
	// the share of the error that it is.
	ScaleZ, ScaleShare float64
	// Limit is the score up to which rounding is assumed.
	Limit float64
	Level Level
	Kind  Kind
	Exact bool
	// Structured: rounding does not produce an error of this form.
	Structured bool
	// LeftOut counts the elements that were not judged: another tensor explains them.
	LeftOut int64
}

// The limits. They were set on simulated networks.
const (
	exactLimit     = 1.6
	normLimit      = 2.0
	linearLimit    = 2.5
	unknownLimit   = 4.0
	linearSuspect  = 1.8
	scaledLimit    = 0.6 // the significance of the factor counts
	shapedLimit    = 1.6 // of errors that have a form
	leastLocal     = 5
	farCrest       = 20  // 10^6 rounding errors have a crest of 5
	noiseLimit     = 32  // healthy whitening reaches 17.6
	sureScore      = 8   // of an error that is amplified: no weights are so ill-conditioned
	sureShare      = 0.1 // of the values, that such an error is at least
	tinyShare      = 0.1 // of numbers below the normal ones, which have few bits
	fewElements    = 8   // of a group, whose error is one of chance below them
	roughFactor    = 4
	taintedFactor  = 1.5
	roughInput     = 0.2
	localFactor    = 6
	peakFactor     = 2
	scaleDeviation = 20
)

// Judge says whether the operator adds an error that rounding does not explain.
func (o *Operator) Judge() Verdict {
	leftOut := o.leaveOut()
	v := o.measure()
	v.LeftOut = leftOut
	s := o.Out
	switch classes := !o.AnyClass; {
	case classes && slices.ContainsFunc(o.Inputs, func(in *noise.Noise) bool { return in.NonFinite > 0 }):
		v.Kind = InputNaN
	case classes && s.NonFinite > 0 && o.Tainted && (v.Class == optype.Divide || v.Class == optype.Exponential || v.Class == optype.Unknown):
		v.Kind = InputBad
	case classes && s.NonFinite > 0:
		v.Level, v.Kind = Origin, NonFinite
	case classes && s.Overflows > 0 && !slices.ContainsFunc(o.Inputs, func(in *noise.Noise) bool { return in.Overflows > 0 }):
		v.Level, v.Kind = Origin, Overflow
	case o.stores():
	case v.Class == optype.Index:
		v.Kind = Selected // whether it is wrong, the numbers behind it say
	case s.Type.Integer && o.copies() && len(o.Inputs) > 0 && !slices.ContainsFunc(o.Inputs, func(in *noise.Noise) bool { return in.RMS > 0 }):
		v.Level, v.Kind = Origin, Value // integers have no rounding
	case s.Type.Integer && s.Max <= 1 && v.Class == optype.Quantise:
		if v.Score > 4 { // a neighbouring step is a tie
			v.Level, v.Kind = Origin, Step
		}
	case o.hasZeroRows():
		v.Level, v.Kind = Origin, ZeroRows
	case o.lone(&v):
		v.Level, v.Kind = Origin, Sparse
	case v.Class.Exact() && len(o.Inputs) > 0:
		v.Level, v.Kind = o.exactly(&v)
	default:
		v.Level, v.Kind = o.roughly(&v)
	}
	return v
}

// stores reports whether there is no error but the rounding of the type itself. Without
// NaN, infinities and overflows that is clean, whatever it is made of.
func (o *Operator) stores() bool {
	s := o.Out
	return s.Count == 0 || s.RMS == 0 ||
		!s.Type.Integer && s.RMS <= 1.5*s.Rounding && rounds(s.Type, &s.Rows) && rounds(s.Type, &s.Channels)
}

// Settled reports whether the tensor is clean whatever it was made of.
func (o *Operator) Settled() bool {
	return o.stores() && (o.AnyClass || o.Out.NonFinite == 0 && o.Out.Overflows == 0)
}

// leaveOut takes the elements out of the differences of a gated operator that appear or
// vanish since the selector is near its threshold: not more than of that. It returns
// their number.
func (o *Operator) leaveOut() int64 {
	s := o.Out
	if s.OneSided == 0 || o.classOf() != optype.Gated || float64(s.OneSided) > float64(1.5*o.selected())+4 {
		return 0
	}
	both := *s
	both.RMS, both.Lone = s.TwoSided(), 0
	o.Out = &both
	return s.OneSided
}

// selected is the number of elements that a gated operator may select otherwise, since the
// selector is off: those at the threshold, or of windows whose two largest tie. These are
// about one standard deviation apart, and two elements change.
func (o *Operator) selected() float64 {
	selector := o.selector()
	if o.Type.Form != optype.Pooled {
		return float64(selector.Flips)
	}
	windows := elements(selector)
	for _, in := range o.Inputs {
		windows = min(windows, elements(in))
	}
	return 2.5 * ratio(selector.RMS, selector.RefStd) * windows
}

// rounds reports whether no element is off by more than two rounding errors of the
// largest one of its group.
func rounds(t noise.Type, groups *noise.Groups) bool {
	eps, least := epsilon(t), smallest(t)
	for g, most := range groups.Max {
		if float64(most) > float64(2*eps*float64(groups.RefMax[g]))+least {
			return false
		}
	}
	return true
}

// copies reports whether the integers of the operator are those of its inputs, or follow
// from them without any rounding.
func (o *Operator) copies() bool {
	return o.Type.Class == optype.Move || o.Type.Class == optype.Quantise || o.Type.Selects || wide(o.Out.Type) || o.Out.Type.Mantissa == 1
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
	return zero > 0 && zero < len(o.Out.Rows.RMS) && len(o.Inputs) > 0 && !o.Out.Type.Integer && !slices.ContainsFunc(o.Inputs, func(in *noise.Noise) bool { return zeroRows(in) > 0 || largestOf(in.Rows.Relative) > 0.5 })
}

// zeroRows counts the rows that are 0 on the NPU and not in the reference.
func zeroRows(n *noise.Noise) (count int) {
	g := &n.Rows
	if g.Size < fewElements || len(g.Scale) != len(g.RMS) {
		return 0
	}
	const exact = 0x1p-20
	for i, scale := range g.Scale {
		if rms := float64(g.RefRMS[i]); rms > 0 && math.Abs(float64(scale)+1) < exact && math.Abs(float64(g.RMS[i])-rms) < exact*rms {
			count++
		}
	}
	return count
}

// lone reports whether a few elements are far off and all others right.
func (o *Operator) lone(v *Verdict) bool {
	if s := o.Out; s.Lone == 0 || s.Lone > max(1, s.Elements/100) || s.Type.Integer {
		return false
	}
	if v.Class.Exact() && len(o.Inputs) > 0 {
		return v.PeakScore > exactLimit
	}
	return v.PeakScore > 1 && (len(o.Inputs) > 0 || o.Known) && !o.Guessed && !slices.ContainsFunc(o.Inputs, func(in *noise.Noise) bool { return in.Lone > 0 })
}

// measure divides the error by the expected error.
func (o *Operator) measure() Verdict {
	s := o.Out
	e := o.expect()
	v := Verdict{Expectation: e.Expectation, Limit: o.limit(e.Class)}
	eps := epsilon(s.Type)
	v.Score = ratio(s.RMS, v.Sum)
	v.RowScore, v.ChannelScore = worst(s.Rows.RMS, e.rows), worst(s.Channels.RMS, e.channels)
	switch {
	case e.peaks != nil && len(e.peaks) == len(s.Rows.Max):
		v.PeakScore, v.Exact = worst(s.Rows.Max, e.peaks), true
	case v.Class == optype.Move && len(o.Inputs) > 0:
		v.PeakScore = ratio(s.Max, largest(o.Inputs, func(in *noise.Noise) float64 { return in.Max })+float64(eps*s.RefMax)+smallest(s.Type))
		v.Exact = true
	case o.Type.Form == optype.InstanceNorm || o.Type.Form == optype.GroupNorm:
		v.PeakScore = ratio(s.Max, 6*v.Sum)
	default:
		v.PeakScore = worst(s.Rows.Max, e.rows) / 6
	}
	relative := v.Sum / max(s.RefRMS, tiny)
	if s.RefRMS > 0 {
		scales := total(o.Inputs, func(in *noise.Noise) float64 { return math.Abs(in.Scale) })
		beyond := max(0, math.Abs(s.Scale)-2*scales-2*float64(relative*relative))
		v.ScaleZ = beyond / max(relative, s.Residual/max(s.RefRMS, tiny), tiny) * math.Sqrt(max(float64(s.Count), 1))
	}
	v.ScaleShare = math.Abs(s.Scale) * s.RefRMS / max(s.RMS, tiny)
	return v
}

// Power is the least root mean square error of a tensor, beside the reference, that is
// beyond rounding: 0 of integers that have none. It is not known where the reference is 0.
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

// byChance is by how much the error of a group of few elements may exceed that which is
// expected of it.
func byChance(groups *noise.Groups) float64 {
	if elements := groups.Size * groups.Fold; elements > 0 && elements < fewElements {
		return max(1, 3/math.Sqrt(float64(elements)))
	}
	return 1
}

// worst is the largest quotient of an error and the expected error.
func worst(errors []float32, expected []float64) (most float64) {
	if len(errors) != len(expected) {
		return 0
	}
	for g, e := range expected {
		most = max(most, ratio(float64(errors[g]), e))
	}
	return most
}

// scaled reports whether a common factor is most of the error, and beyond doubt.
func (o *Operator) scaled(v *Verdict) bool {
	return v.ScaleZ > scaleDeviation && v.ScaleShare > 0.5 && math.Abs(o.Out.Scale) > 2*epsilon(o.Out.Type)
}

// exactly judges operators whose inputs bound the error of every element.
func (o *Operator) exactly(v *Verdict) (Level, Kind) {
	v.Limit = exactLimit
	soft := o.Type.Form == optype.LogSoftmax
	switch {
	case v.PeakScore > exactLimit && v.Exact && v.Score < exactLimit:
		return Origin, Sparse
	case v.PeakScore > exactLimit && v.Exact:
		return Origin, Value
	case v.Score > exactLimit && !soft, v.Class == optype.Lipschitz && !soft && v.RowScore > exactLimit*byChance(&o.Out.Rows):
		return Origin, Value
	case o.scaled(v) && v.Score > scaledLimit:
		return Origin, Scaled
	}
	return Clean, None
}

// limit is the score up to which rounding is assumed.
func (o *Operator) limit(class optype.Class) float64 {
	if len(o.Inputs) == 0 {
		return linearLimit
	}
	return classes[class].limit
}

// roughly judges operators whose bound is known up to a factor only.
func (o *Operator) roughly(v *Verdict) (Level, Kind) {
	s, class, root := o.Out, v.Class, len(o.Inputs) == 0
	// A rough input carries more error than any first-order bound is good for.
	rough := class != optype.Dequantise && slices.ContainsFunc(o.Inputs, func(in *noise.Noise) bool { return relativeSpread(in) > roughInput }) && !class.Exact()
	k := o.limit(class)
	if rough {
		k *= roughFactor
	}
	if o.Tainted {
		k *= taintedFactor
	}
	v.Limit = k
	inTheory := o.Gradients > 0 && v.Own > s.RefRMS/8       // a sum that is 0 in theory: only rounding is left
	if inTheory || slices.ContainsFunc(o.Inputs, isNoise) { // no bound of the first order holds
		if v.Score > k {
			return Suspect, Amplified
		}
		return Clean, None
	}
	scaled, local := o.scaled(v), None
	if !rough {
		local = o.local(v, k)
	}
	sure := v.Score > sureScore && s.RMS > sureShare*s.RefRMS && !rough && !o.Behind
	faint := !sure && !o.Tainted && !o.Guessed && slices.ContainsFunc(o.Inputs, func(in *noise.Noise) bool { return in.Subnormal > 0.02 })
	bounded := !classes[class].amplifies && !root
	// A function with a pole, perhaps: a few elements near it are far off.
	pole := class == optype.Unknown && !root && (local == None && s.P90 < 0.5*v.Sum || faint) && !o.mixes()
	switch {
	case scaled && v.Score > scaledLimit && !rough && (class != optype.Unknown || root || s.P90 > 0.5*v.Sum || o.mixes()):
		return Origin, Scaled
	case s.Constant && s.RefStd > 0 && s.Count >= 16 && v.Score > 1.5 && (root || !slices.ContainsFunc(o.Inputs, func(in *noise.Noise) bool { return in.Constant })):
		return Origin, Constant
	case classes[class].bits && o.coarse(v):
		return Origin, Coarse
	case bounded && v.Score > k:
		return Origin, Value
	case pole && v.Score > k:
		return Suspect, Amplified
	case pole, bounded && local == None:
		return Clean, None
	case local != None:
		return Origin, local
	}
	v.Structured = v.Score > min(k, shapedLimit*k/o.limit(class)) && (scaled || !(root && o.Hidden) && o.structured(v, k))
	if class == optype.Linear && !root {
		k = linearSuspect
	}
	switch {
	case v.Structured || v.Score > noiseLimit || sure:
		return Origin, Value
	case v.Score > k:
		return Suspect, Amplified
	}
	return Clean, None
}

// isNoise reports whether nothing of a tensor but its error is left, as of a gradient that is 0 in theory.
func isNoise(in *noise.Noise) bool { return !in.Type.Integer && in.RefRMS > 0 && in.RMS > in.RefRMS }

// relativeSpread is the relative error of a tensor without its mean.
func relativeSpread(n *noise.Noise) float64 { return ratio(n.RMS, spreadIn(n.RefStd, n.RefRMS)) }

// spreadIn is the standard deviation of numbers, or their root mean square where the standard
// deviation is at most 1/1000 of it.
func spreadIn(std, rms float64) float64 {
	if std <= 0.001*rms {
		return rms
	}
	return std
}

// coarse reports whether the elements use fewer bits than those of the inputs, and
// than their type has.
func (o *Operator) coarse(v *Verdict) bool {
	s := o.Out
	if s.Type.Integer || s.Elements < 64 || s.Subnormal > tinyShare || v.Score <= 0.8 || s.Bits > s.Type.Mantissa-2 {
		return false
	}
	return !slices.ContainsFunc(o.Inputs, func(in *noise.Noise) bool { return in.Bits <= s.Bits })
}

// crest is how far the largest error stands out.
func crest(n *noise.Noise) float64 { return n.Max / max(n.RMS, tiny) }

// local finds errors in a part of the tensor, beside the level of all of it: an
// operator that amplifies everything is no part.
func (o *Operator) local(v *Verdict, k float64) Kind {
	s, convolved := o.Out, o.Type.Form == optype.Convolution
	of := classes[v.Class]
	if o.Type.Class == optype.Gated { // no selector is known
		return None
	}
	b := max(v.Score, 0.7)
	if o.Tainted {
		b *= 2
	}
	least := min(2*k, leastLocal*k/o.limit(v.Class))
	switch {
	case of.rows && !(o.Tainted && convolved) && v.RowScore > max(localFactor*b, least)*byChance(&s.Rows):
		return Rows
	case of.channels && v.ChannelScore > max(localFactor*b, least)*byChance(&s.Channels):
		return Channels
	case !of.elements || s.Max <= float64(o.steps()*epsilon(s.Type)*s.RefAtMax)+smallest(s.Type): // the largest error is rounding
		return None
	}
	peak := v.PeakScore
	if !v.Exact {
		peak /= byChance(&s.Rows)
	}
	stands, far := peak > peakFactor*b, crest(s)
	large := s.Max > of.relative*v.Sum/max(s.RefRMS, tiny)*s.RefAtMax
	switch {
	case stands && peak > peakFactor && far > max(8, 2.5*largest(o.Inputs, crest)) && (large || v.Class == optype.Unknown && o.mixes()),
		// Sums even out outliers of the inputs, products do not.
		stands && of.amplifies && far > max(farCrest, 1.5*largest(o.Inputs, crest)) && large:
		return Sparse
	}
	return None
}

// steps is the number of roundings that one element may be off by: a norm takes a root, to
// 2 of them in vector units, and has two products more.
func (o *Operator) steps() float64 {
	if o.Type.Class == optype.Normalise {
		return 4
	}
	return 2
}

// BiasOfInputs reports whether the means of the differences of the inputs, as they are
// or beside the sizes of the tensors, explain at least half of that of the output. Of
// inputs that are guessed the largest one counts, not all together.
func (o *Operator) BiasOfInputs() bool {
	of := total
	if o.Guessed {
		of = largest
	}
	s := o.Out
	means := of(o.Inputs, func(in *noise.Noise) float64 { return math.Abs(in.Mean) })
	shares := of(o.Inputs, func(in *noise.Noise) float64 { return ratio(math.Abs(in.Mean), in.RefRMS) })
	return max(means, float64(shares*s.RefRMS)) >= 0.5*math.Abs(s.Mean) && s.Mean != 0
}

// structured reports whether the error has a form that rounding does not have, and
// that no input shows.
func (o *Operator) structured(v *Verdict, k float64) bool {
	s := o.Out
	of := func(number func(*noise.Noise) float64) float64 {
		return largest(o.Inputs, func(in *noise.Noise) float64 {
			if in.RMS == 0 {
				return 0
			}
			return number(in)
		})
	}
	means := total(o.Inputs, func(in *noise.Noise) float64 { return math.Abs(in.Mean) })
	mean := math.Abs(s.Mean)
	switch {
	case s.GroupScale > 0.5 && of(func(in *noise.Noise) float64 { return in.GroupScale }) < 0.25,
		s.GroupMean > 0.5 && of(func(in *noise.Noise) float64 { return in.GroupMean }) < 0.25,
		s.ScaleBySign > 0.3 && of(func(in *noise.Noise) float64 { return in.ScaleBySign }) < 0.1,
		s.TowardZero > 0.35 && of(func(in *noise.Noise) float64 { return in.TowardZero }) < 0.15,
		v.ScaleZ > 8 && v.ScaleShare > 0.12 && math.Abs(s.Scale) > 0.02,
		mean > 0.5*s.RMS && means < 0.25*mean,
		ratio(s.RMS, s.RefRMS) > 0.25 && v.Score > 2*k:
		return true
	}
	return false
}
