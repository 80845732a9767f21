package dumpfmt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// The TLV dump of small ("nano") chips: u64 length of the head, the head, then the bytes of all
// inputs and outputs without gaps. The head is a magic number, a version, and tag-length-value
// records, as in the dump code of the public Ascend runtime. op_type, op_name and the dump time are
// in the file name only.

const (
	tlvMagic    = 0x5A5A5A5A
	tlvMagicOff = lengthSize
)

// Tags of the head, and of the records of a tensor.
const (
	tlvInputs  = 4
	tlvOutputs = 5

	tlvShape         = 0
	tlvOriginalShape = 1
	tlvOriginalName  = 2
)

// Fixed sizes of a descriptor before its records.
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

// tlvDType returns the element type of a number in a TLV file. An unknown number n becomes the type
// -n, which prints as dtype(-n) and differs from all types of the protobuf containers; a negative
// number stays as it is. Detail.StoredDType has the number itself.
func tlvDType(n int32) tensor.DType {
	if d, ok := tlvDTypes[n]; ok {
		return d
	}
	if n > 0 {
		n = -n
	}
	return tensor.DType(n)
}

// hasMagic reports whether the file begins like a TLV dump.
func hasMagic(s *scanner) (bool, error) {
	if s.size < tlvMagicOff+4 {
		return false, nil
	}
	s.seek(0)
	b, err := s.peek(tlvMagicOff+4, s.size)
	return err == nil && binary.LittleEndian.Uint32(b[tlvMagicOff:]) == tlvMagic, err
}

// readTLV reads a file with the magic number: a TLV dump, even if it is broken.
func readTLV(s *scanner) (d *Dump, sure bool, err error) {
	n, err := headerLength(s)
	if err != nil {
		return nil, true, err
	}
	s.seek(tlvMagicOff)
	s.parts = s.parts[:0]
	h := &tlvHead{scanner: s, end: lengthSize + n}
	if err := h.read(); err != nil {
		return nil, true, err
	}
	h.sortParts()
	if err := h.placeTensors(); err != nil {
		return nil, true, err
	}
	return h.dump(), true, nil
}

// placeTensors places the tensors one after another after the head. The file must not be longer; each
// tensor beyond its end has an error.
func (h *tlvHead) placeTensors() error {
	off := h.end
	for _, p := range h.parts {
		off = p.setPlace(off, h.scanner.size)
	}
	if spare := h.scanner.size - off; spare > 0 {
		return formatError(off, lang.Say("file"), lang.Sentence{}, lang.Say("continues for %d bytes after the last tensor", spare))
	}
	return nil
}

func (h *tlvHead) dump() *Dump {
	d := &Dump{Version: strconv.FormatUint(uint64(h.version), 10)}
	h.buildDump(d)
	for i := range d.Inputs {
		d.Inputs[i].DType = tlvDType(d.InputDetails[i].StoredDType)
	}
	for i := range d.Outputs {
		d.Outputs[i].DType = tlvDType(d.OutputDetails[i].StoredDType)
	}
	return d
}

// The head of a TLV dump, in file order (described above).

// tlvHead parses the head of a TLV file.
type tlvHead struct {
	*scanner
	end     int64
	version uint32
	seen    [tlvOutputs + 1]bool
}

// read parses the head up to its end. The magic number has been checked.
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
		tag, end, err := h.readRecord(h.end)
		if err != nil {
			return err
		}
		if tag == tlvInputs || tag == tlvOutputs {
			if h.seen[tag] {
				return formatError(at, lang.Say("record tag"), lang.Plain(fmt.Sprint(tag)), lang.Say("is given twice"))
			}
			h.seen[tag] = true
		}
		switch tag {
		case tlvInputs:
			err = h.readList("input", end)
		case tlvOutputs:
			err = h.readList("output", end)
		default:
			h.off = end
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readRecord parses the tag and length of a record and returns the end of its value.
func (h *tlvHead) readRecord(end int64) (tag uint32, valueEnd int64, err error) {
	if err := h.chargeMemory(fieldCost); err != nil {
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
		return 0, 0, formatError(at, lang.Say("record length"), lang.Plain(formatLength(uint64(n))), exceeds(rest))
	}
	return tag, h.off + int64(n), nil
}

// readList parses the value of an inputs or outputs record to its end.
func (h *tlvHead) readList(kind string, end int64) error {
	fixed := tlvFixedSize(kind)
	at := h.off
	n, err := h.u32(kind+" count", end)
	if err != nil {
		return err
	}
	if rest := end - h.off; int64(n) > rest/fixed {
		return formatError(at, lang.Say("%s count", lang.Say(kind)), lang.Plain(fmt.Sprint(n)), lang.Say("is more than the %d bytes of the list can hold", rest))
	}
	for range int(n) {
		if err := h.chargeMemory(descriptorCost); err != nil {
			return err
		}
		t := h.add(kind)
		t.descriptorAt = h.off
		if err := h.readTensor(t, end); err != nil {
			if fe, ok := errors.AsType[*FormatError](err); ok {
				fe.What = lang.Say("%s %s", t.name(), fe.What)
			}
			return err
		}
	}
	if rest := end - h.off; rest > 0 {
		return formatError(h.off, lang.Say("%s list", lang.Say(kind)), lang.Sentence{}, lang.Say("has %d bytes more than its %d tensors", rest, n))
	}
	return nil
}

func tlvFixedSize(kind string) int64 {
	if kind == "output" {
		return tlvOutputSize
	}
	return tlvInputSize
}

// readTensor parses one descriptor, in file order.
func (h *tlvHead) readTensor(t *part, end int64) error {
	fixed := tlvFixedSize(t.kind)
	if rest := end - h.off; rest < fixed {
		return formatError(h.off, lang.Say("descriptor"), lang.Say("of %d bytes", fixed), exceeds(rest))
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
	word() // the kind of memory
	if t.kind == "output" {
		t.detail.OriginalOp = &OriginalOp{Index: word(), DType: tlvDType(int32(word())), Format: tensor.FormatWord(word()).Format()}
	}
	t.detail.Address = long()
	t.detail.Offset = long()
	t.size = long()
	records := int64(word())
	h.off += fixed
	if rest := end - h.off; records > rest {
		return formatError(h.off-4, lang.Say("list length"), lang.Plain(formatLength(uint64(records))), exceeds(rest))
	}
	return h.readRecords(t, h.off+records)
}

// readRecords parses the records after the fixed fields of a descriptor.
func (h *tlvHead) readRecords(t *part, end int64) error {
	for h.off < end {
		tag, valueEnd, err := h.readRecord(end)
		if err != nil {
			return err
		}
		switch {
		case tag == tlvShape:
			t.dims, err = h.readDims(t.dims, "shape", valueEnd)
		case tag == tlvOriginalShape:
			t.original, err = h.readDims(t.original, "original shape", valueEnd)
		case tag == tlvOriginalName && t.detail.OriginalOp != nil:
			var name []byte
			name, err = h.nextBytes(valueEnd - h.off)
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

// readDims parses 8-byte dimensions up to end.
func (h *tlvHead) readDims(dims []uint64, what string, end int64) ([]uint64, error) {
	n := end - h.off
	if n%8 != 0 {
		return nil, formatError(h.off, lang.Say(what), lang.Say("of %d bytes", n), lang.Say("is not a list of 8-byte dimensions"))
	}
	if err := h.chargeMemory(n); err != nil {
		return nil, err
	}
	b, err := h.nextBytes(n)
	if err != nil {
		return nil, err
	}
	for dims = dims[:0]; len(b) > 0; b = b[8:] {
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
		return 0, formatError(h.off, lang.Say(what), lang.Sentence{}, lang.Say("is cut off"))
	}
	h.off += 4
	return binary.LittleEndian.Uint32(b), nil
}
