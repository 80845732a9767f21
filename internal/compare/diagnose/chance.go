package diagnose

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"dumptool/internal/compare/metrics"
)

const (
	// maxChance is the probability below which a finding is no coincidence.
	maxChance = 1e-6
	// minExpected is the smallest expected count of a cell of a chi-square test,
	// by the usual rule.
	minExpected = 5
	// chiStep is the step to which a statistic is rounded down. The probability
	// differs in its last bits between processors; of a multiple of the step it
	// is never that close to maxChance, with any degrees of freedom that the bins
	// of an axis give.
	chiStep = 1. / 16
)

// unlikely reports whether error counts as uneven as these have a probability
// below maxChance if each element is as likely to be an error.
func unlikely(bins []metrics.AxisBin) bool {
	chi, df := chiSquare(bins)
	return df > 0 && chance(chi, df) < maxChance
}

// chance is the probability that a chi-square variable with df degrees of
// freedom is at least chi.
func chance(chi float64, df int) float64 {
	return distuv.ChiSquared{K: float64(df)}.Survival(math.Floor(chi/chiStep) * chiStep)
}

// chiSquare is the statistic of a chi-square test of error counts against equal
// shares of errors, and its degrees of freedom; 0 of them where there is nothing
// to test. Bins are joined until each cell expects enough errors.
func chiSquare(bins []metrics.AxisBin) (chi float64, df int) {
	var errors, count int64
	for i := range bins {
		errors += bins[i].Errors
		count += bins[i].Count
	}
	if errors == 0 || errors == count {
		return 0, 0
	}
	rate := float64(errors) / float64(count)
	enough := func(count int64) bool { return float64(count)*rate >= minExpected }
	var observed, expected []float64 // errors of each cell
	rest := count
	var cell metrics.AxisBin
	for i := range bins {
		cell.Errors += bins[i].Errors
		cell.Count += bins[i].Count
		rest -= bins[i].Count
		if rest == 0 && cell.Count > 0 || enough(cell.Count) && enough(rest) {
			observed, expected = append(observed, float64(cell.Errors)), append(expected, float64(cell.Count)*rate)
			cell = metrics.AxisBin{}
		}
	}
	// The good elements of a cell are off by as many as its errors.
	return stat.ChiSquare(observed, expected) / (1 - rate), max(0, len(observed)-1)
}
