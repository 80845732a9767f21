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
	floor float64
	// entries is a heap with the worst entry first once it has limit entries, before that
	// unordered.
	entries []ranked
}

// compareRanked is negative if a ranks before b.
func compareRanked(a, b *ranked) int {
	return cmp.Or(-cmp.Compare(a.score, b.score), cmp.Compare(a.offset, b.offset))
}

// add adds a pair with a score above 0.
func (r *ranking) add(score float64, l location) {
	entry := ranked{score, l}
	if len(r.entries) < r.limit {
		if cap(r.entries) == 0 {
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

// replace replaces the worst entry.
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

// trim sorts the entries and keeps the best. Nothing can be added afterwards.
func (r *ranking) trim() {
	slices.SortFunc(r.entries, func(a, b ranked) int { return compareRanked(&a, &b) })
	r.entries = r.entries[:min(len(r.entries), r.limit)]
}

func (r *ranking) merge(s *ranking) {
	r.entries = append(r.entries, s.entries...)
	r.trim()
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
