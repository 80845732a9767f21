package tensor

import (
	"math"
	"slices"
	"testing"
)

// published has the parameters of the formats as their documents print them: IEEE 754-2019,
// table 3.5, precision p and emax (emin = 1-emax); OFP8 1.0, table 1; MX 1.0, sections 5.3.1 to
// 5.3.3; bfloat16 by Intel's numerics definition, 3/11. float4_e1m2 has the limits of its 16 codes.
var published = []struct {
	d                                 DType
	exponent, mantissa                int
	largest, normal, subnormal        float64
	epsilon, ulpOfThree, roundedThird float64
}{
	{Float16, 5, 10, 65504, 0x1p-14, 0x1p-24, 0x1p-10, 0x1p-9, 0.333251953125},
	{BFloat16, 8, 7, 3.3895313892515355e38, 0x1p-126, 0x1p-133, 0.0078125, 0x1p-6, 0.333984375},
	{Float32, 8, 23, 3.4028234663852886e38, 1.1754943508222875e-38, 1.401298464324817e-45, 0x1p-23, 0x1p-22, 0.3333333432674408},
	{Float64, 11, 52, 1.7976931348623157e308, 2.2250738585072014e-308, 5e-324, 0x1p-52, 0x1p-51, 1.0 / 3},
	{Float8E5M2, 5, 2, 57344, 0x1p-14, 0x1p-16, 0.25, 0.5, 0.3125},
	{Float8E4M3FN, 4, 3, 448, 0x1p-6, 0x1p-9, 0.125, 0.25, 0.34375},
	{Float6E3M2, 3, 2, 28, 0.25, 0.0625, 0.25, 0.5, 0.3125},
	{Float6E2M3, 2, 3, 7.5, 1, 0.125, 0.125, 0.25, 0.375},
	{Float4E2M1, 2, 1, 6, 1, 0.5, 0.5, 1, 0.5},
	{Float4E1M2, 1, 2, 1.75, 1, 0.25, 0.25, 0.25, 0.25},
}

func TestFloat(t *testing.T) {
	for _, c := range published {
		f, ok := FloatOf(c.d)
		if !ok || f.Exponent != c.exponent || f.Mantissa != c.mantissa || f.Max != c.largest || f.Normal() != c.normal || f.Subnormal() != c.subnormal {
			t.Errorf("%s: %+v, %v: normal %v, subnormal %v, want %+v", c.d, f, ok, f.Normal(), f.Subnormal(), c)
		}
		if f.Epsilon() != c.epsilon || f.Ulp(-3) != c.ulpOfThree || f.Round(-1.0/3) != -c.roundedThird {
			t.Errorf("%s: epsilon %v, unit of 3 %v, third %v, want %+v", c.d, f.Epsilon(), f.Ulp(-3), f.Round(-1.0/3), c)
		}
	}
}

// TestFloatTypes walks all types: which have a format, and which are numbers by themselves.
func TestFloatTypes(t *testing.T) {
	scalars := []DType{Float16, BFloat16, Float32, Float64, Float8E5M2, Float8E4M3FN}
	parts := map[DType]DType{Complex32: Float16, Complex64: Float32, Complex128: Float64}
	for _, c := range published {
		parts[c.d] = c.d
	}
	for d := DType(-1); d < DType(len(dtypes))+1; d++ {
		f, ok := FloatOf(d)
		part, want := parts[d]
		if of, _ := FloatOf(part); ok != want || want && f != of {
			t.Errorf("%s: %+v, %v, want that of %s, %v", d, f, ok, part, want)
		}
		if s, ok := ScalarFloat(d); ok != slices.Contains(scalars, d) || ok && s != f {
			t.Errorf("%s by itself: %+v, %v", d, s, ok)
		}
	}
}

// TestFloatCodes holds the arithmetic of a format beside all of its codes, as they are decoded.
func TestFloatCodes(t *testing.T) {
	for _, c := range published {
		if c.d.Bits() > 16 {
			continue
		}
		f, _ := FloatOf(c.d)
		values := []float64{0}
		for _, x := range CodeValues(c.d) {
			if !f.Has(float64(x)) {
				t.Errorf("%s does not have %v", c.d, x)
			}
			if x > 0 && !math.IsInf(float64(x), 0) {
				values = append(values, float64(x))
			}
		}
		slices.Sort(values)
		values = slices.Compact(values)
		if last := values[len(values)-1]; last != f.Max || f.MaxCode() != int64(len(values)-1) || values[1] != f.Subnormal() {
			t.Errorf("%s: codes up to %d, from %v to %v, want %d, %v, %v", c.d, f.MaxCode(), f.Subnormal(), f.Max, len(values)-1, values[1], last)
		}
		past := 2*f.Max - values[len(values)-2] // the number after the last, if there was one
		for k, x := range values {
			if sign := uint64(1) << (f.Bits() - 1); f.Code(x) != uint64(k) || f.Code(math.Copysign(x, -1)) != sign|uint64(k) {
				t.Errorf("%s: codes of %v and its negative are %#x and %#x, want %#x and %#x", c.d, x, f.Code(x), f.Code(math.Copysign(x, -1)), k, sign|uint64(k))
			}
			next := append(values, past)[k+1]
			middle, even := (x+next)/2, x
			if k%2 == 1 {
				even = next
			}
			want := []float64{x, even, next, x, x}
			asked := []float64{math.Nextafter(middle, 0), middle, math.Nextafter(middle, 9e99), x, math.Nextafter(x, 9e99)}
			for i := range asked {
				if want[i] == past {
					want[i] = math.Inf(1)
				}
			}
			for i, x := range asked {
				if f.Round(x) != want[i] || f.Round(-x) != -want[i] || f.Has(x) != (x == want[i]) {
					t.Errorf("%s: %v is rounded to %v and has it %v, want %v", c.d, x, f.Round(x), f.Has(x), want[i])
				}
			}
			if got := f.Ulp(-x); got != next-x {
				t.Errorf("%s: unit of %v is %v, want %v", c.d, x, got, next-x)
			}
			if f.RoundAll(asked); !slices.Equal(asked, want) {
				t.Errorf("%s: around %v all are rounded to %v, want %v", c.d, x, asked, want)
			}
		}
		if f.Ulp(math.Inf(1)) != f.Ulp(f.Max) || !math.IsNaN(f.Round(math.NaN())) || !f.Has(math.NaN()) || !f.Has(math.Inf(-1)) {
			t.Errorf("%s: infinity or NaN", c.d)
		}
	}
}
