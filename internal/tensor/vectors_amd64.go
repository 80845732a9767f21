//go:build !purego

package tensor

import "dumptool/internal/cpu"

// vectors is whether the processor has the instructions.
var vectors = cpu.AVX2()
