package metrics

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/exact"
	"dumptool/internal/tensor"
)

// ratio returns a/b times 2^exp, or the conventions for a b of 0: 0 if a is 0 too, +inf if
// not, so that a reference of zeros never looks perfect beside anything else.
func ratio(a, b float64, exp int) Metric {
	if b == 0 {
		if a == 0 {
			return NumberOf(0)
		}
		return NumberOf(math.Inf(1))
	}
	return NumberOf(math.Ldexp(a/b, exp))
}

// log10Of2 is the decimal logarithm of 2.
const log10Of2 = math.Ln2 / math.Ln10

// decibels returns 20 log10 of the ratio of two magnitudes, each times a power
// of two: +inf if there is no noise, -inf if there is no signal.
func decibels(signal, noise float64, exp int) Metric {
	switch {
	case noise == 0:
		return NumberOf(math.Inf(1))
	case signal == 0:
		return NumberOf(math.Inf(-1))
	}
	if quotient := signal / noise; quotient < 0x1p-1000 || quotient > 0x1p1000 {
		signal, exp = frexp(signal, exp)
		noise, exp = frexp(noise, -exp)
		exp = -exp
	}
	return NumberOf(20 * (exact.Log10(signal/noise) + float64(float64(exp)*log10Of2)))
}

// frexp moves the exponent of x to exp.
func frexp(x float64, exp int) (fraction float64, sum int) {
	fraction, e := math.Frexp(x)
	return fraction, exp + e
}

// capped returns x, or a limit if x exceeds the range of float64 by rounding.
func capped(x, limit float64) Metric {
	if math.IsInf(x, 0) {
		x = math.Copysign(limit, x)
	}
	return NumberOf(x)
}

// result derives everything from the sums.
func (e *Engine) result(p *Partial, s *node) *Result {
	r := &Result{
		Total: p.elements, Classes: p.classes, Complex: e.complex,
		RefDType: e.request.RefDType, NPUDType: e.request.NPUDType,
		ErrorOffsets: p.errorOffsets,
		RelUndefined: p.counts[relativeUndefined],
		Overflowed:   p.counts[overflowed], Underflowed: p.counts[underflowed],
		SaturatedBoth:   p.counts[saturatedBoth],
		SaturatedErrors: p.counts[saturatedErrors], WrappedErrors: p.counts[wrappedErrors],
		ZeroTail: p.zeroTail,
		RefCRC:   p.refCRC, NPUCRC: p.npuCRC, RefSum: p.refSum, NPUSum: p.npuSum,
		Points: p.points,
		Joint:  clamped(p.joint, p.maxAbs.value, p.minRef, p.maxRef),
	}
	r.AbsHistogram, r.RelHistogram = p.absHistogram, p.relHistogram
	r.RelHistogram.Zeros -= p.counts[quotientZeros]
	r.Differ = r.BothFinite() - r.AbsHistogram.Zeros + p.mismatch.count
	r.Axes, r.WithoutAxes = e.axes.profiles(p.lists.axes, &p.axes, p.elements), p.withoutAxes
	if p.noise != nil {
		r.Noise = p.noise.Finish(p.absHistogram.lowerEdges())
	}
	e.elements(r, p, s)
	e.sides(r, p, s)
	e.hpaa(r, p, s)
	if r.BothFinite() > 0 {
		e.differences(r, p, s)
		e.relations(r, p, s)
	}
	p.lists = lists{} // they are those of the result
	return r
}

// elements fills in the elements that have a place.
func (e *Engine) elements(r *Result, p *Partial, s *node) {
	r.Start = e.element(p.start)
	r.Beyond = e.errors(&p.beyond, s.errors)
	r.Mismatch = e.errors(&p.mismatch, sum{})
	if len(p.listed) > 0 {
		r.Listed = make([]Element, 0, len(p.listed))
	}
	for i := range p.listed {
		r.Listed = append(r.Listed, e.decoded(&p.listed[i]))
	}
	r.Worst = e.worst(p)
}

func (e *Engine) errors(f *failures, total sum) Errors {
	if f.count == 0 {
		return Errors{}
	}
	return Errors{Count: f.count, First: e.element(&f.first), Last: e.element(&f.last), MaxAbs: f.maxAbs, MeanAbs: total.over(float64(f.count))}
}

func (e *Engine) worst(p *Partial) (worst []Element) {
	ranked := p.worst.entries[:max(0, min(len(p.worst.entries), e.request.Top-len(p.mismatched)))]
	if n := len(p.mismatched) + len(ranked); n > 0 {
		worst = slices.Grow(p.lists.worst[:0], n)
	}
	for i := range p.mismatched {
		worst = append(worst, e.decoded(&p.mismatched[i]))
	}
	for i := range ranked {
		worst = append(worst, e.decoded(&ranked[i].location))
	}
	return worst
}

// element returns the element of a location, nil for none.
func (e *Engine) element(p *location) *Element {
	if p == nil {
		return nil
	}
	out := e.decoded(p)
	return &out
}

// decoded returns the element of a location.
func (e *Engine) decoded(p *location) Element {
	out := Element{Offset: p.offset, Abs: p.abs, Rel: p.rel}
	out.Ref = e.ref.single(p.ref[:e.ref.size])
	out.NPU = e.npu.single(p.npu[:e.npu.size])
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

// single decodes one element.
func (n *number) single(src []byte) Value {
	v := Value{DType: n.dtype}
	var one [1]float64
	switch n.dtype { // those of most tensors, whose decoders need no memory
	case tensor.Float16:
		kernel.Float16s(one[:], src)
		v.Real = one[0]
		return v
	case tensor.BFloat16:
		kernel.BFloat16s(one[:], src)
		v.Real = one[0]
		return v
	case tensor.Float32:
		kernel.Float32s(one[:], src)
		v.Real = one[0]
		return v
	}
	var parts [2]float64
	var buffer [16]byte
	n.parts(parts[:], src, buffer[:])
	v.Real, v.Imag = parts[0], parts[1]
	if n.integer {
		var exact [1]uint64
		n.integers(exact[:], src, parts[:1])
		v.Int = exact[0]
	}
	return v
}

// sides fills in the statistics of both sides.
func (e *Engine) sides(r *Result, p *Partial, s *node) {
	ref, npu := s.pair.r, s.pair.n
	if e.complex {
		ref, npu = s.refModuli, s.npuModuli
	}
	ref.merge(&s.refOnly)
	npu.merge(&s.npuOnly)
	r.Ref, r.NPU = ref.stats(p.refBounds), npu.stats(p.npuBounds)
	for class := range Class(4) {
		for _, side := range []struct {
			stats *SideStats
			n     int64
		}{{&r.Ref, p.classes.ref(class)}, {&r.NPU, p.classes.npu(class)}} {
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

// npu and ref count the elements of a side that have a class.
func (c *Classes) npu(class Class) (n int64) {
	for _, k := range c[class] {
		n += k
	}
	return n
}

func (c *Classes) ref(class Class) (n int64) {
	for _, row := range c {
		n += row[class]
	}
	return n
}

// stats returns the statistics of the values behind a moment.
func (m moment) stats(b bounds) SideStats {
	if m.count == 0 {
		return SideStats{}
	}
	count := float64(m.count)
	mean := math.Ldexp(m.mean, m.exp)
	return SideStats{
		Min: NumberOf(b.min), Max: NumberOf(b.max),
		Mean: capped(min(max(mean, b.min), b.max), math.MaxFloat64),
		Var:  NumberOf(math.Ldexp(m.m2/count, 2*m.exp)),
		Std:  capped(math.Ldexp(math.Sqrt(m.m2/count), m.exp), math.MaxFloat64),
		RMS:  capped(math.Ldexp(math.Sqrt(m.square()/count), m.exp), math.MaxFloat64),
		L2:   NumberOf(math.Ldexp(math.Sqrt(m.square()), m.exp)),
	}
}

// hpaa fills in the numbers of HPAA.
func (e *Engine) hpaa(r *Result, p *Partial, s *node) {
	c := &r.HPAA
	c.NonFinite = p.classes.npu(Finite) != p.elements
	c.Errors = e.errors(&p.hpaa, s.hpaaErrors)
	maxRel := p.maxRel
	maxRel.merge(p.hpaaMaxRel)
	c.MaxRel = maxRel.extreme()
	relative := s.relative
	relative.merge(s.replacedRelative)
	if n := e.ratios(r, p) + p.counts[replacedRatios]; n > 0 {
		c.MeanRel = NumberOf(relative.over(float64(n)))
	}
	ref := s.pair.r
	if e.complex {
		ref = s.refModuli
	}
	ref.merge(&s.replaced)
	all := ref.stats(bounds{min: math.Inf(-1), max: math.Inf(1)})
	c.Mean, c.Std, c.RMS = all.Mean, all.Std, all.RMS
}

// ratios returns the number of pairs of finite elements with r != 0.
func (e *Engine) ratios(r *Result, p *Partial) int64 {
	return r.BothFinite() - p.counts[relativeZeros]
}

func (x extreme) extreme() Extreme {
	if !x.set {
		return Extreme{}
	}
	return Extreme{NumberOf(x.value), x.offset}
}

// differences fills in the metrics of n-r.
func (e *Engine) differences(r *Result, p *Partial, s *node) {
	count := float64(r.BothFinite())
	d := s.pair.d
	r.MaxAbs = p.maxAbs.extreme()
	r.MeanAbs = capped(s.absD.over(count), p.maxAbs.value)
	r.MSE = NumberOf(math.Ldexp(d.square()/count, 2*d.exp))
	r.RMSE = capped(math.Ldexp(math.Sqrt(d.square()/count), d.exp), p.maxAbs.value)
	r.MaxRel = p.maxRel.extreme()
	if n := e.ratios(r, p); n > 0 {
		r.AccRel = NumberOf(s.relative.over(1))
		r.MeanRel = NumberOf(s.relative.over(float64(n)))
		r.RelQuantiles = r.RelHistogram.quantiles(p.maxRel.value)
	}
	r.AbsQuantiles = r.AbsHistogram.quantiles(p.maxAbs.value)
	r.R1000 = NumberOf(float64(p.counts[below1000]) / count)
	r.R5000 = NumberOf(float64(p.counts[below5000]) / count)
	r.ULPMax = p.maxULP.extreme()
	r.ULPMean = capped(s.ulps.over(count), p.maxULP.value)
	r.MeanD = capped(math.Ldexp(d.mean, d.exp), p.maxAbs.value)
	r.StdD = capped(math.Ldexp(math.Sqrt(d.m2/float64(d.count)), d.exp), p.maxAbs.value)
	r.BiasCount = p.counts[differing]
	if !e.complex {
		r.BiasCount = r.BothFinite() - r.AbsHistogram.Zeros
	}
	if n := float64(r.BiasCount); n > 0 {
		bias := (n - float64(2*p.counts[negative])) / n
		r.Bias, r.BiasZ = NumberOf(bias), NumberOf(bias*math.Sqrt(n))
	}
	r.Margin = NumberOf(p.minLimits.margin)
	r.MinRtol, r.MinAtol = NumberOf(p.minLimits.rtol), NumberOf(p.minLimits.atol)
}

// relations fills in the metrics that set both sides in relation.
func (e *Engine) relations(r *Result, p *Partial, s *node) {
	n, ref, d := &s.pair.n, &s.pair.r, &s.pair.d
	nn, rr, dd := n.square(), ref.square(), d.square()
	r.RED = ratio(math.Sqrt(dd), math.Sqrt(rr), d.exp-ref.exp)
	r.Diff1 = ratio(s.absD.Total(), s.absR.Total(), s.absD.exp-s.absR.exp)
	r.LinfRel = ratio(p.maxAbs.value, p.maxRef, 0)
	if p.maxQuarter > 0 {
		r.LinfRel = ratio(p.maxQuarter, p.maxRef, 2)
	}
	r.SQNR = decibels(math.Sqrt(rr), math.Sqrt(dd), ref.exp-d.exp)
	r.SNR = decibels(math.Sqrt(ref.m2), math.Sqrt(d.m2), ref.exp-d.exp)
	r.PSNR = decibels(p.maxRef, math.Sqrt(dd/float64(r.BothFinite())), -d.exp)
	switch {
	case nn == 0 && rr == 0:
		r.CosineZero, r.CosineRaw = BothZero, NumberOf(1)
	case nn == 0 || rr == 0:
		r.CosineZero, r.CosineRaw = OneZero, NumberOf(0)
	default:
		r.CosineRaw = NumberOf(s.product() / (math.Sqrt(nn) * math.Sqrt(rr)))
	}
	r.Cosine = NumberOf(min(max(r.CosineRaw.Value(), -1), 1))
	if !n.constant() && !ref.constant() {
		r.Pearson = NumberOf(min(max(s.co/(math.Sqrt(n.m2)*math.Sqrt(ref.m2)), -1), 1))
	}
	if dd == 0 {
		// Equal tensors have no rounding errors to show.
		if r.CosineZero == NoneZero {
			r.Cosine = NumberOf(1)
		}
		if r.Pearson.Defined() {
			r.Pearson = NumberOf(1)
		}
	}
	if rr == 0 {
		return
	}
	r.Scale = NumberOf(math.Ldexp(s.product()/rr, n.exp-ref.exp))
	r.ScaleResidual = NumberOf(residual(r.Scale.Value(), math.Ldexp(nn/rr, 2*(n.exp-ref.exp)), math.Ldexp(dd/rr, 2*(d.exp-ref.exp))))
	// Where squares exceed the range of float64, by the angle between n and r.
	size := math.Sqrt(nn) / math.Sqrt(rr)
	if whole := math.Ldexp(size, n.exp-ref.exp); whole < 0x1p-500 || whole > 0x1p500 {
		sine := math.Sqrt(max(1-float64(r.CosineRaw.Value()*r.CosineRaw.Value()), 0))
		r.ScaleResidual = NumberOf(math.Ldexp(size*sine, n.exp-ref.exp))
	}
}

// residual returns what is left of n-sr against r, from the squares of n and d
// against that of r. Of two equal formulas it takes that of the smaller terms.
func residual(scale, nn, dd float64) float64 {
	if math.Abs(scale-1) < math.Abs(scale) {
		return math.Sqrt(max(dd-float64((scale-1)*(scale-1)), 0))
	}
	return math.Sqrt(max(nn-float64(scale*scale), 0))
}
