//go:build !purego

package kernel

import "dumptool/internal/cpu"

// wide is whether the processor has AVX-512. The loops that are written for it too do
// what those of vectors do, eight elements at a time, with the same lanes of sums.
var wide = cpu.AVX512()

//go:noescape
func relatives512(rel, abs, r *float64, count int, marks *uint64, absCounts, relCounts *uint32, out *ratioLanes)

//go:noescape
func relate512(rel, abs, n, r *float64, count int, d0 float64, marks *uint64, absCounts, relCounts *uint32, out *relateLanes)

//go:noescape
func runs512(octaves *[octaveCount][4]Octave, n, r *float64, runs *int, count int, floor float64, out *GroupSums, signs *signLanes)

//go:noescape
func keptSteps512(n, r *float64, keep *uint8, count int, out *[8]float64)

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
		relatives512(&rel[:k][0], &abs[:k][0], &r[0], k, &t.marks[:markRing][0], &t.abs[0], &t.Rel[0], out)
	}
	return k
}

// relateHead does and counts all pairs, which come in groups of eight, or none.
func relateHead(t *Tables, rel, abs, n, r []float64, out *relateLanes) bool {
	k := len(n)
	if k == 0 || eights(k) != k {
		return false
	}
	relate512(&rel[:k][0], &abs[:k][0], &n[0], &r[:k][0], k, n[0]-r[0], &t.marks[:markRing][0], &t.abs[0], &t.Rel[0], out)
	return true
}

// rowStepsHead adds the steps of as many pairs as come in groups of four and are the first
// 1024, but those from the last of a row.
func rowStepsHead(n, r []float64, left, row int, out *[8]float64) int {
	k := min(groups(len(n)-1), 4*len(allKept))
	if !wide || k == 0 {
		return 0
	}
	keep := allKept
	for i := left - 1; i < k; i += row {
		keep[i>>2] &^= 1 << (i & 3)
	}
	keptSteps512(&n[0], &r[:k+1][0], &keep[0], k, out)
	return k
}

// allKept has the bits of pairs, four in a byte.
var allKept = func() (keep [256]uint8) {
	for i := range keep {
		keep[i] = 15
	}
	return keep
}()

// runsWide adds all pairs of the runs, which are as long as runsHead has found, or none.
func runsWide(octaves *[octaveCount][4]Octave, out []GroupSums, runs []int, n, r []float64, floor float64, signs *signLanes) bool {
	if wide {
		runs512(octaves, &n[0], &r[0], &runs[0], len(runs), floor, &out[0], signs)
	}
	return wide
}
