package statistics

import (
	"math"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/tensor"
)

// TestNear: the bounds of two readings are equal; the norms differ by at most 3e-5 of the norm and the means by at
// most 3e-5 of the root mean square, to the last bit.
func TestNear(t *testing.T) {
	base := func() *sideStatistics { return sized(4, 1, 3) } // norm 2
	up := func(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
	down := func(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }
	least := 2 - 2*3e-5
	const coarse = 0x1p-11
	far := 2 * (1 - (3e-5 + 2*coarse))
	for _, test := range []struct {
		name string
		b    func(*sideStatistics)
		want bool
	}{
		{"equal", func(*sideStatistics) {}, true},
		{"the norm, inside", func(x *sideStatistics) { x.Norm = metrics.NumberOf(up(least)) }, true},
		{"the norm, outside", func(x *sideStatistics) { x.Norm = metrics.NumberOf(down(least)) }, false},
		{"the mean, at the limit", func(x *sideStatistics) { x.Mean = metrics.NumberOf(-3e-5) }, true},
		{"the mean, outside", func(x *sideStatistics) { x.Mean = metrics.NumberOf(up(3e-5)) }, false},
		{"max", func(x *sideStatistics) { x.Max = metrics.NumberOf(up(3)) }, false},
		{"min", func(x *sideStatistics) { x.Min = metrics.NumberOf(up(-3)) }, false},
		{"the number of elements", func(x *sideStatistics) { x.n = 5 }, false},
		{"another shape", func(x *sideStatistics) { x.shape = tensor.Shape{2, 2} }, true},
		{"no mean", func(x *sideStatistics) { x.Mean = metrics.Metric{} }, true},
		{"coarse, inside", func(x *sideStatistics) { x.normRounding, x.Norm = coarse, metrics.NumberOf(up(far)) }, true},
		{"coarse, outside", func(x *sideStatistics) { x.normRounding, x.Norm = coarse, metrics.NumberOf(down(far)) }, false},
		{"not finite", func(x *sideStatistics) { x.Max = metrics.NumberOf(math.NaN()) }, false},
	} {
		a, b := base(), base().with(test.b)
		if isSameReading(a, b) != test.want || isSameReading(b, a) != test.want {
			t.Errorf("%s: %t and %t, want %t", test.name, isSameReading(a, b), isSameReading(b, a), test.want)
		}
	}
	nan := base().with(func(x *sideStatistics) { x.Max, x.Norm = metrics.NumberOf(math.NaN()), metrics.NumberOf(math.NaN()) })
	if !isSameReading(nan, base().with(func(x *sideStatistics) { x.Max, x.Norm = metrics.NumberOf(math.NaN()), metrics.NumberOf(math.Inf(1)) })) {
		t.Error("NaN and the same minimum are not near")
	}
	whole := func(digest string) *sideStatistics {
		return base().with(func(x *sideStatistics) { x.dtype, x.Digest = tensor.Int64, digest })
	}
	if isSameReading(whole("a"), whole("b")) || !isSameReading(whole("a"), whole("a")) || !isSameReading(whole("a"), whole("")) {
		t.Error("integers with digests do not go by these")
	}
}

// TestCoarse: a side has statistics of 16 bits if nearly all norms of float16 tensors are numbers of float16. Norms
// from 0.99 x 65504 on and infinite norms are then not known.
func TestCoarse(t *testing.T) {
	build := func(norms ...string) *judge {
		var r run
		r.call("Torch.a.0.forward", out("bfloat16 8,8", "3 -3 0 8"), out("float32 8,8", "3 -3 0 8"))
		for _, norm := range norms {
			r.call("Torch.b.0.forward", out("float16 8,8", "3 -3 0 8", "3 -3 0 "+norm))
		}
		return newJudge(r.rows)
	}
	sides := func(j *judge) (ref, npu []float64) {
		for _, v := range j.values {
			ref, npu = append(ref, v.ref.normRounding), append(npu, v.npu.normRounding)
		}
		return ref, npu
	}
	const odd = "8.001" // no float16 number: their spacing is 1/128 from 8 on
	for _, test := range []struct {
		name  string
		norms []string
		want  float64 // coarseness of float16 tensors
	}{
		{"three", []string{"8", "8", "8"}, 0},
		{"four", []string{"8", "8.0078125", "65504", "0.5"}, 0x1p-11},
		{"9 of 10", []string{"8", "8", "8", "8", "8", "8", "8", "8", "8", odd}, 0},
		{"10 of 11", []string{"8", "8", "8", "8", "8", "8", "8", "8", "8", "8", odd}, 0x1p-11},
	} {
		ref, npu := sides(build(test.norms...))
		wantBrain, wantRef := 0.0, 0.0
		if test.want > 0 {
			wantBrain = 0x1p-8
		}
		if len(test.norms) >= 4 { // the reference has 8 everywhere
			wantRef = 0x1p-11
		}
		if npu[0] != wantBrain || npu[1] != 0 || npu[2] != test.want || ref[2] != wantRef {
			t.Errorf("%s: bfloat16, float32 and float16 of the NPU have %v, float16 of the reference has %v", test.name, npu[:3], ref[2])
		}
	}
	x := sized(64, 8188, 60000) // a norm of 65504
	if x.normRounding = 0x1p-11; x.hasNorm() || x.rms() != 30000 {
		t.Errorf("a norm of 65504 of 16 bits is known: the size is %g, want half of 60000", x.rms())
	}
	if x.normRounding = 0; !x.hasNorm() || x.rms() != 8188 {
		t.Errorf("a norm of 65504 of float32 is not known: the size is %g, want 8188", x.rms())
	}
	if x.Norm = metrics.NumberOf(0.99*65504 - 1); !x.with(func(x *sideStatistics) { x.normRounding = 0x1p-11 }).hasNorm() {
		t.Error("a norm below 0.99 x 65504 is not known")
	}
	if x.Norm = metrics.NumberOf(math.Inf(1)); x.hasNorm() || x.rms() != 30000 {
		t.Errorf("an infinite norm is known: the size is %g, want 30000", x.rms())
	}
}

// TestDiffer compares the terms of a pair with terms computed by hand: 64 elements, norms 16 and 17, so sizes 2 and
// 2.125.
func TestDiffer(t *testing.T) {
	ref, npu := sized(64, 2, 6), sized(64, 2.125, 7)
	npu.Min, npu.Mean = metrics.NumberOf(-6.5), metrics.NumberOf(0.25)
	d := differenceOf(ref, npu)
	for name, pair := range map[string][2]float64{
		"zn": {d.norm, 1.0 / 17}, "zm": {d.mean, 0.25 / 2.125}, "zx": {d.bounds, 1.0 / 7}, "z": {d.z, 1.0 / 7},
		"d_max": {d.max, 1}, "d_min": {d.min, -0.5}, "d_mean": {d.shift, 0.25},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-15 {
			t.Errorf("%s is %g, want %g", name, pair[0], pair[1])
		}
	}
	mean := func(m float64) *sideStatistics { return sized(64, 2, 6).with(withMean(m)) }
	// The difference of the means is relative to the size: 1e-7 for 1e-9 is negligible.
	if d := differenceOf(mean(1e-9), mean(1e-7)); d.z > 1e-7 {
		t.Errorf("means near zero differ by %g", d.z)
	}
	// The spread without the mean: sqrt(4 - 2.56), at least 1e-4 of the size.
	if got := mean(1.6).deviation(); math.Abs(got-1.2) > 1e-15 {
		t.Errorf("spread %g, want 1.2", got)
	}
	if got := mean(2).deviation(); math.Abs(got-2e-4) > 1e-18 {
		t.Errorf("spread %g, want 2e-4", got)
	}
	// Norms of integers are summed in float32: 2e-6 is equal, unless both have digests.
	whole := func(norm float64, digest string) *sideStatistics {
		return sized(64, 2, 6).with(func(x *sideStatistics) { x.dtype, x.Norm, x.Digest = tensor.Int64, metrics.NumberOf(norm), digest })
	}
	for _, test := range []struct {
		ref, npu *sideStatistics
		want     bool
	}{
		{whole(16, ""), whole(16*(1+1.9e-6), ""), true}, {whole(16, ""), whole(16*(1+2.1e-6), ""), false},
		{whole(16, "a"), whole(16*(1+1.9e-6), "b"), false}, {whole(16, "a"), whole(17, "a"), true},
	} {
		if differenceOf(test.ref, test.npu).isSame != test.want {
			t.Errorf("norms %g %q and %g %q: same is not %t", test.ref.Norm.Value(), test.ref.Digest, test.npu.Norm.Value(), test.npu.Digest, test.want)
		}
	}
}

// TestPattern has a pair for each pattern, and a pair just outside of its limits.
func TestPattern(t *testing.T) {
	for _, test := range []struct{ name, typ, ref, npu, want string }{
		{"saturated", "float16 8,8", "70000 -3 1 80000", "65504 -3 1 76000", "PART"}, // the reference is beyond, too
		{"saturated", "float16 8,8", "60000 -3 1 80000", "65504 -3 1 81000", "SATURATION"},
		{"saturated, of float32", "float32 8,8", "60000 -3 1 80000", "65504 -3 1 81000", ""},
		{"zeros", "float32 8,8", "6 -3 0.1 16", "0 0 0 0", "ZERO_OUTPUT"},
		{"x 5", "float32 8,8", "6 -3 0.1 16", "30 -15 0.5 80", "SCALE x5"},
		{"x 0.5", "float32 8,8", "6 -3 0.1 16", "3 -1.5 0.05 8", "SCALE x0.5"},
		{"x 1.00005 is none", "float32 8,8", "6 -3 0.1 16", "6.0003 -3.00015 0.100005 16.0008", ""},
		// t = 0.02 |5 - 1| = 0.08: the maximum may be off by 0.08 x 5 x 6 = 2.4
		{"x 5, inside", "float32 8,8", "6 -3 0.1 16", "32.3 -15 0.5 80", "SCALE x5"},
		{"x 5, outside", "float32 8,8", "6 -3 0.1 16", "32.5 -15 0.5 80", ""},
		{"the sign", "float32 8,8", "6 -3 0.1 16", "3 -6 -0.1 16", "SIGN"},
		{"the sign, where max is -min", "float32 8,8", "6 -6 0.1 16", "6 -6 -0.1 16", ""},
		{"all are off by 0.5", "float32 8,8", "6 -3 0.1 16", "6.5 -2.5 0.6 16.5", "OFFSET +0.5"},
		{"all but the mean", "float32 8,8", "6 -3 0.1 16", "6.5 -2.5 0.3 16.5", ""},
		{"elements are missing", "float32 8,8", "6 -3 0.1 16", "6 -2 0.1 15", "PART"},
		{"nothing that is seen", "float32 8,8", "6 -3 0.1 16", "6.1 -2 0.1 15", ""},
	} {
		g := out(test.typ, test.ref, test.npu)
		ref, npu := newSideStatistics(g.row.Statistics.Ref, g.row.RefDType, g.row.RefShape), newSideStatistics(g.row.Statistics.NPU, g.row.NPUDType, g.row.NPUShape)
		d := differenceOf(ref, npu)
		if got := errorPattern(ref, npu, &d); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
