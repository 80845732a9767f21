package main

import (
	"math"
	"math/rand/v2"
)

// Type is the element type that an NPU keeps a tensor in.
type Type uint8

// The element types.
const (
	F32 Type = iota
	F16
	BF16
	I32
	I8
	Bool
)

// types are their properties: bits of the mantissa, the exponents of the smallest and the
// largest normal number, and the names in the files of frameworks.
var types = [...]struct {
	mantissa, low, high int
	name, msprobe       string
}{
	F32: {23, -126, 127, "float32", "torch.float32"}, F16: {10, -14, 15, "float16", "torch.float16"},
	BF16: {7, -126, 127, "bfloat16", "torch.bfloat16"}, I32: {name: "int32", msprobe: "torch.int32"},
	I8: {name: "int8", msprobe: "torch.int8"}, Bool: {name: "bool", msprobe: "torch.bool"},
}

// float reports whether a type has fractions.
func (t Type) float() bool { return t <= BF16 }

// String returns the name of the type.
func (t Type) String() string { return types[t].name }

// round returns x in the type: to the nearest, ties to even, subnormal where it is small,
// infinite where it is too large. Integers end at their bounds, and have 0 for NaN.
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

// roundBits rounds to so many bits behind the first one, those of the exponent low where
// the number is smaller.
func roundBits(x float64, bits, low int) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	exponent := int(math.Float64bits(x)>>52&0x7ff) - 1023
	step := math.Ldexp(1, max(exponent, low)-bits)
	return math.RoundToEven(x/step) * step
}

// Array is a tensor in C order. Its type is that of the NPU, also where it holds what the
// reference computes.
type Array struct {
	Shape []int
	V     []float64
	Type  Type
}

// zeros returns an array without a type of its own; the operator gives it one.
func zeros(shape ...int) *Array { return &Array{Shape: shape, V: make([]float64, size(shape))} }

// like returns zeros in the shape of a.
func (a *Array) like() *Array { return zeros(a.Shape...) }

// dim returns the length of an axis, counted from the end where it is negative.
func (a *Array) dim(axis int) int { return a.Shape[axis+len(a.Shape)*b2i(axis < 0)] }

// around returns how many blocks an axis divides an array into, its length, and the
// distance of its elements.
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

// normal fills an array with normal numbers of a standard deviation.
func normal(r *rand.Rand, std float64, shape ...int) *Array {
	a := zeros(shape...)
	for i := range a.V {
		a.V[i] = float64(float32(std * r.NormFloat64()))
	}
	return a
}

// rms is the root of the mean square of the finite elements.
func rms(v []float64) float64 {
	sum, n := 0.0, 0
	for _, x := range v {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			sum, n = sum+x*x, n+1
		}
	}
	return math.Sqrt(sum / float64(max(n, 1)))
}

// peak is the largest absolute value of the finite elements.
func peak(v []float64) (p float64) {
	for _, x := range v {
		if !math.IsInf(x, 0) && math.Abs(x) > p {
			p = math.Abs(x)
		}
	}
	return p
}
