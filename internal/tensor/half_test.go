package tensor

import (
	"math"
	"testing"
)

// slowHalf is the definition of IEEE 754 binary16, by math.Ldexp.
func slowHalf(h uint16) float64 {
	sign, exponent, fraction := h>>15, int(h>>10)%32, float64(h%1024)
	var magnitude float64
	switch {
	case exponent == 31 && fraction == 0:
		magnitude = math.Inf(1)
	case exponent == 31:
		return math.NaN()
	case exponent == 0:
		magnitude = math.Ldexp(fraction/1024, -14)
	default:
		magnitude = math.Ldexp(1+fraction/1024, exponent-15)
	}
	if sign == 1 {
		return -magnitude
	}
	return magnitude
}

// sameFloat reports whether a and b are the same value: NaN equals NaN, and
// the zeros differ.
func sameFloat(a, b float64) bool {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.IsNaN(a) && math.IsNaN(b)
	}
	return math.Float64bits(a) == math.Float64bits(b)
}

func TestFloat16(t *testing.T) {
	for code := range 1 << 16 {
		h := uint16(code)
		want := slowHalf(h)
		if got := Float16To64(h); !sameFloat(got, want) {
			t.Errorf("Float16To64(%#04x) = %v, want %v", h, got, want)
		}
		if got := Float16To32(h); !sameFloat(float64(got), want) {
			t.Errorf("Float16To32(%#04x) = %v, want %v", h, got, want)
		}
	}
}

func TestFloat16NaN(t *testing.T) {
	for _, c := range []struct {
		h  uint16
		f3 uint32
		f6 uint64
	}{
		{0x7e00, 0x7fc00000, 0x7ff8000000000000},
		{0xfe01, 0xffc02000, 0xfff8040000000000},
		{0x7c01, 0x7fc02000, 0x7ff8040000000000}, // signalling: made quiet
		{0xffff, 0xffffe000, 0xfffffc0000000000},
	} {
		if got := math.Float32bits(Float16To32(c.h)); got != c.f3 {
			t.Errorf("Float16To32(%#04x) has bits %#x, want %#x", c.h, got, c.f3)
		}
		if got := math.Float64bits(Float16To64(c.h)); got != c.f6 {
			t.Errorf("Float16To64(%#04x) has bits %#x, want %#x", c.h, got, c.f6)
		}
	}
}
