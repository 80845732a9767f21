package convert

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/guard"
	"dumptool/internal/layout"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

// Summary counts what a run did.
type Summary struct {
	Files    int `json:"files"`     // dumps that were converted without a failure
	Failed   int `json:"failed"`    // files with a failure
	NotDumps int `json:"not_dumps"` // files that are no dumps
	Empty    int `json:"empty"`     // files that name their tensors and have none
	Arrays   int `json:"arrays"`    // those of them that are arrays, which need no conversion
	// Statistics are those of them that hold statistics in place of elements.
	Statistics int `json:"statistics"`
	Written    int `json:"written"` // output files
	Skipped    int `json:"skipped"` // output files that existed and were kept
}

// memoryBudget bounds what the workers of a run hold together, in bytes.
const memoryBudget = 96 << 20

// Run converts the files and hands the results to emit in their order, until it
// returns an error, which stops nothing. Then Run writes the list of failures and
// the mapping of shortened names. A shard converts its files, and leaves what is to be
// listed in a document for Merge. The error is that of emit, of the context, of the
// output folder, or of writing these. Run closes the converters of the user.
func Run(ctx context.Context, opt Options, in *dumpdir.Run, observe func(batch.Event), emit func(*Result) error) (Summary, error) {
	if opt.Custom != nil {
		defer opt.Custom.Close()
	}
	if err := checkFolder(opt.Out); err != nil {
		return Summary{}, err
	}
	r := newRun(opt, in)
	all := jobs(in.Files)
	var d *Document // of a shard
	if spec := opt.Origin.Shard; spec != nil {
		all, d = share(all, *spec), newDocument(in, opt.Origin)
	}
	var sum Summary
	var records ledger
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
	case d == nil && !r.alone:
		err = errors.Join(err, records.writeFailed(opt.Out))
	}
	err = errors.Join(err, records.writeMappings())
	if broken != nil {
		return Summary{}, broken
	}
	return sum, err
}

func newRun(opt Options, in *dumpdir.Run) *run {
	workers := opt.workers()
	return &run{
		opt: opt, alone: in.Single, members: membersOf(in), memory: sync.Pool{New: func() any { return new(memory) }},
		slots: make(chan struct{}, workers), parts: make(chan struct{}, min(workers, memoryBudget/2/partMemory)),
	}
}

// checkFolder reports an output folder that is something else, which would be
// the error of every tensor.
func checkFolder(out string) error {
	info, err := store.Stat(out)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return nil
	}
	return safefile.MkdirAll(out) // says what is in its place
}

// convertAll converts the files, several at a time within the budget of memory.
func (r *run) convertAll(ctx context.Context, all []Job, observe func(batch.Event), emit func(Result)) error {
	p := newProgress(all, observe)
	opt := batch.Options{Workers: r.opt.workers(), Budget: memoryBudget, Observe: p.job}
	return batch.Run(ctx, opt, all, r.cost, func(ctx context.Context, job Job) Result {
		r.slots <- struct{}{}
		defer func() { <-r.slots }()
		file := &fileProgress{progress: p, left: job.Size}
		defer file.finish()
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
	// twins are the earlier files whose outputs may have the same names.
	twins []*dumpdir.File
}

// membersOf are the names of the tensors that are chosen, of files that name their
// tensors and were opened to choose among them.
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

// jobs makes a job of every file.
func jobs(files []*dumpdir.File) []Job {
	type place struct{ dir, base string }
	seen := make(map[place][]*dumpdir.File, len(files))
	all := make([]Job, len(files))
	for i, f := range files {
		base := filename.Safe(f.Name)
		at := place{f.Folder.Dir, base}
		if c := tensorfile.ContainerOf(f.Name); c != nil && c.Named {
			at.base = withoutExt(base)
		}
		all[i] = Job{File: f, Base: base, place: i, twins: seen[at]}
		seen[at] = append(seen[at], f)
	}
	return all
}

// The reasons to leave a file alone, beside its content.
var (
	errProduct    = errors.New("the dump that it was made from is there")
	errStatistics = errors.New("it holds statistics, no tensors")
	errSide       = errors.New("it lies beside dumps and holds no tensors")
)

// leftAlone says why a file is left alone that need not be opened for it; nil for
// others. A side file is known by its name alone: it has to be opened if no other
// file was asked for.
func (r *run) leftAlone(f *dumpdir.File) error {
	switch {
	case f.Role == dumpdir.Product:
		return errProduct
	case f.Role == dumpdir.Table:
		return errStatistics
	case f.Role == dumpdir.Side && !r.alone:
		return errSide
	}
	return nil
}

// cost estimates the memory that a file takes.
func (r *run) cost(j Job) int64 {
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
	case r.Failed():
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
