package metrics

import "io"

// memory reads elements from a slice.
type memory struct {
	data []byte
	size int
}

func (m memory) ReadElements(dst []byte, first int64) error {
	if copy(dst, m.data[first*int64(m.size):]) < len(dst) {
		return io.ErrUnexpectedEOF
	}
	return nil
}
