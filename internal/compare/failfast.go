package compare

import (
	"slices"

	"dumptool/internal/compare/record"
)

// FailOptions say what a failure is, and what follows.
type FailOptions struct {
	// FailOn are the statuses that count as failures. FailFast ends a run with the first
	// failure in execution order; by evidence no failure is known before the last pair.
	FailOn   []record.Status
	FailFast bool
}

// failsFast reports whether a row ends a run that stops at the first failure.
func (o *FailOptions) failsFast(row *record.Row) bool {
	return o.FailFast && slices.Contains(o.FailOn, row.Pair.Status)
}
