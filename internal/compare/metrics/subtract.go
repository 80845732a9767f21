package metrics

import "dumptool/internal/compare/metrics/kernel"

// differences are the sums over the differences of a block, of complex elements
// over those of the parts; abs is that of the magnitudes |d|.
type differences struct {
	moment   moment
	abs      float64
	negative int64 // how many are below zero
}

// subtract sets the differences and their magnitudes, and adds up both sides but those
// whose squares may leave the range of float64.
func (b *block) subtract() {
	e := b.e
	b.d = b.d[:len(b.n.codedValues(b))]
	switch {
	case e.complex:
		for i, n := range b.n.parts {
			b.d[i] = n - b.r.parts[i]
		}
		moduli(b.abs, b.d)
	case e.exact:
		integerDifferences(b.d, b.abs, b.n.exact, b.r.exact, e.npu.signed, e.ref.signed)
	case e.npu.wide():
		wideDifferences(b.d, b.abs, b.n.values, b.r.values, b.n.exact, b.n.values, 1)
	case e.ref.wide():
		wideDifferences(b.d, b.abs, b.n.values, b.r.values, b.r.exact, b.r.values, -1)
	default:
		d := b.d
		if !e.huge && !e.npu.integer { // nothing needs the differences themselves
			d = b.abs
		}
		sides, s := kernel.Subtract(d, b.abs, b.n.values, b.r.values)
		b.differences = differences{newMoment(b.count, s.D0, s.D, s.DD), s.Abs, s.Negative}
		b.sums.pair.n, b.sums.pair.r, b.sums.pair.co = momentsOf(&sides, b.count)
		return
	}
	b.differences = differences{momentOf(b.d), kernel.Sum(b.abs), kernel.Negatives(b.d)}
	if !e.huge {
		b.sums.pair.n, b.sums.pair.r, b.sums.pair.co = pairMoments(b.n.codedValues(b), b.r.codedValues(b))
	}
}

// sum computes the sums of the block.
func (b *block) sum() {
	counts, sums := &b.part.counts, &b.sums
	counts[negative] += b.differences.negative
	if b.e.complex {
		sums.npuModuli, sums.refModuli = b.e.moment(b.n.values), b.e.moment(b.r.values)
		for _, x := range b.d {
			if x != 0 {
				counts[differing]++
			}
		}
	}
	if b.e.huge {
		sums.pair = b.sumScaled(b.n.codedValues(b), b.r.codedValues(b))
		return
	}
	sums.pair.d = b.differences.moment
	sums.pair.absD = sumOf(b.differences.abs, 0)
}
