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
	energies := b.bins > 1 && b.elements(0) >= 8
	var dd float64
	var f foldSums
	var lanes kernel.Quad
	groups := float64(b.groups(0))
	for bin := 0; bin < b.bins; bin += 4 {
		q := b.four(bin, &lanes)
		g := &c.numbers
		g.Set(q, epsilon)
		copy(c.views[bin:], g.View[:])
		if rows {
			copy(c.means[bin:], g.RefMean[:])
			copy(c.stds[bin:], g.RefStd[:])
		}
		for k := range min(4, b.bins-bin) {
			if bin+k == b.bins-1 {
				groups = float64(b.groups(bin + k))
			}
			sum := float64(q.Counts[k] * g.RefMean[k])
			s.r += sum
			s.d += q.D[k]
			s.dr += q.DR[k]
			s.ones = s.ones && math.Abs(sum/groups-1) < 0.01
			if energies {
				dd += q.DD[k]
				s.scale += g.Scale[k]
				s.mean += float64(q.D[k] * g.Mean[k])
			}
			f.add(g, k, groups)
			if q.MaxR[k] > f.refMax {
				f.refMax = q.MaxR[k]
			}
			if q.MaxD[k] > f.largest {
				f.largest = q.MaxD[k]
			}
			if next := bin + k + 1; next&(fold-1) == 0 || next == b.bins {
				s.refMax = max(s.refMax, f.refMax)
				s.folded.set((bin+k)/fold, &f)
				f = foldSums{}
			}
		}
	}
	if energies {
		s.scale, s.mean = s.scale/dd, s.mean/dd
	}
	if b.bins > 1 {
		s.middle = middle(c.views)
	}
	return s
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

// foldSums are the sums over the groups of a bin of the result.
type foldSums struct {
	count, ref, std, rms, mean, rounding float64
	refMax, largest, relative, inverse   float64
}

// add adds the numbers of as many groups, but for the largest magnitudes.
func (f *foldSums) add(g *kernel.Numbers, k int, groups float64) {
	f.count += groups
	f.ref += float64(groups * float64(g.RefRMS[k]*g.RefRMS[k]))
	f.std += float64(groups * float64(g.RefStd[k]*g.RefStd[k]))
	f.rms += float64(groups * float64(g.RMS[k]*g.RMS[k]))
	f.rounding += float64(groups * float64(g.Rounding[k]*g.Rounding[k]))
	f.mean += float64(groups * g.Mean[k])
	if g.Relative[k] > f.relative {
		f.relative = g.Relative[k]
	}
	if g.Inverse[k] > f.inverse {
		f.inverse = g.Inverse[k]
	}
}

// newGroups returns groups whose numbers are not known yet, each as many kept bins.
func newGroups(of *grouping, each int) Groups {
	bins := (of.bins + each - 1) / each
	column := func() []float32 { return make([]float32, bins) }
	return Groups{
		Count: of.count, Size: of.size(), Fold: of.fold * int64(each),
		RefRMS: column(), RefStd: column(), RefMax: column(), RMS: column(), Mean: column(),
		Max: column(), Rounding: column(), Relative: column(), Inverse: column(),
	}
}

// set sets a bin to what its groups have together.
func (f *Groups) set(bin int, s *foldSums) {
	f.RefRMS[bin], f.RefStd[bin] = narrow(math.Sqrt(s.ref/s.count)), narrow(math.Sqrt(s.std/s.count))
	f.RMS[bin], f.Mean[bin] = narrow(math.Sqrt(s.rms/s.count)), narrow(s.mean/s.count)
	f.Rounding[bin] = narrow(math.Sqrt(s.rounding / s.count))
	f.RefMax[bin], f.Max[bin] = narrow(s.refMax), narrow(s.largest)
	f.Relative[bin], f.Inverse[bin] = narrow(s.relative), narrow(s.inverse)
}

// narrow returns the float32 of a number, the largest one of its sign for those
// beyond the range.
func narrow(x float64) float32 {
	return float32(max(-math.MaxFloat32, min(x, math.MaxFloat32)))
}
