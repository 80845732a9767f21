package diagnose

import (
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
)

// results are the results of some rows, without their lists, and their noise: those
// of all rows take too much memory, and a row is looked at several times in a row.
type results struct {
	kept [256]unpacked
	read func(index int) (metrics.Packed, noise.Packed) // nil where the rows have them
}

// packed are the result and the noise of a row.
func (s *results) packed(r *row) (metrics.Packed, noise.Packed) {
	if s.read != nil {
		return s.read(r.index)
	}
	return r.Result, r.Noise
}

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
	kept := &r.results.kept[r.index%len(r.results.kept)]
	if kept.of != r || kept.result == nil {
		kept.keep(r)
		result, _ := r.results.packed(r)
		kept.result = result.Numbers()
	}
	return kept.result
}

// noise is what rounding makes of the row, nil where it is not known.
func (r *row) noise() *noise.Noise {
	kept := &r.results.kept[r.index%len(r.results.kept)]
	if kept.of != r || kept.noise == nil {
		kept.keep(r)
		_, packed := r.results.packed(r)
		kept.noise = packed.Unpack()
	}
	return kept.noise
}
