package engine

import "math"

// census counts zeros, subnormal and saturated elements. A leaf without any
// costs nothing.
func (l *leaf) census() {
	e, counts := l.e, &l.part.counts
	if l.nSpan.minAbs < max(e.npu.normal, math.SmallestNonzeroFloat64) || l.rSpan.minAbs < max(e.ref.normal, math.SmallestNonzeroFloat64) {
		c := countSmall(l.n, l.r, e.npu.normal, e.ref.normal)
		counts[npuZeros] += c.nZeros
		counts[npuSubnormal] += c.nSmall
		counts[refZeros] += c.rZeros
		counts[refSubnormal] += c.rSmall
		counts[underflowed] += c.under
	}
	if !e.npu.bool && (l.nSpan.maxAbs >= e.npu.high || l.rSpan.maxAbs >= e.refSaturates) {
		l.countSaturated()
	}
}

// smalls counts the zeros of both sides, the other elements below the smallest
// normal numbers of their types, and the pairs whose NPU element is below that
// while the reference is not below the NPU's.
type smalls struct{ nZeros, nSmall, rZeros, rSmall, under int64 }

// countSmall counts small elements; types without subnormal numbers have the
// smallest normal number 0.
func countSmall(n, r []float64, nNormal, rNormal float64) smalls {
	var out [20]int64
	done := smallHead(n, r, nNormal, rNormal, &out)
	var c [5]int64
	for i, x := range out {
		c[i/4] += x
	}
	nBits, rBits := math.Float64bits(nNormal), math.Float64bits(rNormal)
	r = r[:len(n)]
	for i := done; i < len(n); i++ {
		x, y := math.Float64bits(n[i])&^signBit, math.Float64bits(r[i])&^signBit
		below := (x - nBits) >> 63
		c[0] += int64((x - 1) >> 63)
		c[1] += int64(below)
		c[2] += int64((y - 1) >> 63)
		c[3] += int64((y - rBits) >> 63)
		c[4] += int64(below &^ ((y - nBits) >> 63))
	}
	s := smalls{nZeros: c[0], rZeros: c[2], under: c[4]}
	if nNormal > 0 {
		s.nSmall = c[1] - c[0]
	}
	if rNormal > 0 {
		s.rSmall = c[3] - c[2]
	}
	return s
}

// saturation returns the sign of the limit that an element of a side is at, 0
// if it is at none; of a complex element that of its first such part.
func (l *leaf) saturation(codes []int64, i int) int {
	npu := l.e.npu
	if !l.e.complex {
		return npu.limitOf(codes[i])
	}
	if s := npu.limitOf(codes[2*i]); s != 0 {
		return s
	}
	return 2 * npu.limitOf(codes[2*i+1])
}

// limitOf returns the sign of the limit that a code is, 0 if it is none.
func (n *number) limitOf(code int64) int {
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

func (l *leaf) countSaturated() {
	counts := &l.part.counts
	for i := range l.count {
		n, r := l.saturation(l.nCodes, i), l.saturation(l.rCodes, i)
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
