package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRelate compares one pass over pairs with a loop for each part, bit by bit.
func TestRelate(t *testing.T) {
	random := rand.New(rand.NewPCG(41, 42))
	vector, plain := NewTables(1024), NewTables(1024)
	for round := range 600 {
		count := 1 + random.IntN(300)
		if round%4 > 0 {
			count = (count + 7) &^ 7
		}
		n, r := kernelValues(random, count), kernelValues(random, count)
		copy(n[:count/2], r)
		for i := range r {
			if round%2 == 0 && random.IntN(10) == 0 {
				r[i] = math.Ldexp(r[i], random.IntN(400)-200)
			}
		}
		abs, rel, wantAbs, wantRel := make([]float64, count), make([]float64, count), make([]float64, count), make([]float64, count)
		var got Relation
		vector.Relate(&got, rel, abs, n, r)
		wantSides, wantDifferences := SumPairs(n, r), Subtract(wantAbs, wantAbs, n, r)
		out := newRatioLanes()
		plain.relativesTail(0, 0, wantRel, wantAbs, r, &out)
		wantRatios, others := out.ratios()
		if others {
			plain.countOthers(wantAbs, r)
		}
		if want := (Relation{wantSides, wantDifferences, wantRatios}); got != want {
			t.Fatalf("%d: %v, want %v", count, got, want)
		}
		if !slices.Equal(abs, wantAbs) || !slices.Equal(rel, wantRel) {
			t.Fatalf("%d: the magnitudes or quotients differ", count)
		}
	}
	if vector.abs != plain.abs || vector.Rel != plain.Rel || vector.joint != plain.joint {
		t.Error("the counts of pairs differ")
	}
}
