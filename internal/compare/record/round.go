package record

import (
	"cmp"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// At says to which round of a run something belongs. Each value is empty where
// nothing says it.
type At struct {
	Rank  string `json:"rank,omitempty"`
	Step  string `json:"step,omitempty"`
	Graph string `json:"graph,omitempty"`
	Model string `json:"model,omitempty"`
}

// Coordinate is a value of an At by its name.
type Coordinate struct{ Name, Value string }

// Coordinates are the values by their names, empty ones too.
func (a *At) Coordinates() []Coordinate {
	return []Coordinate{{"rank", a.Rank}, {"step", a.Step}, {"graph", a.Graph}, {"model", a.Model}}
}

// Round is a round of the NPU's run that was compared with one of the reference:
// one pass of one network on one device. Fields with a tag have the same value in
// compare.json; roundJSON has the other keys.
type Round struct {
	// Name is the short name that the rows of the round have as Row.Round: rank 1
	// step 2, or a folder. It is empty where there is only one round.
	Name string `json:"round"`
	// At are the coordinates of the NPU's round, completed by the coordinates of the
	// reference; RefAt are the coordinates of the reference.
	At
	RefAt At `json:"-"`
	// Notes say which coordinates differ, and what else to know about the round.
	Notes []string `json:"notes"`
	// OrderSource says where the execution order comes from; OrderKnown is false
	// where it is the order of the names, which says nothing about the execution.
	OrderSource lang.Sentence `json:"order_source"`
	OrderKnown  bool          `json:"order_known"`
	// GraphSource says where the inputs of operators come from; empty when nothing
	// says it.
	GraphSource lang.Sentence `json:"graph_source"`
	// Pairing is what was known before anything was compared.
	Pairing Pairing `json:"pairing"`
	// Unfit is set where the data flow does not fit the data and was not used.
	Unfit bool `json:"unfit,omitempty"`
	// Counts are the rows of the round by status.
	Counts map[Status]int `json:"-"`
	// Findings say where this round went wrong, Origins are the rows where an independent
	// error begins by evidence, as indexes into the rows of the report.
	Findings Findings `json:"-"`
	Origins  []int    `json:"origins,omitempty"`
	// NoVerdict says why nothing can be said of the rows, zero where something can.
	NoVerdict lang.Sentence `json:"no_verdict,omitzero"`
}

// Len is the number of its rows.
func (r *Round) Len() (n int) {
	for _, rows := range r.Counts {
		n += rows
	}
	return n
}

// Shift moves what names rows of the round to their places in a report.
func (r *Round) Shift(first int) {
	r.Findings.Shift(first)
	for i := range r.Origins {
		r.Origins[i] += first
	}
}

// AddFindings adds those of the rows of which only statistics are known. What is first of
// both is the first bad row.
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

// Status is the worst of the round's rows: that of a tensor that was to be compared
// where there is one.
func (r *Round) Status() Status {
	for _, s := range slices.Concat(verdicts, []Status{UnmatchedRef, UnmatchedNPU}) {
		if r.Counts[s] > 0 {
			return s
		}
	}
	return Skip
}

// HeadlineRound is the index of the round that the findings of the report are those of:
// of the rounds that have a first bad row, else a bad one at all, that of the
// earliest step, then that of the lowest rank; else the first with any finding, -1
// without rounds.
func (r *Report) HeadlineRound() int {
	best := -1
	for i := range r.Rounds {
		if best < 0 || r.Rounds[i].before(&r.Rounds[best]) {
			best = i
		}
	}
	return best
}

// ShownRound is the index of the round whose rows are shown in their order: that of the first
// bad row, else the first with a bad one, else the first with any; -1 without rows.
func (r *Report) ShownRound() int {
	if bad := r.Findings.FirstBad; bad >= 0 {
		for i := range r.Rounds {
			if bad -= r.Rounds[i].Len(); bad < 0 {
				return i
			}
		}
	}
	isBad := func(x Round) bool {
		for s, n := range x.Counts {
			if n > 0 && s.Bad() {
				return true
			}
		}
		return false
	}
	if i := slices.IndexFunc(r.Rounds, isBad); i >= 0 {
		return i
	}
	return slices.IndexFunc(r.Rounds, func(x Round) bool { return x.Len() > 0 })
}

// FirstBadRound is the index of the round that the headline names the first bad row
// of, -1 if there is none.
func (r *Report) FirstBadRound() int {
	if i := r.HeadlineRound(); i >= 0 && r.Rounds[i].Findings.FirstBad >= 0 {
		return i
	}
	return -1
}

// before reports whether what a round found comes before what another one did.
func (r *Round) before(other *Round) bool {
	if a, b := r.weight(), other.weight(); a != b {
		return a > b
	}
	return cmp.Or(lang.CompareNatural(r.At.Step, other.At.Step), lang.CompareNatural(r.At.Rank, other.At.Rank)) < 0
}

// weight is how much a round has to say about where it went wrong.
func (r *Round) weight() int {
	f := &r.Findings
	switch {
	case f.FirstBad >= 0:
		return 3
	case len(f.Origins) > 0:
		return 2
	case r.Status().Bad():
		return 1
	}
	return 0
}

// SameOperator returns the rounds whose first bad row is of the same operator as that
// of a round.
func (r *Report) SameOperator(round int) []int {
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

// single are the findings of one row each, -1 for none, and lists those of several.
func (f *Findings) single() []*int {
	return []*int{&f.FirstBad, &f.FirstDamaged, &f.LastGood, &f.FirstNaN, &f.FirstOverflow, &f.LargestJump}
}

func (f *Findings) lists() []*[]int { return []*[]int{&f.Origins, &f.Suspects, &f.Chain} }

// Shift moves findings in some of the rows of a report to their places there.
func (f *Findings) Shift(first int) {
	for _, i := range f.single() {
		if *i >= 0 {
			*i += first
		}
	}
	for _, list := range f.lists() {
		for k := range *list {
			(*list)[k] += first
		}
	}
}

// Source is a tensor that an operator reads.
type Source struct {
	Op     string `json:"op"`     // the operator that makes it
	Output int    `json:"output"` // which output of it, -1 if that is not known
	// Round is that of another rank, empty for the operator's own.
	Round string `json:"round,omitempty"`
}

// Flow is what operators read, by their name. An operator with an empty list is
// known to have no inputs; of one that is not in it nothing is known.
type Flow map[string][]Source

// InputRead identifies a tensor that an operator reads by its elements, where the other side
// has none to compare it with.
type InputRead struct {
	Input int  `json:"input"` // the index
	NPU   bool `json:"npu"`   // whose side it is of
	// DType is the element type, Shape that in host order.
	DType string       `json:"dtype"`
	Shape tensor.Shape `json:"shape"`
	// CRC is the CRC-32C of the elements as they are stored, in C order; Constant is set
	// where all are equal.
	CRC      uint32 `json:"crc32c"`
	Constant bool   `json:"constant"`
}
