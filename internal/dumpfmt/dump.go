// Package dumpfmt reads and writes the dump files of Ascend NPUs: their three
// containers, the protobuf header, the names of the files and the mapping.csv
// beside them.
//
// A file is read through an io.ReaderAt and a size. Reading it costs its
// descriptors only; the bytes of a tensor are an io.SectionReader over the file
// and are not touched here. What the bytes mean is package tensor's business,
// walking folders is the converter's.
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

// Container is the way a dump file is built.
type Container uint8

// The containers.
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

// Dump is what a dump file says about one execution of one operator. Readers
// of the same tensor share the position of its Data; ReadAt does not use it.
type Dump struct {
	Container Container
	// Version is the header's own version, such as 2.0.
	Version string
	// DumpTime is in microseconds, 0 where the file has none.
	DumpTime uint64
	// OpName is the full name of the operator; a TLV file has none, its name
	// is in the file name.
	OpName  string
	Inputs  []tensor.Tensor
	Outputs []tensor.Tensor
	// InputDetails and OutputDetails run along with Inputs and Outputs.
	InputDetails  []Detail
	OutputDetails []Detail
	Buffers       []Blob
	Spaces        []Blob
	Attrs         []Attr
	// DFX is the text of the writer's own diagnostics.
	DFX string
	// Warnings are oddities that do not keep the file from being used.
	Warnings []lang.Sentence
	// HeaderSize is the number of header bytes before the tensor bytes; 0 for
	// version 1, where there is no such border.
	HeaderSize int64
	// FileSize is the number of bytes of the file.
	FileSize int64
}

// IsOpDebug reports whether the header says that output 0 is an overflow
// record, not a tensor. The file name may say so too, see package filename.
func (d *Dump) IsOpDebug() bool { return strings.EqualFold(d.OpName, filename.OpDebugName) }

// Detail is what a descriptor says beyond the tensor itself.
type Detail struct {
	// Err says why the tensor cannot be used although its file can: the file
	// is cut off before the end of its bytes, or a dimension is beyond 63 bits.
	// The tensor then lacks what Err is about; its Size is what there is.
	Err error
	// StoredDType is the element type's number in the file. It differs from
	// the tensor's DType in TLV files, which have numbers of their own.
	StoredDType int32
	// StoredFormat is the whole format word.
	StoredFormat tensor.FormatWord
	// SubFormat is the field of that name.
	SubFormat int32
	// OriginalOp is the operator of the user's model that an output stands
	// for, nil for inputs and where the file names none.
	OriginalOp *OriginalOp
	// Address and Offset say where the bytes were in device memory,
	// AddressType (TLV files) in which one.
	Address     uint64
	Offset      uint64
	AddressType int32
	// ArgIndex and InputType belong to inputs of protobuf files.
	ArgIndex  uint32
	InputType uint32
	// DimRanges are the valid part of each dimension of an output.
	DimRanges []DimRange
	// Inline is set where the bytes are inside the descriptor.
	Inline bool
}

// OriginalOp names a result as the user's model knows it.
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

// Blob is bytes without element type: an on-chip buffer (type 0: L1) or a
// workspace (type 0: a log).
type Blob struct {
	Type int32
	Size int64
	Data *io.SectionReader
	// Err says why the bytes cannot be read.
	Err error
}

// Attr is one note of the writer.
type Attr struct {
	Name, Value string
}

// Options says how a file is read.
type Options struct {
	// Version forces the protobuf container: 1 or 2; 0 finds out. TLV files
	// are known by their magic number whatever Version says.
	Version int
}

// reader reads a file as one container. sure says, when err is not nil, that
// the file is one of these all the same.
type reader struct {
	as   Container
	read func(s *scanner) (d *Dump, sure bool, err error)
}

// readers are those of the containers, the likeliest first where there is a magic number.
var readers = []reader{{TLV, readTLV}, {BinaryV2, readV2}, {ProtobufV1, readV1}}

// reads reports whether the reader is for a file of one of the protobuf containers, 0 for
// any, that has the magic number or not.
func (r *reader) reads(version int, magic bool) bool {
	return r.as == TLV && magic || r.as == BinaryV2 && version != 1 || r.as == ProtobufV1 && version != 2
}

// Read reads the dump file of the given size. The tensors of the Dump read
// from r when they are used.
//
// The error is a *FormatError for a broken dump, a *UnsupportedError for what
// this package does not do, and wraps ErrNotDump when nothing suggests that
// the file is a dump.
func Read(r io.ReaderAt, size int64, opt Options) (*Dump, error) {
	if size < 0 {
		return nil, broken(0, lang.Say("file size"), lang.Plain(fmt.Sprint(size)), lang.Say("is negative"))
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
	var first error // of a container that the file surely is
	for _, c := range readers {
		if !c.reads(opt.Version, magic) {
			continue
		}
		d, sure, err := c.read(s)
		if err == nil {
			d.Container, d.FileSize = c.as, size
			return d, nil
		}
		v, ok := errors.AsType[verdict](err)
		if !ok {
			return nil, err
		}
		failed = append(failed, attempt{c.as, v})
		if sure && first == nil {
			first = err
		}
	}
	if first != nil {
		return nil, first
	}
	return nil, &notDumpError{failed}
}

// ErrNotDump is wrapped by the error for a file that shows no sign of being a
// dump. A file that starts as a dump does and then goes wrong gives a plain
// *FormatError instead.
var ErrNotDump = lang.Errorf("not a dump file")

// FormatError reports a broken file.
type FormatError struct {
	Off     int64         // byte offset in the file of the field at fault
	What    lang.Sentence // the field, such as "header length"
	Found   lang.Sentence // the value found there, empty when the field has none
	Problem lang.Sentence // what is wrong with it, naming what was wanted
}

func broken(off int64, what, found, problem lang.Sentence) *FormatError {
	return &FormatError{Off: off, What: what, Found: found, Problem: problem}
}

// Error returns the text of the error.
func (e *FormatError) Error() string { return e.Text().EN }

// Text is the error in both languages.
func (e *FormatError) Text() lang.Text { return lang.Say("dumpfmt: %s", e.sentence()).Text() }

func (e *FormatError) sentence() lang.Sentence {
	if e.Found.IsZero() {
		return lang.Say("%s at 0x%x %s", e.What, e.Off, e.Problem)
	}
	return lang.Say("%s %s at 0x%x %s", e.What, e.Found, e.Off, e.Problem)
}

// UnsupportedError reports what this package does not do, where the file may
// well be in order.
type UnsupportedError struct {
	What lang.Sentence
}

// Error returns the text of the error.
func (e *UnsupportedError) Error() string { return e.Text().EN }

// Text is the error in both languages.
func (e *UnsupportedError) Text() lang.Text { return lang.Say("dumpfmt: %s", e.sentence()).Text() }

func (e *UnsupportedError) sentence() lang.Sentence { return lang.Say("%s is not supported", e.What) }

// verdict is an error that judges the file, as opposed to one that kept it
// from being read.
type verdict interface {
	error
	sentence() lang.Sentence
}

// attempt is the outcome of reading a file as one container.
type attempt struct {
	as  Container
	err verdict
}

// notDumpError says for each container tried why the file is not one.
type notDumpError struct {
	attempts []attempt
}

func (e *notDumpError) Error() string { return e.Text().EN }

// Text is the error in both languages.
func (e *notDumpError) Text() lang.Text {
	var all []lang.Sentence
	for _, a := range e.attempts {
		all = append(all, lang.Say("as %s: %s", a.as, a.err.sentence()))
	}
	return lang.Say("dumpfmt: %w: %s", ErrNotDump, lang.Join(all, lang.Text{EN: "; ", ZH: "；"})).Text()
}

func (e *notDumpError) Unwrap() []error {
	all := []error{ErrNotDump}
	for _, a := range e.attempts {
		all = append(all, a.err)
	}
	return all
}
