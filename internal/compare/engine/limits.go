package engine

import (
	"fmt"
	"math"
)

// check reports limits that are no limits.
func (l Limits) check() error {
	if !(l.Atol >= 0 && l.Rtol >= 0 && max(l.Atol, l.Rtol) <= math.MaxFloat64) {
		return fmt.Errorf("limits atol=%v rtol=%v, want finite numbers from 0 on", l.Atol, l.Rtol)
	}
	if l.Mode > EitherExceeded {
		return fmt.Errorf("tolerance mode %d, want %d to %d", l.Mode, IsClose, EitherExceeded)
	}
	return nil
}

// limit returns the largest |d| that passes beside a reference of magnitude ref.
func (l Limits) limit(ref float64) float64 {
	relative := float64(l.Rtol * ref)
	switch l.Mode {
	case BothExceeded:
		return max(l.Atol, relative)
	case EitherExceeded:
		return min(l.Atol, relative)
	}
	return l.Atol + relative
}

// passes reports whether an element is no error.
func (l Limits) passes(abs, ref float64) bool { return abs <= l.limit(ref) }

// exceeded reports whether some elements do not pass.
func (l Limits) exceeded(abs, r []float64) bool {
	if l.Mode != IsClose {
		for i, a := range abs {
			if !l.passes(a, math.Abs(r[i])) {
				return true
			}
		}
		return false
	}
	r = r[:len(abs)]
	i, exceeded := exceedsHead(abs, r, l.Atol, l.Rtol)
	for ; i < len(abs); i++ {
		exceeded = exceeded || !(abs[i] <= l.Atol+float64(l.Rtol*math.Abs(r[i])))
	}
	return exceeded
}

// extent bounds the differences of a leaf.
type extent struct {
	maxAbs, maxRel float64 // maxRel is over the references that are not 0
	undefined      bool    // there is a difference from a reference of 0
}

// slack is more than the rounding of a quotient and of a limit together.
const slack = 1 + 0x1p-48

// quiet reports whether all elements of an extent pass for sure.
func (l Limits) quiet(x extent) bool {
	absolute := x.maxAbs <= l.Atol
	relative := !x.undefined && x.maxRel*slack <= l.Rtol
	if l.Mode == EitherExceeded {
		return absolute && relative
	}
	return absolute || relative
}

// marginBound returns what no |d|/limit of an extent exceeds.
func (l Limits) marginBound(x extent) float64 {
	absolute, relative := math.Inf(1), math.Inf(1)
	if l.Atol > 0 {
		absolute = x.maxAbs / l.Atol * slack
	}
	if l.Rtol > 0 && !x.undefined {
		relative = x.maxRel / l.Rtol * slack
	}
	if l.Mode == EitherExceeded {
		return max(absolute, relative)
	}
	return min(absolute, relative)
}

// tightest keeps the tightest limits that all elements pass.
type tightest struct {
	// margin is the largest |d|/limit. rtol and atol are the smallest that pass
	// all elements, the other one being that of the request.
	margin, rtol, atol float64
}

func (t *tightest) merge(u *tightest) {
	t.margin = max(t.margin, u.margin)
	t.rtol = max(t.rtol, u.rtol)
	t.atol = max(t.atol, u.atol)
}

// settled reports whether elements of an extent change nothing.
func (t *tightest) settled(l Limits, x extent) bool {
	return x.maxAbs == 0 || l.marginBound(x) <= t.margin &&
		Limits{l.Atol, t.rtol, l.Mode}.quiet(x) && Limits{t.atol, l.Rtol, l.Mode}.quiet(x)
}

// add takes in the elements of a leaf.
func (t *tightest) add(l Limits, x extent, abs, r []float64) {
	if l.marginBound(x) > t.margin {
		t.addMargin(l, abs, r)
	}
	if with := (Limits{l.Atol, t.rtol, l.Mode}); !with.quiet(x) && with.exceeded(abs, r) {
		t.rtol = raise(abs, r, t.rtol, func(rtol, abs, ref float64) bool {
			return Limits{l.Atol, rtol, l.Mode}.passes(abs, ref)
		}, func(abs, ref float64) float64 { return (abs - l.Atol) / ref })
	}
	if with := (Limits{t.atol, l.Rtol, l.Mode}); !with.quiet(x) && with.exceeded(abs, r) {
		t.atol = raise(abs, r, t.atol, func(atol, abs, ref float64) bool {
			return Limits{atol, l.Rtol, l.Mode}.passes(abs, ref)
		}, func(abs, ref float64) float64 { return abs - l.Rtol*ref })
	}
}

func (t *tightest) addMargin(l Limits, abs, r []float64) {
	filter := t.margin / slack
	scaled := Limits{l.Atol * filter, l.Rtol * filter, l.Mode}
	if !math.IsInf(filter, 0) && !scaled.exceeded(abs, r) {
		return
	}
	for i, a := range abs {
		if limit := l.limit(math.Abs(r[i])); a > filter*limit {
			t.margin = max(t.margin, a/limit)
			filter = t.margin / slack
		}
	}
}

// raise returns the smallest limit, from a given one on, with which all elements
// pass; +inf if none does. What passes goes on passing under a higher limit, so
// the elements may come in any order; the one that needs the highest by estimate
// comes first, to spare searches.
func raise(abs, r []float64, limit float64, passes func(limit, abs, ref float64) bool, estimate func(abs, ref float64) float64) float64 {
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

// threshold returns the smallest limit above one that an element fails with
// which the element passes.
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
