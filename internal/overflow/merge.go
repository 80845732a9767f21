package overflow

import (
	"cmp"
	"fmt"
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/shard"
)

// MergeScans merges the reports of shards into the report of a single run, or reports of different rounds. The origin
// comes from the first report.
func MergeScans(docs []shard.Document, reports []*ScanReport) (*ScanReport, error) {
	seen := make(roundOwners)
	all := *reports[0]
	for i, r := range reports {
		if len(r.Rounds) == 0 && len(r.Rows) > 0 {
			return nil, lang.Errorf("%s: has rows and no rounds: made by an older version of dumptool, scan again", docs[i].Path)
		}
		for k := range r.Rounds {
			at := &r.Rounds[k].Coordinates
			at.Rank = cmp.Or(at.Rank, docs[i].Rank)
			if err := seen.add(&docs[i], *at); err != nil {
				return nil, err
			}
		}
		for k := range r.Rows {
			row := &r.Rows[k]
			row.Rank = cmp.Or(row.Rank, docs[i].Rank)
			row.Device = row.Rank
		}
		setRank(r.Problems, docs[i].Rank)
		if i == 0 {
			continue
		}
		all.Rows, all.Rounds = append(all.Rows, r.Rows...), append(all.Rounds, r.Rounds...)
		all.mergeInputs(&all.Problems, &r.Inputs, r.Problems, r.Shard != nil)
	}
	all.joinRounds()
	all.conclude(false)
	return &all, nil
}

// joinRounds merges the parts of rounds that several shards have read.
func (r *ScanReport) joinRounds() {
	at := make(map[dumpdir.Coordinates]int)
	var rounds []ScanRound
	for i := range r.Rounds {
		x := &r.Rounds[i]
		k, seen := at[x.Coordinates]
		if !seen {
			at[x.Coordinates] = len(rounds)
			rounds = append(rounds, *x)
			continue
		}
		y := &rounds[k]
		y.add(&x.ScanCounts)
		y.Blank += x.Blank
		y.Unfinished, y.Open = y.Unfinished || x.Unfinished, y.Open || x.Open
	}
	r.Rounds = rounds
}

// MergeAnalyses merges the reports of shards into the report of a single run, or reports of different rounds. The
// origin comes from the first report.
func MergeAnalyses(docs []shard.Document, reports []*Report) (*Report, error) {
	seen := make(roundOwners)
	all := *reports[0]
	for i, r := range reports {
		for k := range r.Records {
			record := &r.Records[k]
			record.Rank = cmp.Or(record.Rank, docs[i].Rank)
			record.Device = record.Rank
			if err := seen.add(&docs[i], record.Coordinates()); err != nil {
				return nil, err
			}
		}
		setRank(r.Problems, docs[i].Rank)
		if i == 0 {
			continue
		}
		all.Records = append(all.Records, r.Records...)
		all.Dumps, all.Total = all.Dumps+r.Dumps, all.Total+r.Total
		all.mergeInputs(&all.Problems, &r.Inputs, r.Problems, r.Shard != nil)
	}
	all.conclude(false)
	return &all, nil
}

// setRank sets the rank of problems with rounds of unknown rank.
func setRank(problems []Problem, rank string) {
	for i := range problems {
		problems[i].At.Rank = cmp.Or(problems[i].At.Rank, rank)
	}
}

// mergeInputs adds the files and problems of another document. All shards of a run list the same files and the same
// problems with the run as a whole, which are added once.
func (in *Inputs) mergeInputs(target *[]Problem, other *Inputs, problems []Problem, ofShard bool) {
	if !ofShard {
		in.Listed += other.Listed
		in.Others = append(in.Others, other.Others...)
	}
	for _, p := range problems {
		if !ofShard || p.Place > 0 {
			*target = append(*target, p)
		}
	}
}

// roundOwners maps rounds to the documents that contain them.
type roundOwners map[dumpdir.Coordinates]*shard.Document

// add adds a round, or returns an error if another document (but no shard) contains it.
func (r roundOwners) add(d *shard.Document, at dumpdir.Coordinates) error {
	switch other := r[at]; {
	case other == nil:
		r[at] = d
	case other == d || d.Shard != nil:
	case !at.IsKnown():
		return lang.Errorf("%s: contains a round without rank and step, and so does %s: give the rank, such as rank=7:PATH", d.Path, other.Path)
	default:
		return lang.Errorf("%s: contains %s, and so does %s", d.Path, at, other.Path)
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
	p.NumKnown, p.Total, p.Rounds = p.NumKnown+o.NumKnown, p.Total+o.Total, p.Rounds+o.Rounds
}

// Group has the records, or the rows of a scan, of an operator.
type Group struct {
	// Members are the indexes of the records, the earliest step first, then the lowest rank.
	Members []int
	// Ranks and Steps are the known ranks and steps of the members, without repetition.
	Ranks, Steps []string
}

// FirstMember returns the index of the first member.
func (g *Group) FirstMember() int { return g.Members[0] }

// Groups groups the records by operator, or by their ids if the operator is unknown, in the order of the first
// members.
func (r *Report) Groups() []Group {
	return groupBy(r.Records, func(r *Record) (string, dumpdir.Coordinates) {
		if r.Op == nil {
			return fmt.Sprintf("%v %d %d", r.Unit, r.StreamID, r.TaskID), r.Coordinates()
		}
		return r.Op.Type + "\n" + r.Op.Name, r.Coordinates()
	})
}

// Groups groups the rows by operator, in the order of the first members.
func (r *ScanReport) Groups() []Group {
	return groupBy(r.Rows, func(s *ScanRow) (string, dumpdir.Coordinates) { return s.OpType + "\n" + s.OpName, s.Coordinates() })
}

func groupBy[T any](all []T, key func(*T) (string, dumpdir.Coordinates)) []Group {
	var groups []Group
	at := make(map[string]int)
	order := make([]int, len(all)) // by step, then rank, then in the given order
	where := make([]dumpdir.Coordinates, len(all))
	keys := make([]string, len(all))
	for i := range all {
		order[i] = i
		keys[i], where[i] = key(&all[i])
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(lang.CompareNatural(where[a].Step, where[b].Step), lang.CompareNatural(where[a].Rank, where[b].Rank))
	})
	for _, i := range order {
		g, ok := at[keys[i]]
		if !ok {
			g = len(groups)
			at[keys[i]] = g
			groups = append(groups, Group{})
		}
		groups[g].Members = append(groups[g].Members, i)
	}
	for i := range groups {
		g := &groups[i]
		for _, m := range g.Members {
			g.Ranks, g.Steps = append(g.Ranks, where[m].Rank), append(g.Steps, where[m].Step)
		}
		g.Ranks, g.Steps = sortedNonEmpty(g.Ranks), sortedNonEmpty(g.Steps)
	}
	return groups
}

// sortedNonEmpty sorts values and drops empty values and repetitions.
func sortedNonEmpty(values []string) []string {
	slices.SortFunc(values, lang.CompareNatural)
	return slices.DeleteFunc(slices.Compact(values), func(v string) bool { return v == "" })
}
