package metrics

import (
	"cmp"
	"math"
	"slices"

	"dumptool/internal/compare/metrics/kernel"
)

// location is a pair of elements with its stored bytes; it is decoded to an Element later.
type location struct {
	offset   int64
	abs, rel float64
	ref, npu [16]byte
	// replaced: abs and rel are values after HPAA's replacement.
	replaced bool
}

// ranked is a location with its score in a ranking.
type ranked struct {
	score float64
	location
}

// ranking keeps the limit pairs with the highest scores; among equal scores the lower
// offsets win.
type ranking struct {
	limit int
	// floor is the lowest score that can still enter.
	floor   float64
	entries []ranked // the best first
}

// compareRanked is negative if a ranks before b.
func compareRanked(a, b ranked) int {
	return cmp.Or(-cmp.Compare(a.score, b.score), cmp.Compare(a.offset, b.offset))
}

// add adds a pair with a score above 0.
func (r *ranking) add(score float64, l location) {
	entry := ranked{score, l}
	at, _ := slices.BinarySearchFunc(r.entries, entry, compareRanked)
	if at == r.limit {
		return
	}
	if len(r.entries) == r.limit {
		r.entries = r.entries[:r.limit-1]
	}
	if r.entries = slices.Insert(r.entries, at, entry); len(r.entries) == r.limit {
		r.floor = math.Nextafter(r.entries[r.limit-1].score, math.Inf(1))
	}
}

func (r *ranking) merge(s *ranking) {
	r.entries = append(r.entries, s.entries...)
	slices.SortFunc(r.entries, compareRanked)
	r.entries = r.entries[:min(len(r.entries), r.limit)]
}

// rank adds the elements of the block with the largest |d|.
func (b *block) rank() {
	r, largest := &b.part.worst, b.extent.maxAbs
	if b.e.request.Top == 0 || b.count == 0 || largest == 0 || largest < r.floor {
		return
	}
	for i := 0; i < len(b.abs); i++ {
		i += kernel.IndexFrom(b.abs[i:], max(r.floor, math.SmallestNonzeroFloat64))
		if i < len(b.abs) {
			r.add(b.abs[i], b.locate(b.position(i), b.abs[i], b.rel[i]))
		}
	}
}
