package optype

// moreUnaryCalls are functions of a tensor and numbers.
var moreUnaryCalls = []calls{
	{"acos arccos", "Acos", ""}, {"acosh arccosh", "Acosh", ""}, {"asin arcsin", "Asin", ""}, {"asinh arcsinh", "Asinh", ""}, {"atan arctan", "Atan", ""}, {"atanh arctanh", "Atanh", ""},
	{"cosh", "Cosh", ""}, {"sinh", "Sinh", ""}, {"tan", "Tan", ""}, {"erfc", "Erfc", ""}, {"tanhshrink", "TanhShrink", ""}, {"frac", "Frac", ""}, {"sgn", "Sign", ""},
	{"deg2rad", "Muls", ":value=0.017453292519943295"}, {"rad2deg", "Muls", ":value=57.29577951308232"},
	{"bitwise_not __invert__", "BitwiseNot", ""}, {"isnan", "IsNan", ""}, {"isinf", "IsInf", ""}, {"isfinite", "IsFinite", ""},
	{"logit", "Logit", "eps:epsilon"}, {"hardshrink", "HardShrink", "lambd=0.5"}, {"softshrink", "SoftShrink", "lambd=0.5"}, {"threshold", "ThresholdV2D", "threshold value"},
	{"nan_to_num", "NanToNum", "nan=0 posinf neginf"}, {"npu_silu", "Swish", ":scale=1"}, {"npu_mish", "Mish", ""},
	{"std", "ReduceStd", "dim:axes unbiased:correction=1 keepdim:-"}, {"std", "ReduceStd", "dim:axes correction=1 keepdim:-"},
	{"var", "ReduceVar", "dim:axes unbiased:correction=1 keepdim:-"}, {"var", "ReduceVar", "dim:axes correction=1 keepdim:-"},
	{"norm", "LpNorm", "p=2 dim:axes keepdim:-"}, {"vector_norm", "LpNorm", "ord:p=2 dim:axes keepdim:-"}, {"normalize", "LpNormalize", "p=2 dim:axes=1 eps:epsilon=1e-12"},
	{"logsumexp", "ReduceLogSumExp", "dim:axes keepdim:-"}, {"all", "ReduceAll", "dim:axes keepdim:-"}, {"any", "ReduceAny", "dim:axes keepdim:-"}, {"count_nonzero", "CountNonzero", "dim:axes"},
	{"aminmax", "AMinMax", "dim:axes keepdim:-"}, {"softmin", "Softmin", "dim:axes"}, {"cumprod", "Cumprod", "dim:axes"},
	{"sort", "Sort", "dim:axes=-1 descending=0 stable:-"}, {"argsort", "ArgSort", "dim:axes=-1 descending=0 stable:-"},
	{"__getitem__", "GetItem", "index:indices[]"}, {"Aten.index Torch.index", "GetItem", "indices[]"},
	{"gather", "GatherElements", "dim:axis index! sparse_grad:-"}, {"take_along_dim", "GatherElements", "indices:index! dim:axis"}, {"take", "Take", "index!"},
	{"scatter", "ScatterElements", "dim:axis index! src:updates :reduction=none"}, {"scatter", "ScatterElements", "dim:axis index! value:updates :reduction=none"},
	{"scatter_add", "ScatterElements", "dim:axis index! src:updates! :reduction=add"},
	{"index_add", "IndexAdd", "dim:axis index! source:updates! alpha=1"}, {"index_copy", "IndexCopy", "dim:axis index! source:updates! :alpha=1"}, {"index_fill", "IndexCopy", "dim:axis index! value:updates :alpha=1"},
	{"__setitem__", "SetItem", "index:indices[] value"}, {"index_put _index_put_impl", "SetItem", "indices[] values:value! accumulate=0 unsafe:-"},
	{"masked_select", "MaskedSelect", "mask!"}, {"masked_scatter", "MaskedScatter", "mask! source:updates!"}, {"nonzero", "NonZero", "as_tuple:-"},
	{"roll", "Roll", "shifts dims:axes"}, {"flip", "ReverseV2", "dims*:axes"}, {"fliplr", "ReverseV2", ":axes=1"}, {"flipud", "ReverseV2", ":axes=0"},
	{"repeat_interleave", "RepeatInterleave", "repeats dim:axis output_size:-"},
	{"narrow", "Narrow", "dim:axis start length"}, {"select", "SelectAt", "dim:axis index:at"}, {"Tensor.unfold", "Unfold", "dimension:axis size step"}, {"T", "Transpose", ":reversed=1"},
	{"pixel_shuffle", "DepthToSpace", "upscale_factor:block_size"}, {"pixel_unshuffle", "SpaceToDepth", "downscale_factor:block_size"}, {"channel_shuffle", "ShuffleChannel", "groups:group"},
	{"dropout", "Dropout", "p=0.5 training=1"}, {"npu_format_cast", "Identity", "acl_format:-"}, {"npu_dtype_cast", "Cast", "dtype:- :mode=trunc"}, {"npu_transpose", "Transpose", "perm"},
	{"adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d", "AdaptiveAvgPool", "output_size:-"},
	{"byte char short", "Cast", ":mode=trunc"},
}

// moreCalls are functions whose first argument is none that formulas have first, and functions of
// several tensors.
var moreCalls = []calls{
	{"atan2 arctan2", "Atan2", "input:x1! other:x2!"}, {"hypot", "Hypot", "input:x1! other:x2!"}, {"copysign", "CopySign", "input:x1! other:x2"},
	{"fmax", "Fmax", "input:x1! other:x2!"}, {"fmin", "Fmin", "input:x1! other:x2!"}, {"xlogy", "Xlogy", "input:x1 other:x2"}, {"heaviside", "Heaviside", "input:x1! values:x2!"}, {"float_power", "Pow", "input:x1 exponent:x2"},
	{"remainder __mod__", "FloorMod", "input:x1 other:x2"}, {"fmod", "Mod", "input:x1 other:x2"}, {"floor_divide __floordiv__", "FloorDiv", "input:x1 other:x2"},
	{"div divide", "FloorDiv", "input:x1 other:x2 rounding_mode:-==floor"}, {"div divide", "TruncateDiv", "input:x1 other:x2 rounding_mode:-==trunc"},
	{"__lshift__ bitwise_left_shift", "LeftShift", "input:x1 other:x2"}, {"__rshift__ bitwise_right_shift", "RightShift", "input:x1 other:x2"}, {"logical_xor", "LogicalXor", "input:x1! other:x2!"},
	{"sub subtract", "FusedMulSub", "input:x3 other:x1 alpha:x2"}, {"rsub", "FusedMulSub", "input:x1 other:x3 alpha:x2"},
	{"addcmul", "Addcmul", "input:x! tensor1:x1! tensor2:x2! value=1"}, {"addcdiv", "Addcdiv", "input:x! tensor1:x1! tensor2:x2! value=1"}, {"lerp", "Lerp", "input:start! end! weight"},
	{"cross_entropy", "CrossEntropy", "input:x! target! weight size_average:- ignore_index=-100 reduce:- reduction=mean label_smoothing=0"},
	{"nll_loss", "NLLLoss", "input:x! target! weight size_average:- ignore_index=-100 reduce:- reduction=mean"},
	{"mse_loss", "MseLoss", "input:x! target:y! size_average:- reduce:- reduction=mean"}, {"l1_loss", "L1Loss", "input:x! target:y! size_average:- reduce:- reduction=mean"},
	{"smooth_l1_loss", "SmoothL1LossV2", "input:x! target:y! size_average:- reduce:- reduction=mean beta=1"}, {"huber_loss", "HuberLoss", "input:x! target:y! reduction=mean delta=1"},
	{"binary_cross_entropy", "BinaryCrossEntropy", "input:x! target:y! weight size_average:- reduce:- reduction=mean"},
	{"binary_cross_entropy_with_logits", "SigmoidCrossEntropyWithLogitsV2", "input:x! target:y! weight size_average:- reduce:- reduction=mean pos_weight"},
	{"kl_div", "KLDiv", "input:x! target:y! size_average:- reduce:- reduction=mean log_target=0"}, {"cosine_similarity", "CosineSimilarity", "x1:x! x2:y! dim:axes=1 eps:epsilon=1e-8"},
	{"hstack", "Concat", "tensors:x"}, {"vstack", "Concat", "tensors:x"},
	{"zeros", "Fill", ":value=0 size*:-"}, {"ones", "Fill", ":value=1 size*:-"}, {"zeros_like", "Fill", ":value=0 input:-"}, {"ones_like", "Fill", ":value=1 input:-"}, {"zero", "Fill", ":value=0 input:-"},
	{"full", "Fill", "size:- fill_value:value"}, {"full_like fill new_full", "Fill", "input:- value"}, {"full_like new_full", "Fill", "input:- fill_value:value"}, {"new_zeros", "Fill", ":value=0 input:- size*:-"}, {"new_ones", "Fill", ":value=1 input:- size*:-"},
	{"copy", "Copy", "input:- src:x!"}, {"arange", "Range", "end:- :start=0 :step=1"}, {"arange", "Range", "start end:- step=1"},
	{"addmv", "Einsum", "input:bias! mat:x1! vec:x2! beta=1 alpha=1 :equation=ij,j->i"}, {"addbmm", "Einsum", "input:bias! batch1:x1! batch2:x2! beta=1 alpha=1 :equation=bij,bjk->ik"},
	{"addr", "Einsum", "input:bias! vec1:x1! vec2:x2! beta=1 alpha=1 :equation=i,j->ij"}, {"outer ger", "Einsum", "input:x1! vec2:x2! :equation=i,j->ij"}, {"dot vdot inner", "Einsum", "input:x1! other:x2! :equation=i,i->"},
	{"mv", "Einsum", "input:x1! vec:x2! :equation=ij,j->i"}, {"einsum", "Einsum", "equation operands*:x1!"},
	{"movedim moveaxis", "Transpose", "input:x! source destination"},
	{"conv_transpose1d conv_transpose2d conv_transpose3d", "Conv2DTranspose", "input:x! weight:w! bias:more stride=1 padding=0 output_padding:- groups=1 dilation=1"},
	{"interpolate upsample", "Interpolate", "input:x! size:- scale_factor:scales mode=nearest align_corners=0 recompute_scale_factor:- antialias:-==0"},
	{"interpolate", "Interpolate", "input:x! size:- scale_factor:- mode=nearest align_corners=0 recompute_scale_factor:-==1 antialias:-==0"},
	{"unfold", "Im2col", "input:x! kernel_size:ksize dilation=1 padding=0 stride=1"}, {"diagonal", "Diagonal", "input:x! offset=0 dim1=0 dim2=1"},
	{"npu_linear", "MatMul", "input:x1! weight:x2! bias :transpose_x1=0 :transpose_x2=1"}, {"npu_bmmV2", "MatMul", "input:x1! mat2:x2! output_sizes:- :transpose_x1=0 :transpose_x2=0"},
}

// moreModules are modules of PyTorch whose meaning is closed.
var moreModules = []calls{
	{"Identity", "Identity", "input:x!"}, {"Hardsigmoid", "HardSigmoid", "input:x! :alpha=0.16666666666666666 :beta=0.5"}, {"PReLU", "PRelu", "input:x! weight!"}, {"Dropout", "Dropout", "input:x!"},
	{"AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d", "AdaptiveAvgPool", "input:x!"}, {"Tanhshrink", "TanhShrink", "input:x!"}, {"Softmin", "Softmin", "input:x!"},
	{"ConvTranspose1d ConvTranspose2d ConvTranspose3d", "Conv2DTranspose", "input:x! weight:w! bias:more"}, {"Upsample UpsamplingNearest2d UpsamplingBilinear2d", "Interpolate", "input:x!"},
	{"CrossEntropyLoss", "CrossEntropy", "input:x! target!"}, {"NLLLoss", "NLLLoss", "input:x! target!"}, {"MSELoss", "MseLoss", "input:x! target:y!"}, {"L1Loss", "L1Loss", "input:x! target:y!"},
	{"BCEWithLogitsLoss", "SigmoidCrossEntropyWithLogitsV2", "input:x! target:y! pos_weight"}, {"BCELoss", "BinaryCrossEntropy", "input:x! target:y!"},
}
