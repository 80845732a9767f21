//go:build !linux

package store

import (
	"os"
	"syscall"
)

// openLocal opens a local file; for a pipe it does not wait for a writer.
func openLocal(path string) (Source, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return newLocal(file)
}
