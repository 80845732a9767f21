//go:build linux || darwin || freebsd

package store

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// newBuffer allocates memory outside of Go's heap: the collector lets the heap grow in proportion
// to memory in use, and blocks would count.
func newBuffer(size int64) []byte {
	data, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return make([]byte, size)
	}
	return data
}

// freeBuffer frees memory of newBuffer.
func freeBuffer(data []byte) { _ = syscall.Munmap(data[:cap(data)]) } // Munmap rejects memory of make

// writableBytes returns the bytes that the user may still write to the file system of a folder; false if
// unknown.
func writableBytes(dir string) (int64, bool) {
	var at unix.Statfs_t
	if unix.Statfs(dir, &at) != nil {
		return 0, false
	}
	return int64(at.Bavail) * int64(at.Bsize), true //nolint:unconvert // their types differ between systems
}
