package record

import (
	"math"
	"slices"
)

// nearFirstBad is the number of rows on either side of the first bad one that have
// pictures.
const nearFirstBad = 2

// PictureRows returns the rows that have pictures, at most n, the most telling first:
// those that are damaged where they are, in their order, those around the first bad
// one, the worst of the summary, the other failures, and those with warnings.
func (r *Report) PictureRows(n int) []int {
	var rows []int
	chosen := map[int]bool{}
	add := func(i int) {
		if i >= 0 && i < r.Len() && len(rows) < n && !chosen[i] && r.Rows[i].Compared() {
			chosen[i] = true
			rows = append(rows, i)
		}
	}
	for i := range r.Len() {
		if r.DamagedHere(i) {
			add(i)
		}
	}
	if first := r.Findings.FirstBad; first >= 0 {
		for i := first - nearFirstBad; i <= first+nearFirstBad; i++ {
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

// DamagedHere reports whether a row is bad by what its operator does, rather than by
// its inputs or by rounding that adds up: by evidence it is an origin, by limits its
// first reason says so.
func (r *Report) DamagedHere(i int) bool {
	if r.Verdict == "evidence" {
		return r.Rows[i].IsOrigin()
	}
	if i == r.Findings.FirstDamaged {
		return true
	}
	row := r.Row(i)
	return row.Status == Fail && len(row.Reasons) > 0 && !slices.Contains([]Code{LayerInputBad, Accumulated, ModelNaN}, row.FirstCode())
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

// Mark says how a row is drawn.
func (r *Report) Mark(i int) Mark {
	row := r.Row(i)
	switch {
	case row.Status.Bad() && r.DamagedHere(i):
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
