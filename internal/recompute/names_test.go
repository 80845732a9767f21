package recompute

import (
	"math"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/optype"
)

// TestTypeOf has the operator types of the golden data and of the samples, PyTorch functions in msprobe's spelling,
// and names that only look like known ones.
func TestTypeOf(t *testing.T) {
	for class, names := range map[optype.Class]string{
		optype.Move: "Tril TriuD Assign Unstack Torch.float Tensor.type_as Torch.broadcast_to Reshape Transpose TransposeD TransData ConcatV2 ConcatV2D SplitVD StridedSlice StridedSliceD Slice GatherV2 Pack Unpack Pad PadV3 TileD Tile Squeeze " +
			"ExpandDims Identity Cast MaxPool MaxPoolV2 MaxPool3D MaxPoolWithArgmaxV1 MaxPoolWithArgmaxV2 DepthToSpace BatchToSpace " +
			"Tensor.view Tensor.reshape Torch.transpose Tensor.permute Torch.cat Torch.stack Torch.split Torch.chunk Tensor.__getitem__ Tensor.contiguous " +
			"Tensor.expand Tensor.to Functional.dropout Functional.max_pool2d Torch.clone",
		optype.Lipschitz: "Adds HSigmoid HSwish LogSigmoid FastGeluV2 AccumulateNV2 Torch.clamp_min Torch.subtract NPU.npu_gelu Functional.logsigmoid Relu ReLU ReluV2 LeakyRelu PRelu Abs Neg Maximum Minimum Add AddV2 Sub BiasAdd AddN Select SelectV2 MaskedFill ClipByValue Sigmoid Tanh Gelu GeluV2 " +
			"Swish Silu Softplus Sin Cos Erf LogSoftmax LogSoftmaxV2 Functional.relu Functional.leaky_relu Torch.add Tensor.add_ Tensor.__add__ Tensor.__iadd__ Torch.sub " +
			"Functional.gelu Functional.silu Torch.sigmoid Torch.tanh Torch.clamp Torch.where Tensor.masked_fill_",
		optype.Dequantise:     "AscendDequant",
		optype.Multiply:       "Mul Muls Square Pow Torch.mul Tensor.mul_ Tensor.__mul__ Torch.pow",
		optype.Divide:         "Torch.divide Tensor.__rtruediv__ RealDiv Div Rsqrt Sqrt Reciprocal Log Torch.div Torch.rsqrt Torch.sqrt Torch.log Torch.reciprocal",
		optype.Exponential:    "Exp Expm1 Softmax SoftmaxV2 Torch.exp Functional.softmax",
		optype.Normalise:      "LayerNorm LayerNormV3 RmsNorm InstanceNorm GroupNorm L2Normalize Functional.layer_norm Functional.group_norm Functional.instance_norm NPU.npu_rms_norm",
		optype.BatchNormalise: "BatchNorm BatchNormV2 BNInfer BNInferD Scale Functional.batch_norm",
		optype.Linear: "Tensor.__matmul__ QuantBatchMatmul Conv2DCompress MatMul MatMulV2 MatMulV3 BatchMatMul BatchMatMulV2 Conv2D Conv3D DepthwiseConv2D DepthwiseConv2dNative FullyConnection GEMM " +
			"Functional.linear Torch.matmul Torch.bmm Torch.addmm Torch.baddbmm Torch.einsum Functional.conv1d Functional.conv2d Functional.conv3d Aten.mm",
		optype.Reduce:   "BiasAddGrad ReduceMeanWithCast ReduceMean ReduceMeanD ReduceSum ReduceSumD AvgPool AvgPoolV2 AvgPool3D Cumsum CumsumD Torch.sum Tensor.mean Functional.avg_pool2d Functional.avg_pool3d Torch.cumsum",
		optype.Quantise: "Rint Sign OneHotD Torch.eq Tensor.__and__ Torch.bitwise_or AscendQuant Round Floor Greater Equal LogicalNot Torch.logical_not",
		optype.Index:    "ArgMaxV2 ArgMaxD Torch.argmax NonMaxSuppressionV3 NonZero",
		optype.Gated:    "ReluGrad MaxPoolGrad MaxPoolGradWithArgmaxV1 Aten.threshold_backward",
		// AddLayerNorm and AddRmsNorm also return a sum, and SoftmaxGrad is a difference of products: no class of one
		// input bounds all their outputs.
		optype.Unknown: "AddLayerNorm AddRmsNorm TransposeBatchMatMul ConvertX SoftmaxGrad LayerNormGrad Conv2DBackpropFilter ApplyMomentum FusionOp_MulAdd Const Parameter " +
			"Load Depend MakeTuple TupleGetItem Foo Op Opdebug call Partial exception_info ReluBackward AddBackward ReluD2 MulAdd Conv2DBackprop " +
			"Module.conv1.Conv2d Cell.relu.ReLU Torch.zeros Torch.empty NPU.npu_format_cast Functional Functional. Functional.linear.0 Distributed.add _ ___ Tensor.__",
	} {
		for name := range strings.FieldsSeq(names) {
			for _, spelled := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
				if got := TypeOf(spelled); got.Class != class {
					t.Errorf("%s is %s, want %s", spelled, got.Class, class)
				}
			}
		}
	}
	if got := TypeOf(""); got != (optype.Type{}) {
		t.Errorf("no name is %+v", got)
	}
}

// TestNamedOnce: no type has two formulas, and all forms that give a name a noise give it the same one.
func TestNamedOnce(t *testing.T) {
	t.Parallel()
	formulas, noise := map[string]string{}, map[string]optype.Type{}
	for i := range operators {
		f := &operators[i]
		for k := range f.forms {
			as := &f.forms[k]
			for name := range strings.FieldsSeq(as.names) {
				space, name := splitNamespace(name)
				low := strings.ToLower(name)
				if other, ok := formulas[low]; ok && space == typeSpace && f.name != "" {
					t.Errorf("type %s has the formulas %s and %s", name, other, f.name)
				}
				if space == typeSpace {
					formulas[low] = f.name
				}
				one := *f.noiseOf(as)
				other, ok := noise[low]
				if ok && other != one && (f.name == "" || as.noise != nil) {
					t.Errorf("noise of %s is %+v and %+v", name, other, one)
				}
				if noise[low] = one; ok {
					noise[low] = other
				}
			}
		}
	}
}

// TestLipschitz: no function has a larger derivative than the factor of its type.
func TestLipschitz(t *testing.T) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	clip := func(x, low, high float64) float64 { return min(max(x, low), high) }
	elu := func(x float64) float64 { return max(x, 0) + math.Expm1(min(x, 0)) }
	hardSwish := func(x float64) float64 { return x * clip(x+3, 0, 6) / 6 }
	gelu := func(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }
	swish := func(x float64) float64 { return x * sigmoid(x) }
	softplus := func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
	functions := map[string]func(float64) float64{
		"Relu": func(x float64) float64 { return max(x, 0) }, "Relu6": func(x float64) float64 { return clip(x, 0, 6) },
		"LeakyRelu": func(x float64) float64 { return max(x, 0.01*x) },
		"Abs":       math.Abs, "Neg": func(x float64) float64 { return -x }, "ClipByValue": func(x float64) float64 { return clip(x, -1, 2) },
		"Hardtanh": func(x float64) float64 { return clip(x, -1, 1) },
		"Sigmoid":  sigmoid, "Tanh": math.Tanh, "Softplus": softplus, "Softsign": func(x float64) float64 { return x / (1 + math.Abs(x)) },
		"Sin": math.Sin, "Cos": math.Cos, "Erf": math.Erf, "Erfc": math.Erfc, "Atan": math.Atan, "Asinh": math.Asinh,
		"HardSigmoid": func(x float64) float64 { return clip(x/6+0.5, 0, 1) }, "HardSwish": hardSwish, "hardswish": hardSwish,
		"Elu": elu, "Selu": func(x float64) float64 {
			return 1.0507009873554805 * (max(x, 0) + 1.6732632423543772*math.Expm1(min(x, 0)))
		}, "celu": elu,
		"Gelu": gelu, "FastGelu": func(x float64) float64 { return x * sigmoid(1.702*x) }, "QuickGelu": func(x float64) float64 { return x * sigmoid(1.702*x) },
		"Swish": swish, "Silu": swish, "Mish": func(x float64) float64 { return x * math.Tanh(softplus(x)) },
	}
	for name, f := range functions {
		typ, steepest := TypeOf(name), 0.0
		for i := range 40000 {
			x := float64(i-20000) / 1000
			steepest = max(steepest, math.Abs(f(x+0.001)-f(x))/0.001)
		}
		if typ.Class != optype.Lipschitz || steepest > typ.Factor*(1+1e-9) || typ.Factor > 1.05*max(steepest, 1) {
			t.Errorf("%s: class %s with a factor of %v, the steepest slope is %v", name, typ.Class, typ.Factor, steepest)
		}
	}
}

func TestTypeOfOperator(t *testing.T) {
	for _, c := range []struct {
		opType, name string
		want         optype.Class
	}{
		{"Relu", "Functional.linear.0.forward", optype.Lipschitz},
		{"", "Functional.linear.0.forward", optype.Linear},
		{"", "Tensor.add_.12.forward", optype.Lipschitz},
		{"", "Functional.linear.0.backward", optype.Unknown}, // another function
		{"", "Module.linear.0.forward", optype.Unknown},      // a name chosen by the user
		{"", "Module.ln.LayerNorm.forward.0", optype.Normalise},
		{"", "Module.a.0.fc.Linear.forward.12", optype.Linear},
		{"", "Module.norm.MixtralRMSNorm.forward.0", optype.Normalise},
		{"", "Module.qkv.ColumnParallelLinear.forward.0", optype.Linear},
		{"", "Module.rotary.LlamaRotaryEmbedding.forward.0", optype.Unknown},
		{"", "Module.embed.Embedding.forward.0", optype.Unknown}, // it copies from its weight, which may be missing
		{"", "Module.layers.0.DecoderLayer.forward.0", optype.Unknown},
		{"", "Module.ln.LayerNorm.backward.0", optype.Unknown},
		{"", "Functional.linear", optype.Unknown},
		{"", "linear", optype.Unknown},
		{"", "", optype.Unknown},
	} {
		if got := TypeOfOperator(c.opType, c.name); got.Class != c.want {
			t.Errorf("%q %q is %s, want %s", c.opType, c.name, got.Class, c.want)
		}
	}
}

// TestIndices: the listed outputs are indices, other outputs of the same operators are not.
func TestIndices(t *testing.T) {
	for name, want := range map[string]uint8{
		"TopKV2": 1 << 1, "Torch.topk": 1 << 1, "Sort": 1 << 1, "ArgMaxV2": 1 << 0, "Torch.argmax": 1 << 0, "ArgMaxWithValue": 1 << 0, "Unique": 1 << 1,
		"NonMaxSuppressionV3": 1 << 0, "MoeGatingTopKSoftmaxV2": 1<<1 | 1<<2, "NPU.npu_moe_init_routing": 1<<1 | 1<<2, "GatherV2": 0, "MatMul": 0,
	} {
		typ := TypeOf(name)
		for output := -1; output < 10; output++ {
			if got := typ.IsIndex(output); got != (output >= 0 && output < 8 && want>>output&1 == 1) {
				t.Errorf("output %d of %s is an index: %t", output, name, got)
			}
		}
	}
}

// TestCallRows checks that each row of the table of calls parses, and that the rows of a name differ in their
// arguments.
func TestCallRows(t *testing.T) {
	t.Parallel()
	if n := len(table().functions) + len(table().modules); n < 90 {
		t.Errorf("%d names of PyTorch, want at least 90", n)
	}
	for _, rows := range []map[string][]Call{table().functions, table().modules} {
		for name, all := range rows {
			for _, row := range all {
				seen := map[string]bool{}
				for _, a := range row.Arguments {
					if a.Name == "" || strings.ContainsAny(a.Name+a.Keyword, "=!*:") || a.Keyword == "" && a.Default == "" || a.Keyword != "" && seen[a.Keyword] {
						t.Errorf("%s: argument %+v", name, a)
					}
					seen[a.Keyword] = true
				}
			}
		}
	}
	for api, want := range map[string]string{
		"Functional.relu_.0.forward": "relu_ Relu", "Tensor.__add__.3.forward": "__add__ Add", "Module.a.0.Conv2d.forward.1": "Conv2d Conv2D",
		"Torch.embedding.0.forward": "embedding Gather", "Tensor.__getitem__.0.forward": "__getitem__ GetItem", "Module.embed.VocabParallelEmbedding.forward.0": "VocabParallelEmbedding Gather", "Module.n.Qwen3RMSNorm.forward.0": "Qwen3RMSNorm RmsNorm", "Module.n.T5LayerNorm.forward.0": "T5LayerNorm RmsNorm",
		"Module.n.MixedFusedLayerNorm.forward.0": "MixedFusedLayerNorm LayerNorm", "Module.p.RowParallelLinear.forward.0": "RowParallelLinear MatMul", "Module.r.RotaryEmbedding.forward.0": "RotaryEmbedding ",
		"Module.b.Bilinear.forward.0": "Bilinear ", "Functional.relu.0.backward": " ", "Functional.nobody.0.forward": "nobody ", "x": " ",
	} {
		function, rows := CallsOf(api, "")
		wantFunction, formula, _ := strings.Cut(want, " ")
		if function != wantFunction || len(rows) > 0 != (formula != "") || formula != "" && !slices.ContainsFunc(rows, func(c Call) bool { return c.Formula == formula }) {
			t.Errorf("%s: %s with %+v, want %s", api, function, rows, want)
		}
	}
}

// TestDifferentModules: classes that surely compute different things.
func TestDifferentModules(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"GELU", "SiLU", true}, {"NewGELUActivation", "GELU", false}, {"GELUActivation", "SiLUActivation", true}, {"QuickGELUActivation", "GELUActivation", true}, {"Linear", "ColumnParallelLinear", false}, {"Linear", "LayerNorm", true}, {"RMSNorm", "LlamaRMSNorm", false},
		{"LlamaRMSNorm", "TENorm", false}, {"Unheard", "Linear", false}, {"", "", false},
	} {
		if got := AreDifferentModules(test.a, test.b); got != test.want {
			t.Errorf("%s and %s: %v", test.a, test.b, got)
		}
		if got := AreDifferentModules(test.b, test.a); got != test.want {
			t.Errorf("%s and %s: %v", test.b, test.a, got)
		}
	}
}
