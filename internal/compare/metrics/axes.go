package metrics

import (
	"context"
	"math"
	"slices"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/tensor"
)

const (
	// maxPlane is the largest number of columns that have sums of their own.
	maxPlane = 4096
	// shortRun is the length below which runs are too short to be summed one by one;
	// to avoid shorter runs there may be up to maxWide columns.
	shortRun, maxWide = 64, 1 << 15
	// maxBins is the largest number of bins of an axis.
	maxBins = 1024
)

// axisPlan says how differences are summed for the profiles of all axes. The last axes, as
// long as the product of their sizes is at most maxPlane, form a plane, with one more axis
// if runs would be short otherwise. Each position of the plane is a column with sums of its
// own; the profiles of the inner axes are derived from the columns at the end. A bin of an
// outer axis covers long runs of elements; a run is summed first, then added to its bins.
type axisPlan struct {
	plane, period int64 // period: number of columns; several planes if they are small
	inner, outer  []axis
	bins          int // number of bins of all outer axes
}

// axis is an axis of at least two positions.
type axis struct {
	index              int
	size, stride, fold int64
	first, bins        int // of an outer axis: first is the index of its first bin in the bins of all outer axes
}

// newAxisPlan plans for a shape of total elements.
func newAxisPlan(shape tensor.Shape, total int64) *axisPlan {
	p := &axisPlan{plane: 1}
	stride := int64(1)
	for i := len(shape) - 1; i >= 0 && total > 0; i-- {
		if shape[i] < 2 {
			continue
		}
		a := axis{index: i, size: shape[i], stride: stride, fold: (shape[i] + maxBins - 1) / maxBins}
		a.bins = int((a.size + a.fold - 1) / a.fold)
		stride *= a.size
		if len(p.outer) == 0 && (stride <= maxPlane || a.stride < shortRun && stride <= maxWide) {
			p.inner = append(p.inner, a)
			p.plane = stride
			continue
		}
		a.first = p.bins
		p.bins += a.bins
		p.outer = append(p.outer, a)
	}
	if len(p.inner) > 0 {
		// The columns of a block leave room for its elements in the L1 cache.
		p.period = min(max(blockElements/p.plane, 1)*p.plane, total)
	}
	return p
}

// axisSums holds the sums over columns and outer bins.
type axisSums struct {
	columns, outer binSums
	// latest are 8-bit counts of errors, not yet added to columns.errors, of the last counted runs.
	latest  []uint8
	counted int
	axisCursor
}

// flushErrors adds the latest counts of errors to the counts of the columns.
func (s *axisSums) flushErrors() {
	for i, n := range s.latest {
		s.columns.errors[i] += int64(n)
	}
	clear(s.latest)
	s.counted = 0
}

// axisCursor is a position in the elements: its offset, its column and its bins. left is the number of elements from
// here to the end of the bin of the first outer axis.
type axisCursor struct {
	offset, column, left int64
	bins                 []int // of the outer axes
	bin                  int   // index of the bin of the first outer axis within that axis
}

// seek moves the cursor to the element at an offset.
func (c *axisCursor) seek(p *axisPlan, offset int64) {
	c.offset, c.column, c.left, c.bins = offset, 0, math.MaxInt64, c.bins[:0]
	if p.period > 0 {
		c.column = offset % p.period
	}
	for i := range p.outer {
		a := &p.outer[i]
		bin := int(offset / a.stride % a.size / a.fold)
		if c.bins = append(c.bins, a.first+bin); i == 0 {
			c.bin, c.left = bin, min(int64(bin+1)*a.fold, a.size)*a.stride-offset%(a.size*a.stride)
		}
	}
}

// skip moves the cursor n elements forward, at most to the end of the current bins.
func (c *axisCursor) skip(p *axisPlan, n int64) {
	c.offset += n
	c.column += n
	if c.column == p.period {
		c.column = 0
	}
	if c.left -= n; c.left > 0 {
		return
	}
	a := &p.outer[0]
	if c.bin++; c.bin == a.bins {
		c.seek(p, c.offset)
		return
	}
	c.bins[0]++
	c.left = min(a.fold, a.size-int64(c.bin)*a.fold) * a.stride
}

// binSums holds sums of |d| and of |d|/|r| and counts of errors, by bin.
type binSums struct {
	abs, rel []float64
	errors   []int64
}

// reset returns n bins of zeros, in the memory of b.
func (b binSums) reset(n int) binSums {
	return binSums{zeroSlice(b.abs, n), zeroSlice(b.rel, n), zeroSlice(b.errors, n)}
}

// zeroSlice returns n zeros, in the memory of the slice if it is large enough.
func zeroSlice[T any](of []T, n int) []T {
	of = slices.Grow(of[:0], n)[:n]
	clear(of)
	return of
}

// reset returns the zero sums of a plan, in the memory of s.
func (s axisSums) reset(p *axisPlan) axisSums {
	return axisSums{columns: s.columns.reset(int(p.period)), latest: zeroSlice(s.latest, int(p.period)), outer: s.outer.reset(p.bins), axisCursor: axisCursor{offset: -1, bins: s.bins[:0]}}
}

func (b *binSums) merge(c *binSums) {
	for i := range b.abs {
		b.abs[i] += c.abs[i]
		b.rel[i] += c.rel[i]
		b.errors[i] += c.errors[i]
	}
}

// isEmpty reports whether no elements were added.
func (s *axisSums) isEmpty() bool { return s.offset < 0 }

func (s *axisSums) merge(t *axisSums) {
	if t.isEmpty() {
		return
	}
	s.offset = t.offset
	t.flushErrors()
	s.columns.merge(&t.columns)
	s.outer.merge(&t.outer)
}

// add adds the elements from offset first on. totalAbs and totalRel are the sums of abs and
// rel; flags are the error flags, nil if there are no errors.
func (s *axisSums) add(p *axisPlan, first int64, abs, rel []float64, totalAbs, totalRel float64, flags []uint8) {
	if len(p.inner) == 0 && len(p.outer) == 0 {
		return
	}
	if s.offset != first {
		s.seek(p, first)
	}
	all := int64(len(abs))
	for len(abs) > 0 {
		n := min(int64(len(abs)), s.left)
		if p.period > 0 {
			n = min(n, p.period-s.column)
		}
		sumAbs, sumRel := totalAbs, totalRel
		if whole := n == all; p.period > 0 {
			x, y := kernel.AddTo(s.columns.abs[s.column:], abs[:n]), kernel.AddTo(s.columns.rel[s.column:], rel[:n])
			if !whole {
				sumAbs, sumRel = x, y
			}
		} else if !whole {
			sumAbs, sumRel = kernel.Sum(abs[:n]), kernel.Sum(rel[:n])
		}
		var errors int64
		if flags != nil {
			errors = s.addErrors(p, flags[:n])
			flags = flags[n:]
		}
		for _, k := range s.bins {
			s.outer.abs[k] += sumAbs
			s.outer.rel[k] += sumRel
			s.outer.errors[k] += errors
		}
		abs, rel = abs[n:], rel[n:]
		s.skip(p, n)
	}
}

// sumAxes adds the block to the profiles of the axes, unless they start at the first error
// and none was found yet.
func (b *block) sumAxes() {
	if p := b.part; b.first < p.axesFrom {
		if !b.failed {
			return
		}
		p.axesFrom = b.first
	}
	var flags []uint8
	if b.failed {
		flags = b.flags[:b.pairCount]
	} else if b.extent.maxAbs == 0 {
		return
	}
	abs, rel := b.spreadByPlace()
	b.part.axes.add(b.e.axes, b.first, abs, rel, b.extent.sumAbs, sumValue(b.sums.relative), flags)
}

func (s *axisSums) addErrors(p *axisPlan, flags []uint8) (count int64) {
	if p.period > 0 {
		if s.counted++; s.counted == math.MaxUint8 { // a run has each column at most once
			s.flushErrors()
		}
		return int64(kernel.CountFlags(s.latest[s.column:], flags, strictError))
	}
	for _, f := range flags {
		if f&strictError != 0 {
			count++
		}
	}
	return count
}

// AddAxes reads the elements of res.WithoutAxes again and adds them to the profiles of the
// axes.
func (p *Pool) AddAxes(ctx context.Context, req Request, res *Result, ref, npu Reader) error {
	req.Noise, req.Visit, req.LateAxes, req.Top, req.List, req.Points = nil, nil, false, 0, 0, 0
	e, err := p.New(req)
	if err != nil {
		return err
	}
	b, part := p.get(e), e.newPartial(0)
	part.axesFrom = 0
	for _, of := range res.WithoutAxes {
		var sums tree
		if err := b.add(ctx, e, part, &sums, of, ref, npu); err != nil {
			return err // the tables are half-filled: the buffers do not go back to the pool
		}
	}
	b.histograms.drainInto(part)
	p.buffers.Put(b)
	for i, more := range e.axes.profiles(nil, &part.axes, e.total) {
		bins := res.Axes[i].Bins
		for k := range bins {
			bins[k].add(&more.Bins[k])
		}
	}
	p.partials.Put(part)
	res.WithoutAxes = nil
	return nil
}

// add adds the differences and errors of another bin.
func (b *AxisBin) add(more *AxisBin) {
	b.SumAbs += more.SumAbs
	b.SumRel += more.SumRel
	b.Errors += more.Errors
}

// profiles derives the profiles of all axes, in the order of the axes, in the memory of used.
func (p *axisPlan) profiles(used []AxisProfile, s *axisSums, total int64) []AxisProfile {
	profiles := used[:0]
	for i := len(p.outer) - 1; i >= 0; i-- {
		a := &p.outer[i]
		profile := a.emptyProfile(profiles, total)
		for k := range profile.Bins {
			b := &profile.Bins[k]
			b.SumAbs, b.SumRel = s.outer.abs[a.first+k], s.outer.rel[a.first+k]
			b.Errors = s.outer.errors[a.first+k]
		}
		profiles = append(profiles, profile)
	}
	s.flushErrors()
	columns := p.period
	if s.isEmpty() {
		columns = 0
	}
	for i := len(p.inner) - 1; i >= 0; i-- {
		a := &p.inner[i]
		profile := a.emptyProfile(profiles, total)
		for column := range columns {
			profile.Bins[column/a.stride%a.size/a.fold].add(&AxisBin{SumAbs: s.columns.abs[column], SumRel: s.columns.rel[column], Errors: s.columns.errors[column]})
		}
		profiles = append(profiles, profile)
	}
	return profiles
}

// emptyProfile returns the profile of an axis with only the counts set. It reuses the bins of the
// profile that others had at the next index.
func (a *axis) emptyProfile(others []AxisProfile, total int64) AxisProfile {
	var bins []AxisBin
	if k := len(others); k < cap(others) {
		bins = others[:k+1][k].Bins
	}
	profile := AxisProfile{Axis: a.index, Size: a.size, Fold: a.fold, Bins: zeroSlice(bins, a.bins)}
	each := total / a.size
	for k := range profile.Bins {
		first := int64(k) * a.fold
		profile.Bins[k].Count = each * (min(first+a.fold, a.size) - first)
	}
	return profile
}
