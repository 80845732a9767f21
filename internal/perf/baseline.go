package perf

import "slices"

// Status says how the cycles of an operator are beside those of the baseline.
type Status string

// The statuses.
const (
	Slower  Status = "SLOWER"
	Faster  Status = "FASTER"
	Same    Status = "SAME"
	New     Status = "NEW"     // the baseline does not have it
	Unknown Status = "UNKNOWN" // one of the two numbers of cycles is unknown
)

// Code names a finding about an operator.
type Code string

// The findings.
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
	case th.Regress.grew(before.N, after.N, th.MinCycles):
		return Slower
	case th.Regress.shrank(before.N, after.N, th.MinCycles):
		return Faster
	}
	return Same
}

// advise lists the findings about an operator.
func advise(o *Operator, th *Thresholds) []Advice {
	var all []Advice
	if grewIn(o, PLDByte, th.Grow, th.MinBytes) {
		all = append(all, repeatedMoves(o))
	}
	for _, c := range []struct {
		code   Code
		column Column
	}{{L1Conflicts, L1Conflict}, {IMBConflicts, IMConflict}} {
		n, mcu := o.Get(c.column), o.Get(MCU)
		switch {
		case o.Before != nil:
			if grewIn(o, c.column, th.Grow, th.MinCycles) {
				all = append(all, conflictsGrew(o, c.code, c.column))
			}
		case n.Known && mcu.N > 0 && th.Conflict.atLeast(n.N, mcu.N):
			all = append(all, conflicts(o, c.code, c.column))
		}
	}
	if o.Cores != nil && o.Cores.uneven(th.Imbalance, th.MinCycles) {
		all = append(all, imbalance(o))
	}
	return all
}

// grewIn reports whether a counter grew since the baseline.
func grewIn(o *Operator, c Column, share Ratio, least int64) bool {
	before, after := o.WasBefore(c), o.Get(c)
	return before.Known && after.Known && share.grew(before.N, after.N, least)
}

// Failure is something beside a baseline that can fail.
type Failure string

// The failures.
const (
	FailSlower    Failure = "slower"
	FailMoves     Failure = "moves"
	FailConflicts Failure = "conflicts"
	FailNew       Failure = "new"
	FailMissing   Failure = "missing"
)

// FailNames are all failures.
func FailNames() []Failure {
	return []Failure{FailSlower, FailMoves, FailConflicts, FailNew, FailMissing}
}

// FailOn are the failures that count.
type FailOn []Failure

// reasons are what of an operator fails, by the names of reports. A finding without a
// row of the baseline does not.
func (f FailOn) reasons(o *Operator) []string {
	var all []string
	add := func(wanted Failure, found bool, name string) {
		if found && slices.Contains(f, wanted) {
			all = append(all, name)
		}
	}
	add(FailSlower, o.Status == Slower, string(Slower))
	for _, code := range o.Worse() {
		add(FailMoves, code == RepeatedMoves, string(code))
		add(FailConflicts, code != RepeatedMoves, string(code))
	}
	add(FailNew, o.Status == New, string(New))
	return all
}
