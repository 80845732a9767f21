// Package npy reads and writes .npy files, the array files of numpy. Headers
// are byte for byte those of numpy.save; files of every format version, byte
// order and axis order can be read, all as a stream of little-endian elements
// in C order. Nothing is read beyond the header before the data is used, and
// the memory needed does not depend on the size of the file.
//
// Element types without a host element type (structured, object, string,
// datetime, long double) are left out, and so are .npz archives.
//
// The format is described at
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
package npy

import (
	"io"

	"dumptool/internal/tensor"
)

// Header is what the header of a .npy file says about its data.
type Header struct {
	Host  tensor.Host
	Shape tensor.Shape // empty for a 0-d array
	// Fortran is set when the file says that its data is in Fortran order,
	// first axis fastest.
	Fortran bool
	// BigEndian is set when elements are stored most significant byte first;
	// never for one-byte elements.
	BigEndian bool
}

// File is an open .npy file.
type File struct {
	Header
	Offset int64 // of the data in the file
	Size   int64 // bytes of data
	Spare  int64 // bytes after the data: numpy ignores them

	r io.ReaderAt
}

// Open reads the header of a .npy file of the given size and checks it against
// that size. The error is a *FormatError for a broken or truncated file, an
// *UnsupportedError for a valid file that this package does not read, or an
// error of r.
func Open(r io.ReaderAt, size int64) (*File, error) {
	text, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	h, err := parseHeader(text)
	if err != nil {
		return nil, err
	}
	f := &File{Header: h, Offset: text.off + int64(len(text.data)), r: r}
	count, ok := h.Shape.Count()
	if !ok || count > maxInt64/int64(h.Host.Size()) {
		return nil, &FormatError{text.off, "shape has more than 63 bits of data", h.Shape.String()}
	}
	f.Size = count * int64(h.Host.Size())
	f.Spare = size - f.Offset - f.Size
	if f.Spare < 0 {
		return nil, wrongLength(size, "data is truncated", f.Size, size-f.Offset)
	}
	return f, nil
}

const maxInt64 = 1<<63 - 1
