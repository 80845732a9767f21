//go:build !purego

package kernel

//go:noescape
func pairsVector(n, r *float64, nStored, rStored *byte, count int, out *pairLanes)

//go:noescape
func pairs512(n, r *float64, nStored, rStored *byte, count int, out *pairTotals)

// pairsHead decodes all pairs, which are in groups of eight, or none.
func pairsHead(n, r []float64, nStored, rStored []byte) (t pairTotals, ok bool) {
	count := len(n)
	if !vectors || count&7 != 0 {
		return t, false
	}
	_, _, _ = r[count-1], nStored[2*count-1], rStored[4*count-1]
	if wide && count&15 == 0 {
		pairs512(&n[0], &r[0], &nStored[0], &rStored[0], count, &t)
		return t, true
	}
	out := newPairLanes()
	pairsVector(&n[0], &r[0], &nStored[0], &rStored[0], count, &out)
	return out.totals(), true
}
