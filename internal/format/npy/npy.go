// Package npy reads and writes .npy files, the array files of numpy. Written headers equal the
// headers of numpy.save byte for byte; files of every format version, byte order and axis order can
// be read, all as a stream of little-endian elements in C order. Data is read on demand, and memory
// does not depend on the size of the file.
//
// Of the element types that the package ml_dtypes adds to numpy, bfloat16 and float8_e5m2 are
// supported: only their headers differ from all other types. Element types without a host element
// type (structured, object, string, datetime, long double) are not supported, nor are .npz
// archives.
//
// The format is described at
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
package npy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dumptool/internal/format"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Header are the fields of the header of a .npy file.
type Header struct {
	Host tensor.Host
	// Float is the type if ml_dtypes adds it to numpy, and Host is the type of its bits; else
	// Undefined.
	Float tensor.DType
	Shape tensor.Shape // empty for a 0-d array
	// Fortran: the data is in Fortran order, first axis fastest.
	Fortran bool
	// BigEndian: the most significant byte is stored first; never set for one-byte elements.
	BigEndian bool
}

// DType returns the element type.
func (h *Header) DType() tensor.DType {
	return cmp.Or(h.Float, h.Host.DType())
}

// File is an open .npy file.
type File struct {
	Header
	Offset int64 // offset of the data in the file
	Size   int64 // bytes of data
	Spare  int64 // bytes after the data, which numpy ignores

	r io.ReaderAt
}

// Open parses the header of a .npy file of the given size and checks it against that size. The
// error is a *FormatError for an invalid or truncated file, an *UnsupportedError for a valid file
// that this package cannot read, or an error of r.
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
		return nil, &FormatError{text.off, lang.Say("shape has more than 63 bits of data"), h.Shape.String()}
	}
	f.Size = count * int64(h.Host.Size())
	f.Spare = size - f.Offset - f.Size
	if f.Spare < 0 {
		return nil, lengthError(size, "data is truncated", f.Size, size-f.Offset)
	}
	return f, nil
}

const maxInt64 = 1<<63 - 1

// FormatError is the error of an invalid .npy file.
type FormatError struct {
	Off   int64         // offset in the file
	Msg   lang.Sentence // the problem, and the value wanted
	Value any           // the value found, nil for none
}

// Error describes the problem, the value found and its offset.
func (e *FormatError) Error() string { return e.Text().String() }

// Text is the error in both languages.
func (e *FormatError) Text() lang.Text { return describe(e.Msg, e.Value, e.Off) }

// UnsupportedError is the error of a valid .npy file that this package cannot read.
type UnsupportedError struct {
	Off   int64         // offset in the file
	Msg   lang.Sentence // the unsupported feature
	Value any           // the value found
}

// Error describes the unsupported feature, the value found and its offset.
func (e *UnsupportedError) Error() string { return e.Text().String() }

// Text is the error in both languages.
func (e *UnsupportedError) Text() lang.Text { return describe(e.Msg, e.Value, e.Off) }

// maxQuoted bounds the bytes of a file that a message quotes.
const maxQuoted = 40

func describe(msg lang.Sentence, value any, off int64) lang.Text {
	switch v := value.(type) {
	case nil:
		return lang.Say("npy: %s at %#x", msg, off).Text()
	case string:
		if len(v) > maxQuoted {
			return lang.Say("npy: %s, found %q... at %#x", msg, v[:maxQuoted], off).Text()
		}
		return lang.Say("npy: %s, found %q at %#x", msg, v, off).Text()
	}
	return lang.Say("npy: %s, found %v at %#x", msg, value, off).Text()
}

// lengthError returns the error of a part of the file with a wrong length.
func lengthError(off int64, problem string, want, found int64) error {
	return &FormatError{off, lang.Say("%s, want %d bytes", lang.Say(problem), want), found}
}

// Data returns the elements as little-endian bytes in C order, whatever their order in the file;
// see format.View. Booleans are the stored bytes. Results of several calls are independent, and
// several goroutines may use the ReadAt of each.
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
	return format.View{Stored: stored, DType: f.DType(), BigEndian: f.BigEndian, Shape: f.Shape, Strides: strides}
}

// source is the part of a header that is Python source.
type source struct {
	data []byte
	off  int64 // offset in the file
}

// usualHeader is the number of bytes before the data in most files.
const usualHeader = 128

// readHeader reads the header text, after the magic, version and length.
func readHeader(r io.ReaderAt, size int64) (source, error) {
	got := make([]byte, max(0, min(size, usualHeader)))
	if err := format.ReadFull(r, got, 0); err != nil {
		return source{}, lang.Errorf("npy: read header: %w", err)
	}
	start, length, err := parsePrefix(got)
	if err != nil {
		return source{}, err
	}
	switch {
	case length > size-start:
		return source{}, lengthError(start, "header is truncated", length, size-start)
	case length > maxHeader:
		return source{}, &UnsupportedError{int64(len(Magic) + 2),
			lang.Say("header length over %d bytes is not supported", maxHeader), length}
	}
	text := source{off: start}
	if start+length <= int64(len(got)) {
		text.data = got[start : start+length]
	} else {
		text.data = make([]byte, length)
		if err := format.ReadFull(r, text.data, start); err != nil {
			return source{}, lang.Errorf("npy: read header: %w", err)
		}
	}
	if i := bytes.IndexByte(text.data, 0); i >= 0 {
		return source{}, &FormatError{start + int64(i), lang.Say("header has a zero byte"), nil}
	}
	if got[len(Magic)] >= 3 && !utf8.Valid(text.data) {
		return source{}, &FormatError{start, lang.Say("header is not utf-8"), nil}
	}
	return text, nil
}

// parsePrefix returns the offset and the length of the header text.
func parsePrefix(b []byte) (start, length int64, err error) {
	const version = len(Magic)
	if n := min(len(b), len(Magic)); n > 0 && string(b[:n]) != Magic[:n] {
		return 0, 0, &FormatError{0, lang.Say("magic is wrong, want %q", Magic), string(b[:n])}
	}
	if len(b) < version+2 {
		return 0, 0, lengthError(int64(len(b)), "file is truncated", int64(version+2), int64(len(b)))
	}
	major, minor := b[version], b[version+1]
	if major < 1 || major > 3 || minor != 0 {
		return 0, 0, &UnsupportedError{int64(version), lang.Say("format version is not supported, want 1.0, 2.0 or 3.0"),
			fmt.Sprintf("%d.%d", major, minor)}
	}
	field := b[version+2:]
	want := 4
	if major == 1 {
		want = 2
	}
	switch {
	case len(field) < want:
		return 0, 0, lengthError(int64(version+2), "header length is truncated", int64(want), int64(len(field)))
	case major == 1:
		length = int64(binary.LittleEndian.Uint16(field))
	default:
		length = int64(binary.LittleEndian.Uint32(field))
	}
	return int64(version + 2 + want), length, nil
}

// typeString matches a type string of numpy for single numbers: byte order, kind and size, such as
// <f4.
var typeString = lang.Pattern(`^([<>=|]?)([a-z][0-9]+)$`)

// otherType matches type strings of numpy that are not supported: objects, strings, raw bytes,
// times, long double.
var otherType = lang.Pattern(`^[<>=|]?(O|[SaUV]\d*|[Mm]8(\[\w+\])?|f(12|16)|c(24|32))$`)

// addedTypes are the types of ml_dtypes with a unique type string, and the host type of their bits.
// Its other types are all V1: float8_e4m3fn, float4_e2m1fn, int4 and more.
var addedTypes = map[string]struct {
	float tensor.DType
	bits  tensor.Host
}{
	"V2": {tensor.BFloat16, tensor.HostUint16},
	"f1": {tensor.Float8E5M2, tensor.HostUint8},
}

// parseDescr returns the element type of a numpy type string. Native byte order (=, | or nothing)
// is little-endian, as on all machines that write dumps.
func parseDescr(descr string) (host tensor.Host, bigEndian, ok bool) {
	m := typeString().FindStringSubmatch(descr)
	if m == nil {
		return 0, false, false
	}
	for _, h := range tensor.Hosts() {
		if m[2] == h.Descr()[1:] {
			return h, m[1] == ">" && h.Size() > 1, true
		}
	}
	return 0, false, false
}

// dict parses the Python dict in a header, as numpy writes it: the keys descr, fortran_order and
// shape in any order, with a string, a bool and a tuple of integers. Other writers differ in
// quotes, blanks and the last comma.
type dict struct {
	source
	pos int
}

// The tokens of a header. Integers of Python 2 end in L.
var (
	blanks  = lang.Pattern(`^[ \t\f\r\n]*`)
	quoted  = lang.Pattern(`^(?:'[^'"\\\r\n]*'|"[^'"\\\r\n]*")`)
	boolean = lang.Pattern(`^(?:True|False)\b`)
	tuple   = lang.Pattern(`^\(\s*(?:(?:-?[0-9]+L?\s*,\s*)+(?:-?[0-9]+L?\s*)?)?\)`)
)

// parseHeader parses the dict of a header: exactly the keys descr, fortran_order and shape, as
// numpy requires.
func parseHeader(text source) (Header, error) {
	if h, ok := parseUsual(string(text.data)); ok {
		return h, nil
	}
	return parseDict(text)
}

// parseDict parses the dict of a header. It accepts every valid text.
func parseDict(text source) (Header, error) {
	d := &dict{source: text}
	var h Header
	seen := map[string]bool{}
	if !d.skipMark("{") {
		return Header{}, d.unexpectedError("{")
	}
	for !d.skipMark("}") {
		if len(seen) > 0 && !d.skipMark(",") {
			return Header{}, d.unexpectedError("a comma or }")
		} else if d.skipMark("}") {
			break
		}
		at := d.pos
		key, ok := d.nextToken(quoted())
		if !ok {
			return Header{}, d.unexpectedError("a key in quotes")
		}
		key = key[1 : len(key)-1]
		read, known := d.valueParsers(&h)[key]
		switch {
		case !known:
			d.pos = at
			return Header{}, d.unexpectedError("one of the keys descr, fortran_order and shape")
		case seen[key]:
			d.pos = at
			return Header{}, d.unexpectedError("every key once")
		case !d.skipMark(":"):
			return Header{}, d.unexpectedError("a colon")
		}
		if err := read(); err != nil {
			return Header{}, err
		}
		seen[key] = true
	}
	for _, key := range headerKeys {
		if !seen[key] {
			return Header{}, &FormatError{d.off, lang.Say("header has no key %s", key), nil}
		}
	}
	if d.skipBlanks(); d.pos < len(d.data) {
		return Header{}, d.unexpectedError("the end of the header")
	}
	return h, nil
}

// parseUsual parses the header that numpy.save, or this package, writes for an array in C order; ok
// is false for any other text.
func parseUsual(text string) (h Header, ok bool) {
	descr, rest, ok := cutBetween(text, "{'descr': '", "', 'fortran_order': False, 'shape': (")
	dims, end, isWhole := strings.Cut(rest, "), }")
	if !ok || !isWhole || strings.Trim(end, " \n") != "" {
		return Header{}, false
	}
	host := slices.IndexFunc(tensor.Hosts(), func(h tensor.Host) bool { return h.Descr() == descr })
	if host < 0 {
		return Header{}, false
	}
	h.Host = tensor.Hosts()[host]
	if dims == "" {
		return h, true
	}
	h.Shape = make(tensor.Shape, 0, strings.Count(dims, ",")+1)
	for word := range strings.SplitSeq(strings.TrimSuffix(dims, ","), ", ") {
		n, err := strconv.ParseUint(word, 10, 63)
		if err != nil || word != "0" && word[0] == '0' {
			return Header{}, false
		}
		h.Shape = append(h.Shape, int64(n))
	}
	return h, strings.HasSuffix(dims, ",") == (len(h.Shape) == 1)
}

// cutBetween cuts the prefix begin from a text, and splits the rest at end.
func cutBetween(text, begin, end string) (between, rest string, ok bool) {
	if text, ok = strings.CutPrefix(text, begin); !ok {
		return "", "", false
	}
	return strings.Cut(text, end)
}

var headerKeys = []string{"descr", "fortran_order", "shape"}

// valueParsers returns the parsers of the values into h, by key.
func (d *dict) valueParsers(h *Header) map[string]func() error {
	return map[string]func() error{
		"descr":         func() error { return d.readDescr(h) },
		"fortran_order": func() (err error) { h.Fortran, err = d.readOrder(); return err },
		"shape":         func() (err error) { h.Shape, err = d.readShape(); return err },
	}
}

func (d *dict) readDescr(h *Header) error {
	d.skipBlanks()
	at := d.off + int64(d.pos)
	if rest := d.data[d.pos:]; bytes.HasPrefix(rest, []byte("[")) || bytes.HasPrefix(rest, []byte("(")) {
		return &UnsupportedError{at, lang.Say("structured element type is not supported"), string(rest)}
	}
	text, ok := d.nextToken(quoted())
	if !ok {
		return d.unexpectedError("a type string")
	}
	descr := text[1 : len(text)-1]
	order, name := descr[:len(descr)-len(strings.TrimLeft(descr, "<>=|"))], strings.TrimLeft(descr, "<>=|")
	switch added, known := addedTypes[name]; {
	case known && len(order) <= 1:
		h.Host, h.Float, h.BigEndian = added.bits, added.float, order == ">" && added.bits.Size() > 1
		return nil
	case name == "V1" && len(order) <= 1:
		return &UnsupportedError{at, lang.Say("elements of one byte without a type: float8, float4 or int4 of ml_dtypes, the header does not say which (save them as float32)"), text}
	}
	host, bigEndian, ok := parseDescr(descr)
	switch {
	case ok:
		h.Host, h.Float, h.BigEndian = host, tensor.Undefined, bigEndian
		return nil
	case otherType().MatchString(descr):
		return &UnsupportedError{at, lang.Say("element type is not supported"), text}
	}
	return &FormatError{at, lang.Say("descr is not a type string of numpy"), text}
}

func (d *dict) readOrder() (fortran bool, err error) {
	text, ok := d.nextToken(boolean())
	if !ok {
		return false, d.unexpectedError("True or False")
	}
	return text == "True", nil
}

func (d *dict) readShape() (tensor.Shape, error) {
	d.skipBlanks()
	at := d.off + int64(d.pos)
	text, ok := d.nextToken(tuple())
	if !ok {
		return nil, d.unexpectedError("a tuple of integers")
	}
	var shape tensor.Shape
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !strings.ContainsRune("-0123456789", r) }) {
		n, err := strconv.ParseInt(word, 10, 64)
		switch {
		case err != nil:
			return nil, &FormatError{at, lang.Say("dimension is over 63 bits"), word}
		case n < 0:
			return nil, &FormatError{at, lang.Say("shape has a negative dimension"), text}
		}
		shape = append(shape, n)
	}
	return shape, nil
}

// nextToken returns the next token and steps over it.
func (d *dict) nextToken(token *regexp.Regexp) (string, bool) {
	d.skipBlanks()
	found := token.Find(d.data[d.pos:])
	d.pos += len(found)
	return string(found), found != nil
}

// skipMark steps over a punctuation mark if it is next.
func (d *dict) skipMark(mark string) bool {
	d.skipBlanks()
	ok := bytes.HasPrefix(d.data[d.pos:], []byte(mark))
	if ok {
		d.pos += len(mark)
	}
	return ok
}

func (d *dict) skipBlanks() { d.pos += len(blanks().Find(d.data[d.pos:])) }

// unexpectedError returns the error of a text that continues differently.
func (d *dict) unexpectedError(wanted string) error {
	off := d.off + int64(d.pos)
	if d.pos >= len(d.data) {
		return &FormatError{off, lang.Say("header ends, want %s", lang.Say(wanted)), nil}
	}
	return &FormatError{off, lang.Say("header is not a dict of numpy, want %s", lang.Say(wanted)), string(d.data[d.pos:])}
}

// Magic is the beginning of every .npy file.
const Magic = "\x93NUMPY"

const (
	alignment  = 64      // alignment of the data in the file
	growDigits = 21      // decimal digits that numpy reserves for the first dimension
	maxHeader  = 1 << 20 // maximum bytes of header text

	// maxRank is the maximum number of dimensions in numpy 2 (32 in numpy 1). The header of such an
	// array is far below 10,000 characters, the limit of numpy.load.
	maxRank = 64
)

// AppendHeader appends the header, in format 1.0, that numpy.save writes for a C-order array. The
// data begins at a multiple of 64 bytes from the first byte of the header. A shape that numpy
// cannot load is an error.
func AppendHeader(dst []byte, host tensor.Host, shape tensor.Shape) ([]byte, error) {
	if host.Size() == 0 {
		return nil, lang.Errorf("npy: host element type %d cannot be written", host)
	}
	if err := checkShape(host, shape); err != nil {
		return nil, err
	}
	room := 0 // space for the first dimension to grow
	if len(shape) > 0 {
		room = growDigits - len(strconv.FormatInt(shape[0], 10))
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %v, }%*s", host.Descr(), shape, room, "")
	start := len(Magic) + 4      // after version and length
	end := start + len(text) + 1 // 1 to 64 bytes follow the text: spaces and a newline
	size := end + alignment - end%alignment - start
	dst = append(append(dst, Magic...), 1, 0)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(size))
	dst = append(dst, text...)
	dst = append(dst, strings.Repeat(" ", size-len(text)-1)...)
	return append(dst, '\n'), nil
}

// writtenElements is the number of elements that Write decodes at a time.
const writtenElements = 1 << 16

// Source has the stored elements of a tensor in C order. ReadElements fills dst with the elements
// from first on.
type Source interface {
	ReadElements(dst []byte, first int64) error
}

// Write writes the elements of a source as a .npy file of the host type of the stored type.
func Write(ctx context.Context, w io.Writer, from Source, stored tensor.DType, shape tensor.Shape) error {
	dec, err := tensor.NewDecoder(stored)
	if err != nil {
		return err
	}
	head, err := AppendHeader(nil, dec.Host(), shape)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	n := shape.Elements()
	most := int(min(n, writtenElements))
	in, out := make([]byte, most*dec.UnitSize()), make([]byte, most*dec.Host().Size())
	for first := int64(0); first < n; first += writtenElements {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := int(min(writtenElements, n-first))
		in, out := in[:k*dec.UnitSize()], out[:k*dec.Host().Size()]
		if err := from.ReadElements(in, first); err != nil {
			return err
		}
		dec.Decode(out, in)
		if _, err := w.Write(out); err != nil {
			return err
		}
	}
	return nil
}

// checkShape returns an error for a shape that numpy cannot load. Its size must be below 2^63 bytes
// even if a dimension is 0, with 0 counted as 1.
func checkShape(host tensor.Host, shape tensor.Shape) error {
	if len(shape) > maxRank {
		return lang.Errorf("npy: the shape has %d dimensions, numpy loads at most %d", len(shape), maxRank)
	}
	room := maxInt64 / int64(host.Size())
	for _, n := range shape {
		if n < 0 {
			return lang.Errorf("npy: %v is not the shape of an array: dimension %d is negative", shape, n)
		}
		room /= max(1, n)
	}
	if room == 0 {
		return lang.Errorf("npy: %v is too large for numpy: its dimensions other than 0 take more than 63 bits of %v", shape, host)
	}
	return nil
}
