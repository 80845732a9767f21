package overflow

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/shard"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

// ScanSchema is that of a ScanReport as a document.
const ScanSchema = "dumptool/overflow_scan/1"

// Scanned is what Scan found in the tensors of one execution of an operator.
type Scanned struct {
	// File is the path, of several files a pattern.
	File string `json:"file"`
	// Device is Rank under the name that older reports have.
	Device string `json:"device"`
	// Step is the step, Timestamp when the operator ran, in microseconds, 0 when not known.
	Step      string `json:"step"`
	Timestamp uint64 `json:"timestamp"`
	// OpType and OpName are the operator.
	OpType string `json:"op_type"`
	OpName string `json:"op_name"`
	// Script is the line of the user's script, as FILE:LINE; empty when unknown.
	Script string `json:"script,omitempty"`
	// First marks the first row of its rank with a bad tensor, unless the
	// execution order is not known.
	First bool `json:"first"`
	// Verdict says where the bad values of a row with a bad tensor come from.
	Verdict Verdict `json:"verdict,omitempty"`
	// Tensors are those of the operator.
	Tensors []Tensor `json:"tensors"`
	// Rank, Graph, Model and Folder are those of the round.
	Rank   string `json:"rank,omitempty"`
	Graph  string `json:"graph,omitempty"`
	Model  string `json:"model,omitempty"`
	Folder string `json:"folder,omitempty"`
	// Files are those of each folder, where there are several.
	Files []string `json:"files,omitempty"`
	// Unordered is set where the execution order of the round is not known.
	Unordered bool `json:"unordered,omitempty"`
	// Place is the place among the rows of all shards, where there are several.
	Place int `json:"place,omitempty"`
}

// At are the coordinates of the row.
func (s *Scanned) At() dumpdir.Coordinates {
	return dumpdir.Coordinates{Rank: s.Rank, Step: s.Step, Graph: s.Graph, Model: s.Model, Folder: s.Folder}
}

// Bad reports whether any tensor of the row is bad.
func (s *Scanned) Bad() bool {
	return slices.ContainsFunc(s.Tensors, func(t Tensor) bool { return t.Bad })
}

// FromStatistics reports whether the row rests on a table of statistics.
func (s *Scanned) FromStatistics() bool {
	return slices.ContainsFunc(s.Tensors, func(t Tensor) bool { return t.FromStatistics })
}

// ScanReport is the result of Scan, and the document of it.
type ScanReport struct {
	Schema string `json:"schema"`
	// Files counts the files that were read, Tensors their tensors, of which Tables
	// come from tables of statistics, BadFiles the files with a bad tensor.
	Files    int `json:"files"`
	Tensors  int `json:"tensors"`
	BadFiles int `json:"bad_files"`
	// Rows are ordered by rank and step, then in execution order.
	Rows []Scanned `json:"rows"`
	// Problems are what could not be read.
	Problems []Problem `json:"problems"`
	// Orders are the sources of the execution order.
	Orders []OrderSource `json:"orders"`
	// Tables counts the tensors that come from tables of statistics.
	Tables int `json:"tables,omitempty"`
	// All is set where the good tensors are there too.
	All bool `json:"all,omitempty"`
	Inputs
	shard.Origin
}

// Unread counts the problems that are about data that could not be read.
func (r *ScanReport) Unread() int { return unread(r.Problems) }

// Unfetched counts the problems of the way to object storage.
func (r *ScanReport) Unfetched() int { return unfetched(r.Problems) }

// OrderSource is a source of the execution order of some rounds.
type OrderSource struct {
	// By is the kind of the source, Source its name.
	By     dumpdir.OrderBy `json:"by"`
	Source string          `json:"source"`
	// Known is how many of Of operators the source knows, in Rounds rounds.
	Known  int `json:"known"`
	Of     int `json:"of"`
	Rounds int `json:"rounds"`
}

// Scan reads every tensor of the chosen rounds of a run once, or those of a shard, and
// looks for NaN, infinities and values at the limits of their types. Overflow records
// are left out.
func Scan(ctx context.Context, run *dumpdir.Run, opt Options) (*ScanReport, error) {
	if err := run.ReadHeaders(ctx, dumpdir.HeaderOptions{Workers: opt.Workers}); err != nil {
		return nil, err
	}
	s := &scanner{ScanReport: ScanReport{Schema: ScanSchema, Rows: []Scanned{}, Problems: problemsOf(run, &opt.Select), Orders: []OrderSource{}, All: opt.All}}
	s.plan(run, &opt)
	if !slices.ContainsFunc(s.jobs, func(j scanJob) bool { return j.tensors[0].File.Size > 0 }) {
		s.Others = othersOf(run)
	}
	s.Listed = len(run.Files)
	jobs := s.share(opt.Shard)
	err := readJobs(ctx, opt, jobs, func(j scanJob, tensors []Tensor) { s.add(j, tensors) })
	if err != nil {
		return nil, err
	}
	return s.finish(opt.Shard.On()), nil
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
	rows []Scanned
	jobs []scanJob
	// isBad has the files that were read.
	isBad map[*dumpdir.File]bool
}

// scanJob is the tensors of a file that belong to a row.
type scanJob struct {
	place   int // among all jobs, from 1
	row     int
	tensors []dumpdir.Tensor
}

// cost is what reading the tensors takes.
func (j scanJob) cost() int64 {
	if j.tensors[0].Table { // it has been read
		return 1
	}
	return 1 + j.tensors[0].File.Size
}

// plan lists the rows, in their order, and the files to read for them.
func (s *scanner) plan(run *dumpdir.Run, opt *Options) {
	byTime := make(map[dumpdir.Coordinates]bool) // are all rounds of a step ordered so?
	step := func(row *Scanned) dumpdir.Coordinates { return dumpdir.Coordinates{Rank: row.Rank, Step: row.Step} }
	for _, round := range run.Select(opt.Select) {
		o := round.Order
		s.addOrder(OrderSource{o.By, o.Name, o.Known, o.Of, 1})
		for _, op := range round.Ops {
			if !opt.Ops.Wants(op) {
				continue
			}
			for _, tensors := range byFile(op.Tensors) {
				if tensors[0].File.Err == nil {
					s.jobs = append(s.jobs, scanJob{len(s.jobs) + 1, len(s.rows), tensors})
				}
			}
			at, files := round.At, filesOf(op)
			row := Scanned{File: files[0], Device: at.Rank, Rank: at.Rank, Step: at.Step, Graph: at.Graph, Model: at.Model, Folder: at.Folder,
				Timestamp: op.Timestamp, OpType: op.Type, OpName: op.Names()[0], Script: op.Script(), Tensors: []Tensor{}, Unordered: !round.Order.IsKnown()}
			for _, name := range files[1:] {
				row.Files, row.File = files, pattern(row.File, name)
			}
			is, seen := byTime[step(&row)]
			byTime[step(&row)] = (is || !seen) && round.Order.By == dumpdir.ByTimestamp
			s.rows = append(s.rows, row)
		}
	}
	order := make([]int, len(s.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := &s.rows[i], &s.rows[j]
		if c := compareSteps(a.At(), b.At()); c != 0 || !byTime[step(a)] {
			return c
		}
		return cmp.Compare(a.Timestamp, b.Timestamp)
	})
	for place, i := range order {
		s.rows[i].Place = place + 1
	}
}

// share returns the jobs of a shard. Rows that share a file stay together.
func (s *scanner) share(spec shard.Spec) []scanJob {
	if !spec.On() {
		return s.jobs
	}
	group := make([]int, len(s.rows)) // a row of the same group with a lower number, or the row itself
	for i := range group {
		group[i] = i
	}
	head := func(i int) int {
		for group[i] != i {
			i = group[i]
		}
		return i
	}
	of := make(map[*dumpdir.File]int)
	for _, j := range s.jobs {
		file := j.tensors[0].File
		first, seen := of[file]
		if !seen {
			first = j.row
			of[file] = first
		}
		a, b := head(first), head(j.row)
		group[max(a, b)] = min(a, b)
	}
	sizes, keys := make([]int64, len(s.rows)), make([]string, len(s.rows))
	for _, j := range s.jobs {
		sizes[head(j.row)] += j.cost()
		keys[head(j.row)] += relative(j.tensors[0].File) + "\x00"
	}
	shards := shard.Balance(sizes, keys, spec.Of)
	return slices.DeleteFunc(slices.Clone(s.jobs), func(j scanJob) bool { return shards[head(j.row)] != spec.Index })
}

// relative is the path of a file below the folder that was given, with / on all systems.
func relative(f *dumpdir.File) string {
	rel, below := strings.CutPrefix(f.Path(), f.Root())
	if !below || rel == "" {
		return f.Name
	}
	return strings.TrimLeft(filepath.ToSlash(rel), "/")
}

// compareSteps orders coordinates by rank and step.
func compareSteps(a, b dumpdir.Coordinates) int {
	return cmp.Or(lang.CompareNatural(a.Rank, b.Rank), lang.CompareNatural(a.Step, b.Step))
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
func (s *scanner) add(j scanJob, tensors []Tensor) {
	for _, p := range tensorProblems(tensors) {
		p.Place = j.place
		s.Problems = append(s.Problems, p)
	}
	row, file := &s.rows[j.row], j.tensors[0].File
	row.Tensors = append(row.Tensors, tensors...)
	if s.isBad == nil {
		s.isBad = make(map[*dumpdir.File]bool)
	}
	for i := range tensors {
		t := &tensors[i]
		if t.unopened {
			continue
		}
		s.Tensors++
		if t.FromStatistics {
			s.Tables++
		}
		s.isBad[file] = s.isBad[file] || t.Bad
	}
}

// finish drops the rows without a tensor that was opened, and the good ones unless all
// are wanted. Places are kept for those who merge.
func (s *scanner) finish(keepPlaces bool) *ScanReport {
	s.Files = len(s.isBad)
	for _, bad := range s.isBad {
		if bad {
			s.BadFiles++
		}
	}
	for i := range s.rows {
		row := &s.rows[i]
		bad := row.Bad()
		if !bad && !s.All || !slices.ContainsFunc(row.Tensors, func(t Tensor) bool { return !t.unopened }) {
			continue
		}
		sortTensors(row.Tensors)
		if bad {
			row.Verdict, _ = judge(row.Tensors)
			if row.Verdict == ProducedHere && fromRank(row.OpType, row.OpName, row.Tensors) {
				row.Verdict = CameFromRank
			}
		}
		s.Rows = append(s.Rows, *row)
	}
	s.conclude(keepPlaces)
	return &s.ScanReport
}

// conclude orders the rows and the problems by their places, and marks the first bad row
// of each rank: that of the lowest place, unless the order of its round is not known and
// others of it are bad.
func (r *ScanReport) conclude(keepPlaces bool) {
	slices.SortStableFunc(r.Rows, func(a, b Scanned) int { return cmp.Or(compareSteps(a.At(), b.At()), cmp.Compare(a.Place, b.Place)) })
	orderProblems(r.Problems, keepPlaces)
	seen := make(map[string]bool)
	bad := make(map[dumpdir.Coordinates]int)
	for i := range r.Rows {
		if r.Rows[i].Bad() {
			bad[r.Rows[i].At()]++
		}
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		row.First = row.Bad() && !seen[row.Rank] && (!row.Unordered || bad[row.At()] == 1)
		seen[row.Rank] = seen[row.Rank] || row.Bad()
		if !keepPlaces {
			row.Place = 0
		}
	}
}
