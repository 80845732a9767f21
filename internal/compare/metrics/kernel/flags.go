package kernel

import "math"

// SumFlagged returns the sum of those magnitudes that have a flag, as Sum does if the
// others are 0, the largest of them and their number. NaN is larger than any.
func SumFlagged(values []float64, flags []uint8, flag uint8) (sum, largest float64, count int64) {
	var sums [4]float64
	var high uint64
	values = values[:len(flags)]
	for i, f := range flags {
		is := (uint64(f&flag) + 0xff) >> 8 // 1 or 0
		bits := math.Float64bits(values[i]) & -is
		sums[i&3] += math.Float64frombits(bits)
		high = max(high, bits)
		count += int64(is)
	}
	return lanes(sums[:]), math.Float64frombits(high), count
}

// Mark sets a flag of the pairs with |d| > atol + rtol*|r|, and reports whether there
// are any. Neither |d| nor the limit is NaN. Whether a pair passes is not to be guessed,
// so there are no jumps: the bits of numbers that are not negative rise as they do.
func Mark(flags []uint8, abs, r []float64, atol, rtol float64, flag uint8) bool {
	r, flags = r[:len(abs)], flags[:len(abs)]
	marked := uint8(0)
	for i := range abs {
		limit := atol + float64(rtol*math.Abs(r[i]))
		bad := -uint8((math.Float64bits(limit)-math.Float64bits(abs[i]))>>63) & flag
		flags[i] |= bad
		marked |= bad
	}
	return marked != 0
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
