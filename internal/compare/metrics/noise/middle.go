package noise

import (
	"math"
	"slices"
)

// middle returns the median of values that are not negative, of which there is at
// least one. It changes their order.
func middle(values []float64) float64 {
	const few = 128
	odd, k := len(values)%2 == 1, (len(values)-1)/2
	for len(values) > few {
		low, high := bracket(values, k)
		below, inside := part(values, low, high)
		if below > k || k+1 >= below+inside || inside == len(values) && low < high {
			break // the sample was not like the rest
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

// bracket returns the bits of two of the values that the one which k others come before
// is most likely between, by a sample at places without a pattern. The bits of values
// that are not negative rise as they do.
func bracket(values []float64, k int) (low, high uint64) {
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
	apart := 3 * int(math.Sqrt(float64(len(sample)))) / 2 // three standard deviations of the place
	return math.Float64bits(sample[max(at-apart, 0)]), math.Float64bits(sample[min(at+apart, len(sample)-1)])
}

// part moves the values between low and high to the front, both ends with them, and
// returns how many there are, and how many are below. Which ones these are is not to
// be guessed, so there are no jumps.
func part(values []float64, low, high uint64) (below, inside int) {
	for i, v := range values {
		x := math.Float64bits(v)
		less := (x - low) >> 63 // 1 or 0: no value has the sign bit
		below += int(less)
		values[i], values[inside] = values[inside], v
		inside += int(1 - (less | (high-x)>>63))
	}
	return below, inside
}
