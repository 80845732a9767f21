package kernel

import (
	"math"

	"dumptool/internal/tensor"
)

// pairLanes holds what HalfPairs finds, by lanes: the bounds of both sides by their
// codes in the order of values, the smallest magnitudes, the distances of the codes in
// float16, and the sums of their hashes.
type pairLanes struct {
	nLow, nHigh   [8]int16
	nLeast, apart [8]uint16
	rLow, rHigh   [8]int32
	rLeast        [8]uint32
	n, r          [4]uint64
	sum           [8]uint32
}

// HalfPairs sets n and r to the values of pairs of float16 and float32 elements, and
// returns their spans and the digests of their codes in float16, in one pass: ok is
// false where a value is not finite, or the vectors cannot do that. A block of pairs has
// at most 2^16.
func HalfPairs(n, r []float64, nStored, rStored []byte) (nSpan, rSpan Span, d Digests, ok bool) {
	if !vectors {
		return plainPairs(n, r, nStored, rStored)
	}
	var out pairLanes
	for k := range 8 {
		out.nLow[k], out.nHigh[k], out.nLeast[k] = math.MaxInt16, math.MinInt16, math.MaxUint16
		out.rLow[k], out.rHigh[k], out.rLeast[k] = math.MaxInt32, math.MinInt32, math.MaxUint32
	}
	if len(n) == 0 || !pairsHead(n, r, nStored, rStored, &out) {
		return nSpan, rSpan, d, false
	}
	nLow, nHigh, nLeast := out.nLow[0], out.nHigh[0], out.nLeast[0]
	rLow, rHigh, rLeast := out.rLow[0], out.rHigh[0], out.rLeast[0]
	for k := range 8 {
		nLow, nHigh, nLeast = min(nLow, out.nLow[k]), max(nHigh, out.nHigh[k]), min(nLeast, out.nLeast[k])
		rLow, rHigh, rLeast = min(rLow, out.rLow[k]), max(rHigh, out.rHigh[k]), min(rLeast, out.rLeast[k])
		d.MaxDistance = max(d.MaxDistance, uint64(out.apart[k]))
		d.SumDistance += uint64(out.sum[k])
	}
	for k := range 4 {
		d.N += out.n[k]
		d.R += out.r[k]
	}
	const infinity16, infinity32 = 0x7c00, 0x7f800000
	if max(nHigh, ^nLow) >= infinity16 || max(rHigh, ^rLow) >= infinity32 {
		return nSpan, rSpan, d, false
	}
	table := (*[1 << 16]float32)(tensor.CodeValues(tensor.Float16))
	half := func(key int16) float64 { return float64(table[uint16(key^key>>15&math.MaxInt16)]) }
	single := func(key int32) float64 {
		return float64(math.Float32frombits(uint32(key ^ key>>31&math.MaxInt32)))
	}
	nSpan = span(half(nLow), half(nHigh), half(int16(nLeast)))
	rSpan = span(single(rLow), single(rHigh), single(int32(rLeast)))
	return nSpan, rSpan, d, true
}

// span returns the span of finite values.
func span(low, high, minAbs float64) Span {
	return Span{Min: low + 0, Max: high + 0, MinAbs: minAbs, MaxAbs: max(math.Abs(low), math.Abs(high))}
}
