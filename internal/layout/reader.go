package layout

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"dumptool/internal/lang"
)

// Reader reads the elements of a plan's result by position, in the C order of its shape, without
// computing the rest. It is a Source for one goroutine. Its Buffers grow to about BufferBytes for
// each step of the plan.
//
// Neighbours in the result lie scattered in the source, and a few channels of a block cost as much
// reading as the whole block. So consecutive reads are served from a window, a larger range that
// ends at the end of blocks. Any other read gathers its own elements only.
type Reader struct {
	loader
	m        *Map  // nil if the result is the stored elements
	toDevice bool  // the result is the device buffer of m, not its host array
	order    []int // the axes of m, innermost first
	strides  []int64
	count    int64 // elements of the result
	stored   int64 // elements of the source
	windows  windows

	next, end int64  // expected begin of the next read, and end of all reads
	window    []byte // the elements from start on, in the buffer for output
	start     int64
}

// Reader returns a reader of the plan's result, from stored elements of unit bytes in src. It
// reads src if only the data shows the layout (holdsColumn). buf must not be shared with
// another Reader.
func (p *Plan) Reader(src Source, unit int, buf *Buffers) (*Reader, error) {
	if unit < 1 {
		return nil, lang.Errorf("elements have %d bytes, want at least 1", unit)
	}
	if p.Copies() {
		return newReader(src, unit, buf, p.Shape.Elements()), nil
	}
	var r *Reader
	for _, s := range p.steps {
		if r != nil {
			src, buf = r, buf.forNext()
		}
		m, err := s.chooseMap(src, unit)
		if err != nil {
			return nil, err
		}
		r = newStepReader(m, s.toDevice, src, unit, buf)
	}
	return r, nil
}

func newReader(src Source, unit int, buf *Buffers, count int64) *Reader {
	r := &Reader{loader: loader{src: src, unit: int64(unit), buf: buf, sizes: buf.limits()}, count: count}
	r.Expect(0, r.count)
	return r
}

func newStepReader(m *Map, toDevice bool, src Source, unit int, buf *Buffers) *Reader {
	host, device := m.elements(), m.Device.Elements()
	if toDevice {
		host, device = device, host
	}
	r := newReader(src, unit, buf, host)
	r.m, r.toDevice, r.stored = m, toDevice, device
	r.order, r.strides = m.hostOrder(), m.strides()
	if toDevice {
		r.windows = windows{size: r.count, stride: 1, step: max(1, r.sizes.maxTile/r.unit)}
	} else {
		r.windows = m.chooseWindows(r.order, r.unit, r.sizes)
	}
	return r
}

// Expect announces that the elements [first, end) are read next, in order: the first read fills
// a window, and no window goes beyond end. A new Reader expects all elements.
func (r *Reader) Expect(first, end int64) { r.next, r.end = first, min(end, r.count) }

// ReadElements fills dst with the elements from first on.
func (r *Reader) ReadElements(dst []byte, first int64) error {
	n := int64(len(dst)) / r.unit
	switch {
	case int64(len(dst))%r.unit != 0:
		return lang.Errorf("read of %d bytes, want a multiple of %d", len(dst), r.unit)
	case first < 0 || first > r.count || n > r.count-first:
		return lang.Errorf("read of %d elements from element %d on, there are %d", n, first, r.count)
	case r.m == nil:
		return r.src.ReadElements(dst, first)
	}
	ahead := first == r.next
	r.next = first + n
	for len(dst) > 0 {
		have := r.copyFromWindow(dst, first)
		if have == 0 {
			var err error
			if have, err = r.read(dst, first, ahead); err != nil {
				return err
			}
		}
		dst, first = dst[have*r.unit:], first+have
	}
	return nil
}

// Elements returns the elements from first on, as many as fill buf: a part of the window if all
// are in it, else buf. They are valid until the next read.
func (r *Reader) Elements(buf []byte, first int64) ([]byte, error) {
	n := int64(len(buf)) / r.unit
	if r.m == nil || n == 0 || int64(len(buf))%r.unit != 0 || first < 0 || n > r.count-first {
		return buf, r.ReadElements(buf, first)
	}
	if first == r.next && !r.isInWindow(first) {
		if err := r.loadSmall(); err != nil {
			return nil, err
		}
		if reach := min(r.windows.windowEnd(first), r.end); r.loaded == nil && first+n < reach {
			if err := r.fill(first, reach); err != nil {
				return nil, err
			}
		}
	}
	if r.isInWindow(first) && r.isInWindow(first+n-1) {
		r.next = first + n
		return r.window[(first-r.start)*r.unit:][:len(buf)], nil
	}
	return buf, r.ReadElements(buf, first)
}

// isInWindow reports whether an element is in the window.
func (r *Reader) isInWindow(at int64) bool {
	return at >= r.start && (at-r.start)*r.unit < int64(len(r.window))
}

// read gathers the leading elements of dst up to the end of their window and returns their
// number. With ahead it gathers the whole window, for the next reads.
func (r *Reader) read(dst []byte, first int64, ahead bool) (int64, error) {
	if err := r.loadSmall(); err != nil {
		return 0, err
	}
	n, end := int64(len(dst))/r.unit, r.windows.windowEnd(first)
	if reach := min(end, r.end); ahead && r.loaded == nil && first+n < reach {
		if err := r.fill(first, reach); err != nil {
			return 0, err
		}
		return r.copyFromWindow(dst, first), nil
	}
	n = min(n, end-first)
	return n, r.gather(dst[:n*r.unit], first)
}

// loadSmall reads a small source whole, once.
func (r *Reader) loadSmall() error {
	if r.loaded != nil || r.stored*r.unit > r.sizes.maxTile {
		return nil
	}
	all := resize(&r.buf.in, r.stored*r.unit)
	if err := r.src.ReadElements(all, 0); err != nil {
		return err
	}
	r.loaded = all
	return nil
}

// copyFromWindow copies the leading elements of dst that are in the window and returns their number.
func (r *Reader) copyFromWindow(dst []byte, first int64) int64 {
	skip := (first - r.start) * r.unit
	if skip < 0 || skip >= int64(len(r.window)) {
		return 0
	}
	return int64(copy(dst, r.window[skip:])) / r.unit
}

// fill makes [first, end) the window.
func (r *Reader) fill(first, end int64) error {
	r.window = r.window[:0] // empty if gather fails
	out := resize(&r.buf.out, (end-first)*r.unit)
	if err := r.gather(out, first); err != nil {
		return err
	}
	r.window, r.start = out, first
	return nil
}

// gather fills dst with the elements from first on.
func (r *Reader) gather(dst []byte, first int64) error {
	if r.toDevice {
		return r.gatherDevice(dst, first)
	}
	n := int64(len(dst)) / r.unit
	return r.m.eachBox(r.order, first, first+n, func(ranges []axisRange) error {
		at := -first
		for i, stride := range r.strides {
			at += ranges[i].lo * stride
		}
		return r.m.blocks.eachInHost(ranges, func(b block) error {
			part, ok := b.clip(ranges)
			if !ok {
				return nil
			}
			return part.eachBox(r.strides, func(b box) error {
				b.host += at
				return r.load(dst, b)
			})
		})
	})
}

// gatherDevice is gather for a device buffer as the result. Places without a host element are
// zero.
func (r *Reader) gatherDevice(dst []byte, first int64) error {
	clear(dst)
	end := first + int64(len(dst))/r.unit
	return r.m.blocks.eachInDevice(first, end, func(b block) error {
		return b.eachBox(r.strides, func(b box) error {
			return b.swap().eachPart(first, end, func(part box) error {
				part.host -= first
				return r.load(dst, part)
			})
		})
	})
}

// windows cuts a host array into ranges: step positions of one axis with all its inner axes. The
// axis has size positions of stride elements.
type windows struct{ size, stride, step int64 }

// windowEnd is the end of the window around element first.
func (w windows) windowEnd(first int64) int64 {
	at := first / w.stride % w.size
	next := min((at/w.step+1)*w.step, w.size)
	return first/w.stride*w.stride + (next-at)*w.stride
}

// chooseWindows chooses the ranges for reading: at least minTile bytes, and more to avoid parts of
// blocks and short runs in the device buffer.
func (m *Map) chooseWindows(hostOrder []int, unit int64, limits sizes) windows {
	w := windows{size: 1, stride: 1, step: 1}
	if m.blocks.n == 0 {
		return w
	}
	granule, top := m.blockGranules()
	most := windowTiles * limits.maxTile / unit
	for k, a := range hostOrder {
		size, stride := m.Axes[a].Size, m.Axes[a].Stride
		w = windows{size: size, stride: stride, step: size}
		// A run ends at the latest at the next position of an outer axis.
		run := limits.goodRun
		for _, o := range hostOrder[k+1:] {
			run = min(run, top[o]*unit)
		}
		whole := size * stride
		if whole*unit > limits.minTile && (whole > most || run == limits.goodRun) {
			w.step = m.windowStep(w, granule[a], top[a], unit, limits)
			break
		}
	}
	return w
}

// windowStep chooses the number of positions in a window: whole blocks of granule positions, or equal
// parts of a block that is too large.
func (m *Map) windowStep(w windows, granule, top, unit int64, limits sizes) int64 {
	most := max(1, windowTiles*limits.maxTile/unit/w.stride)
	step := min(w.size, max(1, limits.minTile/unit/w.stride))
	if most < granule {
		return ceilDiv(granule, ceilDiv(granule, most))
	}
	for step < most && top*ceilDiv(step, granule)*unit < limits.goodRun {
		step = min(2*step, most)
	}
	step = max(granule, step/granule*granule)
	return ceilDiv(ceilDiv(w.size, ceilDiv(w.size, step)), granule) * granule
}

// Source reads stored elements by position, each of unit bytes.
type Source interface {
	// ReadElements fills dst with the elements from first on; len(dst) is a
	// multiple of the unit. It reports an error unless dst is full.
	ReadElements(dst []byte, first int64) error
}

// sizes are the bounds of reads and buffers, in bytes. A window has from minTile to windowTiles
// times maxTile bytes; it exceeds minTile only while its runs in the device buffer are shorter than
// goodRun. One read has at most maxTile bytes; it reads through gaps of up to gap bytes.
type sizes struct {
	minTile, maxTile, goodRun, gap int64
}

var defaultSizes = sizes{minTile: 512 << 10, maxTile: 1 << 20, goodRun: 32 << 10, gap: 8 << 10}

const windowTiles = 4

// BufferBytes is the approximate limit of the Buffers of one step.
const BufferBytes = 5 << 20

// Buffers is memory that Readers use one after the other. The zero value is ready.
type Buffers struct {
	out, in []byte
	next    *Buffers // buffers of the previous step, if the plan has two
	sizes   sizes    // zero for defaultSizes
}

func (b *Buffers) limits() sizes {
	if b.sizes == (sizes{}) {
		return defaultSizes
	}
	return b.sizes
}

// forNext returns the buffers of another step.
func (b *Buffers) forNext() *Buffers {
	if b.next == nil {
		b.next = &Buffers{sizes: b.sizes}
	}
	return b.next
}

// loader copies boxes of elements from a source.
type loader struct {
	src    Source
	unit   int64
	buf    *Buffers
	sizes  sizes
	loaded []byte // the whole source, when it is small
}

// lineBytes is the length of a cache line in bytes.
const lineBytes = 64

// load copies the elements of a box into out, in segments that fit the buffer.
//
// Neighbours in out may lie so far apart in the source that a contiguous segment fills less than
// a cache line of out. Then a segment is a short run at each of several such places.
func (l *loader) load(out []byte, b box) error {
	if l.loaded != nil {
		copyBox(out, l.loaded, b, int(l.unit))
		return nil
	}
	dims := slices.Clone(b.dims)
	slices.SortFunc(dims, func(x, y dim) int { return cmp.Compare(x.dev, y.dev) })
	line := max(1, lineBytes/l.unit)
	k := len(dims) - 1
	if k < 1 || dims[k].host != 1 || min(dims[k].n, line)*dims[k].dev*l.unit <= l.sizes.maxTile {
		return l.loadSegments(out, b.host, b.dev, dims, dim{n: 1})
	}
	far := dims[k]
	step := ceilDiv(far.n, max(1, far.n/line))
	for i := int64(0); i < far.n; i += step {
		part := dim{min(step, far.n-i), far.host, far.dev}
		if err := l.loadSegments(out, b.host+i*far.host, b.dev+i*far.dev, dims[:k], part); err != nil {
			return err
		}
	}
	return nil
}

// loadSegments reads a box of the loops dims, sorted by device stride, and the loop far, which stays
// whole. It reads at once if the elements lie close together or their pieces fit into the
// buffer side by side, else in steps of the outermost loop of dims.
func (l *loader) loadSegments(out []byte, host, dev int64, dims []dim, far dim) error {
	limit, gap := max(1, l.sizes.maxTile/l.unit/far.n), l.sizes.gap/l.unit
	// The loops before near are read with their gaps; reach is their extent in elements.
	near, reach, inner := 0, int64(1), int64(1)
	for near < len(dims) && dims[near].dev-reach <= gap {
		inner = reach
		reach += (dims[near].n - 1) * dims[near].dev
		near++
	}
	total := min(reach, limit+1) // elements of all pieces side by side
	for _, d := range dims[near:] {
		inner = total
		total = min(total*d.n, limit+1)
	}
	if total <= limit {
		if dims = slices.Clone(dims); far.n > 1 {
			dims = append(dims, far)
		}
		in := resize(&l.buf.in, total*far.n*l.unit)
		if err := l.loadPieces(in, dev, dims[near:]); err != nil {
			return err
		}
		for i, pitch := near, reach; i < len(dims); i++ {
			dims[i].dev = pitch
			pitch *= dims[i].n
		}
		copyBox(out, in, box{host: host, dims: dims}, int(l.unit))
		return nil
	}
	last := dims[len(dims)-1]
	rest := dims[:len(dims)-1]
	step := int64(1)
	switch {
	case near < len(dims):
		step = max(1, limit/inner)
	case inner < limit:
		step = max(1, (limit-inner)/last.dev+1)
	}
	step = ceilDiv(last.n, ceilDiv(last.n, step)) // parts of about equal size
	for i := int64(0); i < last.n; i += step {
		part := rest
		if n := min(step, last.n-i); n > 1 {
			part = append(slices.Clone(rest), dim{n, last.host, last.dev})
		}
		if err := l.loadSegments(out, host+i*last.host, dev+i*last.dev, part, far); err != nil {
			return err
		}
	}
	return nil
}

// loadPieces fills in with the pieces of a box side by side, one for every position of the loops.
func (l *loader) loadPieces(in []byte, dev int64, loops []dim) error {
	if len(loops) == 0 {
		return l.src.ReadElements(in, dev)
	}
	last := loops[len(loops)-1]
	size := int64(len(in)) / last.n
	for i := range last.n {
		if err := l.loadPieces(in[i*size:][:size], dev+i*last.dev, loops[:len(loops)-1]); err != nil {
			return err
		}
	}
	return nil
}

// BlockElements is the number of elements in a block of Blocks. It fills whole bytes for packed
// types too.
const BlockElements = 64 << 10

// Blocks reads the first n elements of src, of unit bytes each, in order, in blocks of
// BlockElements; the last block may be shorter. A block is valid until the next one: it lies in
// buf, which grows as needed, or in memory of src. An error, ctx.Err() included, ends the
// sequence.
func Blocks(ctx context.Context, src Source, n int64, unit int, buf *[]byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for first := int64(0); first < n; first += BlockElements {
			block := resize(buf, min(BlockElements, n-first)*int64(unit))
			err := ctx.Err()
			if err == nil {
				block, err = readAt(src, block, first)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(block, nil) {
				return
			}
		}
	}
}

// readAt returns Reader.Elements, or reads into buf if src is another kind of source.
func readAt(src Source, buf []byte, first int64) ([]byte, error) {
	if r, ok := src.(*Reader); ok {
		return r.Elements(buf, first)
	}
	return buf, src.ReadElements(buf, first)
}

// resize returns n bytes, reusing the memory of b if it suffices.
func resize(b *[]byte, n int64) []byte {
	*b = slices.Grow((*b)[:0], int(n))
	return (*b)[:n]
}
