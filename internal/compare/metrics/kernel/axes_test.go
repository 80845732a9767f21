package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAddPairs compares the sums of two lists at once with those of each.
func TestAddPairs(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 32))
	for count := range 70 {
		a, b := kernelValues(random, count), kernelValues(random, count)
		first, second := kernelValues(random, count+3), kernelValues(random, count+3)
		wantFirst, wantSecond := slices.Clone(first), slices.Clone(second)
		var sums [2][4]float64
		for i, x := range a {
			wantFirst[i] += x
			wantSecond[i] += b[i]
			sums[0][i%4] += x
			sums[1][i%4] += b[i]
		}
		sumA, sumB := AddPairs(first, second, a, b)
		if sumA != lanes(sums[0][:]) || sumB != lanes(sums[1][:]) {
			t.Errorf("%d: sums %v and %v, want %v and %v", count, sumA, sumB, lanes(sums[0][:]), lanes(sums[1][:]))
		}
		if !slices.Equal(first, wantFirst) || !slices.Equal(second, wantSecond) {
			t.Errorf("%d: %v and %v, want %v and %v", count, first, second, wantFirst, wantSecond)
		}
	}
}
