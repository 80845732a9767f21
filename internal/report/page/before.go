package page

import (
	"strings"

	"dumptool/internal/compare/record"
	"dumptool/internal/tensor"
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
	statuses, rounds := map[record.Status]int{}, map[string]int{}
	for i, x := range s.Statuses {
		statuses[x] = i
	}
	for i := range r.Rounds {
		rounds[r.Rounds[i].Name] = i
		s.Rounds = append(s.Rounds, r.Rounds[i].At)
	}
	if len(s.Rounds) == 0 {
		s.Rounds = []record.At{{}}
	}
	for i, row := range r.All() {
		s.Name = append(s.Name, strings.TrimSuffix(row.TensorName(), ":"+string(tensor.Output)+":0"))
		s.Round = append(s.Round, rounds[row.Round])
		s.Status = append(s.Status, statuses[row.Status])
		s.Mark = append(s.Mark, r.Mark(i))
		mean, score := number{}, number{}
		if row.Result != nil {
			mean = row.Result.MeanRel
		}
		if e := row.Evidence; e != nil && e.Score > 0 {
			score = of(float64(e.Score))
		}
		s.MeanRel, s.Score = append(s.MeanRel, mean), append(s.Score, score)
	}
	return s
}
