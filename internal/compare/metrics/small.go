package metrics

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
)

// countSmall counts zeros and subnormal elements. It costs nothing for a block without small
// elements, and little for a block whose only small elements are zeros of both sides.
func (b *block) countSmall() {
	npu, ref, counts := b.e.npu.normal, b.e.ref.normal, &b.part.counts
	if b.n.span.MinAbs >= max(npu, math.SmallestNonzeroFloat64) && b.r.span.MinAbs >= max(ref, math.SmallestNonzeroFloat64) {
		return
	}
	var c kernel.Small
	ratio := b.maxRatio()
	switch {
	case ratio < 1 && b.smallestRef() >= ref && b.smallestRef()*(1-ratio) >= npu*slack:
		// Zeros are at the same places on both sides, and no other element is small.
		c = kernel.Small{NZeros: b.extent.zeros, RZeros: b.extent.zeros}
	case ratio < 1 && b.hashed && b.e.isHalfPair && b.smallestRef() >= ref:
		c = kernel.CountBelow(b.n.stored, b.r.values, b.extent.zeros)
	default:
		c = kernel.CountSmall(b.n.values, b.r.values, npu, ref)
	}
	counts[npuZeros] += c.NZeros
	counts[npuSubnormal] += c.NSmall
	counts[refZeros] += c.RZeros
	counts[refSubnormal] += c.RSmall
	counts[underflowed] += c.Under
}

// smallestRef returns the smallest magnitude above 0 of the references, +inf if there is none.
func (b *block) smallestRef() float64 {
	s := &b.r.span
	if s.MinAbs > 0 {
		return s.MinAbs
	}
	if s.NotZero == 0 {
		s.NotZero = kernel.Smallest(b.r.values)
	}
	return s.NotZero
}

// saturationSign returns the sign of the limit that element i is at, 0 if it is not
// saturated. For a complex element it is doubled if only the imaginary part is.
func (b *block) saturationSign(codes []int64, i int) int {
	npu := b.e.npu
	if !b.e.complex {
		return npu.limitSign(codes[i])
	}
	if s := npu.limitSign(codes[2*i]); s != 0 {
		return s
	}
	return 2 * npu.limitSign(codes[2*i+1])
}

// limitSign returns the sign of the limit with this code, 0 if the code is no limit.
func (n *number) limitSign(code int64) int {
	switch {
	case n.bool:
		return 0
	case code == n.highCode:
		return 1
	case code == n.lowCode:
		return -1
	}
	return 0
}

// countSaturated counts saturated elements; it costs nothing for a block without any.
func (b *block) countSaturated() {
	if b.e.npu.bool || b.n.span.MaxAbs < b.e.npu.high && b.r.span.MaxAbs < b.e.refSaturates {
		return
	}
	b.ensureCodes()
	counts := &b.part.counts
	for i := range b.count {
		n, r := b.saturationSign(b.n.codes, i), b.saturationSign(b.r.codes, i)
		if r != 0 {
			counts[refSaturated]++
		}
		if n == 0 {
			continue
		}
		counts[npuSaturated]++
		switch r {
		case 0:
			counts[overflowed]++
		case n:
			counts[saturatedBoth]++
		}
	}
}
