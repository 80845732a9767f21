package kernel

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// FlaggedSums has the sum, the maximum and the number of the flagged magnitudes. The sum has the
// bits of Sum with the other magnitudes set to 0.
type FlaggedSums struct {
	Sum, Max float64
	Count    int64
}

// eachByte has bit 0 of every byte set.
const eachByte = 0x0101010101010101

// SumFlagged sums the magnitudes whose flag, a single bit, is set. NaN counts as the largest.
// Fast paths: neighbours often have all the flag, or none.
func SumFlagged(values []float64, flags []uint8, flag uint8) FlaggedSums {
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
	return FlaggedSums{sumLanes(sums[:]), math.Float64frombits(max(high, high1)), int64(count)}
}

// CountFlags adds 1 to the counts of elements with a flag and returns the number of these
// elements. Counts are below 255, flags below 128.
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
