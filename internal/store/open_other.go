//go:build !linux

package store

import (
	"os"
	"syscall"
)

// openLocal opens a local file, a pipe without waiting for somebody at its other end.
func openLocal(path string) (Source, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return newLocal(file)
}
