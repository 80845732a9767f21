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

// octaveCount is the number of signs and exponents that a float64 has. The first
// half has those of positive ones; exponent 0 is that of zero and of the subnormal
// numbers of float64.
const octaveCount = 1 << 12

// Octaves are tables by the sign and exponent of r. An octave has four lanes.
type Octaves struct {
	octaves [octaveCount * 4]Octave
	// low and high are the lowest and the highest exponent above 0 that was added,
	// where there is one.
	low, high uint
}

// NewOctaves returns empty tables.
func NewOctaves() *Octaves { return &Octaves{low: octaveCount} }

// PairSigns is what Add finds besides.
type PairSigns struct {
	DR   float64 // the sum of d*r of the pairs with r > 0
	Bits uint64  // the bits that are set in any n
}

// octaveLanes are what a block has besides, by lanes. low and high have two numbers
// for each lane, of which the second means nothing: the lowest exponent less 1, and
// the highest one.
type octaveLanes struct {
	dr        [4]float64
	bits      [4]uint64
	low, high [8]uint32
	places    [4]uint64
}

// Add adds pairs with finite sides.
func (o *Octaves) Add(n, r []float64) PairSigns {
	var out octaveLanes
	for k := range out.low {
		out.low[k] = math.MaxUint32
	}
	o.addTail(octavesHead(o.octaves[:], n, r, &out), n, r, &out)
	for k := range 4 {
		o.low, o.high = min(o.low, uint(out.low[2*k])+1), max(o.high, uint(out.high[2*k]))
	}
	return PairSigns{DR: lanes(out.dr[:]), Bits: out.bits[0] | out.bits[1] | out.bits[2] | out.bits[3]}
}

func (o *Octaves) addTail(done int, n, r []float64, out *octaveLanes) {
	n = n[:len(r)]
	for i := done; i < len(r); i++ {
		x := r[i]
		d := n[i] - x
		k := i & 3
		out.bits[k] |= math.Float64bits(n[i])
		index := math.Float64bits(x) >> 52
		octave := &o.octaves[index*4+uint64(k)]
		octave.Count++
		octave.DD += float64(d * d)
		octave.RR += float64(x * x)
		octave.D += d
		if x > 0 {
			out.dr[k] += float64(d * x)
		}
		exponent := uint32(index % (octaveCount / 2))
		out.low[2*k], out.high[2*k] = min(out.low[2*k], exponent-1), max(out.high[2*k], exponent)
	}
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
		lane := o.octaves[(exponent+uint(sign)*octaveCount/2)*4:][:4]
		lane[0].Merge(&lane[1])
		lane[2].Merge(&lane[3])
		lane[0].Merge(&lane[2])
		both[sign] = lane[0]
		clear(lane)
	}
	if both[0].Count+both[1].Count > 0 {
		f(int(exponent), both[0], both[1])
	}
}

// SumSteps returns the sums of the squares of the differences of neighbours, of d =
// n-r and of r. Those of a pair and the next are counted by the bits of r that keep
// has for the pair: all, or none.
func SumSteps(n, r []float64, keep []uint64) (dd, rr float64) {
	var sums [8]float64
	n, keep = n[:len(r)], keep[:len(r)]
	for i := stepsHead(n, r, keep, &sums); i+1 < len(r); i++ {
		y := r[i+1] - r[i]
		x := (n[i+1] - r[i+1]) - (n[i] - r[i])
		x = math.Float64frombits(math.Float64bits(x) & keep[i])
		y = math.Float64frombits(math.Float64bits(y) & keep[i])
		sums[i&3] += float64(x * x)
		sums[4+i&3] += float64(y * y)
	}
	return lanes(sums[0:]), lanes(sums[4:])
}
