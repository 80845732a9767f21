package page

import (
	"slices"

	"dumptool/internal/compare/record"
)

// otherComparison holds the other comparison of a page: rows as columns, matched by name, rank and step. The
// script builds the same from a dropped document.
type otherComparison struct {
	Title string `json:"title"`
	// After is the title of the comparison itself, if both would have the same title.
	After    string                    `json:"after,omitempty"`
	Headline text                      `json:"headline"`
	Rounds   []record.RoundCoordinates `json:"rounds"`
	Statuses []record.Status           `json:"statuses"`
	Name     []string                  `json:"name"` // as in commands; output 0 is just its operator
	Round    []int                     `json:"round"`
	Status   []int                     `json:"status"`
	Mark     []record.Mark             `json:"mark"`
	MeanRel  numberList                `json:"mean_rel"`
	Score    numberList                `json:"score"`
}

// sideOf makes the columns of the comparison before another one.
func sideOf(c *Comparison, noPaths bool) *otherComparison {
	r := c.Before
	s := &otherComparison{Title: titleOf(r.Args, noPaths), Headline: text(c.BeforeHeadline), Statuses: record.Statuses()}
	if own := titleOf(c.Args, noPaths); own == s.Title && !noPaths {
		before, after := distinctSuffixes(c.Paths[0], c.Paths[1])
		s.Title, s.After = before+": "+s.Title, after+": "+own
	}
	for i := range r.Rounds {
		s.Rounds = append(s.Rounds, r.Rounds[i].RoundCoordinates)
	}
	if len(s.Rounds) == 0 {
		s.Rounds = []record.RoundCoordinates{{}}
	}
	rows := rowsOf(r)
	s.Name, s.Round, s.Status, s.Mark, s.MeanRel = rows.tensors, rows.cols.Round, rows.cols.Status, rows.cols.Mark, rows.cols.MeanRel
	s.Score = slices.Clone(rows.cols.Score)
	for i, score := range s.Score {
		if !(score.Value() > 0) { // a score by statistics may be 0
			s.Score[i] = number{}
		}
	}
	return s
}
