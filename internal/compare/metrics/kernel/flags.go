package kernel

import "math"

// flagLanes holds sums of flagged magnitudes, the bits of the largest of them, and the
// numbers of those that are not flagged below 0, by lanes.
type flagLanes struct {
	sums [4]float64
	high [4]uint64
	not  [4]int64
}

// SumFlagged returns the sum of those magnitudes that have a flag, as Sum does if the
// others are 0, the largest of them and their number. NaN is larger than any.
func SumFlagged(values []float64, flags []uint8, flag uint8) (sum, largest float64, count int64) {
	var out flagLanes
	values = values[:len(flags)]
	for i := flaggedHead(values, flags, flag, &out); i < len(flags); i++ {
		is := (uint64(flags[i]&flag) + 0xff) >> 8 // 1 or 0
		bits := math.Float64bits(values[i]) & -is
		out.sums[i&3] += math.Float64frombits(bits)
		out.high[i&3] = max(out.high[i&3], bits)
		out.not[i&3] += int64(is) - 1
	}
	high := max(out.high[0], out.high[1], out.high[2], out.high[3])
	return lanes(out.sums[:]), math.Float64frombits(high), int64(len(flags)) + out.not[0] + out.not[1] + out.not[2] + out.not[3]
}

// Mark sets a flag of the pairs with |d| > atol + rtol*|r|, and reports whether there
// are any. Neither |d| nor the limit is NaN. Whether a pair passes is not to be guessed,
// so there are no jumps: the bits of numbers that are not negative rise as they do.
func Mark(flags []uint8, abs, r []float64, atol, rtol float64, flag uint8) bool {
	r, flags = r[:len(abs)], flags[:len(abs)]
	done, marked := markHead(flags, abs, r, atol, rtol, flag)
	for i := done; i < len(abs); i++ {
		limit := atol + float64(rtol*math.Abs(r[i]))
		bad := -uint8((math.Float64bits(limit)-math.Float64bits(abs[i]))>>63) & flag
		flags[i] |= bad
		marked = marked || bad != 0
	}
	return marked
}

// CountFlags adds 1 to the counts of elements with a flag, and returns how many these
// are.
func CountFlags(counts []int64, flags []uint8, flag uint8) (count int64) {
	counts = counts[:len(flags)]
	done, count := countHead(counts, flags, flag)
	for i := done; i < len(flags); i++ {
		is := (int64(flags[i]&flag) + 0xff) >> 8
		counts[i] += is
		count += is
	}
	return count
}
