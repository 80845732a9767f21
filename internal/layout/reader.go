package layout

import "fmt"

// Reader gives the elements of a plan's result by position, in the C order of
// its shape, without making the rest. It is a Source and serves one goroutine;
// its Buffers grow to about BufferBytes for each step of the plan.
//
// Neighbours in the result lie scattered in the source, and a few channels of a
// block cost as much reading as all of them. Reads that follow one another are
// therefore served from a window: a larger range that ends where blocks do. Any
// other read gathers just what it asks for.
type Reader struct {
	loader
	m        *Map  // nil when the elements are the stored ones
	toDevice bool  // the result is the device buffer of m, not its host array
	order    []int // the axes of m, innermost first
	strides  []int64
	count    int64 // elements of the result
	stored   int64 // elements of the source
	windows  windows

	next, end int64  // where the next read is expected, and where reads will end
	window    []byte // the elements from start on, in the buffer for output
	start     int64
}

// Reader returns a reader of the plan's result, from stored elements of unit
// bytes in src. It reads src where only the data shows how a tensor is laid
// out.
//
// buf is the reader's until another one gets it.
func (p *Plan) Reader(src Source, unit int, buf *Buffers) (*Reader, error) {
	if unit < 1 {
		return nil, fmt.Errorf("elements have %d bytes, want at least 1", unit)
	}
	if p.Copies() {
		return newReader(src, unit, buf, p.Shape.Elements()), nil
	}
	var r *Reader
	for _, s := range p.steps {
		if r != nil {
			src, buf = r, buf.forNext()
		}
		m, err := s.reading(src, unit)
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
	r.order, r.strides = m.order(), m.strides()
	if toDevice {
		r.windows = windows{size: r.count, stride: 1, step: max(1, r.sizes.maxTile/r.unit)}
	} else {
		r.windows = m.windows(r.order, r.unit, r.sizes)
	}
	return r
}

// Expect says that the elements [first, end) will be read next, in order, so
// that a window begins with the first read and none goes beyond end. A new
// Reader expects all elements.
func (r *Reader) Expect(first, end int64) { r.next, r.end = first, min(end, r.count) }

// Window is the most elements that are gathered at once. Ranges that different
// Readers read should be several times as long, because where they meet both
// read the blocks that lie in both. It is 1 when nothing is gathered.
func (r *Reader) Window() int64 { return max(1, r.windows.step*r.windows.stride) }

// ReadElements fills dst with the elements from first on.
func (r *Reader) ReadElements(dst []byte, first int64) error {
	n := int64(len(dst)) / r.unit
	switch {
	case int64(len(dst))%r.unit != 0:
		return fmt.Errorf("read of %d bytes, want a multiple of %d", len(dst), r.unit)
	case first < 0 || first > r.count || n > r.count-first:
		return fmt.Errorf("read of %d elements from element %d on, there are %d", n, first, r.count)
	case r.m == nil:
		return r.src.ReadElements(dst, first)
	}
	ahead := first == r.next
	r.next = first + n
	for len(dst) > 0 {
		have := r.fromWindow(dst, first)
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

// read gathers the leading elements of dst, up to the end of the window that
// they lie in, and returns their number; with ahead it gathers the window for
// the reads to come.
func (r *Reader) read(dst []byte, first int64, ahead bool) (int64, error) {
	if err := r.loadSmall(); err != nil {
		return 0, err
	}
	n, end := int64(len(dst))/r.unit, r.windows.end(first)
	if reach := min(end, r.end); ahead && r.loaded == nil && first+n < reach {
		if err := r.fill(first, reach); err != nil {
			return 0, err
		}
		return r.fromWindow(dst, first), nil
	}
	n = min(n, end-first)
	return n, r.gather(dst[:n*r.unit], first)
}

// loadSmall reads the whole source when it is small, the first time.
func (r *Reader) loadSmall() error {
	if r.loaded != nil || r.stored*r.unit > r.sizes.maxTile {
		return nil
	}
	all := buffer(&r.buf.in, r.stored*r.unit)
	if err := r.src.ReadElements(all, 0); err != nil {
		return err
	}
	r.loaded = all
	return nil
}

// fromWindow copies what the window has of dst, from its beginning on, and
// returns the number of elements.
func (r *Reader) fromWindow(dst []byte, first int64) int64 {
	skip := (first - r.start) * r.unit
	if skip < 0 || skip >= int64(len(r.window)) {
		return 0
	}
	return int64(copy(dst, r.window[skip:])) / r.unit
}

// fill makes [first, end) the window.
func (r *Reader) fill(first, end int64) error {
	r.window = r.window[:0] // nothing, in case that it fails
	out := buffer(&r.buf.out, (end-first)*r.unit)
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
			return part.boxes(r.strides, func(b box) error {
				b.host += at
				return r.load(dst, b)
			})
		})
	})
}

// gatherDevice is gather where the result is a device buffer: everything that
// no host element covers is zero.
func (r *Reader) gatherDevice(dst []byte, first int64) error {
	clear(dst)
	end := first + int64(len(dst))/r.unit
	return r.m.blocks.eachInDevice(first, end, func(b block) error {
		return b.boxes(r.strides, func(b box) error {
			return b.swapped().within(first, end, func(part box) error {
				part.host -= first
				return r.load(dst, part)
			})
		})
	})
}
