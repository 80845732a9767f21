package hdf5

import (
	"io"

	"dumptool/internal/format"
	"dumptool/internal/tensor"
)

// dataset is a dataset as its object header describes it.
type dataset struct {
	elementType
	space           *dataspace
	attrs           []attribute
	shownAttributes []format.Attr // attrs in the form of format.Attr, made on demand
	// datatype is the encoded datatype; nil unless the dataset is to be copied.
	datatype []byte
	// stored reads the stored elements, size bytes in total.
	stored io.ReaderAt
	size   int64
	// unwritten is the number of elements that were never written. They read as fill, nil for
	// zeros.
	unwritten int64
	fill      []byte
}

// isDataset reports whether an object is a dataset, not a group or datatype.
func (o *objectHeader) isDataset() bool {
	return o.firstMessage(msgLayout) != nil || o.firstMessage(msgDatatype) != nil && o.firstMessage(msgDataspace) != nil
}

// readDataset parses the object header of a dataset. With an error it returns the parts parsed before.
func (f *file) readDataset(o *objectHeader) (*dataset, error) {
	d := &dataset{}
	if err := d.describe(f, o); err != nil {
		return d, err
	}
	if d.problem != nil && (f.keep == nil || d.refersElsewhere()) {
		return d, d.problem
	}
	return d, d.findData(f, o)
}

// describe reads the type, the shape and the attributes.
func (d *dataset) describe(f *file, o *objectHeader) (err error) {
	if d.attrs, err = f.readAttributes(o); err != nil {
		return err
	}
	c, err := f.requireMessage(o, msgDataspace, "dataspace")
	if err != nil {
		return err
	}
	if d.space, err = c.readDataspace(); err != nil {
		return err
	}
	if c, err = f.requireMessage(o, msgDatatype, "datatype"); err != nil {
		return err
	}
	if f.keep != nil {
		d.datatype = c.b
	}
	if d.elementType, err = c.readDatatype(); err != nil {
		return err
	}
	d.size, err = d.space.bytes(&d.elementType)
	return err
}

// requireMessage returns the data of a message that every dataset must have.
func (f *file) requireMessage(o *objectHeader, kind int, name string) (*cursor, error) {
	m := o.firstMessage(kind)
	if m == nil {
		return nil, formatError(-1, "the dataset at address 0x%x has no %s", o.addr, name)
	}
	return f.parse(m)
}

// Classes of storage.
const (
	storedInHeader   = 0
	storedInOnePiece = 1
	storedInChunks   = 2
)

// findData finds the data.
func (d *dataset) findData(f *file, o *objectHeader) error {
	c, err := f.requireMessage(o, msgLayout, "layout of its data")
	if err != nil {
		return err
	}
	if o.firstMessage(msgExternal) != nil {
		return unsupported("data in other files is not supported; rewrite the dataset with h5repack")
	}
	value, err := f.fillValue(o, d.elementType.size)
	if err != nil {
		return err
	}
	d.fill = value
	l := &dataLocator{d: d, f: f, o: o, c: c, empty: repeatedValue{value, d.size}}
	at, version := c.offset(), c.u8()
	switch version {
	case 1, 2:
		return l.parseOldVersions()
	case 3, 4, 5:
		return l.parseNewVersions(version)
	}
	return formatError(at, "layout version %d, want 1 to 5", version)
}

// dataLocator finds the data of a dataset by its layout message.
type dataLocator struct {
	d     *dataset
	f     *file
	o     *objectHeader
	c     *cursor
	empty repeatedValue // the data if nothing was written
}

// parseOldVersions parses versions 1 and 2 after the version number.
func (l *dataLocator) parseOldVersions() error {
	c := l.c
	rank, class := c.u8(), c.u8()
	c.skip(5)
	addr := int64(none)
	if class != storedInHeader {
		addr = c.address()
	}
	dims := make(tensor.Shape, rank)
	for i := range dims {
		dims[i] = c.size(4)
	}
	switch class {
	case storedInHeader:
		return l.setHeaderData(c.size(4))
	case storedInOnePiece:
		return l.setContiguousData(addr, l.d.size)
	case storedInChunks:
		return l.setChunkedData(dims, func(*chunkedDataset) (index, error) { return l.newTree1Index(addr, dims) })
	}
	return l.unknownVersion(class)
}

// parseNewVersions parses version 3 and later, after the version number.
func (l *dataLocator) parseNewVersions(version int) error {
	c := l.c
	switch class := c.u8(); class {
	case storedInHeader:
		return l.setHeaderData(int64(c.u16()))
	case storedInOnePiece:
		return l.setContiguousData(c.address(), c.length())
	case storedInChunks:
		if version == 3 {
			rank, addr := c.u8(), c.address()
			dims := l.readDimensions(rank, 4)
			return l.setChunkedData(dims, func(*chunkedDataset) (index, error) { return l.newTree1Index(addr, dims) })
		}
		return l.parseNewChunks(version)
	default:
		return l.unknownVersion(class)
	}
}

func (l *dataLocator) unknownVersion(class int) error {
	if l.c.err != nil {
		return l.c.err
	}
	name := "unknown"
	if class == 3 {
		name = "virtual"
	}
	return unsupported("data of layout %d (%s) is not supported; rewrite the dataset with h5repack", class, name)
}

// setHeaderData makes the next n bytes of the message the data.
func (l *dataLocator) setHeaderData(n int64) error {
	off := l.c.offset()
	l.c.nextBytes(int(min(n, maxBlock)))
	return l.setSection(off, n)
}

// setContiguousData makes n bytes at an address the data.
func (l *dataLocator) setContiguousData(addr, n int64) error {
	switch {
	case l.c.err != nil:
		return l.c.err
	case addr == none || l.d.size == 0:
		return l.setUnwritten()
	}
	off, err := l.f.fileOffset(addr, l.d.size)
	if err != nil {
		return formatError(-1, "data of %d bytes at address 0x%x is outside the file of %d bytes", l.d.size, addr, l.f.size)
	}
	return l.setSection(off, n)
}

// setSection makes n bytes of the file the data.
func (l *dataLocator) setSection(off, n int64) error {
	switch {
	case l.c.err != nil:
		return l.c.err
	case n < l.d.size:
		return formatError(off, "data has %d bytes, want %d", n, l.d.size)
	}
	l.d.stored = io.NewSectionReader(l.f.r, off, l.d.size)
	return nil
}

const (
	// maxRatio is the maximum ratio of the data size to the file size: deflate compresses to 1/1032
	// at best.
	maxRatio = 1100
	// maxUnwritten is the data size that is allowed whatever the size of the file, in bytes.
	maxUnwritten = 1 << 30
)

// checkProportion rejects data that is too large for the file.
func (l *dataLocator) checkProportion() error {
	if l.d.size > maxUnwritten && l.d.size/maxRatio > l.f.size {
		return formatError(-1, "data of %d bytes in a file of %d bytes", l.d.size, l.f.size)
	}
	return nil
}

// setUnwritten makes the fill value the data of a dataset without any written element.
func (l *dataLocator) setUnwritten() error {
	l.d.stored, l.d.unwritten = l.empty, l.d.size/int64(max(1, l.d.elementType.size))
	return l.checkProportion()
}

// readDimensions parses the dimensions of chunks, of n bytes each. The last one is the size of an
// element.
func (l *dataLocator) readDimensions(rank, n int) tensor.Shape {
	if rank > maxRank+1 {
		l.c.fail(formatError(l.c.offset(), "chunks of rank %d, want at most %d", rank-1, maxRank))
		return nil
	}
	dims := make(tensor.Shape, rank)
	for i := range dims {
		dims[i] = l.c.size(n)
	}
	return dims
}

// setChunkedData makes chunks of these dimensions the data. find reads their index.
func (l *dataLocator) setChunkedData(dims tensor.Shape, find func(*chunkedDataset) (index, error)) error {
	shape := l.d.space.shape
	switch {
	case l.c.err != nil:
		return l.c.err
	case len(dims) != len(shape)+1 || len(shape) == 0:
		return formatError(l.c.offset(), "chunks of rank %d, want %d", len(dims)-1, len(shape))
	case l.d.size == 0:
		return l.setUnwritten()
	}
	unit := int64(l.d.elementType.size)
	x := &chunkedDataset{f: l.f, shape: shape, chunk: dims[:len(shape)], unit: unit, size: l.d.size, fill: l.empty}
	n, ok := x.chunk.Count()
	if ok {
		n, ok = multiply(n, unit)
	}
	switch {
	case n == 0:
		return formatError(l.c.offset(), "chunks of shape %v", x.chunk)
	case !ok || n > maxChunk:
		return unsupported("chunks of shape %v with %d bytes an element, more than %d MiB, are not supported; rewrite the dataset with h5repack",
			x.chunk, unit, maxChunk>>20)
	}
	x.chooseWindows(decoderMemory)
	if m := l.o.firstMessage(msgFilters); m != nil {
		c, err := l.f.parse(m)
		if err != nil {
			return err
		}
		if x.filters, err = c.readFilters(); err != nil {
			return err
		}
	}
	if err := l.checkProportion(); err != nil {
		return err
	}
	var err error
	if x.index, err = find(x); err != nil {
		return err
	}
	l.d.stored, l.d.unwritten = x, x.unwritten(&l.f.places)
	// An error in small data is an error of opening, not only of reading.
	if l.f.eager += min(x.decodedBytes(), maxEager+1); l.f.eager <= maxEager {
		_, err = io.Copy(io.Discard, io.NewSectionReader(x, 0, l.d.size))
	}
	return err
}

// maxEager is the number of bytes in chunks that are read when a file is opened, including parts of
// chunks beyond the shape.
const maxEager = 4 << 20

// maxPlaces is the number of chunks that are looked up when a file is opened, to count the elements
// that were never written: half a second. Further chunks are not counted.
const maxPlaces = 1 << 20

// newTree1Index returns the index of layout versions 1 to 3.
func (l *dataLocator) newTree1Index(addr int64, dims tensor.Shape) (index, error) {
	if addr == none {
		return emptyIndex{}, nil
	}
	return &tree1Index{l.f, addr, dims[:len(dims)-1]}, nil
}

// Types of chunk indexes in versions 4 and 5.
const (
	indexSingle     = 1
	indexImplicit   = 2
	indexFixed      = 3
	indexExtensible = 4
	indexTree2      = 5
)

// indexParameters are the bytes of an index's parameters that its header repeats.
var indexParameters = map[int]int{indexFixed: 1, indexExtensible: 5, indexTree2: 6}

// parseNewChunks parses versions 4 and 5 of chunked layouts.
func (l *dataLocator) parseNewChunks(version int) error {
	c := l.c
	at, flags, rank, width := c.offset(), c.u8(), c.u8(), c.u8()
	if width < 1 || width > 8 {
		return formatError(at, "dimensions of chunks in %d bytes, want 1 to 8", width)
	}
	dims := l.readDimensions(rank, width)
	at = c.offset()
	kind := c.u8()
	single := singleIndex{size: none}
	if kind == indexSingle && flags&2 != 0 {
		single.size, single.mask = c.length(), uint32(c.u32())
	}
	c.skip(indexParameters[kind])
	addr := c.address()
	return l.setChunkedData(dims, func(x *chunkedDataset) (index, error) {
		x.plainEdges = flags&1 != 0
		if addr == none {
			return emptyIndex{}, nil
		}
		e := entry{chunkBytes: x.chunkBytes, sizeSize: min(8, 1+(log2(x.chunkBytes)+8)/8)}
		if version == 5 {
			e.sizeSize = l.f.lengthSize
		}
		switch kind {
		case indexSingle:
			single.addr = addr
			if single.size == none {
				single.size = x.chunkBytes
			}
			return single, nil
		case indexTree2:
			return l.newTree2Index(addr, e)
		case indexImplicit, indexFixed, indexExtensible:
			return l.readArrayIndex(kind, addr, e, x)
		}
		return nil, formatError(at, "index of chunks of type %d, want 1 to 5", kind)
	})
}

func (l *dataLocator) newTree2Index(addr int64, e entry) (index, error) {
	t, err := l.f.readTree2(addr)
	if err != nil {
		return nil, err
	}
	e.filtered = t.kind == tree2Filtered
	want := e.bytes(l.f) + 8*len(l.d.space.shape)
	if !e.filtered && t.kind != tree2Plain || t.recordSize != want {
		return nil, formatError(-1, "B-tree of chunks of type %d with records of %d bytes, want %d", t.kind, t.recordSize, want)
	}
	return &tree2Index{e, t}, nil
}

// readArrayIndex reads an index that numbers the chunks.
func (l *dataLocator) readArrayIndex(kind int, addr int64, e entry, x *chunkedDataset) (index, error) {
	first, open := 0, 0
	for j, n := range l.d.space.max {
		if n == unlimited {
			first = j
			open++
		}
		if n != unlimited && n < x.shape[j] {
			return nil, formatError(-1, "dataspace: dimension %d is %d, at most %d", j, x.shape[j], n)
		}
	}
	if want := kind == indexExtensible; want && open != 1 || !want && open != 0 {
		return nil, formatError(-1, "index of chunks of type %d for %d axes without a limit", kind, open)
	}
	g, count, ok := newGrid(l.d.space, x.chunk, first)
	switch {
	case !ok:
		return nil, formatError(-1, "the chunks of shape %v are too many", x.chunk)
	case kind == indexImplicit:
		return &implicitIndex{g, addr, x.chunkBytes}, nil
	case kind == indexFixed:
		return l.f.readFixedIndex(addr, e, g, count)
	}
	return l.f.readExtensibleIndex(addr, e, g)
}

// fillValue returns the fill value of elements that were never written, nil for zeros.
func (f *file) fillValue(o *objectHeader, size int) ([]byte, error) {
	m := o.firstMessage(msgFill)
	if m == nil {
		m = o.firstMessage(msgOldFill)
	}
	if m == nil {
		return nil, nil
	}
	c, err := f.parse(m)
	if err != nil {
		return nil, err
	}
	defined := true
	if m.kind == msgFill {
		if version := c.u8(); version < 3 {
			c.skip(2)
			defined = c.u8() != 0
		} else {
			defined = c.u8()&0x20 != 0
		}
	}
	if !defined {
		return nil, c.err
	}
	n := c.size(4)
	if n != int64(size) || c.err != nil {
		return nil, c.err
	}
	value := append([]byte(nil), c.nextBytes(size)...)
	return value, c.err
}
