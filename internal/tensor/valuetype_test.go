package tensor

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestHeld is the table of the rule.
func TestHeld(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	half, bfloat, single := floats[Float16], floats[BFloat16], floats[Float32]
	normal := func(n int, f Float, scale float64) (all []float64) {
		for range n {
			all = append(all, f.Round(random.NormFloat64()*scale))
		}
		return all
	}
	of := func(n int, choice ...float64) (all []float64) {
		for i := range n {
			all = append(all, choice[i%len(choice)])
		}
		return all
	}
	with := func(values []float64, more ...float64) []float64 { return append(values, more...) }
	for _, tt := range []struct {
		name   string
		values []float64
		want   DType
	}{
		{"float32", normal(1000, single, 1), Float32},
		{"float32, tiny", normal(1000, single, 1e-6), Float32},
		{"bfloat16", normal(1000, bfloat, 1), BFloat16},
		{"bfloat16, tiny", normal(1000, bfloat, 1e-30), BFloat16},
		{"bfloat16, subnormal", normal(1000, bfloat, 1e-38), BFloat16},
		{"bfloat16, beyond float16", normal(1000, bfloat, 1e30), BFloat16},
		{"float16", normal(1000, half, 1), Float16},
		{"float16, large", normal(1000, half, 10000), Float16},
		{"float16, subnormal", normal(1000, half, 1e-5), Float16},
		{"float16 fractions beyond its range", with(normal(50, half, 1), 65536+64), Float32},
		{"float16 fractions below its least unit", with(normal(50, half, 1), 0x1.004p-20), Float32},
		{"one of a thousand of float32", with(normal(1000, bfloat, 1), 1+0x1p-23), BFloat16},
		{"one of fifty of float32", with(normal(49, bfloat, 1), 1+0x1p-23), Float32},
		{"one of a thousand plain ones of float32", with(of(1000, 1), 1+0x1p-23), Float32},
		{"NaN and infinities in bfloat16", with(normal(1000, bfloat, 1), math.NaN(), math.Inf(1), math.Inf(-1)), BFloat16},
		{"NaN only", of(100, math.NaN()), BFloat16},
		{"a constant of few bits", of(1000, 0.75), BFloat16},
		{"a constant of bfloat16 bits", of(1000, 1+0x1p-7), BFloat16},
		{"integers up to 255", of(64, 129, 131, 133, 255), BFloat16},
		{"integers up to 2047", of(64, 1025, 2047), Float16},
		{"powers of two", of(1000, 1, 0.5, 0x1p-100, 0x1p100, -0x1p-133), BFloat16},
		{"a power of two below the least bfloat16", of(1000, 1, -0x1p-140), Float32},
		{"few elements of bfloat16", normal(5, bfloat, 1), BFloat16},
		{"few elements of float32", normal(5, single, 1), Float32},
		{"empty", nil, BFloat16},
	} {
		var v ValueType
		if v.Add(tt.values); v.DType() != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, v.DType(), tt.want)
		}
	}
}

// TestValueType compares the counts with the definition of the formats, element by element.
func TestValueType(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) float64 {
			x := math.Float32frombits(rapid.Uint32().Draw(rt, "code"))
			switch rapid.IntRange(0, 5).Draw(rt, "form") {
			case 0:
				return floats[Float16].Round(float64(x))
			case 1:
				return floats[BFloat16].Round(float64(x))
			case 2:
				return math.Ldexp(float64(rapid.IntRange(-4096, 4096).Draw(rt, "units")), rapid.IntRange(-30, 8).Draw(rt, "exponent"))
			}
			return float64(x)
		}), 0, 300).Draw(rt, "values")
		var got, want ValueType
		cut := rapid.IntRange(0, len(values)).Draw(rt, "cut")
		got.Add(values[:cut])
		got.Add(values[cut:])
		few := Float{Exponent: 11, Mantissa: 4, MinExp: -1022, Max: math.MaxFloat64}
		for _, x := range values {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				continue
			}
			want.Elements++
			for d, n := range map[DType]*int64{Float16: &want.OffFloat16, BFloat16: &want.OffBFloat16} {
				if !floats[d].Has(x) {
					*n++
				}
			}
			if !few.Has(x) && want.Fine < LeastFine {
				want.Fine++
			}
		}
		if got != want {
			rt.Fatalf("%+v, want %+v", got, want)
		}
	})
}
