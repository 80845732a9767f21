// Package determinism compares runs of one network that ought to give the same
// bits: which tensors differ, where the first difference is, and whether it looks
// like a damaged value or like sums in another order.
package determinism

import (
	"context"
	"slices"
	"strconv"

	"dumptool/internal/batch"
	"dumptool/internal/compare"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// Report is what several runs of one network have in common, bit for bit.
type Report struct {
	Runs        []string
	OrderSource lang.Sentence
	// Rows are all tensors that the first run and another one have, in execution
	// order.
	Rows []Row
	// Missing names tensors that some run lacks, MissingRounds rounds, with the runs.
	Missing, MissingRounds []string
	// LeftOut names what was not compared although it is there, with the
	// reason: tensors that the user skips, other rounds, and the files of
	// earlier executions that another run has not.
	LeftOut []lang.Sentence
	// Selected is set when only some operators were asked for; the others are
	// in no list.
	Selected bool
	Warnings []lang.Sentence
}

// Whole reports whether all tensors of all runs were compared or tried.
func (d *Report) Whole() bool {
	return len(d.Missing)+len(d.MissingRounds)+len(d.LeftOut) == 0 && !d.Selected
}

// First is the index of the first row that differs, -1 if there is none.
func (d *Report) First() int {
	return slices.IndexFunc(d.Rows, func(r Row) bool { return r.Differs() })
}

// Start is the index of the first input that differs though no output before it does, -1
// for none.
func (d *Report) Start() int { start, _ := d.begin(); return start }

// Origin is the index of the first output that differs though all inputs of its operator,
// which are known, agree, -1 for none.
func (d *Report) Origin() int { _, origin := d.begin(); return origin }

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

// Differing counts the rows that differ, Unread those that could not be read.
func (d *Report) Differing() (differing, unread int) {
	for i := range d.Rows {
		if d.Rows[i].Differs() {
			differing++
		}
		if d.Rows[i].Err != nil {
			unread++
		}
	}
	return differing, unread
}

// Row is one tensor in several runs.
type Row struct {
	record.Row // Op, Kind, Output, Round, Order, Shape and RefDType are set
	// Execution counts the executions of the operator in one folder, from 1 and
	// by their timestamps; 0 for an operator that ran once. The first execution
	// of one run is compared with the first one of another.
	Execution int
	// Drifts has an entry for each run, the first one is that of the yardstick.
	Drifts []Drift
	// Distinct counts the different contents.
	Distinct int
	// Places says, for at least two runs that differ from the first, whether
	// the same elements differ in all of them.
	Places Places
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
	if r.Execution == 0 {
		return r.Row.Name()
	}
	return r.Row.Name() + " execution " + strconv.Itoa(r.Execution)
}

// Differs reports whether the runs differ.
func (r *Row) Differs() bool { return r.Distinct > 1 }

// Drift is a tensor of one run beside that of the first.
type Drift struct {
	File string // empty where the run does not have the tensor
	// CRC is the CRC-32C of the stored bytes. Table is set where there is none: the run has
	// statistics or a digest of the tensor, no elements.
	CRC   uint32
	Table bool
	// Compared is set where the elements were compared with the first run's,
	// since the stored bytes differ.
	Compared bool
	// Differ counts the elements that differ in value from the first run's,
	// First is the first of them; MaxAbs and MaxULP are the largest distances.
	Differ         int64
	First          *metrics.Element
	MaxAbs, MaxULP metrics.Metric
	// Bits counts the elements whose stored bits differ, in value or not.
	Bits int64
	// Why says what differs in a tensor that differs in no value: the
	// shape or the type, so that elements could not be compared, or bits alone.
	Why    lang.Sentence
	places uint64
}

// Options say which runs are compared.
type Options struct {
	Runs []string
	// Rounds choose those of all runs.
	Rounds dumpdir.Selection
	Pair   compare.PairOptions
	// SideFiles and OrderBy are those of compare.Options.
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
		opt.Workers = compare.DefaultWorkers()
	}
	d := &Report{Runs: opt.Runs, Selected: opt.Pair.Ops != nil}
	d.warnOfSame()
	all, err := d.match(ctx, &opt)
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
		func(ctx context.Context, t tensors) Row { return t.check(ctx, opt.Version) },
		func(_ int, r Row) { d.Rows = append(d.Rows, r) })
	if err != nil {
		return nil, err
	}
	if n := d.tables(); n > 0 {
		d.Warnings = append(d.Warnings, lang.Sayf("%s compared by digests, or by four numbers: equal ones do not prove equal bits", "%s按摘要或四个统计量比对：相同并不证明逐位相同", lang.CountText(n, "tensor", "个张量")))
	}
	if len(d.Rows) == 0 {
		return nil, compare.Nothingf("no tensor is in two runs", "没有张量出现在两次运行中")
	}
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
