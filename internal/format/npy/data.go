package npy

import (
	"encoding/binary"
	"io"
	"math/bits"
	"slices"
	"sync"

	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// Section returns the stored data when it already is little-endian and in C
// order, so that it can be copied as it is; ok is false when it is not.
func (f *File) Section() (data *io.SectionReader, ok bool) {
	if f.BigEndian || f.transposed() {
		return nil, false
	}
	return f.stored(), true
}

// Data returns the elements as little-endian bytes in C order, whatever their
// order in the file. Data that is stored so is read directly; elements of
// Fortran-order data are gathered, for which the reader keeps at most some 5
// MiB and should be read from front to back. Booleans are the stored bytes.
// Readers from several calls are independent, and each may be used by several
// goroutines through its ReadAt.
func (f *File) Data() *io.SectionReader {
	if data, ok := f.Section(); ok {
		return data
	}
	src := layout.Source(&elements{f.stored(), f.Host.Size(), f.wordSize()})
	if f.transposed() {
		src = f.inOrder(src)
	}
	return io.NewSectionReader(&byteReader{src: src, unit: int64(f.Host.Size()), size: f.Size}, 0, f.Size)
}

func (f *File) stored() *io.SectionReader {
	return io.NewSectionReader(f.r, f.Offset, f.Size)
}

// transposed reports whether the order of the data in the file differs from C
// order: with fewer than two axes that have a length both are the same.
func (f *File) transposed() bool {
	long := 0
	for _, n := range f.Shape {
		if n > 1 {
			long++
		}
	}
	return f.Fortran && f.Size > 0 && long > 1
}

// inOrder reads Fortran-order elements in C order: they are an array in C order
// whose axes come the other way round.
func (f *File) inOrder(src layout.Source) layout.Source {
	stored := slices.Clone(f.Shape)
	slices.Reverse(stored)
	perm := make([]int, len(stored))
	for i := range perm {
		perm[i] = len(perm) - 1 - i
	}
	plan, err := layout.Transpose(stored, perm)
	if err == nil {
		src, err = plan.Reader(src, f.Host.Size(), new(layout.Buffers))
	}
	if err != nil {
		panic(err) // the order is one of all axes, and elements have bytes
	}
	return src
}

// wordSize is the size of the words whose bytes are to be swapped, 1 for none:
// a complex element is two of them.
func (f *File) wordSize() int {
	switch {
	case !f.BigEndian:
		return 1
	case f.Host == tensor.HostComplex64 || f.Host == tensor.HostComplex128:
		return f.Host.Size() / 2
	}
	return f.Host.Size()
}

// elements reads the stored elements as little-endian ones, in the order of the
// file.
type elements struct {
	r          io.ReaderAt
	unit, word int // bytes of an element, and of the words to swap in it
}

// ReadElements implements layout.Source.
func (e *elements) ReadElements(dst []byte, first int64) error {
	if err := readFull(e.r, dst, first*int64(e.unit)); err != nil {
		return err
	}
	swap(dst, e.word)
	return nil
}

// swap reverses the bytes of every word in b.
func swap(b []byte, word int) {
	order := binary.LittleEndian
	switch word {
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

// byteReader reads any bytes of elements that can only be read whole.
type byteReader struct {
	mu         sync.Mutex
	src        layout.Source
	unit, size int64
}

// ReadAt reads whole elements into p, and goes through a buffer where p begins
// or ends within one.
func (r *byteReader) ReadAt(p []byte, off int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at >= r.size {
			return n, io.EOF
		}
		first, within := at/r.unit, at%r.unit
		if whole := min(int64(len(p)-n), r.size-at) / r.unit * r.unit; within == 0 && whole > 0 {
			if err := r.src.ReadElements(p[n:n+int(whole)], first); err != nil {
				return n, err
			}
			n += int(whole)
			continue
		}
		var buf [16]byte // of the largest element
		element := buf[:r.unit]
		if err := r.src.ReadElements(element, first); err != nil {
			return n, err
		}
		n += copy(p[n:], element[within:])
	}
	return n, nil
}
