package diagnose

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"dumptool/internal/compare/metrics"
)

// maxBins is the largest number of bins of an axis.
const maxBins = 1024

// TestChance compares the probability with closed forms, which are exact up to
// the step of the statistic: df 1 is erfc(sqrt(x/2)), df 2 is exp(-x/2).
func TestChance(t *testing.T) {
	near := func(got, want float64) {
		t.Helper()
		if math.Abs(got/want-1) > 1e-10 {
			t.Errorf("got %.15g, want %.15g", got, want)
		}
	}
	for _, x := range []float64{0.0625, 0.5, 1, 3, 10, 24, 60} {
		near(chance(x, 1), math.Erfc(math.Sqrt(x/2)))
		near(chance(x+chiStep/2, 2), math.Exp(-x/2))
		near(chance(x, 4), math.Exp(-x/2)*(1+x/2))
	}
}

// TestChanceOfEveryProcessor: around the limit the steps of the statistic are so
// far apart that the last digits of the probability decide nothing.
func TestChanceOfEveryProcessor(t *testing.T) {
	for df := 1; df < maxBins; df++ {
		at := distuv.ChiSquared{K: float64(df)}.Quantile(1 - maxChance)
		for step := -2.0; step <= 2; step++ {
			if p := chance(at+step*chiStep, df); math.Abs(p/maxChance-1) < 1e-9 {
				t.Errorf("df %d, statistic %g: p = %.12g is too close to the limit", df, at, p)
			}
		}
	}
}

// TestChiSquare compares the statistic with that of gonum over both columns of
// the table, errors and good elements.
func TestChiSquare(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for n := 2; n < 40; n++ {
		bins := make([]metrics.AxisBin, n)
		var errors, count float64
		for i := range bins {
			bins[i].Count = 500 + rng.Int64N(500)
			bins[i].Errors = 100 + rng.Int64N(300)
			errors, count = errors+float64(bins[i].Errors), count+float64(bins[i].Count)
		}
		var observed, expected []float64
		for _, b := range bins {
			share := float64(b.Count) / count
			observed = append(observed, float64(b.Errors), float64(b.Count-b.Errors))
			expected = append(expected, share*errors, share*(count-errors))
		}
		chi, df := chiSquare(bins)
		if want := stat.ChiSquare(observed, expected); math.Abs(chi/want-1) > 1e-12 || df != n-1 {
			t.Errorf("%d bins: statistic %.15g with %d degrees of freedom, want %.15g with %d", n, chi, df, want, n-1)
		}
	}
}

// TestChiSquareJoins: bins that expect fewer than 5 errors are joined, and all
// errors or none leave nothing to test.
func TestChiSquareJoins(t *testing.T) {
	even := func(n int, count, errors int64) []metrics.AxisBin {
		bins := make([]metrics.AxisBin, n)
		for i := range bins {
			bins[i] = metrics.AxisBin{Count: count, Errors: errors}
		}
		return bins
	}
	for _, test := range []struct {
		bins []metrics.AxisBin
		df   int
	}{
		{even(10, 100, 10), 9},
		{even(10, 100, 1), 1},  // two cells of 5
		{even(11, 100, 1), 1},  // the rest is not left alone
		{even(4, 100, 1), 0},   // one cell
		{even(4, 100, 0), 0},   // no error
		{even(4, 100, 100), 0}, // nothing else
		{nil, 0},
	} {
		if chi, df := chiSquare(test.bins); chi > 1e-20 || df != test.df {
			t.Errorf("%d bins: statistic %g, df %d, want 0 and %d", len(test.bins), chi, df, test.df)
		}
	}
}
