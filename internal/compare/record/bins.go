package record

import "dumptool/internal/compare/metrics"

// foldedBins is the most bins of an axis in a report.
const foldedBins = 64

// FoldAxes adds up runs of bins of axes that have more than a report shows.
func FoldAxes(axes []metrics.AxisProfile) []metrics.AxisProfile {
	var folded []metrics.AxisProfile
	for i := range axes {
		folded = append(folded, foldAxis(&axes[i]))
	}
	return folded
}

// foldAxis adds up runs of bins of an axis.
func foldAxis(a *metrics.AxisProfile) metrics.AxisProfile {
	run := (len(a.Bins) + foldedBins - 1) / foldedBins
	if run <= 1 {
		return *a
	}
	f := metrics.AxisProfile{Axis: a.Axis, Size: a.Size, Fold: a.Fold * int64(run)}
	for i, bin := range a.Bins {
		if i%run == 0 {
			f.Bins = append(f.Bins, metrics.AxisBin{})
		}
		sum := &f.Bins[len(f.Bins)-1]
		sum.Count += bin.Count
		sum.Errors += bin.Errors
		sum.SumAbs += bin.SumAbs
		sum.SumRel += bin.SumRel
	}
	return f
}
