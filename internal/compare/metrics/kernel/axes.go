package kernel

// AddTo adds values to those of dst, which may be more, and returns the sum of the values, as
// Sum does.
func AddTo(dst, values []float64) float64 {
	var s0, s1, s2, s3 float64
	dst = dst[:len(values)]
	for len(values) >= 4 && len(dst) >= 4 {
		a, b, c, d := values[0], values[1], values[2], values[3]
		dst[0] += a
		dst[1] += b
		dst[2] += c
		dst[3] += d
		s0 += a
		s1 += b
		s2 += c
		s3 += d
		dst, values = dst[4:], values[4:]
	}
	sums := [4]float64{s0, s1, s2, s3}
	for i, x := range values {
		dst[i] += x
		sums[i] += x
	}
	return lanes(sums[:])
}
