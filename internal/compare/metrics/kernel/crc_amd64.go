//go:build !purego

package kernel

import (
	"hash/crc32"

	"dumptool/internal/cpu"
)

// carryless is whether the processor multiplies polynomials in wide vectors.
var carryless = cpu.Carryless512()

//go:noescape
func fold512(rest *[256]byte, src *byte, count int, register uint32)

// crcHead returns the CRC with the first bytes of more, and their number.
func crcHead(crc uint32, more []byte) (head uint32, done int) {
	var rest [256]byte
	count := len(more) / len(rest)
	if !carryless || count < 4 {
		return crc, 0
	}
	fold512(&rest, &more[0], count, ^crc)
	return crc32.Update(^uint32(0), castagnoli(), rest[:]), count * len(rest) // a register of 0 at first
}
