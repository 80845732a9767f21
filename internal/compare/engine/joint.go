package engine

import (
	"cmp"
	"math"
	"slices"
)

// jointWidth is the number of groups of 16 octaves that float64 has, and one
// for zero, the first. The subnormal numbers are left out of them.
const jointWidth = 128

// jointCell bounds the pairs of one group of |d| and one of |r|, by bits of
// float64.
type jointCell struct {
	minAbs, maxAbs, minRef, maxRef uint64
}

// noPairs is the cell of no pairs.
func noPairs() jointCell { return jointCell{minAbs: math.MaxUint64, minRef: math.MaxUint64} }

func (c *jointCell) add(abs, ref uint64) {
	if abs < c.minAbs {
		c.minAbs = abs
	}
	if abs > c.maxAbs {
		c.maxAbs = abs
	}
	if ref < c.minRef {
		c.minRef = ref
	}
	if ref > c.maxRef {
		c.maxRef = ref
	}
}

// joint counts pairs by the groups of |d| and |r|. Two tables of counts are used
// in turn, as in a counter.
type joint struct {
	cells     [jointWidth * jointWidth]jointCell
	even, odd [jointWidth * jointWidth]uint32
	tiny      map[[2]int32]*tinyCell
}

// tinyCell is a cell for magnitudes without a group.
type tinyCell struct {
	jointCell
	count int64
}

// reset empties the cells.
func (j *joint) reset() {
	for i := range j.cells {
		j.cells[i] = noPairs()
	}
}

// group returns the group of 16 octaves of the bits of a magnitude; 0 is that
// of zero and of magnitudes below 2^-1008.
func group(bits uint64) uint64 { return (bits + 1<<52) >> 56 }

// cellIndex returns the index of the cell for the bits of |d| and |r|.
func cellIndex(abs, ref uint64) uint64 {
	return (group(abs)<<7 | group(ref)) & (jointWidth*jointWidth - 1)
}

// add counts pairs of |d| and r, none of them below 2^-1008 but 0.
func (j *joint) add(abs, r []float64) {
	r = r[:len(abs)]
	for i := 1; i < len(abs); i += 2 {
		bits, ref := math.Float64bits(abs[i-1]), math.Float64bits(r[i-1])&^signBit
		at := cellIndex(bits, ref)
		j.even[at]++
		j.cells[at].add(bits, ref)
		bits, ref = math.Float64bits(abs[i]), math.Float64bits(r[i])&^signBit
		at = cellIndex(bits, ref)
		j.odd[at]++
		j.cells[at].add(bits, ref)
	}
	if k := len(abs) - 1; k&1 == 0 {
		j.addOne(math.Float64bits(abs[k]), math.Float64bits(r[k])&^signBit)
	}
}

func (j *joint) addOne(abs, ref uint64) {
	at := cellIndex(abs, ref)
	j.even[at]++
	j.cells[at].add(abs, ref)
}

// addAny is add for all magnitudes, infinity among them.
func (j *joint) addAny(abs, r []float64) {
	for i, a := range abs {
		bits, ref := math.Float64bits(a), math.Float64bits(r[i])&^signBit
		if a > math.MaxFloat64 || isTiny(bits) || isTiny(ref) {
			j.addTiny(bits, ref)
			continue
		}
		j.addOne(bits, ref)
	}
}

// isTiny reports whether a magnitude shares the group of zero.
func isTiny(bits uint64) bool { return bits != 0 && group(bits) == 0 }

func (j *joint) addTiny(abs, ref uint64) {
	key := [2]int32{jointBin(abs), jointBin(ref)}
	cell := j.tiny[key]
	if cell == nil {
		cell = &tinyCell{jointCell: noPairs()}
		if j.tiny == nil {
			j.tiny = map[[2]int32]*tinyCell{}
		}
		j.tiny[key] = cell
	}
	cell.count++
	cell.add(abs, ref)
}

// jointBin returns the number of the bin of a magnitude.
func jointBin(bits uint64) int32 {
	if bits == 0 {
		return ZeroBin
	}
	x := math.Float64frombits(bits)
	if math.IsInf(x, 0) {
		return 64
	}
	_, exp := math.Frexp(x)
	return int32(exp-1) >> 4
}

// take returns the bins, in the order of Abs and Ref, and clears them.
func (j *joint) take() (bins []JointBin) {
	for i := range j.cells {
		if n := j.even[i] + j.odd[i]; n != 0 {
			bins = append(bins, j.cells[i].bin(int64(n)))
			j.cells[i], j.even[i], j.odd[i] = noPairs(), 0, 0
		}
	}
	for _, c := range j.tiny {
		bins = append(bins, c.bin(c.count))
	}
	j.tiny = nil
	return mergedJoint(bins, nil)
}

func (c *jointCell) bin(count int64) JointBin {
	return JointBin{
		Abs: jointBin(c.maxAbs), Ref: jointBin(c.maxRef), Count: count,
		MinAbs: math.Float64frombits(c.minAbs), MaxAbs: math.Float64frombits(c.maxAbs),
		MinRef: math.Float64frombits(c.minRef), MaxRef: math.Float64frombits(c.maxRef),
	}
}

// mergedJoint joins bins of equal places and sorts them.
func mergedJoint(a, b []JointBin) []JointBin {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y JointBin) int {
		return cmp.Or(cmp.Compare(x.Abs, y.Abs), cmp.Compare(x.Ref, y.Ref))
	})
	out := all[:0]
	for _, b := range all {
		k := len(out) - 1
		if k < 0 || out[k].Abs != b.Abs || out[k].Ref != b.Ref {
			out = append(out, b)
			continue
		}
		out[k].Count += b.Count
		out[k].MinAbs, out[k].MaxAbs = min(out[k].MinAbs, b.MinAbs), max(out[k].MaxAbs, b.MaxAbs)
		out[k].MinRef, out[k].MaxRef = min(out[k].MinRef, b.MinRef), max(out[k].MaxRef, b.MaxRef)
	}
	return out
}
