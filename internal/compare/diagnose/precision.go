package diagnose

import "dumptool/internal/tensor"

// precision describes a floating-point format.
type precision struct {
	epsilon   float64 // distance from 1 to the next larger number
	minNormal float64
}

// precisions are those of numbers, or of the parts of complex ones. Those of the
// 8-bit formats are of the OCP 8-bit Floating Point Specification; hifloat8, whose
// precision tapers, counts with that of its middle range.
var precisions = map[tensor.DType]precision{
	tensor.Float16:      {0x1p-10, 0x1p-14},
	tensor.Complex32:    {0x1p-10, 0x1p-14},
	tensor.BFloat16:     {0x1p-7, 0x1p-126},
	tensor.Float32:      {0x1p-23, 0x1p-126},
	tensor.Complex64:    {0x1p-23, 0x1p-126},
	tensor.Float64:      {0x1p-52, 0x1p-1022},
	tensor.Complex128:   {0x1p-52, 0x1p-1022},
	tensor.Float8E4M3FN: {0x1p-3, 0x1p-6},
	tensor.Float8E5M2:   {0x1p-2, 0x1p-14},
	tensor.HiFloat8:     {0x1p-3, 0x1p-15},
}

// precisionOf returns the precision of a type; ok is false for integers and the
// scale and sub-byte formats.
func precisionOf(d tensor.DType) (p precision, ok bool) {
	p, ok = precisions[d]
	return p, ok
}
