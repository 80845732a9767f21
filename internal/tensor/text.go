package tensor

import (
	"math"
	"strconv"
)

// AppendText appends the little-endian host elements of src to dst as
// numpy.savetxt writes a flat array by default: one value a line in the format
// %.18e, integers and bools as the float64 nearest to them, and a complex
// value as " (1.0e+00-2.0e+00j)" with both parts in that format. NaN and the
// infinities are nan, inf and -inf. It panics if src does not hold whole
// elements.
func AppendText(dst, src []byte, h Host) []byte {
	n := mustCount(len(src), h)
	if h.Complex() {
		return appendComplexText(dst, src, h, n)
	}
	var values [128]float64
	for n > 0 {
		k := min(n, len(values))
		Float64s(values[:k], src[:k*h.Size()], h)
		for _, x := range values[:k] {
			dst = append(appendFloat(dst, x), '\n')
		}
		src, n = src[k*h.Size():], n-k
	}
	return dst
}

func appendComplexText(dst, src []byte, h Host, n int) []byte {
	var values [64]complex128
	for n > 0 {
		k := min(n, len(values))
		Complex128s(values[:k], src[:k*h.Size()], h)
		for _, z := range values[:k] {
			dst = appendFloat(append(dst, " ("...), real(z))
			// numpy writes a plus before every imaginary part, then turns "+-" into "-".
			if math.IsNaN(imag(z)) || !math.Signbit(imag(z)) {
				dst = append(dst, '+')
			}
			dst = append(appendFloat(dst, imag(z)), "j)\n"...)
		}
		src, n = src[k*h.Size():], n-k
	}
	return dst
}

// appendFloat appends x as Python's '%.18e' % x does.
func appendFloat(dst []byte, x float64) []byte {
	switch {
	case math.IsNaN(x):
		return append(dst, "nan"...)
	case math.IsInf(x, 1):
		return append(dst, "inf"...)
	case math.IsInf(x, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, x, 'e', 18, 64)
}
