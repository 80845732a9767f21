package metrics

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"sort"
	"testing"

	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
)

// references has a slow reference for each metric, which computes it from the elements by its
// formula. Metrics over pairs are undefined if no pair is finite on both sides.
var references = map[string]func(p *slowPair) answer{
	"max_abs":      overPairs(func(p *slowPair) answer { return exactly(largest(p.finite, absolute64).value) }),
	"mean_abs":     overPairs(func(p *slowPair) answer { return summed(p.sumAbs(), p.pairs()) }),
	"rmse":         overSquares(func(p *slowPair) answer { return rooted(over(p.dd(), p.pairs())) }, ofD),
	"max_rel":      func(p *slowPair) answer { return maxRelative(p.hpaa) },
	"mean_rel":     func(p *slowPair) answer { return meanRelative(p.hpaa) },
	"err_max_abs":  func(p *slowPair) answer { return exactly(largest(errorsOf(p.hpaa), absolute64).value) },
	"err_mean_abs": func(p *slowPair) answer { return meanAbsolute(errorsOf(p.hpaa)) },
	"cosine":       overSquares(slowCosine, ofN, ofR),
	"pearson":      overSquares(slowPearson, ofN, ofR),
	"red":          overSquares(func(p *slowPair) answer { return quotient(root(p.dd()), root(p.rr())) }, ofR, ofD),
	"sqnr_db":      overSquares(func(p *slowPair) answer { return decibelsOf(p.rr(), p.dd()) }, ofR, ofD),
	"ulp_max":      overPairs(func(p *slowPair) answer { return exactly(largest(p.finite, ulps).value) }),
	"ref_mean":     func(p *slowPair) answer { return meanOf(p.replacedReferences()) },
	"ref_std":      func(p *slowPair) answer { return stdOf(p.replacedReferences()) },
	"ref_rms":      func(p *slowPair) answer { return rmsOf(p.replacedReferences()) },

	"max_rel_finite":      func(p *slowPair) answer { return maxRelative(p.finite) },
	"mean_rel_finite":     func(p *slowPair) answer { return meanRelative(p.finite) },
	"err_max_abs_finite":  func(p *slowPair) answer { return exactly(largest(errorsOf(p.finite), absolute64).value) },
	"err_mean_abs_finite": func(p *slowPair) answer { return meanAbsolute(errorsOf(p.finite)) },
	"ref_mean_finite":     func(p *slowPair) answer { return meanOf(p.ref().spread()) },
	"ref_std_finite":      func(p *slowPair) answer { return stdOf(p.ref().spread()) },
	"ref_rms_finite":      func(p *slowPair) answer { return rmsOf(p.ref().spread()) },

	"max_abs_offset":        overPairs(func(p *slowPair) answer { return counted(int(largest(p.finite, absolute64).offset)) }),
	"max_rel_offset":        func(p *slowPair) answer { return placeOfRelative(p.hpaa) },
	"max_rel_finite_offset": func(p *slowPair) answer { return placeOfRelative(p.finite) },
	"ulp_max_offset":        overPairs(slowULPOffset),

	"mse":     overSquares(func(p *slowPair) answer { return about(over(p.dd(), p.pairs())) }, ofD),
	"acc_rel": func(p *slowPair) answer { return sumRelative(p.finite) },
	"rel_undefined": func(p *slowPair) answer {
		return counted(p.count(func(f *slowFinite) bool { return f.rel == nil && f.abs64 > 0 }))
	},
	"max_abs_undefined": func(p *slowPair) answer {
		return exactly(largest(slices.DeleteFunc(slices.Clone(p.finite), func(f slowFinite) bool { return f.rel != nil }), absolute64).value)
	},
	"diff1": overPairs(func(p *slowPair) answer {
		a, b := p.sumAbs(), p.sumRef()
		if x, _ := b.Float64(); math.IsInf(x, 1) {
			return none()
		}
		if x, _ := a.Float64(); math.IsInf(x, 1) {
			return always(1)
		}
		return quotient(a, b)
	}),
	"linf_rel": overPairs(func(p *slowPair) answer {
		return quotient(largestBig(p.finite, slowFinite.absolute), largestBig(p.finite, slowFinite.reference))
	}),
	"cosine_raw": overSquares(slowCosine, ofN, ofR),
	"snr_db": overSquares(func(p *slowPair) answer {
		return decibelsOf(p.spreadOfParts(partR).deviations, p.spreadOfParts(partD).deviations)
	}, ofR, ofD),
	"psnr_db": overSquares(func(p *slowPair) answer {
		peak := largestBig(p.finite, slowFinite.reference)
		return decibelsOf(times(peak, peak), over(p.dd(), p.pairs()))
	}, ofR, ofD),
	"r1000":      overPairs(func(p *slowPair) answer { return p.shareBelow(1e-3) }),
	"r5000":      overPairs(func(p *slowPair) answer { return p.shareBelow(5e-3) }),
	"ulp_mean":   overPairs(func(p *slowPair) answer { return summed(sumOver(p.finite, ulpsOf), p.pairs()) }),
	"bias":       func(p *slowPair) answer { return p.bias(func(bias, _ float64) float64 { return bias }) },
	"bias_z":     func(p *slowPair) answer { return p.bias(func(bias, n float64) float64 { return bias * math.Sqrt(n) }) },
	"bias_count": func(p *slowPair) answer { up, down := p.signs(); return counted(up + down) },
	"mean_d": overPairs(func(p *slowPair) answer {
		return meanOf(p.spreadOfParts(partD))
	}),
	"std_d": overSquares(func(p *slowPair) answer { return stdOf(p.spreadOfParts(partD)) }, ofD),
	"scale": overSquares(func(p *slowPair) answer {
		rr := p.rr()
		if rr.Sign() == 0 {
			return none()
		}
		return within(over(p.nr(), rr), over(root(p.nn()), root(rr)), 1e-12)
	}, ofN, ofR),
	"scale_residual": overSquares(slowResidual, ofN, ofR, ofD),
	"margin":         overPairs(slowMargin),
	"min_rtol": overPairs(func(p *slowPair) answer {
		return p.leastLimit(func(rtol float64) Limits { return Limits{p.req.Limits.Atol, rtol, p.req.Limits.Mode} })
	}),
	"min_atol": overPairs(func(p *slowPair) answer {
		return p.leastLimit(func(atol float64) Limits { return Limits{atol, p.req.Limits.Rtol, p.req.Limits.Mode} })
	}),
	"kld": func(p *slowPair) answer { return none() },

	"abs_p50":  overPairs(func(p *slowPair) answer { return p.absQuantile(0.5) }),
	"abs_p90":  overPairs(func(p *slowPair) answer { return p.absQuantile(0.9) }),
	"abs_p95":  overPairs(func(p *slowPair) answer { return p.absQuantile(0.95) }),
	"abs_p99":  overPairs(func(p *slowPair) answer { return p.absQuantile(0.99) }),
	"abs_p999": overPairs(func(p *slowPair) answer { return p.absQuantile(0.999) }),
	"rel_p50":  func(p *slowPair) answer { return p.relQuantile(0.5) },
	"rel_p90":  func(p *slowPair) answer { return p.relQuantile(0.9) },
	"rel_p95":  func(p *slowPair) answer { return p.relQuantile(0.95) },
	"rel_p99":  func(p *slowPair) answer { return p.relQuantile(0.99) },
	"rel_p999": func(p *slowPair) answer { return p.relQuantile(0.999) },

	"differ":           func(p *slowPair) answer { return counted(slowDiffer(p)) },
	"overflowed":       func(p *slowPair) answer { return counted(slowOverflowed(p)) },
	"underflowed":      func(p *slowPair) answer { return counted(slowUnderflowed(p)) },
	"saturated_both":   func(p *slowPair) answer { return counted(slowSaturatedBoth(p)) },
	"saturated_errors": func(p *slowPair) answer { return counted(slowSaturatedErrors(p)) },
	"wrapped_errors":   func(p *slowPair) answer { return counted(slowWrappedErrors(p)) },
	"zero_tail":        func(p *slowPair) answer { return counted(slowZeroTail(p)) },

	"ref_min":        func(p *slowPair) answer { return lowest(p.ref()) },
	"ref_max":        func(p *slowPair) answer { return highest(p.ref()) },
	"ref_var_finite": func(p *slowPair) answer { return varOf(p.ref().spread()) },
	"ref_l2":         func(p *slowPair) answer { return lengthOf(p.ref().spread()) },
	"ref_zeros":      func(p *slowPair) answer { return zeros(p.ref()) },
	"ref_nan":        func(p *slowPair) answer { return ofClass(p.ref(), NaN) },
	"ref_pos_inf":    func(p *slowPair) answer { return ofClass(p.ref(), PosInf) },
	"ref_neg_inf":    func(p *slowPair) answer { return ofClass(p.ref(), NegInf) },
	"ref_saturated":  func(p *slowPair) answer { return saturated(p.ref()) },
	"ref_subnormal":  func(p *slowPair) answer { return subnormals(p.ref()) },
	"npu_min":        func(p *slowPair) answer { return lowest(p.npu()) },
	"npu_max":        func(p *slowPair) answer { return highest(p.npu()) },
	"npu_mean":       func(p *slowPair) answer { return meanOf(p.npu().spread()) },
	"npu_std":        func(p *slowPair) answer { return stdOf(p.npu().spread()) },
	"npu_var":        func(p *slowPair) answer { return varOf(p.npu().spread()) },
	"npu_rms":        func(p *slowPair) answer { return rmsOf(p.npu().spread()) },
	"npu_l2":         func(p *slowPair) answer { return lengthOf(p.npu().spread()) },
	"npu_zeros":      func(p *slowPair) answer { return zeros(p.npu()) },
	"npu_nan":        func(p *slowPair) answer { return ofClass(p.npu(), NaN) },
	"npu_pos_inf":    func(p *slowPair) answer { return ofClass(p.npu(), PosInf) },
	"npu_neg_inf":    func(p *slowPair) answer { return ofClass(p.npu(), NegInf) },
	"npu_saturated":  func(p *slowPair) answer { return saturated(p.npu()) },
	"npu_subnormal":  func(p *slowPair) answer { return subnormals(p.npu()) },
}

func overPairs(of func(p *slowPair) answer) func(p *slowPair) answer {
	return func(p *slowPair) answer {
		if len(p.finite) == 0 {
			return none()
		}
		return of(p)
	}
}

// overSquares is overPairs for a metric over squares; the arguments are the largest magnitudes
// of the values.
func overSquares(of func(p *slowPair) answer, largest ...func(p *slowPair) float64) func(p *slowPair) answer {
	return overPairs(func(p *slowPair) answer {
		for _, most := range largest {
			if !squared(most(p)) {
				return none()
			}
		}
		return of(p)
	})
}

func partR(x slowPart) *big.Float { return x.r }
func partD(x slowPart) *big.Float { return x.d }
func partN(x slowPart) *big.Float { return x.n }

func absolute64(f *slowFinite) float64 { return f.abs64 }
func ulps(f *slowFinite) float64       { return f.ulps }
func ulpsOf(f slowFinite) *big.Float   { return big64(f.ulps) }

// pairs returns the number of pairs that are finite on both sides.
func (p *slowPair) pairs() *big.Float { return big64(float64(len(p.finite))) }

// slowExtreme returns the first of the largest values.
type slowExtreme struct {
	value  float64
	offset int64
}

func largest(pairs []slowFinite, of func(f *slowFinite) float64) (e slowExtreme) {
	for i := range pairs {
		if x := of(&pairs[i]); i == 0 || x > e.value {
			e = slowExtreme{x, pairs[i].offset}
		}
	}
	return e
}

func largestBig(pairs []slowFinite, of func(f slowFinite) *big.Float) *big.Float {
	high := big64(0)
	for _, f := range pairs {
		high = larger(high, of(f))
	}
	return high
}

// slowULPOffset returns the offset of the largest distance. Different distances beyond 2^53 may
// be equal in float64: each of them may be reported as the largest.
func slowULPOffset(p *slowPair) answer {
	high := largest(p.finite, ulps)
	offset := counted(int(high.offset))
	if high.value > 1<<53 {
		offset.slack = big64(float64(len(p.all)))
	}
	return offset
}

func errorsOf(pairs []slowFinite) (bad []slowFinite) {
	for _, f := range pairs {
		if f.isError {
			bad = append(bad, f)
		}
	}
	return bad
}

func meanAbsolute(pairs []slowFinite) answer {
	if len(pairs) == 0 {
		return exactly(0)
	}
	return summed(sumOver(pairs, slowFinite.absolute), big64(float64(len(pairs))))
}

// relatives returns the pairs with r != 0.
func relatives(pairs []slowFinite) (with []slowFinite) {
	for _, f := range pairs {
		if f.rel != nil {
			with = append(with, f)
		}
	}
	return with
}

func maxRelative(pairs []slowFinite) answer {
	if pairs = relatives(pairs); len(pairs) == 0 {
		return none()
	}
	return about(largestBig(pairs, slowFinite.relative))
}

// placeOfRelative returns the offset of the largest |d|/|r| in float64.
func placeOfRelative(pairs []slowFinite) answer {
	if pairs = relatives(pairs); len(pairs) == 0 {
		return none()
	}
	return counted(int(largest(pairs, relative64).offset))
}

func relative64(f *slowFinite) float64 {
	x, _ := f.rel.Float64()
	return x
}

func sumRelative(pairs []slowFinite) answer {
	sum, count := sumAndCount(pairs, slowFinite.relative)
	if count == 0 {
		return none()
	}
	return summed(sum, big64(1))
}

func meanRelative(pairs []slowFinite) answer {
	sum, count := sumAndCount(pairs, slowFinite.relative)
	if count == 0 {
		return none()
	}
	return summed(sum, big64(float64(count)))
}

// replacedReferences returns the references after HPAA's replacement.
func (p *slowPair) replacedReferences() slowSpread {
	var values []*big.Float
	for _, f := range p.hpaa {
		values = append(values, big64(p.magnitude(f.r)))
	}
	return spreadOf(values)
}

func slowCosine(p *slowPair) answer {
	nn, rr := p.nn(), p.rr()
	switch {
	case nn.Sign() == 0 && rr.Sign() == 0:
		return exactly(1)
	case nn.Sign() == 0 || rr.Sign() == 0:
		return exactly(0)
	}
	return within(over(over(p.nr(), root(nn)), root(rr)), big64(1), 1e-12)
}

// slowPearson treats a side as constant if it varies only by rounding. In borderline cases
// both answers are accepted.
func slowPearson(p *slowPair) answer {
	n, r := p.spreadOfParts(partN), p.spreadOfParts(partR)
	tie := false
	for _, s := range []slowSpread{n, r} {
		limit := times(s.mean, big64(4*0x1p-52))
		limit = times(limit, limit)
		switch {
		case s.deviations.Cmp(times(limit, big64(1-1e-12))) <= 0:
			return none()
		case s.deviations.Cmp(times(limit, big64(1+1e-12))) <= 0:
			tie = true
		}
	}
	co := total(p.finite, func(x slowPart) *big.Float { return times(minus(x.n, n.mean), minus(x.r, r.mean)) })
	co = over(co, big64(float64(n.count)))
	a := within(over(co, times(root(n.deviations), root(r.deviations))), big64(1), 1e-9)
	a.orUndefined = tie
	return a
}

func slowResidual(p *slowPair) answer {
	nn, rr := p.nn(), p.rr()
	if rr.Sign() == 0 {
		return none()
	}
	s := over(p.nr(), rr)
	rest := total(p.finite, func(x slowPart) *big.Float {
		d := minus(x.n, times(s, x.r))
		return times(d, d)
	})
	return within(root(over(rest, rr)), root(over(nn, rr)), 1e-6)
}

// slowMargin accepts limits that differ by one subnormal ulp: a limit of a few such units has no
// significant digits, and a smaller limit may be 0.
func slowMargin(p *slowPair) answer {
	unit := big64(math.SmallestNonzeroFloat64)
	low, high, unbounded := big64(0), big64(0), false
	for i := range p.finite {
		f := &p.finite[i]
		if f.abs.Sign() == 0 {
			continue
		}
		if f.abs.IsInf() {
			return always(1)
		}
		limit := f.limit(p.req.Limits)
		if limit.Sign() == 0 {
			return always(1)
		}
		low = larger(low, over(f.abs, plus(limit, unit)))
		if limit.Cmp(unit) <= 0 {
			unbounded = true
			continue
		}
		high = larger(high, over(f.abs, minus(limit, unit)))
	}
	if unbounded {
		return answer{value: low, slack: times(low, big64(1e-12)), orMore: true}
	}
	return answer{value: low, slack: plus(minus(high, low), times(high, big64(1e-12)))}
}

// leastLimit returns the smallest limit with which all pairs pass.
func (p *slowPair) leastLimit(with func(limit float64) Limits) answer {
	pass := func(limit float64) bool {
		return p.count(func(f *slowFinite) bool { return !f.passes(with(limit)) }) == 0
	}
	if !pass(math.MaxFloat64) {
		return always(1)
	}
	// Non-negative floats order like their bits.
	last := int(math.Float64bits(math.MaxFloat64))
	bits := sort.Search(last, func(bits int) bool { return pass(math.Float64frombits(uint64(bits))) })
	return exactly(math.Float64frombits(uint64(bits)))
}

// shareBelow returns the share of pairs with |d|/|r| below a limit, or with
// d = r = 0.
func (p *slowPair) shareBelow(limit float64) answer {
	n := p.count(func(f *slowFinite) bool {
		if f.rel == nil {
			return f.abs64 == 0
		}
		return relative64(f) < limit
	})
	return exactly(float64(n) / float64(len(p.finite)))
}

// signs returns the numbers of differences above and below 0.
func (p *slowPair) signs() (up, down int) {
	for _, f := range p.finite {
		for _, x := range f.parts {
			switch x.d.Sign() {
			case 1:
				up++
			case -1:
				down++
			}
		}
	}
	return up, down
}

func (p *slowPair) bias(of func(bias, n float64) float64) answer {
	up, down := p.signs()
	if up+down == 0 {
		return none()
	}
	n := float64(up + down)
	return about(big64(of(float64(up-down)/n, n)))
}

// absQuantile and relQuantile accept values within a bin of the histogram.
func (p *slowPair) absQuantile(share float64) answer {
	var values []float64
	for i := range p.finite {
		values = append(values, p.finite[i].abs64)
	}
	return binned(quantile(values, share))
}

func (p *slowPair) relQuantile(share float64) answer {
	var values []float64
	for _, f := range relatives(p.finite) {
		values = append(values, relative64(&f))
	}
	if len(values) == 0 {
		return none()
	}
	return binned(quantile(values, share))
}

func binned(x float64) answer {
	if math.IsInf(x, 1) {
		return always(1)
	}
	return within(big64(x), big64(x), 0.0625)
}

func slowDiffer(p *slowPair) (n int) {
	for _, x := range p.all {
		if x.n.class != x.r.class {
			n++
		}
	}
	return n + p.count(func(f *slowFinite) bool { return f.abs.Sign() != 0 })
}

func slowOverflowed(p *slowPair) (n int) {
	for _, x := range p.all {
		lost := x.n.class != Finite || p.limitOf(x.n) != 0
		if lost && x.r.class == Finite && p.limitOf(x.r) == 0 {
			n++
		}
	}
	return n
}

func slowUnderflowed(p *slowPair) int {
	normal := smallestNormal(p.req.NPUDType)
	return p.count(func(f *slowFinite) bool { return math.Abs(p.magnitude(f.n)) < normal && f.magnitude >= normal })
}

func slowSaturatedBoth(p *slowPair) int {
	return p.count(func(f *slowFinite) bool { s := p.limitOf(f.n); return s != 0 && s == p.limitOf(f.r) })
}

// typeLimits returns the smallest and the largest finite value of the NPU's type.
func (p *slowPair) typeLimits() (low, high float64) {
	switch u := p.ulp; {
	case u.values != nil:
		return u.values[0], u.highest
	case smallestNormal(u.dtype) == 0:
		return intLimits(u.dtype)
	default:
		return -u.highest, u.highest
	}
}

func slowSaturatedErrors(p *slowPair) (n int) {
	if p.complex {
		return 0
	}
	low, high := p.typeLimits()
	for _, f := range p.finite {
		if a, b := f.n.re, f.r.re; f.isError && (a >= high && b >= a || a <= low && b <= a) {
			n++
		}
	}
	for _, x := range p.all {
		if x.n.class == Finite && (x.r.class == PosInf && x.n.re >= high || x.r.class == NegInf && x.n.re <= low) {
			n++
		}
	}
	return n
}

func slowWrappedErrors(p *slowPair) int {
	d := p.req.NPUDType
	if p.complex || smallestNormal(d) != 0 || d.Host() == tensor.HostBool {
		return 0
	}
	modulus := new(big.Int).Lsh(big.NewInt(1), uint(d.Bits()))
	return p.count(func(f *slowFinite) bool {
		r := f.r.exact
		if r == nil {
			if f.r.re != math.Trunc(f.r.re) || math.Abs(f.r.re) >= 1<<63 {
				return false
			}
			r = big.NewInt(int64(f.r.re))
		}
		rest := new(big.Int).Sub(f.n.exact, r)
		return f.isError && rest.Mod(rest, modulus).Sign() == 0
	})
}

func slowZeroTail(p *slowPair) (n int) {
	for _, x := range p.all {
		n++
		if p.magnitude(x.n) != 0 {
			n = 0
		}
	}
	return n
}

func lowest(s *slowSide) answer  { return extremeOf(s, -1) }
func highest(s *slowSide) answer { return extremeOf(s, 1) }

func extremeOf(s *slowSide, sign float64) answer {
	values := s.values()
	if len(values) == 0 {
		return none()
	}
	high := math.Inf(-1)
	for _, x := range values {
		high = max(high, sign*x)
	}
	return exactly(sign * high)
}

func zeros(s *slowSide) answer {
	return counted(s.count(func(e slowElement) bool { return e.class == Finite && s.pair.magnitude(e) == 0 }))
}

func ofClass(s *slowSide, class Class) answer {
	return counted(s.count(func(e slowElement) bool { return e.class == class }))
}

func saturated(s *slowSide) answer {
	return counted(s.count(func(e slowElement) bool { return e.class == Finite && s.pair.limitOf(e) != 0 }))
}

func subnormals(s *slowSide) answer {
	return counted(s.count(func(e slowElement) bool {
		x := math.Abs(s.pair.magnitude(e))
		return e.class == Finite && x > 0 && x < smallestNormal(s.dtype)
	}))
}

// integral has the slow references of everything except the metrics.
type integral struct {
	Classes                          Classes
	Beyond, Mismatch, Cells          int64
	First, Last, CellFirst, CellLast int64
	AbsBins, RelBins                 map[int32]int64
	AbsZeros, RelZeros               int64
	Offsets                          []int64
}

func integralOf(r *Result) integral {
	out := integral{
		Classes: r.Classes,
		Beyond:  r.Beyond.Count, Mismatch: r.Mismatch.Count, Cells: r.HPAA.Count,
		First: -1, Last: -1, CellFirst: -1, CellLast: -1,
		AbsBins: map[int32]int64{}, RelBins: map[int32]int64{},
		AbsZeros: r.AbsHistogram.Zeros, RelZeros: r.RelHistogram.Zeros,
		Offsets: r.ErrorOffsets,
	}
	if r.Beyond.First != nil {
		out.First, out.Last = r.Beyond.First.Offset, r.Beyond.Last.Offset
	}
	if r.HPAA.First != nil {
		out.CellFirst, out.CellLast = r.HPAA.First.Offset, r.HPAA.Last.Offset
	}
	for _, b := range r.AbsHistogram.Bins {
		out.AbsBins[b.Bin] = b.Count
	}
	for _, b := range r.RelHistogram.Bins {
		out.RelBins[b.Bin] = b.Count
	}
	return out
}

// slowBin returns the histogram bin by its definition.
func slowBin(x float64) int32 {
	if math.IsInf(x, 1) {
		return 1024 * 8
	}
	fraction, exp := math.Frexp(x) // 0.5 to 1
	return int32(exp-1)*8 + int32((2*fraction-1)*8)
}

// slowCompare computes integral pair by pair.
func slowCompare(p *slowPair) integral {
	out := integral{
		First: -1, Last: -1, CellFirst: -1, CellLast: -1,
		AbsBins: map[int32]int64{}, RelBins: map[int32]int64{},
	}
	bad := map[int64]bool{}
	for i, x := range p.all {
		out.Classes[x.n.class][x.r.class]++
		if x.n.class != x.r.class {
			bad[int64(i)] = true
			out.Mismatch++
		}
	}
	for _, f := range errorsOf(p.hpaa) {
		slowError(&out.Cells, &out.CellFirst, &out.CellLast, f.offset)
	}
	for _, f := range errorsOf(p.finite) {
		bad[f.offset] = true
		slowError(&out.Beyond, &out.First, &out.Last, f.offset)
	}
	for _, offset := range slices.Sorted(maps.Keys(bad)) {
		if len(out.Offsets) < 64 {
			out.Offsets = append(out.Offsets, offset)
		}
	}
	for i := range p.finite {
		out.count(&p.finite[i])
	}
	return out
}

// slowError counts an error.
func slowError(count, first, last *int64, offset int64) {
	if *count == 0 {
		*first = offset
	}
	*count++
	*last = offset
}

// count counts a pair in the histograms.
func (want *integral) count(f *slowFinite) {
	if f.abs64 != 0 {
		want.AbsBins[slowBin(f.abs64)]++
	} else {
		want.AbsZeros++
	}
	if f.rel != nil {
		if rel := relative64(f); rel != 0 {
			want.RelBins[slowBin(rel)]++
		} else {
			want.RelZeros++
		}
	}
}

// checkSlowly compares a result with the slow references, and returns these.
func checkSlowly(t testing.TB, req Request, ref, npu memory, got *Result) *slowPair {
	t.Helper()
	p := newSlowPair(t, req, ref, npu)
	checkTable(t, p, got)
	if diff := cmp.Diff(slowCompare(p), integralOf(got)); diff != "" {
		t.Error(req, diff)
	}
	return p
}
