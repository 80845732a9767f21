package recompute

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"dumptool/internal/tensor"
)

// countingContext counts the calls of Err, and is cancelled from call number stop on.
type countingContext struct {
	context.Context
	n, stop, after int
}

// Err implements context.Context.
func (l *countingContext) Err() error {
	if l.n++; l.stop > 0 && l.n >= l.stop {
		l.after++
		return context.Canceled
	}
	return nil
}

// countingSource counts the elements that are read after the context was cancelled.
type countingSource struct {
	numbers
	*countingContext
	late *int
}

// ReadElements implements layout.Source.
func (r countingSource) ReadElements(dst []byte, first int64) error {
	if r.after > 0 {
		*r.late += len(dst) / 4
	}
	return r.numbers.ReadElements(dst, first)
}

// TestStop: a computation stops soon after its context is cancelled, at any point: it checks the context often, and
// does hardly any work after that.
func TestStop(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(21, 21))
	in := func(shapes ...tensor.Shape) (all []*Tensor) {
		for _, s := range shapes {
			all = append(all, randomTensor(r, 1, s...))
		}
		return all
	}
	type shape = tensor.Shape
	for _, c := range []struct {
		formula, attrs string
		in             []*Tensor
		out            shape
		// cost is the least number of elements, or of multiplications, of one evaluation.
		cost int
	}{
		{"Exp", "base=-1", in(shape{1 << 9, 1 << 9}), shape{1 << 9, 1 << 9}, 1 << 18},
		{"L2Loss", "", in(shape{1 << 18}), shape{}, 1 << 18},
		{"Softmax", "axes=0", in(shape{1 << 18}), shape{1 << 18}, 1 << 18},
		{"ReduceSum", "", in(shape{8, 8, 8, 8, 8, 8}), shape{8, 8, 8, 8}, 1 << 18},
		{"Cumsum", "axes=0", in(shape{1 << 9, 1 << 9}), shape{1 << 9, 1 << 9}, 1 << 18},
		{"TopK", "axis=-1", in(shape{1 << 8, 1 << 8}), shape{1 << 8, 4}, 1 << 16},
		{"StridedSlice", "", in(shape{40, 40}), shape{20, 20}, 1 << 9},
		{"Pad", "mode=circular", in(shape{32, 32, 32}), shape{36, 36, 36}, 36 * 36 * 36},
		{"MatMul", "transpose_x1=0 transpose_x2=0 activation=none", in(shape{64, 512}, shape{512, 64}), shape{64, 64}, 64 * 64 * 512},
		{"MatMul", "", in(shape{2, 32, 32}, shape{32, 32}), shape{2, 32, 32}, 2 * 32 * 32 * 32},
		{"Conv2D", "", in(shape{1, 2, 6, 6, 6}, shape{2, 2, 3, 3, 3}), shape{1, 2, 6, 6, 6}, 2 * 2 * 27 * 216},
		{"MaxPool", "", in(shape{2, 2, 8, 8, 8}), shape{2, 2, 6, 6, 6}, 4 * 6 * 6 * 6 * 27},
		{"AdaptiveAvgPool", "", in(shape{1, 4, 64, 64}), shape{1, 4, 63, 63}, 4 * 63 * 63},
		{"Attention", "layout=BNSD scale=0.125 causal=1", in(shape{1, 2, 128, 64}, shape{1, 2, 256, 64}, shape{1, 2, 256, 64}), shape{1, 2, 128, 64}, 2 * 128 * 256 * 128},
		{"TopKRouter", "mode=all", in(shape{64, 64}, shape{64, 64}), shape{64, 2}, 64 * 64 * 64},
	} {
		outputs := in(c.out)
		if c.formula == "TopKRouter" {
			outputs = append(outputs, constantTensor(0, &Tensor{DType: tensor.Int32, Stored: tensor.Int32, Shape: c.out}))
		}
		judge := func(stop int) (l *countingContext, late int, err error) {
			l = &countingContext{Context: context.Background(), stop: stop}
			op := &Operator{Formula: c.formula, Attributes: attributesOf(c.attrs), Full: true}
			for _, x := range c.in {
				one := *x
				one.Source = countingSource{x.Source.(numbers), l, &late}
				op.Inputs = append(op.Inputs, &one)
			}
			op.Outputs = outputs
			_, err = Judge(l, op)
			return l, late, err
		}
		all, _, err := judge(0)
		const between, most = 4 << 20, 64
		if err != nil || all.n*between < c.cost || all.n < 2 {
			t.Errorf("%s %s: %d looks for %d steps, %v", c.formula, c.attrs, all.n, c.cost, err)
		}
		for _, stop := range []int{1, 2, all.n / 7, all.n / 2} {
			if stop < 1 {
				continue
			}
			l, late, err := judge(stop)
			if !errors.Is(err, context.Canceled) || l.after > most || late > cellElements {
				t.Errorf("%s %s, stopped at look %d of %d: %v, %d looks and %d elements after it", c.formula, c.attrs, stop, all.n, err, l.after, late)
			}
		}
	}
}

// TestManyAxes: windows over more axes than any convolution has are not searched for.
func TestManyAxes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(22, 22))
	for _, axes := range []int{4, 5, 9} {
		x := make(tensor.Shape, 2+axes)
		for i := range x {
			x[i] = 1
		}
		for _, formula := range []string{"MaxPool", "AvgPool", "Pooling", "AdaptiveAvgPool", "Conv2D"} {
			inputs := []*Tensor{randomTensor(r, 1, x...)}
			if formula == "Conv2D" {
				inputs = append(inputs, randomTensor(r, 1, x...))
			}
			l := &countingContext{Context: context.Background()}
			v, err := Judge(l, &Operator{Formula: formula, Inputs: inputs, Outputs: []*Tensor{randomTensor(r, 1, x...)}, Attributes: Attributes{}})
			if err != nil || v.Status != Undecided || v.Reason != NoAttributes || v.Hypotheses > 1 {
				t.Errorf("%s of %d axes: %+v, %v", formula, axes, v, err)
			}
		}
	}
}

// TestJoinedGeometries: the number of geometries of three axes is limited, and the likely ones come first.
func TestJoinedGeometries(t *testing.T) {
	t.Parallel()
	p := &problem{Operator: &Operator{}}
	all := p.listConvWindows(tensor.Shape{50, 50, 50}, tensor.Shape{51, 51, 51}, tensor.Shape{1, 1, 1}, []int64{1, 2, 3, 4, 6})
	if len(all) != maxHypotheses || all[0]["strides"].Value.String() != "1,1,1" || all[0]["dilations"].Value.String() != "1,1,1" {
		t.Errorf("%d geometries, first %v", len(all), all[0])
	}
}
