package overflow

import (
	"cmp"
	"fmt"
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/shard"
)

// MergeScans makes one report of the reports of shards, the one that a single run makes,
// or of runs on different rounds. The origin is that of the first.
func MergeScans(docs []shard.Document, reports []*ScanReport) (*ScanReport, error) {
	seen := make(rounds)
	all := *reports[0]
	for i, r := range reports {
		for k := range r.Rows {
			row := &r.Rows[k]
			row.Rank = cmp.Or(row.Rank, docs[i].Rank)
			row.Device = row.Rank
			if err := seen.add(&docs[i], row.At()); err != nil {
				return nil, err
			}
		}
		if i == 0 {
			continue
		}
		all.Files, all.Tensors, all.BadFiles, all.Tables = all.Files+r.Files, all.Tensors+r.Tensors, all.BadFiles+r.BadFiles, all.Tables+r.Tables
		all.Rows = append(all.Rows, r.Rows...)
		all.mergeInputs(&all.Problems, &r.Inputs, r.Problems, r.Shard != nil)
		for _, o := range r.Orders {
			if r.Shard == nil {
				all.addOrder(o)
			}
		}
	}
	all.conclude(false)
	return &all, nil
}

// MergeAnalyses makes one report of the reports of shards, the one that a single run
// makes, or of runs on different rounds. The origin is that of the first.
func MergeAnalyses(docs []shard.Document, reports []*Report) (*Report, error) {
	seen := make(rounds)
	all := *reports[0]
	for i, r := range reports {
		for k := range r.Records {
			record := &r.Records[k]
			record.Rank = cmp.Or(record.Rank, docs[i].Rank)
			record.Device = record.Rank
			if err := seen.add(&docs[i], record.At()); err != nil {
				return nil, err
			}
		}
		if i == 0 {
			continue
		}
		all.Records = append(all.Records, r.Records...)
		all.mergeInputs(&all.Problems, &r.Inputs, r.Problems, r.Shard != nil)
		if r.Shard == nil {
			all.Dumps, all.Total = all.Dumps+r.Dumps, all.Total+r.Total
		}
	}
	all.conclude(false)
	return &all, nil
}

// mergeInputs adds the files of another document and what could not be read. All shards
// of a run list the same files, and what is wrong with them as a whole.
func (in *Inputs) mergeInputs(into *[]Problem, other *Inputs, problems []Problem, ofShard bool) {
	if !ofShard {
		in.Listed += other.Listed
		in.Others = append(in.Others, other.Others...)
	}
	for _, p := range problems {
		if !ofShard || p.Place > 0 {
			*into = append(*into, p)
		}
	}
}

// rounds are those of documents.
type rounds map[dumpdir.Coordinates]*shard.Document

// add adds a round. Two documents that are of no shards have different ones.
func (r rounds) add(d *shard.Document, at dumpdir.Coordinates) error {
	switch other := r[at]; {
	case other == nil:
		r[at] = d
	case other == d || d.Shard != nil:
	case !at.Known():
		return fmt.Errorf("%s: has a round of no rank and step, as %s has: rank=7:PATH says which rank it is", d.Path, other.Path)
	default:
		return fmt.Errorf("%s: has %s, as %s has", d.Path, at, other.Path)
	}
	return nil
}

// addOrder adds a source of the execution order.
func (r *ScanReport) addOrder(o OrderSource) {
	i := slices.IndexFunc(r.Orders, func(p OrderSource) bool { return p.By == o.By && p.Source == o.Source })
	if i < 0 {
		r.Orders = append(r.Orders, o)
		return
	}
	p := &r.Orders[i]
	p.Known, p.Of, p.Rounds = p.Known+o.Known, p.Of+o.Of, p.Rounds+o.Rounds
}
