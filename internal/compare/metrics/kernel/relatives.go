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
func (t *Tables) Relatives(rel, abs, r []float64) Ratios {
	out := newRatioLanes()
	t.relativesTail(relativesHead(t, rel, abs, r, &out), rel, abs, r, &out)
	c, others := out.ratios()
	if others {
		t.countOthers(abs, r)
	}
	return c
}

// ratios also reports whether a row is otherRow.
func (out *ratioLanes) ratios() (c Ratios, others bool) {
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
	c.FirstAbs, c.FirstRel = uint(lowAbs)>>laneBits+1, uint(lowRel)>>laneBits+1
	return c, lowRow == 0
}

func (t *Tables) relativesTail(done int, rel, abs, r []float64, out *ratioLanes) {
	zeros := divideTail(done, rel, abs, r, out)
	countRatios(rel[done:len(r)], abs[done:len(r)], out)
	if zeros {
		countZeros(abs[done:len(r)], r[done:], out)
	}
	t.markTail(done, rel, abs, r)
	t.count(t.marks[max(done-countLag, 0):len(r)], out)
}

// divideTail divides and adds up, and reports whether a reference is 0.
func divideTail(done int, rel, abs, r []float64, out *ratioLanes) bool {
	rel, abs = rel[:len(r)], abs[:len(r)]
	zeros := uint64(0)
	for k := range min(4, len(r)-done) {
		total, totalRef := out.sums[k], out.sums[4+k]
		for i := done + k; i < len(r); i += 4 {
			magnitude := math.Float64bits(r[i]) &^ SignBit
			ref := math.Float64frombits(magnitude)
			notZero := -magnitude >> 63
			zeros |= notZero - 1
			x := math.Float64frombits(math.Float64bits(abs[i]/ref) & -notZero)
			rel[i] = x
			total += x
			totalRef += ref
		}
		out.sums[k], out.sums[4+k] = total, totalRef
	}
	return zeros != 0
}

// countRatios counts small quotients, and finds the largest.
func countRatios(rel, abs []float64, out *ratioLanes) {
	limit, limit5 := math.Float64bits(1e-3), math.Float64bits(5e-3)
	var below, below5, maxRel, maxAbs uint64
	abs = abs[:len(rel)]
	for i, x := range rel {
		q := math.Float64bits(x)
		below += (q - limit) >> 63
		below5 += (q - limit5) >> 63
		maxRel, maxAbs = max(maxRel, q), max(maxAbs, math.Float64bits(abs[i]))
	}
	out.counts[8] += int64(below)
	out.counts[12] += int64(below5)
	out.sums[8], out.sums[12] = max(out.sums[8], math.Float64frombits(maxRel)), max(out.sums[12], math.Float64frombits(maxAbs))
}

// countZeros counts references that are 0, and those with a difference.
func countZeros(abs, r []float64, out *ratioLanes) {
	var zeros, undefined uint64
	abs = abs[:len(r)]
	for i, x := range r {
		isZero := (math.Float64bits(x)&^SignBit - 1) >> 63
		zeros += isZero
		undefined += isZero & (-math.Float64bits(abs[i]) >> 63)
	}
	out.counts[0] += int64(zeros)
	out.counts[4] += int64(undefined)
}
