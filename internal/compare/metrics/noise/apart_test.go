package noise

import (
	"math"
	"reflect"
	"testing"

	"dumptool/internal/tensor"
)

// steps returns 1 + (first + k step)/unit + rest for k below count.
func steps(count int, first, step, unit, rest float64) []float64 {
	values := make([]float64, count)
	for k := range values {
		values[k] = 1 + (first+float64(k)*step)/unit + rest
	}
	return values
}

// with returns the values with another number at one index.
func with(values []float64, at int, x float64) []float64 {
	values = append([]float64(nil), values...)
	values[at] = x
	return values
}

// TestApart: two sides are equal if each number differs by no more than the rounding of both types.
// From 1 to 2 the units are 2^-7 of bfloat16, 2^-10 of float16, 2^-23 of float32.
func TestApart(t *testing.T) {
	const (
		f64, f32, f16, bf16 = tensor.Float64, tensor.Float32, tensor.Float16, tensor.BFloat16
		i8, i32, i64        = tensor.Int8, tensor.Int32, tensor.Int64
	)
	bfloats, halves := steps(64, 0, 1, 128, 0), steps(64, 1, 1, 1024, 0)
	overBFloats, overHalves := steps(64, 0, 1, 128, 0x1p-12), steps(64, 1, 1, 1024, 0x1p-13)
	few, overFew := steps(8, 1, 2, 128, 0), steps(8, 1, 2, 128, 0x1p-12)
	one := func(x float64) []float64 { return []float64{x} }
	inf := math.Inf(1)
	for _, tt := range []struct {
		name             string
		refType, npuType tensor.DType
		ref, npu         []float64
		want             *InputDifference
		count            int64
		by               tensor.DType
	}{
		{"equal", f32, f32, overHalves, overHalves, &InputDifference{0, 0, 0, f32, f32}, 0, f32},
		{"NaN on both sides", f32, f32, one(math.NaN()), one(math.NaN()), &InputDifference{0, 0, 0, f32, f32}, 0, f32},
		{"NaN on one side", f32, f32, one(1), one(math.NaN()), &InputDifference{1, 1, 1, f32, f32}, 1, f32},
		{"infinity beside a number", f32, f32, one(0.3), one(inf), &InputDifference{1, 1, 1, f32, f32}, 1, f32},
		{"infinities of both signs", f32, f32, one(-inf), one(inf), &InputDifference{1, 1, 1, f32, f32}, 1, f32},
		{"float32 beside float16, 0.9 of a unit", f32, f16, one(1 + 0.9/1024), one(1), &InputDifference{1, 1, 0, f32, f16}, 1, f16},
		{"float32 beside bfloat16, 0.9 of a unit", f32, bf16, one(1 + 0.9/128), one(1), &InputDifference{1, 1, 1, f32, bf16}, 1, bf16},
		{"large integers are no masks", i64, i32, one(-10000), one(-20000), &InputDifference{1, 0, 0, i64, i32}, 1, i32},
		{"large numbers are no masks", f32, f32, one(-12000), one(-20000), &InputDifference{1, 1, 1, f32, f32}, 1, f32},
		{"rounded to bfloat16", f32, f32, overBFloats, bfloats, &InputDifference{64, 0, 0, f32, bf16}, 0, bf16},
		{"rounded to bfloat16, the reference", f32, f32, bfloats, overBFloats, &InputDifference{64, 0, 0, bf16, f32}, 0, bf16},
		{"rounded to bfloat16, one a unit off", f32, f32, overBFloats, with(bfloats, 5, bfloats[5]+0x1p-7), &InputDifference{64, 1, 1, f32, bf16}, 1, bf16},
		{"rounded to float16", f32, f32, overHalves, halves, &InputDifference{64, 0, 0, f32, f16}, 0, f16},
		{"rounded to float16, one a unit off", f32, f32, overHalves, with(halves, 6, halves[6]+0x1p-10), &InputDifference{64, 1, 0, f32, f16}, 1, f16},
		{"float32 beside float32, a unit", f32, f32, one(1), one(1 + 0x1p-23), &InputDifference{0, 0, 0, f32, f32}, 0, f32},
		{"float32 beside float32, two units", f32, f32, one(1), one(1 + 0x1p-22), &InputDifference{1, 0, 0, f32, f32}, 1, f32},
		{"float64 beside float32", f64, f32, one(1 + 0x1p-24), one(1), &InputDifference{0, 0, 0, f64, f32}, 0, f32},
		{"float64 beside float32, off", f64, f32, one(1 + 0x1p-23), one(1), &InputDifference{1, 0, 0, f64, f32}, 1, f32},
		// Half a unit of float16 is 0.5 / 1024, of bfloat16 4 / 1024.
		{"float16 beside bfloat16", f16, bf16, one(1 + 4./1024), one(1), &InputDifference{0, 0, 0, f16, bf16}, 0, bf16},
		{"float16 beside bfloat16, off", f16, bf16, one(1 + 7./1024), one(1 + 16./1024), &InputDifference{1, 1, 1, f16, bf16}, 1, bf16},
		{"flushed to 0", f32, f16, one(0x1p-15), one(0), &InputDifference{0, 0, 0, f32, f16}, 0, f16},
		{"a normal number beside 0", f32, f16, one(0x1p-12), one(0), &InputDifference{1, 1, 1, f32, f16}, 1, f16},
		{"infinity beside a number beyond the range", f32, f16, []float64{70000, -1e9}, []float64{inf, -inf}, &InputDifference{0, 0, 0, f32, f16}, 0, f16},
		{"a limit beside a number beyond the range", f32, f16, one(70000), one(65504), &InputDifference{0, 0, 0, f32, f16}, 0, f16},
		{"a limit of another sign", f32, f16, one(70000), one(-65504), &InputDifference{1, 1, 1, f32, f16}, 1, f16},
		{"masks", f32, f16, []float64{-math.MaxFloat32, -inf, -1e9, -1e4}, []float64{-65504, -65504, -inf, -inf}, &InputDifference{0, 0, 0, f32, f16}, 0, f16},
		{"a mask beside a number", f32, f16, one(-8000), one(-65504), &InputDifference{1, 1, 1, f32, f16}, 1, f16},
		{"integers", i64, i32, []float64{1, 2, 3}, []float64{1, 2, 3}, &InputDifference{0, 0, 0, i64, i32}, 0, i32},
		{"another integer", i64, i32, []float64{1, 2, 3}, []float64{1, 2, 4}, &InputDifference{1, 0, 0, i64, i32}, 1, i32},
		{"integers in float64", f64, i64, []float64{1, 2, 3}, []float64{1, 2, 3}, &InputDifference{0, 0, 0, f64, i64}, 0, i64},
		{"another integer in float64", f64, i64, []float64{1, 2, 3}, []float64{1, 2, 4}, &InputDifference{1, 0, 0, f64, i64}, 1, i64},
		{"an integer beside a fraction", f32, i8, []float64{1, 2.5}, []float64{1, 2}, nil, 0, 0},
		{"8 bfloat16 numbers in float32", f32, f32, few, overFew, &InputDifference{8, 0, 0, bf16, f32}, 0, bf16},
		{"8 bfloat16 numbers in float32, the NPU", f32, f32, overFew, few, &InputDifference{8, 0, 0, f32, bf16}, 0, bf16},
		{"3 tell no type", f32, f32, few[:3], overFew[:3], &InputDifference{3, 0, 0, f32, f32}, 3, f32},
	} {
		total := int64(len(tt.ref))
		whole := newInputDifferences(tt.refType, tt.npuType)
		whole.add(tt.npu, tt.ref, total)
		got := whole.counts()
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
			continue
		}
		if got != nil {
			if count, by := got.Count(); count != tt.count || by != tt.by {
				t.Errorf("%s: %d by %s, want %d by %s", tt.name, count, by, tt.count, tt.by)
			}
		}
		for at := range len(tt.ref) + 1 { // two segments
			first, second := newInputDifferences(tt.refType, tt.npuType), newInputDifferences(tt.refType, tt.npuType)
			first.add(tt.npu[:at], tt.ref[:at], total)
			second.add(tt.npu[at:], tt.ref[at:], total)
			first.merge(second)
			if got := first.counts(); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s, in two parts at %d: %+v, want %+v", tt.name, at, got, tt.want)
			}
		}
	}
	if newInputDifferences(tensor.Complex64, tensor.Complex64) != nil {
		t.Error("complex numbers have a grid")
	}
}
