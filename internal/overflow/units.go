package overflow

import (
	"context"
	"fmt"
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/shard"
	"dumptool/internal/store"
)

// unitList is a run, divided into independent units. A shard does whole units; units larger than the share of a shard
// are divided among several.
type unitList struct {
	*dumpdir.Run
	opt       *Options
	units     []*unit
	unitByKey map[string]*unit
	// unitOf returns the key of the unit of a round or a record.
	unitOf func(dumpdir.Coordinates) string
	// problems are problems of the listing, which all shards have.
	problems []Problem
}

// unit is a group of rounds and record files that are examined together.
type unit struct {
	rounds []*dumpdir.Round
	size   int64 // bytes of the files, as listed
	shard.Portion
}

// isMine reports whether this shard does a part of the unit.
func (u *unit) isMine() bool { return len(u.Mine) > 0 }

// division divides a run into units.
type division struct {
	// keyFunc returns the function that maps the coordinates of a round or a record to the key of its unit.
	keyFunc func(*dumpdir.Run, *Options) func(dumpdir.Coordinates) string
	// records: overflow records belong to units too.
	records bool
	// isFinished reports which rounds are done already; nil for none.
	isFinished func(dumpdir.Coordinates) bool
}

// openUnits divides the listed run into units, and reads the headers of the units of this shard.
func openUnits(ctx context.Context, run *dumpdir.Run, opt *Options, d division) (*unitList, error) {
	headers := dumpdir.HeaderOptions{Workers: opt.Workers, Rounds: make(map[*dumpdir.Round]bool)}
	if err := run.FixRounds(ctx, headers); err != nil {
		return nil, err
	}
	w := &unitList{Run: run, opt: opt, unitByKey: make(map[string]*unit), unitOf: d.keyFunc(run, opt)}
	w.problems = problemsOf(run.Problems, run, &opt.Select)
	for _, round := range run.Select(opt.Select) {
		u := w.unitFor(round.At)
		u.rounds = append(u.rounds, round)
		for _, size := range round.FileSizes() {
			u.size += size
		}
	}
	for _, r := range run.Records {
		if d.records && opt.Select.Includes(r.At) {
			w.unitFor(r.At).size += r.File.Size
		}
	}
	w.divide()
	for _, u := range w.units {
		for _, round := range u.rounds {
			headers.Rounds[round] = u.isMine() && (d.isFinished == nil || !d.isFinished(round.At))
		}
	}
	listed := len(run.Problems)
	if err := run.ReadHeaders(ctx, headers); err != nil {
		return nil, err
	}
	for _, p := range problemsOf(run.Problems[listed:], run, &opt.Select) {
		if u := w.unitByKey[w.unitOf(p.At)]; u != nil && u.IsFirst() {
			p.Place = 1
			w.problems = append(w.problems, p)
		}
	}
	return w, nil
}

// unitFor returns the unit of a round or a record.
func (w *unitList) unitFor(at dumpdir.Coordinates) *unit {
	key := w.unitOf(at)
	u := w.unitByKey[key]
	if u == nil {
		u = new(unit)
		w.unitByKey[key] = u
		w.units = append(w.units, u)
	}
	return u
}

// divide assigns the units to shards.
func (w *unitList) divide() {
	sizes, keys := make([]int64, len(w.units)), make([]string, len(w.units))
	for i, u := range w.units {
		sizes[i], keys[i] = u.size, fmt.Sprintf("%08d", i)
	}
	for i, p := range shard.Divide(w.opt.Shard, sizes, keys) {
		w.units[i].Portion = p
	}
}

// isListed reports whether a file of the chosen rounds and records has content, according to the listing.
func (w *unitList) isListed() bool {
	return slices.ContainsFunc(w.units, func(u *unit) bool { return u.size > 0 })
}

// unitByStep makes a unit of each step of a rank, for scans, which examine rounds separately.
func unitByStep(*dumpdir.Run, *Options) func(dumpdir.Coordinates) string {
	return func(at dumpdir.Coordinates) string { return at.Rank + "\x00" + at.Step }
}

// unitByRank makes a unit of each rank, for analyses, which search the dump of a record's operator in its folder and
// below. Ranks with nested folders form one unit.
func unitByRank(run *dumpdir.Run, opt *Options) func(dumpdir.Coordinates) string {
	group := make(map[string]string) // another rank of the same unit
	var head func(rank string) string
	head = func(rank string) string {
		if parent, ok := group[rank]; ok && parent != rank {
			return head(parent)
		}
		return rank
	}
	join := func(a, b string) { group[head(a)] = head(b) }
	ranks := make(map[string]string) // a rank with files in the folder
	add := func(f *dumpdir.File, at dumpdir.Coordinates) {
		dir := store.Dir(f.Path())
		if other, seen := ranks[dir]; seen && other != at.Rank {
			join(at.Rank, other)
		}
		ranks[dir] = at.Rank
	}
	for _, round := range run.Select(opt.Select) {
		for _, op := range round.Ops {
			for i := range op.Tensors {
				add(op.Tensors[i].File, round.At)
			}
		}
	}
	for _, r := range run.Records {
		if opt.Select.Includes(r.At) {
			add(r.File, r.At)
		}
	}
	for dir, rank := range ranks {
		for parent := store.Dir(dir); parent != dir; dir, parent = parent, store.Dir(parent) {
			if other, seen := ranks[parent]; seen {
				join(rank, other)
			}
		}
	}
	return func(at dumpdir.Coordinates) string { return head(at.Rank) }
}
