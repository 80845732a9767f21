package kernel

import (
	"math"

	"dumptool/internal/tensor"
)

// pairSums has the results of pairsVector: extremes of both sides as codes, smallest
// magnitudes, distances of the float16 codes, and by lane the sums of the codes and of their
// squares, n first.
type pairSums struct {
	squares               [4]int64
	codes                 [8]int32
	rLow, rHigh           int32
	rLeast, rNotZero, sum uint32 // rNotZero: smallest magnitude above 0, minus 1
	// Bounds of n as unsigned numbers in rising order. nHigh and apart have all bits
	// inverted, so they are minima.
	nLow, nHigh, nLeast, apart uint16
}

// HalfPairs decodes pairs of float16 and float32 elements to n and r, and computes the spans
// and the digests (codes in float16), in one pass. It returns false if a value is not finite.
// A block has at most 2^16 pairs.
func HalfPairs(n, r []float64, nStored, rStored []byte, nSpan, rSpan *Span, d *Digests) bool {
	var s pairSums
	if !pairsHead(n, r, nStored, rStored, &s) {
		return halfPairsPlain(n, r, nStored, rStored, nSpan, rSpan, d)
	}
	return s.convert(nSpan, rSpan, d)
}

// convert converts the sums to spans and digests; false if a value is not finite.
func (s *pairSums) convert(nSpan, rSpan *Span, d *Digests) bool {
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
