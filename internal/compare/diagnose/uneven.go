package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// Limits of an uneven axis; the HPAA manual only says "clearly uneven". The counts are elements; the ratios are the
// worse half to the better half and the worst position to the median; maxRunShare is a share of the axis, 0 to 1.
const (
	minAxisErrors = 32
	minAxisTotal  = 256
	minHalfRatio  = 8
	minPeakRatio  = 16
	maxRunShare   = 0.5
)

// findMostUneven returns the most uneven axis, and with it the other axes if the errors lie in a part of the axis; nil if the
// errors are even.
func findMostUneven(r *metrics.Result) *record.Unevenness {
	axes := findUnevenAxes(r)
	if len(axes) == 0 {
		return nil
	}
	u := axes[0]
	for _, other := range axes[1:] {
		if other.To-other.From < other.Size {
			u.Also = append(u.Also, other.AxisRange)
		}
	}
	return &u
}

// findUnevenAxes returns the axes with clearly uneven errors, the most uneven one first. An axis
// counts only if the relative errors agree with the absolute ones: a channel of large values has
// large errors without a fault.
func findUnevenAxes(r *metrics.Result) []record.Unevenness {
	if r == nil || r.Total < minAxisTotal || r.StrictErrors() < minAxisErrors {
		return nil
	}
	var all []record.Unevenness
	classes := 2*r.Mismatch.Count > r.StrictErrors() // most errors are NaN and infinities
	for i := range r.Axes {
		if u, ok := measureAxis(&r.Axes[i], classes); ok {
			all = append(all, u)
		}
	}
	slices.SortStableFunc(all, func(a, b record.Unevenness) int { return cmp.Compare(largerExcess(&b), largerExcess(&a)) })
	return all
}

// largerExcess returns the larger excess of the two ratios over their limits.
func largerExcess(u *record.Unevenness) float64 {
	return float64(max(u.Half/minHalfRatio, u.Peak/minPeakRatio))
}

// unevenText describes where the errors concentrate and by how much.
func unevenText(u *record.Unevenness) lang.Sentence {
	what, ratio := lang.Text{EN: "mean |d|"}, timesText(float64(u.Half), lang.Text{EN: "the value of the other half"})
	if u.Counted {
		what = lang.Text{EN: "the error rate"}
	}
	if u.Half < minHalfRatio {
		ratio = timesText(float64(u.Peak), lang.Text{EN: "the median of all positions"})
	}
	var box []lang.Sentence
	for _, a := range append([]record.AxisRange{u.AxisRange}, u.Also...) {
		box = append(box, lang.Say("[%d, %d) of axis %d (length %d)", a.From, a.To, a.Axis, a.Size))
	}
	return lang.Say("errors concentrate in %s: %s is %s, p < 1e-6%s", lang.Join(box, lang.Text{EN: " and "}), what, ratio, tileText(u))
}

// timesText describes a ratio in words; infinite if the other side is 0.
func timesText(ratio float64, of lang.Text) lang.Sentence {
	if math.IsInf(ratio, 1) {
		return lang.Say("positive, %s 0", of)
	}
	return lang.Say("%s x %s", number(ratio), of)
}

// tileText describes the greatest common divisor of the borders inside the axis, as a multiple
// of a hardware tile length if it is one.
func tileText(u *record.Unevenness) lang.Sentence {
	tile := tileOf(u)
	if tile < 2 {
		return lang.Sentence{}
	}
	factors := ""
	units := []int64{64, 32, 16}
	if i := slices.IndexFunc(units, func(unit int64) bool { return tile > unit && tile%unit == 0 }); i >= 0 {
		factors = fmt.Sprintf(" = %d x %d", tile/units[i], units[i])
	}
	return lang.Say("; the borders are multiples of %d%s (tile size?)", tile, factors)
}

// tileOf returns the greatest common divisor of the borders inside the axis, 0 for none.
func tileOf(u *record.Unevenness) (tile int64) {
	for _, border := range []int64{u.From, u.To} {
		if border > 0 && border < u.Size {
			tile = gcd(tile, border)
		}
	}
	return tile
}

// measureAxis measures one axis.
func measureAxis(axis *metrics.AxisProfile, byCount bool) (u record.Unevenness, ok bool) {
	bins := axis.Bins
	if len(bins) < 2 {
		return u, false
	}
	abs := binMeans(bins, func(b *metrics.AxisBin) float64 { return b.SumAbs })
	rel := binMeans(bins, func(b *metrics.AxisBin) float64 { return b.SumRel })
	if byCount {
		abs = binMeans(bins, func(b *metrics.AxisBin) float64 { return float64(b.Errors) })
		rel = abs
	}
	half, worse := halfRatio(abs)
	relHalf, relWorse := halfRatio(rel)
	peak, worst := peakRatio(abs)
	relPeak, relWorst := peakRatio(rel)
	u = record.Unevenness{AxisRange: record.AxisRange{Axis: axis.Axis, Size: axis.Size}, Counted: byCount, Half: half, RelHalf: relHalf, Peak: peak, RelPeak: relPeak}
	from, to := findSmallestRun(bins)
	inRun := func(i int) bool { return from <= i && i < to }
	byHalf := u.Half >= minHalfRatio && u.RelHalf >= minHalfRatio && worse == relWorse
	byPeak := u.Peak >= minPeakRatio && u.RelPeak >= minPeakRatio && inRun(worst) && inRun(relWorst) &&
		float64(to-from) <= maxRunShare*float64(len(bins))
	from, to = widenRun(bins, from, to)
	u.From, u.To = int64(from)*axis.Fold, min(int64(to)*axis.Fold, axis.Size)
	if !byHalf && !byPeak {
		return u, false
	}
	// Null hypothesis: every element is equally likely to be an error.
	chi, df := chiSquare(bins)
	return u, df > 0 && chiSquareTail(chi, df) < maxChance
}

func binMeans(bins []metrics.AxisBin, sum func(*metrics.AxisBin) float64) []float64 {
	means := make([]float64, len(bins))
	for i := range bins {
		if bins[i].Count > 0 {
			means[i] = sum(&bins[i]) / float64(bins[i].Count)
		}
	}
	return means
}

// halfRatio compares the means of the two halves, without the middle bin of an odd number; worse
// is the index of the worse half.
func halfRatio(b []float64) (ratio jsonpos.Float, worse int) {
	n := len(b) / 2
	first, second := 0.0, 0.0
	for i := range n {
		first += b[i]
		second += b[len(b)-n+i]
	}
	if second > first {
		return ratioOf(second, first), 1
	}
	return ratioOf(first, second), 0
}

// ratioOf returns a/b, infinite if only b is 0, 1 if both are 0.
func ratioOf(a, b float64) jsonpos.Float {
	switch {
	case a == b:
		return 1
	case b == 0:
		return jsonpos.Float(math.Inf(1))
	default:
		return jsonpos.Float(a / b)
	}
}

// peakRatio compares the largest mean, at index peak, with the median.
func peakRatio(b []float64) (ratio jsonpos.Float, peak int) {
	for i, v := range b {
		if v > b[peak] {
			peak = i
		}
	}
	sorted := slices.Sorted(slices.Values(b))
	return ratioOf(b[peak], sorted[len(sorted)/2]), peak
}

// findSmallestRun returns the shortest run of bins with 90 % of the errors, the first among
// equal ones.
func findSmallestRun(bins []metrics.AxisBin) (from, to int) {
	var total int64
	for i := range bins {
		total += bins[i].Errors
	}
	from, to = 0, len(bins)
	var inside int64
	for start, end := 0, 0; end < len(bins); {
		inside += bins[end].Errors
		end++
		for inside*10 >= total*9 && start < end {
			if end-start < to-from {
				from, to = start, end
			}
			inside -= bins[start].Errors
			start++
		}
	}
	return from, to
}

// widenRun extends a run by neighbours that are about as bad, so that it ends where the errors
// end.
func widenRun(bins []metrics.AxisBin, from, to int) (int, int) {
	var errors, count int64
	for _, b := range bins[from:to] {
		errors += b.Errors
		count += b.Count
	}
	bad := func(b metrics.AxisBin) bool {
		return 4*float64(b.Errors)*float64(count) >= float64(errors)*float64(b.Count)
	}
	for from > 0 && bad(bins[from-1]) {
		from--
	}
	for to < len(bins) && bad(bins[to]) {
		to++
	}
	return from, to
}

const (
	// maxChance is the probability below which a finding is no coincidence.
	maxChance = 1e-6
	// minExpected is the smallest expected count in a cell of a chi-square test,
	// by the usual rule.
	minExpected = 5
	// chiStep is the step to which a statistic is rounded down. Processors compute the
	// probability with different last bits; at a multiple of the step it is never that close
	// to maxChance, for any degrees of freedom that the bins of an axis
	// give.
	chiStep = 1. / 16
)

// chiSquareTail returns the probability that a chi-square variable with df degrees of freedom is at
// least chi.
func chiSquareTail(chi float64, df int) float64 {
	return distuv.ChiSquared{K: float64(df)}.Survival(math.Floor(chi/chiStep) * chiStep)
}

// chiSquare returns the statistic of a chi-square test of error counts against equal shares of
// errors, and its degrees of freedom, 0 if there is nothing to test. Bins are joined until each
// cell expects enough errors.
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
	// Divide by 1-rate: the counts of good elements deviate by as much as the counts of errors.
	return stat.ChiSquare(observed, expected) / (1 - rate), max(0, len(observed)-1)
}
