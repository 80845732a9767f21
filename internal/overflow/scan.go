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
	// Why is the reason for the verdict, empty if the tensors say it all; WhyZH is Why in Chinese.
	Why   string `json:"reason,omitempty"`
	WhyZH string `json:"reason_zh,omitempty"`
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
	// Place is the place among the rows of the step, for those who merge.
	Place int `json:"place,omitempty"`
	// Asking is what merging needs of the call, in documents of shards only.
	Asking *Asking `json:"asking,omitempty"`

	asking Asking
	// op is the operator, and round its round, while the run is there.
	op    *dumpdir.Op
	round *dumpdir.Round
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
	// Rounds are those that were read, what the numbers above add up.
	Rounds []ScannedRound `json:"rounds"`
	// Tables counts the tensors that come from tables of statistics.
	Tables int `json:"tables,omitempty"`
	// Asked counts the tensors with infinities or limits that a call asked for, Unwritten the
	// tensors with bad elements in memory that nobody has written or nobody reads.
	Asked     int `json:"asked,omitempty"`
	Unwritten int `json:"unwritten,omitempty"`
	// All is set where the good tensors are there too.
	All bool `json:"all,omitempty"`
	Inputs
	shard.Origin
}

// nothingScanned reports whether the tensors that were read have no floating-point element.
func (r *ScanReport) nothingScanned() bool {
	blank := 0
	for i := range r.Rounds {
		blank += r.Rounds[i].Blank
	}
	return r.Tensors > 0 && blank == r.Tensors
}

// Unread counts the problems that are about data that could not be read.
func (r *ScanReport) Unread() int { return unread(r.Problems) }

// Unfetched counts the problems of the way to object storage.
func (r *ScanReport) Unfetched() int { return unfetched(r.Problems) }

// ScannedRound is what Scan found in a round.
type ScannedRound struct {
	dumpdir.Coordinates
	// Files counts its files that were read, Tensors their tensors, of which Tables come
	// from tables of statistics, BadFiles the files with a bad tensor.
	Files    int `json:"files"`
	Tensors  int `json:"tensors"`
	BadFiles int `json:"bad_files"`
	Tables   int `json:"tables,omitempty"`
	// Blank counts the tensors that have no floating-point element.
	Blank int `json:"blank,omitempty"`
	// Asked counts the tensors with infinities or limits that a call asked for, Unwritten the
	// tensors with bad elements in memory that nobody has written or nobody reads.
	Asked     int `json:"asked,omitempty"`
	Unwritten int `json:"unwritten,omitempty"`
	// Order is the source of its execution order.
	Order OrderSource `json:"order"`
	// Unfinished is set where some of it was not reached, or object storage did not answer.
	Unfinished bool `json:"unfinished,omitempty"`
	// Open is set where nobody has looked for the sources of bad elements yet: merging does.
	Open bool `json:"open,omitempty"`
}

// OrderSource is a source of the execution order of some rounds.
type OrderSource struct {
	// By is the kind of the source, Source its name.
	By     dumpdir.OrderBy `json:"by"`
	Source string          `json:"source"`
	// Known is how many of Of operators the source knows, in Rounds rounds; that of a single
	// round does not say so.
	Known  int `json:"known"`
	Of     int `json:"of"`
	Rounds int `json:"rounds,omitempty"`
}

// Scan reads every tensor of the chosen rounds of a run once, or those of a shard, and
// looks for NaN, infinities and values at the limits of their types. Overflow records
// are left out. Where ctx ends, the report has what was read until then, and the error is
// that of ctx.
func Scan(ctx context.Context, run *dumpdir.Run, opt Options) (*ScanReport, error) {
	s := &scanner{ScanReport: ScanReport{Schema: ScanSchema, Rows: []Scanned{}, Problems: []Problem{}, Orders: []OrderSource{}, Rounds: []ScannedRound{}, All: opt.All}}
	s.takeFinished(opt.Earlier)
	w, err := openUnits(ctx, run, &opt, division{of: byStep, taken: func(at dumpdir.Coordinates) bool { return s.taken[stepOf(at)] }})
	if err != nil {
		return nil, err
	}
	s.Listed = len(run.Files)
	if !w.isListed() {
		s.Others = othersOf(run)
	}
	for _, u := range w.units {
		if u.isMine() && !s.taken[stepOf(u.rounds[0].At)] {
			s.plan(u, &opt)
		}
	}
	s.files, s.left = make(map[fileOf]bool), make([]int, len(s.rows))
	for _, j := range s.jobs {
		s.left[j.row]++
	}
	err = readJobs(ctx, opt, s.jobs, s.add)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	s.takeProblems(w.problems, opt.Earlier)
	return s.finish(opt.Shard.On()), err
}

// readJobs reads files and hands their tensors to emit in the order of the jobs.
func readJobs(ctx context.Context, opt Options, jobs []scanJob, emit func(scanJob, []Tensor)) error {
	files := new(tensorfile.Pool)
	defer files.Close()
	return batch.Run(ctx, batch.Options{Workers: opt.Workers, Observe: opt.Observe}, jobs,
		scanJob.cost,
		func(ctx context.Context, j scanJob) []Tensor { return readFile(ctx, files, j.tensors, j.want) },
		func(i int, tensors []Tensor) {
			if ctx.Err() == nil {
				emit(jobs[i], tensors)
			}
		})
}

// scanner makes the rows of a report.
type scanner struct {
	ScanReport
	// rows are all that are read, ofRow are their rounds.
	rows  []Scanned
	ofRow []int
	jobs  []scanJob
	// files are those of a round that were read, and whether they are bad.
	files map[fileOf]bool
	// left counts the jobs of rows that are not done.
	left []int
	// taken are the steps that an earlier scan has finished.
	taken map[dumpdir.Coordinates]bool
}

// fileOf is a file of a round.
type fileOf struct {
	round int
	*dumpdir.File
}

// scanJob is the tensors of a file that belong to a row.
type scanJob struct {
	place   int // among all jobs of its unit, from 1
	row     int
	tensors []dumpdir.Tensor
	want    scrutiny
}

// cost is what reading the tensors takes.
func (j scanJob) cost() int64 {
	if j.tensors[0].Table { // it has been read
		return 1
	}
	return 1 + j.tensors[0].File.Size
}

// stepOf are the coordinates of the unit of a round.
func stepOf(at dumpdir.Coordinates) dumpdir.Coordinates {
	return dumpdir.Coordinates{Rank: at.Rank, Step: at.Step}
}

// takeFinished takes what an earlier scan found in the steps that it finished. What could
// not be read may have been mended; nothing is taken where that was no tensor.
func (s *scanner) takeFinished(earlier *ScanReport) {
	if earlier == nil {
		return
	}
	finished := make(map[dumpdir.Coordinates]bool)
	for i := range earlier.Rounds {
		finished[stepOf(earlier.Rounds[i].Coordinates)] = true
	}
	for i := range earlier.Rounds {
		if r := &earlier.Rounds[i]; r.Unfinished {
			finished[stepOf(r.Coordinates)] = false
		}
	}
	for i := range earlier.Problems {
		p := &earlier.Problems[i]
		if _, known := finished[stepOf(p.At)]; !known && p.Transport {
			return
		}
		if p.Unread() {
			finished[stepOf(p.At)] = false
		}
	}
	s.taken = finished
	for i := range earlier.Rounds {
		if r := &earlier.Rounds[i]; s.taken[stepOf(r.Coordinates)] {
			s.Rounds = append(s.Rounds, *r)
		}
	}
	for i := range earlier.Rows {
		if row := earlier.Rows[i]; s.taken[stepOf(row.At())] {
			row.Place = cmp.Or(row.Place, i+1)
			s.Rows = append(s.Rows, row)
		}
	}
}

// takeProblems adds the problems of the run, and those that an earlier scan had with the
// steps that it finished.
func (s *scanner) takeProblems(ofRun []Problem, earlier *ScanReport) {
	s.Problems = append(ofRun, s.Problems...)
	if earlier == nil {
		return
	}
	listed := make(map[Problem]bool)
	for _, p := range ofRun {
		listed[p] = true
	}
	for i, p := range earlier.Problems {
		place := p.Place
		if p.Place = 0; s.taken[stepOf(p.At)] && !listed[p] {
			p.Place = cmp.Or(place, i+1)
			s.Problems = append(s.Problems, p)
		}
	}
}

// plan lists the rows of a unit, in their order, and the files to read for them.
func (s *scanner) plan(u *unit, opt *Options) {
	byTime, first, place := true, len(s.rows), 0 // are all rounds of the step ordered so?
	var jobs []scanJob
	for _, round := range u.rounds {
		o, known, garbage := round.Order, len(s.rows), hasUnwritten(round)
		for _, op := range round.Ops {
			if !opt.Ops.Wants(op) {
				continue
			}
			for _, tensors := range byFile(op.Tensors) {
				if tensors[0].File.Err == nil {
					place++
					jobs = append(jobs, scanJob{place, len(s.rows), tensors, scrutinyOf(op, garbage)})
				}
			}
			at, files := round.At, filesOf(op)
			row := Scanned{File: files[0], Device: at.Rank, Rank: at.Rank, Step: at.Step, Graph: at.Graph, Model: at.Model, Folder: at.Folder,
				Timestamp: op.Timestamp, OpType: op.Type, OpName: op.Names()[0], Script: op.Script(), Tensors: []Tensor{}, Unordered: !round.Order.IsKnown(), asking: askingOf(op), op: op, round: round}
			for _, name := range files[1:] {
				row.Files, row.File = files, pattern(row.File, name)
			}
			s.rows, s.ofRow = append(s.rows, row), append(s.ofRow, len(s.Rounds))
		}
		byTime = byTime && (len(s.rows) == known || o.By == dumpdir.ByTimestamp)
		s.Rounds = append(s.Rounds, ScannedRound{Coordinates: round.At, Order: OrderSource{By: o.By, Source: o.Name, Known: o.Known, Of: o.Of}, Open: true})
	}
	rows := s.rows[first:]
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	if byTime {
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(rows[i].Timestamp, rows[j].Timestamp) })
	}
	for place, i := range order {
		rows[i].Place = place + 1
	}
	s.jobs = append(s.jobs, partOf(u, jobs, first, len(rows))...)
}

// partOf returns those of the jobs of a unit, which has some rows, that are done here. Rows
// that share a file stay together.
func partOf(u *unit, jobs []scanJob, first, rows int) []scanJob {
	if u.Of == 1 {
		return jobs
	}
	group := make([]int, rows) // a row of the same group with a lower number, or the row itself
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
	for _, j := range jobs {
		file, row := j.tensors[0].File, j.row-first
		shared, seen := of[file]
		if !seen {
			shared = row
			of[file] = shared
		}
		a, b := head(shared), head(row)
		group[max(a, b)] = min(a, b)
	}
	sizes, keys := make([]int64, rows), make([]string, rows)
	for _, j := range jobs {
		sizes[head(j.row-first)] += j.cost()
		keys[head(j.row-first)] += relative(j.tensors[0].File) + "\x00"
	}
	mine := u.Has(sizes, keys)
	return slices.DeleteFunc(jobs, func(j scanJob) bool { return !mine[head(j.row-first)] })
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
	row, file, round := &s.rows[j.row], j.tensors[0].File, s.ofRow[j.row]
	for _, p := range tensorProblems(tensors) {
		p.At, p.Place = row.At(), 1+j.place
		s.Problems = append(s.Problems, p)
	}
	row.Tensors = append(row.Tensors, tensors...)
	s.left[j.row]--
	for i := range tensors {
		t := &tensors[i]
		if t.unopened {
			continue
		}
		s.Rounds[round].Tensors++
		if t.blank() {
			s.Rounds[round].Blank++
		}
		if t.FromStatistics {
			s.Rounds[round].Tables++
		}
		of := fileOf{round, file}
		s.files[of] = s.files[of] || t.Bad
	}
}

// finish drops the rows without a tensor that was opened, and the good ones unless all
// are wanted. Places are kept for those who merge.
func (s *scanner) finish(keepPlaces bool) *ScanReport {
	for of, bad := range s.files {
		r := &s.Rounds[of.round]
		r.Files++
		if bad {
			r.BadFiles++
		}
	}
	unfinished := make(map[dumpdir.Coordinates]bool)
	for i := range s.Problems {
		if p := &s.Problems[i]; p.Transport {
			unfinished[stepOf(p.At)] = true
		}
	}
	for i := range s.rows {
		row := &s.rows[i]
		if s.left[i] > 0 {
			unfinished[stepOf(row.At())] = true
			continue
		}
		if !row.matters() && !s.All || !slices.ContainsFunc(row.Tensors, func(t Tensor) bool { return !t.unopened }) {
			continue
		}
		sortTensors(row.Tensors)
		s.Rows = append(s.Rows, *row)
	}
	for i := range s.Rounds {
		r := &s.Rounds[i]
		r.Unfinished = unfinished[stepOf(r.Coordinates)]
	}
	s.conclude(keepPlaces)
	return &s.ScanReport
}

// sumUp orders the rounds and adds up what was found in them.
func (r *ScanReport) sumUp() {
	slices.SortStableFunc(r.Rounds, func(a, b ScannedRound) int { return a.Compare(b.Coordinates) })
	r.Files, r.Tensors, r.BadFiles, r.Tables, r.Asked, r.Unwritten, r.Orders = 0, 0, 0, 0, 0, 0, []OrderSource{}
	for i := range r.Rounds {
		x := &r.Rounds[i]
		r.Files, r.Tensors, r.BadFiles, r.Tables = r.Files+x.Files, r.Tensors+x.Tensors, r.BadFiles+x.BadFiles, r.Tables+x.Tables
		r.Asked, r.Unwritten = r.Asked+x.Asked, r.Unwritten+x.Unwritten
		of := x.Order
		of.Rounds = 1
		r.addOrder(of)
	}
	if r.Files > 0 {
		r.Others = nil
	}
}

// conclude orders the rows and the problems by their places, resolves the open rounds unless the
// document is one to merge, which keeps the places, and marks the first bad row of each rank: the
// row of the lowest place, unless the order of its round is not known and others of it are bad.
func (r *ScanReport) conclude(keepPlaces bool) {
	slices.SortStableFunc(r.Rows, func(a, b Scanned) int { return cmp.Or(compareSteps(a.At(), b.At()), cmp.Compare(a.Place, b.Place)) })
	if keepPlaces {
		for i := range r.Rows {
			r.Rows[i].keep()
		}
	} else {
		r.resolve()
	}
	r.sumUp()
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
