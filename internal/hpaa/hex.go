package hpaa

import "encoding/binary"

// hexGroups decodes runs of digits, sixteen at a time, with single line ends between
// them, while there are 17 bytes of text and room for 8. It stops before what is
// something else.
func hexGroups(dst, src []byte) (written, read int) {
	d, s, pairs := dst, src, hexPairs
	for len(s) >= 17 && len(d) >= 8 {
		if s[0] == '\n' {
			s = s[1:]
		}
		a, b := binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint64(s[8:])
		a0, a1, a2, a3 := pairs[uint16(a)], pairs[uint16(a>>16)], pairs[uint16(a>>32)], pairs[a>>48]
		b0, b1, b2, b3 := pairs[uint16(b)], pairs[uint16(b>>16)], pairs[uint16(b>>32)], pairs[b>>48]
		if (a0|a1|a2|a3|b0|b1|b2|b3)&notHex != 0 {
			break
		}
		low := uint64(a0) | uint64(a1)<<8 | uint64(a2)<<16 | uint64(a3)<<24
		high := uint64(b0) | uint64(b1)<<8 | uint64(b2)<<16 | uint64(b3)<<24
		binary.LittleEndian.PutUint64(d, low|high<<32)
		d, s = d[8:], s[16:]
	}
	return len(dst) - len(d), len(src) - len(s)
}
