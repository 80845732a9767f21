package recompute

import (
	"math"
	"testing"
)

// furtherHandCases has cases of functions of PyTorch that CANN has no type for. The numbers are worked out by hand
// from the formulas in PyTorch's documentation.
func furtherHandCases(t *testing.T) []handCase {
	t.Helper()
	x := func(shape string, v ...float64) *Tensor { t.Helper(); return tensorOf(t, shape, v...) }
	list := func(all ...*Tensor) []*Tensor { return all }
	log2, logistic := math.Log(2), func(x float64) float64 { return math.Log(1 + math.Exp(-x)) }
	nan := math.NaN()
	return []handCase{
		{"SignBit", "", list(x("3", -2, 0, 1)), list(x("3", 1, 0, 0))},
		{"RoundTo", "decimals=2", list(x("3", 1.126, -2.5, .754)), list(x("3", 1.13, -2.5, .75))},
		{"RoundTo", "decimals=-1", list(x("3", 14, -26, 105.5)), list(x("3", 10, -30, 110))},
		{"Clip", "", list(x("5", -3, .5, 2, 7, 9)), list(x("5", -1, .5, 2, 2.5, 2.5))},
		{"MaskedFillOne", "", list(x("2x2", 1, 2, 3, 4), x("2", 0, 1)), list(x("2x2", 1, -9, 3, -9))},
		// Windows of two channels: the channel before and the channel itself.
		{"LRN", "size=2 alpha=2 beta=1 k=1", list(x("1x3x1", 1, 2, 3)), list(x("1x3x1", .5, 2./6, 3./14))},
		{"LRN", "size=1e18 alpha=1e18 beta=1 k=1", list(x("1x2x1", 1, 2)), list(x("1x2x1", 1./6, 2./6))}, // all channels
		{"AdaptiveMaxPool", "", list(x("1x1x5", 3, 1, 4, 1, 5)), list(x("1x1x2", 4, 5), x("int 1x1x2", 2, 4))},
		{"Sinc", "", list(x("3", 0, .5, -1.5)), list(x("3", 1, 2/math.Pi, -2/(3*math.Pi)))},
		{"LogAddExp", "", list(x("2", 1, 0), x("2", 1, math.Log(3))), list(x("2", 1+log2, math.Log(4)))},
		{"LogAddExp2", "", list(x("2", 3, 1), x("2", 3, 2)), list(x("2", 4, math.Log2(6)))},
		{"IsClose", "rtol=0.1 atol=0.5", list(x("4", 10, 10, -1, 0), x("4", 11.5, 13, -1, 2)), list(x("int 4", 1, 0, 1, 0))},
		{"TripletMarginLoss", "margin=1 p=2 epsilon=0 swap=0 reduction=none", list(x("2x2", 0, 0, 0, 0), x("2x2", 3, 4, 1, 0), x("2x2", 0, 1, 6, 8)), list(x("2", 5, 0))},
		{"TripletMarginLoss", "margin=1 p=1 epsilon=0 swap=1 reduction=sum", list(x("1x2", 0, 0), x("1x2", 1, 1), x("1x2", 2, 1)), list(x("", 2))},
		{"MarginRankingLoss", "margin=0.5 reduction=sum", list(x("3", 1, 2, 3), x("3", 2, 1, 3), x("3", 1, 1, -1)), list(x("", 2))},
		{"HingeEmbeddingLoss", "margin=2 reduction=none", list(x("3", 1.5, .5, 3), x("3", 1, -1, -1)), list(x("3", 1.5, 1.5, 0))},
		{"CosineEmbeddingLoss", "margin=0.5 reduction=none", list(x("3x2", 1, 0, 3, 4, 1, 0), x("3x2", 0, 2, 3, 4, 4, 3), x("3", 1, 1, -1)), list(x("3", 1, 0, .3))},
		{"SoftMarginLoss", "reduction=none", list(x("2", 1, -2), x("2", 1, 1)), list(x("2", logistic(1), logistic(-2)))},
		{"MultilabelSoftMarginLoss", "reduction=none", list(x("2x2", 0, 0, 1, -1), x("2x2", 1, 0, 1, 0)), list(x("2", log2, logistic(1)))},
		{"PoissonNLLLoss", "log_input=1 reduction=none", list(x("2", 0, log2), x("2", 3, 2)), list(x("2", 1, 2-2*log2))},
		{"PoissonNLLLoss", "log_input=0 epsilon=0 reduction=none", list(x("2", 1, 2), x("2", 3, 1)), list(x("2", 1, 2-log2))},
		{"GaussianNLLLoss", "epsilon=0.5 reduction=none", list(x("2", 1, 3), x("2", 3, 2), x("2", 2, .25)), list(x("2", (log2+2)/2, (-log2+2)/2))},
		// (1 - 2 + 1) and (1 - 2 + 3) of 3 classes; then the square of 1.5 with the weight 2.
		{"MultiMarginLoss", "p=1 margin=1 reduction=none", list(x("2x3", 1, 2, 3, 5, 1, 4), x("int 2", 1, 0)), list(x("2", 2./3, 0))},
		{"MultiMarginLoss", "p=2 margin=1 reduction=none", list(x("1x2", .5, 1), x("int 1", 0), x("2", 2, 1)), list(x("1", 2.25))},
		// One class in two steps: three alignments (class class, class blank, blank class) of equal probability 1/4.
		{"CTCLoss", "blank=0 zero_infinity=0 reduction=sum", list(x("2x1x2", -log2, -log2, -log2, -log2), x("int 1x1", 1), x("int 1", 2), x("int 1", 1)), list(x("", -math.Log(.75)))},
		// The same class twice needs a blank between: only one alignment of three steps. The mean divides by the length.
		{"CTCLoss", "blank=0 zero_infinity=0 reduction=mean", list(x("3x1x2", -log2, -log2, -log2, -log2, -log2, -log2), x("int 2", 1, 1), x("int 1", 3), x("int 1", 2)), list(x("", 1.5*log2))},
		{"CTCLoss", "blank=0 zero_infinity=1 reduction=none", list(x("2x1x2", -log2, -log2, -log2, -log2), x("int 1x2", 1, 1), x("int 1", 2), x("int 1", 2)), list(x("1", 0))},
		{"NanSum", "axes=1", list(x("2x2", 1, nan, 3, 4)), list(x("2", 1, 7))},
		{"NanMean", "axes=1", list(x("2x3", 1, nan, 3, 4, 5, 9)), list(x("2", 2, 6))},
		{"NanMedian", "axes=1", list(x("2x3", nan, 7, 3, 4, 9, 5)), list(x("2", 3, 5))},
		{"VarMean", "axes=1 correction=1", list(x("2x2", 1, 3, 0, 6)), list(x("2", 2, 18), x("2", 2, 3))},
		{"StdMean", "axes=1 correction=0", list(x("2x2", 1, 3, 0, 6)), list(x("2", 1, 3), x("2", 2, 3))},
		{"Quantile", "axes=1", list(x("2x3", 3, 1, 2, 10, 30, 20), x("", .75)), list(x("2", 2.5, 25))},
		{"SearchSorted", "right=0", list(x("3", 1, 3, 5), x("4", 0, 3, 4, 6)), list(x("int 4", 0, 1, 2, 3))},
		{"SearchSorted", "side=right", list(x("2x2", 1, 3, 2, 2), x("2x2", 1, 3, 1, 2)), list(x("int 2x2", 1, 2, 0, 2))},
		{"Bincount", "", list(x("int 4", 1, 3, 1, 0), nil, nil), list(x("int 4", 1, 2, 0, 1))},
		{"Bincount", "minlength=3", list(x("int 2", 1, 1), nil, x("2", .5, 2)), list(x("3", 0, 2.5, 0))},
		{"IsIn", "", list(x("3", 1, 2, 3), x("2", 3, 1)), list(x("int 3", 1, 0, 1))},
		{"IsIn", "invert=1", list(x("3", 1, 2, 3), x("2", 3, 1)), list(x("int 3", 0, 1, 0))},
		{"Diff", "axis=0 n=1", list(x("4", 1, 4, 9, 16)), list(x("3", 3, 5, 7))},
		{"Diff", "axis=0 n=2", list(x("4", 1, 4, 10, 16)), list(x("2", 3, 0))},
		{"Diff", "axis=1 n=1", list(x("2x1", 1, 5), x("2x1", 0, 1), x("2x1", 7, 3)), list(x("2x2", 1, 6, 4, -2))},
		{"Cross", "axis=1", list(x("2x3", 1, 0, 0, 1, 2, 3), x("2x3", 0, 1, 0, 4, 5, 6)), list(x("2x3", 0, 0, 1, -3, 6, -3))},
		{"Trace", "", list(x("2x3", 1, 2, 3, 4, 5, 6)), list(x("", 6))},
		{"UniqueConsecutive", "", list(x("5", 1, 1, 2, 1, 1)), list(x("3", 1, 2, 1))},
		{"LogCumsumExp", "axes=0", list(x("3", 0, 0, log2)), list(x("3", 0, log2, math.Log(4)))},
		{"Trapezoid", "axis=1 dx=2", list(x("2x3", 1, 2, 3, 0, 4, 0)), list(x("2", 8, 8))},
		{"Dist", "p=2", list(x("2", 1, 5), x("2", 4, 1)), list(x("", 5))},
		{"Cdist", "p=2", list(x("2x2", 0, 0, 3, 4), x("1x2", 0, 0)), list(x("2x1", 0, 5))},
		{"Cdist", "p=1", list(x("1x2", 1, 2), x("2x2", 0, 0, 3, 4)), list(x("1x2", 3, 4))},
		{"Linspace", "", list(x("", 1), x("", 3)), list(x("5", 1, 1.5, 2, 2.5, 3))},
		{"Eye", "", list(x("", 1)), list(x("2x3", 1, 0, 0, 0, 1, 0))},
		{"TrilIndices", "diagonal=0", list(x("", 2), x("", 3)), list(x("int 2x3", 0, 1, 1, 0, 0, 1))},
		{"TriuIndices", "diagonal=1", list(x("", 2), x("", 3)), list(x("int 2x3", 0, 0, 1, 1, 2, 2))},
		{"Meshgrid", "indexing=ij", list(x("2", 1, 2), x("3", 3, 4, 5)), list(x("2x3", 1, 1, 1, 2, 2, 2), x("2x3", 3, 4, 5, 3, 4, 5))},
		{"Meshgrid", "indexing=xy", list(x("2", 1, 2), x("3", 3, 4, 5)), list(x("3x2", 1, 2, 1, 2, 1, 2), x("3x2", 3, 3, 4, 4, 5, 5))},
		{"Diag", "diagonal=1", list(x("2", 5, 6)), list(x("3x3", 0, 5, 0, 0, 0, 6, 0, 0, 0))},
		{"Diag", "diagonal=-1", list(x("3x2", 1, 2, 3, 4, 5, 6)), list(x("2", 3, 6))},
		{"DiagEmbed", "diagonal=0", list(x("2x2", 1, 2, 3, 4)), list(x("2x2x2", 1, 0, 0, 2, 3, 0, 0, 4))},
		{"DiagFlat", "diagonal=-1", list(x("1x2", 1, 2)), list(x("3x3", 0, 0, 0, 1, 0, 0, 0, 2, 0))},
		// Centres of two pixels lie at -1/2 and 1/2; x is doubled, y moved by 1.
		{"AffineGrid", "align_corners=0", list(x("1x2x3", 2, 0, 0, 0, 1, 1)), list(x("1x1x2x2", -1, 1, 1, 1))},
		{"AffineGrid", "align_corners=1", list(x("1x2x3", 2, 0, 0, 0, 1, 1)), list(x("1x2x2x2", -2, 0, 2, 0, -2, 2, 2, 2))},
		{"ScatterReduce", "axis=0 reduce=sum include_self=1", list(x("3", 1, 2, 3), x("int 3", 0, 0, 2), x("3", 10, 20, 30)), list(x("3", 31, 2, 33))},
		{"ScatterReduce", "axis=0 reduce=mean include_self=0", list(x("3", 1, 2, 3), x("int 3", 0, 0, 2), x("3", 10, 20, 30)), list(x("3", 15, 2, 30))},
		{"ScatterReduce", "axis=0 reduce=amin include_self=1", list(x("2", 1, 9), x("int 2", 0, 1), x("2", 5, 6)), list(x("2", 1, 6))},
		{"ScatterReduce", "axis=0 reduce=amax include_self=1", list(x("2", 1, 9), x("int 2", 0, 1), x("2", 5, 6)), list(x("2", 5, 9))},
		{"ScatterReduce", "axis=0 reduce=prod include_self=1", list(x("2", 2, 9), x("int 2", 0, 0), x("2", 5, 6)), list(x("2", 60, 9))},
		{"EmbeddingBag", "mode=sum", list(x("int 4", 0, 2, 1, 1), x("3x2", 1, 2, 3, 4, 5, 6), x("int 2", 0, 3)), list(x("2x2", 9, 12, 3, 4))},
		{"EmbeddingBag", "mode=mean padding_idx=0", list(x("int 2x2", 0, 2, 1, 2), x("3x1", 1, 3, 5)), list(x("2x1", 5, 4))},
		{"EmbeddingBag", "mode=max include_last_offset=1", list(x("int 3", 0, 2, 1), x("3x2", 1, 8, 3, 4, 5, 6), x("int 3", 0, 2, 3)), list(x("2x2", 5, 8, 3, 4))},
		{"EmbeddingBag", "mode=sum", list(x("int 1x2", 0, 1), x("2x1", 1, 3), nil, x("1x2", 2, .5)), list(x("1x1", 3.5))},
		{"MaxUnpool", "", list(x("1x2x1", 5, 6), x("int 1x2x1", 2, 0)), list(x("1x2x3", 0, 0, 5, 6, 0, 0))},
		{"RepeatEach", "axis=0", list(x("2x1", 1, 2)), list(x("4x1", 1, 1, 2, 2))},
		{"SliceAxis", "axis=1 start=-3 end=9e18 step=2", list(x("1x4", 1, 2, 3, 4)), list(x("1x2", 2, 4))},
		// Windows of 1x2 with stride 1 over a row of three: the middle pixel is in both.
		{"Col2im", "ksize=1,2 strides=1,1 pads=0,0 dilations=1,1", list(x("1x2x2", 1, 2, 10, 20)), list(x("1x1x1x3", 1, 12, 20))},
		// Einsum with one operand: a transposition, a diagonal, a sum of columns.
		{"Einsum", "equation=ij->ji", list(x("2x3", 1, 2, 3, 4, 5, 6)), list(x("3x2", 1, 4, 2, 5, 3, 6))},
		{"Einsum", "equation=ii->i", list(x("2x2", 1, 2, 3, 4)), list(x("2", 1, 4))},
		{"Einsum", "equation=ij->j", list(x("2x2", 1, 2, 3, 4)), list(x("2", 4, 6))},
		// Tensordot: one shared axis; two axes given in another order; Kronecker's product.
		{"Einsum", "dims=1", list(x("1x2", 1, 2), x("2x1", 3, 4)), list(x("1x1", 11))},
		{"Einsum", "dims=0,1,1,0", list(x("2x2", 1, 2, 3, 4), x("2x2", 5, 6, 7, 8)), list(x("", 69))},
		{"Einsum", "equation=ab,cd->acbd", list(x("1x2", 1, 2), x("2x1", 3, 4)), list(x("2x2", 3, 6, 4, 8))},
		{"ThresholdV2D", "", list(x("4", -1, .5, 2, 0)), list(x("4", 7, 7, 2, 7))},
	}
}

// TestUnbatched: an image without a batch axis gets one if the name of the function says how many axes an image has.
// Without it, rows of the image would be taken for channels.
func TestUnbatched(t *testing.T) {
	t.Parallel()
	in := tensorOf(t, "1x3x3", 1, 2, 3, 4, 5, 6, 7, 8, 9)
	out := tensorOf(t, "1x3x3", 5, 6, 6, 8, 9, 9, 8, 9, 9) // largest of 3x3 with padding 1
	for name, want := range map[string]Status{"Functional.max_pool2d.0.forward": OK, "Functional.max_pool1d.0.forward": Wrong} {
		_, rows := CallsOf(name, "")
		raw := attributesOf("kernel_size=3 stride=1 padding=1 dilation=1 ceil_mode=0")
		for _, a := range rows[0].Arguments {
			if a.Keyword == "" {
				raw[a.Name] = Attribute{ParseValue(a.Default), FromCall}
			}
		}
		op, _ := BindCall(rows[0].Formula, map[string][]*Tensor{"x": {in}}, []*Tensor{out}, raw, nil)
		if v, err := Judge(t.Context(), op); err != nil || v.Status != want {
			t.Errorf("%s: %+v %v, want %s", name, v, err, want)
		}
	}
}

// TestOpenNumbers: numbers that are read off the output explain a healthy output. Where other elements contradict them,
// the output is not OK.
func TestOpenNumbers(t *testing.T) {
	t.Parallel()
	rising := func(f func(v float64) float64) *Tensor {
		v := make([]float64, 40)
		for i := range v {
			v[i] = f(float64(i)/8 - 2.5)
		}
		return vectorOf(v)
	}
	x := rising(func(v float64) float64 { return v })
	for name, f := range map[string]func(v float64) float64{
		"Clip":         func(v float64) float64 { return min(max(v, -1.5), .75) },
		"ThresholdV2D": func(v float64) float64 { return map[bool]float64{true: v, false: -20}[v > .5] },
	} {
		if v := judgeWith(t, name, []*Tensor{x}, []*Tensor{rising(f)}, nil); v.Status != OK {
			t.Errorf("%s: %s %s %v", name, v.Status, v.Reason, v.Attributes)
		}
		for change, damaged := range map[string]*Tensor{
			"scaled": rising(func(v float64) float64 { return 1.25 * f(v) }), "zeros": rising(func(v float64) float64 {
				if v > 1 {
					return 0
				}
				return f(v)
			}),
		} {
			if v := judgeWith(t, name, []*Tensor{x}, []*Tensor{damaged}, nil); v.Status != Wrong && v.Status != Misfit {
				t.Errorf("%s, %s: %s with %v", name, change, v.Status, v.Attributes)
			}
		}
	}
}

// TestIgnoredClass: modules do not dump ignore_index, so that a usual class for padding may be ignored.
func TestIgnoredClass(t *testing.T) {
	t.Parallel()
	logs, target := tensorOf(t, "3x2", -1, -2, -3, -4, -5, -6), tensorOf(t, "int 3", 0, 1, 1)
	for _, c := range []struct {
		attrs string
		mean  float64
		want  Status
	}{
		{"reduction=mean", 11. / 3, OK},
		{"reduction=mean", 5, OK}, // without class 0: (4 + 6) / 2
		{"reduction=mean", 4.5, Misfit},
		{"reduction=mean ignore_index=-100", 5, Wrong},
	} {
		if v := judgeWith(t, "NLLLoss", []*Tensor{logs, target}, []*Tensor{tensorOf(t, "", c.mean)}, attributesOf(c.attrs)); v.Status != c.want {
			t.Errorf("%s, mean %g: %s %s with %v, want %s", c.attrs, c.mean, v.Status, v.Reason, v.Attributes, c.want)
		}
	}
}

// TestPlanesDropped: dropout of channels drops all elements of a channel or none.
func TestPlanesDropped(t *testing.T) {
	t.Parallel()
	const channels, plane = 60, 4
	in, out := make([]float64, channels*plane), make([]float64, channels*plane)
	for i := range in {
		in[i] = 1 + float64(i%7)
		if i/plane%2 == 0 {
			out[i] = 2 * in[i]
		}
	}
	judge := func(out []float64) *Verdict {
		shape := "1x60x2x2"
		return judgeWith(t, "Dropout", []*Tensor{tensorOf(t, shape, in...)}, []*Tensor{tensorOf(t, shape, out...)}, attributesOf("p=0.5 training=1 dropped_axes=2"))
	}
	if v := judge(out); v.Status != OK {
		t.Errorf("whole channels: %s %s", v.Status, v.Reason)
	}
	out[0] = 0
	if v := judge(out); v.Status != Wrong {
		t.Errorf("one element of a channel is 0: %s %s", v.Status, v.Reason)
	}
}
