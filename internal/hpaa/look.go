package hpaa

import (
	"fmt"
	"io"
	"path"
	"strings"

	"dumptool/internal/format"
	"dumptool/internal/format/npy"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// headBytes is how much of a file shows its encoding.
const headBytes = 4 << 10

// hints are what is known about a piece besides its description.
type hints struct {
	encoding Encoding
	skip     int64
	dtype    tensor.DType
	shape    tensor.Shape
	// model is the shape of the whole output in the reference, from the file of the
	// reference; divided is set where shape is a part of it.
	model   tensor.Shape
	from    string
	divided bool
	// unknown is set where there is a reference without the output, err says why one
	// cannot be used.
	unknown bool
	err     error
}

// look looks at the file of a piece and completes its description: what it does not
// say comes from the header of an array, else from the hints.
func look(p *Piece, h hints) (*stored, *PieceError) {
	file, err := safefile.Open(p.Path)
	if err != nil {
		return nil, readError(err)
	}
	defer file.Close()
	info, err := store.Stat(p.Path)
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder, want a file", p.Path)
	}
	if err != nil {
		return nil, readError(err)
	}
	s := &stored{Piece: p, encoding: p.Encoding, skip: p.Skip, dtype: p.DType, shape: p.Shape, model: p.ModelShape, size: file.Size()}
	if s.encoding == "" {
		s.encoding = h.encoding
	}
	if s.skip < 0 {
		s.skip = max(0, h.skip)
	}
	if s.skip > s.size {
		return nil, &PieceError{SizeMismatch, fmt.Sprintf("found %d bytes, want a header of %d to leave out", s.size, s.skip)}
	}
	head := make([]byte, min(headBytes, s.size-s.skip))
	if err := format.ReadFull(file, head, s.skip); err != nil {
		return nil, readError(err)
	}
	if s.encoding == Npy || s.encoding == Auto && len(head) >= len(npy.Magic) && string(head[:len(npy.Magic)]) == npy.Magic {
		if bad := s.readHeader(file); bad != nil {
			return nil, bad
		}
	}
	return s, s.complete(h, head)
}

// readHeader takes type and shape from the header of an array.
func (s *stored) readHeader(file io.ReaderAt) *PieceError {
	s.encoding = Npy
	array, err := npy.Open(io.NewSectionReader(file, s.skip, s.size-s.skip), s.size-s.skip)
	if err != nil {
		return readError(err)
	}
	shape := array.Shape
	if shape == nil {
		shape = tensor.Shape{}
	}
	if s.dtype == tensor.Undefined {
		s.dtype = array.Host.DType()
	}
	if s.shape == nil {
		s.shape = shape
	}
	if !s.shape.Equal(shape) || s.dtype.UnitSize() != array.Host.Size() || s.dtype.Packed() {
		return &PieceError{SizeMismatch, fmt.Sprintf("found an array %v of %s, want %v of %s", shape, array.Host, s.shape, s.dtype)}
	}
	return nil
}

// complete takes what is not known yet from the hints, and the encoding from the head
// of the file.
func (s *stored) complete(h hints, head []byte) *PieceError {
	if s.dtype == tensor.Undefined {
		s.dtype = h.dtype
	}
	if s.shape == nil {
		s.shape = h.shape
		if h.divided {
			s.from = h.from
		}
	}
	if s.model == nil {
		s.model = h.model
	}
	if bad := s.missing(h); bad != nil {
		return bad
	}
	want, ok := s.dtype.Bytes(s.shape.Elements())
	if !ok {
		return &PieceError{SizeMismatch, fmt.Sprintf("%v of %s has too many elements", s.shape, s.dtype)}
	}
	s.want = want
	if s.encoding == Auto {
		if bad := s.detect(head); bad != nil {
			return bad
		}
	}
	if found := s.size - s.skip; s.encoding == Bin && found != want {
		return sizeError(found, s.dtype, s.shape, want)
	}
	return nil
}

// missing is the error of a piece whose type or shape nothing says.
func (s *stored) missing(h hints) *PieceError {
	what := ""
	switch {
	case s.shape == nil:
		what = "shape"
	case s.dtype == tensor.Undefined:
		what = "element type"
	default:
		return nil
	}
	switch {
	case h.err != nil:
		return readError(h.err)
	case h.unknown:
		return &PieceError{NotInModel, "the reference has no such tensor, which would give the " + what}
	}
	return &PieceError{ReadError, "nothing says the " + what}
}

// detect finds the encoding out: bytes where the file is as long as the elements, else
// the only form of text that its head has.
func (s *stored) detect(head []byte) *PieceError {
	if s.size-s.skip == s.want {
		s.encoding = Bin
		return nil
	}
	whole := int64(len(head)) == s.size-s.skip
	digits, prefixed, ok := numbersIn(head, whole)
	switch {
	case !ok:
		return &PieceError{SizeMismatch, fmt.Sprintf("found %d bytes that are no hex text, want %d for %v of %s", s.size-s.skip, s.want, s.shape, s.dtype)}
	case prefixed && digits == 2:
		s.encoding = Hex0x
	case prefixed && digits == 4:
		s.encoding = Words16
	case prefixed && digits == 8:
		s.encoding = Words32
	case prefixed && digits == 16:
		s.encoding = Words64
	case !prefixed && digits != 4 && digits != 8 && digits != 16:
		s.encoding = Hex
	case prefixed:
		return &PieceError{ReadError, "the encoding does not show: numbers with 0x have 2, 4, 8 or 16 digits each"}
	default:
		return &PieceError{ReadError, fmt.Sprintf("the encoding does not show: %d digits in a row are %s or a number of words%d; say which", digits, Hex, 4*digits)}
	}
	return nil
}

// numbersIn is the form of the numbers in the head of a text: how many digits all have,
// 0 if they differ, and whether all have 0x. A number that the head cuts does not count.
func numbersIn(head []byte, whole bool) (digits int, prefixed, ok bool) {
	if len(head) >= len(utf8Mark) && string(head[:len(utf8Mark)]) == utf8Mark {
		head = head[len(utf8Mark):]
	}
	numbers, prefixes := 0, 0
	for len(head) > 0 {
		if separators[head[0]] {
			head = head[1:]
			continue
		}
		has0x := len(head) >= 2 && head[0] == '0' && head[1]|0x20 == 'x'
		if has0x {
			head = head[2:]
		}
		n := 0
		for n < len(head) && isDigit(head[n]) {
			n++
		}
		if n < len(head) && !separators[head[n]] {
			return 0, false, false
		}
		if n == len(head) && !whole && numbers > 0 {
			break
		}
		head = head[n:]
		if numbers == 0 {
			digits = n
		} else if digits != n {
			digits = 0
		}
		if numbers++; has0x {
			prefixes++
		}
	}
	return digits, prefixes > 0 && prefixes == numbers, numbers > 0 && (prefixes == 0 || prefixes == numbers)
}

// isNpyName reports whether a name ends as those of arrays of numpy do.
func isNpyName(name string) bool { return strings.EqualFold(path.Ext(name), ".npy") }
