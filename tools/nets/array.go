package main

import (
	"math"
	"math/rand/v2"
)

// Type is the element type of a tensor on the NPU.
type Type uint8

// Element types.
const (
	F32 Type = iota
	F16
	BF16
	I32
	I8
	Bool
)

// types has their properties: bits of the mantissa, the exponents of the smallest and the largest normal number, and
// the names in files of frameworks.
var types = [...]struct {
	mantissa, low, high int
	name, msprobe       string
}{
	F32: {23, -126, 127, "float32", "torch.float32"}, F16: {10, -14, 15, "float16", "torch.float16"},
	BF16: {7, -126, 127, "bfloat16", "torch.bfloat16"}, I32: {name: "int32", msprobe: "torch.int32"},
	I8: {name: "int8", msprobe: "torch.int8"}, Bool: {name: "bool", msprobe: "torch.bool"},
}

// float reports whether a type is a floating-point type.
func (t Type) float() bool { return t <= BF16 }

// String returns the name of the type.
func (t Type) String() string { return types[t].name }

// round returns x in the type: nearest, ties to even, with subnormals and infinities. Integers saturate, and NaN
// becomes 0.
func (t Type) round(x float64) float64 {
	if math.IsNaN(x) && !t.float() {
		return 0
	}
	switch t {
	case F32:
		return float64(float32(x))
	case I8:
		return math.RoundToEven(min(max(x, -128), 127))
	case I32:
		return math.RoundToEven(min(max(x, math.MinInt32), math.MaxInt32))
	case Bool:
		if x != 0 {
			return 1
		}
		return 0
	}
	p := types[t]
	y := roundBits(x, p.mantissa, p.low)
	if math.Abs(y) >= math.Ldexp(1, p.high+1) {
		return math.Inf(int(math.Copysign(1, y)))
	}
	return y
}

// roundBits rounds to a mantissa of bits bits; numbers below 2^low are rounded to the same step as 2^low.
func roundBits(x float64, bits, low int) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	exponent := int(math.Float64bits(x)>>52&0x7ff) - 1023
	step := math.Ldexp(1, max(exponent, low)-bits)
	return math.RoundToEven(x/step) * step
}

// Array is a tensor in row-major order. Its type is the type on the NPU, also for values of the reference.
type Array struct {
	Shape []int
	V     []float64
	Type  Type
}

// zeros returns an array without a type, which the operator sets.
func zeros(shape ...int) *Array { return &Array{Shape: shape, V: make([]float64, size(shape))} }

// like returns zeros in the shape of a.
func (a *Array) like() *Array { return zeros(a.Shape...) }

// dim returns the length of an axis; negative axes count from the end.
func (a *Array) dim(axis int) int { return a.Shape[axis+len(a.Shape)*b2i(axis < 0)] }

// around returns the number of blocks outside of an axis, the length of the axis, and the distance of its elements.
func (a *Array) around(axis int) (outer, n, inner int) {
	if axis < 0 {
		axis += len(a.Shape)
	}
	return size(a.Shape[:axis]), a.Shape[axis], size(a.Shape[axis+1:])
}

// clone copies the elements.
func (a *Array) clone() *Array {
	return &Array{Shape: a.Shape, V: append([]float64(nil), a.V...), Type: a.Type}
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// normal returns normally distributed numbers with a standard deviation.
func normal(r *rand.Rand, std float64, shape ...int) *Array {
	a := zeros(shape...)
	for i := range a.V {
		a.V[i] = float64(float32(std * r.NormFloat64()))
	}
	return a
}

// rms returns the root mean square of the finite elements.
func rms(v []float64) float64 {
	sum, n := 0.0, 0
	for _, x := range v {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			sum, n = sum+x*x, n+1
		}
	}
	return math.Sqrt(sum / float64(max(n, 1)))
}

// peak returns the largest absolute value of the finite elements.
func peak(v []float64) (p float64) {
	for _, x := range v {
		if !math.IsInf(x, 0) && math.Abs(x) > p {
			p = math.Abs(x)
		}
	}
	return p
}

// machine computes operators: the reference exactly, an NPU in its own arithmetic.
type machine struct {
	exact bool
	// block is the number of products that an NPU accumulates before it adds their sum to the total.
	block int
	// coarse: functions are computed to the precision of their output type.
	coarse bool
	// hf32 rounds float32 inputs of convolutions (with hf32MatMul of matrix products too) to 11 bits.
	hf32, hf32MatMul bool
	// draw is the seed of random operators, which may differ from the reference's.
	draw uint64

	// fault is the fault inside the current operator; offers collects the faults that it could have.
	fault  string
	offers map[string]bool
	rng    *rand.Rand // position of the fault
	// out is the type of the first output.
	out Type
	// sums and grain are the mantissa bits of accumulators and of factors of products; 0 is exact.
	sums, grain int
	notes       map[string]int // other differences from the reference, such as ties
}

// is reports whether the operator has a fault, and records that it could have it.
func (m *machine) is(fault string) bool {
	m.offers[fault] = true
	return m.fault == fault
}

// products sets the precision of dot for matrix products or convolutions.
func (m *machine) products(in []*Array, convolution bool) {
	m.sums, m.grain = 0, 0
	if m.exact {
		return
	}
	if in[0].Type == F32 && (m.hf32 && convolution || m.hf32MatMul && !convolution) {
		m.grain = 10
		m.notes["hf32"]++
	}
	if m.is("acc16") {
		m.sums = 10
		if m.out == BF16 {
			m.sums = 7
		}
	}
	if in[0].Type != BF16 && m.is("low") {
		m.grain = 7
	}
}

// grained rounds the factors of products.
func (m *machine) grained(v []float64) []float64 {
	if m.grain == 0 {
		return v
	}
	w := make([]float64, len(v))
	for i, x := range v {
		w[i] = roundBits(x, m.grain, -126)
	}
	return w
}

// dot returns a sum of products: in float64 for the reference, in blocks of float32 on an NPU.
func (m *machine) dot(a, b []float64) float64 {
	if m.exact {
		sum := 0.0
		for i, x := range a {
			sum += x * b[i]
		}
		return sum
	}
	total := float32(0)
	for from := 0; from < len(a); from += m.block {
		to, sum := min(from+m.block, len(a)), float32(0)
		for i := from; i < to; i++ {
			sum += float32(float32(a[i]) * float32(b[i]))
			if m.sums > 0 {
				sum = float32(roundBits(float64(sum), m.sums, -126))
			}
		}
		total += sum
		if m.sums > 0 {
			total = float32(roundBits(float64(total), m.sums, -126))
		}
	}
	return float64(total)
}

// sum adds elements in the arithmetic of the machine.
func (m *machine) sum(v []float64) float64 {
	if m.exact {
		sum := 0.0
		for _, x := range v {
			sum += x
		}
		return sum
	}
	total := float32(0)
	for from := 0; from < len(v); from += m.block {
		sum := float32(0)
		for _, x := range v[from:min(from+m.block, len(v))] {
			sum += float32(x)
		}
		total += sum
	}
	return float64(total)
}

// fn returns the value y of a function at x as the machine computes it: exact, or up to 1.5 ulp off. The error
// depends on x only, like the error of a table.
func (m *machine) fn(x, y float64) float64 {
	if m.exact || y == 0 || math.IsNaN(y) || math.IsInf(y, 0) {
		return y
	}
	bits := math.Float64bits(x) * 0x9e3779b97f4a7c15
	off := (float64(bits>>40)/(1<<24) - 0.5) * 3 // from -1.5 to 1.5
	mantissa := 23
	if m.coarse && m.out.float() {
		mantissa = types[m.out].mantissa
		off /= 2
	}
	exponent := int(math.Float64bits(y)>>52&0x7ff) - 1023
	return y + off*math.Ldexp(1, exponent-mantissa)
}
