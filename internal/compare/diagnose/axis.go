package diagnose

import (
	"fmt"
	"math"
	"slices"

	"dumptool/internal/compare/engine"
)

// The numbers that make an axis uneven. They are ours: the HPAA manual says
// "clearly uneven" only.
const (
	minAxisErrors = 32
	minAxisTotal  = 256
	minHalfRatio  = 8
	minPeakRatio  = 16
	maxRunShare   = 0.5
	maxChance     = 1e-6
)

// Unevenness is an axis along which the errors are clearly uneven.
type Unevenness struct {
	Axis int
	Size int64
	// From and To bound the bad run of positions, To is the first after it.
	From, To int64
	// HalfRatio is the mean |d| of the worse half over that of the better one,
	// PeakRatio that of the worst position over the median one.
	HalfRatio, PeakRatio float64
	// RelHalfRatio and RelPeakRatio are the same of the relative errors.
	RelHalfRatio, RelPeakRatio float64
	// RunShare is the smallest part of the axis in one piece with 90 % of the
	// errors.
	RunShare float64
	// Chance is the probability of such error counts if errors were even.
	Chance float64
	// Tile is the greatest common divisor of the borders of the run inside the
	// axis, 0 when there are none.
	Tile int64
}

// Uneven returns the axes along which the errors are clearly uneven, the most
// uneven one first. An axis counts only if the relative errors agree with the
// absolute ones: channels of large values have large errors by right.
func Uneven(r *engine.Result) []Unevenness {
	if r == nil || r.Total < minAxisTotal || r.StrictErrors() < minAxisErrors {
		return nil
	}
	var all []Unevenness
	for i := range r.Axes {
		if u, ok := unevenAxis(&r.Axes[i], classErrors(r)); ok {
			all = append(all, u)
		}
	}
	slices.SortStableFunc(all, func(a, b Unevenness) int {
		switch {
		case a.strength() > b.strength():
			return -1
		case a.strength() < b.strength():
			return 1
		}
		return 0
	})
	return all
}

// classErrors reports whether most errors are NaN and infinities, which have no
// magnitude: then they are counted.
func classErrors(r *engine.Result) bool { return 2*r.Mismatch.Count > r.StrictErrors() }

func (u *Unevenness) strength() float64 {
	return math.Max(u.HalfRatio/minHalfRatio, u.PeakRatio/minPeakRatio)
}

// Evidence tells the numbers and the limits.
func (u *Unevenness) Evidence() string {
	text := fmt.Sprintf("axis %d of length %d: the errors are in [%d, %d)", u.Axis, u.Size, u.From, u.To)
	if u.HalfRatio >= minHalfRatio {
		text += fmt.Sprintf(", one half is %.3g times as bad as the other (limit %d; by relative errors %.3g)", u.HalfRatio, minHalfRatio, u.RelHalfRatio)
	}
	if u.PeakRatio >= minPeakRatio && u.RunShare <= maxRunShare {
		text += fmt.Sprintf(", the worst position is %.3g times as bad as the median (limit %d; by relative errors %.3g), 90 %% of the errors are in %.2g of the axis (limit %g)",
			u.PeakRatio, minPeakRatio, u.RelPeakRatio, u.RunShare, maxRunShare)
	}
	text += fmt.Sprintf(", by chance less often than %.0g", maxChance)
	return text + u.tileText()
}

func (u *Unevenness) tileText() string {
	if u.Tile < 2 {
		return ""
	}
	for _, unit := range []int64{64, 32, 16} {
		if u.Tile%unit == 0 {
			return fmt.Sprintf("; the borders are multiples of %d (greatest common divisor %d): a tile?", unit, u.Tile)
		}
	}
	return fmt.Sprintf("; the borders are multiples of %d: a tile?", u.Tile)
}

// unevenAxis measures one axis.
func unevenAxis(axis *engine.AxisProfile, count bool) (u Unevenness, ok bool) {
	bins := axis.Bins
	if len(bins) < 2 {
		return u, false
	}
	abs := binMeans(bins, func(b *engine.AxisBin) float64 { return b.SumAbs })
	rel := binMeans(bins, func(b *engine.AxisBin) float64 { return b.SumRel })
	if count {
		abs = binMeans(bins, func(b *engine.AxisBin) float64 { return float64(b.Errors) })
		rel = abs
	}
	u = Unevenness{Axis: axis.Axis, Size: axis.Size, Chance: chance(bins)}
	var half, relHalf, peak, relPeak int
	u.HalfRatio, half = halfRatio(abs)
	u.RelHalfRatio, relHalf = halfRatio(rel)
	u.PeakRatio, peak = peakRatio(abs)
	u.RelPeakRatio, relPeak = peakRatio(rel)
	from, to := smallestRun(bins)
	u.RunShare = float64(to-from) / float64(len(bins))
	byHalf := u.HalfRatio >= minHalfRatio && u.RelHalfRatio >= minHalfRatio && half == relHalf
	byPeak := u.PeakRatio >= minPeakRatio && u.RelPeakRatio >= minPeakRatio && u.RunShare <= maxRunShare &&
		inRun(peak, from, to) && inRun(relPeak, from, to)
	from, to = widen(bins, from, to)
	u.From, u.To = int64(from)*axis.Fold, min(int64(to)*axis.Fold, axis.Size)
	u.Tile = tile(u.From, u.To, u.Size)
	return u, (byHalf || byPeak) && u.Chance < maxChance
}

func binMeans(bins []engine.AxisBin, sum func(*engine.AxisBin) float64) []float64 {
	means := make([]float64, len(bins))
	for i := range bins {
		if bins[i].Count > 0 {
			means[i] = sum(&bins[i]) / float64(bins[i].Count)
		}
	}
	return means
}

// halfRatio holds the first half against the second, without the middle bin of
// an odd number; worse tells which is worse.
func halfRatio(b []float64) (ratio float64, worse int) {
	n := len(b) / 2
	first, second := sum(b[:n]), sum(b[len(b)-n:])
	if second > first {
		return ratioOf(second, first), 1
	}
	return ratioOf(first, second), 0
}

// ratioOf is a/b, infinite where b is 0 and a is not, 1 where both are.
func ratioOf(a, b float64) float64 {
	switch {
	case a == b:
		return 1
	case b == 0:
		return math.Inf(1)
	default:
		return a / b
	}
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// peakRatio holds the largest mean, at index peak, against the median.
func peakRatio(b []float64) (ratio float64, peak int) {
	for i, v := range b {
		if v > b[peak] {
			peak = i
		}
	}
	sorted := slices.Sorted(slices.Values(b))
	return ratioOf(b[peak], sorted[len(sorted)/2]), peak
}

func inRun(i, from, to int) bool { return from <= i && i < to }

// smallestRun is the shortest run of bins with 90 % of the errors, the first of
// equal ones.
func smallestRun(bins []engine.AxisBin) (from, to int) {
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

// widen adds the neighbours of a run that are about as bad, so that its ends
// are where the errors end.
func widen(bins []engine.AxisBin, from, to int) (int, int) {
	var errors, count int64
	for _, b := range bins[from:to] {
		errors += b.Errors
		count += b.Count
	}
	bad := func(b engine.AxisBin) bool {
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

// tile is the greatest common divisor of the borders inside the axis.
func tile(from, to, size int64) int64 {
	var g int64
	for _, border := range []int64{from, to} {
		if border > 0 && border < size {
			g = gcd(g, border)
		}
	}
	return g
}

// minExpected is the smallest expected count of a cell of a chi-square test, by
// the usual rule.
const minExpected = 5

// chance is the probability of error counts as uneven as these if each element
// were as likely to be bad: a chi-square test over bins that are joined until
// their counts can be told.
func chance(bins []engine.AxisBin) float64 {
	var errors, count int64
	for i := range bins {
		errors += bins[i].Errors
		count += bins[i].Count
	}
	if errors == 0 || errors == count {
		return 1
	}
	rate := float64(errors) / float64(count)
	var chi float64
	cells := 0
	var cellErrors, cellCount, restCount int64
	restCount = count
	for i := range bins {
		cellErrors += bins[i].Errors
		cellCount += bins[i].Count
		restCount -= bins[i].Count
		if enough(cellCount, rate) && (enough(restCount, rate) || restCount == 0) {
			chi += cellChi(cellErrors, cellCount, rate)
			cells++
			cellErrors, cellCount = 0, 0
		}
	}
	if cellCount > 0 {
		chi += cellChi(cellErrors, cellCount, rate)
		cells++
	}
	return chiSquareTail(chi, cells-1)
}

func enough(count int64, rate float64) bool { return float64(count)*rate >= minExpected }

// cellChi is the part of a cell: errors and good elements of it together.
func cellChi(errors, count int64, rate float64) float64 {
	d := float64(errors) - float64(count)*rate
	return d * d / (float64(count) * rate * (1 - rate))
}
