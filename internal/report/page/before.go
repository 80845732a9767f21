package page

import (
	"slices"

	"dumptool/internal/compare/record"
)

// side is what the page knows of a comparison beside its own: rows as columns, which are
// matched by name, rank and step. The script makes the same of a document that is dropped.
type side struct {
	Title string `json:"title"`
	// After is the title of the comparison itself, where both have the same.
	After    string          `json:"after,omitempty"`
	Headline text            `json:"headline"`
	Rounds   []record.At     `json:"rounds"`
	Statuses []record.Status `json:"statuses"`
	Name     []string        `json:"name"` // as commands take it, an output 0 by its operator alone
	Round    []int           `json:"round"`
	Status   []int           `json:"status"`
	Mark     []record.Mark   `json:"mark"`
	MeanRel  numbers         `json:"mean_rel"`
	Score    numbers         `json:"score"`
}

// sideOf makes the columns of the comparison before another one.
func sideOf(c *Comparison, noPaths bool) *side {
	r := c.Before
	s := &side{Title: titleOf(r.Args, noPaths), Headline: text(c.BeforeHeadline), Statuses: record.Statuses()}
	if own := titleOf(c.Args, noPaths); own == s.Title && !noPaths {
		before, after := toldApart(c.Paths[0], c.Paths[1])
		s.Title, s.After = before+": "+s.Title, after+": "+own
	}
	for i := range r.Rounds {
		s.Rounds = append(s.Rounds, r.Rounds[i].At)
	}
	if len(s.Rounds) == 0 {
		s.Rounds = []record.At{{}}
	}
	rows := rowsOf(r)
	s.Name, s.Round, s.Status, s.Mark, s.MeanRel = rows.tensors, rows.cols.Round, rows.cols.Status, rows.cols.Mark, rows.cols.MeanRel
	s.Score = slices.Clone(rows.cols.Score)
	for i, score := range s.Score {
		if !(score.Value() > 0) { // one of statistics may be 0
			s.Score[i] = number{}
		}
	}
	return s
}
