package main

import (
	"math"
	"math/rand/v2"
)

// machine computes operators: the reference exactly, an NPU in its own arithmetic.
type machine struct {
	exact bool
	// block is how many products an NPU adds before it adds the sum to the others.
	block int
	// coarse units compute functions to the precision of the type of their output.
	coarse bool
	// hf32 rounds float32 inputs of convolutions (hf32MatMul: of products too) to 11 bits.
	hf32, hf32MatMul bool
	// draw is the seed of operators that draw numbers, which may differ from the
	// reference's.
	draw uint64

	// fault is what goes wrong inside the operator that is computed now, and offers are the
	// faults that it could have had.
	fault  string
	offers map[string]bool
	rng    *rand.Rand // where the fault is
	// out is the type of the first output.
	out Type
	// sums and grain are the precision of sums and of the factors of products, in bits
	// behind the first; 0 for all.
	sums, grain int
	notes       map[string]int // of what else differs from the reference, such as ties
}

// is reports whether the operator has a fault, which it thereby offers.
func (m *machine) is(fault string) bool {
	m.offers[fault] = true
	return m.fault == fault
}

// products makes ready for dot; convolution: of a convolution.
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

// dot is the sum of products: float64 in the reference, blocks in float32 in an NPU.
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

// fn is the value y of a function at x as the machine has it: exact, or up to 1.5 ulp
// off. The error depends on x alone, as that of a table does.
func (m *machine) fn(x, y float64) float64 {
	if m.exact || y == 0 || math.IsNaN(y) || math.IsInf(y, 0) {
		return y
	}
	bits := math.Float64bits(x) * 0x9e3779b97f4a7c15
	off := (float64(bits>>40)/(1<<24) - 0.5) * 3 // in -1.5 .. 1.5
	mantissa := 23
	if m.coarse && m.out.float() {
		mantissa = types[m.out].mantissa
		off /= 2
	}
	exponent := int(math.Float64bits(y)>>52&0x7ff) - 1023
	return y + off*math.Ldexp(1, exponent-mantissa)
}
