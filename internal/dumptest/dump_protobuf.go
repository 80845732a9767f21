package dumptest

import (
	"encoding/binary"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"dumptool/internal/dumpfmt/dumppb"
)

// The numbers of the messages of DumpData with tensor bytes, and in each that of the
// bytes.
const (
	outputField, outputDataField = 3, 5
	inputField, inputDataField   = 4, 4
	bufferField                  = 5
	spaceField                   = 8
	blobDataField                = 2
)

// marshal encodes deterministically: fields in the order of their numbers, as
// the writers of dumps do.
func marshal(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

func writeV2(w io.Writer, c *Content) error {
	msg := c.frame()
	for _, t := range c.Inputs {
		msg.Input = append(msg.Input, t.input(uint64(t.Size)))
	}
	for _, t := range c.Outputs {
		msg.Output = append(msg.Output, t.output(uint64(t.Size)))
	}
	for _, b := range c.Buffers {
		msg.Buffer = append(msg.Buffer, &dumppb.OpBuffer{BufferType: b.Type, Size: uint64(b.Size)})
	}
	for _, s := range c.Spaces {
		msg.Space = append(msg.Space, &dumppb.Workspace{Type: s.Type, Size: uint64(s.Size)})
	}
	body, err := marshal(msg)
	if err != nil {
		return err
	}
	header := binary.LittleEndian.AppendUint64(nil, uint64(len(body)))
	return writeAll(w, append(header, body...), c.payloads())
}

// writeV1 writes a message piece by piece: what is not a descriptor, then every
// descriptor with its bytes. Fields may come in any order.
func writeV1(w io.Writer, c *Content) error {
	frame, err := marshal(c.frame())
	if err != nil {
		return err
	}
	if _, err := w.Write(frame); err != nil {
		return err
	}
	for _, t := range c.Outputs {
		if err := writeInline(w, outputField, t.output(0), outputDataField, t.Payload); err != nil {
			return err
		}
	}
	for _, t := range c.Inputs {
		if err := writeInline(w, inputField, t.input(0), inputDataField, t.Payload); err != nil {
			return err
		}
	}
	for _, b := range c.Buffers {
		if err := writeInline(w, bufferField, &dumppb.OpBuffer{BufferType: b.Type}, blobDataField, b.Payload); err != nil {
			return err
		}
	}
	for _, s := range c.Spaces {
		if err := writeInline(w, spaceField, &dumppb.Workspace{Type: s.Type}, blobDataField, s.Payload); err != nil {
			return err
		}
	}
	return nil
}

// writeInline writes a descriptor as field num, with the payload in its field
// data.
func writeInline(w io.Writer, num protowire.Number, desc proto.Message, data protowire.Number, p Payload) error {
	body, err := marshal(desc)
	if err != nil {
		return err
	}
	if p.Size > 0 {
		body = protowire.AppendTag(body, data, protowire.BytesType)
		body = protowire.AppendVarint(body, uint64(p.Size))
	}
	head := protowire.AppendTag(nil, num, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(body))+uint64(p.Size))
	return writeAll(w, append(head, body...), []Payload{p})
}

// frame is the message without descriptors.
func (c *Content) frame() *dumppb.DumpData {
	msg := &dumppb.DumpData{
		Version:    c.Version,
		DumpTime:   c.DumpTime,
		OpName:     c.OpName,
		DfxMessage: c.DFX,
	}
	if msg.Version == "" {
		msg.Version = "2.0"
	}
	for _, a := range c.Attrs {
		msg.Attr = append(msg.Attr, &dumppb.OpAttr{Name: a.Name, Value: a.Value})
	}
	return msg
}

func (t *TensorContent) input(size uint64) *dumppb.OpInput {
	return &dumppb.OpInput{
		DataType:      t.StoredDType,
		Format:        uint32(t.StoredFormat),
		Shape:         shapeMsg(t.Shape),
		Size:          size,
		OriginalShape: shapeMsg(t.OriginalShape),
		SubFormat:     t.SubFormat,
		Address:       t.Address,
		Offset:        t.Offset,
		ArgIndex:      t.ArgIndex,
		InputType:     t.InputType,
	}
}

func (t *TensorContent) output(size uint64) *dumppb.OpOutput {
	msg := &dumppb.OpOutput{
		DataType:      t.StoredDType,
		Format:        uint32(t.StoredFormat),
		Shape:         shapeMsg(t.Shape),
		Size:          size,
		OriginalShape: shapeMsg(t.OriginalShape),
		SubFormat:     t.SubFormat,
		Address:       t.Address,
		Offset:        t.Offset,
	}
	if op := t.OriginalOp; op != nil {
		msg.OriginalOp = &dumppb.OriginalOp{
			Name:        op.Name,
			OutputIndex: op.Index,
			DataType:    op.StoredDType,
			Format:      uint32(op.StoredFormat),
		}
	}
	for _, r := range t.DimRanges {
		msg.DimRange = append(msg.DimRange, &dumppb.DimRange{DimStart: r.Start, DimEnd: r.End})
	}
	return msg
}

func shapeMsg(dims []uint64) *dumppb.Shape {
	if len(dims) == 0 {
		return nil
	}
	return &dumppb.Shape{Dim: dims}
}
