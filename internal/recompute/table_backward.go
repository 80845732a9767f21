package recompute

import (
	"math"
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/optype"
)

// Gradient is the formula of the gradient of an input and the source of its inputs.
type Gradient struct {
	// Formula is the formula of the gradient. It is empty for a copy, whose gradients are added at the source of each
	// element.
	Formula string
	// Inputs maps the inputs of Formula to inputs of the forward formula, ForwardOutput or OutputGradient.
	Inputs map[string]string
	// Gradients names the input of Formula for the gradient of the output.
	Gradients string
}

// Names for inputs of a gradient that come from other tensors than the inputs of the forward formula.
const (
	// ForwardOutput is the first output of the forward call, OutputGradient the gradient of this output.
	ForwardOutput  = "y"
	OutputGradient = "dy"
)

// gradients maps FORMULA INPUT to the formula of the gradient of the input. An input of the gradient that has another
// name in the forward formula follows as NAME=OTHER, an input without a counterpart as NAME=-. The gradients of
// copies that are not listed are computed by GradientOfMove.
var gradients = map[string]string{
	"Relu x": "ReluGrad", "Relu6 x": "Relu6Grad", "Abs x": "AbsGrad", "Neg x": "NegGrad", "Square x": "SquareGrad", "Sqrt x": "SqrtGrad", "Rsqrt x": "RsqrtGrad", "Reciprocal x": "ReciprocalGrad",
	"Exp x": "ExpGrad", "Log x": "LogGrad", "Sin x": "SinGrad", "Cos x": "CosGrad", "Tanh x": "TanhGrad", "Erf x": "ErfGrad", "Sigmoid x": "SigmoidGrad", "LogSigmoid x": "LogSigmoidGrad",
	"Swish x": "SwishGrad", "Gelu x": "GeluGrad", "Mish x": "MishGrad", "HardSwish x": "HardSwishGrad", "HardSigmoid x": "HardSigmoidGrad", "Elu x": "EluGrad", "LeakyRelu x": "LeakyReluGrad", "Softplus x": "SoftplusGrad",
	"FastGelu x": "FastGeluGrad", "ClipByValue x": "ClipByValueGrad", "Cast x": "Cast x=dy", "Dropout x": "DropoutGrad",
	"Add x1": "BroadcastGrad", "Add x2": "BroadcastGrad", "Sub x1": "BroadcastGrad", "Sub x2": "NegGrad", "Mul x1": "MulGrad", "Mul x2": "MulGrad x2=x1",
	"RealDiv x1": "DivGrad", "RealDiv x2": "DivisorGrad", "Pow x1": "PowGrad", "Maximum x1": "MaximumGrad", "Maximum x2": "MaximumGrad x1=x2 x2=x1", "Minimum x1": "MinimumGrad", "Minimum x2": "MinimumGrad x1=x2 x2=x1",
	"Axpy x1": "BroadcastGrad", "Axpy x2": "AxpyGrad", "SubScaled x1": "BroadcastGrad", "SubScaled x2": "SubScaledGrad",
	"FusedMulAdd x1": "MulGrad", "FusedMulAdd x3": "BroadcastGrad", "Addcmul x": "BroadcastGrad", "Addcmul x1": "AddcmulGrad", "Addcmul x2": "AddcmulGrad x2=x1",
	"SelectV2 x1": "SelectGrad", "SelectV2 x2": "MaskedFillGrad", "MaskedFill x": "MaskedFillGrad",
	"MatMul x1": "MatMulGrad", "MatMul x2": "MatMulWeightGrad", "MatMul bias": "BroadcastGrad",
	"Conv2D x": "Conv2DTranspose x=dy more=-", "Conv2D w": "Conv2DBackpropFilter out_backprop=dy", "Conv2D more": "ChannelsGrad", "Conv2DTranspose x": "Conv2D x=dy more=-", "Conv2DTranspose w": "Conv2DBackpropFilter x=dy out_backprop=x", "Conv2DTranspose more": "ChannelsGrad",
	"ReduceSum x": "ReduceSumGrad", "ReduceMean x": "ReduceMeanGrad", "ReduceLogSumExp x": "LogSumExpGrad", "LpNorm x": "LpNormGrad", "ReduceVar x": "VarGrad",
	"Softmax x": "SoftmaxGrad", "LogSoftmax x": "LogSoftmaxGrad",
	"LayerNorm x": "LayerNormGrad", "LayerNorm gamma": "LayerNormGammaGrad", "LayerNorm beta": "BroadcastGrad", "RmsNorm x": "RmsNormGrad", "RmsNorm gamma": "RmsNormGammaGrad",
	"BatchNorm x": "BatchNormGrad", "BatchNorm scale": "BatchNormScaleGrad", "BatchNorm offset": "ChannelsGrad", "BNInfer x": "BNInferGrad", "BNInfer scale": "BNInferScaleGrad", "BNInfer offset": "ChannelsGrad",
	"GroupNorm x": "GroupNormGrad", "GroupNorm gamma": "GroupNormGammaGrad", "GroupNorm beta": "ChannelsGrad",
	"MaxPool x": "MaxPoolGrad", "AvgPool x": "AvgPoolGrad", "AdaptiveAvgPool x": "AdaptiveAvgPoolGrad",
	"Identity x": "Identity x=dy", "Transpose x": "TransposeGrad", "Gather x": "EmbeddingDenseGrad",
	"CrossEntropy x": "CrossEntropyGrad", "NLLLoss x": "NLLLossGrad", "MseLoss x": "MseLossGrad", "L1Loss x": "L1LossGrad", "SmoothL1LossV2 x": "SmoothL1LossGrad", "SigmoidCrossEntropyWithLogitsV2 x": "SigmoidCrossEntropyGrad",
}

// IsProduct reports whether a formula is a matrix product or a convolution. Autocast runs these in a 16-bit type.
func IsProduct(name string) bool {
	f := formulaOf(name)
	return f != nil && f.class == Linear
}

// GradientOf returns the formula of the gradient of an input of a formula; ok is false if there is none.
func GradientOf(name, input string) (g Gradient, ok bool) {
	f := formulaOf(name)
	if f == nil {
		return g, false
	}
	words := strings.Fields(gradients[name+" "+input])
	if len(words) == 0 {
		return g, f.class == Move
	}
	g = Gradient{Formula: words[0], Inputs: map[string]string{}}
	for spec := range strings.FieldsSeq(formulaOf(g.Formula).inputs) {
		own := strings.TrimRight(spec, "?*")
		g.Inputs[own] = own
	}
	for _, word := range words[1:] {
		own, other, _ := strings.Cut(word, "=")
		g.Inputs[own] = other
	}
	for own, other := range g.Inputs {
		if other == OutputGradient {
			g.Gradients = own
		}
	}
	return g, true
}

// elementwiseGrad returns the row of the gradient of an elementwise function. The gradient is summed over the axes
// along which the input was broadcast.
func elementwiseGrad(names, inputs string, class Class, f func(c *call) *Array) formula {
	row := elementwiseRow(names, inputs, class, unbounded, oneOutput(func(c *call) *Array { return sumTo(f(c), c.shapes[0]) }))
	row.cut = summedCut
	return row
}

// factorGrad returns the row of a gradient of the form dy*f(x), where x is the first input.
func factorGrad(names, inputs string, f func(x *Array) *Array) formula {
	return elementwiseGrad(names, inputs, Tabled, func(c *call) *Array { return c.input(1).mul(f(c.input(0))) })
}

// withSeveralKernels marks a row whose operator runs as several kernels, each rounding to the type of the output.
func (f formula) withSeveralKernels() formula {
	f.hasSteps = true
	return f
}

// withAttrs returns the row with attributes.
func (f formula) withAttrs(attrs ...attribute) formula {
	f.attrs = attrs
	return f
}

// withOrder returns the row with an order of inputs for its names.
func (f formula) withOrder(order string) formula {
	f.forms[0].inputs = order
	return f
}

// withoutNames returns the row without names: only backward calls use it.
func (f formula) withoutNames() formula {
	f.forms = nil
	return f
}

// withReader returns the row with a function that derives its attributes from others.
func (f formula) withReader(read func(p *problem, raw Attributes) Attributes) formula {
	f.read = read
	return f
}

// asGate marks a row that either passes or stops each gradient.
func (f formula) asGate() formula {
	f.noise = gates
	return f
}

// gradientRow returns the row of a gradient with a cutter of its own.
func gradientRow(names, inputs string, cut cutter, f func(c *call) *Array, attrs ...attribute) formula {
	name, _, _ := strings.Cut(names, " ")
	return formula{name: name, class: Norm, noise: unbounded, inputs: inputs, cut: cut, compute: oneOutput(f), attrs: attrs, forms: []nameGroup{newNameGroup(names, "")}}
}

// backwards are the formulas of gradients. Inputs of the forward formula come first, so that its attributes can be
// used unchanged.
var backwards = []formula{
	elementwiseGrad("Relu6Grad", "x dy", Exact, func(c *call) *Array {
		return c.gateGradient(c.input(1), gateBetween(c.input(0), c.number(0), c.number(6)))
	}).withOrder("dy x").asGate(),
	factorGrad("AbsGrad", "x dy", func(x *Array) *Array { return x.mapSteps(sign) }),
	elementwiseGrad("NegGrad", "dy", Exact, func(c *call) *Array { return c.input(0).neg() }).withoutNames(),
	factorGrad("SquareGrad", "x dy", func(x *Array) *Array { return x.times(2) }).withoutNames(),
	elementwiseGrad("SqrtGrad", "y dy", Divided, func(c *call) *Array { return c.input(1).div(c.input(0).times(2)) }),
	factorGrad("RsqrtGrad", "y dy", func(y *Array) *Array { return square(y).mul(y).times(-.5).roundBetweenSteps() }).withSeveralKernels(),
	factorGrad("ReciprocalGrad InvGrad", "y dy", func(y *Array) *Array { return square(y).neg().roundBetweenSteps() }).withSeveralKernels(),
	factorGrad("ExpGrad", "y dy", identity).withoutNames(),
	elementwiseGrad("LogGrad", "x dy", Divided, func(c *call) *Array { return c.input(1).div(c.input(0)) }).withoutNames(),
	factorGrad("SinGrad", "x dy", func(x *Array) *Array { return x.cos().roundBetweenSteps() }).withSeveralKernels().withoutNames(),
	factorGrad("CosGrad", "x dy", func(x *Array) *Array { return x.sin().neg().roundBetweenSteps() }).withSeveralKernels().withoutNames(),
	factorGrad("ErfGrad", "x dy", func(x *Array) *Array { return bell(x, 1, 2/math.Sqrt(math.Pi)).roundBetweenSteps() }).withSeveralKernels().withoutNames(),
	factorGrad("LogSigmoidGrad", "x dy", func(x *Array) *Array { return sigmoid(x.neg()) }).withOrder("dy x"),
	factorGrad("MishGrad", "x dy", func(x *Array) *Array {
		t := softplus(x).tanh()
		return t.add(x.mul(sigmoid(x)).mul(square(t).neg().plus(1)))
	}).withOrder("dy x -?"),
	factorGrad("HardSwishGrad", "x dy", func(x *Array) *Array {
		return isLower(x, -3).selectWhere(x.m.number(0), isLower(x, 3).selectWhere(x.times(1.0/3).plus(.5), x.m.number(1)))
	}).withOrder("dy x"),
	elementwiseGrad("HardSigmoidGrad", "x dy", Plain, func(c *call) *Array {
		return c.gateGradient(c.input(1), gateBetween(c.input(0).times(c.numberAttribute("alpha")).plus(c.numberAttribute("beta")), c.number(0), c.number(1))).times(c.numberAttribute("alpha"))
	}).withOrder("dy x").withAttrs(realNumber("alpha", 1.0/6, .2), realNumber("beta", .5)),
	factorGrad("FastGeluGrad", "x dy", func(x *Array) *Array { return swishSlope(x, 1.702) }).withOrder("dy x"),
	elementwiseGrad("SwishGrad", "x dy", Tabled, func(c *call) *Array {
		return c.input(1).mul(swishSlope(c.input(0), c.numberAttribute("scale")).roundBetweenSteps())
	}).withSeveralKernels().withOrder("dy x -?").withAttrs(realNumber("scale", 1)).withNames("SiluGrad", "dy x :scale=1").withNames("silu_backward", "grad_output:dy! self:x! :scale=1"),
	elementwiseGrad("GeluGrad", "x dy", Tabled, func(c *call) *Array { return c.input(1).mul(geluSlope(c.input(0), c.textAttribute("approximate"))) }).withOrder("dy x -? :approximate=tanh").
		withAttrs(textAttribute("approximate", "none tanh")).withNames("GeluGradV2", "dy x").withNames("gelu_backward", "grad_output:dy! self:x! approximate=none"),
	elementwiseGrad("EluGrad", "x dy", Tabled, func(c *call) *Array {
		return c.input(1).mul(zeroNegatives(c.input(0)).selectWhere(c.number(1), c.input(0).atMost(0).exp().times(c.numberAttribute("alpha"))))
	}).withAttrs(realNumber("alpha", 1)).withoutNames(),
	elementwiseGrad("LeakyReluGrad", "x dy", Plain, func(c *call) *Array {
		return zeroNegatives(c.input(0)).selectWhere(c.input(1), c.input(1).times(c.numberAttribute("negative_slope")))
	}).withOrder("dy x").
		withAttrs(realNumber("negative_slope", 0, .01, .1, .2)).asGate(),
	elementwiseGrad("SoftplusGrad", "x dy", Tabled, func(c *call) *Array {
		scaled := c.input(0).times(c.numberAttribute("beta"))
		return c.input(1).mul(isLower(scaled, c.numberAttribute("threshold")).selectWhere(sigmoid(scaled), c.number(1)))
	}).withOrder("dy x :beta=1 :threshold=inf").withAttrs(realNumber("beta", 1), defaultNumber("threshold", 20)).withNames("SoftplusV2Grad", "dy x").withNames("softplus_backward", "grad_output:dy! self:x! beta threshold"),
	elementwiseGrad("ClipByValueGrad", "x low high dy", Exact, func(c *call) *Array {
		return c.gateGradient(c.input(3), gateBetween(c.input(0), c.input(1), c.input(2)))
	}).withoutNames(),
	elementwiseGrad("DropoutGrad", "x y dy", Plain, dropoutGrad).withAttrs(realNumber("p", 0, .1, .5, .2, .3), flagAttribute("training", true)).withoutNames(),

	elementwiseGrad("BroadcastGrad", "dy", Exact, func(c *call) *Array {
		if _, ok := c.attrs["beta"]; ok {
			return c.input(0).times(c.numberAttribute("beta"))
		}
		return c.input(0)
	}).withAttrs(optionalNumber("beta")).withoutNames(),
	elementwiseGrad("AxpyGrad", "dy", Plain, func(c *call) *Array { return c.input(0).times(c.numberAttribute("alpha")) }).withAttrs(realNumber("alpha", 1)).withoutNames(),
	elementwiseGrad("SubScaledGrad", "dy", Plain, func(c *call) *Array { return c.input(0).times(-c.numberAttribute("alpha")) }).withAttrs(realNumber("alpha", 1)).withoutNames(),
	elementwiseGrad("MulGrad", "x2 dy", Plain, func(c *call) *Array { return c.input(1).mul(c.input(0)) }).withSeveralKernels().withoutNames(),
	elementwiseGrad("AddcmulGrad", "x2 dy", Plain, func(c *call) *Array {
		return c.input(1).mul(c.input(0)).roundBetweenSteps().times(c.numberAttribute("value"))
	}).withAttrs(realNumber("value", 1)).withSeveralKernels().withoutNames(),
	elementwiseGrad("DivGrad", "x2 dy", Divided, func(c *call) *Array { return c.input(1).div(c.input(0)) }).withSeveralKernels().withoutNames(),
	elementwiseGrad("DivisorGrad", "x1 x2 dy", Divided, func(c *call) *Array {
		return c.input(2).mul(c.input(0).div(c.input(1)).roundBetweenSteps().div(c.input(1)).roundBetweenSteps()).neg()
	}).withSeveralKernels().withoutNames(),
	elementwiseGrad("PowGrad", "x1 x2 dy", Tabled, func(c *call) *Array {
		return c.input(2).mul(c.input(0).pow(c.input(1).plus(-1)).roundBetweenSteps().mul(c.input(1)).roundBetweenSteps())
	}).withSeveralKernels().withoutNames(),
	elementwiseGrad("MaximumGrad", "x1 x2 dy", Exact, func(c *call) *Array {
		return c.gateGradient(c.input(2), c.input(0).mapPairsExactly(c.input(1), gateAbove))
	}).withoutNames(),
	elementwiseGrad("MinimumGrad", "x1 x2 dy", Exact, func(c *call) *Array {
		return c.gateGradient(c.input(2), c.input(1).mapPairsExactly(c.input(0), gateAbove))
	}).withoutNames(),
	elementwiseGrad("SelectGrad", "mask dy", Exact, func(c *call) *Array { return c.input(0).selectWhere(c.input(1), c.number(0)) }).withoutNames(),
	elementwiseGrad("MaskedFillGrad", "mask dy", Exact, func(c *call) *Array { return c.input(0).selectWhere(c.number(0), c.input(1)) }).withoutNames(),

	{name: "MatMulGrad", class: Linear, noise: unbounded, inputs: "x2 dy", linear: matMulGrad, cut: uncut, read: readTransposes, hasSteps: true, attrs: []attribute{defaultNumber("transpose_x2", 0), optionalNumber("alpha")}},
	{name: "MatMulWeightGrad", class: Linear, noise: unbounded, inputs: "x1 dy", linear: matMulWeightGrad, cut: uncut, read: readTransposes, hasSteps: true, attrs: []attribute{defaultNumber("transpose_x2", 0), optionalNumber("alpha")}},

	{name: "ReduceSumGrad", class: Exact, noise: unbounded, inputs: "dy", cut: gradientLineCut(true), compute: oneOutput(func(c *call) *Array { return c.input(0).expand(c.shapes[0]) }), attrs: []attribute{forwardAttribute(reducedAxes)}, axisOfOutput: true},
	{name: "ReduceMeanGrad", class: Divided, noise: unbounded, inputs: "dy", cut: gradientLineCut(false), compute: oneOutput(func(c *call) *Array {
		n := 1.0
		for _, k := range c.integerAttributes("axes") {
			n *= float64(c.shapes[0][k])
		}
		return c.input(0).div(c.number(n)).expand(c.shapes[0])
	}), attrs: []attribute{forwardAttribute(reducedAxes)}, axisOfOutput: true},
	gradientRow("LogSumExpGrad", "x y dy", gradientLineCut(false), func(c *call) *Array { return c.input(2).mul(c.input(0).sub(c.input(1)).roundBetweenSteps().exp()) }, forwardAttribute(reducedAxes)).withSeveralKernels().withoutNames(),
	gradientRow("LpNormGrad", "x y dy", gradientLineCut(false), func(c *call) *Array {
		if p := c.numberAttribute("p"); p != 2 {
			return c.fail("a norm of order %v", p)
		}
		return c.input(2).mul(c.input(0).div(c.input(1)).roundBetweenSteps())
	}, forwardAttribute(reducedAxes), realNumber("p", 2)).withSeveralKernels().withoutNames(),
	gradientRow("VarGrad", "x dy", gradientLineCut(false), func(c *call) *Array {
		x, axes := c.input(0), c.integerAttributes("axes")
		_, distance, _ := moments(x, axes...)
		if c.err != nil || len(c.input(1).v) == 0 {
			return x
		}
		n := float64(len(x.v)/len(c.input(1).v)) - c.numberAttribute("correction")
		return distance.mul(c.input(1)).roundBetweenSteps().times(2 / n)
	}, forwardAttribute(reducedAxes), correction).withSeveralKernels().withoutNames(),

	gradientRow("LogSoftmaxGrad", "y dy", lineCut, func(c *call) *Array {
		return c.input(1).sub(c.input(0).exp().mul(c.input(1).sum(c.integerAttributes("axes")...)))
	}, anyAxes).withOrder("dy y").withNames("_log_softmax_backward_data", "grad_output:dy! output:y! dim:axes input_dtype:-"),
	gradientRow("LayerNormGrad", "x gamma? dy", lineCut, func(c *call) *Array {
		return c.normGrad(c.input(0), c.mulWeight(c.input(2)), true, c.integerAttributes("axes")...)
	}, normAxes, epsilon(), unitOffset).withOrder("dy x - - gamma").withReader(readNormAxes),
	gradientRow("LayerNormGammaGrad", "x dy", uncut, func(c *call) *Array { return c.gammaGrad(true, c.integerAttributes("axes")...) }, axesOfGradient, epsilon()).withoutNames().withReader(readNormAxes),
	gradientRow("RmsNormGrad", "x gamma? dy", lineCut, func(c *call) *Array {
		return c.normGrad(c.input(0), c.mulWeight(c.input(2)), false, c.integerAttributes("axes")...)
	}, normAxes, epsilon(), unitOffset).withOrder("dy x - gamma").withReader(readNormAxes),
	gradientRow("RmsNormGammaGrad", "x dy", uncut, func(c *call) *Array { return c.gammaGrad(false, c.integerAttributes("axes")...) }, axesOfGradient, epsilon()).withoutNames().withReader(readNormAxes),
	gradientRow("BatchNormGrad", "x scale? dy", channelsCut, func(c *call) *Array {
		x := c.input(0)
		dx := c.normGrad(x, c.input(2), true, slices.Delete(firstIntegers(len(x.shape)), 1, 2)...)
		if c.hasInput(1) {
			dx = dx.mul(alignChannels(x, c.input(1)))
		}
		return dx
	}, epsilon()).withSeveralKernels().withoutNames(),
	gradientRow("BatchNormScaleGrad", "x dy", channelOutputCut, func(c *call) *Array {
		x := c.input(0)
		axes := slices.Delete(firstIntegers(len(x.shape)), 1, 2)
		unit, _ := c.normalise(x, true, axes...)
		return unit.mul(c.input(1)).sum(axes...).reshape(-1)
	}, epsilon()).withSeveralKernels().withoutNames(),
	gradientRow("BNInferGrad", "dy scale? variance", fixedLineCut(1), func(c *call) *Array {
		dy := c.input(0)
		g := dy.mul(alignChannels(dy, c.input(2)).plus(c.numberAttribute("epsilon")).rsqrt())
		if c.hasInput(1) {
			g = g.mul(alignChannels(dy, c.input(1)))
		}
		return g
	}, epsilon()).withoutNames(),
	gradientRow("BNInferScaleGrad", "x mean variance dy", channelOutputCut, func(c *call) *Array {
		x := c.input(0)
		unit := c.standardise(x, alignChannels(x, c.input(1)), alignChannels(x, c.input(2)))
		return unit.mul(c.input(3)).sum(slices.Delete(firstIntegers(len(x.shape)), 1, 2)...).reshape(-1)
	}, epsilon()).withoutNames(),
	gradientRow("ChannelsGrad", "dy", channelOutputCut, func(c *call) *Array {
		return c.input(0).sum(slices.Delete(firstIntegers(len(c.input(0).shape)), 1, 2)...).reshape(-1)
	}).withoutNames(),
	gradientRow("GroupNormGrad", "x gamma? dy", imageCut, func(c *call) *Array {
		x, g := c.input(0), c.input(2)
		if c.hasInput(1) {
			g = g.mul(alignChannels(x, c.input(1)))
		}
		return c.normGrad(c.groupChannels(x), c.groupChannels(g), true, 2).reshape(x.shape...)
	}, divisors, epsilon()).withoutNames(),
	gradientRow("GroupNormGammaGrad", "x dy", uncut, func(c *call) *Array {
		x := c.input(0)
		unit, _ := c.normalise(c.groupChannels(x), true, 2)
		if c.err != nil {
			return x
		}
		return unit.reshape(x.shape...).mul(c.input(1)).sum(slices.Delete(firstIntegers(len(x.shape)), 1, 2)...).reshape(-1)
	}, divisors, epsilon()).withoutNames(),

	{name: "MaxPoolGrad", class: Reduced, noise: gates, inputs: "x dy", cut: imageChannelCut, compute: oneOutput((*call).maxPoolGrad), read: readPool, attrs: []attribute{forwardAttribute(poolGeometry)}, isOfImages: true, forms: []nameGroup{newNameGroup("MaxPoolGrad", "x - dy", &optype.Type{Class: optype.Gated, Form: optype.Pooled})}},
	{name: "AvgPoolGrad", class: Reduced, noise: unbounded, inputs: "dy", cut: imageChannelCut, compute: oneOutput((*call).avgPoolGrad), read: readPool, attrs: []attribute{forwardAttribute(poolGeometry), flagAttribute("exclusive", true), defaultNumber("divisor", 0)}},
	{name: "AdaptiveAvgPoolGrad", class: Reduced, noise: unbounded, inputs: "dy", cut: imageChannelCut, compute: oneOutput((*call).adaptivePoolGrad)},

	{name: "TransposeGrad", class: Move, noise: unbounded, inputs: "dy", compute: unaryFormula(identity), cut: copyCut(func(p *problem, h Attributes) (view, lang.Sentence) {
		perm, _ := h["perm"].Value.Integers()
		return permutedView(p.Inputs[0].Shape, invertPermutation(toInts(perm)))
	}), attrs: []attribute{closedAttribute("perm", listInversePermutations)}},
	{name: "EmbeddingDenseGrad", class: Reduced, noise: scattering, inputs: "indices dy", cut: embeddingRowCut, compute: oneOutput((*call).embeddingGrad), axisOfOutput: true,
		attrs: []attribute{oneOf("axis", integers(0)), optionalNumber("padding_idx"), defaultNumber("scale_grad_by_freq", 0)}, forms: []nameGroup{newNameGroup("EmbeddingDenseGrad", "dy indices", scattering), newNameGroup("embedding_dense_backward", "grad_output:dy! indices! num_weights:- padding_idx scale_grad_by_freq :axis=0")}},
	gradientRow(moveGrad, "places*", uncut, (*call).moveGrad).withoutNames(),

	gradientRow("CrossEntropyGrad", "x target weight? dy", lossRowCut, func(c *call) *Array { return c.crossEntropyGrad(true) }, defaultNumber("ignore_index", -100), labelSmoothing, forwardAttribute(lossReduction)).withSeveralKernels().withoutNames(),
	gradientRow("NLLLossGrad", "x target weight? dy", lossRowCut, func(c *call) *Array { return c.crossEntropyGrad(false) }, defaultNumber("ignore_index", -100), forwardAttribute(lossReduction)).withSeveralKernels().withoutNames(),
	lossGrad("MseLossGrad", "x y dy", func(c *call) *Array { return c.input(0).sub(c.input(1)).roundBetweenSteps().times(2) }),
	lossGrad("L1LossGrad", "x y dy", func(c *call) *Array { return c.input(0).sub(c.input(1)).mapSteps(sign) }),
	lossGrad("SmoothL1LossGrad", "x y dy", func(c *call) *Array {
		d, beta := c.input(0).sub(c.input(1)), c.numberAttribute("beta")
		if beta == 0 {
			return d.mapSteps(sign)
		}
		return d.times(1 / beta).atLeast(-1).atMost(1)
	}, defaultNumber("beta", 1)),
	lossGrad("SigmoidCrossEntropyGrad", "x y weight? pos_weight? dy", func(c *call) *Array {
		y := c.input(1)
		right := y
		if c.hasInput(3) {
			right = y.mul(c.input(3))
		}
		return c.weightLosses(right.add(y.neg().plus(1)).mul(sigmoid(c.input(0))).sub(right), 2)
	}),
}
