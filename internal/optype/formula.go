package optype

import (
	"slices"
	"strings"
	"sync"
)

// Formula says what operators of a type compute, and in which order their inputs come.
type Formula struct {
	// Name is that of a formula of package recompute, empty where there is none.
	Name string
	// Inputs are the inputs in the order of the operator, by the names that the formula has for
	// them; empty for that of the formula. One with ? may be absent, one with * stands for all
	// that are left, one with ! is the value of an attribute of that name, and one with -
	// is not read.
	Inputs string
	// Output is the place of the first output that the formula has.
	Output int
	// Always are attributes that the type always has, as NAME=VALUE with spaces between them.
	Always string
}

// formulas is the table of what operators compute: those of CANN and MindSpore. Each name is
// written out, since versions of an operator differ in their inputs.
var formulas = []struct {
	names string
	Formula
}{
	{"Relu ReluD ReluV2 ReLU", Formula{Name: "Relu"}},
	{"Relu6 Relu6D ReLU6", Formula{Name: "Relu6"}},
	{"Abs", Formula{Name: "Abs"}},
	{"Neg Negative", Formula{Name: "Neg"}},
	{"Square", Formula{Name: "Square"}},
	{"Sqrt", Formula{Name: "Sqrt"}},
	{"Rsqrt", Formula{Name: "Rsqrt"}},
	{"Reciprocal Inv", Formula{Name: "Reciprocal"}},
	{"Exp", Formula{Name: "Exp"}},
	{"Expm1", Formula{Name: "Expm1"}},
	{"Log", Formula{Name: "Log"}},
	{"Log1p", Formula{Name: "Log1p"}},
	{"Sin", Formula{Name: "Sin"}},
	{"Cos", Formula{Name: "Cos"}},
	{"Tanh", Formula{Name: "Tanh"}},
	{"Erf", Formula{Name: "Erf"}},
	{"Sigmoid", Formula{Name: "Sigmoid"}},
	{"Softplus", Formula{Name: "Softplus", Always: "beta=1 threshold=20"}},
	{"SoftplusV2", Formula{Name: "Softplus"}},
	{"Mish", Formula{Name: "Mish"}},
	{"HardSwish HSwish", Formula{Name: "HardSwish"}},
	{"FastGelu QuickGelu", Formula{Name: "FastGelu"}},
	{"FastGeluV2", Formula{Name: "FastGeluV2"}},
	{"Gelu GeluV2", Formula{Name: "Gelu"}},
	{"Swish Silu SiLU", Formula{Name: "Swish"}},
	{"HardSigmoid HSigmoid", Formula{Name: "HardSigmoid"}},
	{"Elu", Formula{Name: "Elu"}},
	{"LeakyRelu LeakyReluD", Formula{Name: "LeakyRelu"}},
	{"PRelu PReLU", Formula{Name: "PRelu"}},
	{"Muls", Formula{Name: "Muls"}},
	{"Adds", Formula{Name: "Adds"}},
	{"Power", Formula{Name: "Power"}},
	{"Add AddV2", Formula{Name: "Add"}},
	{"Sub SubV2", Formula{Name: "Sub"}},
	{"Mul Multiply", Formula{Name: "Mul"}},
	{"RealDiv Div", Formula{Name: "RealDiv"}},
	{"Maximum", Formula{Name: "Maximum"}},
	{"Minimum", Formula{Name: "Minimum"}},
	{"SquaredDifference", Formula{Name: "SquaredDifference"}},
	{"Pow", Formula{Name: "Pow"}},
	{"AddN AccumulateNV2", Formula{Name: "AddN"}},
	{"FusedMulAdd", Formula{Name: "FusedMulAdd"}},
	{"FusedMulAddN", Formula{Name: "FusedMulAdd", Inputs: "x1 x3 x2"}}, // x1 times the number x3, plus x2
	{"Eltwise", Formula{Name: "Eltwise"}},
	{"BiasAdd", Formula{Name: "BiasAdd"}},
	{"ClipByValue ClipByValueD", Formula{Name: "ClipByValue"}},
	{"Select SelectV2", Formula{Name: "SelectV2"}},
	{"MaskedFill MaskedFillD", Formula{Name: "MaskedFill"}},
	{"Cast", Formula{Name: "Cast"}},
	{"LogicalNot", Formula{Name: "LogicalNot"}},
	{"Greater", Formula{Name: "Greater"}},
	{"GreaterEqual", Formula{Name: "GreaterEqual"}},
	{"Less", Formula{Name: "Less"}},
	{"LessEqual", Formula{Name: "LessEqual"}},
	{"Equal", Formula{Name: "Equal"}},
	{"NotEqual", Formula{Name: "NotEqual"}},
	{"LogicalAnd", Formula{Name: "LogicalAnd"}},
	{"LogicalOr", Formula{Name: "LogicalOr"}},
	{"BitwiseAnd", Formula{Name: "BitwiseAnd"}}, {"BitwiseOr", Formula{Name: "BitwiseOr"}}, {"BitwiseXor", Formula{Name: "BitwiseXor"}},
	{"Floor", Formula{Name: "Floor"}},
	{"Ceil", Formula{Name: "Ceil"}},
	{"Rint Round", Formula{Name: "Rint"}},
	{"Trunc", Formula{Name: "Trunc"}},
	{"ReluGrad ReluGradV2", Formula{Name: "ReluGrad"}},
	{"SigmoidGrad", Formula{Name: "SigmoidGrad"}},
	{"TanhGrad", Formula{Name: "TanhGrad"}},

	{"Identity IdentityN Reshape Squeeze SqueezeV2 SqueezeV3 Unsqueeze UnsqueezeV2 UnsqueezeV3 ExpandDims Flatten FlattenV2 TransData", Formula{Name: "Identity", Inputs: "x"}},
	{"Transpose", Formula{Name: "Transpose", Inputs: "x perm!"}},
	{"TransposeD", Formula{Name: "Transpose", Inputs: "x"}},
	{"Concat", Formula{Name: "Concat", Inputs: "axis! x*"}},
	{"ConcatV2", Formula{Name: "Concat", Inputs: "x* axis!"}}, // the axis last, where it was dumped
	{"ConcatD ConcatV2D", Formula{Name: "Concat", Inputs: "x*"}},
	{"Pack Stack", Formula{Name: "Pack", Inputs: "x*"}},
	{"Unpack Unstack", Formula{Name: "Unpack", Inputs: "x"}},
	{"Split", Formula{Name: "Split", Inputs: "axis! x"}},
	{"SplitV", Formula{Name: "Split", Inputs: "x - axis!"}},
	{"SplitD SplitVD", Formula{Name: "Split", Inputs: "x"}},
	{"Slice", Formula{Name: "StridedSlice", Inputs: "x begin! size!"}},
	{"StridedSlice", Formula{Name: "StridedSlice", Inputs: "x begin! end! strides!"}},
	{"SliceD StridedSliceD", Formula{Name: "StridedSlice", Inputs: "x"}},
	{"Pad", Formula{Name: "Pad", Inputs: "x paddings!", Always: "mode=constant value=0"}},
	{"PadV3", Formula{Name: "Pad", Inputs: "x paddings! value!?"}},
	{"PadD", Formula{Name: "Pad", Inputs: "x", Always: "mode=constant value=0"}},
	{"PadV3D", Formula{Name: "Pad", Inputs: "x"}},
	{"Tile", Formula{Name: "Tile", Inputs: "x -"}},
	{"TileD BroadcastToD", Formula{Name: "Tile", Inputs: "x"}},
	{"BroadcastTo Expand", Formula{Name: "Tile", Inputs: "x -"}},
	{"Gather", Formula{Name: "Gather", Inputs: "x indices"}},
	{"GatherV2", Formula{Name: "Gather", Inputs: "x indices axis!"}},
	{"GatherV2D", Formula{Name: "Gather", Inputs: "x indices"}},
	{"Embedding", Formula{Name: "Gather", Inputs: "x indices", Always: "axis=0"}},
	{"Index", Formula{Name: "Index", Inputs: "x indexed_sizes! - indices*"}},
	{"OneHot", Formula{Name: "OneHot", Inputs: "x - on? off?"}},
	{"OneHotD", Formula{Name: "OneHot", Inputs: "x on? off?"}},

	{"Softmax SoftmaxV2", Formula{Name: "Softmax"}},
	{"LogSoftmax LogSoftmaxV2", Formula{Name: "LogSoftmax"}},
	{"SoftmaxGrad", Formula{Name: "SoftmaxGrad"}},
	{"LayerNorm", Formula{Name: "LayerNorm"}},
	{"LayerNormV3", Formula{Name: "LayerNormV3"}},
	{"LayerNormV4", Formula{Name: "LayerNormV3", Inputs: "x - gamma? beta?"}},
	{"RmsNorm", Formula{Name: "RmsNorm"}},
	{"AddLayerNorm", Formula{Name: "AddLayerNorm"}},
	{"AddRmsNorm", Formula{Name: "AddRmsNorm"}},
	{"BNInfer", Formula{Name: "BNInfer"}},
	{"BatchNorm", Formula{Name: "BatchNorm"}},
	{"BNTrainingUpdate", Formula{Name: "BNTrainingUpdate"}},
	{"InstanceNorm", Formula{Name: "InstanceNorm"}},
	{"GroupNorm", Formula{Name: "GroupNorm"}},
	{"L2Normalize", Formula{Name: "L2Normalize"}},
	{"ReduceSum", Formula{Name: "ReduceSum", Inputs: "x axes!"}},
	{"ReduceSumD BiasAddGrad", Formula{Name: "ReduceSum", Inputs: "x"}},
	{"ReduceMean ReduceMeanWithCast", Formula{Name: "ReduceMean", Inputs: "x axes!"}},
	{"ReduceMeanD", Formula{Name: "ReduceMean", Inputs: "x"}},
	{"ReduceMax", Formula{Name: "ReduceMax", Inputs: "x axes!"}},
	{"ReduceMaxD", Formula{Name: "ReduceMax", Inputs: "x"}},
	{"ReduceProd", Formula{Name: "ReduceProd", Inputs: "x axes!"}},
	{"ReduceProdD", Formula{Name: "ReduceProd", Inputs: "x"}},
	{"SwiGlu", Formula{Name: "SwiGlu"}},
	{"TopKRouter", Formula{Name: "TopKRouter"}},
	{"RotaryMul", Formula{Name: "RotaryMul"}},
	{"ApplyRotaryPosEmb", Formula{Name: "ApplyRotaryPosEmb"}},
	{"Tril", Formula{Name: "Tril"}},
	{"Triu", Formula{Name: "Triu"}},
	{"Sign", Formula{Name: "Sign"}},
	{"LogSigmoid", Formula{Name: "LogSigmoid"}},
	{"ReduceMin", Formula{Name: "ReduceMin", Inputs: "x axes!"}},
	{"ReduceMinD", Formula{Name: "ReduceMin", Inputs: "x"}},
	{"L2Loss", Formula{Name: "L2Loss"}},
	{"ArgMax ArgMaxV2", Formula{Name: "ArgMax", Inputs: "x axes!"}},
	{"ArgMaxD", Formula{Name: "ArgMax", Inputs: "x"}},
	{"ArgMin", Formula{Name: "ArgMin", Inputs: "x axes!"}},
	{"ArgMinD", Formula{Name: "ArgMin", Inputs: "x"}},
	{"Cumsum", Formula{Name: "Cumsum", Inputs: "x axes!"}},
	{"CumsumD", Formula{Name: "Cumsum", Inputs: "x"}},
	{"TopK TopKV2", Formula{Name: "TopK", Inputs: "x -"}},
	{"TopKD", Formula{Name: "TopK", Inputs: "x -?"}},

	{"FlashAttentionScore", Formula{Name: "Attention", Inputs: "q k v bias? -? -? mask? -?", Always: "masked=out scale=1 causal=0 pse_type=1", Output: 3}},
	{"PromptFlashAttention IncreFlashAttention", Formula{Name: "Attention", Inputs: "q k v bias? mask? -?", Always: "masked=out scale=1 causal=0 layout=BSH"}},
	{"MatMul MatMulV2 MatMulV3 BatchMatMul BatchMatMulV2 BatchMatMulV3", Formula{Name: "MatMul"}},
	{"QuantBatchMatmul", Formula{Name: "QuantBatchMatmul"}},
	{"FullyConnection", Formula{Name: "FullyConnection"}},
	{"Conv2D DepthwiseConv2D DepthwiseConv2dNative Conv2DCompress ReadSelect", Formula{Name: "Conv2D"}},
	{"MaxPool MaxPoolV3", Formula{Name: "MaxPool"}},
	{"AvgPool AvgPoolV2", Formula{Name: "AvgPool"}},
	{"Pooling", Formula{Name: "Pooling"}},
	{"AscendQuant", Formula{Name: "AscendQuant"}},
	{"AscendDequant", Formula{Name: "AscendDequant"}},
	{"ApplyMomentum ApplyMomentumD ApplyAdam ApplyAdamD ApplyAdamW AssignAdd AssignSub ScatterUpdate ScatterNdUpdate", Formula{Name: "Apply"}},
	{"Assign", Formula{Name: "Identity", Inputs: "- x"}},
}

// formulaByName is the table by names in lower case.
var formulaByName = sync.OnceValue(func() map[string]Formula {
	all := map[string]Formula{}
	for _, row := range formulas {
		for name := range strings.FieldsSeq(row.names) {
			all[strings.ToLower(name)] = row.Formula
		}
	}
	return all
})

// FormulaOf returns what an operator of a type computes; the zero value for what nobody
// knows. Nothing is guessed from a part of a name.
func FormulaOf(name string) Formula { return formulaByName()[strings.ToLower(name)] }

// images are the formulas that see four axes as images, channels second.
var images = []string{"Conv2D", "MaxPool", "AvgPool", "Pooling", "BNInfer", "BNTrainingUpdate", "BatchNorm", "InstanceNorm", "GroupNorm", "PRelu"}

// Images reports whether a formula sees four axes as images, with their channels second.
func (f *Formula) Images() bool { return slices.Contains(images, f.Name) }

// FormulaRow is a row of the table.
type FormulaRow struct {
	// Types are the names of the types.
	Types []string
	Formula
}

// FormulaRows returns the table.
func FormulaRows() (all []FormulaRow) {
	for _, row := range formulas {
		all = append(all, FormulaRow{strings.Fields(row.names), row.Formula})
	}
	return all
}
