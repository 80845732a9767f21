package recompute

import (
	"maps"
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Inputs of products may be rounded before they are multiplied: autocast rounds all of them to the
// type of the output, and units of NPUs and GPUs round the two factors of a product of float32.
// operands is the attribute that says to which type.
// Numbers beside a tensor may be rounded to its type before: scalars is the attribute of that.
const operands, scalars = "operands", "scalars"

// castTo is the type to which autocast may have rounded the inputs of a product: the type of the
// output, where an input is wider. ok is false for other operators.
func (j *judge) castTo() (d tensor.DType, ok bool) {
	d = j.op.Outputs[0].DType
	bits := formatOf(d).Mantissa
	if j.formula.class != Linear || bits == 0 || len(j.op.Inputs) < 2 {
		return d, false
	}
	return d, j.hasFloatFactors() && slices.ContainsFunc(j.op.Inputs, func(t *Tensor) bool { return t != nil && formatOf(t.DType).Mantissa > bits })
}

// ofFloats reports whether the first two inputs are of floating point.
func (j *judge) hasFloatFactors() bool {
	return !slices.ContainsFunc(j.op.Inputs[:2], func(t *Tensor) bool { return t == nil || !isFloat(t.DType) })
}

// ofSingles reports whether the operator is a product of two factors of float32 in float32.
func (j *judge) isFloat32Product() bool {
	if j.formula.class != Linear || len(j.op.Inputs) < 2 || j.op.Outputs[0].DType != tensor.Float32 {
		return false
	}
	return !slices.ContainsFunc(j.op.Inputs[:2], func(t *Tensor) bool { return t == nil || t.DType != tensor.Float32 })
}

// passNumbers rounds the numbers beside tensors as a kernel gets them: to float32, unless a tensor is float64. A
// whole number beside integers stays.
func (o *Operator) passNumbers() {
	floats := false
	for _, t := range append(slices.Clip(o.Inputs), o.Outputs...) {
		if t == nil || isNumber(t) {
			continue
		}
		if t.DType == tensor.Float64 {
			return
		}
		floats = floats || isFloat(t.DType)
	}
	for k, t := range o.Inputs {
		if t != nil && isNumber(t) {
			if x := float64(t.Source.(constantSource)); floats || x != math.Trunc(x) {
				o.Inputs[k] = Constant(float64(float32(x)))
			}
		}
	}
}

// scalarType is the type to which numbers beside a tensor, or attributes of an elementwise operator, may have been
// rounded: the type of the output, of a comparison the type of the tensor, where it does not hold them.
func (j *judge) scalarType() (d tensor.DType, ok bool) {
	d = j.op.Outputs[0].DType
	isTensor := func(t *Tensor) bool { return t != nil && !isNumber(t) && isFloat(t.DType) }
	if k := slices.IndexFunc(j.op.Inputs, isTensor); k >= 0 && !isFloat(d) {
		d = j.op.Inputs[k].DType
	}
	if d == tensor.Float64 || !isFloat(d) {
		return d, false
	}
	lacks := func(x float64) bool { return !formatOf(d).Has(x) }
	return d, slices.ContainsFunc(j.op.Inputs, func(t *Tensor) bool { return t != nil && isNumber(t) && lacks(float64(t.Source.(constantSource))) }) ||
		j.hasThresholds() && slices.ContainsFunc(slices.Collect(maps.Values(j.op.Attributes)), func(a Attribute) bool { return slices.ContainsFunc(a.Value.Numbers, lacks) })
}

// hasThresholds reports whether a difference in the rounding of an attribute may change elements by more than it.
func (j *judge) hasThresholds() bool {
	return slices.Contains([]Class{Exact, Plain, Integral}, j.formula.class)
}

// isNumber reports whether a number stands in place of a tensor.
func isNumber(t *Tensor) bool {
	_, is := t.Source.(constantSource)
	return is
}

// operandsOf is the attribute of operands that are rounded to a type.
func operandsOf(d tensor.DType) Attributes {
	return Attributes{operands: {Text(d.String()), FromValues}}
}

// cast is the operator with the inputs that an attribute rounds: all of them where that is the type
// of the output, else the two factors.
func (o *Operator) cast(h Attributes) *Operator {
	text, ofScalars := h[operands].Value.Text, false
	if text == "" {
		text, ofScalars = h[scalars].Value.Text, true
	}
	d, ok := tensor.ParseDType(text)
	if !ok {
		return o
	}
	if as := o.casts[d]; as != nil {
		return as
	}
	inputs := slices.Clone(o.Inputs)
	for k, t := range inputs {
		if t == nil || ofScalars && !isNumber(t) || formatOf(t.DType).Mantissa <= formatOf(d).Mantissa || k > 1 && d != o.Outputs[0].DType {
			continue
		}
		inputs[k] = t.roundedTo(d)
	}
	if o.casts == nil {
		o.casts = map[tensor.DType]*Operator{}
	}
	o.casts[d] = o.WithInputs(inputs)
	return o.casts[d]
}

// roundedTo is the tensor with its numbers rounded to a type when they are read.
func (t *Tensor) roundedTo(d tensor.DType) *Tensor {
	one := *t
	one.DType, one.rounded = d, d
	return &one
}

// As is an operator that autocast runs in a type: wider inputs are rounded first, and a wider output holds
// numbers of the type.
func (o *Operator) As(d tensor.DType) *Operator {
	if !isFloat(d) {
		return o
	}
	isWider := func(t *Tensor) bool { return t != nil && formatOf(t.DType).Mantissa > formatOf(d).Mantissa }
	inputs := slices.Clone(o.Inputs)
	for i, t := range inputs {
		if isWider(t) {
			inputs[i] = t.roundedTo(d)
		}
	}
	as := o.WithInputs(inputs)
	as.Outputs = slices.Clone(o.Outputs)
	for i, t := range as.Outputs {
		if isWider(t) {
			one := *t
			one.DType, as.Outputs[i] = d, &one
		}
	}
	return as
}

// byOperands reports whether factors rounded to bfloat16 explain the elements of a product of
// float32. Factors of 10 or 11 bits are within the wide bound.
func (j *judge) byOperands(r *result) (bool, error) {
	if !j.isFloat32Product() {
		return false, nil
	}
	for _, few := range []bool{true, false} {
		s, err := j.run(r.attrs.with(operandsOf(tensor.BFloat16)), few)
		if err != nil || !s.why.IsZero() || !s.explains() || s.checked() == 0 {
			return false, err
		}
	}
	return true, nil
}

// eightBits says what products of bfloat16 do to factors of float32.
var eightBits = lang.Say("all elements agree with factors rounded to 8 bits (bfloat16)")
