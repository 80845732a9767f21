package recompute

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// bindAndJudge binds an operator of a type with the attributes of a graph and judges it.
func bindAndJudge(t *testing.T, opType, attrs string, known bool, in, out []*Tensor) *Verdict {
	t.Helper()
	op, warnings, err := Bind(FormulaOf(opType), in, out, attributesOf(attrs))
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	op.AttributesComplete, op.Fused = known, new(bool)
	v, err := Judge(context.Background(), op)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestAttentionWithoutGraph: without a graph the scale, mode and layout of FlashAttentionScore are unknown: every
// usual value is right, and no fitted value makes it WRONG. With a graph an absent scale is 1, and pse_type is the
// graph's.
func TestAttentionWithoutGraph(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 5))
	q, k, v, pse := randomTensor(r, 1, 2, 3, 6, 8), randomTensor(r, 1, 2, 3, 9, 8), randomTensor(r, 1, 2, 3, 9, 8), randomTensor(r, 1, 2, 3, 6, 9)
	none := constantTensor(0, pse)
	all := func(int, int) bool { return true }
	root := 1 / math.Sqrt(8)
	// The outputs of the operator begin with the statistics.
	given := func(outs []*Tensor, layout string) []*Tensor { return []*Tensor{inLayout(outs[0], layout)} }
	for _, c := range []struct {
		name, attrs, layout string
		known               bool
		outs                []*Tensor
		pse                 *Tensor
		want                Status
	}{
		{"the scale of heads", "", "BNSD", false, fused(q, k, v, none, root, all), nil, OK},
		{"a scale of 1", "", "BSND", false, fused(q, k, v, none, 1, all), nil, OK},
		{"heads beside each other", "head_num=3", "BSH", false, fused(q, k, v, none, root, all), nil, OK},
		{"heads that nobody says", "", "SBH", false, fused(q, k, v, none, root, all), nil, OK},
		{"causal", "", "BNSD", false, fused(q, k, v, none, root, func(i, j int) bool { return j <= i+3 }), nil, OK},
		{"another scale", "", "BNSD", false, fused(q, k, v, none, .3, all), nil, OK},
		{"nothing", "", "BNSD", false, fused(k, q, randomTensor(r, 1, 2, 3, 6, 8), randomTensor(r, 1, 2, 3, 9, 6), root, all), nil, Undecided},
		{"values of another operator", "", "BNSD", false, fused(q, k, randomTensor(r, 1, 2, 3, 9, 8), none, root, all), nil, Misfit},
		{"the scale of a graph", "input_layout=BNSD head_num=3 scale_value=0.3", "BNSD", true, fused(q, k, v, none, .3, all), nil, OK},
		{"no scale in a graph", "input_layout=BNSD head_num=3", "BNSD", true, fused(q, k, v, none, 1, all), nil, OK},
		{"another scale than a graph's", "input_layout=BNSD head_num=3", "BNSD", true, fused(q, k, v, none, root, all), nil, Wrong},
		{"a bias before the scale", "input_layout=BNSD head_num=3 scale_value=0.5", "BNSD", true, fused(q, k, v, pse, .5, all), pse, OK},
		{"a bias behind the scale", "input_layout=BNSD head_num=3 scale_value=0.5 pse_type=0", "BNSD", true, fused(q, k, v, timesTwo(pse), .5, all), pse, OK},
		{"a bias behind the scale in place of before", "input_layout=BNSD head_num=3 scale_value=0.5", "BNSD", true, fused(q, k, v, timesTwo(pse), .5, all), pse, Wrong},
		{"a bias that nobody says more of", "", "BNSD", false, fused(q, k, v, timesTwo(pse), .5, all), pse, OK},
	} {
		got := bindAndJudge(t, "FlashAttentionScore", c.attrs, c.known, []*Tensor{inLayout(q, c.layout), inLayout(k, c.layout), inLayout(v, c.layout), c.pse}, given(c.outs, c.layout))
		if got.Status != c.want {
			t.Errorf("%s: %s %s %s with %v", c.name, got.Status, got.Reason, got.Why, got.Attributes)
		}
	}
}

// timesTwo returns a bias times 2: with a scale of 1/2 it equals a bias that is added after scaling.
func timesTwo(x *Tensor) *Tensor {
	v := append([]float64{}, x.Source.(numbers).v...)
	for i := range v {
		v[i] *= 2
	}
	return &Tensor{DType: x.DType, Stored: x.Stored, Shape: x.Shape, Source: numbers{v, x.Stored}}
}

// TestScaleOfCall: a scaled_dot_product_attention without a scale has the default scale of its heads; another scale
// is WRONG.
func TestScaleOfCall(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 5))
	q, k, v := randomTensor(r, 1, 2, 3, 6, 8), randomTensor(r, 1, 2, 3, 9, 8), randomTensor(r, 1, 2, 3, 9, 8)
	for scale, want := range map[float64]Status{1 / math.Sqrt(8): OK, .4: Wrong} {
		out := attentionByLoop(q, k, v, scale, func(int, int) bool { return true })
		// A call without a scale: its default is none.
		op, _ := BindCall("Attention", map[string][]*Tensor{"q": {q}, "k": {k}, "v": {v}}, []*Tensor{out}, Attributes{"scale": {Text("none"), FromDefault}, "causal": {Number(0), FromDefault}, "layout": {Text("BNSD"), FromCall}, "masked": {Text("keep"), FromCall}}, nil)
		if got, err := Judge(context.Background(), op); err != nil || got.Status != want {
			t.Errorf("scale %v: %s, %v", scale, got.Status, err)
		}
	}
}

// TestUnreadInputs: an input that changes the computation and that no formula reads leaves the operator undecided; an
// empty input counts as absent.
func TestUnreadInputs(t *testing.T) {
	t.Parallel()
	x, y := tensorOf(t, "1x2", -3, 0), []*Tensor{tensorOf(t, "int 1x2", -math.MaxInt32, 0)}
	smooth := tensorOf(t, "2", 1, 1)
	for _, c := range []struct {
		index *Tensor
		want  Status
	}{{nil, OK}, {tensorOf(t, "int 0"), OK}, {tensorOf(t, "int 1", 1), Undecided}} {
		if got := bindAndJudge(t, "DynamicQuant", "", false, []*Tensor{x, smooth, c.index}, y); got.Status != c.want {
			t.Errorf("%v: %s %s", c.index, got.Status, got.Why)
		}
	}
}

// TestTies: halves may be rounded either way, experts of equal weight selected in any order, and rows of one expert
// sorted in any order; anything else is WRONG.
func TestTies(t *testing.T) {
	t.Parallel()
	equal := tensorOf(t, "1x4", 1, 2, 2, 0)
	share := 1 / (2 + math.Exp(-1) + math.Exp(-2))
	tokens, rows, experts := tensorOf(t, "2x1", 10, 20), tensorOf(t, "int 2x2", 0, 2, 1, 3), tensorOf(t, "int 2x2", 0, 1, 1, 0)
	for _, c := range []struct {
		opType, attrs string
		in, out       []*Tensor
		want          Status
	}{
		{"AscendQuantV2", "", []*Tensor{tensorOf(t, "2", .25, 3), tensorOf(t, "1", 10)}, []*Tensor{tensorOf(t, "int 2", 2, 30)}, OK},
		{"AscendQuantV2", "", []*Tensor{tensorOf(t, "2", .25, 3), tensorOf(t, "1", 10)}, []*Tensor{tensorOf(t, "int 2", 3, 30)}, OK},
		{"AscendQuantV2", "", []*Tensor{tensorOf(t, "2", .25, 3), tensorOf(t, "1", 10)}, []*Tensor{tensorOf(t, "int 2", 4, 30)}, Wrong},
		{"MoeGatingTopKSoftmax", "", []*Tensor{equal}, []*Tensor{tensorOf(t, "1x2", share, share), tensorOf(t, "int 1x2", 2, 1)}, OK},
		{"MoeGatingTopKSoftmax", "", []*Tensor{equal}, []*Tensor{tensorOf(t, "1x2", share, share), tensorOf(t, "int 1x2", 1, 2)}, OK},
		{"MoeGatingTopKSoftmax", "", []*Tensor{equal}, []*Tensor{tensorOf(t, "1x2", share, share), tensorOf(t, "int 1x2", 1, 1)}, Wrong},
		{"MoeInitRouting", "", []*Tensor{tokens, rows, experts}, []*Tensor{tensorOf(t, "4x1", 10, 20, 10, 20), tensorOf(t, "int 4", 0, 3, 2, 1), tensorOf(t, "int 4", 0, 0, 1, 1)}, OK},
		{"MoeInitRouting", "", []*Tensor{tokens, rows, experts}, []*Tensor{tensorOf(t, "4x1", 20, 10, 20, 10), tensorOf(t, "int 4", 1, 2, 3, 0), tensorOf(t, "int 4", 0, 0, 1, 1)}, OK},
		{"MoeInitRouting", "", []*Tensor{tokens, rows, experts}, []*Tensor{tensorOf(t, "4x1", 10, 10, 20, 20), tensorOf(t, "int 4", 0, 2, 1, 3), tensorOf(t, "int 4", 0, 0, 1, 1)}, Wrong},
	} {
		if got := bindAndJudge(t, c.opType, c.attrs, true, c.in, c.out); got.Status != c.want {
			t.Errorf("%s giving %v: %s %s %s %+v", c.opType, c.out[0].Source, got.Status, got.Reason, got.Why, got.Outputs)
		}
	}
}
