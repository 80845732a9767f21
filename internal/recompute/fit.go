package recompute

import (
	"math"
	"slices"
	"strconv"

	"dumptool/internal/exact"
)

const (
	// sampleElements is the number of output elements on which hypotheses are compared and numbers fitted, fitSteps
	// the largest number of Newton steps of a fit.
	sampleElements, fitSteps = 1 << 12, 12
	// maxStarts limits the sets of values of the other attributes for which a number is fitted.
	maxStarts = 48
	// fitSlack is the factor on the bounds of elements computed with a fitted number, which is only as exact as the
	// elements that it was fitted to.
	fitSlack = 1.05
)

// fitAttribute returns the result with one attribute fitted to the elements, trying each set of values of the other
// attributes. It returns nil if that explains less than half of what start leaves unexplained, or if the number is
// implausible.
func (j *judge) fitAttribute(start *result, all []Attributes) (*result, error) {
	var best *result
	var fitted attribute
	defer func() { j.fitOffset, j.sampled = 0, 0 }()
	for _, a := range j.formula.attrs {
		if a.fit == nil || j.isKnown(a) {
			continue
		}
		for _, h := range listStarts(start.attrs, all, a.names[0]) {
			for _, onlyBad := range []bool{false, true} { // fit to all elements, then to the bad ones
				x, ok, err := j.solve(h, a, onlyBad)
				if err != nil {
					return nil, err
				}
				if !ok {
					continue
				}
				r, err := j.evaluateAttributes(h.merge(Attributes{a.names[0]: {Number(x), FromFit}}), true)
				if err != nil {
					return nil, err
				}
				if r.why.IsZero() && (best == nil || r.compare(best) < 0) {
					best, fitted = r, a
				}
				if r.why.IsZero() && r.explains() {
					break
				}
			}
		}
	}
	if best == nil {
		return nil, nil
	}
	if best.cells < best.total {
		r, err := j.evaluateAttributes(best.attrs, false)
		if err != nil {
			return nil, err
		}
		best = r
	}
	if !best.why.IsZero() || !best.explains() && 2*best.countBad() >= start.countBad() {
		return nil, nil
	}
	best, err := j.simplify(best, fitted.names[0])
	if err != nil {
		return nil, err
	}
	if x, _ := best.attrs[fitted.names[0]].Value.Number(); fitted.fit.maxPlausible > 0 && x > fitted.fit.maxPlausible || fitted.fit.isFactor(x) {
		j.implausibleFit = best.countBad() == 0
		return nil, nil
	}
	return best, nil
}

// simplify returns the result with the fitted number rounded to the fewest decimal digits that explain as much,
// because people choose such numbers.
func (j *judge) simplify(r *result, name string) (*result, error) {
	const mostDigits = 4
	x, _ := r.attrs[name].Value.Number()
	for digits := 1; digits <= mostDigits && r.explains(); digits++ {
		h := r.attrs.merge(Attributes{name: {Number(roundDigits(x, digits)), FromFit}})
		for _, few := range []bool{true, false} {
			s, err := j.evaluateAttributes(h, few)
			if err != nil {
				return nil, err
			}
			if !s.why.IsZero() || !s.explains() || s.countBeyond() > r.countBeyond() {
				break
			}
			if !few {
				return s, nil
			}
		}
	}
	return r, nil
}

// roundDigits rounds a number to decimal digits.
func roundDigits(x float64, digits int) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64) // cannot fail: the text was formatted from a number
	return x
}

// listStarts lists the sets of values that differ in other attributes than name, best first.
func listStarts(best Attributes, all []Attributes, name string) (some []Attributes) {
	for _, h := range append([]Attributes{best}, all...) {
		known := slices.ContainsFunc(some, func(s Attributes) bool {
			for other, x := range h {
				if other != name && s[other].Value.String() != x.Value.String() {
					return false
				}
			}
			return true
		})
		if !known && len(some) < maxStarts {
			some = append(some, h)
		}
	}
	return some
}

// positionToNumber converts a position of the search to the number: the search moves along logarithms if log is set.
func (f *fitRule) positionToNumber(x float64) float64 {
	if f.log {
		return exact.Exp(x)
	}
	return x
}

// slopes holds elements of a cell and their derivatives with respect to an attribute at x. counts selects the
// elements to use, nil for all.
type slopes struct {
	*cellSample
	slope  []float64
	counts func(i int) bool
}

// slopesAt computes the derivatives by finite differences; nil if the attribute does not fit the shapes.
func (j *judge) slopesAt(start Attributes, a *attribute, x float64, counts func(i int) bool) (*slopes, error) {
	const delta = 1e-5
	h := float64(delta * max(1, math.Abs(x)))
	low, err := j.sampleAttribute(start, a.names[0], a.fit.positionToNumber(x))
	if err != nil || low == nil {
		return nil, err
	}
	high, err := j.sampleAttribute(start, a.names[0], a.fit.positionToNumber(x+h))
	if err != nil || high == nil {
		return nil, err
	}
	s := &slopes{cellSample: low, counts: counts}
	for i, v := range low.v {
		s.slope = append(s.slope, (high.v[i]-v)/h)
	}
	return s, nil
}

// isUsable reports whether element i depends on the attribute, is finite and is selected.
func (s *slopes) isUsable(i int) bool {
	return s.slope[i] != 0 && s.slope[i]-s.slope[i] == 0 && s.got[i]-s.got[i] == 0 && s.v[i]-s.v[i] == 0 && (s.counts == nil || s.counts(i))
}

// wantedSteps returns, in ascending order, the step of the attribute with which each usable element would be right.
func (s *slopes) wantedSteps() (all []float64) {
	for i, v := range s.v {
		if s.isUsable(i) {
			all = append(all, (s.got[i]-v)/s.slope[i])
		}
	}
	slices.Sort(all)
	return all
}

// solve finds the number on which most elements of a cell agree. It iterates Newton steps from the number that fits
// best: each element gives a step, and the median step is taken. The result is the centre of the range that most
// elements allow within their bounds.
//
// With onlyBad, only the elements that are bad at the start are used: a number that changes few elements, such as a
// bound or an added 1e-8, has to explain the bad elements, even a single one; no other element depends on the number.
func (j *judge) solve(start Attributes, a attribute, onlyBad bool) (float64, bool, error) {
	x, ok := start[a.names[0]].Value.Number()
	if !ok {
		return 0, false, nil
	}
	var counts func(i int) bool
	j.fitOffset, j.sampled = 0, 0
	if onlyBad {
		j.fitOffset = j.worstOffset
		c, err := j.computeCell(start)
		if err != nil || c == nil {
			return 0, false, err
		}
		j.sampled = c.worstElement()
		if counts, ok = j.sampleCell(c).selectBeyondWide(); !ok {
			return 0, false, nil
		}
	}
	if a.fit.start != 0 {
		x = a.fit.start
	}
	if !a.fit.log {
		if x, ok, err := j.solveFrom(start, &a, x, counts); ok || err != nil {
			return x, ok, err
		}
		return j.solveFrom(start, &a, 0, counts) // x may make the elements infinite
	}
	for _, from := range []float64{x, 1e-3, .1, 1} { // a first epsilon may be too small to change any element
		if x, ok, err := j.solveFrom(start, &a, exact.Log(max(from, 1e-12)), counts); ok || err != nil {
			return x, ok, err
		}
	}
	return 0, false, nil
}

// worstElement returns the index of the element of the first output with the largest relative error.
func (c *evaluatedCell) worstElement() (worst int) {
	largest := 0.0
	for i, got := range c.got[0].v {
		if e := math.Abs(got-c.outputs[0].v[i]) / max(math.Abs(got), math.SmallestNonzeroFloat64); e > largest {
			worst, largest = i, e
		}
	}
	return worst
}

// selectBeyondWide returns a predicate for elements beyond the wide bound; some is false if there are no such elements or
// if more than half of the elements are beyond the bound.
func (s *cellSample) selectBeyondWide() (counts func(i int) bool, some bool) {
	wrong, n := make([]bool, len(s.v)), 0
	for i, v := range s.v {
		if wrong[i] = !(math.Abs(s.got[i]-v) <= s.tol[i]); wrong[i] {
			n++
		}
	}
	return func(i int) bool { return wrong[i] }, n > 0 && 2*n < len(s.v)
}

// minFitElements is the least number of elements to fit a number to, unless all others are right without it.
const minFitElements = 4

// findImplausible returns the name of an attribute whose fitted number has more decimal digits than people choose.
func (j *judge) findImplausible(r *result) (name string, ok bool) {
	for _, a := range j.formula.attrs {
		x := r.attrs[a.names[0]]
		if v, _ := x.Value.Number(); x.Source == FromFit && a.fit.digits > 0 && roundDigits(v, a.fit.digits) != v {
			return a.names[0], true
		}
	}
	return "", false
}

// isFactor reports whether a fitted value imitates a wrong factor of the output: it is near the natural value and has
// more digits than people choose.
func (f *fitRule) isFactor(x float64) bool {
	const near, digits = .025, 2
	return f.natural > 0 && roundDigits(x, digits) != x && math.Abs(exact.Log(x)/exact.Log(f.natural)-1) < near
}

// solveFrom runs the Newton iteration of solve from x. After a step to where no element depends on the attribute it
// steps back half way.
func (j *judge) solveFrom(start Attributes, a *attribute, x float64, counts func(i int) bool) (float64, bool, error) {
	var last *slopes // slopes at the last position with usable elements
	lastX, minUsable := x, minFitElements
	if counts != nil {
		minUsable = 1
	}
	for range fitSteps {
		s, err := j.slopesAt(start, a, x, counts)
		if err != nil || s == nil {
			return 0, false, err
		}
		steps := s.wantedSteps()
		if len(steps) < minUsable {
			if last == nil {
				return 0, false, nil
			}
			x = (x + lastX) / 2
			continue
		}
		last, lastX = s, x
		step := steps[len(steps)/2]
		if a.fit.log {
			step = min(max(step, -3), 3)
		}
		if x += step; math.Abs(step) < 1e-9*max(1, math.Abs(x)) {
			break
		}
	}
	s, err := j.slopesAt(start, a, x, counts)
	if err != nil || s == nil {
		return 0, false, err
	}
	if last != nil && len(s.wantedSteps()) < minUsable {
		s, x = last, lastX
	}
	var allowed []interval
	for i, v := range s.v {
		if s.isUsable(i) {
			low, high := (s.got[i]-s.tol[i]-v)/s.slope[i], (s.got[i]+s.tol[i]-v)/s.slope[i]
			allowed = append(allowed, interval{min(low, high), max(low, high)})
		}
	}
	step, _ := findDensestCentre(allowed)
	x = a.fit.positionToNumber(x + step)
	return x, x-x == 0, nil
}

// interval is the range of a number that one element allows.
type interval struct{ low, high float64 }

// findDensestCentre returns the centre of the range that lies in the most intervals, and their number.
func findDensestCentre(all []interval) (x float64, most int) {
	type edge struct {
		at   float64
		step int
	}
	var edges []edge
	for _, i := range all {
		edges = append(edges, edge{i.low, 1}, edge{i.high, -1})
	}
	slices.SortStableFunc(edges, func(a, b edge) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return b.step - a.step
	})
	open := 0
	for i, e := range edges[:max(0, len(edges)-1)] {
		if open += e.step; open > most {
			most, x = open, (e.at+edges[i+1].at)/2
		}
	}
	return x, most
}
