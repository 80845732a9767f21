package store

import (
	"bytes"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// small is a small local file, read whole and closed when it was opened.
type small struct {
	bytes.Reader
	path     string
	modified int64
	data     *[smallFile]byte // nil after Close
}

// smallFile is the maximum size of a file that is read whole. Reading it costs as much as reading a
// header, and the os.File that is saved costs as much as opening the file.
const smallFile = 8 << 10

// rooms pools the buffers of small files.
var rooms = sync.Pool{New: func() any { return new([smallFile]byte) }}

// openLocal opens a local file; for a pipe it does not wait for a writer.
func openLocal(path string) (Source, error) {
	fd, err := uninterrupted(func() (int, error) {
		return syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if s := readSmall(fd, path); s != nil {
		_ = syscall.Close(fd) // only read
		return s, nil
	}
	return newLocal(os.NewFile(uintptr(fd), path))
}

// readSmall reads an open small file whole, nil for any other file and on errors.
func readSmall(fd int, path string) *small {
	var info syscall.Stat_t
	_, err := uninterrupted(func() (int, error) { return 0, syscall.Fstat(fd, &info) })
	if err != nil || info.Mode&syscall.S_IFMT != syscall.S_IFREG || info.Size == 0 || info.Size > smallFile {
		return nil
	}
	s := &small{path: path, modified: info.Mtim.Nano(), data: rooms.Get().(*[smallFile]byte)}
	data := s.data[:info.Size]
	if n, _ := uninterrupted(func() (int, error) { return syscall.Pread(fd, data, 0) }); n < len(data) {
		rooms.Put(s.data)
		return nil
	}
	s.Reset(data)
	return s
}

// uninterrupted repeats a system call that a signal interrupts.
func uninterrupted(call func() (int, error)) (n int, err error) {
	for n, err = call(); err == syscall.EINTR; n, err = call() { //nolint:errorlint // never wrapped
	}
	return n, err
}

// Close implements Source.
func (s *small) Close() error {
	if s.data == nil {
		return fs.ErrClosed
	}
	s.Reset(nil)
	rooms.Put(s.data)
	s.data = nil
	return nil
}

// ID implements Source.
func (s *small) ID() string { return localID(s.path, s.Size(), s.modified) }
