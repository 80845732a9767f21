package hdf5

import (
	"bytes"
	"io"
	"math"
	"slices"
	"sync"

	"dumptool/internal/format"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

const (
	// maxChunk bounds the bytes of a chunk without filters.
	maxChunk = 64 << 20
	// decoderMemory is the approximate memory for decoding the chunks of a file, in bytes.
	decoderMemory = 40 << 20
	// goodWindow is the size of a window of small chunks, in bytes.
	goodWindow = 1 << 20
)

// chunkedDataset reads the stored bytes of a dataset in chunks, in C order.
//
// It decodes one window at a time: a range of positions of one axis with all its inner axes, at one
// position of the outer axes. If memory suffices, windows end at borders of chunks, so that a
// sequential read decodes each chunk once.
type chunkedDataset struct {
	f          *file
	shape      tensor.Shape
	chunk      tensor.Shape // shape of a chunk; chunks at the edge are stored whole
	unit       int64        // bytes of an element
	chunkBytes int64
	size       int64 // bytes of all elements
	filters    []filter
	plainEdges bool // chunks that reach beyond the shape have no filters
	fill       repeatedValue
	index      index

	axis, step            int64 // the axis of windows, and its positions in a window
	strides, chunkStrides []int64
	// whole is the first axis whose inner axes every chunk spans.
	whole int64
}

// index finds chunks.
type index interface {
	// find returns the chunk at a place in the grid of chunks, mostly called in C order.
	find(d *decoder, at []int64) (chunk, error)
}

// chunk is a stored chunk.
type chunk struct {
	addr int64 // none if the chunk was never written
	size int64
	mask uint32 // bits of filters that were skipped
}

// chooseWindows chooses the windows. The limit of a window is the available memory minus one chunk,
// and at least a fifth of that memory. The dataset must not be empty.
func (c *chunkedDataset) chooseWindows(memory int64) {
	c.chunkBytes = c.chunk.Elements() * c.unit
	c.strides, c.chunkStrides = c.shape.Strides(), c.chunk.Strides()
	limit := max(memory-c.chunkBytes, memory/5)
	for c.innerBytes(c.axis) > limit && c.axis < int64(len(c.shape))-1 {
		c.axis++
	}
	inner := max(1, c.innerBytes(c.axis))
	if slab, ok := multiply(c.chunk[c.axis], inner); ok && slab <= limit {
		c.step = c.chunk[c.axis] * max(1, min(limit, goodWindow)/slab)
	} else {
		c.step = max(1, limit/inner)
	}
	c.whole = int64(len(c.shape)) - 1
	for c.whole > 0 && c.chunk[c.whole] == c.shape[c.whole] {
		c.whole--
	}
}

// decodedBytes estimates the bytes decoded for all elements: all chunks, and 4096 bytes of overhead
// for each.
func (c *chunkedDataset) decodedBytes() int64 {
	n := c.chunkBytes + 4096
	for j := range c.shape {
		var ok bool
		if n, ok = multiply(n, chunkCount(c.shape[j], c.chunk[j])); !ok {
			return math.MaxInt64
		}
	}
	return n
}

// unwritten counts the elements in chunks that were never written. places counts the chunks looked
// up in the file so far. A broken index ends the count without an error: reading reports it.
func (c *chunkedDataset) unwritten(places *int64) (n int64) {
	if _, none := c.index.(emptyIndex); none {
		return c.shape.Elements()
	}
	d := c.f.decoders.take(c)
	defer c.f.decoders.put(d)
	end := make([]int64, len(c.shape))
	for j := range end {
		end[j] = chunkCount(c.shape[j], c.chunk[j])
	}
	_ = eachPlace(make([]int64, len(end)), end, func(place []int64) error {
		if *places == maxPlaces {
			return io.EOF
		}
		*places++
		ch, err := c.index.find(d, place)
		if err == nil && ch.addr == none {
			elements := int64(1)
			for j, at := range place {
				elements *= min(c.chunk[j], c.shape[j]-at*c.chunk[j])
			}
			n += elements
		}
		return err
	})
	return n
}

// innerBytes returns the bytes of one position of an axis.
func (c *chunkedDataset) innerBytes(axis int64) int64 { return c.shape[axis+1:].Elements() * c.unit }

// ReadAt reads stored bytes. Several goroutines may call it.
func (c *chunkedDataset) ReadAt(p []byte, off int64) (int, error) {
	d := c.f.decoders.take(c)
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at >= c.size {
			break
		}
		if at < d.start || at >= d.start+int64(len(d.window)) {
			if err := c.decode(d, at); err != nil {
				d.window = d.window[:0]
				c.f.decoders.put(d)
				return n, err
			}
		}
		n += copy(p[n:], d.window[at-d.start:])
	}
	if off+int64(n) < c.size {
		c.f.decoders.put(d) // after the last byte the memory is not needed
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// decode decodes the window that contains a byte.
func (c *chunkedDataset) decode(d *decoder, at int64) error {
	lo, hi := make([]int64, len(c.shape)), slices.Clone(c.shape)
	index := c.shape.Coordinates(at / c.unit)
	for j := range c.axis {
		lo[j], hi[j] = index[j], index[j]+1
	}
	lo[c.axis] = index[c.axis] / c.step * c.step
	hi[c.axis] = min(lo[c.axis]+c.step, c.shape[c.axis])
	d.start = 0
	for j, stride := range c.strides {
		d.start += lo[j] * stride * c.unit
	}
	size := int((hi[c.axis] - lo[c.axis]) * c.innerBytes(c.axis))
	d.window = slices.Grow(d.window[:0], size)[:size]

	first, end := make([]int64, len(lo)), make([]int64, len(lo)) // in the grid of chunks
	for j := range lo {
		first[j], end[j] = lo[j]/c.chunk[j], (hi[j]-1)/c.chunk[j]+1
	}
	return eachPlace(first, end, func(place []int64) error {
		b := c.boxOf(place, lo, hi)
		ch, err := c.index.find(d, place)
		if err != nil {
			return err
		}
		if ch.addr == none {
			b.eachRun(func(_, to, n int64) { c.fill.fill(d.window[to*c.unit:][:n*c.unit], 0) })
			return nil
		}
		if err := c.load(d, &ch, place); err != nil {
			return lang.Errorf("chunk %v: %w", place, err)
		}
		b.eachRun(func(from, to, n int64) {
			if dst := d.window[to*c.unit:][:n*c.unit]; d.shuffled {
				unshuffle(dst, d.plain, int(from), int(c.chunkBytes/c.unit), int(c.unit))
			} else {
				copy(dst, d.plain[from*c.unit:])
			}
		})
		return nil
	})
}

// load decodes a chunk into d.plain, unless it is already decoded.
func (c *chunkedDataset) load(d *decoder, ch *chunk, place []int64) error {
	if d.plain != nil && d.loaded == ch.addr {
		return nil
	}
	filters := c.filters
	if c.plainEdges {
		for j, at := range place {
			if (at+1)*c.chunk[j] > c.shape[j] {
				filters = nil
			}
		}
	}
	off, err := c.f.fileOffset(ch.addr, ch.size)
	if err != nil {
		return err
	}
	if limit := 2*c.chunkBytes + 4096; ch.size > limit {
		return formatError(off, "the data of a chunk has %d bytes, want at most %d", ch.size, limit)
	}
	d.plain = nil
	d.in = slices.Grow(d.in[:0], int(ch.size))[:ch.size]
	if err := format.ReadFull(c.f.r, d.in, off); err != nil {
		return err
	}
	d.plain, d.shuffled, err = d.undoFilters(d.in, filters, ch.mask, c.chunkBytes, c.unit)
	d.loaded = ch.addr
	return err
}

// chunkBox is the part of a chunk that lies in a window.
type chunkBox struct {
	// lo and hi are the positions of the outer axes; like the axis of the runs they count in the
	// whole array.
	lo, hi []int64
	// from and to are the first element in the chunk and in the window, run the number of elements
	// that are contiguous in both.
	from, to, run int64
	// fromStrides and toStrides are the strides of the outer axes.
	fromStrides, toStrides []int64
}

// boxOf returns the part of the chunk at a place that lies in the window of positions lo to hi.
func (c *chunkedDataset) boxOf(place, lo, hi []int64) *chunkBox {
	axis := max(c.whole, c.axis) // runs along this axis are contiguous on both sides
	b := &chunkBox{lo: make([]int64, axis+1), hi: make([]int64, axis+1), fromStrides: c.chunkStrides, toStrides: c.strides}
	for j := range b.lo {
		start := place[j] * c.chunk[j]
		b.lo[j], b.hi[j] = max(lo[j], start), min(hi[j], start+c.chunk[j])
		b.from += (b.lo[j] - start) * b.fromStrides[j]
		b.to += (b.lo[j] - lo[j]) * b.toStrides[j]
	}
	b.run = (b.hi[axis] - b.lo[axis]) * b.toStrides[axis]
	b.lo, b.hi = b.lo[:axis], b.hi[:axis]
	return b
}

// eachRun calls copy for every run with its first element in the chunk, its first element in the
// window and its length.
func (b *chunkBox) eachRun(copy func(from, to, n int64)) {
	_ = eachPlace(b.lo, b.hi, func(at []int64) error {
		from, to := b.from, b.to
		for j, x := range at {
			from += (x - b.lo[j]) * b.fromStrides[j]
			to += (x - b.lo[j]) * b.toStrides[j]
		}
		copy(from, to, b.run)
		return nil
	})
}

// eachPlace calls f with every place from first to before end, the last axis fastest. The place is
// valid during the call only.
func eachPlace(first, end []int64, f func(at []int64) error) error {
	at := slices.Clone(first)
	for {
		if err := f(at); err != nil {
			return err
		}
		j := len(at) - 1
		for ; j >= 0; j-- {
			if at[j]++; at[j] < end[j] {
				break
			}
			at[j] = first[j]
		}
		if j < 0 {
			return nil
		}
	}
}

// decoder is the memory for decoding chunks.
type decoder struct {
	of     *chunkedDataset
	window []byte // bytes from start on
	start  int64

	plain    []byte // the chunk at address loaded, nil for none
	loaded   int64
	shuffled bool
	// in is the input of a filter, out its output.
	in, out  []byte
	deflated bytes.Reader
	inflater resetReader

	blocks blocks
}

// swap makes the output of a filter the input of the next filter.
func (d *decoder) swap() { d.in, d.out = d.out, d.in }

// memorySize returns the bytes that a decoder keeps.
func (d *decoder) memorySize() int {
	n := cap(d.window) + cap(d.in) + cap(d.out)
	for i := range d.blocks {
		n += len(d.blocks[i].data)
	}
	return n
}

// decoders keeps the decoders of readers that have not read their last byte.
type decoders struct {
	mu   sync.Mutex
	free []*decoder // least recently used first
}

// take returns the last decoder of c, or a new one.
func (p *decoders) take(c *chunkedDataset) *decoder {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, d := range p.free {
		if d.of == c {
			p.free = slices.Delete(p.free, i, i+1)
			return d
		}
	}
	return &decoder{of: c}
}

// put keeps a decoder, and drops the least recently used ones beyond decoderMemory.
func (p *decoders) put(d *decoder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, d)
	sum := 0
	for i, d := range slices.Backward(p.free) {
		if sum += d.memorySize(); sum > decoderMemory && i < len(p.free)-1 {
			p.free = slices.Delete(p.free, 0, i+1)
			return
		}
	}
}

// blocks caches the last used parts of an index: enough for the path to a chunk.
type blocks [maxLevels]struct {
	addr int64
	data []byte
}

// get returns the block at an address, nil if not cached.
func (b *blocks) get(addr int64) []byte {
	for i := range b {
		if b[i].data != nil && b[i].addr == addr {
			return b[i].data
		}
	}
	return nil
}

// put adds a block and drops the oldest one.
func (b *blocks) put(addr int64, data []byte) {
	copy(b[1:], b[:len(b)-1])
	b[0].addr, b[0].data = addr, data
}

// repeatedValue is data that repeats one value.
type repeatedValue struct {
	value []byte // nil for zeros
	size  int64
}

// ReadAt reads the values.
func (v repeatedValue) ReadAt(p []byte, off int64) (int, error) {
	n := int(max(0, min(int64(len(p)), v.size-off)))
	v.fill(p[:n], off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// fill fills p with the bytes from off on.
func (v repeatedValue) fill(p []byte, off int64) {
	if v.value == nil {
		clear(p)
		return
	}
	n := copy(p, v.value[off%int64(len(v.value)):])
	if off%int64(len(v.value)) != 0 {
		n += copy(p[n:], v.value)
	}
	unit := len(v.value)
	for start := max(0, n-unit); n < len(p); {
		n += copy(p[n:], p[start:n])
	}
}
