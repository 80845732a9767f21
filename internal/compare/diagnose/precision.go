package diagnose

import (
	"math"

	"dumptool/internal/tensor"
)

// precision describes a floating-point format. The numbers of the 8-bit formats
// are those of the OCP 8-bit Floating Point Specification; hifloat8, whose
// precision tapers, counts with that of its middle range.
type precision struct {
	epsilon   float64 // distance from 1 to the next larger number
	minNormal float64
	max       float64 // largest finite magnitude
}

// precisionOf returns the precision of the numbers of the type, the parts of a
// complex number among them; ok is false for integers and the scale and
// sub-byte formats.
func precisionOf(d tensor.DType) (p precision, ok bool) {
	switch d {
	case tensor.Float16, tensor.Complex32:
		return precision{0x1p-10, 0x1p-14, 65504}, true
	case tensor.BFloat16:
		return precision{0x1p-7, 0x1p-126, 0x1.fep127}, true
	case tensor.Float32, tensor.Complex64:
		return precision{0x1p-23, 0x1p-126, math.MaxFloat32}, true
	case tensor.Float64, tensor.Complex128:
		return precision{0x1p-52, 0x1p-1022, math.MaxFloat64}, true
	case tensor.Float8E4M3FN:
		return precision{0x1p-3, 0x1p-6, 448}, true
	case tensor.Float8E5M2:
		return precision{0x1p-2, 0x1p-14, 57344}, true
	case tensor.HiFloat8:
		return precision{0x1p-3, 0x1p-15, 0x1p15}, true
	default:
		return precision{}, false
	}
}
