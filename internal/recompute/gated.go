package recompute

import (
	"cmp"
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// gated are the formulas of networks with gates and rotated positions, and others that only
// frameworks have.
var gated = []formula{
	{name: "SwiGlu", class: Tabled, inputs: "x", cut: halvesCut, compute: one(func(c *call) *Array {
		a, b := c.halves()
		return swish(a, 1).mul(b)
	}), attrs: []attribute{halvedAxis}},
	{name: "Glu", class: Tabled, inputs: "x", cut: halvesCut, compute: one(func(c *call) *Array {
		a, b := c.halves()
		return a.mul(sigmoid(b))
	}), attrs: []attribute{halvedAxis}},
	{name: "RotaryMul", class: Plain, inputs: "x cos sin", cut: lastWhole,
		compute: one(func(c *call) *Array { return c.rotate(c.in(0), c.in(1), c.in(2)) }), read: readRotation, attrs: []attribute{rotation}},
	{name: "AddRmsNorm", class: Norm, inputs: "x1 x2 gamma", cut: lines, outputs: 3, compute: func(c *call) []*Array {
		x := c.in(0).add(c.in(1))
		y, scale := rmsNorm(c, x, 2)
		return []*Array{y, scale, x}
	}, attrs: []attribute{gammaAxes, epsilon(1e-6)}},
	{name: "AddLayerNorm", class: Norm, inputs: "x1 x2 gamma beta bias?", cut: lines, read: fromBegin, outputs: 4, compute: func(c *call) []*Array {
		x := c.in(0).add(c.in(1))
		if c.has(4) {
			x = x.add(c.in(4))
		}
		mean, distance, variance := moments(x, c.ints("axes")...)
		scale := variance.plus(c.num("epsilon")).rsqrt()
		return []*Array{c.affine(distance.mul(scale), 2, asIs), mean, scale, x}
	}, attrs: []attribute{gammaAxes, epsilon()}},
	{name: "BNTrainingUpdate", class: Norm, inputs: "x sum square_sum scale offset mean variance", cut: channelsCut, outputs: 5, compute: bnTrainingUpdate, attrs: []attribute{kept("factor"), epsilon()}},
	{name: "BatchNorm", class: Norm, inputs: "x scale? offset? mean? variance?", cut: channelsCut, compute: one(func(c *call) *Array {
		x := c.in(0)
		axes := slices.Delete(upTo(len(x.shape)), 1, 2)
		_, distance, variance := moments(x, axes...)
		if !c.is("is_training") {
			distance, variance = x.from(channels(x, c.in(3))), channels(x, c.in(4))
		}
		return c.affine(distance.mul(variance.plus(c.num("epsilon")).rsqrt()), 1, channels)
	}), attrs: []attribute{flags("is_training", true), epsilon()}},
	{name: "ApplyRotaryPosEmb", class: Plain, inputs: "query key cos sin", cut: uncut, outputs: 2, compute: func(c *call) []*Array {
		return []*Array{c.rotate(c.in(0), c.in(2), c.in(3)), c.rotate(c.in(1), c.in(2), c.in(3))}
	}, read: readRotation, attrs: []attribute{rotation}},
	{name: "LogSigmoid", class: Tabled, inputs: "x", cut: elementwise, compute: unary(func(x *Array) *Array { return softplus(x.neg()).neg() })},
	{name: "Sign", class: Integral, inputs: "x", cut: elementwise, compute: unary(func(x *Array) *Array { return x.steps(sign) }), repeats: true},
	{name: "Tril", class: Move, inputs: "x", cut: matricesCut, compute: one(triangle(func(row, column, diagonal int) bool { return column <= row+diagonal })),
		attrs: []attribute{real("diagonal", 0)}, repeats: true},
	{name: "Triu", class: Move, inputs: "x", cut: matricesCut, compute: one(triangle(func(row, column, diagonal int) bool { return column >= row+diagonal })),
		attrs: []attribute{real("diagonal", 0)}, repeats: true},
	{name: "ReduceProd", class: Reduced, inputs: "x", cut: lines, compute: one(func(c *call) *Array { return c.in(0).product(c.ints("axes")...) }), attrs: []attribute{reducedAxes}},
}

// gammaAxes are the last axes, as many as the weight has, which is the third input.
var gammaAxes = attribute{names: []string{"axes"}, closed: true, choices: func(p *problem) (all []Attributes) {
	n := min(1, p.rank())
	if g := p.input(2); g != nil {
		n = max(n, min(len(g.Shape), p.rank()))
	}
	return []Attributes{{"axes": {integers(upTo(p.rank())[p.rank()-n:]...), FromShape}}}
}}

// bnTrainingUpdate has the sums of the batch as inputs: it gives the output, the running moments
// where the share of the batch in them is known, and the moments of the batch.
func bnTrainingUpdate(c *call) []*Array {
	x := c.in(0)
	if c.err != nil {
		return nil
	}
	p := func(k int) *Array { return channels(x, c.in(k)) }
	n := float64(len(x.v)) / float64(channelsOf(x))
	mean := p(1).times(1 / n)
	variance := p(2).times(1 / n).sub(square(mean)).atLeast(0)
	y := x.sub(mean).mul(variance.plus(c.num("epsilon")).rsqrt()).mul(p(3)).add(p(4))
	var runningMean, runningVariance *Array
	if share, ok := c.attrs["factor"].Value.Number(); ok {
		running := func(k int, now *Array) *Array { return p(k).times(1 - share).add(now.times(share)) }
		runningMean, runningVariance = running(5, mean), running(6, variance.times(n/max(1, n-1)))
	}
	return []*Array{y, runningMean, runningVariance, mean, variance}
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

// product multiplies the elements of lines along axes.
func (x *Array) product(axes ...int) *Array {
	m := x.m
	return x.reduce(axes, func(z *Array, line int, r row) {
		v, ea, eb := 1.0, 0.0, 0.0
		for i, s := range r.v {
			size, before := math.Abs(s), math.Abs(v)
			v *= s
			ea = float64(ea*(size+r.a[i])) + float64(before*r.a[i]) + float64(m.narrow.u*math.Abs(v)) + m.narrow.eta
			eb = float64(eb*(size+r.b[i])) + float64(before*r.b[i]) + float64(m.wide.u*math.Abs(v)) + m.wide.eta
			m.note(v)
		}
		z.set(line, v, ea, eb)
	})
}

// triangle keeps the elements of matrices that belong to a triangle.
func triangle(belongs func(row, column, diagonal int) bool) func(c *call) *Array {
	return func(c *call) *Array {
		x, diagonal := c.in(0), int(c.num("diagonal"))
		if c.err != nil || len(x.shape) < 2 {
			return c.fail("a triangle of shape %s", x.shape)
		}
		rows, columns := int(x.shape[len(x.shape)-2]), int(x.shape[len(x.shape)-1])
		return x.move(x.shape, 0, func(i int) int {
			if !belongs(i/columns%rows, i%columns, diagonal) {
				return -1
			}
			return i
		})
	}
}

// matricesCut cuts along all axes but those of matrices.
func matricesCut(p *problem, _ Attributes) *cutting {
	x := p.Inputs[0].Shape
	if len(x) < 2 || !x.Equal(p.Outputs[0].Shape) {
		return misfit("the output has the shape %s, the input %s", p.Outputs[0].Shape, x)
	}
	return seen(p).along(upTo(len(x)-2), same)
}

// halvedAxis is the one that is twice as long in the input.
var halvedAxis = axisWhere(func(p *problem, k int) bool {
	x, out := p.Inputs[0].Shape, p.Outputs[0].Shape
	return len(x) == len(out) && x[k] == 2*out[k]
})

// halvesCut cuts along all axes but the one of the halves.
func halvesCut(p *problem, h Attributes) *cutting {
	x, out := p.Inputs[0].Shape, p.Outputs[0].Shape
	k, ok := axisIn(h, len(x))
	half := slices.Clone(x)
	if !ok || x[k]%2 != 0 {
		return misfit("halves of axis %s of shape %s", h["axis"].Value, x)
	}
	if half[k] /= 2; !half.Equal(out) {
		return misfit("the output has the shape %s, want %s", out, half)
	}
	return seen(p).along(slices.Delete(upTo(len(x)), k, k+1), same)
}

// halves are the two halves of the input along an axis.
func (c *call) halves() (a, b *Array) {
	x := c.in(0)
	k, ok := axisIn(c.attrs, len(x.shape))
	if c.err != nil || !ok {
		x = c.fail("axis %s", c.attrs["axis"].Value)
		return x, x
	}
	shape, strides := slices.Clone(x.shape), x.shape.Strides()
	shape[k] /= 2
	offsets := make([]int, shape.Elements())
	walk(shape, strides, func(i, offset int) { offsets[i] = offset })
	part := func(begin int) *Array {
		return x.move(shape, 0, func(i int) int { return offsets[i] + begin })
	}
	return part(0), part(int(shape[k] * strides[k]))
}

// lastWhole cuts as elementwise formulas are cut, but for the last axis.
func lastWhole(p *problem, h Attributes) *cutting {
	c := elementwise(p, h)
	c.pointwise = false
	if rank := len(p.Inputs[0].Shape); c.why.IsZero() && (rank == 0 || p.Inputs[0].Shape[rank-1]%2 != 0 || !p.Inputs[0].Shape.Equal(p.Outputs[0].Shape)) {
		return misfit("halves of shape %s", p.Inputs[0].Shape)
	}
	if !c.why.IsZero() {
		return c
	}
	c.free = nil
	return c.along(upTo(len(c.out[0].shape)-1), right)
}

// rotation says which elements are turned together.
var rotation = attribute{names: []string{"mode"}, closed: true, words: true, choices: oneOf("mode", true, Text("half"), Text("interleave")).choices}

// readRotation takes the name that CANN has for it.
func readRotation(_ *problem, raw Attributes) Attributes {
	if mode, ok := raw["rotary_mode"]; ok {
		return raw.with(Attributes{"mode": mode})
	}
	return raw
}

// rotate turns pairs of elements: those of the two halves of a line, or neighbours.
func (c *call) rotate(x, cos, sin *Array) *Array {
	if c.err != nil || len(x.shape) == 0 || x.shape[len(x.shape)-1]%2 != 0 {
		return c.fail("halves of shape %s", x.shape)
	}
	n := int(x.shape[len(x.shape)-1])
	partner := func(i int) int {
		at := i % n
		if c.word("mode") == "interleave" {
			return i - at + (at ^ 1)
		}
		return i - at + (at+n/2)%n
	}
	turned := x.move(x.shape, 0, partner)
	for i := range turned.v {
		at := i % n
		if c.word("mode") == "interleave" && at%2 == 0 || c.word("mode") != "interleave" && at < n/2 {
			turned.v[i] = -turned.v[i]
		}
	}
	return x.mul(cos).add(turned.mul(sin))
}

// channelsCut cuts along the channels, which parameters and moments have alone.
func channelsCut(p *problem, _ Attributes) *cutting {
	x := p.Inputs[0].Shape
	if len(x) < 2 || !x.Equal(p.Outputs[0].Shape) {
		return misfit("the output has the shape %s, the input %s", p.Outputs[0].Shape, x)
	}
	c := seen(p)
	for i := range c.out[1:] {
		if c.out[1+i].shape.Elements() == x[1] {
			c.out[1+i].shape = tensor.Shape{x[1]}
		}
	}
	return c.along([]int{1}, func(s tensor.Shape, k int, whole tensor.Shape) int {
		switch {
		case len(s) == 1 && s[0] == whole[1]:
			return 0
		case len(s) == len(whole) && s[k] == whole[k]:
			return k
		}
		return -1
	})
}

// routers are the formulas of networks of experts: which of them get a token, with which weights.
var routers = []formula{
	{name: "TopKRouter", class: Tabled, inputs: "x weight", cut: tokensCut, outputs: 2, compute: topKRouter, attrs: []attribute{{names: []string{"mode"}, closed: true, words: true,
		choices: oneOf("mode", true, Text("chosen"), Text("all"), Text("sigmoid"), Text("sigmoid_share")).choices}}},
}

// tokensCut sees the first input as tokens, along which it is cut. Outputs are the weights of the
// chosen experts and their numbers.
func tokensCut(p *problem, _ Attributes) *cutting {
	x, w, outs := p.Inputs[0].Shape, p.Inputs[1].Shape, p.Outputs
	if len(x) < 2 || len(w) != 2 || x[len(x)-1] != w[1] {
		return misfit("tokens of shape %s, experts of shape %s", x, w)
	}
	tokens := x[:len(x)-1].Elements()
	if len(outs) != 2 || isFloat(outs[1].DType) || !outs[1].Shape.Equal(outs[0].Shape) || len(outs[0].Shape) < 2 ||
		outs[0].Shape[:len(outs[0].Shape)-1].Elements() != tokens || outs[0].Shape[len(outs[0].Shape)-1] > w[0] {
		return misfit("outputs are not the weights and the numbers of some of %d experts for %d tokens", w[0], tokens)
	}
	c := seen(p)
	c.in[0].shape = tensor.Shape{tokens, w[1]}
	for i := range c.out {
		c.out[i].shape = tensor.Shape{tokens, outs[0].Shape[len(outs[0].Shape)-1]}
	}
	c.free = []free{{size: tokens, in: []span{{axis: 0}, {axis: -1}}, out: []span{{axis: 0}, {axis: 0}}}}
	return c
}

// topKRouter gives each token the experts whose rows it has the largest products with. Where
// rounding decides between experts those count that the NPU has.
func topKRouter(c *call) []*Array {
	x, w := c.in(0), c.in(1)
	if c.err != nil {
		return nil
	}
	logits := x.productWithRows(w).stepped()
	most := int(c.shapes[0][1])
	picked := logits.ranking(c.got[1], most)
	if c.err != nil {
		return nil
	}
	chosen := func(of *Array) *Array {
		experts := int(of.shape[1])
		return of.move(c.shapes[0], 0, func(i int) int { return i/most*experts + int(picked.v[i]) })
	}
	switch c.word("mode") {
	case "all":
		return []*Array{chosen(softmax(logits, false, 1)), picked}
	case "sigmoid":
		return []*Array{chosen(sigmoid(logits)), picked}
	case "sigmoid_share":
		s := chosen(sigmoid(logits))
		return []*Array{s.div(s.sum(1)), picked}
	}
	return []*Array{softmax(chosen(logits), false, 1), picked}
}

// productWithRows are the products of the rows of two matrices.
func (x *Array) productWithRows(w *Array) *Array {
	m, rows, inner := x.m, int(w.shape[0]), int(w.shape[1])
	z := m.array(tensor.Shape{x.shape[0], w.shape[0]})
	n := 1 + 2*math.Sqrt(float64(inner))
	for i := range z.v {
		if i%rows == 0 && m.stopped() {
			break
		}
		a, b := x.v[i/rows*inner:][:inner], w.v[i%rows*inner:][:inner]
		sum, size := 0.0, 0.0
		for k, v := range a {
			p := float64(v * b[k])
			sum, size = sum+p, size+math.Abs(p)
		}
		m.note(sum)
		z.set(i, sum, float64(m.narrow.acc*n*size), float64((float64(m.wide.acc*n)+float64(2*m.wide.inp))*size))
	}
	return z
}

// ranking are the columns of the largest elements of each row, in their order: those that the
// NPU has where rounding may have put them so.
func (x *Array) ranking(got *Array, most int) *Array {
	if x.m.err != nil {
		return x
	}
	columns := int(x.shape[1])
	_, tol := x.errs()
	out := x.m.exact(got.shape, x.m.alloc(len(got.v)))
	for row := range int(x.shape[0]) {
		if x.m.stopped() {
			break
		}
		v, e := x.v[row*columns:][:columns], tol[row*columns:][:columns]
		order := got.v[row*most:][:most]
		if !mayRank(v, e, order) {
			all := upTo(columns)
			slices.SortStableFunc(all, func(i, k int) int { return cmp.Compare(v[k], v[i]) })
			order = make([]float64, most)
			for i := range order {
				order[i] = float64(all[i])
			}
		}
		for i, k := range order {
			out.v[row*most+i] = k
		}
	}
	return out
}

// mayRank reports whether an order of some elements is that of their size, and all others are
// smaller, as far as that is known.
func mayRank(v, tol, order []float64) bool {
	left := upTo(len(v))
	for _, at := range order {
		k := slices.Index(left, int(at))
		if at != math.Trunc(at) || k < 0 {
			return false
		}
		left = slices.Delete(left, k, k+1)
		for _, other := range left {
			if v[other]-tol[other] > v[int(at)]+tol[int(at)] {
				return false
			}
		}
	}
	return true
}
