package noise

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
)

// spreadOf returns the standard deviation, or the root mean square if the standard deviation is less than 1/1000 of
// the root mean square.
func spreadOf(std, rms float64) float64 {
	if std < rms/1000 {
		return rms
	}
	return std
}

// summary has numbers over all bins of a grouping.
type summary struct {
	r, d, dr, refMax float64
	rr, uu           float64 // sums of r^2 and of 2^(2e) (see kernel.Quad)
	// scale and mean are the shares of sum dd that a scale and a mean of each group
	// explain; 0 unless there are two groups of at least 8 elements.
	scale, mean  float64
	medianView   float64    // median of the views of the groups, 0 if there is one group
	rowsSumToOne bool       // the references of each row sum to 1
	rowsOff      [3]offRows // by type, in the order of singles.lone
	folded       Groups
}

// offRows counts the rows that are off: their differences exceed the rounding of a type.
type offRows struct {
	count   int64
	otherDD float64 // sum of d^2 over the other rows
}

// addOff adds the rows of a bin; dd is their sum of d^2. held are the coarser types whose numbers the elements may
// be.
func (s *summary) addOff(held []coarsening, rows int64, rms, rounding, dd float64) {
	s.rowsOff[0].add(rows, rms, rounding, dd)
	for k := range held {
		s.rowsOff[k+1].add(rows, rms, held[k].rounding(rounding), dd)
	}
}

func (o *offRows) add(rows int64, rms, rounding, dd float64) {
	if rms > 4*rounding {
		o.count += rows
	} else {
		o.otherDD += dd
	}
}

// summarize computes the summary of bins, folded to at most limit bins. With rows it also sets
// the means and standard deviations of the collector; with ones it checks the sums of rows.
func (c *Collector) summarize(b *bins, limit int, rows, ones bool) summary {
	fold := 1
	for (b.bins+fold-1)/fold > limit {
		fold *= 2
	}
	s := summary{rowsSumToOne: ones, folded: newGroups(&b.grouping, fold)}
	epsilon := c.request.Type.Float.Epsilon()
	if c.request.Type.Integer {
		epsilon = 0
	}
	c.views = resize(c.views, b.bins)
	var held []coarsening
	if c.isFloat32() {
		held = coarsenings()
	}
	if rows {
		c.means, c.stds = resize(c.means, b.bins), resize(c.stds, b.bins)
	}
	var lanes kernel.Quad
	var f kernel.Fold
	var t kernel.Totals
	var dr float64 // sum of dr over the groups in f
	for bin := 0; bin < b.bins; bin += 4 {
		q := b.quadOf(bin, &lanes)
		g := &c.numbers
		g.Set(q, epsilon)
		s.rr += q.Squares()
		s.uu += kernel.LaneSum(&q.UU)
		copy(c.views[bin:], g.View[:])
		if rows {
			copy(c.means[bin:], g.RefMean[:])
			copy(c.stds[bin:], g.RefStd[:])
		}
		s.rowsSumToOne = s.rowsSumToOne && b.rowsSumToOne(bin, q, g, c.row)
		next := min(bin+4, b.bins)
		if rows {
			for k := range next - bin {
				s.addOff(held, b.groups(bin+k), g.RMS[k], g.Rounding[k], q.DD[k])
			}
		}
		if fold >= 4 && (next < b.bins || b.fold == 1 && next == bin+4) {
			f.AddFour(&t, g, q, float64(b.fold))
			dr += kernel.LaneSum(&q.DR)
		} else {
			for at := bin; at < next; at++ {
				f.Add(at-bin, &t, g, q, float64(b.groups(at)))
				dr += q.DR[at-bin]
				if fold < 4 && (at+1)&(fold-1) == 0 && at+1 < next {
					s.set(at/fold, &f, dr)
					dr = 0
				}
			}
		}
		if next&(fold-1) == 0 || next == b.bins {
			s.set((next-1)/fold, &f, dr)
			dr = 0
		}
	}
	s.r, s.d, s.dr = kernel.LaneSum(&t.R), kernel.LaneSum(&t.D), kernel.LaneSum(&t.DR)
	if b.bins > 1 && b.elements(0) >= 8 {
		dd := kernel.LaneSum(&t.DD)
		s.scale, s.mean = kernel.LaneSum(&t.Scale)/dd, kernel.LaneSum(&t.Mean)/dd
	}
	if b.bins > 1 {
		s.medianView = median(c.views)
	}
	return s
}

// rowsSumToOne reports whether, in each of up to four bins from bin on, the rows of the reference sum to 1 on average.
func (b *bins) rowsSumToOne(bin int, q *kernel.Quad, g *kernel.Numbers, row int64) bool {
	for k := range min(4, b.bins-bin) {
		if sum := float64(q.Counts[k] * g.RefMean[k]); !(math.Abs(sum/float64(b.elements(bin+k)/row)-1) < 0.01) {
			return false
		}
	}
	return true
}

// resize returns a slice of length count with arbitrary values.
func resize(s []float64, count int) []float64 {
	if cap(s) < count {
		return make([]float64, count)
	}
	return s[:count]
}

// squaredDistances returns the sum of squared distances of the references from a number, computed from
// the means and standard deviations of the rows.
func (c *Collector) squaredDistances(from float64) (sum float64) {
	last := len(c.means) - 1
	count := float64(c.rows.elements(0))
	for k, mean := range c.means {
		if k == last {
			count = float64(c.rows.elements(k))
		}
		mean -= from
		sum += float64(count*float64(c.stds[k]*c.stds[k])) + float64(count*float64(mean*mean))
	}
	return sum
}

// newGroups returns empty groups; each bin of the result joins each bins of the grouping.
func newGroups(of *grouping, each int) Groups {
	bins := (of.bins + each - 1) / each
	const columns = 10
	left := make([]float32, columns*bins) // one allocation, since a run keeps the columns of every tensor
	column := func() (c Column) {
		c, left = left[:bins:bins], left[bins:]
		return c
	}
	return Groups{
		Count: of.count, Size: of.size(), Fold: of.fold * int64(each),
		RefRMS: column(), RefStd: column(), RefMax: column(), RMS: column(), Mean: column(),
		Max: column(), Rounding: column(), Relative: column(), Inverse: column(), Scale: column(),
	}
}

// set sets a bin of the result from the sums in f, and clears f. dr is the sum of dr over its
// groups.
func (s *summary) set(bin int, f *kernel.Fold, dr float64) {
	to := &s.folded
	each := to.Fold
	count := float64(min(each, to.Count-int64(bin)*each))
	root := func(sum *[4]float64) float32 { return toFloat32(math.Sqrt(kernel.LaneSum(sum) / count)) }
	to.RefRMS[bin], to.RefStd[bin], to.RMS[bin], to.Rounding[bin] = root(&f.Ref), root(&f.Std), root(&f.RMS), root(&f.Rounding)
	to.Mean[bin] = toFloat32(kernel.LaneSum(&f.Mean) / count)
	refMax := kernel.LaneMax(&f.MaxR)
	s.refMax = max(s.refMax, refMax)
	to.RefMax[bin], to.Max[bin] = toFloat32(refMax), toFloat32(kernel.LaneMax(&f.MaxD))
	to.Relative[bin], to.Inverse[bin] = toFloat32(kernel.LaneMax(&f.Relative)), toFloat32(kernel.LaneMax(&f.Inverse))
	if rr := kernel.LaneSum(&f.Ref) * float64(to.Size); rr > 0 {
		to.Scale[bin] = toFloat32(dr / rr)
	}
	*f = kernel.Fold{}
}

// toFloat32 converts to float32; values beyond its range become the largest float32 of their sign.
func toFloat32(x float64) float32 {
	return float32(max(-math.MaxFloat32, min(x, math.MaxFloat32)))
}
