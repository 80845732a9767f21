// Package determinism compares runs of one network that ought to give the same
// bits: which tensors differ, where the first difference is, and whether it looks
// like a damaged value or like sums in another order.
package determinism

import (
	"cmp"
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
	"dumptool/internal/tensor"
)

// Schema is that of a Report as a document.
const Schema = "dumptool/determinism/1"

// Report is what several runs of one network have in common, bit for bit, and the
// document of it.
type Report struct {
	Schema string `json:"schema"`
	// Runs are the paths of the runs, the first one is the yardstick.
	Runs []string `json:"runs"`
	// OrderSource says where the execution order comes from.
	OrderSource lang.Sentence `json:"order_source"`
	Found
	// Missing names the rounds, MissingRounds in number, and then the tensors that some
	// run lacks, with the runs; null for none.
	Missing       []string `json:"missing"`
	MissingRounds int      `json:"-"`
	// LeftOut names what was not compared although it is there, with the
	// reason: tensors that the user skips, other rounds, and the files of
	// earlier executions that another run has not.
	LeftOut []lang.Sentence `json:"left_out"`
	// Warnings are about the runs.
	Warnings []lang.Sentence `json:"warnings"`
	// Rows are all tensors that the first run and another one have, in execution
	// order.
	Rows []Row `json:"rows"`
	// Selected is set when only some operators were asked for; the others are
	// in no list.
	Selected bool `json:"-"`
}

// Found sums up the rows of a Report.
type Found struct {
	// Tensors counts the rows, Differing those that differ, Unread those that could not be
	// read.
	Tensors   int `json:"tensors"`
	Differing int `json:"differing"`
	Unread    int `json:"unread"`
	// First names the first row that differs, null for none. Start names the first input
	// that differs though no output before it does, Origin the first output that differs
	// though all inputs of its operator, which are known, agree.
	First  *string `json:"first"`
	Start  *string `json:"start"`
	Origin *string `json:"origin"`
}

// Whole reports whether all tensors of all runs were compared or tried.
func (d *Report) Whole() bool { return len(d.Missing)+len(d.LeftOut) == 0 && !d.Selected }

// Conclude sums up the rows.
func (d *Report) Conclude() {
	d.Found = Found{Tensors: len(d.Rows), First: d.name(d.FirstRow()), Start: d.name(d.StartRow()), Origin: d.name(d.OriginRow())}
	for i := range d.Rows {
		if d.Rows[i].Differs() {
			d.Differing++
		}
		if d.Rows[i].Err != nil {
			d.Unread++
		}
	}
}

// name names a row, nil for -1.
func (d *Report) name(i int) *string {
	if i < 0 {
		return nil
	}
	return new(d.Rows[i].Name())
}

// FirstRow is the index of the first row that differs, -1 if there is none.
func (d *Report) FirstRow() int {
	return slices.IndexFunc(d.Rows, func(r Row) bool { return r.Differs() })
}

// StartRow is the index of the row that Start names, -1 for none.
func (d *Report) StartRow() int { start, _ := d.begin(); return start }

// OriginRow is the index of the row that Origin names, -1 for none.
func (d *Report) OriginRow() int { _, origin := d.begin(); return origin }

func (d *Report) begin() (start, origin int) {
	type operator struct {
		round, op string
		execution int
	}
	type found struct{ inputs, in, out int } // how many, and the first that differ
	of, all := map[operator]*found{}, []*found(nil)
	for i := range d.Rows {
		r := &d.Rows[i]
		key := operator{r.Round, r.Op, r.Execution}
		f := of[key]
		if f == nil {
			f = &found{in: -1, out: -1}
			of[key], all = f, append(all, f)
		}
		first := &f.out
		if tensor.Kind(r.Kind).IsInput() {
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

// Row is one tensor in several runs.
type Row struct {
	// Op is the operator, Kind and Output say which of its tensors it is, Round is the
	// round where there are several.
	Op     string `json:"op"`
	Kind   string `json:"kind"`
	Output int    `json:"output"`
	Round  string `json:"round"`
	// Execution counts the executions of the operator in one folder, from 1 and
	// by their timestamps; 0 for an operator that ran once. The first execution
	// of one run is compared with the first one of another.
	Execution int `json:"execution,omitempty"`
	// Order is the place of the operator in the execution order.
	Order int `json:"order"`
	// Status is PASS, FAIL or ERROR.
	Status record.Status `json:"status"`
	// Distinct counts the different contents.
	Distinct int `json:"distinct"`
	// Places says, for at least two runs that differ from the first, whether
	// the same elements differ in all of them.
	Places Places `json:"places"`
	// Err says why the tensor could not be compared.
	Err lang.Failure `json:"error,omitempty"`
	// Empty is set where no run has an element of it.
	Empty bool `json:"-"`
	// Drifts has an entry for each run, the first one is that of the yardstick.
	Drifts []Drift `json:"runs"`
}

// Places says where runs differ.
type Places string

// SamePlaces point to a race on one part of a tensor, Scattered ones to an
// order of additions that changes.
const (
	UnknownPlaces Places = ""
	SamePlaces    Places = "same"
	Scattered     Places = "scattered"
)

// Name names the row as op:output:k, with the round and the execution behind it
// where there are several.
func (r *Row) Name() string {
	name := (&record.Row{Op: r.Op, Kind: r.Kind, Output: r.Output, Round: r.Round}).Name()
	if r.Execution > 0 {
		name += " execution " + strconv.Itoa(r.Execution)
	}
	return name
}

// Differs reports whether the runs differ.
func (r *Row) Differs() bool { return r.Distinct > 1 }

// Drift is a tensor of one run beside that of the first.
type Drift struct {
	// Run is the path of the run.
	Run string `json:"run"`
	// File is nil where the run does not have the tensor.
	File *string `json:"file"`
	// CRC is the CRC-32C of the stored bytes, nil where they could not be read. Table is set
	// where there are none: the run has statistics or a digest of the tensor, no elements.
	CRC   *CRC `json:"crc32c"`
	Table bool `json:"-"`
	// Compared is set where the elements were compared with the first run's,
	// since the stored bytes differ.
	Compared bool `json:"-"`
	// Differ counts the elements that differ in value from the first run's, Bits those
	// whose stored bits differ, in value or not.
	Differ int64 `json:"differ"`
	Bits   int64 `json:"differ_bits"`
	// First is the offset of the first element that differs in value, MaxAbs and MaxULP
	// are the largest distances.
	First  *int64         `json:"first"`
	MaxAbs metrics.Metric `json:"max_abs"`
	MaxULP metrics.Metric `json:"max_ulp"`
	// Why says what differs in a tensor that differs in no value: the
	// shape or the type, so that elements could not be compared, or bits alone.
	Why    lang.Sentence `json:"why,omitzero"`
	places uint64
}

// CRC is a checksum, in documents eight digits in hex.
type CRC uint32

// MarshalText implements encoding.TextMarshaler.
func (c CRC) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%08x", uint32(c)), nil }

// Options say which runs are compared.
type Options struct {
	Runs []string
	// Rounds choose those of all runs.
	Rounds dumpdir.Selection
	Pair   plan.PairOptions
	// SideFiles and OrderBy are those of plan.Options.
	SideFiles sidefile.Inputs
	OrderBy   dumpdir.OrderBy
	Version   int
	Workers   int
	Observe   func(batch.Event)
}

// Check compares the contents of tensors of the same name in several
// runs. Only tensors whose stored bytes differ are looked into.
func Check(ctx context.Context, opt Options) (*Report, error) {
	if opt.Workers <= 0 {
		opt.Workers = plan.DefaultWorkers()
	}
	d := &Report{Schema: Schema, Runs: opt.Runs, LeftOut: []lang.Sentence{}, Warnings: []lang.Sentence{}, Selected: opt.Pair.Ops != nil}
	d.warnOfSame()
	all, unread, err := d.match(ctx, &opt)
	if err != nil {
		return nil, err
	}
	cost := func(t tensors) int64 {
		var size int64
		for _, it := range t.items {
			if it != nil {
				size += it.Size
			}
		}
		return size
	}
	err = batch.Run(ctx, batch.Options{Workers: opt.Workers, Observe: opt.Observe}, all, cost,
		func(ctx context.Context, t tensors) Row { return t.check(ctx, &opt) },
		func(_ int, r Row) { d.Rows = append(d.Rows, r) })
	if err != nil {
		return nil, err
	}
	if n := d.tables(); n > 0 {
		d.Warnings = append(d.Warnings, lang.Sayf("%s compared by digests, or by four numbers: equal ones do not prove equal bits", "%s按摘要或四个统计量比对：相同并不证明逐位相同", lang.CountText(n, "tensor", "个张量")))
	}
	if len(d.Rows) == 0 && unread != nil {
		return nil, unread
	}
	if len(d.Rows) == 0 {
		return nil, plan.Nothingf("no tensor is in two runs", "没有张量出现在两次运行中")
	}
	d.Conclude()
	return d, nil
}

// tables counts the rows that rest on digests or statistics.
func (d *Report) tables() (n int) {
	for i := range d.Rows {
		if slices.ContainsFunc(d.Rows[i].Drifts, func(f Drift) bool { return f.Table }) {
			n++
		}
	}
	return n
}

// warnOfSame warns of runs that are one folder, which cannot differ.
func (d *Report) warnOfSame() {
	for i, path := range d.Runs {
		same := func(other string) bool { return safefile.SameFile(other, path) }
		if k := slices.IndexFunc(d.Runs[:i], same); k >= 0 {
			d.Warnings = append(d.Warnings, lang.Sayf("%s and %s are the same folder or file: their equality says nothing", "%s 与 %s 是同一目录或文件：它们相同并不说明问题", d.Runs[k], path))
		}
	}
}

// Outcome is how the comparison of runs ended: what could not be read, then what
// differs, unless exitZero keeps that from the outcome, then what is not in all runs.
func (d *Report) Outcome(exitZero bool) batch.Outcome {
	o := d.ended(exitZero)
	for i := range d.Rows {
		if err := d.Rows[i].Err; err != nil {
			o.Messages = append(o.Messages, batch.Errorf("%v", "%v", err))
		}
	}
	const shown = 10
	for _, m := range d.Missing[:min(len(d.Missing), shown)] {
		o.Messages = append(o.Messages, batch.Warnf("%s", "%s", m))
	}
	if more := len(d.Missing) - shown; more > 0 {
		o.Messages = append(o.Messages, batch.Warnf("and %d more", "还有 %d 项", more))
	}
	return o
}

// Empty reports whether no tensor has an element.
func (d *Report) Empty() bool {
	return !slices.ContainsFunc(d.Rows, func(r Row) bool { return !r.Empty })
}

func (d *Report) ended(exitZero bool) batch.Outcome {
	switch {
	case d.Unread > 0:
		return batch.Outcomef(batch.Incomplete, "%s could not be read, %d differ", "%s无法读取，%d 个不一致", lang.CountText(d.Unread, "tensor", "个张量"), d.Differing)
	case d.Differing > 0 && !exitZero:
		return batch.Outcomef(batch.Found, "%d of %d tensors differ", "%[2]d 个张量中 %[1]d 个不一致", d.Differing, len(d.Rows)).AsShown()
	case d.Differing == 0 && d.Empty():
		return batch.Outcomef(batch.Nothing, "nothing was compared: %s without elements", "没有比对任何内容：%s均无元素", lang.CountText(len(d.Rows), "tensor", "个张量")).AsShown()
	case d.MissingRounds > 0:
		return batch.Outcomef(batch.NotCovered, "%s and %s not in all runs", "%s和 %s并非各次运行都有", lang.CountText(d.MissingRounds, "round", "个轮次"), lang.CountText(len(d.Missing)-d.MissingRounds, "tensor", "个张量"))
	case len(d.Missing) > 0:
		return batch.Outcomef(batch.NotCovered, "%s not in all runs", "%s并非各次运行都有", lang.CountText(len(d.Missing), "tensor", "个张量"))
	}
	return batch.Outcome{}
}

// tensors is a tensor of the first run and its partners in the others, nil
// where one has none.
type tensors struct {
	row   Row
	items []*plan.Tensor
}

// match finds the partners of the first run's tensors in all other runs.
func (d *Report) match(ctx context.Context, opt *Options) (all []tensors, unread, err error) {
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
	if err := comparable(sides); err != nil {
		return nil, nil, err
	}
	d.warn(plan.ChoiceWarnings(sides...))
	p := &partners{report: d, of: make([][]*plan.Tensor, len(sides[0].Tensors)), leftOut: map[string]bool{}}
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
	d.warn(last.AllWarnings()) // those of the order too
	d.OrderSource = last.OrderSource()
	for _, x := range last.Pairs {
		if x.NPU != nil && p.of[x.NPU.ID] != nil {
			r := x.Row
			all = append(all, tensors{Row{Op: r.Op, Kind: r.Kind, Output: r.Output, Round: r.Round, Order: r.Order, Execution: x.Execution}, p.of[x.NPU.ID]})
			p.of[x.NPU.ID] = nil // several rounds of a partner are one row
		}
	}
	return all, unread, nil
}

// comparable is nil unless a run has statistics only and another one has none.
func comparable(sides []*plan.Side) error {
	bare := slices.ContainsFunc(sides, func(s *plan.Side) bool {
		return !slices.ContainsFunc(s.Tensors, func(t *plan.Tensor) bool { return t.Statistics != nil && t.Statistics.Suffice() })
	})
	for _, s := range sides {
		if err := s.NoTensors(); bare && err != nil {
			return err
		}
	}
	return nil
}

// warn adds the warnings that are not there yet: what is said of one run is often said
// of all.
func (d *Report) warn(more []lang.Sentence) {
	for _, w := range more {
		if !slices.ContainsFunc(d.Warnings, w.Equal) {
			d.Warnings = append(d.Warnings, w)
		}
	}
}

// mergeRows adds the pairs of tensors that the first list does not have. Their
// partners are left out: they are of several runs.
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

// partners are the tensors of all runs by those of the first.
type partners struct {
	report *Report
	// of holds, for every item of the first run, its partners in all runs; nil
	// where it has none.
	of [][]*plan.Tensor
	// leftOut are the files that are in the list of what was left out.
	leftOut       map[string]bool
	missingRounds []string
}

// add adds the pairs of a run with the first one, and returns them with those of
// earlier executions.
func (p *partners) add(match *plan.Planner, run int) []plan.Pair {
	var rows []plan.Pair
	name, first := p.report.Runs[run], p.report.Runs[0]
	for _, x := range match.Pairs {
		switch {
		case x.Row.Pair.Status == record.Skip:
			p.leaveOut(x.Row.Name(), x.Row.Pair.Reasons[0].Evidence)
			p.leaveOutOlder(match, &x, lang.Sayf("skipped too", "同样跳过"))
		case x.Ref != nil && x.NPU != nil:
			rows = append(rows, p.executions(match, &x, run)...)
			continue
		case x.Row.Pair.Status == record.Ambiguous:
			p.report.Missing = append(p.report.Missing, fmt.Sprintf("%s: ambiguous in %s: %s", x.Row.Name(), name, x.Row.Pair.Reasons[0].Evidence.String()))
		case x.NPU != nil:
			p.report.Missing = append(p.report.Missing, fmt.Sprintf("%s: not in %s", x.Row.Name(), name))
			p.leaveOutOlder(match, &x, lang.Sayf("an earlier execution, and not in %s", "较早的执行，且 %s 中没有", name))
		default:
			p.report.Missing = append(p.report.Missing, fmt.Sprintf("%s: not in %s", x.Row.Name(), first))
			p.leaveOutOlder(match, &x, lang.Sayf("an earlier execution, and not in %s", "较早的执行，且 %s 中没有", first))
		}
		rows = append(rows, x)
	}
	p.miss(match.NPURounds, name)
	p.miss(match.RefRounds, first)
	for _, other := range match.OtherRounds {
		p.leaveOut("round "+other, lang.Sayf("not chosen", "未选中"))
	}
	return rows
}

// miss lists rounds that a run lacks.
func (p *partners) miss(rounds []*dumpdir.Round, run string) {
	for _, r := range rounds {
		p.missingRounds = append(p.missingRounds, fmt.Sprintf("%s: not in %s", cmp.Or(r.At.String(), "the round without coordinates"), run))
	}
}

// leaveOut lists what is not compared, once.
func (p *partners) leaveOut(what string, why lang.Sentence) {
	if !p.leftOut[what] {
		p.leftOut[what] = true
		p.report.LeftOut = append(p.report.LeftOut, lang.Sayf("%s: %s", "%s：%s", what, why))
	}
}

// leaveOutOlder lists the earlier executions of both sides of a match.
func (p *partners) leaveOutOlder(match *plan.Planner, x *plan.Pair, why lang.Sentence) {
	for _, npu := range []bool{false, true} {
		for _, it := range match.Executions(x, npu) {
			if it != x.Ref && it != x.NPU {
				p.leaveOut(it.String(), why)
			}
		}
	}
}

// executions makes a row of each execution of a pair, where both runs have as
// many; otherwise of the last ones alone.
func (p *partners) executions(match *plan.Planner, x *plan.Pair, run int) []plan.Pair {
	here, there := match.Executions(x, true), match.Executions(x, false)
	if len(here) != len(there) || match.Tied(here, true) || match.Tied(there, false) {
		counts := fmt.Sprintf("executed %s in %s, %s in %s", timesText(len(here)), p.report.Runs[0], timesText(len(there)), p.report.Runs[run])
		if len(here) == len(there) {
			counts += ", in no certain order"
		}
		p.report.Missing = append(p.report.Missing, x.Row.Name()+": "+counts+": only the last ones were compared")
		p.leaveOutOlder(match, x, lang.Sayf("an earlier execution", "较早的执行"))
		here, there = here[len(here)-1:], there[len(there)-1:]
	}
	rows := make([]plan.Pair, len(here))
	for k := range here {
		rows[k] = *x
		row := *x.Row // each execution has a place of its own
		rows[k].Row = &row
		rows[k].NPU, rows[k].Ref = here[k], there[k]
		if len(here) > 1 {
			rows[k].Execution = k + 1
		}
		of := &p.of[here[k].ID]
		if *of == nil {
			*of = make([]*plan.Tensor, len(p.report.Runs))
			(*of)[0] = here[k]
		}
		(*of)[run] = there[k]
	}
	return rows
}

func timesText(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
