package perf

import (
	"math/bits"
	"slices"

	"dumptool/internal/filename"
	"dumptool/internal/jsonpos"
)

// Runs is how often an operator ran, by its table in perf/, and how long that took.
type Runs struct {
	// Name is the operator's, N how many runs there are.
	Name string `json:"name"`
	N    int    `json:"runs"`
	// Min, Median, Max, First and Last are of the mcu_cycle of the runs.
	Min    int64   `json:"min"`
	Median float64 `json:"median"`
	Max    int64   `json:"max"`
	First  int64   `json:"-"`
	Last   int64   `json:"-"`
	// Unstable says that the longest run is far from the median.
	Unstable bool `json:"unstable"`

	sumHigh, sumLow uint64 // 128 bits
}

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
	twiceMedian, twice := uint64(sorted[(n-1)/2])+uint64(sorted[n/2]), 2*uint64(r.Max) // whole numbers
	r.Median = float64(twiceMedian) / 2
	r.Unstable = compareProducts(twice, th.Unstable.den, th.Unstable.num, twiceMedian) > 0 && twice-twiceMedian >= 2*uint64(th.MinCycles)
	return r
}

// Relation says how the rows of op_perf.csv come from the runs in perf/; empty, in
// documents null, without runs.
type Relation string

// MarshalJSON implements json.Marshaler.
func (r Relation) MarshalJSON() ([]byte, error) {
	if r == "" {
		return []byte("null"), nil
	}
	return jsonpos.Marshal(string(r), ""), nil
}

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
func relate(all []*Operator, runs []*Runs) Relation {
	var index filename.Index
	times := make(map[string]int)
	for i, o := range all {
		index.Add(o.Row.Name, i)
		times[o.Row.Name]++
	}
	holds := make([]bool, len(relations))
	for i := range holds {
		holds[i] = true
	}
	related, several := 0, false
	for _, r := range runs {
		several = several || r.N > 1
		i, found := index.Find(r.Name)
		if !found || times[all[i].Row.Name] > 1 || !all[i].Get(MCU).Known {
			continue
		}
		mcu := all[i].Get(MCU).N
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

// cycles are the mcu_cycle of a run of an operator.
type cycles struct {
	name string
	mcu  int64
}

// cyclesOf are those of the rows of a table of runs.
func cyclesOf(rows []Row) []cycles {
	var all []cycles
	for i := range rows {
		if mcu := rows[i].Get(MCU); !rows[i].bad && mcu.Known {
			all = append(all, cycles{rows[i].Name, mcu.N})
		}
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
		all[p.name] = append(all[p.name], p.mcu)
	}
	var runs []*Runs
	for _, name := range names {
		runs = append(runs, runsOf(name, all[name], th))
	}
	return runs
}
