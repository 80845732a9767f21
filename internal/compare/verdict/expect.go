package verdict

import (
	"slices"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/exact"
	"dumptool/internal/optype"
)

// Operator is a tensor under judgement, with the type and the inputs of its operator.
type Operator struct {
	// Out is the tensor, Inputs are the known tensors that it was computed from.
	Out    *noise.Noise
	Inputs []*noise.Noise
	Type   optype.Type
	// Guessed: the inputs are the preceding tensors in execution order.
	Guessed bool
	// AnyClass: NaN and infinities do not count as faults.
	AnyClass bool
	// Hidden: some inputs were not compared.
	Hidden bool
	// Tainted: an input is an origin or depends on an origin.
	Tainted bool
	// Output is the index of the tensor among the outputs of the operator.
	Output int
	// Known: the inputs of the operator are known, even if there are none.
	Known bool
	// HF32: products of float32 are computed from inputs rounded to 11 bits.
	HF32 bool
	// Behind: an input depends on random numbers, or on indices of tied values.
	Behind bool
	// Gradients is the number of leading inputs that are gradients of a backward call. The call sums them over the
	// axes that its output does not have. 0 for other operators.
	Gradients int
	// Parts: the operator may read a part of an input with more elements than the output.
	Parts bool
}

// Expectation is the error that rounding and the errors of the inputs explain.
type Expectation struct {
	// Propagated comes from the inputs, Own from the rounding of the operator, Sum is the root of the sum of their
	// squares. All are root mean squares.
	Propagated, Own, Sum float64
	// Class is the class by whose bounds the operator was judged.
	Class optype.Class
}

// expectation is an Expectation with the expected error of each group. It takes much memory
// and is not kept.
type expectation struct {
	Expectation
	rows, channels []float64 // expected error of each group, nil without a bound
	peaks          []float64 // largest expected error in each row, nil without a bound
}

const (
	// roundingSteps is the number of terms after which accumulation in the NPU's type has doubled the rounding error
	// of the stored result.
	roundingSteps = 16
	// unknownTerms is the assumed length of sums if no input is known.
	unknownTerms = 64
	// kernelSize is the assumed size of a convolution with unknown weights: 3 x 3.
	kernelSize = 9
	// mostRelative limits relative errors.
	mostRelative = 1000
	// quantisationError is the own error of a quantised tensor, in steps.
	quantisationError = 0.1
	tiny              = 1e-300
)

// classOf returns the class whose bounds apply to the operator. Integer outputs are indices, copies, sums, or steps
// of quantised numbers.
func (o *Operator) classOf() optype.Class {
	c, in := o.Type.Class, o.Inputs
	if !o.Out.Type.Integer {
		if c == optype.Gated && o.selector() == nil || c == optype.Normalise && o.mayAddResidual() {
			return optype.Unknown
		}
		return c
	}
	if c == optype.Index || o.Type.IsIndex(o.Output) {
		return optype.Index
	}
	fromIntegers := len(in) > 0 && !slices.ContainsFunc(in, func(in *noise.Noise) bool { return !in.Type.Integer })
	if c == optype.Linear || c == optype.Unknown && isWide(o.Out.Type) || fromIntegers && (c == optype.Move || o.Type.Selects) {
		return c
	}
	return optype.Quantise
}

// mayAddResidual reports whether a norm has several inputs with the shape of its output: modules add a residual first,
// and no single input bounds the norm of the sum.
func (o *Operator) mayAddResidual() bool {
	n := 0
	for _, in := range o.Inputs {
		if !in.Type.Integer && len(in.Shape) > 1 && sameShape(in, o.Out) {
			n++
		}
	}
	return n > 1
}

// isWide reports whether an integer type holds sums or positions rather than quantised numbers.
func isWide(t noise.Type) bool { return t.Mantissa > 16 }

// expectedError returns the error that rounding and the inputs explain.
func (o *Operator) expectedError() expectation {
	e := expectation{Expectation: Expectation{Class: o.classOf()}}
	e.Propagated, e.Own = o.bounds(e.Class)
	e.Sum = max(exact.Hypot(e.Propagated, e.Own), tiny)
	o.groups(&e)
	return e
}

// bounds returns the propagated and the own error.
func (o *Operator) bounds(class optype.Class) (propagated, own float64) {
	if len(o.Inputs) > 0 {
		return classes[class].bounds(o)
	}
	if class == optype.Quantise || class == optype.Index {
		return 0, quantisationError
	}
	return 1.5 * o.Out.RefRMS * o.epsilon(), o.Out.Rounding
}

// Rounder holds the buffers of Operator.Damaged. The zero value is ready.
type Rounder struct {
	inputs  []*noise.Noise
	rounded []noise.Noise // the inputs with no error except the rounding of their types
}

// IsDamaged reports whether the error is far larger than it would be if the inputs had no error except the rounding of
// their types.
func (o *Operator) IsDamaged(memory *Rounder) bool {
	// The own error of every class is at least the rounding error of storing the result: most tensors need no other
	// comparison.
	const rounding, damaged = 2, 3
	return o.Out.RMS > rounding*min(o.Out.Rounding, quantisationError) && o.Out.RMS > damaged*o.roundingOnlyError(memory)
}

// roundingOnlyError returns the expected error if the inputs have no error except the rounding of their types.
func (o *Operator) roundingOnlyError(memory *Rounder) float64 {
	clean := *o
	memory.rounded = slices.Grow(memory.rounded[:0], len(o.Inputs))
	memory.inputs = memory.inputs[:0]
	for _, in := range o.Inputs {
		memory.rounded = append(memory.rounded, withRoundingOnly(in))
		memory.inputs = append(memory.inputs, &memory.rounded[len(memory.rounded)-1])
	}
	clean.Inputs = memory.inputs
	propagated, own := clean.bounds(clean.classOf())
	return exact.Hypot(propagated, own)
}

// withRoundingOnly returns a tensor whose only error is the rounding of its type.
func withRoundingOnly(n *noise.Noise) noise.Noise {
	r, eps := *n, epsilon(n.Type)
	r.RMS, r.Mean, r.Scale, r.Max = n.Rounding, 0, 0, eps*n.RefMax
	r.MaxRelative, r.MaxAbsolute = eps, eps*n.RefMax
	r.View = relativeSpread(&r)
	for _, g := range []*noise.Groups{&r.Rows, &r.Channels} {
		g.RMS, g.Fold = g.Rounding, 1
	}
	return r
}

// Properties of tensors, for largest and total.
func viewError(n *noise.Noise) float64     { return n.View }
func elementCount(n *noise.Noise) float64  { return float64(n.Elements) }
func worstRowError(n *noise.Noise) float64 { return maxOf(n.Rows.RMS) }

func largest(of []*noise.Noise, number func(*noise.Noise) float64) (most float64) {
	for _, n := range of {
		most = max(most, number(n))
	}
	return most
}

func sumOf(of []*noise.Noise, number func(*noise.Noise) float64) (sum float64) {
	for _, n := range of {
		sum += number(n)
	}
	return sum
}

func maxOf(values []float32) (most float64) {
	for _, v := range values {
		most = max(most, float64(v))
	}
	return most
}

// sumLength estimates the length of the operator's sums: the longest last axis of its inputs.
func (o *Operator) sumLength() float64 {
	if len(o.Inputs) == 0 {
		return unknownTerms
	}
	return largest(o.Inputs, func(in *noise.Noise) float64 { return float64(lastAxisLength(in)) })
}

func lastAxisLength(n *noise.Noise) int64 {
	if len(n.Shape) == 0 {
		return 1
	}
	return n.Shape[len(n.Shape)-1]
}

// channelGain is the spread of a channel of the output divided by the spread of the same channel of the input.
func channelGain(s, in *noise.Noise, g int) float64 {
	std := float64(in.Channels.RefStd[g])
	if std <= 0 {
		return 0
	}
	return float64(s.Channels.RefStd[g]) / std
}

// sameRows reports whether the rows of two tensors stand for the same positions.
func sameRows(a, b *noise.Noise) bool {
	return slices.Equal(leadingAxes(a), leadingAxes(b)) && len(a.Rows.RMS) == len(b.Rows.RMS)
}

func leadingAxes(n *noise.Noise) []int64 { return n.Shape[:max(len(n.Shape)-1, 0)] }

// sameChannels reports whether two tensors have equally many channels, on the same axis.
func sameChannels(a, b *noise.Noise) bool {
	return a.Channels.Count == b.Channels.Count && len(a.Channels.RMS) == len(b.Channels.RMS) && channelAxis(a) == channelAxis(b)
}

func channelAxis(n *noise.Noise) int {
	if len(n.Shape) >= 4 {
		return 1
	}
	return len(n.Shape) - 1
}

// relativeRowError is the error of a row divided by its standard deviation: a linear map may cancel the mean of the row.
func relativeRowError(groups *noise.Groups, g int) float64 {
	return ratio(float64(groups.RMS[g]), spreadIn(float64(groups.RefStd[g]), float64(groups.RefRMS[g])))
}

// ratio is a/b, and 0 if a is 0.
func ratio(a, b float64) float64 {
	if a <= 0 {
		return 0
	}
	return a / max(b, tiny)
}

// hf32Epsilon is the relative rounding error of HF32, which keeps 11 bits of the fraction of a float32.
const hf32Epsilon = 0x1p-12

// epsilon is the machine epsilon of the type that the operator computes in.
func (o *Operator) epsilon() float64 {
	if o.HF32 {
		return hf32Epsilon
	}
	return epsilon(o.Out.Type)
}

// integerEpsilon is the relative precision of integers: they are quantised from scaled float16.
const integerEpsilon = 0x1p-10

// epsilon is the distance from 1 to the next larger number of the type; integerEpsilon for integers.
func epsilon(t noise.Type) float64 {
	if t.Integer {
		return integerEpsilon
	}
	return t.Epsilon()
}

// smallestStep is the distance between the smallest numbers of the type: any number may be off by it.
func smallestStep(t noise.Type) float64 {
	if t.Integer {
		return 0
	}
	return t.Subnormal()
}

// selector returns the input whose sign selects the elements that a gated operator lets pass, nil if there is none.
// The selector has the output's shape, is no gradient, and is positive where the output is not 0 in nearly all
// sampled elements.
func (o *Operator) selector() (selector *noise.Noise) {
	if len(o.Inputs) < 2 {
		return nil
	}
	const nearlyAll = 0.9
	most := 0.0
	for _, in := range o.Inputs[min(o.Gradients, len(o.Inputs)):] {
		if !sameShape(in, o.Out) {
			continue
		}
		if o.Type.Form == optype.Pooled {
			return in
		}
		if share := o.selectorFit(in); share > most && share >= nearlyAll {
			selector, most = in, share
		}
	}
	return selector
}

// selectorFit returns how well the sign of an input predicts zeros of the output: the share of sampled elements whose
// input is positive and output is not 0, or the reverse. Elements where another input of the same shape is 0 do not
// count.
func (o *Operator) selectorFit(in *noise.Noise) float64 {
	values, agree, asked := o.Out.Probe.Values, 0, 0
	for i, x := range in.Probe.Values[:min(len(in.Probe.Values), len(values))] {
		isZero := func(other *noise.Noise) bool {
			return other != in && sameShape(other, in) && i < len(other.Probe.Values) && other.Probe.Values[i] == 0
		}
		if slices.ContainsFunc(o.Inputs, isZero) {
			continue
		}
		if asked++; (x > 0) == (values[i] != 0) {
			agree++
		}
	}
	return ratio(float64(agree), float64(asked))
}
