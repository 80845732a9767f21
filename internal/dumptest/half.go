package dumptest

import "math"

// Half rounds a value to float16, ties to even; what is too large becomes
// infinite.
func Half(f float32) uint16 {
	bits := math.Float32bits(f)
	sign := uint16(bits >> 16 & 0x8000)
	bits &= 0x7fffffff
	switch {
	case bits > 0x7f800000:
		return sign | 0x7e00 // NaN
	case bits >= 0x477ff000: // 65520, halfway to the float16 after the largest
		return sign | 0x7c00
	case bits < 0x38800000: // 2^-14, the smallest normal float16
		// Beside 0.5 a float32 has steps of 2^-24, as a subnormal float16 has.
		sum := math.Float32frombits(bits) + 0.5
		return sign | uint16(math.Float32bits(sum)-math.Float32bits(0.5))
	}
	odd := bits >> 13 & 1
	return sign | uint16((bits-112<<23+0xfff+odd)>>13)
}
