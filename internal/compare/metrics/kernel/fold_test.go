package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// madeSums returns the sums of a group of pairs, and the pairs.
func madeSums(random *rand.Rand) (s GroupSums, n, r []float64) {
	count := 1 + random.IntN(20)
	n, r = kernelValues(random, count), kernelValues(random, count)
	if random.IntN(4) == 0 {
		copy(n, r)
	}
	return sumGroup(n, r, 0x1p-14), n, r
}

// TestFold compares the combined sums of four groups with the formulas, bit by bit and lane by
// lane.
func TestFold(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 1))
	for round := range 500 {
		var got, want Fold
		var totals, wantTotals Totals
		weight := math.Ldexp(1, random.IntN(3))
		for range 1 + random.IntN(4) {
			var groups [4]GroupSums
			for k := range groups {
				groups[k], _, _ = madeSums(random)
			}
			var q, slow Quad
			q.Gather(&groups)
			for k := range groups {
				slow.Set(k, &groups[k])
			}
			if q != slow {
				t.Fatalf("%d: %+v in lanes is %+v", round, groups, q)
			}
			var g Numbers
			g.Set(&q, 0x1p-10)
			got.AddFour(&totals, &g, &q, weight)
			for k, s := range groups {
				square := func(sum *[4]float64, x float64) { sum[k] += float64(float64(x*x) * weight) }
				square(&want.Ref, g.RefRMS[k])
				square(&want.Std, g.RefStd[k])
				square(&want.RMS, g.RMS[k])
				square(&want.Rounding, g.Rounding[k])
				want.Mean[k] += float64(g.Mean[k] * weight)
				want.Relative[k], want.Inverse[k] = max(want.Relative[k], g.Relative[k]), max(want.Inverse[k], g.Inverse[k])
				want.MaxR[k], want.MaxD[k] = max(want.MaxR[k], s.MaxR), max(want.MaxD[k], s.MaxD)
				wantTotals.R[k] += float64(s.Count * g.RefMean[k])
				wantTotals.D[k] += s.D
				wantTotals.DR[k] += s.DR
				wantTotals.DD[k] += s.DD
				wantTotals.Scale[k] += g.Scale[k]
				wantTotals.Mean[k] += float64(s.D * g.Mean[k])
			}
		}
		if got != want || totals != wantTotals {
			t.Fatalf("%d: %+v and %+v, want %+v and %+v", round, got, totals, want, wantTotals)
		}
	}
}

// TestMergeAll compares merged groups with the sums over all pairs, and with the plain loop,
// bit by bit.
func TestMergeAll(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 2))
	for round := range 500 {
		groups := make([]GroupSums, 1+random.IntN(5))
		allN, allR := make([][]float64, len(groups)), make([][]float64, len(groups))
		var places []int32
		var sums []GroupSums
		for range random.IntN(20) {
			s, n, r := madeSums(random)
			at := random.IntN(len(groups))
			if len(allN[at]) == 0 {
				groups[at].Shift = s.Shift
			}
			allN[at], allR[at] = append(allN[at], n...), append(allR[at], r...)
			places, sums = append(places, int32(at)), append(sums, s)
		}
		plain := append([]GroupSums(nil), groups...)
		for i := range sums {
			plain[places[i]].add(&sums[i])
		}
		MergeAll(groups, places, sums)
		for k, got := range groups {
			if got != plain[k] {
				t.Fatalf("%d: group %d is %+v, want %+v", round, k, got, plain[k])
			}
			if len(allN[k]) == 0 {
				continue
			}
			want := sumGroup(allN[k], allR[k], 0x1p-14)
			near := func(name string, got, want, size float64) {
				if !(math.Abs(got-want) <= 1e-9*size) {
					t.Fatalf("%d: %s of group %d is %v, want %v", round, name, k, got, want)
				}
			}
			d, r := math.Sqrt(want.DD*want.Count), math.Sqrt(want.RR*want.Count)
			near("R", got.R, want.R, r)
			near("RR", got.RR, want.RR, want.RR)
			near("D", got.D, want.D, d)
			near("DD", got.DD, want.DD, want.DD)
			near("DR", got.DR, want.DR, d*want.MaxR)
			near("UU", got.UU, want.UU, want.UU)
			if got.MaxD != want.MaxD || got.MaxR != want.MaxR || got.Count != want.Count || got.Shift != want.Shift {
				t.Fatalf("%d: group %d is %+v, want %+v", round, k, got, want)
			}
		}
	}
}
