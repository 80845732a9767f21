package tensor

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestHeldType is the table of the rule.
func TestHeldType(t *testing.T) {
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
	tests := []struct {
		name     string
		producer DType
		values   []float64
		want     DType
	}{
		{"float32", Undefined, normal(1000, single, 1), Float32},
		{"float32 of a bfloat16 producer", BFloat16, normal(1000, single, 1), Float32},
		{"float32, tiny", Undefined, normal(1000, single, 1e-6), Float32},
		{"bfloat16", Undefined, normal(1000, bfloat, 1), BFloat16},
		{"bfloat16, tiny", Undefined, normal(1000, bfloat, 1e-30), BFloat16},
		{"bfloat16, subnormal", Undefined, normal(1000, bfloat, 1e-38), BFloat16},
		{"bfloat16, beyond float16", Undefined, normal(1000, bfloat, 1e30), BFloat16},
		{"float16", Undefined, normal(1000, half, 1), Float16},
		{"float16, large", Undefined, normal(1000, half, 10000), Float16},
		{"float16, subnormal", Undefined, normal(1000, half, 1e-5), Float16},
		{"float16 fractions beyond its range", Undefined, with(normal(1000, half, 1), 65536+64), Float32},
		{"float16 fractions below its least unit", Undefined, with(normal(1000, half, 1), 0x1.004p-20), Float32},
		{"one element of float32", Undefined, with(normal(1000, bfloat, 1), 1+0x1p-23), Float32},
		{"NaN and infinities in bfloat16", Undefined, with(normal(1000, bfloat, 1), math.NaN(), math.Inf(1), math.Inf(-1)), BFloat16},
		{"NaN only", Undefined, of(100, math.NaN()), Float32},
		{"infinities only, of float16", Float16, of(100, math.Inf(-1)), Float16},
		{"a constant of few bits", Undefined, of(1000, 0.75), Float32},
		{"a constant of bfloat16 bits", Undefined, of(1000, 1+0x1p-7), BFloat16},
		{"a mask", Undefined, of(1000, 0, 1), Float32},
		{"a mask of a bfloat16 producer", BFloat16, of(1000, 0, 1), BFloat16},
		{"a mask of a float32 producer", Float32, of(1000, 0, 1), Float32},
		{"small integers", Undefined, of(1000, 0, 1, 2, 3, 5, 7, 11, 13, 30), Float32},
		{"integers up to 255", Undefined, of(64, 129, 131, 133, 255), BFloat16},
		{"powers of two", Undefined, of(1000, 1, 0.5, 0x1p-100, 0x1p100, -0x1p-140), Float32},
		{"31 elements with bits", Undefined, with(normal(31, bfloat, 1), of(1000, 1)...), Float32},
		{"32 elements with bits", Undefined, with(of(1000, 1), of(32, 1+0x1p-7)...), BFloat16},
		{"31 elements with bits, of float16", Float16, of(31, 1+0x1p-7), Float16},
		{"few elements that do not fit the producer", Float16, of(3, 1+0x1p-20), Float32},
		{"empty", Undefined, nil, Float32},
		{"empty, of float16", Float16, nil, Float16},
	}
	for _, tt := range tests {
		if got := HeldType(Float32, tt.producer, tt.values); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if got := HeldType(Float64, tt.producer, tt.values); got != Float64 {
			t.Errorf("%s: %s in float64", tt.name, got)
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
		var rest ValueType
		got.Add(values[:cut])
		rest.Add(values[cut:])
		got.Merge(&rest)
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
