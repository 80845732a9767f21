package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAddTo compares the sums of a list with those of its elements.
func TestAddTo(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 32))
	for count := range 70 {
		values, got := kernelValues(random, count), kernelValues(random, count+3)
		want := slices.Clone(got)
		var sums [4]float64
		for i, x := range values {
			want[i] += x
			sums[i%4] += x
		}
		if sum := AddTo(got, values); sum != lanes(sums[:]) {
			t.Errorf("%d: sum %v, want %v", count, sum, lanes(sums[:]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", count, got, want)
		}
	}
}
