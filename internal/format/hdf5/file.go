package hdf5

import (
	"io"
	"math"

	"dumptool/internal/format"
)

// file is an HDF5 file as its superblock describes it.
type file struct {
	r          io.ReaderAt
	size, base int64 // bytes of the file; what addresses count from
	// offsetSize and lengthSize are the bytes of an address and of a length.
	offsetSize, lengthSize int
	root                   int64

	pages [pageCount]page
	eager int64 // bytes of data in chunks up to here
	// read and held are the bytes of structures that were read, and about those that
	// are kept of them.
	read, held int64

	decoders decoders

	// keep says which datasets are looked at, to be copied as they are stored; nil for
	// all, which are not.
	keep func(path []string) bool
}

// none is the address of what is not there.
const none = -1

// What may be read of the structures of a file, and held of them, in sizes of the
// file and bytes on top of that. Of valid files less than two sizes are read, and
// eight are held where all is attributes of small integers.
const (
	maxRead, readSlack = 8, 64 << 20
	maxHeld, heldSlack = 9, 16 << 20
)

// page is a piece of the file that was read lately: structures are small and lie
// close together.
type page struct {
	at   int64 // offset in the file
	data []byte
}

const (
	pageSize  = 4 << 10
	pageCount = 512
)

// at returns n bytes at an address. They may be those of a page and are not to be
// changed.
func (f *file) at(addr, n int64) ([]byte, error) {
	off, err := f.offset(addr, n)
	if err != nil {
		return nil, err
	}
	if err := f.spend(n); err != nil {
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

// spend notes that n bytes are read.
func (f *file) spend(n int64) error {
	if f.read += n; f.read > maxRead*f.size+readSlack {
		return broken(-1, "the structures of the file lead to the same places again and again")
	}
	return nil
}

// offset returns where in the file n bytes at an address are.
func (f *file) offset(addr, n int64) (int64, error) {
	room := f.size - f.base
	if addr < 0 || n < 0 || n > room || addr > room-n {
		return 0, broken(-1, "address 0x%x + %d bytes is outside the file of %d bytes", addr, n, f.size)
	}
	return f.base + addr, nil
}

// hold notes that n bytes are kept.
func (f *file) hold(n int64) error {
	if f.held += n; f.held > maxHeld*f.size+heldSlack {
		return broken(-1, "what is in the file would take more memory than the file has bytes")
	}
	return nil
}

// cursor returns n bytes at an address to be parsed.
func (f *file) cursor(addr, n int64) (*cursor, error) {
	b, err := f.at(addr, n)
	if err != nil {
		return nil, err
	}
	return &cursor{f: f, b: b, off: f.base + addr}, nil
}

// verified is cursor of a structure that ends in a checksum. The cursor leaves it
// out.
func (f *file) verified(addr, n int64, signature string) (*cursor, error) {
	c, err := f.cursor(addr, n)
	if err != nil {
		return nil, err
	}
	return c, c.verify(signature)
}

// readFull reads n bytes at off. Data that ends early is an error.
func readFull(r io.ReaderAt, off, n int64) ([]byte, error) {
	b := make([]byte, n)
	return b, format.ReadFull(r, b, off)
}

// product multiplies sizes; ok is false where the result has more than 63 bits.
func product(sizes ...int64) (n int64, ok bool) {
	n = 1
	for _, s := range sizes {
		if s != 0 && n > math.MaxInt64/s {
			return 0, false
		}
		n *= s
	}
	return n, true
}
