package metrics

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics/kernel"
)

// updateBounds updates the extremes of the differences and flags the errors.
func (b *block) updateBounds() {
	p, x := b.part, &b.extent
	p.maxNPU, p.maxRef = max(p.maxNPU, b.n.span.MaxAbs), max(p.maxRef, b.r.span.MaxAbs)
	if !p.maxAbs.set || x.maxAbs > p.maxAbs.value {
		p.maxAbs.add(x.maxAbs, b.offset(slices.Index(b.abs, x.maxAbs)))
	}
	if !p.maxRel.set || x.maxRel > p.maxRel.value {
		b.addMaxRel(x.maxRel)
	}
	if x.undefined && x.maxAbs > p.maxUndefined {
		p.maxUndefined = max(p.maxUndefined, kernel.MaxBesideZero(b.abs, b.r.values))
	}
	limits := b.e.request.Limits
	quiet := x.passes || limits.provesPass(*x)
	if quiet && p.minLimits.isUnaffectedBy(limits, *x) {
		return
	}
	if x.maxAbs > math.MaxFloat64 { // such a difference passes no limits; the kernel has not marked the pair
		p.minLimits = minLimits{math.Inf(1), math.Inf(1), math.Inf(1)}
		b.marked = false
	} else if p.minLimits.add(limits, *x, b.abs, b.r.values); quiet || !b.marked && !limits.areExceeded(b.abs, b.r.values) {
		return
	}
	if b.marked {
		b.failed = b.errors.Count > 0
		return
	}
	for i, a := range b.abs {
		if !limits.Passes(a, math.Abs(b.r.values[i])) {
			b.flags[b.position(i)] |= beyondError | hpaaError
			b.failed = true
		}
	}
}

// addMaxRel adds the largest |d|/|r| with its place. It has no place if all references
// are 0.
func (b *block) addMaxRel(x float64) {
	for i, q := range b.rel {
		if q == x && b.r.values[i] != 0 {
			b.part.maxRel.add(x, b.offset(i))
			return
		}
	}
}
