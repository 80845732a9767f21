//go:build !purego

package kernel

//go:noescape
func addPairsVector(first, second, a, b *float64, count int, out *[8]float64)

func addPairsHead(first, second, a, b []float64, out *[8]float64) int {
	k := groups(len(a))
	if k > 0 {
		addPairsVector(&first[:k][0], &second[:k][0], &a[0], &b[:k][0], k, out)
	}
	return k
}
