package convert

import (
	"errors"
	"fmt"
	"io"
	"os"

	"dumptool/internal/layout"
)

// maxScratchMemory is how many bytes of elements between two steps are kept in
// memory; more go to a file in the output folder.
const maxScratchMemory = 4 << 20

// scratch keeps elements between two steps of a conversion.
type scratch struct {
	data io.ReaderAt
	w    io.WriterAt
	unit int64
	size int64
	file *os.File
}

// newScratch makes room for n elements of unit bytes.
func newScratch(dir string, n int64, unit int) (*scratch, error) {
	size := n * int64(unit)
	s := &scratch{unit: int64(unit), size: size}
	if size <= maxScratchMemory {
		m := memory(make([]byte, size))
		s.data, s.w = m, m
		return s, nil
	}
	file, err := os.CreateTemp(dir, ".dumptool.*.tmp")
	if err != nil {
		return nil, err
	}
	// Where an open file may lose its name, nothing is left even if the process
	// is killed.
	_ = os.Remove(file.Name())
	s.data, s.w, s.file = file, file, file
	return s, nil
}

// Close removes what the scratch kept.
func (s *scratch) Close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if e := os.Remove(s.file.Name()); err == nil && !errors.Is(e, os.ErrNotExist) {
		err = e
	}
	return err
}

// ReadElements implements layout.Source.
func (s *scratch) ReadElements(dst []byte, first int64) error {
	n, err := s.data.ReadAt(dst, first*s.unit)
	if n == len(dst) {
		return nil
	}
	return fmt.Errorf("read back %d bytes at 0x%x, want %d: %w", n, first*s.unit, len(dst), err)
}

// WriteElements implements layout.Sink.
func (s *scratch) WriteElements(src []byte, first int64) error {
	_, err := s.w.WriteAt(src, first*s.unit)
	return err
}

var _ layout.Store = (*scratch)(nil)

// memory is a byte slice that is read and written by offset.
type memory []byte

func (m memory) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(m)) {
		return 0, io.EOF
	}
	n := copy(p, m[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (m memory) WriteAt(p []byte, off int64) (int, error) {
	if off < 0 || off+int64(len(p)) > int64(len(m)) {
		return 0, io.ErrShortWrite
	}
	return copy(m[off:], p), nil
}
