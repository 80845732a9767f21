package engine

import "math"

// census counts zeros, subnormal and saturated elements. A leaf without any
// costs nothing.
func (l *leaf) census() {
	e, counts := l.e, &l.part.counts
	if l.nSpan.minAbs < max(e.npu.normal, math.SmallestNonzeroFloat64) {
		l.countSmallNPU()
	}
	if l.rSpan.minAbs < max(e.ref.normal, math.SmallestNonzeroFloat64) {
		zeros, small := countSmall(l.r, e.ref.normal)
		counts[refZeros] += zeros
		counts[refSubnormal] += small
	}
	if !e.npu.bool && (l.nSpan.maxAbs >= e.npu.high || l.rSpan.maxAbs >= e.refSaturates) {
		l.countSaturated()
	}
}

// countSmall counts the zeros among magnitudes and the others below normal.
func countSmall(values []float64, normal float64) (zeros, small int64) {
	for _, x := range values {
		switch x = math.Abs(x); {
		case x == 0:
			zeros++
		case x < normal:
			small++
		}
	}
	return zeros, small
}

func (l *leaf) countSmallNPU() {
	normal, counts := l.e.npu.normal, &l.part.counts
	zeros, small := countSmall(l.n, normal)
	counts[npuZeros] += zeros
	counts[npuSubnormal] += small
	if normal == 0 || l.rSpan.maxAbs < normal {
		return
	}
	var under int64
	for i, x := range l.n {
		if math.Abs(x) < normal && math.Abs(l.r[i]) >= normal {
			under++
		}
	}
	counts[underflowed] += under
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
