package hdf5

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// heap is a fractal heap: messages in direct blocks of doubling size, found through indirect blocks
// of addresses.
type heap struct {
	f          *file
	idLength   int
	checked    bool // direct blocks have checksums
	width      int64
	start      int64 // bytes of the smallest direct block
	maxDirect  int64 // bytes of the largest direct block
	offsetSize int   // bytes of an offset in the heap
	sizeSize   int   // bytes of the size of a message
	root       int64
	rows       int // rows of the root, 0 if it is a direct block

	indirect map[int64][]int64 // indirect blocks, by address
	verified map[int64]bool    // direct blocks with a valid checksum
}

// readHeap parses the header of a fractal heap.
func (f *file) readHeap(addr int64) (*heap, error) {
	o, l := f.offsetSize, f.lengthSize
	c, err := f.cursorAt(addr, int64(4+1+2+2+1+4+l+o+l+o+8*l+2+l+l+2+2+o+2+4))
	if err != nil {
		return nil, err
	}
	c.expect("FRHP")
	c.version("fractal heap", 0)
	h := &heap{f: f, idLength: c.u16(), indirect: make(map[int64][]int64), verified: make(map[int64]bool)}
	if filters := c.u16(); filters > 0 && c.err == nil {
		return nil, unsupported("a fractal heap with filters is not supported; rewrite the file with h5repack")
	}
	h.checked = c.u8()&2 != 0
	largest := c.size(4)
	c.skip(l + o + l + o + 8*l)
	h.width, h.start, h.maxDirect = int64(c.u16()), c.length(), c.length()
	heapBits := c.u16()
	c.skip(2)
	h.root, h.rows = c.address(), c.u16()
	sum := *c
	sum.p = 0
	if err := sum.verify("FRHP"); err != nil {
		return nil, err
	}
	switch {
	case c.err != nil:
		return nil, c.err
	case !isPower(h.width) || !isPower(h.start) || !isPower(h.maxDirect) || h.start > h.maxDirect || h.maxDirect > 1<<31 || heapBits > 63:
		return nil, formatError(c.off, "heap: blocks of %d to %d bytes, %d side by side, offsets of %d bits", h.start, h.maxDirect, h.width, heapBits)
	}
	h.offsetSize = (heapBits + 7) / 8
	h.sizeSize = min((log2(h.maxDirect)+7)/8, byteSize(largest))
	return h, nil
}

func isPower(n int64) bool { return n > 0 && n&(n-1) == 0 }

// log2 returns the binary logarithm of a positive number, rounded down.
func log2(n int64) int { return bits.Len64(uint64(n)) - 1 }

// eachInHeap calls visit with every message of a heap. The records of a B-tree hold the ids, after
// `before` bytes.
func (f *file) eachInHeap(heapAddr, treeAddr int64, before int, visit func(*cursor) error) error {
	h, err := f.readHeap(heapAddr)
	if err != nil {
		return err
	}
	t, err := f.readTree2(treeAddr)
	if err != nil {
		return err
	}
	if t.recordSize < before+h.idLength {
		return formatError(-1, "B-tree: records of %d bytes, want at least %d", t.recordSize, before+h.idLength)
	}
	return t.visit(func(record []byte) error {
		c, err := h.get(record[before:][:h.idLength])
		if err != nil {
			return err
		}
		return visit(c)
	})
}

// get returns the message with an id.
func (h *heap) get(id []byte) (*cursor, error) {
	c := &cursor{f: h.f, b: id}
	first := c.u8()
	switch {
	case c.err != nil || first>>6 != 0:
		return nil, formatError(-1, "heap: id %x of a version that is not 0", id)
	case first>>4&3 == 2:
		c = c.substructure(first&15 + 1)
		return c, c.err
	case first>>4&3 != 0:
		return nil, unsupported("a message of more than %d bytes in a fractal heap is not supported", h.maxDirect)
	}
	off, size := c.size(h.offsetSize), c.size(h.sizeSize)
	if c.err != nil {
		return nil, formatError(-1, "heap: id %x, want an offset of %d bytes and a size of %d", id, h.offsetSize, h.sizeSize)
	}
	addr, base, length, err := h.block(off)
	if err != nil {
		return nil, err
	}
	if off-base+size > length {
		return nil, formatError(-1, "heap: a message of %d bytes at %d of a block of %d", size, off-base, length)
	}
	if err := h.verify(addr, length); err != nil {
		return nil, err
	}
	return h.f.cursorAt(addr+off-base, size)
}

// verify verifies the checksum of a direct block, once. The checksum is computed with zeros in its
// own place.
func (h *heap) verify(addr, size int64) error {
	if h.verified[addr] {
		return nil
	}
	c, err := h.f.cursorAt(addr, size)
	if err != nil {
		return err
	}
	c.expect("FHDB")
	c.version("heap block", 0)
	c.skip(h.f.offsetSize + h.offsetSize)
	if h.checked {
		data := slices.Clone(c.b)
		at := c.p
		if want := c.nextBytes(4); c.err == nil {
			clear(data[at : at+4])
			if got, want := lookup3(data), binary.LittleEndian.Uint32(want); got != want {
				c.fail(formatError(c.off, "checksum of FHDB is 0x%08x, want 0x%08x", want, got))
			}
		}
	}
	h.verified[addr] = true
	return c.err
}

// block returns the direct block that contains an offset of the heap, the offset of its first byte,
// and its size.
func (h *heap) block(off int64) (addr, base, size int64, err error) {
	if h.rows == 0 {
		return h.root, 0, h.start, nil
	}
	directRows := log2(h.maxDirect) - log2(h.start) + 2
	addr, rows := h.root, h.rows
	for {
		children, err := h.readAddresses(addr, rows)
		if err != nil {
			return 0, 0, 0, err
		}
		// Rows 0 and 1 have blocks of the smallest size, every later row has blocks of twice the
		// size: so row r begins at the size of its own blocks times the width.
		row, from, size := 0, int64(0), h.start
		if n := (off - base) / (h.start * h.width); n > 0 {
			row = log2(n) + 1
			size = h.start << (row - 1)
			from = size * h.width
		}
		column := (off - base - from) / size
		i := int64(row)*h.width + column
		if i >= int64(len(children)) || children[i] == none {
			return 0, 0, 0, formatError(-1, "heap: there is no block at offset %d", off)
		}
		addr, base = children[i], base+from+column*size
		if row < directRows {
			return addr, base, size, nil
		}
		rows = log2(size) - log2(h.start*h.width) + 1
	}
}

// readAddresses returns the addresses in an indirect block.
func (h *heap) readAddresses(addr int64, rows int) ([]int64, error) {
	if a, ok := h.indirect[addr]; ok {
		return a, nil
	}
	n := int64(rows) * h.width
	head := 4 + 1 + h.f.offsetSize + h.offsetSize
	c, err := h.f.verifiedCursor(addr, int64(head)+n*int64(h.f.offsetSize)+4, "FHIB")
	if err != nil {
		return nil, err
	}
	c.skip(head - 4)
	a := make([]int64, n)
	for i := range a {
		a[i] = c.address()
	}
	h.indirect[addr] = a
	return a, c.err
}
