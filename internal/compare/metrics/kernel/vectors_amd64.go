//go:build !purego

package kernel

import "dumptool/internal/cpu"

// vectors is whether the processor has the instructions. All loops ask, so it is no
// function.
var vectors = cpu.AVX2()

//go:noescape
func pairsVector(n, r *float64, nStored, rStored *byte, count int, out *pairLanes)

// pairsHead adds all pairs, which come in groups of eight, or none.
func pairsHead(n, r []float64, nStored, rStored []byte, out *pairLanes) bool {
	count := len(n)
	if !vectors || count == 0 || count&7 != 0 {
		return false
	}
	_, _, _ = r[count-1], nStored[2*count-1], rStored[4*count-1]
	pairsVector(&n[0], &r[0], &nStored[0], &rStored[0], count, out)
	return true
}
