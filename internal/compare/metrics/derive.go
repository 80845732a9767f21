package metrics

import (
	"math"
	"slices"

	"dumptool/internal/exact"
	"dumptool/internal/tensor"
)

// ratio returns a/b. For b = 0 it is 0 if a is 0 too, else +inf, so that an all-zero
// reference never looks perfect beside other values. It is undefined if b exceeds the range
// of float64.
func ratio(a, b float64) Metric {
	switch {
	case math.IsInf(b, 0):
		return Metric{}
	case b != 0:
		return NumberOf(a / b)
	case a == 0:
		return NumberOf(0)
	}
	return NumberOf(math.Inf(1))
}

// decibels returns 20 log10(signal/noise) of two magnitudes: +inf if noise is 0, else -inf if
// signal is 0.
func decibels(signal, noise float64) Metric {
	switch {
	case noise == 0:
		return NumberOf(math.Inf(1))
	case signal == 0:
		return NumberOf(math.Inf(-1))
	}
	return NumberOf(20 * exact.Log10(signal/noise))
}

// finite returns x, undefined if a sum exceeded the range of float64.
func finite(x float64) Metric { return NumberIf(x, x-x == 0) }

// result derives all metrics from the sums.
func (e *Engine) result(p *Partial, s *node) *Result {
	r := &Result{
		Total: p.elements, Classes: p.classes, Complex: e.complex,
		RefDType: e.request.RefDType, NPUDType: e.request.NPUDType,
		ErrorOffsets: p.errorOffsets,
		RelUndefined: p.counts[relativeUndefined], MaxAbsUndefined: p.maxUndefined,
		Overflowed: p.counts[overflowed], Underflowed: p.counts[underflowed],
		SaturatedBoth:   p.counts[saturatedBoth],
		SaturatedErrors: p.counts[saturatedErrors], WrappedErrors: p.counts[wrappedErrors],
		ZeroTail: p.zeroTail,
		RefCRC:   p.refCRC, NPUCRC: p.npuCRC, RefSum: p.refSum, NPUSum: p.npuSum,
		Points: p.points,
	}
	r.AbsHistogram, r.RelHistogram = p.absHistogram, p.relHistogram
	r.RelHistogram.Zeros -= p.counts[quotientZeros]
	r.Differ = r.CountBothFinite() - r.AbsHistogram.Zeros + p.mismatch.count
	r.Axes, r.WithoutAxes = e.axes.profiles(p.lists.axes, &p.axes, p.elements), p.withoutAxes
	if p.noise != nil {
		r.Noise = p.noise.Finish(p.absHistogram.lowerEdges())
	}
	e.setElements(r, p, s)
	e.setSides(r, p, s)
	e.setHPAA(r, p, s)
	if r.CountBothFinite() > 0 {
		e.setDifferences(r, p, s)
		e.setRelations(r, p, s)
	}
	p.lists = lists{} // the result owns these slices now
	return r
}

// setElements sets the fields of single elements and the errors.
func (e *Engine) setElements(r *Result, p *Partial, s *node) {
	r.Start = e.element(p.start)
	r.Beyond = e.newErrors(&p.beyond, s.errors)
	r.Mismatch = e.newErrors(&p.mismatch, tensor.Sum{})
	if len(p.listed) > 0 {
		r.Listed = make([]Element, 0, len(p.listed))
	}
	for i := range p.listed {
		r.Listed = append(r.Listed, e.decodeElement(&p.listed[i]))
	}
	r.Worst = e.worstErrors(p)
}

func (e *Engine) newErrors(f *failures, sum tensor.Sum) Errors {
	if f.count == 0 {
		return Errors{}
	}
	return Errors{Count: f.count, First: e.element(&f.first), Last: e.element(&f.last), MaxAbs: f.maxAbs, MeanAbs: sumValue(sum) / float64(f.count)}
}

func (e *Engine) worstErrors(p *Partial) (worst []Element) {
	ranked := p.worst.entries[:max(0, min(len(p.worst.entries), e.request.Top-len(p.mismatched)))]
	if n := len(p.mismatched) + len(ranked); n > 0 {
		worst = slices.Grow(p.lists.worst[:0], n)
	}
	for i := range p.mismatched {
		worst = append(worst, e.decodeElement(&p.mismatched[i]))
	}
	for i := range ranked {
		worst = append(worst, e.decodeElement(&ranked[i].location))
	}
	return worst
}

// element returns the element of a location, nil if p is nil.
func (e *Engine) element(p *location) *Element {
	if p == nil {
		return nil
	}
	out := e.decodeElement(p)
	return &out
}

// decodeElement returns the element of a location.
func (e *Engine) decodeElement(p *location) Element {
	out := Element{Offset: p.offset, Abs: p.abs, Rel: p.rel}
	out.Ref = e.ref.decodeOne(p.ref[:e.ref.size])
	out.NPU = e.npu.decodeOne(p.npu[:e.npu.size])
	finite := out.Ref.class() == Finite && out.NPU.class() == Finite
	if !finite && !p.replaced {
		out.Abs = math.NaN()
	}
	if !finite && !p.replaced || finite && out.Ref.Real == 0 && out.Ref.Imag == 0 {
		out.Rel = math.NaN()
	}
	return out
}

func (v Value) class() Class { return complexClass(v.Real, v.Imag) }

// decodeOne decodes one element.
func (n *number) decodeOne(src []byte) Value {
	var parts [2]float64
	var buffer [16]byte
	n.decodeParts(parts[:], src, buffer[:])
	v := Value{DType: n.dtype, Real: parts[0], Imag: parts[1]}
	if n.integer {
		var exact [1]uint64
		n.integers(exact[:], src, parts[:1])
		v.Int = exact[0]
	}
	return v
}

func (e *Engine) setSides(r *Result, p *Partial, s *node) {
	ref, npu := s.pair.r, s.pair.n
	if e.complex {
		ref, npu = s.refModuli, s.npuModuli
	}
	ref.merge(&s.refOnly)
	npu.merge(&s.npuOnly)
	r.Ref, r.NPU = ref.statistics(p.refBounds, p.refBounds.largest()), npu.statistics(p.npuBounds, p.npuBounds.largest())
	for class := range Class(4) {
		for _, side := range []struct {
			stats *SideStats
			n     int64
		}{{&r.Ref, p.classes.countRef(class)}, {&r.NPU, p.classes.countNPU(class)}} {
			switch class {
			case NaN:
				side.stats.NaN = side.n
			case PosInf:
				side.stats.PosInf = side.n
			case NegInf:
				side.stats.NegInf = side.n
			}
		}
	}
	c := &p.counts
	r.Ref.Zeros, r.Ref.Subnormal, r.Ref.Saturated = c[refZeros], c[refSubnormal], c[refSaturated]
	r.NPU.Zeros, r.NPU.Subnormal, r.NPU.Saturated = c[npuZeros], c[npuSubnormal], c[npuSaturated]
}

// countNPU and countRef return the number of elements of a side in a class.
func (c *Classes) countNPU(class Class) (n int64) {
	for _, k := range c[class] {
		n += k
	}
	return n
}

func (c *Classes) countRef(class Class) (n int64) {
	for _, row := range c {
		n += row[class]
	}
	return n
}

// statistics returns the statistics of the values of a moment. The mean is clamped to the bounds;
// largest is the largest magnitude.
func (m moment) statistics(b bounds, largest float64) SideStats {
	if m.count == 0 {
		return SideStats{}
	}
	s := SideStats{Min: NumberOf(b.min), Max: NumberOf(b.max), Mean: finite(m.mean)}
	if s.Mean.IsDefined() {
		s.Mean = NumberOf(min(max(m.mean, b.min), b.max))
	}
	if hasSquares(largest) {
		count := float64(m.count)
		s.Var, s.Std = NumberOf(m.m2/count), NumberOf(math.Sqrt(m.m2/count))
		s.RMS, s.L2 = NumberOf(math.Sqrt(m.sumOfSquares()/count)), NumberOf(math.Sqrt(m.sumOfSquares()))
	}
	return s
}

// setHPAA sets the numbers of HPAA.
func (e *Engine) setHPAA(r *Result, p *Partial, s *node) {
	c := &r.HPAA
	c.NonFinite = p.classes.countNPU(Finite) != p.elements
	c.Errors = e.newErrors(&p.hpaa, s.hpaaErrors)
	maxRel := p.maxRel
	maxRel.merge(p.hpaaMaxRel)
	c.MaxRel = maxRel.extreme()
	if n := e.countRatios(r, p) + p.counts[replacedRatios]; n > 0 {
		c.MeanRel = NumberOf(sumValue(s.relative.Merge(s.replacedRelative)) / float64(n))
	}
	ref := s.pair.r
	if e.complex {
		ref = s.refModuli
	}
	ref.merge(&s.replaced)
	largest := p.maxRef
	if !e.complex {
		largest = p.refBounds.largest()
		if p.classes.countRef(PosInf)+p.classes.countRef(NegInf) > 0 {
			largest = max(largest, e.hpaaHigh, -e.hpaaLow)
		}
	}
	all := ref.statistics(bounds{min: math.Inf(-1), max: math.Inf(1)}, largest)
	c.Mean, c.Std, c.RMS = all.Mean, all.Std, all.RMS
}

// countRatios counts the pairs of finite elements with r != 0, which have a relative error.
func (e *Engine) countRatios(r *Result, p *Partial) int64 {
	return r.CountBothFinite() - p.counts[relativeZeros]
}

func (x extreme) extreme() Extreme {
	if !x.set {
		return Extreme{}
	}
	return Extreme{NumberOf(x.value), x.offset}
}

// setDifferences sets the metrics of d = n-r.
func (e *Engine) setDifferences(r *Result, p *Partial, s *node) {
	count := float64(r.CountBothFinite())
	d := s.pair.d
	r.MaxAbs = p.maxAbs.extreme()
	r.MeanAbs = NumberOf(sumValue(s.absD) / count)
	r.MeanD = finite(d.mean)
	if hasSquares(p.maxAbs.value) {
		r.MSE, r.RMSE = NumberOf(d.sumOfSquares()/count), NumberOf(math.Sqrt(d.sumOfSquares()/count))
		r.StdD = NumberOf(math.Sqrt(d.m2 / float64(d.count)))
	}
	r.MaxRel = p.maxRel.extreme()
	if n := e.countRatios(r, p); n > 0 {
		r.AccRel, r.MeanRel = NumberOf(sumValue(s.relative)), NumberOf(sumValue(s.relative)/float64(n))
		r.RelQuantiles = r.RelHistogram.quantiles(p.maxRel.value)
	}
	r.AbsQuantiles = r.AbsHistogram.quantiles(p.maxAbs.value)
	r.R1000 = NumberOf(float64(p.counts[below1000]) / count)
	r.R5000 = NumberOf(float64(p.counts[below5000]) / count)
	r.ULPMax = p.maxULP.extreme()
	r.ULPMean = NumberOf(sumValue(s.ulps) / count)
	r.BiasCount = p.counts[differing]
	if !e.complex {
		r.BiasCount = r.CountBothFinite() - r.AbsHistogram.Zeros
	}
	if n := float64(r.BiasCount); n > 0 {
		bias := (n - float64(2*p.counts[negative])) / n
		r.Bias, r.BiasZ = NumberOf(bias), NumberOf(bias*math.Sqrt(n))
	}
	r.Margin = NumberOf(p.minLimits.margin)
	r.MinRtol, r.MinAtol = NumberOf(p.minLimits.rtol), NumberOf(p.minLimits.atol)
}

// setRelations sets the metrics over both sides.
func (e *Engine) setRelations(r *Result, p *Partial, s *node) {
	r.Diff1 = ratio(sumValue(s.absD), sumValue(s.absR))
	r.LinfRel = ratio(p.maxAbs.value, p.maxRef)
	ofN, ofR, ofD := hasSquares(p.maxNPU), hasSquares(p.maxRef), hasSquares(p.maxAbs.value)
	if ofR && ofD {
		e.setNoiseRatios(r, p, s)
	}
	if ofN && ofR {
		e.setAngles(r, s, p.maxAbs.value == 0)
		if rr := s.pair.r.sumOfSquares(); rr != 0 {
			r.Scale = NumberOf(s.sumOfProducts() / rr)
			if ofD {
				r.ScaleResidual = NumberOf(s.pair.residual(r.Scale.Value(), r.CosineRaw.Value()))
			}
		}
	}
}

// setNoiseRatios sets the metrics of d relative to r.
func (e *Engine) setNoiseRatios(r *Result, p *Partial, s *node) {
	ref, d := &s.pair.r, &s.pair.d
	rr, dd := ref.sumOfSquares(), d.sumOfSquares()
	r.RED = ratio(math.Sqrt(dd), math.Sqrt(rr))
	r.SQNR = decibels(math.Sqrt(rr), math.Sqrt(dd))
	r.SNR = decibels(math.Sqrt(ref.m2), math.Sqrt(d.m2))
	r.PSNR = decibels(p.maxRef, math.Sqrt(dd/float64(r.CountBothFinite())))
}

// setAngles sets cosine and correlation. They are exactly 1 for equal tensors.
func (e *Engine) setAngles(r *Result, s *node, equal bool) {
	n, ref := &s.pair.n, &s.pair.r
	nn, rr := n.sumOfSquares(), ref.sumOfSquares()
	switch {
	case nn == 0 && rr == 0:
		r.CosineZero, r.CosineRaw = BothZero, NumberOf(1)
	case nn == 0 || rr == 0:
		r.CosineZero, r.CosineRaw = OneZero, NumberOf(0)
	default:
		r.CosineRaw = NumberOf(s.sumOfProducts() / (math.Sqrt(nn) * math.Sqrt(rr)))
	}
	r.Cosine = NumberOf(min(max(r.CosineRaw.Value(), -1), 1))
	if !n.isConstant() && !ref.isConstant() {
		r.Pearson = NumberOf(min(max(s.co/(math.Sqrt(n.m2)*math.Sqrt(ref.m2)), -1), 1))
	}
	if equal {
		if r.CosineZero == NoneZero {
			r.Cosine = NumberOf(1)
		}
		if r.Pearson.IsDefined() {
			r.Pearson = NumberOf(1)
		}
	}
}

// residual returns |n-sr| / |r| for the scale s, computed from the squares of n, d and r. It
// uses whichever of two equivalent formulas has smaller terms. If the square of |n|/|r| leaves
// the range of float64, it uses the angle between n and r.
func (p *pair) residual(scale, cosine float64) float64 {
	nn, rr, dd := p.n.sumOfSquares(), p.r.sumOfSquares(), p.d.sumOfSquares()
	if size := math.Sqrt(nn) / math.Sqrt(rr); size < 0x1p-500 || size > 0x1p500 {
		return size * math.Sqrt(max(1-float64(cosine*cosine), 0))
	}
	if math.Abs(scale-1) < math.Abs(scale) {
		return math.Sqrt(max(dd/rr-float64((scale-1)*(scale-1)), 0))
	}
	return math.Sqrt(max(nn/rr-float64(scale*scale), 0))
}
