package engine

import "math"

// ratios is what relatives finds.
type ratios struct {
	rel, ref       float64 // the sums of |d|/|r| and |r|
	maxRel, maxAbs float64
	zeros          int64 // references that are 0
	undefined      int64 // of them those with a difference
	below, below5  int64 // |d|/|r| below 1/1000 and 5/1000, 0 for zeros
	others         bool  // a mark has the last row
	// The first slots of |d| and |d|/|r| but slot 0; slots or more if none.
	firstAbs, firstRel uint
}

// ratioLanes holds what makes ratios by lanes, in the order of ratios.
type ratioLanes struct {
	sums   [16]float64
	counts [16]int64
	// The lowest indexes beyond those of slot 0, two for each lane, and the
	// highest rows, of every second place.
	indexes, rows [8]uint32
}

func newRatioLanes() (out ratioLanes) {
	for i := range out.indexes {
		out.indexes[i] = math.MaxUint32
	}
	return out
}

// relatives sets rel to abs over the magnitude of r, to 0 where r is 0, and
// counts the pairs by their marks.
func (t *tables) relatives(rel, abs, r []float64) (c ratios) {
	out := newRatioLanes()
	t.relativesTail(relativesHead(t, rel, abs, r, &out), rel, abs, r, &out)
	c.rel, c.ref = lanes(out.sums[0:]), lanes(out.sums[4:])
	lowAbs, lowRel, row := out.indexes[0], out.indexes[1], out.rows[0]
	for k := range 4 {
		c.maxRel, c.maxAbs = max(c.maxRel, out.sums[8+k]), max(c.maxAbs, out.sums[12+k])
		c.zeros += out.counts[k]
		c.undefined += out.counts[4+k]
		c.below += out.counts[8+k]
		c.below5 += out.counts[12+k]
		lowAbs, lowRel = min(lowAbs, out.indexes[2*k]), min(lowRel, out.indexes[2*k+1])
		row = max(row, out.rows[2*k])
	}
	c.others = row == otherRow
	c.firstAbs, c.firstRel = uint(lowAbs)>>(rowBits+wayBits)+1, uint(lowRel)>>wayBits+1
	return c
}

func (t *tables) relativesTail(done int, rel, abs, r []float64, out *ratioLanes) {
	divideTail(done, rel, abs, r, out)
	marks := t.marks[:len(r)]
	markTail(done, marks, rel, abs, r, out)
	t.count(marks[max(done-countLag, 0):])
}

func divideTail(done int, rel, abs, r []float64, out *ratioLanes) {
	rel, abs = rel[:len(r)], abs[:len(r)]
	limit, limit5 := math.Float64bits(1e-3), math.Float64bits(5e-3)
	sums, counts := &out.sums, &out.counts
	for k := range min(4, len(r)-done) {
		total, totalRef, maxRel, maxAbs := sums[k], sums[4+k], sums[8+k], sums[12+k]
		zeros, undefined, below, below5 := counts[k], counts[4+k], counts[8+k], counts[12+k]
		for i := done + k; i < len(r); i += 4 {
			magnitude := math.Float64bits(r[i]) &^ signBit
			ref := math.Float64frombits(magnitude)
			a := abs[i]
			q := math.Float64bits(a / ref)
			var isZero int64
			if magnitude == 0 {
				q = 0
				isZero = 1
			}
			x := math.Float64frombits(q)
			rel[i] = x
			total += x
			totalRef += ref
			zeros += isZero
			undefined += isZero & int64(-math.Float64bits(a)>>63)
			below += int64((q - limit) >> 63)
			below5 += int64((q - limit5) >> 63)
			if x > maxRel {
				maxRel = x
			}
			if a > maxAbs {
				maxAbs = a
			}
		}
		sums[k], sums[4+k], sums[8+k], sums[12+k] = total, totalRef, maxRel, maxAbs
		counts[k], counts[4+k], counts[8+k], counts[12+k] = zeros, undefined, below, below5
	}
}
