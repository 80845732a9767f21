// Package safetensors reads and writes .safetensors files: the length of the header as a 64-bit
// little-endian number; the header, a JSON object with type, shape and offsets of every tensor; and
// their elements, little-endian and in C order, without gaps.
//
// A file that violates the format is refused as a whole, because its header cannot be trusted. An
// unknown element type is an error of its tensor only.
//
// The format is described at https://github.com/huggingface/safetensors#format.
package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"dumptool/internal/format"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Limits of files that can be read.
const (
	MaxHeader  = 100 << 20 // bytes of the header, the limit of the format
	MaxTensors = 1 << 20
	maxRank    = 32
)

// lengthSize is the number of bytes of the header length.
const lengthSize = 8

// dtypes maps the names of element types in files.
var dtypes = map[string]tensor.DType{
	"F64": tensor.Float64, "F32": tensor.Float32, "F16": tensor.Float16, "BF16": tensor.BFloat16,
	"I64": tensor.Int64, "I32": tensor.Int32, "I16": tensor.Int16, "I8": tensor.Int8,
	"U64": tensor.Uint64, "U32": tensor.Uint32, "U16": tensor.Uint16, "U8": tensor.Uint8, "BOOL": tensor.Bool,
	"F8_E4M3": tensor.Float8E4M3FN, "F8_E5M2": tensor.Float8E5M2, "F8_E8M0": tensor.Float8E8M0, "C64": tensor.Complex64,
}

// FormatError is the error of an invalid safetensors file.
type FormatError struct{ lang.Problem }

func formatError(format string, args ...any) error {
	return &FormatError{lang.Problem{Sentence: lang.Say(format, args...)}}
}

// UnsupportedError is the error of a file beyond the limits of this package.
type UnsupportedError struct{ lang.Problem }

func unsupported(format string, args ...any) error {
	return &UnsupportedError{lang.Problem{Sentence: lang.Say(format, args...)}}
}

// Open reads the header of a file of the given size. Tensors are in the order of their data; empty
// tensors at the same offset are in the order of their names, before the tensor with data. Values
// are the texts of __metadata__. The error is a *FormatError, an *UnsupportedError, a wrapped
// *jsonpos.Error, or an error of r.
func Open(r io.ReaderAt, size int64) (*format.Contents, error) {
	length, err := headerLength(r, size)
	if err != nil {
		return nil, err
	}
	begin := lengthSize + length
	h, err := parseHeader(io.NewSectionReader(r, lengthSize, length), MaxTensors)
	if err != nil {
		return nil, lang.Errorf("header: %w", err)
	}
	slices.SortFunc(h.tensors, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.name, b.name))
	})
	if err := checkPlaces(h.tensors, size-begin); err != nil {
		return nil, err
	}
	c := &format.Contents{Tensors: make([]format.Tensor, 0, len(h.tensors)), Values: h.metadata}
	for i := range h.tensors {
		c.Tensors = append(c.Tensors, h.tensors[i].newTensor(r, begin))
	}
	return c, nil
}

// headerLength reads and checks the length of the header.
func headerLength(r io.ReaderAt, size int64) (int64, error) {
	if size < lengthSize {
		return 0, formatError("the file is truncated: %d bytes, want %d for the length of its header", size, lengthSize)
	}
	var b [lengthSize]byte
	if n, err := r.ReadAt(b[:], 0); n < len(b) {
		return 0, lang.Errorf("read %d bytes, want %d: %w", n, len(b), err)
	}
	switch length := binary.LittleEndian.Uint64(b[:]); {
	case length > uint64(size-lengthSize):
		return 0, formatError("the file is truncated: its header has %d bytes, %d bytes are there", length, size-lengthSize)
	case length > MaxHeader:
		return 0, unsupported("a header of %d bytes is not supported, want at most %d", length, MaxHeader)
	default:
		return int64(length), nil
	}
}

// checkPlaces returns an error unless the tensors cover the data from the first byte to the last
// without gaps and overlaps.
func checkPlaces(tensors []entry, size int64) error {
	end := int64(0)
	for i, e := range tensors {
		switch {
		case e.end > size:
			return formatError("%q: the data from %d to %d goes beyond the end at %d bytes: the file is truncated", shorten(e.name), e.begin, e.end, size)
		case e.begin > end:
			return formatError("bytes %d to %d of the data belong to no tensor: a hole", end, e.begin)
		case e.begin < end:
			return formatError("%q: the data from %d to %d overlaps the data of %q, which end at %d", shorten(e.name), e.begin, e.end, shorten(tensors[i-1].name), end)
		}
		end = e.end
	}
	if end < size {
		return formatError("bytes %d to %d of the data belong to no tensor: a hole", end, size)
	}
	return nil
}

// newTensor returns the tensor of an entry; begin is the offset of the data.
func (e *entry) newTensor(r io.ReaderAt, begin int64) format.Tensor {
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

// The keys of a header.
const (
	keyMetadata = "__metadata__"
	keyDType    = "dtype"
	keyShape    = "shape"
	keyOffsets  = "data_offsets"
)

// entry describes a tensor in a header.
type entry struct {
	name       string
	dtype      string
	shape      tensor.Shape
	begin, end int64 // offsets after the header
}

// header is a parsed header.
type header struct {
	tensors  []entry
	metadata []format.Value
	seen     map[string]bool
}

// maxText is the maximum number of characters of a metadata value.
const maxText = 1000

// parseHeader parses a header with at most `most` tensors: an object that begins at the first byte,
// and blanks after it.
func parseHeader(in *io.SectionReader, most int) (*header, error) {
	var first [1]byte
	if n, err := in.ReadAt(first[:], 0); n == 1 && first[0] != '{' {
		return nil, formatError("found %q at its first byte, want a JSON object", first[0])
	} else if n == 0 && in.Size() > 0 {
		return nil, err
	}
	h := &header{seen: map[string]bool{}}
	r := jsonpos.NewReader(in, in.Size())
	err := r.Object(func(key string) error {
		if h.seen[key] {
			return formatError("duplicate key %q", shorten(key))
		}
		h.seen[key] = true
		if key == keyMetadata {
			return h.readMetadata(r)
		}
		if len(h.tensors) == most {
			return unsupported("more than %d tensors are not supported", most)
		}
		e := entry{name: key}
		if err := e.readObject(r); err != nil {
			return err
		}
		h.tensors = append(h.tensors, e)
		return nil
	})
	if err == nil {
		err = r.End()
	}
	return h, err
}

// readMetadata parses the metadata object.
func (h *header) readMetadata(r *jsonpos.Reader) error {
	seen := map[string]bool{}
	return r.Object(func(key string) error {
		if seen[key] {
			return formatError("duplicate key %q of %s", shorten(key), keyMetadata)
		}
		seen[key] = true
		if r.Kind() != jsonpos.String {
			return r.Unexpected("a text")
		}
		_, text, err := r.Scalar()
		h.metadata = append(h.metadata, format.Value{Name: keyMetadata + "." + key, Type: "text", Text: jsonpos.Shorten(text, maxText)})
		return err
	})
}

// readObject parses the object of a tensor and skips unknown keys.
func (e *entry) readObject(r *jsonpos.Reader) error {
	seen := map[string]bool{}
	err := r.Object(func(key string) error {
		if seen[key] {
			return formatError("%q: duplicate key %q", shorten(e.name), shorten(key))
		}
		seen[key] = true
		switch key {
		case keyDType:
			return e.readDType(r)
		case keyShape:
			return e.readShape(r)
		case keyOffsets:
			return e.readOffsets(r)
		}
		return r.Skip()
	})
	if err != nil {
		return err
	}
	for _, key := range []string{keyDType, keyShape, keyOffsets} {
		if !seen[key] {
			return formatError("%q: no key %s", shorten(e.name), key)
		}
	}
	return e.checkSize()
}

func (e *entry) readDType(r *jsonpos.Reader) (err error) {
	if r.Kind() != jsonpos.String {
		return r.Unexpected("a name of an element type")
	}
	_, e.dtype, err = r.Scalar()
	return err
}

func (e *entry) readShape(r *jsonpos.Reader) error {
	e.shape = tensor.Shape{}
	return r.Array(func(int) error {
		if len(e.shape) == maxRank {
			return unsupported("%q: more than %d dimensions are not supported", shorten(e.name), maxRank)
		}
		n, err := e.readInteger(r)
		e.shape = append(e.shape, n)
		return err
	})
}

func (e *entry) readOffsets(r *jsonpos.Reader) error {
	var offsets []int64
	err := r.Array(func(i int) error {
		if i == 2 {
			return r.Unexpected("two offsets")
		}
		n, err := e.readInteger(r)
		offsets = append(offsets, n)
		return err
	})
	switch {
	case err != nil:
		return err
	case len(offsets) < 2:
		return formatError("%q: %d data_offsets, want 2", shorten(e.name), len(offsets))
	}
	e.begin, e.end = offsets[0], offsets[1]
	return nil
}

// readInteger reads a number from 0 to 2^63-1.
func (e *entry) readInteger(r *jsonpos.Reader) (int64, error) {
	if r.Kind() != jsonpos.Number {
		return 0, r.Unexpected("a whole number")
	}
	_, text, err := r.Scalar()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || text[0] == '-' {
		return 0, formatError("%q: found %s, want a whole number from 0 to 2^63-1", shorten(e.name), shorten(text))
	}
	return n, nil
}

// checkSize compares the bytes of a tensor with its shape. With an unknown element type any size is
// valid.
func (e *entry) checkSize() error {
	if e.begin > e.end {
		return formatError("%q: data_offsets [%d, %d]: the size is negative", shorten(e.name), e.begin, e.end)
	}
	dtype, ok := dtypes[e.dtype]
	if !ok {
		return nil
	}
	count, ok := e.shape.Count()
	need, fits := dtype.Bytes(count)
	switch {
	case !ok || !fits:
		return formatError("%q: the size of %s%v has more than 63 bits", shorten(e.name), e.dtype, e.shape)
	case need != e.end-e.begin:
		return formatError("%q: data_offsets [%d, %d] have %d bytes, the size of %s%v is %d", shorten(e.name),
			e.begin, e.end, e.end-e.begin, e.dtype, e.shape, need)
	}
	return nil
}

// shorten shortens a text from a header for a message.
func shorten(s string) string { return jsonpos.Shorten(s, 60) }

// alignment of the data, in bytes.
const alignment = 8

// Entry describes a tensor to write.
type Entry struct {
	Name  string
	DType tensor.DType
	Shape tensor.Shape
}

// TypeName returns the name of an element type in files; ok is false if the format does not have
// the type.
func TypeName(d tensor.DType) (name string, ok bool) {
	for name, dtype := range dtypes {
		if dtype == d {
			return name, true
		}
	}
	return "", false
}

// Check returns an error for a tensor that cannot be written.
func Check(e Entry) error {
	if e.Name == keyMetadata {
		return lang.Errorf("%s is the name of the metadata of safetensors", e.Name)
	}
	if _, ok := TypeName(e.DType); !ok {
		return lang.Errorf("safetensors has no element type %v", e.DType)
	}
	if _, ok := e.size(); !ok {
		return lang.Errorf("%v%v is too large for safetensors", e.DType, e.Shape)
	}
	return nil
}

// size returns the bytes of the elements.
func (e *Entry) size() (size int64, ok bool) {
	count, ok := e.Shape.Count()
	if !ok {
		return 0, false
	}
	return e.DType.Bytes(count)
}

// Sort sorts tensors in the order of the format's own library: larger elements first, so that all
// are aligned, then by name.
func Sort(entries []Entry) {
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(b.DType.Bits(), a.DType.Bits()), cmp.Compare(a.Name, b.Name))
	})
}

// AppendHeader appends the beginning of a file up to the data of the first tensor. The elements of
// the tensors follow in their order, little-endian, in C order and without gaps. Spaces pad the
// header to a multiple of 8 bytes.
func AppendHeader(dst []byte, entries []Entry) ([]byte, error) {
	var text bytes.Buffer
	at, seen := int64(0), make(map[string]bool, len(entries))
	for i, e := range entries {
		if err := Check(e); err != nil {
			return nil, lang.Errorf("%q: %w", e.Name, err)
		}
		dtype, _ := TypeName(e.DType)
		size, _ := e.size()
		switch {
		case at+size < at:
			return nil, lang.Errorf("%q: %v%v is too large for safetensors", e.Name, e.DType, e.Shape)
		case seen[e.Name]:
			return nil, lang.Errorf("%q: duplicate name", e.Name)
		}
		seen[e.Name] = true
		text.WriteByte("{,"[min(i, 1)])
		if err := appendName(&text, e.Name); err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, `:{"dtype":"%s","shape":[%s],"data_offsets":[%d,%d]}`, dtype, e.Shape.Join(","), at, at+size)
		at += size
	}
	if len(entries) == 0 {
		text.WriteByte('{')
	}
	text.WriteByte('}')
	for text.Len()%alignment != 0 {
		text.WriteByte(' ')
	}
	if text.Len() > MaxHeader {
		return nil, lang.Errorf("a header of %d bytes for %d tensors, safetensors has at most %d", text.Len(), len(entries), MaxHeader)
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(text.Len()))
	return append(dst, text.Bytes()...), nil
}

// appendName appends a name as JSON.
func appendName(text *bytes.Buffer, name string) error {
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(name); err != nil {
		return err
	}
	text.Truncate(text.Len() - 1) // newline of Encode
	return nil
}
