package noise

import (
	"math"
	"slices"
)

// median returns the median of non-negative values; there must be at least one. It reorders
// them. Quickselect with two pivots from a sample.
func median(values []float64) float64 {
	const few = 128
	odd, k := len(values)%2 == 1, (len(values)-1)/2
	for len(values) > few {
		low, high := bracketRank(values, k)
		below, inside := partition(values, low, high)
		if below > k || k+1 >= below+inside || inside == len(values) && low < high {
			break // the sample was not representative
		}
		if low == high {
			return math.Float64frombits(low)
		}
		values, k = values[:inside], k-below
	}
	slices.Sort(values)
	if odd {
		return values[k]
	}
	return (values[k] + values[k+1]) / 2
}

// bracketRank returns the bits of two values between which the value of rank k most likely lies,
// from a sample at pseudo-random places. Non-negative values order like their bits.
func bracketRank(values []float64, k int) (low, high uint64) {
	const small, large, factor = 64, 256, 0x9e3779b9
	sample := make([]float64, large)
	if len(values) < 16*large {
		sample = sample[:small]
	}
	for i := range sample {
		sample[i] = values[uint64(uint32(i)*factor)*uint64(len(values))>>32]
	}
	slices.Sort(sample)
	at := k * len(sample) / len(values)
	apart := 3 * int(math.Sqrt(float64(len(sample)))) / 2 // three standard deviations of the rank in the sample
	return math.Float64bits(sample[max(at-apart, 0)]), math.Float64bits(sample[min(at+apart, len(sample)-1)])
}

// partition moves the values from low to high, both included, to the front, and returns their number and the number
// of smaller values. It has no branches, which would be mispredicted half of the time.
func partition(values []float64, low, high uint64) (below, inside int) {
	for i, v := range values {
		x := math.Float64bits(v)
		less := (x - low) >> 63 // 1 or 0: no value has the sign bit
		below += int(less)
		values[i], values[inside] = values[inside], v
		inside += int(1 - (less | (high-x)>>63))
	}
	return below, inside
}
