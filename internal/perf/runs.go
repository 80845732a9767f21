package perf

import (
	"math/bits"
	"slices"

	"dumptool/internal/filename"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
)

// Runs summarises the runs of an operator from its table in perf/.
type Runs struct {
	// Name is the operator's name, N the number of runs.
	Name string `json:"name"`
	N    int    `json:"runs"`
	// Min, Median, Max, First and Last summarise the mcu_cycle of the runs.
	Min    int64   `json:"min"`
	Median float64 `json:"median"`
	Max    int64   `json:"max"`
	First  int64   `json:"-"`
	Last   int64   `json:"-"`
	// Unstable: the longest run is far from the median.
	Unstable bool `json:"unstable"`

	sumHigh, sumLow uint64 // sum of mcu_cycle, 128 bits
}

// runsOf summarises the runs of an operator, at least one.
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
	twiceMedian, twice := uint64(sorted[(n-1)/2])+uint64(sorted[n/2]), 2*uint64(r.Max) // doubled to stay integers
	r.Median = float64(twiceMedian) / 2
	r.Unstable = compareProducts(twice, th.Unstable.den, th.Unstable.num, twiceMedian) > 0 && twice-twiceMedian >= 2*uint64(th.MinCycles)
	return r
}

// Relation says how op_perf.csv combines the runs in perf/; empty, in documents null, without runs.
type Relation string

// MarshalJSON implements json.Marshaler.
func (r Relation) MarshalJSON() ([]byte, error) {
	if r == "" {
		return []byte("null"), nil
	}
	return jsonpos.Marshal(string(r), ""), nil
}

// The relations, in the order tried.
const (
	RelationSame    Relation = "same" // one run of each operator
	RelationSum     Relation = "sum"
	RelationMean    Relation = "mean"
	RelationMax     Relation = "max"
	RelationLast    Relation = "last"
	RelationFirst   Relation = "first"
	RelationUnknown Relation = "unknown"
)

// relations lists the possible relations to several runs.
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

// firstRelation returns the first relation that holds for every operator with runs. Names that the table
// has several times are ignored: no row belongs to their runs.
func firstRelation(all []*Operator, runs []*Runs) Relation {
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

// cycles is the mcu_cycle of a run of an operator.
type cycles struct {
	name string
	mcu  int64
}

// cyclesOf returns the cycles of the rows of a table of runs.
func cyclesOf(rows []Row) []cycles {
	var all []cycles
	for i := range rows {
		if mcu := rows[i].Get(MCU); !rows[i].isUnusable && mcu.Known {
			all = append(all, cycles{rows[i].Name, mcu.N})
		}
	}
	return all
}

// joinRuns summarises the runs of operators, which may be spread over several tables.
func joinRuns(parts []cycles, th *Thresholds) []*Runs {
	var names []string
	all := make(map[string][]int64)
	for _, p := range parts {
		if all[p.name] == nil {
			names = append(names, p.name)
		}
		all[p.name] = append(all[p.name], p.mcu)
	}
	return lists.Map(names, func(name string) *Runs { return runsOf(name, all[name], th) })
}

// Cores describes how an operator ran on the cores of a cluster.
type Cores struct {
	// Slowest is the first core with the largest mcu_cycle, Cycles its cycles. Sum adds the cycles
	// of the NumKnown cores whose cycles are known.
	Slowest     int
	Cycles, Sum int64
	NumKnown    int
	// Absent lists cores whose tables lack the operator.
	Absent []int
}

// Mean returns the mean of mcu_cycle over the cores.
func (c *Cores) Mean() float64 { return float64(c.Sum) / float64(c.NumKnown) }

// Imbalance returns the ratio of the slowest core to the mean, nil if the mean is 0.
func (c *Cores) Imbalance() *float64 {
	if c.Sum == 0 {
		return nil
	}
	times := float64(c.Cycles) * float64(c.NumKnown) / float64(c.Sum)
	return &times
}

// isUneven reports whether the slowest core takes at least r times the mean, and at least minimum
// cycles more than the mean.
func (c *Cores) isUneven(r Ratio, minimum int64) bool {
	n, slowest, all := uint64(c.NumKnown), uint64(c.Cycles), uint64(c.Sum)
	return compareProducts(slowest, n*r.den, r.num, all) >= 0 && c.Cycles >= minimum && compareProducts(slowest-uint64(minimum), n, all, 1) >= 0
}

// occurrence identifies an operator in a table by name and its number, from 1, among the operators
// of that name.
type occurrence struct {
	name string
	k    int
}

func numberOccurrences(rows []Row) []occurrence {
	seen := make(map[string]int)
	all := make([]occurrence, len(rows))
	for i := range rows {
		seen[rows[i].Name]++
		all[i] = occurrence{rows[i].Name, seen[rows[i].Name]}
	}
	return all
}

// coreRow is an operator on one core.
type coreRow struct {
	core int
	row  *Row
}

// foldCores merges the rows of an operator on all cores, in order of first occurrence: the row of
// the slowest core with the bytes of all cores. Sums that overflow are problems.
func foldCores(cores []coreFile, tables []*table) (rows []Row, stats []*Cores, problems []Problem) {
	var order []occurrence
	all := make(map[occurrence][]coreRow)
	for i, t := range tables {
		for k, at := range numberOccurrences(t.rows) {
			if all[at] == nil {
				order = append(order, at)
			}
			all[at] = append(all[at], coreRow{cores[i].core, &t.rows[k]})
		}
	}
	for _, at := range order {
		row, stat, err := foldRow(cores, all[at])
		if err != nil {
			row.isUnusable = true
			problems = append(problems, Problem{row.File, row.Line, 0, lang.Error(err)})
		}
		rows, stats = append(rows, row), append(stats, stat)
	}
	return rows, stats, problems
}

// foldRow merges an operator's rows on the cores.
func foldRow(cores []coreFile, onCores []coreRow) (Row, *Cores, error) {
	stat := &Cores{Slowest: -1}
	for _, c := range cores {
		if !slices.ContainsFunc(onCores, func(o coreRow) bool { return o.core == c.core }) {
			stat.Absent = append(stat.Absent, c.core)
		}
	}
	usable := slices.DeleteFunc(slices.Clone(onCores), func(o coreRow) bool { return o.row.isUnusable })
	if len(usable) == 0 {
		return *onCores[0].row, nil, nil
	}
	slowest := usable[0]
	var cycles []int64
	for _, o := range usable {
		mcu := o.row.Get(MCU)
		if !mcu.Known {
			continue
		}
		if stat.Slowest < 0 || mcu.N > stat.Cycles {
			slowest, stat.Slowest, stat.Cycles = o, o.core, mcu.N
		}
		cycles = append(cycles, mcu.N)
	}
	row := *slowest.row
	all, ok := sumDifference(cycles, nil)
	if !ok {
		return row, nil, lang.Errorf("the sum of the mcu_cycle of %d cores exceeds int64", len(cycles))
	}
	stat.Sum, stat.NumKnown = all, len(cycles)
	for _, c := range Columns() {
		if !c.IsByte() {
			continue
		}
		each := lists.Map(usable, func(o coreRow) Count { return o.row.Get(c) })
		bytes, ok := sumCounts(each...)
		if !ok {
			return row, nil, lang.Errorf("the sum of the %s of %d cores exceeds int64", c, len(each))
		}
		row.Set(c, bytes)
	}
	if stat.NumKnown == 0 {
		stat = nil
	}
	return row, stat, nil
}
