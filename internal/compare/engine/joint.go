package engine

import (
	"cmp"
	"math"
	"slices"
)

// joint counts pairs by the slot of |d| and the row of |r|: row 0 is that of
// zero, the next ones are the groups from firstGroup on, and the last row takes
// all others, whose cells are counted besides. Every place is counted in several
// ways in turn, as in a counter.
type joint struct {
	counts  [slots << (rowBits + wayBits)]uint32
	tinyAbs map[int32]int64 // the bins of subnormal |d|
	cells   map[uint64]int64
	tiny    map[[2]int32]*tinyCell
}

// tinyCell counts the pairs of magnitudes without a group, and bounds them by
// bits of float64.
type tinyCell struct {
	minAbs, maxAbs, minRef, maxRef uint64
	count                          int64
}

// group returns the group of 16 octaves of the bits of a magnitude, from 0 to
// 127; 0 is that of zero and of magnitudes below 2^-1008, which are left out of
// the groups.
func group(bits uint64) uint64 { return (bits + 1<<52) >> 56 }

// cell returns the key of the cell for the bits of |d| and |r|.
func cell(abs, ref uint64) uint64 { return group(abs)<<7 | group(ref) }

// move takes in the cell of a pair that was counted at an index, if its row does
// not tell the group of |r| or a magnitude has no group.
func (j *joint) move(index, abs, ref uint64) {
	homeless := math.Float64frombits(abs) > math.MaxFloat64 || isTiny(abs) || isTiny(ref)
	if !homeless && index>>wayBits&otherRow != otherRow {
		return
	}
	index &= slots<<(rowBits+wayBits) - 1
	j.counts[index]--
	if subnormal(abs) {
		addTiny(&j.tinyAbs, abs)
	} else {
		j.counts[index|otherRow<<wayBits]++
	}
	if homeless {
		j.addTiny(abs, ref)
		return
	}
	if j.cells == nil {
		j.cells = map[uint64]int64{}
	}
	j.cells[cell(abs, ref)]++
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

// take returns the histogram of |d| and the bins, in the order of Abs and Ref, and
// clears them. All |d| but zeros lie in a range. The bounds of |d| are those of
// its histogram, those of |r| the ones of the group.
func (j *joint) take(within slotRange) (h Histogram, bins []JointBin) {
	h.Bins = tinyBins(j.tinyAbs)
	for _, c := range j.tiny {
		bins = append(bins, c.bin())
	}
	var rows groupRows
	h.Zeros = j.takeSlot(0, &rows)
	bins = append(bins, rows.bins(0, j.cells)...)
	for s := within.first; s <= within.last; {
		g := group(uint64(s) << 49)
		end := min(uint(16*g+15)*8, within.last+1)
		rows = groupRows{}
		for ; s < end; s++ {
			if n := j.takeSlot(s, &rows); n > 0 {
				h.Bins = append(h.Bins, HistogramBin{Bin: bin(s), Count: n})
			}
		}
		bins = append(bins, rows.bins(g, j.cells)...)
	}
	j.tinyAbs, j.cells, j.tiny = nil, nil, nil
	return h, mergedJoint(bins, nil)
}

// takeSlot returns how many pairs have |d| in a slot, adds them to the rows of
// its group, and clears them.
func (j *joint) takeSlot(s uint, rows *groupRows) (total int64) {
	for row := range rows.counts {
		n := takeSum(j.counts[s<<(rowBits+wayBits)|uint(row)<<wayBits:][:1<<wayBits])
		rows.counts[row] += n
		total += n
	}
	if total > 0 {
		if rows.first == 0 {
			rows.first = s
		}
		rows.last = s
	}
	return total
}

// groupRows holds the pairs of a group of |d| by rows, and the slots they are in.
type groupRows struct {
	counts      [1 << rowBits]int64
	first, last uint
}

// bins returns the bins of group g of |d|.
func (r *groupRows) bins(g uint64, cells map[uint64]int64) (bins []JointBin) {
	var low, high float64
	if g > 0 && r.first > 0 {
		low, high = math.Float64frombits(uint64(r.first)<<49), math.Float64frombits(uint64(r.last+1)<<49-1)
	}
	add := func(ref int, count int64) {
		b := JointBin{Abs: jointBin(math.Float64bits(low)), Count: count, MinAbs: low, MaxAbs: high, Ref: ZeroBin}
		if ref > 0 {
			b.MinRef, b.MaxRef = groupBounds(ref)
			b.Ref = jointBin(math.Float64bits(b.MinRef))
		}
		bins = append(bins, b)
	}
	for row, n := range r.counts[:otherRow] {
		if n > 0 && row == 0 {
			add(0, n)
		} else if n > 0 {
			add(firstGroup+row-1, n)
		}
	}
	if r.counts[otherRow] == 0 {
		return bins
	}
	for key, n := range cells {
		if key>>7 == g {
			add(int(key&127), n)
		}
	}
	return bins
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

// groupBounds returns the smallest and the largest magnitude of a group but the
// first.
func groupBounds(g int) (first, last float64) {
	from := uint64(16*g-1) << 52
	return math.Float64frombits(from), math.Float64frombits(from + 16<<52 - 1)
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
