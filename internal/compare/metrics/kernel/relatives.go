package kernel

import "math"

// Ratios is what Relatives finds.
type Ratios struct {
	Rel, Ref       float64 // the sums of |d|/|r| and |r|
	MaxRel, MaxAbs float64
	Zeros          int64 // references that are 0
	Undefined      int64 // of them those with a difference
	Below1, Below5 int64 // |d|/|r| below 1/1000 and 5/1000, 0 for zeros
	// The lowest bins of |d| and |d|/|r| but that of zero; Bins or more if none.
	FirstAbs, FirstRel uint
}

// ratioLanes holds what makes Ratios by lanes, in the order of Ratios.
type ratioLanes struct {
	sums   [16]float64
	counts [16]int64
	// lowest has four numbers for each lane: the lowest index in a row of abs
	// beyond that of bin 0, the least that a row is beyond otherRow, the lowest
	// index in Rel beyond that of bin 0, and one that means nothing. Where there
	// is nothing beyond, numbers wrap around.
	lowest [16]uint16
}

func newRatioLanes() (out ratioLanes) {
	for i := range out.lowest {
		out.lowest[i] = math.MaxUint16
	}
	return out
}

// Relatives sets rel to abs over the magnitude of r, to 0 where r is 0, and counts
// the pairs.
func (t *Tables) Relatives(rel, abs, r []float64) (c Ratios) {
	out := newRatioLanes()
	t.relativesTail(relativesHead(t, rel, abs, r, &out), rel, abs, r, &out)
	c.Rel, c.Ref = lanes(out.sums[0:]), lanes(out.sums[4:])
	lowAbs, lowRow, lowRel := out.lowest[0], out.lowest[1], out.lowest[2]
	for k := range 4 {
		c.MaxRel, c.MaxAbs = max(c.MaxRel, out.sums[8+k]), max(c.MaxAbs, out.sums[12+k])
		c.Zeros += out.counts[k]
		c.Undefined += out.counts[4+k]
		c.Below1 += out.counts[8+k]
		c.Below5 += out.counts[12+k]
		lowAbs, lowRow, lowRel = min(lowAbs, out.lowest[4*k]), min(lowRow, out.lowest[4*k+1]), min(lowRel, out.lowest[4*k+2])
	}
	if lowRow == 0 {
		t.countOthers(abs, r)
	}
	c.FirstAbs, c.FirstRel = uint(lowAbs)>>laneBits+1, uint(lowRel)>>laneBits+1
	return c
}

func (t *Tables) relativesTail(done int, rel, abs, r []float64, out *ratioLanes) {
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
			magnitude := math.Float64bits(r[i]) &^ SignBit
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
