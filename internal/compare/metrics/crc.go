package metrics

import "hash/crc32"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum adds the stored elements of both sides to their checksums.
func (b *block) checksum() {
	p := b.part
	alike := b.equal && p.refCRC == p.npuCRC
	p.refCRC = crc32.Update(p.refCRC, castagnoli, b.r.stored)
	if alike {
		p.npuCRC = p.refCRC
	} else {
		p.npuCRC = crc32.Update(p.npuCRC, castagnoli, b.n.stored)
	}
}

// combineCRC returns the CRC-32C of two runs of bytes, one after the other, from
// the CRC of each and the length of the second: the first is carried over that
// many zero bytes.
func combineCRC(a, b uint32, length int64) uint32 {
	// power is x^(8*2^k) modulo the polynomial, for the bits k of length.
	power := uint32(1) << (31 - 8)
	shifted := a
	for ; length > 0; length >>= 1 {
		if length&1 != 0 {
			shifted = multiplyCRC(shifted, power)
		}
		power = multiplyCRC(power, power)
	}
	return shifted ^ b
}

// multiplyCRC multiplies two polynomials modulo that of CRC-32C. The highest bit
// is the coefficient of x^0.
func multiplyCRC(a, b uint32) (product uint32) {
	for ; a != 0; a <<= 1 {
		if a&(1<<31) != 0 {
			product ^= b
		}
		carry := b & 1
		b >>= 1
		if carry != 0 {
			b ^= crc32.Castagnoli
		}
	}
	return product
}
