package overflow

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/check"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/shard"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

// ScanSchema identifies a ScanReport as a JSON document.
const ScanSchema = "dumptool/overflow_scan/1"

// ScanRow is the row of an executed operator: its tensors and what Scan found in them.
type ScanRow struct {
	Occurrence
	// OpType and OpName are the type and name of the operator.
	OpType string `json:"op_type"`
	OpName string `json:"op_name"`
	// Script is the line of the user's script, as FILE:LINE; empty if unknown.
	Script string `json:"script,omitempty"`
	// First marks the first row of its rank with a bad tensor, unless the execution order is unknown.
	First bool `json:"first"`
	// Verdict says where the bad values come from, in a row with a bad tensor.
	Verdict Verdict `json:"verdict,omitempty"`
	// Reason is the reason for the verdict, empty if the tensors show it.
	Reason string `json:"reason,omitempty"`
	// Files has a path or pattern for each folder, if there are several.
	Files []string `json:"files,omitempty"`
	// Unordered: the execution order of the round is unknown.
	Unordered bool `json:"unordered,omitempty"`
	// Arguments has the data of the call that merging needs; only in documents of shards.
	Arguments *Arguments `json:"asking,omitempty"`

	arguments Arguments
	// op is the operator, and round its round, while the run is there.
	op    *dumpdir.Op
	round *dumpdir.Round
}

// HasOverflow reports whether any tensor of the row is bad.
func (s *ScanRow) HasOverflow() bool {
	return slices.ContainsFunc(s.Tensors, func(t Tensor) bool { return t.Bad })
}

// IsFromStatistics reports whether the row is based on a table of statistics.
func (s *ScanRow) IsFromStatistics() bool {
	return slices.ContainsFunc(s.Tensors, func(t Tensor) bool { return t.FromStatistics })
}

// ScanReport is the result of Scan, and its JSON document.
type ScanReport struct {
	Schema string `json:"schema"`
	ScanCounts
	// Rows are ordered by rank and step, then in execution order.
	Rows []ScanRow `json:"rows"`
	// Problems are data that could not be read.
	Problems []Problem `json:"problems"`
	// Orders are the sources of the execution order.
	Orders []OrderSource `json:"orders"`
	// Rounds are the rounds that were read; the counts above are their sums.
	Rounds []ScanRound `json:"rounds"`
	// Memory lists memory with rows that no operator wrote; absent in documents of shards.
	Memory []check.Unwritten `json:"memory,omitempty"`
	// All: rows of good tensors are included.
	All bool `json:"all,omitempty"`
	Inputs
	shard.Origin
}

// hasNoFloats reports whether the tensors that were read have no floating-point elements.
func (r *ScanReport) hasNoFloats() bool {
	blank := 0
	for i := range r.Rounds {
		blank += r.Rounds[i].Blank
	}
	return r.Tensors > 0 && blank == r.Tensors
}

// Unread counts the problems with data that could not be read.
func (r *ScanReport) Unread() int { return countUnread(r.Problems) }

// Unfetched counts the problems with the access to object storage.
func (r *ScanReport) Unfetched() int { return countUnfetched(r.Problems) }

// ScanCounts counts files and tensors of a round or a run.
type ScanCounts struct {
	// Files counts the files that were read, Tensors the tensors in them, Tables the tensors from tables of
	// statistics, BadFiles the files with a bad tensor.
	Files    int `json:"files"`
	Tensors  int `json:"tensors"`
	BadFiles int `json:"bad_files"`
	Tables   int `json:"tables,omitempty"`
	// Intended counts the tensors with infinities or limits that a call was asked to write. Unwritten counts the
	// tensors with bad elements in memory that no operator has written, or no operator reads.
	Intended  int `json:"asked,omitempty"`
	Unwritten int `json:"unwritten,omitempty"`
}

func (c *ScanCounts) add(o *ScanCounts) {
	c.Files, c.Tensors, c.BadFiles, c.Tables = c.Files+o.Files, c.Tensors+o.Tensors, c.BadFiles+o.BadFiles, c.Tables+o.Tables
	c.Intended, c.Unwritten = c.Intended+o.Intended, c.Unwritten+o.Unwritten
}

// ScanRound has the counts of a round.
type ScanRound struct {
	dumpdir.Coordinates
	ScanCounts
	// Blank counts the tensors without floating-point elements.
	Blank int `json:"blank,omitempty"`
	// Order is the source of the execution order.
	Order OrderSource `json:"order"`
	// Unfinished: part of the round was not reached, or object storage did not answer.
	Unfinished bool `json:"unfinished,omitempty"`
	// Open: the origins of bad elements are not resolved yet; merging does it.
	Open bool `json:"open,omitempty"`
}

// OrderSource is a source of the execution order of some rounds.
type OrderSource struct {
	// By is the kind of the source, Source its name.
	By     dumpdir.OrderSource `json:"by"`
	Source string              `json:"source"`
	// NumKnown is the number of operators that the source orders, of Total operators, in Rounds rounds; Rounds is
	// absent in a single round.
	NumKnown int `json:"known"`
	Total    int `json:"of"`
	Rounds   int `json:"rounds,omitempty"`
}

// Scan reads every tensor of the chosen rounds of a run (or of a shard) once, and looks for NaN, infinities and
// values at the limits of their types. Overflow records are skipped. If ctx ends, the report has the tensors read
// until then, and the error is the error of ctx.
func Scan(ctx context.Context, run *dumpdir.Run, opt Options) (*ScanReport, error) {
	s := &scanner{ScanReport: ScanReport{Schema: ScanSchema, Rows: []ScanRow{}, Problems: []Problem{}, Orders: []OrderSource{}, Rounds: []ScanRound{}, All: opt.All}}
	s.addFinished(opt.Previous)
	w, err := openUnits(ctx, run, &opt, division{keyFunc: unitByStep, isFinished: func(at dumpdir.Coordinates) bool { return s.finished[stepOf(at)] }})
	if err != nil {
		return nil, err
	}
	s.Listed = len(run.Files)
	if !w.isListed() {
		s.Others = describeOtherFiles(run)
	}
	var bugs []check.Problem
	if opt.Headroom == "" && !opt.Shard.IsSharded() {
		s.Memory, bugs, err = check.FindUnwritten(ctx, run, check.Options{Select: opt.Select, Ops: opt.Ops, Workers: opt.Workers, Graph: true, Budget: check.DefaultBudget, Seed: 1})
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	for _, u := range w.units {
		if u.isMine() && !s.finished[stepOf(u.rounds[0].At)] {
			s.listRows(u, &opt)
		}
	}
	s.files, s.unfinished = make(map[fileOf]bool), make([]int, len(s.rows))
	for _, j := range s.jobs {
		s.unfinished[j.row]++
	}
	err = readJobs(ctx, opt, s.jobs, s.add)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	s.addProblems(w.problems, opt.Previous)
	for _, p := range bugs {
		s.Problems = append(s.Problems, newProblem(p.File, lang.Errorf("%v", p.Err)))
	}
	return s.collectRows(opt.Shard.IsSharded()), err
}

// readJobs reads files and passes their tensors to emit in the order of the jobs.
func readJobs(ctx context.Context, opt Options, jobs []scanJob, emit func(scanJob, []Tensor)) error {
	files := new(tensorfile.Pool)
	defer files.Close()
	return batch.Run(ctx, batch.Options{Workers: opt.Workers, Observe: opt.Observe}, jobs,
		scanJob.cost,
		func(ctx context.Context, j scanJob) []Tensor { return readFile(ctx, files, j.tensors, j.search) },
		func(i int, tensors []Tensor) {
			if ctx.Err() == nil {
				emit(jobs[i], tensors)
			}
		})
}

// scanner makes the rows of a report.
type scanner struct {
	ScanReport
	// rows are the rows to read; roundOfRow has the index of the round of each row.
	rows       []ScanRow
	roundOfRow []int
	jobs       []scanJob
	// files has the files that were read, and whether each has a bad tensor.
	files map[fileOf]bool
	// unfinished counts the unfinished jobs of each row.
	unfinished []int
	// finished are the steps that an earlier scan has finished.
	finished map[dumpdir.Coordinates]bool
}

// fileOf is a file of a round.
type fileOf struct {
	round int
	*dumpdir.File
}

// scanJob is the reading of a file's tensors that belong to a row.
type scanJob struct {
	place   int // number among all jobs of its unit, from 1
	row     int
	tensors []dumpdir.Tensor
	search  elementSearch
}

// cost returns the bytes to read.
func (j scanJob) cost() int64 {
	if j.tensors[0].Table { // already read
		return 1
	}
	return 1 + j.tensors[0].File.Size
}

// stepOf returns the coordinates of the step of a round.
func stepOf(at dumpdir.Coordinates) dumpdir.Coordinates {
	return dumpdir.Coordinates{Rank: at.Rank, Step: at.Step}
}

// addFinished copies the results of steps that an earlier scan finished. Steps with unreadable data are read again:
// the data may have been repaired. If the access to object storage failed outside of any step, nothing is copied.
func (s *scanner) addFinished(earlier *ScanReport) {
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
		if p.IsUnread() {
			finished[stepOf(p.At)] = false
		}
	}
	s.finished = finished
	for i := range earlier.Rounds {
		if r := &earlier.Rounds[i]; s.finished[stepOf(r.Coordinates)] {
			s.Rounds = append(s.Rounds, *r)
		}
	}
	for i := range earlier.Rows {
		if row := earlier.Rows[i]; s.finished[stepOf(row.Coordinates())] {
			row.Place = cmp.Or(row.Place, i+1)
			s.Rows = append(s.Rows, row)
		}
	}
}

// addProblems adds the problems of the run, and the problems of an earlier scan in the steps that it finished.
func (s *scanner) addProblems(ofRun []Problem, earlier *ScanReport) {
	s.Problems = append(ofRun, s.Problems...)
	if earlier == nil {
		return
	}
	inRun := make(map[Problem]bool)
	for _, p := range ofRun {
		inRun[p] = true
	}
	for i, p := range earlier.Problems {
		place := p.Place
		if p.Place = 0; s.finished[stepOf(p.At)] && !inRun[p] {
			p.Place = cmp.Or(place, i+1)
			s.Problems = append(s.Problems, p)
		}
	}
}

// listRows lists the rows of a unit in their order, and the files to read for them.
func (s *scanner) listRows(u *unit, opt *Options) {
	byTime, first, place := true, len(s.rows), 0 // byTime: all rounds of the step are ordered by timestamps
	var jobs []scanJob
	for _, round := range u.rounds {
		o, known, unwritten := round.Order, len(s.rows), hasUnwritten(round, s.Memory)
		for _, op := range round.Ops {
			if !opt.Ops.Includes(op) {
				continue
			}
			for _, tensors := range groupByFile(op.Tensors) {
				if tensors[0].File.Err == nil {
					place++
					jobs = append(jobs, scanJob{place, len(s.rows), tensors, newElementSearch(op, unwritten)})
				}
			}
			files := filesOf(op)
			row := ScanRow{Occurrence: occurrenceOf(files[0], round.At, op.Timestamp), OpType: op.Type, OpName: op.Names()[0], Script: op.Script(), Unordered: !round.Order.IsKnown(), arguments: argumentsOf(op), op: op, round: round}
			for _, name := range files[1:] {
				row.Files, row.File = files, commonPattern(row.File, name)
			}
			s.rows, s.roundOfRow = append(s.rows, row), append(s.roundOfRow, len(s.Rounds))
		}
		byTime = byTime && (len(s.rows) == known || o.By == dumpdir.ByTimestamp)
		s.Rounds = append(s.Rounds, ScanRound{Coordinates: round.At, Order: OrderSource{By: o.By, Source: o.Name, NumKnown: o.Known, Total: o.Of}, Open: true})
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
	s.jobs = append(s.jobs, shardJobs(u, jobs, first, len(rows))...)
}

// shardJobs returns the jobs of a unit that this shard does; rows is the number of rows of the unit. Rows that share a
// file stay together.
func shardJobs(u *unit, jobs []scanJob, first, rows int) []scanJob {
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
	firstRowOf := make(map[*dumpdir.File]int)
	for _, j := range jobs {
		file, row := j.tensors[0].File, j.row-first
		firstRow, seen := firstRowOf[file]
		if !seen {
			firstRow = row
			firstRowOf[file] = firstRow
		}
		a, b := head(firstRow), head(row)
		group[max(a, b)] = min(a, b)
	}
	sizes, keys := make([]int64, rows), make([]string, rows)
	for _, j := range jobs {
		sizes[head(j.row-first)] += j.cost()
		keys[head(j.row-first)] += relativePath(j.tensors[0].File) + "\x00"
	}
	mine := u.MarkUnits(sizes, keys)
	return slices.DeleteFunc(jobs, func(j scanJob) bool { return !mine[head(j.row-first)] })
}

// relativePath returns the path of a file below the given folder, with / on all systems.
func relativePath(f *dumpdir.File) string {
	rel, ok := strings.CutPrefix(f.Path(), f.Root())
	if !ok || rel == "" {
		return f.Name
	}
	return strings.TrimLeft(filepath.ToSlash(rel), "/")
}

// compareSteps orders coordinates by rank and step.
func compareSteps(a, b dumpdir.Coordinates) int {
	return cmp.Or(lang.CompareNatural(a.Rank, b.Rank), lang.CompareNatural(a.Step, b.Step))
}

// filesOf names the files of an operator, one name for each folder: the path of a single file, else a pattern.
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
			names[i] = commonPattern(names[i], name)
			continue
		}
		names, dirs = append(names, name), append(dirs, dir)
	}
	return names
}

// commonPattern returns the common prefix of two paths, or of a pattern and a path, as a pattern.
func commonPattern(a, b string) string {
	a, _, _ = strings.Cut(a, "*")
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return strings.ToValidUTF8(a[:n], "") + "*" + filename.Parse(store.Base(b)).Ext
}

// add adds the tensors of a file to their row, and the problems with them.
func (s *scanner) add(j scanJob, tensors []Tensor) {
	row, file, round := &s.rows[j.row], j.tensors[0].File, s.roundOfRow[j.row]
	for _, p := range tensorProblems(tensors) {
		p.At, p.Place = row.Coordinates(), 1+j.place
		s.Problems = append(s.Problems, p)
	}
	row.Tensors = append(row.Tensors, tensors...)
	s.unfinished[j.row]--
	for i := range tensors {
		t := &tensors[i]
		if t.unopened {
			continue
		}
		s.Rounds[round].Tensors++
		if t.hasNoFloats() {
			s.Rounds[round].Blank++
		}
		if t.FromStatistics {
			s.Rounds[round].Tables++
		}
		key := fileOf{round, file}
		s.files[key] = s.files[key] || t.Bad
	}
}

// collectRows collects the rows with opened tensors, without good rows unless all are wanted. Documents to be merged
// keep Place.
func (s *scanner) collectRows(keepPlaces bool) *ScanReport {
	for key, bad := range s.files {
		r := &s.Rounds[key.round]
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
		if s.unfinished[i] > 0 {
			unfinished[stepOf(row.Coordinates())] = true
			continue
		}
		if !row.isRelevant() && !s.All || !slices.ContainsFunc(row.Tensors, func(t Tensor) bool { return !t.unopened }) {
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

// sumUp sorts the rounds and sums their counts.
func (r *ScanReport) sumUp() {
	slices.SortStableFunc(r.Rounds, func(a, b ScanRound) int { return a.Compare(b.Coordinates) })
	r.ScanCounts, r.Orders = ScanCounts{}, []OrderSource{}
	for i := range r.Rounds {
		r.add(&r.Rounds[i].ScanCounts)
		order := r.Rounds[i].Order
		order.Rounds = 1
		r.addOrder(order)
	}
	if r.Files > 0 {
		r.Others = nil
	}
}

// conclude sorts the rows and the problems, and marks the first bad row of each rank. A row of a round with unknown
// order is marked only if no other row of the round is bad. Open rounds are resolved, except in documents to be
// merged, which keep Place instead.
func (r *ScanReport) conclude(keepPlaces bool) {
	slices.SortStableFunc(r.Rows, func(a, b ScanRow) int {
		return cmp.Or(compareSteps(a.Coordinates(), b.Coordinates()), cmp.Compare(a.Place, b.Place))
	})
	if keepPlaces {
		for i := range r.Rows {
			r.Rows[i].toDocument()
		}
	} else {
		r.resolve()
	}
	r.sumUp()
	orderProblems(r.Problems, keepPlaces)
	seen := make(map[string]bool)
	bad := make(map[dumpdir.Coordinates]int)
	for i := range r.Rows {
		if r.Rows[i].HasOverflow() {
			bad[r.Rows[i].Coordinates()]++
		}
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		row.First = row.HasOverflow() && !seen[row.Rank] && (!row.Unordered || bad[row.Coordinates()] == 1)
		seen[row.Rank] = seen[row.Rank] || row.HasOverflow()
		if !keepPlaces {
			row.Place = 0
		}
	}
}
