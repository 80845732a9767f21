package record

import (
	"math"
	"slices"

	"dumptool/internal/finding"
)

// BadRows returns a report with fewer rows: rows that did not pass, rows that findings, the
// baseline or reasons name, and the inputs of origins. LeftOut counts the other rows, which all
// passed; Counts still counts all rows. Indexes of rows are adapted, and links to rows that were
// left out are dropped.
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
		for _, i := range f.singleRows() {
			add(*i)
		}
		for _, list := range f.rowLists() {
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
	for i, row := range r.AllRows() {
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
		left.Rows[k] = b.copyRow(r.Row(i))
	}
	left.LeftOut += r.Len() - len(b)
	left.Findings = b.copyFindings(&r.Findings)
	left.Rounds = slices.Clone(r.Rounds)
	for i := range left.Rounds {
		left.Rounds[i].Findings = b.copyFindings(&r.Rounds[i].Findings)
	}
	left.Origins = b.newIndexes(r.Origins)
	if r.Baseline != nil {
		x := *r.Baseline
		x.New, x.Known, x.Worse, x.Fixed = b.newIndexes(x.New), b.newIndexes(x.Known), b.newIndexes(x.Worse), b.newIndexes(x.Fixed)
		left.Baseline = &x
	}
	return &left
}

// Full returns the report from which BadRows made r, r itself if r has all rows.
func (r *Report) Full() *Report {
	if r.whole != nil {
		return r.whole
	}
	return r
}

// Total returns the number of rows, including LeftOut.
func (r *Report) Total() int { return r.Len() + r.LeftOut }

// badRows has the indexes of the kept rows in the whole report, in rising order.
type badRows []int

// keptIndex returns the index of a row among the kept rows, -1 if it was left out.
func (b badRows) keptIndex(i int) int {
	if k, ok := slices.BinarySearch(b, i); ok {
		return k
	}
	return -1
}

// newIndexes returns the new indexes of rows, without rows that were left out; nil for none.
func (b badRows) newIndexes(rows []int) []int {
	if rows == nil {
		return nil
	}
	all := make([]int, 0, len(rows))
	for _, i := range rows {
		if k := b.keptIndex(i); k >= 0 {
			all = append(all, k)
		}
	}
	return all
}

func (b badRows) copyFindings(f *Findings) Findings {
	x := *f
	for _, i := range x.singleRows() {
		*i = b.keptIndex(*i)
	}
	for _, list := range x.rowLists() {
		*list = b.newIndexes(*list)
	}
	return x
}

// copyRow returns a copy of a row that links to kept rows only.
func (b badRows) copyRow(whole *Row) Row {
	row := *whole
	row.Inputs = b.newIndexes(row.Inputs)
	row.Reasons = slices.Clone(row.Reasons)
	for k := range row.Reasons {
		row.Reasons[k].Facts = row.Reasons[k].Facts.Renumbered(b.keptIndex) // without rows that passed
	}
	if row.Evidence != nil {
		e := *row.Evidence
		e.FedBy = b.newIndexes(e.FedBy)
		row.Evidence = &e
	}
	return row
}

// NearFirstBad is the number of rows on either side of the first bad row that have pictures.
const NearFirstBad = 2

// PictureRows returns the rows that get pictures, at most n, in this order: rows that are bad by
// their own operator, the neighbours of the first bad row, the worst rows of the summary, other
// failures, rows with warnings.
func (r *Report) PictureRows(n int) []int {
	var rows []int
	chosen := map[int]bool{}
	add := func(i int) {
		if i >= 0 && i < r.Len() && len(rows) < n && !chosen[i] && r.Row(i).IsCompared() {
			chosen[i] = true
			rows = append(rows, i)
		}
	}
	for i, row := range r.AllRows() {
		if r.isDamagedHere(i, row) {
			add(i)
		}
	}
	if first := r.Findings.FirstBad; first >= 0 {
		for i := first - NearFirstBad; i <= first+NearFirstBad; i++ {
			add(i)
		}
	}
	for _, i := range r.WorstRows() {
		add(i)
	}
	for _, status := range []Status{Fail, Warn} {
		for i, row := range r.AllRows() {
			if row.Status == status {
				add(i)
			}
		}
	}
	return rows
}

// AllPictures is the limit of PictureRows that stands for all rows.
const AllPictures = math.MaxInt

// isDamagedHere reports whether the row's own operator is at fault, not its inputs and not rounding
// that accumulates. With evidence it is then an origin; by limits its first reason says so.
func (r *Report) isDamagedHere(i int, row *Row) bool {
	if r.Verdict == "evidence" {
		return row.IsOrigin()
	}
	if i == r.Findings.FirstDamaged {
		return true
	}
	return row.Status == Fail && len(row.Reasons) > 0 && !slices.Contains([]finding.Code{finding.LayerInputBad, finding.Accumulated, finding.ModelNaN}, row.FirstCode())
}

// Mark is the style of a row in a drawing. Rows drawn as one have the largest of their marks.
type Mark int

// The marks.
const (
	MarkNotCompared Mark = iota
	MarkPasses
	MarkRounding // beyond the limits by no more than rounding explains
	MarkWarned   // passes with a warning, or was compared in part
	MarkFails    // because its inputs fail, or by accumulated rounding
	MarkOrigin   // an independent error begins here
)

// Mark returns the mark of the row with index i.
func (r *Report) Mark(i int, row *Row) Mark {
	switch {
	case row.Status.IsBad() && r.isDamagedHere(i, row):
		return MarkOrigin
	case row.Status.IsBad() || row.Status == Error:
		return MarkFails
	case !row.IsJudged():
		return MarkNotCompared
	case row.Status == Rounding:
		return MarkRounding
	case row.Status == Warn || row.Status == Partial:
		return MarkWarned
	}
	return MarkPasses
}
