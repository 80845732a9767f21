package engine

import "math"

// sum computes the sums of the leaf.
func (l *leaf) sum() {
	e, node := l.e, &l.node
	n, r, d := l.n, l.r, l.d[:l.count]
	counts := &l.part.counts
	if e.complex {
		k := 2 * l.count
		n, r, d = l.nParts[:k], l.rParts[:k], l.dParts[:k]
		node.npuModuli, node.refModuli = e.moment(l.n), e.moment(l.r)
		for _, x := range d {
			if x != 0 {
				counts[differing]++
			}
		}
	}
	counts[negative] += l.subtracted.negative
	if e.huge {
		node.pair = l.sumScaled(n, r, d)
		return
	}
	node.pair.n, node.pair.r, node.pair.co = pairMoments(n, r)
	node.pair.d = l.subtracted.moment
	node.pair.absD = sum{value: l.subtracted.abs}
}

// sumScaled computes the sums of values whose squares may leave the range of
// float64.
func (l *leaf) sumScaled(n, r, d []float64) (p pair) {
	nExp, rExp, dExp := exponentOf(l.nSpan.maxAbs), exponentOf(l.rSpan.maxAbs), exponentOf(maxOf(l.abs))
	sn, sr := scale(l.scaled[0], n, nExp), scale(l.scaled[1], r, rExp)
	p.n, p.r, p.co = pairMoments(sn, sr)
	p.n.exp, p.r.exp = nExp, rExp
	p.absR.value = sumAbs(scale(l.scaled[3], l.r, rExp))
	if dExp <= 1024 {
		p.absD.value = sumOf(scale(l.scaled[3], l.abs, dExp))
		d = scale(l.scaled[2], d, dExp)
	} else {
		// Differences leave the range themselves.
		d = scale(l.scaled[2], n, dExp)
		for i, x := range scale(l.scaled[3], r, dExp) {
			d[i] -= x
		}
		abs := l.scaled[3][:l.count]
		if l.e.complex {
			moduli(abs, d)
		} else {
			copy(abs, d)
		}
		p.absD.value = sumAbs(abs)
	}
	p.d = momentOf(d)
	p.d.exp = dExp
	return p
}

// exponentOf returns the exponent that values are scaled by, of which the
// largest magnitude is given: 0 while squares are harmless.
func exponentOf(largest float64) int {
	if largest == 0 || largest > 0x1p-400 && largest < 0x1p400 {
		return 0
	}
	if math.IsInf(largest, 0) {
		return 1026
	}
	_, exp := math.Frexp(largest)
	return exp
}

// scale sets dst to values divided by 2^exp, unless exp is 0, and returns it.
func scale(dst, values []float64, exp int) []float64 {
	if exp == 0 {
		return values
	}
	dst = dst[:len(values)]
	half := math.Ldexp(1, -exp/2)
	rest := math.Ldexp(1, -exp-(-exp/2))
	for i, v := range values {
		dst[i] = v * half * rest
	}
	return dst
}

// moment returns the moment of values of any size.
func (e *Engine) moment(values []float64) moment {
	if len(values) == 0 {
		return moment{}
	}
	exp := 0
	if e.huge {
		exp = exponentOf(spanOf(values).maxAbs)
		if exp != 0 {
			values = scale(make([]float64, len(values)), values, exp)
		}
	}
	m := momentOf(values)
	m.exp = exp
	return m
}
