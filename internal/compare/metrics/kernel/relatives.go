package kernel

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// RelativeOptions has the options of Relatives.
type RelativeOptions struct {
	// Quotients: count |d|/|r| in the histogram.
	Quotients bool
	// Atol and Rtol are limits of |d|: see FindFirstBeyond.
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
	FlaggedAbs         float64 // |sum of |d| of these pairs|
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

// initialRatios is the initial state of ratioLanes.
var initialRatios = func() (out ratioLanes) {
	for i := range out.lowest {
		out.lowest[i] = math.MaxUint16
	}
	return out
}()

// Relatives sets abs to |n-s| and rel to abs/|r|, 0 if r is 0, and counts the pairs. Either s
// is r, or s is zeros and n holds magnitudes; n may then be abs.
func (t *Tables) Relatives(rel, abs, n, s, r []float64, w *RelativeOptions) (c Ratios) {
	out := initialRatios
	w.each = uint32(w.Flag) * (eachByte & math.MaxUint32)
	if done := relativesHead(t, rel, abs, n, s, r, w, &out); done < len(r) {
		t.relativesTail(done, rel, abs, n, s, r, w, &out)
	}
	out.joinLanes(&c)
	c.Flagged = countNonZero(w.Flags)
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

func (out *ratioLanes) joinLanes(c *Ratios) {
	c.Rel, c.Ref, c.Abs = sumLanes(out.sums[0:]), sumLanes(out.sums[4:]), sumLanes(out.sums[16:])
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
	c.Exceeds, c.FlaggedAbs = out.exceeds != 0, sumLanes(out.flagged[:])
}

// relativesTail processes the pairs from index done on.
func (t *Tables) relativesTail(done int, rel, abs, n, s, r []float64, w *RelativeOptions, out *ratioLanes) {
	const firstBin = 1 << binShift // the bits of the smallest value in bin 1
	rel, abs, n, s = rel[:len(r)], abs[:len(r)], n[:len(r)], s[:len(r)]
	for i := done; i < len(r); i++ {
		k, x, ref := i&3, n[i]-s[i], math.Abs(r[i])
		d, q := math.Abs(x), 0.0
		if x < 0 {
			out.counts[16+k]++
		}
		switch {
		case ref != 0:
			q = d / ref
		case d != 0:
			out.counts[4+k]++
			fallthrough
		default:
			out.counts[k]++
		}
		abs[i], rel[i] = d, q
		out.sums[k] += q
		out.sums[4+k] += ref
		out.sums[8+k], out.sums[12+k] = keepLarger(out.sums[8+k], q), keepLarger(out.sums[12+k], d)
		out.sums[16+k] += d
		if q < 1e-3 {
			out.counts[8+k]++
		}
		if q < 5e-3 {
			out.counts[12+k]++
		}
		if !(d <= w.Atol+float64(w.Rtol*ref)) {
			out.exceeds = 1
		}
		if w.Flags != nil {
			if w.Flags[i] = 0; !(d <= w.FlagAtol+float64(w.FlagRtol*ref)) {
				w.Flags[i] = w.Flag
				out.flagged[k] += d
			}
		}
		t.Abs[Bin(d)*Lanes+uint(k)]++
		if w.Quotients {
			t.Rel[Bin(q)*Lanes+uint(k)]++
		}
		out.lowest[4*k] = min(out.lowest[4*k], uint16((math.Float64bits(d)-firstBin)>>binShift<<laneBits))
		out.lowest[4*k+2] = min(out.lowest[4*k+2], uint16((math.Float64bits(q)-firstBin)>>binShift<<laneBits))
	}
}

// countNonZero returns the number of flags that are not 0; all these are equal.
func countNonZero(flags []uint8) (count int64) {
	for ; len(flags) >= 8; flags = flags[8:] {
		set := (binary.LittleEndian.Uint64(flags) + 0x7f*eachByte) & (0x80 * eachByte)
		count += int64(bits.OnesCount64(set))
	}
	for _, f := range flags {
		count += int64((f + 0x7f) >> 7)
	}
	return count
}
