package store

import (
	"bytes"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// smallFileSource is a small local file, read whole and closed when it was opened.
type smallFileSource struct {
	bytes.Reader
	path     string
	modified int64
	data     *[smallFile]byte // nil after Close
}

// smallFile is the maximum size of a file that is read whole. Reading it costs as much as reading a
// header, and the os.File that is saved costs as much as opening the file.
const smallFile = 8 << 10

// smallBuffers pools the buffers of small files.
var smallBuffers = sync.Pool{New: func() any { return new([smallFile]byte) }}

// openLocal opens a local file; for a pipe it does not wait for a writer.
func openLocal(path string) (Source, error) {
	fd, err := retryInterrupted(func() (int, error) {
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
func readSmall(fd int, path string) *smallFileSource {
	var info syscall.Stat_t
	_, err := retryInterrupted(func() (int, error) { return 0, syscall.Fstat(fd, &info) })
	if err != nil || info.Mode&syscall.S_IFMT != syscall.S_IFREG || info.Size == 0 || info.Size > smallFile {
		return nil
	}
	s := &smallFileSource{path: path, modified: info.Mtim.Nano(), data: smallBuffers.Get().(*[smallFile]byte)}
	data := s.data[:info.Size]
	if n, _ := retryInterrupted(func() (int, error) { return syscall.Pread(fd, data, 0) }); n < len(data) {
		smallBuffers.Put(s.data)
		return nil
	}
	s.Reset(data)
	return s
}

// retryInterrupted repeats a system call that a signal interrupts.
func retryInterrupted(call func() (int, error)) (n int, err error) {
	for n, err = call(); err == syscall.EINTR; n, err = call() { //nolint:errorlint // never wrapped
	}
	return n, err
}

// Close implements Source.
func (s *smallFileSource) Close() error {
	if s.data == nil {
		return fs.ErrClosed
	}
	s.Reset(nil)
	smallBuffers.Put(s.data)
	s.data = nil
	return nil
}

// ID implements Source.
func (s *smallFileSource) ID() string { return localID(s.path, s.Size(), s.modified) }
