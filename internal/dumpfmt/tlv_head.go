package dumpfmt

import (
	"encoding/binary"
	"errors"
	"fmt"

	"dumptool/internal/tensor"
)

// The head of a TLV dump (tlv.go has its origin), read in file order.

// tlvHead is the head of a TLV file while it is read.
type tlvHead struct {
	*scanner
	end     int64
	version uint32
	inputs  []tlvTensor
	outputs []tlvTensor
	seen    [tlvOutputs + 1]bool
}

// tlvTensor is one descriptor.
type tlvTensor struct {
	part
	tensor tensor.Tensor
	detail Detail
	dims   []uint64
	orig   []uint64
}

// read reads the head up to its end. The magic number has been checked.
func (h *tlvHead) read() error {
	_, err := h.u32("magic number", h.end)
	if err != nil {
		return err
	}
	if h.version, err = h.u32("version", h.end); err != nil {
		return err
	}
	for h.off < h.end {
		at := h.off
		tag, end, err := h.record(h.end)
		if err != nil {
			return err
		}
		if tag == tlvInputs || tag == tlvOutputs {
			if h.seen[tag] {
				return broken(at, "record tag", fmt.Sprint(tag), "stands there twice")
			}
			h.seen[tag] = true
		}
		switch tag {
		case tlvInputs:
			h.inputs, err = h.list("input", end)
		case tlvOutputs:
			h.outputs, err = h.list("output", end)
		default:
			h.off = end
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// record reads a record's tag and length and returns where its value ends.
func (h *tlvHead) record(end int64) (tag uint32, valueEnd int64, err error) {
	if err := h.spend(fieldCost); err != nil {
		return 0, 0, err
	}
	if tag, err = h.u32("record tag", end); err != nil {
		return 0, 0, err
	}
	at := h.off
	n, err := h.u32("record length", end)
	if err != nil {
		return 0, 0, err
	}
	if rest := end - h.off; int64(n) > rest {
		return 0, 0, broken(at, "record length", count(uint64(n)), exceeds(rest))
	}
	return tag, h.off + int64(n), nil
}

// list reads the value of an inputs or outputs record, which must be used up.
func (h *tlvHead) list(kind string, end int64) ([]tlvTensor, error) {
	fixed := tlvFixedSize(kind)
	at := h.off
	n, err := h.u32(kind+" count", end)
	if err != nil {
		return nil, err
	}
	if rest := end - h.off; int64(n) > rest/fixed {
		return nil, broken(at, kind+" count", fmt.Sprint(n), fmt.Sprintf("exceeds what the %d bytes of the list can hold", rest))
	}
	var list []tlvTensor
	for i := range int(n) {
		if err := h.spend(descriptorCost); err != nil {
			return nil, err
		}
		t := tlvTensor{part: part{kind: kind, index: i, span: span{at: h.off}}}
		if err := h.tensor(&t, end); err != nil {
			if fe, ok := errors.AsType[*FormatError](err); ok {
				fe.What = t.String() + " " + fe.What
			}
			return nil, err
		}
		list = append(list, t)
	}
	if rest := end - h.off; rest > 0 {
		return nil, broken(h.off, kind+" list", "", fmt.Sprintf("has %d bytes more than its %d tensors", rest, n))
	}
	return list, nil
}

func tlvFixedSize(kind string) int64 {
	if kind == "output" {
		return tlvOutputSize
	}
	return tlvInputSize
}

// tensor reads one descriptor, in file order.
func (h *tlvHead) tensor(t *tlvTensor, end int64) error {
	fixed := tlvFixedSize(t.kind)
	if rest := end - h.off; rest < fixed {
		return broken(h.off, "descriptor", fmt.Sprintf("of %d bytes", fixed), exceeds(rest))
	}
	b, err := h.peek(int(fixed), end)
	if err != nil {
		return err
	}
	word := func() uint32 {
		v := binary.LittleEndian.Uint32(b)
		b = b[4:]
		return v
	}
	long := func() uint64 {
		v := binary.LittleEndian.Uint64(b)
		b = b[8:]
		return v
	}
	t.detail.StoredDType = int32(word())
	t.detail.StoredFormat = tensor.FormatWord(word())
	t.detail.AddressType = int32(word())
	if t.kind == "output" {
		index, dtype, format := word(), int32(word()), tensor.FormatWord(word()).Format()
		t.detail.OriginalOp = &OriginalOp{Index: index, DType: tlvDType(dtype), Format: format}
		t.tensor.OriginalFormat = &format
	}
	t.detail.Address = long()
	t.detail.Offset = long()
	t.size = long()
	records := int64(word())
	h.off += fixed
	if rest := end - h.off; records > rest {
		return broken(h.off-4, "list length", count(uint64(records)), exceeds(rest))
	}
	return h.records(t, h.off+records)
}

// records reads what follows a descriptor's fixed fields.
func (h *tlvHead) records(t *tlvTensor, end int64) error {
	for h.off < end {
		tag, valueEnd, err := h.record(end)
		if err != nil {
			return err
		}
		switch {
		case tag == tlvShape:
			t.dims, err = h.dims("shape", valueEnd)
		case tag == tlvOriginalShape:
			t.orig, err = h.dims("original shape", valueEnd)
		case tag == tlvOriginalName && t.detail.OriginalOp != nil:
			var name []byte
			name, err = h.bytes(valueEnd - h.off)
			t.detail.OriginalOp.Name = string(name)
		default:
			h.off = valueEnd
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dims reads dimensions of eight bytes up to end.
func (h *tlvHead) dims(what string, end int64) ([]uint64, error) {
	n := end - h.off
	if n%8 != 0 {
		return nil, broken(h.off, what, fmt.Sprintf("of %d bytes", n), "is not a list of 8-byte dimensions")
	}
	if err := h.spend(n); err != nil {
		return nil, err
	}
	b, err := h.bytes(n)
	if err != nil {
		return nil, err
	}
	var dims []uint64
	for ; len(b) > 0; b = b[8:] {
		dims = append(dims, binary.LittleEndian.Uint64(b))
	}
	return dims, nil
}

func (h *tlvHead) u32(what string, end int64) (uint32, error) {
	b, err := h.peek(4, end)
	if err != nil {
		return 0, err
	}
	if len(b) < 4 {
		return 0, broken(h.off, what, "", "is cut off")
	}
	h.off += 4
	return binary.LittleEndian.Uint32(b), nil
}
