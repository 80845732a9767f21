package metrics

import (
	"bytes"
	"math"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/tensor"
)

// block is a short run of pairs that fits in the L1 cache. First all elements are decoded,
// then pairs with a non-finite side are removed; the rest moves together, and count becomes
// the number of remaining pairs. If both sides have the same type and the same bytes, only
// the NPU side is decoded and hashed: r shares its arrays, and abs and rel are zeros.
type block struct {
	*buffers
	e         *Engine
	part      *Partial // the partial result that the block is added to
	sums      node
	first     int64 // the offset of the first element
	count     int   // remaining pairs
	pairCount int   // all pairs
	n, r      side

	d          []float64 // differences; two for each complex element, real and imaginary part: see subtract
	abs, rel   []float64 // of the remaining pairs, see relate
	extent     extent
	runs       kernel.GroupSums   // sums over the pairs from the noise collector: see AddBlock
	digests    kernel.Digests     // of all elements
	errors     kernel.FlaggedSums // of the marked pairs; Max is over all pairs
	equal      bool               // both sides have the same bytes
	quotients  bool               // |d|/|r| are counted
	marked     bool               // flags were already set together with the differences
	hashed     bool               // digests were computed together with the values
	coded      bool               // codes are set
	gathered   bool               // pairs were removed: positions has the places of the rest
	failed     bool               // flags contain errors
	failedLast bool               // failed of the previous block
}

// reset sets the block to the count pairs from an offset on.
func (b *block) reset(first int64, count int, ref, npu []byte) {
	b.first, b.count, b.pairCount = first, count, count
	b.n, b.r, b.d = b.buffers.n, b.buffers.r, b.buffers.d
	b.n.stored, b.r.stored = npu[:count*b.e.npu.size], ref[:count*b.e.ref.size]
	b.abs, b.rel = b.buffers.abs[:count], b.buffers.rel[:count]
	if b.equal = b.e.npu.dtype == b.e.ref.dtype && bytes.Equal(b.n.stored, b.r.stored); b.equal {
		b.abs, b.rel = b.zeros[:count], b.zeros[:count]
	}
	b.sums, b.extent, b.runs, b.digests, b.errors = node{}, extent{}, kernel.GroupSums{}, kernel.Digests{}, kernel.FlaggedSums{}
	b.failedLast = b.failed
	b.hashed, b.coded, b.gathered, b.failed, b.marked = false, false, false, false, false
}

// compute adds the block to its partial result, except for b.sums.
func (b *block) compute() {
	b.decode()
	special := b.n.span.Special || b.r.span.Special
	if special { // before pairs are removed
		b.addNoise(math.Inf(1))
	}
	b.takeSamples()
	if b.equal && b.e.npu.dtype == tensor.Float32 && !b.n.span.Special { // needs no codes
		b.digests, b.hashed = kernel.DigestEqual32(b.n.stored), true
	}
	if !b.hashed {
		b.setCodes()
	}
	b.classify()
	if b.count > 0 {
		if !b.e.direct {
			b.subtract()
		}
		b.computeDifferences()
		if !special {
			b.addNoise(b.maxRatio())
		}
		b.sumBlock()
		b.updateBounds()
		b.countSmall()
		b.countSaturated()
		b.measureULP()
	}
	b.findErrors()
	b.rankErrors()
	b.sumAxes()
	if b.failed || b.marked {
		clear(b.flags[:b.pairCount])
	}
}

// addNoise adds all pairs to the noise collector, if there is one. ratio is an upper bound
// of |d|/|r|.
func (b *block) addNoise(ratio float64) {
	if noise := b.part.noise; noise != nil {
		if !b.r.span.Special {
			b.smallestRef()
		}
		b.runs = noise.AddBlock(b.first, b.n.values, b.r.values, b.n.span, b.r.span, ratio)
	}
}

// maxRatio returns an upper bound of all |d|/|r|, +inf if none is known: 64-bit integers may
// differ although their float64 values are equal.
func (b *block) maxRatio() float64 {
	if b.e.wide || !b.extent.boundsRatios() {
		return math.Inf(1)
	}
	return b.extent.maxRel * slack
}

// position returns the place in the block of remaining pair i.
func (b *block) position(i int) int {
	if b.gathered {
		return int(b.positions[i])
	}
	return i
}

// offset returns the offset in the tensor of remaining pair i.
func (b *block) offset(i int) int64 { return b.first + int64(b.position(i)) }

// locationOf returns the pair at a position.
func (b *block) locationOf(position int, abs, rel float64) location {
	l := location{offset: b.first + int64(position), abs: abs, rel: rel}
	copy(l.ref[:], b.r.storedAt(position))
	copy(l.npu[:], b.n.storedAt(position))
	return l
}

// storedAt returns the bytes of an element.
func (s *side) storedAt(position int) []byte {
	return s.stored[position*s.number.size:][:s.number.size]
}
