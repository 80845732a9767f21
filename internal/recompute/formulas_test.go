package recompute

import (
	"context"
	bytes "encoding/binary"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/tensor"
)

// numbers is a source of float32 or int32 elements in memory.
type numbers struct {
	v []float64
	d tensor.DType
}

// ReadElements implements layout.Source.
func (n numbers) ReadElements(dst []byte, first int64) error {
	for i := range len(dst) / 4 {
		v := n.v[first+int64(i)]
		bits := math.Float32bits(float32(v))
		if n.d == tensor.Int32 {
			bits = uint32(int32(v))
		}
		bytes.LittleEndian.PutUint32(dst[4*i:], bits)
	}
	return nil
}

// tensorOf makes a tensor of a shape such as 2x3; a type such as int32 may precede it.
func tensorOf(t *testing.T, shape string, v ...float64) *Tensor {
	t.Helper()
	d := tensor.Float32
	if rest, ok := strings.CutPrefix(shape, "int "); ok {
		d, shape = tensor.Int32, rest
	}
	var s tensor.Shape
	for part := range strings.SplitSeq(shape, "x") {
		if part != "" {
			n := int64(0)
			for _, c := range part {
				n = 10*n + int64(c-'0')
			}
			s = append(s, n)
		}
	}
	if s.Elements() != int64(len(v)) {
		t.Fatalf("%d numbers of shape %s", len(v), s)
	}
	return &Tensor{DType: d, Stored: d, Shape: s, Source: numbers{v, d}}
}

// attributesOf parses attributes such as "axes=1 epsilon=0".
func attributesOf(text string) Attributes {
	all := Attributes{}
	for one := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(one, "=")
		all[name] = Attribute{ParseValue(value), FromHand}
	}
	return all
}

// handCase is an operator that was computed by hand from the documentation of its type.
type handCase struct {
	opType, attrs string
	in, out       []*Tensor
}

func judged(t *testing.T, c handCase) *Verdict {
	t.Helper()
	return judgeWith(t, c.opType, c.in, c.out, attributesOf(c.attrs))
}

// judgeWith judges an operator by a formula.
func judgeWith(t *testing.T, formula string, in, out []*Tensor, attrs Attributes) *Verdict {
	t.Helper()
	row := FormulaOf(formula)
	if row.Name == "" { // only frameworks have the formula
		row.Name = formula
	}
	op, warnings, err := Bind(row, in, out, attrs)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	no := false
	op.Fused, op.Called = &no, true
	v, err := Judge(context.Background(), op)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// handCases has a case of each formula. The numbers follow from the definitions in the documentation of CANN's
// operators, not from this package.
func handCases(t *testing.T) []handCase {
	t.Helper()
	x := func(shape string, v ...float64) *Tensor { t.Helper(); return tensorOf(t, shape, v...) }
	list := func(all ...*Tensor) []*Tensor { return all }
	e := math.E
	sigma := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	phi := func(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }
	bell := func(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }
	swishSlope := func(scale, x float64) float64 { return sigma(scale*x) * (1 + scale*x*sigma(-scale*x)) }
	unary := func(name string, f func(float64) float64, at ...float64) handCase {
		var y []float64
		for _, v := range at {
			y = append(y, f(v))
		}
		n := string(rune('0' + len(at)))
		return handCase{name, "", list(x(n, at...)), list(x(n, y...))}
	}
	return []handCase{
		unary("Relu", func(x float64) float64 { return max(x, 0) }, -1, 0, 2),
		unary("Relu6", func(x float64) float64 { return min(max(x, 0), 6) }, -1, 3, 8),
		unary("Abs", math.Abs, -1.5, 2), unary("Neg", func(x float64) float64 { return -x }, -1.5, 2),
		unary("Square", func(x float64) float64 { return x * x }, -3, 2), unary("Sqrt", math.Sqrt, 4, 2, 9),
		unary("Rsqrt", func(x float64) float64 { return 1 / math.Sqrt(x) }, 4, 2), unary("Reciprocal", func(x float64) float64 { return 1 / x }, 4, -2),
		unary("Expm1", math.Expm1, 1, -1), unary("Log1p", math.Log1p, 1, 2),
		unary("Sin", math.Sin, 1, 2, -7), unary("Cos", math.Cos, 1, 2, -7), unary("Tanh", math.Tanh, .5, -2), unary("Erf", math.Erf, .5, -2),
		unary("Sigmoid", sigma, .5, -2), unary("Softplus", func(x float64) float64 { return math.Log(1 + math.Exp(x)) }, .5, -2, 20),
		unary("Mish", func(x float64) float64 { return x * math.Tanh(math.Log(1+math.Exp(x))) }, .5, -2),
		unary("HardSwish", func(x float64) float64 { return x * min(max(x+3, 0), 6) / 6 }, -4, -1, 1, 5),
		unary("FastGelu", func(x float64) float64 { return x * sigma(1.702*x) }, .5, -2),
		unary("Floor", math.Floor, 1.5, -1.5), unary("Ceil", math.Ceil, 1.5, -1.5), unary("Rint", math.RoundToEven, .5, 1.5, -2.5), unary("Trunc", math.Trunc, 1.5, -1.5),
		{"GridSampler2D", "align_corners=1", list(x("1x1x2x2", 1, 2, 3, 4), x("1x1x2x2", 0, 0, 1, .5)), list(x("1x1x1x2", 2.5, 3.5))},
		{"Exp", "base=-1", list(x("2", 1, 0)), list(x("2", e, 1))},
		{"Exp", "base=2 scale=3 shift=1", list(x("2", 1, 0)), list(x("2", 16, 2))}, // 2^(3x+1)
		{"Log", "base=10", list(x("2", 100, 1)), list(x("2", 2, 0))},
		// The overlap of boxes 0 and 1 is 0.6, of boxes 1 and 2 it is 0.25. At most two boxes are kept, and the score
		// of box 3 is too low.
		{"NonMaxSuppressionV3", "", list(x("4x4", 0, 0, 8, 1, 2, 0, 10, 1, 7, 0, 12, 1, 20, 0, 21, 1), x("4", .5, .75, .7, .1), x("int 1", 2), x("1", .5), x("1", .2)), list(x("int 2", 1, 2))},
		{"Unique", "", list(x("5", 3, 1, 3, 2, 1)), list(x("3", 3, 1, 2))}, {"Unique", "sorted=1", list(x("5", 3, 1, 3, 2, 1)), list(x("3", 1, 2, 3))},
		{"GeluV2", "approximate=none", list(x("3", 1, -1, 2)), list(x("3", phi(1), phi(-1), phi(2)))},
		{"GeluV2", "approximate=tanh", list(x("2", 1, -3)), list(x("2", .5*(1+math.Tanh(math.Sqrt(2/math.Pi)*1.044715)), -1.5*(1+math.Tanh(math.Sqrt(2/math.Pi)*(-3-27*.044715)))))},
		{"Swish", "scale=1.5", list(x("2", 1, -2)), list(x("2", sigma(1.5), -2*sigma(-3)))},
		{"HardSigmoid", "alpha=0.25 beta=0.5", list(x("3", 1, -3, 9)), list(x("3", .75, 0, 1))},
		{"Elu", "alpha=0.5", list(x("2", 2, -1)), list(x("2", 2, .5*(1/e-1)))},
		// torch.nn.functional.softsign, selu and celu of PyTorch 1.13 in float64.
		{"Softsign", "", list(x("3", 1.5, -.5, -3)), list(x("3", .6, -1.0/3, -.75))},
		{"Selu", "", list(x("3", 1.5, -.5, -3)), list(x("3", 1.5760514810332207, -.6917581878028713, -1.6705687287671118))},
		{"CeluV2", "alpha=2", list(x("3", 1.5, -.5, -3)), list(x("3", 1.5, -.44239843385719024, -1.5537396797031404))},
		{"LeakyRelu", "negative_slope=0.1", list(x("2", 2, -1)), list(x("2", 2, -.1))},
		// The scores are ln(3) and 0: weights of 3/4 and 1/4.
		{"Attention", "layout=BNSD scale=1.0986122886681098", list(x("1x1x2", 1, 0), x("1x2x2", 1, 0, 0, 1), x("1x2x1", 1, 3)), list(x("1x1x1", 1.5))},
		{"PRelu", "", list(x("1x2x2", 1, -1, 2, -2), x("2", .5, .25)), list(x("1x2x2", 1, -.5, 2, -.5))},
		{"Muls", "value=3", list(x("2", 2, -1)), list(x("2", 6, -3))}, {"Adds", "value=3", list(x("2", 2, -1)), list(x("2", 5, 2))},
		{"Power", "power=3 scale=2 shift=1", list(x("2", 0, 1)), list(x("2", 1, 27))},
		{"Add", "", list(x("2x2", 1, 2, 3, 4), x("2", 10, 20)), list(x("2x2", 11, 22, 13, 24))},
		{"Sub", "", list(x("2x2", 1, 2, 3, 4), x("2x1", 10, 20)), list(x("2x2", -9, -8, -17, -16))},
		{"Mul", "", list(x("2", 3, 4), x("", 2)), list(x("2", 6, 8))}, {"RealDiv", "", list(x("2", 3, 4), x("2", 2, -8)), list(x("2", 1.5, -.5))},
		{"Maximum", "", list(x("2", 3, 4), x("2", 5, -8)), list(x("2", 5, 4))}, {"Minimum", "", list(x("2", 3, 4), x("2", 5, -8)), list(x("2", 3, -8))},
		{"SquaredDifference", "", list(x("2", 3, 4), x("2", 5, -8)), list(x("2", 4, 144))}, {"Pow", "", list(x("2", 3, 4), x("2", 2, -.5)), list(x("2", 9, .5))},
		{"AddN", "", list(x("1", 3), x("1", 4), x("1", 5)), list(x("1", 12))}, {"FusedMulAdd", "", list(x("1", 3), x("1", 4), x("1", 5)), list(x("1", 17))},
		{"Axpy", "alpha=2", list(x("1", 3), x("1", 4)), list(x("1", 11))}, {"SubScaled", "alpha=2", list(x("1", 3), x("1", 4)), list(x("1", -5))},
		{"AxpyGrad", "alpha=2", list(x("2", 3, -1)), list(x("2", 6, -2))}, {"AddcmulGrad", "value=3", list(x("2", 5, 4), x("2", 2, -1)), list(x("2", 30, -12))}, {"SubScaledGrad", "alpha=2", list(x("2", 3, -1)), list(x("2", -6, 2))},
		{"Eltwise", "mode=0", list(x("1", 3), x("1", 4)), list(x("1", 12))}, {"Eltwise", "mode=2", list(x("1", 3), x("1", 4)), list(x("1", 4))},
		{"BiasAdd", "axis=1", list(x("1x2x2", 1, 2, 3, 4), x("2", 10, 20)), list(x("1x2x2", 11, 12, 23, 24))},
		{"ClipByValue", "", list(x("3", -5, 1, 9), x("", -1), x("", 2)), list(x("3", -1, 1, 2))},
		{"SelectV2", "", list(x("3", 1, 0, 1), x("3", 1, 2, 3), x("3", 7, 8, 9)), list(x("3", 1, 8, 3))},
		{"MaskedFill", "", list(x("3", 1, 2, 3), x("3", 1, 0, 1), x("", -9)), list(x("3", -9, 2, -9))},
		{"Cast", "mode=trunc", list(x("3", 1.7, -1.7, 2.5)), list(x("int 3", 1, -1, 2))}, {"Cast", "mode=rint", list(x("3", 1.7, -1.7, 2.5)), list(x("int 3", 2, -2, 2))},
		{"LogicalNot", "", list(x("2", 0, 3)), list(x("2", 1, 0))}, {"Greater", "", list(x("3", 1, 2, 3), x("3", 2, 2, 2)), list(x("3", 0, 0, 1))},
		{"GreaterEqual", "", list(x("3", 1, 2, 3), x("3", 2, 2, 2)), list(x("3", 0, 1, 1))}, {"Less", "", list(x("3", 1, 2, 3), x("3", 2, 2, 2)), list(x("3", 1, 0, 0))},
		{"LessEqual", "", list(x("3", 1, 2, 3), x("3", 2, 2, 2)), list(x("3", 1, 1, 0))}, {"Equal", "", list(x("3", 1, 2, 3), x("3", 2, 2, 2)), list(x("3", 0, 1, 0))},
		{"NotEqual", "", list(x("3", 1, 2, 3), x("3", 2, 2, 2)), list(x("3", 1, 0, 1))}, {"LogicalAnd", "", list(x("2", 1, 1), x("2", 1, 0)), list(x("2", 1, 0))},
		{"LogicalOr", "", list(x("2", 0, 1), x("2", 0, 0)), list(x("2", 0, 1))},
		{"BitwiseAnd", "", list(x("int 3", 12, -1, 5), x("int 3", 10, 7, -2)), list(x("int 3", 8, 7, 4))},
		{"BitwiseOr", "", list(x("int 3", 12, -1, 5), x("int 3", 10, 7, -2)), list(x("int 3", 14, -1, -1))},
		{"BitwiseXor", "", list(x("int 3", 12, -1, 5), x("int 3", 10, 7, -2)), list(x("int 3", 6, -8, -5))},
		{"ReluGrad", "", list(x("2", 5, 6), x("2", 1, -1)), list(x("2", 5, 0))}, // dy where x > 0
		{"SigmoidGrad", "", list(x("2", .25, .5), x("2", 4, 8)), list(x("2", .75, 2))}, {"TanhGrad", "", list(x("2", .5, 0), x("2", 4, 8)), list(x("2", 3, 8))},
		{"SoftmaxGrad", "axes=-1", list(x("1x2", .25, .75), x("1x2", 1, 2)), list(x("1x2", (1-1.75)*.25, (2-1.75)*.75))},

		{"Reshape", "", list(x("2x2", 1, 2, 3, 4)), list(x("4", 1, 2, 3, 4))}, {"TransposeD", "perm=1,0", list(x("2x3", 1, 2, 3, 4, 5, 6)), list(x("3x2", 1, 4, 2, 5, 3, 6))},
		{"Transpose", "", list(x("2x3", 1, 2, 3, 4, 5, 6), x("int 2", 1, 0)), list(x("3x2", 1, 4, 2, 5, 3, 6))},
		{"ConcatD", "concat_dim=1", list(x("2x1", 1, 2), x("2x2", 3, 4, 5, 6)), list(x("2x3", 1, 3, 4, 2, 5, 6))}, {"Pack", "axis=1", list(x("2", 1, 2), x("2", 3, 4)), list(x("2x2", 1, 3, 2, 4))},
		{"SplitD", "split_dim=1", list(x("2x3", 1, 2, 3, 4, 5, 6)), list(x("2x1", 1, 4), x("2x2", 2, 3, 5, 6))}, {"Unpack", "axis=1", list(x("2x2", 1, 2, 3, 4)), list(x("2", 1, 3), x("2", 2, 4))},
		{"StridedSlice", "", list(x("5", 1, 2, 3, 4, 5), x("int 1", 1), x("int 1", 5), x("int 1", 2)), list(x("2", 2, 4))},
		{"StridedSliceD", "begin=1,-1 end=2,2 strides=1,1 shrink_axis_mask=2", list(x("2x2", 1, 2, 3, 4)), list(x("1", 4))},
		{"TileD", "multiples=2,1", list(x("1x2", 1, 2)), list(x("2x2", 1, 2, 1, 2))}, {"PadD", "paddings=0,0,1,0", list(x("1x2", 1, 2)), list(x("1x3", 0, 1, 2))},
		{"GatherV2", "", list(x("3x2", 1, 2, 3, 4, 5, 6), x("int 2", 2, 0), x("int 1", 0)), list(x("2x2", 5, 6, 1, 2))}, {"OneHotD", "axis=1", list(x("int 2", 2, 0)), list(x("2x3", 0, 0, 1, 1, 0, 0))},

		{"SoftmaxV2", "axes=-1", list(x("1x2", 0, math.Log(3))), list(x("1x2", .25, .75))}, {"LogSoftmaxV2", "axes=1", list(x("1x2", 0, math.Log(3))), list(x("1x2", math.Log(.25), math.Log(.75)))},
		// The mean is 3, the variance 1: (x-3)/sqrt(1+3), times gamma, plus beta. V3 returns 1/sqrt(variance+epsilon)
		// instead of the variance.
		{"LayerNorm", "begin_norm_axis=1 epsilon=3", list(x("1x2", 2, 4), x("2", 2, 4), x("2", 1, 1)), list(x("1x2", 0, 3), x("1x1", 3), x("1x1", 1))},
		{"LayerNormV3", "begin_norm_axis=-1 epsilon=3", list(x("1x2", 2, 4), x("2", 2, 4), x("2", 1, 1)), list(x("1x2", 0, 3), x("1x1", 3), x("1x1", .5))},
		{"LayerNormV4", "epsilon=3", list(x("1x2", 2, 4), x("int 1", 2), x("2", 2, 4), x("2", 1, 1)), list(x("1x2", 0, 3), x("1x1", 3), x("1x1", .5))},
		{"RmsNorm", "axes=1 epsilon=0", list(x("1x2", 3, 4), x("2", 1, 2)), list(x("1x2", 3/math.Sqrt(12.5), 8/math.Sqrt(12.5)), x("1x1", 1/math.Sqrt(12.5)))},
		{"Addcmul", "value=2", list(x("2", 1, 2), x("2", 3, 4), x("2", 5, 6)), list(x("2", 31, 50))}, {"Addcdiv", "value=2", list(x("2", 1, 2), x("2", 6, 4), x("2", 3, 8)), list(x("2", 5, 3))},
		{"BNInfer", "epsilon=3 activation=none is_training=1", list(x("2x1x1", 5, 7), x("1", 2), x("1", 1), x("1", 9), x("1", 9)), list(x("2x1x1", 0, 2))}, // (5-6)/sqrt(1+3)*2+1, (7-6)/2*2+1
		{"BNInfer", "epsilon=1 activation=none", list(x("1x2x1", 5, 6), x("2", 2, 3), x("2", 1, 1), x("2", 1, 2), x("2", 3, 8)), list(x("1x2x1", 5, 5))},   // (5-1)/2*2+1, (6-2)/3*3+1
		{"InstanceNorm", "epsilon=3", list(x("1x1x2", 2, 4), x("1", 2), x("1", 1)), list(x("1x1x2", 0, 2))},
		{"GroupNorm", "num_groups=2 eps=0", list(x("1x4x1", 1, 3, 2, 6), x("4", 1, 1, 1, 2), x("4", 0, 0, 0, 1)), list(x("1x4x1", -1, 1, -1, 3))},
		{"L2Normalize", "axis=1 eps=0", list(x("1x2", 3, 4)), list(x("1x2", .6, .8))},
		{"ReduceSumD", "axes=0", list(x("2x2", 1, 2, 3, 4)), list(x("2", 4, 6))}, {"ReduceMean", "", list(x("2x2", 1, 2, 3, 4), x("int 1", 1)), list(x("2x1", 1.5, 3.5))},
		{"ReduceMaxD", "axes=0", list(x("2x2", 1, 5, 3, 4)), list(x("1x2", 3, 5))}, {"ReduceMinD", "axes=0,1", list(x("2x2", 1, 5, 3, 4)), list(x("1", 1))},
		{"L2Loss", "", list(x("2", 3, 4)), list(x("", 12.5))}, {"BiasAddGrad", "axes=0", list(x("2x2", 1, 2, 3, 4)), list(x("2", 4, 6))},
		{"ArgMaxD", "dimension=1", list(x("2x3", 1, 3, 2, 5, 5, 4)), list(x("int 2", 1, 1))}, {"ArgMinD", "dimension=1", list(x("2x3", 1, 3, 2, 5, 5, 4)), list(x("int 2", 0, 2))},
		{"CumsumD", "axis=0 exclusive=false reverse=false", list(x("3", 1, 2, 3)), list(x("3", 1, 3, 6))}, {"CumsumD", "axis=0 exclusive=true reverse=true", list(x("3", 1, 2, 3)), list(x("3", 5, 3, 0))},
		{"TopKD", "largest=true", list(x("1x4", 1, 4, 2, 3)), list(x("1x2", 4, 3))},

		{"MatMulV2", "transpose_x1=false transpose_x2=true", list(x("2x2", 1, 2, 3, 4), x("2x2", 5, 6, 7, 8), x("2", 1, 1)), list(x("2x2", 18, 24, 40, 54))},
		{"BatchMatMulV2", "adj_x1=true adj_x2=false", list(x("2x2x1", 1, 2, 3, 4), x("2x2x1", 1, 1, 2, 2)), list(x("2x1x1", 3, 14))},
		{"FullyConnection", "", list(x("1x2x1", 1, 2), x("3x2", 1, 0, 0, 1, 1, 1)), list(x("1x3", 1, 2, 3))}, // weights have a row for each output
		// A window of ones over 3x3 ones, stride 2, padding 1.
		{"Conv2D", "strides=1,1,2,2 pads=1,1,1,1 dilations=1,1,1,1", list(x("1x1x3x3", 1, 1, 1, 1, 1, 1, 1, 1, 1), x("1x1x3x3", 1, 1, 1, 1, 1, 1, 1, 1, 1), x("1", .5)), list(x("1x1x2x2", 4.5, 4.5, 4.5, 4.5))},
		{"DepthwiseConv2D", "strides=1,1 pads=0,0 dilations=1,1", list(x("1x2x1x2", 1, 2, 3, 4), x("2x1x1x1", 10, 100)), list(x("1x2x1x2", 10, 20, 300, 400))},
		{"MaxPool", "ksize=1,1,2,2 strides=1,1,2,2 padding=VALID", list(x("1x1x2x4", 1, 2, 3, 4, 5, 6, 7, 8)), list(x("1x1x1x2", 6, 8))},
		{"AvgPoolV2", "ksize=1,1,1,3 strides=1,1,1,1 pads=0,0,1,1 exclusive=true", list(x("1x1x1x3", 2, 4, 9)), list(x("1x1x1x3", 3, 5, 6.5))},
		{"AvgPoolV2", "ksize=1,1,1,3 strides=1,1,1,1 pads=0,0,1,1 exclusive=false", list(x("1x1x1x3", 3, 6, 9)), list(x("1x1x1x3", 3, 6, 5))},
		{"AvgPool", "ksize=1,1,1,2 strides=1,1,1,1 padding=SAME", list(x("1x1x1x3", 2, 4, 9)), list(x("1x1x1x3", 3, 6.5, 9))},
		{"Pooling", "mode=0 window=1,2 stride=1,1 pad=0,0,0,0", list(x("1x1x1x3", 2, 4, 1)), list(x("1x1x1x2", 4, 4))},
		{"AdaptiveAvgPool", "", list(x("1x1x3", 2, 4, 9)), list(x("1x1x2", 3, 6.5))}, // windows 0-1 and 1-2
		{"SwiGlu", "axis=-1", list(x("1x4", 1, -2, 10, 100)), list(x("1x2", 10*sigma(1), -200*sigma(-2)))}, {"Glu", "axis=1", list(x("1x2", 10, 2)), list(x("1x1", 10*sigma(2)))},
		{"RotaryMul", "mode=half", list(x("1x4", 1, 2, 3, 4), x("1x4", 1, 1, 1, 1), x("1x4", 10, 10, 10, 10)), list(x("1x4", 1-30, 2-40, 3+10, 4+20))},
		{"RotaryMul", "mode=interleave", list(x("1x4", 1, 2, 3, 4), x("1x4", 1, 1, 1, 1), x("1x4", 10, 10, 10, 10)), list(x("1x4", 1-20, 2+10, 3-40, 4+30))},
		{"AddRmsNorm", "epsilon=0", list(x("1x2", 1, 1), x("1x2", 2, 3), x("2", 1, 2)), list(x("1x2", 3/math.Sqrt(12.5), 8/math.Sqrt(12.5)), x("1x1", 1/math.Sqrt(12.5)), x("1x2", 3, 4))},
		{"BatchNorm", "epsilon=3", list(x("2x1x1", 2, 4), x("1", 4), x("1", 1)), list(x("2x1x1", -1, 3))},
		{"LogSigmoid", "", list(x("2", .5, -2)), list(x("2", math.Log(sigma(.5)), math.Log(sigma(-2))))}, {"Sign", "", list(x("3", .5, 0, -2)), list(x("3", 1, 0, -1))},
		{"Tril", "diagonal=0", list(x("2x2", 1, 2, 3, 4)), list(x("2x2", 1, 0, 3, 4))}, {"Triu", "diagonal=1", list(x("2x2", 1, 2, 3, 4)), list(x("2x2", 0, 2, 0, 0))},
		{"ReduceProd", "axes=0", list(x("2x2", 1, 2, 3, 4)), list(x("2", 3, 8))},
		// Operators whose versions have other inputs, in the order of their prototypes in CANN.
		{"Concat", "", list(x("int 1", 1), x("2x1", 1, 2), x("2x2", 3, 4, 5, 6)), list(x("2x3", 1, 3, 4, 2, 5, 6))}, // concat_dim first
		{"ConcatV2", "", list(x("2x1", 1, 2), x("2x2", 3, 4, 5, 6), x("int 1", 1)), list(x("2x3", 1, 3, 4, 2, 5, 6))},
		{"ConcatV2", "concat_dim=0", list(x("1", 1), x("2", 3, 4)), list(x("3", 1, 3, 4))},
		{"Split", "", list(x("int 1", 1), x("2x2", 1, 2, 3, 4)), list(x("2x1", 1, 3), x("2x1", 2, 4))},
		{"SplitV", "", list(x("2x3", 1, 2, 3, 4, 5, 6), x("int 2", 1, 2), x("int 1", 1)), list(x("2x1", 1, 4), x("2x2", 2, 3, 5, 6))},
		{"Slice", "", list(x("2x3", 1, 2, 3, 4, 5, 6), x("int 2", 1, 1), x("int 2", 1, -1)), list(x("1x2", 5, 6))}, // size -1: all remaining elements
		{"SliceD", "offsets=0,1 size=2,1", list(x("2x3", 1, 2, 3, 4, 5, 6)), list(x("2x1", 2, 5))},
		{"Pad", "", list(x("1x2", 1, 2), x("int 2x2", 1, 0, 0, 1)), list(x("2x3", 0, 0, 0, 1, 2, 0))},
		{"PadV3", "mode=constant", list(x("2", 1, 2), x("int 1x2", 1, 1), x("", 7)), list(x("4", 7, 1, 2, 7))},
		{"PadV3", "mode=reflect", list(x("3", 1, 2, 3), x("int 1x2", 2, 1)), list(x("6", 3, 2, 1, 2, 3, 2))},
		{"PadV3", "mode=edge", list(x("2", 1, 2), x("int 1x2", 2, 1)), list(x("5", 1, 1, 1, 2, 2))},
		{"PadV3", "mode=circular", list(x("3", 1, 2, 3), x("int 1x2", 1, 2)), list(x("6", 3, 1, 2, 3, 1, 2))},
		{"PadV3", "mode=symmetric", list(x("3", 1, 2, 3), x("int 1x2", 2, 1)), list(x("6", 2, 1, 1, 2, 3, 3))},
		{"Tile", "", list(x("2", 1, 2), x("int 1", 2)), list(x("4", 1, 2, 1, 2))}, {"BroadcastTo", "", list(x("2x1", 1, 2), x("int 2", 2, 2)), list(x("2x2", 1, 1, 2, 2))},
		{"Expand", "", list(x("2", 1, 2), x("int 2", 2, 2)), list(x("2x2", 1, 2, 1, 2))},
		{"GatherV2D", "axis=1", list(x("2x3", 1, 2, 3, 4, 5, 6), x("int 2", 2, 0)), list(x("2x2", 3, 1, 6, 4))}, {"Gather", "", list(x("2x2", 1, 2, 3, 4), x("int 1", 1)), list(x("1x2", 3, 4))},
		{"OneHot", "axis=-1", list(x("int 2", 2, 0), x("int 1", 3), x("", 5), x("", -1)), list(x("2x3", -1, -1, 5, 5, -1, -1))}, // x, depth, on_value, off_value
		{"OneHotD", "axis=0", list(x("int 2", 1, 0), x("", 5), x("", -1)), list(x("2x2", -1, 5, 5, -1))},
		{"ReduceSum", "", list(x("2x2", 1, 2, 3, 4), x("int 1", 0)), list(x("2", 4, 6))}, {"ReduceMeanD", "axes=1", list(x("2x2", 1, 2, 3, 5)), list(x("2", 1.5, 4))},
		{"ReduceMeanWithCast", "", list(x("2x2", 1, 2, 3, 5), x("int 1", -1)), list(x("2", 1.5, 4))}, {"ReduceMax", "", list(x("2x2", 1, 5, 3, 4), x("int 1", 0)), list(x("2", 3, 5))},
		{"ReduceMin", "", list(x("2x2", 1, 5, 3, 4), x("int 1", 1)), list(x("2", 1, 3))}, {"ReduceProd", "", list(x("2x2", 1, 2, 3, 4), x("int 1", 1)), list(x("2", 2, 12))},
		{"ReduceProdD", "axes=0", list(x("2x2", 1, 2, 3, 4)), list(x("2", 3, 8))},
		{"ArgMaxV2", "", list(x("2x3", 1, 3, 2, 5, 4, 6), x("int 1", 1)), list(x("int 2", 1, 2))}, {"ArgMin", "", list(x("2x3", 1, 3, 2, 5, 4, 6), x("int 1", 0)), list(x("int 3", 0, 0, 0))},
		{"Cumsum", "exclusive=true reverse=false", list(x("3", 1, 2, 3), x("int 1", 0)), list(x("3", 0, 1, 3))}, {"CumsumD", "axis=1 exclusive=false reverse=true", list(x("1x3", 1, 2, 3)), list(x("1x3", 6, 5, 3))},
		{"ArgMaxWithValue", "axis=1", list(x("2x3", 1, 3, 2, 5, 4, 6)), list(x("int 2", 1, 2), x("2", 3, 6))}, {"ArgMinWithValue", "axis=0", list(x("2x2", 1, 3, 2, 3)), list(x("int 2", 0, 1), x("2", 1, 3))}, // 3 occurs twice
		{"TopKV2", "largest=false sorted=true dim=-1", list(x("1x4", 1, 4, 2, 3), x("int 1", 2)), list(x("1x2", 1, 2))}, {"TopKD", "dim=0 largest=true sorted=true", list(x("3x2", 1, 9, 5, 7, 3, 8)), list(x("2x2", 5, 9, 3, 8))},
		{"TopKD", "dim=-1 largest=true sorted=false", list(x("1x4", 1, 4, 2, 3)), list(x("1x3", 2, 4, 3))}, // any order
		{"Assign", "", list(x("2", 1, 2), x("2", 3, 4)), list(x("2", 3, 4))},                               // ref, value
		{"FusedMulAddN", "", list(x("2", 3, 4), x("2", 10, 20), x("1", 5)), list(x("2", 25, 40))},          // x1 x3 + x2
		{"Eltwise", "mode=1 coeff=1,-2", list(x("2", 3, 4), x("2", 10, 20)), list(x("2", -17, -36))}, {"Eltwise", "mode=1", list(x("1", 3), x("1", 4)), list(x("1", 7))},
		{"SoftplusV2", "beta=2 threshold=20", list(x("2", .5, -1)), list(x("2", math.Log(1+e)/2, math.Log(1+math.Exp(-2))/2))},
		{"SoftplusV2", "beta=2 threshold=1", list(x("2", 3, .25)), list(x("2", 3, math.Log(1+math.Exp(.5))/2))}, // 2 x 3 exceeds the threshold 1
		// x (sgn(x) (-0.1444 (min(|0.7071 x|, 1.769) - 1.769)^2 + 0.5) + 0.5); 0.7071 x 4 exceeds 1.769.
		{"FastGeluV2", "", list(x("3", 4, -4, 1)), list(x("3", 4, 0, 1-.1444*(.7071-1.769)*(.7071-1.769)))},
		{"SoftmaxV2", "axes=0,1", list(x("1x2x2", 0, 0, 0, math.Log(2))), list(x("1x2x2", .5, 1.0/3, .5, 2.0/3))},
		{"SoftmaxGrad", "axes=0", list(x("2x1", .25, .75), x("2x1", 1, 2)), list(x("2x1", (1-1.75)*.25, (2-1.75)*.75))},
		// Gradients and steps of optimisers have their inputs in the order of CANN's documentation.
		{"FastGeluGrad", "", list(x("2", 2, 3), x("2", .5, -2)), list(x("2", 2*swishSlope(1.702, .5), 3*swishSlope(1.702, -2)))},                 // dy, x
		{"SwishGrad", "scale=1.5", list(x("2", 2, 3), x("2", .5, -2), x("2", 0, 0)), list(x("2", 2*swishSlope(1.5, .5), 3*swishSlope(1.5, -2)))}, // dy, x, y
		{"GeluGradV2", "approximate=none", list(x("2", 2, 3), x("2", 1, -1)), list(x("2", 2*(phi(1)+bell(1)), 3*(-phi(-1)-bell(1))))},
		{"LeakyReluGrad", "negative_slope=0.1", list(x("3", 2, 3, 4), x("3", 1, -1, 5)), list(x("3", 2, .3, 4))}, {"Relu6Grad", "", list(x("3", 2, 3, 4), x("3", 1, 7, 5)), list(x("3", 2, 0, 4))},
		{"SqrtGrad", "", list(x("2", 2, 4), x("2", 8, 8)), list(x("2", 2, 1))}, {"RsqrtGrad", "", list(x("2", 2, 1), x("2", 8, -8)), list(x("2", -32, 4))}, // y, dy
		// x is a distance of 1 from its mean of 2.
		{"LayerNormGrad", "begin_norm_axis=1 epsilon=0", list(x("1x4", 1, 0, 0, 0), x("1x4", 1, 3, 1, 3), x("1x1", 1), x("1x1", 2), x("4", 1, 1, 1, 1)), list(x("1x4", .5, 0, -.5, 0))},
		{"RmsNormGrad", "epsilon=0", list(x("1x4", 1, 0, 0, 0), x("1x4", 1, 1, -1, 1), x("1x1", 1), x("4", 1, 1, 1, 1)), list(x("1x4", .75, -.25, .25, -.25))},
		{"EmbeddingDenseGrad", "padding_idx=-1", list(x("3x2", 1, 2, 3, 4, 5, 6), x("int 3", 2, 0, 2)), list(x("3x2", 3, 4, 0, 0, 6, 8))}, {"EmbeddingDenseGrad", "padding_idx=0", list(x("2x1", 1, 2), x("int 2", 1, 0)), list(x("2x1", 0, 1))},
		{"MaxPoolGrad", "ksize=1,1,1,2 strides=1,1,1,2 padding=VALID", list(x("1x1x1x4", 1, 3, 5, 2), x("1x1x1x2", 3, 5), x("1x1x1x2", 10, 20)), list(x("1x1x1x4", 0, 10, 20, 0))},
		// The states, beta1^t, beta2^t, lr, beta1, beta2, epsilon, grad.
		{"ApplyAdamD", "use_nesterov=false", list(x("1", 1), x("1", 2), x("1", 4), x("", .5), x("", .75), x("", .1), x("", .5), x("", .75), x("", 0), x("1", 4)), list(x("1", 1-.1*3/math.Sqrt(7)), x("1", 3), x("1", 7))},
		{"ApplyAdamD", "use_nesterov=true", list(x("1", 1), x("1", 2), x("1", 4), x("", .5), x("", .75), x("", .1), x("", .5), x("", .75), x("", 0), x("1", 4)), list(x("1", 1-.1*3.5/math.Sqrt(7)), x("1", 3), x("1", 7))},
		// The states, beta1^(t-1), beta2^(t-1), lr, weight_decay, beta1, beta2, epsilon, grad.
		{"ApplyAdamW", "amsgrad=false maximize=false", list(x("1", 1), x("1", 2), x("1", 4), x("", 1), x("", 1), x("", .1), x("", .5), x("", .5), x("", .75), x("", 1), x("1", 4)), list(x("1", .95-.2*3/(math.Sqrt(28)+1)), x("1", 3), x("1", 7))},
		{"ApplyMomentumD", "use_nesterov=false", list(x("1", 1), x("1", 2), x("", .1), x("1", 4), x("", .5)), list(x("1", .5), x("1", 5))}, {"ApplyMomentumD", "use_nesterov=true", list(x("1", 1), x("1", 2), x("", .1), x("1", 4), x("", .5)), list(x("1", 1-.65), x("1", 5))},
		{"SGD", "dampening=0 weight_decay=0.5 nesterov=false", list(x("1", 2), x("1", 4), x("1", .1), x("1", 2), x("1", .5), x("1", 0)), list(x("1", 2-.6))}, {"SGD", "dampening=0 weight_decay=0 nesterov=false", list(x("1", 2), x("1", 4), x("1", .1), x("1", 2), x("1", .5), x("1", 1)), list(x("1", 2-.4))},
		{"ApplyGradientDescent", "", list(x("2", 1, 2), x("", .5), x("2", 4, 6)), list(x("2", -1, -1))},
		{"Cast", "mode=floor", list(x("2", 1.7, -1.2)), list(x("int 2", 1, -2))}, {"Cast", "mode=ceil", list(x("2", 1.2, -1.7)), list(x("int 2", 2, -1))}, {"Cast", "mode=round", list(x("2", 2.5, -2.5)), list(x("int 2", 3, -3))},
		{"BatchNorm", "epsilon=1 is_training=false", list(x("1x2x1", 5, 6), x("2", 2, 3), x("2", 1, 1), x("2", 1, 2), x("2", 3, 8)), list(x("1x2x1", 5, 5))},
		{"L2Normalize", "axis=0,1 eps=100", list(x("1x2", 3, 4)), list(x("1x2", .3, .4))}, // a sum of squares of 25 is below eps
		{"ApplyRotaryPosEmb", "rotary_mode=half", list(x("1x1x2x2", 1, 2, 3, 4), x("1x1x1x2", 5, 6), x("1x1x1x2", 1, 1), x("1x1x1x2", 10, 100)),
			list(x("1x1x2x2", 1-20, 2+100, 3-40, 4+300), x("1x1x1x2", 5-60, 6+500))},
		// Six elements, a window of 3, stride 2, padding 1, ceil_mode: the last window begins at 5 and has one
		// element of the input; with the padding, up to index 6, it has two.
		{"AvgPoolV2", "ksize=1,1,1,3 strides=1,1,1,2 pads=0,0,1,1 exclusive=false", list(x("1x1x1x6", 3, 6, 9, 12, 15, 18)), list(x("1x1x1x4", 3, 9, 15, 9))},
		// x = (3, 4): mean 3.5, variance .25.
		{"AddLayerNorm", "begin_norm_axis=1 epsilon=0", list(x("1x2", 1, 3), x("1x2", 2, 1), x("2", 1, 2), x("2", 0, 1)), list(x("1x2", -1, 3), x("1x1", 3.5), x("1x1", 2), x("1x2", 3, 4))},
		{"AddLayerNorm", "epsilon=0", list(x("1x2", 1, 1), x("1x2", 1, 1), x("2", 1, 2), x("2", 0, 1), x("2", 1, 2)), list(x("1x2", -1, 3))}, // with a bias
		// Channel 0 has 1 and 3, channel 1 has 2 and 6; factor 0.5 of the new moments is the batch's. The running
		// variance is unbiased: the batch's variance times 2/(2-1).
		{"BNTrainingUpdate", "epsilon=0 factor=0.5", list(x("2x2x1", 1, 2, 3, 6), x("2", 4, 8), x("2", 10, 40), x("2", 1, 2), x("2", 0, 10), x("2", 0, 2), x("2", 3, 10)),
			list(x("2x2x1", -1, 8, 1, 12), x("2", 1, 3), x("2", 2.5, 9), x("2", 2, 4), x("2", 1, 4))},
		// Sums 5, 10, -5, -20, a bias, then the scale of each column.
		{"QuantBatchMatmul", "adj_x1=false adj_x2=false", list(x("int 2x2", 1, 2, 3, -4), x("int 2x2", 1, 0, 2, 5), x("2", .5, 2), x("int 2", 1, -1)), list(x("2x2", 3, 18, -2, -42))},
		{"QuantBatchMatmul", "adj_x1=false adj_x2=true", list(x("int 1x2", 1, 2), x("int 2x2", 1, 0, 2, 5), x("1", .5)), list(x("1x2", .5, 6))},
		// The softmax of (0, log 3) is (1/4, 3/4).
		{"SoftmaxCrossEntropyWithLogits", "", list(x("1x2", 0, math.Log(3)), x("1x2", 0, 1)), list(x("1", math.Log(4.0/3)), x("1x2", .25, -.25))},
		{"SparseSoftmaxCrossEntropyWithLogits", "", list(x("1x2", 0, math.Log(3)), x("int 1", 0)), list(x("1", math.Log(4)), x("1x2", -.75, .75))},
		// Weights of two pixels: 1x10 + 2x1 and 2x10 + 3x1.
		{"Conv2DBackpropFilterD", "strides=1,1 pads=0,0 dilations=1,1", list(x("1x1x1x3", 1, 2, 3), x("1x1x1x2", 10, 1)), list(x("1x1x1x2", 12, 23))},
		{"Embedding", "", list(x("3x2", 1, 2, 3, 4, 5, 6), x("int 2", 2, 0)), list(x("2x2", 5, 6, 1, 2))},
		// x[(1, 0), (2, -1)], x[:, ((2), (0))], and x[(1, 0), :, (0, 1)], where the axis of the indices comes first.
		{"Index", "", list(x("2x3", 1, 2, 3, 4, 5, 6), x("int 2", 1, 1), x("int 2", 0, 0), x("int 2", 1, 0), x("int 2", 2, -1)), list(x("2", 6, 3))},
		{"Index", "", list(x("2x3", 1, 2, 3, 4, 5, 6), x("int 2", 0, 1), x("int 2", 0, 0), x("int 2x1", 2, 0)), list(x("2x2x1", 3, 1, 6, 4))},
		{"Index", "", list(x("2x1x2", 1, 2, 3, 4), x("int 3", 1, 0, 1), x("int 3", 0, 0, 0), x("int 2", 1, 0), x("int 2", 0, 1)), list(x("2x1", 3, 2))},
		// Products 0, log 3 and log 2: the last two of three experts in this order.
		{"TopKRouter", "mode=chosen", list(x("1x1x2", 1, 2), x("3x2", 0, 0, math.Log(3), 0, 0, math.Ln2/2)), list(x("1x2", .6, .4), x("int 1x2", 1, 2))},
		{"TopKRouter", "mode=all", list(x("1x2", 1, 2), x("3x2", 0, 0, math.Log(3), 0, 0, math.Ln2/2)), list(x("1x2", .5, 1.0/3), x("int 1x2", 1, 2))},
		{"TopKRouter", "mode=sigmoid", list(x("1x2", 1, 2), x("3x2", 0, 0, math.Log(3), 0, 0, math.Ln2/2)), list(x("1x2", .75, 2.0/3), x("int 1x2", 1, 2))},
		{"TopKRouter", "mode=sigmoid_share", list(x("1x2", 1, 2), x("3x2", 0, 0, math.Log(3), 0, 0, math.Ln2/2)), list(x("1x2", 9.0/17, 8.0/17), x("int 1x2", 1, 2))},
		// gelu of the right half, 0 and 1, times the left half; the gelu is an output too.
		{"GeGluV2", "dim=-1 approximate=0 activate_left=false", list(x("1x4", 5, 10, 0, 1)), list(x("1x2", 0, 10*phi(1)), x("1x2", 0, phi(1)))},
		{"GeGluV2", "dim=1 approximate=0 activate_left=true", list(x("1x2", 2, 10)), list(x("1x1", 10*phi(2)), x("1x1", phi(2)))},
		// Groups (1, 3) and (2, 6): means 2 and 4, variances 1 and 4; then y sigmoid(y).
		{"GroupNormSilu", "num_groups=2 eps=0 activate_silu=true", list(x("1x4x1", 1, 3, 2, 6), x("4", 1, 1, 1, 2), x("4", 0, 0, 0, 1)), list(x("1x4x1", -sigma(-1), sigma(1), -sigma(-1), 3*sigma(3)), x("1x2", 2, 4), x("1x2", 1, .5))},
		{"GroupNormSilu", "num_groups=1 eps=0 activate_silu=false", list(x("1x2x1", 1, 3)), list(x("1x2x1", -1, 1))},
		// 0.5 x + gx = (2, 4), with mean 3 and variance 1; beta precedes gamma.
		{"DeepNorm", "alpha=0.5 epsilon=3", list(x("1x2", 2, 4), x("1x2", 1, 2), x("2", 1, 1), x("2", 2, 4)), list(x("1x1", 3), x("1x1", .5), x("1x2", 0, 3))},
		// The second element is masked; the others have the probabilities 1/4 and 3/4.
		{"ScaledMaskedSoftmax", "scale=2", list(x("1x3", 0, 9, math.Log(3)/2), x("int 1x3", 0, 1, 0)), list(x("1x3", .25, 0, .75))},
		{"ScaledMaskedSoftmax", "scale=1", list(x("1x2", 0, math.Log(3))), list(x("1x2", .25, .75))},
		{"ConfusionTransposeD", "perm=1,0 shape=6 transpose_first=true", list(x("2x3", 1, 2, 3, 4, 5, 6)), list(x("6", 1, 4, 2, 5, 3, 6))},
		{"ConfusionTransposeD", "perm=1,0 shape=3,2 transpose_first=false", list(x("2x3", 1, 2, 3, 4, 5, 6)), list(x("2x3", 1, 3, 5, 2, 4, 6))},
		// The modes quarter and interleave-half: pairs of each half, and even elements before odd ones.
		{"RotaryPositionEmbedding", "mode=2", list(x("1x4", 1, 2, 3, 4), x("1x4", 1, 1, 1, 1), x("1x4", 10, 10, 10, 10)), list(x("1x4", 1-20, 2+10, 3-40, 4+30))},
		{"RotaryPositionEmbedding", "mode=2", list(x("1x8", 1, 2, 3, 4, 5, 6, 7, 8), x("", 0), x("", 1)), list(x("1x8", -3, -4, 1, 2, -7, -8, 5, 6))},
		{"RotaryPositionEmbedding", "mode=3", list(x("1x4", 1, 2, 3, 4), x("1x4", 1, 1, 1, 1), x("1x4", 10, 10, 10, 10)), list(x("1x4", 1-20, 3-40, 2+10, 4+30))},
		{"RotaryPositionEmbedding", "mode=0", list(x("1x4", 1, 2, 3, 4), x("1x4", 1, 1, 1, 1), x("1x4", 10, 10, 10, 10)), list(x("1x4", 1-30, 2-40, 3+10, 4+20))},
		{"AscendQuantV2", "axis=-1 sqrt_mode=false round_mode=round", list(x("2x2", .11, -.26, 1, 2), x("2", 10, 100), x("2", 1, 0)), list(x("int 2x2", 2, -26, 11, 200))},
		{"AscendQuantV2", "axis=-2 sqrt_mode=true round_mode=floor", list(x("2x1", .3, -.3), x("2", 2, 3)), list(x("int 2x1", 1, -3))}, // 1.2 and -2.7
		{"AscendQuant", "scale=10 offset=0 round_mode=Floor", list(x("3", .19, -.21, .5)), list(x("int 3", 1, -3, 5))},
		{"AscendQuant", "scale=10 offset=0 round_mode=Truncate", list(x("3", .19, -.21, .5)), list(x("int 3", 1, -2, 5))},
		// -3 becomes the largest integer in size; the scale is 3 divided by this integer.
		{"DynamicQuant", "", list(x("1x2", -3, 0)), list(x("int 1x2", -math.MaxInt32, 0), x("1", 3.0/math.MaxInt32))},
		{"AscendAntiQuant", "scale=0.5 offset=1 sqrt_mode=true", list(x("int 2", 3, -5)), list(x("2", 1, -1))},
		{"AscendAntiQuantV2", "sqrt_mode=false", list(x("int 2x2", 3, -5, 0, 1), x("2", .5, 2), x("2", 1, 0)), list(x("2x2", 2, -10, .5, 2))},
		// Sums 5, 10: (5 + 1) 0.5 3 and (10 - 1) 2 3; a floating-point bias is added after the scales.
		{"QuantBatchMatmulV3", "transpose_x1=false transpose_x2=false", list(x("int 1x2", 1, 2), x("int 2x2", 1, 0, 2, 5), x("2", .5, 2), nil, x("int 2", 1, -1), x("1", 3)), list(x("1x2", 9, 54))},
		{"QuantBatchMatmulV3", "transpose_x1=false transpose_x2=false", list(x("int 1x2", 1, 2), x("int 2x2", 1, 0, 2, 5), x("2", .5, 2), nil, x("2", 10, .25)), list(x("1x2", 12.5, 20.25))},
		// Weights (w + offset) scale: 1, -1 and 3, 8.
		{"WeightQuantBatchMatmulV2", "transpose_x=false transpose_weight=false", list(x("1x2", 1, 10), x("int 2x2", 1, 0, 5, 9), x("2", .5, 1), x("2", 1, -1), nil, nil, x("2", 100, 0)), list(x("1x2", 131, 79))},
		// A scale for each row of a column.
		{"WeightQuantBatchMatmulV2", "transpose_x=false transpose_weight=false antiquant_group_size=1", list(x("1x2", 1, 10), x("int 2x2", 1, 2, 3, 4), x("2x2", 1, 2, 3, 4)), list(x("1x2", 91, 164))},
		// The first row times the first matrix, the others times the second one.
		{"GroupedMatmul", "group_type=0 group_list_type=0", list(x("3x2", 1, 2, 3, 4, 5, 6), x("2x2x1", 1, 10, 1, 100), nil, nil, nil, nil, nil, x("int 2", 1, 3)), list(x("3x1", 21, 403, 605))},
		{"GroupedMatmul", "group_type=0 group_list_type=1", list(x("2x1", 1, 2), x("2x1x1", 3, 5), x("2x1", 10, 20), nil, nil, nil, nil, x("int 2", 1, 1)), list(x("2x1", 13, 30))},
		// Probabilities 1/6, 1/2 and 1/3 of three experts; the second token is finished.
		{"MoeGatingTopKSoftmax", "k=2", list(x("2x3", 0, math.Log(3), math.Ln2, 0, math.Log(3), math.Ln2)), list(x("2x2", .5, 1.0/3, .5, 1.0/3), x("int 2x2", 1, 2, 1, 2), x("int 2x2", 0, 2, 1, 3))},
		// Sigmoids 3/4, 1/2, 1/4 and 1/2; with the bias the groups score 0.75 and 1.25, so that the second one is
		// selected.
		{"MoeGatingTopK", "k=1 k_group=1 group_count=2 group_select_mode=0 norm_type=1 routed_scaling_factor=2", list(x("1x4", math.Log(3), 0, -math.Log(3), 0), x("4", 0, 0, 1, .5)), list(x("1x1", 2), x("int 1x1", 2))},
		{"MoeGatingTopK", "k=2 k_group=1 group_count=2 group_select_mode=1 norm_type=1 routed_scaling_factor=1", list(x("1x4", math.Log(3), 0, -math.Log(3), 0), x("4", 0, 0, 1, .5)), list(x("1x2", 1.0/3, 2.0/3), x("int 1x2", 2, 3))},
		{"MoeGatingTopK", "k=2 norm_type=0 k_group=1 group_count=1 routed_scaling_factor=3", list(x("1x3", 0, math.Log(3), math.Ln2)), list(x("1x2", 1.5, 1), x("int 1x2", 1, 2), x("1x3", 1.0/6, .5, 1.0/3))},
		// The example of the documentation: pairs (row, expert) (0, 1), (3, 2), (1, 0), (4, 1), (2, 0), (5, 2).
		{"MoeInitRouting", "active_num=3", list(x("3x1", 10, 20, 30), x("int 3x2", 0, 3, 1, 4, 2, 5), x("int 3x2", 1, 2, 0, 1, 0, 2)), list(x("6x1", 20, 30, 10, 20, 10, 30), x("int 6", 2, 0, 1, 4, 3, 5), x("int 6", 0, 0, 1, 1, 2, 2))},
		// Token 0 has rows 2 and 0, token 1 rows 1 and 3: 100 + 1 (30 + 1) + 2 (10 + 2) and 200 + 3 (20 + 2) + 4 (40 + 1).
		{"MoeFinalizeRouting", "drop_pad_mode=0", list(x("4x1", 10, 20, 30, 40), x("2x1", 100, 200), nil, x("2x1", 1, 2), x("2x2", 1, 2, 3, 4), x("int 4", 2, 1, 0, 3), x("int 2x2", 0, 1, 1, 0)), list(x("2x1", 155, 430))},
		{"MoeFinalizeRouting", "drop_pad_mode=3", list(x("2x2x1", 10, 20, 30, 40), nil, nil, nil, x("2x2", 1, 2, 3, 4), x("int 4", 2, 0, 1, -1)), list(x("2x1", 50, 60))},
		// 2 (0.5 (exp(3 x) - 1)) below 0, 2 x above.
		{"Elu", "alpha=0.5 scale=2 input_scale=3", list(x("2", 2, -1)), list(x("2", 4, math.Exp(-3)-1))},
		{"StridedSlice", "", list(x("5", 1, 2, 3, 4, 5), x("int 1", -1), x("int 1", -6), x("int 1", -2)), list(x("3", 5, 3, 1))},
		{"StridedSlice", "end_mask=2", list(x("2x3", 1, 2, 3, 4, 5, 6), x("int 2", 0, 1), x("int 2", 2, 0), x("int 2", 1, -1)), list(x("2x2", 2, 1, 5, 4))},
		{"GatherV2", "batch_dims=1", list(x("2x3", 1, 2, 3, 4, 5, 6), x("int 2x2", 2, 0, 1, 1), x("int 1", 1)), list(x("2x2", 3, 1, 5, 5))},
		{"PromptFlashAttention", "num_heads=1 scale_value=1.0986122886681098 input_layout=BSH sparse_mode=0 next_tokens=65535", list(x("1x1x2", 1, 0), x("1x2x2", 1, 0, 0, 1), x("1x2x2", 1, 0, 3, 0)), list(x("1x1x2", 1.5, 0))},
		// Only the first key is used.
		{"PromptFlashAttention", "num_heads=1 scale_value=1 input_layout=BNSD sparse_mode=0", list(x("1x1x1x2", 1, 0), x("1x1x2x2", 1, 0, 0, 1), x("1x1x2x2", 1, 7, 3, 0), nil, nil, x("int 1", 1), x("int 1", 1)), list(x("1x1x1x2", 1, 7))},
		// The logarithm of exp(log 3) + exp(0).
		{"FusedInferAttentionScore", "num_heads=1 scale=1.0986122886681098 input_layout=BNSD sparse_mode=0", list(x("1x1x1x2", 1, 0), x("1x1x2x2", 1, 0, 0, 1), x("1x1x2x2", 1, 0, 3, 0)), list(x("1x1x1x2", 1.5, 0), x("1x1x1x1", math.Log(4)))},
		{"AscendQuant", "scale=10 offset=1", list(x("3", .11, -.26, 99)), list(x("int 3", 2, -2, 991))},
		{"AscendDequant", "relu_flag=true sqrt_mode=false", list(x("int 1x2", 10, -10), x("2", .5, 2)), list(x("1x2", 5, 0))},
	}
}

// TestHandCases: the documented output is OK, and an output with any other element is WRONG.
func TestHandCases(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range append(handCases(t), furtherHandCases(t)...) {
		seen[FormulaOf(c.opType).Name], seen[c.opType] = true, true
		t.Run(c.opType+" "+c.attrs, func(t *testing.T) {
			if v := judged(t, c); v.Status != OK {
				t.Fatalf("%s %s %s: %+v", v.Status, v.Reason, v.Why, v.Outputs)
			}
			for k, out := range c.out {
				v := append([]float64{}, out.Source.(numbers).v...)
				v[len(v)-1] += 1 + math.Abs(v[len(v)-1])/2
				wrong := c
				wrong.out = append([]*Tensor{}, c.out...)
				changed := *out
				changed.Source = numbers{v, out.Stored}
				wrong.out[k] = &changed
				if got := judged(t, wrong); got.Status == OK || got.Status == Low {
					t.Errorf("output %d ends with %g and is %s", k, v[len(v)-1], got.Status)
				}
			}
		})
	}
	// The calls of PyTorch in package check cover these with values of PyTorch: TestTorchCalls holds the list.
	byTorch, err := os.ReadFile("../check/testdata/torch/formulas.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(string(byTorch)) {
		seen[name] = true
	}
	for _, f := range allFormulas() {
		if !seen[f.name] && !f.overwritesInput {
			t.Errorf("formula %s has no case", f.name)
		}
	}
}

// allFormulas returns the rows of the table with a formula.
func allFormulas() (all []*formula) {
	for i := range operators {
		if operators[i].name != "" {
			all = append(all, &operators[i])
		}
	}
	return all
}

// TestOverwritten: a state of an optimiser that equals the state after the step was dumped too late.
func TestOverwritten(t *testing.T) {
	t.Parallel()
	for _, c := range handCases(t) {
		if f := formulaOf(FormulaOf(c.opType).Name); f == nil || !f.updatesInputs {
			continue
		}
		c.in = slices.Clone(c.in)
		c.in[0] = c.out[0]
		if v := judged(t, c); v.Status != Undecided || v.Reason != InPlace {
			t.Errorf("%s: %s %s", c.opType, v.Status, v.Reason)
		}
	}
}
