package kernel

import "math"

// Octave has sums over the pairs whose reference has one sign and one exponent.
type Octave struct {
	Count, DD, RR, D float64
}

// Merge adds the sums of other pairs.
func (o *Octave) Merge(p *Octave) {
	o.Count += p.Count
	o.DD += p.DD
	o.RR += p.RR
	o.D += p.D
}

// octaveCount is the number of combinations of sign and exponent of a float64. The first half
// is for positive values; exponent 0 is for zero and the subnormal numbers of float64.
const octaveCount = 1 << 12

// Octaves has a table indexed by the sign and exponent of r. An octave has four lanes.
type Octaves struct {
	octaves [octaveCount][4]Octave
	// low and high are the lowest and the highest exponent above 0 that was possibly
	// added.
	low, high uint
}

// NewOctaves returns empty tables.
func NewOctaves() *Octaves { return &Octaves{low: octaveCount} }

// PairSigns has further results of SumRuns.
type PairSigns struct {
	DR   float64 // sum of d*r over the pairs with r > 0, if the pairs are added to octaves
	Bits uint64  // bitwise or of all n
}

// signLanes has PairSigns by lane.
type signLanes struct {
	dr   [4]float64
	bits [4]uint64
}

// Cover includes references between two magnitudes above 0 in the range of exponents.
func (o *Octaves) Cover(smallest, largest float64) {
	if smallest <= largest {
		o.low, o.high = min(o.low, exponentOf(smallest)), max(o.high, exponentOf(largest))
	}
}

// exponentOf returns the bits of the exponent of a magnitude.
func exponentOf(x float64) uint { return uint(math.Float64bits(x) >> 52) }

// SumRuns sets out to the sums of successive runs of pairs and, unless o is nil, adds the pairs
// to their octaves; Cover must have included them. All values are finite. There is at least
// one run, and none is empty. Powers of two below floor count as floor.
func (o *Octaves) SumRuns(out []GroupSums, runs []int, n, r []float64, floor float64) PairSigns {
	var signs signLanes
	var table *[octaveCount][4]Octave
	if o != nil {
		table = &o.octaves
	}
	if !runsHead(table, out, runs, n, r, floor, &signs) {
		o.sumRuns(out, runs, n, r, floor, &signs)
	}
	return signs.sum()
}

func (s *signLanes) sum() PairSigns {
	return PairSigns{DR: sumLanes(s.dr[:]), Bits: s.bits[0] | s.bits[1] | s.bits[2] | s.bits[3]}
}

func (o *Octaves) sumRuns(out []GroupSums, runs []int, n, r []float64, floor float64, signs *signLanes) {
	var q Quad
	for i, run := range runs {
		o.addRun(n[:run], r[:run], floor, &q, signs)
		out[i] = GroupSums{
			Shift: r[0], R: sumLanes(q.R[:]), RR: sumLanes(q.RR[:]), D: sumLanes(q.D[:]), DD: sumLanes(q.DD[:]),
			DR: sumLanes(q.DR[:]), UU: sumLanes(q.UU[:]), MaxD: q.MaxD[0], MaxR: q.MaxR[0],
			Count: float64(run),
		}
		n, r = n[run:], r[run:]
	}
}

// addRun sets q to the sums of a run of pairs, with the maxima in lane 0, and adds the pairs
// to the octaves unless o is nil, lane by lane. Magnitudes order like their bits, so maxima are
// integer comparisons without jumps.
func (o *Octaves) addRun(n, r []float64, floor float64, q *Quad, signs *signLanes) {
	n = n[:len(r)]
	shift, least := r[0], math.Float64bits(floor)
	var maxD, maxR, seen uint64
	for k := range 4 {
		var sumR, sumRR, sumD, sumDD, sumDR, sumUU float64
		for i := k; i < len(r); i += 4 {
			x := r[i]
			d, b := n[i]-x, math.Float64bits(x)
			seen |= math.Float64bits(n[i])
			maxD = max(maxD, math.Float64bits(d)<<1)
			maxR = max(maxR, b<<1)
			u := math.Float64frombits(max(b&exponentBits, least))
			sumUU += float64(u * u)
			sumD += d
			dd, product := float64(d*d), float64(d*x)
			sumDD += dd
			sumDR += product
			if o != nil {
				octave := &o.octaves[b>>52][k]
				octave.Count++
				octave.D += d
				octave.DD += dd
				octave.RR += float64(x * x)
				if b < SignBit {
					signs.dr[k] += product
				}
			}
			x -= shift
			sumR += x
			sumRR += float64(x * x)
		}
		q.R[k], q.RR[k], q.D[k], q.DD[k] = sumR, sumRR, sumD, sumDD
		q.DR[k], q.UU[k] = sumDR, sumUU
	}
	q.MaxD[0], q.MaxR[0] = math.Float64frombits(maxD>>1), math.Float64frombits(maxR>>1)
	signs.bits[0] |= seen
}

// Smallest returns the smallest magnitude above 0 of finite values, +inf if there is
// none.
func Smallest(values []float64) float64 {
	const infinity = uint64(exponentBits)<<1 - 1
	least, second := infinity, infinity // two independent chains of comparisons
	bits := sliceBits(values)
	for ; len(bits) >= 4; bits = bits[4:] { // minus 1 makes zero the largest
		least = min(least, min(bits[0]<<1-1, bits[1]<<1-1))
		second = min(second, min(bits[2]<<1-1, bits[3]<<1-1))
	}
	for _, x := range bits {
		least = min(least, x<<1-1)
	}
	return math.Float64frombits((min(least, second) + 1) >> 1)
}

// Drain calls f with the octaves of both signs for every exponent that has pairs, in
// rising order, and clears them.
func (o *Octaves) Drain(f func(exponent int, positive, negative Octave)) {
	o.drainExponent(0, f)
	for exponent := o.low; exponent <= o.high; exponent++ {
		o.drainExponent(exponent, f)
	}
	o.low, o.high = octaveCount, 0
}

func (o *Octaves) drainExponent(exponent uint, f func(exponent int, positive, negative Octave)) {
	var both [2]Octave
	for sign := range both {
		lane := &o.octaves[exponent+uint(sign)*octaveCount/2]
		lane[0].Merge(&lane[1])
		lane[2].Merge(&lane[3])
		lane[0].Merge(&lane[2])
		both[sign] = lane[0]
		*lane = [4]Octave{}
	}
	if both[0].Count+both[1].Count > 0 {
		f(int(exponent), both[0], both[1])
	}
}

// SumSteps returns the sums of squared differences between neighbours in a row, for
// d = n-r and for r. left elements remain of the first row; the other rows have row elements.
func SumSteps(n, r []float64, left, row int) (dd, rr float64) {
	var d, y [4]float64 // lane of the first of two neighbours
	n = n[:len(r)]
	lastD, lastR := n[0]-r[0], r[0]
	i := 1
	for ; i+4 <= len(r); i += 4 {
		a, b := (*[4]float64)(n[i:]), (*[4]float64)(r[i:])
		d0, d1, d2, d3 := a[0]-b[0], a[1]-b[1], a[2]-b[2], a[3]-b[3]
		u0, u1, u2, u3 := d0-lastD, d1-d0, d2-d1, d3-d2
		v0, v1, v2, v3 := b[0]-lastR, b[1]-b[0], b[2]-b[1], b[3]-b[2]
		lastD, lastR = d3, b[3]
		for ; left < i+4; left += row { // no step across the start of a row: 0 leaves the sums unchanged
			switch left - i {
			case 0:
				u0, v0 = 0, 0
			case 1:
				u1, v1 = 0, 0
			case 2:
				u2, v2 = 0, 0
			default:
				u3, v3 = 0, 0
			}
		}
		d[0] += float64(u0 * u0)
		y[0] += float64(v0 * v0)
		d[1] += float64(u1 * u1)
		y[1] += float64(v1 * v1)
		d[2] += float64(u2 * u2)
		y[2] += float64(v2 * v2)
		d[3] += float64(u3 * u3)
		y[3] += float64(v3 * v3)
	}
	for k := 0; i < len(r); i, k = i+1, k+1 {
		next := n[i] - r[i]
		if i == left {
			left += row
		} else {
			u, v := next-lastD, r[i]-lastR
			d[k&3] += float64(u * u)
			y[k&3] += float64(v * v)
		}
		lastD, lastR = next, r[i]
	}
	return sumLanes(d[:]), sumLanes(y[:])
}
