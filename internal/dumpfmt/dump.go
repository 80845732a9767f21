package dumpfmt

import (
	"io"
	"strings"

	"dumptool/internal/filename"
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
	Warnings []string
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
