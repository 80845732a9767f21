package kernel

import "math"

const (
	// Bins is the number of bins of a histogram. The bin of a magnitude is made by
	// its exponent and the upper three bits of its fraction; the first eight hold
	// zero and the subnormal numbers of float64.
	Bins = 2048 * 8
	// Groups is the number of groups of 16 octaves, the first of which holds zero
	// and the magnitudes below 2^-1008. An infinity has none.
	Groups = 128
	// Lanes is the number of counters of a cell: one for each lane, so that an
	// increment need not wait for the one before.
	Lanes = 1 << laneBits

	laneBits   = 2
	groupShift = 7 // of the group of |d| in a cell of both

	// A row of Tables.Abs is that of a group of |r| from firstGroup on, of 2^-64
	// to 2^32, of all other magnitudes, or of zero.
	rows       = otherRow + 2
	rowShift   = 16
	otherRow   = 6
	zeroRow    = otherRow + 1
	firstGroup = 60
)

// Bin returns the bin of a magnitude.
func Bin(x float64) uint { return uint(math.Float64bits(x) >> 49 & (Bins - 1)) }

// Group returns the group of a magnitude.
func Group(x float64) uint { return uint((math.Float64bits(x) + 1<<52) >> 56) }

// cell returns the cell of the groups of |d| and |r| in Tables.joint. Those of
// magnitudes without a group are some cell, of which pairs have to be taken out.
func cell(abs, ref uint) uint { return (abs<<groupShift | ref) % (Groups * Groups) }

// Tables count pairs by |d|, by |d|/|r|, and by the groups of |d| and |r|. So that
// a pair needs no third count for its groups, one of |d| is made in the row of |r|;
// those of the row of other magnitudes are counted by groups besides.
type Tables struct {
	abs   [rows * Bins * Lanes]uint32
	Rel   [Bins * Lanes]uint32
	joint [Groups * Groups]uint32

	// marks are those of pairs that are worked on: the indexes where a pair is
	// counted, in the lower half that in abs, in the upper half that in Rel.
	marks []uint64
}

// NewTables returns tables for at most so many pairs at a time, which are less than 2^18:
// lanes of counts have 16 bits.
func NewTables(pairs int) *Tables {
	// Away from other arrays, so that equal indexes do not fall in one set of the
	// cache.
	const apart = 800
	return &Tables{marks: make([]uint64, pairs+apart)[apart:]}
}

// rowNumber returns the row of the magnitude of a reference.
func rowNumber(ref float64) uint32 {
	if ref == 0 {
		return zeroRow
	}
	return uint32(min((math.Float64bits(ref)+1<<52-firstGroup<<56)>>56, otherRow))
}

// Take returns the count of a cell of a table and clears it.
func Take(table []uint32, cell uint) int64 {
	counters := table[cell*Lanes:][:Lanes]
	total := int64(counters[0]) + int64(counters[1]) + int64(counters[2]) + int64(counters[3])
	clear(counters)
	return total
}

// TakeAbs returns a function that returns how many pairs have |d| in a bin and clears the
// count; TakeJoint has them from then on. All |r| are in a range.
func (t *Tables) TakeAbs(minRef, maxRef float64) func(bin uint) int64 {
	first, last := uint(0), uint(rows-1)
	if low, high := uint(rowNumber(minRef)), uint(rowNumber(maxRef)); max(low, high) < otherRow {
		first, last = low, high
	}
	return func(bin uint) (total int64) {
		for row := first; row <= last; row++ {
			n := Take(t.abs[row<<rowShift:], bin)
			if n == 0 {
				continue
			}
			total += n
			group := (bin + 8) >> groupShift
			switch row {
			case otherRow:
			case zeroRow:
				t.joint[cell(group, 0)] += uint32(n)
			default:
				t.joint[cell(group, firstGroup+row)] += uint32(n)
			}
		}
		return total
	}
}

// TakeJoint returns how many pairs are in the groups of |d| and |r| and clears the
// count. That of TakeAbs must come before for all bins of pairs.
func (t *Tables) TakeJoint(abs, ref uint) int64 {
	at := &t.joint[cell(abs, ref)]
	total := int64(*at)
	*at = 0
	return total
}

// Move counts pair i of those last counted in another cell of a table, or in none
// if that is negative.
func Move(table []uint32, i int, from uint, to int) {
	lane := uint(i & (Lanes - 1))
	table[from*Lanes+lane]--
	if to >= 0 {
		table[uint(to)*Lanes+lane]++
	}
}

// DropGroups takes pair i of those last counted out of the counts by groups. If
// that of |d| is not kept, it is taken out of this count too.
func (t *Tables) DropGroups(i int, abs, ref float64, keep bool) {
	at := uint32(Bin(abs)<<laneBits) | uint32(i&(Lanes-1)) | rowNumber(ref)<<rowShift
	if at>>rowShift == otherRow {
		t.joint[cell(Group(abs), Group(ref))]--
	}
	t.abs[at]--
	if keep {
		t.abs[at&(1<<rowShift-1)|otherRow<<rowShift]++
	}
}

// rowOf holds the rows of references by sign and exponent, as countPair adds them to an
// index, and above them counts of one, by which sums of them count what is in otherRow,
// and zeros. What is below the normal numbers is taken for zero.
var rowOf = func() (rows [1 << 12]uint64) {
	for i := range rows {
		switch row := rowNumber(math.Float64frombits(uint64(i) << 52 &^ SignBit)); {
		case i&0x7ff == 0:
			rows[i] = zeroRow<<rowShift | 1<<tinyShift
		case row == otherRow:
			rows[i] = otherRow<<rowShift | 1<<otherShift
		default:
			rows[i] = uint64(row) << rowShift
		}
	}
	return rows
}()

const (
	// tinyShift and otherShift are the places of the counts, for less than 2^13 pairs.
	tinyShift, otherShift = 32, 48
	// binShift leaves the bin of the bits of a magnitude, cellShift the first counter of
	// its cell, with the bits of laneBits to clear.
	binShift  = 49
	cellShift = binShift - laneBits
)

// pairCount is what plain loops find of pairs besides what they count in tables.
type pairCount struct {
	rows      uint64 // the sum of the entries of rowOf
	zeros     uint64 // references that are 0
	undefined uint64 // not 0 if one of them has a difference
	// The bits of the largest |d| and |d|/|r|, and of the smallest above 0 less 1: zero
	// comes after all others.
	maxAbs, maxRel, minAbs, minRel uint64
}

func newPairCount() pairCount { return pairCount{minAbs: math.MaxUint64, minRel: math.MaxUint64} }

// tiny returns how many pairs are counted in zeroRow.
func (c *pairCount) tiny() int64 { return int64(c.rows >> tinyShift & (1<<(otherShift-tinyShift) - 1)) }

// others reports whether there are pairs in otherRow.
func (c *pairCount) others() bool { return c.rows>>otherShift != 0 }

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

// countPair counts a pair of a lane, by the bits of |d|/|r|, |d| and r.
func (t *Tables) countPair(lane, rel, abs, r uint64, w *Wanted, c *pairCount) {
	row := rowOf[r>>52]
	t.abs[(abs>>cellShift|row)%uint64(len(t.abs))&^(Lanes-1)|lane]++
	if w.Quotients {
		t.Rel[rel>>cellShift%uint64(len(t.Rel))&^(Lanes-1)|lane]++
	}
	c.rows += row
	c.bound(rel, abs)
}

// countChunk counts pairs in fours, one of each lane. quotients is 0 where their |d|/|r| are
// not counted, else 1: a jump would cost more.
func (t *Tables) countChunk(rel, abs, r *[chunk]uint64, quotients uint32, c *pairCount) {
	const indexes, relIndexes = uint64(len(t.abs) - Lanes), uint64(len(t.Rel) - Lanes)
	rows := c.rows
	_, _, _, _ = rel[0], abs[0], r[0], t.abs[0] // looks for nil pointers once
	for i := 0; i < chunk; i += 4 {
		row, a, q := rowOf[r[i]>>52], abs[i], rel[i]
		rows += row
		t.abs[(a>>cellShift|row)&indexes]++
		t.Rel[q>>cellShift&relIndexes] += quotients
		c.bound(q, a)
		row, a, q = rowOf[r[i+1]>>52], abs[i+1], rel[i+1]
		rows += row
		t.abs[(a>>cellShift|row)&indexes+1]++
		t.Rel[q>>cellShift&relIndexes+1] += quotients
		c.bound(q, a)
		row, a, q = rowOf[r[i+2]>>52], abs[i+2], rel[i+2]
		rows += row
		t.abs[(a>>cellShift|row)&indexes+2]++
		t.Rel[q>>cellShift&relIndexes+2] += quotients
		c.bound(q, a)
		row, a, q = rowOf[r[i+3]>>52], abs[i+3], rel[i+3]
		rows += row
		t.abs[(a>>cellShift|row)&indexes+3]++
		t.Rel[q>>cellShift&relIndexes+3] += quotients
		c.bound(q, a)
	}
	c.rows = rows
}

// moveTiny moves the pairs that were just counted in zeroRow although their references
// are not 0.
func (t *Tables) moveTiny(abs, r []float64) {
	for i, x := range r {
		if math.Float64bits(x)&^SignBit-1 < 1<<52-1 {
			lane := uint(i & (Lanes - 1))
			t.abs[zeroRow<<rowShift|Bin(abs[i])<<laneBits|lane]--
			t.abs[otherRow<<rowShift|Bin(abs[i])<<laneBits|lane]++
		}
	}
}

// countOthers counts the pairs of otherRow by their groups.
func (t *Tables) countOthers(abs, r []float64) {
	for i, x := range r {
		if ref := math.Abs(x); rowNumber(ref) == otherRow {
			t.joint[cell(Group(abs[i]), Group(ref))]++
		}
	}
}
