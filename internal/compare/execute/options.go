package execute

import (
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
)

// KeepOptions select the details of a pair that are kept in addition to its metrics.
type KeepOptions struct {
	// Top is the number of worst elements that are kept for bad rows, List the number of first
	// error elements, Points the approximate number of sampled points.
	Top, List, Points int
	// Bins keeps the histograms and the profiles of axes of bad rows.
	Bins bool
	// Axes keeps only the profiles of axes of bad rows.
	Axes bool
	// KLD computes the Kullback-Leibler divergence, which needs a second pass.
	KLD bool
}

// FailOptions define failures and their effect.
type FailOptions struct {
	// FailOn are the statuses that count as failures. FailFast ends a run at the first failure
	// in execution order; in the mode evidence failures are only known after the last pair.
	FailOn   []record.Status
	FailFast bool
}

// FailsFast reports whether a row ends a run that stops at the first failure.
func (o *FailOptions) FailsFast(row *record.Row) bool {
	return o.FailFast && slices.Contains(o.FailOn, row.Pair.Status)
}

// Options select the measurements of a pair, and the details that its row keeps.
type Options struct {
	plan.Options
	KeepOptions
	FailOptions
	// Pictures are the options of the second reading for pictures; nil for no pictures.
	Pictures *PictureOptions
	// Pool is memory for metrics, which several runs may share; nil for a new pool.
	Pool *metrics.Pool
}
