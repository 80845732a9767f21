package verdict

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/exact"
	"dumptool/internal/optype"
)

// Operator is a tensor under judgement with what made it.
type Operator struct {
	// Out is the tensor, Inputs are the known tensors that it was made of.
	Out    *noise.Noise
	Inputs []*noise.Noise
	Type   optype.Type
	// Guessed is set where the inputs are those before it in the execution order.
	Guessed bool
	// AnyClass is set where NaN and infinities do not count.
	AnyClass bool
	// Hidden is set where some of what it was made of was not compared.
	Hidden bool
	// Tainted is set where an input is an origin or depends on one.
	Tainted bool
	// Output is the index of the tensor among those of the operator.
	Output int
	// Known is set where it is known what the operator reads, be it nothing.
	Known bool
	// Loose is set where indices among its inputs may have selected other elements.
	Loose bool
	// HF32 is set where products of float32 are made of inputs of 11 bits.
	HF32 bool
	// Behind is set where an input is behind random draws, or indices that tie.
	Behind bool
}

// Expectation is the error that rounding and the errors of the inputs explain.
type Expectation struct {
	// Propagated comes from the inputs, Own from the rounding of the operator; both
	// are root mean squares, and so is their sum.
	Propagated, Own, Sum float64
	// Class is the one that the operator was judged by.
	Class optype.Class
}

// expectation is an Expectation with that of each group, which is much memory and is
// not kept.
type expectation struct {
	Expectation
	rows, channels []float64 // of each group, nil where nothing bounds it
	peaks          []float64 // the largest error of a row, nil where nothing bounds it
}

const (
	// roundingSteps is the number of terms after which sums in the NPU's type have
	// doubled the error of storing the result.
	roundingSteps = 16
	// unknownTerms is the length of sums where no input is known.
	unknownTerms = 64
	// kernelSize is that of a convolution where no weights are known: 3 x 3.
	kernelSize = 9
	// mostRelative bounds relative errors.
	mostRelative = 1000
	// steps is the own error of a quantised tensor.
	quantisationError = 0.1
	tiny              = 1e-300
)

// classOf is the class by which the operator is judged. Integers are copied, steps of
// quantised numbers, or sums.
func (o *Operator) classOf() optype.Class {
	c, in := o.Type.Class, o.Inputs
	if !o.Out.Type.Integer {
		if c == optype.Gated && o.selector() == nil {
			return optype.Unknown
		}
		return c
	}
	if c == optype.Index || o.Type.IsIndex(o.Output) {
		return optype.Index
	}
	fromIntegers := len(in) > 0 && !anyInput(o, func(in *noise.Noise) bool { return !in.Type.Integer })
	switch {
	case c == optype.Linear, c == optype.Unknown && wide(o.Out.Type):
		return c
	case fromIntegers && (c == optype.Move || o.Type.Selects):
		return c
	}
	return optype.Quantise
}

// wide reports whether a type of integers holds sums, or places, rather than quantised
// numbers.
func wide(t noise.Type) bool { return t.Mantissa > 16 }

// expect returns what rounding explains.
func (o *Operator) expect() expectation {
	e := expectation{Expectation: Expectation{Class: o.classOf()}}
	e.Propagated, e.Own = o.bounds(e.Class)
	e.Sum = max(exact.Hypot(e.Propagated, e.Own), tiny)
	o.groups(&e)
	return e
}

// bounds are the propagated and the own error.
func (o *Operator) bounds(class optype.Class) (propagated, own float64) {
	if len(o.Inputs) > 0 {
		return classes[class].bounds(o)
	}
	if class == optype.Quantise || class == optype.Index {
		return 0, quantisationError
	}
	return 1.5 * o.Out.RefRMS * o.epsilon(), o.Out.Rounding
}

// Rounded is the error that is expected where the inputs are off by their own
// rounding only.
func (o *Operator) Rounded() float64 {
	clean := *o
	clean.Inputs = make([]*noise.Noise, len(o.Inputs))
	for i, in := range o.Inputs {
		clean.Inputs[i] = rounded(in)
	}
	propagated, own := clean.bounds(clean.classOf())
	return exact.Hypot(propagated, own)
}

// rounded is a tensor as it would be with no error but that of storing it.
func rounded(n *noise.Noise) *noise.Noise {
	r, eps := *n, epsilon(n.Type)
	r.RMS, r.Mean, r.Scale, r.Max = n.Rounding, 0, 0, eps*n.RefMax
	r.MaxRelative, r.MaxAbsolute = eps, eps*n.RefMax
	r.View = relativeSpread(&r)
	r.Rows, r.Channels = roundedGroups(n.Rows), roundedGroups(n.Channels)
	return &r
}

func roundedGroups(g noise.Groups) noise.Groups {
	g.RMS, g.Fold = g.Rounding, 1
	return g
}

// The numbers of tensors that are added up or compared.
func rms(n *noise.Noise) float64      { return n.RMS }
func view(n *noise.Noise) float64     { return n.View }
func elements(n *noise.Noise) float64 { return float64(n.Elements) }
func worstRow(n *noise.Noise) float64 { return largestOf(n.Rows.RMS) }

func largest(of []*noise.Noise, number func(*noise.Noise) float64) (most float64) {
	for _, n := range of {
		most = max(most, number(n))
	}
	return most
}

func total(of []*noise.Noise, number func(*noise.Noise) float64) (sum float64) {
	for _, n := range of {
		sum += number(n)
	}
	return sum
}

func largestOf(values []float32) (most float64) {
	for _, v := range values {
		most = max(most, float64(v))
	}
	return most
}

// terms is the length of the sums of the operator, about: the longest last axis of
// its inputs.
func (o *Operator) terms() float64 {
	if len(o.Inputs) == 0 {
		return unknownTerms
	}
	return largest(o.Inputs, func(in *noise.Noise) float64 { return float64(lastAxis(in)) })
}

func lastAxis(n *noise.Noise) int64 {
	if len(n.Shape) == 0 {
		return 1
	}
	return n.Shape[len(n.Shape)-1]
}

// product is the error of a product: of more than two inputs, of which nobody knows which
// are multiplied, that of the worst two. Integers among them are masks.
func (o *Operator) product() (propagated, own float64) {
	s, a := o.Out, o.Inputs[0]
	own = 2 * s.Rounding
	relative := func(in *noise.Noise) float64 { return in.RMS / max(in.RefRMS, tiny) }
	if o.Type.Form == optype.Square {
		return 3 * s.RefRMS * relative(a), own
	}
	propagated = s.RefRMS * largest(o.Inputs, relative) // times a constant, or a mask
	for i, a := range o.Inputs {
		for _, b := range o.Inputs[i+1:] {
			if a.Type.Integer == b.Type.Integer || s.Type.Integer {
				propagated = max(propagated, exact.Hypot(a.RefRMS*b.RMS, b.RefRMS*a.RMS)+float64(s.RefRMS*exact.Hypot(relative(a), relative(b))))
			}
		}
	}
	return propagated, own
}

// exponential is the error of exp and of softmax.
func (o *Operator) exponential() (propagated, own float64) {
	s := o.Out
	return s.RefRMS * o.growth(), float64(2*s.Rounding) + float64(s.RefRMS*epsilon(s.Type))
}

// growth is the largest relative error that exp makes of the absolute errors
// of the inputs.
func (o *Operator) growth() float64 {
	absolute := largest(o.Inputs, func(in *noise.Noise) float64 { return in.MaxAbsolute })
	return exact.Expm1(min(2*absolute, 20))
}

// lipschitz is the error of functions that no slope makes larger.
func (o *Operator) lipschitz() (propagated, own float64) {
	f := o.Out.Rounding
	own = exact.Hypot(3*f, largest(o.Inputs, func(in *noise.Noise) float64 { return in.Rounding }))
	if o.Type.Selects {
		own = f
	}
	if o.Type.Transcendental {
		own += float64(0.3 * epsilon(o.Out.Type) * o.Out.RefMax)
	}
	return o.Type.Factor * total(o.Inputs, rms), own
}

// moved is the error of copies: a part may be the worst one.
func (o *Operator) moved() (propagated, own float64) {
	worst := largest(o.Inputs, rms)
	grown := worst * math.Sqrt(max(1, largest(o.Inputs, elements)/max(elements(o.Out), 1)))
	return max(worst, min(largest(o.Inputs, worstRow), grown)), o.Out.Rounding
}

// gated is the error of elements that pass: that of what comes in beside the selector.
func (o *Operator) gated() (propagated, own float64) {
	selector := o.selector()
	for _, in := range o.Inputs {
		if in != selector && !in.Type.Integer {
			propagated += in.RMS
		}
	}
	return propagated, o.Out.Rounding
}

// dequantised is the error of the numbers that are scaled: the input with most elements.
func (o *Operator) dequantised() (propagated, own float64) {
	in := o.Inputs[0]
	for _, other := range o.Inputs {
		if other.Elements > in.Elements {
			in = other
		}
	}
	return o.Out.RefRMS / max(in.RefRMS, tiny) * in.RMS, o.Out.Rounding
}

// divided is the error of quotients, roots and logarithms, which amplify near 0.
func (o *Operator) divided() (propagated, own float64) {
	s := o.Out
	own = 2 * s.Rounding
	if (o.Type.Form == optype.Root || o.Type.Form == optype.Logarithm) && s.Type.Mantissa >= 23 {
		own += float64(s.RefRMS * epsilon(s.Type)) // vector units are right to 2 ulp
	}
	if o.Type.Form == optype.Logarithm {
		return min(o.Inputs[0].MaxRelative, mostRelative), own
	}
	return s.RefRMS * total(o.Inputs, func(in *noise.Noise) float64 { return min(in.MaxRelative, mostRelative) }), own
}

// summed is the error of products of matrices and convolutions.
func (o *Operator) summed() (propagated, own float64) {
	s, f, terms := o.Out, o.Out.Rounding, o.terms()
	if o.Type.Form == optype.Convolution {
		terms *= kernelSize
	}
	if s.Type.Integer {
		f = 0
	}
	return s.RefRMS * total(o.Inputs, view), float64(f*(1+math.Sqrt(terms/roundingSteps))) + float64(0.5*s.RefRMS*o.epsilon())
}

// quantised is the error of integers that come out of other numbers.
func (o *Operator) quantised() (propagated, own float64) {
	relative := largest(o.Inputs, func(in *noise.Noise) float64 { return ratio(in.RMS, in.RefRMS) })
	q := float64(relative * o.Out.RefRMS)
	return math.Sqrt(q) + q, quantisationError
}

// normalised is the error of a norm over rows. A row of little spread amplifies
// its error, and the rounding of what is subtracted.
func (o *Operator) normalised() (propagated, own float64) {
	s, in, eps := o.Out, o.Inputs[0], epsilon(o.Out.Type)
	if o.Type.Form == optype.GroupNorm && sameChannels(in, s) {
		return o.groupNormalised(in)
	}
	relative, inverse := o.rowGains(in)
	aligned, most := len(relative) == len(s.Rows.RMS), 4*max(s.RefRMS, tiny)
	var p, q float64
	for g := range relative {
		gain := s.RefRMS
		if aligned {
			gain = float64(s.Rows.RefRMS[g])
		}
		a, b := min(relative[g]*gain, most), min(float64(inverse[g]*gain)*eps, most)
		p, q = p+float64(a*a), q+float64(b*b)
	}
	count := max(float64(len(relative)), 1)
	return math.Sqrt(p / count), float64(2*s.Rounding) + float64(0.5*math.Sqrt(q/count))
}

// groupNormalised is the error of a norm over groups of channels that are not known: the
// channel that grows most bounds all.
func (o *Operator) groupNormalised(in *noise.Noise) (propagated, own float64) {
	s := o.Out
	gain := 0.0
	for g := range s.Channels.RefRMS {
		spread := float64(in.Channels.RefStd[g])
		if spread <= 0.001*float64(in.Channels.RefRMS[g]) {
			spread = float64(in.Channels.RefRMS[g])
		}
		gain = max(gain, ratio(float64(s.Channels.RefRMS[g]), spread))
	}
	most := 4 * s.RefRMS
	return min(in.RMS*gain, most), float64(2*s.Rounding) + float64(0.5*min(float64(in.RefRMS*gain)*epsilon(s.Type), most))
}

// rowGains are the errors and the sizes of the rows of an input beside their spread,
// which a norm makes 1.
func (o *Operator) rowGains(in *noise.Noise) (relative, inverse []float64) {
	rows := &in.Rows
	if o.Type.Form == optype.RootMeanNorm {
		return spreadOf(rows, func(g int) float64 { return float64(rows.RefRMS[g]) })
	}
	return spreadOf(rows, func(g int) float64 { return float64(rows.RefStd[g]) })
}

// spreadOf sets the groups of a tensor beside their spread; where a bin holds
// several the worst of them counts.
func spreadOf(groups *noise.Groups, spread func(int) float64) (relative, inverse []float64) {
	relative, inverse = make([]float64, len(groups.RMS)), make([]float64, len(groups.RMS))
	for g := range relative {
		v := max(spread(g), tiny)
		relative[g], inverse[g] = float64(groups.RMS[g])/v, float64(groups.RefRMS[g])/v
		if groups.Fold > 1 {
			relative[g], inverse[g] = max(relative[g], float64(groups.Relative[g])), max(inverse[g], float64(groups.Inverse[g]))
		}
	}
	return relative, inverse
}

// batchNormalised is the error of a norm over channels.
func (o *Operator) batchNormalised() (propagated, own float64) {
	s, in := o.Out, o.Inputs[0]
	if len(in.Channels.RMS) != len(s.Channels.RMS) {
		return o.normalised()
	}
	relative, inverse := spreadOf(&in.Channels, func(g int) float64 { return float64(in.Channels.RefStd[g]) })
	var p, q float64
	for g := range relative {
		std := float64(s.Channels.RefStd[g])
		a, b := relative[g]*std, inverse[g]*std
		p, q = p+float64(a*a), q+float64(b*b)
	}
	count := max(float64(len(relative)), 1)
	return math.Sqrt(p / count), float64(2*s.Rounding) + float64(0.5*math.Sqrt(q/count)*epsilon(s.Type))
}

// reduced is the error of sums and means.
func (o *Operator) reduced() (propagated, own float64) {
	s, in := o.Out, o.Inputs[0]
	k := max(elements(in)/max(elements(s), 1), 1)
	row := float64(max(in.Rows.Size, 1))
	if o.Type.Form == optype.Cumulative {
		return float64(math.Sqrt(row)*in.RMS) + float64(math.Abs(in.Mean)*row), float64(2*s.Rounding) + float64(s.Rounding*math.Sqrt(row))
	}
	mean := math.Abs(in.Mean) + in.RMS/math.Sqrt(k)
	if o.Type.Form == optype.Sum {
		mean *= k
	}
	return s.RefRMS*in.RMS/max(in.RefRMS, tiny) + mean, float64(2*s.Rounding) + float64(s.RefRMS*epsilon(s.Type)*math.Sqrt(k/roundingSteps))
}

// unknown is the error of an operator of which nothing is known: the largest that any of
// the usual ones makes. The error of an input is one of them where the output fits it:
// what scales down takes the error with it.
func (o *Operator) unknown() (propagated, own float64) {
	s := o.Out
	own = float64(s.Rounding*(1+math.Sqrt(o.terms()/roundingSteps))) + float64(s.RefRMS*o.epsilon())
	fitting := func(in *noise.Noise) float64 {
		if in.Type.Integer || !sameShape(in, s) && s.RefRMS < 0.25*in.RefRMS {
			return 0
		}
		return in.RMS
	}
	most := max(1.5*float64(s.RefRMS*total(o.Inputs, view)), total(o.Inputs, fitting))
	if o.Guessed { // one of them is the input, perhaps
		most = max(2*float64(s.RefRMS*largest(o.Inputs, view)), largest(o.Inputs, fitting))
	}
	if s.Softmax {
		most = max(most, s.RefRMS*o.growth())
	}
	for _, in := range o.Inputs {
		if !sameChannels(in, s) {
			continue
		}
		var sum float64
		for g := range in.Channels.RMS {
			p := channelGain(s, in, g) * float64(in.Channels.RMS[g])
			sum += float64(p * p)
		}
		most = max(most, 2*math.Sqrt(sum/max(float64(len(in.Channels.RMS)), 1)))
	}
	return most, own
}

// channelGain is the spread of a channel of the output beside that of the input.
func channelGain(s, in *noise.Noise, g int) float64 {
	std := float64(in.Channels.RefStd[g])
	if std <= 0 {
		return 0
	}
	return float64(s.Channels.RefStd[g]) / max(std, tiny)
}

// sameRows reports whether the rows of two tensors are those of the same positions.
func sameRows(a, b *noise.Noise) bool {
	return slices.Equal(leading(a), leading(b)) && len(a.Rows.RMS) == len(b.Rows.RMS)
}

func leading(n *noise.Noise) []int64 { return n.Shape[:max(len(n.Shape)-1, 0)] }

// sameChannels reports whether both tensors have as many channels, on the same
// axis.
func sameChannels(a, b *noise.Noise) bool {
	return a.Channels.Count == b.Channels.Count && len(a.Channels.RMS) == len(b.Channels.RMS) && channelAxis(a) == channelAxis(b)
}

func channelAxis(n *noise.Noise) int {
	if len(n.Shape) >= 4 {
		return 1
	}
	return len(n.Shape) - 1
}

// relativeRow is the relative error of a row as a linear map without its mean sees
// it.
func relativeRow(groups *noise.Groups, g int) float64 {
	spread := float64(groups.RefStd[g])
	if spread <= 0.001*float64(groups.RefRMS[g]) {
		spread = float64(groups.RefRMS[g])
	}
	return ratio(float64(groups.RMS[g]), spread)
}

// ratio is a/b, 0 where a is 0.
func ratio(a, b float64) float64 {
	if a <= 0 {
		return 0
	}
	return a / max(b, tiny)
}

// hf32Epsilon is the precision of the inputs of products in HF32, which keeps 11 bits of
// the fraction of a float32.
const hf32Epsilon = 0x1p-12

// epsilon is that of the numbers that the operator works with.
func (o *Operator) epsilon() float64 {
	if o.HF32 {
		return hf32Epsilon
	}
	return epsilon(o.Out.Type)
}

// integerEpsilon is the relative error of what integers are made of: float16, which
// is scaled.
const integerEpsilon = 0x1p-10

// epsilon is the distance from 1 to the next larger number of the type.
func epsilon(t noise.Type) float64 {
	if t.Integer {
		return integerEpsilon
	}
	return t.Epsilon()
}

// smallest is the distance between the smallest numbers of the type, by which any number
// of it may be off.
func smallest(t noise.Type) float64 {
	if t.Integer {
		return 0
	}
	return math.Ldexp(1, t.MinExp-t.Mantissa)
}

// selector is the input that says which elements of a gated operator pass: the one of the
// output's shape that is positive where the reference is not 0, in nearly all of the
// elements that are kept of both; nil where there is none.
func (o *Operator) selector() (selector *noise.Noise) {
	if len(o.Inputs) < 2 {
		return nil
	}
	most := 0
	for _, in := range o.Inputs {
		agree, values := 0, o.Out.Probe.Values
		if !sameShape(in, o.Out) {
			continue
		}
		for i, x := range in.Probe.Values {
			if i < len(values) && (x > 0) == (values[i] != 0) {
				agree++
			}
		}
		if agree > most && 10*agree >= 9*len(values) {
			selector, most = in, agree
		}
	}
	return selector
}
