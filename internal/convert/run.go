package convert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

// Summary counts the results of a run.
type Summary struct {
	Files    int `json:"files"`     // dumps converted without a failure
	Failed   int `json:"failed"`    // files with a failure
	NotDumps int `json:"not_dumps"` // files that are not dumps
	Empty    int `json:"empty"`     // files that name their tensors and have none
	Arrays   int `json:"arrays"`    // arrays among not_dumps, which need no conversion
	// Statistics counts files among not_dumps with statistics in place of elements.
	Statistics int `json:"statistics"`
	Written    int `json:"written"` // output files
	Skipped    int `json:"skipped"` // existing output files that were kept
}

// memoryBudget bounds the memory of all workers of a run, in bytes.
const memoryBudget = 96 << 20

// Run converts the files and passes the results to emit in their order. After an error emit is not
// called again, but the conversion goes on. At the end Run writes the list of failures and the
// mapping of shortened names; a shard writes them to a document for Merge instead. The error is
// from emit, from the context, about the output folder, or from writing these. Run closes the
// user's converters.
func Run(ctx context.Context, opt Options, in *dumpdir.Run, observe func(batch.Event), emit func(*Result) error) (Summary, error) {
	if opt.Custom != nil {
		defer opt.Custom.Close()
	}
	if err := checkFolder(opt.Out); err != nil {
		return Summary{}, err
	}
	r := newRun(opt, in)
	all := newJobs(in.Files)
	var d *Document // document of a shard
	if spec := opt.Origin.Shard; spec != nil {
		all, d = jobsOfShard(all, *spec), newDocument(in, opt.Origin)
	}
	var sum Summary
	var records outcomeLists
	var broken error
	err := r.convertAll(ctx, all, observe, func(res Result) {
		sum.add(&res)
		if d != nil {
			d.add(&res, opt.Out)
		} else {
			records.add(&res)
		}
		if broken == nil {
			broken = emit(&res)
		}
	})
	switch {
	case d != nil && err == nil && broken == nil:
		d.Summary = sum
		err = d.write(opt.Out)
	case d == nil && !r.isSingle:
		err = errors.Join(err, records.writeFailed(opt.Out))
	}
	err = errors.Join(err, records.writeMappings())
	if broken != nil {
		return Summary{}, broken
	}
	return sum, err
}

func newRun(opt Options, in *dumpdir.Run) *runState {
	workers := opt.workerCount()
	return &runState{
		opt: opt, isSingle: in.Single, members: membersOf(in), memory: sync.Pool{New: func() any { return new(memory) }},
		slots: make(chan struct{}, workers), parts: make(chan struct{}, min(workers, memoryBudget/2/partMemory)),
	}
}

// checkFolder returns an error if the output folder is not a folder or is not writable, instead of
// the same error for every tensor.
func checkFolder(out string) error {
	if err := safefile.CheckFolder(out); err != nil {
		return err
	}
	_, err := store.Stat(out)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return safefile.MkdirAll(out) // the error names the obstacle
	case store.IsRemote(out):
		return nil
	}
	there := out
	for errors.Is(err, fs.ErrNotExist) && there != store.Dir(there) {
		there = store.Dir(there)
		_, err = store.Stat(there)
	}
	probe, err := safefile.Create(store.Join(there, failedListName))
	if err != nil {
		return lang.Errorf("nothing can be written to %s: %v", out, err)
	}
	probe.Abort()
	return nil
}

// convertAll converts the files, several at a time within the memory budget.
func (r *runState) convertAll(ctx context.Context, all []Job, observe func(batch.Event), emit func(Result)) error {
	p := newProgress(all, observe)
	opt := batch.Options{Workers: r.opt.workerCount(), Budget: memoryBudget, Observe: p.observeJob}
	return batch.Run(ctx, opt, all, r.estimateCost, func(ctx context.Context, job Job) Result {
		r.slots <- struct{}{}
		defer func() { <-r.slots }()
		file := &fileProgress{progress: p, left: job.Size}
		defer file.addRemaining()
		var res Result
		err := guard.Do(func() error {
			res = r.convert(ctx, job, file)
			return nil
		})
		if err != nil {
			return newResult(job, err)
		}
		return res
	}, func(_ int, res Result) { emit(res) })
}

// Job is one file to convert.
type Job struct {
	*dumpdir.File
	// Base begins the names of the file's outputs.
	Base  string
	place int // among all files
	// twins are earlier files whose outputs may have the same names as outputs of this file.
	twins []*dumpdir.File
}

// membersOf returns the names of the selected tensors, for files with named tensors that were
// opened for the selection.
func membersOf(in *dumpdir.Run) map[*dumpdir.File]map[string]bool {
	all := make(map[*dumpdir.File]map[string]bool)
	for _, round := range in.Rounds {
		for _, op := range round.Ops {
			for i := range op.Tensors {
				t := &op.Tensors[i]
				if t.Member == "" {
					continue
				}
				if all[t.File] == nil {
					all[t.File] = make(map[string]bool)
				}
				all[t.File][t.Member] = true
			}
		}
	}
	return all
}

// newJobs makes a job for every file.
func newJobs(files []*dumpdir.File) []Job {
	type place struct{ dir, base string }
	seen := make(map[place][]*dumpdir.File, len(files))
	all := make([]Job, len(files))
	for i, f := range files {
		base := filename.Safe(f.Name)
		at := place{f.Folder.Dir, base}
		if c := tensorfile.ContainerOf(f.Name); c != nil && c.Named {
			at.base = cutExt(base)
		}
		all[i] = Job{File: f, Base: base, place: i, twins: seen[at]}
		seen[at] = append(seen[at], f)
	}
	return all
}

// The reasons to skip a file without opening it.
var (
	errProduct    = lang.Errorf("the dump it was converted from is present")
	errStatistics = lang.Errorf("it holds statistics, no tensors")
	errSide       = lang.Errorf("it is in a folder of dumps and holds no tensors")
)

// skipReason returns the reason to skip a file without opening it, nil for none. A side file is
// recognised by its name only: it must be opened if it is the only file given.
func (r *runState) skipReason(f *dumpdir.File) error {
	switch {
	case f.Role == dumpdir.Product:
		return errProduct
	case f.Role == dumpdir.Table:
		return errStatistics
	case f.Role == dumpdir.Side && !r.isSingle:
		return errSide
	}
	return nil
}

// estimateCost estimates the memory for a file.
func (r *runState) estimateCost(j Job) int64 {
	const base = 2 << 20
	if r.opt.Target == nil {
		return base
	}
	return base + min(2*j.Size, 2*layout.BufferBytes)
}

func (s *Summary) add(r *Result) {
	switch {
	case r.NotDump:
		s.NotDumps++
		switch {
		case errors.Is(r.why, errArray):
			s.Arrays++
		case errors.Is(r.why, errStatistics) || errors.Is(r.why, tensorfile.ErrNoData):
			s.Statistics++
		}
	case r.HasFailed():
		s.Failed++
	case r.Empty:
		s.Empty++
	default:
		s.Files++
	}
	last := ""
	for _, row := range r.Rows {
		switch {
		case row.Err != nil || row.Path == last: // one file may have several tensors
		case row.Skipped:
			s.Skipped++
		default:
			s.Written++
		}
		if row.Err == nil {
			last = row.Path
		}
	}
}

// progress counts the bytes of finished files and of finished parts of large files, so that the bar
// of one large file moves too.
type progress struct {
	observe func(batch.Event) // may be nil

	mu    sync.Mutex
	event batch.Event
}

// newProgress returns the progress before any job.
func newProgress(all []Job, observe func(batch.Event)) *progress {
	p := &progress{observe: observe}
	for i := range all {
		p.event.TotalCost += all[i].Size
	}
	return p
}

// observeJob updates the number of finished files.
func (p *progress) observeJob(e batch.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.event.Done, p.event.Total = e.Done, e.Total
	p.show()
}

func (p *progress) show() {
	if p.observe != nil {
		p.observe(p.event)
	}
}

type fileProgress struct {
	*progress
	left int64 // unfinished bytes
}

// add adds bytes of an unfinished file.
func (f *fileProgress) add(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	bytes = min(bytes, f.left)
	f.left -= bytes
	f.event.DoneCost += bytes
	f.show()
}

// addRemaining adds the rest of a file; its job is reported next.
func (f *fileProgress) addRemaining() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.event.DoneCost += f.left
	f.left = 0
}

// failedListName is the name of the list of failures in the output folder.
const failedListName = "convert_failed_file_list.txt"

// outcomeLists lists the failures and the shortened names of a run.
type outcomeLists struct {
	failed    []string
	shortened map[string][]dumpdir.RenamedFile // by folder
}

func (l *outcomeLists) add(r *Result) {
	if line, ok := failedLine(r); ok {
		l.failed = append(l.failed, line)
	}
	for _, row := range r.Rows {
		if row.Original == "" || row.Err != nil {
			continue
		}
		l.addShortened(store.Dir(row.Path), dumpdir.RenamedFile{Stored: store.Base(row.Path), Original: row.Original})
	}
}

// addShortened adds a shortened name in a folder.
func (l *outcomeLists) addShortened(dir string, name dumpdir.RenamedFile) {
	if l.shortened == nil {
		l.shortened = map[string][]dumpdir.RenamedFile{}
	}
	l.shortened[dir] = append(l.shortened[dir], name)
}

// failedLine returns the line of a file in the list of failures: its path, then each failed tensor
// as ,input:0 or ,output:0.
func failedLine(r *Result) (string, bool) {
	var line strings.Builder
	line.WriteString(strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(r.Job.Path()))
	failed := isFailure(r.Err)
	for _, row := range r.Rows {
		switch {
		case !isFailure(row.Err):
			continue
		case row.Name != "":
			fmt.Fprintf(&line, ",%q", row.Name)
		default:
			fmt.Fprintf(&line, ",%s:%d", row.Kind, row.Index)
		}
		failed = true
	}
	return line.String(), failed
}

// writeFailed writes the list of this run's failures, or removes the list of an earlier run if
// there are none.
func (l *outcomeLists) writeFailed(out string) error {
	path := store.Join(out, failedListName)
	if len(l.failed) == 0 {
		if err := store.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := safefile.MkdirAll(out); err != nil {
		return err
	}
	return safefile.WriteFile(path, []byte(strings.Join(l.failed, "\n")+"\n"))
}

// writeMappings adds lines to the mapping.csv of folders and keeps existing lines.
func (l *outcomeLists) writeMappings() error {
	var all error
	for dir, names := range l.shortened {
		all = errors.Join(all, dumpdir.AddMapping(dir, names))
	}
	return all
}
