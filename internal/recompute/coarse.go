package recompute

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"dumptool/internal/tensor"
)

// isCoarse reports whether the first output needs at most about half of the bits of its mantissa, although an input
// needs more bits of its mantissa and no input as few.
func (j *judge) isCoarse() (bool, error) {
	d := j.op.Outputs[0].DType
	if slices.Contains([]Class{Move, Exact, Converted, Integral}, j.formula.class) || d != tensor.Float32 && d != tensor.Float16 {
		return false, nil
	}
	for _, n := range []int64{cellElements, j.op.Outputs[0].elements()} { // few elements tell that most outputs are not
		if need, err := j.mantissaBits(j.op.Outputs[0], n); err != nil || !isCoarseMantissa(need, d) {
			return false, err
		}
	}
	isFine := false // an input
	for _, t := range j.op.Inputs {
		if t == nil || !isFloat(t.DType) || t.elements() < minFine {
			continue
		}
		need, err := j.mantissaBits(t, t.elements())
		if err != nil || isCoarseMantissa(need, t.DType) {
			return false, err
		}
		isFine = isFine || need > 0
	}
	return isFine, nil
}

// isCoarseMantissa reports whether a number of bits, 0 for unknown, is little more than half of the mantissa of a type:
// numbers of bfloat16 (7 bits) in float16 (10), numbers of float16, TF32 and HF32 (10 to 12) in float32 (23).
func isCoarseMantissa(need int, d tensor.DType) bool {
	return need > 0 && need <= formatOf(d).Mantissa/2+2
}

const (
	// coarseBits is the number of bits of the mantissa that small integers, masks and constants need at most.
	coarseBits = 4
	// minFine is the least number of elements with more bits from which a coarser type is concluded: one needs at most
	// 13 of the 23 bits of float32 by chance once in 1,000.
	minFine = 16
)

// mantissaBits returns how many bits of the mantissa, without the implicit one, the normal numbers among the first n
// elements of a tensor need. It returns 0 if too few elements tell: small integers, masks and powers of two need few bits in every
// type.
func (j *judge) mantissaBits(t *Tensor, n int64) (most int, err error) {
	const fraction = 52 // bits of a float64
	fine, format := 0, formatOf(t.DType)
	err = t.eachBlock(min(n, t.elements()), func(values []float64) {
		for _, x := range values {
			if x-x != 0 || math.Abs(x) < format.Normal() { // subnormal numbers have fewer bits
				continue
			}
			need := fraction - min(fraction, bits.TrailingZeros64(math.Float64bits(x)))
			if most = max(most, need); need > coarseBits {
				fine++
			}
		}
	})
	if err = cmp.Or(err, j.ctx.Err()); err != nil || fine < minFine {
		return 0, err
	}
	return most, nil
}
