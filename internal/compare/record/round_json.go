package record

import (
	"fmt"
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/lang"
)

// counts are rows by status.
type counts struct {
	Rows          int `json:"rows"`
	Pass          int `json:"pass"`
	Rounding      int `json:"rounding"`
	Warn          int `json:"warn"`
	Fail          int `json:"fail"`
	ShapeMismatch int `json:"shape_mismatch"`
	DTypeMismatch int `json:"dtype_mismatch"`
	Ambiguous     int `json:"ambiguous"`
	Error         int `json:"error"`
	Partial       int `json:"partial"`
	Skip          int `json:"skip"`
	UnmatchedRef  int `json:"unmatched_ref"`
	UnmatchedNPU  int `json:"unmatched_npu"`
}

// of is the count of each status.
func (c *counts) of() map[Status]*int {
	return map[Status]*int{Pass: &c.Pass, Rounding: &c.Rounding, Warn: &c.Warn, Fail: &c.Fail, ShapeMismatch: &c.ShapeMismatch,
		DTypeMismatch: &c.DTypeMismatch, Ambiguous: &c.Ambiguous, Error: &c.Error, Partial: &c.Partial,
		Skip: &c.Skip, UnmatchedRef: &c.UnmatchedRef, UnmatchedNPU: &c.UnmatchedNPU}
}

func countsOf(byStatus map[Status]int) (c counts) {
	for status, n := range c.of() {
		*n = byStatus[status]
		c.Rows += *n
	}
	return c
}

// byStatus are the statuses that rows have.
func (c *counts) byStatus() map[Status]int {
	all := map[Status]int{}
	for status, n := range c.of() {
		if *n > 0 {
			all[status] = *n
		}
	}
	return all
}

// roundJSON is a round of compare.json. The findings are named as op:output:k, with
// their rows in Findings.
type roundJSON struct {
	Round string `json:"round"`
	At
	// Ref is nil where the reference has the same coordinates.
	Ref         *At            `json:"ref,omitempty"`
	Notes       []string       `json:"notes"`
	OrderSource lang.Sentence  `json:"order_source"`
	OrderKnown  bool           `json:"order_known"`
	GraphSource lang.Sentence  `json:"graph_source"`
	Status      Status         `json:"status"`
	Counts      counts         `json:"counts"`
	FirstBad    *string        `json:"first_bad"`
	LastGood    *string        `json:"last_good"`
	LargestJump *string        `json:"largest_jump"`
	Jump        metrics.Metric `json:"jump"`
	OutputsBad  bool           `json:"outputs_bad"`
	Findings    findingRows    `json:"findings"`
	Origins     []int          `json:"origins,omitempty"`
	Pairing     *Pairing       `json:"pairing,omitempty"`
	Unfit       bool           `json:"unfit,omitempty"`
	NoVerdict   lang.Sentence  `json:"no_verdict,omitzero"`
}

func (r *Report) roundsJSON() []roundJSON {
	var all []roundJSON
	for i := range r.Rounds {
		x := &r.Rounds[i]
		f := &x.Findings
		j := roundJSON{Round: x.Name, At: x.At, Notes: list(x.Notes),
			OrderSource: x.OrderSource, OrderKnown: x.OrderKnown, GraphSource: x.GraphSource,
			Status: x.Status(), Counts: countsOf(x.Counts),
			FirstBad: r.found(f.FirstBad), LastGood: r.found(f.LastGood), LargestJump: r.found(f.LargestJump),
			OutputsBad: f.OutputsBad, Findings: r.findingRows(f), Origins: x.Origins, Pairing: &x.Pairing, Unfit: x.Unfit, NoVerdict: x.NoVerdict}
		if j.LargestJump != nil {
			j.Jump = NumberOf(f.Jump)
		}
		if x.RefAt != x.At {
			j.Ref = &x.RefAt
		}
		all = append(all, j)
	}
	return all
}

// round is the round that was written.
func (j *roundJSON) round() Round {
	ref := j.At
	if j.Ref != nil {
		ref = *j.Ref
	}
	var pairing Pairing
	if j.Pairing != nil {
		pairing = *j.Pairing
	}
	return Round{Name: j.Round, Origins: j.Origins, Pairing: pairing, Unfit: j.Unfit, NoVerdict: j.NoVerdict, At: j.At, RefAt: ref, Notes: j.Notes,
		OrderSource: j.OrderSource, OrderKnown: j.OrderKnown, GraphSource: j.GraphSource,
		Counts: j.Counts.byStatus(), Findings: j.Findings.findings(j.Jump, j.OutputsBad)}
}

// findingRows are findings as compare.json has them.
func (r *Report) findingRows(f *Findings) findingRows {
	return findingRows{
		FirstBad: r.index(f.FirstBad), FirstDamaged: r.index(f.FirstDamaged), LastGood: r.index(f.LastGood), Suspects: list(f.Suspects),
		FirstNaN: r.index(f.FirstNaN), FirstOverflow: r.index(f.FirstOverflow), LargestJump: r.index(f.LargestJump),
		Chain: list(f.Chain), Origins: f.Origins,
	}
}

// findings are those that were written.
func (f *findingRows) findings(jump metrics.Metric, outputsBad bool) Findings {
	at := func(i *int) int {
		if i == nil {
			return -1
		}
		return *i
	}
	return Findings{
		FirstBad: at(f.FirstBad), FirstDamaged: at(f.FirstDamaged), LastGood: at(f.LastGood), Suspects: f.Suspects,
		FirstNaN: at(f.FirstNaN), FirstOverflow: at(f.FirstOverflow), LargestJump: at(f.LargestJump), Jump: jump.Value,
		Chain: f.Chain, OutputsBad: outputsBad, Origins: f.Origins,
	}
}

// check reports findings in rows that a report lacks.
func (f *findingRows) check(rows int) error {
	all := slices.Concat(f.Suspects, f.Chain, f.Origins)
	for _, i := range []*int{f.FirstBad, f.FirstDamaged, f.LastGood, f.FirstNaN, f.FirstOverflow, f.LargestJump} {
		if i != nil {
			all = append(all, *i)
		}
	}
	return checkRows(all, rows)
}

// checkRows reports findings in rows that a report lacks.
func checkRows(found []int, rows int) error {
	for _, i := range found {
		if i < 0 || i >= rows {
			return fmt.Errorf("finding in row %d of %d rows", i, rows)
		}
	}
	return nil
}
