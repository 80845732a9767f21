package perf

import (
	"slices"

	"dumptool/internal/lang"
)

// Cores is how an operator ran on the cores of a cluster.
type Cores struct {
	// Slowest is the core with the largest mcu_cycle, the first of equals, Cycles are its
	// cycles and Sum those of all Known cores on which they are known.
	Slowest     int
	Cycles, Sum int64
	Known       int
	// Absent are cores whose tables do not have the operator.
	Absent []int
}

// Mean is the mean of mcu_cycle over the cores.
func (c *Cores) Mean() float64 { return float64(c.Sum) / float64(c.Known) }

// Imbalance is how many times the mean the slowest core takes, nil if the mean is 0.
func (c *Cores) Imbalance() *float64 {
	if c.Sum == 0 {
		return nil
	}
	times := float64(c.Cycles) * float64(c.Known) / float64(c.Sum)
	return &times
}

// uneven reports whether the slowest core takes r times the mean or more, and at least
// some cycles more than the mean.
func (c *Cores) uneven(r Ratio, least int64) bool {
	n, slowest, all := uint64(c.Known), uint64(c.Cycles), uint64(c.Sum)
	return compareProducts(slowest, n*r.den, r.num, all) >= 0 && c.Cycles >= least && compareProducts(slowest-uint64(least), n, all, 1) >= 0
}

// occurrence is an operator in a table, by its name and the number, from 1, among those
// of the name.
type occurrence struct {
	name string
	k    int
}

// occurrences numbers rows.
func occurrences(rows []Row) []occurrence {
	seen := make(map[string]int)
	all := make([]occurrence, len(rows))
	for i := range rows {
		seen[rows[i].Name]++
		all[i] = occurrence{rows[i].Name, seen[rows[i].Name]}
	}
	return all
}

// onCore is an operator on one core.
type onCore struct {
	core int
	row  *Row
}

// foldCores makes one row of the rows of an operator on all cores, in the order in which
// operators come first: that of the slowest core, with the bytes of all cores. It also
// says what it could not add up.
func foldCores(cores []coreFile, tables []*table) (rows []Row, stats []*Cores, problems []Problem) {
	var order []occurrence
	all := make(map[occurrence][]onCore)
	for i, t := range tables {
		for k, at := range occurrences(t.rows) {
			if all[at] == nil {
				order = append(order, at)
			}
			all[at] = append(all[at], onCore{cores[i].core, &t.rows[k]})
		}
	}
	for _, at := range order {
		row, stat, err := foldRow(cores, all[at])
		if err != nil {
			row.bad = true
			problems = append(problems, Problem{row.File, row.Line, 0, err.Error()})
		}
		rows, stats = append(rows, row), append(stats, stat)
	}
	return rows, stats, problems
}

// foldRow makes one row of an operator's rows on cores.
func foldRow(cores []coreFile, on []onCore) (Row, *Cores, error) {
	stat := &Cores{Slowest: -1}
	for _, c := range cores {
		if !slices.ContainsFunc(on, func(o onCore) bool { return o.core == c.core }) {
			stat.Absent = append(stat.Absent, c.core)
		}
	}
	usable := slices.DeleteFunc(slices.Clone(on), func(o onCore) bool { return o.row.bad })
	if len(usable) == 0 {
		return *on[0].row, nil, nil
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
	all, ok := sum(cycles, nil)
	if !ok {
		return row, nil, lang.Errorf("the mcu_cycle of %d cores add up to more than an int64 holds", len(cycles))
	}
	stat.Sum, stat.Known = all, len(cycles)
	for _, c := range Columns() {
		if !c.IsByte() {
			continue
		}
		var each []Count
		for _, o := range usable {
			each = append(each, o.row.Get(c))
		}
		bytes, ok := total(each...)
		if !ok {
			return row, nil, lang.Errorf("the %s of %d cores add up to more than an int64 holds", c, len(each))
		}
		row.Set(c, bytes)
	}
	if stat.Known == 0 {
		stat = nil
	}
	return row, stat, nil
}
