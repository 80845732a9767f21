package compare

import (
	"slices"

	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/engine"
)

// A report of a hundred thousand rows has to fit in memory: of each row it keeps
// what the diagnosis and the reports look at.

// trim drops the details of a row that nobody looks into.
func trim(row *Row) {
	res := row.Result
	res.WorstRel, res.AbsHistogram.Bins, res.RelHistogram.Bins = nil, nil, nil
	res.Joint = slices.Clip(slices.Clone(res.Joint))
	switch row.Status {
	case Pass:
		res.Worst, res.Listed, res.ErrorOffsets, res.Axes = nil, nil, nil, nil
		return
	case Fail:
		res.Listed = slices.Clip(slices.Clone(res.Listed))
	default:
		res.Listed, res.ErrorOffsets = nil, nil // only failures have a file of errors and patterns
	}
	res.Worst = slices.Clip(slices.Clone(res.Worst))
	foldEven(res)
}

// foldEven folds the axes of a result unless the diagnosis would see another
// thing in them than in all of their positions.
func foldEven(res *engine.Result) {
	if len(diagnose.Uneven(res)) > 0 {
		return
	}
	all := res.Axes
	if res.Axes = foldAxes(all); len(diagnose.Uneven(res)) > 0 {
		res.Axes = all
	}
}

// trimDiagnosed drops what only the diagnosis needs.
func trimDiagnosed(rows []Row) {
	for i := range rows {
		if res := rows[i].Result; res != nil {
			res.ErrorOffsets, res.Axes = nil, foldAxes(res.Axes)
		}
	}
}

// foldedBins is the most bins of an axis in a report.
const foldedBins = 64

// foldAxes adds up runs of bins of axes that have many.
func foldAxes(axes []engine.AxisProfile) []engine.AxisProfile {
	var folded []engine.AxisProfile
	for i := range axes {
		folded = append(folded, foldAxis(&axes[i]))
	}
	return folded
}

// foldAxis adds up runs of bins of an axis.
func foldAxis(a *engine.AxisProfile) engine.AxisProfile {
	run := (len(a.Bins) + foldedBins - 1) / foldedBins
	if run <= 1 {
		return *a
	}
	f := engine.AxisProfile{Axis: a.Axis, Size: a.Size, Fold: a.Fold * int64(run)}
	for i, bin := range a.Bins {
		if i%run == 0 {
			f.Bins = append(f.Bins, engine.AxisBin{})
		}
		sum := &f.Bins[len(f.Bins)-1]
		sum.Count += bin.Count
		sum.Errors += bin.Errors
		sum.SumAbs += bin.SumAbs
		sum.SumRel += bin.SumRel
	}
	return f
}
