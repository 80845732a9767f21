package recompute

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/exact"
)

func fieldsOf(s string) func(yield func(string) bool) { return strings.FieldsSeq(s) }

const (
	fitElements, fitSteps = 1 << 12, 12
	// mostStarts is how many values of the other attributes a number is fitted beside.
	mostStarts = 48
	// fitSlack is how much wider the bound is beside a fitted number, which is no more exact than
	// the elements that it was fitted to.
	fitSlack = 1.05
)

// fit returns the result with one number fitted to the elements, nil where that does not
// explain all that the others do not: an attribute that is a real number can be any. It is
// fitted beside each value that the other attributes may have.
func (j *judge) fit(start *result, all []Attributes) (*result, error) {
	var best *result
	var of attribute
	defer func() { j.place = 0 }()
	for _, a := range j.formula.attrs {
		if a.fit == nil || j.knows(a) {
			continue
		}
		for _, h := range starts(start.attrs, all, a.names[0]) {
			for _, part := range []bool{false, true} { // all elements, or those that are wrong without it
				x, ok, err := j.solve(h, a, part)
				if err != nil {
					return nil, err
				}
				if !ok {
					continue
				}
				r, err := j.run(h.with(Attributes{a.names[0]: {Number(x), FromFit}}), true)
				if err != nil {
					return nil, err
				}
				if r.why.IsZero() && (best == nil || r.compare(best) < 0) {
					best, of = r, a
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
	if best.cells < best.of {
		r, err := j.run(best.attrs, false)
		if err != nil {
			return nil, err
		}
		best = r
	}
	if !best.why.IsZero() || !best.explains() && 2*best.bad() >= start.bad() {
		return nil, nil
	}
	best, err := j.rounded(best, of.names[0])
	if err != nil {
		return nil, err
	}
	if x, _ := best.attrs[of.names[0]].Value.Number(); of.fit.most > 0 && x > of.fit.most || of.fit.isFactor(x) {
		j.strange = best.bad() == 0
		return nil, nil
	}
	return best, nil
}

// rounded is a result with a fitted number of as few digits as explain the same: people choose
// such numbers.
func (j *judge) rounded(r *result, name string) (*result, error) {
	const mostDigits = 4
	x, _ := r.attrs[name].Value.Number()
	for digits := 1; digits <= mostDigits && r.explains(); digits++ {
		h := r.attrs.with(Attributes{name: {Number(shortened(x, digits)), FromFit}})
		for _, few := range []bool{true, false} {
			s, err := j.run(h, few)
			if err != nil {
				return nil, err
			}
			if !s.why.IsZero() || !s.explains() || s.beyond() > r.beyond() {
				break
			}
			if !few {
				return s, nil
			}
		}
	}
	return r, nil
}

// shortened is a number with so many decimal digits.
func shortened(x float64, digits int) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64) // of a number's own text
	return x
}

// starts are the hypotheses that differ in other attributes than a name, the best first.
func starts(best Attributes, all []Attributes, name string) (some []Attributes) {
	for _, h := range append([]Attributes{best}, all...) {
		known := slices.ContainsFunc(some, func(s Attributes) bool {
			for other, x := range h {
				if other != name && s[other].Value.String() != x.Value.String() {
					return false
				}
			}
			return true
		})
		if !known && len(some) < mostStarts {
			some = append(some, h)
		}
	}
	return some
}

// scale returns the number at a place of the search, which moves along logarithms or numbers.
func (f *fit) scale(x float64) float64 {
	if f.log {
		return exact.Exp(x)
	}
	return x
}

// slopes are the elements of a cell beside how fast they follow an attribute at x; of those
// that count, nil for all.
type slopes struct {
	*sampled
	slope  []float64
	counts func(i int) bool
}

// slopesAt returns nil where the attribute does not fit.
func (j *judge) slopesAt(start Attributes, a *attribute, x float64, counts func(i int) bool) (*slopes, error) {
	const delta = 1e-5
	h := float64(delta * max(1, math.Abs(x)))
	low, err := j.sample(start, a.names[0], a.fit.scale(x))
	if err != nil || low == nil {
		return nil, err
	}
	high, err := j.sample(start, a.names[0], a.fit.scale(x+h))
	if err != nil || high == nil {
		return nil, err
	}
	s := &slopes{sampled: low, counts: counts}
	for i, v := range low.v {
		s.slope = append(s.slope, (high.v[i]-v)/h)
	}
	return s, nil
}

// follows reports whether an element says something of the attribute.
func (s *slopes) follows(i int) bool {
	return s.slope[i] != 0 && s.slope[i]-s.slope[i] == 0 && s.got[i]-s.got[i] == 0 && s.v[i]-s.v[i] == 0 && (s.counts == nil || s.counts(i))
}

// asks are the steps that the elements ask for, in order.
func (s *slopes) asks() (all []float64) {
	for i, v := range s.v {
		if s.follows(i) {
			all = append(all, (s.got[i]-v)/s.slope[i])
		}
	}
	slices.Sort(all)
	return all
}

// solve finds the number that most elements of a cell agree on: from the one that fits best
// it follows each element's own equation, and takes the median of what they ask for; at the
// end it takes the middle of what most of them allow.
//
// A part of the elements are those that are wrong at the start: a number that changes few
// elements, such as a bound, has to explain them, and the others say nothing of it.
func (j *judge) solve(start Attributes, a attribute, part bool) (float64, bool, error) {
	x, ok := start[a.names[0]].Value.Number()
	if !ok {
		return 0, false, nil
	}
	var counts func(i int) bool
	j.place = 0
	if part {
		j.place = j.worst
		s, err := j.sample(start, a.names[0], x)
		if err != nil || s == nil {
			return 0, false, err
		}
		if counts, ok = s.wrong(); !ok {
			return 0, false, nil
		}
	}
	if a.fit.start != 0 {
		x = a.fit.start
	}
	if !a.fit.log {
		return j.solveFrom(start, &a, x, counts)
	}
	for _, from := range []float64{x, 1e-3, .1, 1} { // an epsilon may be too small to change anything
		if x, ok, err := j.solveFrom(start, &a, exact.Log(max(from, 1e-12)), counts); ok || err != nil {
			return x, ok, err
		}
	}
	return 0, false, nil
}

// wrong returns which elements are beyond the wide bound, if they are a part of all.
func (s *sampled) wrong() (counts func(i int) bool, some bool) {
	wrong, n := make([]bool, len(s.v)), 0
	for i, v := range s.v {
		if wrong[i] = !(math.Abs(s.got[i]-v) <= s.tol[i]); wrong[i] {
			n++
		}
	}
	return func(i int) bool { return wrong[i] }, n >= leastAsked && 2*n < len(s.v)
}

// leastAsked is how many elements have to say something of a number.
const leastAsked = 4

// isFactor reports whether a value of an attribute is none that anybody chooses, but stands for
// a wrong factor of the output: it is near the natural one and has many digits.
func (f *fit) isFactor(x float64) bool {
	const near, digits = .025, 2
	return f.natural > 0 && shortened(x, digits) != x && math.Abs(exact.Log(x)/exact.Log(f.natural)-1) < near
}

// solveFrom is solve from a place on, by the elements that count, nil for all. Where a step
// leads to where no element follows the attribute, half of it is taken back.
func (j *judge) solveFrom(start Attributes, a *attribute, x float64, counts func(i int) bool) (float64, bool, error) {
	var last *slopes // the last place where elements follow the attribute, at
	at := x
	for range fitSteps {
		s, err := j.slopesAt(start, a, x, counts)
		if err != nil || s == nil {
			return 0, false, err
		}
		asks := s.asks()
		if len(asks) < leastAsked {
			if last == nil {
				return 0, false, nil
			}
			x = (x + at) / 2
			continue
		}
		last, at = s, x
		step := asks[len(asks)/2]
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
	if last != nil && len(s.asks()) < leastAsked {
		s, x = last, at
	}
	var allowed []interval
	for i, v := range s.v {
		if s.follows(i) {
			low, high := (s.got[i]-s.tol[i]-v)/s.slope[i], (s.got[i]+s.tol[i]-v)/s.slope[i]
			allowed = append(allowed, interval{min(low, high), max(low, high)})
		}
	}
	step, _ := mostAllowed(allowed)
	x = a.fit.scale(x + step)
	return x, x-x == 0, nil
}

// interval is what an element allows.
type interval struct{ low, high float64 }

// mostAllowed is the middle of what most intervals have in common, and how many that are.
func mostAllowed(all []interval) (x float64, most int) {
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
