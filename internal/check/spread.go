package check

import (
	"context"
	"math"
	"slices"

	"dumptool/internal/optype"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// trial computes an operator with other numbers in its inputs, to see which elements of the outputs depend on them.
type trial struct {
	op     *recompute.Operator
	attrs  recompute.Attributes
	inputs []held
	stale  []*stale // unwritten elements of each input, nil for none
}

// no stands for no input.
const no = -1

// otherNumber returns the number that element i would have if the memory held other numbers: by itself small, so that it
// decides no maximum, and none is the mean of others.
func (s *stale) otherNumber(i int) float64 {
	if s.other != nil {
		return s.other[i]
	}
	const step = 0.6180339887
	return 0x1p-5 * (1 + math.Mod(float64(float64(i)*step), 1))
}

// run computes the outputs with other numbers in place of unwritten elements, except in the input kept; there other
// numbers stand for NaN and infinities only. The written elements of the input blank become 0. The result is nil if the
// operator cannot be computed.
func (t *trial) run(ctx context.Context, kept, blank int) ([][]float64, error) {
	inputs := slices.Clone(t.op.Inputs)
	for k, s := range t.stale {
		if s == nil {
			continue
		}
		values := doubles(slices.Clone(t.inputs[k].values))
		for i, on := range s.on {
			switch {
			case on && k != kept:
				values[i] = s.otherNumber(i)
			case on && values[i]-values[i] != 0:
				values[i] = 1 + 2*s.otherNumber(i)
			case !on && k == blank:
				values[i] = 0
			}
		}
		one := *inputs[k]
		one.Stored, one.Source = tensor.Float64, values
		inputs[k] = &one
	}
	e, err := recompute.Expected(ctx, t.op.WithInputs(inputs), t.attrs)
	if e == nil || err != nil {
		return nil, err
	}
	return e.Values, nil
}

// isFar reports whether two numbers differ by more than the rounding of float32.
func isFar(a, b float64) bool {
	const relative = 1e-6
	return a != b && !(math.Abs(a-b) <= relative*max(math.Abs(a), math.Abs(b)))
}

// spread marks the elements of the outputs that depend on unwritten elements of the inputs, and notes where unwritten
// and written elements of an input are mixed. The outputs are right.
func (f *follower) spread(ctx context.Context, x *execution, op *recompute.Operator, attrs recompute.Attributes) error {
	t := &trial{op: op, attrs: attrs, inputs: make([]held, len(op.Inputs)), stale: make([]*stale, len(op.Inputs))}
	var of *memory
	for k, one := range op.Inputs {
		t.inputs[k] = f.load(one)
		if t.stale[k] = f.find(x, t.inputs[k], nil); t.stale[k] != nil {
			of = t.stale[k].of
		}
	}
	if of == nil {
		return f.leftOut(ctx, x, op, attrs)
	}
	clean, err := t.run(ctx, no, no)
	if err != nil || clean == nil {
		return err
	}
	on, counts := make([][]bool, len(clean)), make([]bool, len(clean))
	for k := range clean {
		on[k] = make([]bool, len(clean[k]))
	}
	typ := recompute.TypeOfOperator(x.op.Type, x.op.Names()[0])
	for n, s := range t.stale {
		if s == nil {
			continue
		}
		kept, err := t.run(ctx, n, no)
		if err != nil || kept == nil {
			return err
		}
		bare, err := t.run(ctx, no, n)
		if err != nil || bare == nil {
			return err
		}
		for k, one := range op.Outputs {
			h := f.outputOf(one)
			for i := range on[k] {
				isPoisoned := h.values[i]-h.values[i] != 0 && clean[k][i]-clean[k][i] == 0
				if !isPoisoned && kept[k][i] == clean[k][i] {
					continue
				}
				on[k][i] = true
				counts[k] = counts[k] || typ.NoiseWay() != optype.NoiseMove && isFar(clean[k][i], bare[k][i]) && !t.isBeside(one.Shape, i)
			}
		}
	}
	for k, one := range op.Outputs {
		h := f.outputOf(one)
		if !slices.Contains(on[k], true) {
			f.know(h, nil, false)
			continue
		}
		if f.know(h, &stale{of, on[k], clean[k]}, x.isInPlace()); counts[k] && of.Reaches == "" {
			of.Reaches, of.reached = x.row.Op, f.place
			of.ReachedRows, of.ReachedOf = rangesOf(on[k], one.Shape)
		}
	}
	return nil
}

// outputOf reads an output; tensors of its size are followed from then on.
func (f *follower) outputOf(t *recompute.Tensor) held {
	f.sizes[sizeOf(t)] = true
	return f.load(t)
}

// isBeside reports whether element i of an output lies at the place of an unwritten element of an input, or in a row that
// an input has with unwritten elements and zeros only: it pads a batch and does not count.
func (t *trial) isBeside(shape tensor.Shape, i int) bool {
	if slices.ContainsFunc(t.stale, func(s *stale) bool { return s != nil && len(s.on) == int(shape.Elements()) && s.on[i] }) {
		return true
	}
	if len(shape) < 2 {
		return false
	}
	rows, own := int(shape.Elements()/shape[len(shape)-1]), int(shape[len(shape)-1])
	for n, s := range t.stale {
		if s == nil || len(s.on)%rows != 0 {
			continue
		}
		width, first := len(s.on)/rows, i/own*(len(s.on)/rows)
		some := false
		for k := first; k < first+width && (s.on[k] || t.inputs[n].values[k] == 0); k++ {
			some = some || s.on[k]
			if k == first+width-1 && some {
				return true
			}
		}
	}
	return false
}

// leftOut notes the rows of an output behind the last sequence: its formula takes them from the output.
func (f *follower) leftOut(ctx context.Context, x *execution, op *recompute.Operator, attrs recompute.Attributes) error {
	if _, has := attrs["lengths"]; !has {
		return nil
	}
	h, as := f.outputOf(op.Outputs[0]), *op
	one, other := *h.Tensor, make(doubles, len(h.values))
	for i := range other {
		other[i] = new(stale).otherNumber(i)
	}
	one.Stored, one.Source = tensor.Float64, other
	as.Outputs = append([]*recompute.Tensor{&one}, op.Outputs[1:]...)
	e, err := recompute.Expected(ctx, as.WithInputs(op.Inputs), attrs)
	if err != nil || e == nil {
		return err
	}
	on := make([]bool, len(other))
	for i := range on {
		on[i] = e.Values[0][i] == other[i] && h.values[i] != 0
	}
	if slices.Contains(on, true) {
		f.know(h, &stale{of: f.add(x, held{Tensor: h.Tensor}), on: on}, true)
	}
	return nil
}
