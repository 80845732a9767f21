package engine

import (
	"cmp"
	"math"
	"slices"
)

// jointWidth is the number of groups of 16 octaves that float64 has, and one
// for zero, the first. The subnormal numbers are left out of them.
const jointWidth = 128

// joint counts pairs by the groups of |d| and |r|. Two tables of counts are used
// in turn, as in a counter.
type joint struct {
	even, odd [jointWidth * jointWidth]uint32
	tiny      map[[2]int32]*tinyCell
}

// tinyCell counts the pairs of magnitudes without a group, and bounds them by
// bits of float64.
type tinyCell struct {
	minAbs, maxAbs, minRef, maxRef uint64
	count                          int64
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
		j.even[cellIndex(math.Float64bits(abs[i-1]), math.Float64bits(r[i-1])&^signBit)]++
		j.odd[cellIndex(math.Float64bits(abs[i]), math.Float64bits(r[i])&^signBit)]++
	}
	if k := len(abs) - 1; k&1 == 0 {
		j.addOne(math.Float64bits(abs[k]), math.Float64bits(r[k])&^signBit)
	}
}

func (j *joint) addOne(abs, ref uint64) { j.even[cellIndex(abs, ref)]++ }

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
		cell = &tinyCell{minAbs: abs, minRef: ref}
		if j.tiny == nil {
			j.tiny = map[[2]int32]*tinyCell{}
		}
		j.tiny[key] = cell
	}
	cell.count++
	cell.minAbs, cell.maxAbs = min(cell.minAbs, abs), max(cell.maxAbs, abs)
	cell.minRef, cell.maxRef = min(cell.minRef, ref), max(cell.maxRef, ref)
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

// take returns the bins, in the order of Abs and Ref, and clears them. The bounds
// of |d| are those of its histogram, those of |r| the ones of the group.
func (j *joint) take(abs *counter) (bins []JointBin) {
	for g := range jointWidth {
		row := g * jointWidth
		var low, high float64
		bounded := false
		for k := range jointWidth {
			n := j.even[row+k] + j.odd[row+k]
			if n == 0 {
				continue
			}
			j.even[row+k], j.odd[row+k] = 0, 0
			if !bounded {
				low, high = abs.bounds(g)
				bounded = true
			}
			b := JointBin{Abs: jointBin(math.Float64bits(low)), Count: int64(n), MinAbs: low, MaxAbs: high, Ref: ZeroBin}
			if first, end := groupBounds(k); k > 0 {
				b.Ref = jointBin(math.Float64bits(first))
				b.MinRef, b.MaxRef = first, end
			}
			bins = append(bins, b)
		}
	}
	for _, c := range j.tiny {
		bins = append(bins, c.bin())
	}
	j.tiny = nil
	return mergedJoint(bins, nil)
}

// narrowed returns the bins with bounds no wider than the ranges of all pairs.
func narrowed(bins []JointBin, maxAbs, minRef, maxRef float64) []JointBin {
	for i := range bins {
		b := &bins[i]
		b.MaxAbs, b.MaxRef = min(b.MaxAbs, maxAbs), min(b.MaxRef, maxRef)
		b.MinRef = max(b.MinRef, minRef)
	}
	return bins
}

// groupBounds returns the smallest and the largest magnitude of a group.
func groupBounds(g int) (first, last float64) {
	if g == 0 {
		return 0, 0
	}
	from := uint64(16*g-1) << 52
	return math.Float64frombits(from), math.Float64frombits(from + 16<<52 - 1)
}

// bounds returns bounds of the magnitudes of a group that were counted.
func (c *counter) bounds(g int) (low, high float64) {
	if g == 0 {
		return 0, 0
	}
	from := 8 * (16*g - 1)
	first, last := -1, 0
	for s := from; s < min(from+8*16, slots); s++ {
		if c.even[s]|c.odd[s] != 0 {
			if first < 0 {
				first = s
			}
			last = s
		}
	}
	if first < 0 {
		return 0, 0
	}
	return math.Float64frombits(uint64(first) << 49), math.Float64frombits(uint64(last+1)<<49 - 1)
}

func (c *tinyCell) bin() JointBin {
	return JointBin{
		Abs: jointBin(c.maxAbs), Ref: jointBin(c.maxRef), Count: c.count,
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
