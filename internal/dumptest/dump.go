// Package dumptest writes files in the formats of devices and frameworks, and checks readers
// against golden files. Only tests and the module tools use it.
package dumptest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumpfmt/dumppb"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
)

// Content is a dump to write.
type Content struct {
	Container dumpfmt.Container
	// Version is the header's own version, "2.0" if empty. For TLV it is a
	// decimal number, 0 if empty.
	Version  string
	DumpTime uint64
	OpName   string
	Inputs   []TensorContent
	Outputs  []TensorContent
	Buffers  []BlobContent
	Spaces   []BlobContent
	Attrs    []dumpfmt.Attr
	DFX      string
}

// TensorContent is a tensor to write. Properties that a container or descriptor has no field for
// are omitted, such as the original operator of an input.
type TensorContent struct {
	Payload
	// StoredDType and StoredFormat are written unchanged.
	StoredDType   int32
	StoredFormat  tensor.FormatWord
	SubFormat     int32
	Shape         []uint64
	OriginalShape []uint64
	OriginalOp    *OriginalContent
	Address       uint64
	Offset        uint64
	ArgIndex      uint32
	InputType     uint32
	DimRanges     []dumpfmt.DimRange
}

// OriginalContent is the original operator of an output to write.
type OriginalContent struct {
	Name         string
	Index        uint32
	StoredDType  int32
	StoredFormat tensor.FormatWord
}

// BlobContent is a buffer or a workspace to write.
type BlobContent struct {
	Payload
	Type int32
}

// Payload is the bytes of a tensor to write: the first Size bytes of Data, which may be nil if Size
// is 0.
type Payload struct {
	Size int64
	Data io.Reader
}

// Bytes returns a payload of the bytes b.
func Bytes(b []byte) Payload { return Payload{int64(len(b)), bytes.NewReader(b)} }

// writeTo copies the payload to w.
func (p Payload) writeTo(w io.Writer) error {
	if p.Size == 0 {
		return nil
	}
	n, err := io.CopyN(w, p.Data, p.Size)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("dumptest: a payload ends after %d of %d bytes", n, p.Size)
	}
	return err
}

// Write writes a dump file to w. Tensor bytes are streamed. After an error the output is no valid
// dump.
func Write(w io.Writer, c *Content) error {
	for i, p := range c.payloads() {
		if p.Size < 0 || p.Size > 0 && p.Data == nil {
			return fmt.Errorf("dumptest: payload %d has size %d and no such data", i, p.Size)
		}
	}
	switch c.Container {
	case dumpfmt.BinaryV2:
		return writeV2(w, c)
	case dumpfmt.ProtobufV1:
		return writeV1(w, c)
	case dumpfmt.TLV:
		return writeTLV(w, c)
	}
	return fmt.Errorf("dumptest: no writer for %v", c.Container)
}

// payloads lists the payloads in the order of a version 2 or TLV file.
func (c *Content) payloads() []Payload {
	var all []Payload
	for _, t := range slices.Concat(c.Inputs, c.Outputs) {
		all = append(all, t.Payload)
	}
	for _, b := range slices.Concat(c.Buffers, c.Spaces) {
		all = append(all, b.Payload)
	}
	return all
}

// writeAll writes the header and then the payloads.
func writeAll(w io.Writer, header []byte, payloads []Payload) error {
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, p := range payloads {
		if err := p.writeTo(w); err != nil {
			return err
		}
	}
	return nil
}

// Field numbers of the messages with tensor bytes in DumpData, and of the bytes in each message.
const (
	outputField, outputDataField = 3, 5
	inputField, inputDataField   = 4, 4
	bufferField                  = 5
	spaceField                   = 8
	blobDataField                = 2
)

// marshal encodes deterministically, with fields in the order of their numbers, as the writers of
// dumps do.
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

// writeV1 writes a message in parts: everything but the descriptors, then each descriptor with its
// bytes. The order of fields is free.
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

// writeInline writes a descriptor as field num, with the payload in the descriptor's field data.
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

// frame returns the message without descriptors.
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

// The magic number of a TLV dump, and the tags of its head and of a tensor.
const (
	tlvMagic   = 0x5A5A5A5A
	tlvInputs  = 4
	tlvOutputs = 5

	tlvShape         = 0
	tlvOriginalShape = 1
	tlvOriginalName  = 2
)

func writeTLV(w io.Writer, c *Content) error {
	if len(c.Buffers)+len(c.Spaces)+len(c.Attrs) > 0 {
		return errors.New("dumptest: a TLV dump has no buffers, spaces or attributes")
	}
	version := uint64(0)
	if c.Version != "" {
		var err error
		if version, err = strconv.ParseUint(c.Version, 10, 32); err != nil {
			return fmt.Errorf("dumptest: version of a TLV dump: %w", err)
		}
	}
	var head tlvEncoder
	head.u32(tlvMagic)
	head.u32(uint32(version))
	head.list(tlvInputs, c.Inputs)
	head.list(tlvOutputs, c.Outputs)
	if head.err != nil {
		return head.err
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(head.b)))
	return writeAll(w, append(file, head.b...), c.payloads())
}

// tlvEncoder collects a head, and an error.
type tlvEncoder struct {
	b   []byte
	err error
}

func (e *tlvEncoder) u32(v uint32) { e.b = binary.LittleEndian.AppendUint32(e.b, v) }
func (e *tlvEncoder) u64(v uint64) { e.b = binary.LittleEndian.AppendUint64(e.b, v) }

// sized appends write's output preceded by its 32-bit length.
func (e *tlvEncoder) sized(write func()) {
	at := len(e.b)
	e.u32(0)
	write()
	n := int64(len(e.b) - at - 4)
	if n > math.MaxUint32 {
		e.err = fmt.Errorf("dumptest: a record of %d bytes is too long", n)
	}
	binary.LittleEndian.PutUint32(e.b[at:], uint32(n))
}

// list writes an inputs or outputs record; an empty list is omitted.
func (e *tlvEncoder) list(tag uint32, tensors []TensorContent) {
	if len(tensors) == 0 {
		return
	}
	e.u32(tag)
	e.sized(func() {
		e.u32(uint32(len(tensors)))
		for i := range tensors {
			e.tensor(tag, &tensors[i])
		}
	})
}

func (e *tlvEncoder) tensor(tag uint32, t *TensorContent) {
	original := t.OriginalOp
	if original == nil {
		original = new(OriginalContent)
	}
	e.u32(uint32(t.StoredDType))
	e.u32(uint32(t.StoredFormat))
	e.u32(0) // the kind of memory
	if tag == tlvOutputs {
		e.u32(original.Index)
		e.u32(uint32(original.StoredDType))
		e.u32(uint32(original.StoredFormat))
	}
	e.u64(t.Address)
	e.u64(t.Offset)
	e.u64(uint64(t.Size))
	e.sized(func() {
		e.dims(tlvShape, t.Shape)
		e.dims(tlvOriginalShape, t.OriginalShape)
		if tag == tlvOutputs && original.Name != "" {
			e.u32(tlvOriginalName)
			e.sized(func() { e.b = append(e.b, original.Name...) })
		}
	})
}

// dims writes a shape record; an empty shape is omitted.
func (e *tlvEncoder) dims(tag uint32, dims []uint64) {
	if len(dims) == 0 {
		return
	}
	e.u32(tag)
	e.sized(func() {
		for _, d := range dims {
			e.u64(d)
		}
	})
}

// EncodeRecord encodes an overflow record as a payload of r.Size bytes, of opdebug.BufferSize bytes
// if Size is 0, and of more if the fields need them. The header is written unchanged, so data_len
// should match the area.
//
// EncodeRecord reproduces every payload that Parse read byte for byte.
func EncodeRecord(r *opdebug.Record) []byte {
	payload := make([]byte, payloadSize(r))
	for _, s := range r.Undecoded {
		copy(payload[s.Offset:], s.Data)
	}
	if h := &r.Header; r.Generation == opdebug.NewLayout {
		for i, v := range []uint32{h.Magic, h.Version, h.Valid, h.AccType, h.Rsv, h.DataLen} {
			binary.LittleEndian.PutUint32(payload[4*i:], v)
		}
	}
	for i := range r.Areas {
		for _, f := range r.Areas[i].Fields() {
			for j, v := range f.Values {
				binary.LittleEndian.PutUint64(payload[f.Offset+8*j:], v)
			}
		}
	}
	return payload
}

// payloadSize returns the number of bytes that EncodeRecord writes.
func payloadSize(r *opdebug.Record) int {
	size := r.Size
	if size == 0 {
		size = opdebug.BufferSize
	}
	if r.Generation == opdebug.NewLayout {
		size = max(size, 24) // header
	}
	for i := range r.Areas {
		for _, f := range r.Areas[i].Fields() {
			size = max(size, f.Offset+8*len(f.Values))
		}
	}
	for _, s := range r.Undecoded {
		size = max(size, s.Offset+len(s.Data))
	}
	return size
}

// WriteGraph writes the text of a synthetic graph, about 600 bytes per node, in the form of
// MindSpore 2.3 and later: a chain of operators with a full name and two script lines each. The
// graphs of ranks differ in some attributes.
func WriteGraph(w io.Writer, nodes, rank int) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# IR entry: @kernel_graph_0\n# Total subgraphs: 1\n\n# Params:\n%%para1_x: <Tensor[Float32], (32, 3, 224, 224)> : []\n\nsubgraph attr:\nsubgraph instance: kernel_graph_0 : 0x%012x\nsubgraph @kernel_graph_0() {\n", 0x55d3a0b1c000+rank<<8)
	input := "%para1_x"
	for i := range nodes {
		attribute := ""
		if i%10 == 0 {
			attribute = fmt.Sprintf(", rank_id: %03d", rank)
		}
		fmt.Fprintf(out, "  %%%d(CNode_%d$a) = PrimFunc_Conv2D(%s, %s) primitive_attrs: {output_names: [output], kernel_size: (3, 3), pad_mode: pad%s} cnode_primal_attrs: {unique_id: \"%d\"}\n", i, i, input, input, attribute, 700000+i)
		fmt.Fprint(out, "      : (<Tensor[Float32], (32, 64, 56, 56)>, <Tensor[Float16], (64, 64, 3, 3)>) -> (<Tensor[Float32], (32, 64, 56, 56)>)\n")
		fmt.Fprintf(out, "      # Fullname with scope: (Default/network/_backbone/layer%d/block%d/conv1/Conv2D-op%d)\n", i/1000, i/100%10, i)
		fmt.Fprintf(out, "      # In file /data/user/train/code/backbone_%d.py:%d, 8~25/        x_%d = self.conv1(x)/\n", i/5000, 10+i%900, i%5000)
		fmt.Fprintf(out, "      # In file /usr/lib/python3.9/site-packages/mindspore/nn/layer/conv.py:%d, 4~20/        output = self.conv2d(x, self.weight)/\n", 100+i%400)
		input = fmt.Sprintf("%%%d", i)
	}
	fmt.Fprintf(out, "  Return(%s)\n      : (<Tensor[Float32], (1)>)\n}\n", input)
	return out.Flush()
}
