package recompute

import (
	"context"
	"math"
	"testing"
)

// TestGated has a case of each formula that only frameworks have, computed by hand from the documentation of PyTorch
// and torch_npu, and checks that a wrong element is found.
func TestGated(t *testing.T) {
	t.Parallel()
	x := func(shape string, v ...float64) *Tensor { t.Helper(); return tensorOf(t, shape, v...) }
	in := func(all ...any) map[string][]*Tensor {
		named := map[string][]*Tensor{}
		for i := 0; i < len(all); i += 2 {
			named[all[i].(string)] = []*Tensor{all[i+1].(*Tensor)}
		}
		return named
	}
	sigma := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	root := func(squares float64) float64 { return 1 / math.Sqrt(squares) }
	for _, c := range []struct {
		formula, attrs string
		in             map[string][]*Tensor
		out            *Tensor
	}{
		// npu_swiglu: silu of the first half, times the second.
		{"SwiGlu", "axis=-1", in("x", x("1x4", 1, -2, 3, 5)), x("1x2", sigma(1)*3, -2*sigma(-2)*5)},
		{"SwiGlu", "axis=0", in("x", x("2x2", 1, -2, 3, 5)), x("1x2", sigma(1)*3, -2*sigma(-2)*5)},
		// glu: the first half times the sigmoid of the second.
		{"Glu", "axis=-1", in("x", x("1x4", 1, -2, 3, 5)), x("1x2", sigma(3), -2*sigma(5))},
		// npu_rotary_mul, half: x cos + (-x2, x1) sin.
		{"RotaryMul", "mode=half", in("x", x("1x4", 1, 2, 3, 4), "cos", x("1x4", .5, .25, 2, 1), "sin", x("1x4", 1, 2, 3, 4)), x("1x4", .5-3, .5-8, 6+3, 4+8)},
		// interleave: pairs of neighbours.
		{"RotaryMul", "mode=interleave", in("x", x("1x4", 1, 2, 3, 4), "cos", x("4", .5, .25, 2, 1), "sin", x("4", 1, 2, 3, 4)), x("1x4", .5-2, .5+2, 6-12, 4+12)},
		// npu_add_rms_norm: (x1 + x2) / rms * gamma, here of (3, 4): rms^2 = 12.5.
		{"AddRmsNorm", "axes=1 epsilon=0", in("x1", x("1x2", 1, 3), "x2", x("1x2", 2, 1), "gamma", x("2", 1, 2)), x("1x2", 3*root(12.5), 8*root(12.5))},
		// batch_norm in training: channel 0 has 1 and 3, channel 1 has 2 and 6.
		{"BatchNorm", "is_training=1 epsilon=0", in("x", x("2x2x1", 1, 2, 3, 6), "scale", x("2", 1, 2), "offset", x("2", 0, 10)), x("2x2x1", -1, 8, 1, 12)},
		{"LogSigmoid", "", in("x", x("2", 1, -3)), x("2", math.Log(sigma(1)), math.Log(sigma(-3)))},
		{"Sign", "", in("x", x("3", 1.5, -2, 0)), x("3", 1, -1, 0)},
		{"Tril", "diagonal=0", in("x", x("2x3", 1, 2, 3, 4, 5, 6)), x("2x3", 1, 0, 0, 4, 5, 0)},
		{"Triu", "diagonal=1", in("x", x("2x3", 1, 2, 3, 4, 5, 6)), x("2x3", 0, 2, 3, 0, 0, 6)},
		{"ReduceProd", "axes=1", in("x", x("2x3", 1, 2, 3, -4, 5, 6)), x("2", 6, -120)},
		// F.pad from the last axis: one before and two after it, and one row below.
		{"Pad", "last_pads=1,2,0,1 value=9", in("x", x("1x2", 1, 2)), x("2x5", 9, 1, 2, 9, 9, 9, 9, 9, 9, 9)},
		{"Transpose", "swap0=-1 swap1=0", in("x", x("2x3", 1, 2, 3, 4, 5, 6)), x("3x2", 1, 4, 2, 5, 3, 6)},
		// x[:, (2, 0)] of a call that does not give the axis.
		{"Index", "", in("x", x("2x3", 1, 2, 3, 4, 5, 6), "indices", x("int 2", 2, 0)), x("2x2", 3, 1, 6, 4)},
		{"Mul", "", in("x1", x("2", 3, -1), "x2", Constant(.5)), x("2", 1.5, -.5)},
	} {
		judge := func(out *Tensor) *Verdict {
			op, warnings := BindCall(c.formula, c.in, []*Tensor{out}, attributesOf(c.attrs), nil)
			v, err := Judge(context.Background(), op)
			if err != nil || len(warnings) > 0 {
				t.Fatalf("%s: %v, %v", c.formula, warnings, err)
			}
			return v
		}
		if v := judge(c.out); v.Status != OK {
			t.Errorf("%s %s: %s %s", c.formula, c.attrs, v.Status, v.Reason)
		}
		wrong := *c.out
		all := numbers{append([]float64(nil), c.out.Source.(numbers).v...), c.out.DType}
		all.v[len(all.v)-1] += 7
		wrong.Source = all
		if v := judge(&wrong); v.Status != Wrong && v.Status != Misfit {
			t.Errorf("%s %s with a wrong element: %s %s", c.formula, c.attrs, v.Status, v.Reason)
		}
	}
}
