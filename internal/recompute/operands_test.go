package recompute

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dumptool/internal/tensor"
)

// roundToBFloat16 rounds a float32 to bfloat16 by its bits, half to even.
func roundToBFloat16(x float64) float64 {
	bits := math.Float32bits(float32(x))
	return float64(math.Float32frombits((bits + 0x7fff + bits>>16&1) &^ 0xffff))
}

// productOf multiplies matrices of 24 x 64 and 64 x 16 whose elements are rounded by factor, and adds a bias rounded
// by rest.
func productOf(x, w, bias []float64, factor, rest func(float64) float64) (y []float64) {
	for i := range 24 {
		for c := range 16 {
			sum := rest(bias[c])
			for k := range 64 {
				sum += float64(factor(x[i*64+k]) * factor(w[k*16+c]))
			}
			y = append(y, sum)
		}
	}
	return y
}

// TestOperands: status and note of products whose inputs were rounded first.
func TestOperands(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	x, w, bias := randomTensor(r, 1, 24, 64), randomTensor(r, 1, 64, 16), randomTensor(r, 1, 16)
	values := func(t *Tensor) []float64 { return t.Source.(numbers).v }
	as := func(x float64) float64 { return x }
	single := func(x float64) float64 { return float64(float32(x)) }
	rounded := func(f func(float64) float64, v []float64) []float64 {
		v = slices.Clone(v)
		for i := range v {
			v[i] = f(v[i])
		}
		return v
	}
	half := tensor.Float{Exponent: 5, Mantissa: 10, MinExp: -14, Max: tensor.MaxFloat16}
	for name, c := range map[string]struct {
		out          tensor.DType
		factor, rest func(float64) float64
		result       func(float64) float64
		damage       int // number of leading elements that are 1.5 times too large
		want         string
	}{
		"autocast to bfloat16":         {tensor.BFloat16, roundToBFloat16, roundToBFloat16, roundToBFloat16, 0, "OK  [AUTOCAST]"},
		"autocast to float16":          {tensor.Float16, half.Round, half.Round, half.Round, 0, "OK  [AUTOCAST]"},
		"output of bfloat16":           {tensor.BFloat16, as, as, roundToBFloat16, 0, "OK  []"},
		"autocast and a fault":         {tensor.BFloat16, roundToBFloat16, roundToBFloat16, roundToBFloat16, 16, "WRONG CALC_ERROR [AUTOCAST]"},
		"float32":                      {tensor.Float32, as, as, single, 0, "OK  []"},
		"factors of bfloat16":          {tensor.Float32, roundToBFloat16, as, single, 0, "WRONG OPERAND_BITS []"},
		"factors of bfloat16, a fault": {tensor.Float32, roundToBFloat16, as, single, 16, "WRONG CALC_ERROR []"},
		"a fault in float32":           {tensor.Float32, as, as, single, 16, "WRONG CALC_ERROR []"},
	} {
		y := rounded(c.result, productOf(values(x), values(w), values(bias), c.factor, c.rest))
		for i := range c.damage {
			y[i] = c.result(1.5 * y[i])
		}
		out := &Tensor{DType: c.out, Stored: tensor.Float32, Shape: tensor.Shape{24, 16}, Source: numbers{y, tensor.Float32}}
		op := &Operator{Formula: "MatMul", Inputs: []*Tensor{x, w, bias}, Outputs: []*Tensor{out}, Attributes: attributesOf("transpose_x1=0 transpose_x2=0 activation=none"), Called: true, Fused: new(bool)}
		v, err := Judge(context.Background(), op)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s %s %v", v.Status, v.Reason, v.Notes); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestScalars: a number beside a bfloat16 tensor may or may not be rounded to bfloat16 first.
func TestScalars(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 6))
	var x []float64
	for range 1024 {
		x = append(x, roundToBFloat16(r.NormFloat64()/16))
	}
	const number = 0.0417
	for name, c := range map[string]struct {
		number float64
		want   Status
	}{"exact": {number, OK}, "rounded": {roundToBFloat16(number), OK}, "another": {0.043, Wrong}} {
		y := slices.Clone(x)
		for i := range y {
			y[i] = roundToBFloat16(y[i] + c.number)
		}
		of := func(v []float64) *Tensor {
			return &Tensor{DType: tensor.BFloat16, Stored: tensor.Float32, Shape: tensor.Shape{1024}, Source: numbers{v, tensor.Float32}}
		}
		op := &Operator{Formula: "Add", Inputs: []*Tensor{of(x), Constant(number)}, Outputs: []*Tensor{of(y)}, Attributes: Attributes{}, Called: true, Fused: new(bool)}
		if v, err := Judge(context.Background(), op); err != nil || v.Status != c.want {
			t.Errorf("%s: %s %s, %v, want %s", name, v.Status, v.Reason, err, c.want)
		}
	}
}
