package crc

import (
	"fmt"
	"hash/crc32"
	"testing"

	"pgregory.net/rapid"
)

// TestCombine compares the CRC combined from parts with hash/crc32 over the joined data.
func TestCombine(t *testing.T) {
	for _, polynomial := range []uint32{crc32.IEEE, crc32.Castagnoli, crc32.Koopman} {
		table := crc32.MakeTable(polynomial)
		t.Run(fmt.Sprintf("%08x", polynomial), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				var joined []byte
				var got uint32
				for _, part := range rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), -1, 3000), 1, 5).Draw(rt, "parts") {
					got = Combine(polynomial, got, crc32.Checksum(part, table), int64(len(part)))
					joined = append(joined, part...)
				}
				if want := crc32.Checksum(joined, table); got != want {
					rt.Errorf("%d bytes: %08x, want %08x", len(joined), got, want)
				}
			})
		})
	}
}

// TestCombineLong appends 2^33 zero bytes at once and in 2^13 steps.
func TestCombineLong(t *testing.T) {
	const step, steps = 1 << 20, 1 << 13
	for _, polynomial := range []uint32{crc32.IEEE, crc32.Castagnoli} {
		table := crc32.MakeTable(polynomial)
		first, zeros := crc32.Checksum([]byte("first"), table), crc32.Checksum(make([]byte, step), table)
		whole, all := first, uint32(0)
		for range steps {
			whole = Combine(polynomial, whole, zeros, step)
			all = Combine(polynomial, all, zeros, step)
		}
		if got := Combine(polynomial, first, all, step*steps); got != whole {
			t.Errorf("%08x: %08x, want %08x", polynomial, got, whole)
		}
	}
}
