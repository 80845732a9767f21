package ranks

import (
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// precision has the properties of an element type that bound the error of sums.
type precision struct {
	// spacing is the relative distance of neighbouring values, 2^-mantissa bits. A sum may lose a full spacing, since
	// adders may truncate.
	spacing float64
	// smallest is an absolute error of a sum: the smallest subnormal, or the smallest normal value of types whose
	// subnormals may be flushed to 0. largest is the largest finite value.
	smallest, largest float64
	// bits and signed describe an integer type; bits is 0 for floats.
	bits   int
	signed bool
}

// integerPrecisions are the integer types that collectives sum.
var integerPrecisions = map[tensor.DType]precision{
	tensor.Int8: {bits: 8, signed: true}, tensor.Int16: {bits: 16, signed: true}, tensor.Int32: {bits: 32, signed: true}, tensor.Int64: {bits: 64, signed: true},
	tensor.Uint8: {bits: 8}, tensor.Uint16: {bits: 16}, tensor.Uint32: {bits: 32}, tensor.Uint64: {bits: 64},
}

// newPrecision returns the precision of a type, false for types that are not summed.
func newPrecision(d tensor.DType) (p precision, ok bool) {
	f, ok := tensor.ScalarFloat(d)
	switch {
	case !ok:
		p, ok = integerPrecisions[d]
		return p, ok
	case f.MinExp <= -126:
		return precision{spacing: f.Epsilon(), smallest: f.Normal(), largest: f.Max}, true
	}
	return precision{spacing: f.Epsilon(), smallest: f.Subnormal(), largest: f.Max}, true
}

// exactIntegers is the first integer from which on float64 does not hold all integers.
const exactIntegers = 1 << 53

// wrapInteger returns an integer modulo the number of values of its type, in two's complement.
func (p *precision) wrapInteger(v float64) float64 {
	if p.bits == 0 || p.bits == 64 {
		return v
	}
	n := int64(v) << (64 - p.bits)
	if p.signed {
		return float64(n >> (64 - p.bits))
	}
	return float64(uint64(n) >> (64 - p.bits))
}

// sumGrowth bounds the error of a sum of n numbers relative to the sum of their absolute values, for any order, rounded
// or truncated, accumulated in the type or in float32.
func (p *precision) sumGrowth(n int) float64 {
	cut, rounded := 0.0, 1.0
	for range n - 1 {
		cut += p.spacing
		rounded *= 1 + float64(p.spacing/2)
	}
	return max(cut, rounded-1)
}

// effectiveType returns the coarsest type that holds all values: a host without bfloat16 and float16 keeps them in
// float32. Few values suffice, since a coarser type only widens bounds.
func effectiveType(d tensor.DType, all ...[]float64) tensor.DType {
	if d != tensor.Float32 {
		return d
	}
	var held tensor.ValueType
	for _, values := range all {
		held.Add(values)
	}
	return held.Coarsest(0)
}

// precisionOf returns the precision of the coarsest type that holds the values of a tensor, false if unknown.
func precisionOf(t *trace.Tensor, values ...[]float64) (precision, bool) {
	d := t.DType
	if d == tensor.Undefined {
		d = tensor.Float32
	}
	return newPrecision(effectiveType(d, values...))
}
