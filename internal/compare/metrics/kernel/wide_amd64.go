//go:build !purego

package kernel

import "dumptool/internal/cpu"

// wide is whether the processor has AVX-512. The loops that are written for it too do
// what those of vectors do, eight elements at a time, with the same lanes of sums.
var wide = cpu.AVX512()

//go:noescape
func relatives512(rel, abs, r *float64, count int, marks *uint64, absCounts, relCounts *uint32, out *ratioLanes)

// eights returns how many of count elements come in groups of eight.
func eights(count int) int {
	if !wide {
		return 0
	}
	return count &^ 7
}

// relativesWide does and counts as many pairs as come in groups of eight.
func relativesWide(t *Tables, rel, abs, r []float64, out *ratioLanes) int {
	k := eights(len(r))
	if k > 0 {
		relatives512(&rel[:k][0], &abs[:k][0], &r[0], k, &t.marks[:k][0], &t.abs[0], &t.Rel[0], out)
	}
	return k
}
