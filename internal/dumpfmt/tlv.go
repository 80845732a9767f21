package dumpfmt

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"dumptool/internal/tensor"
)

// The TLV dump of small ("nano") chips: u64 length of the head, the head, then
// the bytes of every input and every output back to back. The head is a magic
// number, a version, and tag-length-value records; the records' layout is that
// of the dump code in the public Ascend runtime. op_type, op_name and the dump
// time are in the file name only.

const (
	tlvMagic    = 0x5A5A5A5A
	tlvMagicOff = lengthSize
)

// Tags of the head, and inside it of a tensor.
const (
	tlvInputs  = 4
	tlvOutputs = 5

	tlvShape         = 0
	tlvOriginalShape = 1
	tlvOriginalName  = 2
)

// Fixed sizes of a tensor before its own records.
const (
	tlvInputSize  = 40
	tlvOutputSize = 52
)

// tlvDTypes maps the element type numbers of TLV files.
var tlvDTypes = map[int32]tensor.DType{
	0:  tensor.Float32,
	1:  tensor.Float16,
	2:  tensor.Int8,
	3:  tensor.Int32,
	4:  tensor.Uint8,
	6:  tensor.Int16,
	7:  tensor.Uint16,
	8:  tensor.Uint32,
	9:  tensor.Int64,
	10: tensor.Uint64,
	11: tensor.Float64,
	12: tensor.Bool,
	16: tensor.Complex64,
	17: tensor.Complex128,
	23: tensor.Resource,
	27: tensor.BFloat16,
	30: tensor.Uint1,
}

// tlvDType returns the element type with that number in a TLV file. An unknown
// number n becomes the type -n, which prints as dtype(-n) and cannot be taken
// for a type of the protobuf containers; a negative one stays as it is.
// Detail.StoredDType has the number itself.
func tlvDType(n int32) tensor.DType {
	if d, ok := tlvDTypes[n]; ok {
		return d
	}
	if n > 0 {
		n = -n
	}
	return tensor.DType(n)
}

// hasMagic reports whether the head of the file begins as that of a TLV dump.
func hasMagic(s *scanner) (bool, error) {
	if s.size < tlvMagicOff+4 {
		return false, nil
	}
	s.seek(0)
	b, err := s.peek(tlvMagicOff+4, s.size)
	return err == nil && binary.LittleEndian.Uint32(b[tlvMagicOff:]) == tlvMagic, err
}

// readTLV reads a file that has the magic number, and so is a TLV dump even if
// a broken one.
func readTLV(s *scanner) (d *Dump, sure bool, err error) {
	n, err := headerLength(s)
	if err != nil {
		return nil, true, err
	}
	s.seek(tlvMagicOff)
	h := &tlvHead{scanner: s, end: lengthSize + n}
	if err := h.read(); err != nil {
		return nil, true, err
	}
	if err := h.place(); err != nil {
		return nil, true, err
	}
	return h.dump(n), true, nil
}

// place puts the tensors one after another behind the head. Their bytes must
// not end before the file does; those beyond its end have an error each.
func (h *tlvHead) place() error {
	off := h.end
	for _, list := range [][]tlvTensor{h.inputs, h.outputs} {
		for i := range list {
			off = list[i].place(off, h.scanner.size)
		}
	}
	if spare := h.scanner.size - off; spare > 0 {
		return broken(off, "file", "", fmt.Sprintf("goes on for %d bytes after the last tensor", spare))
	}
	return nil
}

func (h *tlvHead) dump(headerSize int64) *Dump {
	d := &Dump{Version: strconv.FormatUint(uint64(h.version), 10), HeaderSize: headerSize}
	d.Inputs, d.InputDetails = h.finish(h.inputs)
	d.Outputs, d.OutputDetails = h.finish(h.outputs)
	return d
}

func (h *tlvHead) finish(list []tlvTensor) (tensors []tensor.Tensor, details []Detail) {
	for i := range list {
		t := &list[i]
		word := t.detail.StoredFormat
		t.tensor.DType = tlvDType(t.detail.StoredDType)
		t.tensor.Format, t.tensor.C0, t.tensor.Groups = word.Format(), word.C0(), word.Groups()
		t.tensor.Size, t.tensor.Data = t.n, t.section(h.r)
		setShapes(&t.tensor, &t.detail, &t.part, t.dims, t.orig)
		tensors = append(tensors, t.tensor)
		details = append(details, t.detail)
	}
	return tensors, details
}
