package kernel

import (
	"math"

	"dumptool/internal/tensor"
)

// pairSums holds what vectors find of pairs: the bounds of both sides by their codes, the
// smallest magnitudes, the distances of the codes in float16, and the sums of these and of
// their squares by lanes, those of n first.
type pairSums struct {
	squares               [4]int64
	codes                 [8]int32
	rLow, rHigh           int32
	rLeast, rNotZero, sum uint32 // rNotZero: the smallest magnitude above 0, less 1
	// Of n, in an order of numbers without a sign; the highest code and the distance are
	// those of all bits reversed.
	nLow, nHigh, nLeast, apart uint16
}

// HalfPairs sets n and r to the values of pairs of float16 and float32 elements, and
// the spans and the digests to theirs, of codes in float16, in one pass. It returns
// false where a value is not finite. A block of pairs has at most 2^16.
func HalfPairs(n, r []float64, nStored, rStored []byte, nSpan, rSpan *Span, d *Digests) bool {
	var s pairSums
	if !pairsHead(n, r, nStored, rStored, &s) {
		return plainPairs(n, r, nStored, rStored, nSpan, rSpan, d)
	}
	return s.finish(nSpan, rSpan, d)
}

// finish does what HalfPairs does but for the values.
func (s *pairSums) finish(nSpan, rSpan *Span, d *Digests) bool {
	const infinity16, infinity32 = 0x7c00, 0x7f800000
	nLow, nHigh := int16(s.nLow^0x8000), int16(^s.nHigh^0x8000)
	if max(nHigh, -nLow) >= infinity16 || max(s.rHigh, -s.rLow) >= infinity32 {
		return false
	}
	half := func(code int16) float64 {
		return math.Copysign(tensor.Float16To64(uint16(max(code, -code))), float64(code))
	}
	single := func(code int32) float64 {
		return math.Copysign(float64(math.Float32frombits(uint32(max(code, -code)))), float64(code))
	}
	*nSpan = span(half(nLow), half(nHigh), half(int16(s.nLeast)))
	*rSpan = span(single(s.rLow), single(s.rHigh), single(int32(s.rLeast)))
	if rSpan.NotZero = math.Inf(1); s.rNotZero < math.MaxUint32 {
		rSpan.NotZero = single(int32(s.rNotZero + 1))
	}
	n, r := &s.codes, s.codes[4:]
	*d = Digests{
		N:           sumOfHashes(int64(n[0])+int64(n[1])+int64(n[2])+int64(n[3]), s.squares[0]+s.squares[1]),
		R:           sumOfHashes(int64(r[0])+int64(r[1])+int64(r[2])+int64(r[3]), s.squares[2]+s.squares[3]),
		MaxDistance: uint64(^s.apart), SumDistance: uint64(s.sum),
	}
	return true
}

// span returns the span of finite values.
func span(low, high, minAbs float64) Span {
	return Span{Min: low + 0, Max: high + 0, MinAbs: minAbs, MaxAbs: max(math.Abs(low), math.Abs(high))}
}
