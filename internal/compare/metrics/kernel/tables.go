package kernel

import "math"

const (
	// Bins is the number of bins of a histogram. The bin of a magnitude is made by
	// its exponent and the upper three bits of its fraction; the first eight hold
	// zero and the subnormal numbers of float64.
	Bins = 2048 * 8
	// Lanes is the number of counters of a cell: one for each lane, so that an
	// increment need not wait for the one before.
	Lanes = 1 << laneBits

	laneBits = 2
)

// Bin returns the bin of a magnitude.
func Bin(x float64) uint { return uint(math.Float64bits(x) >> 49 & (Bins - 1)) }

// Tables count pairs by |d| and by |d|/|r|.
type Tables struct {
	Abs, Rel [Bins * Lanes]uint32

	// marks are the indexes of the counters of pairs that are worked on: in the lower half
	// the index in Abs, in the upper half the index in Rel.
	marks []uint64
}

// NewTables returns tables for blocks of at most so many pairs, below 2^18: a lane counts them
// in 16 bits.
func NewTables(pairs int) *Tables {
	// Away from other arrays, so that equal indexes do not fall in one set of the
	// cache.
	const apart = 800
	return &Tables{marks: make([]uint64, pairs+apart)[apart:]}
}

// Take returns the count of a cell of a table and clears it.
func Take(table []uint32, cell uint) int64 {
	counters := table[cell*Lanes:][:Lanes]
	total := int64(counters[0]) + int64(counters[1]) + int64(counters[2]) + int64(counters[3])
	clear(counters)
	return total
}

// Drop takes pair i of those last counted out of the count of a bin.
func Drop(table []uint32, i int, bin uint) { table[bin*Lanes+uint(i&(Lanes-1))]-- }

const (
	// binShift leaves the bin of the bits of a magnitude, cellShift the first counter of
	// its cell, with the bits of laneBits to clear.
	binShift  = 49
	cellShift = binShift - laneBits
)

// pairCount is what plain loops find of pairs besides what they count in tables.
type pairCount struct {
	zeros     uint64 // references that are 0
	undefined uint64 // not 0 if one of them has a difference
	// The bits of the largest |d| and |d|/|r|, and of the smallest above 0 less 1: zero
	// comes after all others.
	maxAbs, maxRel, minAbs, minRel uint64
}

func newPairCount() pairCount { return pairCount{minAbs: math.MaxUint64, minRel: math.MaxUint64} }

// bound adds the bits of |d|/|r| and |d|. There are few that are beyond all before them, so
// that a jump over a store is cheaper than what does without jumps.
func (c *pairCount) bound(rel, abs uint64) {
	if abs > c.maxAbs {
		c.maxAbs = abs
	}
	if abs-1 < c.minAbs {
		c.minAbs = abs - 1
	}
	if rel > c.maxRel {
		c.maxRel = rel
	}
	if rel-1 < c.minRel {
		c.minRel = rel - 1
	}
}

// countPair counts a pair of a lane, by the bits of |d|/|r| and |d|.
func (t *Tables) countPair(lane, rel, abs uint64, w *Wanted, c *pairCount) {
	t.Abs[abs>>cellShift%uint64(len(t.Abs))&^(Lanes-1)|lane]++
	if w.Quotients {
		t.Rel[rel>>cellShift%uint64(len(t.Rel))&^(Lanes-1)|lane]++
	}
	c.bound(rel, abs)
}

// countChunk counts pairs in fours, one of each lane. quotients is 0 where their |d|/|r| are
// not counted, else 1: a jump would cost more.
func (t *Tables) countChunk(rel, abs *[chunk]uint64, quotients uint32, c *pairCount) {
	const indexes = uint64(len(t.Abs) - Lanes)
	_, _, _ = rel[0], abs[0], t.Abs[0] // looks for nil pointers once
	for i := 0; i < chunk; i += 4 {
		a, q := abs[i], rel[i]
		t.Abs[a>>cellShift&indexes]++
		t.Rel[q>>cellShift&indexes] += quotients
		c.bound(q, a)
		a, q = abs[i+1], rel[i+1]
		t.Abs[a>>cellShift&indexes+1]++
		t.Rel[q>>cellShift&indexes+1] += quotients
		c.bound(q, a)
		a, q = abs[i+2], rel[i+2]
		t.Abs[a>>cellShift&indexes+2]++
		t.Rel[q>>cellShift&indexes+2] += quotients
		c.bound(q, a)
		a, q = abs[i+3], rel[i+3]
		t.Abs[a>>cellShift&indexes+3]++
		t.Rel[q>>cellShift&indexes+3] += quotients
		c.bound(q, a)
	}
}
