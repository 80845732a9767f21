package kernel

// AddTo adds values to the first elements of dst and returns the sum of values, with the
// bits of Sum.
func AddTo(dst, values []float64) float64 {
	var s0, s1, s2, s3 float64
	dst = dst[:len(values)]
	for ; len(values) >= 8 && len(dst) >= 8; dst, values = dst[8:], values[8:] {
		to, x := (*[8]float64)(dst), (*[8]float64)(values)
		a, b, c, d := x[0], x[1], x[2], x[3]
		to[0] += a
		to[1] += b
		to[2] += c
		to[3] += d
		s0 += a
		s1 += b
		s2 += c
		s3 += d
		a, b, c, d = x[4], x[5], x[6], x[7]
		to[4] += a
		to[5] += b
		to[6] += c
		to[7] += d
		s0 += a
		s1 += b
		s2 += c
		s3 += d
	}
	sums := [4]float64{s0, s1, s2, s3}
	for i, x := range values {
		dst[i] += x
		sums[i&3] += x
	}
	return sumLanes(sums[:])
}
