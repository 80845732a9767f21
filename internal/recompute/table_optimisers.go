package recompute

import (
	"context"
	"math"
)

// optimisers are the formulas of one step of an optimiser. The first inputs are the states, and the outputs are their
// new values.
var optimisers = []formula{
	optimiser("ApplyAdam", "var m v beta1_power beta2_power lr beta1 beta2 epsilon grad", applyAdam, flagAttribute("use_nesterov", false)).withNames("ApplyAdam ApplyAdamD", "").
		withNames("npu_apply_adam", "beta1_power beta2_power lr beta1 beta2 epsilon grad! use_locking:- use_nesterov=0 out:var!"),
	optimiser("ApplyAdamW", "var m v beta1_power beta2_power lr weight_decay beta1 beta2 epsilon grad max_grad_norm?", applyAdamW, flagAttribute("amsgrad", false), flagAttribute("maximize", false)).withNames("ApplyAdamW", "").
		withNames("npu_apply_adam_w", "beta1_power beta2_power lr weight_decay beta1 beta2 epsilon grad! max_grad_norm amsgrad=0 maximize=0 out:var!"),
	optimiser("ApplyMomentum", "var accum lr grad momentum", applyMomentum, flagAttribute("use_nesterov", false)).withNames("ApplyMomentum ApplyMomentumD", ""),
	optimiser("SGD", "var accum gradient lr momentum stat", applySGD, defaultNumber("dampening", 0), defaultNumber("weight_decay", 0), flagAttribute("nesterov", false)).withNames("SGD", "var gradient lr accum momentum stat"),
	optimiser("ApplyGradientDescent", "var alpha delta", func(c *call) []*Array {
		return []*Array{c.input(0).sub(c.setting(1).mul(c.input(2)))}
	}).withNames("ApplyGradientDescent", ""),
}

func optimiser(name, inputs string, step func(c *call) []*Array, attrs ...attribute) formula {
	return formula{name: name, class: Divided, noise: unbounded, inputs: inputs, cut: elementwiseCut, compute: step, attrs: attrs, updatesInputs: true, outputs: 3}
}

// setting returns an input with a scalar setting of the optimiser. Its kernel gets it rounded to float32.
func (c *call) setting(k int) *Array {
	return c.input(k).mapElements(func(v, x []float64) { copy(v, x) }, func(e, _, x, ex []float64, _ *bounds) {
		for i, s := range x {
			e[i] = ex[i] + float64(single*math.Abs(s))
		}
	})
}

// complement returns 1 - x.
func complement(x *Array) *Array { return x.neg().plus(1) }

// movingAverage returns the next moving average: share*old + (1-share)*next.
func movingAverage(old, next, share *Array) *Array {
	return old.mul(share).add(next.mul(complement(share)))
}

// applyAdam gets powers of beta1 and beta2 that include the current step.
func applyAdam(c *call) []*Array {
	grad, beta1, beta2 := c.input(9), c.setting(6), c.setting(7)
	m, v := movingAverage(c.input(1), grad, beta1), movingAverage(c.input(2), square(grad), beta2)
	step := m
	if c.isAttributeTrue("use_nesterov") {
		step = movingAverage(m, grad, beta1)
	}
	rate := c.setting(5).mul(complement(c.setting(4)).sqrt()).div(complement(c.setting(3)))
	return []*Array{c.input(0).sub(rate.mul(step).div(v.sqrt().add(c.setting(8)))), m, v}
}

// applyAdamW gets powers of beta1 and beta2 that do not include the current step, and applies weight decay.
func applyAdamW(c *call) []*Array {
	grad, lr, beta1, beta2 := c.input(10), c.setting(5), c.setting(7), c.setting(8)
	if c.isAttributeTrue("maximize") {
		grad = grad.neg()
	}
	m, v := movingAverage(c.input(1), grad, beta1), movingAverage(c.input(2), square(grad), beta2)
	most := v
	if c.isAttributeTrue("amsgrad") {
		most = c.input(11).max(v)
	}
	spread := most.div(complement(c.setting(4).mul(beta2))).sqrt().add(c.setting(9))
	kept := c.input(0).mul(complement(lr.mul(c.setting(6))))
	return []*Array{kept.sub(lr.div(complement(c.setting(3).mul(beta1))).mul(m.div(spread))), m, v}
}

func applyMomentum(c *call) []*Array {
	lr, grad, momentum := c.setting(2), c.input(3), c.setting(4)
	accum := c.input(1).mul(momentum).add(grad)
	step := accum
	if c.isAttributeTrue("use_nesterov") {
		step = grad.add(accum.mul(momentum))
	}
	return []*Array{c.input(0).sub(step.mul(lr)), accum}
}

// applySGD starts the accumulator with the gradient where stat is not 0.
func applySGD(c *call) []*Array {
	grad, lr, momentum := c.input(2).add(c.input(0).times(c.numberAttribute("weight_decay"))), c.setting(3), c.setting(4)
	accum := c.input(1).mul(momentum).add(grad.times(1 - c.numberAttribute("dampening")))
	accum = zeroNegatives(c.input(5)).selectWhere(grad, accum)
	step := accum
	if c.isAttributeTrue("nesterov") {
		step = grad.add(accum.mul(momentum))
	}
	return []*Array{c.input(0).sub(step.mul(lr)), accum}
}

// isOverwritten reports whether a state of an optimiser is identical to its new value: then the input was dumped
// after the step.
func (f *formula) isOverwritten(ctx context.Context, op *Operator) (bool, error) {
	if !f.updatesInputs {
		return false, nil
	}
	for k, out := range op.Outputs {
		in := op.Inputs[k]
		if in == nil || in.Stored != out.Stored || !in.Shape.Equal(out.Shape) {
			continue
		}
		if same, err := HaveSameBytes(ctx, in, out); same || err != nil {
			return same, err
		}
	}
	return false, nil
}
