package layout

import (
	"cmp"
	"context"
	"slices"

	"dumptool/internal/tensor"
)

// Source gives stored elements by position, one unit of bytes each.
type Source interface {
	// ReadElements fills dst with the elements from first on; len(dst) is a
	// multiple of the unit. It reports an error unless dst is full.
	ReadElements(dst []byte, first int64) error
}

// Sink takes elements by position. Calls may come in any order of positions,
// and each element is written exactly once.
type Sink interface {
	WriteElements(src []byte, first int64) error
}

// Axis is one host axis of a Map: its size, and its stride in the host array
// in elements.
type Axis struct {
	Size, Stride int64
}

// Map says where every element of a dense host array lies in a device buffer.
type Map struct {
	Device tensor.Shape
	Axes   []Axis
	blocks blockList
}

// sizes bounds the buffers of a transfer, in bytes. A tile grows from minTile
// to maxTile while its runs in either file are shorter than goodRun; gaps of up
// to gap are read through rather than skipped with another read.
type sizes struct {
	minTile, maxTile, goodRun, gap int64
}

var defaultSizes = sizes{minTile: 512 << 10, maxTile: 2 << 20, goodRun: 32 << 10, gap: 8 << 10}

// BufferBytes is about the most memory that one transfer holds.
const BufferBytes = 4 << 20

// Buffers is the memory of a transfer, kept from one to the next. The zero
// value is ready; it serves one transfer at a time.
type Buffers struct {
	out, in []byte
	sizes   sizes // zero for defaultSizes
}

func (b *Buffers) limits() sizes {
	if b.sizes == (sizes{}) {
		return defaultSizes
	}
	return b.sizes
}

// buffer returns n bytes, in the memory of b when it suffices.
func buffer(b *[]byte, n int64) []byte {
	*b = slices.Grow((*b)[:0], int(n))
	return (*b)[:n]
}

// transfer is one run of a Map in one direction.
type transfer struct {
	ctx    context.Context
	src    Source
	dst    Sink
	unit   int64
	buf    *Buffers
	sizes  sizes
	loaded []byte // the whole source, when it is small
}

// ToHost gathers the host array from the device buffer. Padding is not looked
// at. unit is the size of an element in bytes.
func (m *Map) ToHost(ctx context.Context, dst Sink, src Source, unit int, buf *Buffers) error {
	t := &transfer{ctx: ctx, src: src, dst: dst, unit: int64(unit), buf: buf, sizes: buf.limits()}
	if n := count(m.Device); n*t.unit <= t.sizes.maxTile {
		t.loaded = buffer(&buf.in, n*t.unit)
		if err := src.ReadElements(t.loaded, 0); err != nil {
			return err
		}
	}
	axes := m.order()
	return m.eachTile(axes, m.tile(axes, t.unit, t.sizes), t.gather)
}

// ToDevice scatters the host array into a device buffer; everything that no
// host element covers is zero. unit is the size of an element in bytes.
func (m *Map) ToDevice(ctx context.Context, dst Sink, src Source, unit int, buf *Buffers) error {
	t := &transfer{ctx: ctx, src: src, dst: dst, unit: int64(unit), buf: buf, sizes: buf.limits()}
	total := count(m.Device)
	host := int64(1)
	strides := make([]int64, len(m.Axes))
	for i, a := range m.Axes {
		host *= a.Size
		strides[i] = a.Stride
	}
	if host*t.unit <= t.sizes.maxTile {
		t.loaded = buffer(&buf.in, host*t.unit)
		if err := src.ReadElements(t.loaded, 0); err != nil {
			return err
		}
	}
	step := max(1, t.sizes.maxTile/t.unit)
	for lo := int64(0); lo < total; lo += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+step, total)
		out := buffer(&buf.out, (hi-lo)*t.unit)
		clear(out)
		err := m.blocks.eachInDevice(lo, hi, func(b block) error {
			return b.boxes(strides, func(b box) error {
				return b.swapped().within(lo, hi, func(part box) error {
					part.host -= lo
					return t.load(out, part)
				})
			})
		})
		if err != nil {
			return err
		}
		if err := dst.WriteElements(out, lo); err != nil {
			return err
		}
	}
	return nil
}

// count is the number of elements of a shape that has been checked before.
func count(s tensor.Shape) int64 {
	n, _ := s.Count()
	return n
}

// order returns the axes of more than one position, innermost first.
func (m *Map) order() []int {
	var axes []int
	for i, a := range m.Axes {
		if a.Size != 1 {
			axes = append(axes, i)
		}
	}
	slices.SortFunc(axes, func(x, y int) int { return cmp.Compare(m.Axes[x].Stride, m.Axes[y].Stride) })
	return axes
}

// tile chooses how many positions of each axis are handled at once: whole
// channel blocks, then whatever makes the shorter of the two contiguous runs
// (in the host array and in the device buffer) longer.
func (m *Map) tile(hostOrder []int, unit int64, limits sizes) []int64 {
	if m.blocks.n == 0 {
		return slices.Repeat([]int64{1}, len(m.Axes))
	}
	granule, top := m.granules()
	ext := slices.Clone(granule)
	devOrder := slices.Clone(hostOrder)
	slices.SortStableFunc(devOrder, func(x, y int) int { return cmp.Compare(top[x], top[y]) })

	size := unit
	for _, e := range ext {
		size *= e
	}
	// next finds the first axis that is not taken whole, and the length of the
	// contiguous run up to it.
	next := func(order []int, stride func(int) int64) (axis int, run int64) {
		for _, a := range order {
			if ext[a] < m.Axes[a].Size {
				return a, stride(a) * ceilDiv(ext[a], granule[a]) * unit
			}
		}
		return -1, limits.maxTile
	}
	for {
		h, hostRun := next(hostOrder, func(a int) int64 { return m.Axes[a].Stride * granule[a] })
		d, devRun := next(devOrder, func(a int) int64 { return top[a] })
		if h < 0 {
			break // all axes are whole
		}
		if size >= limits.minTile && min(hostRun, devRun) >= limits.goodRun {
			break
		}
		grow := h
		if devRun < hostRun {
			grow = d
		}
		bigger := min(ext[grow]*2, m.Axes[grow].Size)
		if size/ext[grow]*bigger > limits.maxTile {
			break
		}
		size = size / ext[grow] * bigger
		ext[grow] = bigger
	}
	return ext
}

// granules returns, for every axis, how many positions a block of the layout
// holds, and the device stride from one block to the next. There is a block.
func (m *Map) granules() (granule, top []int64) {
	for i, s := range m.blocks.at(0).spans {
		granule = append(granule, min(s.granule(), max(1, m.Axes[i].Size)))
		top = append(top, s.levels[len(s.levels)-1].stride)
	}
	return granule, top
}

// tileRange is the range of positions of one axis in a tile.
type tileRange struct{ lo, hi int64 }

// eachTile cuts the host array in tiles and calls gather for each, in order.
func (m *Map) eachTile(hostOrder []int, ext []int64, gather func(*Map, []int, []tileRange) error) error {
	ranges := make([]tileRange, len(m.Axes))
	for i, a := range m.Axes {
		if a.Size == 0 {
			return nil
		}
		ranges[i] = tileRange{0, min(ext[i], a.Size)}
	}
	for {
		if err := gather(m, hostOrder, ranges); err != nil {
			return err
		}
		// Advance like an odometer, innermost axis first.
		k := 0
		for ; k < len(hostOrder); k++ {
			a := hostOrder[k]
			if r := &ranges[a]; r.hi < m.Axes[a].Size {
				*r = tileRange{r.hi, min(r.hi+ext[a], m.Axes[a].Size)}
				break
			}
			ranges[a] = tileRange{0, min(ext[a], m.Axes[a].Size)}
		}
		if k == len(hostOrder) {
			return nil
		}
	}
}

// gather fills one tile of the host array and writes it.
func (t *transfer) gather(m *Map, hostOrder []int, ranges []tileRange) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	strides := make([]int64, len(m.Axes))
	size := int64(1)
	for _, a := range hostOrder {
		strides[a] = size
		size *= ranges[a].hi - ranges[a].lo
	}
	out := buffer(&t.buf.out, size*t.unit)
	err := m.blocks.eachInHost(ranges, func(b block) error {
		part, ok := b.clip(ranges)
		if !ok {
			return nil
		}
		return part.boxes(strides, func(b box) error { return t.load(out, b) })
	})
	if err != nil {
		return err
	}
	return t.write(m, hostOrder, ranges, out)
}

// clip returns the part of the block inside a tile, counted from its corner.
func (b block) clip(ranges []tileRange) (block, bool) {
	part := block{base: b.base, spans: make([]span, len(b.spans))}
	for i, s := range b.spans {
		var ok bool
		if part.spans[i], ok = s.clip(ranges[i].lo, ranges[i].hi); !ok {
			return block{}, false
		}
	}
	return part, true
}

// write hands a filled tile to the sink, in its contiguous runs.
func (t *transfer) write(m *Map, hostOrder []int, ranges []tileRange, out []byte) error {
	run, k := int64(1), 0
	for ; k < len(hostOrder); k++ {
		a := hostOrder[k]
		run *= ranges[a].hi - ranges[a].lo
		if ranges[a].hi-ranges[a].lo < m.Axes[a].Size {
			k++
			break
		}
	}
	at := int64(0)
	for _, a := range hostOrder {
		at += ranges[a].lo * m.Axes[a].Stride
	}
	return t.writeRuns(m, hostOrder[k:], ranges, out, run*t.unit, at)
}

// writeRuns writes out as runs of bytes, the first at position at, looping over
// the outer axes.
func (t *transfer) writeRuns(m *Map, outer []int, ranges []tileRange, out []byte, run, at int64) error {
	if len(outer) == 0 {
		return t.dst.WriteElements(out[:run], at)
	}
	a := outer[len(outer)-1]
	n := ranges[a].hi - ranges[a].lo
	part := int64(len(out)) / n
	for i := range n {
		err := t.writeRuns(m, outer[:len(outer)-1], ranges, out[i*part:(i+1)*part], run, at+i*m.Axes[a].Stride)
		if err != nil {
			return err
		}
	}
	return nil
}

// load copies the elements of a box into out, reading them from the source in
// segments that fit the buffer.
func (t *transfer) load(out []byte, b box) error {
	if t.loaded != nil {
		copyBox(out, t.loaded, b, int(t.unit))
		return nil
	}
	dims := slices.Clone(b.dims)
	slices.SortFunc(dims, func(x, y dim) int { return cmp.Compare(x.dev, y.dev) })
	return t.segments(out, b.host, b.dev, dims)
}

// segments reads a box whose loops are sorted by device stride: at once when
// its elements lie close together or in pieces that fit the buffer side by
// side, else step by step of its outermost loop.
func (t *transfer) segments(out []byte, host, dev int64, dims []dim) error {
	limit, gap := max(1, t.sizes.maxTile/t.unit), t.sizes.gap/t.unit
	// The loops before near are read through; reach is how far they go.
	near, reach, inner := 0, int64(1), int64(1)
	for near < len(dims) && dims[near].dev-reach <= gap {
		inner = reach
		reach += (dims[near].n - 1) * dims[near].dev
		near++
	}
	total := min(reach, limit+1) // of the pieces side by side
	for _, d := range dims[near:] {
		inner = total
		total = min(total*d.n, limit+1)
	}
	if total <= limit {
		in := buffer(&t.buf.in, total*t.unit)
		dims = slices.Clone(dims)
		if err := t.pieces(in, dev, dims[near:]); err != nil {
			return err
		}
		for i, pitch := near, reach; i < len(dims); i++ {
			dims[i].dev = pitch
			pitch *= dims[i].n
		}
		copyBox(out, in, box{host: host, dims: dims}, int(t.unit))
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
	for i := int64(0); i < last.n; i += step {
		part := rest
		if n := min(step, last.n-i); n > 1 {
			part = append(slices.Clone(rest), dim{n, last.host, last.dev})
		}
		if err := t.segments(out, host+i*last.host, dev+i*last.dev, part); err != nil {
			return err
		}
	}
	return nil
}

// pieces fills in with the pieces of a box one after another: one for every
// position of the loops.
func (t *transfer) pieces(in []byte, dev int64, loops []dim) error {
	if len(loops) == 0 {
		return t.src.ReadElements(in, dev)
	}
	last := loops[len(loops)-1]
	size := int64(len(in)) / last.n
	for i := range last.n {
		if err := t.pieces(in[i*size:][:size], dev+i*last.dev, loops[:len(loops)-1]); err != nil {
			return err
		}
	}
	return nil
}
