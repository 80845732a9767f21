package record

import (
	"cmp"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// RoundCoordinates has the coordinates of a round in its run. Unknown coordinates are empty.
type RoundCoordinates struct {
	Rank  string `json:"rank,omitempty"`
	Step  string `json:"step,omitempty"`
	Graph string `json:"graph,omitempty"`
	Model string `json:"model,omitempty"`
}

// Coordinate is a named value of RoundCoordinates.
type Coordinate struct{ Name, Value string }

// Coordinates returns the values with their names, also empty values.
func (a *RoundCoordinates) Coordinates() []Coordinate {
	return []Coordinate{{"rank", a.Rank}, {"step", a.Step}, {"graph", a.Graph}, {"model", a.Model}}
}

// Round is a round of the NPU's run that was compared with a round of the reference: one pass of one network on one
// device. Fields with a tag have the same value in compare.json; roundJSON has the other keys.
type Round struct {
	// Name is the short name that the rows of the round have as Row.Round: rank 1 step 2, or a folder. It is empty if
	// there is only one round.
	Name string `json:"round"`
	// RoundCoordinates are the coordinates of the NPU's round, completed by the coordinates of the
	// reference; RefAt are the coordinates of the reference.
	RoundCoordinates
	RefAt RoundCoordinates `json:"-"`
	// Notes say which coordinates differ, and other facts about the pair of rounds.
	Notes []lang.Sentence `json:"notes"`
	// OrderSource says where the execution order comes from. OrderKnown is false if the order is the order of the
	// names, which is unrelated to the execution.
	OrderSource lang.Sentence `json:"order_source"`
	OrderKnown  bool          `json:"order_known"`
	// GraphSource says where the inputs of operators come from, empty if there is no such source.
	GraphSource lang.Sentence `json:"graph_source"`
	// Pairing holds the facts that are known before the comparison.
	Pairing Pairing `json:"pairing"`
	// Unfit: the data flow contradicts the data and was not used.
	Unfit bool `json:"unfit,omitempty"`
	// Counts are the rows of the round by status.
	Counts map[Status]int `json:"-"`
	// Findings say where this round went wrong, Origins are the rows where an independent
	// error begins by evidence, as indexes into the rows of the report.
	Findings Findings `json:"-"`
	Origins  []int    `json:"origins,omitempty"`
	// NoVerdict is the reason why the rows cannot be judged, zero if they can.
	NoVerdict lang.Sentence `json:"no_verdict,omitzero"`
}

// Len returns the number of rows of the round.
func (r *Round) Len() (n int) {
	for _, rows := range r.Counts {
		n += rows
	}
	return n
}

// Shift adds the index of the first row of the round in a report to all indexes of rows.
func (r *Round) Shift(first int) {
	r.Findings.Shift(first)
	for i := range r.Origins {
		r.Origins[i] += first
	}
}

// AddFindings adds the findings of the rows with only statistics. The earlier of the two first bad rows becomes the
// first bad row.
func (r *Round) AddFindings(f Findings, noVerdict lang.Sentence) {
	r.NoVerdict = noVerdict
	r.Origins = append(slices.Clip(r.Origins), f.Origins...)
	slices.Sort(r.Origins)
	r.Findings.Origins = slices.Clone(r.Origins)
	if f.FirstBad >= 0 && (r.Findings.FirstBad < 0 || f.FirstBad < r.Findings.FirstBad) {
		r.Findings.FirstBad, r.Findings.FirstDamaged, r.Findings.LastGood = f.FirstBad, f.FirstBad, f.LastGood
	}
}

// verdicts are the statuses that decide about a round, the worst first.
var verdicts = []Status{Error, Fail, ShapeMismatch, DTypeMismatch, Ambiguous, Partial, Warn, Rounding, Pass}

// Status returns the worst status of the rows. Unmatched rows count only if there are no others.
func (r *Round) Status() Status {
	for _, s := range slices.Concat(verdicts, []Status{UnmatchedRef, UnmatchedNPU}) {
		if r.Counts[s] > 0 {
			return s
		}
	}
	return Skip
}

// HeadlineRound returns the index of the round whose findings are the findings of the report: a
// round with a first bad row, else with origins, else with a bad row; among several the earliest
// step, then the lowest rank. It is -1 without rounds.
func (r *Report) HeadlineRound() int {
	best := -1
	for i := range r.Rounds {
		if best < 0 || r.Rounds[i].hasPriorityOver(&r.Rounds[best]) {
			best = i
		}
	}
	return best
}

// FirstBadRound returns the index of the round with the first bad row of the headline, -1 without such a row.
func (r *Report) FirstBadRound() int {
	if i := r.HeadlineRound(); i >= 0 && r.Rounds[i].Findings.FirstBad >= 0 {
		return i
	}
	return -1
}

// hasPriorityOver reports whether the findings of r have priority over the findings of the other round.
func (r *Round) hasPriorityOver(other *Round) bool {
	if a, b := r.rankByFindings(), other.rankByFindings(); a != b {
		return a > b
	}
	return cmp.Or(lang.CompareNatural(r.RoundCoordinates.Step, other.RoundCoordinates.Step), lang.CompareNatural(r.RoundCoordinates.Rank, other.RoundCoordinates.Rank)) < 0
}

// rankByFindings ranks a round by its findings: 3 with a first bad row, 2 with origins, 1 if bad.
func (r *Round) rankByFindings() int {
	f := &r.Findings
	switch {
	case f.FirstBad >= 0:
		return 3
	case len(f.Origins) > 0:
		return 2
	case r.Status().IsBad():
		return 1
	}
	return 0
}

// RoundsWithSameOperator returns the rounds whose first bad row has the same operator as the first bad row of the given round.
func (r *Report) RoundsWithSameOperator(round int) []int {
	bad := r.Rounds[round].Findings.FirstBad
	if bad < 0 {
		return nil
	}
	var same []int
	for i := range r.Rounds {
		if other := r.Rounds[i].Findings.FirstBad; other >= 0 && r.Row(other).Op == r.Row(bad).Op {
			same = append(same, i)
		}
	}
	return same
}

// singleRows returns the findings that name a single row; rowLists returns the lists of rows.
func (f *Findings) singleRows() []*int {
	return []*int{&f.FirstBad, &f.FirstDamaged, &f.LastGood, &f.FirstNaN, &f.FirstOverflow, &f.LargestJump}
}

func (f *Findings) rowLists() []*[]int { return []*[]int{&f.Origins, &f.Suspects, &f.Chain} }

// Shift adds the index of the first row of the round in a report to all indexes.
func (f *Findings) Shift(first int) {
	for _, i := range f.singleRows() {
		if *i >= 0 {
			*i += first
		}
	}
	for _, list := range f.rowLists() {
		for k := range *list {
			(*list)[k] += first
		}
	}
}

// Source is a tensor that an operator reads.
type Source struct {
	Op     string `json:"op"`     // the operator that produces it
	Output int    `json:"output"` // index of the output, -1 if it is not known
	// Round is the round of another rank, empty for the round of the operator.
	Round string `json:"round,omitempty"`
}

// Flow maps operators to their inputs. An operator with an empty list has no inputs; the inputs of a missing operator
// are unknown.
type Flow map[string][]Source

// InputRead identifies, by its elements, a tensor that an operator reads and that the other side lacks.
type InputRead struct {
	Input int  `json:"input"` // index of the input
	NPU   bool `json:"npu"`   // whether it is an input of the NPU
	// DType is the element type, Shape the shape in host order.
	DType string       `json:"dtype"`
	Shape tensor.Shape `json:"shape"`
	// CRC is the CRC-32C of the stored elements in C order. Constant: all elements are equal.
	CRC      uint32 `json:"crc32c"`
	Constant bool   `json:"constant"`
}
