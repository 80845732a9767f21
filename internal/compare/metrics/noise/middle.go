package noise

import (
	"math"
	"math/bits"
	"slices"
)

// middle returns the median of values that are not negative, of which there is at
// least one. It changes their order.
func middle(values []float64) float64 {
	k := (len(values) - 1) / 2
	x, next := nth(values, k)
	if len(values)%2 == 1 {
		return x
	}
	return (x + next) / 2
}

// nth returns the value that k others come before, and the one after it, +inf for none.
// The bits of values that are not negative rise as they do: parts of the range of bits
// are counted until few values are left.
func nth(values []float64, k int) (x, next float64) {
	const few, parts = 32, 1 << 8
	next = math.Inf(1)
	for len(values) > few {
		low, high := uint64(math.MaxUint64), uint64(0)
		for _, v := range values {
			low, high = min(low, math.Float64bits(v)), max(high, math.Float64bits(v))
		}
		shift := max(bits.Len64(high-low)-bits.Len(parts-1), 0)
		if low == high {
			break
		}
		var counts [parts]int32
		for _, v := range values {
			counts[(math.Float64bits(v)-low)>>shift&(parts-1)]++
		}
		part := 0
		for ; k >= int(counts[part]); part++ {
			k -= int(counts[part])
		}
		left := values[:0]
		for _, v := range values {
			switch p := int((math.Float64bits(v) - low) >> shift); {
			case p == part:
				left = append(left, v)
			case p > part && v < next:
				next = v
			}
		}
		values = left
	}
	slices.Sort(values)
	if k+1 < len(values) {
		next = values[k+1]
	}
	return values[k], next
}
