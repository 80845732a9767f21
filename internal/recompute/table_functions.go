package recompute

import (
	"math"

	"dumptool/internal/exact"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// functions are the formulas of further functions of an element, and of arithmetic with two or three operands.
var functions = []formula{
	unary("Acos acos arccos", Tabled, unbounded, smoothFunction(exact.Acos, func(x float64) float64 { return 1 / math.Sqrt(1-float64(x*x)) })),
	unary("Acosh acosh arccosh", Tabled, unbounded, smoothFunction(exact.Acosh, func(x float64) float64 { return 1 / math.Sqrt(float64(x*x)-1) })),
	unary("Asin asin arcsin", Tabled, unbounded, smoothFunction(exact.Asin, func(x float64) float64 { return 1 / math.Sqrt(1-float64(x*x)) })),
	unary("Asinh asinh arcsinh", Tabled, smoothNoise(1), smoothFunction(exact.Asinh, func(x float64) float64 { return 1 / math.Sqrt(1+float64(x*x)) })),
	unary("Atan atan arctan", Tabled, smoothNoise(1), smoothFunction(exact.Atan, func(x float64) float64 { return 1 / (1 + float64(x*x)) })),
	unary("Atanh atanh arctanh", Tabled, unbounded, smoothFunction(exact.Atanh, func(x float64) float64 { return 1 / (1 - float64(x*x)) })),
	unary("Cosh cosh", Tabled, unbounded, smoothFunction(exact.Cosh, exact.Sinh)),
	unary("Sinh sinh", Tabled, unbounded, smoothFunction(exact.Sinh, exact.Cosh)),
	unary("Tan tan", Tabled, unbounded, func(x *Array) *Array { return x.sin().div(x.cos()) }),
	unary("Erfc erfc", Tabled, smoothNoise(1.13), func(x *Array) *Array { return x.erf().neg().plus(1) }),
	unary("TanhShrink tanhshrink nn.Tanhshrink", Tabled, unbounded, func(x *Array) *Array { return x.sub(x.tanh()) }),
	unary("Frac frac", Exact, nil, func(x *Array) *Array {
		return x.mapKeepingErrors(elementLoop(func(v float64) float64 { return v - math.Trunc(v) }))
	}),
	{name: "BitwiseNot", class: Integral, inputs: "x", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		if c.types[0] == tensor.Bool {
			return c.input(0).mapSteps(func(v float64) float64 { return boolToFloat(v == 0) })
		}
		return c.input(0).mapSteps(func(v float64) float64 { return float64(^int64(v)) })
	}), forms: []nameGroup{newNameGroup("Invert BitwiseNot", ""), newNameGroup("bitwise_not __invert__", "")}},
	unary("IsNan isnan", Integral, nil, indicator(func(v float64) bool { return v != v })),
	unary("IsInf isinf", Integral, nil, indicator(func(v float64) bool { return math.IsInf(v, 0) })),
	unary("IsFinite isfinite", Integral, nil, indicator(func(v float64) bool { return v-v == 0 })),
	{name: "Logit", class: Tabled, noise: unbounded, inputs: "x", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		x := c.input(0)
		if eps := c.numberAttribute("epsilon"); eps >= 0 {
			x = x.atLeast(eps).atMost(1 - eps)
		}
		return x.div(x.neg().plus(1)).log()
	}), attrs: []attribute{defaultNumber("epsilon", -1)}, forms: []nameGroup{newNameGroup("logit", "eps:epsilon")}},
	{name: "HardShrink", class: Exact, inputs: "x", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		x, n := c.input(0), c.numberAttribute("lambd")
		return x.abs().compare(x.m.number(n), func(x, y float64) bool { return x <= y }).selectWhere(x.m.number(0), x)
	}), attrs: []attribute{realNumber("lambd", .5).withFit(fitRule{log: true})}, forms: []nameGroup{newNameGroup("HardShrink nn.Hardshrink", ""), newNameGroup("hardshrink", "lambd=0.5")}},
	{name: "SoftShrink", class: Exact, inputs: "x", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		x, n := c.input(0), c.numberAttribute("lambd")
		return x.plus(-n).atLeast(0).add(x.plus(n).atMost(0))
	}), attrs: []attribute{realNumber("lambd", .5).withFit(fitRule{log: true})}, forms: []nameGroup{newNameGroup("SoftShrink nn.Softshrink", ""), newNameGroup("softshrink", "lambd=0.5")}},
	{name: "ThresholdV2D", class: Exact, inputs: "x", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		x := c.input(0)
		return x.compare(c.number(c.numberAttribute("threshold")), func(x, y float64) bool { return x <= y }).selectWhere(c.number(c.numberAttribute("value")), x)
	}), attrs: []attribute{thresholdOfOutput}, forms: []nameGroup{newNameGroup("ThresholdV2D", ""), newNameGroup("nn.Threshold", "", &optype.Type{Noise: optype.NoiseLipschitz}), newNameGroup("ThresholdV2", "x threshold! value!?"), newNameGroup("threshold", "threshold value", &optype.Type{Noise: optype.NoiseLipschitz})}},
	{name: "NanToNum", class: Exact, inputs: "x", cut: elementwiseCut, compute: oneOutput(nanToNum), attrs: []attribute{optionalNumber("nan"), optionalNumber("posinf"), optionalNumber("neginf")}, forms: []nameGroup{newNameGroup("nan_to_num", "nan=0 posinf=inf neginf=-inf")}},

	binary("Atan2", Tabled, unbounded, func(y, x *Array) *Array {
		return y.mapPairs(x, func(v, y, x []float64) {
			for i := range v {
				v[i] = exact.Atan2(y[i], x[i])
			}
		}, func(e, v, y, ey, x, ex []float64, c *bounds) {
			for i, s := range v {
				e[i] = (ey[i]+ex[i])/max(math.Abs(x[i])+math.Abs(y[i])-ex[i]-ey[i], tiny) + float64(c.tf*math.Abs(s)) + 2*c.u
			}
		})
	}).withNames("atan2 arctan2", "other:x2!"),
	unary("Sinc sinc", Tabled, unbounded, func(x *Array) *Array {
		turns := x.times(math.Pi)
		return x.compare(x.m.number(0), func(x, y float64) bool { return x == y }).selectWhere(x.m.number(1), turns.sin().div(turns))
	}),
	binary("LogAddExp logaddexp", Tabled, unbounded, func(x, y *Array) *Array { return x.max(y).add(softplus(x.sub(y).abs().neg())) }),
	binary("LogAddExp2 logaddexp2", Tabled, unbounded, func(x, y *Array) *Array {
		return x.max(y).add(softplus(x.sub(y).abs().times(-math.Ln2)).times(1 / math.Ln2))
	}),
	{name: "IsClose", class: Integral, inputs: "x1 x2", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		limit := c.input(1).abs().times(c.numberAttribute("rtol")).plus(c.numberAttribute("atol"))
		return c.input(0).sub(c.input(1)).abs().compare(limit, func(x, y float64) bool { return x <= y })
	}), attrs: []attribute{defaultNumber("rtol", 1e-5), defaultNumber("atol", 1e-8)}, forms: []nameGroup{newNameGroup("isclose", "other:x2! rtol=1e-5 atol=1e-8 equal_nan:-==0")}},
	binary("Hypot", Divided, unbounded, func(x, y *Array) *Array { return square(x).add(square(y)).sqrt().allowDroppedNaN() }).withNames("hypot", "other:x2!"),
	binary("CopySign", Exact, nil, func(x, y *Array) *Array { return x.mapPairsExactly(y, math.Copysign) }).withNames("copysign", "other:x2"),
	binary("Fmax", Exact, nil, func(x, y *Array) *Array { return x.mapPairsExactly(y, preferNumber(larger)) }).withNames("fmax", "other:x2!"),
	binary("Fmin", Exact, nil, func(x, y *Array) *Array { return x.mapPairsExactly(y, preferNumber(smaller)) }).withNames("fmin", "other:x2!"),
	binary("Xlogy xlogy", Tabled, unbounded, func(x, y *Array) *Array {
		return x.compare(y, func(x, y float64) bool { return x == 0 && y == y }).selectWhere(x.m.number(0), x.mul(y.log()))
	}),
	binary("Heaviside", Exact, nil, func(x, y *Array) *Array {
		return x.mapPairsExactly(y, func(x, y float64) float64 {
			if x == 0 {
				return y
			}
			return max(0, sign(x))
		}).allowDroppedNaN()
	}).withNames("heaviside", "values:x2!"),
	binary("FloorMod remainder __mod__ __imod__", Plain, unbounded, func(x, y *Array) *Array { return x.modulo(y, math.Floor) }).withNames("__rmod__", "input:x2 other:x1"),
	binary("Mod fmod", Plain, unbounded, func(x, y *Array) *Array { return x.modulo(y, math.Trunc) }),
	binary("FloorDiv floor_divide __floordiv__ __ifloordiv__", Plain, unbounded, func(x, y *Array) *Array { return x.quotient(y, math.Floor) }).withNames("__rfloordiv__", "input:x2 other:x1").withNames("div divide", "input:x1 other:x2 rounding_mode:-==floor"),
	binary("TruncateDiv", Plain, unbounded, func(x, y *Array) *Array { return x.quotient(y, math.Trunc) }).withNames("div divide", "input:x1 other:x2 rounding_mode:-==trunc"),
	bitwiseRow("LeftShift __lshift__ __ilshift__ bitwise_left_shift", func(x, y int64) int64 { return x << min(uint64(y), 63) }),
	bitwiseRow("RightShift __rshift__ __irshift__ bitwise_right_shift", func(x, y int64) int64 { return x >> min(uint64(y), 63) }),
	comparisonRow("LogicalXor", func(x, y float64) bool { return (x != 0) != (y != 0) }).withNames("logical_xor", "other:x2!"),
	// The file name does not contain the number that the call adds: it is fitted.
	{name: "Addcmul", class: Plain, noise: unbounded, inputs: "x x1 x2", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		return c.input(0).add(c.input(1).mul(c.input(2)).times(c.numberAttribute("value")))
	}),
		attrs: []attribute{realNumber("value", 1)}, forms: []nameGroup{newNameGroup("Addcmul", "x x1 x2 value!"), newNameGroup("addcmul", "tensor1:x1! tensor2:x2! value=1"), newNameGroup("addcmul", "input:x! tensor1:x1! tensor2:x2! value")}},
	{name: "Addcdiv", class: Divided, noise: quotients, inputs: "x x1 x2", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		return c.input(0).add(c.input(1).times(c.numberAttribute("value")).div(c.input(2)))
	}),
		attrs: []attribute{realNumber("value", 1)}, forms: []nameGroup{newNameGroup("Addcdiv", "x x1 x2 value!"), newNameGroup("addcdiv", "tensor1:x1! tensor2:x2! value=1"), newNameGroup("addcdiv", "input:x! tensor1:x1! tensor2:x2! value")}},
	{name: "Lerp", class: Plain, noise: unbounded, inputs: "start end weight", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		start, end, w := c.input(0), c.input(1), c.input(2)
		return start.add(w.mul(end.sub(start))).withTermRoundings(start, end).allowDroppedNaN()
	}), forms: []nameGroup{newNameGroup("Lerp", "", &optype.Type{Noise: optype.NoiseLipschitz}), newNameGroup("lerp", "end! weight", &optype.Type{Noise: optype.NoiseLipschitz})}},
}

// thresholdOfOutput is the largest element that the output replaces, and the replacement.
var thresholdOfOutput = closedAttribute("threshold value", func(p *problem) []Attributes {
	n, threshold, value := p.Outputs[0].elements(), math.Inf(-1), 0.0
	if n != p.Inputs[0].elements() {
		return nil
	}
	x, y := p.cached(p.Inputs[0]), p.cached(p.Outputs[0])
	for first := int64(0); first < n; first += cellElements {
		in, err := x.readRun(first, min(cellElements, n-first))
		if err != nil {
			return nil
		}
		out, err := y.readRun(first, int64(len(in)))
		if err != nil {
			return nil
		}
		for i, v := range in {
			if out[i] != v && v > threshold {
				threshold, value = v, out[i]
			}
		}
	}
	return []Attributes{{"threshold": {Number(threshold), FromValues}, "value": {Number(value), FromValues}}}
})

// smoothFunction returns the computation of a function f. Errors of the argument are multiplied by its derivative, slope.
func smoothFunction(f, slope func(x float64) float64) func(x *Array) *Array {
	return func(x *Array) *Array {
		return x.mapElements(elementLoop(f), func(e, v, x, ex []float64, c *bounds) {
			for i, s := range v {
				e[i] = float64(c.tf*math.Abs(s)) + 2*c.u
				if ex[i] != 0 {
					e[i] += float64(math.Abs(slope(x[i])) * ex[i])
				}
			}
		})
	}
}

// indicator returns 1 for elements with a property, 0 for others.
func indicator(has func(v float64) bool) func(x *Array) *Array {
	return func(x *Array) *Array { return x.mapSteps(func(v float64) float64 { return boolToFloat(has(v)) }) }
}

// preferNumber returns the preferred one of two numbers. A number takes precedence over NaN.
func preferNumber(by preference) func(x, y float64) float64 {
	return func(x, y float64) float64 {
		switch {
		case x != x:
			return y
		case y != y:
			return x
		}
		return by.choose(x, y)
	}
}

// withTermRoundings widens the bounds by one rounding of each of some terms, because kernels add these terms in
// different orders.
func (x *Array) withTermRoundings(terms ...*Array) *Array {
	for _, t := range terms {
		x = x.mapPairs(t, func(v, x, _ []float64) { copy(v, x) }, func(e, _, _, ex, t, et []float64, c *bounds) {
			for i, s := range t {
				e[i] = ex[i] + float64(single*(math.Abs(s)+et[i]))
			}
		})
	}
	return x
}

// isNearInteger reports whether rounding the quotient x/y may give a neighbouring integer, for operands with errors ex and
// ey and a quotient with a few rounding errors. The quotient of an infinite y is 0 or a tiny number below 0.
func isNearInteger(x, y, ex, ey float64, c *bounds) bool {
	const roundings = 4
	q := x / y
	off := float64(roundings*c.u*math.Abs(q)) + (ex+float64(math.Abs(q)*ey))/max(math.Abs(y)-ey, tiny)
	return off > 0 && math.Abs(q-math.RoundToEven(q)) <= off || math.IsInf(y, 0)
}

// modulo returns the remainder of x after division by y with a rounded quotient. If the quotient is close to an
// integer, the remainder may be off by y.
func (x *Array) modulo(y *Array, round func(float64) float64) *Array {
	x.quotient(y, round) // kernels compute it too, and it may overflow
	return x.mapPairs(y, func(v, x, y []float64) {
		for i, s := range x {
			v[i] = math.Mod(s, y[i])
			if v[i] != 0 && round(-.5) < 0 && (v[i] < 0) != (y[i] < 0) {
				v[i] += y[i]
			}
		}
	}, func(e, _, x, ex, y, ey []float64, c *bounds) {
		for i, s := range x {
			e[i] = ex[i] + float64(math.Abs(s/y[i])*ey[i]) + float64(2*c.u*math.Abs(s))
			if isNearInteger(s, y[i], ex[i], ey[i], c) {
				e[i] += math.Abs(y[i])
			}
		}
	})
}

// quotient returns the rounded quotient, which is exact for integers.
func (x *Array) quotient(y *Array, round func(float64) float64) *Array {
	return x.mapPairs(y, func(v, x, y []float64) {
		for i, s := range x {
			v[i] = round(s / y[i])
		}
	}, func(e, v, x, ex, y, ey []float64, c *bounds) {
		for i, s := range x {
			e[i] = float64(c.u * math.Abs(v[i]))
			if isNearInteger(s, y[i], ex[i], ey[i], c) {
				e[i]++
			}
		}
	}).trackMagnitudes()
}

// nanToNum replaces NaN and infinities. Infinite replacements become the largest number of the type. An element
// without a known replacement stays unchanged and is not judged.
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
	return c.input(0).mapSteps(func(v float64) float64 {
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
