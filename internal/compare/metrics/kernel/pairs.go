package kernel

import (
	"math"

	"dumptool/internal/tensor"
)

// pairLanes holds what pairTotals does by lanes: the bounds of both sides by their
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

// pairTotals holds what HalfPairs finds, in the order of values as pairLanes does.
type pairTotals struct {
	nLow, nHigh   int16
	nLeast, apart uint16
	rLow, rHigh   int32
	rLeast        uint32
	sum           uint32 // of at most 2^16 distances
	n, r          uint64
	// rNotZero is the least magnitude of r above 0, 0 if all are 0. Of pairs that are alike
	// there are nZeros and rZeros, and nSmall elements of n are not normal, zeros among
	// them; others is not 0 if some are not alike.
	rNotZero, nZeros, nSmall, rZeros, others uint32
}

// newPairLanes returns the lanes of no pairs.
func newPairLanes() (out pairLanes) {
	for k := range 8 {
		out.nLow[k], out.nHigh[k], out.nLeast[k] = math.MaxInt16, math.MinInt16, math.MaxUint16
		out.rLow[k], out.rHigh[k], out.rLeast[k] = math.MaxInt32, math.MinInt32, math.MaxUint32
	}
	return out
}

// totals joins the lanes.
func (l *pairLanes) totals() pairTotals {
	t := pairTotals{others: 1, nLow: l.nLow[0], nHigh: l.nHigh[0], nLeast: l.nLeast[0], rLow: l.rLow[0], rHigh: l.rHigh[0], rLeast: l.rLeast[0]}
	for k := range 8 {
		t.nLow, t.nHigh, t.nLeast = min(t.nLow, l.nLow[k]), max(t.nHigh, l.nHigh[k]), min(t.nLeast, l.nLeast[k])
		t.rLow, t.rHigh, t.rLeast = min(t.rLow, l.rLow[k]), max(t.rHigh, l.rHigh[k]), min(t.rLeast, l.rLeast[k])
		t.apart = max(t.apart, l.apart[k])
		t.sum += l.sum[k]
	}
	for k := range 4 {
		t.n += l.n[k]
		t.r += l.r[k]
	}
	return t
}

// HalfPairs sets n and r to the values of pairs of float16 and float32 elements, and
// returns their spans and the digests of their codes in float16, in one pass: ok is
// false where a value is not finite, or the vectors cannot do that. A block of pairs has
// at most 2^16.
func HalfPairs(n, r []float64, nStored, rStored []byte) (nSpan, rSpan Span, d Digests, ok bool) {
	if !vectors {
		return plainPairs(n, r, nStored, rStored)
	}
	if len(n) == 0 {
		return nSpan, rSpan, d, false
	}
	t, ok := pairsHead(n, r, nStored, rStored)
	if !ok {
		return nSpan, rSpan, d, false
	}
	const infinity16, infinity32, normal32 = 0x7c00, 0x7f800000, 1 << 23
	if max(t.nHigh, ^t.nLow) >= infinity16 || max(t.rHigh, ^t.rLow) >= infinity32 {
		return nSpan, rSpan, d, false
	}
	half := func(key int16) float64 { return tensor.Float16To64(uint16(key ^ key>>15&math.MaxInt16)) }
	single := func(key int32) float64 {
		return float64(math.Float32frombits(uint32(key ^ key>>31&math.MaxInt32)))
	}
	nSpan = span(half(t.nLow), half(t.nHigh), half(int16(t.nLeast)))
	rSpan = span(single(t.rLow), single(t.rHigh), single(int32(t.rLeast)))
	if rSpan.NotZero = single(int32(t.rNotZero)); t.rNotZero == 0 && t.others == 0 {
		rSpan.NotZero = math.Inf(1)
	}
	d = Digests{N: t.n, R: t.r, MaxDistance: uint64(t.apart), SumDistance: uint64(t.sum)}
	if t.others == 0 && t.rNotZero-1 >= normal32-1 {
		// A reference that rounds to an element that is not normal is below the normal
		// numbers of float16 too.
		d.Small, d.Counted = Small{NZeros: int64(t.nZeros), NSmall: int64(t.nSmall - t.nZeros), RZeros: int64(t.rZeros)}, true
	}
	return nSpan, rSpan, d, true
}

// span returns the span of finite values.
func span(low, high, minAbs float64) Span {
	return Span{Min: low + 0, Max: high + 0, MinAbs: minAbs, MaxAbs: max(math.Abs(low), math.Abs(high))}
}
