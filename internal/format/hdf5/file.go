package hdf5

import (
	"encoding/binary"
	"io"
	"math"
	"math/bits"

	"dumptool/internal/format"
	"dumptool/internal/lang"
)

// file is an HDF5 file with the fields of its superblock.
type file struct {
	r          io.ReaderAt
	size, base int64 // bytes of the file; offset of address 0
	// offsetSize and lengthSize are the sizes of addresses and lengths, in bytes.
	offsetSize, lengthSize int
	root                   int64

	pages [pageCount]page
	eager int64 // bytes in chunks read by open so far; see maxEager
	// places is the number of chunks looked up so far, at most maxPlaces.
	places int64
	// readBytes and held are the bytes of structures that were read, and approximately the bytes in
	// memory.
	readBytes, heldBytes int64

	decoders decoders

	// keep selects the datasets to be copied; nil means all, without copying.
	keep func(path []string) bool
}

// none is the undefined address.
const none = -1

// Limits for structures that are read and held, as multiples of the file size plus a constant.
// Valid files read less than twice their size. They hold eight times their size if they consist of
// attributes with small integers.
const (
	maxRead, readSlack = 8, 64 << 20
	maxHeld, heldSlack = 9, 16 << 20
)

// page is a cached part of the file: structures are small and lie close together.
type page struct {
	at   int64 // offset in the file
	data []byte
}

const (
	pageSize  = 4 << 10
	pageCount = 512
)

// bytesAt returns n bytes at an address. They may belong to a page and must not be changed.
func (f *file) bytesAt(addr, n int64) ([]byte, error) {
	off, err := f.fileOffset(addr, n)
	if err != nil {
		return nil, err
	}
	if err := f.countRead(n); err != nil {
		return nil, err
	}
	start := off &^ (pageSize - 1)
	if off+n > start+pageSize {
		return readFull(f.r, off, n)
	}
	p := &f.pages[start/pageSize%pageCount]
	if p.data == nil || p.at != start {
		data, err := readFull(f.r, start, min(pageSize, f.size-start))
		if err != nil {
			return nil, err
		}
		*p = page{start, data}
	}
	return p.data[off-start:][:n:n], nil
}

// countRead counts n bytes as read.
func (f *file) countRead(n int64) error {
	if f.readBytes += n; f.readBytes > maxRead*f.size+readSlack {
		return formatError(-1, "the structures of the file lead to the same places again and again")
	}
	return nil
}

// fileOffset returns the offset in the file of n bytes at an address.
func (f *file) fileOffset(addr, n int64) (int64, error) {
	room := f.size - f.base
	if addr < 0 || n < 0 || n > room || addr > room-n {
		return 0, formatError(-1, "address 0x%x + %d bytes is outside the file of %d bytes", addr, n, f.size)
	}
	return f.base + addr, nil
}

// countHeld counts n bytes as held.
func (f *file) countHeld(n int64) error {
	if f.heldBytes += n; f.heldBytes > maxHeld*f.size+heldSlack {
		return formatError(-1, "the content of the file would need more memory than the file has bytes")
	}
	return nil
}

// cursorAt returns a cursor on n bytes at an address.
func (f *file) cursorAt(addr, n int64) (*cursor, error) {
	b, err := f.bytesAt(addr, n)
	if err != nil {
		return nil, err
	}
	return &cursor{f: f, b: b, off: f.base + addr}, nil
}

// verifiedCursor returns a cursor on a structure with a checksum at its end. It verifies the checksum and cuts it off.
func (f *file) verifiedCursor(addr, n int64, signature string) (*cursor, error) {
	c, err := f.cursorAt(addr, n)
	if err != nil {
		return nil, err
	}
	return c, c.verify(signature)
}

// readFull reads n bytes at off. An early end is an error.
func readFull(r io.ReaderAt, off, n int64) ([]byte, error) {
	b := make([]byte, n)
	return b, format.ReadFull(r, b, off)
}

// multiply multiplies sizes; ok is false if the result does not fit 63 bits.
func multiply(sizes ...int64) (n int64, ok bool) {
	n = 1
	for _, s := range sizes {
		if s != 0 && n > math.MaxInt64/s {
			return 0, false
		}
		n *= s
	}
	return n, true
}

// Magic is at offset 0 of a file, or at 512, 1024, 2048 and so on after other data.
const Magic = "\x89HDF\r\n\x1a\n"

// Find returns the offset of the superblock, and false for a file without one.
func Find(r io.ReaderAt, size int64) (off int64, ok bool) {
	var b [len(Magic)]byte
	for off <= size-int64(len(Magic)) {
		if format.ReadFull(r, b[:], off) != nil {
			return 0, false
		}
		if string(b[:]) == Magic {
			return off, true
		}
		off = max(512, off*2)
	}
	return 0, false
}

// openFile reads the superblock. The warnings are about it.
func openFile(r io.ReaderAt, size int64) (*file, []lang.Sentence, error) {
	off, ok := Find(r, size)
	if !ok {
		return nil, nil, formatError(-1, "not HDF5: no signature at 0, 512, 1024 and so on")
	}
	// Addresses count from the superblock: if it moved with the file, its own base address is
	// outdated.
	f := &file{r: r, size: size}
	c, err := f.cursorAt(off, min(128, size-off))
	if err != nil {
		return nil, nil, err
	}
	c.skip(len(Magic))
	version := c.u8()
	if c.err != nil {
		return nil, nil, formatError(c.offset(), "truncated: the superblock ends after %d bytes", len(c.b))
	}
	var end int64
	var warnings []lang.Sentence
	switch version {
	case 0, 1:
		end = f.readOldSuperblock(c, version)
	case 2, 3:
		var open bool
		if end, open = f.readNewSuperblock(c); open && version == 3 {
			warnings = append(warnings, lang.Say("the program that wrote the file did not close it"))
		}
	default:
		return nil, nil, formatError(off+8, "superblock version %d, want 0 to 3", version)
	}
	if c.err != nil {
		return nil, nil, c.err
	}
	if end += off - max(0, f.base); end > size {
		return nil, nil, formatError(-1, "truncated: the file has %d bytes, its superblock says %d", size, end)
	}
	f.base = off
	return f, warnings, nil
}

// parseSizes parses the sizes of addresses and lengths.
func (f *file) parseSizes(c *cursor) {
	at := c.offset()
	f.offsetSize, f.lengthSize = c.u8(), c.u8()
	for _, n := range []int{f.offsetSize, f.lengthSize} {
		if n != 4 && n != 8 {
			c.fail(formatError(at, "superblock: sizes of offsets and lengths are %d and %d, want 4 or 8", f.offsetSize, f.lengthSize))
			f.offsetSize, f.lengthSize = 8, 8
		}
	}
}

// readOldSuperblock parses versions 0 and 1 after the version number. end is the address of the end of
// the file.
func (f *file) readOldSuperblock(c *cursor, version int) (end int64) {
	c.skip(4)
	f.parseSizes(c)
	c.skip(1 + 2 + 2 + 4 + 4*version)
	f.base = c.address()
	c.address()
	end = c.address()
	c.address()
	c.length() // of the name of the root; the specification has an offset, the library writes a length
	f.root = c.address()
	return end
}

// readNewSuperblock parses versions 2 and 3 after the version number. open: a program has the file open
// for writing.
func (f *file) readNewSuperblock(c *cursor) (end int64, open bool) {
	f.parseSizes(c)
	open = c.u8()&1 != 0
	n := c.p + 4*f.offsetSize + 4
	if n > len(c.b) {
		c.fail(formatError(c.off, "truncated: the superblock ends after %d bytes, want %d", len(c.b), n))
		return 0, false
	}
	sum := cursor{f: f, b: c.b[:n], off: c.off}
	if err := sum.verify(Magic); err != nil {
		c.fail(err)
		return 0, false
	}
	f.base = c.address()
	c.address()
	end = c.address()
	f.root = c.address()
	return end, open
}

// cursor parses a structure from front to back. Reading beyond its end gives zeros and sets err,
// which callers check once the structure is parsed.
type cursor struct {
	f   *file
	b   []byte
	off int64 // offset of b in the file
	p   int
	err error
}

// offset returns the offset in the file of the next byte.
func (c *cursor) offset() int64 { return c.off + int64(c.p) }

// remaining returns the number of remaining bytes.
func (c *cursor) remaining() int { return len(c.b) - c.p }

// fail sets err, unless it is set.
func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// nextBytes returns the next n bytes, nil if there are fewer.
func (c *cursor) nextBytes(n int) []byte {
	if n < 0 || n > c.remaining() {
		if c.err == nil { // avoid building the same error thousands of times
			c.fail(formatError(c.offset(), "a structure ends after %d bytes, want %d more", c.remaining(), n))
		}
		c.p = len(c.b)
		return nil
	}
	c.p += n
	return c.b[c.p-n : c.p : c.p]
}

func (c *cursor) skip(n int) { c.nextBytes(n) }

// uint returns the next n bytes, at most 8, as a number.
func (c *cursor) uint(n int) uint64 {
	var v uint64
	for i, b := range c.nextBytes(n) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

func (c *cursor) u8() int  { return int(c.uint(1)) }
func (c *cursor) u16() int { return int(c.uint(2)) }
func (c *cursor) u32() int { return int(c.uint(4)) }

// size returns a number of n bytes, at most the largest possible file size.
func (c *cursor) size(n int) int64 {
	at, v := c.offset(), c.uint(n)
	if v > math.MaxInt64 {
		c.fail(formatError(at, "length %d is larger than any file", v))
		return 0
	}
	return int64(v)
}

// length returns a number in the size of lengths.
func (c *cursor) length() int64 { return c.size(c.f.lengthSize) }

// address returns an address, none if undefined.
func (c *cursor) address() int64 {
	n := c.f.offsetSize
	at, v := c.offset(), c.uint(n)
	if v == allOnes(n) && c.err == nil {
		return none
	}
	if v > math.MaxInt64 {
		c.fail(formatError(at, "address 0x%x is outside the file of %d bytes", v, c.f.size))
		return none
	}
	return int64(v)
}

// allOnes returns the number of n bytes with all bits set.
func allOnes(n int) uint64 { return math.MaxUint64 >> (64 - 8*n) }

// expect checks the next bytes.
func (c *cursor) expect(signature string) {
	at := c.offset()
	if got := c.nextBytes(len(signature)); string(got) != signature {
		c.fail(formatError(at, "signature %q, want %q", got, signature))
	}
}

// version checks a version number of one byte.
func (c *cursor) version(what string, want int) {
	at := c.offset()
	if v := c.u8(); v != want {
		c.fail(formatError(at, "%s version %d, want %d", what, v, want))
	}
}

// verify checks the signature at the beginning and the checksum at the end of the structure, and
// cuts off the checksum.
func (c *cursor) verify(signature string) error {
	c.expect(signature)
	n := len(c.b) - 4
	if c.err != nil || n < len(signature) {
		c.fail(formatError(c.off, "a structure of %d bytes has no checksum", len(c.b)))
		return c.err
	}
	want, got := binary.LittleEndian.Uint32(c.b[n:]), lookup3(c.b[:n])
	if got != want {
		return formatError(c.off, "checksum of %s is 0x%08x, want 0x%08x", signature, got, want)
	}
	c.b = c.b[:n]
	return nil
}

// substructure returns the next n bytes as a separate structure.
func (c *cursor) substructure(n int) *cursor {
	at := c.offset()
	return &cursor{f: c.f, b: c.nextBytes(n), off: at, err: c.err}
}

// text returns the bytes before the next zero, which is skipped.
func (c *cursor) text() string {
	start := c.p
	for c.remaining() > 0 {
		if c.nextBytes(1)[0] == 0 {
			return string(c.b[start : c.p-1])
		}
	}
	c.nextBytes(1) // fails: there is no zero
	return ""
}

// pad skips the padding after n bytes up to a multiple of 8.
func (c *cursor) pad(n int) { c.skip(-n & 7) }

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
