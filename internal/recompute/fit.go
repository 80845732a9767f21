package recompute

import (
	"math"
	"slices"
	"strings"

	"dumptool/internal/exact"
)

func fieldsOf(s string) func(yield func(string) bool) { return strings.FieldsSeq(s) }

const fitElements, fitSteps = 256, 12

// fit returns the result with one number fitted to the elements, nil where that does not
// explain all that the others do not: an attribute that is a real number can be any.
func (j *judge) fit(start *result) (*result, error) {
	for _, a := range j.formula.attrs {
		if a.closed || j.knows(a) {
			continue
		}
		x, ok, err := j.solve(start.attrs, a)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		r, err := j.run(start.attrs.with(Attributes{a.names[0]: {Number(x), FromFit}}), false)
		if err != nil {
			return nil, err
		}
		if r.why == "" && (r.bad() == 0 || 2*r.bad() < start.bad()) {
			return r, nil
		}
	}
	return nil, nil
}

// solve finds the number that most elements of a cell agree on: from the one that fits best
// it follows each element's own equation, and takes the median of what they ask for.
func (j *judge) solve(start Attributes, a attribute) (float64, bool, error) {
	name := a.names[0]
	x, ok := start[name].Value.Number()
	if !ok {
		return 0, false, nil
	}
	if a.start != 0 {
		x = a.start
	}
	if a.log {
		x = exact.Log(max(x, 1e-12))
	}
	number := func(x float64) float64 {
		if a.log {
			return exact.Exp(x)
		}
		return x
	}
	for range fitSteps {
		const delta = 1e-5
		h := float64(delta * max(1, math.Abs(x)))
		low, got, err := j.sample(start, name, number(x))
		if err != nil || low == nil {
			return 0, false, err
		}
		high, _, err := j.sample(start, name, number(x+h))
		if err != nil || high == nil {
			return 0, false, err
		}
		var asks []float64
		for i, v := range low {
			if slope := (high[i] - v) / h; slope != 0 && slope-slope == 0 && got[i]-got[i] == 0 && v-v == 0 {
				asks = append(asks, (got[i]-v)/slope)
			}
		}
		if len(asks) < 4 {
			return 0, false, nil
		}
		slices.Sort(asks)
		step := asks[len(asks)/2]
		if a.log {
			step = min(max(step, -3), 3)
		}
		if x += step; math.Abs(step) < 1e-9*max(1, math.Abs(x)) {
			break
		}
	}
	x = number(x)
	return x, x-x == 0, nil
}
