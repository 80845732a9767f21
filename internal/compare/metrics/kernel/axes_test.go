package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAddTo compares with one value after the other.
func TestAddTo(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 32))
	for count := range 70 {
		values, dst := kernelValues(random, count), kernelValues(random, count+3)
		want := slices.Clone(dst)
		for i, x := range values {
			want[i] += x
		}
		if AddTo(dst, values); !slices.Equal(dst, want) {
			t.Errorf("%d: %v, want %v", count, dst, want)
		}
	}
}
