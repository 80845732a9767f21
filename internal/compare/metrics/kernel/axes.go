package kernel

// AddPairs adds two lists of values, of one length, each to a list of its own, and
// returns the sums of both: what Add and Sum do.
func AddPairs(first, second, a, b []float64) (sumA, sumB float64) {
	var out [8]float64
	done := addPairsHead(first, second, a, b, &out)
	if done == 0 {
		Add(first, a)
		Add(second, b)
		return Sum(a), Sum(b)
	}
	for i := done; i < len(a); i++ {
		first[i] += a[i]
		second[i] += b[i]
		out[i&3] += a[i]
		out[4+(i&3)] += b[i]
	}
	return lanes(out[0:]), lanes(out[4:])
}
