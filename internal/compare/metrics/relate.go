package metrics

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
)

// computeDifferences computes |d| and |d|/|r|, and adds them to sums, counts and histograms.
func (b *block) computeDifferences() {
	b.quotients = b.e.strata.HasBlock(b.first)
	var c kernel.Ratios
	if b.equal {
		zeros := int64(0)
		if b.r.span.MinAbs == 0 {
			zeros = kernel.Zeros(b.r.values)
		}
		c = b.histograms.tables.CountEqual(b.r.values, zeros, b.quotients)
	} else {
		c = b.computeRatios()
	}
	counts := &b.part.counts
	counts[relativeZeros] += c.Zeros
	counts[relativeUndefined] += c.Undefined
	if b.quotients {
		counts[quotientZeros] += c.Zeros
	}
	counts[below1000] += c.Below1 - c.Undefined
	counts[below5000] += c.Below5 - c.Undefined
	if counts[negative] += c.Negative; !b.e.direct {
		counts[negative] += kernel.Negatives(b.d)
	}
	b.sums.relative.Value, b.sums.absD.Value, b.sums.absR.Value = c.Rel, c.Abs, c.Ref
	b.extent.undefined, b.extent.zeros = c.Undefined > 0, c.Zeros
	b.extent.maxAbs, b.extent.maxRel, b.extent.sumAbs = c.MaxAbs, c.MaxRel, c.Abs
	b.histograms.abs.add(c.FirstAbs, kernel.Bin(c.MaxAbs))
	if b.quotients {
		b.histograms.rel.add(c.FirstRel, kernel.Bin(c.MaxRel))
	}
	if b.e.double {
		b.histograms.moveSubnormals(b.rel, b.abs, b.quotients)
	}
}

// computeRatios computes |d| and |d|/|r| and counts them. In the same pass it compares |d| with a
// multiple of the limits: the margin of earlier blocks, at most 1 unless the previous block
// had errors. Most blocks stay within that margin and leave minLimits unchanged.
func (b *block) computeRatios() kernel.Ratios {
	share := b.part.minLimits.margin / slack
	if !b.failedLast || math.IsInf(share, 1) {
		share = min(share, 1)
	}
	limits := b.e.request.Limits
	scaled := limits.scaleBy(share)
	from, what := b.n.values, b.r.values
	if !b.e.direct {
		from, what = b.abs, b.zeros
	}
	wanted := kernel.RelativeOptions{Quotients: b.quotients, Atol: scaled.Atol, Rtol: scaled.Rtol}
	if b.marked = b.failedLast && !b.gathered && limits.Mode == IsClose; b.marked { // errors come in runs: flag them in this pass
		wanted.Flags, wanted.Flag, wanted.FlagAtol, wanted.FlagRtol = b.flags[:b.count], beyondError|hpaaError, limits.Atol, limits.Rtol
	}
	c := b.histograms.tables.Relatives(b.rel, b.abs, from, what, b.r.values, &wanted)
	b.errors = kernel.FlaggedSums{Sum: c.FlaggedAbs, Max: c.MaxAbs, Count: c.Flagged}
	b.extent.inMargin = scaled.Mode == IsClose && !c.Exceeds && c.MaxAbs <= math.MaxFloat64
	b.extent.passes = b.extent.inMargin && share <= 1
	return c
}
