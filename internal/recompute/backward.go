package recompute

import (
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// sumTo sums an array over the axes along which shape was broadcast to its shape.
func sumTo(x *Array, shape tensor.Shape) *Array {
	lead := len(x.shape) - len(shape)
	if x.m.err != nil || x.shape.Equal(shape) || lead < 0 {
		return x.reshape(shape...)
	}
	var axes []int
	for k, n := range x.shape {
		switch {
		case k < lead || shape[k-lead] == 1 && n != 1:
			axes = append(axes, k)
		case n != shape[k-lead]:
			return x.m.fail("a gradient of shape %s for shape %s", x.shape, shape)
		}
	}
	if len(axes) > 0 {
		x = x.roundBetweenSteps().sum(axes...)
	}
	return x.reshape(shape...)
}

// withRounding adds the error of rounding to a type: the kernel may have used the values before they were rounded.
func (x *Array) withRounding(d tensor.DType) *Array {
	f := formatOf(d)
	return x.mapElements(func(v, x []float64) { copy(v, x) }, func(e, v, _, _ []float64, _ *bounds) {
		for i, s := range v {
			e[i] = stepOf(&f, s) / 2
		}
	})
}

// summedCut is the cutter along the axes that the output has; the gradient is summed over the other axes.
func summedCut(p *problem, _ Attributes) *cutRule {
	c, all := wholeTensors(p), tensor.Shape(nil)
	for k, t := range p.Inputs {
		s, ok := broadcast(all, c.in[k].shape)
		if !ok {
			return misfit("input %d of shape %s, others of %s", k, t.Shape, all)
		}
		all = s
	}
	out := c.out[0].shape
	if s, ok := broadcast(all, out); !ok || s.Elements() != all.Elements() {
		return misfit("the shape computed from the inputs is %s, the output has %s", all, out)
	} else if len(out) > len(all) {
		all = s
	}
	for k, n := range all {
		to := alignRight(out, k, all)
		if n == 1 || to < 0 {
			c.sums = c.sums || n > 1
			continue
		}
		f := freeAxis{size: n, out: []span{{axis: to}}}
		for _, v := range c.in {
			f.in = append(f.in, span{axis: alignRight(v.shape, k, all)})
		}
		c.free = append(c.free, f)
	}
	return c
}

// gradientLineCut returns a cutter that divides the work along every axis of the output except the axes in the attribute
// "axes"; with all, along every axis.
func gradientLineCut(all bool) cutter {
	return func(p *problem, h Attributes) *cutRule {
		x, c := p.Outputs[0].Shape, wholeTensors(p)
		freeAxes, kept := firstIntegers(len(x)), slices.Clone(x)
		axes, ok := h["axes"].Value.Integers()
		for _, k := range axes {
			if k < 0 || k >= int64(len(x)) {
				ok = false
				break
			}
			kept[k] = 1
			if !all {
				freeAxes = slices.DeleteFunc(freeAxes, func(r int) bool { return r == int(k) })
			}
		}
		for i := range c.in {
			switch s := &c.in[i].shape; {
			case !ok:
			case s.Elements() == kept.Elements():
				*s = kept
			default:
				ok = s.Equal(x)
			}
		}
		if !ok {
			return misfit("axes %s of shape %s", h["axes"].Value, x)
		}
		return c.cutAlong(freeAxes, alignRight)
	}
}

// channelOutputCut is the cutter along the channels, for an output with one element for each channel.
func channelOutputCut(p *problem, _ Attributes) *cutRule {
	x, c := p.Inputs[0].Shape, wholeTensors(p)
	if len(x) < 2 || p.Outputs[0].elements() != x[1] {
		return misfit("the output has the shape %s, the input %s", p.Outputs[0].Shape, x)
	}
	c.out[0].shape = tensor.Shape{x[1]}
	f := freeAxis{size: x[1], out: []span{{axis: 0}}}
	for _, v := range c.in {
		switch {
		case len(v.shape) == len(x) && v.shape[1] == x[1]:
			f.in = append(f.in, span{axis: 1})
		case v.shape.Equal(c.out[0].shape):
			f.in = append(f.in, span{axis: 0})
		default:
			f.in = append(f.in, span{axis: -1})
		}
	}
	c.free = append(c.free, f)
	return c
}

// imageChannelCut is the cutter along images and channels.
func imageChannelCut(p *problem, _ Attributes) *cutRule {
	x, dy := p.Outputs[0].Shape, p.Inputs[len(p.Inputs)-1].Shape
	if axes := len(x) - 2; axes < 1 || axes > maxSpatial || len(dy) != len(x) || !slices.Equal(dy[:2], x[:2]) || len(p.Inputs) > 1 && !p.Inputs[0].Shape.Equal(x) {
		return misfit("gradients of shape %s for images of shape %s", dy, x)
	}
	return wholeTensors(p).cutAlong([]int{0, 1}, alignSameRank)
}

// forwardAttribute returns an attribute of the forward formula for the formula of a gradient: its last input has the shape
// of the forward output.
func forwardAttribute(a attribute) attribute {
	choices := a.choices
	a.choices = func(p *problem) []Attributes {
		q := *p.Operator
		q.Inputs, q.Outputs = slices.Clone(p.Inputs[:len(p.Inputs)-1]), p.Inputs[len(p.Inputs)-1:]
		if len(q.Inputs) == 0 {
			q.Inputs = p.Outputs[:1]
		}
		return choices(&problem{Operator: &q, ctx: p.ctx})
	}
	return a
}

// axesOfGradient are the last axes of the input, as many as the gradient of the weight has.
var axesOfGradient = closedAttribute("axes", func(p *problem) []Attributes {
	n := min(len(p.Outputs[0].Shape), p.rank())
	return []Attributes{{"axes": {integers(firstIntegers(p.rank())[p.rank()-n:]...), FromShape}}}
})

// gateTie is a gate where the derivative is not defined: a kernel may pass the gradient, stop it, or pass half of it.
var gateTie = math.NaN()

// gateGradient returns dy where the gate is 1, and 0 where it is 0. At a gateTie it follows the NPU's element if the
// element has a possible value: dy, 0 or half of dy.
func (c *call) gateGradient(dy, gate *Array) *Array {
	z := gate.selectWhere(dy, c.number(0))
	if c.err != nil || len(c.got) == 0 {
		return z
	}
	gate, dy = gate.expand(z.shape), dy.expand(z.shape)
	same := len(c.got[0].v) == len(z.v)
	for i, g := range gate.v {
		if g == g {
			continue
		}
		if z.v[i] = dy.v[i] / 2; same {
			z.v[i] = c.chooseCloser(c.got[0].v[i], z.v[i], c.chooseCloser(c.got[0].v[i], 0, dy.v[i]))
		}
	}
	return z
}

// gateBetween is the gate of numbers between low and high, with ties at both.
func gateBetween(x, low, high *Array) *Array {
	return x.mapPairsExactly(low, gateAbove).mapPairsExactly(high.mapPairsExactly(x, gateAbove), func(a, b float64) float64 {
		switch {
		case a == 0 || b == 0:
			return 0
		}
		return a + b - 1
	})
}

// gateAbove returns 1 if x is above y, 0 if x is below y, and gateTie if they are equal.
func gateAbove(x, y float64) float64 {
	if x == y {
		return gateTie
	}
	return boolToFloat(x > y)
}

// bell is height*exp(-steep*x*x), the derivative of erf with suitable constants.
func bell(x *Array, steep, height float64) *Array {
	return square(x).times(-steep).exp().times(height)
}

// swishSlope is the derivative of x*sigmoid(scale*x).
func swishSlope(x *Array, scale float64) *Array {
	s := sigmoid(x.times(scale)).roundBetweenSteps()
	return s.add(x.times(scale).mul(s).mul(s.neg().plus(1)))
}

// geluSlope is the derivative of gelu.
func geluSlope(x *Array, form string) *Array {
	if form != "tanh" {
		return x.times(math.Sqrt2 / 2).erf().plus(1).times(.5).add(x.mul(bell(x, .5, 1/math.Sqrt(2*math.Pi))))
	}
	const k, cubic = .7978845608028654, .044715
	t := x.add(square(x).mul(x).times(cubic)).times(k).tanh()
	slope := square(x).times(3 * cubic).plus(1).times(k)
	return t.plus(1).times(.5).add(x.times(.5).mul(square(t).neg().plus(1)).mul(slope))
}

// dropoutGrad passes the gradients of the elements that the forward call kept, scaled. Dropped elements are 0 in the
// output y.
func dropoutGrad(c *call) *Array {
	x, y, dy, p := c.input(0), c.input(1), c.input(2), c.numberAttribute("p")
	if c.err != nil || !c.isAttributeTrue("training") || p == 0 {
		return dy
	}
	if p >= 1 {
		return dy.times(0)
	}
	return c.gateGradient(dy.times(1/(1-p)).withTermRoundings(dy), x.mapPairsExactly(y, func(x, y float64) float64 {
		if x == 0 {
			return gateTie
		}
		return boolToFloat(y != 0)
	}))
}

// matMulGrad is the gradient of the first factor of a product: dy times the transposed second factor.
func matMulGrad(p *problem, h Attributes) (*linear, lang.Sentence) {
	w, dy := p.Inputs[0], p.Inputs[1]
	turned, _ := h["transpose_x2"].Value.Number()
	if len(w.Shape) == 1 { // a vector, whose axis dy does not have
		w, dy, turned = p.viewAs(w, tensor.Shape{w.elements(), 1}), p.viewAs(dy, append(slices.Clip(dy.Shape), 1)), 0
	}
	return p.product(dy, w, h, 0, 1-turned)
}

// matMulWeightGrad is the gradient of the second factor of a product: the transposed first factor times dy, or its
// transpose. If all matrices share the second factor, their rows are stacked.
func matMulWeightGrad(p *problem, h Attributes) (*linear, lang.Sentence) {
	x, dy, out := p.Inputs[0], p.Inputs[1], p.Outputs[0].Shape
	turned, _ := h["transpose_x2"].Value.Number()
	if len(out) <= 2 && len(x.Shape) > 0 && x.elements() > 0 {
		k := x.Shape[len(x.Shape)-1]
		rows := x.elements() / k
		if dy.elements()%rows != 0 {
			return nil, lang.Say("matrices of %s and %s", x.Shape, dy.Shape)
		}
		x, dy = p.viewAs(x, tensor.Shape{rows, k}), p.viewAs(dy, tensor.Shape{rows, dy.elements() / rows})
	}
	if turned != 0 {
		return p.product(dy, x, h, 1, 0)
	}
	return p.product(x, dy, h, 1, 0)
}

// product is the product of two tensors, which may be transposed, times alpha.
func (p *problem) product(x1, x2 *Tensor, h Attributes, turned1, turned2 float64) (*linear, lang.Sentence) {
	p.cached(p.Inputs[0]) // both operators share one cache
	q := *p.Operator
	q.Inputs, q.cache = []*Tensor{x1, x2}, p.cache
	attrs := Attributes{"transpose_x1": {Number(turned1), FromDefault}, "transpose_x2": {Number(turned2), FromDefault}}
	if alpha, ok := h["alpha"]; ok {
		attrs["alpha"], attrs["beta"] = alpha, Attribute{Number(1), FromDefault}
	}
	return matMul(&problem{Operator: &q, ctx: p.ctx}, attrs)
}

// mulWeight multiplies a gradient by the weight of a norm, if there is one.
func (c *call) mulWeight(dy *Array) *Array {
	if c.hasInput(1) {
		return dy.mul(c.normWeight(1))
	}
	return dy
}

// normalise returns x divided by its standard deviation along axes, after subtraction of the mean if centred, and the
// factor.
func (c *call) normalise(x *Array, centred bool, axes ...int) (unit, scale *Array) {
	if !centred {
		scale = square(x).mean(axes...).plus(c.numberAttribute("epsilon")).rsqrt()
		return x.mul(scale), scale
	}
	// The forward call saved the mean and the scale in the type of its output.
	mean, _, variance := moments(x, axes...)
	scale = variance.plus(c.numberAttribute("epsilon")).rsqrt().roundBetweenSteps()
	return x.sub(mean.roundBetweenSteps()).mul(scale), scale
}

// normGrad returns the gradient of the input x of a norm; g is the gradient of the normalised x.
func (c *call) normGrad(x, g *Array, centred bool, axes ...int) *Array {
	unit, scale := c.normalise(x, centred, axes...)
	grad := g.sub(unit.mul(unit.mul(g).mean(axes...)))
	if centred {
		grad = grad.sub(g.mean(axes...))
	}
	return grad.mul(scale)
}

// gammaGrad returns the gradient of the weight of a norm along the last axes.
func (c *call) gammaGrad(centred bool, axes ...int) *Array {
	unit, _ := c.normalise(c.input(0), centred, axes...)
	return sumTo(unit.mul(c.input(1)), c.shapes[0])
}

// groupChannels reshapes images to (image, group, elements of the group).
func (c *call) groupChannels(x *Array) *Array {
	groups := int64(c.numberAttribute("num_groups"))
	if c.err != nil || len(x.shape) < 2 || groups < 1 || x.shape[1]%groups != 0 {
		return c.fail("%d groups of shape %s", groups, x.shape)
	}
	return x.reshape(x.shape[0], groups, -1)
}
