package overflow

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/shard"
)

// Schema is that of a Report as a document.
const Schema = "dumptool/overflow/1"

// Report is the result of Analyze, and the document of it.
type Report struct {
	Schema string `json:"schema"`
	// Records are ordered by rank, step and time.
	Records []Record `json:"records"`
	// Problems are what could not be read, and records without an overflow.
	Problems []Problem `json:"problems"`
	// First is the index of the first record of each rank.
	First map[string]int `json:"first"`
	// Dumps counts the dumps of operators, Total the records before Options.Most.
	Dumps int `json:"dumps"`
	Total int `json:"total"`
	// All is set where reports for people show everything.
	All bool `json:"all,omitempty"`
	Inputs
	shard.Origin
}

// Unread counts the problems that are about data that could not be read.
func (r *Report) Unread() int { return unread(r.Problems) }

// Unfetched counts the problems of the way to object storage.
func (r *Report) Unfetched() int { return unfetched(r.Problems) }

// Analyze finds the overflow records of a run, matches each with the dump of its
// operator and judges the tensors, of all rounds or those of a shard. What cannot be
// read is a Problem and stops nothing.
func Analyze(ctx context.Context, run *dumpdir.Run, opt Options) (*Report, error) {
	if err := run.ReadHeaders(ctx, dumpdir.HeaderOptions{Workers: opt.Workers}); err != nil {
		return nil, err
	}
	report := &Report{Schema: Schema, Records: []Record{}, Problems: problemsOf(run, &opt.Select), All: opt.All}
	report.Listed = len(run.Files)
	ops := dumpsOf(run.Select(opt.Select))
	report.Dumps = len(ops)
	records, err := report.match(ctx, run, newDumps(ops), &opt)
	if err != nil {
		return nil, err
	}
	report.Total = len(records)
	if report.Total == 0 && report.Dumps == 0 {
		report.Others = othersOf(run)
	}
	records = firstOfEach(records, opt.Most)
	findProducers(records)
	for i, r := range records {
		r.Place = i + 1
	}
	records = shard.Share(opt.Shard, records, roundOf, sizeToRead)
	err = batch.Run(ctx, batch.Options{Workers: opt.Workers, Observe: opt.Observe}, records, nil,
		func(ctx context.Context, r *Record) *Record {
			r.judge(ctx)
			return r
		}, func(int, *Record) {})
	if err != nil {
		return nil, err
	}
	report.add(records)
	report.conclude(opt.Shard.On())
	return report, nil
}

// roundOf names the round of a record.
func roundOf(r *Record) string {
	return strings.Join([]string{r.Rank, r.Step, r.Graph, r.Model, r.Folder}, "\x00")
}

// sizeToRead is how much is read to judge a record.
func sizeToRead(r *Record) (size int64) {
	if r.Op != nil {
		size = sizeOf(r.Op.dump.tensors)
	}
	for _, p := range r.Producers {
		size += sizeOf(p.dumped)
	}
	return size
}

// sizeOf adds up the files of tensors.
func sizeOf(tensors []dumpdir.Tensor) int64 {
	size := int64(0)
	for _, of := range byFile(tensors) {
		size += of[0].File.Size
	}
	return size
}

// match returns the chosen records of a run that show an overflow, each with its
// operator, ordered by rank, step and time.
func (r *Report) match(ctx context.Context, run *dumpdir.Run, dumps *dumps, opt *Options) ([]*Record, error) {
	var records []*Record
	for _, recorded := range run.Records {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if recorded.File.Err != nil || !opt.Select.Wants(recorded.At) {
			continue // listed already, or not chosen
		}
		f := readRecords(recorded)
		if f.err != nil {
			r.Problems = append(r.Problems, newProblem(f.path, f.err))
			continue
		}
		for _, one := range f.records {
			record, err := newRecord(f, one)
			if err != nil {
				p := newProblem(f.path, err)
				p.Empty = true
				r.Problems = append(r.Problems, p)
				continue
			}
			if d, rule := match(f, record.area, dumps); d != nil {
				record.Op = newOperator(d, rule)
			}
			if opt.Ops == nil || record.Op != nil && opt.Ops.Wants(record.Op.op) {
				records = append(records, record)
			}
		}
	}
	slices.SortStableFunc(records, compareRecords)
	return records, nil
}

// firstOfEach keeps the first n records of each rank; all when n is 0.
func firstOfEach(records []*Record, n int) []*Record {
	if n <= 0 {
		return records
	}
	seen := map[string]int{}
	return slices.DeleteFunc(records, func(r *Record) bool {
		seen[r.Rank]++
		return seen[r.Rank] > n
	})
}

// add adds the records, and what could not be read of their operators.
func (r *Report) add(records []*Record) {
	listed := make(map[string]bool) // files with problems
	for i := range r.Problems {
		listed[r.Problems[i].File] = true
	}
	for _, record := range records {
		r.Records = append(r.Records, *record)
		for _, p := range record.problems {
			if !listed[p.File] {
				p.Place = record.Place
				r.Problems = append(r.Problems, p)
			}
		}
	}
}

// conclude orders the records and the problems by their places, and finds the first
// record of each rank. Places are kept for those who merge.
func (r *Report) conclude(keepPlaces bool) {
	slices.SortStableFunc(r.Records, func(a, b Record) int { return cmp.Or(cmp.Compare(a.Place, b.Place), compareRecords(&a, &b)) })
	orderProblems(r.Problems, keepPlaces)
	r.First = make(map[string]int)
	for i := range r.Records {
		record := &r.Records[i]
		if _, ok := r.First[record.Rank]; !ok {
			r.First[record.Rank] = i
		}
		if !keepPlaces {
			record.Place = 0
		}
	}
}
