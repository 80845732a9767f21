package noise

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMedian compares with the median of sorted values.
func TestMedian(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 9))
	kinds := map[string]func() float64{
		"normal": func() float64 { return math.Abs(random.NormFloat64()) },
		"wide":   func() float64 { return math.Ldexp(random.Float64(), random.IntN(2000)-1000) },
		"few":    func() float64 { return float64(random.IntN(5)) },
		"zeros":  func() float64 { return max(random.NormFloat64(), 0) },
		"ends":   func() float64 { return []float64{0, 5e-324, 1, math.MaxFloat64, inf}[random.IntN(5)] },
		"narrow": func() float64 { return math.Float64frombits(math.Float64bits(1) + random.Uint64N(3000)) },
		"one":    func() float64 { return 7 },
		"apart":  func() float64 { return []float64{0, 1 + random.Float64()/1e9, 1e300}[min(random.IntN(20), 2)] },
	}
	for name, value := range kinds {
		for _, count := range []int{1, 2, 3, 4, 31, 32, 33, 34, 100, 1000, 5001, 20000} {
			values := make([]float64, count)
			for i := range values {
				values[i] = value()
			}
			checkMiddle(t, name, values)
		}
	}
}

// FuzzMedian compares with the median of sorted values.
func FuzzMedian(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, uint8(200), uint8(52))
	f.Add([]byte{0, 0, 1, 255}, uint8(99), uint8(60))
	f.Fuzz(func(t *testing.T, data []byte, count, shift uint8) {
		if len(data) == 0 {
			return
		}
		values := make([]float64, int(count)+1)
		for i := range values {
			bits := uint64(data[i%len(data)])<<(shift%64) + uint64(data[(i*7+i/len(data))%len(data)])
			values[i] = math.Float64frombits(min(bits&^(1<<63), math.Float64bits(inf)))
		}
		checkMiddle(t, "values", values)
	})
}

func checkMiddle(t *testing.T, name string, values []float64) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(values))
	want := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	if len(sorted)%2 == 1 {
		want = sorted[len(sorted)/2]
	}
	if got := median(values); got != want {
		t.Errorf("%d %s: %v is in the middle, want %v", len(values), name, got, want)
	}
}
