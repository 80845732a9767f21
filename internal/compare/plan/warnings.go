package plan

import (
	"slices"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
)

// OrderSource says where the execution order of sorted pairs comes from.
func (p *Planner) OrderSource() lang.Sentence {
	return record.TextOfAll(records(p.rounds), func(r *record.Round) lang.Sentence { return r.OrderSource })
}

// AllWarnings returns the warnings of the listing, of names that match nothing, and of rejected
// orders.
func (p *Planner) AllWarnings() []lang.Sentence {
	rounds := records(p.rounds)
	return slices.Concat(p.Warnings, record.UnmatchedNames(rounds), record.RejectedSources(rounds))
}
