package page

import (
	"encoding/json"
	"slices"
)

// checked is the part of a check document that the page shows: the operators that are not OK, and
// findings between ranks.
type checked struct {
	Schema  string `json:"schema"`
	Summary struct {
		Headline  string         `json:"headline"`
		Chinese   string         `json:"headline_zh,omitempty"`
		Counts    map[string]int `json:"counts"`
		Judged    int            `json:"judged"`
		Operators int            `json:"operators"`
		Bytes     float64        `json:"bytes"`
		Undecided map[string]int `json:"undecided"`
	} `json:"summary"`
	Graph     string            `json:"graph_source,omitempty"`
	Operators []checkedOperator `json:"operators"`
	Ranks     *between          `json:"ranks"`
	Problems  []struct {
		File    string `json:"file"`
		Message string `json:"message"`
	} `json:"problems"`
	// Left counts the omitted operators.
	Left int `json:"left"`
}

// checkedOperator is an operator, with the source of each attribute.
type checkedOperator struct {
	Op         string `json:"op"`
	Type       string `json:"op_type"`
	At         any    `json:"at"`
	File       string `json:"file"`
	Script     string `json:"script,omitempty"`
	Status     string `json:"status"`
	Reason     string `json:"reason,omitempty"`
	Extent     string `json:"extent,omitempty"`
	Confidence string `json:"confidence,omitempty"`
	Evidence   string `json:"evidence,omitempty"`
	EvidenceZH string `json:"evidence_zh,omitempty"`
	Attributes map[string]struct {
		Value  any    `json:"value"`
		Source string `json:"source"`
	} `json:"attributes"`
	Outputs []struct {
		Elements int64  `json:"elements"`
		Checked  int64  `json:"checked"`
		How      string `json:"how"`
		Bad      int64  `json:"bad"`
		Worst    any    `json:"worst_ratio"`
	} `json:"outputs"`
	Notes []string `json:"notes,omitempty"`
}

// checkedOf reads a check document.
func checkedOf(text json.RawMessage) (*checked, error) {
	d, err := documentOf[checked](text, "check")
	if d == nil {
		return nil, err
	}
	rows := slices.DeleteFunc(d.Operators, func(o checkedOperator) bool { return o.Status == "OK" })
	// Undecided operators come last, so that the limit never omits wrong operators for them.
	slices.SortStableFunc(rows, func(a, b checkedOperator) int { return undecided(a) - undecided(b) })
	d.Left = max(0, len(rows)-maxOthers)
	d.Operators = rows[:len(rows)-d.Left]
	return d, nil
}

func undecided(o checkedOperator) int {
	if o.Status == "UNDECIDED" {
		return 1
	}
	return 0
}
