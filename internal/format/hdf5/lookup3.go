package hdf5

import (
	"encoding/binary"
	"math/bits"
)

// lookup3 is the checksum of structures: Bob Jenkins' hash of 2006, hashlittle with
// the initial value 0.
func lookup3(data []byte) uint32 {
	a := 0xdeadbeef + uint32(len(data))
	b, c := a, a
	rot := bits.RotateLeft32
	le := binary.LittleEndian
	for ; len(data) > 12; data = data[12:] {
		a += le.Uint32(data)
		b += le.Uint32(data[4:])
		c += le.Uint32(data[8:])
		a, c = (a-c)^rot(c, 4), c+b
		b, a = (b-a)^rot(a, 6), a+c
		c, b = (c-b)^rot(b, 8), b+a
		a, c = (a-c)^rot(c, 16), c+b
		b, a = (b-a)^rot(a, 19), a+c
		c, b = (c-b)^rot(b, 4), b+a
	}
	if len(data) == 0 {
		return c
	}
	var rest [12]byte
	copy(rest[:], data)
	a += le.Uint32(rest[:])
	b += le.Uint32(rest[4:])
	c += le.Uint32(rest[8:])
	c = (c ^ b) - rot(b, 14)
	a = (a ^ c) - rot(c, 11)
	b = (b ^ a) - rot(a, 25)
	c = (c ^ b) - rot(b, 16)
	a = (a ^ c) - rot(c, 4)
	b = (b ^ a) - rot(a, 14)
	c = (c ^ b) - rot(b, 24)
	return c
}
