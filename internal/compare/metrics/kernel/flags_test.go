package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFlags compares the loops over flags with loops over single elements.
func TestFlags(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(21, 22))
	for round := range 3000 {
		count := random.IntN(70)
		abs, values := make([]float64, count), make([]float64, count)
		flags, counts := make([]uint8, count), make([]uint8, count)
		for i := range count {
			abs[i] = math.Abs(math.Ldexp(random.NormFloat64(), random.IntN(8)))
			flags[i] = uint8(random.IntN(8)) * uint8(random.IntN(2))
			counts[i] = uint8(random.IntN(255))
			if round%50 == 49 && i == 5 {
				abs[i] = []float64{math.NaN(), math.Inf(1)}[round/50%2]
			}
		}
		const flag, either = 4, 6
		wantCounts, wantEither, wantCount, largest := slices.Clone(counts), 0, int64(0), uint64(0)
		if round%3 == 0 { // neighbours with the same flags
			for i := range flags {
				flags[i] = flags[i/16*16]
			}
		}
		for i, f := range flags {
			if f&either != 0 {
				wantCounts[i]++
				wantEither++
			}
			if f&flag != 0 {
				wantCount++
				values[i] = abs[i]
				largest = max(largest, math.Float64bits(abs[i]))
			}
		}
		found := SumFlagged(abs, flags, flag)
		if want := Sum(values); math.Float64bits(found.Sum) != math.Float64bits(want) && want == want || math.Float64bits(found.Max) != largest || found.Count != wantCount {
			t.Fatalf("round %d: %+v; want %v of %d, up to %v", round, found, Sum(values), wantCount, math.Float64frombits(largest))
		}
		if n := CountFlags(counts, flags, either); n != wantEither || !slices.Equal(counts, wantCounts) {
			t.Fatalf("round %d: %d flags in %v, want %d in %v", round, n, counts, wantEither, wantCounts)
		}
	}
}
