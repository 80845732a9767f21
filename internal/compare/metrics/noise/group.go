package noise

import "math"

// group holds the numbers of one kept bin.
type group struct {
	count, groups           float64 // elements, and groups of the tensor
	d, dd, dr               float64
	refMean, refStd, refRMS float64
	refMax, rms, mean, max  float64
	rounding                float64
}

// groups returns the numbers of all kept bins.
func (c *Collector) groups(b *bins) []group {
	groups := make([]group, b.bins)
	for bin := range groups {
		s := b.at(bin)
		count := float64(b.elements(bin))
		mean := s.R / count
		square := max(s.RR-float64(s.R*mean), 0) / count
		mean += s.Shift
		g := group{
			count: count, groups: float64(b.grouping.groups(bin)),
			d: s.D, dd: s.DD, dr: s.DR,
			refMean: mean, refStd: math.Sqrt(square), refRMS: math.Sqrt(square + float64(mean*mean)),
			refMax: s.MaxR, rms: math.Sqrt(s.DD / count), mean: s.D / count, max: s.MaxD,
		}
		if t := c.request.Type; !t.Integer {
			g.rounding = math.Ldexp(math.Sqrt(max(s.UU, 0)/12/count), -t.Mantissa)
		}
		groups[bin] = g
	}
	return groups
}

// spreadOf returns the standard deviation where it is not small beside the root mean
// square, else that.
func spreadOf(std, rms float64) float64 {
	if std < rms/1000 {
		return rms
	}
	return std
}

func (g *group) spread() float64 { return spreadOf(g.refStd, g.refRMS) }

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
	return min(g.rms/max(g.refStd, least), beyondAll)
}

// inverse returns the root mean square of the reference over its standard deviation.
func (g *group) inverse() float64 {
	if g.refRMS == 0 {
		return 0
	}
	return min(g.refRMS/max(g.refStd, least), beyondAll)
}

// folded returns the numbers of groups in at most limit bins.
func folded(of *grouping, groups []group, limit int) Groups {
	each := 1
	for (len(groups)+each-1)/each > limit {
		each *= 2
	}
	bins := (len(groups) + each - 1) / each
	column := func() []float32 { return make([]float32, bins) }
	f := Groups{
		Count: of.count, Size: of.size(), Fold: of.fold * int64(each),
		RefRMS: column(), RefStd: column(), RefMax: column(), RMS: column(), Mean: column(),
		Max: column(), Rounding: column(), Relative: column(), Inverse: column(),
	}
	for bin := range bins {
		f.set(bin, groups[bin*each:min((bin+1)*each, len(groups))])
	}
	return f
}

// set sets a bin to what groups have together.
func (f *Groups) set(bin int, groups []group) {
	var count, ref, std, rms, mean, rounding, refMax, largest, relative, inverse float64
	for i := range groups {
		g := &groups[i]
		count += g.groups
		ref += float64(g.groups * float64(g.refRMS*g.refRMS))
		std += float64(g.groups * float64(g.refStd*g.refStd))
		rms += float64(g.groups * float64(g.rms*g.rms))
		rounding += float64(g.groups * float64(g.rounding*g.rounding))
		mean += float64(g.groups * g.mean)
		refMax, largest = max(refMax, g.refMax), max(largest, g.max)
		relative, inverse = max(relative, g.relative()), max(inverse, g.inverse())
	}
	f.RefRMS[bin], f.RefStd[bin] = narrow(math.Sqrt(ref/count)), narrow(math.Sqrt(std/count))
	f.RMS[bin], f.Mean[bin] = narrow(math.Sqrt(rms/count)), narrow(mean/count)
	f.Rounding[bin] = narrow(math.Sqrt(rounding / count))
	f.RefMax[bin], f.Max[bin] = narrow(refMax), narrow(largest)
	f.Relative[bin], f.Inverse[bin] = narrow(relative), narrow(inverse)
}

// narrow returns the float32 of a number, the largest one of its sign for those
// beyond the range.
func narrow(x float64) float32 {
	return float32(max(-math.MaxFloat32, min(x, math.MaxFloat32)))
}
