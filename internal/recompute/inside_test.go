package recompute

import (
	"math"
	"testing"
)

// TestInside: the largest numbers between inputs and outputs, worked out by hand.
func TestInside(t *testing.T) {
	t.Parallel()
	h := math.Sqrt(.5)
	for _, c := range []struct {
		handCase
		class string
		want  float64 // the largest size, of exp its exponent
	}{
		{handCase{"RmsNorm", "epsilon=0", []*Tensor{tensorOf(t, "2x2", 3, 4, -1, 1), tensorOf(t, "2", 1, 1)}, []*Tensor{tensorOf(t, "2x2", 3/math.Sqrt(12.5), 4/math.Sqrt(12.5), -1, 1)}}, "sum_of_squares", 25},
		{handCase{"LayerNorm", "begin_norm_axis=1 epsilon=0", []*Tensor{tensorOf(t, "1x2", 2, 6), tensorOf(t, "2", 1, 1), tensorOf(t, "2", 0, 0)}, []*Tensor{tensorOf(t, "1x2", -1, 1)}}, "sum_of_squares", 8},
		{handCase{"L2Normalize", "axis=1 epsilon=0", []*Tensor{tensorOf(t, "1x2", 5, -5)}, []*Tensor{tensorOf(t, "1x2", h, -h)}}, "sum_of_squares", 50},
		{handCase{"SoftmaxV2", "axes=1", []*Tensor{tensorOf(t, "1x2", 100, 100)}, []*Tensor{tensorOf(t, "1x2", .5, .5)}}, "exp", 100},
		{handCase{"MatMul", "", []*Tensor{tensorOf(t, "1x2", 2, -3), tensorOf(t, "2x2", 5, 1, 3, 7)}, []*Tensor{tensorOf(t, "1x2", 1, -19)}}, "products", 23},
		{handCase{"Attention", "layout=BNSD scale=0.5 causal=0", []*Tensor{tensorOf(t, "1x1x1x2", 3, 0), tensorOf(t, "1x1x2x2", -8, 1, -8, 2), tensorOf(t, "1x1x2x1", 4, 6)}, []*Tensor{tensorOf(t, "1x1x1x1", 5)}}, "scores", 24},
		{handCase{"Relu", "", []*Tensor{tensorOf(t, "2", 1, 2)}, []*Tensor{tensorOf(t, "2", 1, 2)}}, "", 0},
	} {
		v := judged(t, c.handCase)
		if c.class == "" {
			if len(v.Headroom) > 0 {
				t.Errorf("%s: %s, %v, want nothing inside", c.opType, v.Status, v.Headroom)
			}
			continue
		}
		log := math.Log2(c.want)
		if c.class == "exp" {
			log = c.want * math.Log2E
		}
		if len(v.Headroom) != 1 || v.Headroom[0].Class != c.class || math.Abs(v.Headroom[0].Log2-log) > 1e-9 {
			t.Errorf("%s: %s, %v, want %s with log2 %v", c.opType, v.Status, v.Headroom, c.class, log)
		}
	}
	for name, want := range map[string]bool{"RmsNorm": true, "FlashAttentionScore": true, "SoftmaxV2": false, "BatchNorm": false, "x": false} {
		if HasIntermediates(name, "") != want {
			t.Errorf("%s: %v, want %v", name, !want, want)
		}
	}
	if !HasIntermediates("rms_norm", "Functional.rms_norm.0.forward") {
		t.Error("a call of rms_norm has a sum of squares")
	}
}
