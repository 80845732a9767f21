package overflow

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

// Scanned is what Scan found in the tensors of one execution of an operator.
type Scanned struct {
	// File is the path, of several files a pattern; Files are those of each folder.
	File      string
	Files     []string
	At        dumpdir.Coordinates
	Timestamp uint64
	OpType    string
	OpName    string
	Script    string // the line of the user's script, as FILE:LINE; empty when unknown
	Tensors   []Tensor
	Verdict   Verdict // of a row with a bad tensor, else empty
	// First marks the first row of its rank with a bad tensor, unless the
	// execution order is not known.
	First bool
}

// Bad reports whether any tensor of the row is bad.
func (s *Scanned) Bad() bool {
	return slices.ContainsFunc(s.Tensors, func(t Tensor) bool { return t.Bad() })
}

// FromStatistics reports whether the row rests on a table of statistics.
func (s *Scanned) FromStatistics() bool {
	return slices.ContainsFunc(s.Tensors, func(t Tensor) bool { return t.Statistics != nil })
}

// ScanReport is the result of Scan.
type ScanReport struct {
	// Rows are ordered by rank and step, then in execution order.
	Rows     []Scanned
	Problems []Problem
	// Orders are the sources of the execution order.
	Orders []OrderSource
	// Files counts the files that were read, Tensors their tensors, of which Tables
	// come from tables of statistics, BadFiles the files with a bad tensor.
	Files, Tensors, Tables, BadFiles int
	// All is that of the options.
	All bool
}

// OrderSource is a source of the execution order of some rounds.
type OrderSource struct {
	By     dumpdir.OrderBy
	Source string
	// Known is how many of Of operators the source knows.
	Known, Of, Rounds int
}

// Scan reads every tensor of the chosen rounds of a run once and looks for NaN,
// infinities and values at the limits of their types. Overflow records are left
// out.
func Scan(ctx context.Context, run *dumpdir.Run, opt Options) (*ScanReport, error) {
	s, err := planScan(ctx, run, &opt)
	if err != nil {
		return nil, err
	}
	err = readJobs(ctx, opt, s.jobs, func(j scanJob, tensors []Tensor) { s.add(j.row, j.file, tensors, tensorProblems(tensors)) })
	if err != nil {
		return nil, err
	}
	return s.finish(), nil
}

// planScan lists what is to be scanned.
func planScan(ctx context.Context, run *dumpdir.Run, opt *Options) (*scanner, error) {
	if err := run.ReadHeaders(ctx, dumpdir.HeaderOptions{Workers: opt.Workers}); err != nil {
		return nil, err
	}
	s := &scanner{ScanReport: ScanReport{All: opt.All, Problems: problemsOf(run, &opt.Select)}}
	s.plan(run, opt)
	return s, nil
}

// readJobs reads files and hands their tensors to emit in the order of the jobs.
func readJobs(ctx context.Context, opt Options, jobs []scanJob, emit func(scanJob, []Tensor)) error {
	files := new(tensorfile.Pool)
	defer files.Close()
	return batch.Run(ctx, batch.Options{Workers: opt.Workers, Observe: opt.Observe}, jobs,
		scanJob.cost,
		func(ctx context.Context, j scanJob) []Tensor { return readFile(ctx, files, j.tensors) },
		func(i int, tensors []Tensor) { emit(jobs[i], tensors) })
}

// scanner makes the rows of a report.
type scanner struct {
	ScanReport
	rows []scanRow
	jobs []scanJob
	// isBad has the files that were read, by their index among those of the run.
	isBad map[int]bool
}

// scanRow is a row, and the round that it is of.
type scanRow struct {
	Scanned
	round roundPart
}

// scanJob is the tensors of a file that belong to a row.
type scanJob struct {
	row     int
	file    int // its index among those of the run
	tensors []dumpdir.Tensor
}

// cost is what reading the tensors takes.
func (j scanJob) cost() int64 {
	if j.tensors[0].Table { // it has been read
		return 1
	}
	return 1 + j.tensors[0].File.Size
}

// plan lists the rows, and the files to read for them.
func (s *scanner) plan(run *dumpdir.Run, opt *Options) {
	index := make(map[*dumpdir.File]int, len(run.Files))
	for i, f := range run.Files {
		index[f] = i
	}
	for n, round := range run.Select(opt.Select) {
		s.addOrder(round.Order)
		at := roundPart{Index: n, Known: round.Order.IsKnown(), ByTime: round.Order.By == dumpdir.ByTimestamp}
		for _, op := range round.Ops {
			if !opt.Ops.Wants(op) {
				continue
			}
			for _, tensors := range byFile(op.Tensors) {
				if tensors[0].File.Err == nil {
					s.jobs = append(s.jobs, scanJob{len(s.rows), index[tensors[0].File], tensors})
				}
			}
			row := Scanned{Files: filesOf(op), At: round.At, Timestamp: op.Timestamp, OpType: op.Type, OpName: op.Names()[0], Script: op.Script()}
			row.File = row.Files[0]
			for _, name := range row.Files[1:] {
				row.File = pattern(row.File, name)
			}
			s.rows = append(s.rows, scanRow{row, at})
		}
	}
}

// compareSteps orders coordinates by rank and step.
func compareSteps(a, b dumpdir.Coordinates) int {
	return cmp.Or(lang.CompareNatural(a.Rank, b.Rank), lang.CompareNatural(a.Step, b.Step))
}

// addOrder adds the source of a round's order.
func (s *scanner) addOrder(o dumpdir.Order) {
	i := slices.IndexFunc(s.Orders, func(p OrderSource) bool { return p.By == o.By && p.Source == o.Name })
	if i < 0 {
		i = len(s.Orders)
		s.Orders = append(s.Orders, OrderSource{By: o.By, Source: o.Name})
	}
	p := &s.Orders[i]
	p.Known, p.Of, p.Rounds = p.Known+o.Known, p.Of+o.Of, p.Rounds+1
}

// filesOf names the files of an operator in each folder: the path of the only one,
// else what the paths have in common.
func filesOf(op *dumpdir.Op) []string {
	var names, dirs []string
	seen := make(map[*dumpdir.File]bool)
	for _, t := range op.Tensors {
		if seen[t.File] {
			continue
		}
		seen[t.File] = true
		name := t.File.Path()
		dir := store.Dir(name)
		if i := slices.Index(dirs, dir); i >= 0 {
			names[i] = pattern(names[i], name)
			continue
		}
		names, dirs = append(names, name), append(dirs, dir)
	}
	return names
}

// pattern is what two paths, or a pattern and a path, have in common.
func pattern(a, b string) string {
	a, _, _ = strings.Cut(a, "*")
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return strings.ToValidUTF8(a[:n], "") + "*" + filename.Parse(store.Base(b)).Ext
}

// add adds the tensors of a file to their row, and what could not be read of them.
func (s *scanner) add(row, file int, tensors []Tensor, problems []Problem) {
	s.Problems = append(s.Problems, problems...)
	of := &s.rows[row]
	of.Tensors = append(of.Tensors, tensors...)
	if s.isBad == nil {
		s.isBad = make(map[int]bool)
	}
	for i := range tensors {
		t := &tensors[i]
		if t.unopened {
			continue
		}
		s.Tensors++
		if t.Statistics != nil {
			s.Tables++
		}
		s.isBad[file] = s.isBad[file] || t.Bad()
	}
}

// finish orders the rows, marks the first bad one of each rank, and drops the good
// ones unless all are wanted.
func (s *scanner) finish() *ScanReport {
	s.Files = len(s.isBad)
	for _, bad := range s.isBad {
		if bad {
			s.BadFiles++
		}
	}
	s.rows = slices.DeleteFunc(s.rows, func(r scanRow) bool {
		return !slices.ContainsFunc(r.Tensors, func(t Tensor) bool { return !t.unopened })
	})
	s.mergeRounds()
	seen := map[string]bool{}
	for i := range s.rows {
		row := &s.rows[i]
		sortTensors(row.Tensors)
		if row.Bad() {
			row.Verdict, _ = judge(row.Tensors)
			row.First = !seen[row.At.Rank] && s.isFirst(i)
			seen[row.At.Rank] = true
		} else if !s.All {
			continue
		}
		s.Rows = append(s.Rows, row.Scanned)
	}
	return &s.ScanReport
}

// mergeRounds puts the operators of several rounds of a step in the order of time,
// where that is the order of each of them.
func (s *scanner) mergeRounds() {
	for rest := s.rows; len(rest) > 0; {
		n := 1
		byTime := rest[0].round.ByTime
		for n < len(rest) && compareSteps(rest[n].At, rest[0].At) == 0 {
			byTime = byTime && rest[n].round.ByTime
			n++
		}
		if byTime {
			slices.SortStableFunc(rest[:n], func(a, b scanRow) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
		}
		rest = rest[n:]
	}
}

// isFirst reports whether the i-th row, the first bad one of its rank, is known to
// be so: the order of its round is known, or no other operator of it is bad.
func (s *scanner) isFirst(i int) bool {
	round := s.rows[i].round
	if round.Known {
		return true
	}
	return !slices.ContainsFunc(s.rows[i+1:], func(r scanRow) bool { return r.round.Index == round.Index && r.Bad() })
}
