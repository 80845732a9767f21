package recompute

import (
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Class says how the output of a formula is judged.
type Class uint8

// The classes.
const (
	Move      Class = iota // copies
	Exact                  // one rounding
	Plain                  // few roundings
	Divided                // roots and quotients
	Tabled                 // tables of functions
	Norm                   // rows to a spread of 1
	Reduced                // sums and means
	Linear                 // matrix products and convolutions
	Converted              // another element type
	Integral               // integers and flags
	Quantised              // rounded numbers times a scale
)

var classNames = [...]string{"move", "exact", "plain", "divide", "table", "norm", "reduce", "linear", "cast", "integer", "quantise"}

// String is the name of the class.
func (c Class) String() string { return classNames[c] }

// formula is a row of the table: what an operator computes.
type formula struct {
	// name is that of the operator of CANN with this formula.
	name  string
	class Class
	// inputs are the names of the inputs in their order; those with ? may be absent, one with
	// * stands for all that follow.
	inputs string
	// cut says what the formula may be cut into.
	cut cutter
	// compute returns the outputs of a cell.
	compute func(c *call) []*Array
	// linear is the product of matrices of a formula that is one, in place of compute; cut says
	// then what pieces there are.
	linear func(p *problem, h Attributes) (*linear, lang.Sentence)
	// attrs are what it depends on, and what they may be where nobody says it.
	attrs []attribute
	// read makes attributes of the formula of those that have other names, or another form, in
	// graphs and calls.
	read func(p *problem, raw Attributes) Attributes
	// open is set where more is possible than the attributes say.
	open bool
	// repeats is set where the operator gives the same if it runs on its own output.
	repeats bool
	// each is set where outputs are computed one at a time.
	each bool
	// writes is set for operators that write their first input.
	writes bool
	// outputs is how many outputs are computed at most, 0 for one; others are not judged.
	outputs int
	// ofOutput is set where axes count in the shape of the output in place of that of the first
	// input.
	ofOutput bool
}

// unary is a formula of the first input alone.
func unary(f func(x *Array) *Array) func(c *call) []*Array {
	return func(c *call) []*Array { return []*Array{f(c.in(0))} }
}

// binary is a formula of two inputs.
func binary(f func(x, y *Array) *Array) func(c *call) []*Array {
	return func(c *call) []*Array { return []*Array{f(c.in(0), c.in(1))} }
}

// one is a formula of one output.
func one(f func(c *call) *Array) func(c *call) []*Array {
	return func(c *call) []*Array { return []*Array{f(c)} }
}

// with is a formula of the first input and a number.
func with(name string, f func(x *Array, n float64) *Array) func(c *call) []*Array {
	return func(c *call) []*Array { return []*Array{f(c.in(0), c.num(name))} }
}

func relu(x *Array) *Array    { return x.atLeast(0) }
func relu6(x *Array) *Array   { return x.atLeast(0).atMost(6) }
func square(x *Array) *Array  { return x.mul(x) }
func sigmoid(x *Array) *Array { return x.m.number(1).div(x.neg().exp().plus(1)) }
func softplus(x *Array) *Array {
	return x.atLeast(0).add(x.abs().neg().exp().plus(1).log())
}
func swish(x *Array, scale float64) *Array { return x.mul(sigmoid(x.times(scale))) }
func mish(x *Array) *Array                 { return x.mul(softplus(x).tanh()) }
func hardSwish(x *Array) *Array            { return x.mul(relu6(x.plus(3)).times(1.0 / 6)) }
func fastGelu(x *Array) *Array             { return x.mul(sigmoid(x.times(1.702))) }

// fastGeluV2 is a gelu whose erf is two parabolas.
func fastGeluV2(x *Array) *Array {
	distance := x.times(.7071).abs().atMost(1.769).plus(-1.769)
	bow := square(distance).times(-.1444).plus(.5)
	return x.mul(positive(x).where(bow, bow.neg()).plus(.5))
}

func positive(x *Array) *Array {
	return x.compare(x.m.number(0), func(x, y float64) bool { return x > y })
}

func leaky(x *Array, slope float64) *Array { return positive(x).where(x, x.times(slope)) }
func elu(x *Array, alpha float64) *Array {
	return positive(x).where(x, x.atMost(0).exp().plus(-1).times(alpha))
}

// gelu has the form of tanh, or that of erf for none.
func gelu(x *Array, form string) *Array {
	if form == "tanh" {
		inner := x.add(x.mul(x).mul(x).times(.044715)).times(.7978845608028654)
		return x.times(.5).mul(inner.tanh().plus(1))
	}
	return x.times(.5).mul(x.times(math.Sqrt2 / 2).erf().plus(1))
}

// channels returns a parameter of the channels beside x: along axis 1, or the last one of two.
func channels(x, t *Array) *Array {
	if x.m.err != nil || len(x.shape) <= 2 {
		return t
	}
	shape := slices.Repeat([]int64{1}, len(x.shape))
	shape[1] = int64(len(t.v))
	return t.reshape(shape...)
}

func comparison(name string, holds func(x, y float64) bool) formula {
	return formula{name: name, class: Integral, inputs: "x1 x2", cut: elementwise,
		compute: binary(func(x, y *Array) *Array { return x.compare(y, holds) })}
}

// bitwise is an operation on the bits of integers in two's complement, and of truth values.
func bitwise(name string, f func(x, y int64) int64) formula {
	return formula{name: name, class: Integral, inputs: "x1 x2", cut: elementwise, compute: binary(func(x, y *Array) *Array {
		return x.exactly(y, func(x, y float64) float64 { return float64(f(int64(x), int64(y))) })
	})}
}

func rounding(name string, f func(float64) float64) formula {
	return formula{name: name, class: Integral, inputs: "x", cut: elementwise, compute: unary(func(x *Array) *Array { return x.steps(f) }), repeats: true}
}

// baseOfLog is the base of logarithms. It is a factor of the output.
var baseOfLog = func() attribute {
	a := baseOf(-1, 2, 10)
	a.natural = math.E
	return a
}()

// threshold is that beyond which a softplus is its input. Others change few elements: it is
// not fitted.
var threshold = attribute{names: []string{"threshold"}, open: true, fixed: true, choices: constant("threshold", 20).choices}

// coefficients are what inputs are multiplied by before they are summed.
var coefficients = attribute{names: []string{"coeff"}, open: true, fixed: true, choices: func(*problem) []Attributes {
	return []Attributes{{}} // ones
}}

// readCoefficients drops an empty list, which stands for ones.
func readCoefficients(_ *problem, raw Attributes) Attributes {
	if v := raw["coeff"].Value; v.List && len(v.Numbers) == 0 {
		raw = raw.with(nil)
		delete(raw, "coeff")
	}
	return raw
}

// roundings are those that a conversion to integers may have.
var roundings = map[string]func(float64) float64{"rint": math.RoundToEven, "trunc": math.Trunc, "floor": math.Floor, "ceil": math.Ceil, "round": halfAway}

// halfAway rounds to the nearest integer, halves away from zero.
func halfAway(x float64) float64 { return math.Trunc(x + math.Copysign(.5, x)) }

// convert is a conversion to another type.
func convert(c *call) *Array {
	d := c.dtypes[0]
	x := c.in(0)
	if isFloat(d) {
		return x
	}
	if d == tensor.Bool {
		return x.steps(func(v float64) float64 { return flag(v != 0) })
	}
	if t := c.types[0].Host(); t.Integer() {
		return x // beyond the range it may wrap or not
	}
	low, high := integerRange(d)
	f := roundings[c.word("mode")]
	if f == nil {
		return c.fail("rounding %q", c.word("mode"))
	}
	z := x.steps(func(v float64) float64 { return min(max(f(v), low), high) })
	for i, v := range x.v { // beyond the range some units give the smallest integer
		if !(v > low-1 && v < high+1) && len(c.got) > 0 && len(c.got[0].v) == len(z.v) && c.got[0].v[i] == low {
			z.v[i] = low
		}
	}
	return z
}

// integerRange is the range of a type of integers.
func integerRange(d tensor.DType) (low, high float64) {
	bits := d.Bits()
	if !d.Host().Signed() {
		return 0, math.Ldexp(1, bits) - 1
	}
	return -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1) - 1
}

// fold joins all inputs by a function.
func fold(f func(x, y *Array) *Array) func(c *call) *Array {
	return func(c *call) *Array {
		x := c.in(0)
		for k := 1; k < len(c.inputs); k++ {
			if c.has(k) {
				x = f(x, c.in(k))
			}
		}
		return x
	}
}

// softmax is along axes, or its logarithm.
func softmax(x *Array, log bool, axes ...int) *Array {
	z := x.sub(x.largest(axes...))
	e := z.exp()
	s := e.sum(axes...)
	if log {
		return z.sub(s.log())
	}
	return e.div(s)
}

// moments are mean, distance from it and variance along axes.
func moments(x *Array, axes ...int) (mean, distance, variance *Array) {
	mean = x.mean(axes...)
	distance = x.from(mean)
	return mean, distance, square(distance).mean(axes...)
}

// from is the distance of x from a mean. Kernels may compute a*x + b with b = -a*mean in its place: the
// bounds have the roundings of both terms.
func (x *Array) from(mean *Array) *Array { return x.sub(mean).beside(x, mean) }

// affine is x times the input k plus the input k+1, where they are there.
func (c *call) affine(x *Array, k int, beside func(x, t *Array) *Array) *Array {
	if c.has(k) {
		x = x.mul(beside(x, c.in(k)))
	}
	if c.has(k + 1) {
		x = x.add(beside(x, c.in(k+1)))
	}
	return x
}

func asIs(_, t *Array) *Array { return t }

// layerNorm gives the variance, or with inverse what x is multiplied by.
func layerNorm(inverse bool) func(c *call) []*Array {
	return func(c *call) []*Array {
		mean, distance, variance := moments(c.in(0), c.ints("axes")...)
		scale := variance.plus(c.num("epsilon")).rsqrt()
		spread := variance
		if inverse {
			spread = scale
		}
		return []*Array{c.affine(distance.mul(scale), 1, asIs), mean, spread}
	}
}

func rmsNorm(c *call, x *Array, gamma int) (y, scale *Array) {
	scale = square(x).mean(c.ints("axes")...).plus(c.num("epsilon")).rsqrt()
	y = x.mul(scale).stepped()
	if c.has(gamma) {
		y = y.mul(c.in(gamma))
	}
	return y, scale
}

// groupNorm is over groups of channels, each channel of each image its own for instances.
func groupNorm(c *call, groups int64) *Array {
	x := c.in(0)
	if x.m.err != nil || len(x.shape) < 2 || groups < 1 || x.shape[1]%groups != 0 {
		return c.fail("%d groups of shape %s", groups, x.shape)
	}
	_, distance, variance := moments(x.reshape(x.shape[0], groups, -1), 2)
	y := distance.mul(variance.plus(c.num("epsilon")).rsqrt()).reshape(x.shape...)
	return c.affine(y, 1, channels)
}

// batchNorm has the moments as inputs.
func batchNorm(c *call) *Array {
	x := c.in(0)
	p := func(k int) *Array { return channels(x, c.in(k)) }
	y := x.from(p(3)).mul(p(4).plus(c.num("epsilon")).rsqrt()).mul(p(1)).add(p(2))
	return activate(y, c.word("activation"))
}

// activations are what may follow in the same operator, the likely first.
var activations = []struct {
	name string
	f    func(x *Array) *Array
}{
	{"none", func(x *Array) *Array { return x }},
	{"relu", relu}, {"relu6", relu6},
	{"leaky.1", func(x *Array) *Array { return leaky(x, .1) }},
	{"silu", func(x *Array) *Array { return swish(x, 1) }},
	{"hswish", hardSwish}, {"sigmoid", sigmoid},
	{"gelu", func(x *Array) *Array { return gelu(x, "tanh") }},
	{"tanh", (*Array).tanh},
}

func activate(x *Array, name string) *Array {
	for _, a := range activations {
		if a.name == name {
			return a.f(x)
		}
	}
	return x.m.fail("activation %q", name)
}

// activation is what may be merged into an operator.
var activation = attribute{names: []string{"activation"}, closed: true, choices: func(p *problem) []Attributes {
	all := []Attributes{{"activation": {Text("none"), FromDefault}}}
	if p.mayBeFused() {
		for _, a := range activations[1:] {
			all = append(all, Attributes{"activation": {Text(a.name), FromValues}})
		}
	}
	return all
}}

// formulas is the table.
var formulas = slices.Concat([]formula{
	{name: "Relu", class: Exact, inputs: "x", cut: elementwise, compute: unary(relu), repeats: true},
	{name: "Relu6", class: Exact, inputs: "x", cut: elementwise, compute: unary(relu6), repeats: true},
	{name: "Abs", class: Exact, inputs: "x", cut: elementwise, compute: unary((*Array).abs), repeats: true},
	{name: "Neg", class: Exact, inputs: "x", cut: elementwise, compute: unary((*Array).neg)},
	{name: "Square", class: Plain, inputs: "x", cut: elementwise, compute: unary(square)},
	{name: "Sqrt", class: Divided, inputs: "x", cut: elementwise, compute: unary((*Array).sqrt)},
	{name: "Rsqrt", class: Divided, inputs: "x", cut: elementwise, compute: unary((*Array).rsqrt)},
	{name: "Reciprocal", class: Divided, inputs: "x", cut: elementwise, compute: unary((*Array).reciprocal)},
	{name: "Exp", class: Tabled, inputs: "x", cut: elementwise, compute: one(func(c *call) *Array {
		return c.in(0).times(c.num("scale")).plus(c.num("shift")).times(logOfBase(c.num("base"))).exp()
	}), attrs: []attribute{baseOf(-1, 2, 10), constant("scale", 1), constant("shift", 0)}},
	{name: "Expm1", class: Tabled, inputs: "x", cut: elementwise, compute: unary(func(x *Array) *Array { return x.exp().plus(-1) })},
	{name: "Log", class: Tabled, inputs: "x", cut: elementwise, compute: one(func(c *call) *Array {
		return c.in(0).times(c.num("scale")).plus(c.num("shift")).log().times(1 / logOfBase(c.num("base")))
	}), attrs: []attribute{baseOfLog, constant("scale", 1), constant("shift", 0)}},
	{name: "Log1p", class: Tabled, inputs: "x", cut: elementwise, compute: unary(func(x *Array) *Array { return x.plus(1).log() })},
	{name: "Sin", class: Tabled, inputs: "x", cut: elementwise, compute: unary((*Array).sin)},
	{name: "Cos", class: Tabled, inputs: "x", cut: elementwise, compute: unary((*Array).cos)},
	{name: "Tanh", class: Tabled, inputs: "x", cut: elementwise, compute: unary((*Array).tanh)},
	{name: "Erf", class: Tabled, inputs: "x", cut: elementwise, compute: unary((*Array).erf)},
	{name: "Sigmoid", class: Tabled, inputs: "x", cut: elementwise, compute: unary(sigmoid)},
	{name: "Softplus", class: Tabled, inputs: "x", cut: elementwise, compute: one(func(c *call) *Array {
		x, beta := c.in(0), c.num("beta")
		scaled, threshold := x.times(beta), c.num("threshold")
		return scaled.compare(scaled.m.number(threshold), func(x, y float64) bool { return x > y }).where(x, softplus(scaled).times(1/beta))
	}), attrs: []attribute{real("beta", 1), threshold}},
	{name: "Mish", class: Tabled, inputs: "x", cut: elementwise, compute: unary(mish)},
	{name: "HardSwish", class: Plain, inputs: "x", cut: elementwise, compute: unary(hardSwish)},
	{name: "FastGelu", class: Tabled, inputs: "x", cut: elementwise, compute: unary(fastGelu)},
	{name: "FastGeluV2", class: Plain, inputs: "x", cut: elementwise, compute: unary(fastGeluV2)},
	{name: "Gelu", class: Tabled, inputs: "x", cut: elementwise, compute: one(func(c *call) *Array { return gelu(c.in(0), c.word("approximate")) }),
		attrs: []attribute{oneOf("approximate", true, Text("tanh"), Text("none"))}},
	{name: "Swish", class: Tabled, inputs: "x", cut: elementwise, compute: with("scale", swish), attrs: []attribute{real("scale", 1)}},
	{name: "HardSigmoid", class: Plain, inputs: "x", cut: elementwise, compute: one(func(c *call) *Array {
		return c.in(0).times(c.num("alpha")).plus(c.num("beta")).atLeast(0).atMost(1)
	}), attrs: []attribute{real("alpha", 1.0/6, .2), real("beta", .5)}},
	{name: "Elu", class: Tabled, inputs: "x", cut: elementwise, compute: with("alpha", elu), attrs: []attribute{real("alpha", 1)}},
	{name: "LeakyRelu", class: Plain, inputs: "x", cut: elementwise, compute: with("negative_slope", leaky),
		attrs: []attribute{real("negative_slope", .01, .1, .2, .3, .05, 0)}},
	{name: "PRelu", class: Plain, inputs: "x weight", cut: keeping(1), compute: binary(func(x, w *Array) *Array {
		return positive(x).where(x, x.mul(channels(x, w)))
	})},
	{name: "Muls", class: Plain, inputs: "x", cut: elementwise, compute: with("value", (*Array).times), attrs: []attribute{real("value", 1)}},
	{name: "Adds", class: Plain, inputs: "x", cut: elementwise, compute: with("value", (*Array).plus), attrs: []attribute{real("value", 0)}},
	{name: "Power", class: Tabled, inputs: "x", cut: elementwise, compute: one(func(c *call) *Array {
		return c.in(0).times(c.num("scale")).plus(c.num("shift")).pow(c.number(c.num("power")))
	}), attrs: []attribute{real("power", 1, 2, .5), constant("scale", 1), constant("shift", 0)}},
	{name: "Apply", class: Plain, inputs: "x*", writes: true, cut: uncut, compute: func(*call) []*Array { return nil }},
	{name: "Add", class: Exact, inputs: "x1 x2", cut: elementwise, compute: binary((*Array).add)},
	{name: "Sub", class: Exact, inputs: "x1 x2", cut: elementwise, compute: binary((*Array).sub)},
	{name: "Mul", class: Plain, inputs: "x1 x2", cut: elementwise, compute: binary((*Array).mul)},
	{name: "RealDiv", class: Divided, inputs: "x1 x2", cut: elementwise, compute: binary((*Array).div)},
	{name: "Maximum", class: Exact, inputs: "x1 x2", cut: elementwise, compute: binary((*Array).max)},
	{name: "Minimum", class: Exact, inputs: "x1 x2", cut: elementwise, compute: binary((*Array).min)},
	{name: "SquaredDifference", class: Plain, inputs: "x1 x2", cut: elementwise, compute: binary(func(x, y *Array) *Array { return square(x.sub(y)) })},
	{name: "Pow", class: Tabled, inputs: "x1 x2", cut: elementwise, compute: binary((*Array).pow)},
	{name: "AddN", class: Plain, inputs: "x*", cut: elementwise, compute: one(fold((*Array).add))},
	{name: "FusedMulAdd", class: Plain, inputs: "x1 x2 x3", cut: elementwise, compute: one(func(c *call) *Array { return c.in(0).mul(c.in(1)).add(c.in(2)) })},
	{name: "Eltwise", class: Plain, inputs: "x*", cut: elementwise, compute: one(func(c *call) *Array {
		ways := []func(x, y *Array) *Array{(*Array).mul, (*Array).add, (*Array).max}
		if k := c.attrs["coeff"].Value.Numbers; len(k) == len(c.inputs) && c.num("mode") == 1 {
			for i, x := range c.inputs {
				c.inputs[i] = x.times(k[i])
			}
		}
		if mode := int(c.num("mode")); mode >= 0 && mode < len(ways) {
			return fold(ways[mode])(c)
		}
		return c.fail("mode %v, want 0, 1 or 2", c.num("mode"))
	}), read: readCoefficients, attrs: []attribute{oneOf("mode", true, Number(1), Number(0), Number(2)), coefficients}},
	{name: "BiasAdd", class: Exact, inputs: "x bias", cut: biasCut, compute: binary(func(x, y *Array) *Array { return x.add(y) }),
		attrs: []attribute{axisWhere(func(p *problem, k int) bool { return p.Inputs[0].Shape[k] == p.Inputs[1].elements() })}},
	{name: "ClipByValue", class: Exact, inputs: "x low high", cut: elementwise, compute: one(func(c *call) *Array { return c.in(0).max(c.in(1)).min(c.in(2)) }), repeats: true},
	{name: "SelectV2", class: Exact, inputs: "mask x1 x2", cut: elementwise, compute: one(func(c *call) *Array { return c.in(0).where(c.in(1), c.in(2)) })},
	{name: "MaskedFill", class: Exact, inputs: "x mask value", cut: elementwise, compute: one(func(c *call) *Array { return c.in(1).where(c.in(2), c.in(0)) })},
	{name: "Cast", class: Converted, inputs: "x", cut: elementwise, compute: one(convert), attrs: []attribute{{names: []string{"mode"}, closed: true, words: true, choices: func(p *problem) []Attributes {
		return oneOf("mode", true, Text("rint"), Text("trunc"), Text("floor"), Text("ceil"), Text("round")).choices(p)
	}}}},
	{name: "LogicalNot", class: Integral, inputs: "x", cut: elementwise, compute: unary(func(x *Array) *Array { return x.steps(func(v float64) float64 { return flag(v == 0) }) })},
	comparison("Greater", func(x, y float64) bool { return x > y }),
	comparison("GreaterEqual", func(x, y float64) bool { return x >= y }),
	comparison("Less", func(x, y float64) bool { return x < y }),
	comparison("LessEqual", func(x, y float64) bool { return x <= y }),
	comparison("Equal", func(x, y float64) bool { return x == y }),
	comparison("NotEqual", func(x, y float64) bool { return x != y }),
	comparison("LogicalAnd", func(x, y float64) bool { return x != 0 && y != 0 }),
	comparison("LogicalOr", func(x, y float64) bool { return x != 0 || y != 0 }),
	bitwise("BitwiseAnd", func(x, y int64) int64 { return x & y }),
	bitwise("BitwiseOr", func(x, y int64) int64 { return x | y }),
	bitwise("BitwiseXor", func(x, y int64) int64 { return x ^ y }),
	rounding("Floor", math.Floor), rounding("Ceil", math.Ceil), rounding("Rint", math.RoundToEven), rounding("Trunc", math.Trunc),
	{name: "ReluGrad", class: Exact, inputs: "dy x", cut: elementwise, compute: binary(func(dy, x *Array) *Array { return positive(x).where(dy, dy.m.number(0)) })},
	{name: "SigmoidGrad", class: Plain, inputs: "y dy", cut: elementwise, compute: binary(func(y, dy *Array) *Array { return dy.mul(y).mul(y.neg().plus(1)) })},
	{name: "TanhGrad", class: Plain, inputs: "y dy", cut: elementwise, compute: binary(func(y, dy *Array) *Array { return dy.mul(square(y).neg().plus(1)) })},

	{name: "Softmax", class: Tabled, inputs: "x", cut: lines, compute: one(func(c *call) *Array { return softmax(c.in(0), false, c.ints("axes")...) }), attrs: []attribute{anyAxes}},
	{name: "LogSoftmax", class: Tabled, inputs: "x", cut: lines, compute: one(func(c *call) *Array { return softmax(c.in(0), true, c.ints("axes")...) }), attrs: []attribute{anyAxes}},
	{name: "SoftmaxGrad", class: Reduced, inputs: "y dy", cut: lines, compute: one(func(c *call) *Array {
		y, dy := c.in(0), c.in(1)
		return dy.sub(y.mul(dy).sum(c.ints("axes")...)).mul(y)
	}), attrs: []attribute{anyAxes}},
	{name: "LayerNorm", class: Norm, inputs: "x gamma? beta?", cut: lines, read: fromBegin, outputs: 3, compute: layerNorm(false), attrs: []attribute{normAxes, epsilon()}},
	{name: "LayerNormV3", class: Norm, inputs: "x gamma? beta?", cut: lines, read: fromBegin, outputs: 3, compute: layerNorm(true), attrs: []attribute{normAxes, epsilon()}},
	{name: "RmsNorm", class: Norm, inputs: "x gamma?", cut: lines, outputs: 2, compute: func(c *call) []*Array {
		y, scale := rmsNorm(c, c.in(0), 1)
		return []*Array{y, scale}
	}, attrs: []attribute{normAxes, epsilon()}},
	{name: "BNInfer", class: Norm, inputs: "x scale offset mean variance", cut: keeping(1), compute: one(batchNorm), attrs: []attribute{activation, epsilon()}},
	{name: "InstanceNorm", class: Norm, inputs: "x gamma? beta?", cut: images, compute: one(func(c *call) *Array { return groupNorm(c, channelsOf(c.in(0))) }), attrs: []attribute{epsilon()}},
	{name: "GroupNorm", class: Norm, inputs: "x gamma? beta?", cut: images, compute: one(func(c *call) *Array { return groupNorm(c, int64(c.num("num_groups"))) }),
		attrs: []attribute{divisors, epsilon()}},
	{name: "L2Normalize", class: Norm, inputs: "x", cut: lines, compute: one(func(c *call) *Array {
		x := c.in(0)
		return x.div(square(x).sum(c.ints("axes")...).atLeast(c.num("epsilon")).sqrt())
	}), attrs: []attribute{anyAxes, epsilon(1e-12)}},

	{name: "ReduceSum", class: Reduced, inputs: "x", cut: lines, compute: one(func(c *call) *Array { return c.in(0).sum(c.ints("axes")...) }), attrs: []attribute{reducedAxes}},
	{name: "ReduceMean", class: Reduced, inputs: "x", cut: lines, compute: one(func(c *call) *Array { return c.in(0).mean(c.ints("axes")...) }), attrs: []attribute{reducedAxes}},
	{name: "ReduceMax", class: Exact, inputs: "x", cut: lines, compute: one(func(c *call) *Array { return c.in(0).largest(c.ints("axes")...) }), attrs: []attribute{reducedAxes}},
	{name: "ReduceMin", class: Exact, inputs: "x", cut: lines, compute: one(func(c *call) *Array { return c.in(0).smallest(c.ints("axes")...) }), attrs: []attribute{reducedAxes}},
	{name: "L2Loss", class: Reduced, inputs: "x", cut: uncut, compute: unary(func(x *Array) *Array { return square(x).sum(upTo(len(x.shape))...).times(.5) })},
}, elementary, reductions, losses, indexings, resizes, recurrents, moves, orders, products, pools, gated, routers, attentions)

// logOfBase is the natural logarithm of a base, 1 for -1, which stands for e.
func logOfBase(base float64) float64 {
	if base == -1 {
		return 1
	}
	return logOf(base)
}

// formulaOf finds a row by its name, nil for none.
func formulaOf(name string) *formula {
	for i := range formulas {
		if formulas[i].name == name {
			return &formulas[i]
		}
	}
	return nil
}
