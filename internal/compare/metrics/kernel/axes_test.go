package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAddTo compares with a loop over single values.
func TestAddTo(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 32))
	for count := range 70 {
		values, dst := kernelValues(random, count), kernelValues(random, count+3)
		want := slices.Clone(dst)
		var sums [4]float64
		for i, x := range values {
			want[i] += x
			sums[i%4] += x
		}
		if got := AddTo(dst, values); got != sumLanes(sums[:]) || !slices.Equal(dst, want) {
			t.Errorf("%d: %v with the sum %v, want %v with %v", count, dst, got, want, sumLanes(sums[:]))
		}
	}
}
