package record

import (
	"encoding/json"
	"strconv"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// counts are the numbers of all rows and of the rows of each status.
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

// fields returns the field of each status.
func (c *counts) fields() map[Status]*int {
	return map[Status]*int{
		Pass: &c.Pass, Rounding: &c.Rounding, Warn: &c.Warn, Fail: &c.Fail, ShapeMismatch: &c.ShapeMismatch, DTypeMismatch: &c.DTypeMismatch,
		Ambiguous: &c.Ambiguous, Error: &c.Error, Partial: &c.Partial, Skip: &c.Skip, UnmatchedRef: &c.UnmatchedRef, UnmatchedNPU: &c.UnmatchedNPU,
	}
}

func countsOf(byStatus map[Status]int) (c counts) {
	for status, n := range c.fields() {
		*n = byStatus[status]
		c.Rows += *n
	}
	return c
}

// positiveCounts returns the numbers above 0.
func (c *counts) positiveCounts() map[Status]int {
	all := map[Status]int{}
	for status, n := range c.fields() {
		if *n > 0 {
			all[status] = *n
		}
	}
	return all
}

// plainRound is a Round without its methods.
type plainRound Round

// roundJSON is a round in compare.json: the round, and keys that follow from it or have
// another form there. The findings are named as op:output:k here, and are indexes of rows in
// findings.
type roundJSON struct {
	*plainRound
	// Ref is nil if the reference has the same coordinates.
	Ref         *RoundCoordinates `json:"ref,omitempty"`
	Status      Status            `json:"status"`
	Counts      counts            `json:"counts"`
	FirstBad    *string           `json:"first_bad"`
	LastGood    *string           `json:"last_good"`
	LargestJump *string           `json:"largest_jump"`
	Jump        metrics.Metric    `json:"jump"`
	OutputsBad  *bool             `json:"outputs_bad"`
	Findings    findingsJSON      `json:"findings"`
}

// roundsOf returns the rounds of a report as in compare.json.
func (r *Report) roundsOf() []roundJSON {
	var all []roundJSON
	for i := range r.Rounds {
		x := r.Rounds[i]
		f := x.Findings.withLists()
		x.Notes = copyList(x.Notes)
		j := roundJSON{
			plainRound: (*plainRound)(&x), Status: x.Status(), Counts: countsOf(x.Counts), FirstBad: r.rowName(f.FirstBad), LastGood: r.rowName(f.LastGood),
			LargestJump: r.rowName(f.LargestJump), Jump: f.largestJump(), OutputsBad: &f.OutputsBad, Findings: f.forJSON(),
		}
		if x.RefAt != x.RoundCoordinates {
			j.Ref = &x.RefAt
		}
		all = append(all, j)
	}
	return all
}

// readRounds reads the rounds of a report.
func (r *Report) readRounds(in *jsonpos.Reader) error {
	return in.Array(func(int) error {
		x := Round{Findings: NoFindings()}
		j := roundJSON{plainRound: (*plainRound)(&x), OutputsBad: &x.Findings.OutputsBad, Findings: x.Findings.forJSON()}
		if err := in.Struct(&j, nil); err != nil {
			return err
		}
		x.RefAt, x.Counts, x.Findings.Jump = x.RoundCoordinates, j.Counts.positiveCounts(), j.Jump.Value()
		if j.Ref != nil {
			x.RefAt = *j.Ref
		}
		r.Rounds = append(r.Rounds, x)
		return nil
	})
}

// rowIndex is the index of a row, null for none.
type rowIndex int

// MarshalJSON implements json.Marshaler.
func (i rowIndex) MarshalJSON() ([]byte, error) {
	if i < 0 {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(i), 10), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (i *rowIndex) UnmarshalJSON(data []byte) error {
	err := json.Unmarshal(data, (*int)(i))
	if err == nil && *i < 0 {
		err = lang.Errorf("finding in row %d", *i)
	}
	return err
}

// largestJump returns the factor of the largest jump, undefined without one.
func (f *Findings) largestJump() metrics.Metric { return metrics.NumberIf(f.Jump, f.LargestJump >= 0) }

// findingsJSON are findings in compare.json: null stands for no row.
type findingsJSON struct {
	*Findings
	FirstBad      *rowIndex `json:"first_bad"`
	FirstDamaged  *rowIndex `json:"first_damaged"`
	LastGood      *rowIndex `json:"last_good"`
	FirstNaN      *rowIndex `json:"first_nan"`
	FirstOverflow *rowIndex `json:"first_overflow"`
	LargestJump   *rowIndex `json:"largest_jump"`
}

// forJSON returns the form for writing findings, and for reading into them.
func (f *Findings) forJSON() findingsJSON {
	return findingsJSON{f, (*rowIndex)(&f.FirstBad), (*rowIndex)(&f.FirstDamaged), (*rowIndex)(&f.LastGood), (*rowIndex)(&f.FirstNaN), (*rowIndex)(&f.FirstOverflow), (*rowIndex)(&f.LargestJump)}
}

// withLists returns findings with lists that are not nil.
func (f Findings) withLists() *Findings {
	f.Suspects, f.Chain = copyList(f.Suspects), copyList(f.Chain)
	return &f
}

// check reports findings that name rows which do not exist.
func (f *Findings) check(rows int) error {
	var all []int
	for _, i := range f.singleRows() {
		if *i >= 0 {
			all = append(all, *i)
		}
	}
	for _, list := range f.rowLists() {
		all = append(all, *list...)
	}
	return checkRows(all, rows)
}

// checkRows is check for a list of rows.
func checkRows(found []int, rows int) error {
	for _, i := range found {
		if i < 0 || i >= rows {
			return lang.Errorf("finding in row %d of %d rows", i, rows)
		}
	}
	return nil
}
