package overflow

import (
	"cmp"
	"fmt"
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
)

// Group is the records, or the rows of a scan, of one operator.
type Group struct {
	// Members are their indexes. The first is that of the earliest step, then of the
	// lowest rank.
	Members []int
	// Ranks and Steps are those that are known, each once.
	Ranks, Steps []string
}

// First is the index of the first of the group.
func (g *Group) First() int { return g.Members[0] }

// Groups groups the records by operator, and those without one by what names it,
// in the order of their first.
func (r *Report) Groups() []Group {
	return group(r.Records, func(r *Record) (string, dumpdir.Coordinates) {
		if r.Op == nil {
			return fmt.Sprintf("%v %d %d", r.Unit, r.StreamID, r.TaskID), r.At()
		}
		return r.Op.Type + "\n" + r.Op.Name, r.At()
	})
}

// Groups groups the rows by operator, in the order of their first.
func (r *ScanReport) Groups() []Group {
	return group(r.Rows, func(s *Scanned) (string, dumpdir.Coordinates) { return s.OpType + "\n" + s.OpName, s.At() })
}

func group[T any](all []T, key func(*T) (string, dumpdir.Coordinates)) []Group {
	var groups []Group
	at := make(map[string]int)
	order := make([]int, len(all)) // by step, then rank, then as they come
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
		g.Ranks, g.Steps = once(g.Ranks), once(g.Steps)
	}
	return groups
}

// once sorts values and leaves out empty ones and repetitions.
func once(values []string) []string {
	slices.SortFunc(values, lang.CompareNatural)
	return slices.DeleteFunc(slices.Compact(values), func(v string) bool { return v == "" })
}
