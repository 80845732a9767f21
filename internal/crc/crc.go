// Package crc joins the CRC-32 of parts to the CRC-32 of the whole.
package crc

// Combine returns the CRC-32 of first's data followed by n bytes with the CRC second, as zlib's
// crc32_combine does: first is multiplied by x^(8n) modulo the polynomial. The polynomial is
// crc32.IEEE, crc32.Castagnoli or another in the form of hash/crc32.
func Combine(polynomial, first, second uint32, n int64) uint32 {
	power := uint32(1) << 23 // x^8
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			first = multiply(polynomial, first, power)
		}
		power = multiply(polynomial, power, power)
	}
	return first ^ second
}

// multiply returns the product of two polynomials over GF(2) modulo a third one. The highest
// bit is the constant term.
func multiply(polynomial, a, b uint32) (product uint32) {
	for ; a != 0; a <<= 1 {
		if a>>31 != 0 {
			product ^= b
		}
		b = b>>1 ^ polynomial&-(b&1)
	}
	return product
}
