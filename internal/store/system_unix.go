//go:build linux || darwin || freebsd

package store

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// newBuffer returns memory outside of Go's heap: the collector lets the heap grow by a
// part of what is in use, which would be a part of all blocks too.
func newBuffer(size int64) []byte {
	data, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return make([]byte, size)
	}
	return data
}

// freeBuffer gives memory back that nobody uses.
func freeBuffer(data []byte) { _ = syscall.Munmap(data[:cap(data)]) } // which knows what is none of its own

// room is how many bytes the user may still write to the file system of a folder; false
// where nobody knows.
func room(dir string) (int64, bool) {
	var at unix.Statfs_t
	if unix.Statfs(dir, &at) != nil {
		return 0, false
	}
	return int64(at.Bavail) * int64(at.Bsize), true //nolint:unconvert // their types differ between systems
}
