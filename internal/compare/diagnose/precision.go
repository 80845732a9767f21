package diagnose

import (
	"math"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/tensor"
)

// precision describes a floating-point format.
type precision struct {
	epsilon   float64 // distance from 1 to the next larger number
	minNormal float64
}

// parts are the types of the parts of complex numbers.
var parts = map[tensor.DType]tensor.DType{tensor.Complex32: tensor.Float16, tensor.Complex64: tensor.Float32, tensor.Complex128: tensor.Float64}

// precisionOf returns the precision of a type, or of the parts of complex numbers; ok is
// false for integers and the scale and sub-byte formats. The precision of hifloat8 tapers: it
// counts with that of its middle range.
func precisionOf(d tensor.DType) (p precision, ok bool) {
	if d == tensor.HiFloat8 {
		return precision{0x1p-3, 0x1p-15}, true
	}
	if part, ok := parts[d]; ok {
		d = part
	}
	t, ok := noise.TypeOf(d)
	if !ok || t.Integer {
		return precision{}, false
	}
	return precision{t.Epsilon(), math.Ldexp(1, t.MinExp)}, true
}
