//go:build !purego

package cpu

var avx2 = detect()

// AVX2 reports whether the processor has AVX2 and F16C, and the system keeps their
// registers.
func AVX2() bool { return avx2 }

func detect() bool {
	const (
		osxsave, avx, f16c = 1 << 27, 1 << 28, 1 << 29 // of leaf 1
		avx2Bit            = 1 << 5                    // of leaf 7
		saved              = 6                         // of XCR0
	)
	if highest, _, _, _ := cpuid(0, 0); highest < 7 {
		return false
	}
	_, _, c, _ := cpuid(1, 0)
	_, b, _, _ := cpuid(7, 0)
	return c&(osxsave|avx|f16c) == osxsave|avx|f16c && xgetbv()&saved == saved && b&avx2Bit != 0
}

//go:noescape
func cpuid(leaf, sub uint32) (a, b, c, d uint32)

//go:noescape
func xgetbv() uint32
