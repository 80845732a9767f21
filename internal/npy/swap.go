package npy

import (
	"encoding/binary"
	"io"
	"math/bits"

	"dumptool/internal/tensor"
)

// swapper reads big-endian words as little-endian ones.
type swapper struct {
	r    io.ReaderAt
	unit int // bytes of a word: 2, 4 or 8
}

// swapUnit returns the size of the words that make up an element: a complex
// element is two of them.
func swapUnit(host tensor.Host) int {
	if host == tensor.HostComplex64 || host == tensor.HostComplex128 {
		return host.Size() / 2
	}
	return host.Size()
}

// ReadAt reads whole words into p and goes through a buffer where p begins or
// ends within a word.
func (s swapper) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		at := off + int64(n)
		within := int(at % int64(s.unit))
		whole := p[n : n+(len(p)-n)/s.unit*s.unit]
		if within == 0 && len(whole) > 0 {
			if err := readFull(s.r, whole, at); err != nil {
				return n, err
			}
			swap(whole, s.unit)
			n += len(whole)
			continue
		}
		var buf [8]byte
		word := buf[:s.unit]
		if err := readFull(s.r, word, at-int64(within)); err != nil {
			return n, err
		}
		swap(word, s.unit)
		n += copy(p[n:], word[within:])
	}
	return n, nil
}

// swap reverses the bytes of every word in b.
func swap(b []byte, unit int) {
	order := binary.LittleEndian
	switch unit {
	case 2:
		for ; len(b) >= 2; b = b[2:] {
			order.PutUint16(b, bits.ReverseBytes16(order.Uint16(b)))
		}
	case 4:
		for ; len(b) >= 4; b = b[4:] {
			order.PutUint32(b, bits.ReverseBytes32(order.Uint32(b)))
		}
	case 8:
		for ; len(b) >= 8; b = b[8:] {
			order.PutUint64(b, bits.ReverseBytes64(order.Uint64(b)))
		}
	}
}
