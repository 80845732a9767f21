package diagnose

import (
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
)

// results are the results of some rows, without their lists, and their noise: those
// of all rows take too much memory, and a row is looked at several times in a row.
type results [256]unpacked

type unpacked struct {
	of     *row
	result *metrics.Result
	noise  *noise.Noise
}

// keep makes it that of a row.
func (u *unpacked) keep(r *row) {
	if u.of != r {
		*u = unpacked{of: r}
	}
}

// result is the result of the row without its lists, nil if it was not compared.
func (r *row) result() *metrics.Result {
	kept := &r.results[r.index%len(r.results)]
	if kept.of != r || kept.result == nil {
		kept.keep(r)
		kept.result = r.Result.Numbers()
	}
	return kept.result
}

// noise is what rounding makes of the row, nil where it is not known.
func (r *row) noise() *noise.Noise {
	kept := &r.results[r.index%len(r.results)]
	if kept.of != r || kept.noise == nil {
		kept.keep(r)
		kept.noise = r.Noise.Unpack()
	}
	return kept.noise
}
