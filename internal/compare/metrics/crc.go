package metrics

import "hash/crc32"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum adds the stored bytes of both sides to their CRC-32C.
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
