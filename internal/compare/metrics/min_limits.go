package metrics

import "math"

// extent has the bounds of the differences of a block.
type extent struct {
	maxAbs, maxRel float64 // maxRel is over the references that are not 0
	sumAbs         float64
	undefined      bool  // some d != 0 has a reference of 0
	zeros          int64 // references that are 0
	inMargin       bool  // no |d|/limit exceeds the margin of earlier blocks
	passes         bool  // no |d|/limit exceeds 1 either
}

// slack exceeds 1 by more than the rounding errors of a quotient and a limit together.
const slack = 1 + 0x1p-48

// boundsRatios reports whether maxRel bounds every ratio: no ratio is undefined, and maxRel was
// not rounded to a subnormal number or to 0.
func (x extent) boundsRatios() bool {
	return !x.undefined && (x.maxRel >= 0x1p-1022 || x.maxAbs == 0)
}

// provesPass reports whether the extent proves that all elements pass. false proves nothing.
func (l Limits) provesPass(x extent) bool {
	absolute := x.maxAbs <= l.Atol
	relative := x.boundsRatios() && x.maxRel*slack <= l.Rtol
	if l.Mode == EitherExceeded {
		return absolute && relative
	}
	return absolute || relative
}

// marginBound returns an upper bound of all |d|/limit of an extent.
func (l Limits) marginBound(x extent) float64 {
	absolute, relative := math.Inf(1), math.Inf(1)
	if l.Atol > 0 {
		absolute = x.maxAbs / l.Atol * slack
	}
	if l.Rtol > 0 && x.boundsRatios() {
		relative = x.maxRel / l.Rtol * slack
	}
	if l.Mode == EitherExceeded {
		return max(absolute, relative)
	}
	return min(absolute, relative)
}

// minLimits are the smallest limits that all elements pass.
type minLimits struct {
	// margin is the largest |d|/limit. rtol (atol) is the smallest value with which all
	// elements pass, beside the atol (rtol) of the request.
	margin, rtol, atol float64
}

func (t *minLimits) merge(u *minLimits) {
	t.margin = max(t.margin, u.margin)
	t.rtol = max(t.rtol, u.rtol)
	t.atol = max(t.atol, u.atol)
}

// isUnaffectedBy reports whether the elements of an extent cannot change t.
func (t *minLimits) isUnaffectedBy(l Limits, x extent) bool {
	return x.maxAbs == 0 || (x.inMargin || l.marginBound(x) <= t.margin) &&
		Limits{l.Atol, t.rtol, l.Mode}.provesPass(x) && Limits{t.atol, l.Rtol, l.Mode}.provesPass(x)
}

// add adds the elements of a block.
func (t *minLimits) add(l Limits, x extent, abs, r []float64) {
	if !x.inMargin && l.marginBound(x) > t.margin {
		t.addMargin(l, abs, r)
	}
	if with := (Limits{l.Atol, t.rtol, l.Mode}); !with.provesPass(x) && with.areExceeded(abs, r) {
		t.rtol = raiseLimit(abs, r, t.rtol, func(rtol, abs, ref float64) bool {
			return Limits{l.Atol, rtol, l.Mode}.Passes(abs, ref)
		}, func(abs, ref float64) float64 { return (abs - l.Atol) / ref })
	}
	if with := (Limits{t.atol, l.Rtol, l.Mode}); !with.provesPass(x) && with.areExceeded(abs, r) {
		t.atol = raiseLimit(abs, r, t.atol, func(atol, abs, ref float64) bool {
			return Limits{atol, l.Rtol, l.Mode}.Passes(abs, ref)
		}, func(abs, ref float64) float64 { return abs - float64(l.Rtol*ref) })
	}
}

func (t *minLimits) addMargin(l Limits, abs, r []float64) {
	for i := 0; !math.IsInf(t.margin, 1); i++ {
		i += l.scaleBy(t.margin/slack).findFirstBeyond(abs[i:], r[i:])
		if i == len(abs) {
			return
		}
		t.margin = max(t.margin, l.limitShare(abs[i], math.Abs(r[i])))
	}
}

// scaleBy returns the limits times share; a limit that becomes subnormal is 0.
func (l Limits) scaleBy(share float64) Limits {
	part := func(limit float64) float64 {
		if limit *= share; limit < 0x1p-1022 {
			return 0
		}
		return min(limit, math.MaxFloat64)
	}
	return Limits{part(l.Atol), part(l.Rtol), l.Mode}
}

// limitShare returns |d|/limit, also if the limit exceeds the range of float64.
func (l Limits) limitShare(abs, ref float64) float64 {
	limit := l.limit(ref)
	if math.IsInf(limit, 1) {
		const small = 0x1p-515
		limit = Limits{float64(l.Atol * small * small), float64(l.Rtol * small), l.Mode}.limit(ref * small)
		return math.Ldexp(abs*0x1p-64/limit, 64-2*515)
	}
	return abs / limit
}

// raiseLimit returns the smallest limit, at least the given one, with which all elements pass;
// +inf if there is none. An element that passes a limit passes every higher one, so the order
// of elements does not matter. The element with the highest estimate comes first, which saves
// most binary searches.
func raiseLimit(abs, r []float64, limit float64, passes func(limit, abs, ref float64) bool, estimate func(abs, ref float64) float64) float64 {
	worst, high := -1, math.Inf(-1)
	for i, a := range abs {
		ref := math.Abs(r[i])
		if passes(limit, a, ref) {
			continue
		}
		if x := estimate(a, ref); worst < 0 || x > high {
			worst, high = i, x
		}
	}
	if worst < 0 {
		return limit
	}
	limit = threshold(limit, abs[worst], math.Abs(r[worst]), passes)
	for i, a := range abs {
		if ref := math.Abs(r[i]); !passes(limit, a, ref) {
			limit = threshold(limit, a, ref, passes)
		}
	}
	return limit
}

// threshold returns the smallest limit with which the element passes, by binary search
// above a limit with which it fails.
func threshold(fails, abs, ref float64, passes func(limit, abs, ref float64) bool) float64 {
	if math.IsInf(fails, 1) || !passes(math.MaxFloat64, abs, ref) {
		return math.Inf(1)
	}
	low, high := math.Float64bits(fails), math.Float64bits(math.MaxFloat64)
	for low+1 < high {
		middle := (low + high) / 2
		if passes(math.Float64frombits(middle), abs, ref) {
			high = middle
		} else {
			low = middle
		}
	}
	return math.Float64frombits(high)
}
