package locate

import (
	"math"
	"slices"
)

// Rows matches the rows of a part, such as tokens, with rows of the whole in any order: each row with the nearest,
// and no row of the whole twice. ok is false if too few rows match.
func Rows(part, whole *Array) (m Map, ok bool) {
	r := &rowMatcher{matcher: matcher{part: newSketch(part, 0), whole: newSketch(whole, 0), exact: part.Exact}, values: [2]*Array{part, whole}}
	n := len(r.part.of)
	r.scale, r.assigned = medianLength(r.part.norm), make([]int, len(r.whole.of))
	for j := range r.assigned {
		r.assigned[j] = Unmatched
	}
	x := make(Index, n)
	for i := range x {
		x[i] = Unmatched
	}
	for i := range n {
		r.assignNearest(x, i)
	}
	hit := 0
	for _, at := range x {
		if at >= 0 {
			hit++
		}
	}
	m.Axes = make([]Index, len(part.Shape))
	if m.Score = float64(hit) / float64(max(n, 1)); !slices.Equal(x, Index(nil).OrIdentity(whole.Shape[0])) {
		m.Axes[0] = x
	}
	return m, m.Score >= enough
}

// rowMatcher assigns rows of the whole to rows of a part.
type rowMatcher struct {
	matcher
	values   [2]*Array // part and whole
	assigned []int     // the row of the part, by row of the whole
}

// isOther reports whether the values of two rows differ although their projections agree by chance. False for rows
// with NaN or infinities.
func (r *rowMatcher) isOther(i, j int) bool {
	d := Distance(r.values[0].row(i), r.values[1].row(j))
	return d > sameTensor && !math.IsInf(d, 0)
}

// row returns a row along the first axis.
func (a *Array) row(i int) []float32 {
	n := len(a.Values) / a.Shape[0]
	return a.Values[i*n : (i+1)*n]
}

// assignNearest assigns to a row of the part the nearest row of the whole, unless that row is already assigned to a nearer
// row. A row that loses its assignment is placed again.
func (r *rowMatcher) assignNearest(x Index, i int) {
	for i != Unmatched {
		best, least := Unmatched, math.Inf(1)
		for j := range r.whole.of {
			d := distance(&r.part.of[i], &r.whole.of[j])
			if d >= least || d > r.limit(matchDistance, i) {
				continue
			}
			if by := r.assigned[j]; by != Unmatched && distance(&r.part.of[by], &r.whole.of[j]) <= d || r.isOther(i, j) {
				continue
			}
			best, least = j, d
		}
		x[i] = best
		if best == Unmatched {
			return
		}
		lost := r.assigned[best]
		r.assigned[best] = i
		if i = lost; i != Unmatched {
			x[i] = Unmatched
		}
	}
}
