package diagnose

import "dumptool/internal/compare/metrics"

// results are the results of some rows, without their lists: those of all rows
// take too much memory, and a row is looked at several times in a row.
type results [256]struct {
	of     *row
	result *metrics.Result
}

// result is the result of the row without its lists, nil if it was not compared.
func (r *row) result() *metrics.Result {
	kept := &r.results[r.index%len(r.results)]
	if kept.of != r {
		kept.of, kept.result = r, r.Result.Numbers()
	}
	return kept.result
}
