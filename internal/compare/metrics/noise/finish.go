package noise

import (
	"iter"
	"math"
	"math/bits"
	"slices"

	"dumptool/internal/compare/metrics/kernel"
)

// maxMagnitude is a bound of magnitudes whose squares are surely in the range of float64.
const maxMagnitude = 1e150

// Finish returns the result over all added and merged elements: nil if squares leave the
// range of float64 or elements are missing. It is called once. differences has the counts of
// |d| over all pairs that are finite on both sides, by bins of an eighth of an octave: the
// lower edge and the count of each, in rising order.
func (c *Collector) Finish(differences iter.Seq2[float64, int64]) *Noise {
	c.flushTables()
	if c.end-c.start != c.total {
		return nil
	}
	req := &c.request
	n := &Noise{
		Type: req.Type, Shape: slices.Clone(req.Shape), Elements: c.total, Count: c.total - c.excluded,
		NonFinite: c.nonFinite, Overflows: c.overflows,
		Max: c.maxD, RefAtMax: c.maxDRef,
		Flips: c.singles.flips, OneSided: c.singles.oneSided, Differing: c.singles.differing, Lone: c.countLone(0),
		Constant: c.minNPU == c.maxNPU, Bits: c.usedBits(),
	}
	if c.isFloat32() {
		grid := c.grid
		grid.Distinct = c.distinct.count
		grid.LoneBFloat16, grid.LoneFloat16 = c.countLone(1), c.countLone(2)
		n.Grid = &grid
	}
	n.Apart = c.inputDifferences.counts()
	if shift := c.singles.shift; shift == shift {
		n.Shift = shift
	}
	if c.total == 0 {
		return n
	}
	softmax := n.Count > 0 && c.row > 1 && !(c.minRef < -1e-6 || c.maxRef > 1.001)
	rows := c.summarize(&c.rows, req.Groups, true, softmax)
	channels := c.summarize(&c.channels, req.Groups, false, false)
	c.setTotals(n, &rows)
	n.P90 = c.excludedD.quantile(differences, n.Count)
	n.Softmax = rows.rowsSumToOne
	n.View = c.errorAfterLinearMap(n, &rows, &channels)
	if n.RMS > 0 {
		n.GroupScale, n.GroupMean = max(rows.scale, channels.scale), max(rows.mean, channels.mean)
	}
	if !(n.RefMax <= maxMagnitude && n.Max <= maxMagnitude && n.RefRMS <= math.MaxFloat64 && n.RMS <= math.MaxFloat64 && n.RefStd <= math.MaxFloat64) {
		return nil
	}
	c.setOtherRMS(n, &rows)
	if ratios := n.Scale + n.Residual + n.ScaleBySign + n.TowardZero + n.MaxRelative + n.MaxAbsolute + n.View + n.GroupScale + n.GroupMean; ratios-ratios != 0 {
		return nil
	}
	if others := n.RefMean + n.Mean + n.Rounding + n.TwoSidedRMS + n.OtherRowsRMS; others-others != 0 {
		return nil
	}
	n.Rows, n.Channels = rows.folded, channels.folded
	n.Probe = c.finishProbe()
	return n
}

// usedBits returns the number of fraction bits that the NPU elements use.
func (c *Collector) usedBits() int {
	const fraction = 52
	if c.request.Type.Integer || c.distinct.count < maxDistinct || c.bits&^kernel.SignBit == 0 {
		return c.request.Type.Mantissa
	}
	return fraction - min(bits.TrailingZeros64(c.bits), fraction)
}

// setTotals sets the numbers over all pairs.
func (c *Collector) setTotals(n *Noise, rows *summary) {
	weight := float64(max(n.Count, 1))
	s := c.sumOctaves()
	dd, rr, dr := s.both.DD, s.both.RR, rows.dr
	ofSample, dd0, dr0 := weight, dd, dr // number of pairs behind the octaves, and their sums
	if !c.strata.IsComplete() {
		n.Sampled = SampleElements
		ofSample, dr0 = float64(max(SampleElements-c.sampled.excluded, 1)), c.sampled.dr
		dd, rr, s.rounding = c.dd, rows.rr, 0
		if t := c.request.Type; !t.Integer {
			s.rounding = math.Ldexp(rows.uu, -2*t.Mantissa)
		}
	}
	n.RefMax, n.RefMean, n.Mean = rows.refMax, rows.r/weight, rows.d/weight
	spread := c.squaredDistances(n.RefMean) - float64(float64(c.excluded)*float64(n.RefMean*n.RefMean))
	n.RefRMS, n.RMS = math.Sqrt(rr/weight), math.Sqrt(dd/weight)
	n.RefStd = math.Sqrt(max(spread, 0) / weight)
	n.Rounding = math.Sqrt(s.rounding / 12 / weight)
	n.Subnormal = s.subnormal / ofSample
	if rr > 0 {
		n.Scale = dr / rr
	}
	n.Residual = math.Sqrt(max(dd-float64(float64(n.Scale*n.Scale)*rr), 0) / weight)
	n.MaxRelative, n.MaxAbsolute = s.maxRelative, s.maxAbsolute
	if positive := c.sampled.positiveDR; dd0 > 0 {
		// Rounding of dr0-positive may make the explained part larger than the total.
		n.ScaleBySign = (explainedPart(positive, s.sign[0].RR) + min(explainedPart(dr0-positive, s.sign[1].RR), s.sign[1].DD)) / dd0
	}
	if rms := math.Sqrt(dd0 / ofSample); rms > 0 {
		n.TowardZero = math.Abs(s.sign[0].D-s.sign[1].D) / ofSample / rms
	}
}

// setOtherRMS sets the numbers over the pairs that are not one-sided, and over the rows that
// are not off.
func (c *Collector) setOtherRMS(n *Noise, rows *summary) {
	if count := n.Count - n.OneSided; n.OneSided > 0 && count > 0 {
		n.TwoSidedRMS = math.Sqrt(c.singles.twoSidedDD / float64(count))
	}
	rms := func(of *offRows) float64 {
		return math.Sqrt(of.otherDD / float64(max((c.rows.count-of.count)*c.rows.size(), 1)))
	}
	n.RowsOff, n.OtherRowsRMS = rows.rowsOff[0].count, rms(&rows.rowsOff[0])
	if g := n.Grid; g != nil {
		g.RowsOffBFloat16, g.OtherRowsRMSBFloat16 = rows.rowsOff[1].count, rms(&rows.rowsOff[1])
		g.RowsOffFloat16, g.OtherRowsRMSFloat16 = rows.rowsOff[2].count, rms(&rows.rowsOff[2])
	}
}

// explainedPart returns the part of sum dd that a scale explains.
func explainedPart(dr, rr float64) float64 {
	if rr == 0 {
		return 0
	}
	return dr / rr * dr // dr*dr may overflow
}

// octaveSums are sums over all octaves.
type octaveSums struct {
	both                     kernel.Octave
	sign                     [2]kernel.Octave // by the sign of r, without r = 0
	maxRelative, maxAbsolute float64
	subnormal                float64 // pairs with a subnormal r
	rounding                 float64 // sum of ulp(r)^2
}

func (c *Collector) sumOctaves() (s octaveSums) {
	t := c.request.Type
	add := func(o *kernel.Octave, exponent int) {
		if o.Count == 0 {
			return
		}
		s.both.Merge(o)
		if o.RR > 0 {
			s.maxRelative = max(s.maxRelative, math.Sqrt(o.DD/o.RR))
		}
		s.maxAbsolute = max(s.maxAbsolute, math.Sqrt(o.DD/o.Count))
		if !t.Integer {
			s.rounding += math.Ldexp(o.Count, 2*(max(exponent, t.MinExp)-t.Mantissa))
		}
	}
	positive, negative := c.octaves[0], c.octaves[1]
	c.joined = mergeOctaves(c.joined, positive, negative)
	for _, o := range c.joined {
		if o.exponent > 0 {
			if o.exponent-1023 < t.MinExp {
				s.subnormal += o.Count
			}
			add(&o.Octave, o.exponent-1023)
			continue
		}
		o.Count -= float64(c.sampled.excluded)
		add(&o.Octave, t.MinExp)
	}
	s.subnormal += float64(c.sampled.tiny)
	for sign := range s.sign {
		for _, o := range c.octaves[sign] {
			if o.exponent > 0 {
				s.sign[sign].Merge(&o.Octave)
			}
		}
	}
	return s
}

// errorAfterLinearMap returns the relative error after the least favourable linear map.
func (c *Collector) errorAfterLinearMap(n *Noise, rows, channels *summary) float64 {
	const most = 1e3
	if n.RefRMS == 0 {
		if n.RMS == 0 {
			return 0
		}
		return kernel.MaxQuotient
	}
	view := max(n.RMS/spreadOf(n.RefStd, n.RefRMS), rows.medianView, channels.medianView)
	if c.stepRR > 0 {
		view = max(view, math.Sqrt(c.stepDD/c.stepRR))
	}
	return min(view, most)
}
