package noise

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/tensor"
)

const (
	// blockElements is the maximum number of elements of a block.
	blockElements = 1024
	// runCount is the maximum number of runs for one call of the kernel.
	runCount = 64
	// smallestNormal is the smallest normal number of float64.
	smallestNormal = 0x1p-1022
)

// Collector collects the sums over the pairs of one segment, or of several merged
// segments.
type Collector struct {
	request    Request
	total      int64   // elements of the tensor
	row        int64   // elements of the last axis, usually of a row
	floor      float64 // the smallest normal number of the type
	start, end int64   // offsets of the added elements, end excluded
	excluded   int64   // elements that do not count
	nonFinite  int64
	overflows  int64

	rows, channels   bins
	octaves          [2][]octave // of references above or equal to 0, and below 0
	joined           []octave    // buffer for merged octaves
	strata           Strata      // blocks that octaves and steps sample
	sampled          sampleSums
	dd               float64 // over all pairs
	bits             uint64  // bitwise or of all NPU elements
	stepDD, stepRR   float64
	firstN, firstR   float64 // elements at start
	lastN, lastR     float64 // elements before end
	minNPU, maxNPU   float64
	minRef, maxRef   float64
	maxD, maxDRef    float64
	distinct         valueSet
	grid             NumberGrid        // for float32 NPU tensors
	inputDifferences *inputDifferences // for inputs, else nil
	singles          singles
	excludedD        *histogram // |d| of excluded finite pairs, nil for none
	table            *kernel.Octaves
	excludedPosition []int32
	places           []int64 // the offsets of the probe
	probedTo         int     // number of places already visited
	*scratch

	// Of all rows (means, stds), of the groups of one grouping (views): see summarize.
	means, stds, views []float64
}

// scratch is memory that every block reuses.
type scratch struct {
	n, r   [blockElements]float64 // a block with 0 for excluded pairs
	runs   [runCount]int          // run lengths in a block
	probes [maxProbe]float32
	sums   [runCount]kernel.GroupSums
	// bins of the runs
	rowBins, channelBins [runCount]int32
	numbers              kernel.Numbers
}

// octave has the sums over the pairs whose r has one exponent and one sign.
type octave struct {
	exponent int
	kernel.Octave
}

// NewCollector returns an empty collector. The request must pass Check.
func NewCollector(req *Request) *Collector {
	c := new(Collector)
	c.Reset(req)
	return c
}

// Reset empties the collector and sets the request.
func (c *Collector) Reset(req *Request) {
	if c.table == nil {
		c.table, c.scratch = kernel.NewOctaves(), new(scratch)
	}
	if c.excludedD != nil {
		c.excludedD.clear()
	}
	c.table.Drain(func(int, kernel.Octave, kernel.Octave) {})
	rows, channels := rowGrouping(req.Shape), channelGrouping(req.Shape)
	*c = Collector{
		request: *req, total: req.Shape.Elements(), row: lastAxis(req.Shape), floor: req.Type.Normal(),
		strata: NewStrata(req.Shape.Elements()),
		rows:   c.rows.reset(rows), channels: c.channels.reset(channels),
		octaves: [2][]octave{c.octaves[0][:0], c.octaves[1][:0]}, joined: c.joined, scratch: c.scratch,
		minNPU: math.Inf(1), maxNPU: math.Inf(-1), minRef: math.Inf(1), maxRef: math.Inf(-1),
		excludedD: c.excludedD, table: c.table, excludedPosition: c.excludedPosition[:0],
		means: c.means, stds: c.stds, views: c.views,
		places: appendPlaces(c.places[:0], req.Shape),
	}
	c.singles = newSingles(req.Type, c.isFloat32())
	if req.Ref != tensor.Undefined {
		c.inputDifferences = newInputDifferences(req.Ref, req.NPU)
	}
}

// isFloat32 reports whether the NPU tensor is float32, whose elements may be numbers of a coarser type.
func (c *Collector) isFloat32() bool { return c.request.Type.Name == tensor.Float32.String() }

// Add adds decoded elements, also non-finite ones. They follow the elements added before; the
// first call may start at any offset.
func (c *Collector) Add(first int64, n, r []float64) {
	for len(n) > 0 {
		k := min(len(n), blockElements-int(first%blockElements))
		c.AddBlock(first, n[:k], r[:k], kernel.SpanOf(n[:k]), kernel.SpanOf(r[:k]), math.Inf(1))
		first, n, r = first+int64(k), n[k:], r[k:]
	}
}

// AddBlock is Add for at most one block of 1024 elements with known spans. ratio is an upper
// bound of |d|/|r|, possibly +inf. It returns the sums of all pairs, or zero sums if some pairs
// are excluded.
func (c *Collector) AddBlock(first int64, n, r []float64, nSpan, rSpan kernel.Span, ratio float64) (all kernel.GroupSums) {
	if c.end == c.start {
		c.start, c.end = first, first
	}
	c.probe(first, r)
	if c.inputDifferences != nil {
		c.inputDifferences.add(n, r, c.total)
	}
	c.excludedPosition = c.excludedPosition[:0]
	zeros := nSpan.MinAbs == 0 || rSpan.MinAbs == 0
	if nSpan.Special || rSpan.Special || rSpan.MaxAbs > c.request.Type.Max || c.request.isMasked(rSpan.Min) {
		n, r = c.exclude(n, r)
		zeros = true
		rSpan.MinAbs, rSpan.NotZero = 0, 0
	} else {
		c.minNPU, c.maxNPU = min(c.minNPU, nSpan.Min), max(c.maxNPU, nSpan.Max)
		c.minRef, c.maxRef = min(c.minRef, rSpan.Min), max(c.maxRef, rSpan.Max)
	}
	switch {
	case c.distinct.count == maxDistinct:
	case nSpan.Min == nSpan.Max && len(c.excludedPosition) == 0: // fast path for constant tensors
		c.distinct.add(n[:1])
	default:
		c.distinct.add(n)
	}
	if c.end == c.start {
		c.maxDRef = math.Abs(r[0])
	}
	if rSpan.MinAbs == 0 {
		if rSpan.MinAbs = rSpan.NotZero; rSpan.MinAbs == 0 {
			rSpan.MinAbs = kernel.Smallest(r)
		}
	}
	if c.isFloat32() {
		c.grid.add(n, r, rSpan)
	}
	table := c.octavesOf(first, r, rSpan.MinAbs)
	all = c.addGroups(first, n, r, table)
	c.dd += all.DD
	if zeros {
		rSpan.MinAbs = 0
	}
	if all.MaxD > 0 {
		c.addSingles(n, r, rSpan.MinAbs, all.MaxD, ratio, all.DD)
	}
	if table != nil {
		c.addSteps(first, n, r)
	}
	c.end += int64(len(n))
	if len(c.excludedPosition) > 0 {
		return kernel.GroupSums{}
	}
	return all
}

// octavesOf returns the table for the octaves of a block, nil if the block is not in the sample. least is a lower
// bound of the nonzero |r|.
func (c *Collector) octavesOf(first int64, r []float64, least float64) *kernel.Octaves {
	if !c.strata.HasBlock(first) {
		return nil
	}
	c.sampled.excluded += int64(len(c.excludedPosition))
	if least < smallestNormal {
		c.countTiny(r)
	}
	c.table.Cover(least, max(-c.minRef, c.maxRef))
	return c.table
}

// exclude returns the elements with 0 in place of excluded pairs.
func (c *Collector) exclude(n, r []float64) ([]float64, []float64) {
	c.minRef, c.maxRef = min(c.minRef, 0), max(c.maxRef, 0)
	mask, high := c.request.Mask, c.request.Type.Max
	for i, x := range r {
		y := n[i]
		if !(x > mask && math.Abs(x) <= high && math.Abs(y) <= math.MaxFloat64) {
			c.countExcluded(y, x)
			c.n[i], c.r[i] = 0, 0
			c.excludedPosition = append(c.excludedPosition, int32(i))
			continue
		}
		c.n[i], c.r[i] = y, x
		c.minNPU, c.maxNPU = min(c.minNPU, y), max(c.maxNPU, y)
		c.minRef, c.maxRef = min(c.minRef, x), max(c.maxRef, x)
	}
	c.excluded += int64(len(c.excludedPosition))
	return c.n[:len(n)], c.r[:len(n)]
}

// countExcluded adds an excluded pair to the counts of its kind.
func (c *Collector) countExcluded(n, r float64) {
	high := c.request.Type.Max
	nFinite, rFinite := math.Abs(n) <= math.MaxFloat64, math.Abs(r) <= math.MaxFloat64
	saturated := nFinite && rFinite && math.Abs(r) > high
	if math.Signbit(n) == math.Signbit(r) {
		near := float64(high * 0.999)
		saturated = saturated || nFinite && math.IsInf(r, 0) && math.Abs(n) >= near || rFinite && math.IsInf(n, 0) && math.Abs(r) >= near
	}
	switch {
	case saturated && rFinite && !c.request.isMasked(r): // an infinite reference overflowed itself
		c.overflows++
	case !saturated && !nFinite && n != r && (n == n || r == r):
		c.nonFinite++
	}
	if rFinite && math.Abs(r) > halfMax && math.IsInf(n, 0) && math.Signbit(n) == math.Signbit(r) {
		c.grid.Saturated++
	}
	if nFinite && rFinite {
		if c.excludedD == nil {
			c.excludedD = new(histogram)
		}
		c.excludedD.add(math.Abs(n - r))
	}
}

// addGroups adds a block to its rows and channels and, unless table is nil, to the octaves. It
// returns the sums of all pairs.
func (c *Collector) addGroups(first int64, n, r []float64, table *kernel.Octaves) kernel.GroupSums {
	before := first - c.start
	rows, channels := c.rows.hasColumns(), c.channels.hasColumns()
	if rows {
		c.rows.addColumns(first, before, n, r, c.floor)
	}
	if channels {
		c.channels.addColumns(first, before, n, r, c.floor)
	}
	all := c.addRuns(first, n, r, !rows, !channels, table)
	for _, i := range c.excludedPosition {
		c.rows.exclude(first+int64(i), c.floor)
		c.channels.exclude(first+int64(i), c.floor)
	}
	return all
}

// addRuns adds elements in runs within one bin: to the rows or channels that are not columns,
// and to the octaves. It returns the sums of all pairs.
func (c *Collector) addRuns(first int64, n, r []float64, rows, channels bool, table *kernel.Octaves) (all kernel.GroupSums) {
	if rows && first == c.start {
		c.rows.seek(first)
	}
	if channels && first == c.start {
		c.channels.seek(first)
	}
	for len(n) > 0 {
		runs := c.cutRuns(len(n), rows, channels)
		sums := c.sums[:len(runs)]
		var placed []kernel.GroupSums
		var before kernel.GroupSums
		if rows {
			if placed, before = c.rows.reserve(c.rowBins[:len(runs)]); placed != nil {
				sums = placed
			}
		}
		signs := table.SumRuns(sums, runs, n, r, c.floor)
		c.bits |= signs.Bits
		if table != nil {
			c.sampled.positiveDR += signs.DR
			for i := range sums {
				c.sampled.dr += sums[i].DR
			}
		}
		if channels {
			c.channels.add(c.channelBins[:len(runs)], sums)
		}
		done := 0
		for i, run := range runs {
			if sums[i].MaxD > c.maxD {
				c.setMax(sums[i].MaxD, n[done:], r[done:])
			}
			all.Merge(&sums[i])
			done += run
		}
		n, r = n[done:], r[done:]
		switch {
		case placed != nil && before.Count > 0:
			before.Merge(&placed[0])
			placed[0] = before
		case rows && placed == nil:
			c.rows.add(c.rowBins[:len(runs)], sums)
		}
	}
	return all
}

// cutRuns cuts the first of count elements into runs, sets their bins and returns their lengths.
func (c *Collector) cutRuns(count int, rows, channels bool) []int {
	row, channel := &c.rows.cursor, &c.channels.cursor
	k := 0
	for ; k < runCount && count > 0; k++ {
		run := min(int64(count), row.left, channel.left)
		c.runs[k] = int(run)
		count -= int(run)
		if c.rowBins[k] = int32(row.bin); rows {
			if row.left -= run; row.left == 0 {
				c.rows.next()
			}
		}
		if c.channelBins[k] = int32(channel.bin); channels {
			if channel.left -= run; channel.left == 0 {
				c.channels.next()
			}
		}
	}
	return c.runs[:k]
}

// setMax sets the largest |d| and finds its pair.
func (c *Collector) setMax(largest float64, n, r []float64) {
	for i, x := range r {
		if math.Abs(n[i]-x) == largest {
			c.maxD, c.maxDRef = largest, math.Abs(x)
			return
		}
	}
}

// addSteps adds the differences between neighbours in a row.
func (c *Collector) addSteps(first int64, n, r []float64) {
	if c.row < 2 {
		return
	}
	if first == c.start {
		c.firstN, c.firstR = n[0], r[0]
	} else {
		c.addStep(first, n[0], r[0])
	}
	c.lastN, c.lastR = n[len(n)-1], r[len(r)-1]
	left := min(c.row-first%c.row, int64(len(n)))
	c.addStepSums(kernel.SumSteps(n, r, int(left), int(min(c.row, blockElements))))
}

func (c *Collector) addStepSums(dd, rr float64) {
	c.stepDD += dd
	c.stepRR += rr
}

// addStep adds the difference between the element at an offset and the one before it, if both
// are in the same row and, for a sample, in the same block.
func (c *Collector) addStep(offset int64, n, r float64) {
	if c.row < 2 || offset%c.row == 0 || !c.strata.IsComplete() && (offset%blockElements == 0 || !c.strata.HasBlock(offset)) {
		return
	}
	d, y := (n-r)-(c.lastN-c.lastR), r-c.lastR
	c.addStepSums(float64(d*d), float64(y*y))
}

// countTiny counts the subnormal references in float64.
func (c *Collector) countTiny(r []float64) {
	for _, x := range r {
		if x != 0 && math.Abs(x) < smallestNormal {
			c.sampled.tiny++
		}
	}
}
