package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// Complex reports whether elements of h have a real and an imaginary part.
func (h Host) Complex() bool { return h == HostComplex64 || h == HostComplex128 }

// Integer reports whether elements are integers or bools.
func (h Host) Integer() bool { return h >= HostBool && h <= HostUint64 }

// IsSigned reports whether elements are signed integers.
func (h Host) IsSigned() bool { return h >= HostInt8 && h <= HostInt64 }

// splitParts returns the type of the parts of an element and their number: two for a complex type,
// otherwise one, the element itself.
func (h Host) splitParts() (part Host, n int) {
	switch h {
	case HostComplex64:
		return HostFloat32, 2
	case HostComplex128:
		return HostFloat64, 2
	}
	return h, 1
}

// mustCount returns the number of elements of h in size bytes, and panics if it is not whole.
func mustCount(size int, h Host) int {
	if h.Size() == 0 || size%h.Size() != 0 {
		panic(fmt.Sprintf("tensor: %d bytes are not whole elements of %s", size, h))
	}
	return size / h.Size()
}

// Float64s sets dst to the values of the little-endian host elements in src. Every type but int64
// and uint64 converts exactly; int64 and uint64 round to the nearest float64, ties to even. A bool
// is 0 or 1. It panics if h is complex or if src does not hold exactly len(dst) elements.
func Float64s(dst []float64, src []byte, h Host) {
	if n := mustCount(len(src), h); n != len(dst) {
		panic(fmt.Sprintf("tensor: %d elements into %d values", n, len(dst)))
	}
	switch h {
	case HostBool:
		boolsToFloat64(dst, src)
	case HostInt8:
		bytesToFloat64[int8](dst, src)
	case HostUint8:
		bytesToFloat64[uint8](dst, src)
	case HostInt16:
		words16ToFloat64[int16](dst, src)
	case HostUint16:
		words16ToFloat64[uint16](dst, src)
	case HostInt32:
		words32ToFloat64[int32](dst, src)
	case HostUint32:
		words32ToFloat64[uint32](dst, src)
	case HostInt64:
		words64ToFloat64[int64](dst, src)
	case HostUint64:
		words64ToFloat64[uint64](dst, src)
	case HostFloat16:
		float16ToFloat64(dst, src)
	case HostFloat32:
		float32ToFloat64(dst, src)
	case HostFloat64:
		copyFloat64(dst, src)
	default:
		panic("tensor: real values of " + h.String())
	}
}

func boolsToFloat64(dst []float64, src []byte) {
	for i, b := range src[:len(dst)] {
		dst[i] = float64(min(b, 1))
	}
}

func bytesToFloat64[T int8 | uint8](dst []float64, src []byte) {
	for i, b := range src[:len(dst)] {
		dst[i] = float64(T(b))
	}
}

func words16ToFloat64[T int16 | uint16](dst []float64, src []byte) {
	for i := 0; i < len(dst) && len(src) >= 2; i++ {
		dst[i] = float64(T(binary.LittleEndian.Uint16(src)))
		src = src[2:]
	}
}

func words32ToFloat64[T int32 | uint32](dst []float64, src []byte) {
	for i := 0; i < len(dst) && len(src) >= 4; i++ {
		dst[i] = float64(T(binary.LittleEndian.Uint32(src)))
		src = src[4:]
	}
}

func words64ToFloat64[T int64 | uint64](dst []float64, src []byte) {
	for i := 0; i < len(dst) && len(src) >= 8; i++ {
		dst[i] = float64(T(binary.LittleEndian.Uint64(src)))
		src = src[8:]
	}
}

func float16ToFloat64(dst []float64, src []byte) {
	for len(dst) >= 4 && len(src) >= 8 {
		four := binary.LittleEndian.Uint64(src)
		dst[0] = Float16To64(uint16(four))
		dst[1] = Float16To64(uint16(four >> 16))
		dst[2] = Float16To64(uint16(four >> 32))
		dst[3] = Float16To64(uint16(four >> 48))
		dst, src = dst[4:], src[8:]
	}
	for i := 0; i < len(dst) && len(src) >= 2; i++ {
		dst[i] = Float16To64(binary.LittleEndian.Uint16(src))
		src = src[2:]
	}
}

func float32ToFloat64(dst []float64, src []byte) {
	for i := 0; i < len(dst) && len(src) >= 4; i++ {
		dst[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(src)))
		src = src[4:]
	}
}

func copyFloat64(dst []float64, src []byte) {
	for i := 0; i < len(dst) && len(src) >= 8; i++ {
		dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(src))
		src = src[8:]
	}
}

// Complex128s is Float64s for the complex host types; the conversion is exact.
func Complex128s(dst []complex128, src []byte, h Host) {
	if n := mustCount(len(src), h); n != len(dst) {
		panic(fmt.Sprintf("tensor: %d elements into %d values", n, len(dst)))
	}
	part, parts := h.splitParts()
	if parts != 2 {
		panic("tensor: complex values of " + h.String())
	}
	size := part.Size()
	var values [64]float64
	for len(dst) > 0 {
		n := min(len(dst), len(values)/2)
		Float64s(values[:2*n], src[:2*n*size], part)
		for i := range n {
			dst[i] = complex(values[2*i], values[2*i+1])
		}
		dst, src = dst[n:], src[2*n*size:]
	}
}

// AppendText appends the little-endian host elements of src to dst in the default form of
// numpy.savetxt for a flat array: one value a line in the format %.18e, integers and bools as the
// nearest float64, and a complex value as " (1.0e+00-2.0e+00j)" with both parts in that format. NaN
// and the infinities are nan, inf and -inf. It panics if src does not hold whole elements.
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

// appendFloat appends x like Python's '%.18e' % x.
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
