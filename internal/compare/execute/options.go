package execute

import (
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
)

// KeepOptions say what is kept of a pair beside its metrics.
type KeepOptions struct {
	// Top is the number of worst elements that are kept for bad rows, List the number of first
	// error elements, Points the approximate number of sampled points.
	Top, List, Points int
	// Bins keeps the histograms and the profiles of axes of bad rows.
	Bins bool
	// Axes keeps the profiles of axes of bad rows alone.
	Axes bool
	// KLD computes the Kullback-Leibler divergence, which needs a second pass.
	KLD bool
}

// FailOptions say what a failure is, and what follows.
type FailOptions struct {
	// FailOn are the statuses that count as failures. FailFast ends a run with the first
	// failure in execution order; by evidence no failure is known before the last pair.
	FailOn   []record.Status
	FailFast bool
}

// FailsFast reports whether a row ends a run that stops at the first failure.
func (o *FailOptions) FailsFast(row *record.Row) bool {
	return o.FailFast && slices.Contains(o.FailOn, row.Pair.Status)
}

// Options say what is measured of a pair and kept in its row.
type Options struct {
	plan.Options
	KeepOptions
	FailOptions
	// Pictures lets rows be read again for their pictures; nil for no pictures.
	Pictures *PictureOptions
	// Pool is the memory of computing metrics, which runs may share; nil for a new one.
	Pool *metrics.Pool
}
