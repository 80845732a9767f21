//go:build !purego

package cpu

var avx2, avx512, carryless = detect()

// AVX2 reports whether the processor has AVX2 and F16C, and the system keeps their
// registers.
func AVX2() bool { return avx2 }

// AVX512 reports whether the processor has the foundation of AVX-512 with the
// instructions for bytes, words, doublewords, quadwords and shorter vectors besides.
func AVX512() bool { return avx512 }

// Carryless512 reports whether the processor has AVX-512 and multiplies without carries
// in its vectors.
func Carryless512() bool { return carryless }

func detect() (short, long, multiplies bool) {
	const (
		osxsave, avx, f16c = 1 << 27, 1 << 28, 1 << 29             // of leaf 1
		avx2Bit, avx512Set = 1 << 5, 1<<16 | 1<<17 | 1<<30 | 1<<31 // of leaf 7
		carrylessBit       = 1 << 10                               // of leaf 7, in c
		saved, saved512    = 6, 0xe6                               // of XCR0
	)
	highest, _, _, _ := cpuid(0, 0)
	if highest < 7 {
		return false, false, false
	}
	_, _, c, _ := cpuid(1, 0)
	if c&(osxsave|avx|f16c) != osxsave|avx|f16c || xgetbv()&saved != saved {
		return false, false, false
	}
	_, b, c, _ := cpuid(7, 0)
	short = b&avx2Bit != 0
	long = short && b&avx512Set == avx512Set && xgetbv()&saved512 == saved512
	return short, long, long && c&carrylessBit != 0
}

//go:noescape
func cpuid(leaf, sub uint32) (a, b, c, d uint32)

//go:noescape
func xgetbv() uint32
