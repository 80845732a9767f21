package kernel

// AddPairs adds two lists of values, of one length, each to a list of its own, and
// returns the sums of both, as Sum does.
func AddPairs(first, second, a, b []float64) (sumA, sumB float64) {
	var out [8]float64
	done := addPairsHead(first, second, a, b, &out)
	return addTail(first, a, done, out[:4]), addTail(second, b, done, out[4:])
}

// addTail adds the values from done on, and returns the sum of all, of which lanes has
// those before.
func addTail(dst, values []float64, done int, sums []float64) float64 {
	s0, s1, s2, s3 := sums[0], sums[1], sums[2], sums[3]
	dst, values = dst[done:len(values)], values[done:]
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
	rest := [4]float64{s0, s1, s2, s3}
	for i, x := range values {
		dst[i] += x
		rest[i&3] += x
	}
	return lanes(rest[:])
}
