package compare

import (
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
)

// A report of a hundred thousand rows has to fit in memory: of each row it keeps
// what the conclusion and the reports show.

// trim drops the details of the result of a row that no report has. The joint
// histogram and the profiles of axes stay if bins is set.
func trim(res *metrics.Result, status record.Status, bins bool) {
	if !bins {
		res.Joint, res.Axes = nil, nil
	}
	res.WorstRel, res.AbsHistogram.Bins, res.RelHistogram.Bins, res.ErrorOffsets = nil, nil, nil, nil
	if status == record.Pass {
		res.Worst, res.Listed, res.Axes = nil, nil, nil
		return
	}
	if status != record.Fail {
		res.Listed = nil // only failures have a file of errors
	}
	res.Axes = record.FoldAxes(res.Axes)
}
