package archive

import (
	"bufio"
	"compress/flate"
	"errors"
	"hash/crc32"
	"io"
	"runtime"
	"slices"
	"sync"

	"dumptool/internal/lang"
)

const (
	// window is how many of the bytes inflated last a stream keeps: two blocks of
	// 65,536 elements of four bytes, for reads that are a little out of order.
	window = 512 << 10
	// inflateSize is how many bytes are inflated at a time.
	inflateSize = 32 << 10
	// inputSize is how many bytes of the file are read at a time.
	inputSize = 64 << 10
)

// inflater reads a deflated entry by position.
type inflater struct {
	entry *Entry
	begin int64 // of the deflated data in the file

	mu sync.Mutex // there is one stream
}

// ReadAt implements io.ReaderAt.
func (f *inflater) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, lang.Errorf("zip: read at offset %d", off)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	short := error(nil)
	if left := max(0, f.entry.Size-off); int64(len(p)) > left {
		p, short = p[:left], io.EOF
	}
	if len(p) == 0 {
		return 0, short
	}
	s := f.entry.archive.pool.take(f)
	n, err := s.readAt(p, off)
	f.entry.archive.pool.put(s, err == nil)
	if err != nil {
		return n, err
	}
	return n, short
}

// stream inflates an entry from front to back.
type stream struct {
	owner *inflater
	in    *bufio.Reader
	out   io.ReadCloser
	pos   int64  // bytes inflated so far
	ring  []byte // the last of them: the byte at position i is at i % len(ring)
	crc   uint32
}

// reset turns to the first byte of the owner.
func (s *stream) reset() {
	packed := io.NewSectionReader(s.owner.entry.archive.r, s.owner.begin, s.owner.entry.packed)
	if s.in == nil {
		s.in = bufio.NewReaderSize(packed, inputSize)
		s.out = flate.NewReader(s.in)
	} else {
		s.in.Reset(packed)
		_ = s.out.(flate.Resetter).Reset(s.in, nil) // never fails
	}
	n := int(min(window, s.owner.entry.Size))
	s.ring = slices.Grow(s.ring[:0], n)[:n]
	s.pos, s.crc = 0, 0
}

// readAt fills p, which lies within the entry.
func (s *stream) readAt(p []byte, off int64) (int, error) {
	size := int64(len(s.ring))
	if off < s.pos-size {
		s.reset()
	}
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at >= s.pos {
			if err := s.fill(); err != nil {
				return n, err
			}
			continue
		}
		i := at % size
		n += copy(p[n:], s.ring[i:min(size, i+s.pos-at)])
	}
	return n, nil
}

// fill inflates the next bytes.
func (s *stream) fill() error {
	e := s.owner.entry
	i := s.pos % int64(len(s.ring))
	part := s.ring[i:min(int64(len(s.ring)), i+inflateSize, i+e.Size-s.pos)]
	n, err := s.out.Read(part)
	s.crc = crc32.Update(s.crc, crc32.IEEETable, part[:n])
	s.pos += int64(n)
	switch {
	case s.pos == e.Size:
		return s.end()
	case err == io.EOF:
		return broken(s.owner.begin, "the entry inflates to %d bytes, want %d", s.pos, e.Size)
	}
	return s.wrap(err)
}

// end checks that the deflated data ends with the entry, and the entry itself.
func (s *stream) end() error {
	e := s.owner.entry
	var more [1]byte
	switch n, err := io.ReadFull(s.out, more[:]); {
	case n > 0:
		return broken(s.owner.begin, "the entry inflates to more than %d bytes", e.Size)
	case err != io.EOF:
		return s.wrap(err)
	case s.crc != e.crc:
		return broken(s.owner.begin, "the entry has the CRC-32 %08x, want %08x", s.crc, e.crc)
	}
	return nil
}

// wrap says where in the file inflating failed.
func (s *stream) wrap(err error) error {
	if corrupt, ok := errors.AsType[flate.CorruptInputError](err); ok {
		return broken(s.owner.begin+int64(corrupt), "the deflated data is corrupt")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return broken(s.owner.begin+s.owner.entry.packed, "the deflated data ends early: %d of %d bytes are there", s.pos, s.owner.entry.Size)
	}
	return err
}

// pool keeps the streams that are not in use, so that the next read of an entry
// goes on where the last one stopped: some, since each takes 700 KiB.
type pool struct {
	mu   sync.Mutex
	idle []*stream // the one used last is the last
}

// maxIdle is enough for two entries a worker.
func maxIdle() int { return max(16, 2*runtime.GOMAXPROCS(0)) }

// take returns the stream of an entry, or one at its first byte.
func (p *pool) take(owner *inflater) *stream {
	p.mu.Lock()
	i := slices.IndexFunc(p.idle, func(s *stream) bool { return s.owner == owner })
	s := &stream{}
	switch {
	case i >= 0:
		s = p.idle[i]
		p.idle = slices.Delete(p.idle, i, i+1)
	case len(p.idle) == maxIdle():
		s = p.idle[0]
		p.idle = slices.Delete(p.idle, 0, 1)
	}
	p.mu.Unlock()
	if s.owner != owner {
		s.owner = owner
		s.reset()
	}
	return s
}

// put takes a stream back. One that failed is not used again: the error comes
// again where the entry is read again.
func (p *pool) put(s *stream, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok {
		return
	}
	if len(p.idle) == maxIdle() {
		p.idle = slices.Delete(p.idle, 0, 1)
	}
	p.idle = append(p.idle, s)
}
