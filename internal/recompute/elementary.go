package recompute

import (
	"math"

	"dumptool/internal/exact"
	"dumptool/internal/tensor"
)

// pointwise is a formula of each element of one input.
func pointwise(name string, class Class, f func(x *Array) *Array, attrs ...attribute) formula {
	return formula{name: name, class: class, inputs: "x", cut: elementwise, compute: unary(f), attrs: attrs}
}

// pairwise is a formula of the elements of two inputs that are broadcast to each other.
func pairwise(name string, class Class, f func(x, y *Array) *Array) formula {
	return formula{name: name, class: class, inputs: "x1 x2", cut: elementwise, compute: binary(f)}
}

// elementary are the formulas of functions of an element, and of arithmetic of few elements.
var elementary = []formula{
	pointwise("Acos", Tabled, curve(exact.Acos, func(x float64) float64 { return 1 / math.Sqrt(1-float64(x*x)) })),
	pointwise("Acosh", Tabled, curve(exact.Acosh, func(x float64) float64 { return 1 / math.Sqrt(float64(x*x)-1) })),
	pointwise("Asin", Tabled, curve(exact.Asin, func(x float64) float64 { return 1 / math.Sqrt(1-float64(x*x)) })),
	pointwise("Asinh", Tabled, curve(exact.Asinh, func(x float64) float64 { return 1 / math.Sqrt(1+float64(x*x)) })),
	pointwise("Atan", Tabled, curve(exact.Atan, func(x float64) float64 { return 1 / (1 + float64(x*x)) })),
	pointwise("Atanh", Tabled, curve(exact.Atanh, func(x float64) float64 { return 1 / (1 - float64(x*x)) })),
	pointwise("Cosh", Tabled, curve(exact.Cosh, exact.Sinh)),
	pointwise("Sinh", Tabled, curve(exact.Sinh, exact.Cosh)),
	pointwise("Tan", Tabled, func(x *Array) *Array { return x.sin().div(x.cos()) }),
	pointwise("Erfc", Tabled, func(x *Array) *Array { return x.erf().neg().plus(1) }),
	pointwise("TanhShrink", Tabled, func(x *Array) *Array { return x.sub(x.tanh()) }),
	pointwise("Frac", Exact, func(x *Array) *Array { return x.kept(loop(func(v float64) float64 { return v - math.Trunc(v) })) }),
	{name: "BitwiseNot", class: Integral, inputs: "x", cut: elementwise, compute: one(func(c *call) *Array {
		if c.types[0] == tensor.Bool {
			return c.in(0).steps(func(v float64) float64 { return flag(v == 0) })
		}
		return c.in(0).steps(func(v float64) float64 { return float64(^int64(v)) })
	})},
	pointwise("IsNan", Integral, test(func(v float64) bool { return v != v })),
	pointwise("IsInf", Integral, test(func(v float64) bool { return math.IsInf(v, 0) })),
	pointwise("IsFinite", Integral, test(func(v float64) bool { return v-v == 0 })),
	{name: "Logit", class: Tabled, inputs: "x", cut: elementwise, compute: one(func(c *call) *Array {
		x := c.in(0)
		if eps := c.num("epsilon"); eps >= 0 {
			x = x.atLeast(eps).atMost(1 - eps)
		}
		return x.div(x.neg().plus(1)).log()
	}), attrs: []attribute{constant("epsilon", -1)}},
	{name: "HardShrink", class: Exact, inputs: "x", cut: elementwise, compute: with("lambd", func(x *Array, n float64) *Array {
		return x.abs().compare(x.m.number(n), func(x, y float64) bool { return x > y }).where(x, x.m.number(0))
	}), attrs: []attribute{real("lambd", .5)}},
	{name: "SoftShrink", class: Exact, inputs: "x", cut: elementwise, compute: with("lambd", func(x *Array, n float64) *Array {
		return x.plus(-n).atLeast(0).add(x.plus(n).atMost(0))
	}), attrs: []attribute{real("lambd", .5)}},
	{name: "ThresholdV2D", class: Exact, inputs: "x", cut: elementwise, compute: one(func(c *call) *Array {
		x := c.in(0)
		return x.compare(c.number(c.num("threshold")), func(x, y float64) bool { return x > y }).where(x, c.number(c.num("value")))
	}), attrs: []attribute{real("threshold", 0), real("value", 0)}},
	{name: "NanToNum", class: Exact, inputs: "x", cut: elementwise, compute: one(nanToNum), attrs: []attribute{kept("nan"), kept("posinf"), kept("neginf")}},

	pairwise("Atan2", Tabled, func(y, x *Array) *Array {
		return y.pairs(x, func(v, y, x []float64) {
			for i := range v {
				v[i] = exact.Atan2(y[i], x[i])
			}
		}, func(e, v, y, ey, x, ex []float64, c *bounds) {
			for i, s := range v {
				e[i] = (ey[i]+ex[i])/max(math.Abs(x[i])+math.Abs(y[i])-ex[i]-ey[i], tiny) + float64(c.tf*math.Abs(s)) + 2*c.u
			}
		})
	}),
	pairwise("Hypot", Divided, func(x, y *Array) *Array { return square(x).add(square(y)).sqrt() }),
	pairwise("CopySign", Exact, func(x, y *Array) *Array { return x.exactly(y, math.Copysign) }),
	pairwise("Fmax", Exact, func(x, y *Array) *Array { return x.exactly(y, numberFirst(larger)) }),
	pairwise("Fmin", Exact, func(x, y *Array) *Array { return x.exactly(y, numberFirst(smaller)) }),
	pairwise("Xlogy", Tabled, func(x, y *Array) *Array {
		return x.compare(x.m.number(0), func(x, y float64) bool { return x == y }).where(x.m.number(0), x.mul(y.log()))
	}),
	pairwise("Heaviside", Exact, func(x, y *Array) *Array {
		return x.exactly(y, func(x, y float64) float64 {
			if x == 0 {
				return y
			}
			return max(0, sign(x))
		})
	}),
	pairwise("FloorMod", Plain, func(x, y *Array) *Array { return x.modulo(y, math.Floor) }),
	pairwise("Mod", Plain, func(x, y *Array) *Array { return x.modulo(y, math.Trunc) }),
	pairwise("FloorDiv", Plain, func(x, y *Array) *Array { return x.quotient(y, math.Floor) }),
	pairwise("TruncateDiv", Plain, func(x, y *Array) *Array { return x.quotient(y, math.Trunc) }),
	bitwise("LeftShift", func(x, y int64) int64 { return x << min(uint64(y), 63) }),
	bitwise("RightShift", func(x, y int64) int64 { return x >> min(uint64(y), 63) }),
	comparison("LogicalXor", func(x, y float64) bool { return (x != 0) != (y != 0) }),
	{name: "FusedMulSub", class: Plain, inputs: "x1 x2 x3", cut: elementwise, compute: one(func(c *call) *Array { return c.in(2).sub(c.in(0).mul(c.in(1))) })},
	{name: "Addcmul", class: Plain, inputs: "x x1 x2 value", cut: elementwise, compute: one(func(c *call) *Array { return c.in(0).add(c.in(1).mul(c.in(2)).mul(c.in(3))) })},
	{name: "Addcdiv", class: Divided, inputs: "x x1 x2 value", cut: elementwise, compute: one(func(c *call) *Array { return c.in(0).add(c.in(1).mul(c.in(3)).div(c.in(2))) })},
	{name: "Lerp", class: Plain, inputs: "start end weight", cut: elementwise, compute: one(func(c *call) *Array {
		start, end, w := c.in(0), c.in(1), c.in(2)
		return start.add(w.mul(end.sub(start))).beside(start, end)
	})},
}

// curve is a function of an element, whose errors grow by the slope of the function.
func curve(f, slope func(x float64) float64) func(x *Array) *Array {
	return func(x *Array) *Array {
		return x.each(loop(f), func(e, v, x, ex []float64, c *bounds) {
			for i, s := range v {
				e[i] = float64(c.tf*math.Abs(s)) + 2*c.u
				if ex[i] != 0 {
					e[i] += float64(math.Abs(slope(x[i])) * ex[i])
				}
			}
		})
	}
}

// test is 1 where an element has a property, else 0.
func test(has func(v float64) bool) func(x *Array) *Array {
	return func(x *Array) *Array { return x.steps(func(v float64) float64 { return flag(has(v)) }) }
}

// numberFirst is the preferred one of two numbers, a number before NaN.
func numberFirst(by preference) func(x, y float64) float64 {
	return func(x, y float64) float64 {
		switch {
		case x != x:
			return y
		case y != y:
			return x
		}
		return by.of(x, y)
	}
}

// beside widens the bounds by one rounding of each of some terms: kernels differ in the order in which
// they add these.
func (x *Array) beside(terms ...*Array) *Array {
	for _, t := range terms {
		x = x.pairs(t, func(v, x, _ []float64) { copy(v, x) }, func(e, _, _, ex, t, et []float64, c *bounds) {
			for i, s := range t {
				e[i] = ex[i] + float64(single*(math.Abs(s)+et[i]))
			}
		})
	}
	return x
}

// nearStep reports whether rounding a quotient may give the integer before or behind: x is known to
// a few roundings, y and the quotient are as they are computed.
func nearStep(x, y, ex, ey float64, c *bounds) bool {
	const roundings = 4
	q := x / y
	off := float64(roundings*c.u*math.Abs(q)) + (ex+float64(math.Abs(q)*ey))/max(math.Abs(y)-ey, tiny)
	return off > 0 && math.Abs(q-math.RoundToEven(q)) <= off
}

// modulo is what remains of x after it was divided by y with a rounded quotient. Where the quotient
// is close to an integer the remainder may be 0 or y.
func (x *Array) modulo(y *Array, round func(float64) float64) *Array {
	return x.pairs(y, func(v, x, y []float64) {
		for i, s := range x {
			v[i] = math.Mod(s, y[i])
			if v[i] != 0 && round(-.5) < 0 && (v[i] < 0) != (y[i] < 0) {
				v[i] += y[i]
			}
		}
	}, func(e, _, x, ex, y, ey []float64, c *bounds) {
		for i, s := range x {
			e[i] = ex[i] + float64(math.Abs(s/y[i])*ey[i]) + float64(2*c.u*math.Abs(s))
			if nearStep(s, y[i], ex[i], ey[i], c) {
				e[i] += math.Abs(y[i])
			}
		}
	})
}

// quotient is a rounded quotient: of integers it is exact.
func (x *Array) quotient(y *Array, round func(float64) float64) *Array {
	return x.pairs(y, func(v, x, y []float64) {
		for i, s := range x {
			v[i] = round(s / y[i])
		}
	}, func(e, v, x, ex, y, ey []float64, c *bounds) {
		for i, s := range x {
			e[i] = float64(c.u * math.Abs(v[i]))
			if nearStep(s, y[i], ex[i], ey[i], c) {
				e[i]++
			}
		}
	})
}

// nanToNum replaces NaN and infinities, these by the largest numbers of the type where the attribute is
// infinite. What is not known stays, and is not judged.
func nanToNum(c *call) *Array {
	largest := formatOf(c.dtypes[0]).Max
	number := func(name string, other float64) float64 {
		if v, ok := c.attrs[name].Value.Number(); ok {
			return min(max(v, -largest), largest)
		}
		return other
	}
	nan, high, low := number("nan", math.NaN()), number("posinf", math.Inf(1)), number("neginf", math.Inf(-1))
	c.selects = true
	return c.in(0).steps(func(v float64) float64 {
		switch {
		case v != v:
			return nan
		case math.IsInf(v, 1):
			return high
		case math.IsInf(v, -1):
			return low
		}
		return v
	})
}
