package metrics

import "math"

// relate adds the relative differences and the histograms.
func (b *block) relate() {
	c := b.histograms.tables.Relatives(b.rel, b.abs, b.r.values)
	counts := &b.part.counts
	counts[relativeZeros] += c.Zeros
	counts[relativeUndefined] += c.Undefined
	counts[below1000] += c.Below1 - c.Undefined
	counts[below5000] += c.Below5 - c.Undefined
	b.sums.relative = sumOf(c.Rel, 0)
	if b.e.huge && (c.MaxAbs > math.MaxFloat64 || c.MaxRel > sumLimit) {
		b.relateScaled(&c)
	}
	b.extent.undefined, b.extent.zeros = c.Undefined > 0, c.Zeros
	b.extent.maxAbs, b.extent.maxRel = c.MaxAbs, c.MaxRel
	if !b.e.huge {
		b.sums.pair.absR = sumOf(c.Ref, 0)
	}
	b.histograms.add(&c)
	if b.e.huge {
		b.histograms.moveOutside(b.rel, b.abs, b.r.values, c.MaxAbs)
	}
}
