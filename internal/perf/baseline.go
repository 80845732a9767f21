package perf

import (
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/lang"
)

// Status compares the cycles of an operator with the baseline.
type Status string

// Values of Status.
const (
	Slower  Status = "SLOWER"
	Faster  Status = "FASTER"
	Same    Status = "SAME"
	New     Status = "NEW"     // not in the baseline
	Unknown Status = "UNKNOWN" // the cycles of one side are unknown
)

// Code names a finding about an operator.
type Code string

// Values of Code.
const (
	RepeatedMoves Code = "REPEATED_MOVES"
	L1Conflicts   Code = "L1_CONFLICTS"
	IMBConflicts  Code = "IMB_CONFLICTS"
	Imbalance     Code = "IMBALANCE"
)

// statusOf compares an operator with the baseline.
func statusOf(o *Operator, th *Thresholds) Status {
	if o.Before == nil {
		return New
	}
	before, after := o.Before.Get(MCU), o.Get(MCU)
	switch {
	case !before.Known || !after.Known:
		return Unknown
	case th.Regress.hasGrown(before.N, after.N, th.MinCycles):
		return Slower
	case th.Regress.hasShrunk(before.N, after.N, th.MinCycles):
		return Faster
	}
	return Same
}

// advise lists the findings about an operator.
func advise(o *Operator, th *Thresholds) []Advice {
	var all []Advice
	if hasGrownIn(o, PLDByte, th.Grow, th.MinBytes) {
		all = append(all, adviseRepeatedMoves(o))
	}
	for _, c := range []struct {
		code   Code
		column Column
	}{{L1Conflicts, L1Conflict}, {IMBConflicts, IMConflict}} {
		n, mcu := o.Get(c.column), o.Get(MCU)
		switch {
		case o.Before != nil:
			if hasGrownIn(o, c.column, th.Grow, th.MinCycles) {
				all = append(all, adviseConflictGrowth(o, c.code, c.column))
			}
		case n.Known && mcu.N > 0 && th.Conflict.isReached(n.N, mcu.N):
			all = append(all, adviseConflicts(o, c.code, c.column))
		}
	}
	if o.Cores != nil && o.Cores.isUneven(th.Imbalance, th.MinCycles) {
		all = append(all, adviseImbalance(o))
	}
	return all
}

// hasGrownIn reports whether a counter grew since the baseline.
func hasGrownIn(o *Operator, c Column, share Ratio, minimum int64) bool {
	before, after := o.BaselineCount(c), o.Get(c)
	return before.Known && after.Known && share.hasGrown(before.N, after.N, minimum)
}

// Failure is a kind of regression that --fail-on can select.
type Failure string

// Values of Failure.
const (
	FailSlower    Failure = "slower"
	FailMoves     Failure = "moves"
	FailConflicts Failure = "conflicts"
	FailNew       Failure = "new"
	FailMissing   Failure = "missing"
)

// FailNames returns all failures.
func FailNames() []Failure {
	return []Failure{FailSlower, FailMoves, FailConflicts, FailNew, FailMissing}
}

// FailOn lists the failures that count.
type FailOn []Failure

// failuresOf returns the failures of an operator, by their names in reports. A finding needs a row of
// the baseline to fail.
func (f FailOn) failuresOf(o *Operator) []string {
	var all []string
	add := func(failure Failure, found bool, name string) {
		if found && slices.Contains(f, failure) {
			all = append(all, name)
		}
	}
	add(FailSlower, o.Status == Slower, string(Slower))
	for _, code := range o.Regressions() {
		add(FailMoves, code == RepeatedMoves, string(code))
		add(FailConflicts, code != RepeatedMoves, string(code))
	}
	add(FailNew, o.Status == New, string(New))
	return all
}

// Thresholds holds the limits of classes and findings. They are ours: HPAA's manual gives none.
type Thresholds struct {
	// Busy is the share of mcu_cycle from which a unit is busy. Lead is the ratio of moves to
	// maths from which moves lead, and of maths to moves from which maths lead.
	Busy Ratio `json:"busy"`
	Lead Ratio `json:"lead"`
	// Half is the share of mcu_cycle below which the units together do little, and the overlap
	// below which moves and maths wait for each other if both have at least the share Small.
	Half  Ratio `json:"half"`
	Small Ratio `json:"small"`
	// Wait is the share of mcu_cycle from which waiting for other cores is too long, Conflict the
	// same for bank conflicts without a baseline.
	Wait     Ratio `json:"wait"`
	Conflict Ratio `json:"conflict"`
	// Grow is the tolerated relative growth of bytes and conflicts since the baseline, Regress of
	// mcu_cycle. Growth below MinBytes and MinCycles is ignored.
	Grow      Ratio `json:"grow"`
	Regress   Ratio `json:"regress"`
	MinBytes  int64 `json:"min_bytes"`
	MinCycles int64 `json:"min_cycles"`
	// Imbalance is the limit of the slowest core relative to the mean of the cores, Unstable of the
	// longest run relative to the median of the runs.
	Imbalance Ratio `json:"imbalance"`
	Unstable  Ratio `json:"unstable"`
}

// DefaultThresholds returns the default thresholds.
func DefaultThresholds() Thresholds {
	return Thresholds{
		Busy: mustRatio("0.6"), Lead: mustRatio("1.25"), Half: mustRatio("0.5"), Small: mustRatio("0.15"), Wait: mustRatio("0.25"), Conflict: mustRatio("0.1"),
		Grow: mustRatio("0.05"), Regress: mustRatio("0.05"), MinBytes: 4096, MinCycles: 1000,
		Imbalance: mustRatio("1.25"), Unstable: mustRatio("1.25"),
	}
}

// failures lists regressions with their counts, such as SLOWER 2, NEW 1; empty for none. An
// operator may count more than once.
func (r *Report) failures(f FailOn) string {
	if r.BaselineSummary == nil {
		return ""
	}
	counts := make(map[string]int)
	for _, o := range r.Operators {
		for _, what := range f.failuresOf(o) {
			counts[what]++
		}
	}
	const missing = "MISSING"
	if slices.Contains(f, FailMissing) {
		counts[missing] = len(r.BaselineSummary.Missing)
	}
	var parts []string
	for _, what := range []string{string(Slower), string(RepeatedMoves), string(L1Conflicts), string(IMBConflicts), string(New), missing} {
		if counts[what] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", what, counts[what]))
		}
	}
	return strings.Join(parts, ", ")
}

// Outcome returns the outcome of reading and comparing.
func (r *Report) Outcome(f FailOn) batch.Outcome {
	const shown = 20
	operators := lang.CountText(len(r.Operators), "operator")
	var messages []batch.Message
	for i, p := range r.Problems {
		if i == shown {
			messages = append(messages, batch.Errorf("%d more problems (--json lists them)", len(r.Problems)-shown))
			break
		}
		messages = append(messages, batch.Errorf("%s", p))
	}
	o := batch.Outcome{Messages: messages}
	failed := r.failures(f)
	switch {
	case len(r.Problems) > 0:
		o.Kind, o.Text = batch.Incomplete, lang.Say("%s read, %s: lines or tables that cannot be used", operators, lang.CountText(len(r.Problems), "problem"))
	case len(r.Files) == 0:
		o.Kind, o.Text = batch.Nothing, lang.Say("no table of operators in %s, want op_perf.csv or op_perf_{core}.csv", strings.Join(r.Paths, ", "))
	case len(r.Operators) == 0 && len(r.Hidden) > 0:
		o.Kind, o.Text = batch.Nothing, lang.Say("nothing is left: %s excluded", lang.CountText(len(r.Hidden), "operator"))
	case len(r.Operators) == 0:
		o.Kind, o.Text = batch.Nothing, lang.Say("no operators in %s", strings.Join(r.Files, ", "))
	case failed != "":
		o.Kind, o.Text = batch.Found, lang.Say("worse than the baseline: %s", failed)
	}
	return o
}
