package ranks

import (
	"math"

	"dumptool/internal/tensor"
)

// isFinite reports whether a value is a number, and no infinity.
func isFinite(v float64) bool { return v-v == 0 }

// precision is what matters of an element type for the error of sums.
type precision struct {
	// spacing is the full distance between neighbours relative to the smaller of them, since
	// adders may cut: 2 to the minus number of bits behind the point.
	spacing float64
	// smallest is what a sum may lose besides: the smallest subnormal, or the smallest
	// normal number of types for which subnormals may count as 0.
	smallest, largest float64
	// bits and signed are those of an integer, 0 for others.
	bits   int
	signed bool
}

var precisions = map[tensor.DType]precision{
	tensor.BFloat16:     {spacing: 0x1p-7, smallest: 0x1p-126, largest: 0x1.fep127},
	tensor.Float16:      {spacing: 0x1p-10, smallest: 0x1p-24, largest: 65504},
	tensor.Float32:      {spacing: 0x1p-23, smallest: 0x1p-126, largest: math.MaxFloat32},
	tensor.Float64:      {spacing: 0x1p-52, smallest: 0x1p-1022, largest: math.MaxFloat64},
	tensor.Float8E4M3FN: {spacing: 0x1p-3, smallest: 0x1p-9, largest: 448},
	tensor.Float8E5M2:   {spacing: 0x1p-2, smallest: 0x1p-16, largest: 57344},
	tensor.Int8:         {bits: 8, signed: true}, tensor.Int16: {bits: 16, signed: true}, tensor.Int32: {bits: 32, signed: true}, tensor.Int64: {bits: 64, signed: true},
	tensor.Uint8: {bits: 8}, tensor.Uint16: {bits: 16}, tensor.Uint32: {bits: 32}, tensor.Uint64: {bits: 64},
}

// exactIntegers is where float64 has no more all integers.
const exactIntegers = 1 << 53

// wrap is an integer as a type of so many bits holds it.
func (p *precision) wrap(v float64) float64 {
	if p.bits == 0 || p.bits == 64 {
		return v
	}
	n := int64(v) << (64 - p.bits)
	if p.signed {
		return float64(n >> (64 - p.bits))
	}
	return float64(uint64(n) >> (64 - p.bits))
}

// growth is how far a sum of n numbers may be from the exact one, relative to the sum of
// their absolute values, whatever its order is and whether it is rounded or cut, in the
// type or in float32.
func (p *precision) growth(n int) float64 {
	cut, rounded := 0.0, 1.0
	for range n - 1 {
		cut += p.spacing
		rounded *= 1 + float64(p.spacing/2)
	}
	return max(cut, rounded-1)
}

// holds reports whether all values are numbers of a type.
func (p *precision) holds(values []float64) bool {
	for _, v := range values {
		if v == 0 || !isFinite(v) {
			continue
		}
		if math.Abs(v) > p.largest {
			return false
		}
		_, exp := math.Frexp(v) // 2^(exp-1) <= |v| < 2^exp
		unit := math.Ldexp(1, exp-1) * p.spacing
		if unit < p.smallest && p.smallest > 0x1p-126 {
			unit = p.smallest
		}
		if q := v / unit; q != math.Trunc(q) {
			return false
		}
	}
	return true
}

// effective is the type of which all values are numbers, among those that are kept in
// float32 where the host has no like of them.
func effective(d tensor.DType, all ...[]float64) tensor.DType {
	if d != tensor.Float32 {
		return d
	}
	for _, narrow := range []tensor.DType{tensor.BFloat16, tensor.Float16} {
		p, holds := precisions[narrow], true
		for _, values := range all {
			holds = holds && p.holds(values)
		}
		if holds {
			return narrow
		}
	}
	return d
}

// precisionOf is that of the type of which some values of a tensor are, false where that is not
// known.
func precisionOf(t *Tensor, values ...[]float64) (precision, bool) {
	d := t.DType
	if d == tensor.Undefined {
		d = tensor.Float32
	}
	p, ok := precisions[effective(d, values...)]
	return p, ok
}
