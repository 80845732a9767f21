//go:build !purego

package kernel

// vectors reports whether the processor has AVX2 and F16C and the system saves their
// registers. A variable, since all loops check it.
var vectors = detect()

func detect() bool {
	const (
		osxsave, avx, f16c = 1 << 27, 1 << 28, 1 << 29 // of leaf 1
		avx2               = 1 << 5                    // of leaf 7
		saved              = 6                         // of XCR0
	)
	if highest, _, _, _ := cpuid(0, 0); highest < 7 {
		return false
	}
	_, _, c, _ := cpuid(1, 0)
	_, b, _, _ := cpuid(7, 0)
	return c&(osxsave|avx|f16c) == osxsave|avx|f16c && xgetbv()&saved == saved && b&avx2 != 0
}

//go:noescape
func cpuid(leaf, sub uint32) (a, b, c, d uint32)

//go:noescape
func xgetbv() uint32

//go:noescape
func pairsVector(n, r *float64, nStored, rStored *byte, count int, out *pairSums)

// pairsHead processes all pairs if their number is a multiple of eight, else nothing.
func pairsHead(n, r []float64, nStored, rStored []byte, out *pairSums) bool {
	count := len(n)
	if !vectors || count == 0 || count&7 != 0 {
		return false
	}
	_, _, _ = r[count-1], nStored[2*count-1], rStored[4*count-1]
	pairsVector(&n[0], &r[0], &nStored[0], &rStored[0], count, out)
	return true
}
