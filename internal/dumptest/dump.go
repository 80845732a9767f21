// Package dumptest makes files as devices and frameworks write them, and checks readers
// against golden ones. Tests and the module tools use it; the program does not.
package dumptest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/tensor"
)

// Content is a dump to be written.
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

// TensorContent is a tensor to be written. What a container or a descriptor
// has no field for is left out, such as the original operator of an input.
type TensorContent struct {
	Payload
	// StoredDType and StoredFormat are written as they are.
	StoredDType   int32
	StoredFormat  tensor.FormatWord
	SubFormat     int32
	Shape         []uint64
	OriginalShape []uint64
	OriginalOp    *OriginalContent
	Address       uint64
	Offset        uint64
	AddressType   int32
	ArgIndex      uint32
	InputType     uint32
	DimRanges     []dumpfmt.DimRange
}

// OriginalContent is the original operator of an output to be written.
type OriginalContent struct {
	Name         string
	Index        uint32
	StoredDType  int32
	StoredFormat tensor.FormatWord
}

// BlobContent is a buffer or a workspace to be written.
type BlobContent struct {
	Payload
	Type int32
}

// Payload is the bytes of a tensor to be written: the first Size bytes of
// Data, which may be nil when Size is 0.
type Payload struct {
	Size int64
	Data io.Reader
}

// Bytes returns the payload that consists of b.
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

// Write writes a dump file to w. Tensor bytes are copied as they come, not
// collected. What it has written before an error is no dump.
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
