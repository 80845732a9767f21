package kernel

import "math"

const (
	// Bins is the number of bins of a histogram. The bin of a magnitude is its exponent and
	// the upper three bits of its fraction; the first eight bins hold zero and the subnormal
	// numbers of float64.
	Bins = 2048 * 8
	// Lanes is the number of counters of a cell, one for each lane, so that an increment
	// need not wait for the previous one.
	Lanes = 1 << laneBits

	laneBits = 2
)

// Bin returns the bin of a magnitude.
func Bin(x float64) uint { return uint(math.Float64bits(x) >> 49 & (Bins - 1)) }

// Tables count pairs by |d| and by |d|/|r|.
type Tables struct {
	Abs, Rel [Bins * Lanes]uint32

	// marks is scratch memory of the assembly, one element for each pair: the index of the
	// pair's counter in Abs in the lower half, in Rel in the upper half.
	marks []uint64
}

// NewTables returns tables for blocks of at most pairs pairs. pairs must be below 2^18, since a
// lane counts them in 16 bits.
func NewTables(pairs int) *Tables {
	// The gap to other arrays keeps equal indexes out of the same set of the
	// cache.
	const apart = 800
	return &Tables{marks: make([]uint64, pairs+apart)[apart:]}
}

// Take returns the count of a cell of a table and sets it to 0.
func Take(table []uint32, cell uint) int64 {
	counters := table[cell*Lanes:][:Lanes]
	total := int64(counters[0]) + int64(counters[1]) + int64(counters[2]) + int64(counters[3])
	clear(counters)
	return total
}

// Drop subtracts pair i of the last counted block from the count of a bin.
func Drop(table []uint32, i int, bin uint) { table[bin*Lanes+uint(i&(Lanes-1))]-- }

const (
	// Shifting the bits of a magnitude by binShift gives its bin, by cellShift the first
	// counter of its cell, except that the lowest laneBits bits must be cleared.
	binShift  = 49
	cellShift = binShift - laneBits
)

// pairCount has the results of the plain loops that are not in the tables.
type pairCount struct {
	zeros     uint64 // references that are 0
	undefined uint64 // not 0 if some pair has r = 0 and d != 0
	// The bits of the largest |d| and |d|/|r|, and of the smallest ones above 0, minus 1,
	// which makes zero the largest.
	maxAbs, maxRel, minAbs, minRel uint64
}

func newPairCount() pairCount { return pairCount{minAbs: math.MaxUint64, minRel: math.MaxUint64} }

// bound updates the bounds with the bits of |d|/|r| and |d|. New extremes are rare, so a
// predicted jump is cheaper than code without jumps.
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

// countPair counts a pair of a lane, given the bits of |d|/|r| and |d|.
func (t *Tables) countPair(lane, rel, abs uint64, w *Wanted, c *pairCount) {
	t.Abs[abs>>cellShift%uint64(len(t.Abs))&^(Lanes-1)|lane]++
	if w.Quotients {
		t.Rel[rel>>cellShift%uint64(len(t.Rel))&^(Lanes-1)|lane]++
	}
	c.bound(rel, abs)
}

// countChunk counts a chunk, four lanes at a time. quotients is 1 to count |d|/|r|, else 0:
// adding 0 is cheaper than a jump.
func (t *Tables) countChunk(rel, abs *[chunk]uint64, quotients uint32, c *pairCount) {
	const indexes = uint64(len(t.Abs) - Lanes)
	_, _, _ = rel[0], abs[0], t.Abs[0] // hoists the nil checks
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
