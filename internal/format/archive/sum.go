package archive

import (
	"hash/crc32"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"dumptool/internal/crc"
)

// Verify compares the data with its CRC-32; it reads what nobody has read yet.
func (e *Entry) Verify() error {
	if e.archive.unchecked {
		return nil
	}
	if s := e.summed(); s.settled.Load() {
		return s.err
	}
	data, err := e.Data()
	if err != nil {
		return err
	}
	entry, _, _ := data.Outer()
	return entry.(interface{ verify() error }).verify()
}

// HasSum reports whether there is a CRC-32, which is hardly ever 0.
func (e *Entry) HasSum() bool { return e.crc != 0 }

// Uncheck says that no entry has a CRC-32 that fits. Nobody reads the entries meanwhile, nor
// what Data returned before.
func (a *Archive) Uncheck() {
	a.unchecked = true
	for i := range a.Entries {
		a.Entries[i].sum = nil
	}
}

// summed is the sum of an entry, the same for all who read it.
func (e *Entry) summed() *sum {
	e.archive.mu.Lock()
	defer e.archive.mu.Unlock()
	if e.sum == nil {
		e.sum = &sum{parts: make([]part, 1, 2)}
	}
	return e.sum
}

// stored reads a stored entry by position, and sums up what is read.
type stored struct {
	entry *Entry
	begin int64 // of the data in the file
	sum   *sum
}

// ReadAt implements io.ReaderAt.
func (s *stored) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.entry.archive.r.ReadAt(p, s.begin+off)
	if failed := s.add(p[:n], off); failed != nil {
		return 0, failed
	}
	return n, err
}

// Outer is that of io.SectionReader: the file, and where the data is in it.
func (s *stored) Outer() (r io.ReaderAt, off, n int64) {
	return s.entry.archive.r, s.begin, s.entry.Size
}

// add sums up data that was read. The error is that of the whole entry, once it is known.
func (s *stored) add(p []byte, off int64) error {
	if s.sum.settled.Load() {
		return s.sum.err
	}
	s.sum.mu.Lock()
	defer s.sum.mu.Unlock()
	if s.sum.settled.Load() {
		return s.sum.err
	}
	s.sum.add(p, off)
	if all := s.sum.parts[0]; all.to == s.entry.Size {
		return s.sum.settle(s.entry.compare(s.begin, all.crc))
	}
	return nil
}

// verify reads what nobody has read yet.
func (s *stored) verify() error {
	s.sum.reading.Lock()
	defer s.sum.reading.Unlock()
	buf := make([]byte, min(s.entry.Size, verifySize))
	for !s.sum.settled.Load() {
		from, to := s.sum.gap(s.entry.Size)
		n := min(int64(len(buf)), to-from)
		if got, err := s.ReadAt(buf[:n], from); int64(got) < n {
			return short(s.begin+from, got, int(n), err)
		}
	}
	return s.sum.err
}

// compare is the error of data whose CRC-32 is not that of the directory.
func (e *Entry) compare(begin int64, crc uint32) error {
	if crc == e.crc || e.archive.unchecked {
		return nil
	}
	return broken(begin, "the entry %q has the CRC-32 %08x, want %08x", e.Name, crc, e.crc)
}

const (
	// maxParts is how many parts of an entry are kept apart. What is read elsewhere then is
	// read again by Verify.
	maxParts = 64
	// verifySize is how many bytes Verify reads at a time.
	verifySize = 256 << 10
)

// sum is the CRC-32 of an entry whose data is read in any order and any parts, each byte
// summed up the first time that it is read.
type sum struct {
	reading sync.Mutex // one Verify at a time
	once    sync.Once
	settled atomic.Bool // err is known
	err     error
	mu      sync.Mutex
	parts   []part // in order, neither touching nor overlapping, the first from 0 on
}

// part is a range of bytes and its CRC-32.
type part struct {
	from, to int64
	crc      uint32
}

// settle notes what is known of the entry now, which it returns.
func (s *sum) settle(err error) error {
	s.once.Do(func() {
		s.err = err
		s.settled.Store(true)
	})
	return s.err
}

// failed is the error of the entry, if it is known.
func (s *sum) failed() error {
	if s.settled.Load() {
		return s.err
	}
	return nil
}

// gap is the first range that was not read, of an entry of a size.
func (s *sum) gap(size int64) (from, to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.parts) > 1 {
		size = s.parts[1].from
	}
	return s.parts[0].to, size
}

// add sums up the bytes at an offset, but for those that are in already.
func (s *sum) add(p []byte, off int64) {
	for len(p) > 0 {
		i, _ := slices.BinarySearchFunc(s.parts, off, func(x part, off int64) int {
			if x.to < off {
				return -1
			}
			return 1
		})
		var n int
		switch {
		case i < len(s.parts) && s.parts[i].from <= off:
			n = s.extend(i, p, off)
		case len(s.parts) < maxParts:
			s.parts = slices.Insert(s.parts, i, part{off, off, 0})
		case i == len(s.parts):
			return
		default:
			n = int(min(int64(len(p)), s.parts[i].from-off))
		}
		p, off = p[n:], off+int64(n)
	}
}

// extend lets part i, which has the byte before off or that at off, grow by bytes at off, at
// most up to the next part, which it joins. It returns how many bytes are in now.
func (s *sum) extend(i int, p []byte, off int64) int {
	x := &s.parts[i]
	known := int(min(int64(len(p)), x.to-off))
	p = p[known:]
	if i+1 < len(s.parts) {
		p = p[:min(int64(len(p)), s.parts[i+1].from-x.to)]
	}
	x.crc = crc32.Update(x.crc, crc32.IEEETable, p)
	x.to += int64(len(p))
	if i+1 < len(s.parts) && s.parts[i+1].from == x.to {
		next := s.parts[i+1]
		x.crc, x.to = crc.Combine(crc32.IEEE, x.crc, next.crc, next.to-next.from), next.to
		s.parts = slices.Delete(s.parts, i+1, i+2)
	}
	return known + len(p)
}
