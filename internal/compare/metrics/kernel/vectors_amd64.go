//go:build !purego

package kernel

import "dumptool/internal/cpu"

// vectors is whether the processor has the instructions. All loops ask, so it is no
// function.
var vectors = cpu.AVX2()
