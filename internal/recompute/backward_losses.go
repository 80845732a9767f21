package recompute

import (
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// crossEntropyGrad is the gradient of the logits of a cross entropy, or without softened of the log probabilities of
// NLLLoss.
func (c *call) crossEntropyGrad(softened bool) *Array {
	x, dy := c.input(0), c.input(3)
	if c.err != nil || len(x.shape) == 0 {
		return c.fail("logits of shape %s", x.shape)
	}
	axis := min(1, len(x.shape)-1)
	wanted, total := c.targetWeights(x.shape, axis, softened)
	if c.err != nil {
		return x
	}
	switch c.textAttribute("reduction") {
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
	return softmax(x, true, axis).roundBetweenSteps().exp().mul(wanted.sum(axis)).sub(wanted).mul(dy)
}

// lossRowCut is the cutter along the first axis of logits with several axes. Targets that are classes are not cut,
// because the divisor of the mean is the sum of the weights of all targets.
func lossRowCut(p *problem, _ Attributes) *cutRule {
	c, x := wholeTensors(p), p.Inputs[0].Shape
	if len(x) < 2 || !p.Outputs[0].Shape.Equal(x) {
		return c
	}
	f := freeAxis{size: x[0], out: []span{{axis: 0}}}
	for k, t := range p.Inputs {
		axis := -1
		if k == 0 || t != nil && (k == 1 && len(t.Shape) == len(x) || k == len(p.Inputs)-1 && len(t.Shape) > 0 && t.Shape[0] == x[0]) {
			axis = 0
		}
		f.in = append(f.in, span{axis: axis})
	}
	c.free = append(c.free, f)
	return c
}

// targetWeights returns the target distribution of a cross entropy times the class weights, and the divisor of its
// mean.
func (c *call) targetWeights(shape tensor.Shape, axis int, softened bool) (all *Array, total float64) {
	target, classes, inner := c.input(1), int(shape[axis]), int(shape[axis+1:].Elements())
	smoothing := 0.0
	if softened {
		smoothing = c.numberAttribute("label_smoothing")
	}
	all = c.exactArray(shape, c.alloc(int(shape.Elements())))
	n := len(all.v) / max(1, classes)
	first, targets := 0, n
	if len(c.lo) > 0 {
		first, targets = int(c.lo[0])*inner, int(c.free[0].size)*inner
	}
	hasClasses := !isFloat(c.types[1])
	if c.hasInput(2) && len(c.input(2).v) != classes || hasClasses && len(target.v) != targets || !hasClasses && len(target.v) != len(all.v) {
		return c.fail("targets of shape %s for logits of shape %s", target.shape, shape), 0
	}
	weight := func(class int) float64 {
		if c.hasInput(2) {
			return c.input(2).v[class]
		}
		return 1
	}
	if !hasClasses {
		for i := range all.v {
			all.v[i] = float64((float64(target.v[i]*(1-smoothing)) + smoothing/float64(classes)) * weight(i/inner%classes))
		}
		return all, float64(targets)
	}
	clear(all.v)
	for k, v := range target.v {
		if v == c.numberAttribute("ignore_index") {
			continue
		}
		if v != math.Trunc(v) || v < 0 || v >= float64(classes) {
			return c.fail("class %v of %d", v, classes), 0
		}
		total += weight(int(v))
		i := k - first
		if i < 0 || i >= n {
			continue
		}
		for class := range classes {
			all.v[(i/inner*classes+class)*inner+i%inner] = smoothing / float64(classes) * weight(class)
		}
		all.v[(i/inner*classes+int(v))*inner+i%inner] += float64((1 - smoothing) * weight(int(v)))
	}
	return all, total
}

// lossGrad returns the row of the gradient of a loss of two inputs: f is the derivative of an element's loss, which
// is multiplied by the element's share in the reduction.
func lossGrad(name, inputs string, f func(c *call) *Array, attrs ...attribute) formula {
	return gradientRow(name, inputs, uncut, func(c *call) *Array {
		slope, dy := f(c), c.input(len(c.inputs)-1)
		if c.err != nil || len(slope.shape) == 0 && c.textAttribute("reduction") == "batchmean" {
			return c.fail("reduction %q", c.textAttribute("reduction"))
		}
		switch c.textAttribute("reduction") {
		case "mean":
			dy = dy.div(c.number(float64(len(slope.v))))
		case "batchmean":
			dy = dy.div(c.number(float64(max(1, slope.shape[0]))))
		}
		return slope.mul(dy)
	}, append(attrs, forwardAttribute(lossReduction))...).withSeveralKernels().withoutNames()
}
