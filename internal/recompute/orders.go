package recompute

import (
	"math"
	"slices"

	"dumptool/internal/exact"
)

// orders are the formulas whose elements depend on the order of a line.
var orders = []formula{
	{name: "ArgMax", class: Integral, inputs: "x", cut: lines, compute: one(func(c *call) *Array { return c.extremeIndex(larger) }), attrs: []attribute{oneAxis}},
	{name: "ArgMin", class: Integral, inputs: "x", cut: lines, compute: one(func(c *call) *Array { return c.extremeIndex(smaller) }), attrs: []attribute{oneAxis}},
	{name: "Cumsum", class: Reduced, inputs: "x", cut: lines, compute: one(cumsum),
		attrs: []attribute{axisWhereAny, flags("exclusive", false), flags("reverse", false)}},
	{name: "TopK", class: Exact, inputs: "x", cut: rankedCut, compute: one(topK), attrs: []attribute{rankedAxis, flags("largest", true), flags("sorted", true)}},
}

func logOf(x float64) float64 { return exact.Log(x) }

// extremeIndex returns where the preferred element is; of several the one that the
// NPU says.
func (c *call) extremeIndex(by preference) *Array {
	x := c.in(0)
	axes := c.ints("axes")
	best := x.extreme(by, axes...)
	return best.steps(func(float64) float64 { return 0 }).index(x, best, c.got[0], axes)
}

// index sets where the best elements of lines are: where the NPU says, if that is one.
func (z *Array) index(x, best, got *Array, axes []int) *Array {
	if z.m.err != nil {
		return z
	}
	x.lines(axes, func(line, first int, beside []int) {
		y := got.v[line]
		isBest := func(k int) bool {
			return x.v[k] == best.v[line] && (x.ints == nil || x.ints[k] == best.ints[line])
		}
		if y >= 0 && y < float64(len(beside)) && y == math.Trunc(y) && isBest(first+beside[int(y)]) {
			z.v[line] = y
			return
		}
		for i, k := range beside {
			if v := x.v[first+k]; isBest(first+k) || v != v && best.v[line] != best.v[line] {
				z.v[line] = float64(i)
				return
			}
		}
	})
	return z
}

func cumsum(c *call) *Array {
	x, axes := c.in(0), c.ints("axes")
	z := c.array(x.shape).mapped(x, func(n int64) int64 { return n })
	if c.err != nil {
		return z
	}
	x.lines(axes, func(_, first int, beside []int) {
		sum, size, whole := 0.0, 0.0, int64(0)
		n := 1 + 2*math.Sqrt(float64(len(beside)))
		for i := range beside {
			k := first + beside[i]
			if c.is("reverse") {
				k = first + beside[len(beside)-1-i]
			}
			v := x.v[k]
			before, sizeBefore := sum, size
			sum, size = sum+v, size+math.Abs(v)
			if c.is("exclusive") {
				z.set(k, before, float64(c.narrow.u*n*sizeBefore), float64(c.wide.u*n*sizeBefore))
			} else {
				z.set(k, sum, float64(c.narrow.u*n*size), float64(c.wide.u*n*size))
			}
			if z.ints != nil {
				next := whole + x.ints[k]
				if z.ints[k] = next; c.is("exclusive") {
					z.ints[k] = whole
				}
				whole = next
			}
		}
	})
	return z
}

// rankedAxis is the axis of which the output has a part.
var rankedAxis = attribute{names: []string{"axis"}, closed: true, choices: func(p *problem) (all []Attributes) {
	for k := p.rank() - 1; k >= 0; k-- {
		if h := (Attributes{"axis": {integers(k), FromShape}}); rankedCut(p, h).why.IsZero() {
			all = append(all, h)
		}
	}
	return all
}}

// rankedCut cuts along all axes but the one of which the output has a part.
func rankedCut(p *problem, h Attributes) *cutting {
	c, x, out := seen(p), p.Inputs[0].Shape, p.Outputs[0].Shape
	k, ok := axisIn(h, len(x))
	if !ok || len(out) != len(x) || out[k] > x[k] || !slices.Equal(x[:k], out[:k]) || !slices.Equal(x[k+1:], out[k+1:]) {
		return misfit("the output has the shape %s, the input %s", out, x)
	}
	return c.along(slices.Delete(upTo(len(x)), k, k+1), same)
}

// topK are the first of each line in their order; in that of the NPU where it need not sort.
func topK(c *call) *Array {
	x, shape := c.in(0), c.shapes[0]
	axis, ok := axisIn(c.attrs, len(x.shape))
	if c.err != nil || !ok {
		return c.fail("axis %s", c.attrs["axis"].Value)
	}
	z, got := c.exact(shape, c.alloc(int(shape.Elements()))), c.got[0]
	if x.ints != nil {
		z.ints = make([]int64, len(z.v))
	}
	firsts := make([]int, 0, len(z.v))
	z.lines([]int{axis}, func(_, first int, _ []int) { firsts = append(firsts, first) })
	beside := int(shape[axis+1:].Elements())
	x.lines([]int{axis}, func(line, first int, along []int) {
		in := ranked(x, first, along, c.is("largest"))
		places := upTo(int(shape[axis]))
		for i := range places {
			places[i] = firsts[line] + i*beside
		}
		if !c.is("sorted") {
			places = ranked(got, 0, places, c.is("largest"))
		}
		for i, to := range places {
			if z.v[to] = x.v[in[i]]; z.ints != nil {
				z.ints[to] = x.ints[in[i]]
			}
		}
	})
	return z
}

// ranked are elements in their order.
func ranked(x *Array, first int, along []int, largest bool) []int {
	all := make([]int, len(along))
	for i, k := range along {
		all[i] = first + k
	}
	slices.SortFunc(all, func(i, k int) int {
		if largest {
			return x.order(k, i)
		}
		return x.order(i, k)
	})
	return all
}
