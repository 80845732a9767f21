package noise

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
)

// spreadOf returns the standard deviation where it is not small beside the root mean
// square, else that.
func spreadOf(std, rms float64) float64 {
	if std < rms/1000 {
		return rms
	}
	return std
}

// summary is what the bins of a grouping say together.
type summary struct {
	r, d, dr, refMax float64
	// scale and mean are the shares of sum dd that a scale and a mean of each group
	// explain; there must be two groups of 8 elements.
	scale, mean float64
	middle      float64 // the median of the views of the groups, where there are two
	ones        bool    // the references of each group sum to 1
	folded      Groups
}

// summarize returns what the kept bins say, folded to a number of them at most. It
// sets the means and standard deviations of the collector if asked to, and looks at
// the sums of groups if asked to.
func (c *Collector) summarize(b *bins, limit int, rows, ones bool) summary {
	fold := 1
	for (b.bins+fold-1)/fold > limit {
		fold *= 2
	}
	s := summary{ones: ones, folded: newGroups(&b.grouping, fold)}
	epsilon := math.Ldexp(1, -c.request.Type.Mantissa)
	if c.request.Type.Integer {
		epsilon = 0
	}
	c.views = resized(c.views, b.bins)
	if rows {
		c.means, c.stds = resized(c.means, b.bins), resized(c.stds, b.bins)
	}
	var lanes kernel.Quad
	var f kernel.Fold
	var t kernel.Totals
	for bin := 0; bin < b.bins; bin += 4 {
		q := b.four(bin, &lanes)
		g := &c.numbers
		g.Set(q, epsilon)
		copy(c.views[bin:], g.View[:])
		if rows {
			copy(c.means[bin:], g.RefMean[:])
			copy(c.stds[bin:], g.RefStd[:])
		}
		s.ones = s.ones && b.ones(bin, q, g)
		next := min(bin+4, b.bins)
		if fold >= 4 && (next < b.bins || b.fold == 1 && next == bin+4) {
			f.AddFour(&t, g, q, float64(b.fold))
		} else {
			for at := bin; at < next; at++ {
				f.Add(at-bin, &t, g, q, float64(b.groups(at)))
				if fold < 4 && (at+1)&(fold-1) == 0 && at+1 < next {
					s.set(at/fold, &f)
				}
			}
		}
		if next&(fold-1) == 0 || next == b.bins {
			s.set((next-1)/fold, &f)
		}
	}
	s.r, s.d, s.dr = kernel.LaneSum(&t.R), kernel.LaneSum(&t.D), kernel.LaneSum(&t.DR)
	if b.bins > 1 && b.elements(0) >= 8 {
		dd := kernel.LaneSum(&t.DD)
		s.scale, s.mean = kernel.LaneSum(&t.Scale)/dd, kernel.LaneSum(&t.Mean)/dd
	}
	if b.bins > 1 {
		s.middle = middle(c.views)
	}
	return s
}

// ones reports whether the references of each of four groups, or of what is left, sum
// to 1.
func (b *bins) ones(bin int, q *kernel.Quad, g *kernel.Numbers) bool {
	for k := range min(4, b.bins-bin) {
		if sum := float64(q.Counts[k] * g.RefMean[k]); !(math.Abs(sum/float64(b.groups(bin+k))-1) < 0.01) {
			return false
		}
	}
	return true
}

// resized returns a slice of a length with any values.
func resized(s []float64, count int) []float64 {
	if cap(s) < count {
		return make([]float64, count)
	}
	return s[:count]
}

// spread returns the sum of the squares of the distances of the references from a
// number, by the means and standard deviations of the rows.
func (c *Collector) spread(from float64) (sum float64) {
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

// newGroups returns groups whose numbers are not known yet, each as many kept bins.
func newGroups(of *grouping, each int) Groups {
	bins := (of.bins + each - 1) / each
	const columns = 9
	left := make([]float32, columns*bins) // one piece: a run keeps those of every tensor
	column := func() (c Column) {
		c, left = left[:bins:bins], left[bins:]
		return c
	}
	return Groups{
		Count: of.count, Size: of.size(), Fold: of.fold * int64(each),
		RefRMS: column(), RefStd: column(), RefMax: column(), RMS: column(), Mean: column(),
		Max: column(), Rounding: column(), Relative: column(), Inverse: column(),
	}
}

// set sets a bin of the result to what its groups have together, and clears that.
func (s *summary) set(bin int, f *kernel.Fold) {
	to := &s.folded
	each := to.Fold
	count := float64(min(each, to.Count-int64(bin)*each))
	root := func(sum *[4]float64) float32 { return narrow(math.Sqrt(kernel.LaneSum(sum) / count)) }
	to.RefRMS[bin], to.RefStd[bin], to.RMS[bin], to.Rounding[bin] = root(&f.Ref), root(&f.Std), root(&f.RMS), root(&f.Rounding)
	to.Mean[bin] = narrow(kernel.LaneSum(&f.Mean) / count)
	refMax := kernel.LaneMax(&f.MaxR)
	s.refMax = max(s.refMax, refMax)
	to.RefMax[bin], to.Max[bin] = narrow(refMax), narrow(kernel.LaneMax(&f.MaxD))
	to.Relative[bin], to.Inverse[bin] = narrow(kernel.LaneMax(&f.Relative)), narrow(kernel.LaneMax(&f.Inverse))
	*f = kernel.Fold{}
}

// narrow returns the float32 of a number, the largest one of its sign for those
// beyond the range.
func narrow(x float64) float32 {
	return float32(max(-math.MaxFloat32, min(x, math.MaxFloat32)))
}
