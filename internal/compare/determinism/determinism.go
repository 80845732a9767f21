// Package determinism compares runs of one network that should be bitwise equal: which tensors differ, where the
// first difference is, and whether its cause is a fault, such as a damaged value, or harmless, such as a changed
// order of additions. Check reads the runs and returns a Report; start there.
package determinism

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"dumptool/internal/batch"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/sidefile"
)

// Schema is the schema of a Report document.
const Schema = "dumptool/determinism/1"

// Report is the bitwise comparison of several runs of one network, and its
// document.
type Report struct {
	Schema string `json:"schema"`
	// Runs are the paths of the runs; the first run is the reference of all others.
	Runs []string `json:"runs"`
	// OrderSource says where the execution order comes from.
	OrderSource lang.Sentence `json:"order_source"`
	Summary
	// Missing lists rounds, then tensors, that some run lacks, each with the run; null for none.
	Missing       []lang.Sentence `json:"missing"`
	MissingRounds int             `json:"-"` // statisticText of rounds in Missing
	// LeftOut lists existing data that was not compared, with the reason: tensors that the user skips, other rounds,
	// and files of earlier executions that another run lacks.
	LeftOut []lang.Sentence `json:"left_out"`
	// Warnings are warnings about the runs.
	Warnings []lang.Sentence `json:"warnings"`
	// Rows are all tensors of the first run that another run has, in execution order.
	Rows []Row `json:"rows"`
	// Selected: the user selected operators; no list has other operators.
	Selected bool `json:"-"`
	// Recomputed: differing operators were recomputed from their inputs.
	Recomputed bool `json:"-"`
}

// Summary summarises the rows of a Report.
type Summary struct {
	// Tensors counts the rows, Differing the rows that differ, Unread the rows that could not
	// be read.
	Tensors   int `json:"tensors"`
	Differing int `json:"differing"`
	Unread    int `json:"unread"`
	// First names the first row that differs, null for none. Start names the first input that
	// differs although no earlier output does; Origin names the first output that differs
	// although all known inputs of its operator agree.
	First  *string `json:"first"`
	Start  *string `json:"start"`
	Origin *string `json:"origin"`
	// Faults and Unexplained count the differing outputs whose cause is FAULT and UNKNOWN; FirstFault
	// names the first FAULT, null for none.
	Faults      int     `json:"faults"`
	Unexplained int     `json:"unexplained"`
	FirstFault  *string `json:"first_fault"`
	// Groups are the runs by their contents: runs of one group agree in all tensors.
	Groups [][]string `json:"groups"`
}

// IsComplete reports whether the comparison covers all tensors of all runs.
func (d *Report) IsComplete() bool { return len(d.Missing)+len(d.LeftOut) == 0 && !d.Selected }

// Conclude computes the summary of the rows.
func (d *Report) Conclude() {
	d.Summary = Summary{Tensors: len(d.Rows), First: d.rowName(d.FirstRow()), Start: d.rowName(d.StartRow()), Origin: d.rowName(d.OriginRow()), Groups: d.groupRuns()}
	for i := range d.Rows {
		r := &d.Rows[i]
		if r.Differs() {
			d.Differing++
		}
		switch {
		case r.isInput():
		case r.Cause == Fault:
			if d.Faults++; d.Faults == 1 {
				d.FirstFault = d.rowName(i)
			}
		case r.Cause == Unknown:
			d.Unexplained++
		}
		if d.Rows[i].Err != nil {
			d.Unread++
		}
	}
}

// rowName returns the name of a row, nil for -1.
func (d *Report) rowName(i int) *string {
	if i < 0 {
		return nil
	}
	return new(d.Rows[i].Name())
}

// FirstRow returns the index of the first row that differs, -1 if there is none.
func (d *Report) FirstRow() int {
	return slices.IndexFunc(d.Rows, func(r Row) bool { return r.Differs() })
}

// StartRow returns the index of the row named by Start, -1 for none.
func (d *Report) StartRow() int { start, _ := d.findStarts(); return start }

// OriginRow returns the index of the row named by Origin, -1 for none.
func (d *Report) OriginRow() int { _, origin := d.findStarts(); return origin }

func (d *Report) findStarts() (start, origin int) {
	type found struct{ inputs, in, out int } // statisticText of inputs; first differing input and output
	of, all := map[call]*found{}, []*found(nil)
	for i := range d.Rows {
		r := &d.Rows[i]
		key := r.call()
		f := of[key]
		if f == nil {
			f = &found{in: -1, out: -1}
			of[key], all = f, append(all, f)
		}
		first := &f.out
		if r.isInput() {
			f.inputs++
			first = &f.in
		}
		if r.Differs() && *first < 0 {
			*first = i
		}
	}
	start, origin, computed := -1, -1, false
	for _, f := range all {
		if start < 0 && f.in >= 0 && !computed {
			start = f.in
		}
		if origin < 0 && f.inputs > 0 && f.in < 0 && f.out >= 0 {
			origin = f.out
		}
		computed = computed || f.out >= 0
	}
	return start, origin
}

// Row is a tensor in several runs.
type Row struct {
	// Op is the operator; Kind and Output identify its tensor; Round is the round if there are several.
	Op     string `json:"op"`
	Kind   string `json:"kind"`
	Output int    `json:"output"`
	Round  string `json:"round"`
	// Execution numbers the executions of the operator in one folder from 1, by their
	// timestamps; 0 for an operator that ran once. Executions with equal numbers are
	// compared.
	Execution int `json:"execution,omitempty"`
	// Order is the position of the operator in the execution order.
	Order int `json:"order"`
	// Status is PASS, FAIL or ERROR.
	Status record.Status `json:"status"`
	// Distinct is the number of different contents.
	Distinct int `json:"distinct"`
	// Places tells whether the same elements differ in all runs, if there are at least three contents.
	Places Places `json:"places"`
	// Cause says why the runs differ, Why and WhyZH give the reason in English and Chinese; empty for
	// equal runs.
	Cause Cause         `json:"cause,omitempty"`
	Why   lang.Sentence `json:"note,omitzero"`
	WhyZH string        `json:"note_zh,omitempty"`
	// Err says why the tensor could not be compared.
	Err lang.Failure `json:"error,omitempty"`
	// Empty: the tensor has no elements in any run.
	Empty bool `json:"-"`
	// Drifts has an entry for each run, the first run included.
	Drifts []Drift `json:"runs"`

	paths []string // of the files in all runs, empty for a missing one
}

// Places tells whether several runs differ in the same elements.
type Places string

// SamePlaces suggests a race on one part of a tensor, Scattered a changing order of
// additions, if the cause is unknown.
const (
	UnknownPlaces Places = ""
	SamePlaces    Places = "same"
	Scattered     Places = "scattered"
)

// Name returns op:output:k, followed by the round and the execution if there are
// several.
func (r *Row) Name() string {
	name := (&record.Row{Op: r.Op, Kind: r.Kind, Output: r.Output, Round: r.Round}).Name()
	if r.Execution > 0 {
		name += " execution " + strconv.Itoa(r.Execution)
	}
	return name
}

// Differs reports whether the runs differ.
func (r *Row) Differs() bool { return r.Distinct > 1 }

// DiffersEverywhere reports whether some run differs from the first in each element.
func (r *Row) DiffersEverywhere() bool {
	return slices.ContainsFunc(r.Drifts, func(d Drift) bool { return d.Elements > 0 && d.Bits == d.Elements })
}

// Drift is the difference of a tensor of one run from the first run.
type Drift struct {
	// Run is the path of the run.
	Run string `json:"run"`
	// File is nil if the run does not have the tensor.
	File *string `json:"file"`
	// CRC is the Castagnoli checksum of the stored bytes, nil if they could not be read.
	// Table: the run has no elements of the tensor, only statistics or a digest.
	CRC   *CRC `json:"crc32c"`
	Table bool `json:"-"`
	// Compared: the stored bytes differ from the first run's, and the elements were
	// compared.
	Compared bool `json:"-"`
	// Differ counts the elements whose value differs from the first run, Bits the elements
	// whose stored bits differ, whether or not the value does.
	Differ int64 `json:"differ"`
	Bits   int64 `json:"differ_bits"`
	// First is the offset of the first element whose value differs, MaxAbs and MaxULP are the
	// largest distances.
	First  *int64         `json:"first"`
	MaxAbs metrics.Metric `json:"max_abs"`
	MaxULP metrics.Metric `json:"max_ulp"`
	// Why explains a difference other than in values: of shapes or types, so that elements
	// cannot be compared, or of bits alone.
	Why lang.Sentence `json:"why,omitzero"`
	// Elements is the number of elements. Flipped: a single bit of a single element differs.
	Elements int64 `json:"-"`
	Flipped  bool  `json:"-"`
	places   uint64
	// fraction is the number of fraction bits of the numbers, unused the number of further bits that the stored type
	// has: float32 files may hold numbers of bfloat16 and float16. fraction is 0 for integers.
	fraction, unused int
	// steps is the largest distance in units of the largest number times the epsilon of its type; jump is the largest
	// distance in this unit or in the median distance, whichever is larger. Both are infinite if the numbers of NaN
	// differ.
	steps, jump float64
}

// CRC is a checksum; in documents eight hexadecimal digits.
type CRC uint32

// MarshalText implements encoding.TextMarshaler.
func (c CRC) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%08x", uint32(c)), nil }

// Options select the runs and their tensors.
type Options struct {
	Runs []string
	// Rounds selects the rounds of all runs.
	Rounds dumpdir.Selection
	Pair   plan.PairOptions
	// SideFiles and OrderBy are as in plan.Options.
	SideFiles sidefile.Inputs
	OrderBy   dumpdir.OrderSource
	// Files are the side files by their paths, IR is as in plan.Options.
	Files   sidefile.Files
	IR      string
	Version int
	Workers int
	Observe func(batch.Event)
}

// Check compares tensors of the same name in several runs. Elements are only read if the
// stored bytes differ.
func Check(ctx context.Context, opt Options) (*Report, error) {
	if opt.Workers <= 0 {
		opt.Workers = plan.DefaultWorkers()
	}
	d := &Report{Schema: Schema, Runs: opt.Runs, LeftOut: []lang.Sentence{}, Warnings: []lang.Sentence{}, Selected: opt.Pair.Ops != nil}
	d.warnOfSameFolder()
	all, unread, err := d.match(ctx, &opt)
	if err != nil {
		return nil, err
	}
	cost := func(t pairedTensors) int64 {
		var size int64
		for _, it := range t.items {
			if it != nil {
				size += it.Size
			}
		}
		return size
	}
	err = batch.Run(ctx, batch.Options{Workers: opt.Workers, Observe: opt.Observe}, all, cost,
		func(ctx context.Context, t pairedTensors) Row { return t.check(ctx, &opt) },
		func(_ int, r Row) { d.Rows = append(d.Rows, r) })
	if err != nil {
		return nil, err
	}
	if n := d.countTables(); n > 0 {
		d.Warnings = append(d.Warnings, lang.Say("%s compared by digests or by four statistics, which do not prove equal bits", lang.CountText(n, "tensor")))
	}
	if len(d.Rows) == 0 && unread != nil {
		return nil, unread
	}
	if len(d.Rows) == 0 {
		return nil, plan.Nothingf("no tensor is in two runs")
	}
	if err := d.explain(ctx, &opt); err != nil {
		return nil, err
	}
	d.Conclude()
	return d, nil
}

// countTables counts the rows compared by digests or statistics.
func (d *Report) countTables() (n int) {
	for i := range d.Rows {
		if slices.ContainsFunc(d.Rows[i].Drifts, func(f Drift) bool { return f.Table }) {
			n++
		}
	}
	return n
}

// warnOfSameFolder warns of runs that are the same folder: they are trivially equal.
func (d *Report) warnOfSameFolder() {
	for i, path := range d.Runs {
		same := func(other string) bool { return safefile.IsSameFile(other, path) }
		if k := slices.IndexFunc(d.Runs[:i], same); k >= 0 {
			d.Warnings = append(d.Warnings, lang.Say("%s and %s are the same folder or file: comparing them proves nothing", d.Runs[k], path))
		}
	}
}

// Outcome returns the outcome by priority: unreadable tensors, differing tensors (not with
// exitZero, and only unexplained ones with onlyFaults), tensors or rounds missing in some runs.
func (d *Report) Outcome(exitZero, onlyFaults bool) batch.Outcome {
	o := d.outcome(exitZero || onlyFaults && d.Faults+d.Unexplained == 0)
	for i := range d.Rows {
		if err := d.Rows[i].Err; err != nil {
			o.Messages = append(o.Messages, batch.Errorf("%v", err))
		}
	}
	const shown = 10
	for _, m := range d.Missing[:min(len(d.Missing), shown)] {
		o.Messages = append(o.Messages, batch.Warnf("%s", m))
	}
	if more := len(d.Missing) - shown; more > 0 {
		o.Messages = append(o.Messages, batch.Warnf("and %d more", more))
	}
	return o
}

// IsEmpty reports whether no tensor has an element.
func (d *Report) IsEmpty() bool {
	return !slices.ContainsFunc(d.Rows, func(r Row) bool { return !r.Empty })
}

func (d *Report) outcome(exitZero bool) batch.Outcome {
	switch {
	case d.Unread > 0:
		return batch.Outcomef(batch.Incomplete, "%s could not be read, %d differ", lang.CountText(d.Unread, "tensor"), d.Differing)
	case d.Differing > 0 && !exitZero:
		return batch.Outcomef(batch.Found, "%d of %d tensors differ", d.Differing, len(d.Rows)).AsShown()
	case d.Differing == 0 && d.IsEmpty():
		return batch.Outcomef(batch.Nothing, "nothing was compared: %s without elements", lang.CountText(len(d.Rows), "tensor")).AsShown()
	case d.MissingRounds > 0:
		return batch.Outcomef(batch.NotCovered, "%s and %s not in all runs", lang.CountText(d.MissingRounds, "round"), lang.CountText(len(d.Missing)-d.MissingRounds, "tensor"))
	case len(d.Missing) > 0:
		return batch.Outcomef(batch.NotCovered, "%s not in all runs", lang.CountText(len(d.Missing), "tensor"))
	}
	return batch.Outcome{}
}

// pairedTensors has a tensor of the first run and its partners in the other runs, nil for a missing partner.
type pairedTensors struct {
	row   Row
	items []*plan.Tensor
}

// match finds the partners of the first run's tensors in all other runs.
func (d *Report) match(ctx context.Context, opt *Options) (all []pairedTensors, unread, err error) {
	opt.Pair.SameRounds = true
	planning := plan.Options{Pair: opt.Pair, SideFiles: opt.SideFiles, OrderBy: opt.OrderBy, Version: opt.Version, Workers: opt.Workers}
	var sides []*plan.Side
	for _, path := range opt.Runs {
		s, err := plan.OpenSide(ctx, &planning, path, opt.Rounds)
		if err != nil {
			return nil, nil, err
		}
		d.Warnings = append(d.Warnings, s.Warnings...)
		sides = append(sides, s)
		for _, x := range s.Tensors {
			if x.Err != nil && unread == nil {
				unread = safefile.WithPath(x.Path, x.Err)
			}
		}
	}
	if err := checkComparable(sides); err != nil {
		return nil, nil, err
	}
	d.warn(plan.ChoiceWarnings(sides...))
	p := &partners{report: d, byFirst: make([][]*plan.Tensor, len(sides[0].Tensors)), leftOut: map[string]bool{}}
	var rows []plan.Pair
	var last *plan.Planner
	for run, other := range sides[1:] {
		match := plan.PlanSides(&planning, other, sides[0])
		d.warn(match.AllWarnings())
		rows = mergeRows(rows, p.add(match, run+1))
		last = match
	}
	d.MissingRounds = len(p.missingRounds)
	d.Missing = append(p.missingRounds, d.Missing...)
	last.Pairs = rows
	if err := last.Sort(); err != nil {
		return nil, nil, err
	}
	d.warn(last.AllWarnings()) // now including warnings about the order
	d.OrderSource = last.OrderSource()
	for _, x := range last.Pairs {
		if x.NPU != nil && p.byFirst[x.NPU.ID] != nil {
			r := x.Row
			all = append(all, pairedTensors{Row{Op: r.Op, Kind: r.Kind, Output: r.Output, Round: r.Round, Order: r.Order, Execution: x.Execution}, p.byFirst[x.NPU.ID]})
			p.byFirst[x.NPU.ID] = nil // one row for a tensor paired in several rounds
		}
	}
	return all, unread, nil
}

// checkComparable returns an error if one run has only statistics and another has none.
func checkComparable(sides []*plan.Side) error {
	bare := slices.ContainsFunc(sides, func(s *plan.Side) bool {
		return !slices.ContainsFunc(s.Tensors, func(t *plan.Tensor) bool { return t.Statistics != nil && t.Statistics.CanReplaceElements() })
	})
	for _, s := range sides {
		if err := s.CheckTensors(); bare && err != nil {
			return err
		}
	}
	return nil
}

// warn adds the warnings that are not yet in the list: runs often cause the same
// ones.
func (d *Report) warn(more []lang.Sentence) {
	for _, w := range more {
		if !slices.ContainsFunc(d.Warnings, w.Equal) {
			d.Warnings = append(d.Warnings, w)
		}
	}
}

// mergeRows appends the pairs whose NPU tensor is not yet in rows. It drops their partners,
// which belong to different runs.
func mergeRows(rows, more []plan.Pair) []plan.Pair {
	seen := map[int]bool{}
	for _, x := range rows {
		if x.NPU != nil {
			seen[x.NPU.ID] = true
		}
	}
	for _, x := range more {
		if x.NPU != nil && x.Ref != nil && !seen[x.NPU.ID] {
			x.Ref, seen[x.NPU.ID] = nil, true
			rows = append(rows, x)
		}
	}
	return rows
}

// partners maps the tensors of the first run to their partners in all runs.
type partners struct {
	report *Report
	// byFirst has, for each tensor of the first run, its partners in all runs; nil if it
	// has none.
	byFirst [][]*plan.Tensor
	// leftOut has the entries of Report.LeftOut, to avoid duplicates.
	leftOut       map[string]bool
	missingRounds []lang.Sentence
}

// add adds the pairs of a run with the first run, and returns them, with a pair for each
// earlier execution.
func (p *partners) add(match *plan.Planner, run int) []plan.Pair {
	var rows []plan.Pair
	name, first := p.report.Runs[run], p.report.Runs[0]
	for _, x := range match.Pairs {
		switch {
		case x.Row.Pair.Status == record.Skip:
			p.leaveOut(x.Row.Name(), x.Row.Pair.Reasons[0].Evidence)
			p.leaveOutOlder(match, &x, lang.Say("skipped in both runs"))
		case x.Ref != nil && x.NPU != nil:
			rows = append(rows, p.matchExecutions(match, &x, run)...)
			continue
		case x.Row.Pair.Status == record.Ambiguous:
			p.report.Missing = append(p.report.Missing, lang.Say("%s: ambiguous in %s: %s", x.Row.Name(), name, x.Row.Pair.Reasons[0].Evidence))
		case x.NPU != nil:
			p.report.Missing = append(p.report.Missing, lang.Say("%s: not in %s", x.Row.Name(), name))
			p.leaveOutOlder(match, &x, lang.Say("an earlier execution, and not in %s", name))
		default:
			p.report.Missing = append(p.report.Missing, lang.Say("%s: not in %s", x.Row.Name(), first))
			p.leaveOutOlder(match, &x, lang.Say("an earlier execution, and not in %s", first))
		}
		rows = append(rows, x)
	}
	p.addMissingRounds(match.NPURounds, name)
	p.addMissingRounds(match.RefRounds, first)
	for _, other := range match.OtherRounds {
		p.leaveOut("round "+other, lang.Say("not chosen"))
	}
	return rows
}

// addMissingRounds adds rounds that a run lacks to the missing ones.
func (p *partners) addMissingRounds(rounds []*dumpdir.Round, run string) {
	for _, r := range rounds {
		p.missingRounds = append(p.missingRounds, lang.Say("%s: not in %s", r.At.Name(), run))
	}
}

// leaveOut adds an entry to Report.LeftOut, once.
func (p *partners) leaveOut(what string, why lang.Sentence) {
	if !p.leftOut[what] {
		p.leftOut[what] = true
		p.report.LeftOut = append(p.report.LeftOut, lang.Say("%s: %s", what, why))
	}
}

// leaveOutOlder leaves out the earlier executions of a pair on both sides.
func (p *partners) leaveOutOlder(match *plan.Planner, x *plan.Pair, why lang.Sentence) {
	for _, npu := range []bool{false, true} {
		for _, it := range match.Executions(x, npu) {
			if it != x.Ref && it != x.NPU {
				p.leaveOut(it.String(), why)
			}
		}
	}
}

// matchExecutions returns a pair for each execution if both runs have equally many in a certain
// order; otherwise only for the last execution.
func (p *partners) matchExecutions(match *plan.Planner, x *plan.Pair, run int) []plan.Pair {
	here, there := match.Executions(x, true), match.Executions(x, false)
	if len(here) != len(there) || match.HaveSameTime(here, true) || match.HaveSameTime(there, false) {
		var order lang.Sentence
		if len(here) == len(there) {
			order = lang.Say(", in an uncertain order")
		}
		p.report.Missing = append(p.report.Missing, lang.Say("%s: executed %s in %s, %s in %s%s: only the last executions were compared",
			x.Row.Name(), lang.CountText(len(here), "time"), p.report.Runs[0], lang.CountText(len(there), "time"), p.report.Runs[run], order))
		p.leaveOutOlder(match, x, lang.Say("an earlier execution"))
		here, there = here[len(here)-1:], there[len(there)-1:]
	}
	rows := make([]plan.Pair, len(here))
	for k := range here {
		rows[k] = *x
		row := *x.Row // each execution has its own Order
		rows[k].Row = &row
		rows[k].NPU, rows[k].Ref = here[k], there[k]
		if len(here) > 1 {
			rows[k].Execution = k + 1
		}
		entry := &p.byFirst[here[k].ID]
		if *entry == nil {
			*entry = make([]*plan.Tensor, len(p.report.Runs))
			(*entry)[0] = here[k]
		}
		(*entry)[run] = there[k]
	}
	return rows
}
