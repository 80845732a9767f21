package tensor

import (
	"encoding/binary"
	"math"
)

// sortable maps the codes of float32 to integers in the order of their values,
// NaN beyond the infinities, and back.
func sortable(code int32) int32 { return code ^ code>>31&math.MaxInt32 }

// scanFloats adds up float32, in four sums that take turns, so that an addition need not
// wait for the one before it.
func scanFloats(chunk []byte) partial {
	low, high := int32(math.MaxInt32), int32(math.MinInt32)
	var s0, s1, s2, s3 Sum
	for ; len(chunk) >= 16; chunk = chunk[16:] {
		a, b := binary.LittleEndian.Uint32(chunk), binary.LittleEndian.Uint32(chunk[4:])
		c, d := binary.LittleEndian.Uint32(chunk[8:]), binary.LittleEndian.Uint32(chunk[12:])
		s0 = s0.Plus(float64(math.Float32frombits(a)))
		s1 = s1.Plus(float64(math.Float32frombits(b)))
		s2 = s2.Plus(float64(math.Float32frombits(c)))
		s3 = s3.Plus(float64(math.Float32frombits(d)))
		p, q, r, s := sortable(int32(a)), sortable(int32(b)), sortable(int32(c)), sortable(int32(d))
		low, high = min(low, p, q, r, s), max(high, p, q, r, s)
	}
	for ; len(chunk) >= 4; chunk = chunk[4:] {
		code := binary.LittleEndian.Uint32(chunk)
		s0 = s0.Plus(float64(math.Float32frombits(code)))
		low, high = min(low, sortable(int32(code))), max(high, sortable(int32(code)))
	}
	value := func(key int32) float64 { return float64(math.Float32frombits(uint32(sortable(key)))) }
	return partial{value(low), value(high), s0.Merge(s1).Merge(s2.Merge(s3))}
}

// scanInts adds up integers of 32 bits. Unsigned ones are taken as signed ones
// after their first bit has been flipped, which subtracts half the range.
func scanInts(chunk []byte, flip uint32) partial {
	low, high, sum := int64(math.MaxInt32), int64(math.MinInt32), int64(0)
	for rest := chunk; len(rest) >= 4; rest = rest[4:] {
		x := int64(int32(binary.LittleEndian.Uint32(rest) ^ flip))
		sum += x
		low, high = min(low, x), max(high, x)
	}
	half := int64(flip)
	sum += int64(len(chunk)/4) * half
	return partial{float64(low + half), float64(high + half), Sum{Value: float64(sum)}}
}

// addWords adds integers of 64 bits, whose halves are added up apart because
// float64 cannot hold them. Unsigned ones are flipped as in scanInts.
func (a *Accumulator) addWords(chunk []byte) {
	flip := uint64(0)
	if a.dec.Host() == HostUint64 {
		flip = 1 << 63
	}
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	var upper, lower int64
	for rest := chunk; len(rest) >= 8; rest = rest[8:] {
		x := int64(binary.LittleEndian.Uint64(rest) ^ flip)
		upper += x >> 32
		lower += int64(uint32(x))
		low, high = min(low, x), max(high, x)
	}
	value := func(x int64) float64 {
		if flip != 0 {
			return float64(uint64(x) ^ flip)
		}
		return float64(x)
	}
	sum := Sum{Value: float64(float64(upper) * (1 << 32))}.Plus(float64(lower))
	sum = sum.Plus(float64(float64(len(chunk)/8) * float64(flip)))
	a.finite.merge(partial{value(low), value(high), sum})
	if !(value(low) <= a.limits.low && flip == 0 || value(high) >= a.limits.high) {
		return
	}
	for i := 0; i < len(chunk); i += 8 {
		if x := int64(binary.LittleEndian.Uint64(chunk[i:]) ^ flip); x == math.MaxInt64 || x == math.MinInt64 && flip == 0 {
			a.note(atLimit, Element{a.count + int64(i/8), value(x)})
		}
	}
}
