package recompute

import (
	"math"
	"slices"

	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// lineOperators are the formulas of sums, norms, moments and orders of lines.
var lineOperators = []formula{
	{name: "ReduceStd", class: Norm, noise: unbounded, inputs: "x", cut: lineCut, compute: oneOutput(func(c *call) *Array { return c.variance().sqrt() }), attrs: []attribute{reducedAxes, correction}, forms: []nameGroup{newNameGroup("ReduceStd", "", &optype.Type{Noise: optype.NoiseReduce}), newNameGroup("std", "dim:axes unbiased:correction=1 keepdim:-", spreads), newNameGroup("std", "dim:axes correction=1 keepdim:-", spreads), newNameGroup("std", "unbiased:correction", spreads)}},
	{name: "ReduceVar", class: Norm, noise: unbounded, inputs: "x", cut: lineCut, compute: oneOutput((*call).variance), attrs: []attribute{reducedAxes, correction}, forms: []nameGroup{newNameGroup("var", "dim:axes unbiased:correction=1 keepdim:-", spreads), newNameGroup("var", "dim:axes correction=1 keepdim:-", spreads), newNameGroup("var", "unbiased:correction", spreads)}},
	{name: "LpNorm", class: Reduced, noise: unbounded, inputs: "x", cut: lineCut, read: readNormOrder, compute: oneOutput(func(c *call) *Array { return c.input(0).norm(c.numberAttribute("p"), c.integerAttributes("axes")...) }), attrs: []attribute{reducedAxes, realNumber("p", 2, 1)}, forms: []nameGroup{newNameGroup("LpNorm", "", &optype.Type{Noise: optype.NoiseReduce}), newNameGroup("LpNormV2", ""), newNameGroup("linalg_norm linalg_vector_norm", "ord:p=2 dim:axes keepdim:-", spreads), newNameGroup("norm", "p=2 dim:axes keepdim:-", spreads), newNameGroup("linalg.norm linalg.vector_norm", "dim:axes keepdim:-"), newNameGroup("vector_norm", "ord:p=2 dim:axes keepdim:-")}},
	{name: "LpNormalize", class: Norm, noise: unbounded, inputs: "x", cut: lineCut, compute: oneOutput(func(c *call) *Array {
		x := c.input(0)
		return x.div(x.norm(c.numberAttribute("p"), c.integerAttributes("axes")...).atLeast(c.numberAttribute("epsilon")))
	}), attrs: []attribute{anyAxes, defaultNumber("p", 2), epsilon(1e-12)}, forms: []nameGroup{newNameGroup("normalize", "p=2 dim:axes=1 eps:epsilon=1e-12", &optype.Type{Class: optype.Normalise, Parameters: 1<<1 | 1<<2 | 1<<3, Trait: optype.KeepsMean})}},
	reduction("ReduceLogSumExp", Tabled, func(x *Array, axes ...int) *Array {
		top := x.largest(axes...).mapKeepingErrors(elementLoop(func(v float64) float64 { return min(max(v, -math.MaxFloat64), math.MaxFloat64) }))
		return x.sub(top).exp().sum(axes...).log().add(top)
	}).withNames("ReduceLogSumExp", "x axes!").withNames("logsumexp", "dim:axes keepdim:-", &optype.Type{Noise: optype.NoiseExponent}),
	reduction("ReduceAll", Integral, func(x *Array, axes ...int) *Array {
		return indicator(func(v float64) bool { return v != 0 })(x).smallest(axes...)
	}).withNames("ReduceAll", "x axes!").withNames("ReduceAllD", "x").withNames("all", "dim:axes keepdim:-"),
	reduction("ReduceAny", Integral, func(x *Array, axes ...int) *Array {
		return indicator(func(v float64) bool { return v != 0 })(x).largest(axes...)
	}).withNames("ReduceAny", "x axes!").withNames("ReduceAnyD", "x").withNames("any", "dim:axes keepdim:-"),
	reduction("CountNonzero", Integral, func(x *Array, axes ...int) *Array {
		return indicator(func(v float64) bool { return v != 0 })(x).sum(axes...)
	}).withNames("count_nonzero", "dim:axes"),
	{name: "AMinMax", class: Exact, inputs: "x", cut: lineCut, outputs: 2, compute: func(c *call) []*Array {
		axes := c.integerAttributes("axes")
		return []*Array{c.input(0).smallest(axes...), c.input(0).largest(axes...)}
	}, attrs: []attribute{reducedAxes}, forms: []nameGroup{newNameGroup("aminmax", "dim:axes keepdim:-")}},
	{name: "Softmin", class: Tabled, noise: unbounded, inputs: "x", cut: lineCut, compute: oneOutput(func(c *call) *Array { return softmax(c.input(0).neg(), false, c.integerAttributes("axes")...) }), attrs: []attribute{anyAxes}, forms: []nameGroup{newNameGroup("softmin", "dim:axes"), newNameGroup("nn.Softmin", "")}},
	{name: "Cumprod", class: Reduced, noise: unbounded, inputs: "x", cut: lineCut, compute: oneOutput(cumprod), attrs: []attribute{lastAxes, flagAttribute("exclusive", false), flagAttribute("reverse", false)}, forms: []nameGroup{newNameGroup("Cumprod", "x axes!"), newNameGroup("CumprodD", "x"), newNameGroup("cumprod", "dim:axes :exclusive=0 :reverse=0")}},
	{name: "Sort", class: Exact, inputs: "x", cut: lineCut, outputs: 2, compute: func(c *call) []*Array { return c.sort(c.got[len(c.got)-1]) }, attrs: []attribute{lastAxes, flagAttribute("descending", false)}, forms: []nameGroup{newNameGroup("Sort", "", sorting), newNameGroup("sort", "dim:axes=-1 descending=0 stable:-", sorting)}},
	{name: "ArgSort", class: Integral, inputs: "x", cut: lineCut, compute: func(c *call) []*Array { return c.sort(c.got[0])[1:] }, attrs: []attribute{lastAxes, flagAttribute("descending", false)}, forms: []nameGroup{newNameGroup("argsort", "dim:axes=-1 descending=0 stable:-", indices)}},
}

// correction is subtracted from the divisor of a variance: 1 for the sample variance.
var correction = oneOf("correction", Number(1), Number(0))

// variance returns the mean squared distance from the mean, divided by n minus the correction.
func (c *call) variance() *Array {
	x, axes := c.input(0), c.integerAttributes("axes")
	_, distance, _ := moments(x, axes...)
	sum := square(distance).sum(axes...)
	if c.err != nil || len(sum.v) == 0 {
		return sum
	}
	return sum.div(c.number(float64(len(x.v)/len(sum.v)) - c.numberAttribute("correction")))
}

// readNormOrder converts the name of a norm to its order.
func readNormOrder(_ *problem, raw Attributes) Attributes {
	p, ok := raw["p"]
	if !ok || p.Value.Text != "fro" {
		return raw
	}
	return raw.merge(Attributes{"p": {Number(2), p.Source}})
}

// norm returns the p-norm along axes: 0 counts elements that are not 0, infinities give the largest or smallest
// absolute value.
func (x *Array) norm(p float64, axes ...int) *Array {
	switch {
	case math.IsInf(p, 1):
		return x.abs().largest(axes...)
	case math.IsInf(p, -1):
		return x.abs().smallest(axes...)
	case p == 0:
		return indicator(func(v float64) bool { return v != 0 })(x).sum(axes...)
	case p == 1:
		return x.abs().sum(axes...)
	case p == 2:
		sum := square(x).sum(axes...)
		x.m.recordIntermediate(squareSums, sum, 1)
		return sum.sqrt()
	}
	return x.abs().pow(x.m.number(p)).sum(axes...).pow(x.m.number(1 / p))
}

// cumprod returns for each element the product of all elements up to it; with exclusive the product of the elements
// before it.
func cumprod(c *call) *Array {
	x := c.input(0)
	z := c.array(x.shape)
	x.eachLine(c.integerAttributes("axes"), func(_, first int, beside []int) {
		product := 1.0
		for n := range beside {
			k := first + beside[n]
			if c.isAttributeTrue("reverse") {
				k = first + beside[len(beside)-1-n]
			}
			before := product
			product = float64(product * x.v[k])
			v := product
			if c.isAttributeTrue("exclusive") {
				v = before
			}
			c.trackMagnitude(v)
			off := float64(float64(n+1) * math.Abs(v))
			z.set(k, v, float64(c.narrow.u*off)+c.narrow.eta, float64(c.wide.u*off)+c.wide.eta)
		}
	})
	return z
}

// sort returns the sorted elements of each line and their indices. Equal elements come in the NPU's order, got.
func (c *call) sort(got *Array) []*Array {
	x := c.input(0)
	if c.err != nil {
		return nil
	}
	values, places := c.exactArray(x.shape, c.alloc(len(x.v))), c.exactArray(x.shape, c.alloc(len(x.v)))
	descending := c.isAttributeTrue("descending")
	x.eachLine(c.integerAttributes("axes"), func(_, first int, beside []int) {
		order := sortLine(x, first, beside, descending)
		if len(got.v) == len(x.v) {
			to := slices.Clone(beside)
			for i := range to {
				to[i] += first
			}
			order = sortedOrder(x, got, to, first, beside, order)
		}
		place := make(map[int]int, len(beside))
		for i, k := range beside {
			place[first+k] = i
		}
		for i, k := range order {
			to := first + beside[i]
			values.v[to], places.v[to] = x.v[k], float64(place[k])
		}
	})
	return []*Array{values, places}
}

// sortedOrder returns the NPU's order of the elements of a line if it is a permutation with the same values as order,
// else order. got has the NPU's indices at the positions to.
func sortedOrder(x, got *Array, to []int, first int, beside, order []int) []int {
	own, used := make([]int, len(order)), make([]bool, len(beside))
	for i := range order {
		y := got.v[to[i]]
		if y != math.Trunc(y) || y < 0 || y >= float64(len(beside)) || used[int(y)] {
			return order
		}
		used[int(y)] = true
		if own[i] = first + beside[int(y)]; compareNumbers(x.v[own[i]], x.v[order[i]]) != 0 {
			return order
		}
	}
	return own
}

// Losses are not cut: the tensors of a network's losses are small.
var losses = []formula{
	{name: "CrossEntropy", class: Tabled, noise: unbounded, inputs: "x target weight?", cut: uncut, compute: oneOutput(crossEntropy), attrs: []attribute{ignoreIndex, labelSmoothing, lossReduction}, forms: []nameGroup{newNameGroup("CrossEntropyLoss", "", &optype.Type{Noise: optype.NoiseLoss}), newNameGroup("cross_entropy", "target! weight size_average:- ignore_index=-100 reduce:- reduction=mean label_smoothing=0", &optype.Type{Noise: optype.NoiseLoss}), newNameGroup("nn.CrossEntropyLoss", "target!", &optype.Type{Noise: optype.NoiseLoss})}},
	{name: "SoftmaxCrossEntropyWithLogits", class: Tabled, noise: unbounded, inputs: "x labels", cut: uncut, outputs: 2, compute: func(c *call) []*Array {
		x, labels := c.input(0), c.input(1)
		last := len(x.shape) - 1
		if c.err != nil || last < 0 {
			return []*Array{c.fail("logits of shape %s", x.shape)}
		}
		return []*Array{softmax(x, true, last).mul(labels).sum(last).neg().reshape(x.shape[:last]...), softmax(x, false, last).sub(labels)}
	}, forms: []nameGroup{newNameGroup("SoftmaxCrossEntropyWithLogits", "", &optype.Type{Noise: optype.NoiseLoss})}},
	{name: "SparseSoftmaxCrossEntropyWithLogits", class: Tabled, noise: unbounded, inputs: "x target", cut: uncut, outputs: 2, compute: func(c *call) []*Array {
		x := c.input(0)
		last := len(x.shape) - 1
		c.attrs = c.attrs.merge(Attributes{"reduction": {Text("none"), FromDefault}, "ignore_index": {Number(-1), FromDefault}})
		if c.err != nil || last != 1 {
			return []*Array{c.fail("logits of shape %s", x.shape)}
		}
		classes := c.exactArray(tensor.Shape{1, x.shape[1]}, c.alloc(int(x.shape[1])))
		for i := range classes.v {
			classes.v[i] = float64(i)
		}
		chosen := c.input(1).reshape(-1, 1).compare(classes, func(x, y float64) bool { return x == y })
		return []*Array{c.classLosses(softmax(x, true, last), 0), softmax(x, false, last).sub(chosen)}
	}, forms: []nameGroup{newNameGroup("SparseSoftmaxCrossEntropyWithLogits", "", &optype.Type{Noise: optype.NoiseLoss})}},
	{name: "NLLLoss", class: Plain, noise: unbounded, inputs: "x target weight?", cut: uncut, compute: oneOutput(func(c *call) *Array { return c.classLosses(c.input(0), 0) }), attrs: []attribute{ignoreIndex, lossReduction}, forms: []nameGroup{newNameGroup("NLLLoss", "", &optype.Type{Noise: optype.NoiseLoss}), newNameGroup("nll_loss", "target! weight size_average:- ignore_index=-100 reduce:- reduction=mean", &optype.Type{Noise: optype.NoiseLoss}), newNameGroup("nn.NLLLoss", "target!", &optype.Type{Noise: optype.NoiseLoss}), newNameGroup("nll_loss_forward nll_loss2d_forward", "self:x! target! weight reduction:-==1 ignore_index=-100 :reduction=mean")}},
	loss("MseLoss", func(x, y *Array) *Array { return square(x.sub(y)) }).withNames("MseLoss", "", &optype.Type{Noise: optype.NoiseLoss}).withNames("mse_loss", "target:y! size_average:- reduce:- reduction=mean", &optype.Type{Noise: optype.NoiseLoss}).withNames("nn.MSELoss", "target:y!", &optype.Type{Noise: optype.NoiseLoss}),
	loss("L1Loss", func(x, y *Array) *Array { return x.sub(y).abs() }).withNames("LpLoss", "x y").withNames("l1_loss", "target:y! size_average:- reduce:- reduction=mean", &optype.Type{Noise: optype.NoiseLoss}).withNames("nn.L1Loss", "target:y!"),
	{name: "SmoothL1LossV2", class: Reduced, noise: unbounded, inputs: "x y", cut: uncut, compute: oneOutput(func(c *call) *Array {
		beta, d := c.numberAttribute("beta"), c.input(0).sub(c.input(1)).abs()
		if beta == 0 {
			return c.reduceLoss(d, nil)
		}
		return c.reduceLoss(isLower(d, beta).selectWhere(square(d).times(.5/beta), d.plus(-beta/2)), nil)
	}), attrs: []attribute{defaultNumber("beta", 1), lossReduction}, forms: []nameGroup{newNameGroup("SmoothL1LossV2", ""), newNameGroup("nn.SmoothL1Loss", "target:y!"), newNameGroup("smooth_l1_loss", "target:y! size_average:- reduce:- reduction=mean beta=1", &optype.Type{Noise: optype.NoiseLoss})}},
	{name: "HuberLoss", class: Reduced, noise: unbounded, inputs: "x y", cut: uncut, compute: oneOutput(func(c *call) *Array {
		delta, d := c.numberAttribute("delta"), c.input(0).sub(c.input(1)).abs()
		return c.reduceLoss(isLower(d, delta).selectWhere(square(d).times(.5), d.plus(-delta/2).times(delta)), nil)
	}), attrs: []attribute{defaultNumber("delta", 1), lossReduction}, forms: []nameGroup{newNameGroup("huber_loss", "target:y! reduction=mean delta=1"), newNameGroup("nn.HuberLoss", "target:y!")}},
	{name: "BinaryCrossEntropy", class: Tabled, noise: unbounded, inputs: "x y weight?", cut: uncut, compute: oneOutput(func(c *call) *Array {
		x, y := c.input(0), c.input(1)
		// PyTorch clamps the logarithms to at least -100.
		one := y.mul(x.log().atLeast(-100)).add(y.neg().plus(1).mul(x.neg().plus(1).log().atLeast(-100))).neg()
		return c.reduceLoss(c.weightLosses(one, 2), nil)
	}), attrs: []attribute{lossReduction}, forms: []nameGroup{newNameGroup("BinaryCrossEntropy", "", &optype.Type{Noise: optype.NoiseLoss}), newNameGroup("binary_cross_entropy", "target:y! weight size_average:- reduce:- reduction=mean", &optype.Type{Noise: optype.NoiseLoss}), newNameGroup("nn.BCELoss", "target:y!")}},
	{name: "SigmoidCrossEntropyWithLogitsV2", class: Tabled, noise: unbounded, inputs: "x y weight? pos_weight?", cut: uncut, compute: oneOutput(func(c *call) *Array {
		x, y := c.input(0), c.input(1)
		positive := softplus(x.neg()) // -log sigmoid(x)
		if c.hasInput(3) {
			positive = positive.mul(c.input(3))
		}
		one := y.mul(positive).add(y.neg().plus(1).mul(softplus(x)))
		return c.reduceLoss(c.weightLosses(one, 2), nil)
	}), attrs: []attribute{lossReduction}, forms: []nameGroup{newNameGroup("SigmoidCrossEntropyWithLogitsV2", ""), newNameGroup("SigmoidCrossEntropyWithLogits", "x y :reduction=none"), newNameGroup("binary_cross_entropy_with_logits", "target:y! weight size_average:- reduce:- reduction=mean pos_weight", &optype.Type{Noise: optype.NoiseLoss}), newNameGroup("nn.BCEWithLogitsLoss", "target:y! pos_weight")}},
	{name: "KLDiv", class: Tabled, noise: unbounded, inputs: "x y", cut: uncut, compute: oneOutput(func(c *call) *Array {
		x, y := c.input(0), c.input(1)
		if c.isAttributeTrue("log_target") {
			return c.reduceLoss(y.exp().mul(y.sub(x)), nil)
		}
		isZero := y.compare(c.number(0), func(x, y float64) bool { return x == y })
		return c.reduceLoss(isZero.selectWhere(c.number(0), y.mul(y.log().sub(x))), nil)
	}), attrs: []attribute{defaultNumber("log_target", 0), lossReduction}, forms: []nameGroup{newNameGroup("KLDiv", ""), newNameGroup("nn.KLDivLoss", "target:y!", &optype.Type{Noise: optype.NoiseLoss}), newNameGroup("kl_div", "target:y! size_average:- reduce:- reduction=mean log_target=0", &optype.Type{Noise: optype.NoiseLoss})}},
	{name: "PairwiseDistance", class: Reduced, noise: unbounded, inputs: "x y", cut: uncut, compute: oneOutput(func(c *call) *Array {
		d := c.input(0).sub(c.input(1)).plus(c.numberAttribute("epsilon"))
		return d.norm(c.numberAttribute("p"), len(d.shape)-1)
	}), attrs: []attribute{defaultNumber("p", 2), epsilon(1e-6)}, forms: []nameGroup{newNameGroup("nn.PairwiseDistance", "x1:x! x2:y!"), newNameGroup("pairwise_distance", "x1:x! x2:y! p=2 eps:epsilon=1e-6 keepdim:-")}},
	{name: "CosineSimilarity", class: Norm, noise: unbounded, inputs: "x y", cut: uncut, compute: oneOutput(func(c *call) *Array {
		x, y, axes := c.input(0), c.input(1), c.integerAttributes("axes")
		size := func(x *Array) *Array { return x.norm(2, axes...).atLeast(c.numberAttribute("epsilon")) }
		return x.mul(y).sum(axes...).div(size(x).mul(size(y)))
	}), attrs: []attribute{reducedAxes, epsilon(1e-8)}, forms: []nameGroup{newNameGroup("nn.CosineSimilarity", "x1:x! x2:y!"), newNameGroup("cosine_similarity", "x1:x! x2:y! dim:axes=1 eps:epsilon=1e-8")}},
}

// loss returns the row of a loss: the mean or sum of a function of two inputs.
func loss(name string, f func(x, y *Array) *Array) formula {
	return formula{name: name, class: Reduced, inputs: "x y", cut: uncut, compute: oneOutput(func(c *call) *Array { return c.reduceLoss(f(c.input(0), c.input(1)), nil) }), attrs: []attribute{lossReduction}}
}

// lossReduction is mean, sum, batchmean or none.
var lossReduction = closedAttribute("reduction", func(p *problem) []Attributes {
	if p.Outputs[0].elements() > 1 {
		return textAttribute("reduction", "none").choices(p)
	}
	return textAttribute("reduction", "mean sum batchmean none").choices(p)
}).withKind(textKind)

func isLower(x *Array, n float64) *Array {
	return x.compare(x.m.number(n), func(x, y float64) bool { return x < y })
}

// weightLosses multiplies losses by input k, if it is present.
func (c *call) weightLosses(x *Array, k int) *Array {
	if !c.hasInput(k) {
		return x
	}
	return x.mul(c.input(k))
}

// reduceLoss applies the reduction to the losses of all elements. The divisor of a mean is the sum of the weights, if
// there are any.
func (c *call) reduceLoss(x, weights *Array) *Array {
	if c.err != nil {
		return x
	}
	all := firstIntegers(len(x.shape))
	n := c.number(float64(len(x.v)))
	switch c.textAttribute("reduction") {
	case "none":
		return x
	case "sum":
		return x.sum(all...)
	case "batchmean":
		if len(x.shape) == 0 {
			return c.fail("reduction %q", c.textAttribute("reduction"))
		}
		n = c.number(float64(x.shape[0]))
	case "mean":
		if weights != nil {
			n = weights.sum(all...)
		}
	default:
		return c.fail("reduction %q", c.textAttribute("reduction"))
	}
	return x.sum(all...).div(n)
}

// crossEntropy is the loss of the softmax along axis 1, or along the only axis. Targets are classes or probabilities.
func crossEntropy(c *call) *Array {
	return c.reduceRowLosses(func(x, target *Array) (losses, weights *Array) {
		smoothing, axis := c.numberAttribute("label_smoothing"), min(1, len(x.shape)-1)
		logs := softmax(x, true, axis)
		if !isFloat(c.types[1]) {
			return c.classLossesAndWeights(logs, target, smoothing)
		}
		if smoothing != 0 {
			target = target.times(1 - smoothing).plus(smoothing / float64(x.shape[axis]))
		}
		if c.hasInput(2) {
			target = target.mul(alignChannels(x, c.input(2)))
		}
		if losses = logs.mul(target).sum(axis).neg(); c.err == nil {
			losses = losses.reshape(slices.Delete(slices.Clone(losses.shape), axis, axis+1)...)
		}
		return losses, nil
	})
}

// reduceRowLosses computes the losses of a few rows of logits and targets at a time, to save memory, and reduces them.
func (c *call) reduceRowLosses(f func(x, target *Array) (losses, weights *Array)) *Array {
	x, target := c.input(0), c.input(1)
	if c.err != nil || len(x.shape) == 0 {
		return c.fail("logits of shape %s", x.shape)
	}
	n := x.shape[0]
	if len(x.shape) == 1 || len(target.shape) == 0 || target.shape[0] != n || n == 0 {
		return c.reduceLoss(f(x, target))
	}
	var losses, weights *Array
	step := max(1, cellElements/max(1, x.shape[1:].Elements()))
	for first := int64(0); first < n && !c.isStopped(); first += step {
		rows, mark := min(step, n-first), c.mark()
		some, shares := f(x.firstAxisRange(first, rows), target.firstAxisRange(first, rows))
		if c.err != nil {
			return some
		}
		if losses == nil && rows == n {
			return c.reduceLoss(some, shares)
		}
		kept := [2][2]*Array{{losses, some}, {weights, shares}}
		for i, one := range kept {
			switch {
			case one[1] == nil:
			case one[0] == nil:
				kept[i][0] = &Array{m: x.m, shape: slices.Concat(tensor.Shape{n}, one[1].shape[1:])}
				fallthrough
			default:
				kept[i][0].append(one[1])
			}
		}
		losses, weights = kept[0][0], kept[1][0]
		c.release(mark)
	}
	return c.reduceLoss(losses, weights)
}

// firstAxisRange returns n elements of the first axis.
func (x *Array) firstAxisRange(first, n int64) *Array {
	size := x.shape[1:].Elements()
	from, to := int(first*size), int((first+n)*size)
	z := &Array{m: x.m, shape: slices.Concat(tensor.Shape{n}, x.shape[1:]), v: x.v[from:to]}
	if x.narrow != nil {
		z.narrow, z.wide = x.narrow[from:to], x.wide[from:to]
	}
	return z
}

// append appends rows.
func (x *Array) append(rows *Array) {
	a, b := rows.errorBounds()
	x.v, x.narrow, x.wide = append(x.v, rows.v...), append(x.narrow, a...), append(x.wide, b...)
}

// classLosses is the negative log-likelihood of the target class. With label smoothing all classes contribute.
func (c *call) classLosses(logs *Array, smoothing float64) *Array {
	target := c.input(1)
	if c.err != nil || len(logs.shape) == 0 {
		return c.fail("logits of shape %s", logs.shape)
	}
	return c.reduceLoss(c.classLossesAndWeights(logs, target, smoothing))
}

// classLossesAndWeights returns the losses of all elements and their weights in a mean.
func (c *call) classLossesAndWeights(logs, target *Array, smoothing float64) (losses, weights *Array) {
	if c.err != nil {
		return logs, nil
	}
	axis := min(1, len(logs.shape)-1)
	classes, inner := int(logs.shape[axis]), int(logs.shape[axis+1:].Elements())
	rest := slices.Delete(slices.Clone(logs.shape), axis, axis+1)
	if int64(len(target.v)) != rest.Elements() || c.hasInput(2) && len(c.input(2).v) != classes {
		return c.fail("targets of shape %s for logits of shape %s", target.shape, logs.shape), nil
	}
	ignored, from := c.numberAttribute("ignore_index"), make([]int, len(target.v))
	for i, v := range target.v {
		switch from[i] = -1; {
		case v == ignored:
		case v != math.Trunc(v) || v < 0 || v >= float64(classes):
			return c.fail("class %v of %d", v, classes), nil
		default:
			from[i] = (i/inner*classes+int(v))*inner + i%inner
		}
	}
	chosen := logs.gatherFrom(rest, 0, func(i int) int { return from[i] })
	weights = c.exactArray(rest, c.alloc(len(from)))
	all := c.number(1) // weights of all classes
	if c.hasInput(2) {
		all = alignChannels(logs, c.input(2))
	}
	for i, k := range from {
		switch weights.v[i] = 1; {
		case k < 0:
			weights.v[i] = 0
		case c.hasInput(2):
			weights.v[i] = c.input(2).v[int(target.v[i])]
		}
	}
	losses = chosen.mul(weights).neg()
	if smoothing != 0 {
		even := logs.mul(all).sum(axis).reshape(rest...).neg().times(smoothing / float64(classes))
		kept := indicator(func(v float64) bool { return v != ignored })(target).reshape(rest...)
		losses = losses.times(1 - smoothing).add(kept.selectWhere(even, c.number(0)))
	}
	return losses, weights
}
