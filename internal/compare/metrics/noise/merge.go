package noise

import (
	"slices"

	"dumptool/internal/compare/metrics/kernel"
)

// Merge adds the next segment. The caller must not use next afterwards; only Merge and
// Finish may be called on c.
func (c *Collector) Merge(next *Collector) {
	c.flushTables()
	next.flushTables()
	if next.end == next.start {
		return
	}
	if c.end > c.start {
		c.addStep(next.start, next.firstN, next.firstR)
	} else {
		c.start, c.firstN, c.firstR, c.maxDRef = next.start, next.firstN, next.firstR, next.maxDRef
	}
	c.end, c.lastN, c.lastR = next.end, next.lastN, next.lastR
	c.stepDD += next.stepDD
	c.stepRR += next.stepRR
	c.excluded += next.excluded
	c.sampled.merge(next.sampled)
	c.dd += next.dd
	c.nonFinite += next.nonFinite
	c.overflows += next.overflows
	c.rows.merge(&next.rows)
	c.channels.merge(&next.channels)
	for sign := range c.octaves {
		c.octaves[sign], c.joined = mergeOctaves(c.joined, c.octaves[sign], next.octaves[sign]), c.octaves[sign]
	}
	c.bits |= next.bits
	c.minNPU, c.maxNPU = min(c.minNPU, next.minNPU), max(c.maxNPU, next.maxNPU)
	c.minRef, c.maxRef = min(c.minRef, next.minRef), max(c.maxRef, next.maxRef)
	if next.maxD > c.maxD {
		c.maxD, c.maxDRef = next.maxD, next.maxDRef
	}
	c.distinct.merge(&next.distinct)
	c.grid.merge(&next.grid)
	c.singles.merge(&next.singles)
	if c.inputDifferences != nil && next.inputDifferences != nil {
		c.inputDifferences.merge(next.inputDifferences)
	}
	c.mergeProbe(next)
	if c.excludedD == nil {
		c.excludedD, next.excludedD = next.excludedD, nil
	} else if next.excludedD != nil {
		c.excludedD.merge(next.excludedD)
	}
}

// mergeOctaves merges two lists, both in rising order of exponents, in the memory of merged.
func mergeOctaves(merged, a, b []octave) []octave {
	merged = slices.Grow(merged[:0], len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].exponent < b[0].exponent:
			merged, a = append(merged, a[0]), a[1:]
		case b[0].exponent < a[0].exponent:
			merged, b = append(merged, b[0]), b[1:]
		default:
			o := a[0]
			o.Merge(&b[0].Octave)
			merged, a, b = append(merged, o), a[1:], b[1:]
		}
	}
	return append(append(merged, a...), b...)
}

// flushTables adds the contents of the tables to the sums of the segment.
func (c *Collector) flushTables() {
	if c.rows.hasColumns() {
		c.rows.closeColumns(c.start, c.end, c.floor)
	}
	if c.channels.hasColumns() {
		c.channels.closeColumns(c.start, c.end, c.floor)
	}
	c.table.Drain(func(exponent int, positive, negative kernel.Octave) {
		for sign, o := range [2]kernel.Octave{positive, negative} {
			if o.Count > 0 {
				c.octaves[sign] = append(c.octaves[sign], octave{exponent, o})
			}
		}
	})
}
