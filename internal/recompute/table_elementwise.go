package recompute

import (
	"math"
	"slices"

	"dumptool/internal/exact"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// elementwiseOperators compute each element of the output from the elements at its place.
var elementwiseOperators = []formula{
	unary("Relu ReluD ReluV2 relu nn.ReLU", Exact, selection, relu).idempotent(),
	unary("Relu6 Relu6D relu6 nn.ReLU6", Exact, nil, relu6).idempotent(),
	unary("Abs abs absolute __abs__", Exact, nil, (*Array).abs).idempotent(),
	unary("Neg Negative neg negative __neg__", Exact, nil, (*Array).neg),
	unary("Square square", Plain, powers, square),
	unary("Sqrt sqrt", Divided, roots, (*Array).sqrt),
	unary("Rsqrt rsqrt", Divided, roots, (*Array).rsqrt),
	unary("Reciprocal Inv reciprocal", Divided, roots, (*Array).reciprocal),
	unary("Expm1 expm1", Tabled, exponents, func(x *Array) *Array { return x.exp().plus(-1) }),
	unary("Log1p log1p", Tabled, logarithms, func(x *Array) *Array { return x.plus(1).log() }),
	unary("Sin sin", Tabled, smoothNoise(1), (*Array).sin),
	unary("Cos cos", Tabled, smoothNoise(1), (*Array).cos),
	unary("Tanh tanh nn.Tanh", Tabled, smoothNoise(1), (*Array).tanh),
	unary("Erf erf", Tabled, smoothNoise(1.13), (*Array).erf),
	unary("Sigmoid sigmoid nn.Sigmoid", Tabled, smoothNoise(1), sigmoid),
	unary("LogSigmoid logsigmoid nn.LogSigmoid", Tabled, smoothNoise(1), func(x *Array) *Array { return softplus(x.neg()).neg() }),
	unary("Softsign softsign nn.Softsign", Divided, smoothNoise(1), func(x *Array) *Array { return x.div(x.abs().plus(1)) }),
	unary("Selu selu nn.SELU", Tabled, smoothNoise(1.76), func(x *Array) *Array { return elu(x, 1.6732632423543772).times(1.0507009873554805) }),
	unary("Mish mish npu_mish nn.Mish", Tabled, smoothNoise(1.1), mish),
	unary("HardSwish HSwish hardswish nn.Hardswish", Plain, smoothNoise(1.5), hardSwish),
	unary("FastGelu QuickGelu npu_fast_gelu fast_gelu", Tabled, smoothNoise(1.13), fastGelu),
	unary("FastGeluV2", Plain, smoothNoise(1.13), fastGeluV2),
	unary("SignBit signbit", Integral, nil, indicator(math.Signbit)),
	unary("Sign sign sgn", Integral, nil, func(x *Array) *Array { return x.mapSteps(sign).allowDroppedNaN() }).idempotent(),
	unary("LogicalNot logical_not", Integral, nil, func(x *Array) *Array { return x.mapSteps(func(v float64) float64 { return boolToFloat(v == 0) }) }),
	roundingRow("Floor floor", math.Floor), roundingRow("Ceil ceil", math.Ceil), roundingRow("Rint Round round", math.RoundToEven).withNames("round", "decimals:-==0"), roundingRow("Trunc trunc fix", math.Trunc),

	unaryWithNumber("Muls", Plain, multiplication, (*Array).times, realNumber("value", 1)).withNames("deg2rad", ":value=0.017453292519943295").withNames("rad2deg", ":value=57.29577951308232").
		withNames("mul multiply __mul__ __rmul__ __imul__", "").
		withNames("div divide true_divide __truediv__ __itruediv__ __div__", "", division), // a factor that was not dumped
	unaryWithNumber("Adds", Plain, lipschitz, (*Array).plus, realNumber("value", 0)).withNames("add sub __add__ __radd__ __iadd__ __sub__ __isub__", "", addition),
	unaryWithNumber("Swish Silu", Tabled, smoothNoise(1.1), swish, realNumber("scale", 1)).withNames("silu npu_silu nn.SiLU ms.SiLU module.SiLUActivation", ":scale=1").withNames("module.QuickGELUActivation", ":scale=1.702"),
	{name: "Elu", class: Tabled, noise: smoothNoise(1), inputs: "x", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		x, scale := c.input(0), c.numberAttribute("scale")
		return zeroNegatives(x).selectWhere(x.times(scale), x.atMost(0).times(c.numberAttribute("input_scale")).exp().plus(-1).times(float64(c.numberAttribute("alpha")*scale)))
	}), attrs: []attribute{realNumber("alpha", 1), defaultNumber("scale", 1), defaultNumber("input_scale", 1)}, forms: []nameGroup{newNameGroup("Elu nn.ELU", ""), newNameGroup("elu", "alpha=1 scale=1 input_scale=1"), newNameGroup("ms.elu", "input_x:x! alpha=1")}},
	unaryWithNumber("CeluV2 nn.CELU", Tabled, smoothNoise(1), func(x *Array, alpha float64) *Array {
		return zeroNegatives(x).selectWhere(x, elu(x.times(1/alpha), alpha))
	}, realNumber("alpha", 1)).withNames("celu", "alpha=1", smoothNoise(1)),
	unaryWithNumber("LeakyRelu LeakyReluD nn.LeakyReLU", Plain, selection, leakyRelu, realNumber("negative_slope", .01, .1, .2, .3, .05, 0)).
		withNames("leaky_relu", "negative_slope=0.01").withNames("ms.leaky_relu", "alpha:negative_slope=0.2"),
	{name: "Exp", class: Tabled, noise: exponents, inputs: "x", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		return c.input(0).times(c.numberAttribute("scale")).plus(c.numberAttribute("shift")).times(logOfBase(c.numberAttribute("base"))).exp()
	}), attrs: []attribute{baseOf(0, -1, 2, 10), defaultNumber("scale", 1), defaultNumber("shift", 0)}, forms: []nameGroup{newNameGroup("Exp", ""), newNameGroup("exp", ":base=-1"), newNameGroup("exp2", ":base=2")}},
	{name: "Log", class: Tabled, noise: logarithms, inputs: "x", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		return c.input(0).times(c.numberAttribute("scale")).plus(c.numberAttribute("shift")).log().times(1 / logOfBase(c.numberAttribute("base")))
	}), attrs: []attribute{baseOf(math.E, -1, 2, 10), defaultNumber("scale", 1), defaultNumber("shift", 0)}, forms: []nameGroup{newNameGroup("Log", ""), newNameGroup("log", ":base=-1"), newNameGroup("log2", ":base=2"), newNameGroup("log10", ":base=10")}},
	{name: "Softplus", class: Tabled, noise: smoothNoise(1), inputs: "x", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		x, beta := c.input(0), c.numberAttribute("beta")
		scaled, threshold := x.times(beta), c.numberAttribute("threshold")
		return scaled.compare(scaled.m.number(threshold), func(x, y float64) bool { return x > y }).selectWhere(x, softplus(scaled).times(1/beta))
	}), attrs: []attribute{realNumber("beta", 1), defaultNumber("threshold", 20)}, forms: []nameGroup{newNameGroup("Softplus", ":beta=1 :threshold=20"), newNameGroup("SoftplusV2 nn.Softplus", ""), newNameGroup("softplus", "beta=1 threshold=20")}},
	{name: "Gelu", class: Tabled, noise: smoothNoise(1.13), inputs: "x", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array { return gelu(c.input(0), c.textAttribute("approximate")) }),
		attrs: []attribute{textAttribute("approximate", "tanh none")}, forms: []nameGroup{newNameGroup("Gelu GeluV2 nn.GELU module.*GELUActivation module.*GELUTanh", ""), newNameGroup("gelu npu_gelu ms.gelu", "approximate=none")}},
	{name: "HardSigmoid", class: Plain, noise: smoothNoise(1), inputs: "x", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		return c.input(0).times(c.numberAttribute("alpha")).plus(c.numberAttribute("beta")).atLeast(0).atMost(1)
	}), attrs: []attribute{realNumber("alpha", 1.0/6, .2), realNumber("beta", .5)}, forms: []nameGroup{newNameGroup("HardSigmoid HSigmoid", ""), newNameGroup("hardsigmoid nn.Hardsigmoid", ":alpha=0.16666666666666666 :beta=0.5")}},
	{name: "PRelu", class: Plain, noise: weightedSelection, inputs: "x weight", cut: fixedLineCut(1), compute: binaryFormula(func(x, w *Array) *Array {
		return zeroNegatives(x).selectWhere(x, x.mul(alignChannels(x, w)))
	}), isOfImages: true, forms: []nameGroup{newNameGroup("PRelu", ""), newNameGroup("prelu nn.PReLU", "weight!")}},
	{name: "Power", class: Tabled, noise: powers, inputs: "x", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		return c.input(0).times(c.numberAttribute("scale")).plus(c.numberAttribute("shift")).pow(c.number(c.numberAttribute("power")))
	}), attrs: []attribute{realNumber("power", 1, 2, .5, 3, -1, -.5), defaultNumber("scale", 1), defaultNumber("shift", 0)}, forms: []nameGroup{newNameGroup("Power", ""), newNameGroup("pow __pow__ __ipow__", "")}},
	{name: "ClipByValue", class: Exact, inputs: "x low high", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array { return c.input(0).max(c.input(1)).min(c.input(2)) }), isIdempotent: true,
		forms: []nameGroup{newNameGroup("ClipByValue ClipByValueD", ""), newNameGroup("hardtanh", "min_val:low=-1 max_val:high=1"), newNameGroup("clamp clip", "min:low=-inf max:high=inf")}},
	{name: "Cast", class: Converted, inputs: "x", cut: elementwiseCut, compute: oneOutput(convert), attrs: []attribute{textAttribute("mode", "rint trunc floor ceil round")}, forms: []nameGroup{newNameGroup("Cast", ""), newNameGroup("_to_copy", ":mode=trunc"), newNameGroup("to type type_as half float double bfloat16 int long bool byte char short npu_dtype_cast", "dtype*:- :mode=trunc"), newNameGroup("ms.cast", "dtype:- :mode=trunc")}},

	unaryWithNumber("RoundTo", Plain, quantisation, func(x *Array, decimals float64) *Array {
		scale := exact.Pow(10, math.Abs(decimals))
		if decimals < 0 {
			return x.times(1 / scale).roundedToIntegers().times(scale)
		}
		return x.times(scale).roundedToIntegers().times(1 / scale)
	}, defaultNumber("decimals", 0)).withNames("round", "decimals"),
	binary("Add AddV2", Exact, addition, (*Array).add).withNames("add __add__ __radd__ __iadd__", "other:x2 alpha:-==1"),
	{name: "FusedMulAdd", class: Plain, inputs: "x1 x2 x3", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array { return c.input(0).mul(c.input(1)).add(c.input(2)) }), forms: []nameGroup{
		newNameGroup("FusedMulAdd", ""), newNameGroup("FusedMulAddN", "x1 x3 x2"), // x1 times the number x3, plus x2
		newNameGroup("addcmul", "input:x3 tensor1:x1! tensor2:x2! value:-==1", &optype.Type{Noise: optype.NoiseLipschitz})}},
	{name: "Axpy", class: Plain, noise: unbounded, inputs: "x1 x2", cut: elementwiseCut, hasSteps: true, compute: oneOutput(func(c *call) *Array {
		return c.input(0).add(c.input(1).times(c.numberAttribute("alpha")).roundBetweenSteps())
	}), attrs: []attribute{realNumber("alpha", 1)},
		forms: []nameGroup{newNameGroup("Axpy", ""), newNameGroup("AxpyV2", "x1 x2 alpha!"), newNameGroup("add", "input:x1! other:x2 alpha")}},
	binary("Sub SubV2", Exact, addition, (*Array).sub).withNames("sub subtract __sub__ __isub__", "other:x2 alpha:-==1").
		withNames("__rsub__", "input:x2 other:x1").withNames("rsub", "input:x2 other:x1 alpha:-==1"),
	{name: "SubScaled", class: Plain, noise: unbounded, inputs: "x1 x2", cut: elementwiseCut, hasSteps: true, compute: oneOutput(func(c *call) *Array {
		return c.input(0).sub(c.input(1).times(c.numberAttribute("alpha")).roundBetweenSteps())
	}), attrs: []attribute{realNumber("alpha", 1)},
		forms: []nameGroup{newNameGroup("sub subtract", "input:x1 other:x2 alpha"), newNameGroup("rsub", "input:x2 other:x1 alpha")}},
	binary("Mul Multiply mul multiply __mul__ __rmul__ __imul__", Plain, multiplication, (*Array).mul),
	binary("RealDiv Div div divide true_divide __truediv__ __itruediv__ __div__", Divided, nil, (*Array).div).withNames("__rtruediv__ __rdiv__", "input:x2 other:x1"),
	binary("Maximum maximum", Exact, nil, (*Array).max).withNames("max", "other:x2!", extremeValues).withNames("clamp_min", "min:x2"),
	binary("Minimum minimum", Exact, nil, (*Array).min).withNames("min", "other:x2!", extremeValues).withNames("clamp_max", "max:x2"),
	{name: "Clip", class: Exact, inputs: "x", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		return c.input(0).atLeast(c.numberAttribute("low")).atMost(c.numberAttribute("high"))
	}),
		attrs: []attribute{outputRange}, isIdempotent: true, forms: []nameGroup{newNameGroup("nn.Hardtanh clamp clip clamp_min clamp_max hardtanh", "")}}, // bounds that were not dumped
	binary("SquaredDifference", Plain, nil, func(x, y *Array) *Array { return square(x.sub(y)) }),
	binary("Pow", Tabled, powers, (*Array).pow).withNames("pow __pow__ __ipow__ float_power", "exponent:x2").withNames("__rpow__", "input:x2 other:x1", quotients),
	comparisonRow("Greater gt greater __gt__", func(x, y float64) bool { return x > y }),
	comparisonRow("GreaterEqual ge greater_equal __ge__", func(x, y float64) bool { return x >= y }),
	comparisonRow("Less lt less __lt__", func(x, y float64) bool { return x < y }),
	comparisonRow("LessEqual le less_equal __le__", func(x, y float64) bool { return x <= y }),
	comparisonRow("Equal eq __eq__", func(x, y float64) bool { return x == y }),
	comparisonRow("NotEqual ne not_equal __ne__", func(x, y float64) bool { return x != y }),
	comparisonRow("LogicalAnd logical_and", func(x, y float64) bool { return x != 0 && y != 0 }),
	comparisonRow("LogicalOr logical_or", func(x, y float64) bool { return x != 0 || y != 0 }),
	bitwiseRow("BitwiseAnd bitwise_and __and__ __iand__ __rand__", func(x, y int64) int64 { return x & y }),
	bitwiseRow("BitwiseOr bitwise_or __or__ __ior__ __ror__", func(x, y int64) int64 { return x | y }),
	bitwiseRow("BitwiseXor bitwise_xor __xor__ __ixor__ __rxor__", func(x, y int64) int64 { return x ^ y }),
	{name: "AddN", class: Plain, noise: lipschitz, inputs: "x*", cut: elementwiseCut, compute: oneOutput(combineInputs((*Array).add)), forms: []nameGroup{newNameGroup("AddN AccumulateNV2", "")}},
	{name: "Eltwise", class: Plain, inputs: "x*", cut: elementwiseCut, compute: oneOutput(eltwise), read: readCoefficients,
		attrs: []attribute{oneOf("mode", Number(1), Number(0), Number(2)), coefficients}, forms: []nameGroup{newNameGroup("Eltwise", "")}},
	{name: "BiasAdd", class: Exact, inputs: "x bias", cut: biasCut, compute: binaryFormula((*Array).add),
		attrs: []attribute{axisChoice(func(p *problem, k int) bool { return p.Inputs[0].Shape[k] == p.Inputs[1].elements() })}, forms: []nameGroup{newNameGroup("BiasAdd", "")}},
	{name: "SelectV2", class: Exact, inputs: "mask x1 x2", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array { return c.input(0).selectWhere(c.input(1), c.input(2)) }),
		forms: []nameGroup{newNameGroup("Select SelectV2", ""), newNameGroup("Tensor.where", "input:x1 condition:mask! other:x2"), newNameGroup("where", "condition:mask! input:x1 other:x2")}},
	{name: "MaskedFill", class: Exact, noise: selection, inputs: "x mask value", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array { return c.input(1).selectWhere(c.input(2), c.input(0)) }),
		forms: []nameGroup{newNameGroup("MaskedFill MaskedFillD", ""), newNameGroup("masked_fill", "mask! value")}},
	{name: "MaskedFillOne", class: Exact, noise: selection, inputs: "x mask", cut: elementwiseCut, compute: oneOutput(func(c *call) *Array {
		return c.input(1).selectWhere(c.number(c.numberAttribute("value")), c.input(0))
	}), attrs: []attribute{valueOfMasked}, forms: []nameGroup{newNameGroup("masked_fill", "mask!")}}, // a value that was not dumped

	{name: "ReluGrad", class: Exact, noise: gates, inputs: "dy x", cut: elementwiseCut, compute: binaryFormula(func(dy, x *Array) *Array { return zeroNegatives(x).selectWhere(dy, dy.m.number(0)) }),
		forms: []nameGroup{newNameGroup("ReluGrad ReluGradV2", ""), newNameGroup("threshold_backward", "grad_output:dy! self:x! threshold:-==0")}},
	{name: "SigmoidGrad", class: Plain, inputs: "y dy", cut: elementwiseCut, compute: binaryFormula(func(y, dy *Array) *Array { return dy.mul(y).mul(y.neg().plus(1)) }), forms: []nameGroup{newNameGroup("SigmoidGrad", ""), newNameGroup("sigmoid_backward", "grad_output:dy! output:y!")}},
	{name: "TanhGrad", class: Plain, inputs: "y dy", cut: elementwiseCut, compute: binaryFormula(func(y, dy *Array) *Array { return dy.mul(square(y).neg().plus(1)) }), forms: []nameGroup{newNameGroup("TanhGrad", ""), newNameGroup("tanh_backward", "grad_output:dy! output:y!")}},
	{name: "Apply", class: Plain, inputs: "x*", overwritesInput: true, cut: uncut, compute: func(*call) []*Array { return nil }, forms: []nameGroup{
		newNameGroup("AssignAdd AssignSub", ""), newNameGroup("ScatterUpdate ScatterNdUpdate", "", scattering)}},

	noiseRow(addition, "iadd isub"),
	noiseRow(&optype.Type{Noise: optype.NoiseFunction}, "quick_gelu"),
	noiseRow(division, "DivNoNan"),
	noiseRow(&optype.Type{Noise: optype.NoiseProduct}, "mul_scalar"),
	noiseRow(quantisation, "Quantize"),
	noiseRow(dequantisation, "Dequantize"),
	noiseRow(gates, "leaky_relu_backward"),
}

// outputRange is the range of the elements of the output: the bounds of a clip, if it clips at both.
var outputRange = closedAttribute("low high", func(p *problem) []Attributes {
	low, high := math.Inf(1), math.Inf(-1)
	err := p.Outputs[0].eachBlock(p.Outputs[0].elements(), func(values []float64) {
		for _, v := range values {
			if v == v {
				low, high = min(low, v), max(high, v)
			}
		}
	})
	if err != nil {
		return nil
	}
	return []Attributes{{"low": {Number(low), FromValues}, "high": {Number(high), FromValues}}}
})

// valueOfMasked is an element of the output where the mask, the second input, is set.
var valueOfMasked = closedAttribute("value", func(p *problem) []Attributes {
	mask, out := p.Inputs[1], p.Outputs[0].Shape
	at, n := int64(-1), int64(0)
	err := mask.eachBlock(mask.elements(), func(values []float64) {
		if i := slices.IndexFunc(values, func(v float64) bool { return v != 0 }); i >= 0 && at < 0 {
			at = n + int64(i)
		}
		n += int64(len(values))
	})
	if s, ok := broadcast(mask.Shape, out); err != nil || !ok || !s.Equal(out) {
		return nil
	}
	place := int64(0)
	if at >= 0 {
		strides := out.Strides()[len(out)-len(mask.Shape):]
		for k, i := range mask.Shape.Coordinates(at) {
			place += i * strides[k]
		}
	}
	y, err := p.cached(p.Outputs[0]).readRun(place, min(1, p.Outputs[0].elements()))
	if err != nil || len(y) == 0 {
		return nil
	}
	return []Attributes{{"value": {Number(y[0]), FromValues}}}
})

func relu(x *Array) *Array   { return x.atLeast(0) }
func relu6(x *Array) *Array  { return x.atLeast(0).atMost(6) }
func square(x *Array) *Array { return x.mul(x) }

func sigmoid(x *Array) *Array {
	y := x.m.number(1).div(x.neg().exp().plus(1)).capErrors(1)
	for i := range y.narrow { // below x = -88.7 exp(-x) overflows float32, and y may be 0
		y.narrow[i], y.wide[i] = y.narrow[i]+0x1p-127, y.wide[i]+0x1p-127
	}
	return y
}

func softplus(x *Array) *Array {
	return x.atLeast(0).add(x.abs().neg().exp().plus(1).log())
}
func swish(x *Array, scale float64) *Array { return x.mul(sigmoid(x.times(scale))) }
func mish(x *Array) *Array                 { return x.mul(softplus(x).tanh()) }
func hardSwish(x *Array) *Array            { return x.mul(relu6(x.plus(3)).times(1.0 / 6)) }
func fastGelu(x *Array) *Array             { return x.mul(sigmoid(x.times(1.702))) }

// fastGeluV2 approximates erf by two parabolas.
func fastGeluV2(x *Array) *Array {
	distance := x.times(.7071).abs().atMost(1.769).plus(-1.769)
	bow := square(distance).times(-.1444).plus(.5)
	return x.mul(zeroNegatives(x).selectWhere(bow, bow.neg()).plus(.5))
}

func zeroNegatives(x *Array) *Array {
	return x.compare(x.m.number(0), func(x, y float64) bool { return x > y })
}

func leakyRelu(x *Array, slope float64) *Array {
	return zeroNegatives(x).selectWhere(x, x.times(slope))
}
func elu(x *Array, alpha float64) *Array {
	return zeroNegatives(x).selectWhere(x, x.atMost(0).exp().plus(-1).times(alpha))
}

// gelu computes erf by tanh in the form tanh, exactly in the form none.
func gelu(x *Array, form string) *Array {
	if form == "tanh" {
		inner := x.add(x.mul(x).mul(x).times(.044715)).times(.7978845608028654)
		return x.times(.5).mul(inner.tanh().plus(1))
	}
	return x.times(.5).mul(x.times(math.Sqrt2 / 2).erf().plus(1))
}

func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return v
}

func comparisonRow(names string, holds func(x, y float64) bool) formula {
	return binary(names, Integral, nil, func(x, y *Array) *Array { return x.compare(y, holds) })
}

// bitwiseRow returns the row of an operation on the bits of integers in two's complement, and of truth values.
func bitwiseRow(names string, f func(x, y int64) int64) formula {
	return binary(names, Integral, nil, func(x, y *Array) *Array {
		return x.mapPairsExactly(y, func(x, y float64) float64 { return float64(f(int64(x), int64(y))) })
	})
}

func roundingRow(names string, f func(float64) float64) formula {
	return unary(names, Integral, nil, func(x *Array) *Array { return x.mapSteps(f) }).idempotent()
}

// eltwise combines all inputs: mode 0 is the product, 1 the weighted sum, 2 the maximum.
func eltwise(c *call) *Array {
	ways := []func(x, y *Array) *Array{(*Array).mul, (*Array).add, (*Array).max}
	if k := c.attrs["coeff"].Value.Numbers; len(k) == len(c.inputs) && c.numberAttribute("mode") == 1 {
		for i, x := range c.inputs {
			c.inputs[i] = x.times(k[i])
		}
	}
	if mode := int(c.numberAttribute("mode")); mode >= 0 && mode < len(ways) {
		return combineInputs(ways[mode])(c)
	}
	return c.fail("mode %v, want 0, 1 or 2", c.numberAttribute("mode"))
}

// coefficients are the weights of a sum, ones by default.
var coefficients = closedAttribute("coeff", func(*problem) []Attributes {
	return []Attributes{{}} // all are 1
}).withKind(fixedKind)

// readCoefficients drops an empty list, which means that all are 1.
func readCoefficients(_ *problem, raw Attributes) Attributes {
	if v := raw["coeff"].Value; v.List && len(v.Numbers) == 0 {
		raw = raw.merge(nil)
		delete(raw, "coeff")
	}
	return raw
}

// roundings are the ways to round a number to an integer.
var roundings = map[string]func(float64) float64{"rint": math.RoundToEven, "trunc": math.Trunc, "floor": math.Floor, "ceil": math.Ceil, "round": roundHalfAway}

// roundHalfAway rounds to the nearest integer, halves away from zero.
func roundHalfAway(x float64) float64 { return math.Trunc(x + math.Copysign(.5, x)) }

// roundedToIntegers rounds to the nearest integer, halves to even. Elements near a half may become either neighbour.
func (x *Array) roundedToIntegers() *Array {
	return x.mapElements(elementLoop(math.RoundToEven), func(e, _, x, ex []float64, c *bounds) {
		for i, v := range x {
			e[i] = boolToFloat(math.RoundToEven(v-ex[i]) != math.RoundToEven(v+ex[i]))
		}
	})
}

// convert converts to the type of the output.
func convert(c *call) *Array {
	d := c.dtypes[0]
	x := c.input(0)
	if isFloat(d) || d == tensor.Bool {
		return x
	}
	if t := c.types[0].Host(); t.Integer() {
		return x // beyond the range the tally accepts wrapped and saturated integers
	}
	low, high := integerRange(d)
	f := roundings[c.textAttribute("mode")]
	if f == nil {
		return c.fail("rounding %q", c.textAttribute("mode"))
	}
	z := x.mapSteps(func(v float64) float64 { return min(max(f(v), low), high) })
	for i, v := range x.v { // beyond the range some kernels return the smallest integer
		if !(v > low-1 && v < high+1) && len(c.got) > 0 && len(c.got[0].v) == len(z.v) && c.got[0].v[i] == low {
			z.v[i] = low
		}
	}
	return z
}

// integerRange returns the smallest and the largest number of an integer type.
func integerRange(d tensor.DType) (low, high float64) {
	bits := d.Bits()
	if !d.Host().IsSigned() {
		return 0, math.Ldexp(1, bits) - 1
	}
	return -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1) - 1
}

// combineInputs combines all inputs by a function, from the first to the last.
func combineInputs(f func(x, y *Array) *Array) func(c *call) *Array {
	return func(c *call) *Array {
		x := c.input(0)
		for k := 1; k < len(c.inputs); k++ {
			if c.hasInput(k) {
				x = f(x, c.input(k))
			}
		}
		return x
	}
}

// logOfBase returns the natural logarithm of a base; -1 stands for e.
func logOfBase(base float64) float64 {
	if base == -1 {
		return 1
	}
	return exact.Log(base)
}
