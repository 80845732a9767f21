package dumpfmt

import (
	"bytes"

	"dumptool/internal/dumpfmt/dumppb"
)

// Internals for tests.
const (
	MaxMapping      = maxMapping
	MaxMappingLines = maxMappingLines
	MemoryBudget    = memoryBudget
)

// TLVDType is tlvDType.
var TLVDType = tlvDType

// Header is the result of a walker.
type Header struct {
	dump  *Dump
	parts []*part
}

// Walk parses a header.
func Walk(header []byte) (*Header, error) {
	s := newScanner(bytes.NewReader(header), int64(len(header)))
	d, err := walk(s, int64(len(header)), walkOptions{})
	if err != nil {
		return nil, err
	}
	return &Header{d, s.parts}, nil
}

// Message returns the header as a message, without empty messages and original operators without a
// name; formats of original operators are as in the Dump.
func (h *Header) Message() *dumppb.DumpData {
	msg := &dumppb.DumpData{Version: h.dump.Version, DumpTime: h.dump.DumpTime, OpName: h.dump.OpName, DfxMessage: h.dump.DFX}
	for _, a := range h.dump.Attrs {
		msg.Attr = append(msg.Attr, &dumppb.OpAttr{Name: a.Name, Value: a.Value})
	}
	shape := func(dims []uint64) *dumppb.Shape {
		if len(dims) == 0 {
			return nil
		}
		return &dumppb.Shape{Dim: dims}
	}
	for _, p := range h.parts {
		d := &p.detail
		switch p.kind {
		case "input":
			msg.Input = append(msg.Input, &dumppb.OpInput{
				DataType: d.StoredDType, Format: uint32(d.StoredFormat), Shape: shape(p.dims), Size: p.size, OriginalShape: shape(p.original),
				SubFormat: d.SubFormat, Address: d.Address, Offset: d.Offset, ArgIndex: d.ArgIndex, InputType: d.InputType,
			})
		case "output":
			out := &dumppb.OpOutput{
				DataType: d.StoredDType, Format: uint32(d.StoredFormat), Shape: shape(p.dims), Size: p.size, OriginalShape: shape(p.original),
				SubFormat: d.SubFormat, Address: d.Address, Offset: d.Offset,
			}
			if op := d.OriginalOp; op != nil {
				out.OriginalOp = &dumppb.OriginalOp{Name: op.Name, OutputIndex: op.Index, DataType: int32(op.DType), Format: uint32(op.Format)}
			}
			for _, r := range d.DimRanges {
				out.DimRange = append(out.DimRange, &dumppb.DimRange{DimStart: r.Start, DimEnd: r.End})
			}
			msg.Output = append(msg.Output, out)
		case "buffer":
			msg.Buffer = append(msg.Buffer, &dumppb.OpBuffer{BufferType: p.blobType, Size: p.size})
		case "space":
			msg.Space = append(msg.Space, &dumppb.Workspace{Type: p.blobType, Size: p.size})
		}
	}
	return msg
}

// Bytes returns the tensor bytes of the i-th part of a kind.
func (h *Header) Bytes(header []byte, kind string, i int) []byte {
	for _, p := range h.parts {
		if p.kind == kind && p.index == i {
			return header[p.off : p.off+p.n]
		}
	}
	return nil
}
