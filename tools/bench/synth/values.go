package synth

import (
	"math/rand/v2"

	"dumptool/internal/dumptest"
	"dumptool/internal/tensor"
)

// Float is the type of an element on the host, and that of the sums.
type Float interface{ float32 | float64 }

// Uniform returns n values from -bound up to bound, the same on every machine.
func Uniform[F Float](random *rand.Rand, n int, bound F) []F {
	out := make([]F, n)
	for i := range out {
		out[i] = (F(random.Uint64()>>40)/(1<<23) - 1) * bound
	}
	return out
}

// Halves rounds values to float16.
func Halves[F Float](values []F) []uint16 {
	out := make([]uint16, len(values))
	for i, v := range values {
		out[i] = dumptest.Half(float32(v))
	}
	return out
}

// Rounded returns the values as float16 holds them.
func Rounded[F Float](values []F) []F {
	out := make([]F, len(values))
	for i, v := range values {
		out[i] = F(tensor.Float16To32(dumptest.Half(float32(v))))
	}
	return out
}

// Convolution is a convolution of square pictures with stride 1, whose output has
// the size of its input.
type Convolution struct{ Channels, Filters, Side, Kernel int }

// Convolve returns the sums for one picture. Products of a channel that lost
// reports for a row of the output are left out; it may be nil. The products are
// rounded first, in the conversion: no compiler fuses them with the sums, which
// would change the result on some machines.
func Convolve[F Float](c Convolution, picture, weight []F, lost func(channel, row int) bool) []F {
	var output []F
	area, padding := c.Kernel*c.Kernel, c.Kernel/2
	for f := range c.Filters {
		for at := range c.Side * c.Side {
			var sum F
			for i := range c.Channels * area {
				channel, y, x := i/area, at/c.Side+i%area/c.Kernel-padding, at%c.Side+i%c.Kernel-padding
				if min(y, x) < 0 || max(y, x) >= c.Side || lost != nil && lost(channel, at/c.Side) {
					continue
				}
				sum += F(picture[(channel*c.Side+y)*c.Side+x] * weight[f*c.Channels*area+i]) //nolint:unconvert // not fused
			}
			output = append(output, sum)
		}
	}
	return output
}

// Multiply is the product of two matrices with an inner length of n. See Convolve
// about its products.
func Multiply[F Float](left, right []F, n int) []F {
	columns := len(right) / n
	out := make([]F, len(left)/n*columns)
	for i := range out {
		for k := range n {
			out[i] += F(left[i/columns*n+k] * right[k*columns+i%columns]) //nolint:unconvert // not fused
		}
	}
	return out
}
