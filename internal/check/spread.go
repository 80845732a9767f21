package check

import (
	"context"
	"math"
	"slices"

	"dumptool/internal/optype"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// perturbation computes an operator with other numbers in its inputs, to see which elements of the outputs depend on
// them.
type perturbation struct {
	op    *recompute.Operator
	attrs recompute.Attributes
	// stale and values are the unwritten elements and the elements of each input, nil for an input without unwritten
	// elements.
	stale  []*unwrittenMask
	values [][]float64
}

// newPerturbation returns the perturbation of an operator. marks are the unwritten elements of inputs by their content.
func newPerturbation(f *unwrittenTracker, op *recompute.Operator, attrs recompute.Attributes, marks map[uint64]*unwrittenMask) (*perturbation, error) {
	t := &perturbation{op, attrs, make([]*unwrittenMask, len(op.Inputs)), make([][]float64, len(op.Inputs))}
	for k, in := range op.Inputs {
		if h := f.loadTracked(in); h.content != nil && marks[contentHash(h.content)] != nil {
			values, err := in.Values()
			if err != nil {
				return nil, err
			}
			t.stale[k], t.values[k] = marks[contentHash(h.content)], values
		}
	}
	return t, nil
}

// otherNumber returns the number that element i would have if the memory held other numbers. The numbers are small, so
// that they decide no maximum, and no number is the mean of others.
func (s *unwrittenMask) otherNumber(i int) float64 {
	if s.otherValues != nil {
		return s.otherValues[i]
	}
	const step = 0.6180339887
	return 0x1p-5 * (1 + math.Mod(float64(float64(i)*step), 1))
}

// noInput is an index that no input has.
const noInput = -1

// selectedValues are the numbers that an operator selects from any others, by the name of its formula.
var selectedValues = map[string]float64{
	"ReduceMax": math.MaxFloat32, "ArgMax": math.MaxFloat32, "ArgMaxWithValue": math.MaxFloat32,
	"ReduceMin": -math.MaxFloat32, "ArgMin": -math.MaxFloat32, "ArgMinWithValue": -math.MaxFloat32,
}

// isMasked reports whether a mask keeps a number from being selected: numbers of masks are below -9000, or above 9000
// where the smallest number is selected.
func isMasked(v, winner float64) bool {
	const least = 9000
	return math.Abs(v) > least && math.Signbit(v) != math.Signbit(winner)
}

// recompute computes the outputs with other numbers in place of unwritten elements. In the input kept only NaN and
// infinities are replaced, and unless winner is 0, each element that is not masked by winner. The written elements of
// the input blank become 0. The result is nil if the operator cannot be computed.
func (t *perturbation) recompute(ctx context.Context, kept, blank int, winner float64) ([][]float64, error) {
	inputs := slices.Clone(t.op.Inputs)
	for k, s := range t.stale {
		if s == nil {
			continue
		}
		values := doubles(slices.Clone(t.values[k]))
		for i, on := range s.marked {
			switch {
			case on && k != kept:
				values[i] = s.otherNumber(i)
			case on && winner != 0 && !isMasked(values[i], winner):
				values[i] = winner
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
	e, err := recompute.ComputeExpected(ctx, t.op.WithInputs(inputs), t.attrs)
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

// propagate marks the elements of the outputs that depend on unwritten elements of the inputs. It records the
// operator in source if an element also depends on written elements of the same input. The outputs are right.
func (f *unwrittenTracker) propagate(ctx context.Context, x *execution, t *perturbation, source *memory) error {
	clean, err := t.recompute(ctx, noInput, noInput, 0)
	if err != nil || clean == nil {
		return err
	}
	marked, reaches := make([][]bool, len(clean)), make([]bool, len(clean))
	for k := range clean {
		marked[k] = make([]bool, len(clean[k]))
	}
	typ := recompute.TypeOfOperator(x.op.Type, x.op.Names()[0])
	for n, s := range t.stale {
		if s == nil {
			continue
		}
		kept, err := t.recompute(ctx, n, noInput, selectedValues[t.op.Formula])
		if err != nil || kept == nil {
			return err
		}
		bare, err := t.recompute(ctx, noInput, n, 0)
		if err != nil || bare == nil {
			return err
		}
		for k, output := range t.op.Outputs {
			for i := range marked[k] {
				if kept[k][i] != clean[k][i] {
					marked[k][i] = true
					reaches[k] = reaches[k] || typ.NoiseWay() != optype.NoiseMove && isFar(clean[k][i], bare[k][i]) && !t.isBeside(output.Shape, i)
				}
			}
		}
	}
	for k, output := range t.op.Outputs {
		f.sizes[sizeOf(output)] = true
		h := f.loadTracked(output)
		if !slices.Contains(marked[k], true) {
			f.recordUnwritten(h, nil, false)
			continue
		}
		f.recordUnwritten(h, &unwrittenMask{source, marked[k], clean[k]}, isInPlace(x.op))
		if reaches[k] && source.Reaches == "" {
			source.Reaches, source.reachedJob = x.row.Op, f.jobIndex
			source.ReachedRows, source.ReachedOf = markedRows(marked[k], output.Shape)
		}
	}
	return nil
}

// isBeside reports whether element i of an output lies at the place of an unwritten element of an input of the same
// shape: it pads a batch and does not count.
func (t *perturbation) isBeside(shape tensor.Shape, i int) bool {
	for n, s := range t.stale {
		if s != nil && t.op.Inputs[n].Shape.Equal(shape) && s.marked[i] {
			return true
		}
	}
	return false
}

// recordUnwrittenTail records the rows behind the last sequence or group, which an operator does not write. The
// formula copies such rows from the output, or leaves 0 with the bound 0. The outputs are right.
func (f *unwrittenTracker) recordUnwrittenTail(ctx context.Context, x *execution, op *recompute.Operator, attrs recompute.Attributes) error {
	if _, has := attrs["lengths"]; !has && op.Formula != groupedProduct {
		return nil
	}
	substitute, output, other := *op, *op.Outputs[0], make(doubles, op.Outputs[0].Shape.Elements())
	values, err := output.Values()
	if err != nil {
		return err
	}
	for i := range other {
		other[i] = new(unwrittenMask).otherNumber(i)
	}
	output.Stored, output.Source = tensor.Float64, other
	substitute.Outputs = append([]*recompute.Tensor{&output}, op.Outputs[1:]...)
	e, err := recompute.ComputeExpected(ctx, substitute.WithInputs(op.Inputs), attrs)
	if err != nil || e == nil {
		return err
	}
	marked := make([]bool, len(other))
	for i := range marked {
		v := e.Values[0][i]
		marked[i] = values[i] != 0 && (v == other[i] || v == 0 && e.Bounds[0][i] == 0)
	}
	if slices.Contains(marked, true) {
		f.sizes[sizeOf(op.Outputs[0])] = true
		f.recordUnwritten(f.loadTracked(op.Outputs[0]), &unwrittenMask{memory: f.addMemory(x, loadedTensor{Tensor: op.Outputs[0]}), marked: marked}, true)
	}
	return nil
}
