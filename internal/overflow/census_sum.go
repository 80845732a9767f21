package overflow

import (
	"math"
	"math/big"
)

// exactSum adds up float32 values, and those of narrower types, without any
// rounding: it keeps a whole number for every exponent that a mantissa may have,
// up to that of the shortest mantissas, those of bfloat16. As mantissas have 24
// bits, it holds 2^39 values at least.
type exactSum [highestExponent - lowestExponent + 1]int64

const (
	lowestExponent  = -149 // of the smallest float32
	highestExponent = 120  // of the last bit of the largest bfloat16
)

// add adds mantissa * 2^exponent.
func (s *exactSum) add(mantissa int64, exponent int) { s[exponent-lowestExponent] += mantissa }

// addTimes adds a finite value n times, which must be fewer than 2^32.
func (s *exactSum) addTimes(x float32, n int64) {
	bits := math.Float32bits(x)
	mantissa, exponent := int64(bits&(1<<23-1)), int(bits>>23&0xff)
	if exponent == 0 {
		exponent = 1
	} else {
		mantissa |= 1 << 23
	}
	if x < 0 {
		mantissa = -mantissa
	}
	s.add(mantissa*n, exponent-1+lowestExponent)
}

// mean returns the sum divided by n, rounded to nearest even.
func (s *exactSum) mean(n int64) *float64 {
	var sum, term big.Int
	last := len(s)
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] != 0 {
			sum.Lsh(&sum, uint(last-i))
			sum.Add(&sum, term.SetInt64(s[i]))
			last = i
		}
	}
	return bigMean(&sum, last+lowestExponent, n)
}

// bigMean returns sum * 2^exponent / n, rounded to nearest even. The result
// must be a normal float64.
func bigMean(sum *big.Int, exponent int, n int64) *float64 {
	var exact, count, quotient big.Float
	exact.SetInt(sum)
	quotient.SetPrec(53).Quo(&exact, count.SetInt64(n))
	mean, _ := quotient.SetMantExp(&quotient, exponent).Float64()
	return &mean
}
