package compare

import (
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
)

// A report of a hundred thousand rows has to fit in memory: of each row it keeps
// what the conclusion and the reports show.

// trim drops the details of the result of a row that no report has. The joint
// histogram, the profiles of axes and the histograms of bad rows stay if bins is set.
func trim(res *metrics.Result, status record.Status, bins, axes bool) {
	if !bins {
		res.Joint = nil
	}
	if !bins && (!axes || status != record.Fail) {
		res.Axes = nil
	}
	res.WorstRel, res.ErrorOffsets = nil, nil
	if status == record.Pass || !bins {
		res.AbsHistogram.Bins, res.RelHistogram.Bins = nil, nil
	}
	if status == record.Pass {
		res.Worst, res.Listed, res.Axes = nil, nil, nil
		return
	}
	res.AbsHistogram, res.RelHistogram = record.FoldHistogram(res.AbsHistogram), record.FoldHistogram(res.RelHistogram)
	if status != record.Fail {
		res.Listed = nil // only failures have a file of errors
	}
	res.Axes = record.FoldAxes(res.Axes)
}
