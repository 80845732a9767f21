package metrics

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/tensor"
)

// fill sets every number that a value holds, lists and pointers too.
func fill(random *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(random, v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(random, v.Index(i))
		}
	case reflect.Slice:
		if n := random.IntN(5); n > 0 { // an empty list is no missing one
			v.Set(reflect.MakeSlice(v.Type(), n-1, n-1))
		}
		for i := range v.Len() {
			fill(random, v.Index(i))
		}
	case reflect.Pointer:
		if v.Type() != reflect.TypeFor[*noise.Noise]() && random.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(random, v.Elem())
		}
	case reflect.Float64:
		numbers := []float64{0, math.Copysign(0, -1), 1, math.Inf(1), math.Inf(-1), 0x1p-1074, math.MaxFloat64, float64(random.Float32())}
		if i := random.IntN(2 * len(numbers)); i < len(numbers) {
			v.SetFloat(numbers[i])
		} else {
			v.SetFloat(math.Float64frombits(random.Uint64()))
		}
	case reflect.Bool:
		v.SetBool(random.IntN(2) > 0)
	default:
		word := random.Uint64() >> random.IntN(64)
		if v.CanInt() {
			v.SetInt(int64(word) >> (64 - v.Type().Bits()))
		} else {
			v.SetUint(word >> (64 - v.Type().Bits()))
		}
	}
}

// sameBits reports whether two values are the same, NaN and -0 too.
func sameBits(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if !sameBits(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() || a.Kind() == reflect.Slice && a.IsNil() != b.IsNil() {
			return false
		}
		for i := range a.Len() {
			if !sameBits(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		return a.IsNil() == b.IsNil() && (a.IsNil() || sameBits(a.Elem(), b.Elem()))
	case reflect.Float64:
		return math.Float64bits(a.Float()) == math.Float64bits(b.Float())
	}
	return a.Equal(b)
}

// TestPacked packs results with all of their fields set: a new field is packed
// too.
func TestPacked(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		var r Result
		fill(random, reflect.ValueOf(&r).Elem())
		if got := r.Pack().Unpack(); !sameBits(reflect.ValueOf(*got), reflect.ValueOf(r)) {
			t.Fatalf("unpacked %+v, want %+v", got, r)
		}
	}
	if got := (*Result)(nil).Pack(); got != "" || got.Unpack() != nil {
		t.Errorf("no result is packed as %q", got)
	}
}

// TestPackedSize has a limit for the result of a tiny pair that passes.
func TestPackedSize(t *testing.T) {
	random, n := rand.New(rand.NewPCG(7, 8)), make([]float64, 64)
	r := make([]float64, len(n))
	for i := range r {
		r[i] = random.NormFloat64()
		n[i] = r[i] * (1 + 1e-4*random.NormFloat64())
	}
	result := compareValues(t, tensor.Float16, Limits{Atol: 0.005, Rtol: 0.2}, n, r)
	result.Joint, result.Axes, result.AbsHistogram.Bins, result.RelHistogram.Bins = nil, nil, nil, nil
	if p := result.Pack(); len(p) > 300 {
		t.Errorf("packed in %d bytes, want at most 300", len(p))
	}
}

// TestPackedNoise checks that results are packed without noise.
func TestPackedNoise(t *testing.T) {
	r := Result{Total: 5, Noise: &noise.Noise{Count: 5}}
	if got := r.Pack().Unpack(); got.Noise != nil || got.Total != 5 || r.Noise == nil {
		t.Errorf("unpacked %+v", got.Noise)
	}
}
