package recompute

import (
	"maps"
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Inputs of a product may be rounded before the product: autocast rounds all inputs to the type of the output, and
// matrix units of NPUs and GPUs round the two factors of a float32 product. The attribute operands is the type.
// Numbers beside a tensor may be rounded to the type of the tensor: attribute scalars.
const operands, scalars = "operands", "scalars"

// autocastType returns the type to which autocast may have rounded the inputs of a product: the type of the output if
// an input is wider. ok is false for other operators.
func (j *judge) autocastType() (d tensor.DType, ok bool) {
	d = j.op.Outputs[0].DType
	bits := formatOf(d).Mantissa
	if j.formula.class != Linear || bits == 0 || len(j.op.Inputs) < 2 {
		return d, false
	}
	isNoFloat := func(t *Tensor) bool { return t == nil || !isFloat(t.DType) }
	return d, !slices.ContainsFunc(j.op.Inputs[:2], isNoFloat) && slices.ContainsFunc(j.op.Inputs, func(t *Tensor) bool { return t != nil && formatOf(t.DType).Mantissa > bits })
}

// isFloat32Product reports whether the operator is a product of two float32 factors with a float32 output.
func (j *judge) isFloat32Product() bool {
	if j.formula.class != Linear || len(j.op.Inputs) < 2 || j.op.Outputs[0].DType != tensor.Float32 {
		return false
	}
	return !slices.ContainsFunc(j.op.Inputs[:2], func(t *Tensor) bool { return t == nil || t.DType != tensor.Float32 })
}

// roundNumbers rounds the inputs that are numbers as they are passed to a kernel: to float32, unless a tensor is
// float64. A whole number beside integer tensors stays exact.
func (o *Operator) roundNumbers() {
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

// scalarType returns the type to which numbers beside a tensor, or attributes of an elementwise operator, may have
// been rounded: the type of the output, or of the tensor for a comparison. ok is false if all these numbers are exact
// in the type.
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

// hasThresholds reports whether a rounded attribute may change elements by more than its own rounding, as the
// threshold of a comparison does.
func (j *judge) hasThresholds() bool {
	return slices.Contains([]Class{Exact, Plain, Integral}, j.formula.class)
}

// isNumber reports whether a tensor is a Constant.
func isNumber(t *Tensor) bool {
	_, is := t.Source.(constantSource)
	return is
}

// operandsOf returns the attribute operands with a type.
func operandsOf(d tensor.DType) Attributes {
	return Attributes{operands: {Text(d.String()), FromValues}}
}

// castInputs returns the operator with inputs rounded to the type in an attribute: scalars rounds the inputs that are
// numbers; operands rounds all inputs if it is the type of the output, else the two factors.
func (o *Operator) castInputs(h Attributes) *Operator {
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
		inputs[k] = t.roundTo(d)
	}
	if o.casts == nil {
		o.casts = map[tensor.DType]*Operator{}
	}
	o.casts[d] = o.WithInputs(inputs)
	return o.casts[d]
}

// roundTo returns the tensor with its elements rounded to a type when they are read.
func (t *Tensor) roundTo(d tensor.DType) *Tensor {
	one := *t
	one.DType, one.rounded = d, d
	return &one
}

// CastTo returns the operator as autocast runs it in a type: wider inputs are rounded first, and a wider output holds
// numbers of the type.
func (o *Operator) CastTo(d tensor.DType) *Operator {
	if !isFloat(d) {
		return o
	}
	isWider := func(t *Tensor) bool { return t != nil && formatOf(t.DType).Mantissa > formatOf(d).Mantissa }
	inputs := slices.Clone(o.Inputs)
	for i, t := range inputs {
		if isWider(t) {
			inputs[i] = t.roundTo(d)
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

// isExplainedByBFloat16 reports whether factors rounded to bfloat16 explain all elements of a float32 product.
// Factors of 10 or 11 bits (HF32, TF32) are within the wide bound anyway.
func (j *judge) isExplainedByBFloat16(r *result) (bool, error) {
	if !j.isFloat32Product() {
		return false, nil
	}
	for _, few := range []bool{true, false} {
		s, err := j.evaluateAttributes(r.attrs.merge(operandsOf(tensor.BFloat16)), few)
		if err != nil || !s.why.IsZero() || !s.explains() || s.countChecked() == 0 {
			return false, err
		}
	}
	return true, nil
}

// eightBits explains a product of factors that were rounded to bfloat16.
var eightBits = lang.Say("all elements agree with factors rounded to 8 bits (bfloat16)")
