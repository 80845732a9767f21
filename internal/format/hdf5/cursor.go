package hdf5

import (
	"encoding/binary"
	"math"
)

// cursor parses a structure from front to back. Reading beyond its end gives zeros
// and sets err, which is checked once the structure is parsed.
type cursor struct {
	f   *file
	b   []byte
	off int64 // of b in the file
	p   int
	err error
}

// here is the offset in the file of the next byte.
func (c *cursor) here() int64 { return c.off + int64(c.p) }

// left is how many bytes are left.
func (c *cursor) left() int { return len(c.b) - c.p }

// fail sets err, unless there is one.
func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// take returns the next n bytes, nil where there are fewer.
func (c *cursor) take(n int) []byte {
	if n < 0 || n > c.left() {
		if c.err == nil { // a structure may go on with thousands of fields
			c.fail(broken(c.here(), "a structure ends after %d bytes, want %d more", c.left(), n))
		}
		c.p = len(c.b)
		return nil
	}
	c.p += n
	return c.b[c.p-n : c.p : c.p]
}

func (c *cursor) skip(n int) { c.take(n) }

// uint returns the next n bytes, at most 8, as a number.
func (c *cursor) uint(n int) uint64 {
	var v uint64
	for i, b := range c.take(n) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

func (c *cursor) u8() int  { return int(c.uint(1)) }
func (c *cursor) u16() int { return int(c.uint(2)) }
func (c *cursor) u32() int { return int(c.uint(4)) }

// size returns a number of n bytes that is no larger than a file can be.
func (c *cursor) size(n int) int64 {
	at, v := c.here(), c.uint(n)
	if v > math.MaxInt64 {
		c.fail(broken(at, "length %d is larger than any file", v))
		return 0
	}
	return int64(v)
}

// length returns a number of the size of lengths.
func (c *cursor) length() int64 { return c.size(c.f.lengthSize) }

// address returns an address, none for one that is not defined.
func (c *cursor) address() int64 {
	n := c.f.offsetSize
	at, v := c.here(), c.uint(n)
	if v == undefined(n) && c.err == nil {
		return none
	}
	if v > math.MaxInt64 {
		c.fail(broken(at, "address 0x%x is outside the file of %d bytes", v, c.f.size))
		return none
	}
	return int64(v)
}

// undefined is the number of n bytes that has all bits set.
func undefined(n int) uint64 { return math.MaxUint64 >> (64 - 8*n) }

// expect checks the next bytes.
func (c *cursor) expect(signature string) {
	at := c.here()
	if got := c.take(len(signature)); string(got) != signature {
		c.fail(broken(at, "signature %q, want %q", got, signature))
	}
}

// version checks a version number of one byte.
func (c *cursor) version(what string, want int) {
	at := c.here()
	if v := c.u8(); v != want {
		c.fail(broken(at, "%s version %d, want %d", what, v, want))
	}
}

// verify checks the signature at the beginning and the checksum at the end of the
// structure, which it then leaves out.
func (c *cursor) verify(signature string) error {
	c.expect(signature)
	n := len(c.b) - 4
	if c.err != nil || n < len(signature) {
		c.fail(broken(c.off, "a structure of %d bytes has no checksum", len(c.b)))
		return c.err
	}
	want, got := binary.LittleEndian.Uint32(c.b[n:]), lookup3(c.b[:n])
	if got != want {
		return broken(c.off, "checksum of %s is 0x%08x, want 0x%08x", signature, got, want)
	}
	c.b = c.b[:n]
	return nil
}

// part returns the next n bytes as a structure of their own.
func (c *cursor) part(n int) *cursor {
	at := c.here()
	return &cursor{f: c.f, b: c.take(n), off: at, err: c.err}
}

// text returns the bytes up to a zero, which is skipped.
func (c *cursor) text() string {
	start := c.p
	for c.left() > 0 {
		if c.take(1)[0] == 0 {
			return string(c.b[start : c.p-1])
		}
	}
	c.take(1) // there is no zero
	return ""
}

// pad skips what fills n bytes up to a multiple of 8.
func (c *cursor) pad(n int) { c.skip(-n & 7) }
