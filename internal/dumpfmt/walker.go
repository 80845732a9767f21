package dumpfmt

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Upper bounds of the memory for parts of a header, in bytes: the bytes kept, the decoded message
// and the tensor made from it.
const (
	fieldCost      = 16
	messageCost    = 128
	descriptorCost = 2048
	textCost       = 3  // per byte, without reading it
	numbersCost    = 16 // per byte: a one-byte varint becomes two 64-bit integers
)

// walker parses a message into a Dump, and its parts into the scanner.
type walker struct {
	*scanner
	walkOptions
	dump *Dump
	part *part // the current part
}

// walkOptions are the rules for truncated and foreign messages.
type walkOptions struct {
	isStrict bool // unknown fields are an error; otherwise they are skipped
	mayBeCut bool // a field of DumpData beyond the end of the file ends the walk without an error
}

// walk parses the DumpData message between s.off and end. It skips tensor bytes and records their
// positions.
func walk(s *scanner, end int64, opt walkOptions) (*Dump, error) {
	s.parts = s.parts[:0]
	w := &walker{scanner: s, walkOptions: opt, dump: new(Dump)}
	if err := w.walkMessage(dumpDataMessage, end, true); err != nil {
		return nil, err
	}
	s.sortParts()
	return w.dump, nil
}

// walkMessage parses the fields of a message up to end; top is set for DumpData itself.
func (w *walker) walkMessage(m message, end int64, top bool) error {
	for w.off < end {
		at := w.off
		tag, err := w.readVarint("field tag", end)
		if err != nil {
			return err
		}
		if err := w.chargeMemory(fieldCost); err != nil {
			return err
		}
		num, typ := protowire.DecodeTag(tag)
		f := m.find(num)
		switch {
		case top && w.mayBeCut && w.noteCutOff(f, num, typ, end):
			return nil
		case f == nil:
			err = w.skipUnknown(at, num, typ, end)
		case !f.acceptsWireType(typ):
			err = formatError(at, lang.Say(f.name), lang.Sentence{}, lang.Say("has wire type %d", typ))
		case typ == protowire.VarintType:
			var v uint64
			v, err = w.readVarint(f.name, end)
			f.set(w, v)
		case f.kind == payload:
			err = w.recordPayload(f, end)
		case f.kind == nested && top:
			err = w.walkDescriptor(f, num, end)
		case f.kind == nested:
			if f.open != nil {
				f.open(w)
			}
			err = w.walkNested(f, end)
		default:
			err = w.copyField(f, end)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// noteCutOff reports whether a field of DumpData goes beyond the end. It records this as an error
// of the tensor, or as a warning if the field is not a tensor.
func (w *walker) noteCutOff(f *field, num protowire.Number, typ protowire.Type, end int64) bool {
	if f == nil || typ != protowire.BytesType {
		return false
	}
	at := w.off
	_, err := w.readLength(f.name, end)
	w.off = at
	broken, ok := errors.AsType[*FormatError](err)
	switch {
	case !ok:
		return false
	case f.kind == nested && num != attrField:
		f.open(w)
		broken.What = lang.Say("%s %d length", lang.Say(f.name), w.part.index)
		w.part.span = span{descriptorAt: at, off: end, err: broken}
	default:
		w.dump.Warnings = append(w.dump.Warnings, lang.Say("the file is cut off: %s", broken.sentence()))
	}
	return true
}

// walkDescriptor parses a message field of DumpData. Errors in it get its name and index.
func (w *walker) walkDescriptor(f *field, num protowire.Number, end int64) error {
	if err := w.chargeMemory(descriptorCost); err != nil {
		return err
	}
	at, index := w.off, len(w.dump.Attrs)
	if f.open(w); num != attrField {
		w.part.descriptorAt, index = at, w.part.index
	}
	if err := w.walkNested(f, end); err != nil {
		if fe, ok := errors.AsType[*FormatError](err); ok {
			fe.What = lang.Say("%s %d %s", lang.Say(f.name), index, fe.What)
		}
		return err
	}
	if num == outputField {
		w.part.dropUnnamed()
	}
	return nil
}

// walkNested parses a message field.
func (w *walker) walkNested(f *field, end int64) error {
	n, err := w.readLength(f.name, end)
	if err != nil {
		return err
	}
	if err := w.chargeMemory(messageCost); err != nil {
		return err
	}
	return w.walkMessage(*f.sub, w.off+n, false)
}

// copyField parses a text or packed numbers.
func (w *walker) copyField(f *field, end int64) error {
	n, err := w.readLength(f.name, end)
	if err != nil {
		return err
	}
	cost := int64(textCost)
	if f.kind == numbers {
		cost = numbersCost
	}
	if err := w.chargeMemory(min(n, memoryBudget) * cost); err != nil {
		return err
	}
	if f.kind == text {
		b, err := w.nextBytes(n)
		*f.text(w) = string(b)
		return err
	}
	for end := w.off + n; w.off < end; {
		v, err := w.readVarint(f.name, end)
		if err != nil {
			return err
		}
		f.set(w, v)
	}
	return nil
}

// recordPayload records the position of tensor bytes and skips them.
func (w *walker) recordPayload(f *field, end int64) error {
	n, err := w.readLength(f.name, end)
	if err != nil {
		return err
	}
	w.part.off, w.part.n, w.part.isInline = w.off, n, true
	w.off += n
	return nil
}

// skipUnknown skips a field that the message does not have.
func (w *walker) skipUnknown(at int64, num protowire.Number, typ protowire.Type, end int64) error {
	if !num.IsValid() || w.isStrict {
		return formatError(at, lang.Say("field"), lang.Plain(fmt.Sprint(num)), lang.Say("is no field of a dump header"))
	}
	var n int64
	var err error
	switch typ {
	case protowire.VarintType:
		_, err = w.readVarint("unknown field", end)
	case protowire.BytesType:
		n, err = w.readLength("unknown field", end)
	case protowire.Fixed32Type:
		n = 4
	case protowire.Fixed64Type:
		n = 8
	default:
		err = formatError(at, lang.Say("field"), lang.Plain(fmt.Sprint(num)), lang.Say("has wire type %d", typ))
	}
	if err == nil && n > end-w.off {
		err = formatError(at, lang.Say("field"), lang.Plain(fmt.Sprint(num)), lang.Say("is cut off"))
	}
	w.off += n
	return err
}

// hasVersionAt reports whether a DumpData message seems to begin at off: it begins with a version text
// such as 2.0, as all writers write it.
func (s *scanner) hasVersionAt(off int64) (bool, error) {
	const tag, longest = 1<<3 | byte(protowire.BytesType), 15
	if off >= s.size {
		return false, nil
	}
	s.off = off
	b, err := s.peek(2+longest, s.size)
	if err != nil || len(b) < 3 || b[0] != tag || b[1] == 0 || b[1] > longest || len(b) < 2+int(b[1]) {
		return false, err
	}
	for _, c := range b[2 : 2+b[1]] {
		if c != '.' && (c < '0' || c > '9') {
			return false, nil
		}
	}
	return true, nil
}

// The messages of package toolkit.dumpdata in the wire format, after the public dump_data.proto of
// the Ascend toolkit. These tables give the types that the walker checks, the destination of each
// value, and the fields with tensor bytes. Generated code would need a copy of the message without
// these bytes, and three times as long.

// kind is the type of a field for the walker.
type kind uint8

const (
	number  kind = iota // a varint
	numbers             // varints, packed or one by one
	text                // a string
	nested              // a message
	payload             // tensor bytes, skipped
)

// field is one field of a message.
type field struct {
	name string
	kind kind
	set  func(w *walker, v uint64) // sets a number, or appends to numbers
	text func(w *walker) *string   // destination of a text
	sub  *message                  // fields of a nested message
	open func(w *walker)           // called before a nested message; may be nil
}

// numberAt is a number field of a part.
func numberAt[N ~int32 | ~uint32 | ~uint64](name string, at func(*part) *N) field {
	return field{name: name, kind: number, set: func(w *walker, v uint64) { *at(w.part) = N(v) }}
}

func textAt(name string, at func(*walker) *string) field {
	return field{name: name, kind: text, text: at}
}

// partsAt is a message field for each part of a kind.
func partsAt(kind string, sub *message) field {
	return field{name: kind, kind: nested, sub: sub, open: func(w *walker) { w.part = w.add(kind) }}
}

func shapeAt(name string, at func(*part) *[]uint64) field {
	return field{name: name, kind: nested, sub: &message{
		1: {name: "dim", kind: numbers, set: func(w *walker, v uint64) {
			dims := at(w.part)
			*dims = append(*dims, v)
		}},
	}}
}

// message lists the fields of a message by field number.
type message []field

// find returns the field with a number, nil if the message has none.
func (m message) find(num protowire.Number) *field {
	if num < 0 || int(num) >= len(m) || m[num].name == "" {
		return nil
	}
	return &m[num]
}

// acceptsWireType reports whether the field may have a wire type.
func (f *field) acceptsWireType(typ protowire.Type) bool {
	switch f.kind {
	case number:
		return typ == protowire.VarintType
	case numbers:
		return typ == protowire.VarintType || typ == protowire.BytesType
	default:
		return typ == protowire.BytesType
	}
}

// Field numbers of DumpData whose messages may have tensor bytes.
const (
	outputField = 3
	inputField  = 4
	bufferField = 5
	spaceField  = 8
)

// attrField is the number of the only other message field of DumpData.
const attrField = 7

// Field numbers of the tensor bytes in these messages.
const (
	outputDataField = 5
	inputDataField  = 4
	blobDataField   = 2
)

var dumpDataMessage = message{
	1:           textAt("version", func(w *walker) *string { return &w.dump.Version }),
	2:           {name: "dump_time", kind: number, set: func(w *walker, v uint64) { w.dump.DumpTime = v }},
	outputField: partsAt("output", &opOutputMessage),
	inputField:  partsAt("input", &opInputMessage),
	bufferField: partsAt("buffer", &blobMessage),
	6:           textAt("op_name", func(w *walker) *string { return &w.dump.OpName }),
	attrField:   {name: "attr", kind: nested, sub: &opAttrMessage, open: func(w *walker) { w.dump.Attrs = append(w.dump.Attrs, Attr{}) }},
	spaceField:  partsAt("space", &blobMessage),
	9:           textAt("dfx_message", func(w *walker) *string { return &w.dump.DFX }),
}

var opOutputMessage = message{
	1: numberAt("data_type", func(p *part) *int32 { return &p.detail.StoredDType }),
	2: numberAt("format", func(p *part) *tensor.FormatWord { return &p.detail.StoredFormat }),
	3: shapeAt("shape", func(p *part) *[]uint64 { return &p.dims }),
	4: {name: "original_op", kind: nested, sub: &originalOpMessage, open: func(w *walker) {
		if d := &w.part.detail; d.OriginalOp == nil {
			d.OriginalOp = new(OriginalOp)
		}
	}},
	outputDataField: {name: "data", kind: payload},
	6:               numberAt("size", func(p *part) *uint64 { return &p.size }),
	7:               shapeAt("original_shape", func(p *part) *[]uint64 { return &p.original }),
	8:               numberAt("sub_format", func(p *part) *int32 { return &p.detail.SubFormat }),
	9:               numberAt("address", func(p *part) *uint64 { return &p.detail.Address }),
	10: {name: "dim_range", kind: nested, sub: &dimRangeMessage, open: func(w *walker) {
		w.part.detail.DimRanges = append(w.part.detail.DimRanges, DimRange{})
	}},
	11: numberAt("offset", func(p *part) *uint64 { return &p.detail.Offset }),
}

var opInputMessage = message{
	1:              numberAt("data_type", func(p *part) *int32 { return &p.detail.StoredDType }),
	2:              numberAt("format", func(p *part) *tensor.FormatWord { return &p.detail.StoredFormat }),
	3:              shapeAt("shape", func(p *part) *[]uint64 { return &p.dims }),
	inputDataField: {name: "data", kind: payload},
	5:              numberAt("size", func(p *part) *uint64 { return &p.size }),
	6:              shapeAt("original_shape", func(p *part) *[]uint64 { return &p.original }),
	7:              numberAt("sub_format", func(p *part) *int32 { return &p.detail.SubFormat }),
	8:              numberAt("address", func(p *part) *uint64 { return &p.detail.Address }),
	9:              numberAt("offset", func(p *part) *uint64 { return &p.detail.Offset }),
	10:             numberAt("arg_index", func(p *part) *uint32 { return &p.detail.ArgIndex }),
	11:             numberAt("input_type", func(p *part) *uint32 { return &p.detail.InputType }),
}

var originalOpMessage = message{
	1: textAt("name", func(w *walker) *string { return &w.part.detail.OriginalOp.Name }),
	2: numberAt("output_index", func(p *part) *uint32 { return &p.detail.OriginalOp.Index }),
	3: numberAt("data_type", func(p *part) *tensor.DType { return &p.detail.OriginalOp.DType }),
	4: {name: "format", kind: number, set: func(w *walker, v uint64) { w.part.detail.OriginalOp.Format = tensor.FormatWord(v).Format() }},
}

var dimRangeMessage = message{
	1: numberAt("dim_start", func(p *part) *uint64 { return &p.detail.DimRanges[len(p.detail.DimRanges)-1].Start }),
	2: numberAt("dim_end", func(p *part) *uint64 { return &p.detail.DimRanges[len(p.detail.DimRanges)-1].End }),
}

// blobMessage is the message of buffers and workspaces.
var blobMessage = message{
	1:             numberAt("type", func(p *part) *int32 { return &p.blobType }),
	blobDataField: {name: "data", kind: payload},
	3:             numberAt("size", func(p *part) *uint64 { return &p.size }),
}

var opAttrMessage = message{
	1: textAt("name", func(w *walker) *string { return &w.dump.Attrs[len(w.dump.Attrs)-1].Name }),
	2: textAt("value", func(w *walker) *string { return &w.dump.Attrs[len(w.dump.Attrs)-1].Value }),
}
