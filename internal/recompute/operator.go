package recompute

import (
	"slices"

	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// Tensor is an input or output of an operator in host order.
type Tensor struct {
	// DType is the type that the NPU rounds to, Stored that of the elements in Source.
	DType, Stored tensor.DType
	Shape         tensor.Shape
	// Source gives the stored elements by their position in Shape. It serves one goroutine.
	Source layout.Source
}

// elements is the number of elements.
func (t *Tensor) elements() int64 { return t.Shape.Elements() }

// asked is how many elements are looked at to find out which numbers a tensor holds.
const asked = 1 << 16

// Held is the type of which the elements of a tensor of float32 are numbers, as far as it looks:
// bfloat16 and float16 are kept in float32 where a file has no such type. Others have their own.
func (t *Tensor) Held() (tensor.DType, error) {
	if t.DType != tensor.Float32 || t.Stored != tensor.Float32 || t.Source == nil {
		return t.DType, nil
	}
	f, err := newFeed(t, view{shape: t.Shape})
	if err != nil {
		return t.DType, err
	}
	v, err := f.values64(0, min(asked, t.elements()))
	if err != nil {
		return t.DType, err
	}
	for _, d := range []tensor.DType{tensor.BFloat16, tensor.Float16} {
		if !slices.ContainsFunc(v, func(x float64) bool { return !precisions[d].has(x) }) {
			return d, nil
		}
	}
	return t.DType, nil
}

// Operator is one execution of an operator.
type Operator struct {
	// Formula is the name of a row of the table.
	Formula string
	// Inputs are those of the formula in their order, nil for an optional one that is absent.
	Inputs, Outputs []*Tensor
	// Attributes are those that are known, by the names of the formula.
	Attributes Attributes
	// Fused says whether other operators were merged into this one; nil if nobody knows.
	Fused *bool
	// Known is set where a graph has all attributes of the operator that have not their default.
	Known bool
	// Overlap says whether an output lies in the memory of an input; nil if nobody knows.
	Overlap *bool
	// Called is set for a call of a framework, which saves its inputs before it runs.
	Called bool
	// Open is set for modules of whose inside more is possible than the formula says, such as
	// roundings between two steps.
	Open bool
	// Transforms is set where convolutions of any kernel may have been computed by transforms, as
	// those of 3x3 are.
	Transforms bool
	// Full computes everything, Budget is how many multiplications and additions an operator
	// may cost, elements for those that are none; 0 for no limit. Seed is that of signs.
	Full   bool
	Budget int64
	Seed   int64
	// Helpers, unless nil, are what else may compute; the result does not depend on them.
	Helpers Helpers

	wholes map[*Tensor]*whole
	views  map[*Tensor]*Tensor
}

// With is the operator with other inputs.
func (o *Operator) With(inputs []*Tensor) *Operator {
	as := *o
	as.Inputs, as.wholes, as.views = inputs, nil, nil
	return &as
}

// rank is that of the first input.
func (o *Operator) rank() int { return len(o.Inputs[0].Shape) }

// mayBeFused reports whether something may follow the operator before its output is written.
func (o *Operator) mayBeFused() bool { return o.Fused == nil || *o.Fused }

// input returns an input, nil for none.
func (o *Operator) input(k int) *Tensor {
	if k >= len(o.Inputs) {
		return nil
	}
	return o.Inputs[k]
}
