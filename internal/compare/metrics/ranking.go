package metrics

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// location is a pair of elements with its stored bytes; it is decoded to an Element later.
type location struct {
	offset   int64
	abs, rel float64
	ref, npu [16]byte
	// replaced: abs and rel are values after HPAA's replacement.
	replaced bool
}

// rankedElement is a location with its score in a ranking.
type rankedElement struct {
	score float64
	location
}

// ranking keeps the limit pairs with the highest scores; among equal scores the lower
// offsets win.
type ranking struct {
	limit int
	// floor is the lowest score that can still enter.
	floor   float64
	entries []rankedElement // the best first
}

// compareRanked is negative if a ranks before b.
func compareRanked(a, b rankedElement) int {
	return cmp.Or(-cmp.Compare(a.score, b.score), cmp.Compare(a.offset, b.offset))
}

// add adds a pair with a score above 0. Pairs are added in the order of their offsets.
func (r *ranking) add(score float64, l location) {
	at := sort.Search(len(r.entries), func(i int) bool { return r.entries[i].score < score })
	if at == r.limit {
		return
	}
	if len(r.entries) == r.limit {
		r.entries = r.entries[:r.limit-1]
	}
	if r.entries = slices.Insert(r.entries, at, rankedElement{score, l}); len(r.entries) == r.limit {
		r.floor = math.Nextafter(r.entries[r.limit-1].score, math.Inf(1))
	}
}

func (r *ranking) merge(s *ranking) {
	r.entries = append(r.entries, s.entries...)
	slices.SortFunc(r.entries, compareRanked)
	r.entries = r.entries[:min(len(r.entries), r.limit)]
}

// rankErrors adds the elements of the block with the largest |d|.
func (b *block) rankErrors() {
	r, largest := &b.part.worst, b.extent.maxAbs
	if b.e.request.Top == 0 || b.count == 0 || largest == 0 || largest < r.floor {
		return
	}
	least := max(r.floor, math.SmallestNonzeroFloat64)
	for i, abs := range b.abs {
		if abs >= least {
			r.add(abs, b.locationOf(b.position(i), abs, b.rel[i]))
			least = max(least, r.floor)
		}
	}
}
