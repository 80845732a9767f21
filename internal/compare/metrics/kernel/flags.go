package kernel

import (
	"encoding/binary"
	"math"
)

// Flagged are the sum of those magnitudes that have a flag, as Sum has it if the others are
// 0, the largest of them, and their number.
type Flagged struct {
	Sum, Max float64
	Count    int64
}

// SumFlagged adds up the magnitudes that have a flag. NaN is larger than any.
func SumFlagged(values []float64, flags []uint8, flag uint8) Flagged {
	var sums [4]float64
	var high uint64
	count := int64(0)
	values = values[:len(flags)]
	for i, f := range flags {
		is := (uint64(f&flag) + 0xff) >> 8 // 1 or 0
		bits := math.Float64bits(values[i]) & -is
		sums[i&3] += math.Float64frombits(bits)
		high = max(high, bits)
		count += int64(is)
	}
	return Flagged{lanes(sums[:]), math.Float64frombits(high), count}
}

// Mark sets flags to a flag of the pairs with |d| > atol + rtol*|r|, to 0 of others, and adds
// up their |d|. Neither |d| nor the limit is NaN. Whether a pair passes is not to be guessed,
// so there are no jumps: the bits of numbers that are not negative rise as they do.
func Mark(flags []uint8, abs, r []float64, atol, rtol float64, flag uint8) Flagged {
	var sums [4]float64
	var high, count uint64
	beyond := func(a, x uint64) uint64 { // all bits or none
		limit := atol + float64(rtol*math.Float64frombits(x&^SignBit))
		return uint64(int64(math.Float64bits(limit)-a) >> 63)
	}
	absBits, refs := sliceBits(abs), sliceBits(r)[:len(abs)]
	s0, s1, s2, s3 := 0.0, 0.0, 0.0, 0.0
	four, i := uint32(flag)*0x01010101, 0
	for ; len(absBits) >= 4 && len(refs) >= 4; absBits, refs = absBits[4:], refs[4:] {
		a0, a1, a2, a3 := absBits[0], absBits[1], absBits[2], absBits[3]
		m0, m1, m2, m3 := beyond(a0, refs[0]), beyond(a1, refs[1]), beyond(a2, refs[2]), beyond(a3, refs[3])
		binary.LittleEndian.PutUint32(flags[i:], uint32(m0&0xff|m1&0xff00|m2&0xff0000|m3&0xff000000)&four)
		i += 4
		count -= m0 + m1 + m2 + m3
		a0 &= m0
		a1 &= m1
		a2 &= m2
		a3 &= m3
		high = max(high, a0, a1, a2, a3)
		s0 += math.Float64frombits(a0)
		s1 += math.Float64frombits(a1)
		s2 += math.Float64frombits(a2)
		s3 += math.Float64frombits(a3)
	}
	sums = [4]float64{s0, s1, s2, s3}
	for k, a := range absBits {
		m := beyond(a, refs[k])
		flags[i+k] = uint8(m) & flag
		count -= m
		high = max(high, m&a)
		sums[k] += math.Float64frombits(m & a)
	}
	return Flagged{lanes(sums[:]), math.Float64frombits(high), int64(count)}
}

// CountFlags adds 1 to the counts of elements with a flag, and returns how many these
// are.
func CountFlags(counts []int64, flags []uint8, flag uint8) (count int64) {
	counts = counts[:len(flags)]
	for i, f := range flags {
		is := (int64(f&flag) + 0xff) >> 8
		counts[i] += is
		count += is
	}
	return count
}
