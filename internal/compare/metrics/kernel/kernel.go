// Package kernel has the loops that run over every element of a pair of tensors:
// decoding, sums, ratios, counts. The heads of the slowest loops, those of vectors.go, do
// as many elements as come in groups of four with the processor's vectors: NEON on arm64,
// AVX2 on amd64 where it has that. What they compute is what the plain loops compute, bit
// by bit.
//
// A sum has four lanes: lane k holds elements k, k+4, k+8 and so on, as vector
// registers do. Products are converted before they are added, so that no machine
// fuses the two and all of them round alike. No function allocates.
package kernel

import "math"

// lanes adds up the four lanes of a sum.
func lanes(s []float64) float64 { return (s[0] + s[1]) + (s[2] + s[3]) }

// PairSums are sums over pairs of values of their distances from the first ones of
// both sides, so that equal values have no spread at all and little is lost when
// the spread is small against the mean.
type PairSums struct {
	N0, R0     float64 // the first values
	N, R       float64 // the sums of n-N0 and r-R0
	NN, RR, NR float64 // of their squares and products
}

// SumPairs adds up pairs, of which there is at least one.
func SumPairs(n, r []float64) PairSums {
	var out [20]float64
	n0, r0 := n[0], r[0]
	addSides(0, n, r, n0, r0, &out)
	return sidesOf(n0, r0, &out)
}

func sidesOf(n0, r0 float64, out *[20]float64) PairSums {
	return PairSums{
		N0: n0, R0: r0, N: lanes(out[0:]), R: lanes(out[4:]),
		NN: lanes(out[8:]), RR: lanes(out[12:]), NR: lanes(out[16:]),
	}
}

// addSides adds up the distances of both sides from their first values, the squares of
// these and their products, of the pairs from done on.
func addSides(done int, n, r []float64, n0, r0 float64, out *[20]float64) {
	r = r[:len(n)]
	for k := range min(4, len(n)-done) {
		x, y, xx, yy, xy := out[k], out[4+k], out[8+k], out[12+k], out[16+k]
		for i := done + k; i < len(n); i += 4 {
			a, b := n[i]-n0, r[i]-r0
			x += a
			y += b
			xx += float64(a * a)
			yy += float64(b * b)
			xy += float64(a * b)
		}
		out[k], out[4+k], out[8+k], out[12+k], out[16+k] = x, y, xx, yy, xy
	}
}

// DifferenceSums are sums over differences.
type DifferenceSums struct {
	D0       float64 // the first one
	D, DD    float64 // the sums of d-D0 and of its square
	Abs      float64 // of the magnitudes of d
	Negative int64   // how many are below zero
}

// subtractLanes are the sums of Subtract by lanes, in the order of PairSums and of
// DifferenceSums.
type subtractLanes struct {
	sides       [20]float64
	differences [12]float64
	negative    [4]int64
}

// Subtract sets d and abs to n-r, of which there is at least one, and its magnitude, and
// adds up both sides and the differences. If d and abs are one slice, it holds the
// magnitudes.
func Subtract(d, abs, n, r []float64) (PairSums, DifferenceSums) {
	var out subtractLanes
	n0, r0 := n[0], r[0]
	d0 := n0 - r0
	done := subtractHead(n, r, d, abs, n0, r0, d0, &out)
	addSides(done, n, r, n0, r0, &out.sides)
	subtractTail(done, n, r, d, abs, d0, &out)
	return sidesOf(n0, r0, &out.sides), differencesOf(d0, &out)
}

func differencesOf(d0 float64, out *subtractLanes) DifferenceSums {
	sums, negative := &out.differences, &out.negative
	return DifferenceSums{
		D0: d0, D: lanes(sums[0:]), DD: lanes(sums[4:]), Abs: lanes(sums[8:]),
		Negative: negative[0] + negative[1] + negative[2] + negative[3],
	}
}

func subtractTail(done int, n, r, d, abs []float64, d0 float64, lanes *subtractLanes) {
	out, negative := &lanes.differences, &lanes.negative
	r, d, abs = r[:len(n)], d[:len(n)], abs[:len(n)]
	for k := range min(4, len(n)-done) {
		x, xx, total, below := out[k], out[4+k], out[8+k], negative[k]
		for i := done + k; i < len(n); i += 4 {
			v := n[i] - r[i]
			a := math.Abs(v)
			d[i], abs[i] = v, a
			total += a
			bits := math.Float64bits(v)
			below += int64(((bits - 1) & bits) >> 63)
			v -= d0
			x += v
			xx += float64(v * v)
		}
		out[k], out[4+k], out[8+k], negative[k] = x, xx, total, below
	}
}

// Negatives counts the values below zero.
func Negatives(values []float64) (count int64) {
	for _, v := range values {
		bits := math.Float64bits(v)
		count += int64(((bits - 1) & bits) >> 63)
	}
	return count
}

// Sum returns the sum of values.
func Sum(values []float64) float64 {
	var s0, s1, s2, s3 float64
	for len(values) >= 16 {
		part := (*[16]float64)(values)
		for i := 0; i < len(part); i += 4 {
			s0 += part[i]
			s1 += part[i+1]
			s2 += part[i+2]
			s3 += part[i+3]
		}
		values = values[16:]
	}
	for ; len(values) >= 4; values = values[4:] {
		s0 += values[0]
		s1 += values[1]
		s2 += values[2]
		s3 += values[3]
	}
	switch len(values) {
	case 3:
		s2 += values[2]
		fallthrough
	case 2:
		s1 += values[1]
		fallthrough
	case 1:
		s0 += values[0]
	}
	return lanes([]float64{s0, s1, s2, s3})
}

// SumAbs returns the sum of the magnitudes of values.
func SumAbs(values []float64) float64 {
	var out [4]float64
	for i, v := range values {
		out[i&3] += math.Abs(v)
	}
	return lanes(out[:])
}

// Max returns the largest of values that are not negative and not NaN.
func Max(values []float64) float64 {
	var high float64
	for _, v := range values {
		if v > high {
			high = v
		}
	}
	return high
}

// HasBelow reports whether values have one of a magnitude below limit that is not
// zero.
func HasBelow(values []float64, limit float64) bool {
	var signs uint64
	limitBits := math.Float64bits(limit)
	for _, v := range values {
		// Zero comes after all others.
		signs |= (math.Float64bits(v)&^SignBit-1)&^SignBit - (limitBits - 1)
	}
	return signs >= SignBit
}

// IndexFrom returns the index of the first of values that is limit or more, their
// number if there is none.
func IndexFrom(values []float64, limit float64) int {
	for i, v := range values {
		if v >= limit {
			return i
		}
	}
	return len(values)
}

// Index returns where x first is among values, -1 if nowhere.
func Index(values []float64, x float64) int {
	for i, v := range values {
		if v == x {
			return i
		}
	}
	return -1
}
