package metrics

import (
	"math"
	"math/rand/v2"
	"testing"

	"dumptool/internal/compare/metrics/kernel"
)

// TestMomentsOfRuns compares moments from sums of runs with moments of the pairs. setRuns must
// refuse pairs in which a side or the differences hardly spread.
func TestMomentsOfRuns(t *testing.T) {
	random := rand.New(rand.NewPCG(61, 62))
	kinds := []struct {
		name    string
		n, r    func() float64 // n is the difference, added to r
		refused bool
	}{
		{"small errors", func() float64 { return 1e-4 * random.NormFloat64() }, random.NormFloat64, false},
		{"large errors", random.NormFloat64, random.NormFloat64, false},
		{"equal", func() float64 { return 0 }, random.NormFloat64, false},
		{"zeros", func() float64 { return 0 }, func() float64 { return 0 }, false},
		{"one reference", func() float64 { return 0 }, func() float64 { return 1.1 }, false},
		{"far from 0", func() float64 { return 1e-3 * random.NormFloat64() }, func() float64 { return 20 + random.NormFloat64() }, false},
		{"an offset", func() float64 { return 0.1 }, random.NormFloat64, true},
		{"nearly an offset", func() float64 { return 0.1 + 1e-9*random.NormFloat64() }, random.NormFloat64, true},
		{"far off", func() float64 { return 1e6 + random.NormFloat64() }, random.NormFloat64, true},
	}
	octaves := kernel.NewOctaves()
	for _, kind := range kinds {
		for _, run := range []int{1024, 100, 7} {
			var n, r []float64
			for range 1024 {
				x := kind.r()
				r, n = append(r, x), append(n, x+kind.n())
			}
			checkMoments(t, kind.name, octaves, n, r, run, kind.refused)
			for i := range n {
				n[i] = 0.7
			}
			if kind.name != "zeros" && kind.name != "one reference" {
				checkMoments(t, kind.name+", n constant", octaves, n, r, run, true)
			}
		}
	}
}

// checkMoments compares the moments from sums of runs with the moments of the pairs.
func checkMoments(t *testing.T, name string, octaves *kernel.Octaves, n, r []float64, run int, refused bool) {
	t.Helper()
	var runs []int
	for left := len(n); left > 0; left -= run {
		runs = append(runs, min(run, left))
	}
	sums, d := make([]kernel.GroupSums, len(runs)), make([]float64, len(n))
	octaves.Cover(kernel.Smallest(r), 1e9)
	octaves.SumRuns(sums, runs, n, r, 0x1p-14)
	var all kernel.GroupSums
	for i := range sums {
		all.Merge(&sums[i])
	}
	var got, want pair
	if ok := got.setRuns(&all); ok == refused {
		t.Errorf("%s, runs of %d: accepted %v", name, run, ok)
	} else if !ok {
		return
	}
	want.n, want.r, want.co = pairMoments(n, r)
	kernel.Subtract(d, n, r)
	want.d = momentOf(d)
	scale := math.Sqrt(want.n.m2 * want.r.m2)
	for _, c := range []struct {
		what            string
		got, want, size float64
	}{
		{"co-moment", got.co, want.co, scale},
		{"spread of n", got.n.m2, want.n.m2, want.n.m2}, {"spread of r", got.r.m2, want.r.m2, want.r.m2}, {"spread of d", got.d.m2, want.d.m2, want.d.m2},
		{"mean of n", got.n.mean, want.n.mean, math.Abs(want.n.mean) + math.Sqrt(want.n.m2)},
		{"mean of r", got.r.mean, want.r.mean, math.Abs(want.r.mean) + math.Sqrt(want.r.m2)},
		{"mean of d", got.d.mean, want.d.mean, math.Abs(want.d.mean) + math.Sqrt(want.d.m2)},
	} {
		if !(math.Abs(c.got-c.want) <= 0x1p-42*c.size) {
			t.Errorf("%s, runs of %d: the %s is %v, want %v", name, run, c.what, c.got, c.want)
		}
	}
	if got.n.count != want.n.count || got.d.count != want.d.count {
		t.Errorf("%s: %d and %d pairs, want %d", name, got.n.count, got.d.count, want.n.count)
	}
}
