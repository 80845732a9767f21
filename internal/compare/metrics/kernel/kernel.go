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
	r = r[:len(n)]
	for k := range min(4, len(n)) {
		var x, y, xx, yy, xy float64
		for i := k; i < len(n); i += 4 {
			a, b := n[i]-n0, r[i]-r0
			x += a
			y += b
			xx += float64(a * a)
			yy += float64(b * b)
			xy += float64(a * b)
		}
		out[k], out[4+k], out[8+k], out[12+k], out[16+k] = x, y, xx, yy, xy
	}
	return PairSums{
		N0: n0, R0: r0, N: lanes(out[0:]), R: lanes(out[4:]),
		NN: lanes(out[8:]), RR: lanes(out[12:]), NR: lanes(out[16:]),
	}
}

// Subtract sets d to n-r.
func Subtract(d, n, r []float64) {
	n, r = n[:len(d)], r[:len(d)]
	for i := range d {
		d[i] = n[i] - r[i]
	}
}

// subtractFrom sets abs to the magnitudes of n-s of the pairs from done on, and adds these
// and how many differences are below zero to their lanes. abs may be n.
func subtractFrom(done int, abs, n, s []float64, sums []float64, negative []int64) {
	n, s = n[:len(abs)], s[:len(abs)]
	for k := range min(4, len(abs)-done) {
		total, below := sums[k], negative[k]
		for i := done + k; i < len(abs); i += 4 {
			d := n[i] - s[i]
			bits := math.Float64bits(d)
			below += int64(((bits - 1) & bits) >> 63)
			abs[i] = math.Abs(d)
			total += abs[i]
		}
		sums[k], negative[k] = total, below
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
	s0, s1, s2, s3 := 0.0, 0.0, 0.0, 0.0
	for ; len(values) >= 4; values = values[4:] {
		s0 += math.Abs(values[0])
		s1 += math.Abs(values[1])
		s2 += math.Abs(values[2])
		s3 += math.Abs(values[3])
	}
	s := [4]float64{s0, s1, s2, s3}
	for k, v := range values {
		s[k] += math.Abs(v)
	}
	return lanes(s[:])
}

// Zeros counts the values that are 0.
func Zeros(values []float64) (count int64) {
	for _, v := range values {
		count += int64((math.Float64bits(v)&^SignBit - 1) >> 63)
	}
	return count
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

// MaxBesideZero returns the largest of magnitudes beside references that are 0, 0 without any.
func MaxBesideZero(abs, r []float64) (high float64) {
	for i, x := range r {
		if x == 0 && abs[i] > high {
			high = abs[i]
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
