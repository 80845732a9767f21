package recompute

import (
	"context"
	bits "encoding/binary"
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// sumTo is an array added up over the axes along which a shape is repeated to its own.
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
		x = x.stepped().sum(axes...)
	}
	return x.reshape(shape...)
}

// unrounded is an array of numbers before they were rounded to a type.
func (x *Array) unrounded(d tensor.DType) *Array {
	f := formatOf(d)
	return x.each(func(v, x []float64) { copy(v, x) }, func(e, v, _, _ []float64, _ *bounds) {
		for i, s := range v {
			e[i] = stepOf(&f, s) / 2
		}
	})
}

// summed formulas may be cut along the axes that the output has.
func summed(p *problem, _ Attributes) *cutting {
	c, all := seen(p), tensor.Shape(nil)
	for k, t := range p.Inputs {
		s, ok := broadcast(all, c.in[k].shape)
		if !ok {
			return misfit("input %d of shape %s, others of %s", k, t.Shape, all)
		}
		all = s
	}
	out := c.out[0].shape
	if s, ok := broadcast(all, out); !ok || s.Elements() != all.Elements() {
		return misfit("inputs give the shape %s, the output has %s", all, out)
	} else if len(out) > len(all) {
		all = s
	}
	for k, n := range all {
		to := right(out, k, all)
		if n == 1 || to < 0 {
			continue
		}
		f := free{size: n, out: []span{{axis: to}}}
		for _, v := range c.in {
			f.in = append(f.in, span{axis: right(v.shape, k, all)})
		}
		c.free = append(c.free, f)
	}
	return c
}

// alongLines sees gradients of lines along axes of the output, which is cut along the other axes, or
// along all.
func alongLines(all bool) cutter {
	return func(p *problem, h Attributes) *cutting {
		x, c := p.Outputs[0].Shape, seen(p)
		rest, kept := upTo(len(x)), slices.Clone(x)
		axes, ok := h["axes"].Value.Integers()
		for _, k := range axes {
			if k < 0 || k >= int64(len(x)) {
				ok = false
				break
			}
			kept[k] = 1
			if !all {
				rest = slices.DeleteFunc(rest, func(r int) bool { return r == int(k) })
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
		return c.along(rest, right)
	}
}

// perChannel sees one number for each channel in the output.
func perChannel(p *problem, _ Attributes) *cutting {
	x, c := p.Inputs[0].Shape, seen(p)
	if len(x) < 2 || p.Outputs[0].elements() != x[1] {
		return misfit("the output has the shape %s, the input %s", p.Outputs[0].Shape, x)
	}
	c.out[0].shape = tensor.Shape{x[1]}
	f := free{size: x[1], out: []span{{axis: 0}}}
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

// sameImages are cut along images and channels.
func sameImages(p *problem, _ Attributes) *cutting {
	x, dy := p.Outputs[0].Shape, p.Inputs[len(p.Inputs)-1].Shape
	if axes := len(x) - 2; axes < 1 || axes > mostSpatial || len(dy) != len(x) || !slices.Equal(dy[:2], x[:2]) || len(p.Inputs) > 1 && !p.Inputs[0].Shape.Equal(x) {
		return misfit("gradients of shape %s for images of shape %s", dy, x)
	}
	return seen(p).along([]int{0, 1}, same)
}

// ofForward is an attribute of the forward formula, whose output has the shape of the last input.
func ofForward(a attribute) attribute {
	own := a.choices
	a.choices = func(p *problem) []Attributes {
		q := *p.Operator
		q.Inputs, q.Outputs = slices.Clone(p.Inputs[:len(p.Inputs)-1]), p.Inputs[len(p.Inputs)-1:]
		if len(q.Inputs) == 0 {
			q.Inputs = p.Outputs[:1]
		}
		return own(&problem{Operator: &q, ctx: p.ctx})
	}
	return a
}

// axesOfGradient are as many of the last axes as the gradient of a weight has.
var axesOfGradient = choice("axes", func(p *problem) []Attributes {
	n := min(len(p.Outputs[0].Shape), p.rank())
	return []Attributes{{"axes": {integers(upTo(p.rank())[p.rank()-n:]...), FromShape}}}
})

// tie is the gate of elements at which a kernel may pass a gradient on, stop it, or pass half of it on.
var tie = math.NaN()

// gated is dy where a gate is 1, 0 where it is 0. At a tie it is what the NPU has, if that is possible.
func (c *call) gated(dy, gate *Array) *Array {
	z := gate.where(dy, c.number(0))
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
			z.v[i] = c.closer(c.got[0].v[i], z.v[i], c.closer(c.got[0].v[i], 0, dy.v[i]))
		}
	}
	return z
}

// inside is a gate of numbers between two others, with ties at both.
func inside(x, low, high *Array) *Array {
	return x.exactly(low, ahead).exactly(high.exactly(x, ahead), func(a, b float64) float64 {
		switch {
		case a == 0 || b == 0:
			return 0
		}
		return a + b - 1
	})
}

// ahead is a gate of numbers above others, with a tie where they are equal.
func ahead(x, y float64) float64 {
	if x == y {
		return tie
	}
	return flag(x > y)
}

// bell is height*exp(-steep*x*x), the slope of an erf.
func bell(x *Array, steep, height float64) *Array {
	return square(x).times(-steep).exp().times(height)
}

// swishSlope is the slope of x*sigmoid(scale*x).
func swishSlope(x *Array, scale float64) *Array {
	s := sigmoid(x.times(scale)).stepped()
	return s.add(x.times(scale).mul(s).mul(s.neg().plus(1)))
}

// geluSlope is the slope of a gelu, see gelu.
func geluSlope(x *Array, form string) *Array {
	if form != "tanh" {
		return x.times(math.Sqrt2 / 2).erf().plus(1).times(.5).add(x.mul(bell(x, .5, 1/math.Sqrt(2*math.Pi))))
	}
	const k, cubic = .7978845608028654, .044715
	t := x.add(square(x).mul(x).times(cubic)).times(k).tanh()
	slope := square(x).times(3 * cubic).plus(1).times(k)
	return t.plus(1).times(.5).add(x.times(.5).mul(square(t).neg().plus(1)).mul(slope))
}

// dropoutGrad passes on, scaled, what the forward call kept: what it dropped is 0 there.
func dropoutGrad(c *call) *Array {
	x, y, dy, p := c.in(0), c.in(1), c.in(2), c.num("p")
	if c.err != nil || !c.is("training") || p == 0 {
		return dy
	}
	if p >= 1 {
		return dy.times(0)
	}
	return c.gated(dy.times(1/(1-p)).beside(dy), x.exactly(y, func(x, y float64) float64 {
		if x == 0 {
			return tie
		}
		return flag(y != 0)
	}))
}

// matMulGrad is the gradient of the first factor of a product: dy times the second one turned.
func matMulGrad(p *problem, h Attributes) (*linear, lang.Sentence) {
	w, dy := p.Inputs[0], p.Inputs[1]
	turned, _ := h["transpose_x2"].Value.Number()
	if len(w.Shape) == 1 { // its axis is none of dy
		w, dy, turned = p.reshaped(w, tensor.Shape{w.elements(), 1}), p.reshaped(dy, append(slices.Clip(dy.Shape), 1)), 0
	}
	return p.product(dy, w, h, 0, 1-turned)
}

// matMulWeightGrad is the gradient of the second factor of a product: the first one turned times dy, or
// that turned. A factor that all matrices share is multiplied by all of their rows.
func matMulWeightGrad(p *problem, h Attributes) (*linear, lang.Sentence) {
	x, dy, out := p.Inputs[0], p.Inputs[1], p.Outputs[0].Shape
	turned, _ := h["transpose_x2"].Value.Number()
	if len(out) <= 2 && len(x.Shape) > 0 && x.elements() > 0 {
		k := x.Shape[len(x.Shape)-1]
		rows := x.elements() / k
		if dy.elements()%rows != 0 {
			return nil, lang.Say("matrices of %s and %s", x.Shape, dy.Shape)
		}
		x, dy = p.reshaped(x, tensor.Shape{rows, k}), p.reshaped(dy, tensor.Shape{rows, dy.elements() / rows})
	}
	if turned != 0 {
		return p.product(dy, x, h, 1, 0)
	}
	return p.product(x, dy, h, 1, 0)
}

// product is the product of two tensors that may be turned, times alpha.
func (p *problem) product(x1, x2 *Tensor, h Attributes, turned1, turned2 float64) (*linear, lang.Sentence) {
	p.kept(p.Inputs[0]) // all keep in one place
	q := *p.Operator
	q.Inputs, q.wholes = []*Tensor{x1, x2}, p.wholes
	with := Attributes{"transpose_x1": {Number(turned1), FromDefault}, "transpose_x2": {Number(turned2), FromDefault}}
	if alpha, ok := h["alpha"]; ok {
		with["alpha"], with["beta"] = alpha, Attribute{Number(1), FromDefault}
	}
	return matMul(&problem{Operator: &q, ctx: p.ctx}, with)
}

// scaled is a gradient times the weight of a norm, if it has one.
func (c *call) scaled(dy *Array) *Array {
	if c.has(1) {
		return dy.mul(c.weight(1))
	}
	return dy
}

// normalised is x divided by its spread along axes, about the mean if that is taken off, and what it was
// multiplied by.
func (c *call) normalised(x *Array, centred bool, axes ...int) (unit, scale *Array) {
	if !centred {
		scale = square(x).mean(axes...).plus(c.num("epsilon")).rsqrt()
		return x.mul(scale), scale
	}
	_, distance, variance := moments(x, axes...)
	scale = variance.plus(c.num("epsilon")).rsqrt()
	return distance.mul(scale), scale
}

// normGrad is the gradient of x of which g is the gradient after it was normalised.
func (c *call) normGrad(x, g *Array, centred bool, axes ...int) *Array {
	unit, scale := c.normalised(x, centred, axes...)
	rest := g.sub(unit.mul(unit.mul(g).mean(axes...)))
	if centred {
		rest = rest.sub(g.mean(axes...))
	}
	return rest.mul(scale)
}

// gammaGrad is the gradient of the weight of a norm along the last axes.
func (c *call) gammaGrad(centred bool, axes ...int) *Array {
	unit, _ := c.normalised(c.in(0), centred, axes...)
	return sumTo(unit.mul(c.in(1)), c.shapes[0])
}

// grouped is an array of images with their channels in groups, all elements of a group on the last axis.
func (c *call) grouped(x *Array) *Array {
	groups := int64(c.num("num_groups"))
	if c.err != nil || len(x.shape) < 2 || groups < 1 || x.shape[1]%groups != 0 {
		return c.fail("%d groups of shape %s", groups, x.shape)
	}
	return x.reshape(x.shape[0], groups, -1)
}

// spread hands the gradients of windows on to the elements below them: share is called for each window
// and plane with the place of its gradient and those of its elements.
func (c *call) shared(dy *Array, kernel []int64, under func(axis int, o, q int64) int64, share func(at int, below []int)) {
	in, out := c.shapes[0][2:], dy.shape[2:]
	size, _ := tensor.Shape(kernel).Count()
	if n, ok := slices.Concat(out, tensor.Shape(kernel)).Count(); !ok || n > mostBelow || size > mostElements {
		c.fail("%s windows of %s: want at most %d elements below them", out, tensor.Shape(kernel), mostBelow)
		return
	}
	planes, strides := int(dy.shape[:2].Elements()), in.Strides()
	plane, windows := int(in.Elements()), int(out.Elements())
	var below []int
	for o := range windows {
		if c.stopped() {
			return
		}
		coord := out.Coordinates(int64(o))
		below = below[:0]
		for q := range size {
			offset := int64(0)
			for k, i := range tensor.Shape(kernel).Coordinates(q) {
				place := under(k, coord[k], i)
				if place < 0 || place >= in[k] {
					offset = -1
					break
				}
				offset += place * strides[k]
			}
			if offset >= 0 {
				below = append(below, int(offset))
			}
		}
		for p := range planes {
			share(p*windows+o, below)
			for i := range below {
				below[i] += plane
			}
		}
	}
}

// collected are sums of shares in the shape of the output.
type collected struct {
	*call
	sum, size, count []float64
}

func (c *call) collect() *collected {
	n := int(c.shapes[0].Elements())
	s := &collected{c, c.alloc(n), c.alloc(n), c.alloc(n)}
	clear(s.sum)
	clear(s.size)
	clear(s.count)
	return s
}

func (s *collected) add(k int, v float64) {
	s.sum[k] += v
	s.size[k] += math.Abs(v)
	s.count[k]++
}

// array has the bounds of sums one after the other of shares that were rounded.
func (s *collected) array() *Array {
	z := s.call.array(s.shapes[0])
	for i, v := range s.sum {
		n := float64(s.size[i] * (s.count[i] + 1))
		z.set(i, v, float64(s.narrow.u*n)+float64(s.narrow.td*s.size[i]), float64(s.wide.u*n)+float64(s.wide.td*s.size[i]))
	}
	return z
}

// pooled is the geometry of a pool whose gradient is wanted.
func (c *call) pooled(dy *Array) (w window, under func(axis int, o, q int64) int64) {
	kernel := c.attrs["ksize"]
	k, _ := kernel.Value.Integers()
	w, ok := windowOf(c.attrs, k)
	if c.err != nil || !ok || len(k) != len(dy.shape)-2 {
		c.fail("ksize %s, %s for images of shape %s", kernel.Value, c.attrs.geometry(), dy.shape)
		return w, nil
	}
	in, out := c.shapes[0][2:], dy.shape[2:]
	for i := range k {
		if k[i] < 1 || w.extent(i) > in[i]+2*w.before[i]+1 || !w.fits(i, in[i], out[i]) {
			c.fail("ksize %s, %s do not make images of %s of %s", kernel.Value, c.attrs.geometry(), out, in)
			return w, nil
		}
	}
	return w, func(axis int, o, q int64) int64 { return o*w.stride[axis] - w.before[axis] + q*w.dilation[axis] }
}

// maxPoolGrad hands each gradient on to the largest element of its window: to any of several that are
// equal.
func (c *call) maxPoolGrad() *Array {
	x, dy := c.in(0), c.in(1)
	w, under := c.pooled(dy)
	if c.err != nil {
		return dy
	}
	c.selects = true
	s, low, high := c.collect(), make([]float64, len(x.v)), make([]float64, len(x.v))
	c.shared(dy, w.kernel, under, func(at int, below []int) {
		if len(below) == 0 {
			return
		}
		largest, ties := below[0], 1
		for _, k := range below[1:] {
			switch {
			case x.v[k] > x.v[largest] || x.v[k] != x.v[k]:
				largest, ties = k, 1
			case x.v[k] == x.v[largest]:
				ties++
			}
		}
		if ties == 1 {
			s.add(largest, dy.v[at])
			return
		}
		for _, k := range below {
			if x.v[k] == x.v[largest] {
				if dy.v[at] != dy.v[at] { // it goes to any of them
					s.sum[k] = dy.v[at]
				}
				low[k], high[k] = low[k]+min(0, dy.v[at]), high[k]+max(0, dy.v[at])
				s.size[k] += math.Abs(dy.v[at])
				s.count[k]++
			}
		}
	})
	for k := range s.sum {
		if low[k] < high[k] && len(c.got) > 0 && len(c.got[0].v) == len(s.sum) {
			s.sum[k] += min(max(c.got[0].v[k]-s.sum[k], low[k]), high[k])
		}
	}
	return s.array()
}

// avgPoolGrad hands a share of each gradient on to all elements of its window.
func (c *call) avgPoolGrad() *Array {
	dy := c.in(0)
	w, under := c.pooled(dy)
	if c.err != nil {
		return dy
	}
	in, out, s := c.shapes[0][2:], dy.shape[2:], c.collect()
	windows := int(out.Elements())
	c.shared(dy, w.kernel, under, func(at int, below []int) {
		n := float64(len(below))
		if !c.is("exclusive") {
			n = 1
			for axis, o := range out.Coordinates(int64(at % windows)) {
				inside := 0
				for q := range w.kernel[axis] {
					if place := under(axis, o, q); place >= -w.before[axis] && place < in[axis]+w.before[axis] {
						inside++
					}
				}
				n *= float64(inside)
			}
		}
		if d := c.num("divisor"); d != 0 {
			n = d
		}
		for _, k := range below {
			s.add(k, dy.v[at]/n)
		}
	})
	return s.array()
}

// adaptiveGrad is the gradient of adaptive, whose windows share an image as evenly as can be.
func (c *call) adaptiveGrad() *Array {
	dy := c.in(0)
	if c.err != nil {
		return dy
	}
	in, out, s := c.shapes[0][2:], dy.shape[2:], c.collect()
	begin := func(axis int, o int64) int64 { return o * in[axis] / out[axis] }
	end := func(axis int, o int64) int64 { return ((o+1)*in[axis] + out[axis] - 1) / out[axis] }
	kernel := make([]int64, len(in))
	for k, n := range out {
		for o := range n {
			kernel[k] = max(kernel[k], end(k, o)-begin(k, o))
		}
	}
	c.shared(dy, kernel, func(axis int, o, q int64) int64 {
		if at := begin(axis, o) + q; at < end(axis, o) {
			return at
		}
		return -1
	}, func(at int, below []int) {
		for _, k := range below {
			s.add(k, dy.v[at]/float64(len(below)))
		}
	})
	return s.array()
}

// inverse is the order of axes that takes another one back, nil for one that is none.
func inverse(perm []int) []int {
	back := slices.Repeat([]int{-1}, len(perm))
	for i, k := range perm {
		if k < 0 || k >= len(perm) {
			return nil
		}
		back[k] = i
	}
	return back
}

// inversePermutations lists the orders of axes of the forward call.
func inversePermutations(p *problem) []Attributes {
	all := permutations(p)
	for _, h := range all {
		perm, _ := h["perm"].Value.Integers()
		h["perm"] = Attribute{integers(inverse(toInts(perm))...), h["perm"].Source}
	}
	return all
}

// mostEmbeddingCells is how many parts of the gradient of a large embedding are computed.
const mostEmbeddingCells = 1 << 8

// rowsOfEmbedding sees the rows of the output along an axis, and what is before and behind it.
func rowsOfEmbedding(p *problem, h Attributes) *cutting {
	c, out, n := seen(p), p.Outputs[0].Shape, p.Inputs[0].elements()
	k, ok := axisIn(h, len(out))
	if !ok || n == 0 {
		return misfit("axis %s of shape %s", h["axis"].Value, out)
	}
	before, behind := out[:k].Elements(), out[k+1:].Elements()
	if p.Inputs[1].elements() != before*n*behind {
		return misfit("gradients of shape %s for indices of %s and rows of %s", p.Inputs[1].Shape, p.Inputs[0].Shape, out)
	}
	c.in[0].shape, c.in[1].shape, c.out[0].shape = tensor.Shape{n}, tensor.Shape{before, n, behind}, tensor.Shape{before, out[k], behind}
	for axis, size := range c.out[0].shape {
		from := axis
		if axis == 1 {
			from = -1
		}
		c.free = append(c.free, free{size: size, in: []span{{axis: -1}, {axis: from}}, out: []span{{axis: axis}}})
	}
	c.most = mostEmbeddingCells
	return c
}

// embeddingGrad adds up the gradients of each row that indices chose. The row for padding has none.
func (c *call) embeddingGrad() *Array {
	indices, dy, shape := c.in(0), c.in(1), c.shapes[0]
	if c.err != nil {
		return dy
	}
	padding, pads := c.attrs["padding_idx"].Value.Number()
	times := map[float64]float64{}
	for _, v := range indices.v {
		times[v]++
	}
	s, n := c.collect(), len(indices.v)
	behind := int(shape[2])
	for i, v := range indices.v {
		row := int(v) - int(c.lo[1])
		if v != math.Trunc(v) || v < 0 {
			return c.fail("index %v", v)
		}
		if row < 0 || row >= int(shape[1]) || pads && v == padding {
			continue
		}
		scale := 1.0
		if c.is("scale_grad_by_freq") {
			scale = times[v]
		}
		for o := range int(shape[0]) {
			for k := range behind {
				s.add((o*int(shape[1])+row)*behind+k, dy.v[(o*n+i)*behind+k]/scale)
			}
		}
	}
	return s.array()
}

// crossEntropyGrad is the gradient of the logits of a cross entropy, or of the logarithms of a likelihood.
func (c *call) crossEntropyGrad(softened bool) *Array {
	x, dy := c.in(0), c.in(3)
	if c.err != nil || len(x.shape) == 0 {
		return c.fail("logits of shape %s", x.shape)
	}
	axis := min(1, len(x.shape)-1)
	wanted, total := c.wanted(x.shape, axis, softened)
	if c.err != nil {
		return x
	}
	switch c.word("reduction") {
	case "mean":
		dy = dy.div(c.number(total))
	case "sum":
	default:
		kept := slices.Clone(x.shape)
		kept[axis] = 1
		dy = dy.reshape(kept...)
	}
	if !softened {
		return wanted.mul(dy).neg()
	}
	return softmax(x, true, axis).stepped().exp().mul(wanted.sum(axis)).sub(wanted).mul(dy)
}

// wanted is the distribution of classes that a cross entropy wants, times the weights of the classes, and
// what its mean is divided by.
func (c *call) wanted(shape tensor.Shape, axis int, softened bool) (all *Array, total float64) {
	target, classes, inner := c.in(1), int(shape[axis]), int(shape[axis+1:].Elements())
	weight := func(class int) float64 {
		if c.has(2) && class < len(c.in(2).v) {
			return c.in(2).v[class]
		}
		return 1
	}
	smoothing := 0.0
	if softened {
		smoothing = c.num("label_smoothing")
	}
	all = c.exact(shape, c.alloc(int(shape.Elements())))
	n := len(all.v) / max(1, classes)
	if c.has(2) && len(c.in(2).v) != classes || len(target.v) != n && len(target.v) != len(all.v) {
		return c.fail("targets of shape %s for logits of shape %s", target.shape, shape), 0
	}
	if isFloat(c.types[1]) {
		for i := range all.v {
			all.v[i] = float64((float64(target.v[i%len(target.v)]*(1-smoothing)) + smoothing/float64(classes)) * weight(i/inner%classes))
		}
		return all, float64(n)
	}
	clear(all.v)
	for i, v := range target.v[:n] {
		if v == c.num("ignore_index") {
			continue
		}
		if v != math.Trunc(v) || v < 0 || v >= float64(classes) {
			return c.fail("class %v of %d", v, classes), 0
		}
		total += weight(int(v))
		for class := range classes {
			all.v[(i/inner*classes+class)*inner+i%inner] = smoothing / float64(classes) * weight(class)
		}
		all.v[(i/inner*classes+int(v))*inner+i%inner] += float64((1 - smoothing) * weight(int(v)))
	}
	return all, total
}

// lossGrad returns the row of the gradient of a loss of two inputs: the slope of the loss of an element
// times the share of the element in what was reduced.
func lossGrad(name, inputs string, f func(c *call) *Array, attrs ...attribute) formula {
	return gradient(name, inputs, uncut, func(c *call) *Array {
		slope, dy := f(c), c.in(len(c.inputs)-1)
		if c.err != nil || len(slope.shape) == 0 && c.word("reduction") == "batchmean" {
			return c.fail("reduction %q", c.word("reduction"))
		}
		switch c.word("reduction") {
		case "mean":
			dy = dy.div(c.number(float64(len(slope.v))))
		case "batchmean":
			dy = dy.div(c.number(float64(max(1, slope.shape[0]))))
		}
		return slope.mul(dy)
	}, append(attrs, ofForward(lossReduction))...).ofKernels().unnamed()
}

// moveGrad is the formula of gradients that go back to where a copy took its elements from: pairs of the
// places in the input, counted from firstPlace, and gradients.
const moveGrad, firstPlace = "MoveGrad", 1 << 52

func (c *call) moveGrad() *Array {
	s := c.collect()
	for k := 0; k+1 < len(c.inputs); k += 2 {
		from, dy := c.in(k), c.in(k+1)
		if c.err != nil || len(from.v) != len(dy.v) {
			return c.fail("gradients of shape %s for shape %s", dy.shape, from.shape)
		}
		for i, place := range from.v {
			if at := place - firstPlace; at >= 0 && at < float64(len(s.sum)) {
				s.add(int(at), dy.v[i])
			}
		}
	}
	for i, n := range s.count { // copies are exact
		if n <= 1 {
			s.size[i] = 0
		}
	}
	return s.array()
}

// placesOf are the numbers of elements as a tensor, from firstPlace on; nowhere is 0 in their place.
type placesOf int64

// ReadElements implements layout.Source.
func (p placesOf) ReadElements(dst []byte, first int64) error {
	for i := range len(dst) / 8 {
		bits.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(float64(int64(p)+first+int64(i))))
	}
	return nil
}

// GradientOfMove makes the operator that gives the gradient of an input of a copy, of the gradients of its
// outputs, nil for those without one. The reason says why there is none: the forward call is too large, or
// is not a copy that is right.
func GradientOfMove(ctx context.Context, forward *Operator, of *Tensor, grads []*Tensor, gradient *Tensor) (*Operator, Reason, error) {
	f := formulaOf(forward.Formula)
	if refuse(f, forward) != nil {
		return nil, NoAttributes, nil
	}
	if max(of.elements(), forward.Outputs[0].elements()) > mostElements {
		return nil, OverBudget, nil
	}
	j := newJudge(ctx, forward, f)
	best, _, _, err := j.choose(j.hypotheses())
	if err != nil || best == nil || !best.explains() {
		return nil, NoAttributes, err
	}
	inputs := slices.Clone(forward.Inputs)
	for i, t := range inputs {
		switch {
		case t == nil || t != of && !isFloat(t.DType):
		case t == of:
			inputs[i] = &Tensor{DType: tensor.Float64, Stored: tensor.Float64, Shape: t.Shape, Source: placesOf(firstPlace)}
		default:
			inputs[i] = &Tensor{DType: tensor.Float64, Stored: tensor.Float64, Shape: t.Shape, Source: constantSource(0)}
		}
	}
	places, err := expect(ctx, forward.With(inputs), f, best.attrs)
	if err != nil || places == nil {
		return nil, NoAttributes, err
	}
	op := &Operator{Formula: moveGrad, Outputs: []*Tensor{gradient}, Attributes: Attributes{}, Called: true, Fused: new(bool)}
	for k, out := range forward.Outputs {
		if k < len(grads) && grads[k] != nil && places.Values[k] != nil {
			from := &Tensor{DType: tensor.Float64, Stored: tensor.Float64, Shape: out.Shape, Source: doubles(places.Values[k])}
			op.Inputs = append(op.Inputs, from, grads[k])
		}
	}
	return op, NoReason, nil
}

// As is an operator that autocast runs in a type: wider inputs are rounded first, and a wider output holds
// its numbers.
func (o *Operator) As(d tensor.DType) *Operator {
	format := formatOf(d)
	isWider := func(t *Tensor) bool { return t != nil && formatOf(t.DType).Mantissa > format.Mantissa }
	if !isFloat(d) {
		return o
	}
	inputs := slices.Clone(o.Inputs)
	for i, t := range inputs {
		if !isWider(t) {
			continue
		}
		if f, err := newFeed(t, view{shape: t.Shape}); err == nil {
			inputs[i] = &Tensor{DType: d, Stored: tensor.Float64, Shape: t.Shape, Source: &roundedTo{f, format}}
		}
	}
	as := o.With(inputs)
	as.Outputs = slices.Clone(o.Outputs)
	for i, t := range as.Outputs {
		if isWider(t) {
			one := *t
			one.DType, as.Outputs[i] = d, &one
		}
	}
	return as
}

// roundedTo are the elements of a tensor in another type.
type roundedTo struct {
	*feed
	format tensor.Float
}

// ReadElements implements layout.Source.
func (r *roundedTo) ReadElements(dst []byte, first int64) error {
	v, err := r.values64(first, int64(len(dst)/8))
	if err != nil {
		return err
	}
	r.format.RoundAll(v)
	return doubles(v).ReadElements(dst, 0)
}

// doubles are numbers as the elements of a tensor.
type doubles []float64

// ReadElements implements layout.Source.
func (d doubles) ReadElements(dst []byte, first int64) error {
	for i := range len(dst) / 8 {
		bits.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(d[first+int64(i)]))
	}
	return nil
}
