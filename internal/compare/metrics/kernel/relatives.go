package kernel

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Wanted has the options of Relatives.
type Wanted struct {
	// Quotients: count |d|/|r| in the histogram.
	Quotients bool
	// Atol and Rtol are limits of |d|: see FirstBeyond.
	Atol, Rtol float64
	// Flags, unless nil, is set to Flag for pairs beyond FlagAtol and FlagRtol, to 0 for the rest.
	Flags              []uint8
	Flag               uint8
	FlagAtol, FlagRtol float64

	each uint32 // Flag in each byte
}

// Ratios has the results of Relatives.
type Ratios struct {
	Rel, Ref, Abs  float64 // sums of |d|/|r|, |r| and |d|
	MaxRel, MaxAbs float64
	Zeros          int64 // pairs with r = 0
	Undefined      int64 // pairs with r = 0 and d != 0
	Below1, Below5 int64 // pairs with |d|/|r| below 1/1000 and 5/1000; it counts as 0 for r = 0
	Negative       int64 // pairs with d < 0
	// The lowest bins of |d| and of |d|/|r| above bin 0, Bins or more if there are none. FirstRel
	// is meaningless without Quotients.
	FirstAbs, FirstRel uint
	Exceeds            bool    // some |d| is beyond the limits
	Flagged            int64   // pairs with a flag
	FlaggedAbs         float64 // sum of their |d|
}

// ratioLanes has the results by lane. sums: |d|/|r|, |r|, the maxima of |d|/|r| and |d|, the
// sum of |d|. counts: in the order of Ratios.
type ratioLanes struct {
	sums   [20]float64
	counts [20]int64
	// lowest has four numbers for each lane: element 0 is the lowest index in Abs minus the index
	// of bin 1, element 2 the same in Rel; elements 1 and 3 are unused. Indexes in bin 0 wrap
	// around.
	lowest  [16]uint16
	exceeds uint64     // not 0 if some |d| is beyond the limits
	flagged [4]float64 // sums of |d| over flagged pairs
}

// noRatios is the initial state of ratioLanes.
var noRatios = func() (out ratioLanes) {
	for i := range out.lowest {
		out.lowest[i] = math.MaxUint16
	}
	return out
}()

// Relatives sets abs to |n-s| and rel to abs/|r|, 0 if r is 0, and counts the pairs. Either s
// is r, or s is zeros and n holds magnitudes; n may then be abs.
func (t *Tables) Relatives(rel, abs, n, s, r []float64, w *Wanted) (c Ratios) {
	out := noRatios
	w.each = uint32(w.Flag) * (eachByte & math.MaxUint32)
	if done := relativesHead(t, rel, abs, n, s, r, w, &out); done < len(r) {
		t.relativesTail(done, rel, abs, n, s, r, w, &out)
	}
	out.ratios(&c)
	c.Flagged = countSet(w.Flags)
	return c
}

// CountEqual is Relatives for equal pairs; zeros is the number of zeros in r.
func (t *Tables) CountEqual(r []float64, zeros int64, quotients bool) Ratios {
	count := len(r)
	t.Abs[0] += uint32(count)
	if quotients {
		t.Rel[0] += uint32(count)
	}
	return Ratios{Ref: SumAbs(r), Zeros: zeros, Below1: int64(count), Below5: int64(count), FirstAbs: Bins, FirstRel: Bins}
}

// ratios joins the lanes.
func (out *ratioLanes) ratios(c *Ratios) {
	c.Rel, c.Ref, c.Abs = lanes(out.sums[0:]), lanes(out.sums[4:]), lanes(out.sums[16:])
	lowAbs, lowRel := out.lowest[0], out.lowest[2]
	for k := range 4 {
		c.MaxRel, c.MaxAbs = max(c.MaxRel, out.sums[8+k]), max(c.MaxAbs, out.sums[12+k])
		c.Zeros += out.counts[k]
		c.Undefined += out.counts[4+k]
		c.Below1 += out.counts[8+k]
		c.Below5 += out.counts[12+k]
		c.Negative += out.counts[16+k]
		lowAbs, lowRel = min(lowAbs, out.lowest[4*k]), min(lowRel, out.lowest[4*k+2])
	}
	c.FirstAbs, c.FirstRel = uint(lowAbs)>>laneBits+1, uint(lowRel)>>laneBits+1
	c.Exceeds, c.FlaggedAbs = out.exceeds != 0, lanes(out.flagged[:])
}

// relativesTail processes the pairs from index done on.
func (t *Tables) relativesTail(done int, rel, abs, n, s, r []float64, w *Wanted, out *ratioLanes) {
	subtractFrom(done, abs[:len(r)], n, s, out.sums[16:], out.counts[16:])
	rel, abs, r = rel[done:len(r)], abs[done:len(r)], r[done:]
	if w.Flags != nil {
		w.flag(w.Flags[done:], abs, r, &out.flagged)
	}
	c := newPairCount()
	t.divideAll(rel, abs, r, w, &c, out)
	if !c.passes(w.Atol, w.Rtol) && FirstBeyond(abs, r, w.Atol, w.Rtol) < len(r) {
		out.exceeds = 1
	}
	c.finish(rel, abs, r, out)
}

// passes reports whether the maxima of |d| and |d|/|r| prove that no pair is beyond the
// limits. If a quotient rounds to less than rtol it is less than rtol, so |d| is less than
// rtol*|r|, rounded or not.
func (c *pairCount) passes(atol, rtol float64) bool {
	return math.Float64frombits(c.maxAbs) <= atol || c.undefined == 0 && math.Float64frombits(c.maxRel) < rtol
}

// flag sets the flags of pairs and adds the |d| of flagged pairs to the lanes.
func (w *Wanted) flag(flags []uint8, abs, r []float64, sums *[4]float64) {
	flags, abs = flags[:len(r)], abs[:len(r)]
	for i, x := range r {
		limit := math.Float64bits(w.FlagAtol + float64(w.FlagRtol*math.Abs(x)))
		beyond := uint64(int64(limit-math.Float64bits(abs[i])) >> 63) // all ones or 0; magnitudes order like their bits
		flags[i] = uint8(beyond) & w.Flag
		sums[i&3] += math.Float64frombits(math.Float64bits(abs[i]) & beyond)
	}
}

// countSet returns the number of flags that are not 0; all these are equal.
func countSet(flags []uint8) (count int64) {
	for ; len(flags) >= 8; flags = flags[8:] {
		set := (binary.LittleEndian.Uint64(flags) + 0x7f*eachByte) & (0x80 * eachByte)
		count += int64(bits.OnesCount64(set))
	}
	for _, f := range flags {
		count += int64((f + 0x7f) >> 7)
	}
	return count
}

// divideAll computes |d|/|r| and counts the pairs.
func (t *Tables) divideAll(rel, abs, r []float64, w *Wanted, c *pairCount, out *ratioLanes) {
	quotients := uint32(0)
	if w.Quotients {
		quotients = 1
	}
	i := 0
	for ; i+chunk <= len(r); i += chunk {
		q, d, ref := (*[chunk]float64)(rel[i:]), (*[chunk]float64)(abs[i:]), (*[chunk]float64)(r[i:])
		c.divideChunk(q, d, ref, &out.sums)
		t.countChunk(bitsIn(q), bitsIn(d), quotients, c)
	}
	for ; i < len(r); i++ {
		ref := math.Float64bits(r[i]) &^ SignBit
		rel[i] = c.divide(abs[i], ref)
		out.sums[i&3] += rel[i]
		out.sums[4+i&3] += math.Float64frombits(ref)
		t.countPair(uint64(i&3), math.Float64bits(rel[i]), math.Float64bits(abs[i]), w, c)
	}
}

// finish adds the results of the plain loops to out.
func (c *pairCount) finish(rel, abs, r []float64, out *ratioLanes) {
	maxRel, maxAbs := math.Float64frombits(c.maxRel), math.Float64frombits(c.maxAbs)
	out.sums[8], out.sums[12] = max(out.sums[8], maxRel), max(out.sums[12], maxAbs)
	out.lowest[0] = min(out.lowest[0], lowestFrom(c.minAbs+1, abs))
	out.lowest[2] = min(out.lowest[2], lowestFrom(c.minRel+1, rel))
	countBelow(maxRel, rel, out)
	out.counts[0] += int64(c.zeros)
	if c.undefined != 0 {
		out.counts[4] += countUndefined(abs, r)
	}
}

// divide returns |d|/|r|, 0 if r is 0. r has the bits of |r|.
func (c *pairCount) divide(abs float64, r uint64) float64 {
	zero := uint64(int64(r-1) >> 63) // all ones or 0
	c.zeros += zero >> 63
	c.undefined |= math.Float64bits(abs) & zero
	return math.Float64frombits(math.Float64bits(abs/math.Float64frombits(r)) &^ zero)
}

// divideChunk divides a chunk, four lanes at a time, and adds to the sums.
func (c *pairCount) divideChunk(rel, abs, r *[chunk]float64, sums *[20]float64) {
	s0, s1, s2, s3 := sums[0], sums[1], sums[2], sums[3]
	t0, t1, t2, t3 := sums[4], sums[5], sums[6], sums[7]
	var zeros, undefined, ref, zero uint64
	bits, absBits := bitsIn(r), bitsIn(abs)
	_, _, _ = rel[0], absBits[0], bits[0]
	for i := 0; i < chunk; i += 4 {
		ref = bits[i] &^ SignBit
		zero = uint64(int64(ref-1) >> 63)
		zeros -= zero
		undefined |= absBits[i] & zero
		t0 += math.Float64frombits(ref)
		rel[i] = abs[i] / math.Float64frombits(ref|zero&exponentBits)
		s0 += rel[i]
		ref = bits[i+1] &^ SignBit
		zero = uint64(int64(ref-1) >> 63)
		zeros -= zero
		undefined |= absBits[i+1] & zero
		t1 += math.Float64frombits(ref)
		rel[i+1] = abs[i+1] / math.Float64frombits(ref|zero&exponentBits)
		s1 += rel[i+1]
		ref = bits[i+2] &^ SignBit
		zero = uint64(int64(ref-1) >> 63)
		zeros -= zero
		undefined |= absBits[i+2] & zero
		t2 += math.Float64frombits(ref)
		rel[i+2] = abs[i+2] / math.Float64frombits(ref|zero&exponentBits)
		s2 += rel[i+2]
		ref = bits[i+3] &^ SignBit
		zero = uint64(int64(ref-1) >> 63)
		zeros -= zero
		undefined |= absBits[i+3] & zero
		t3 += math.Float64frombits(ref)
		rel[i+3] = abs[i+3] / math.Float64frombits(ref|zero&exponentBits)
		s3 += rel[i+3]
	}
	if undefined&exponentBits == exponentBits { // possibly an infinity over 0
		for i, x := range abs {
			ref := bits[i] &^ SignBit
			rel[i] = c.divide(x, ref)
			sums[i&3] += rel[i]
			sums[4+i&3] += math.Float64frombits(ref)
		}
		return
	}
	sums[0], sums[1], sums[2], sums[3] = s0, s1, s2, s3
	sums[4], sums[5], sums[6], sums[7] = t0, t1, t2, t3
	c.zeros += zeros
	c.undefined |= undefined
}

// countUndefined returns the number of pairs with r = 0 and d != 0.
func countUndefined(abs, r []float64) (count int64) {
	abs = abs[:len(r)]
	for i, x := range r {
		isZero := (math.Float64bits(x)&^SignBit - 1) >> 63
		count += int64(isZero & (-math.Float64bits(abs[i]) >> 63))
	}
	return count
}

// lowestFrom returns the element of ratioLanes.lowest for the smallest value above 0, given
// by its bits; smallest is 0 if there is no such value.
func lowestFrom(smallest uint64, values []float64) uint16 {
	const first = 1 << binShift
	low := smallest - first
	if smallest == 0 {
		return math.MaxUint16
	}
	if smallest < first { // in the bin of zero
		low = math.MaxUint64
		for _, x := range values {
			low = min(low, math.Float64bits(x)-first)
		}
	}
	return uint16(low >> binShift << laneBits)
}

// countBelow counts quotients below 1/1000 and 5/1000; largest is their maximum.
func countBelow(largest float64, rel []float64, out *ratioLanes) {
	const limit, limit5 = 1e-3, 5e-3
	if largest < limit {
		out.counts[8] += int64(len(rel))
		out.counts[12] += int64(len(rel))
		return
	}
	bits, bits5 := math.Float64bits(limit), math.Float64bits(limit5)
	var below, below5 uint64
	for _, x := range rel {
		q := math.Float64bits(x)
		below += (q - bits) >> 63
		below5 += (q - bits5) >> 63
	}
	out.counts[8] += int64(below)
	out.counts[12] += int64(below5)
}
