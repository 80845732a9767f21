//go:build !purego

package kernel

// vectors is whether the processor has AVX2 and F16C and the system keeps their
// registers. All loops ask, so it is no function.
var vectors = hasVectors()

func hasVectors() bool {
	const osxsave, avx, f16c, avx2 = 1 << 27, 1 << 28, 1 << 29, 1 << 5
	highest, _, _, _ := cpuid(0, 0)
	if highest < 7 {
		return false
	}
	_, _, c, _ := cpuid(1, 0)
	if c&(osxsave|avx|f16c) != osxsave|avx|f16c || xgetbv()&6 != 6 {
		return false
	}
	_, b, _, _ := cpuid(7, 0)
	return b&avx2 != 0
}

//go:noescape
func cpuid(leaf, sub uint32) (a, b, c, d uint32)

//go:noescape
func xgetbv() uint32
