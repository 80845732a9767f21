package metrics

import (
	"hash/crc32"
	"math"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/crc"
)

// Indexes of counts, which merge by addition.
const (
	refZeros = iota
	refSubnormal
	refSaturated
	npuZeros
	npuSubnormal
	npuSaturated
	overflowed
	underflowed
	saturatedBoth
	saturatedErrors
	wrappedErrors
	relativeZeros     // pairs of finite elements with r = 0
	relativeUndefined // pairs with r = 0 and d != 0
	quotientZeros     // pairs with r = 0 in blocks whose |d|/|r| are counted; the histogram has them as 0
	below1000
	below5000
	negative       // parts with d < 0
	differing      // parts with d != 0
	replacedRatios // number of pairs in replacedRelative
	numCounts
)

type counts [numCounts]int64

// extreme is the largest value and the lowest offset of its occurrences.
type extreme struct {
	value  float64
	offset int64
	set    bool
}

func (e *extreme) add(value float64, offset int64) {
	if !e.set || value > e.value {
		*e = extreme{value, offset, true}
	}
}

func (e *extreme) merge(f extreme) {
	if f.set && (!e.set || f.value > e.value || f.value == e.value && f.offset < e.offset) {
		*e = f
	}
}

// bounds are the smallest and the largest value.
type bounds struct {
	min, max float64
	set      bool
}

func (b *bounds) add(low, high float64) {
	if !b.set {
		*b = bounds{low, high, true}
		return
	}
	b.min, b.max = min(b.min, low), max(b.max, high)
}

// largest returns the largest magnitude, 0 without values.
func (b *bounds) largest() float64 { return max(math.Abs(b.min), math.Abs(b.max)) }

func (b *bounds) merge(c bounds) {
	if c.set {
		b.add(c.min, c.max)
	}
}

// failures are the errors of one test; the sum of their |d| is in the tree of sums.
type failures struct {
	count       int64
	first, last location // valid if count > 0
	maxAbs      float64
}

// merge adds the failures of a later part of the tensor.
func (f *failures) merge(g failures) {
	if f.count == 0 {
		f.first = g.first
	}
	if g.count > 0 {
		f.last = g.last
	}
	f.count += g.count
	f.maxAbs = max(f.maxAbs, g.maxAbs)
}

// Partial is the result over one segment of a pair.
type Partial struct {
	segment int64
	blocks  int64
	tree    tree
	sums    *node // the root of the tree

	elements                           int64
	classes                            Classes
	counts                             counts
	maxAbs, maxRel, hpaaMaxRel, maxULP extreme
	minLimits                          minLimits
	maxNPU, maxRef                     float64 // largest |n| and |r| of the pairs finite on both sides
	maxUndefined                       float64 // largest |d| of pairs with r = 0
	npuBounds, refBounds               bounds
	beyond, mismatch, hpaa             failures
	errorOffsets                       []int64
	listed, mismatched                 []location
	start                              *location
	worst                              ranking
	absHistogram, relHistogram         Histogram
	axes                               axisSums
	axesFrom                           int64   // offset of the first element in axes
	withoutAxes                        []Range // the ranges before axesFrom
	refCRC, npuCRC                     uint32
	refSum, npuSum                     uint64
	zeroTail                           int64
	points                             []Point
	noise                              *noise.Collector // nil without a noise request
	lists                              lists
}

// lists is memory for the slices of a result.
type lists struct {
	abs, rel     []HistogramBin
	errorOffsets []int64
	axes         []AxisProfile
	worst        []Element
}

// Recycle takes the slices of an unused result (worst elements, offsets of errors, axes, bins of histograms) and
// reuses their memory for the next result.
func (p *Pool) Recycle(r *Result) {
	if part, ok := p.partials.Get().(*Partial); ok {
		part.lists = lists{r.AbsHistogram.Bins, r.RelHistogram.Bins, r.ErrorOffsets, r.Axes, r.Worst}
		p.partials.Put(part)
	}
	r.AbsHistogram.Bins, r.RelHistogram.Bins, r.ErrorOffsets, r.Axes, r.Worst = nil, nil, nil, nil, nil
}

// merge adds the next segment.
func (p *Partial) merge(q *Partial, e *Engine) {
	for i, row := range q.classes {
		for j, n := range row {
			p.classes[i][j] += n
		}
	}
	for i, n := range q.counts {
		p.counts[i] += n
	}
	p.maxAbs.merge(q.maxAbs)
	p.maxRel.merge(q.maxRel)
	p.hpaaMaxRel.merge(q.hpaaMaxRel)
	p.maxULP.merge(q.maxULP)
	p.minLimits.merge(&q.minLimits)
	p.maxNPU, p.maxRef = max(p.maxNPU, q.maxNPU), max(p.maxRef, q.maxRef)
	p.maxUndefined = max(p.maxUndefined, q.maxUndefined)
	p.npuBounds.merge(q.npuBounds)
	p.refBounds.merge(q.refBounds)
	p.beyond.merge(q.beyond)
	p.mismatch.merge(q.mismatch)
	p.hpaa.merge(q.hpaa)
	p.errorOffsets = appendUpTo(p.errorOffsets, q.errorOffsets, maxErrorOffsets)
	p.listed = appendUpTo(p.listed, q.listed, e.request.List)
	p.mismatched = appendUpTo(p.mismatched, q.mismatched, e.request.Top)
	if p.start == nil {
		p.start = q.start
	}
	p.worst.merge(&q.worst)
	p.absHistogram = p.absHistogram.mergedWith(q.absHistogram)
	p.relHistogram = p.relHistogram.mergedWith(q.relHistogram)
	p.axes.merge(&q.axes)
	p.withoutAxes = append(p.withoutAxes, q.withoutAxes...)
	p.refCRC = crc.Combine(crc32.Castagnoli, p.refCRC, q.refCRC, q.elements*int64(e.ref.size))
	p.npuCRC = crc.Combine(crc32.Castagnoli, p.npuCRC, q.npuCRC, q.elements*int64(e.npu.size))
	p.refSum += q.refSum
	p.npuSum += q.npuSum
	if q.zeroTail == q.elements {
		p.zeroTail += q.zeroTail
	} else {
		p.zeroTail = q.zeroTail
	}
	p.elements += q.elements
	p.points = append(p.points, q.points...)
	if p.noise != nil {
		p.noise.Merge(q.noise)
	}
}

// appendUpTo appends values up to a total length of limit.
func appendUpTo[T any](dst, values []T, limit int) []T {
	return append(dst, values[:min(len(values), max(limit-len(dst), 0))]...)
}
