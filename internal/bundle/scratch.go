package bundle

import (
	"errors"
	"io"
	"os"
	"sync"

	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// scratch is the file that has what was unpacked.
type scratch struct {
	max int64 // bytes that may be unpacked

	mu     sync.Mutex
	file   *os.File // nil before the first byte
	remove func() error
	end    int64 // of what is in it
	limit  int64 // the end that it may have
}

// open makes the file.
func (s *scratch) open() (err error) {
	if s.file != nil {
		return nil
	}
	if s.file, s.remove, err = safefile.Scratch(); err != nil {
		return err
	}
	s.limit = store.Spare(s.max)
	return nil
}

// close gives the file up.
func (s *scratch) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	s.file = nil
	return s.remove()
}

// room keeps room for some more bytes and returns where they go.
func (s *scratch) room(size int64) (off int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return 0, err
	}
	if size > s.limit-s.end {
		return 0, s.full(size)
	}
	off = s.end
	s.end += size
	return off, nil
}

// full is the error of more bytes than there is room for.
func (s *scratch) full(size int64) error {
	return lang.Errorf("%d more bytes unpacked would be more than the %d that %s may take ($TMPDIR, --unpack-max)", size, s.limit, os.TempDir())
}

// take copies data of a size into the file.
func (s *scratch) take(data io.Reader, size int64) (io.ReaderAt, error) {
	off, err := s.room(size)
	if err != nil {
		return nil, err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{io.NewOffsetWriter(s.file, off)}, struct{ io.Reader }{io.LimitReader(data, size)}, make([]byte, 256<<10))
	switch {
	case err != nil:
		return nil, lang.Errorf("unpacking: %w", err)
	case n < size:
		return nil, lang.Errorf("unpacking: found %d bytes, want %d: %w", n, size, errors.Join(io.ErrUnexpectedEOF))
	}
	return io.NewSectionReader(s.file, off, size), nil
}
