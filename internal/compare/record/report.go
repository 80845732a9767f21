package record

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/lang"
	"dumptool/internal/shard"
)

// Report is the result of a comparison.
type Report struct {
	// Origin is where the report comes from: the program, and what a merge has to know.
	shard.Origin
	// Args are the arguments of the program.
	Args []string

	Profile   string
	NaNPolicy string
	TolMode   string
	// Verdict is what rows fail by, VerdictWhy why it is not evidence where nobody
	// asked for something else. Both are empty in a report that was written before
	// there was evidence: that goes by limits.
	Verdict    string
	VerdictWhy lang.Sentence
	// Standard names the acceptance standard of single operators that stands in place
	// of the verdict, empty for none.
	Standard string
	// Headline is the verdict in one line, in English; set when the report is written.
	Headline string
	// Effective is the type that the arrays of float32 of the NPU hold, empty where
	// it is float32.
	Effective string
	// Meaning is what there is to know about the verdict.
	Meaning Meaning
	// Origins are the rows where an independent error begins, by evidence, as indexes
	// into Rows: those of the round that the findings are of.
	Origins []int
	// OrderSource says where the execution order comes from, with the file.
	OrderSource lang.Sentence
	// GraphSource says where the inputs of operators come from; empty when
	// there is no graph and the operator before counts as the input.
	GraphSource lang.Sentence
	Counts      map[Status]int
	Findings    Findings
	// Rounds are the rounds that were compared, by their coordinates; nil in a
	// report that was written before there were any.
	Rounds []Round
	// Listed is what the listing of both runs says, nil in a report that was written
	// before that was kept.
	Listed   *Listed
	Coverage Coverage
	Baseline *Baseline // nil without a baseline
	Warnings []lang.Sentence
	// FailedFast is set when --fail-fast stopped the run at the first failure.
	FailedFast bool
	// Calls are those of msprobe, in their order, where a report shows them.
	Calls []CallPair
	// Files are the reports beside compare.json that were written with it.
	Files []File
	// Rows are in execution order; rows of equal place by name and output.
	// Unmatched and skipped ones are among them.
	Rows []Row
	// LeftOut counts rows that passed and are not among Rows; see BadRows. They are in
	// the counts.
	LeftOut int
	// whole is the report that rows were left out of.
	whole *Report
}

// Coverage says how much of the reference was compared. The lists name tensors
// as op:output:k.
type Coverage struct {
	// Reference counts the tensors of the reference, Compared those of them
	// that were compared.
	Reference int      `json:"-"`
	Compared  int      `json:"-"`
	RefOnly   []string `json:"ref_only"`
	NPUOnly   []string `json:"npu_only"`
	Skipped   []string `json:"skipped"`
	Unread    []string `json:"unread"`
	// Superseded are files with an older timestamp than one of the same name.
	Superseded []string `json:"superseded"`
	// Rounds are rounds that were not compared, with the reason.
	Rounds []string `json:"rounds,omitempty"`
	// Unused are names of op_config.csv that no row has.
	Unused []string `json:"unused_op_config"`
}

// Ratio is the compared share of the reference; 1 when the reference is empty.
func (c *Coverage) Ratio() float64 {
	if c.Reference == 0 {
		return 1
	}
	return float64(c.Compared) / float64(c.Reference)
}

// Findings say where the run went wrong. The numbers are indexes into Rows, -1
// when there is no such row.
type Findings struct {
	// FirstBad is the first failing row whose known inputs all pass; -1 also where
	// the execution order is not known.
	FirstBad int
	// Origins are, by evidence, all rows where an independent error begins, in the
	// order of the data flow. By limits they stand in place of FirstBad where the
	// order is not known, but who feeds whom is: the failing rows whose inputs all
	// pass.
	Origins []int
	// FirstDamaged is the first failing row with a cause of its own - a pattern, a
	// calculation error, a wrong shape - rather than noise that adds up or bad
	// inputs. It usually is FirstBad.
	FirstDamaged int
	// LastGood is the last good row before it, in execution order; Suspects are
	// the rows in between that were not compared: the fault may be in one of them.
	LastGood int
	Suspects []int
	// FirstNaN and FirstOverflow are the first rows whose NPU tensor has a
	// NaN or infinity that the reference has not, or overflowed elements.
	FirstNaN, FirstOverflow int
	// LargestJump is the row whose mean relative error exceeds that of its
	// inputs by the largest factor, Jump the factor.
	LargestJump int
	Jump        float64
	// Chain are the bad rows that are reached from FirstBad, in order, and
	// OutputsBad says whether outputs of the network are among them.
	Chain      []int
	OutputsBad bool
}

// NoFindings are the findings of a run without any.
func NoFindings() Findings {
	return Findings{FirstBad: -1, FirstDamaged: -1, LastGood: -1, FirstNaN: -1, FirstOverflow: -1, LargestJump: -1}
}

// Baseline compares the run with an earlier one.
type Baseline struct {
	File string
	// The lists hold indexes into Rows.
	New, Known, Worse, Fixed []int
	// Missing are the op:output:k of the baseline that this run lacks.
	Missing []string
	Updated bool
}

// File is a report that was written. Its name is that in the folder of
// compare.json.
type File struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// Count counts the rows by status.
func (r *Report) Count() {
	r.Counts = map[Status]int{}
	for i := range r.Rows {
		r.Counts[r.Rows[i].Status]++
	}
	if r.LeftOut > 0 {
		r.Counts[Pass] += r.LeftOut
	}
}

// Worst returns the indexes of the compared rows that did not pass, at most n:
// failures first, then by the share of errors, by the mean relative and by the
// largest absolute error.
func (r *Report) Worst(n int) []int {
	type rank struct {
		row int
		by  [4]float64 // from the most important; more is worse
	}
	var all []rank
	for i, row := range r.All() {
		if !row.Compared() || row.Status == Pass {
			continue
		}
		result := row.Result
		fails := 0.0
		if row.Status == Fail {
			fails = 1
		}
		all = append(all, rank{i, [4]float64{fails, Share(max(row.Errors, result.StrictErrors()), result.Total),
			orLeast(result.MeanRel), orLeast(result.MaxAbs.Metric)}})
	}
	slices.SortStableFunc(all, func(a, b rank) int { return slices.Compare(b.by[:], a.by[:]) })
	worst := make([]int, 0, min(n, len(all)))
	for _, a := range all[:min(n, len(all))] {
		worst = append(worst, a.row)
	}
	return worst
}

// orLeast is a metric for sorting: an undefined one is less than all others.
func orLeast(m metrics.Metric) float64 {
	if !m.Defined {
		return math.Inf(-1)
	}
	return m.Value
}

// Share is part/whole, 0 of nothing.
func Share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// found names the row of a finding, nil if there is none.
func (r *Report) found(i int) *string {
	if i < 0 || i >= r.Len() {
		return nil
	}
	name := r.Row(i).Name()
	return &name
}

// names lists rows by name.
func (r *Report) names(rows []int) []string {
	all := make([]string, 0, len(rows))
	for _, i := range rows {
		if name := r.found(i); name != nil {
			all = append(all, *name)
		}
	}
	return all
}
