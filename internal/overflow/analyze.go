package overflow

import (
	"context"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
)

// Report is the result of Analyze.
type Report struct {
	// Records are ordered by rank, step and time.
	Records  []Record
	Problems []Problem
	// First is the index of the first record of each rank.
	First map[string]int
	// Dumps counts the dumps of operators, Files all files, Total the records
	// before Options.Most.
	Dumps, Files, Total int
	// All is that of the options.
	All bool
}

// Unread counts the problems that are about data that could not be read.
func (r *Report) Unread() int { return unread(r.Problems) }

// Analyze finds the overflow records of a run, matches each with the dump of its
// operator and judges the tensors. What cannot be read is a Problem and stops
// nothing.
func Analyze(ctx context.Context, run *dumpdir.Run, opt Options) (*Report, error) {
	report, records, err := planAnalysis(ctx, run, &opt)
	if err != nil {
		return nil, err
	}
	if err := judgeRecords(ctx, records, opt, func(int, *Record) {}); err != nil {
		return nil, err
	}
	report.add(records)
	return report, nil
}

// planAnalysis returns a report without records, and the records that are to be judged
// for it, in their order.
func planAnalysis(ctx context.Context, run *dumpdir.Run, opt *Options) (*Report, []*Record, error) {
	if err := run.ReadHeaders(ctx, dumpdir.HeaderOptions{Workers: opt.Workers}); err != nil {
		return nil, nil, err
	}
	report := &Report{All: opt.All, Files: len(run.Files), Problems: problemsOf(run, &opt.Select)}
	ops := dumpsOf(run.Select(opt.Select))
	report.Dumps = len(ops)
	records, err := report.match(ctx, run, newDumps(ops), opt)
	if err != nil {
		return nil, nil, err
	}
	report.Total = len(records)
	records = firstOfEach(records, opt.Most)
	findProducers(records)
	return report, records, nil
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
			r.Problems = append(r.Problems, Problem{File: f.path, Err: f.err})
			continue
		}
		for _, one := range f.records {
			record, err := newRecord(f, one)
			if err != nil {
				r.Problems = append(r.Problems, Problem{File: f.path, Empty: true, Err: err})
				continue
			}
			if d, rule := match(f, record.Area, dumps); d != nil {
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
		seen[r.At.Rank]++
		return seen[r.At.Rank] > n
	})
}

// judgeRecords reads the tensors of the records' operators, judges them and hands the
// records to emit in their order.
func judgeRecords(ctx context.Context, records []*Record, opt Options, emit func(int, *Record)) error {
	return batch.Run(ctx, batch.Options{Workers: opt.Workers, Observe: opt.Observe}, records, nil,
		func(ctx context.Context, r *Record) *Record {
			r.judge(ctx)
			return r
		},
		emit)
}

// add adds the records, and what could not be read of their operators.
func (r *Report) add(records []*Record) {
	r.First = map[string]int{}
	listed := make(map[string]bool) // files with problems
	for i := range r.Problems {
		listed[r.Problems[i].File] = true
	}
	for i, record := range records {
		r.Records = append(r.Records, *record)
		if _, ok := r.First[record.At.Rank]; !ok {
			r.First[record.At.Rank] = i
		}
		for _, p := range record.problems {
			if !listed[p.File] {
				r.Problems = append(r.Problems, p)
			}
		}
	}
}
