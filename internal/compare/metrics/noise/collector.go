package noise

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/tensor"
)

const (
	// blockElements is the largest number of elements that are worked on at a time.
	blockElements = 1024
	// runCount is that of runs.
	runCount = 64
	// smallestNormal is the smallest normal number of float64.
	smallestNormal = 0x1p-1022
)

// Collector gathers what is known of the pairs of one segment, or of segments that
// were merged.
type Collector struct {
	request    Request
	total      int64   // elements of the tensor
	row        int64   // elements of the last axis, most often of a row
	floor      float64 // the smallest normal number of the type
	start, end int64   // the elements that were added
	excluded   int64   // of them those that do not count
	nonFinite  int64
	overflows  int64

	rows, channels   bins
	octaves          [2][]octave // of positive references, or 0, and of negative ones
	joined           []octave    // memory for those of both
	strata           Strata      // what octaves and steps are of
	sampled          sampled
	dd               float64 // of all pairs
	bits             uint64  // of all NPU elements
	stepDD, stepRR   float64
	firstN, firstR   float64 // the elements at start
	lastN, lastR     float64 // those before end
	minNPU, maxNPU   float64
	minRef, maxRef   float64
	maxD, maxDRef    float64
	distinct         distinct
	grid             NumberGrid // of types that have one
	singles          singles
	excludedD        *histogram // |d| of finite pairs that do not count, nil for none
	table            *kernel.Octaves
	excludedPosition []int32
	places           []int64 // the offsets of the probe
	probedTo         int     // the places before it are done
	*scratch

	// Of all rows, and of the groups of any kind: see summarize.
	means, stds, views []float64
}

// scratch is memory of which nothing is left from before.
type scratch struct {
	n, r   [blockElements]float64 // a block without what does not count
	runs   [runCount]int          // of a block
	probes [probed]float32
	sums   [runCount]kernel.GroupSums
	// The bins of the runs.
	rowBins, channelBins [runCount]int32
	numbers              kernel.Numbers
}

// octave holds the sums over the pairs with one exponent and sign of r.
type octave struct {
	exponent int
	kernel.Octave
}

// NewCollector returns a collector of nothing. The request has passed Check.
func NewCollector(req *Request) *Collector {
	c := new(Collector)
	c.Reset(req)
	return c
}

// Reset makes it a collector of nothing again, for any request.
func (c *Collector) Reset(req *Request) {
	if c.table == nil {
		c.table, c.scratch = kernel.NewOctaves(), new(scratch)
	}
	if c.excludedD != nil {
		c.excludedD.clear()
	}
	c.table.Take(func(int, kernel.Octave, kernel.Octave) {})
	rows, channels := rowsOf(req.Shape), channelsOf(req.Shape)
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
	c.singles = newSingles(req.Type, c.gridded())
}

// gridded reports whether the elements of the NPU may be numbers of another type.
func (c *Collector) gridded() bool { return c.request.Type.Name == tensor.Float32.String() }

// Add adds decoded elements, also those that are not finite, that follow those
// added before; the first ones are at any offset.
func (c *Collector) Add(first int64, n, r []float64) {
	for len(n) > 0 {
		k := min(len(n), blockElements-int(first%blockElements))
		c.AddBlock(first, n[:k], r[:k], kernel.SpanOf(n[:k]), kernel.SpanOf(r[:k]), math.Inf(1))
		first, n, r = first+int64(k), n[k:], r[k:]
	}
}

// AddBlock is Add for elements of one block of 1024 whose spans are known. No |d| is more than ratio
// times |r|, which may be infinite. It returns the sums of all pairs, nothing where some do
// not count.
func (c *Collector) AddBlock(first int64, n, r []float64, nSpan, rSpan kernel.Span, ratio float64) (all kernel.GroupSums) {
	if c.end == c.start {
		c.start, c.end = first, first
	}
	c.probe(first, r)
	c.excludedPosition = c.excludedPosition[:0]
	zeros := nSpan.MinAbs == 0 || rSpan.MinAbs == 0
	if nSpan.Special || rSpan.Special || rSpan.MaxAbs > c.request.Type.Max || c.request.masked(rSpan.Min) {
		n, r = c.exclude(n, r)
		zeros = true
		rSpan.MinAbs, rSpan.NotZero = 0, 0
	} else {
		c.minNPU, c.maxNPU = min(c.minNPU, nSpan.Min), max(c.maxNPU, nSpan.Max)
		c.minRef, c.maxRef = min(c.minRef, rSpan.Min), max(c.maxRef, rSpan.Max)
	}
	switch {
	case c.distinct.count == manyValues:
	case nSpan.Min == nSpan.Max && len(c.excludedPosition) == 0: // as in tensors of zeros
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
	if c.gridded() {
		c.grid.add(n, r, nSpan, rSpan)
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

// octavesOf returns the table for the octaves of a block, nil for one that the sample has
// not. No reference that is not 0 is smaller than least.
func (c *Collector) octavesOf(first int64, r []float64, least float64) *kernel.Octaves {
	if !c.strata.Has(first) {
		return nil
	}
	c.sampled.excluded += int64(len(c.excludedPosition))
	if least < smallestNormal {
		c.countTiny(r)
	}
	c.table.Cover(least, max(-c.minRef, c.maxRef))
	return c.table
}

// exclude returns the elements with zeros in place of those that do not count.
func (c *Collector) exclude(n, r []float64) ([]float64, []float64) {
	c.minRef, c.maxRef = min(c.minRef, 0), max(c.maxRef, 0)
	mask, high := c.request.Mask, c.request.Type.Max
	for i, x := range r {
		y := n[i]
		if !(x > mask && math.Abs(x) <= high && math.Abs(y) <= math.MaxFloat64) {
			c.leaveOut(y, x)
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

// leaveOut counts a pair that does not count, by what it is.
func (c *Collector) leaveOut(n, r float64) {
	high := c.request.Type.Max
	nFinite, rFinite := math.Abs(n) <= math.MaxFloat64, math.Abs(r) <= math.MaxFloat64
	saturated := nFinite && rFinite && math.Abs(r) > high
	if math.Signbit(n) == math.Signbit(r) {
		near := float64(high * 0.999)
		saturated = saturated || nFinite && math.IsInf(r, 0) && math.Abs(n) >= near || rFinite && math.IsInf(n, 0) && math.Abs(r) >= near
	}
	switch {
	case saturated && rFinite && !c.request.masked(r): // an infinite reference overflowed itself
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

// addGroups adds a block to its rows and channels and to a table of octaves, nil for none,
// and returns the sums of all.
func (c *Collector) addGroups(first int64, n, r []float64, table *kernel.Octaves) kernel.GroupSums {
	before := first - c.start
	rows, channels := c.rows.columns(), c.channels.columns()
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

// addRuns adds elements in runs that are in one bin: to the rows, the channels, or
// both, and to the octaves. It returns what addGroups does.
func (c *Collector) addRuns(first int64, n, r []float64, rows, channels bool, table *kernel.Octaves) (all kernel.GroupSums) {
	if rows && first == c.start {
		c.rows.seek(first)
	}
	if channels && first == c.start {
		c.channels.seek(first)
	}
	for len(n) > 0 {
		runs := c.cut(len(n), rows, channels)
		sums := c.sums[:len(runs)]
		var placed []kernel.GroupSums
		var before kernel.GroupSums
		if rows {
			if placed, before = c.rows.place(c.rowBins[:len(runs)]); placed != nil {
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

// cut returns the lengths of the first runs of count elements, and sets their bins.
func (c *Collector) cut(count int, rows, channels bool) []int {
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

// setMax sets the largest |d|, which is among some pairs.
func (c *Collector) setMax(largest float64, n, r []float64) {
	for i, x := range r {
		if math.Abs(n[i]-x) == largest {
			c.maxD, c.maxDRef = largest, math.Abs(x)
			return
		}
	}
}

// addSteps adds the differences of neighbours in a row.
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

// addStep adds the difference of the last elements from those at an offset, which
// follow them, if they are in one row, and where there is a sample in one block of it.
func (c *Collector) addStep(offset int64, n, r float64) {
	if c.row < 2 || offset%c.row == 0 || !c.strata.Whole() && (offset%blockElements == 0 || !c.strata.Has(offset)) {
		return
	}
	d, y := (n-r)-(c.lastN-c.lastR), r-c.lastR
	c.addStepSums(float64(d*d), float64(y*y))
}

// countTiny counts references below the normal numbers of float64.
func (c *Collector) countTiny(r []float64) {
	for _, x := range r {
		if x != 0 && math.Abs(x) < smallestNormal {
			c.sampled.tiny++
		}
	}
}
