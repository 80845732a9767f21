// Package safetensors reads and writes .safetensors files: the length of a header
// as a 64-bit little-endian number, the header, which is a JSON object with type,
// shape and place of every tensor, and their elements, little-endian and in C
// order, without gaps.
//
// A file that breaks the rules of the format is refused as a whole: what its
// header says cannot be trusted. Only element types that are not known concern a
// single tensor.
//
// The format is described at
// https://github.com/huggingface/safetensors#format.
package safetensors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"dumptool/internal/format"
	"dumptool/internal/tensor"
)

// The limits of what is read.
const (
	MaxHeader  = 100 << 20 // bytes of the header, as the format has it
	MaxTensors = 1 << 20
	maxRank    = 32
)

// lengthSize is how many bytes say how long the header is.
const lengthSize = 8

// dtypes are the element types by their names in files.
var dtypes = map[string]tensor.DType{
	"F64": tensor.Float64, "F32": tensor.Float32, "F16": tensor.Float16, "BF16": tensor.BFloat16,
	"I64": tensor.Int64, "I32": tensor.Int32, "I16": tensor.Int16, "I8": tensor.Int8,
	"U64": tensor.Uint64, "U32": tensor.Uint32, "U16": tensor.Uint16, "U8": tensor.Uint8, "BOOL": tensor.Bool,
	"F8_E4M3": tensor.Float8E4M3FN, "F8_E5M2": tensor.Float8E5M2, "F8_E8M0": tensor.Float8E8M0, "C64": tensor.Complex64,
}

// FormatError reports a file that is no valid safetensors file.
type FormatError struct{ Problem string }

// Error returns the text of the error.
func (e *FormatError) Error() string { return e.Problem }

func broken(format string, args ...any) error { return &FormatError{fmt.Sprintf(format, args...)} }

// UnsupportedError reports a file that is beyond the limits of what is read.
type UnsupportedError struct{ Problem string }

// Error returns the text of the error.
func (e *UnsupportedError) Error() string { return e.Problem }

func unsupported(format string, args ...any) error {
	return &UnsupportedError{fmt.Sprintf(format, args...)}
}

// Open reads the header of a file of the given size. Tensors are in the order of
// their elements, and those of one place, all but the last of them empty, in that of
// their names. Values are the texts of __metadata__. The error is a *FormatError, an
// *UnsupportedError, a *jsonpos.Error behind a few words, or an error of r.
func Open(r io.ReaderAt, size int64) (*format.Contents, error) {
	length, err := headerLength(r, size)
	if err != nil {
		return nil, err
	}
	begin := lengthSize + length
	h, err := parseHeader(io.NewSectionReader(r, lengthSize, length), MaxTensors)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	slices.SortFunc(h.tensors, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.name, b.name))
	})
	if err := checkPlaces(h.tensors, size-begin); err != nil {
		return nil, err
	}
	c := &format.Contents{Tensors: make([]format.Tensor, 0, len(h.tensors)), Values: h.metadata}
	for i := range h.tensors {
		c.Tensors = append(c.Tensors, h.tensors[i].open(r, begin))
	}
	return c, nil
}

// headerLength reads and checks the number that a file begins with.
func headerLength(r io.ReaderAt, size int64) (int64, error) {
	if size < lengthSize {
		return 0, broken("the file is truncated: %d bytes, want %d for the length of its header", size, lengthSize)
	}
	var b [lengthSize]byte
	if n, err := r.ReadAt(b[:], 0); n < len(b) {
		return 0, fmt.Errorf("read %d bytes, want %d: %w", n, len(b), err)
	}
	switch length := binary.LittleEndian.Uint64(b[:]); {
	case length > uint64(size-lengthSize):
		return 0, broken("the file is truncated: its header has %d bytes, %d bytes are there", length, size-lengthSize)
	case length > MaxHeader:
		return 0, unsupported("a header of %d bytes is not supported, want at most %d", length, MaxHeader)
	default:
		return int64(length), nil
	}
}

// checkPlaces wants the tensors to follow one another without gaps, from the first
// byte of the data to the last.
func checkPlaces(tensors []entry, size int64) error {
	end := int64(0)
	for i, e := range tensors {
		switch {
		case e.end > size:
			return broken("%q: the data from %d to %d goes beyond the %d bytes that are there: the file is truncated", shorten(e.name), e.begin, e.end, size)
		case e.begin > end:
			return broken("bytes %d to %d of the data belong to no tensor: a hole", end, e.begin)
		case e.begin < end:
			return broken("%q: the data from %d to %d overlaps that of %q, which ends at %d", shorten(e.name), e.begin, e.end, shorten(tensors[i-1].name), end)
		}
		end = e.end
	}
	if end < size {
		return broken("bytes %d to %d of the data belong to no tensor: a hole", end, size)
	}
	return nil
}

// open returns the tensor of an entry, whose data is behind begin.
func (e *entry) open(r io.ReaderAt, begin int64) format.Tensor {
	t := format.Tensor{Path: []string{e.name}, Name: e.name}
	dtype, ok := dtypes[e.dtype]
	if !ok {
		t.Err = unsupported("element type %.40q is not supported", e.dtype)
		return t
	}
	size := e.end - e.begin
	t.Tensor = tensor.Tensor{DType: dtype, Format: tensor.ND, Shape: e.shape, Size: size,
		Data: io.NewSectionReader(r, begin+e.begin, size)}
	return t
}
