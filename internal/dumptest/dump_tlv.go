package dumptest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

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

// sized writes the 32-bit length of what write appends in front of it.
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

// list writes an inputs or outputs record; an empty list has none.
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
	e.u32(uint32(t.AddressType))
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

// dims writes a shape record; an empty shape has none.
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
