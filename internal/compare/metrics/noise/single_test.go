package noise

import (
	"maps"
	"math"
	"slices"
	"testing"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestSingles compares pairs with all counted kinds of differences with the slow formulas, in any segments.
func TestSingles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := rapid.SampledFrom([]tensor.DType{
			tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64, tensor.Int8, tensor.Int64, tensor.Bool,
		}).Draw(rt, "type")
		shape := rapid.SampledFrom([]tensor.Shape{{3}, {40}, {5, 9}, {70, 1}, {1, 130}, {2, 3, 4, 5}, {9, 200}}).Draw(rt, "shape")
		typ, _ := TypeOf(d)
		units := slowUnit(typ.Mantissa, typ.MinExp)
		if typ.Integer {
			units = func(float64) float64 { return 1 }
		}
		changes := map[string]func(r float64) float64{
			"equal": func(r float64) float64 { return r }, "half a unit": func(r float64) float64 { return r + units(r)/2 },
			"a unit": func(r float64) float64 { return r - units(r) }, "more": func(r float64) float64 { return r + units(r)*1.25 },
			"32 units": func(r float64) float64 { return r + units(r)*32 }, "33 units": func(r float64) float64 { return r - units(r)*33 },
			"far": func(r float64) float64 { return 3*r + 7 }, "zero": func(float64) float64 { return 0 },
			"minus zero": func(float64) float64 { return math.Copysign(0, -1) }, "sign": func(r float64) float64 { return -r },
			"by one": func(r float64) float64 { return r + 1 }, "nan": func(float64) float64 { return nan },
		}
		kinds := rapid.SampledFrom(slices.Sorted(maps.Keys(changes)))
		usual, others := kinds.Draw(rt, "usual"), rapid.SliceOfN(kinds, 1, 3).Draw(rt, "others")
		every := rapid.IntRange(1, 60).Draw(rt, "every")
		scale := math.Ldexp(1, rapid.SampledFrom([]int{0, 4, -4, typ.MinExp, typ.MinExp - 3}).Draw(rt, "exponent"))
		steps := rapid.IntRange(0, 9).Draw(rt, "steps")
		var n, r []float64
		for i := range int(shape.Elements()) {
			x := float64(i*7%(2*steps+1)-steps/2) * scale
			if typ.Integer {
				x = math.Trunc(x)
			}
			kind := usual
			if i%every == every/2 {
				kind = others[i/every%len(others)]
			}
			r, n = append(r, x), append(n, changes[kind](x))
		}
		req := &Request{
			Shape: shape, Type: typ, Mask: -inf, Groups: 1 << 20,
			Atol: rapid.SampledFrom([]float64{0, 0.005, 3}).Draw(rt, "atol"), Rtol: rapid.SampledFrom([]float64{0, 0.2}).Draw(rt, "rtol"),
		}
		want := slowly(req, n, r)
		got := collect(req, n, r, rapid.IntRange(1, len(n)).Draw(rt, "segment"), rapid.IntRange(1, len(n)).Draw(rt, "block"))
		if got == nil {
			rt.Fatal("nothing found")
		}
		if diff := cmp.Diff(singlesOf(want), singlesOf(got), cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) })); diff != "" {
			rt.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// singlesOf returns the counts of single pairs and rows.
func singlesOf(n *Noise) Noise {
	of := Noise{
		Flips: n.Flips, OneSided: n.OneSided, TwoSidedRMS: n.TwoSidedRMS, RowsOff: n.RowsOff, OtherRowsRMS: n.OtherRowsRMS,
		Differing: n.Differing, Shift: n.Shift, Lone: n.Lone,
	}
	if g := n.Grid; g != nil {
		of.Grid = &NumberGrid{
			LoneFloat16: g.LoneFloat16, LoneBFloat16: g.LoneBFloat16, RowsOffFloat16: g.RowsOffFloat16, RowsOffBFloat16: g.RowsOffBFloat16,
			OtherRowsRMSFloat16: g.OtherRowsRMSFloat16, OtherRowsRMSBFloat16: g.OtherRowsRMSBFloat16,
		}
	}
	return of
}

// TestSinglesByHand has pairs whose counts are clear without a formula.
func TestSinglesByHand(t *testing.T) {
	const tiny = 0x1p-24 // the smallest positive number of float16
	for name, tt := range map[string]struct {
		d    tensor.DType
		n, r []float64 // of two rows
		want Noise
		two  float64 // RMSWithoutZeros
	}{
		"equal":              {tensor.Float16, []float64{1, -2, 0, 4}, []float64{1, -2, 0, 4}, Noise{}, 0},
		"a sign":             {tensor.Float16, []float64{1, -2, -3, 4}, []float64{1, -2, 3, 4}, Noise{Flips: 1, RowsOff: 1, Lone: 1}, 3},
		"zeros":              {tensor.Float16, []float64{0, -2, 0, 8}, []float64{3, -2, -3, 4}, Noise{Flips: 1, OneSided: 2, RowsOff: 2, Lone: 3, TwoSidedRMS: math.Sqrt(8)}, math.Sqrt(8)},
		"zeros of both":      {tensor.Float16, []float64{0, math.Copysign(0, -1), 1, 1}, []float64{math.Copysign(0, -1), 0, 1, 1}, Noise{}, 0},
		"nothing else":       {tensor.Float16, []float64{0, 0, 1, 1}, []float64{1, 1, 0, 0}, Noise{Flips: 4, OneSided: 4, RowsOff: 2, Lone: 4}, 0},
		"one row":            {tensor.Float16, []float64{1, 1 + 0x1p-10, 2, 4}, []float64{1, 1, 1, 1}, Noise{RowsOff: 1, OtherRowsRMS: 0x1p-10 / math.Sqrt2, Lone: 2}, math.Sqrt((1 + 9 + 0x1p-20) / 4)},
		"two units":          {tensor.Float16, []float64{1, 1 + 0x1p-9, 1, 9}, []float64{1, 1, 1, 1}, Noise{RowsOff: 2}, math.Sqrt((64 + 0x1p-18) / 4)},
		"a subnormal unit":   {tensor.Float16, []float64{5 * tiny, 9, 1, 1}, []float64{4 * tiny, 1, 1, 1}, Noise{RowsOff: 1, Lone: 1}, math.Sqrt((64 + tiny*tiny) / 4)},
		"two of them":        {tensor.Float16, []float64{6 * tiny, 9, 1, 1}, []float64{4 * tiny, 1, 1, 1}, Noise{RowsOff: 1}, math.Sqrt((64 + 4*tiny*tiny) / 4)},
		"within the limits":  {tensor.Float16, []float64{1.125, 1, 1, 1}, []float64{1, 1, 1, 1}, Noise{RowsOff: 1}, 0.0625},
		"all by 3":           {tensor.Int32, []float64{4, 5, 0, 1}, []float64{1, 2, -3, -2}, Noise{Flips: 1, OneSided: 1, Differing: 4, Shift: 3, RowsOff: 2, TwoSidedRMS: 3}, 3},
		"some by -1":         {tensor.Int8, []float64{4, 5, 7, -3}, []float64{5, 5, 7, -2}, Noise{Differing: 2, Shift: -1, RowsOff: 2}, math.Sqrt(0.5)},
		"by several":         {tensor.Int64, []float64{4, 5, 7, 100}, []float64{5, 5, 7, 2}, Noise{Differing: 2, RowsOff: 2, Lone: 1}, math.Sqrt((1 + 98*98) / 4.)},
		"a truth":            {tensor.Bool, []float64{1, 0, 1, 1}, []float64{1, 1, 1, 1}, Noise{Flips: 1, OneSided: 1, Differing: 1, Shift: -1, RowsOff: 1}, 0},
		"no integers differ": {tensor.Float32, []float64{2, 3, 4, 5}, []float64{1, 2, 3, 4}, Noise{RowsOff: 2, Lone: 4}, 1},
	} {
		req := &Request{Shape: tensor.Shape{2, 2}, Type: typeOf(t, tt.d), Mask: -inf, Groups: 4, Atol: 0.005, Rtol: 0.2}
		for _, each := range []int{1, 3, 4} {
			noise := collect(req, tt.n, tt.r, each, 1024)
			got := singlesOf(noise)
			got.Grid = nil
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s in segments of %d (-want +got):\n%s", name, each, diff)
			}
			if two := noise.RMSWithoutZeros(); two != tt.two {
				t.Errorf("%s: the two-sided differences are %v, want %v", name, two, tt.two)
			}
		}
	}
}

// TestRatio: the largest ratio of each block as a bound gives the same counts as no bound.
func TestRatio(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ, _ := TypeOf(rapid.SampledFrom([]tensor.DType{tensor.Float16, tensor.Float32}).Draw(t, "type"))
		number := rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, 1 + 0x1p-11, 1 - 0x1p-11, 1 + 0x1p-10, 1.5, -3, 0x1p-24, 0x1p-25, 0x1p-20, 100})
		r := rapid.SliceOfN(number, 1, 20).Draw(t, "reference")
		n, ratio := slices.Clone(r), 0.0
		for i := range rapid.IntRange(0, len(r)).Draw(t, "differing") {
			n[i] = number.Draw(t, "element")
			if d := math.Abs(n[i] - r[i]); d > 0 {
				ratio = max(ratio, d/math.Abs(r[i]))
			}
		}
		req := &Request{Shape: tensor.Shape{int64(len(n))}, Type: typ, Mask: -inf, Groups: 4}
		c := NewCollector(req)
		c.AddBlock(0, n, r, kernel.SpanOf(n), kernel.SpanOf(r), ratio)
		got, want := c.Finish(differences(n, r)), collect(req, n, r, 1<<30, 1024)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-without +with ratio):\n%s", diff)
		}
	})
}
