package verdict

import (
	"math"
	"testing"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/tensor"
)

// zeroed sets rows of the NPU to 0: the error is the reference itself, its factor -1.
func zeroed(n *noise.Noise, rows ...int) {
	n.Rows.Scale = make([]float32, len(n.Rows.RMS))
	for _, row := range rows {
		n.Rows.Scale[row], n.Rows.RMS[row], n.Rows.Max[row] = -1, n.Rows.RefRMS[row], n.Rows.RefMax[row]
	}
}

// TestZeroRows: rows of zeros are a fault of operators that mix elements, if no input explains them.
func TestZeroRows(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for _, tt := range []struct {
		name, op string
		rows     []int
		change   func(*Operator)
		want     bool
	}{
		{"unknown", "Foo", []int{3}, nil, true},
		{"norm", "LayerNorm", []int{3}, nil, true},
		{"product", "MatMul", all[1:], nil, true},
		{"softmax", "Softmax", []int{0, 7}, nil, true},
		{"no row", "MatMul", nil, nil, false},
		{"all rows", "MatMul", all, nil, false},
		{"Relu makes zeros", "Relu", []int{3}, nil, false},
		{"Mul makes zeros", "Mul", []int{3}, nil, false},
		{"a copy", "Reshape", []int{3}, nil, false},
		{"zeros in the reference", "MatMul", []int{3}, func(o *Operator) { o.Out.Rows.RefRMS[3], o.Out.Rows.RMS[3] = 0, 0 }, false},
		{"nearly zeros", "MatMul", []int{3}, func(o *Operator) { o.Out.Rows.Scale[3] = -0.999 }, false},
		{"rows of the smallest numbers of a type", "MatMul", []int{3}, func(o *Operator) { o.Out.Rows.Rounding[3] = o.Out.Rows.RefRMS[3] / 4 }, false},
		{"rows of few elements", "MatMul", []int{3}, func(o *Operator) { o.Out.Rows.Size = 7 }, false},
		{"zeros in the input", "MatMul", []int{3}, func(o *Operator) { zeroed(o.Inputs[0], 5) }, false},
		{"a row of the input that lost its spread", "LayerNorm", []int{3}, func(o *Operator) { o.Inputs[0].Rows.Relative[3] = 0.51 }, false},
		{"a row of the input that kept half of it", "LayerNorm", []int{3}, func(o *Operator) { o.Inputs[0].Rows.Relative[3] = 0.49 }, true},
		{"no input", "MatMul", []int{3}, func(o *Operator) { o.Inputs = nil }, false},
	} {
		o := operator(tt.op, 1)
		scores{all: 1}.set(o)
		zeroed(o.Out, tt.rows...)
		if tt.change != nil {
			tt.change(o)
		}
		if v := o.Judge(); (v.Kind == ZeroRows) != tt.want || tt.want && v.Level != Origin {
			t.Errorf("%s: level %d, %s, want rows of zeros: %t", tt.name, v.Level, v.Kind, tt.want)
		}
	}
}

// TestNothingButError: no error is an origin if an input's error exceeds its values, or if the output is a sum that
// is 0 apart from rounding.
func TestNothingButError(t *testing.T) {
	input := func(op string, rms float64) *Operator {
		o := operator(op, 1)
		o.Inputs[0] = even(tensor.Float16, o.Out.Shape, 1, rms)
		return o
	}
	// The sum of 8 gradients: rounding is 4 * 2^-10 * sqrt(8) = 0.011, more than an eighth of values up to 0.088.
	sum := func(ref float64) *Operator {
		o := operator("Foo", 1)
		o.Out, o.Gradients = even(tensor.Float16, tensor.Shape{1, 16}, ref, 0), 1
		return o
	}
	for _, tt := range []struct {
		name  string
		o     *Operator
		score float64
		level Level
		kind  Kind
	}{
		{"unknown, of noise", input("Foo", 1.001), 1000, Suspect, Amplified},
		{"unknown, of noise, little", input("Foo", 1.001), 2, Clean, None},
		{"unknown, of less than noise", input("Foo", 0.999), 1000, Origin, Value},
		{"norm, of noise", input("LayerNorm", 1.001), 1000, Suspect, Amplified},
		{"norm, of less than noise", input("LayerNorm", 0.999), 1000, Origin, Value},
		{"a sum that is zero in theory", sum(0.08), 1000, Suspect, Amplified},
		{"a sum that is zero in theory, little", sum(0.08), 2, Clean, None},
		{"a sum", sum(0.1), 1000, Origin, Value},
	} {
		scores{all: tt.score}.set(tt.o)
		if v := tt.o.Judge(); v.Level != tt.level || v.Kind != tt.kind {
			t.Errorf("%s: level %d, %s, want %d, %s", tt.name, v.Level, v.Kind, tt.level, tt.kind)
		}
	}
}

// TestAbsoluteErrors: an operator of unknown class passes on the absolute errors of its inputs if its output has at
// least a quarter of their size, else 1.5 of their relative errors.
func TestAbsoluteErrors(t *testing.T) {
	const rms = 0.01
	other := tensor.Shape{8, 4}
	for _, tt := range []struct {
		ref     float64
		integer bool
		want    float64
	}{
		{4, false, 1.5 * 4 * rms},
		{1, false, 1.5 * rms},
		{0.5, false, rms},
		{0.25, false, rms},
		{0.249, false, 1.5 * 0.249 * rms},
		{0.01, false, 1.5 * 0.01 * rms},
		{0.5, true, 1.5 * 0.5 * rms},
	} {
		o := operator("Foo", 1)
		o.Out = even(tensor.Float16, other, tt.ref, 0)
		o.Inputs[0] = even(tensor.Float16, tensor.Shape{8, 16}, 1, rms)
		if tt.integer {
			o.Inputs[0].Type.Integer = true
		}
		if got := o.expectedError().Propagated; math.Abs(got-tt.want) > 1e-9*tt.want {
			t.Errorf("reference %g, integers %t: %g, want %g", tt.ref, tt.integer, got, tt.want)
		}
	}
}
