package dumpdir

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"dumptool/internal/format"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// statsOf computes the statistics of values by their formulas.
func statsOf(values []float64) *tensor.Stats {
	s := &tensor.Stats{Count: int64(len(values))}
	low, high, sum, squares, n := math.Inf(1), math.Inf(-1), 0.0, 0.0, 0.0
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			s.NaN++
		case math.IsInf(v, 1):
			s.PosInf++
		case math.IsInf(v, -1):
			s.NegInf++
		default:
			low, high, sum, squares, n = min(low, v), max(high, v), sum+v, squares+v*v, n+1
		}
	}
	if n > 0 {
		mean, norm := sum/n, math.Sqrt(squares)
		s.Min, s.Max, s.Mean, s.Norm = &low, &high, &mean, &norm
	}
	return s
}

// repeated returns n times a value.
func repeated(v float64, n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = v
	}
	return all
}

// TestContradiction has statistics that PyTorch 1.13 computes, and wrong ones. want is the
// statistic that differs, empty for none.
func TestContradiction(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	const none = 1e99 // not in dump.json
	for _, c := range []struct {
		name   string
		said   tensor.DType
		stored tensor.DType
		values []float64
		four   [4]float64 // max, min, mean, norm
		want   string
	}{
		{"float32", tensor.Float32, tensor.Float32, []float64{3, 4}, [4]float64{4, 3, 3.5, 5}, ""},
		{"max", tensor.Float32, tensor.Float32, []float64{3, 4}, [4]float64{4.0000005, 3, 3.5, 5}, "max 4.0000005, the file holds 4"},
		{"min", tensor.Float32, tensor.Float32, []float64{3, 4}, [4]float64{4, -3, 3.5, 5}, "min -3, the file holds 3"},
		{"mean", tensor.Float32, tensor.Float32, []float64{3, 4}, [4]float64{4, 3, 3.51, 5}, "mean 3.51, the file holds 3.5"},
		{"norm", tensor.Float32, tensor.Float32, []float64{3, 4}, [4]float64{4, 3, 3.5, 5.02}, "norm 5.02, the file holds 5"},
		{"mean of opposite signs", tensor.Float32, tensor.Float32, []float64{1000, -1000}, [4]float64{1000, -1000, 0.005, 1414.2136}, ""},
		{"far off it", tensor.Float32, tensor.Float32, []float64{1000, -1000}, [4]float64{1000, -1000, 0.05, 1414.2136}, "mean 0.05, the file holds 0"},
		{"absent", tensor.Float32, tensor.Float32, []float64{3, 4}, [4]float64{none, none, none, none}, ""},
		{"digits that were cut", tensor.Float32, tensor.Float32, []float64{float64(float32(0.1))}, [4]float64{0.1, 0.1, 0.1, 0.1}, ""},
		{"float64 made in float32", tensor.Float64, tensor.Float64, []float64{0.1, 0.3}, [4]float64{0.30000001192092896, 0.10000000149011612, 0.20000000298023224, 0.3162277936935425}, ""},
		{"float64 beyond float32", tensor.Float64, tensor.Float64, []float64{1e300, 1}, [4]float64{inf, 1, inf, inf}, ""},
		{"int64 made in float32", tensor.Int64, tensor.Int64, []float64{16777217, -3}, [4]float64{16777216, -3, 8388606.5, 16777216}, ""},
		{"int64", tensor.Int64, tensor.Int64, []float64{100, -3}, [4]float64{101, -3, none, none}, "max 101, the file holds 100"},
		{"bool", tensor.Bool, tensor.Bool, []float64{1, 0}, [4]float64{1, 0, none, none}, ""},
		{"another bool", tensor.Bool, tensor.Bool, []float64{1, 0}, [4]float64{1, 1, none, none}, "min 1, the file holds 0"},
		{"float16 of too large a norm", tensor.Float16, tensor.Float16, []float64{60000, 60000}, [4]float64{60000, 60000, inf, inf}, ""},
		{"float16 that is not", tensor.Float16, tensor.Float16, []float64{1, 2}, [4]float64{2, 1, 1.5, inf}, "norm +Inf, the file holds 2.236068"},
		{"float16 of an infinite mean", tensor.Float16, tensor.Float16, []float64{1, 2}, [4]float64{2, 1, inf, 2.236}, "mean +Inf, the file holds 1.5"},
		{"float16 of many", tensor.Float16, tensor.Float16, repeated(1, 70000), [4]float64{1, 1, 0, 264.5}, ""},
		{"float16 of few", tensor.Float16, tensor.Float16, repeated(1, 60000), [4]float64{1, 1, 0, 245}, "mean 0, the file holds 1"},
		{"the smallest float16", tensor.Float16, tensor.Float16, append(repeated(0, 99), 0x1p-24), [4]float64{0x1p-24, 0, 0, 0x1p-24}, ""},
		{"bfloat16", tensor.BFloat16, tensor.BFloat16, []float64{1, 1.0078125, 1.0078125, 3}, [4]float64{3, 1, 1.5, 3.46875}, ""},
		{"bfloat16 in float32", tensor.BFloat16, tensor.Float32, []float64{3, 4, 5.5}, [4]float64{5.5, 3, 4.15625, 7.4375}, ""},
		{"bfloat16 of another mean", tensor.BFloat16, tensor.Float32, []float64{3, 4, 5.5}, [4]float64{5.5, 3, 4.25, 7.4375}, "mean 4.25, the file holds 4.1666665"},
		{"bfloat16 next to it", tensor.BFloat16, tensor.Float32, []float64{1, 2}, [4]float64{2.015625, 1, 1.5, 2.234375}, "max 2.015625, the file holds 2"},
		{"float8 in float32", tensor.Float8E4M3FN, tensor.Float32, []float64{1, 2}, [4]float64{2, 1, 1.5, 2.236068}, ""},
		{"codes", tensor.HiFloat8, tensor.Uint8, []float64{100, 2}, [4]float64{2, 1, 1.5, 2.236068}, ""},
		{"squares beyond float32", tensor.Float32, tensor.Float32, []float64{3e38, 3e38}, [4]float64{3.0000000054977558e+38, 3.0000000054977558e+38, inf, inf}, ""},
		{"squares that vanish", tensor.Float32, tensor.Float32, []float64{1e-30, 2e-30}, [4]float64{2.0000000063421537e-30, 1.0000000031710769e-30, 1.5000000047566153e-30, 0}, ""},
		{"NaN", tensor.Float32, tensor.Float32, []float64{nan, 1, 2}, [4]float64{nan, nan, nan, nan}, ""},
		{"all NaN", tensor.Float32, tensor.Float32, []float64{nan}, [4]float64{nan, nan, nan, nan}, ""},
		{"NaN that the device passes over", tensor.Float32, tensor.Float32, []float64{nan, 1, 2}, [4]float64{2, 1, nan, nan}, ""},
		{"NaN alone there", tensor.Float32, tensor.Float32, []float64{nan, 1, 2}, [4]float64{3.5, 1, nan, nan}, "max 3.5, the file holds NaN"},
		{"NaN alone here", tensor.Float32, tensor.Float32, []float64{1, 2}, [4]float64{nan, nan, nan, nan}, "max NaN, the file holds 2"},
		{"a mean beside NaN", tensor.Float32, tensor.Float32, []float64{nan, 1, 2}, [4]float64{nan, nan, 1.5, none}, "mean 1.5, the file holds NaN"},
		{"infinity", tensor.Float32, tensor.Float32, []float64{inf, 1, -2}, [4]float64{inf, -2, inf, inf}, ""},
		{"both infinities", tensor.Float16, tensor.Float16, []float64{inf, -inf}, [4]float64{inf, -inf, nan, inf}, ""},
		{"infinity alone there", tensor.Float32, tensor.Float32, []float64{inf, 1, -2}, [4]float64{1, -2, none, none}, "max 1, the file holds +Inf"},
		{"infinity alone here", tensor.Float32, tensor.Float32, []float64{1, -2}, [4]float64{inf, -2, none, none}, "max +Inf, the file holds 1"},
		{"a norm beside infinity", tensor.Float32, tensor.Float32, []float64{inf, 1}, [4]float64{none, none, none, 3}, "norm 3, the file holds +Inf"},
		{"empty", tensor.Float32, tensor.Float32, nil, [4]float64{0, 0, 0, 0}, ""},
		{"complex", tensor.Complex64, tensor.Complex64, []float64{1}, [4]float64{7, 7, 7, 7}, ""},
		{"another dtype", tensor.Float16, tensor.Int32, []float64{1}, [4]float64{1, 1, 1, 1}, "dtype float16, the file holds int32"},
		{"float32 in float16", tensor.Float32, tensor.Float16, []float64{1}, [4]float64{1, 1, 1, 1}, "dtype float32, the file holds float16"},
		{"no dtype", tensor.Undefined, tensor.Float16, []float64{1}, [4]float64{2, 1, 1, 1}, "max 2, the file holds 1"},
	} {
		s := &Statistics{DType: c.said, Shape: tensor.Shape{int64(len(c.values))}, Spot: MSProbePosition{Tensor: "input.0"}}
		for what, v := range c.four {
			if v != none {
				s.Values.Set(Statistic(what), v)
			}
		}
		src := &tensorfile.Tensor{Tensor: format.Tensor{Tensor: tensor.Tensor{DType: c.stored, Format: tensor.ND, Shape: s.Shape}}}
		check := func(name, want string, all *tensor.Stats) {
			t.Helper()
			got := ""
			if err := s.Contradiction(src, all); err != nil {
				got = strings.TrimPrefix(err.Error(), "input.0: dump.json says ")
			}
			if got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		check(c.name, c.want, statsOf(c.values))
		if s.Spot.Unwritten = true; !strings.HasPrefix(c.want, "dtype") {
			check(c.name+", unwritten", "", statsOf(c.values))
		}
		s.Spot.Unwritten, src.Shape = false, tensor.Shape{1, 3}
		if !strings.HasPrefix(c.want, "dtype") {
			check(c.name+", another shape", fmt.Sprintf("shape %v, the file holds (1, 3)", s.Shape), nil)
		}
		s.Spot = MSProbePosition{}
		check(c.name+", of another table", "", statsOf(c.values))
	}
}

// TestContradictionOfTypes: a value of each bit pattern of float16 and bfloat16 equals itself and
// differs from its neighbours, as decimals with just enough digits.
func TestContradictionOfTypes(t *testing.T) {
	for _, d := range []tensor.DType{tensor.Float16, tensor.BFloat16} {
		dec, err := tensor.NewDecoder(d)
		if err != nil {
			t.Fatal(err)
		}
		values := make([]float64, 0x7f00)
		for i := range values {
			var host [4]byte
			dec.Decode(host[:dec.Host().Size()], binary.LittleEndian.AppendUint16(nil, uint16(i)))
			var one [1]float64
			tensor.Float64s(one[:], host[:dec.Host().Size()], dec.Host())
			values[i] = one[0]
		}
		h := newFileStats(d, new(tensor.Stats))
		for i := 1; i < len(values)-1; i++ {
			v, low, high := values[i], values[i-1], values[i+1]
			if v-v != 0 || high-high != 0 {
				break
			}
			digits := v * (1 + 1e-5)
			if !h.isDecimalOf(v, v) || high > v+h.tiny && h.isDecimalOf(high, v) || low < v-h.tiny && h.isDecimalOf(low, v) || !h.isDecimalOf(digits, v) {
				t.Fatalf("%s %v", d, v)
			}
		}
	}
}
