package record

import (
	"math"
	"slices"

	"dumptool/internal/finding"
)

// BadRows is a report whose rows are those that did not pass, the ones that findings, the
// baseline or reasons name, and the inputs of origins. LeftOut counts the others, which
// all passed; counts are those of all rows, and what names a row names it in its place
// among those that are left. A row that reads others reads those that are left.
func (r *Report) BadRows() *Report {
	var b badRows
	keep := make([]bool, r.Len())
	add := func(rows ...int) {
		for _, i := range rows {
			if i >= 0 && i < len(keep) {
				keep[i] = true
			}
		}
	}
	findings := func(f *Findings) {
		for _, i := range f.single() {
			add(*i)
		}
		for _, list := range f.lists() {
			add(*list...)
		}
	}
	findings(&r.Findings)
	for i := range r.Rounds {
		findings(&r.Rounds[i].Findings)
	}
	add(r.Origins...)
	if x := r.Baseline; x != nil {
		for _, list := range [][]int{x.New, x.Known, x.Worse, x.Fixed} {
			add(list...)
		}
	}
	for i, row := range r.All() {
		if row.Status == Pass {
			continue
		}
		add(i)
		for _, reason := range row.Reasons {
			add(reason.Facts.Rows()...)
		}
		if row.IsOrigin() {
			add(row.Inputs...)
		}
	}
	for i, is := range keep {
		if is {
			b = append(b, i)
		}
	}
	left := *r
	left.Calls, left.whole = nil, r
	left.Rows = make([]Row, len(b))
	for k, i := range b {
		left.Rows[k] = b.row(r.Row(i))
	}
	left.LeftOut += r.Len() - len(b)
	left.Findings = b.findings(&r.Findings)
	left.Rounds = slices.Clone(r.Rounds)
	for i := range left.Rounds {
		left.Rounds[i].Findings = b.findings(&r.Rounds[i].Findings)
	}
	left.Origins = b.places(r.Origins)
	if r.Baseline != nil {
		x := *r.Baseline
		x.New, x.Known, x.Worse, x.Fixed = b.places(x.New), b.places(x.Known), b.places(x.Worse), b.places(x.Fixed)
		left.Baseline = &x
	}
	return &left
}

// Whole is the report that rows were left out of, r itself where there is none.
func (r *Report) Whole() *Report {
	if r.whole != nil {
		return r.whole
	}
	return r
}

// Total is the number of rows, with those that were left out.
func (r *Report) Total() int { return r.Len() + r.LeftOut }

// badRows are those rows of a report that are left, in rising order.
type badRows []int

// place is that of a row among those that are left, -1 for none.
func (b badRows) place(i int) int {
	if k, ok := slices.BinarySearch(b, i); ok {
		return k
	}
	return -1
}

// places are those of the rows that are left, nil of none at all.
func (b badRows) places(rows []int) []int {
	if rows == nil {
		return nil
	}
	all := make([]int, 0, len(rows))
	for _, i := range rows {
		if k := b.place(i); k >= 0 {
			all = append(all, k)
		}
	}
	return all
}

func (b badRows) findings(f *Findings) Findings {
	x := *f
	for _, i := range x.single() {
		*i = b.place(*i)
	}
	for _, list := range x.lists() {
		*list = b.places(*list)
	}
	return x
}

// row is a row whose links are those to rows that are left.
func (b badRows) row(whole *Row) Row {
	row := *whole
	row.Inputs = b.places(row.Inputs)
	row.Reasons = slices.Clone(row.Reasons)
	for k := range row.Reasons {
		row.Reasons[k].Facts = row.Reasons[k].Facts.Moved(b.place) // without rows that passed
	}
	if row.Evidence != nil {
		e := *row.Evidence
		e.FedBy = b.places(e.FedBy)
		row.Evidence = &e
	}
	return row
}

// NearFirstBad is the number of rows on either side of the first bad one that have
// pictures.
const NearFirstBad = 2

// PictureRows returns the rows that have pictures, at most n, the most telling first:
// those that are damaged where they are, in their order, those around the first bad
// one, the worst of the summary, the other failures, and those with warnings.
func (r *Report) PictureRows(n int) []int {
	var rows []int
	chosen := map[int]bool{}
	add := func(i int) {
		if i >= 0 && i < r.Len() && len(rows) < n && !chosen[i] && r.Row(i).Compared() {
			chosen[i] = true
			rows = append(rows, i)
		}
	}
	for i, row := range r.All() {
		if r.damagedHere(i, row) {
			add(i)
		}
	}
	if first := r.Findings.FirstBad; first >= 0 {
		for i := first - NearFirstBad; i <= first+NearFirstBad; i++ {
			add(i)
		}
	}
	for _, i := range r.Worst(worstShown) {
		add(i)
	}
	for _, status := range []Status{Fail, Warn} {
		for i, row := range r.All() {
			if row.Status == status {
				add(i)
			}
		}
	}
	return rows
}

// AllPictures is more rows than there are.
const AllPictures = math.MaxInt

// damagedHere reports whether a row is bad by what its operator does, rather than by
// its inputs or by rounding that adds up: by evidence it is an origin, by limits its
// first reason says so.
func (r *Report) damagedHere(i int, row *Row) bool {
	if r.Verdict == "evidence" {
		return row.IsOrigin()
	}
	if i == r.Findings.FirstDamaged {
		return true
	}
	return row.Status == Fail && len(row.Reasons) > 0 && !slices.Contains([]finding.Code{finding.LayerInputBad, finding.Accumulated, finding.ModelNaN}, row.FirstCode())
}

// Mark is how a row is drawn. Of rows that are drawn as one the largest counts.
type Mark int

// The marks.
const (
	MarkNotCompared Mark = iota
	MarkPasses
	MarkRounding // beyond the limits by no more than rounding explains
	MarkWarned   // passes with a warning, or was compared in part
	MarkFails    // because its inputs do, or by rounding that adds up
	MarkOrigin   // an independent error begins here
)

// Mark says how a row is drawn, which has place i in the report.
func (r *Report) Mark(i int, row *Row) Mark {
	switch {
	case row.Status.Bad() && r.damagedHere(i, row):
		return MarkOrigin
	case row.Status.Bad() || row.Status == Error:
		return MarkFails
	case !row.Judged():
		return MarkNotCompared
	case row.Status == Rounding:
		return MarkRounding
	case row.Status == Warn || row.Status == Partial:
		return MarkWarned
	}
	return MarkPasses
}
