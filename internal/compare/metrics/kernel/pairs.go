package kernel

import (
	"math"

	"dumptool/internal/tensor"
)

// pairLanes holds what vectors find of pairs by lanes: the bounds of both sides by their
// codes in the order of values, the smallest magnitudes, the distances of the codes in
// float16, and the sums of these and of their squares, those of n first.
type pairLanes struct {
	nLow, nHigh   [8]int16
	nLeast, apart [8]uint16
	rLow, rHigh   [8]int32
	rLeast        [8]uint32
	squares       [4]int64
	codes         [8]int32
	sum           [8]uint32
	rNotZero      [8]uint32 // the smallest magnitudes above 0, less 1
}

// noPairs are the lanes of no pairs.
var noPairs = func() (out pairLanes) {
	for k := range 8 {
		out.nLow[k], out.nHigh[k], out.nLeast[k] = math.MaxInt16, math.MinInt16, math.MaxUint16
		out.rLow[k], out.rHigh[k], out.rLeast[k] = math.MaxInt32, math.MinInt32, math.MaxUint32
		out.rNotZero[k] = math.MaxUint32
	}
	return out
}()

// HalfPairs sets n and r to the values of pairs of float16 and float32 elements, and
// returns their spans and the digests of their codes in float16, in one pass: ok is
// false where a value is not finite. A block of pairs has at most 2^16.
func HalfPairs(n, r []float64, nStored, rStored []byte) (nSpan, rSpan Span, d Digests, ok bool) {
	l := noPairs
	if !pairsHead(n, r, nStored, rStored, &l) {
		return plainPairs(n, r, nStored, rStored)
	}
	return l.finish()
}

// finish joins the lanes, and returns what HalfPairs does.
func (l *pairLanes) finish() (nSpan, rSpan Span, d Digests, ok bool) {
	nLow, nHigh, nLeast, apart := l.joinN()
	rLow, rHigh, rLeast, rNotZero := l.joinR()
	var sum uint32 // of at most 2^16 distances
	for _, x := range l.sum {
		sum += x
	}
	const infinity16, infinity32 = 0x7c00, 0x7f800000
	if max(nHigh, ^nLow) >= infinity16 || max(rHigh, ^rLow) >= infinity32 {
		return nSpan, rSpan, d, false
	}
	half := func(key int32) float64 { return tensor.Float16To64(uint16(key ^ key>>15&math.MaxInt16)) }
	single := func(key int32) float64 {
		return float64(math.Float32frombits(uint32(key ^ key>>31&math.MaxInt32)))
	}
	nSpan = span(half(nLow), half(nHigh), half(nLeast))
	rSpan = span(single(rLow), single(rHigh), single(int32(rLeast)))
	if rSpan.NotZero = math.Inf(1); rNotZero < math.MaxUint32 {
		rSpan.NotZero = single(int32(rNotZero + 1))
	}
	d = Digests{
		N: sumOfHashes(l.sumOfCodes(0), l.squares[0]+l.squares[1]), R: sumOfHashes(l.sumOfCodes(4), l.squares[2]+l.squares[3]),
		MaxDistance: uint64(apart), SumDistance: uint64(sum),
	}
	return nSpan, rSpan, d, true
}

// joinN returns what n and the distances have in all lanes, in numbers that are compared
// without jumps.
func (l *pairLanes) joinN() (low, high, least, apart int32) {
	low, high, least = math.MaxInt16, math.MinInt16, math.MaxUint16
	for k := range 8 {
		low, high = min(low, int32(l.nLow[k])), max(high, int32(l.nHigh[k]))
		least, apart = min(least, int32(l.nLeast[k])), max(apart, int32(l.apart[k]))
	}
	return low, high, least, apart
}

// joinR returns what r has in all lanes.
func (l *pairLanes) joinR() (low, high int32, least, notZero uint32) {
	low, high, least, notZero = math.MaxInt32, math.MinInt32, math.MaxUint32, math.MaxUint32
	for k := range 8 {
		low, high = min(low, l.rLow[k]), max(high, l.rHigh[k])
		least, notZero = min(least, l.rLeast[k]), min(notZero, l.rNotZero[k])
	}
	return low, high, least, notZero
}

// sumOfCodes is that of a side, whose lanes begin at one.
func (l *pairLanes) sumOfCodes(first int) (sum int64) {
	for _, x := range l.codes[first:][:4] {
		sum += int64(x)
	}
	return sum
}

// span returns the span of finite values.
func span(low, high, minAbs float64) Span {
	return Span{Min: low + 0, Max: high + 0, MinAbs: minAbs, MaxAbs: max(math.Abs(low), math.Abs(high))}
}
