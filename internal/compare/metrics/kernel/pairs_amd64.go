//go:build !purego

package kernel

//go:noescape
func pairsVector(n, r *float64, nStored, rStored *byte, count int, out *pairLanes)

// pairsHead decodes all pairs, which are in groups of eight, or none.
func pairsHead(n, r []float64, nStored, rStored []byte, out *pairLanes) bool {
	count := len(n)
	if !vectors || count&7 != 0 {
		return false
	}
	_, _, _ = r[count-1], nStored[2*count-1], rStored[4*count-1]
	pairsVector(&n[0], &r[0], &nStored[0], &rStored[0], count, out)
	return true
}
