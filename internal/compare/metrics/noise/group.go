package noise

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
)

// group holds the numbers of one kept bin.
type group struct {
	count, groups           float64 // elements, and groups of the tensor
	share                   float64 // 1/count of a power of two, else 0
	d, dd, dr               float64
	refMean, refStd, refRMS float64
	refMax, rms, mean, max  float64
	rounding                float64
}

// setCounts sets what is known of a bin before its sums are.
func (g *group) setCounts(b *bins, bin int) {
	g.count, g.groups, g.share = float64(b.elements(bin)), float64(b.groups(bin)), 0
	if fraction, _ := math.Frexp(g.count); fraction == 0.5 {
		g.share = 1 / g.count
	}
}

// over returns a number by the count; a product with the share is the same, and
// sooner there.
func (g *group) over(x float64) float64 {
	if g.share != 0 {
		return x * g.share
	}
	return x / g.count
}

// set sets the other numbers from sums. epsilon is that of the type, 0 for integers.
func (g *group) set(s *kernel.GroupSums, epsilon float64) {
	mean := g.over(s.R)
	square := s.RR - float64(s.R*mean)
	if square < 0 {
		square = 0
	}
	square = g.over(square)
	mean += s.Shift
	g.refMean, g.refStd, g.refRMS = mean, math.Sqrt(square), math.Sqrt(square+float64(mean*mean))
	g.refMax, g.max = s.MaxR, s.MaxD
	g.d, g.dd, g.dr = s.D, s.DD, s.DR
	g.rms, g.mean, g.rounding = 0, 0, 0
	if s.DD != 0 {
		g.rms = math.Sqrt(g.over(s.DD))
	}
	if s.D != 0 {
		g.mean = g.over(s.D)
	}
	if epsilon > 0 && s.UU > 0 {
		g.rounding = math.Sqrt(g.over(s.UU/12)) * epsilon
	}
}

// spreadOf returns the standard deviation where it is not small beside the root mean
// square, else that.
func spreadOf(std, rms float64) float64 {
	if std < rms/1000 {
		return rms
	}
	return std
}

// least is the least spread that something is divided by.
const least = 1e-300

// relative returns the root mean square of the differences over the standard
// deviation of the reference.
func (g *group) relative() float64 {
	switch {
	case g.rms == 0:
		return 0
	case g.refRMS == 0:
		return beyondAll
	}
	return quotient(g.rms, g.refStd)
}

// view returns the root mean square of the differences over the spread of the
// reference, 0 where that is 0.
func (g *group) view() float64 {
	if g.rms == 0 || !(g.refRMS > 0) {
		return 0
	}
	return g.rms / spreadOf(g.refStd, g.refRMS)
}

// inverse returns the root mean square of the reference over its standard deviation.
func (g *group) inverse() float64 {
	if g.refRMS == 0 {
		return 0
	}
	return quotient(g.refRMS, g.refStd)
}

// quotient returns x by the spread, at most beyondAll.
func quotient(x, spread float64) float64 {
	if spread < least {
		spread = least
	}
	if x /= spread; x > beyondAll {
		return beyondAll
	}
	return x
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
	var lane kernel.GroupSums
	var g group
	g.setCounts(b, 0)
	for bin := range s.folded.RMS {
		var f foldSums
		for k := bin * fold; k < min((bin+1)*fold, b.bins); k++ {
			if k == b.bins-1 {
				g.setCounts(b, k)
			}
			g.set(b.at(k, &lane), epsilon)
			s.r += float64(g.count * g.refMean)
			s.d += g.d
			s.dr += g.dr
			c.views[k] = g.view()
			if rows {
				c.means[k], c.stds[k] = g.refMean, g.refStd
			}
			s.ones = s.ones && math.Abs(float64(g.count*g.refMean)/g.groups-1) < 0.01
			if energies {
				dd += g.dd
				s.mean += float64(g.d * g.mean)
				if g.dr != 0 {
					s.scale += explained(g.dr, float64(g.count*float64(g.refRMS*g.refRMS)))
				}
			}
			f.add(&g)
		}
		s.refMax = max(s.refMax, f.refMax)
		s.folded.set(bin, &f)
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

func (f *foldSums) add(g *group) {
	f.count += g.groups
	f.ref += float64(g.groups * float64(g.refRMS*g.refRMS))
	f.std += float64(g.groups * float64(g.refStd*g.refStd))
	f.rms += float64(g.groups * float64(g.rms*g.rms))
	f.rounding += float64(g.groups * float64(g.rounding*g.rounding))
	f.mean += float64(g.groups * g.mean)
	if g.refMax > f.refMax {
		f.refMax = g.refMax
	}
	if g.max > f.largest {
		f.largest = g.max
	}
	if x := g.relative(); x > f.relative {
		f.relative = x
	}
	if x := g.inverse(); x > f.inverse {
		f.inverse = x
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
