package statistics

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// gelu adds the call of a function that reads x and writes y; npu is y on the NPU.
func (r *run) gelu(x given, npu string) *run {
	return r.call("Functional.gelu.0.forward", x, out("float32 8,8", "5 -0.17 0.8 11", npu))
}

// TestTest compares the limits of an output with exact inputs with the formulas: e of gelu is 2 x 1e-6, so norm and
// mean may be off by 0.8 e + 3 e/sqrt(64) + 2e-6 = 4.35e-6, and the bounds by 4 e + 2e-6 = 1e-5 of the magnitude (3
// rms/magnitude = 0.825 is less than 1).
func TestTest(t *testing.T) {
	for _, test := range []struct{ name, npu, want string }{
		{"norm, inside", "5 -0.17 0.8 " + fmt.Sprint(11*(1-4.3e-6)), ""},
		{"norm, outside", "5 -0.17 0.8 " + fmt.Sprint(11*(1-4.4e-6)), "Functional.gelu.0.forward output.0 STATISTICS"},
		{"mean, inside", "5 -0.17 " + fmt.Sprint(0.8+4.3e-6*11/8) + " 11", ""},
		{"mean, outside", "5 -0.17 " + fmt.Sprint(0.8+4.4e-6*11/8) + " 11", "Functional.gelu.0.forward output.0 STATISTICS"},
		{"max, inside", fmt.Sprint(5*(1-9.9e-6)) + " -0.17 0.8 11", ""},
		{"max, outside", fmt.Sprint(5*(1-1.01e-5)) + " -0.17 0.8 11", "Functional.gelu.0.forward output.0 STATISTICS"},
		{"x 5", "25 -0.85 4 55", "Functional.gelu.0.forward output.0 SCALE"},
		{"zeros", "0 0 0 0", "Functional.gelu.0.forward output.0 ZERO_OUTPUT"},
		{"a constant", "1 1 1 8", "Functional.gelu.0.forward output.0 CONST_OUTPUT"},
		{"NaN", "NaN NaN NaN NaN", "Functional.gelu.0.forward output.0 NPU_NAN"},
		{"an infinity", "Infinity -0.17 Infinity Infinity", "Functional.gelu.0.forward output.0 NPU_NAN"},
		{"another shape", "float32 8,4: 5 -0.17 0.8 11", "Functional.gelu.0.forward output.0 SHAPE"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := new(run).gelu(in(0, "float32 8,8", "6 -6 0.1 16"), test.npu)
			r.wantFound(t, test.want)
		})
	}
}

// TestGradientsAreJudgedCloser: the limits of backward calls are 0.8 of the limits of forward calls. The gradient of
// a product of exact numbers has an expected noise of 1e-6.
func TestGradientsAreJudgedCloser(t *testing.T) {
	const e = 1e-6
	limit := 0.8*(0.8*e+3*e/8) + 2e-6
	for share, want := range map[float64]string{0.98: "", 1.02: "Torch.mul.0.backward output.0 STATISTICS"} {
		r := new(run)
		r.call("Torch.mul.0.forward", in(0, "float32 8,8", "6 -6 0.1 16"), out("float32 8,8", "12 -12 0.2 32"))
		r.call("Torch.mul.0.backward", in(0, "float32 8,8", "1 -1 0 4"), out("float32 8,8", "2 -2 0 8", "2 -2 0 "+fmt.Sprint(8*(1-share*limit))))
		r.wantFound(t, want)
	}
}

// TestAddThatCancels: -0.0078125 + 0.0078125 is 0 in the NPU's bfloat16, and a rounding error in the reference: the
// noise of the inputs counts, whatever the size of the sum.
func TestAddThatCancels(t *testing.T) {
	r := new(run)
	r.call("AddN", in(0, "float32 8,8", "0.0078125 0.0078 0.00781 0.0625", "bfloat16 8,8: 0.0078125 0.0078125 0.0078125 0.0625"),
		in(1, "float32 8,8", "-0.0078 -0.0078125 -0.00781 0.0625", "bfloat16 8,8: -0.0078125 -0.0078125 -0.0078125 0.0625"),
		out("float32 8,8", "1.2e-05 -1.2e-05 0 5e-05", "bfloat16 8,8: 0 0 0 0"))
	for i := range r.rows {
		r.rows[i].OpType = "AddN"
	}
	r.wantFound(t, "")
	if got := r.status("AddN", "output.0"); got != "PASS" {
		t.Errorf("the sum is %s", got)
	}
	// With equal inputs the difference is a fault.
	r = new(run)
	r.call("Torch.add.0.forward", in(0, "float32 8,8", "0.0078125 -0.0078125 0 0.0625"), in(1, "float32 8,8", "0.0078125 -0.0078125 0.0001 0.0625"),
		out("float32 8,8", "0.015 -0.015 0.0001 0.12", "0.016 -0.015 0.0001 0.121"))
	r.wantFound(t, "Torch.add.0.forward output.0 STATISTICS")
}

// TestIntegers: integers of equal inputs are exact.
func TestIntegers(t *testing.T) {
	const floats = "6 -6 0.1 16"
	// 0 to 9: a mean of 4.5, a norm of sqrt(285); with a 6 in place of the 5 sqrt(296).
	digits, other := fmt.Sprint("9 0 4.5 ", math.Sqrt(285)), fmt.Sprint("9 0 4.6 ", math.Sqrt(296))
	for _, test := range []struct {
		name, op string
		in, out  given
		want     string
	}{
		{"one of ten is off by one", "Torch.add", in(0, "int64 10", digits), out("int64 10", digits, other), "EXACT"},
		{"all are off by one", "Torch.argsort", in(0, "float32 10", "6 -6 0.1 10"), out("int64 10", digits, fmt.Sprint("10 1 5.5 ", math.Sqrt(385))), "OFFSET"},
		{"one bool of 64, of integers", "Torch.gt", in(0, "int64 8,8", "9 0 4.5 40"), out("bool 8,8", "1 0 0.5 5.656854", "1 0 0.515625 5.744563"), "EXACT"},
		{"one bool of 64, of equal floats", "Torch.gt", in(0, "float32 8,8", floats), out("bool 8,8", "1 0 0.5 5.656854", "1 0 0.515625 5.744563"), "EXACT"},
		{"one bool of 64, of noisy floats", "Torch.gt", in(0, "float32 8,8", floats, "bfloat16 8,8: "+floats), out("bool 8,8", "1 0 0.5 5.656854", "1 0 0.515625 5.744563"), ""},
		{"another choice of noisy floats", "Torch.argmax", in(0, "float32 8,8", floats, "bfloat16 8,8: "+floats), out("int64 8", "7 0 3.5 12", "7 0 3.6 12.4"), ""},
		{"no other choice of floats that are equal but for the last digits", "Torch.argmax", in(0, "float32 8,8", floats, "6 -6 0.1 16.00001"), out("int64 8", "7 0 3.5 12", "7 0 3.6 12.4"), "EXACT"},
		{"an index outside of the input", "Torch.argmax", in(0, "float32 8,10", floats, "bfloat16 8,10: "+floats), out("int64 8", "9 0 3.5 12", "80 0 9 90"), "EXACT"},
		{"norms that are summed in float32", "Torch.add", in(0, "int64 10", digits), out("int64 10", digits, fmt.Sprint("9 0 4.5 ", math.Sqrt(285)*(1+1e-6))), ""},
		{"digests say that they differ", "Torch.add", in(0, "int64 10", digits), out("int64 10", digits+" aa", digits+" bb"), "EXACT"},
	} {
		t.Run(test.name, func(t *testing.T) {
			op := test.op + ".0.forward"
			r := new(run).gelu(in(0, "float32 8,8", "5 -6 0.3 16"), "5 -0.17 0.8 11").call(op, test.in, test.out)
			if test.want != "" {
				test.want = op + " output.0 " + test.want
			}
			r.wantFound(t, test.want)
			if test.want == "" && test.out.row.Statistics.Ref.Mean != test.out.row.Statistics.NPU.Mean {
				if got := r.status(op, "output.0"); got != "WARN FLIP" {
					t.Errorf("%s, want WARN FLIP", got)
				}
			}
		})
	}
}

// TestStart: a tensor without a producer is equal within 1e-5, or within the rounding error of the NPU's type.
func TestStart(t *testing.T) {
	weight := func(factor float64, typ string) given {
		w := one(tensor.Parameter, 1, "float32 8,8", "1 -1 0 4", typ+fmt.Sprint(factor, " ", -factor, " 0 ", 4*factor))
		return w
	}
	const op = "Functional.linear.0.forward"
	for _, test := range []struct {
		name string
		w    given
		want string
	}{
		{"x 1.00002", weight(1.00002, ""), op + " parameter.1 STARTED_APART"},
		{"x 1.000005", weight(1.000005, ""), ""},
		{"x 1.003 in bfloat16", weight(1.003, "bfloat16 8,8: "), ""},
		{"x 1.01 in bfloat16", weight(1.01, "bfloat16 8,8: "), op + " parameter.1 STARTED_APART"},
		{"another shape", one(tensor.Parameter, 1, "float32 8,8", "1 -1 0 4", "float32 8,4: 1 -1 0 4"), op + " parameter.1 STARTED_APART"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := new(run)
			r.call(op, in(0, "float32 8,8", "3 -3 0 8"), test.w, out("float32 8,8", "9 -9 0 22.6", "9.001 -9 0 22.601"))
			r.wantFound(t, test.want)
			if want := map[bool]string{true: "PASS", false: "WARN STARTED_APART"}[test.want == ""]; r.status(op, "output.0") != want {
				t.Errorf("the output is %s, want %s", r.status(op, "output.0"), want)
			}
		})
	}
}

// TestBuffers: the uninitialised memory of torch.empty may be passed to a call that only writes to it.
func TestBuffers(t *testing.T) {
	garbage := func(index int, npu string) given { return in(index, "float16 8,8", "65504 -65504 12 400000", npu) }
	const other = "1.5 -65504 3 90000"
	r := new(run)
	r.call("Torch.empty.0.forward", out("float16 8,8", "65504 -65504 12 400000", other))
	buffer := garbage(0, other)
	buffer.unread = recompute.TypeOfCall("Distributed.irecv.0.forward").Buffer.Ignores(0, 1, 1)
	r.call("Distributed.irecv.0.forward", buffer)
	input := garbage(0, other)
	input.unread = recompute.TypeOfCall("Torch.baddbmm.0.forward").Buffer.Ignores(0, 3, 0)
	factors := []given{in(1, "float16 2,8,4", "3 -3 0.1 8"), in(2, "float16 2,4,8", "2 -2 0.2 4")}
	r.call("Torch.baddbmm.0.forward", input, factors[0], factors[1], out("float16 8,16", "7 -7 0.2 16", "7 -7 0.2 16.001"))
	r.wantFound(t, "")
	for i := range r.rows[:3] {
		if r.rows[i].Status != record.Pass {
			t.Errorf("%s %s is %s", r.rows[i].Op, r.rows[i].Statistics.Tensor, r.rows[i].Status)
		}
	}
	if e := r.rows[len(r.rows)-1].Evidence; !e.Judged || e.Score <= 0 {
		t.Error("the product of what was read is not judged")
	}
	// With a beta the input counts: torch.empty alone produced it, so it is wrong.
	if recompute.TypeOfCall("Torch.baddbmm.0.forward").Buffer.Ignores(0, 3, 1) {
		t.Error("baddbmm with beta does not read its first input")
	}
}

// TestDropout: dropout that passes its input on is judged, dropout that draws is not.
func TestDropout(t *testing.T) {
	const x, drawn = "6 -6 0.1 16", "12 -12 0.3 22"
	for _, test := range []struct{ name, ref, npu, want, status string }{
		{"p = 0", x, x, "", "PASS"},
		{"p = 0, and the NPU draws", x, drawn, "Functional.dropout.0.forward output.0 NOT_COPIED", "FAIL NOT_COPIED"},
		{"other random numbers", drawn, "12 -12 -0.2 23", "", "WARN RANDOM"},
		{"the same random numbers", drawn, drawn, "", "PASS"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := new(run).call("Functional.dropout.0.forward", in(0, "float32 8,8", x), out("float32 8,8", test.ref, test.npu))
			r.wantFound(t, test.want)
			if got := r.status("Functional.dropout.0.forward", "output.0"); got != test.status {
				t.Errorf("%s, want %s", got, test.status)
			}
		})
	}
}

// TestFew: where only 8 of 149 operators have partners, a tensor without a producer is no start, since the operators
// in between are not known; a parameter is a start.
func TestFew(t *testing.T) {
	build := func(weight string) *run {
		r := new(run)
		for i := range 149 {
			x := in(0, "float32 8,8", fmt.Sprintf("6 -6 %g 16", 0.001*float64(i)), fmt.Sprintf("6 -6 %g 16.3", 0.001*float64(i)))
			y := out("float32 8,8", fmt.Sprintf("5 -5 %g 14", 0.001*float64(i)), fmt.Sprintf("5.2 -5 %g 14.3", 0.001*float64(i)))
			name := "Functional.linear." + strconv.Itoa(i) + ".forward"
			if i%20 == 0 {
				r.call(name, x, one(tensor.Parameter, 1, "float32 8,8", "1 -1 0 4", weight), y)
			} else {
				r.call(name, x, y).alone()
			}
		}
		return r
	}
	r := build("1 -1 0 4")
	r.wantFound(t, "")
	report := record.Report{Verdict: "statistics", Rows: r.rows}
	report.Count()
	if report.Counts[record.Pass] != 8*3 {
		t.Errorf("%d rows pass, want %d", report.Counts[record.Pass], 8*3)
	}
	if got := build("1.1 -1 0 4.2").found(); !strings.HasPrefix(got, "Functional.linear.0.forward parameter.1 STARTED_APART; ") || strings.Contains(got, "input") || strings.Contains(got, "output") {
		t.Errorf("found %q, want the parameters alone", got)
	}
}

// TestMemory: what an operator wrote must be what the next one reads.
func TestMemory(t *testing.T) {
	const x, y, z = "6 -6 0.1 16", "5 -0.17 0.8 11", "4 -0.17 0.9 10"
	for _, test := range []struct{ name, read, want string }{
		{"intact", y, ""},
		{"within 1e-4", "5 -0.17 0.8 11.001", ""},
		{"overwritten", "5 -3 0.8 11", "Functional.silu.0.forward input.0 MEMORY"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := new(run).gelu(in(0, "float32 8,8", x), y)
			r.call("Functional.silu.0.forward", in(0, "float32 8,8", y, test.read), out("float32 8,8", z))
			r.wantFound(t, test.want)
		})
	}
}

// TestCopies: an operator that only moves elements has no noise, whatever its input has.
func TestCopies(t *testing.T) {
	const ref = "6 -6 0.1 16"
	for npu, want := range map[string]string{
		"6.02 -6 0.1 16.02": "", "6.02 -5.8 0.1 15.9": "Tensor.view.0.forward output.0 NOT_COPIED", "30.1 -30 0.5 80.1": "Tensor.view.0.forward output.0 SCALE",
	} {
		r := new(run).call("Tensor.view.0.forward", in(0, "float32 8,8", ref, "bfloat16 8,8: 6.02 -6 0.1 16.02"), out("float32 64", ref, "bfloat16 64: "+npu))
		r.wantFound(t, want)
	}
}

// TestOutputOfNPU: the forward call of a gradient may have an output that the reference does not have.
func TestOutputOfNPU(t *testing.T) {
	const x, p, g = "6 -6 0.1 16", "0.9 0.01 0.125 1.5", "1 -1 0 4"
	alone := one(tensor.Output, 1, "float32 8,8", p)
	alone.row.RefFile, alone.row.Statistics.Ref = "", record.SideStatistics{}
	r := new(run).call("Functional.softmax.0.forward", in(0, "float32 8,8", x), out("float32 8,8", p), alone)
	r.call("Functional.softmax.0.backward", in(0, "float32 8,8", g), out("float32 8,8", g))
	r.wantFound(t, "")
}

// TestModules: a module has the taint of the operators inside, and the output of a module is the output of an
// operator inside.
func TestModules(t *testing.T) {
	const x, y, bad = "6 -6 0.1 16", "5 -0.17 0.8 11", "25 -0.85 4 55"
	r := new(run).gelu(in(0, "float32 8,8", x), bad)
	for i := range r.rows {
		r.rows[i].Modules = []string{"Module.act.GELU.forward.0"}
	}
	r.call("Module.act.GELU.forward.0", in(0, "float32 8,8", x), out("float32 8,8", y, bad))
	r.wantFound(t, "Functional.gelu.0.forward output.0 SCALE")
	if got := r.status("Module.act.GELU.forward.0", "output.0"); got != "FAIL LAYER_INPUT_BAD" {
		t.Errorf("the module is %s, want a consequence", got)
	}
}

// repeat is a run of digests: operators with equal inputs; bad of them have another output.
func repeat(operators, bad int) *run {
	const none = "- - - - "
	r := new(run)
	for i := range operators {
		n := strconv.Itoa(i)
		x, y := none+"in"+n, none+"in"+strconv.Itoa(i+1)
		read, wrote := x, y
		if bad >= 0 && i > bad {
			read, wrote = strings.ToUpper(x), strings.ToUpper(y)
		} else if i == bad {
			wrote = strings.ToUpper(y)
		}
		r.call("Functional.gelu."+n+".forward", in(0, "float32 8,8", x, read), out("float32 8,8", y, wrote))
	}
	return r
}

// TestRepeatRuns: between runs on one device an output whose digest differs is a fault; between devices bits differ
// without a fault.
func TestRepeatRuns(t *testing.T) {
	repeat(30, -1).wantFound(t, "")
	r := repeat(40, 25)
	r.wantFound(t, "Functional.gelu.25.forward output.0 DIGEST")
	if got := r.status("Functional.gelu.26.forward", "output.0"); got != "FAIL LAYER_INPUT_BAD" {
		t.Errorf("what follows is %s", got)
	}
	// 5 operators are too few to say that the runs are repeats.
	repeat(30, 5).wantFound(t, "no verdict")
	repeat(30, 0).wantFound(t, "no verdict")
	// A copy is exact on all devices.
	r = new(run).call("Tensor.view.0.forward", in(0, "float32 8,8", "- - - - a"), out("float32 64", "- - - - a", "- - - - b"))
	r.wantFound(t, "Tensor.view.0.forward output.0 DIGEST")
	// Another weight, and overwritten memory.
	r = new(run).call("Functional.linear.0.forward", in(0, "float32 8,8", "- - - - a"), one(tensor.Parameter, 1, "float32 8,8", "- - - - w", "- - - - v"), out("float32 8,8", "- - - - b", "- - - - c"))
	r.wantFound(t, "Functional.linear.0.forward parameter.1 STARTED_APART")
	r = new(run).call("Tensor.view.0.forward", in(0, "float32 8,8", "- - - - a"), out("float32 64", "- - - - b"))
	r.call("Functional.gelu.0.forward", in(0, "float32 64", "- - - - b", "- - - - c"), out("float32 64", "- - - - d", "- - - - e"))
	r.wantFound(t, "Functional.gelu.0.forward input.0 MEMORY")
	// Digests of two kinds cannot be compared.
	r = new(run).call("Functional.gelu.0.forward", in(0, "float32 8,8", "- - - - a", "- - - - aaaa"), out("float32 8,8", "- - - - b", "- - - - bbbb"))
	r.wantFound(t, "no verdict")
	if got := r.status("Functional.gelu.0.forward", "output.0"); got != "WARN DIGEST" {
		t.Errorf("digests of two kinds are %s", got)
	}
}

// TestMasks: elements that stand for minus infinity are alike in all types, and the share of masked elements counts.
func TestMasks(t *testing.T) {
	// A causal mask of 4 x 4: 6 of 16 elements are masked.
	mask := func(fill, masked float64) string {
		return fmt.Sprint(0, " ", fill, " ", fill*masked/16, " ", -fill*math.Sqrt(masked))
	}
	const op = "Torch.add.0.forward"
	for _, test := range []struct{ name, ref, npu, want string }{
		{"-65504 beside -1e9", mask(-1e9, 6), mask(-65504, 6), ""},
		{"-65504 beside finfo.min of float32, the norm of which overflows", "0 -3.4e38 -1.3e38 Infinity", mask(-65504, 6), ""},
		{"-inf beside -1e9", mask(-1e9, 6), "0 -Infinity -Infinity Infinity", ""},
		{"all elements are masked", "-1e9 -1e9 -1e9 4e9", "-65504 -65504 -65504 262016", ""},
		{"4 of 16 are masked on the NPU", mask(-1e9, 6), mask(-65504, 4), op + " input.1 STARTED_APART"},
		{"no mask", "6 -8000 -3000 20000", "6 -65504 -24564 160451", op + " input.1 STARTED_APART"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := new(run).call(op, in(0, "float32 4,4", "6 -6 0.1 10"), in(1, "float32 4,4", test.ref, "float16 4,4: "+test.npu), out("float32 4,4", test.ref, "float16 4,4: "+test.npu))
			r.wantFound(t, test.want)
		})
	}
}

// TestSmallestNumbers: the spacing of float16 is 2^-24 below 2^-14, and half of it is flushed to 0.
func TestSmallestNumbers(t *testing.T) {
	const op = "Functional.batch_norm.0.forward"
	for _, test := range []struct{ name, ref, npu, want string }{
		{"flushed", "2.02e-08 -2.84e-08 7.8e-10 6.1e-08", "0 0 0 0", ""},
		{"next to it", "2.31945e-06 -2.74998e-06 -1.4163e-07 1.1448e-05", "2.32458e-06 -2.74181e-06 -1.43424e-07 1.14528e-05", ""},
		{"flushed by a device without subnormal numbers", "2e-06 -2e-06 0 1.2e-05", "0 0 0 0", ""},
		{"too large to be flushed", "2e-04 -2e-04 0 1.2e-03", "0 0 0 0", op + " input.1 STARTED_APART"},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := in(0, "float32 1,40", "2 -2 0.1 6", "float16 1,40: 2 -2 0.1 6")
			r := new(run).call(op, x, in(1, "float32 40", test.ref, "float16 40: "+test.npu), out("float32 1,40", "3 -3 0.2 8", "float16 1,40: 3 -3 0.2 8"))
			r.wantFound(t, test.want)
		})
	}
}

// topk is a run that chooses 40 of some noisy numbers with equal bounds of their indices, and computes with the
// chosen numbers.
func topk(names []string, ref, npu string) *run {
	const scores, chosen, indices = "0.58 0.49 0.53 15.8", "0.58 0.55 0.56 5.03", "420 11 - -"
	second := out("int64 80", indices)
	second.index = 1
	r := new(run).call("Tensor.topk.0.forward", in(0, "float32 864", scores, "bfloat16 864: 0.581 0.49 0.53 15.79"), out("float32 80", chosen, "bfloat16 80: 0.581 0.55 0.56 5.03"), second)
	for i, name := range names {
		read, wrote := in(0, "int64 80", indices), out("int64 80", indices)
		if i == len(names)-1 {
			wrote = out("float32 80", ref, npu)
		}
		r.call(name, read, wrote)
	}
	return r
}

// TestTies: tensors computed from tied indices may differ, but not by much.
func TestTies(t *testing.T) {
	names := []string{"Tensor.expand.0.forward", "Tensor.remainder.0.forward"}
	r := topk(names, "11 0 5.7 57.2", "11 0 5.9 60.1")
	r.wantFound(t, "")
	if got := r.status(names[1], "output.0"); got != "WARN FLIP" {
		t.Errorf("the remainder is %s, want WARN FLIP", got)
	}
	topk(names, "11 0 5.7 57.2", "1100 0 570 5720").wantFound(t, names[1]+" output.0 SCALE")
	// A length that depends on noisy values may differ, too.
	r = new(run).call("Torch.nms.0.forward", in(0, "float32 40,4", "12 -2 6 88", "bfloat16 40,4: 12 -2 6 88.1"), out("int64 31", "39 0 - -", "int64 30: 39 0 - -"))
	r.wantFound(t, "")
	if got := r.status("Torch.nms.0.forward", "output.0"); got != "WARN FLIP" {
		t.Errorf("another number of boxes is %s, want WARN FLIP", got)
	}
	r = new(run).call("Torch.nms.0.forward", in(0, "float32 40,4", "12 -2 6 88"), out("int64 31", "39 0 - -", "int64 30: 39 0 - -"))
	r.wantFound(t, "Torch.nms.0.forward output.0 SHAPE")
}

// TestQuotientOfLostNumbers: infinities are a warning if rounding brings the divisor to 0, and a fault if the divisor
// is exact.
func TestQuotientOfLostNumbers(t *testing.T) {
	const op, x, y = "Torch.div.0.forward", "6 -6 0.1 16", "9000 -9000 1 30000"
	for name, test := range map[string]struct{ ref, npu, want, status string }{
		"lost":     {"3 1e-05 0.8 11", "bfloat16 8,8: 3 0 0.8 11", "", "WARN NPU_NAN"},
		"not lost": {"3 0.5 0.8 11", "bfloat16 8,8: 3 0.5 0.8 11", op + " output.0 NPU_NAN", "FAIL NPU_NAN"},
	} {
		r := new(run).call(op, in(0, "float32 8,8", x), in(1, "float32 8,8", test.ref, test.npu), out("float32 8,8", y, "Infinity -Infinity NaN Infinity"))
		r.wantFound(t, test.want)
		if got := r.status(op, "output.0"); got != test.status {
			t.Errorf("%s: the quotient is %s, want %s", name, got, test.status)
		}
	}
}

// TestIndexIsLost: ties cannot explain that one of 4 indices is missing from 864 choices; they can explain it for 15
// choices among 12.
func TestIndexIsLost(t *testing.T) {
	for shape, want := range map[string]string{"864": "Torch.argmax.0.forward output.0 EXACT", "15": ""} {
		r := new(run).call("Torch.argmax.0.forward", in(0, "float32 864,12", "6 -6 0.1 160", "bfloat16 864,12: 6 -6 0.1 160.1"), out("int64 "+shape, "11 0 - -", "10 0 - -"))
		r.wantFound(t, want)
	}
}

// TestLookup: looked-up rows that differ although the printed indices agree are reported at the operator that reads
// the indices.
func TestLookup(t *testing.T) {
	const op = "Functional.embedding.0.forward"
	r := new(run).call(op, in(0, "int64 64", "93 1 - -"), in(1, "float32 96,8", "3 -3 0 27"), out("float32 64,8", "2.9 -2.8 0.01 22", "2.9 -2.8 0.02 22.4"))
	r.wantFound(t, op+" output.0 STATISTICS")
	if why := r.rows[2].Reasons[0].Evidence.Text().String(); !strings.Contains(why, "other indices, or a wrong lookup") {
		t.Errorf("the reason is %q", why)
	}
}

// TestInsideOfModule: an error that enters a module through no dumped operator is a fault of the module around it.
func TestInsideOfModule(t *testing.T) {
	const around = "Module.attn.Attention.forward.0"
	build := func(scores, y string) *run {
		r := new(run).call("Module.attn.q.Linear.forward.0", in(0, "float32 8,8", "3 -3 0 8"), out("float32 8,8", "4 -4 0.1 9", "4 -4 0.1 9.0001"))
		r.call("Module.attn.drop.Dropout.forward.0", in(0, "float32 8,8", "0.9 0 0.125 1.7", scores), out("float32 8,8", "0.9 0 0.125 1.7", scores))
		for i := range r.rows {
			r.rows[i].Modules = []string{around}
		}
		return r.call(around, in(0, "float32 8,8", "3 -3 0 8"), out("float32 8,8", "2 -2 0.3 6", y))
	}
	build("0.9 0 0.125 1.7", "2 -2 0.3 6").wantFound(t, "")
	build("0.5 0 0.125 1.2", "2.2 -2 0.35 6.5").wantFound(t, around+" output.0 CAME_IN")
}

// TestShareOfLimits: an output that uses far more of its limit than all outputs before it is wrong; if an input
// passed by a narrow margin, its producer is wrong.
func TestShareOfLimits(t *testing.T) {
	// gelu has an expected noise of 2e-6: the norm may be off by 4.35e-6, including 2e-6 for the printed digits.
	build := func(last float64) *run {
		r := new(run)
		for i := range 60 {
			norm := 11 * (1 + 0.05*4.35e-6)
			if i == 59 {
				norm = 11 * (1 + last*4.35e-6)
			}
			r.call(fmt.Sprintf("Functional.gelu.%d.forward", i), in(0, "float32 8,8", "6 -6 0.1 16"), out("float32 8,8", fmt.Sprint(i+5, " -0.17 0.8 11"), fmt.Sprint(i+5, " -0.17 0.8 ", norm)))
		}
		return r
	}
	build(0.6).wantFound(t, "")
	build(0.9).wantFound(t, "Functional.gelu.59.forward output.0 STATISTICS")
}

// TestDrift: if most weights differ by a little the compared step is a later one; the runs started alike.
func TestDrift(t *testing.T) {
	build := func(factor float64) *run {
		r := new(run)
		for i := range 5 {
			w := one(tensor.Parameter, 1, "float32 8,8", "1 -1 0 4", fmt.Sprint(factor, " ", -factor, " 0 ", 4*factor))
			r.call(fmt.Sprintf("Functional.linear.%d.forward", i), in(0, "float32 8,8", fmt.Sprint(i+3, " -3 0 8")), w, out("float32 8,8", fmt.Sprint(i+9, " -9 0 22.6")))
		}
		return r
	}
	r := build(1.005)
	r.wantFound(t, "")
	if got := r.status("Functional.linear.0.forward", "parameter.1"); got != "WARN DRIFTED" {
		t.Errorf("a weight is %s, want WARN DRIFTED", got)
	}
	if got := build(1.05).found(); !strings.HasPrefix(got, "Functional.linear.0.forward parameter.1 STARTED_APART") {
		t.Errorf("found %q, want another start", got)
	}
}

// drawnNumbers are arbitrary statistics, also such as no tensor has.
func drawnNumbers(t *rapid.T, name string) record.SideStatistics {
	number := rapid.Custom(func(t *rapid.T) metrics.Metric {
		v := rapid.OneOf(rapid.SampledFrom([]float64{0, 1, -1, 65504, 1e30, 1e-30, math.MaxFloat64, math.SmallestNonzeroFloat64, math.NaN(), math.Inf(1), math.Inf(-1)}), rapid.Float64Range(-10, 10)).Draw(t, "value")
		return metrics.NumberIf(v, rapid.IntRange(0, 5).Draw(t, "defined") > 0)
	})
	s := record.SideStatistics{Max: number.Draw(t, name+" max"), Min: number.Draw(t, name+" min"), Mean: number.Draw(t, name+" mean"), Norm: number.Draw(t, name+" norm")}
	s.Digest = rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, name+" digest")
	return s
}

// drawnRun is a round of calls of all kinds with arbitrary statistics. pool holds tensors that several calls share;
// the NPU has the same statistics, or arbitrary ones.
func drawnRun(t *rapid.T, same bool) *run {
	names := []string{"Functional.linear.%d.forward", "Functional.linear.%d.backward", "Tensor.view.%d.forward", "Torch.add.%d.forward", "Torch.add.%d.backward", "Torch.mul.%d.forward", "Torch.mul.%d.backward",
		"Torch.div.%d.forward", "Functional.softmax.%d.forward", "Functional.softmax.%d.backward", "Functional.layer_norm.%d.forward", "Functional.layer_norm.%d.backward", "Torch.mean.%d.forward", "Torch.std.%d.forward",
		"Functional.cross_entropy.%d.forward", "Distributed.all_reduce.%d.forward", "NPU.npu_fusion_attention.%d.forward", "Functional.dropout.%d.forward", "Torch.empty.%d.forward", "Torch.argmax.%d.forward",
		"Functional.embedding.%d.forward", "Module.a.Linear.forward.%d", "Module.a.Linear.backward.%d", "Module.a.Linear.parameters_grad.%d", "x"}
	types := []tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float64, tensor.Int64, tensor.Bool, tensor.Undefined}
	shapes := []tensor.Shape{{8, 8}, {64}, {4}, {}, {0}, {3, 5}, nil, {64, 64}}
	var pool []record.Row
	for i := range rapid.IntRange(1, 6).Draw(t, "tensors") {
		name := strconv.Itoa(i)
		row := record.Row{RefDType: rapid.SampledFrom(types).Draw(t, name+" type"), RefShape: rapid.SampledFrom(shapes).Draw(t, name+" shape"), RefFile: "ref", NPUFile: "npu"}
		row.NPUDType, row.NPUShape = row.RefDType, row.RefShape
		s := record.Statistics{Ref: drawnNumbers(t, name)}
		if s.NPU = s.Ref; !same && rapid.Bool().Draw(t, name+" differs") {
			s.NPU = drawnNumbers(t, name+" of the NPU")
			row.NPUDType, row.NPUShape = rapid.SampledFrom(types).Draw(t, name+" type of the NPU"), rapid.SampledFrom(shapes).Draw(t, name+" shape of the NPU")
		}
		row.Statistics = &s
		pool = append(pool, row)
	}
	r := new(run)
	for range rapid.IntRange(1, 12).Draw(t, "calls") {
		var all []given
		for i := range rapid.IntRange(0, 4).Draw(t, "tensors of the call") {
			g := given{kind: rapid.SampledFrom([]tensor.Kind{tensor.Input, tensor.Output, tensor.Parameter}).Draw(t, "kind"), index: i, row: rapid.SampledFrom(pool).Draw(t, "tensor")}
			s := *g.row.Statistics
			s.RequiresGrad = rapid.Bool().Draw(t, "requires grad")
			g.row.Statistics = &s
			if g.unread = rapid.IntRange(0, 9).Draw(t, "unread") == 0; !same {
				switch rapid.IntRange(0, 9).Draw(t, "alone") {
				case 0:
					g.row.RefFile, s.Ref = "", record.SideStatistics{}
				case 1:
					g.row.NPUFile, s.NPU = "", record.SideStatistics{}
				}
			}
			all = append(all, g)
		}
		name := rapid.SampledFrom(names).Draw(t, "name")
		if strings.Contains(name, "%d") {
			name = fmt.Sprintf(name, rapid.IntRange(0, 2).Draw(t, "number"))
		}
		r.call(name, all...)
	}
	return r
}

// TestItself: a round that is compared with itself passes, whatever its statistics are.
func TestItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawnRun(t, true)
		f, noVerdict := Judge(r.rows, Known{})
		if len(f.Origins) > 0 || f.FirstBad >= 0 || !noVerdict.IsZero() {
			t.Fatalf("findings %+v, no verdict: %v: %s", f, noVerdict.Text().String(), r.rows[max(f.FirstBad, 0)].Reasons)
		}
		for i := range r.rows {
			if row := &r.rows[i]; row.Status != record.Pass || len(row.Reasons) > 0 {
				t.Fatalf("%s %s is %s, %v", row.Op, row.Statistics.Tensor, row.Status, row.Reasons)
			}
		}
	})
}

// TestAnyNumbers: whatever the statistics of the two sides are, findings are rows that fail, and each row with both
// sides gets a status.
func TestAnyNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawnRun(t, false)
		f, _ := Judge(r.rows, Known{})
		for _, i := range f.Origins {
			if row := &r.rows[i]; row.Status != record.Fail || row.Evidence.Level != record.IsOrigin || len(row.Reasons) != 1 {
				t.Fatalf("%s %s is an origin, and %s with %v", row.Op, row.Statistics.Tensor, row.Status, row.Reasons)
			}
		}
		for i := range r.rows {
			row := &r.rows[i]
			if both := row.RefFile != "" && row.NPUFile != ""; both != (row.Status != "") || both && math.IsNaN(float64(row.Evidence.Lambda)) {
				t.Fatalf("%s %s has both sides: %t; its status is %q, its evidence %+v", row.Op, row.Statistics.Tensor, both, row.Status, row.Evidence)
			}
		}
	})
}

// TestLinks: an input is linked to the output that produced it, an output to the producers of its operator's inputs
// and to inputs without a producer.
func TestLinks(t *testing.T) {
	t.Parallel()
	const first, second, third = "3 -2.5 0.25 9.5", "4 -1 0.75 12", "8 -6 1.5 31"
	r := new(run)
	r.call("Functional.linear.0.forward", in(0, "float32 8,8", first), out("float32 8,8", second))
	r.call("Functional.relu.0.forward", in(0, "float32 8,8", second), out("float32 8,8", third))
	r.call("Functional.relu.1.forward", in(0, "float32 8,8", third), out("float32 8,8", "9 0 2 40"))
	Judge(r.rows, Known{})
	for i, want := range [][]int{nil, {0}, {1}, {1}, {3}, {3}} {
		if got := r.rows[i].Inputs; !slices.Equal(got, want) {
			t.Errorf("row %d (%s) comes from %v, want %v", i, r.rows[i].Name(), got, want)
		}
	}
}

// TestNaNFromOutside: NaN on the NPU alone in a tensor without a producer is an origin, in forward and in backward
// calls; tensors that depend on it are not.
func TestNaNFromOutside(t *testing.T) {
	const x, lost = "2 -2 0.1 6", "nan nan nan nan"
	for _, direction := range []string{"forward", "backward"} {
		r := new(run).call("Functional.relu.0.forward", in(0, "float32 8,8", "3 -3 0.2 9"), out("float32 8,8", "3 0 1 7"))
		r.call("Functional.linear.1."+direction, in(0, "float32 8,8", x, lost), out("float32 8,8", "4 -4 0.3 7", lost))
		r.call("Functional.gelu.2."+direction, in(0, "float32 8,8", "4 -4 0.3 7", lost), out("float32 8,8", "4 -0.2 0.3 6", lost))
		r.wantFound(t, "Functional.linear.1."+direction+" input.0 CAME_IN")
	}
}

// TestGradientOfOptimiser: a gradient that only the optimiser's calls show may differ by the noise of the backward
// pass; in front of a normalisation it is 0 in theory, and differs by the rounding error of its sum (2048 gradients of
// 0.0066, summed to 4: 5e-9 at 512 terms and 2^-25 each). A larger difference came in between.
func TestGradientOfOptimiser(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ref, npu, want string }{
		{"0.2 0.1 0.15 0.31", "0.2000001 0.1 0.15 0.31", ""},
		{"2e-8 -1e-8 3e-9 2.4e-8", "1e-8 -2e-8 -2e-9 2.4e-8", ""},
		{"0.2 0.1 0.15 0.31", "0.2 0.08 0.14 0.29", "Tensor.add_.0.forward input.1 CAME_IN"},
	} {
		r := new(run).call("Functional.conv2d.0.forward", in(0, "float32 8,4,8,8", "3 -3 0.2 90"), out("float32 8,4,8,8", "3 -2 0.1 70", "3.000001 -2 0.1 70"))
		r.call("Functional.relu.0.backward", in(0, "float32 8,4,8,8", "0.02 -0.02 1e-05 0.3", "0.02 -0.02000001 1e-05 0.3"), out("float32 8,4,8,8", "0.02 -0.02 1.1e-05 0.29", "0.02 -0.02000001 1.1e-05 0.29"))
		r.call("Tensor.add_.0.forward", in(0, "float32 4", "0 0 0 0"), in(1, "float32 4", c.ref, c.npu), out("float32 4", c.ref, c.npu))
		r.wantFound(t, c.want)
	}
}

// TestPartialDump: the input of the first dumped operator was computed before the dump began; it differs by the noise
// of the run, or came in. In a complete dump the runs did not start alike.
func TestPartialDump(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ call, npu, want string }{
		{"Functional.relu.3.forward", "3.0003 -3 0.2 9.0002", ""},
		{"Functional.relu.3.forward", "3.3 -3.2 0.2 9.9", "Functional.relu.3.forward input.0 CAME_IN"},
		{"Functional.relu.0.forward", "3.0003 -3 0.2 9.0002", "Functional.relu.0.forward input.0 STARTED_APART"},
	} {
		r := new(run).call(c.call, in(0, "float32 8,8", "3 -3 0.2 9", c.npu), out("float32 8,8", "3 0 1.2 7", "3.0003 0 1.2 7.0002"))
		r.call("Functional.linear.0.forward", in(0, "float32 8,8", "3 0 1.2 7", "3.0003 0 1.2 7.0002"), out("float32 8,8", "4 -4 0.3 7", "4.0005 -4 0.3 7.0005"))
		r.wantFound(t, c.want)
	}
}
