package kernel

import (
	"hash/crc32"
	"sync"
)

// castagnoli is the table of CRC-32C.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// UpdateCRC returns the CRC-32C of what has a CRC, followed by more bytes.
func UpdateCRC(crc uint32, more []byte) uint32 {
	crc, done := crcHead(crc, more)
	return crc32.Update(crc, castagnoli(), more[done:])
}
