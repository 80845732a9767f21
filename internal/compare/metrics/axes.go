package metrics

import (
	"context"
	"math"
	"slices"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/tensor"
)

const (
	// maxPlane is the largest number of columns that are kept apart.
	maxPlane = 4096
	// shortRun is the length of runs that are too short to be added up one by one, for which
	// there may be maxWide columns.
	shortRun, maxWide = 64, 1 << 15
	// maxBins is the largest number of bins of an axis.
	maxBins = 1024
)

// axisPlan says how the axes of a shape are gathered. The last axes, as many as
// have a product of at most maxPlane, make a plane, with one more where runs would be
// short: its positions are columns, of which the profiles of these axes are derived in the
// end. Along the axes before them the bins have long runs of elements, which are added up
// first.
type axisPlan struct {
	shape         tensor.Shape
	plane, period int64 // period: the columns, several planes if they are small
	inner, outer  []axis
	bins          int // of all outer axes
}

// axis is an axis of at least two positions.
type axis struct {
	index              int
	size, stride, fold int64
	first, bins        int // of an outer axis: its bins among those of all
}

// newAxisPlan plans for a shape of total elements.
func newAxisPlan(shape tensor.Shape, total int64) *axisPlan {
	p := &axisPlan{shape: shape, plane: 1}
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
		// Columns of a block leave the fastest cache to its elements.
		p.period = min(max(blockElements/p.plane, 1)*p.plane, total)
	}
	return p
}

// axisSums holds the sums over columns and outer bins.
type axisSums struct {
	columns, outer binSums
	// latest are errors of the columns that are not among theirs yet, those of counted runs.
	latest  []uint8
	counted int
	axisCursor
}

// settle adds the latest errors of the columns to the others.
func (s *axisSums) settle() {
	for i, n := range s.latest {
		s.columns.errors[i] += int64(n)
	}
	clear(s.latest)
	s.counted = 0
}

// axisCursor is at an element: in which column and which bins that is, and how many
// elements from there on are in these bins.
type axisCursor struct {
	offset, column, left int64
	bins                 []int // of the outer axes
	bin                  int   // the first of them among those of its axis
}

// seek makes the element at an offset the next one.
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

// skip moves on by as many elements as are in the same bins, at most.
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

// binSums holds sums of |d| and |d|/|r| and numbers of errors, by bins.
type binSums struct {
	abs, rel []float64
	errors   []int64
}

// empty returns sums of nothing for n bins, in the memory of b.
func (b binSums) empty(n int) binSums {
	return binSums{cleared(b.abs, n), cleared(b.rel, n), cleared(b.errors, n)}
}

// cleared returns n zeros, in the memory of a slice if it is large enough.
func cleared[T any](of []T, n int) []T {
	of = slices.Grow(of[:0], n)[:n]
	clear(of)
	return of
}

// empty returns sums of nothing for a plan, in the memory of s.
func (s axisSums) empty(p *axisPlan) axisSums {
	return axisSums{columns: s.columns.empty(int(p.period)), latest: cleared(s.latest, int(p.period)), outer: s.outer.empty(p.bins), axisCursor: axisCursor{offset: -1, bins: s.bins[:0]}}
}

func (b *binSums) merge(c *binSums) {
	for i := range b.abs {
		b.abs[i] += c.abs[i]
		b.rel[i] += c.rel[i]
		b.errors[i] += c.errors[i]
	}
}

// none reports whether nothing was added.
func (s *axisSums) none() bool { return s.offset < 0 }

func (s *axisSums) merge(t *axisSums) {
	if t.none() {
		return
	}
	s.offset = t.offset
	t.settle()
	s.columns.merge(&t.columns)
	s.outer.merge(&t.outer)
}

// add adds elements from an offset on with the sums of all of them, and their
// error flags, nil when there are no errors.
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

// sumAxes adds the block to the profiles of the axes, unless they wait for an error.
func (b *block) sumAxes() {
	if p := b.part; b.first < p.axesFrom {
		if !b.failed {
			return
		}
		p.axesFrom = b.first
	}
	var flags []uint8
	if b.failed {
		flags = b.flags[:b.all]
	} else if b.extent.maxAbs == 0 {
		return
	}
	abs, rel := b.spreadOut()
	b.part.axes.add(b.e.axes, b.first, abs, rel, b.extent.sumAbs, valueOf(b.sums.relative), flags)
}

func (s *axisSums) addErrors(p *axisPlan, flags []uint8) (count int64) {
	if p.period > 0 {
		if s.counted++; s.counted == math.MaxUint8 { // a run has no column twice
			s.settle()
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

// AddAxes adds to the profiles of the axes of a result what they are without: that is read
// again.
func (p *Pool) AddAxes(ctx context.Context, req Request, res *Result, ref, npu Reader) error {
	if len(res.WithoutAxes) == 0 {
		return nil
	}
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
			return err // the tables hold a part
		}
	}
	b.histograms.take(part)
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

// profiles derives the profiles of all axes, in their order and the memory of others.
func (p *axisPlan) profiles(used []AxisProfile, s *axisSums, total int64) []AxisProfile {
	profiles := used[:0]
	for i := len(p.outer) - 1; i >= 0; i-- {
		a := &p.outer[i]
		profile := a.profile(profiles, total)
		for k := range profile.Bins {
			b := &profile.Bins[k]
			b.SumAbs, b.SumRel = s.outer.abs[a.first+k], s.outer.rel[a.first+k]
			b.Errors = s.outer.errors[a.first+k]
		}
		profiles = append(profiles, profile)
	}
	s.settle()
	columns := p.period
	if s.none() {
		columns = 0
	}
	for i := len(p.inner) - 1; i >= 0; i-- {
		a := &p.inner[i]
		profile := a.profile(profiles, total)
		for column := range columns {
			profile.Bins[column/a.stride%a.size/a.fold].add(&AxisBin{SumAbs: s.columns.abs[column], SumRel: s.columns.rel[column], Errors: s.columns.errors[column]})
		}
		profiles = append(profiles, profile)
	}
	return profiles
}

// profile returns the profile of an axis with nothing but the counts, in the memory of the
// one that was at its place behind others.
func (a *axis) profile(others []AxisProfile, total int64) AxisProfile {
	var bins []AxisBin
	if k := len(others); k < cap(others) {
		bins = others[:k+1][k].Bins
	}
	profile := AxisProfile{Axis: a.index, Size: a.size, Fold: a.fold, Bins: cleared(bins, a.bins)}
	each := total / a.size
	for k := range profile.Bins {
		first := int64(k) * a.fold
		profile.Bins[k].Count = each * (min(first+a.fold, a.size) - first)
	}
	return profile
}
