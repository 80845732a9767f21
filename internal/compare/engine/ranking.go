package engine

import (
	"cmp"
	"math"
	"slices"
)

// place is a pair with its stored bytes, which become an Element in the end.
type place struct {
	offset   int64
	abs, rel float64
	ref, npu [16]byte
	// replaced is set when abs and rel are those after HPAA's replacement.
	replaced bool
}

// ranked is a place with the score that it has in a ranking.
type ranked struct {
	score float64
	place
}

// ranking keeps the places with the highest scores; of equal scores it keeps
// the lower offsets.
type ranking struct {
	limit int
	// floor is a score that places must exceed or reach to matter.
	floor   float64
	entries []ranked
}

func compareRanked(a, b ranked) int {
	return cmp.Or(-cmp.Compare(a.score, b.score), cmp.Compare(a.offset, b.offset))
}

// add takes in a place with a score above 0.
func (r *ranking) add(score float64, p place) {
	if len(r.entries) >= 2*r.limit+8 {
		r.trim()
		if score < r.floor {
			return
		}
	}
	r.entries = append(r.entries, ranked{score, p})
}

// trim leaves the best, in order.
func (r *ranking) trim() {
	slices.SortFunc(r.entries, compareRanked)
	if len(r.entries) > r.limit {
		r.entries = r.entries[:r.limit]
	}
	if r.limit > 0 && len(r.entries) == r.limit {
		r.floor = math.Nextafter(r.entries[r.limit-1].score, math.Inf(1))
	}
}

func (r *ranking) merge(s *ranking) {
	r.entries = append(r.entries, s.entries...)
	r.trim()
}
