package verdict

import (
	"math"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/exact"
	"dumptool/internal/optype"
)

// class holds the bounds of a class of operators, and the parts of a tensor that have bounds of their own.
type class struct {
	// bounds returns the error that the errors of the inputs cause, and the operator's own rounding error, as root
	// mean squares. There is at least one input.
	bounds func(*Operator) (propagated, own float64)
	// groups bounds rows and channels more sharply than by their share of the whole error; nil if the class has no
	// such bounds.
	groups func(*Operator, *expectation)
	// limit is the score up to which rounding explains the error.
	limit float64
	// rows, channels, elements: these parts of the tensor are compared with the limit, too.
	rows, channels, elements bool
	// relative is for classes whose errors grow with the elements: the relative error of an element that stands out
	// exceeds this multiple of the expected relative error. 0 in other classes.
	relative float64
	// amplifies: weights that are not known may amplify the error. Only a form that rounding does not have makes an
	// origin.
	amplifies bool
	// bits: fewer bits than the type and the inputs have are a fault.
	bits bool
}

// classes has a row for each class of operators.
var classes = [...]class{
	optype.Unknown:        {bounds: (*Operator).unknown, groups: (*Operator).unknownGroups, limit: limits.Unknown, rows: true, channels: true, elements: true, relative: 8, amplifies: true, bits: true},
	optype.Move:           {bounds: (*Operator).moved, limit: limits.Exact},
	optype.Lipschitz:      {bounds: (*Operator).lipschitz, groups: (*Operator).lipschitzGroups, limit: limits.Exact},
	optype.Dequantise:     {bounds: (*Operator).dequantised, limit: limits.Exact, rows: true, channels: true, elements: true},
	optype.Multiply:       {bounds: (*Operator).product, groups: (*Operator).productGroups, limit: limits.Norm, rows: true, channels: true, elements: true, relative: 3},
	optype.Divide:         {bounds: (*Operator).divided, groups: (*Operator).dividedGroups, limit: limits.Norm, rows: true, channels: true, elements: true, relative: 3},
	optype.Exponential:    {bounds: (*Operator).exponential, groups: (*Operator).proportionalRows, limit: limits.Norm, rows: true, elements: true, relative: 3},
	optype.Normalise:      {bounds: (*Operator).normalised, groups: (*Operator).normalisedGroups, limit: limits.Norm, rows: true, channels: true, elements: true, bits: true},
	optype.BatchNormalise: {bounds: (*Operator).batchNormalised, groups: (*Operator).batchNormalisedGroups, limit: limits.Norm, channels: true, elements: true, bits: true},
	optype.Linear:         {bounds: (*Operator).summed, groups: (*Operator).linearGroups, limit: limits.Linear, rows: true, channels: true, elements: true, amplifies: true, bits: true},
	optype.Reduce:         {bounds: (*Operator).reduced, limit: limits.Norm, channels: true, elements: true},
	optype.Quantise:       {bounds: (*Operator).quantised, limit: limits.Linear, rows: true, channels: true, elements: true},
	optype.Gated:          {bounds: (*Operator).gated, limit: limits.Norm},
	optype.Index:          {bounds: (*Operator).quantised, limit: limits.Linear},
}

// product is the error of a product. With more than two inputs it is not known which are multiplied: the worst two
// count. Integer inputs are masks.
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

// growth is the largest relative error of exp for inputs with the given absolute errors.
func (o *Operator) growth() float64 {
	absolute := largest(o.Inputs, func(in *noise.Noise) float64 { return in.MaxAbsolute })
	return exact.Expm1(min(2*absolute, 20))
}

// lipschitz is the error of functions with a bounded slope, Type.Factor.
func (o *Operator) lipschitz() (propagated, own float64) {
	f := o.Out.Rounding
	own = exact.Hypot(3*f, largest(o.Inputs, func(in *noise.Noise) float64 { return in.Rounding }))
	if o.Type.Selects {
		own = f
	}
	if o.Type.Transcendental {
		own += float64(0.3 * epsilon(o.Out.Type) * o.Out.RefMax)
	}
	return o.Type.Factor * total(o.Inputs, func(in *noise.Noise) float64 { return float64(in.RMS * o.part(in)) }), own
}

// moved is the error of copies: the output may be the worst part of an input.
func (o *Operator) moved() (propagated, own float64) {
	return largest(o.Inputs, func(in *noise.Noise) float64 { return in.RMS * o.concentrated(in) }), o.Out.Rounding
}

// concentrated is the largest ratio of the root mean square error of a part, as large as the output, to the root mean
// square error of the whole input.
func (o *Operator) concentrated(in *noise.Noise) float64 {
	return math.Sqrt(max(1, elements(in)/max(elements(o.Out), 1)))
}

// part is concentrated if the operator may read a part of an input, else 1.
func (o *Operator) part(in *noise.Noise) float64 {
	if !o.Parts {
		return 1
	}
	return o.concentrated(in)
}

// gated is the error of elements that a selector lets pass: the errors of all inputs other than the selector.
func (o *Operator) gated() (propagated, own float64) {
	selector := o.selector()
	for _, in := range o.passedOn() {
		if in != selector && !in.Type.Integer {
			propagated += in.RMS
		}
	}
	return propagated, o.Out.Rounding
}

// passedOn returns the inputs whose absolute errors reach the output: the gradients of a backward call, all
// inputs of other operators.
func (o *Operator) passedOn() []*noise.Noise {
	if o.Gradients > 0 {
		return o.gradients()
	}
	return o.Inputs
}

func (o *Operator) gradients() []*noise.Noise { return o.Inputs[:min(o.Gradients, len(o.Inputs))] }

// dequantised is the relative error of the numbers that are scaled, the input with most elements, times the size of
// the output.
func (o *Operator) dequantised() (propagated, own float64) {
	in := o.Inputs[0]
	for _, other := range o.Inputs {
		if other.Elements > in.Elements {
			in = other
		}
	}
	return o.Out.RefRMS / max(in.RefRMS, tiny) * in.RMS, o.Out.Rounding
}

// isByNumber reports whether a quotient has a number or a constant as divisor.
func (o *Operator) isByNumber() bool {
	return o.Type.Form == optype.Plain && len(o.Inputs) == 1 && !o.Guessed
}

// divided is the error of quotients, roots and logarithms, which amplify errors near 0.
func (o *Operator) divided() (propagated, own float64) {
	s := o.Out
	own = 2 * s.Rounding
	if (o.Type.Form == optype.Root || o.Type.Form == optype.Logarithm) && s.Type.Mantissa >= 23 {
		own += float64(s.RefRMS * epsilon(s.Type)) // vector units are exact to 2 ulp
	}
	if o.Type.Form == optype.Logarithm {
		return min(o.Inputs[0].MaxRelative, mostRelative), own
	}
	if o.isByNumber() {
		return s.RefRMS * view(o.Inputs[0]), own
	}
	return s.RefRMS * total(o.Inputs, func(in *noise.Noise) float64 { return min(in.MaxRelative, mostRelative) }), own
}

// summed is the error of matrix products and convolutions.
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

// quantised is the error, in steps, of integers that are computed from other numbers.
func (o *Operator) quantised() (propagated, own float64) {
	relative := largest(o.Inputs, func(in *noise.Noise) float64 { return ratio(in.RMS, in.RefRMS) })
	q := float64(relative * o.Out.RefRMS)
	return math.Sqrt(q) + q, quantisationError
}

// normalised is the error of a norm over rows. A row with little spread amplifies its error, and the rounding error
// of the subtracted mean.
func (o *Operator) normalised() (propagated, own float64) {
	s, in := o.Out, o.Inputs[0]
	if o.Type.Form == optype.GroupNorm && sameChannels(in, s) {
		return o.groupNormalised(in)
	}
	relative, inverse := o.rowGains(in)
	aligned, most := len(relative) == len(s.Rows.RMS), 4*max(s.RefRMS, tiny)
	return o.conditioned(relative, inverse, most, func(g int) float64 {
		if aligned {
			return float64(s.Rows.RefRMS[g])
		}
		return s.RefRMS
	})
}

// conditioned is the error of a norm that scales each group to size(g). relative is the error of each group beside
// its spread; inverse is the size of each group beside its spread, for the rounding error of the subtracted mean.
// most limits the error of a group.
func (o *Operator) conditioned(relative, inverse []float64, most float64, size func(int) float64) (propagated, own float64) {
	eps := epsilon(o.Out.Type)
	var p, q float64
	for g := range relative {
		gain := size(g)
		a, b := min(relative[g]*gain, most), min(float64(inverse[g]*gain)*eps, most)
		p, q = p+float64(a*a), q+float64(b*b)
	}
	count := max(float64(len(relative)), 1)
	return math.Sqrt(p / count), float64(2*o.Out.Rounding) + float64(0.5*math.Sqrt(q/count))
}

// groupNormalised is the error of a norm over groups of channels. The groups are not known: the channel with the
// largest gain bounds all channels.
func (o *Operator) groupNormalised(in *noise.Noise) (propagated, own float64) {
	s := o.Out
	gain := 0.0
	for g := range s.Channels.RefRMS {
		spread := spreadIn(float64(in.Channels.RefStd[g]), float64(in.Channels.RefRMS[g]))
		gain = max(gain, ratio(float64(s.Channels.RefRMS[g]), spread))
	}
	most := 4 * s.RefRMS
	return min(in.RMS*gain, most), float64(2*s.Rounding) + float64(0.5*min(float64(in.RefRMS*gain)*epsilon(s.Type), most))
}

// rowGains returns the error and the size of each row of an input divided by its spread, which the norm scales to 1.
func (o *Operator) rowGains(in *noise.Noise) (relative, inverse []float64) {
	rows := &in.Rows
	if o.Type.Form == optype.RootMeanNorm {
		return spreadOf(rows, func(g int) float64 { return float64(rows.RefRMS[g]) })
	}
	return spreadOf(rows, func(g int) float64 { return float64(rows.RefStd[g]) })
}

// spreadOf returns the error and the size of each group of a tensor divided by its spread. If a bin holds several
// groups the worst group counts.
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
	return o.conditioned(relative, inverse, math.Inf(1), func(g int) float64 { return float64(s.Channels.RefStd[g]) })
}

// reduced is the error of sums and means.
func (o *Operator) reduced() (propagated, own float64) {
	s, in := o.Out, o.Inputs[0]
	k := max(elements(in)/max(elements(s), 1), 1)
	if o.Type.Form == optype.Cumulative {
		row := 1.0
		if k := len(in.Shape); k > 0 {
			row = float64(max(in.Shape[k-1], 1))
		}
		return float64(math.Sqrt(row)*in.RMS) + float64(math.Abs(in.Mean)*row), float64(2*s.Rounding) + float64(s.Rounding*math.Sqrt(row))
	}
	mean := math.Abs(in.Mean) + in.RMS/math.Sqrt(k)
	if o.Type.Form == optype.Sum {
		mean *= k
	}
	return s.RefRMS*in.RMS/max(in.RefRMS, tiny) + mean, float64(2*s.Rounding) + float64(s.RefRMS*epsilon(s.Type)*math.Sqrt(k/roundingSteps))
}

// unknown is the error of an operator of unknown type: the largest error of all usual operators. Passing on the
// absolute error of an input is one possibility if the output is not much smaller than the input: an operator that
// scales down also scales the error down.
func (o *Operator) unknown() (propagated, own float64) {
	s := o.Out
	own = float64(s.Rounding*(1+math.Sqrt(o.terms()/roundingSteps))) + float64(s.RefRMS*o.epsilon())
	fitting := func(in *noise.Noise) float64 {
		if in.Type.Integer || s.RefRMS < 0.25*in.RefRMS { // the output is too small to carry the absolute error
			return 0
		}
		return in.RMS
	}
	most := max(1.5*float64(s.RefRMS*total(o.Inputs, view)), total(o.passedOn(), fitting))
	if o.Guessed { // only one of the tensors may be the input
		most = max(2*float64(s.RefRMS*largest(o.Inputs, view)), largest(o.Inputs, fitting))
	}
	if s.Softmax {
		most = max(most, s.RefRMS*o.growth())
	}
	for _, in := range o.gradients() {
		if terms := elements(in) / max(elements(s), 1); terms > 1 {
			most = max(most, exact.Hypot(math.Sqrt(terms)*in.RMS, terms*in.Mean))
			own = max(own, 4*o.epsilon()*math.Sqrt(terms)*in.RefRMS) // whatever the order of the sum
		}
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
