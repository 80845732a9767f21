package metrics

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
)

// sumScaled computes the sums of values whose squares may leave the range of
// float64.
func (b *block) sumScaled(n, r []float64) (p pair) {
	d := b.d
	nExp, rExp, dExp := exponentOf(b.n.span.MaxAbs), exponentOf(b.r.span.MaxAbs), exponentOf(kernel.Max(b.abs))
	sn, sr := scale(b.scratch[0], n, nExp), scale(b.scratch[1], r, rExp)
	p.n, p.r, p.co = pairMoments(sn, sr)
	p.n.exp, p.r.exp = nExp, rExp
	p.absR = sumOf(kernel.SumAbs(scale(b.scratch[3], b.r.values, rExp)), rExp)
	if dExp <= 1024 {
		p.absD = sumOf(kernel.Sum(scale(b.scratch[3], b.abs, dExp)), dExp)
		d = scale(b.scratch[2], d, dExp)
	} else {
		// Differences leave the range themselves.
		d = scale(b.scratch[2], n, dExp)
		for i, x := range scale(b.scratch[3], r, dExp) {
			d[i] -= x
		}
		abs := b.scratch[3][:b.count]
		if b.e.complex {
			moduli(abs, d)
		} else {
			copy(abs, d)
		}
		p.absD = sumOf(kernel.SumAbs(abs), dExp)
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
		exp = exponentOf(kernel.SpanOf(values).MaxAbs)
		if exp != 0 {
			values = scale(make([]float64, len(values)), values, exp)
		}
	}
	m := momentOf(values)
	m.exp = exp
	return m
}

// Differences of float64 may exceed its range while their ratios do not, and so
// may sums while their means do not. Pairs with such differences or ratios are
// few: their elements are decoded again, and scaled.

const (
	// sumLimit bounds what is added up as it is: as many such values as a disk
	// holds have a sum within the range of float64.
	sumLimit = 0x1p960
	// Larger ratios and differences are added up divided by powers of two.
	relativeExp, errorExp = 1200, 64
)

// scaledAbs returns |d| of the pair at a position in the block times a factor, after
// HPAA's replacement where a side is not finite.
func (b *block) scaledAbs(position int, factor float64) float64 {
	e := b.e
	n, r := e.npu.single(b.n.storedAt(position)), e.ref.single(b.r.storedAt(position))
	if !e.complex {
		n.Real, r.Real = e.replacement(n.Real), e.replacement(r.Real)
	}
	return modulus(float64(n.Real*factor)-float64(r.Real*factor), float64(n.Imag*factor)-float64(r.Imag*factor))
}

// relativeAt returns |d|/|r| of the pair at a position.
func (b *block) relativeAt(position int, abs, ref float64) float64 {
	if math.IsInf(abs, 1) {
		return b.scaledAbs(position, 0.25) / ref * 4
	}
	return abs / ref
}

// relativeSum returns a ratio |d|/|r| as a sum of its own.
func (b *block) relativeSum(position int, rel, ref float64) sum {
	if rel <= sumLimit {
		return sumOf(rel, 0)
	}
	const half = 0x1p-600 // of relativeExp
	return sumOf(b.scaledAbs(position, half)/(ref/half), relativeExp)
}

// passesAt reports whether the pair at a position passes.
func (b *block) passesAt(position int, abs, ref float64) bool {
	limits := b.e.request.Limits
	if math.IsInf(abs, 1) {
		return limits.quarter().Passes(b.scaledAbs(position, 0.25), ref/4)
	}
	return limits.Passes(abs, ref)
}

// relateScaled corrects the ratios of a block where they or differences exceed the
// range of float64, and their sum.
func (b *block) relateScaled(c *kernel.Ratios) {
	c.MaxRel = 0
	var total sum
	for i, q := range b.rel {
		ref, position := math.Abs(b.r.values[i]), b.position(i)
		if math.IsInf(b.abs[i], 1) {
			b.part.maxQuarter = max(b.part.maxQuarter, b.scaledAbs(position, 0.25))
		}
		if ref == 0 {
			continue
		}
		if math.IsInf(b.abs[i], 1) {
			q = b.relativeAt(position, b.abs[i], ref)
			b.rel[i] = q
			if b.quotients {
				kernel.Move(b.histograms.tables.Rel[:], i, kernel.Bin(math.Inf(1)), int(kernel.Bin(q)))
			}
			c.FirstRel = min(c.FirstRel, kernel.Bin(q))
		}
		c.MaxRel = max(c.MaxRel, q)
		total.merge(b.relativeSum(position, q, ref))
	}
	b.sums.relative = total
}

// boundScaled adds the limits of a block with differences beyond the range of
// float64: those are quartered.
func (b *block) boundScaled() {
	t, limits := &b.part.minLimits, b.e.request.Limits
	any := extent{maxAbs: math.Inf(1), maxRel: math.Inf(1), undefined: true}
	var abs, ref, quarterAbs, quarterRef []float64
	for i, a := range b.abs {
		if math.IsInf(a, 1) {
			quarterAbs, quarterRef = append(quarterAbs, b.scaledAbs(b.position(i), 0.25)), append(quarterRef, b.r.values[i]/4)
			continue
		}
		abs, ref = append(abs, a), append(ref, b.r.values[i])
	}
	t.add(limits, any, abs, ref)
	q := minLimits{t.margin, t.rtol, t.atol / 4}
	q.add(limits.quarter(), any, quarterAbs, quarterRef)
	*t = minLimits{q.margin, q.rtol, max(t.atol, q.atol*4)}
}
