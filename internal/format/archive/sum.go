package archive

import (
	"hash/crc32"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"dumptool/internal/crc"
)

// Verify compares the data with its CRC-32, and reads the unread rest for it.
func (e *Entry) Verify() error {
	if e.archive.unchecked {
		return nil
	}
	if s := e.sharedSum(); s.isDecided.Load() {
		return s.err
	}
	data, err := e.Data()
	if err != nil {
		return err
	}
	entry, _, _ := data.Outer()
	return entry.(interface{ verify() error }).verify()
}

// HasSum reports whether the entry has a CRC-32: 0 counts as none.
func (e *Entry) HasSum() bool { return e.crc != 0 }

// Uncheck disables the CRC-32 of all entries. It must not run concurrently with reads, and data
// returned before must not be used.
func (a *Archive) Uncheck() {
	a.unchecked = true
	for i := range a.Entries {
		a.Entries[i].sum = nil
	}
}

// sharedSum returns the sum of an entry, which all its readers share.
func (e *Entry) sharedSum() *sum {
	e.archive.mu.Lock()
	defer e.archive.mu.Unlock()
	if e.sum == nil {
		e.sum = &sum{parts: make([]part, 1, 2)}
	}
	return e.sum
}

// storedReader reads a stored entry by position and updates its sum.
type storedReader struct {
	entry *Entry
	begin int64 // offset of the data in the file
	sum   *sum
}

// ReadAt implements io.ReaderAt.
func (s *storedReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.entry.archive.r.ReadAt(p, s.begin+off)
	if failed := s.addToSum(p[:n], off); failed != nil {
		return 0, failed
	}
	return n, err
}

// Outer is like io.SectionReader.Outer: the file, and the offset and size of the data.
func (s *storedReader) Outer() (r io.ReaderAt, off, n int64) {
	return s.entry.archive.r, s.begin, s.entry.Size
}

// addToSum adds data to the sum. It returns the error of the entry, once it is known.
func (s *storedReader) addToSum(p []byte, off int64) error {
	if s.sum.isDecided.Load() {
		return s.sum.err
	}
	s.sum.mu.Lock()
	defer s.sum.mu.Unlock()
	if s.sum.isDecided.Load() {
		return s.sum.err
	}
	s.sum.add(p, off)
	if all := s.sum.parts[0]; all.to == s.entry.Size {
		return s.sum.decide(s.entry.compare(s.begin, all.crc))
	}
	return nil
}

// verify reads the unread rest.
func (s *storedReader) verify() error {
	s.sum.reading.Lock()
	defer s.sum.reading.Unlock()
	buf := make([]byte, min(s.entry.Size, verifySize))
	for !s.sum.isDecided.Load() {
		from, to := s.sum.firstGap(s.entry.Size)
		n := min(int64(len(buf)), to-from)
		if got, err := s.ReadAt(buf[:n], from); int64(got) < n {
			return shortRead(s.begin+from, got, int(n), err)
		}
	}
	return s.sum.err
}

// compare returns an error if the CRC-32 differs from the directory.
func (e *Entry) compare(begin int64, crc uint32) error {
	if crc == e.crc || e.archive.unchecked {
		return nil
	}
	return formatError(begin, "the entry %q has the CRC-32 %08x, want %08x", e.Name, crc, e.crc)
}

const (
	// maxParts bounds the separate parts of an entry. Data read elsewhere is not summed, and Verify
	// reads it again.
	maxParts = 64
	// verifySize is the number of bytes that Verify reads at a time.
	verifySize = 256 << 10
)

// sum is the CRC-32 of an entry that is read in any order and any parts. Each byte is summed when
// it is read first.
type sum struct {
	reading   sync.Mutex // one Verify at a time
	once      sync.Once
	isDecided atomic.Bool // the checksum was compared, err has the result
	err       error
	mu        sync.Mutex
	parts     []part // sorted, separate; the first begins at 0
}

// part is a range of bytes and its CRC-32.
type part struct {
	from, to int64
	crc      uint32
}

// decide sets the result of the comparison, once, and returns it.
func (s *sum) decide(err error) error {
	s.once.Do(func() {
		s.err = err
		s.isDecided.Store(true)
	})
	return s.err
}

// result returns the result of the comparison, nil if unknown.
func (s *sum) result() error {
	if s.isDecided.Load() {
		return s.err
	}
	return nil
}

// firstGap returns the first unread range of an entry of some size.
func (s *sum) firstGap(size int64) (from, to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.parts) > 1 {
		size = s.parts[1].from
	}
	return s.parts[0].to, size
}

// add sums the bytes at an offset that are not yet summed.
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
			n = s.addBytes(i, p, off)
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

// addBytes adds bytes at off to part i, which contains or touches off, up to the next part. Parts
// that touch are joined. It returns the number of bytes of p that are summed now.
func (s *sum) addBytes(i int, p []byte, off int64) int {
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
