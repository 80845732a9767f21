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
	floor float64
	// entries are a heap with the worst one first while places are added to as
	// many as limit, else in any order.
	entries []ranked
}

// compareRanked is negative when a is before b.
func compareRanked(a, b *ranked) int {
	return cmp.Or(-cmp.Compare(a.score, b.score), cmp.Compare(a.offset, b.offset))
}

// add takes in a place with a score above 0.
func (r *ranking) add(score float64, p place) {
	entry := ranked{score, p}
	if len(r.entries) < r.limit {
		if r.entries == nil {
			r.entries = make([]ranked, 0, min(r.limit, 32))
		}
		r.entries = append(r.entries, entry)
		if len(r.entries) < r.limit {
			return
		}
		slices.SortFunc(r.entries, func(a, b ranked) int { return compareRanked(&b, &a) })
	} else if compareRanked(&entry, &r.entries[0]) < 0 {
		r.replace(entry)
	}
	r.floor = math.Nextafter(r.entries[0].score, math.Inf(1))
}

// replace puts an entry in the place of the worst one.
func (r *ranking) replace(entry ranked) {
	at := 0
	for {
		child := 2*at + 1
		if child >= len(r.entries) {
			break
		}
		if child+1 < len(r.entries) && compareRanked(&r.entries[child+1], &r.entries[child]) > 0 {
			child++
		}
		if compareRanked(&entry, &r.entries[child]) > 0 {
			break
		}
		r.entries[at] = r.entries[child]
		at = child
	}
	r.entries[at] = entry
}

// trim leaves the best, in order. No place can be added afterwards.
func (r *ranking) trim() {
	slices.SortFunc(r.entries, func(a, b ranked) int { return compareRanked(&a, &b) })
	r.entries = r.entries[:min(len(r.entries), r.limit)]
}

func (r *ranking) merge(s *ranking) {
	r.entries = append(r.entries, s.entries...)
	r.trim()
}
