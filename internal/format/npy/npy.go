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
	"fmt"
	"io"
	"slices"

	"dumptool/internal/format"
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

// FormatError reports a file that is not a valid .npy file.
type FormatError struct {
	Off   int64  // where in the file
	Msg   string // what is wrong, and what was wanted
	Value any    // what was found, nil when there is nothing to show
}

// Error describes the fault, what was found and where.
func (e *FormatError) Error() string { return describe(e.Msg, e.Value, e.Off) }

// UnsupportedError reports a valid .npy file that this package does not read.
type UnsupportedError struct {
	Off   int64  // where in the file
	Msg   string // what is not supported
	Value any    // what was found
}

// Error describes what is not supported, what was found and where.
func (e *UnsupportedError) Error() string { return describe(e.Msg, e.Value, e.Off) }

// maxQuoted is the number of bytes of a file that a message quotes.
const maxQuoted = 40

func describe(msg string, value any, off int64) string {
	switch v := value.(type) {
	case nil:
		return fmt.Sprintf("npy: %s at %#x", msg, off)
	case string:
		if len(v) > maxQuoted {
			return fmt.Sprintf("npy: %s, found %q... at %#x", msg, v[:maxQuoted], off)
		}
		return fmt.Sprintf("npy: %s, found %q at %#x", msg, v, off)
	}
	return fmt.Sprintf("npy: %s, found %v at %#x", msg, value, off)
}

// wrongLength reports a part of the file that should have had want bytes.
func wrongLength(off int64, msg string, want, found int64) error {
	return &FormatError{off, fmt.Sprintf("%s, want %d bytes", msg, want), found}
}

// Data returns the elements as little-endian bytes in C order, whatever their
// order in the file; see format.View. Booleans are the stored bytes. Readers from
// several calls are independent, and each may be used by several goroutines
// through its ReadAt.
func (f *File) Data() *io.SectionReader { return f.view().Data() }

func (f *File) view() format.View {
	strides := f.Shape.Strides()
	if f.Fortran {
		reversed := slices.Clone(f.Shape)
		slices.Reverse(reversed)
		strides = reversed.Strides()
		slices.Reverse(strides)
	}
	stored := io.NewSectionReader(f.r, f.Offset, f.Size)
	return format.View{Stored: stored, DType: f.Host.DType(), BigEndian: f.BigEndian, Shape: f.Shape, Strides: strides}
}
