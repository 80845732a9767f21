package overflow

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/graph"
	"dumptool/internal/shard"
	"dumptool/internal/tensor"
)

// Schema identifies a Report as a JSON document.
const Schema = "dumptool/overflow/1"

// Report is the result of Analyze, and its JSON document.
type Report struct {
	Schema string `json:"schema"`
	// Records are ordered by rank, step and time.
	Records []Record `json:"records"`
	// Problems are data that could not be read, and records without an overflow.
	Problems []Problem `json:"problems"`
	// First is the index of the first record, by rank.
	First map[string]int `json:"first"`
	// Dumps counts the operator dumps, Total the records before the limit Options.Most.
	Dumps int `json:"dumps"`
	Total int `json:"total"`
	// All: reports for people show everything.
	All bool `json:"all,omitempty"`
	Inputs
	shard.Origin
}

// Unread counts the problems with data that could not be read.
func (r *Report) Unread() int { return countUnread(r.Problems) }

// Unfetched counts the problems with the access to object storage.
func (r *Report) Unfetched() int { return countUnfetched(r.Problems) }

// Analyze finds the overflow records of a run (or of a shard), matches each with the dump of its operator and judges
// the tensors. Data that cannot be read is a Problem and does not stop the analysis.
func Analyze(ctx context.Context, run *dumpdir.Run, opt Options) (*Report, error) {
	w, err := openUnits(ctx, run, &opt, division{keyFunc: unitByRank, records: true})
	if err != nil {
		return nil, err
	}
	report := &Report{Schema: Schema, Records: []Record{}, Problems: w.problems, All: opt.All}
	report.Listed = len(run.Files)
	if !w.isListed() {
		report.Others = describeOtherFiles(run)
	}
	recordFiles := make(map[*unit][]dumpdir.Record)
	for _, r := range run.Records {
		if u := w.unitByKey[w.unitOf(r.At)]; u != nil && u.isMine() && opt.Select.Includes(r.At) {
			recordFiles[u] = append(recordFiles[u], r)
		}
	}
	var records []*Record
	for _, u := range w.units {
		if !u.isMine() {
			continue
		}
		mine, err := report.recordsOf(ctx, u, recordFiles[u], &opt)
		if err != nil {
			return nil, err
		}
		records = append(records, mine...)
	}
	err = batch.Run(ctx, batch.Options{Workers: opt.Workers, Observe: opt.Observe}, records, nil,
		func(ctx context.Context, r *Record) *Record {
			r.judge(ctx)
			return r
		}, func(int, *Record) {})
	if err != nil {
		return nil, err
	}
	report.add(records)
	report.conclude(opt.Shard.IsSharded())
	return report, nil
}

// recordsOf returns the records of a unit that this shard judges. The shard with the first part of the unit counts
// all records of the unit.
func (r *Report) recordsOf(ctx context.Context, u *unit, files []dumpdir.Record, opt *Options) ([]*Record, error) {
	ops := dumpsOf(u.rounds)
	records, problems, err := matchRecords(ctx, files, newDumps(ops), opt)
	if err != nil {
		return nil, err
	}
	if u.IsFirst() {
		r.Dumps, r.Total, r.Problems = r.Dumps+len(ops), r.Total+len(records), append(r.Problems, problems...)
	}
	records = limitPerRank(records, opt.MaxRecords)
	findProducers(records)
	for i, x := range records {
		x.Place = i + 1
	}
	if u.Of == 1 {
		return records, nil
	}
	rounds := make(map[string]int)
	var keys []string
	var sizes []int64
	for _, x := range records {
		key := roundOf(x)
		if _, seen := rounds[key]; !seen {
			rounds[key] = len(keys)
			keys, sizes = append(keys, key), append(sizes, 0)
		}
		sizes[rounds[key]] += sizeToRead(x)
	}
	mine := u.MarkUnits(sizes, keys)
	return slices.DeleteFunc(records, func(x *Record) bool { return !mine[rounds[roundOf(x)]] }), nil
}

// roundOf returns a key for the round of a record.
func roundOf(r *Record) string {
	return strings.Join([]string{r.Rank, r.Step, r.Graph, r.Model, r.Folder}, "\x00")
}

// sizeToRead returns the bytes to read to judge a record.
func sizeToRead(r *Record) (size int64) {
	if r.Op != nil {
		size = sizeOf(r.Op.dump.tensors)
	}
	for _, p := range r.Producers {
		size += sizeOf(p.sources)
	}
	return size
}

// sizeOf sums the sizes of the files of tensors.
func sizeOf(tensors []dumpdir.Tensor) int64 {
	size := int64(0)
	for _, group := range groupByFile(tensors) {
		size += group[0].File.Size
	}
	return size
}

// matchRecords returns the records that show an overflow, each with its operator, ordered by rank, step and time.
// problems are unreadable records, and records without an overflow.
func matchRecords(ctx context.Context, files []dumpdir.Record, dumps *dumps, opt *Options) (records []*Record, problems []Problem, err error) {
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if file.File.Err != nil {
			continue // the listing reports it
		}
		f := readRecords(file)
		if f.err != nil {
			problems = append(problems, f.newProblem(f.err))
			continue
		}
		for _, one := range f.records {
			record, err := newRecord(f, one)
			if err != nil {
				p := f.newProblem(err)
				p.Empty = true
				problems = append(problems, p)
				continue
			}
			if d, rule := dumpOf(f, record.area, dumps); d != nil {
				record.Op = newOperator(d, rule)
			}
			if opt.Ops == nil || record.Op != nil && opt.Ops.Includes(record.Op.op) {
				records = append(records, record)
			}
		}
	}
	slices.SortStableFunc(records, compareRecords)
	return records, problems, nil
}

// newProblem makes a problem with the file.
func (s *recordSource) newProblem(err error) Problem {
	p := newProblem(s.path, err)
	p.At, p.Place = s.at, 1
	return p
}

// limitPerRank keeps the first n records of each rank, all if n is 0.
func limitPerRank(records []*Record, n int) []*Record {
	if n <= 0 {
		return records
	}
	seen := map[string]int{}
	return slices.DeleteFunc(records, func(r *Record) bool {
		seen[r.Rank]++
		return seen[r.Rank] > n
	})
}

// add adds the records, and the problems with tensors of their operators.
func (r *Report) add(records []*Record) {
	hasProblem := make(map[string]bool) // files with problems
	for i := range r.Problems {
		hasProblem[r.Problems[i].File] = true
	}
	for _, record := range records {
		r.Records = append(r.Records, *record)
		for _, p := range record.problems {
			if !hasProblem[p.File] {
				p.At, p.Place = record.Coordinates(), 1+record.Place
				r.Problems = append(r.Problems, p)
			}
		}
	}
}

// conclude sorts the records and the problems, and finds the first record of each rank. Documents to be merged keep
// Place.
func (r *Report) conclude(keepPlaces bool) {
	slices.SortStableFunc(r.Records, func(a, b Record) int { return cmp.Or(compareRecords(&a, &b), cmp.Compare(a.Place, b.Place)) })
	orderProblems(r.Problems, keepPlaces)
	if r.Total+r.Dumps > 0 {
		r.Others = nil
	}
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

// Producer is an output of another operator that the operator of a record reads, by the graph of the run.
type Producer struct {
	// Type and Op are the type and name of the producer.
	Type string `json:"op_type"`
	Op   string `json:"op_name"`
	// Script is the line of the user's script that called the operator, as FILE:LINE; empty if unknown.
	Script string `json:"script,omitempty"`
	// Output is the index of the output, nil if unknown.
	Output *int `json:"output"`
	// Through are the operators without a dump between the output and its reader.
	Through []string `json:"through"`
	// Tensors are the tensors of the output, or of all outputs if the index is unknown; empty for an operator without
	// a dump.
	Tensors []Tensor `json:"tensors"`

	sources []dumpdir.Tensor
}

// HasOverflow reports whether the output has NaN, infinities or values at the limit of the type.
func (p *Producer) HasOverflow() bool {
	return slices.ContainsFunc(p.Tensors, func(t Tensor) bool { return t.Bad })
}

// isKnown reports whether the whole output could be read.
func (p *Producer) isKnown() bool {
	return len(p.Tensors) > 0 && !slices.ContainsFunc(p.Tensors, func(t Tensor) bool { return t.err != nil && !t.IsNotNumeric() })
}

// Limits of the search for producers.
const (
	maxLevels    = 8  // levels of operators without a dump that are skipped
	maxProducers = 16 // producers listed per record
)

// findProducers finds the producers for the first record of each rank.
func findProducers(records []*Record) {
	seen := make(map[string]bool)
	rounds := make(map[*dumpdir.Round]map[string][]*dumpdir.Op)
	for _, r := range records {
		if seen[r.Rank] || r.Op == nil {
			continue
		}
		seen[r.Rank] = true
		round := r.Op.dump.round
		if round.Flow.Graph == nil {
			continue
		}
		ops := rounds[round]
		if ops == nil {
			ops = round.OpsByName()
			rounds[round] = ops
		}
		r.Producers = producersOf(r.Op.op, round.Flow.Graph, ops)
	}
}

// producersOf walks the graph upwards from an operator to operators with a dump. ops has the operators by the names
// that files have for them.
func producersOf(op *dumpdir.Op, g *graph.Graph, ops map[string][]*dumpdir.Op) []Producer {
	var found []Producer
	seen := make(map[string]bool)
	type step struct {
		node    *graph.Op
		through []string
	}
	for level := []step{{node: g.Find(op.Names()...)}}; len(level) > 0; {
		var next []step
		for _, s := range level {
			if s.node == nil {
				continue
			}
			for _, producer := range s.node.Producers() {
				p := Producer{Op: producer.Op, Through: append([]string{}, s.through...), Tensors: []Tensor{}}
				if producer.Output >= 0 {
					p.Output = &producer.Output
				}
				node := g.Find(producer.Op)
				if node != nil {
					p.Type = node.Type
				}
				if executions := ops[filename.Normalise(producer.Op)]; len(executions) > 0 {
					p.setOperator(executionFor(executions, op))
				} else if node != nil && len(node.Producers()) > 0 && len(s.through) < maxLevels {
					if !seen[producer.Op] {
						seen[producer.Op] = true
						next = append(next, step{node, append(slices.Clip(s.through), producer.Op)})
					}
					continue
				}
				if len(found) < maxProducers {
					found = append(found, p)
				}
			}
		}
		level = next
	}
	return found
}

// executionFor returns the execution of an operator whose output the reader reads: the last one not after the reader.
func executionFor(executions []*dumpdir.Op, reader *dumpdir.Op) *dumpdir.Op {
	best := executions[0]
	for _, op := range executions[1:] {
		if op.Timestamp <= reader.Timestamp && (best.Timestamp > reader.Timestamp || op.Timestamp >= best.Timestamp) {
			best = op
		}
	}
	return best
}

// setOperator sets the producer to an operator with a dump.
func (p *Producer) setOperator(op *dumpdir.Op) {
	p.Op, p.Type, p.Script = op.Names()[0], op.Type, op.Script()
	for _, t := range op.Tensors {
		if t.Kind == tensor.Output && (p.Output == nil || t.Index == *p.Output) {
			p.sources = append(p.sources, t)
		}
	}
}

// read reads the outputs.
func (p *Producer) read(ctx context.Context) {
	tensors, _ := readTensors(ctx, p.sources)
	p.Tensors = slices.DeleteFunc(append(p.Tensors, tensors...), func(t Tensor) bool { return t.Kind.IsInput() })
}
