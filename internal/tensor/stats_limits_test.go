package tensor

import (
	"math"
	"testing"
)

func TestLimits(t *testing.T) {
	for _, test := range []struct {
		dtype     DType
		low, high float64
	}{
		{Float16, -65504, 65504}, {BFloat16, -0x1.fep127, 0x1.fep127}, {Float32, -math.MaxFloat32, math.MaxFloat32},
		{Float64, -math.MaxFloat64, math.MaxFloat64}, {Int8, -128, 127}, {Uint8, 255, 255}, {Int32, math.MinInt32, math.MaxInt32},
	} {
		if low, high := Limits(test.dtype); low != test.low || high != test.high {
			t.Errorf("%s: %v and %v, want %v and %v", test.dtype, low, high, test.low, test.high)
		}
	}
	for _, d := range []DType{Bool, Undefined, String, 99} {
		if low, high := Limits(d); low == low || high == high {
			t.Errorf("%s: %v and %v, want NaN", d, low, high)
		}
	}
}
