// Package kernel has the loops over every element of a pair of tensors: decoding, sums,
// ratios, counts. The slowest loops have a head in assembly (vectors.go) with vector
// instructions: NEON on arm64, AVX2 on amd64 if the processor has it. The head does the
// elements in groups of four; results are the same, bit by bit, as from the plain loops.
//
// A sum has four lanes: lane k sums elements k, k+4, k+8 and so on, as vector registers
// do. Products are converted to float64 before they are added, so that no machine fuses
// the two and all machines round alike. No function allocates.
package kernel

import "math"

// sumLanes returns the sum of four lanes.
func sumLanes(s []float64) float64 { return (s[0] + s[1]) + (s[2] + s[3]) }

// PairSums are sums over pairs of the distances from the first value of each side: equal
// values have exactly no spread, and little precision is lost if the spread is small
// compared with the mean.
type PairSums struct {
	N0, R0     float64 // the first values
	N, R       float64 // the sums of n-N0 and r-R0
	NN, RR, NR float64 // sums of the squares and products of these distances
}

// SumPairs sums up pairs; there must be at least one.
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
		N0: n0, R0: r0, N: sumLanes(out[0:]), R: sumLanes(out[4:]),
		NN: sumLanes(out[8:]), RR: sumLanes(out[12:]), NR: sumLanes(out[16:]),
	}
}

// Subtract sets d to n-r.
func Subtract(d, n, r []float64) {
	n, r = n[:len(d)], r[:len(d)]
	for i := range d {
		d[i] = n[i] - r[i]
	}
}

// Negatives returns the number of values below zero.
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
	return sumLanes([]float64{s0, s1, s2, s3})
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
	return sumLanes(s[:])
}

// Zeros counts the values that are 0.
func Zeros(values []float64) (count int64) {
	for _, v := range values {
		count += int64((math.Float64bits(v)&^SignBit - 1) >> 63)
	}
	return count
}

// MaxBesideZero returns the largest magnitude whose reference is 0, 0 without any.
func MaxBesideZero(abs, r []float64) (high float64) {
	for i, x := range r {
		if x == 0 && abs[i] > high {
			high = abs[i]
		}
	}
	return high
}
