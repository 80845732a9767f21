package metrics

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
)

// subtract computes d and |d|.
func (b *block) subtract() {
	e := b.e
	b.d = b.d[:len(b.n.codedValues(b))]
	switch {
	case b.equal:
		clear(b.d)
	case e.complex:
		kernel.Subtract(b.d, b.n.parts, b.r.parts)
		moduli(b.abs, b.d)
	case e.wide:
		integerDifferences(b.d, b.abs, &b.n, &b.r)
	default:
		kernel.Subtract(b.d, b.n.values, b.r.values)
		for i, d := range b.d {
			b.abs[i] = math.Abs(d)
		}
	}
}

// sumBlock computes the sums of the block.
func (b *block) sumBlock() {
	sums := &b.sums
	if b.e.complex {
		sums.npuModuli, sums.refModuli = momentOf(b.n.values), momentOf(b.r.values)
		for _, x := range b.d {
			if x != 0 {
				b.part.counts[differing]++
			}
		}
	}
	n, r := b.n.codedValues(b), b.r.codedValues(b)
	switch {
	case !b.e.wide && !b.e.double && b.runs.Count > 0 && sums.pair.setRuns(&b.runs):
		return
	case b.equal:
		sums.pair.n, sums.pair.r, sums.pair.co = pairMoments(n, r)
		sums.pair.d = moment{count: int64(len(n))}
		return
	case b.e.direct:
		b.d = b.d[:len(n)]
		kernel.Subtract(b.d, n, r)
	}
	sums.pair.n, sums.pair.r, sums.pair.co = pairMoments(n, r)
	sums.pair.d = momentOf(b.d)
}
