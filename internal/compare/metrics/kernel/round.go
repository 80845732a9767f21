package kernel

import (
	"encoding/binary"
	"math"
)

// SignBit is the sign of a float64.
const SignBit = 1 << 63

// Form holds the numbers that rounding to a binary floating-point format narrower
// than float64 needs.
type Form struct {
	shift, half, base, normal, magic, beyond uint64
}

// NewForm returns the form of a format with a fraction of so many bits, the
// smallest exponent of a normal number and the code of the largest finite value.
func NewForm(fraction, minExp int, top int64) Form {
	return Form{
		shift:  uint64(52 - fraction),
		half:   1<<(51-fraction) - 1,
		base:   uint64(minExp+1023-1) << fraction,
		normal: uint64(minExp+1023) << 52,
		magic:  math.Float64bits(math.Ldexp(1, minExp-fraction+52)),
		beyond: uint64(top + 1),
	}
}

// Round sets dst to the codes of values: signed numbers of the values of the
// format in rising order, 0 for zero. A magnitude that is normal in the format
// loses its low bits with a carry; adding a power of two whose last place is the
// smallest subnormal does the same for the others. What rounds to beyond the
// largest finite value has the next code.
func (f *Form) Round(dst []int64, values []float64) {
	dst = dst[:len(values)]
	shift := f.shift & 63
	magic := math.Float64frombits(f.magic)
	for i, x := range values {
		bits := math.Float64bits(x)
		magnitude := bits &^ SignBit
		code := (magnitude+f.half+magnitude>>shift&1)>>shift - f.base
		small := math.Float64bits(math.Float64frombits(magnitude)+magic) - f.magic
		if magnitude < f.normal {
			code = small
		}
		code = min(code, f.beyond)
		sign := int64(bits) >> 63
		dst[i] = (int64(code) ^ sign) - sign
	}
}

// Codes16 sets dst to the codes of 16-bit floating-point elements from their bits.
func Codes16(dst []int64, src []byte) {
	for len(dst) >= 4 && len(src) >= 8 {
		four := binary.LittleEndian.Uint64(src)
		codes := (*[4]int64)(dst)
		codes[0] = signedCode(int64(four<<48)>>48, 0x7fff)
		codes[1] = signedCode(int64(four<<32)>>48, 0x7fff)
		codes[2] = signedCode(int64(four<<16)>>48, 0x7fff)
		codes[3] = signedCode(int64(four)>>48, 0x7fff)
		dst, src = dst[4:], src[8:]
	}
	for i := range dst {
		dst[i] = signedCode(int64(int16(binary.LittleEndian.Uint16(src[2*i:]))), 0x7fff)
	}
}

// signedCode returns the code of bits with their sign extended.
func signedCode(bits, magnitude int64) int64 {
	sign := bits >> 63
	return (bits&magnitude ^ sign) - sign
}

// Codes32 sets dst to the codes of float32 elements from their bits.
func Codes32(dst []int64, src []byte) {
	for len(dst) >= 2 && len(src) >= 8 {
		two := binary.LittleEndian.Uint64(src)
		codes := (*[2]int64)(dst)
		codes[0] = signedCode(int64(two<<32)>>32, math.MaxInt32)
		codes[1] = signedCode(int64(two)>>32, math.MaxInt32)
		dst, src = dst[2:], src[8:]
	}
	for i := range dst {
		dst[i] = signedCode(int64(int32(binary.LittleEndian.Uint32(src[4*i:]))), math.MaxInt32)
	}
}

// Float16Codes sets dst to the codes that float32 elements have in float16, as Form.Round
// does. A NaN has any code.
func Float16Codes(dst []int64, src []byte) {
	for i := range dst {
		dst[i] = float16Code(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

// float16Code returns the code in float16 of the bits of a float32.
func float16Code(bits uint32) int64 {
	// The first normal code, its place in float32, and what has a last place of 2^-24.
	const normal, base, infinity = 113 << 23, 112 << 10, 0x7c00
	const magic = float32(0.5)
	magnitude := bits &^ (1 << 31)
	code := (magnitude+0xfff+magnitude>>13&1)>>13 - base
	small := math.Float32bits(math.Float32frombits(magnitude)+magic) - 0x3f000000 // the bits of magic
	if magnitude < normal {
		code = small
	}
	sign := int64(int32(bits) >> 31)
	return (int64(min(code, infinity)) ^ sign) - sign
}
