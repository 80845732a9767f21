package engine

import "math"

// The mark of a pair holds the indexes where it is counted: in its lower half
// that in the counts of joint, in its upper half that of |d|/|r| in a counter.
const (
	// wayBits are the lowest bits of an index: the lane of the pair.
	wayBits = 2
	// rowBits are the next bits of the index in joint: the row of |r|.
	rowBits  = 3
	otherRow = 1<<rowBits - 1
	// firstGroup is the group of |r| in row 1, from 2^-64 on. The row before
	// otherRow ends below 2^32.
	firstGroup = 60
	// Indexes below these have slot 0.
	firstAbsIndex = 1 << (rowBits + wayBits)
	firstRelIndex = 1 << wayBits
)

// tables are where pairs are counted.
type tables struct {
	marks              []uint64 // of a leaf
	joint              joint
	rel                counter // of |d|/|r|
	absRange, relRange slotRange
}

// markTail sets marks to those of pairs.
func markTail(done int, marks []uint64, rel, abs, r []float64, out *ratioLanes) {
	rel, abs, marks = rel[:len(r)], abs[:len(r)], marks[:len(r)]
	for i := done; i < len(r); i++ {
		ref := math.Float64bits(r[i]) &^ signBit
		var row uint32
		if ref != 0 {
			row = min(uint32(group(ref))-firstGroup, otherRow-1) + 1
		}
		way := uint32(i & 3)
		absIndex := uint32(slot(abs[i]))<<(rowBits+wayBits) | row<<wayBits | way
		relIndex := uint32(slot(rel[i]))<<wayBits | way
		marks[i] = uint64(relIndex)<<32 | uint64(absIndex)
		k := 2 * way
		out.indexes[k] = min(out.indexes[k], absIndex-firstAbsIndex)
		out.indexes[k+1] = min(out.indexes[k+1], relIndex-firstRelIndex)
		out.rows[k] = max(out.rows[k], row)
	}
}

// count counts marked pairs.
func (t *tables) count(marks []uint64) {
	abs, rel := &t.joint.counts, &t.rel.counts
	for _, m := range marks {
		abs[m&uint64(len(abs)-1)]++
		rel[m>>32&uint64(len(rel)-1)]++
	}
}

// add takes in what relatives found of pairs, and moves those that have no place
// in the tables. Only huge types have subnormal magnitudes.
func (t *tables) add(c *ratios, rel, abs, r []float64, huge bool) {
	t.absRange.add(c.firstAbs, slot(c.maxAbs))
	t.relRange.add(c.firstRel, slot(c.maxRel))
	if !c.others && !huge {
		return
	}
	for i, m := range t.marks[:len(r)] {
		t.joint.move(m, math.Float64bits(abs[i]), math.Float64bits(r[i])&^signBit)
		if q := math.Float64bits(rel[i]); subnormal(q) {
			t.rel.move(m>>32, q)
		}
	}
}
