package compare

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"dumptool/internal/batch"
	"dumptool/internal/compare/engine"
)

// Determinism is what several runs of one network have in common, bit for bit.
type Determinism struct {
	Runs        []string
	OrderSource string
	// Rows are all tensors that the first run and another one have, in execution
	// order.
	Rows []DriftRow
	// Missing names tensors that some run lacks, with the runs.
	Missing []string
	// LeftOut names what was not compared although it is there, with the
	// reason: tensors that the user skips, other rounds, and the files of
	// earlier executions that another run has not.
	LeftOut []string
	// Selected is set when only some operators were asked for; the others are
	// in no list.
	Selected bool
	Warnings []string
}

// Whole reports whether all tensors of all runs were compared or tried.
func (d *Determinism) Whole() bool { return len(d.Missing)+len(d.LeftOut) == 0 && !d.Selected }

// First is the index of the first row that differs, -1 if there is none.
func (d *Determinism) First() int {
	for i := range d.Rows {
		if d.Rows[i].Differs() {
			return i
		}
	}
	return -1
}

// Differing counts the rows that differ, Unread those that could not be read.
func (d *Determinism) Differing() (differing, unread int) {
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

// DriftRow is one tensor in several runs.
type DriftRow struct {
	Row // Op, Kind, Output, Round, Order, Shape and RefDType are set
	// Execution counts the executions of the operator in one folder, from 1 and
	// by their timestamps; 0 for an operator that ran once. The first execution
	// of one run is compared with the first one of another.
	Execution int
	// Drifts has an entry for each run, the first one is that of the yardstick.
	Drifts []Drift
	// Distinct counts the different contents.
	Distinct int
	// Places tells, for at least two runs that differ from the first, whether
	// the same elements differ in all of them.
	Places Places
}

// Places tells where runs differ.
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
func (r *DriftRow) Name() string {
	if r.Execution == 0 {
		return r.Row.Name()
	}
	return r.Row.Name() + " execution " + strconv.Itoa(r.Execution)
}

// Differs reports whether the runs differ.
func (r *DriftRow) Differs() bool { return r.Distinct > 1 }

// Drift is a tensor of one run beside that of the first.
type Drift struct {
	File string // empty where the run does not have the tensor
	// CRC is the CRC-32C of the stored bytes.
	CRC uint32
	// Compared is set where the elements were compared with the first run's,
	// since the stored bytes differ.
	Compared bool
	// Differ counts the elements that differ in value from the first run's,
	// First is the first of them; MaxAbs and MaxULP are the largest distances.
	Differ         int64
	First          *engine.Element
	MaxAbs, MaxULP engine.Metric
	// Bits counts the elements whose stored bits differ, in value or not.
	Bits int64
	// Why tells of a tensor that differs, but in no value, what differs: the
	// shape or the type, so that elements could not be compared, or bits alone.
	Why    string
	places uint64
}

// DeterminismOptions say which runs are compared.
type DeterminismOptions struct {
	Runs    []string
	Pair    PairOptions
	Order   OrderOptions
	Version int
	Workers int
	Observe func(batch.Event)
}

// CheckDeterminism compares the contents of tensors of the same name in several
// runs. Only tensors whose stored bytes differ are looked into.
func CheckDeterminism(ctx context.Context, opt DeterminismOptions) (*Determinism, error) {
	if opt.Workers <= 0 {
		opt.Workers = min(runtime.GOMAXPROCS(0), maxWorkers)
	}
	d := &Determinism{Runs: opt.Runs, Selected: opt.Pair.Ops != nil}
	d.warnOfSame()
	all, err := d.match(ctx, &opt)
	if err != nil {
		return nil, err
	}
	cost := func(t drifting) int64 {
		var size int64
		for _, it := range t.items {
			if it != nil {
				size += it.size
			}
		}
		return size
	}
	err = batch.Run(ctx, batch.Options{Workers: opt.Workers, Observe: opt.Observe}, all, cost,
		func(ctx context.Context, t drifting) DriftRow { return t.check(ctx, opt.Version) },
		func(_ int, r DriftRow) { d.Rows = append(d.Rows, r) })
	if err != nil {
		return nil, err
	}
	if len(d.Rows) == 0 {
		return nil, fmt.Errorf("%w: no tensor is in two runs", ErrNothing)
	}
	return d, nil
}

// warnOfSame warns of runs that are one folder, which cannot differ.
func (d *Determinism) warnOfSame() {
	infos := make([]os.FileInfo, len(d.Runs))
	for i, path := range d.Runs {
		info, err := os.Stat(path)
		if err != nil {
			continue // which is told by the one who opens it
		}
		for k, other := range infos[:i] {
			if other != nil && os.SameFile(other, info) {
				d.Warnings = append(d.Warnings, fmt.Sprintf("%s and %s are the same folder or file: their equality says nothing", d.Runs[k], path))
				break
			}
		}
		infos[i] = info
	}
}
