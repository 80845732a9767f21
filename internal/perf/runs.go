package perf

import (
	"math/bits"
	"slices"

	"dumptool/internal/filename"
)

// Runs is how often an operator ran, by its table in perf/, and how long that took.
type Runs struct {
	// Name is the operator's, N how many runs there are.
	Name string
	N    int
	// Min, Max, First and Last are the mcu_cycle of runs, and TwiceMedian is twice their
	// median, which is a whole number.
	Min, Max, First, Last int64
	TwiceMedian           uint64
	// Unstable says that the longest run is far from the median.
	Unstable bool

	sumHigh, sumLow uint64 // 128 bits
}

// Median is the median of mcu_cycle.
func (r *Runs) Median() float64 { return float64(r.TwiceMedian) / 2 }

// runsOf sums up the runs of an operator, of which there is one at least.
func runsOf(name string, cycles []int64, th *Thresholds) *Runs {
	r := &Runs{Name: name, N: len(cycles), First: cycles[0], Last: cycles[len(cycles)-1]}
	for _, n := range cycles {
		var carry uint64
		r.sumLow, carry = bits.Add64(r.sumLow, uint64(n), 0)
		r.sumHigh += carry
	}
	sorted := slices.Sorted(slices.Values(cycles))
	n := len(sorted)
	r.Min, r.Max = sorted[0], sorted[n-1]
	r.TwiceMedian = uint64(sorted[(n-1)/2]) + uint64(sorted[n/2])
	twice := 2 * uint64(r.Max)
	r.Unstable = compareProducts(twice, th.Unstable.den, th.Unstable.num, r.TwiceMedian) > 0 && twice-r.TwiceMedian >= 2*uint64(th.MinCycles)
	return r
}

// Relation says how the rows of op_perf.csv come from the runs in perf/.
type Relation string

// The relations, in the order in which they are tried.
const (
	RelationSame    Relation = "same" // one run of each operator
	RelationSum     Relation = "sum"
	RelationMean    Relation = "mean"
	RelationMax     Relation = "max"
	RelationLast    Relation = "last"
	RelationFirst   Relation = "first"
	RelationUnknown Relation = "unknown"
)

// relations are those that a table can have to several runs.
var relations = []struct {
	name  Relation
	holds func(r *Runs, mcu int64) bool
}{
	{RelationSum, func(r *Runs, mcu int64) bool { return r.sumHigh == 0 && r.sumLow == uint64(mcu) }},
	{RelationMean, func(r *Runs, mcu int64) bool {
		high, low := bits.Mul64(uint64(mcu), uint64(r.N))
		return high == r.sumHigh && low == r.sumLow
	}},
	{RelationMax, func(r *Runs, mcu int64) bool { return mcu == r.Max }},
	{RelationLast, func(r *Runs, mcu int64) bool { return mcu == r.Last }},
	{RelationFirst, func(r *Runs, mcu int64) bool { return mcu == r.First }},
}

// relate finds the first relation that holds for every operator that has runs. Names
// that come several times in the table have no row that belongs to their runs.
func relate(entries []*entry, runs []*Runs) Relation {
	var index filename.Index
	times := make(map[string]int)
	for i, e := range entries {
		index.Add(e.row.Name, i)
		times[e.row.Name]++
	}
	holds := make([]bool, len(relations))
	for i := range holds {
		holds[i] = true
	}
	related, several := 0, false
	for _, r := range runs {
		several = several || r.N > 1
		i, found := index.Find(r.Name)
		if !found || times[entries[i].row.Name] > 1 || !entries[i].row.Get(MCU).Known {
			continue
		}
		mcu := entries[i].row.Get(MCU).N
		related++
		for k := range relations {
			holds[k] = holds[k] && relations[k].holds(r, mcu)
		}
	}
	first := slices.Index(holds, true)
	switch {
	case related == 0 || first < 0:
		return RelationUnknown
	case !several:
		return RelationSame
	}
	return relations[first].name
}

// cycles are the mcu_cycle of the runs of an operator, in their order.
type cycles struct {
	name string
	mcu  []int64
}

// cyclesOf groups the rows of a table of runs by the operators that they name.
func cyclesOf(rows []Row) []cycles {
	var all []cycles
	index := make(map[string]int)
	for i := range rows {
		mcu := rows[i].Get(MCU)
		if rows[i].bad || !mcu.Known {
			continue
		}
		k, known := index[rows[i].Name]
		if !known {
			k = len(all)
			index[rows[i].Name] = k
			all = append(all, cycles{name: rows[i].Name})
		}
		all[k].mcu = append(all[k].mcu, mcu.N)
	}
	return all
}

// joinRuns sums up the runs of operators, which may be in several tables.
func joinRuns(parts []cycles, th *Thresholds) []*Runs {
	var names []string
	all := make(map[string][]int64)
	for _, p := range parts {
		if all[p.name] == nil {
			names = append(names, p.name)
		}
		all[p.name] = append(all[p.name], p.mcu...)
	}
	var runs []*Runs
	for _, name := range names {
		runs = append(runs, runsOf(name, all[name], th))
	}
	return runs
}
