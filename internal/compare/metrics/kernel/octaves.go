package kernel

import "math"

// Octave holds sums over the pairs whose reference has one sign and exponent.
type Octave struct {
	Count, DD, RR, D float64
}

// Merge adds other pairs.
func (o *Octave) Merge(p *Octave) {
	o.Count += p.Count
	o.DD += p.DD
	o.RR += p.RR
	o.D += p.D
}

// add adds a pair, of d = n-r.
func (o *Octave) add(d, r float64) {
	o.Count++
	o.DD += float64(d * d)
	o.RR += float64(r * r)
	o.D += d
}

// octaveCount is the number of signs and exponents that a float64 has. The first
// half has those of positive ones; exponent 0 is that of zero and of the subnormal
// numbers of float64.
const octaveCount = 1 << 12

// Octaves are tables by the sign and exponent of r. An octave has four lanes.
type Octaves struct {
	octaves [octaveCount][4]Octave
	// low and high are the lowest and the highest exponent above 0 that may have
	// been added.
	low, high uint
}

// NewOctaves returns empty tables.
func NewOctaves() *Octaves { return &Octaves{low: octaveCount} }

// PairSigns is what SumRuns finds besides.
type PairSigns struct {
	DR   float64 // the sum of d*r of the pairs with r > 0
	Bits uint64  // the bits that are set in any n
}

// signLanes holds PairSigns by lanes.
type signLanes struct {
	dr   [4]float64
	bits [4]uint64
}

// Cover makes place for references of a range of magnitudes above 0.
func (o *Octaves) Cover(smallest, largest float64) {
	if smallest <= largest {
		o.low, o.high = min(o.low, exponentOf(smallest)), max(o.high, exponentOf(largest))
	}
}

// exponentOf returns the bits of the exponent of a magnitude.
func exponentOf(x float64) uint { return uint(math.Float64bits(x) >> 52) }

// SumRuns sets out to the sums of runs of pairs that follow each other and have finite
// sides, and adds these to their octaves, which Cover has made. There is at least one
// run, and none is empty. No power of two is counted as less than floor.
func (o *Octaves) SumRuns(out []GroupSums, runs []int, n, r []float64, floor float64) PairSigns {
	var signs signLanes
	if !runsHead(&o.octaves, out, runs, n, r, floor, &signs) {
		o.sumRuns(out, runs, n, r, floor, &signs)
	}
	return signs.sum()
}

func (s *signLanes) sum() PairSigns {
	return PairSigns{DR: lanes(s.dr[:]), Bits: s.bits[0] | s.bits[1] | s.bits[2] | s.bits[3]}
}

func (o *Octaves) sumRuns(out []GroupSums, runs []int, n, r []float64, floor float64, signs *signLanes) {
	for i, run := range runs {
		out[i] = sumGroup(n[:run], r[:run], floor)
		o.add(n[:run], r[:run], signs)
		n, r = n[run:], r[run:]
	}
}

// add adds a run of pairs.
func (o *Octaves) add(n, r []float64, signs *signLanes) {
	n = n[:len(r)]
	bits := signs.bits[0]
	for i, x := range r {
		y, k := n[i], i&3
		d := y - x
		bits |= math.Float64bits(y)
		o.octaves[math.Float64bits(x)>>52][k].add(d, x)
		signs.dr[k] += positivePart(d*x, x)
	}
	signs.bits[0] = bits
}

// positivePart returns a product with r if r is positive, else 0.
func positivePart(product, r float64) float64 {
	return math.Float64frombits(math.Float64bits(product) &^ uint64(int64(math.Float64bits(r))>>63))
}

// Smallest returns the smallest magnitude above 0 of finite values, +inf if there is
// none.
func Smallest(values []float64) float64 {
	out := [4]float64{math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)}
	for _, x := range values[smallestHead(values, &out):] {
		if a := math.Abs(x); a > 0 && a < out[0] {
			out[0] = a
		}
	}
	return min(out[0], out[1], out[2], out[3])
}

// Take calls f with the octaves of both signs of every exponent that has pairs, in
// rising order, and clears them.
func (o *Octaves) Take(f func(exponent int, positive, negative Octave)) {
	o.take(0, f)
	for exponent := o.low; exponent <= o.high; exponent++ {
		o.take(exponent, f)
	}
	o.low, o.high = octaveCount, 0
}

func (o *Octaves) take(exponent uint, f func(exponent int, positive, negative Octave)) {
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

// SumSteps returns the sums of the squares of the differences of neighbours, of d =
// n-r and of r. Of a pair and the next the bits are counted that keep has for the
// pair: all, or none. They are all counted if keep is nil.
func SumSteps(n, r []float64, keep []uint64) (dd, rr float64) {
	var sums [8]float64
	n = n[:len(r)]
	done := stepsHead(n, r, keep, &sums)
	if keep == nil {
		addSteps(done, n, r, &sums)
	} else {
		addKept(done, n, r, keep, &sums)
	}
	return lanes(sums[0:]), lanes(sums[4:])
}

func addSteps(done int, n, r []float64, sums *[8]float64) {
	for k := range min(4, max(len(r)-1-done, 0)) {
		dd, rr := sums[k], sums[4+k]
		for i := done + k; i+1 < len(r); i += 4 {
			y := r[i+1] - r[i]
			x := (n[i+1] - r[i+1]) - (n[i] - r[i])
			dd += float64(x * x)
			rr += float64(y * y)
		}
		sums[k], sums[4+k] = dd, rr
	}
}

func addKept(done int, n, r []float64, keep []uint64, sums *[8]float64) {
	for k := range min(4, max(len(r)-1-done, 0)) {
		dd, rr := sums[k], sums[4+k]
		for i := done + k; i+1 < len(r); i += 4 {
			y := r[i+1] - r[i]
			x := (n[i+1] - r[i+1]) - (n[i] - r[i])
			x = math.Float64frombits(math.Float64bits(x) & keep[i])
			y = math.Float64frombits(math.Float64bits(y) & keep[i])
			dd += float64(x * x)
			rr += float64(y * y)
		}
		sums[k], sums[4+k] = dd, rr
	}
}
