// Package optype is the table of the types of operators: those of CANN and MindSpore, and
// the functions of PyTorch as msprobe names them, with what each does to the errors of
// its inputs.
package optype

import (
	"slices"
	"strings"
	"sync"

	"dumptool/internal/format/msprobe"
)

// Class says what an operator makes of the errors of its inputs.
type Class uint8

// The classes. Unknown bounds least, Move and Lipschitz are exact.
const (
	Unknown    Class = iota
	Move             // elements are copied
	Lipschitz        // |f(x)-f(y)| <= L |x-y|, elementwise, summed over the inputs
	Dequantise       // times a constant
	Multiply
	Divide // also roots and logarithms: amplifies near 0
	Exponential
	Normalise // rows to a spread of 1
	BatchNormalise
	Linear // matrix products and convolutions
	Reduce
	Quantise // integers come out
	Gated    // elements pass where another tensor, the selector, is above a threshold
	Index    // integers that say where something is
)

var classNames = [...]string{
	Unknown: "unknown", Move: "move", Lipschitz: "lipschitz", Dequantise: "dequant", Multiply: "mul", Divide: "div",
	Exponential: "exp", Normalise: "norm", BatchNormalise: "batchnorm", Linear: "linear", Reduce: "reduce", Quantise: "quant",
	Gated: "gated", Index: "index",
}

// String returns the class as compare.json has it.
func (c Class) String() string { return classNames[c] }

// Exact reports whether the error of the inputs bounds that of the output for
// every element.
func (c Class) Exact() bool { return c == Move || c == Lipschitz }

// Type is what is known of an operator by its type.
type Type struct {
	Class Class
	// Factor is L of Lipschitz.
	Factor float64
	// Selects is set where an element is a copy or a constant: nothing is rounded
	// twice. Transcendental functions have errors of their own.
	Selects, Transcendental bool
	// Fitted is set where numbers of its own were fitted to the values, which may be
	// those of an input that is not known.
	Fitted bool
	// Form distinguishes members of a class whose bounds differ.
	Form Form
	// Indices are the outputs that say where something is, a bit each: the lowest one is
	// output 0.
	Indices uint8
	// Gathers is set where an input of integers says which elements of another one come
	// out.
	Gathers bool
	// Random is set where the outputs are drawn.
	Random bool
	// Start is set where nothing is computed: what comes in from outside.
	Start bool
	// Noise is how noise passes through where the class does not say it; see NoiseWay.
	Noise Noise
	// Trait is what sets a function of PyTorch apart from others that pass noise as it does.
	Trait Trait
	// Parameters are the inputs that are parameters of the network, a bit each: the lowest
	// one is input 0.
	Parameters uint8
	// Buffer says which inputs are not read, but only written to.
	Buffer Buffer
}

// IsIndex reports whether an output says where something is.
func (t *Type) IsIndex(output int) bool {
	return output >= 0 && output < 8 && t.Indices>>output&1 == 1
}

// IsParameter reports whether an input is a parameter of the network.
func (t *Type) IsParameter(input int) bool {
	return input >= 0 && input < 8 && t.Parameters>>input&1 == 1
}

// Form is a member of a class with a bound of its own.
type Form uint8

// The forms.
const (
	Plain  Form = iota
	Square      // and other powers, up to the third
	Root        // and 1/x: functions of one number with an error of their own
	Logarithm
	Cumulative
	Sum          // not divided by the number of elements
	RootMeanNorm // the mean is not taken away
	InstanceNorm // over each channel of each image
	GroupNorm    // over channels that are neighbours
	Convolution
	Batched    // a product of two tensors, which no row of one input bounds
	Pooled     // passed back to the largest of each window
	Ordered    // rows in the order of indices
	LogSoftmax // bounded by the largest error of a row only
)

// known is the table of operator types: those of CANN and MindSpore, and the
// functions of PyTorch as msprobe names them. A star stands for one of the endings
// of names that are versions of the same operator.
var known = []struct {
	names string
	Type
}{
	{"Reshape Transpose* TransData TransDataRNN Concat* ConcatV2* Split* SplitV* Slice* StridedSlice* Pack Unpack Pad* PadV3* MirrorPad Tile* Squeeze* Unsqueeze* ExpandDims Identity IdentityN Flatten* BroadcastTo* Expand MaxPool* MaxPoolExt2 AdaptiveMaxPool* DepthToSpace SpaceToDepth BatchToSpace* BatchToSpaceND* SpaceToBatch* SpaceToBatchND* ReverseV2* Roll Permute Cast " +
		"view view_as permute cat stack hstack vstack unbind chunk __getitem__ narrow contiguous clone detach expand_as repeat repeat_interleave to flip t T swapaxes movedim unfold",
		Type{Class: Move}},
	{"max_pool1d max_pool2d max_pool3d", Type{Class: Move, Trait: Picks}},
	{"Gather* GatherNd GatherElements index_select gather take", Type{Class: Move, Gathers: true}},
	{"embedding EmbeddingLookup VocabParallelEmbedding", Type{Class: Move, Gathers: true, Parameters: 1<<1 | 1<<2}},
	{"EmbeddingDenseGrad EmbeddingBackward ScatterNd* ScatterNdAdd ScatterAdd* ScatterUpdate ScatterElements* npu_scatter_nd_update UnsortedSegmentSum* SegmentSum", Type{Gathers: true}},
	{"Scatter* index_put", Type{Gathers: true, Noise: NoiseMove}},
	{"scatter_add index_add", Type{Gathers: true, Noise: NoiseLipschitz}},
	{"dropout Dropout DropoutV2", Type{Class: Move, Random: true}},
	{"Relu* ReluV2* MaskedFill* masked_fill", Type{Class: Lipschitz, Factor: 1, Selects: true}},
	{"LeakyRelu* PRelu PReLU leaky_relu prelu", Type{Class: Lipschitz, Factor: 1, Selects: true, Parameters: 1<<1 | 1<<2}},
	{"Abs Neg Negative Maximum Minimum BiasAdd AddN Select* SelectV2* Where ClipByValue* Clip Clamp Relu6* Hardtanh HardTanh __neg__ where", Type{Class: Lipschitz, Factor: 1}},
	{"Add* AddV2* Sub* rsub iadd isub __add__ __iadd__ __sub__ __isub__ __radd__ __rsub__", Type{Class: Lipschitz, Factor: 1, Trait: Adds}},
	{"Sigmoid* Tanh* Softplus* SoftplusV2* Softsign Sin Cos Atan Asinh HardSigmoid Elu celu", Type{Class: Lipschitz, Factor: 1, Transcendental: true}},
	{"Gelu* FastGelu* GeluV2* fast_gelu npu_fast_gelu QuickGelu Erf Erfc", Type{Class: Lipschitz, Factor: 1.13, Transcendental: true}},
	{"Swish* Silu SiLU Mish", Type{Class: Lipschitz, Factor: 1.1, Transcendental: true}},
	{"HardSwish", Type{Class: Lipschitz, Factor: 1.5, Transcendental: true}},
	{"Selu", Type{Class: Lipschitz, Factor: 1.76, Transcendental: true}},
	{"LogSoftmax* log_softmax", Type{Class: Lipschitz, Factor: 2, Transcendental: true, Form: LogSoftmax}},
	{"AscendDequant* Dequantize", Type{Class: Dequantise}},
	{"Mul* Muls Multiply __mul__ __imul__ __rmul__", Type{Class: Multiply}},
	{"Square* Pow power", Type{Class: Multiply, Form: Square}},
	{"RealDiv* Div* DivNoNan true_divide __truediv__ __div__ __itruediv__", Type{Class: Divide}},
	{"Rsqrt Sqrt Reciprocal Inv", Type{Class: Divide, Form: Root}},
	{"Log Log1p log10 log2", Type{Class: Divide, Form: Logarithm}},
	{"Exp Expm1 Softmax* exp2", Type{Class: Exponential, Transcendental: true}},
	{"LayerNorm* LayerNormV3* LayerNormV4* layer_norm native_layer_norm fused_layer_norm npu_layer_norm_eval L2Normalize", Type{Class: Normalise, Parameters: 1<<1 | 1<<2 | 1<<3}},
	{"normalize", Type{Class: Normalise, Parameters: 1<<1 | 1<<2 | 1<<3, Trait: KeepsMean}},
	{"InstanceNorm* instance_norm", Type{Class: Normalise, Form: InstanceNorm, Parameters: 1<<1 | 1<<2 | 1<<3}},
	{"GroupNorm* group_norm GroupNormSilu", Type{Class: Normalise, Form: GroupNorm, Parameters: 1<<1 | 1<<2}},
	{"RmsNorm* RMSNorm rms_norm npu_rms_norm", Type{Class: Normalise, Form: RootMeanNorm, Parameters: 1<<1 | 1<<2}},
	{"BatchNorm* BatchNormV2* BNInfer* BnInfer BNInferenceD BNInference* Scale* batch_norm", Type{Class: BatchNormalise, Parameters: 1<<1 | 1<<2 | 1<<3 | 1<<4}},
	{"GroupedMatmul* grouped_matmul npu_grouped_matmul MatMul* GEMM Gemm FullyConnection FullyConnectionCompress mm matmul", Type{Class: Linear}},
	{"linear Dense", Type{Class: Linear, Parameters: 1<<1 | 1<<2}},
	{"addmm", Type{Class: Linear, Parameters: 1<<0 | 1<<2, Buffer: FirstTimesBeta}},
	{"BatchMatMul* bmm einsum", Type{Class: Linear, Form: Batched}},
	{"baddbmm", Type{Class: Linear, Form: Batched, Buffer: FirstTimesBeta}},
	{"FlashAttentionScore PromptFlashAttention IncreFlashAttention npu_fusion_attention scaled_dot_product_attention", Type{Class: Linear, Form: Batched, Noise: NoiseAttention}},
	{"Conv* Conv1D conv1d DepthwiseConv* DepthwiseConv2dNative Depthwise* conv_transpose2d Conv2DTranspose* Deconvolution Conv2DBackpropInput*", Type{Class: Linear, Form: Convolution, Parameters: 1<<1 | 1<<2}},
	{"ReduceMean* Mean avg_pool1d avg_pool2d avg_pool3d AvgPool* AvgPoolV2* AdaptiveAvgPool* GlobalAveragePool adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d", Type{Class: Reduce}},
	{"ReduceSum* Sum", Type{Class: Reduce, Form: Sum}},
	{"Cumsum*", Type{Class: Reduce, Form: Cumulative, Noise: NoiseLipschitz}},
	{"AscendQuant* Quantize Round Floor Ceil Trunc Greater Less GreaterEqual LessEqual Equal NotEqual BitwiseAnd BitwiseOr BitwiseXor LogicalAnd LogicalOr LogicalNot logical_not gt lt ge le eq ne", Type{Class: Quantise}},
	{"ArgMax* ArgMin* argmax argmin argsort ArgSort NonMaxSuppression* NonMaxSuppressionV6 NonMaxSuppressionV7 nms NonZero* nonzero searchsorted", Type{Class: Index, Indices: 1 << 0}},
	{"ArgMaxWithValue ArgMinWithValue", Type{Class: Move, Indices: 1 << 0}},
	{"max min amax amin ReduceMax* ReduceMin*", Type{Class: Move, Indices: 1 << 1, Noise: NoiseLipschitz}},
	{"TopK* topk Sort* sort cummax cummin Unique* unique Kthvalue kthvalue", Type{Class: Move, Indices: 1 << 1}},
	{"MoeGatingTopKSoftmax* MoeGatingTopK* npu_moe_gating_top_k_softmax npu_moe_gating_top_k", Type{Class: Exponential, Transcendental: true, Indices: 1<<1 | 1<<2}},
	{"MoeInitRouting* npu_moe_init_routing", Type{Class: Move, Indices: 1<<1 | 1<<2, Gathers: true, Form: Ordered}},
	{"ReluGrad* LeakyReluGrad Relu6Grad threshold_backward leaky_relu_backward", Type{Class: Gated}},
	{"MaxPoolGrad* MaxPoolGradWithArgmax* max_pool2d_with_indices_backward", Type{Class: Gated, Form: Pooled}},
	{"DropOutGenMask* DropoutGenMask StatelessDropOutGenMask RandomUniform* RandomNormal* RandomStandardNormal StatelessRandomUniform* StatelessRandomNormal* StandardNormal StandardLaplace UniformReal UniformInt TruncatedNormal Multinomial* Bernoulli* RandomUniformInt Randperm rand randn randint normal uniform bernoulli multinomial randperm", Type{Random: true}},
	{"DropOutDoMask* DropOutDoMaskV3", Type{Class: Multiply, Random: true}},
	{"Data Parameter Const Constant Placeholder Load", Type{Start: true}},

	// Of these no elements are judged by their type.
	{"__setitem__ _copy arange as_strided bfloat16 broadcast_to concatenate cpu cuda diagonal expand_dims float fold full half interpolate masked_select npu npu_format_cast " +
		"ones reshape_as scatter_tensor split_with_sizes take_along_dim tensor_split tril triu type type_as unflatten upsample zeros", Type{Noise: NoiseMove}},
	{"copy_", Type{Noise: NoiseMove, Buffer: FirstInput}},
	{"zero_ fill_", Type{Buffer: FirstInput}},
	{"zeros_like ones_like full_like new_zeros new_ones new_full", Type{Noise: NoiseMove, Buffer: AllInputs}},
	{"__abs__ __or__ addcmul lerp threshold", Type{Noise: NoiseLipschitz}},
	{"logsigmoid quick_gelu", Type{Noise: NoiseFunction}},
	{"__pow__", Type{Noise: NoiseProduct, Form: Square}},
	{"apply_rotary_emb glu kron mul_scalar npu_rotary_mul npu_swiglu outer rotary_mul swiglu RotaryMul ApplyRotaryPosEmb SwiGlu", Type{Noise: NoiseProduct}},
	{"__rdiv__ __rpow__ __rtruediv__", Type{Noise: NoiseQuotient}},
	{"logsumexp npu_scaled_masked_softmax scaled_masked_softmax ScaledMaskedSoftmax", Type{Noise: NoiseExponent}},
	{"AddLayerNorm AddRmsNorm", Type{Noise: NoiseNorm, Parameters: 1 << 2}},
	{"npu_add_rms_norm", Type{Noise: NoiseNorm, Parameters: 1 << 2, Trait: KeepsMean}},
	{"BatchNorm1d SyncBatchNorm", Type{Noise: NoiseNorm, Parameters: 1<<1 | 1<<2 | 1<<3 | 1<<4}},
	{"ColumnParallelLinear QKVParallelLinear RowParallelLinear npu_linear conv_transpose1d conv_transpose3d", Type{Noise: NoiseSums, Parameters: 1<<1 | 1<<2}},
	{"addbmm addmv", Type{Noise: NoiseSums, Buffer: FirstTimesBeta}},
	{"__matmul__ __rmatmul__ chain_matmul dot mv npu_bmmV2 tensordot", Type{Noise: NoiseSums}},
	{"BiasAddGrad", Type{Noise: NoiseReduce, Form: Sum}},
	{"nansum ReduceProd* ReduceStd* LpNorm*", Type{Noise: NoiseReduce}},
	{"linalg_norm norm prod std var var_mean", Type{Noise: NoiseReduce, Trait: Spreads}},
	{"CrossEntropyLoss binary_cross_entropy binary_cross_entropy_with_logits cross_entropy kl_div l1_loss mse_loss nll_loss smooth_l1_loss " +
		"SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits NLLLoss BinaryCrossEntropy KLDivLoss MSELoss SmoothL1Loss", Type{Noise: NoiseLoss}},
	{"irecv recv", Type{Noise: NoiseRanks, Buffer: FirstInput}},
	{"_all_gather_base all_gather_into_tensor all_gather all_to_all all_to_all_single batch_isend_irecv broadcast", Type{Noise: NoiseRanks, Buffer: FirstOfSeveral}},
	{"_reduce_scatter_base reduce_scatter_tensor reduce_scatter", Type{Noise: NoiseRanks, Buffer: FirstOfSeveral, Trait: AddsRanks}},
	{"Distributed.all_reduce Distributed.reduce", Type{Noise: NoiseRanks, Trait: AddsRanks}},
	{"AllReduce AllGather ReduceScatter AlltoAll AllToAllv Send HcomAllReduce HcomAllGather HcomReduceScatter HcomBroadcast HcomAllToAllV HcomSend", Type{Noise: NoiseRanks}},
	{"Receive HcomReceive", Type{Noise: NoiseRanks, Buffer: FirstInput}},
	{"flash_attention flash_attn_func npu_fused_infer_attention_score npu_fusion_attention_v2 npu_incre_flash_attention npu_prompt_flash_attention FusedInferAttentionScore", Type{Noise: NoiseAttention}},
	{"Dropout2d _fused_dropout alpha_dropout cauchy_ dropout1d dropout2d dropout3d feature_dropout geometric_ gumbel_softmax log_normal_ native_dropout npu_dropout npu_dropout_gen_mask rrelu trunc_normal_", Type{Random: true}},
	{"normal_ uniform_ bernoulli_ random_ exponential_", Type{Random: true, Buffer: FirstInput}},
	{"rand_like randn_like randint_like", Type{Random: true, Buffer: AllInputs}},
	{"empty empty_like empty_quantized empty_strided empty_with_format new_empty new_empty_strided resize_", Type{Noise: NoiseGarbage, Buffer: AllInputs}},
}

// endings are those that a star stands for.
var endings = []string{"", "D", "V2", "V3", "DV2", "2D", "3D", "WithArgmaxV1", "WithArgmaxV2"}

// byName is the table by names in lower case.
var byName = sync.OnceValue(func() map[string]Type {
	all := map[string]Type{}
	for _, entry := range known {
		for name := range strings.FieldsSeq(entry.names) {
			stem, star := strings.CutSuffix(name, "*")
			if !star {
				all[strings.ToLower(stem)] = entry.Type
				continue
			}
			for _, ending := range endings {
				all[strings.ToLower(stem+ending)] = entry.Type
			}
		}
	}
	return all
})

// apiPrefixes stand before the functions of PyTorch in the names of msprobe.
var apiPrefixes = []string{"functional.", "torch.", "tensor.", "mint.", "npu.", "aten."}

// OfOperator returns what is known of an operator by its type or, where there is
// none, by the name that msprobe gives an entry, such as Functional.relu.0.forward.
func OfOperator(opType, name string) Type {
	call := msprobe.ParseName(name)
	family, _, _ := strings.Cut(strings.ToLower(call.Callee), ".")
	if opType != "" || call.Direction != msprobe.Forward || !slices.Contains(apiPrefixes, family+".") {
		return Of(opType)
	}
	return Of(call.Callee)
}

// Of returns what is known of a type of operators, by the name that CANN,
// MindSpore or msprobe give it, in any case. Any other name is Unknown: nothing is
// guessed from a part of it.
func Of(name string) Type {
	name = strings.ToLower(name)
	for _, prefix := range apiPrefixes {
		if api, ok := strings.CutPrefix(name, prefix); ok {
			if t, ok := byName()[api]; ok {
				return t
			}
			return byName()[strings.TrimSuffix(api, "_")] // in place
		}
	}
	return byName()[name]
}
