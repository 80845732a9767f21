//go:build !unix

package store

// newBuffer returns memory.
func newBuffer(size int64) []byte { return make([]byte, size) }

// freeBuffer gives memory back.
func freeBuffer([]byte) {}
