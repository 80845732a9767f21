package kernel

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// crcOf is the CRC-32C bit by bit.
func crcOf(crc uint32, data []byte) uint32 {
	crc = ^crc
	for _, b := range data {
		crc ^= uint32(b)
		for range 8 {
			low := crc & 1
			crc >>= 1
			crc ^= -low & crc32.Castagnoli
		}
	}
	return ^crc
}

// TestUpdateCRC compares the CRC of bytes of many lengths and places with that of the
// bits.
func TestUpdateCRC(t *testing.T) {
	random := rand.New(rand.NewPCG(51, 52))
	data := make([]byte, 1<<14)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	for range 500 {
		first, length, crc := random.IntN(100), random.IntN(5000), random.Uint32()
		part := data[first : first+length]
		if got, want := UpdateCRC(crc, part), crcOf(crc, part); got != want {
			t.Fatalf("%d bytes from %d on after %08x: %08x, want %08x", length, first, crc, got, want)
		}
	}
	if got := UpdateCRC(0, []byte("123456789")); got != 0xe3069283 { // the check value of CRC-32C
		t.Errorf("%08x, want e3069283", got)
	}
}

// FuzzUpdateCRC compares it with the standard library.
func FuzzUpdateCRC(f *testing.F) {
	f.Add(uint32(0), make([]byte, 1024))
	f.Add(uint32(7), make([]byte, 3000))
	f.Add(^uint32(0), []byte("123456789"))
	f.Fuzz(func(t *testing.T, crc uint32, data []byte) {
		if got, want := UpdateCRC(crc, data), crc32.Update(crc, crc32.MakeTable(crc32.Castagnoli), data); got != want {
			t.Errorf("%08x, want %08x", got, want)
		}
	})
}
