// Package atb reads the tensors that the Ascend Transformer Boost library saves: a header of text
// lines KEY=VALUE up to $End=1, then little-endian elements. A tensor that equals an earlier one
// has the path of the earlier file instead of elements, and a tensor saved as statistics has none.
package atb

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Magic is the beginning of every file.
const Magic = "$Version="

// maxHeader bounds the length of a header; headers of the library have about 150 bytes.
const maxHeader = 64 << 10

// The keys of the header.
const (
	keyEnd    = "$End"
	keyLength = "$Object.Length" // bytes after the header
	keyObject = "$Object.data"   // offset after the header, and length
	keyFormat = "format"
	keyDType  = "dtype"
	keyDims   = "dims"
	keyLink   = "data"
)

// dtypes are the element types by the library's numbers.
var dtypes = map[int64]tensor.DType{
	0: tensor.Float32, 1: tensor.Float16, 2: tensor.Int8, 3: tensor.Int32, 9: tensor.Int64, 12: tensor.Bool, 27: tensor.BFloat16,
}

// ErrNoData is the error of a tensor without elements and without a link to another file: only its
// statistics were saved.
var ErrNoData = lang.Errorf("the tensor was saved without data, statistics only")

// FormatError is the error of an invalid file.
type FormatError struct{ lang.Problem }

func formatError(off int64, format string, args ...any) error {
	return &FormatError{lang.Problem{Sentence: lang.Say("at 0x%x: %s", off, lang.Say(format, args...))}}
}

// Header are the fields of the header of a file.
type Header struct {
	// DType, Format and Shape describe the tensor; HasType is false for a header
	// without an element type.
	DType   tensor.DType
	HasType bool
	Format  tensor.Format
	Shape   tensor.Shape
	// Link is the path of the file with the elements, empty for this one.
	Link string
	// Data are the elements, nil if the file has none.
	Data *io.SectionReader
	// Spare is the number of bytes after the elements.
	Spare int64
}

// Read reads the header of a file of the given size. With an error it returns the fields read
// before.
func Read(file io.ReaderAt, size int64) (*Header, error) {
	text := make([]byte, min(size, maxHeader))
	if n, err := file.ReadAt(text, 0); n < len(text) {
		return &Header{}, lang.Errorf("read %d bytes of the header, want %d: %w", n, len(text), err)
	}
	p := &parser{Header: Header{Format: tensor.ND, Shape: tensor.Shape{}}, seen: map[string]bool{}}
	begin, err := p.parseLines(text)
	if err == nil {
		err = p.locateData(file, begin, size)
	}
	return &p.Header, err
}

type parser struct {
	Header
	seen           map[string]bool
	length         int64 // length of all objects, -1 if unknown
	offset, object int64
}

// parseLines parses the lines of the header and returns the offset of the elements.
func (p *parser) parseLines(text []byte) (begin int64, err error) {
	p.length = -1
	for off := 0; ; {
		n := bytes.IndexByte(text[off:], '\n')
		if n < 0 {
			return 0, formatError(int64(len(text)), "the header is cut off: no %s=1 in %d bytes", keyEnd, len(text))
		}
		line := strings.TrimSuffix(string(text[off:off+n]), "\r")
		key, value, ok := strings.Cut(line, "=")
		switch {
		case !ok:
			return 0, formatError(int64(off), "found %.40q in the header, want KEY=VALUE", line)
		case p.seen[key]:
			return 0, formatError(int64(off), "duplicate %.40s in the header", key)
		case key == keyEnd:
			return int64(off + n + 1), nil
		}
		p.seen[key] = true
		// A format of -1 means unknown.
		if key == keyFormat && value == "-1" {
			value = strconv.Itoa(int(tensor.ND))
		}
		if err := p.setField(key, value); err != nil {
			return 0, formatError(int64(off), "%s: %v", key, err)
		}
		off += n + 1
	}
}

// setField sets the field of a key; unknown keys are ignored.
func (p *parser) setField(key, value string) error {
	if key == keyLink {
		p.Link = value
		return nil
	}
	count, ok := map[string]int{keyLength: 1, keyObject: 2, keyFormat: 1, keyDType: 1, keyDims: anyCount}[key]
	if !ok {
		return nil
	}
	v, err := parseIntegers(value, count)
	if err != nil {
		return err
	}
	switch key {
	case keyLength:
		p.length = v[0]
	case keyObject:
		p.offset, p.object = v[0], v[1]
	case keyFormat:
		p.Format = tensor.FormatWord(v[0]).Format()
	case keyDType:
		if p.DType, p.HasType = dtypes[v[0]]; !p.HasType {
			return lang.Errorf("the element type %d is unknown", v[0])
		}
	case keyDims:
		p.Shape = v // empty for a scalar
	}
	return nil
}

// anyCount allows any number of integers, or none.
const anyCount = -1

// parseIntegers parses non-negative integers separated by commas.
func parseIntegers(text string, count int) ([]int64, error) {
	all := []int64{}
	if count == anyCount && strings.TrimSpace(text) == "" {
		return all, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseInt(strings.TrimSpace(word), 10, 64)
		if err != nil || v < 0 {
			return nil, lang.Errorf("found %.40q, want integers from 0", text)
		}
		all = append(all, v)
	}
	if count != anyCount && len(all) != count {
		return nil, lang.Errorf("found %.40q, want %d values", text, count)
	}
	return all, nil
}

// locateData finds the elements, at offset begin or later.
func (p *parser) locateData(file io.ReaderAt, begin, size int64) error {
	rest := size - begin
	switch {
	case p.length > rest:
		return formatError(begin, "%s is %d, but %d bytes follow the header", keyLength, p.length, rest)
	case !p.seen[keyObject] && p.Link != "":
		return nil
	case !p.seen[keyObject]:
		return ErrNoData
	case p.offset > rest || p.object > rest-p.offset:
		return formatError(begin, "%s has %d bytes from %d on, but %d bytes follow the header", keyObject, p.object, p.offset, rest)
	}
	p.Link = ""
	if err := p.Check(p.object); err != nil {
		return err
	}
	p.Data = io.NewSectionReader(file, begin+p.offset, p.object)
	p.Spare = rest - p.offset - p.object
	return nil
}

// Check compares size with the size of the elements.
func (h *Header) Check(size int64) error {
	if !h.HasType {
		return lang.Errorf("the header does not contain the element type")
	}
	n, ok := h.Shape.Count()
	need, fits := h.DType.Bytes(n)
	if !ok || !fits {
		return lang.Errorf("shape %v has too many elements", h.Shape)
	}
	if need != size {
		return lang.Errorf("%v elements of %s need %d bytes, found %d", h.Shape, h.DType, need, size)
	}
	return nil
}
