package metrics

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
)

// bound finds the extremes of the differences, and the errors.
func (b *block) bound() {
	p, x := b.part, &b.extent
	p.minRef, p.maxRef = min(p.minRef, b.r.span.MinAbs), max(p.maxRef, b.r.span.MaxAbs)
	if !p.maxAbs.set || x.maxAbs > p.maxAbs.value {
		p.maxAbs.add(x.maxAbs, b.offset(kernel.Index(b.abs, x.maxAbs)))
	}
	if !p.maxRel.set || x.maxRel > p.maxRel.value {
		b.addMaxRel(x.maxRel)
	}
	limits := b.e.request.Limits
	quiet := x.passes || limits.quiet(*x)
	if quiet && p.minLimits.covers(limits, *x) {
		return
	}
	if x.maxAbs > math.MaxFloat64 {
		b.boundScaled()
	} else if p.minLimits.add(limits, *x, b.abs, b.r.values); quiet {
		return
	} else if (!b.failedLast || b.gathered) && !limits.exceeded(b.abs, b.r.values) {
		return // blocks with errors follow each other, and marking finds out too
	}
	if !b.gathered && x.maxAbs <= math.MaxFloat64 {
		b.marked = limits.mark(b.flags, b.abs, b.r.values, beyondError|hpaaError, kernel.Known{MinRef: b.r.span.MinAbs, MaxRef: b.r.span.MaxAbs, Sum: x.sumAbs, Max: x.maxAbs})
		b.failed = b.marked.Count > 0
		return
	}
	for i, a := range b.abs {
		if position := b.position(i); !b.passesAt(position, a, math.Abs(b.r.values[i])) {
			b.flags[position] |= beyondError | hpaaError
			b.failed = true
		}
	}
}

// addMaxRel adds the largest |d|/|r|, which has no place where all
// references are 0.
func (b *block) addMaxRel(x float64) {
	for i, q := range b.rel {
		if q == x && b.r.values[i] != 0 {
			b.part.maxRel.add(x, b.offset(i))
			return
		}
	}
}
