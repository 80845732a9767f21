// Package dumpfmt reads and writes the dump files of Ascend NPUs: their three containers, the
// protobuf header, the names of the files and the mapping.csv beside them.
//
// A file is read through an io.ReaderAt and a size. Reading reads only the descriptors; the bytes
// of a tensor are an io.SectionReader of the file. Package tensor interprets the bytes, package
// dumpdir walks folders.
package dumpfmt

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Container is the form of a dump file.
type Container uint8

// Values of Container.
const (
	// BinaryV2 is a protobuf header of descriptors, then the tensor bytes.
	BinaryV2 Container = iota + 1
	// ProtobufV1 is one protobuf message with the tensor bytes inside.
	ProtobufV1
	// TLV is the tag-length-value header of small chips, then the tensor bytes.
	TLV
)

var containerNames = [...]string{
	BinaryV2:   "binary version 2",
	ProtobufV1: "protobuf version 1",
	TLV:        "TLV",
}

// String returns the name of the container.
func (c Container) String() string {
	if c == 0 || int(c) >= len(containerNames) {
		return "unknown container"
	}
	return containerNames[c]
}

// Dump describes one execution of one operator. Readers of the same tensor share the position of
// its Data; ReadAt does not use the position.
type Dump struct {
	Container Container
	// Version is the version in the header, such as 2.0.
	Version string
	// DumpTime is in microseconds, 0 if the file has none.
	DumpTime uint64
	// OpName is the full name of the operator; TLV files have it in the file name only.
	OpName  string
	Inputs  []tensor.Tensor
	Outputs []tensor.Tensor
	// InputDetails and OutputDetails are parallel to Inputs and Outputs.
	InputDetails  []Detail
	OutputDetails []Detail
	Buffers       []Blob
	Spaces        []Blob
	Attrs         []Attr
	// DFX is diagnostic text of the writer.
	DFX string
	// Warnings are oddities that do not affect the use of the file.
	Warnings []lang.Sentence
	// HeaderSize is the number of header bytes before the tensor bytes; 0 for version 1, which has
	// no separate header.
	HeaderSize int64
	// FileSize is the size of the file in bytes.
	FileSize int64
}

// IsOpDebug reports whether the header names an overflow record, so that output 0 is not a tensor.
// The file name may name one too, see package filename.
func (d *Dump) IsOpDebug() bool { return strings.EqualFold(d.OpName, filename.OpDebugName) }

// Detail has the fields of a descriptor besides the tensor.
type Detail struct {
	// Err is the reason why the tensor cannot be used although its file can: the file is truncated
	// inside its bytes, or a dimension exceeds 63 bits. Size is then the number of bytes in the
	// file, and a shape with such a dimension is missing.
	Err error
	// StoredDType is the number of the element type in the file. It differs from the tensor's DType
	// in TLV files, which have other numbers.
	StoredDType int32
	// StoredFormat is the whole format word.
	StoredFormat tensor.FormatWord
	// SubFormat is the field sub_format.
	SubFormat int32
	// OriginalOp is the operator of the user's model that an output stands for, nil for inputs and
	// if the file names none.
	OriginalOp *OriginalOp
	// Address and Offset are the place of the bytes in device memory, AddressType (TLV files) the
	// kind of memory.
	Address     uint64
	Offset      uint64
	AddressType int32
	// ArgIndex and InputType are set for inputs of protobuf files.
	ArgIndex  uint32
	InputType uint32
	// DimRanges are the valid part of each dimension of an output.
	DimRanges []DimRange
	// Inline: the bytes are inside the descriptor.
	Inline bool
}

// OriginalOp is an output of an operator of the user's model.
type OriginalOp struct {
	Name   string
	Index  uint32
	DType  tensor.DType
	Format tensor.Format
}

// DimRange is the valid part of a dimension, End excluded.
type DimRange struct {
	Start, End uint64
}

// Blob is untyped bytes: an on-chip buffer (type 0: L1) or a workspace (type 0: a log).
type Blob struct {
	Type int32
	Size int64
	Data *io.SectionReader
	// Err is the reason why the bytes cannot be read.
	Err error
}

// Attr is an attribute of a dump.
type Attr struct {
	Name, Value string
}

// Options are the options of Read.
type Options struct {
	// Version forces the protobuf container: 1 or 2; 0 detects it. TLV files are detected by their
	// magic number for any Version.
	Version int
}

// reader reads a file as one container. sure: the file has this container even if err is not nil.
type reader struct {
	container Container
	read      func(s *scanner) (d *Dump, sure bool, err error)
}

// readers has the reader of each container, TLV first because of its magic number.
var readers = []reader{{TLV, readTLV}, {BinaryV2, readV2}, {ProtobufV1, readV1}}

// mayRead reports whether to try the reader for a forced protobuf container, 0 for any, on a file
// with or without the magic number.
func (r *reader) mayRead(version int, magic bool) bool {
	return r.container == TLV && magic || r.container == BinaryV2 && version != 1 || r.container == ProtobufV1 && version != 2
}

// Read reads the dump file of the given size. The tensors of the Dump read from r on demand.
//
// The error is a *FormatError for an invalid dump, a *UnsupportedError for unsupported features,
// and wraps ErrNotDump if nothing suggests that the file is a dump.
func Read(r io.ReaderAt, size int64, opt Options) (*Dump, error) {
	if size < 0 {
		return nil, formatError(0, lang.Say("file size"), lang.Plain(fmt.Sprint(size)), lang.Say("is negative"))
	}
	s := newScanner(r, size)
	defer s.release()
	magic, err := hasMagic(s)
	if err != nil {
		return nil, err
	}
	if opt.Version < 0 || opt.Version > 2 {
		return nil, &UnsupportedError{lang.Say("dump version %d", opt.Version)}
	}
	var failed []attempt
	var first error // error of the container that the file certainly has
	for _, c := range readers {
		if !c.mayRead(opt.Version, magic) {
			continue
		}
		d, sure, err := c.read(s)
		if err == nil {
			d.Container, d.FileSize = c.container, size
			return d, nil
		}
		v, ok := errors.AsType[verdict](err)
		if !ok {
			return nil, err
		}
		failed = append(failed, attempt{c.container, v})
		if sure && first == nil {
			first = err
		}
	}
	if first != nil {
		return nil, first
	}
	return nil, &notDumpError{failed}
}

// ErrNotDump is wrapped by the error of a file without any sign of a dump. A file that begins like
// a dump and is broken later gives a *FormatError instead.
var ErrNotDump = lang.Errorf("not a dump file")

// FormatError is the error of a broken file.
type FormatError struct {
	Off     int64         // offset in the file of the broken field
	What    lang.Sentence // the field, such as "header length"
	Found   lang.Sentence // value found, empty if the field has none
	Problem lang.Sentence // the problem, with the wanted value
}

func formatError(off int64, what, found, problem lang.Sentence) *FormatError {
	return &FormatError{Off: off, What: what, Found: found, Problem: problem}
}

// Error returns the text of the error.
func (e *FormatError) Error() string { return e.Text().String() }

// Text is the error in both languages.
func (e *FormatError) Text() lang.Text { return lang.Say("dumpfmt: %s", e.sentence()).Text() }

func (e *FormatError) sentence() lang.Sentence {
	if e.Found.IsZero() {
		return lang.Say("%s at 0x%x %s", e.What, e.Off, e.Problem)
	}
	return lang.Say("%s %s at 0x%x %s", e.What, e.Found, e.Off, e.Problem)
}

// UnsupportedError is the error of a possibly valid file that this package does not support.
type UnsupportedError struct {
	What lang.Sentence
}

// Error returns the text of the error.
func (e *UnsupportedError) Error() string { return e.Text().String() }

// Text is the error in both languages.
func (e *UnsupportedError) Text() lang.Text { return lang.Say("dumpfmt: %s", e.sentence()).Text() }

func (e *UnsupportedError) sentence() lang.Sentence { return lang.Say("%s is not supported", e.What) }

// verdict is an error about the contents of a file, not about reading it.
type verdict interface {
	error
	sentence() lang.Sentence
}

// attempt is the error of reading a file as one container.
type attempt struct {
	container Container
	err       verdict
}

// notDumpError has an error for each container tried.
type notDumpError struct {
	attempts []attempt
}

func (e *notDumpError) Error() string { return e.Text().String() }

// Text is the error in both languages.
func (e *notDumpError) Text() lang.Text {
	var all []lang.Sentence
	for _, a := range e.attempts {
		all = append(all, lang.Say("as %s: %s", a.container, a.err.sentence()))
	}
	return lang.Say("dumpfmt: %w: %s", ErrNotDump, lang.Join(all, lang.Text{EN: "; "})).Text()
}

func (e *notDumpError) Unwrap() []error {
	all := []error{ErrNotDump}
	for _, a := range e.attempts {
		all = append(all, a.err)
	}
	return all
}
