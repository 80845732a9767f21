package recompute

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"dumptool/internal/tensor"
)

// TestPieceOf: a piece has the elements of the whole operator at its place, the same computed values, and the worst
// element in its first output.
func TestPieceOf(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	for _, c := range []struct {
		formula, attrs string
		shape          tensor.Shape
		worst          int64
		in             []*Tensor
	}{
		{"Relu", "", tensor.Shape{40, 50}, 1234, []*Tensor{randomTensor(r, 1, 40, 50)}},
		{"Add", "", tensor.Shape{30, 40, 2}, 777, []*Tensor{randomTensor(r, 1, 30, 40, 2), randomTensor(r, 1, 40, 1)}},
		{"BiasAdd", "axis=1", tensor.Shape{4, 10, 50}, 1999, []*Tensor{randomTensor(r, 1, 4, 10, 50), randomTensor(r, 1, 10)}},
		{"Softmax", "axes=1", tensor.Shape{12, 10, 14}, 1500, []*Tensor{randomTensor(r, 1, 12, 10, 14)}},
		{"ReduceSum", "axes=1", tensor.Shape{60, 4}, 100, []*Tensor{randomTensor(r, 1, 60, 20, 4)}},
		{"GroupNorm", "num_groups=2 epsilon=1e-5", tensor.Shape{20, 4, 25}, 1000, []*Tensor{randomTensor(r, 1, 20, 4, 25), randomTensor(r, 1, 4), randomTensor(r, 1, 4)}},
		{"MatMul", "transpose_x1=0 transpose_x2=0", tensor.Shape{50, 6}, 200, []*Tensor{randomTensor(r, 1, 50, 20), randomTensor(r, 1, 20, 6), randomTensor(r, 1, 6)}},
		{"MatMul", "transpose_x1=1 transpose_x2=1", tensor.Shape{50, 30}, 777, []*Tensor{randomTensor(r, 1, 20, 50), randomTensor(r, 1, 30, 20), randomTensor(r, 1, 50, 30)}},
		{"MatMul", "transpose_x1=0 transpose_x2=1", tensor.Shape{5, 10, 8}, 300, []*Tensor{randomTensor(r, 1, 5, 10, 12), randomTensor(r, 1, 5, 8, 12)}},
		{"Conv2D", "strides=1,1 pads=1,1 dilations=1,1", tensor.Shape{6, 5, 6, 6}, 700, []*Tensor{randomTensor(r, 1, 6, 3, 6, 6), randomTensor(r, 1, 5, 3, 3, 3), randomTensor(r, 1, 5)}},
	} {
		out := computedBy(t, c.formula, c.attrs, c.shape, c.in...)
		out.Source.(numbers).v[c.worst] += 99
		op := &Operator{Formula: c.formula, Inputs: c.in, Outputs: []*Tensor{out}, Attributes: attributesOf(c.attrs), Fused: new(bool)}
		v, err := Judge(context.Background(), op)
		if err != nil || v.Status != Wrong {
			t.Errorf("%s %s: %s, %v", c.formula, c.attrs, v.Status, err)
			continue
		}
		whole, err := ComputeExpected(context.Background(), op, v.Attributes)
		if err != nil {
			t.Fatal(err)
		}
		const most = 6000
		p, err := PieceOf(context.Background(), op, v, most)
		if err != nil || p == nil || p.IsUncut() || p.Bad != 1 || !p.isSmallEnough(formulaOf(c.formula), v.Attributes, most) {
			t.Errorf("%s %s: no piece with the wrong element alone, %v", c.formula, c.attrs, err)
			continue
		}
		for k, q := range p.Inputs {
			comparePiece(t, c.formula, q, p.InputCuts[k], mustWhole(t, c.in[k]), mustWhole(t, q))
		}
		comparePiece(t, c.formula, p.Outputs[0], p.OutputCuts[0], mustWhole(t, out), mustWhole(t, p.Outputs[0]))
		comparePiece(t, c.formula+" expected", p.Outputs[0], p.OutputCuts[0], whole.Values[0], p.Values[0])
	}
	// Operators that do not fit or cannot be cut.
	x := randomTensor(r, 1, 4, 4)
	op := &Operator{Formula: "Relu", Inputs: []*Tensor{x}, Outputs: []*Tensor{x}, Attributes: Attributes{}}
	v, err := Judge(context.Background(), op)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := PieceOf(context.Background(), op, v, 19); p != nil || err != nil {
		t.Errorf("a piece of less than one element's size: %+v, %v", p, err)
	}
}

// TestBoundsOfSmallNumbers: the exported bounds mark as many elements as the verdict counts, among numbers below the
// smallest normal number of float16, 6.1e-5: 0 is right there, another number is not.
func TestBoundsOfSmallNumbers(t *testing.T) {
	t.Parallel()
	const n = 64
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = float64(i+1) * 0x1p-22
		switch i % 4 {
		case 0: // flushed to zero
		case 1, 2:
			y[i] = x[i]
		case 3:
			y[i] = x[i] + 0x1p-18
		}
	}
	half := func(v []float64) *Tensor {
		return &Tensor{DType: tensor.Float16, Stored: tensor.Float32, Shape: tensor.Shape{n}, Source: numbers{v, tensor.Float32}}
	}
	op := &Operator{Formula: "Relu", Inputs: []*Tensor{half(x)}, Outputs: []*Tensor{half(y)}, Attributes: Attributes{}}
	v, err := Judge(context.Background(), op)
	if err != nil || v.Status != Wrong || v.countBad() != n/4 {
		t.Fatalf("%+v, %v", v, err)
	}
	p, err := PieceOf(context.Background(), op, v, 1<<20)
	if err != nil || p == nil {
		t.Fatal(err)
	}
	for i := range x {
		if is := math.Abs(y[i]-p.Values[0][i]) > p.Bounds[0][i]; is != (i%4 == 3) {
			t.Errorf("element %d, %g for %g, is beyond its bound of %g: %t", i, y[i], p.Values[0][i], p.Bounds[0][i], is)
		}
	}
}

func mustWhole(t *testing.T, x *Tensor) []float64 {
	t.Helper()
	v, err := x.Values()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// comparePiece compares the elements of a piece with the elements of the whole tensor at its place.
func comparePiece(t *testing.T, name string, q *Tensor, cut *PieceRange, whole, part []float64) {
	t.Helper()
	if cut == nil {
		cut = &PieceRange{make([]int64, len(q.Shape)), q.Shape}
	}
	strides := cut.Of.Strides()
	for i, v := range part {
		offset := int64(0)
		for k, n := range q.Shape.Coordinates(int64(i)) {
			offset += (cut.From[k] + n) * strides[k]
		}
		if whole[offset] != v {
			t.Errorf("%s: element %d of %s from %v of %s is %v, want %v", name, i, q.Shape, cut.From, cut.Of, v, whole[offset])
			return
		}
	}
}
