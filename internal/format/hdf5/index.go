package hdf5

import (
	"cmp"
	"encoding/binary"
	"math"
	"sort"

	"dumptool/internal/tensor"
)

// maxBlock bounds the bytes of a block of an index: several times the size that writers use.
const maxBlock = 4 << 20

// load reads a block of an index. Several goroutines may call it.
func (f *file) load(addr, n int64) (*cursor, error) {
	off, err := f.fileOffset(addr, n)
	if err != nil {
		return nil, err
	}
	if n > maxBlock {
		return nil, formatError(off, "a part of %d bytes of the index of chunks, want at most %d", n, maxBlock)
	}
	b, err := readFull(f.r, off, n)
	return &cursor{f: f, b: b, off: off}, err
}

// block returns a block of an index. check verifies the block unless it is cached.
func (d *decoder) block(f *file, addr, n int64, check func(*cursor) error) (*cursor, error) {
	if b := d.blocks.get(addr); b != nil {
		return &cursor{f: f, b: b, off: f.base + addr}, nil
	}
	c, err := f.load(addr, n)
	if err != nil {
		return nil, err
	}
	if err := check(c); err != nil {
		return nil, err
	}
	d.blocks.put(addr, c.b)
	return &cursor{f: f, b: c.b, off: c.off}, nil
}

// signatureCheck returns a check of the signature and the checksum of a block.
func signatureCheck(signature string) func(*cursor) error {
	return func(c *cursor) error { return c.verify(signature) }
}

// checksumCheck checks the checksum of a block without a signature.
var checksumCheck = signatureCheck("")

// emptyIndex is the index of a dataset without chunks.
type emptyIndex struct{}

func (emptyIndex) find(*decoder, []int64) (chunk, error) { return chunk{addr: none}, nil }

// tree1Index is a version-1 B-tree. The key of a chunk is its size, the filter mask and its first
// element by axis; the key of an inner entry is the key of its first chunk.
type tree1Index struct {
	f     *file
	root  int64
	chunk tensor.Shape
}

func (x *tree1Index) keySize() int { return 8 + 8*(len(x.chunk)+1) }

func (x *tree1Index) find(d *decoder, at []int64) (chunk, error) {
	for addr, level := x.root, none; ; {
		c, err := x.node(d, addr)
		if err != nil {
			return chunk{}, err
		}
		found, n := treeHead(c, 1)
		entry := x.keySize() + x.f.offsetSize
		entries := c.nextBytes(n * entry)
		switch {
		case level != none && found != level:
			c.fail(formatError(c.off, "B-tree: a node of level %d, want %d", found, level))
		case found >= maxLevels:
			c.fail(formatError(c.off, "B-tree: a node of level %d, want less than %d", found, maxLevels))
		}
		if c.err != nil {
			return chunk{}, c.err
		}
		// find the last entry whose key is not after the chunk
		i := sort.Search(n, func(i int) bool { return x.compare(entries[i*entry:], at) > 0 }) - 1
		if i < 0 || found == 0 && x.compare(entries[i*entry:], at) != 0 {
			return chunk{addr: none}, nil
		}
		key := cursor{f: x.f, b: entries[i*entry:][:entry], off: c.off}
		ch := chunk{size: key.size(4), mask: uint32(key.u32())}
		key.skip(x.keySize() - 8)
		if ch.addr = key.address(); found == 0 || key.err != nil || ch.addr == none {
			return ch, key.err
		}
		addr, level = ch.addr, found-1
	}
}

// compare compares the place in a key with a place in the grid.
func (x *tree1Index) compare(key []byte, at []int64) int {
	for j, i := range at {
		if v := cmp.Compare(binary.LittleEndian.Uint64(key[8+8*j:]), uint64(i*x.chunk[j])); v != 0 {
			return v
		}
	}
	return 0
}

// node returns a node and checks that its keys are in order.
func (x *tree1Index) node(d *decoder, addr int64) (*cursor, error) {
	if d.blocks.get(addr) != nil {
		return d.block(x.f, addr, 0, nil)
	}
	size := x.f.treeHeadSize()
	head, err := x.f.load(addr, size)
	if err != nil {
		return nil, err
	}
	_, n := treeHead(head, 1)
	if head.err != nil {
		return nil, head.err
	}
	entry := x.keySize() + x.f.offsetSize
	return d.block(x.f, addr, size+int64(n*entry), func(c *cursor) error {
		entries := c.b[size:]
		at := make([]int64, len(x.chunk))
		for i := range n {
			key := entries[i*entry:]
			if i > 0 && x.compare(key, at) <= 0 {
				return formatError(c.off, "B-tree: the keys of a node of chunks are not in order")
			}
			for j := range at {
				v := binary.LittleEndian.Uint64(key[8+8*j:])
				if v > math.MaxInt64 || int64(v)%x.chunk[j] != 0 {
					return formatError(c.off, "B-tree: a chunk begins at element %d of axis %d, want a multiple of %d", v, j, x.chunk[j])
				}
				at[j] = int64(v) / x.chunk[j]
			}
		}
		return nil
	})
}

// entry is the form of a chunk in all indexes except version-1 B-trees.
type entry struct {
	filtered   bool // with size and mask
	sizeSize   int  // bytes of the size
	chunkBytes int64
}

// bytes returns the size of an entry.
func (e *entry) bytes(f *file) int {
	if e.filtered {
		return f.offsetSize + e.sizeSize + 4
	}
	return f.offsetSize
}

// read parses an entry.
func (e *entry) read(c *cursor) (chunk, error) {
	ch := chunk{addr: c.address(), size: e.chunkBytes}
	if e.filtered {
		ch.size, ch.mask = c.size(e.sizeSize), uint32(c.u32())
	}
	return ch, c.err
}

// tree2Index is a version-2 B-tree whose records end with the place of a chunk.
type tree2Index struct {
	entry
	t *tree2
}

// The types of version-2 B-trees of chunks.
const (
	tree2Plain    = 10
	tree2Filtered = 11
)

func (x *tree2Index) find(d *decoder, at []int64) (chunk, error) {
	t := x.t
	addr, records := t.root, t.rootCount
	if addr == none || records == 0 {
		return chunk{addr: none}, nil
	}
	for depth := t.depth; ; depth-- {
		recs, children, err := x.node(d, addr, depth, records, len(at))
		if err != nil {
			return chunk{}, err
		}
		i := sort.Search(records, func(i int) bool { return x.compare(recs, i, at) >= 0 })
		if i < records && x.compare(recs, i, at) == 0 {
			return x.read(&cursor{f: t.f, b: recs[i*t.recordSize:], off: children.off})
		}
		if depth == 0 {
			return chunk{addr: none}, nil
		}
		children.skip(i * int(t.levels[depth].pointer))
		if addr, records, err = t.child(children, depth); err != nil {
			return chunk{}, err
		}
	}
}

// compare compares the place in a record with a place in the grid.
func (x *tree2Index) compare(recs []byte, i int, at []int64) int {
	place := recs[(i+1)*x.t.recordSize-8*len(at):]
	for j, v := range at {
		if c := cmp.Compare(binary.LittleEndian.Uint64(place[8*j:]), uint64(v)); c != 0 {
			return c
		}
	}
	return 0
}

// node returns the records of a node, checked to be in order, and the part after them.
func (x *tree2Index) node(d *decoder, addr int64, depth, records, rank int) (recs []byte, children *cursor, err error) {
	t := x.t
	c, err := d.block(t.f, addr, t.nodeSize(depth, records), func(c *cursor) error {
		recs, _, err := t.parse(c, depth, records)
		place := make([]int64, rank)
		for i := 0; i < records && err == nil; i++ {
			if i > 0 && x.compare(recs, i, place) <= 0 {
				return formatError(c.off, "B-tree: the records of a node of chunks are not in order")
			}
			last := recs[(i+1)*t.recordSize-8*rank:]
			for j := range place {
				place[j] = int64(binary.LittleEndian.Uint64(last[8*j:]))
			}
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	c.skip(6)
	recs = c.nextBytes(records * t.recordSize)
	return recs, c, c.err
}

// grid numbers the chunks of a dataset.
type grid []int64 // strides by axis

// newGrid numbers the chunks of a dataset in C order, with axis first as the slowest. ok is false
// if there are too many chunks. count is the number of chunks, or, if axis first is unlimited, the
// number per position of that axis.
func newGrid(space *dataspace, chunk tensor.Shape, first int) (g grid, count int64, ok bool) {
	g, count = make(grid, len(chunk)), 1
	for j := len(chunk) - 1; j >= 0; j-- {
		if j != first {
			g[j] = count
			if count, ok = multiply(count, chunkCount(space.max[j], chunk[j])); !ok {
				return nil, 0, false
			}
		}
	}
	g[first] = count
	if space.max[first] != unlimited {
		count, ok = multiply(count, chunkCount(space.max[first], chunk[first]))
		return g, count, ok
	}
	return g, count, true
}

// chunkCount returns the number of chunks of an axis.
func chunkCount(n, chunk int64) int64 { return n/chunk + min(1, n%chunk) }

// chunkNumber returns the number of the chunk at a place; ok is false if it is too large for any index.
func (g grid) chunkNumber(at []int64) (n int64, ok bool) {
	for j, i := range at {
		if i > math.MaxInt64>>2/max(1, g[j]) {
			return 0, false
		}
		if n += i * g[j]; n > math.MaxInt64>>1 {
			return 0, false
		}
	}
	return n, true
}

// implicitIndex is the index of contiguous chunks.
type implicitIndex struct {
	grid
	addr, chunkBytes int64
}

func (x *implicitIndex) find(_ *decoder, at []int64) (chunk, error) {
	n, ok := x.chunkNumber(at)
	off, fits := multiply(n, x.chunkBytes)
	if !ok || !fits || off > math.MaxInt64-x.addr {
		return chunk{}, formatError(-1, "chunk %v is outside the file", at)
	}
	return chunk{addr: x.addr + off, size: x.chunkBytes}, nil
}

// singleIndex is the index of a dataset with one chunk.
type singleIndex chunk

func (x singleIndex) find(*decoder, []int64) (chunk, error) { return chunk(x), nil }

// fixedIndex is an array with an entry for every chunk. A long array consists of pages.
type fixedIndex struct {
	entry
	grid
	f       *file
	entries int64
	page    int64 // entries per page
	addr    int64 // address of the entries
}

// readFixedIndex parses the header of a fixed array.
func (f *file) readFixedIndex(addr int64, e entry, g grid, count int64) (index, error) {
	c, err := f.verifiedCursor(addr, int64(4+1+1+1+1+f.lengthSize+f.offsetSize+4), "FAHD")
	if err != nil {
		return nil, err
	}
	c.version("fixed array", 0)
	x := &fixedIndex{entry: e, grid: g, f: f}
	filtered, size, pageBits := c.u8() == 1, c.u8(), c.u8()
	x.filtered, x.page = filtered, 1<<min(pageBits, 62)
	x.entries, x.addr = c.length(), c.address()
	switch {
	case c.err != nil:
		return nil, c.err
	case size != x.bytes(f):
		return nil, formatError(c.off, "fixed array: entries of %d bytes, want %d", size, x.bytes(f))
	case x.entries != count:
		return nil, formatError(c.off, "fixed array: %d entries, want one for each of %d chunks", x.entries, count)
	case x.addr == none:
		return emptyIndex{}, nil
	}
	return x, nil
}

func (x *fixedIndex) find(d *decoder, at []int64) (chunk, error) {
	n, ok := x.chunkNumber(at)
	if !ok || n >= x.entries {
		return chunk{addr: none}, nil
	}
	size, head := int64(x.bytes(x.f)), int64(4+1+1+x.f.offsetSize)
	if x.entries <= x.page {
		all, ok := multiply(x.entries, size)
		if !ok {
			return chunk{}, formatError(-1, "fixed array of %d entries", x.entries)
		}
		c, err := d.block(x.f, x.addr, head+all+4, signatureCheck("FADB"))
		if err != nil {
			return chunk{}, err
		}
		c.skip(int(head + n*size))
		return x.read(c)
	}
	pages := chunkCount(x.entries, x.page)
	head += chunkCount(pages, 8)
	c, err := d.block(x.f, x.addr, head+4, signatureCheck("FADB"))
	if err != nil {
		return chunk{}, err
	}
	page, i := n/x.page, n%x.page
	if bitmap := c.b[4+1+1+x.f.offsetSize:]; bitmap[page/8]&(0x80>>(page%8)) == 0 {
		return chunk{addr: none}, nil
	}
	off, ok := multiply(page, x.page*size+4)
	if !ok {
		return chunk{}, formatError(-1, "fixed array of %d entries", x.entries)
	}
	length := min(x.page, x.entries-page*x.page)
	if c, err = d.block(x.f, x.addr+head+4+off, length*size+4, checksumCheck); err != nil {
		return chunk{}, err
	}
	c.skip(int(i * size))
	return x.read(c)
}

// extensibleIndex is a growing array: its first entries are in the index block, the others in data
// blocks. Each super block holds twice as many entries as the one before. The first super blocks
// are part of the index block.
type extensibleIndex struct {
	entry
	grid
	f          *file
	bits       int   // bits of the maximum number of entries
	inIndex    int64 // entries in the index block
	minBlock   int64 // entries of the smallest data block
	minPointer int64 // minimum data blocks of a super block
	page       int64 // entries per page
	entries    int64 // number of entries up to the last written one
	addr       int64 // address of the index block
}

// readExtensibleIndex parses the header of an extensible array.
func (f *file) readExtensibleIndex(addr int64, e entry, g grid) (index, error) {
	c, err := f.verifiedCursor(addr, int64(12+6*f.lengthSize+f.offsetSize+4), "EAHD")
	if err != nil {
		return nil, err
	}
	c.version("extensible array", 0)
	x := &extensibleIndex{entry: e, grid: g, f: f}
	filtered, size := c.u8() == 1, c.u8()
	x.filtered = filtered
	x.bits, x.inIndex, x.minBlock, x.minPointer = c.u8(), int64(c.u8()), int64(c.u8()), int64(c.u8())
	x.page = 1 << min(c.u8(), 62)
	c.skip(4 * f.lengthSize)
	x.entries = c.length()
	c.length()
	x.addr = c.address()
	switch {
	case c.err != nil:
		return nil, c.err
	case size != x.bytes(f):
		return nil, formatError(c.off, "extensible array: entries of %d bytes, want %d", size, x.bytes(f))
	case !isPower(x.minBlock) || !isPower(x.minPointer) || x.bits > 64 || log2(x.minBlock) > x.bits || x.superBlocks() < 2*log2(x.minPointer):
		return nil, formatError(c.off, "extensible array: 2^%d entries in blocks of %d, %d of them or more", x.bits, x.minBlock, x.minPointer)
	case x.addr == none:
		return emptyIndex{}, nil
	}
	return x, nil
}

func (x *extensibleIndex) superBlocks() int { return 1 + x.bits - log2(x.minBlock) }

func (x *extensibleIndex) find(d *decoder, at []int64) (chunk, error) {
	missing := chunk{addr: none}
	n, ok := x.chunkNumber(at)
	if !ok || n >= x.entries {
		return missing, nil
	}
	f, size := x.f, int64(x.bytes(x.f))
	inside := 2 * log2(x.minPointer) // super blocks in the index block
	direct := int(2 * (x.minPointer - 1))
	o := int64(f.offsetSize)
	c, err := d.block(f, x.addr, 6+o+x.inIndex*size+int64(direct+x.superBlocks()-inside)*o+4, signatureCheck("EAIB"))
	if err != nil {
		return chunk{}, err
	}
	c.skip(6 + f.offsetSize)
	if n < x.inIndex {
		c.skip(int(n * size))
		return x.read(c)
	}
	c.skip(int(x.inIndex * size))
	n -= x.inIndex
	// Super block u holds 2^u times the entries of the smallest data block.
	u := log2(n/x.minBlock + 1)
	n -= x.minBlock * (1<<u - 1)
	length := x.minBlock << ((u + 1) / 2) // entries of a data block
	block, i := n/length, n%length
	blocks := int64(1) << (u / 2)
	if u >= x.superBlocks() {
		return missing, nil
	}
	if u < inside {
		before := 0 // data blocks of the earlier super blocks
		for v := range u {
			before += 1 << (v / 2)
		}
		c.skip((before + int(block)) * f.offsetSize)
		return x.blockEntry(d, c.address(), length, i, nil)
	}
	c.skip((direct + u - inside) * f.offsetSize)
	super := c.address()
	if c.err != nil || super == none {
		return missing, c.err
	}
	var bitmap int64 // bytes of the page bitmap of a data block
	if length > x.page {
		bitmap = chunkCount(length/x.page, 8)
	}
	head := 6 + o + int64(x.bits+7)/8
	if c, err = d.block(f, super, head+blocks*(bitmap+o)+4, signatureCheck("EASB")); err != nil {
		return chunk{}, err
	}
	c.skip(int(head))
	pages := c.nextBytes(int(blocks * bitmap))
	c.skip(int(block) * f.offsetSize)
	addr := c.address()
	if c.err != nil {
		return chunk{}, c.err
	}
	return x.blockEntry(d, addr, length, i, pages[block*bitmap:][:bitmap])
}

// blockEntry returns entry i of a data block. pages has a bit for every page that exists; nil means
// all.
func (x *extensibleIndex) blockEntry(d *decoder, addr, length, i int64, pages []byte) (chunk, error) {
	if addr == none {
		return chunk{addr: none}, nil
	}
	size := int64(x.bytes(x.f))
	head := 6 + int64(x.f.offsetSize) + int64(x.bits+7)/8
	if length <= x.page {
		c, err := d.block(x.f, addr, head+length*size+4, signatureCheck("EADB"))
		if err != nil {
			return chunk{}, err
		}
		c.skip(int(head + i*size))
		return x.read(c)
	}
	page := i / x.page
	if len(pages) > 0 && pages[page/8]&(0x80>>(page%8)) == 0 {
		return chunk{addr: none}, nil
	}
	if _, err := d.block(x.f, addr, head+4, signatureCheck("EADB")); err != nil {
		return chunk{}, err
	}
	c, err := d.block(x.f, addr+head+4+page*(x.page*size+4), x.page*size+4, checksumCheck)
	if err != nil {
		return chunk{}, err
	}
	c.skip(int(i % x.page * size))
	return x.read(c)
}
