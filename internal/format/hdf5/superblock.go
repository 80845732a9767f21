package hdf5

import (
	"io"

	"dumptool/internal/format"
)

// Magic is what a file begins with, or has at offset 512, 1024, 2048 and so on,
// where something else stands before it.
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
func openFile(r io.ReaderAt, size int64) (*file, []string, error) {
	off, ok := Find(r, size)
	if !ok {
		return nil, nil, broken(-1, "not HDF5: no signature at 0, 512, 1024 and so on")
	}
	// Addresses count from the superblock: where it moved, what it says of its place
	// is that of before.
	f := &file{r: r, size: size}
	c, err := f.cursor(off, min(128, size-off))
	if err != nil {
		return nil, nil, err
	}
	c.skip(len(Magic))
	version := c.u8()
	if c.err != nil {
		return nil, nil, broken(c.here(), "truncated: the superblock ends after %d bytes", len(c.b))
	}
	var end int64
	var warnings []string
	switch version {
	case 0, 1:
		end = f.oldSuperblock(c, version)
	case 2, 3:
		var open bool
		if end, open = f.newSuperblock(c); open && version == 3 {
			warnings = append(warnings, "the program that wrote the file did not close it")
		}
	default:
		return nil, nil, broken(off+8, "superblock version %d, want 0 to 3", version)
	}
	if c.err != nil {
		return nil, nil, c.err
	}
	if end += off - max(0, f.base); end > size {
		return nil, nil, broken(-1, "truncated: the file has %d bytes, its superblock says %d", size, end)
	}
	f.base = off
	return f, warnings, nil
}

// sizes reads the sizes of addresses and lengths.
func (f *file) sizes(c *cursor) {
	at := c.here()
	f.offsetSize, f.lengthSize = c.u8(), c.u8()
	for _, n := range []int{f.offsetSize, f.lengthSize} {
		if n != 4 && n != 8 {
			c.fail(broken(at, "superblock: sizes of offsets and lengths are %d and %d, want 4 or 8", f.offsetSize, f.lengthSize))
			f.offsetSize, f.lengthSize = 8, 8
		}
	}
}

// oldSuperblock reads versions 0 and 1 after their number. end is where the file ends,
// counted from its beginning.
func (f *file) oldSuperblock(c *cursor, version int) (end int64) {
	c.skip(4)
	f.sizes(c)
	c.skip(1 + 2 + 2 + 4 + 4*version)
	f.base = c.address()
	c.address()
	end = c.address()
	c.address()
	c.length() // of the name of the root; the standard has an offset here, the library writes a length
	f.root = c.address()
	return end
}

// newSuperblock reads versions 2 and 3 after their number. open is set while a
// program writes the file.
func (f *file) newSuperblock(c *cursor) (end int64, open bool) {
	f.sizes(c)
	open = c.u8()&1 != 0
	n := c.p + 4*f.offsetSize + 4
	if n > len(c.b) {
		c.fail(broken(c.off, "truncated: the superblock ends after %d bytes, want %d", len(c.b), n))
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
