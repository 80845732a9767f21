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
	{"Softplus SoftplusV2", Formula{Name: "Softplus"}},
	{"Mish", Formula{Name: "Mish"}},
	{"HardSwish HSwish", Formula{Name: "HardSwish"}},
	{"FastGelu FastGeluV2 QuickGelu", Formula{Name: "FastGelu"}},
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
	{"FusedMulAdd FusedMulAddN", Formula{Name: "FusedMulAdd"}},
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
	{"Floor", Formula{Name: "Floor"}},
	{"Ceil", Formula{Name: "Ceil"}},
	{"Rint Round", Formula{Name: "Rint"}},
	{"Trunc", Formula{Name: "Trunc"}},
	{"ReluGrad ReluGradV2", Formula{Name: "ReluGrad"}},
	{"SigmoidGrad", Formula{Name: "SigmoidGrad"}},
	{"TanhGrad", Formula{Name: "TanhGrad"}},

	{"Identity IdentityN Reshape Squeeze SqueezeV2 SqueezeV3 Unsqueeze UnsqueezeV2 UnsqueezeV3 ExpandDims Flatten FlattenV2 TransData", Formula{"Identity", "x"}},
	{"Transpose", Formula{"Transpose", "x perm!"}},
	{"TransposeD", Formula{"Transpose", "x"}},
	{"Concat", Formula{"Concat", "axis! x*"}},
	{"ConcatV2", Formula{"Concat", "x*"}}, // with the axis last, where it was dumped
	{"ConcatD ConcatV2D", Formula{"Concat", "x*"}},
	{"Pack Stack", Formula{"Pack", "x*"}},
	{"Unpack Unstack", Formula{"Unpack", "x"}},
	{"Split", Formula{"Split", "axis! x"}},
	{"SplitV", Formula{"Split", "x - axis!"}},
	{"SplitD SplitVD", Formula{"Split", "x"}},
	{"Slice", Formula{"StridedSlice", "x begin! size!"}},
	{"StridedSlice", Formula{"StridedSlice", "x begin! end! strides!"}},
	{"SliceD StridedSliceD", Formula{"StridedSlice", "x"}},
	{"Pad", Formula{"Pad", "x paddings!"}},
	{"PadV3", Formula{"Pad", "x paddings! value!?"}},
	{"PadD PadV3D", Formula{"Pad", "x"}},
	{"Tile", Formula{"Tile", "x -"}},
	{"TileD BroadcastToD", Formula{"Tile", "x"}},
	{"BroadcastTo Expand", Formula{"Tile", "x -"}},
	{"Gather", Formula{"Gather", "x indices"}},
	{"GatherV2", Formula{"Gather", "x indices axis!"}},
	{"GatherV2D", Formula{"Gather", "x indices"}},
	{"OneHot", Formula{"OneHot", "x - on? off?"}},
	{"OneHotD", Formula{"OneHot", "x on? off?"}},

	{"Softmax SoftmaxV2", Formula{Name: "Softmax"}},
	{"LogSoftmax LogSoftmaxV2", Formula{Name: "LogSoftmax"}},
	{"SoftmaxGrad", Formula{Name: "SoftmaxGrad"}},
	{"LayerNorm", Formula{Name: "LayerNorm"}},
	{"LayerNormV3", Formula{Name: "LayerNormV3"}},
	{"LayerNormV4", Formula{"LayerNormV3", "x - gamma? beta?"}},
	{"RmsNorm", Formula{Name: "RmsNorm"}},
	{"AddRmsNorm", Formula{Name: "AddRmsNorm"}},
	{"BNInfer", Formula{Name: "BNInfer"}},
	{"BatchNorm", Formula{Name: "BatchNorm"}},
	{"InstanceNorm", Formula{Name: "InstanceNorm"}},
	{"GroupNorm", Formula{Name: "GroupNorm"}},
	{"L2Normalize", Formula{Name: "L2Normalize"}},
	{"ReduceSum", Formula{"ReduceSum", "x axes!"}},
	{"ReduceSumD BiasAddGrad", Formula{"ReduceSum", "x"}},
	{"ReduceMean ReduceMeanWithCast", Formula{"ReduceMean", "x axes!"}},
	{"ReduceMeanD", Formula{"ReduceMean", "x"}},
	{"ReduceMax", Formula{"ReduceMax", "x axes!"}},
	{"ReduceMaxD", Formula{"ReduceMax", "x"}},
	{"ReduceMin", Formula{"ReduceMin", "x axes!"}},
	{"ReduceMinD", Formula{"ReduceMin", "x"}},
	{"L2Loss", Formula{Name: "L2Loss"}},
	{"ArgMax ArgMaxV2", Formula{"ArgMax", "x axes!"}},
	{"ArgMaxD", Formula{"ArgMax", "x"}},
	{"ArgMin", Formula{"ArgMin", "x axes!"}},
	{"ArgMinD", Formula{"ArgMin", "x"}},
	{"Cumsum", Formula{"Cumsum", "x axes!"}},
	{"CumsumD", Formula{"Cumsum", "x"}},
	{"TopK TopKV2", Formula{"TopK", "x -"}},
	{"TopKD", Formula{"TopK", "x -?"}},

	{"MatMul MatMulV2 MatMulV3 BatchMatMul BatchMatMulV2 BatchMatMulV3", Formula{Name: "MatMul"}},
	{"FullyConnection", Formula{Name: "FullyConnection"}},
	{"Conv2D DepthwiseConv2D DepthwiseConv2dNative Conv2DCompress ReadSelect", Formula{Name: "Conv2D"}},
	{"MaxPool MaxPoolV3", Formula{Name: "MaxPool"}},
	{"AvgPool AvgPoolV2", Formula{Name: "AvgPool"}},
	{"Pooling", Formula{Name: "Pooling"}},
	{"AscendQuant", Formula{Name: "AscendQuant"}},
	{"AscendDequant", Formula{Name: "AscendDequant"}},
	{"ApplyMomentum ApplyMomentumD ApplyAdam ApplyAdamD ApplyAdamW AssignAdd AssignSub ScatterUpdate ScatterNdUpdate", Formula{Name: "Apply"}},
	{"Assign", Formula{"Identity", "- x"}},
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
var images = []string{"Conv2D", "MaxPool", "AvgPool", "Pooling", "BNInfer", "BatchNorm", "InstanceNorm", "GroupNorm", "PRelu"}

// Images reports whether a formula sees four axes as images, with their channels second.
func (f *Formula) Images() bool { return slices.Contains(images, f.Name) }

// FormulaRow is a row of the table.
type FormulaRow struct {
	// Types are the names of the types.
	Types []string
	Formula
}

// Has reports whether a row has one of some names, in any case.
func (r *FormulaRow) Has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return slices.ContainsFunc(r.Types, func(t string) bool { return strings.EqualFold(t, name) })
	})
}

// FormulaRows returns the table.
func FormulaRows() (all []FormulaRow) {
	for _, row := range formulas {
		all = append(all, FormulaRow{strings.Fields(row.names), row.Formula})
	}
	return all
}
