package recompute

import (
	"slices"

	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// normOperators normalise lines, groups or channels, to a standard deviation or a sum of 1.
var normOperators = []formula{
	{name: "Softmax", class: Tabled, noise: exponents, inputs: "x", cut: lineCut, compute: oneOutput(func(c *call) *Array { return softmax(c.input(0), false, c.integerAttributes("axes")...) }), attrs: []attribute{anyAxes},
		forms: []nameGroup{newNameGroup("Softmax SoftmaxV2 nn.Softmax", ""), newNameGroup("softmax", "dim:axes"), newNameGroup("_softmax _safe_softmax", "dim:axes half_to_float:-", exponents), newNameGroup("nn.Softmax2d", ":axes=-3"), newNameGroup("ms.softmax", "axis:axes=-1")}},
	{name: "LogSoftmax", class: Tabled, noise: &optype.Type{Class: optype.Lipschitz, Factor: 2, Transcendental: true, Form: optype.LogSoftmax}, inputs: "x", cut: lineCut,
		compute: oneOutput(func(c *call) *Array { return softmax(c.input(0), true, c.integerAttributes("axes")...) }), attrs: []attribute{anyAxes},
		forms: []nameGroup{newNameGroup("LogSoftmax LogSoftmaxV2 nn.LogSoftmax", ""), newNameGroup("log_softmax", "dim:axes"), newNameGroup("_log_softmax", "dim:axes half_to_float:-"), newNameGroup("ms.log_softmax", "logits:x! axis:axes=-1")}},
	{name: "SoftmaxGrad", class: Reduced, noise: unbounded, inputs: "y dy", cut: lineCut, compute: oneOutput(func(c *call) *Array {
		y, dy := c.input(0), c.input(1)
		return dy.sub(y.mul(dy).sum(c.integerAttributes("axes")...)).mul(y)
	}), attrs: []attribute{anyAxes}, forms: []nameGroup{newNameGroup("SoftmaxGrad", ""), newNameGroup("_softmax_backward_data", "grad_output:dy! output:y! dim:axes input_dtype:-")}},
	{name: "LayerNorm", class: Norm, noise: layerNorms, inputs: "x gamma? beta?", cut: lineCut, read: readNormAxes, outputs: 3, compute: layerNorm(false), attrs: []attribute{normAxes, epsilon(), unitOffset},
		forms: []nameGroup{newNameGroup("LayerNorm", ""), newNameGroup("fused_layer_norm npu_layer_norm_eval", "normalized_shape weight:gamma bias:beta eps:epsilon=1e-5"), newNameGroup("layer_norm", "normalized_shape weight:gamma bias:beta eps:epsilon=1e-5 cudnn_enable:-"), newNameGroup("nn.LayerNorm module.*LayerNorm", "weight:gamma bias:beta"),
			newNameGroup("ms.layer_norm", "normalized_shape weight:gamma bias:beta eps:epsilon=1e-5"), newNameGroup("ms.LayerNorm", "gamma beta")}},
	{name: "LayerNormV3", class: Norm, noise: layerNorms, inputs: "x gamma? beta?", cut: lineCut, read: readNormAxes, outputs: 3, compute: layerNorm(true), attrs: []attribute{normAxes, epsilon()},
		forms: []nameGroup{newNameGroup("LayerNormV3", ""), newNameGroup("native_layer_norm", "normalized_shape weight:gamma bias:beta eps:epsilon=1e-5"), newNameGroup("LayerNormV4", "x - gamma? beta?")}},
	{name: "RmsNorm", class: Norm, noise: rootMeanNorms, inputs: "x gamma?", cut: lineCut, outputs: 2, compute: func(c *call) []*Array {
		y, scale := rmsNorm(c, c.input(0), 1)
		return []*Array{y, scale}
	}, attrs: []attribute{normAxes, epsilon(), unitOffset}, forms: []nameGroup{newNameGroup("RmsNorm", ""), newNameGroup("rms_norm", "normalized_shape weight:gamma eps:epsilon"), newNameGroup("npu_rms_norm", "gamma epsilon=1e-6"),
		newNameGroup("module.*RMSNorm module.*RmsNorm module.T5LayerNorm", "weight:gamma")}},
	// AddRmsNorm has no class of noise: it also returns the sum, and neither input alone bounds the norm of the sum.
	{name: "AddRmsNorm", class: Norm, noise: sumNorms, inputs: "x1 x2 gamma", cut: lineCut, outputs: 3, compute: func(c *call) []*Array {
		x := c.input(0).add(c.input(1))
		y, scale := rmsNorm(c, x, 2)
		return []*Array{y, scale, x}
	}, attrs: []attribute{gammaAxes, epsilon(1e-6)}, forms: []nameGroup{newNameGroup("AddRmsNorm", ""),
		newNameGroup("npu_add_rms_norm", "x1! x2! gamma! epsilon=1e-6", &optype.Type{Noise: optype.NoiseNorm, Parameters: 1 << 2, Trait: optype.KeepsMean})}},
	{name: "AddLayerNorm", class: Norm, noise: sumNorms, inputs: "x1 x2 gamma beta bias?", cut: lineCut, read: readNormAxes, outputs: 4, compute: addLayerNorm, attrs: []attribute{gammaAxes, epsilon()},
		forms: []nameGroup{newNameGroup("AddLayerNorm", ""), newNameGroup("npu_add_layer_norm", "x1! x2! gamma! beta! epsilon=1e-5 additional_output:-")}},
	{name: "BNInfer", class: Norm, noise: batchNorms, inputs: "x scale offset mean variance", cut: channelsCut, compute: oneOutput(batchNorm), attrs: []attribute{activation, epsilon(), flagAttribute("is_training", false)}, isOfImages: true,
		forms: []nameGroup{newNameGroup("BNInfer", ""), newNameGroup("Torch.batch_norm Aten.batch_norm Torch.native_batch_norm Aten.native_batch_norm",
			"input:x! weight:scale bias:offset running_mean:mean! running_var:variance! training:-==0 momentum:- eps:epsilon=1e-5 cudnn_enabled:- :activation=none :is_training=0"),
			newNameGroup("batch_norm", "input:x! running_mean:mean! running_var:variance! weight:scale bias:offset training:-==0 momentum:- eps:epsilon=1e-5 :activation=none :is_training=0"),
			newNameGroup("ms.batch_norm", "input_x:x! running_mean:mean! running_var:variance! weight:scale bias:offset training:-==0 momentum:- eps:epsilon=1e-5 :activation=none :is_training=0")}},
	{name: "BatchNorm", class: Norm, noise: batchNorms, inputs: "x scale? offset? mean? variance?", cut: channelsCut, hasSteps: true, compute: oneOutput(func(c *call) *Array {
		x := c.input(0)
		axes := slices.Delete(firstIntegers(len(x.shape)), 1, 2)
		if !c.isAttributeTrue("is_training") {
			return c.affine(c.standardise(x, alignChannels(x, c.input(3)), alignChannels(x, c.input(4))), 1, alignChannels)
		}
		mean, _, variance := moments(x, axes...)
		scale := variance.plus(c.numberAttribute("epsilon")).rsqrt().roundBetweenSteps()
		// Kernels compute a*x + b with b = -a*mean; PyTorch's kernels round both terms to bfloat16.
		return c.affine(x.mul(scale).roundBetweenSteps().sub(mean.roundBetweenSteps().mul(scale).roundBetweenSteps()), 1, alignChannels)
	}), attrs: []attribute{flagAttribute("is_training", true), epsilon()}, isOfImages: true,
		forms: []nameGroup{newNameGroup("BatchNorm", ""), newNameGroup("Torch.batch_norm Aten.batch_norm Torch.native_batch_norm Aten.native_batch_norm",
			"input:x! weight:scale bias:offset running_mean:- running_var:- training:-==1 momentum:- eps:epsilon=1e-5 cudnn_enabled:- :is_training=1"),
			newNameGroup("batch_norm", "input:x! running_mean:mean! running_var:variance! weight:scale bias:offset training:-==0 momentum:- eps:epsilon=1e-5 :is_training=0"),
			newNameGroup("batch_norm", "input:x! running_mean:- running_var:- weight:scale bias:offset training:-==1 momentum:- eps:epsilon=1e-5 :is_training=1"),
			newNameGroup("instance_norm", "input:x! running_mean:mean! running_var:variance! weight:scale bias:offset use_input_stats:-==0 momentum:- eps:epsilon=1e-5 :is_training=0", instanceNorms),
			newNameGroup("nn.BatchNorm1d", inputsOfBatchNorm, &optype.Type{Noise: optype.NoiseNorm, Parameters: 1<<1 | 1<<2 | 1<<3 | 1<<4}), newNameGroup("nn.BatchNorm2d nn.BatchNorm3d", inputsOfBatchNorm)}},
	{name: "BNTrainingUpdate", class: Norm, noise: unbounded, inputs: "x sum square_sum scale offset mean variance", cut: channelsCut, outputs: 5, compute: bnTrainingUpdate,
		attrs: []attribute{optionalNumber("factor"), epsilon()}, isOfImages: true, forms: []nameGroup{newNameGroup("BNTrainingUpdate", "")}},
	{name: "InstanceNorm", class: Norm, noise: instanceNorms, inputs: "x gamma? beta?", cut: imageCut,
		compute: func(c *call) []*Array { return groupNorm(c, channelsOf(c.input(0))) }, attrs: []attribute{epsilon()}, isOfImages: true,
		forms: []nameGroup{newNameGroup("InstanceNorm", ""), newNameGroup("nn.InstanceNorm1d nn.InstanceNorm2d nn.InstanceNorm3d", "weight:gamma bias:beta running_mean:- running_var:- num_batches_tracked:-"), newNameGroup("Torch.instance_norm Aten.instance_norm",
			"input:x! weight:gamma bias:beta running_mean:- running_var:- use_input_stats:-==1 momentum:- eps:epsilon=1e-5 cudnn_enabled:-"),
			newNameGroup("instance_norm", "input:x! running_mean:- running_var:- weight:gamma bias:beta use_input_stats:-==1 momentum:- eps:epsilon=1e-5")}},
	{name: "GroupNorm", class: Norm, noise: groupNorms, inputs: "x gamma? beta?", cut: imageCut,
		compute: func(c *call) []*Array { return groupNorm(c, int64(c.numberAttribute("num_groups"))) }, attrs: []attribute{divisors, epsilon()}, isOfImages: true,
		forms: []nameGroup{newNameGroup("GroupNorm", ""), newNameGroup("native_group_norm", "weight:gamma bias:beta N:- C:- HxW:- group:num_groups eps:epsilon"), newNameGroup("group_norm", "num_groups weight:gamma bias:beta eps:epsilon=1e-5 cudnn_enable:-"), newNameGroup("nn.GroupNorm", "weight:gamma bias:beta")}},
	{name: "LRN", class: Norm, noise: unbounded, inputs: "x", cut: imageCut, compute: oneOutput(localResponseNorm), attrs: []attribute{oneOf("size", Number(5), Number(3), Number(7), Number(2), Number(4), Number(9)).withKind(openKind), realNumber("alpha", 1e-4), oneOf("beta", Number(.75), Number(.5), Number(1)).withKind(openKind), oneOf("k", Number(1), Number(2)).withKind(openKind)},
		forms: []nameGroup{newNameGroup("local_response_norm", "size alpha=1e-4 beta=0.75 k=1"), newNameGroup("nn.LocalResponseNorm", "")}},
	{name: "L2Normalize", class: Norm, noise: layerNorms, inputs: "x", cut: lineCut, compute: oneOutput(func(c *call) *Array {
		x := c.input(0)
		sum := square(x).sum(c.integerAttributes("axes")...)
		c.recordIntermediate(squareSums, sum, 1)
		return x.div(sum.atLeast(c.numberAttribute("epsilon")).sqrt())
	}), attrs: []attribute{anyAxes, epsilon(1e-12)}, forms: []nameGroup{newNameGroup("L2Normalize", "")}},

	noiseRow(batchNorms, "BNInferenceD BNInference Scale"),
	noiseRow(&optype.Type{Noise: optype.NoiseNorm, Parameters: 1<<1 | 1<<2 | 1<<3 | 1<<4}, "SyncBatchNorm"),
}

// inputsOfBatchNorm are the arguments and parameters of batch norm modules.
const inputsOfBatchNorm = "weight:scale bias:offset running_mean:mean running_var:variance num_batches_tracked:-"

// unitOffset: 1 is added to the weight. Modules such as GemmaRMSNorm and the zero-centred norms of Megatron store the
// weight minus 1.
var unitOffset = closedAttribute("unit_offset", func(p *problem) []Attributes {
	if w := p.input(1); !p.Open || w == nil || w.elements() == 0 {
		return []Attributes{{}}
	}
	return flagAttribute("unit_offset", false).choices(p)
}).withKind(fixedKind)

// alignChannels reshapes a parameter with one element for each channel, so that it broadcasts along axis 1 of x.
func alignChannels(x, t *Array) *Array {
	if x.m.err != nil || len(x.shape) <= 2 {
		return t
	}
	shape := slices.Repeat([]int64{1}, len(x.shape))
	shape[1] = int64(len(t.v))
	return t.reshape(shape...)
}

// softmax returns the softmax along axes, or its logarithm.
func softmax(x *Array, log bool, axes ...int) *Array {
	largest := x.largest(axes...)
	x.m.recordIntermediate(powersOfE, largest, 1)
	z := x.sub(largest)
	e := z.exp()
	s := e.sum(axes...)
	if log {
		return z.sub(s.log())
	}
	return e.div(s)
}

// moments returns mean, distance from the mean and variance along axes.
func moments(x *Array, axes ...int) (mean, distance, variance *Array) {
	mean = x.mean(axes...)
	distance = x.sub(mean)
	return mean, distance, square(distance).mean(axes...)
}

// localResponseNorm divides each element by a power of k plus alpha times the mean of the squares of size neighbouring
// channels.
func localResponseNorm(c *call) *Array {
	x, size := c.input(0), int(c.numberAttribute("size"))
	if c.err != nil || len(x.shape) < 3 || size < 1 {
		return c.fail("size %d for shape %s", size, x.shape)
	}
	squares, channels, inner := square(x), int(x.shape[1]), int(x.shape[2:].Elements())
	sum := c.number(0).expand(x.shape)
	for shift := max(-(size / 2), -channels); shift < min(size-size/2, channels) && c.err == nil; shift++ {
		at := squares.gatherFrom(x.shape, 0, func(i int) int {
			if k := i/inner%channels + shift; k < 0 || k >= channels {
				return -1
			}
			return i + shift*inner
		})
		sum = sum.add(at)
	}
	return x.div(sum.times(c.numberAttribute("alpha") / float64(size)).plus(c.numberAttribute("k")).pow(c.number(c.numberAttribute("beta"))))
}

// normWeight returns the weight of a norm in input k.
func (c *call) normWeight(k int) *Array {
	if c.isAttributeTrue("unit_offset") {
		return c.input(k).plus(1)
	}
	return c.input(k)
}

// standardise returns (x - mean) / sqrt(variance + epsilon). Kernels may compute a*x + b with b = -a*mean instead:
// the bounds include the roundings of both terms.
func (c *call) standardise(x, mean, variance *Array) *Array {
	return x.sub(mean).withTermRoundings(x, mean).mul(variance.plus(c.numberAttribute("epsilon")).rsqrt())
}

// affine multiplies x by the weight in input k and adds the bias in input k+1, if they are present. reshape gives a
// parameter a shape that broadcasts to x.
func (c *call) affine(x *Array, k int, reshape func(x, t *Array) *Array) *Array {
	if c.hasInput(k) {
		x = x.mul(reshape(x, c.normWeight(k)))
	}
	if c.hasInput(k + 1) {
		x = x.add(reshape(x, c.input(k+1)))
	}
	return x
}

func keepShape(_, t *Array) *Array { return t }

// layerNorm returns the norm, the mean, and the variance or (inverse) the reciprocal standard deviation.
func layerNorm(inverse bool) func(c *call) []*Array {
	return func(c *call) []*Array {
		mean, distance, variance := moments(c.input(0), c.integerAttributes("axes")...)
		c.input(0).recordSquareSums(variance)
		scale := variance.plus(c.numberAttribute("epsilon")).rsqrt()
		spread := variance
		if inverse {
			spread = scale
		}
		return []*Array{c.affine(distance.mul(scale), 1, keepShape), mean, spread}
	}
}

func rmsNorm(c *call, x *Array, gamma int) (y, scale *Array) {
	mean := square(x).mean(c.integerAttributes("axes")...)
	x.recordSquareSums(mean)
	scale = mean.plus(c.numberAttribute("epsilon")).rsqrt()
	y = x.mul(scale).roundBetweenSteps()
	if c.hasInput(gamma) {
		y = y.mul(c.normWeight(gamma))
	}
	return y, scale
}

// groupNorm normalises groups of channels; instance norm has one channel in a group. It also returns the means and
// the reciprocal standard deviations.
func groupNorm(c *call, groups int64) []*Array {
	x := c.input(0)
	if x.m.err != nil || len(x.shape) < 2 || groups < 1 || x.shape[1]%groups != 0 {
		return []*Array{c.fail("%d groups of shape %s", groups, x.shape)}
	}
	mean, distance, variance := moments(x.reshape(x.shape[0], groups, -1), 2)
	scale := variance.plus(c.numberAttribute("epsilon")).rsqrt()
	return []*Array{c.affine(distance.mul(scale).reshape(x.shape...), 1, alignChannels), mean, scale}
}

// batchNorm normalises by moments that are inputs.
func batchNorm(c *call) *Array {
	x := c.input(0)
	p := func(k int) *Array { return alignChannels(x, c.input(k)) }
	mean, variance := p(3), p(4)
	if c.isAttributeTrue("is_training") { // exporters of training graphs may keep the name
		mean, _, variance = moments(x, slices.Delete(firstIntegers(len(x.shape)), 1, 2)...)
	}
	y := c.standardise(x, mean, variance).mul(p(1)).add(p(2))
	return activate(y, c.textAttribute("activation"))
}

// activations are the functions that may be fused into an operator, the likely ones first.
var activations = []struct {
	name string
	f    func(x *Array) *Array
}{
	{"none", func(x *Array) *Array { return x }},
	{"relu", relu}, {"relu6", relu6},
	{"leaky.1", func(x *Array) *Array { return leakyRelu(x, .1) }},
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

// activation is the activation function that may be fused into the operator.
var activation = closedAttribute("activation", func(p *problem) []Attributes {
	all := []Attributes{{"activation": {Text("none"), FromDefault}}}
	if p.mayBeFused() {
		for _, a := range activations[1:] {
			all = append(all, Attributes{"activation": {Text(a.name), FromValues}})
		}
	}
	return all
}).withKind(textKind)

// addLayerNorm returns the norm of a sum, its mean, the reciprocal standard deviation, and the sum.
func addLayerNorm(c *call) []*Array {
	x := c.input(0).add(c.input(1))
	if c.hasInput(4) {
		x = x.add(c.input(4))
	}
	return append(c.layerNormOf(x, 2), x)
}

// layerNormOf returns the norm of x with the weight in input k, the means, and the reciprocal standard deviations.
func (c *call) layerNormOf(x *Array, k int) []*Array {
	mean, distance, variance := moments(x, c.integerAttributes("axes")...)
	x.recordSquareSums(variance)
	scale := variance.plus(c.numberAttribute("epsilon")).rsqrt()
	return []*Array{c.affine(distance.mul(scale), k, keepShape), mean, scale}
}

// gammaAxes are the last axes, as many as the weight (the third input) has.
var gammaAxes = closedAttribute("axes", func(p *problem) (all []Attributes) {
	n := min(1, p.rank())
	if g := p.input(2); g != nil {
		n = max(n, min(len(g.Shape), p.rank()))
	}
	return []Attributes{{"axes": {integers(firstIntegers(p.rank())[p.rank()-n:]...), FromShape}}}
})

// bnTrainingUpdate gets the sums of the batch as inputs. It returns the output, the running moments (if factor, the
// weight of the batch, is known), and the moments of the batch.
func bnTrainingUpdate(c *call) []*Array {
	x := c.input(0)
	if c.err != nil {
		return nil
	}
	p := func(k int) *Array { return alignChannels(x, c.input(k)) }
	n := float64(len(x.v)) / float64(channelsOf(x))
	mean := p(1).times(1 / n)
	variance := p(2).times(1 / n).sub(square(mean)).atLeast(0)
	y := x.sub(mean).mul(variance.plus(c.numberAttribute("epsilon")).rsqrt()).mul(p(3)).add(p(4))
	var runningMean, runningVariance *Array
	if share, ok := c.attrs["factor"].Value.Number(); ok {
		running := func(k int, now *Array) *Array { return p(k).times(1 - share).add(now.times(share)) }
		runningMean, runningVariance = running(5, mean), running(6, variance.times(n/max(1, n-1)))
	}
	return []*Array{y, runningMean, runningVariance, mean, variance}
}

// channelsCut is the cutter along the channels. Parameters and moments have one element for each channel.
func channelsCut(p *problem, _ Attributes) *cutRule {
	x := p.Inputs[0].Shape
	if len(x) < 2 || !x.Equal(p.Outputs[0].Shape) {
		return misfit("the output has the shape %s, the input %s", p.Outputs[0].Shape, x)
	}
	c := wholeTensors(p)
	for i := range c.out[1:] {
		if c.out[1+i].shape.Elements() == x[1] {
			c.out[1+i].shape = tensor.Shape{x[1]}
		}
	}
	return c.cutAlong([]int{1}, func(s tensor.Shape, k int, whole tensor.Shape) int {
		switch {
		case len(s) == 1 && s[0] == whole[1]:
			return 0
		case len(s) == len(whole) && s[k] == whole[k]:
			return k
		}
		return -1
	})
}
