package layout

import (
	"cmp"
	"slices"
)

// Source gives stored elements by position, one unit of bytes each.
type Source interface {
	// ReadElements fills dst with the elements from first on; len(dst) is a
	// multiple of the unit. It reports an error unless dst is full.
	ReadElements(dst []byte, first int64) error
}

// sizes bounds what is read and held at a time, in bytes. A window has from
// minTile to windowTiles times maxTile bytes, more than minTile only while its
// runs in the device buffer are shorter than goodRun; at most maxTile are read
// for it at once, and gaps of up to gap are read through rather than skipped
// with another read.
type sizes struct {
	minTile, maxTile, goodRun, gap int64
}

var defaultSizes = sizes{minTile: 512 << 10, maxTile: 1 << 20, goodRun: 32 << 10, gap: 8 << 10}

const windowTiles = 4

// BufferBytes is about the most memory that the Buffers of one step hold.
const BufferBytes = 5 << 20

// Buffers is the memory of a Reader, kept from one to the next. The zero value
// is ready; it serves one Reader at a time.
type Buffers struct {
	out, in []byte
	next    *Buffers // of the step before, where a plan has two
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

// lineBytes is the length of a line of a processor's cache.
const lineBytes = 64

// load copies the elements of a box into out, in segments that fit the buffer.
//
// Neighbours in out may lie so far apart in the source that a contiguous segment
// holds too few of them to fill a cache line of out. Then a segment takes, at
// enough of them, a shorter run each.
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
		return l.segments(out, b.host, b.dev, dims, dim{n: 1})
	}
	far := dims[k]
	step := ceilDiv(far.n, max(1, far.n/line))
	for i := int64(0); i < far.n; i += step {
		part := dim{min(step, far.n-i), far.host, far.dev}
		if err := l.segments(out, b.host+i*far.host, b.dev+i*far.dev, dims[:k], part); err != nil {
			return err
		}
	}
	return nil
}

// segments reads a box of the loops dims, which are sorted by device stride, and
// of far, which it does not divide: at once when the elements lie close together
// or in pieces that fit the buffer side by side, else step by step of the
// outermost of dims.
func (l *loader) segments(out []byte, host, dev int64, dims []dim, far dim) error {
	limit, gap := max(1, l.sizes.maxTile/l.unit/far.n), l.sizes.gap/l.unit
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
		if dims = slices.Clone(dims); far.n > 1 {
			dims = append(dims, far)
		}
		in := buffer(&l.buf.in, total*far.n*l.unit)
		if err := l.pieces(in, dev, dims[near:]); err != nil {
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
		if err := l.segments(out, host+i*last.host, dev+i*last.dev, part, far); err != nil {
			return err
		}
	}
	return nil
}

// pieces fills in with the pieces of a box one after another: one for every
// position of the loops.
func (l *loader) pieces(in []byte, dev int64, loops []dim) error {
	if len(loops) == 0 {
		return l.src.ReadElements(in, dev)
	}
	last := loops[len(loops)-1]
	size := int64(len(in)) / last.n
	for i := range last.n {
		if err := l.pieces(in[i*size:][:size], dev+i*last.dev, loops[:len(loops)-1]); err != nil {
			return err
		}
	}
	return nil
}
