package verdict

import (
	"math"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/exact"
	"dumptool/internal/optype"
)

// classBounds holds the bounds of a class of operators, and the parts of a tensor that have bounds of their own.
type classBounds struct {
	// bounds returns the error that the errors of the inputs cause, and the operator's own rounding error, as root
	// mean squares. There is at least one input.
	bounds func(*Operator) (propagated, own float64)
	// groupBounds bounds rows and channels more sharply than by their share of the whole error; nil if the class has no
	// such bounds.
	groupBounds func(*Operator, *expectation)
	// limit is the score up to which rounding explains the error.
	limit float64
	// rows, channels, elements: these parts of the tensor are compared with the limit, too.
	rows, channels, elements bool
	// relativeFactor belongs to classes whose errors grow with the elements; 0 for other classes. An element stands out
	// only if its relative error exceeds this multiple of the expected relative error.
	relativeFactor float64
	// mayAmplify: unknown weights may amplify the error. Only an error in a form that rounding cannot have makes an
	// origin.
	mayAmplify bool
	// judgesBits: a tensor with fewer mantissa bits than its type and its inputs is at fault.
	judgesBits bool
}

// classes has a row for each class of operators.
var classes = [...]classBounds{
	optype.Unknown:        {bounds: (*Operator).unknownError, groupBounds: (*Operator).unknownGroups, limit: limits.Unknown, rows: true, channels: true, elements: true, relativeFactor: 8, mayAmplify: true, judgesBits: true},
	optype.Move:           {bounds: (*Operator).moveError, limit: limits.Exact},
	optype.Lipschitz:      {bounds: (*Operator).lipschitzError, groupBounds: (*Operator).lipschitzGroups, limit: limits.Exact},
	optype.Dequantise:     {bounds: (*Operator).dequantiseError, limit: limits.Exact, rows: true, channels: true, elements: true},
	optype.Multiply:       {bounds: (*Operator).productError, groupBounds: (*Operator).productGroups, limit: limits.Norm, rows: true, channels: true, elements: true, relativeFactor: 3},
	optype.Divide:         {bounds: (*Operator).divideError, groupBounds: (*Operator).dividedGroups, limit: limits.Norm, rows: true, channels: true, elements: true, relativeFactor: 3},
	optype.Exponential:    {bounds: (*Operator).expError, groupBounds: (*Operator).proportionalRows, limit: limits.Norm, rows: true, elements: true, relativeFactor: 3},
	optype.Normalise:      {bounds: (*Operator).normError, groupBounds: (*Operator).normalisedGroups, limit: limits.Norm, rows: true, channels: true, elements: true, judgesBits: true},
	optype.BatchNormalise: {bounds: (*Operator).batchNormError, groupBounds: (*Operator).batchNormalisedGroups, limit: limits.Norm, channels: true, elements: true, judgesBits: true},
	optype.Linear:         {bounds: (*Operator).sumError, groupBounds: (*Operator).linearGroups, limit: limits.Linear, rows: true, channels: true, elements: true, mayAmplify: true, judgesBits: true},
	optype.Reduce:         {bounds: (*Operator).reduceError, limit: limits.Norm, channels: true, elements: true},
	optype.Quantise:       {bounds: (*Operator).quantiseError, limit: limits.Linear, rows: true, channels: true, elements: true},
	optype.Gated:          {bounds: (*Operator).gateError, limit: limits.Norm},
	optype.Index:          {bounds: (*Operator).quantiseError, limit: limits.Linear},
}

// productError bounds products. If there are more than two inputs, it is unknown which of them are multiplied: the
// two inputs with the largest bound count. Integer inputs are masks.
func (o *Operator) productError() (propagated, own float64) {
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

// expError bounds exp and softmax.
func (o *Operator) expError() (propagated, own float64) {
	s := o.Out
	return s.RefRMS * o.expGrowth(), float64(2*s.Rounding) + float64(s.RefRMS*epsilon(s.Type))
}

// expGrowth bounds the relative error of exp from the absolute errors of the inputs.
func (o *Operator) expGrowth() float64 {
	absolute := largest(o.Inputs, func(in *noise.Noise) float64 { return in.MaxAbsolute })
	return exact.Expm1(min(2*absolute, 20))
}

// lipschitzError bounds functions with a bounded slope, Type.Factor.
func (o *Operator) lipschitzError() (propagated, own float64) {
	f := o.Out.Rounding
	own = exact.Hypot(3*f, largest(o.Inputs, func(in *noise.Noise) float64 { return in.Rounding }))
	if o.Type.Selects {
		own = f
	}
	if o.Type.Transcendental {
		own += float64(0.3 * epsilon(o.Out.Type) * o.Out.RefMax)
	}
	return o.Type.Factor * sumOf(o.Inputs, func(in *noise.Noise) float64 { return float64(in.RMS * o.partFactor(in)) }), own
}

// moveError bounds copies: the output may be the worst part of an input.
func (o *Operator) moveError() (propagated, own float64) {
	return largest(o.Inputs, func(in *noise.Noise) float64 { return in.RMS * o.partConcentration(in) }), o.Out.Rounding
}

// partConcentration is the largest possible ratio between the root mean square error of a part of the input with as many
// elements as the output, and the root mean square error of the whole input.
func (o *Operator) partConcentration(in *noise.Noise) float64 {
	return math.Sqrt(max(1, elementCount(in)/max(elementCount(o.Out), 1)))
}

// partFactor returns concentrated if the operator may read only a part of an input, else 1.
func (o *Operator) partFactor(in *noise.Noise) float64 {
	if !o.Parts {
		return 1
	}
	return o.partConcentration(in)
}

// gateError bounds operators that copy the elements selected by a selector: by the errors of all inputs except the
// selector.
func (o *Operator) gateError() (propagated, own float64) {
	selector := o.selector()
	for _, in := range o.absoluteInputs() {
		if in != selector && !in.Type.Integer {
			propagated += in.RMS
		}
	}
	return propagated, o.Out.Rounding
}

// absoluteInputs returns the inputs whose absolute errors reach the output: the gradients of a backward call, all
// inputs of other operators.
func (o *Operator) absoluteInputs() []*noise.Noise {
	if o.Gradients > 0 {
		return o.gradients()
	}
	return o.Inputs
}

func (o *Operator) gradients() []*noise.Noise { return o.Inputs[:min(o.Gradients, len(o.Inputs))] }

// dequantiseError bounds scaled integers: by the relative error of the input with most elements, which holds the
// integers.
func (o *Operator) dequantiseError() (propagated, own float64) {
	in := o.Inputs[0]
	for _, other := range o.Inputs {
		if other.Elements > in.Elements {
			in = other
		}
	}
	return o.Out.RefRMS / max(in.RefRMS, tiny) * in.RMS, o.Out.Rounding
}

// dividesByNumber reports whether a quotient has a number or a constant as divisor.
func (o *Operator) dividesByNumber() bool {
	return o.Type.Form == optype.Plain && len(o.Inputs) == 1 && !o.Guessed
}

// divideError bounds quotients, roots and logarithms, which amplify errors near 0.
func (o *Operator) divideError() (propagated, own float64) {
	s := o.Out
	own = 2 * s.Rounding
	if (o.Type.Form == optype.Root || o.Type.Form == optype.Logarithm) && s.Type.Mantissa >= 23 {
		own += float64(s.RefRMS * epsilon(s.Type)) // vector units are exact to 2 ulp
	}
	if o.Type.Form == optype.Logarithm {
		return min(o.Inputs[0].MaxRelative, mostRelative), own
	}
	if o.dividesByNumber() {
		return s.RefRMS * viewError(o.Inputs[0]), own
	}
	return s.RefRMS * sumOf(o.Inputs, func(in *noise.Noise) float64 { return min(in.MaxRelative, mostRelative) }), own
}

// sumError bounds matrix products and convolutions.
func (o *Operator) sumError() (propagated, own float64) {
	s, f, terms := o.Out, o.Out.Rounding, o.sumLength()
	if o.Type.Form == optype.Convolution {
		terms *= kernelSize
	}
	if s.Type.Integer {
		f = 0
	}
	return s.RefRMS * sumOf(o.Inputs, viewError), float64(f*(1+math.Sqrt(terms/roundingSteps))) + float64(0.5*s.RefRMS*o.epsilon())
}

// quantiseError bounds integers that are computed from other numbers, in quantisation steps.
func (o *Operator) quantiseError() (propagated, own float64) {
	relative := largest(o.Inputs, func(in *noise.Noise) float64 { return ratio(in.RMS, in.RefRMS) })
	q := float64(relative * o.Out.RefRMS)
	return math.Sqrt(q) + q, quantisationError
}

// normError bounds norms over rows. A row with little spread amplifies its error, and the rounding error of the
// subtracted mean.
func (o *Operator) normError() (propagated, own float64) {
	s, in := o.Out, o.Inputs[0]
	if o.Type.Form == optype.GroupNorm && sameChannels(in, s) {
		return o.groupNormError(in)
	}
	relative, inverse := o.rowGains(in)
	aligned, most := len(relative) == len(s.Rows.RMS), 4*max(s.RefRMS, tiny)
	return o.conditionedError(relative, inverse, most, func(g int) float64 {
		if aligned {
			return float64(s.Rows.RefRMS[g])
		}
		return s.RefRMS
	})
}

// conditionedError bounds a norm that scales group g to the size size(g). relative is the error of each group divided
// by its spread. inverse is the size of each group divided by its spread: the factor on the rounding error of the
// subtracted mean. most limits the error of a group.
func (o *Operator) conditionedError(relative, inverse []float64, most float64, size func(int) float64) (propagated, own float64) {
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

// groupNormError bounds norms over groups of channels. The groups are unknown: the channel with the largest gain
// bounds all channels.
func (o *Operator) groupNormError(in *noise.Noise) (propagated, own float64) {
	s := o.Out
	gain := 0.0
	for g := range s.Channels.RefRMS {
		spread := spreadIn(float64(in.Channels.RefStd[g]), float64(in.Channels.RefRMS[g]))
		gain = max(gain, ratio(float64(s.Channels.RefRMS[g]), spread))
	}
	most := 4 * s.RefRMS
	return min(in.RMS*gain, most), float64(2*s.Rounding) + float64(0.5*min(float64(in.RefRMS*gain)*epsilon(s.Type), most))
}

// rowGains returns the error of each row divided by its spread, and the size of each row divided by its spread. The
// norm scales the spread to 1.
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

// batchNormError bounds norms over channels.
func (o *Operator) batchNormError() (propagated, own float64) {
	s, in := o.Out, o.Inputs[0]
	if len(in.Channels.RMS) != len(s.Channels.RMS) {
		return o.normError()
	}
	relative, inverse := spreadOf(&in.Channels, func(g int) float64 { return float64(in.Channels.RefStd[g]) })
	return o.conditionedError(relative, inverse, math.Inf(1), func(g int) float64 { return float64(s.Channels.RefStd[g]) })
}

// reduceError bounds sums and means.
func (o *Operator) reduceError() (propagated, own float64) {
	s, in := o.Out, o.Inputs[0]
	k := max(elementCount(in)/max(elementCount(s), 1), 1)
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

// unknownError bounds operators of unknown type by the largest error that any usual operator makes. Passing on the
// absolute error of an input is one possibility, unless the output is much smaller than the input: an operator that
// scales down also scales the error down.
func (o *Operator) unknownError() (propagated, own float64) {
	s := o.Out
	own = float64(s.Rounding*(1+math.Sqrt(o.sumLength()/roundingSteps))) + float64(s.RefRMS*o.epsilon())
	fitting := func(in *noise.Noise) float64 {
		if in.Type.Integer || s.RefRMS < 0.25*in.RefRMS { // the output is too small to carry the absolute error
			return 0
		}
		return in.RMS
	}
	most := max(1.5*float64(s.RefRMS*sumOf(o.Inputs, viewError)), sumOf(o.absoluteInputs(), fitting))
	if o.Guessed { // only one of the tensors may be the input
		most = max(2*float64(s.RefRMS*largest(o.Inputs, viewError)), largest(o.Inputs, fitting))
	}
	if s.Softmax {
		most = max(most, s.RefRMS*o.expGrowth())
	}
	for _, in := range o.gradients() {
		if terms := elementCount(in) / max(elementCount(s), 1); terms > 1 {
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
