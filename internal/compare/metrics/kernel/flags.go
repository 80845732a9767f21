package kernel

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Flagged are the sum of those magnitudes that have a flag, as Sum has it if the others are
// 0, the largest of them, and their number.
type Flagged struct {
	Sum, Max float64
	Count    int64
}

// eachByte has one bit of each byte.
const eachByte = 0x0101010101010101

// SumFlagged adds up the magnitudes that have a flag, which is one bit. NaN is larger than any.
// Often all of some neighbours have it, or none.
func SumFlagged(values []float64, flags []uint8, flag uint8) Flagged {
	s0, s1, s2, s3 := 0.0, 0.0, 0.0, 0.0
	var high, high1 uint64
	count, shift := 0, bits.TrailingZeros8(flag)
	rest := sliceBits(values)[:len(flags)]
	for ; len(rest) >= 8 && len(flags) >= 8; rest, flags = rest[8:], flags[8:] {
		has := binary.LittleEndian.Uint64(flags) >> shift & eachByte
		if has == 0 {
			continue
		}
		a := (*[8]uint64)(rest)
		count += bits.OnesCount64(has)
		if has == eachByte {
			high, high1 = max(high, a[0], a[1], a[2], a[3]), max(high1, a[4], a[5], a[6], a[7])
			s0 = s0 + math.Float64frombits(a[0]) + math.Float64frombits(a[4])
			s1 = s1 + math.Float64frombits(a[1]) + math.Float64frombits(a[5])
			s2 = s2 + math.Float64frombits(a[2]) + math.Float64frombits(a[6])
			s3 = s3 + math.Float64frombits(a[3]) + math.Float64frombits(a[7])
			continue
		}
		for i := 0; i < 8; i += 4 {
			a0, a1, a2, a3 := a[i]&-(has&1), a[i+1]&-(has>>8&1), a[i+2]&-(has>>16&1), a[i+3]&-(has>>24&1)
			has >>= 32
			high, high1 = max(high, a0, a1), max(high1, a2, a3)
			s0 += math.Float64frombits(a0)
			s1 += math.Float64frombits(a1)
			s2 += math.Float64frombits(a2)
			s3 += math.Float64frombits(a3)
		}
	}
	sums := [4]float64{s0, s1, s2, s3}
	for i, f := range flags {
		is := uint64(f) >> shift & 1
		a := rest[i] & -is
		sums[i&3] += math.Float64frombits(a)
		high = max(high, a)
		count += int(is)
	}
	return Flagged{lanes(sums[:]), math.Float64frombits(max(high, high1)), int64(count)}
}

// Known is what is known of pairs that are to be marked: the range of |r|, the sum of |d|, as
// Sum has it, and the largest.
type Known struct{ MinRef, MaxRef, Sum, Max float64 }

// farOff is by how much the mean |d| is above the limits where the range of these decides about
// nearly all pairs.
const farOff = 16

// Mark sets flags to a flag of the pairs with |d| > atol + rtol*|r|, to 0 of others, and adds
// up their |d|. Neither |d| nor the limit is NaN. Whether a pair passes is not to be guessed,
// so there are no jumps: the bits of numbers that are not negative rise as they do.
func Mark(flags []uint8, abs, r []float64, atol, rtol float64, flag uint8, k Known) Flagged {
	if high := atol + float64(rtol*k.MaxRef); farOff*high*float64(len(abs)) < k.Sum {
		count, zeros := markFar(flags, abs, r, atol, rtol, flag, k)
		if zeros {
			return Flagged{k.Sum, k.Max, count}
		}
		return SumFlagged(abs, flags[:len(abs)], flag)
	}
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

// markFar marks pairs most of which are far beyond the limits, and returns how many they are,
// and whether it has seen that |d| of all others is 0.
func markFar(flags []uint8, abs, r []float64, atol, rtol float64, flag uint8, k Known) (count int64, zeros bool) {
	low, high := math.Float64bits(atol+float64(rtol*k.MinRef)), math.Float64bits(atol+float64(rtol*k.MaxRef))
	i, others, rest := 0, uint64(0), sliceBits(abs)
	for ; len(rest) >= 8; i, rest = i+8, rest[8:] {
		a := (*[8]uint64)(rest)
		x0, x1, x2, x3 := high-a[0], high-a[1], high-a[2], high-a[3]
		x4, x5, x6, x7 := high-a[4], high-a[5], high-a[6], high-a[7]
		if (x0&x1&x2&x3&x4&x5&x6&x7)>>63 != 0 {
			binary.LittleEndian.PutUint64(flags[i:], eachByte*uint64(flag))
			count += 8
			continue
		}
		beyond := x0>>63 | x1>>63<<8 | x2>>63<<16 | x3>>63<<24 | x4>>63<<32 | x5>>63<<40 | x6>>63<<48 | x7>>63<<56
		within := a[0]&^sign(x0) | a[1]&^sign(x1) | a[2]&^sign(x2) | a[3]&^sign(x3) | a[4]&^sign(x4) | a[5]&^sign(x5) | a[6]&^sign(x6) | a[7]&^sign(x7)
		others |= within
		if within <= low { // so is each of them
			binary.LittleEndian.PutUint64(flags[i:], beyond*uint64(flag))
			count += int64(bits.OnesCount64(beyond))
		} else {
			count += Mark(flags[i:i+8], abs[i:i+8], r[i:i+8], atol, rtol, flag, Known{}).Count
		}
	}
	if len(rest) > 0 {
		last := Mark(flags[i:], abs[i:], r[i:], atol, rtol, flag, Known{}).Count
		count += last
		others |= uint64(len(rest)) - uint64(last)
	}
	return count, others == 0
}

// sign returns a mask of the sign.
func sign(x uint64) uint64 { return uint64(int64(x) >> 63) }

// CountFlags adds 1 to the counts of elements with a flag, which are below 255, and returns how
// many these are. Flags are below 128.
func CountFlags(counts, flags []uint8, flag uint8) (count int) {
	counts = counts[:len(flags)]
	for ; len(flags) >= 8 && len(counts) >= 8; counts, flags = counts[8:], flags[8:] {
		has := (binary.LittleEndian.Uint64(flags)&(uint64(flag)*eachByte) + 0x7f*eachByte) >> 7 & eachByte
		binary.LittleEndian.PutUint64(counts, binary.LittleEndian.Uint64(counts)+has)
		count += bits.OnesCount64(has)
	}
	for i, f := range flags {
		is := (f&flag + 0x7f) >> 7
		counts[i] += is
		count += int(is)
	}
	return count
}
