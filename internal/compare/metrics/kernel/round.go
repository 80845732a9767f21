package kernel

import (
	"encoding/binary"
	"math"
)

// SignBit is the sign of a float64.
const SignBit = 1 << 63

// Form has the constants for rounding to a binary floating-point format narrower
// than float64.
type Form struct {
	shift, half, base, normal, magic, beyond uint64
}

// NewForm returns the form of a format: fraction is the number of fraction bits, minExp the
// smallest exponent of a normal number, top the code of the largest finite value.
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

// Round sets dst to the codes of values rounded to the format: signed ranks of its values in
// rising order, 0 for zero. For normal numbers it rounds the low bits away with a carry. For
// subnormal ones it adds a power of two whose ulp is the smallest subnormal, so the addition
// rounds. Values that round beyond the largest finite value get the next code.
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

// signedCode returns the code of sign-extended bits; magnitude is the mask of all but the sign.
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

// Float16Codes sets dst to the codes of float32 elements rounded to float16, as Form.Round
// does. A NaN gets an arbitrary code.
func Float16Codes(dst []int64, src []byte) {
	for i := range dst {
		dst[i] = float16Code(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

// float16Code returns the code in float16 of the bits of a float32.
func float16Code(bits uint32) int64 {
	// normal: bits of the smallest normal float16; base: its offset; magic: its ulp is 2^-24.
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
