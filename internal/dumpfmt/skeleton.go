package dumpfmt

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"dumptool/internal/dumpfmt/dumppb"
	"dumptool/internal/lang"
)

// What parts of a header cost of the memory budget, at most: the bytes kept,
// the decoded message and the tensor made of it.
const (
	fieldCost      = 16
	messageCost    = 128
	descriptorCost = 2048
	textCost       = 3  // per byte, the reading aside
	numbersCost    = 16 // per byte: a one-byte varint becomes two 64-bit integers
)

// span says where a descriptor and the tensor bytes inside it lie in the file.
type span struct {
	at     int64 // the descriptor
	off, n int64 // the bytes
	inline bool  // there are bytes inside, maybe none of them
	err    error // the file is cut off inside the descriptor
}

// skeleton is a DumpData message on the wire without its tensor bytes.
type skeleton struct {
	wire     []byte
	spans    [spaceField + 1][]span // by field number of DumpData, in file order
	warnings []lang.Sentence
}

// decode parses the message. at is where it stands in the file.
func (sk *skeleton) decode(at int64) (*dumppb.DumpData, error) {
	msg := new(dumppb.DumpData)
	if err := proto.Unmarshal(sk.wire, msg); err != nil {
		return nil, broken(at, lang.Say("header"), lang.Sentence{}, lang.Say("does not parse: %v", err))
	}
	return msg, nil
}

// walker copies a message to a skeleton.
type walker struct {
	*scanner
	walkOptions
	skeleton
}

// walkOptions say what a walker makes of a message that is not whole or not one
// of a dump.
type walkOptions struct {
	strict bool // fields without a name are an error; they are left out otherwise
	cut    bool // a field of DumpData that goes beyond the end ends the walk and is no error
}

// walk makes the skeleton of the DumpData message between s.off and end.
func walk(s *scanner, end int64, opt walkOptions) (*skeleton, error) {
	w := &walker{scanner: s, walkOptions: opt}
	wire, err := w.message(dumpDataMessage, end, s.wire[:0], nil)
	if err != nil {
		return nil, err
	}
	w.skeleton.wire, s.wire = wire, wire
	return &w.skeleton, nil
}

// message appends the fields up to end to out. The bytes of a payload field go
// into sp instead; it is nil for DumpData itself.
func (w *walker) message(m message, end int64, out []byte, sp *span) ([]byte, error) {
	for w.off < end {
		at := w.off
		tag, err := w.varint("field tag", end)
		if err != nil {
			return nil, err
		}
		if err := w.spend(fieldCost); err != nil {
			return nil, err
		}
		num, typ := protowire.DecodeTag(tag)
		f := m.find(num)
		switch {
		case sp == nil && w.cut && w.cutOff(f, num, typ, end):
			return protowire.AppendBytes(protowire.AppendTag(out, num, typ), nil), nil
		case f == nil:
			err = w.skipUnknown(at, num, typ, end)
		case !f.fits(typ):
			err = broken(at, lang.Say(f.name), lang.Sentence{}, lang.Say("has wire type %d", typ))
		case typ == protowire.VarintType:
			var v uint64
			v, err = w.varint(f.name, end)
			out = protowire.AppendVarint(protowire.AppendTag(out, num, typ), v)
		case f.kind == payload:
			err = w.payload(f, end, sp)
		case f.kind == nested && sp == nil:
			out, err = w.descriptor(f, num, end, out)
		case f.kind == nested:
			out, err = w.nested(f, num, end, out, sp)
		default:
			out, err = w.copy(f, num, end, out)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// cutOff reports whether a field of DumpData goes beyond the end. What it takes
// from the file is an error of its tensor, or a warning where it is of none.
func (w *walker) cutOff(f *field, num protowire.Number, typ protowire.Type, end int64) bool {
	if f == nil || typ != protowire.BytesType {
		return false
	}
	at := w.off
	_, err := w.length(f.name, end)
	w.off = at
	broken, ok := errors.AsType[*FormatError](err)
	switch {
	case !ok:
		return false
	case f.kind == nested && num != attrField:
		broken.What = lang.Say("%s %d length", lang.Say(f.name), len(w.spans[num]))
		w.spans[num] = append(w.spans[num], span{at: at, off: end, err: broken})
	default:
		w.warnings = append(w.warnings, lang.Say("the file is cut off: %s", broken.sentence()))
	}
	return true
}

// descriptor appends a message field of DumpData. An error in it names it with
// its index.
func (w *walker) descriptor(f *field, num protowire.Number, end int64, out []byte) ([]byte, error) {
	if err := w.spend(descriptorCost); err != nil {
		return nil, err
	}
	sp := span{at: w.off}
	out, err := w.nested(f, num, end, out, &sp)
	if err != nil {
		if fe, ok := errors.AsType[*FormatError](err); ok {
			fe.What = lang.Say("%s %d %s", lang.Say(f.name), len(w.spans[num]), fe.What)
		}
		return nil, err
	}
	w.spans[num] = append(w.spans[num], sp)
	return out, nil
}

// nested appends a message field.
func (w *walker) nested(f *field, num protowire.Number, end int64, out []byte, sp *span) ([]byte, error) {
	n, err := w.length(f.name, end)
	if err != nil {
		return nil, err
	}
	if err := w.spend(messageCost); err != nil {
		return nil, err
	}
	out = append(protowire.AppendTag(out, num, protowire.BytesType), 0) // the length, mostly of one byte
	at := len(out)
	if out, err = w.message(*f.sub, w.off+n, out, sp); err != nil {
		return nil, err
	}
	length := len(out) - at
	if more := protowire.SizeVarint(uint64(length)) - 1; more > 0 {
		out = slices.Insert(out, at, make([]byte, more)...)
	}
	protowire.AppendVarint(out[:at-1], uint64(length))
	return out, nil
}

// copy appends a text or a run of packed numbers.
func (w *walker) copy(f *field, num protowire.Number, end int64, out []byte) ([]byte, error) {
	n, err := w.length(f.name, end)
	if err != nil {
		return nil, err
	}
	cost := int64(textCost)
	if f.kind == numbers {
		cost = numbersCost
	}
	if err := w.spend(min(n, memoryBudget) * cost); err != nil {
		return nil, err
	}
	return w.appendBytes(protowire.AppendVarint(protowire.AppendTag(out, num, protowire.BytesType), uint64(n)), n)
}

// payload notes where tensor bytes are and steps over them.
func (w *walker) payload(f *field, end int64, sp *span) error {
	n, err := w.length(f.name, end)
	if err != nil {
		return err
	}
	sp.off, sp.n, sp.inline = w.off, n, true
	w.off += n
	return nil
}

// skipUnknown steps over a field that no message of ours has.
func (w *walker) skipUnknown(at int64, num protowire.Number, typ protowire.Type, end int64) error {
	if !num.IsValid() || w.strict {
		return broken(at, lang.Say("field"), lang.Plain(fmt.Sprint(num)), lang.Say("is no field of a dump header"))
	}
	var n int64
	var err error
	switch typ {
	case protowire.VarintType:
		_, err = w.varint("unknown field", end)
	case protowire.BytesType:
		n, err = w.length("unknown field", end)
	case protowire.Fixed32Type:
		n = 4
	case protowire.Fixed64Type:
		n = 8
	default:
		err = broken(at, lang.Say("field"), lang.Plain(fmt.Sprint(num)), lang.Say("has wire type %d", typ))
	}
	if err == nil && n > end-w.off {
		err = broken(at, lang.Say("field"), lang.Plain(fmt.Sprint(num)), lang.Say("is cut off"))
	}
	w.off += n
	return err
}

// versionAt reports whether a DumpData message seems to begin at off: with a
// version text such as 2.0, as every writer's does.
func (s *scanner) versionAt(off int64) (bool, error) {
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

// The messages of package toolkit.dumpdata as they stand on the wire, after
// the public dump_data.proto of the Ascend toolkit. The generated code decodes
// them; these tables say what the walker may keep, what it must check and
// which fields hold tensor bytes.

// kind is how the value of a field is stored and treated.
type kind uint8

const (
	number  kind = iota // a varint
	numbers             // varints, packed into one run or each by itself
	text                // a string
	nested              // a message
	payload             // tensor bytes: never read
)

// field is one field of a message.
type field struct {
	name string
	kind kind
	sub  *message // of a nested one
}

// message is the list of a message's fields, by field number.
type message []field

// find returns the field with that number, nil if the message has none.
func (m message) find(num protowire.Number) *field {
	if num < 0 || int(num) >= len(m) || m[num].name == "" {
		return nil
	}
	return &m[num]
}

// fits reports whether a value of the field may have that wire type.
func (f *field) fits(typ protowire.Type) bool {
	switch f.kind {
	case number:
		return typ == protowire.VarintType
	case numbers:
		return typ == protowire.VarintType || typ == protowire.BytesType
	default:
		return typ == protowire.BytesType
	}
}

// Field numbers of DumpData whose messages may hold tensor bytes.
const (
	outputField = 3
	inputField  = 4
	bufferField = 5
	spaceField  = 8
)

// attrField is the number of the one other field of DumpData that is a message.
const attrField = 7

// Field numbers of the tensor bytes in these messages.
const (
	outputDataField = 5
	inputDataField  = 4
	blobDataField   = 2
)

var dumpDataMessage = message{
	1:           {name: "version", kind: text},
	2:           {name: "dump_time", kind: number},
	outputField: {name: "output", kind: nested, sub: &opOutputMessage},
	inputField:  {name: "input", kind: nested, sub: &opInputMessage},
	bufferField: {name: "buffer", kind: nested, sub: &blobMessage},
	6:           {name: "op_name", kind: text},
	attrField:   {name: "attr", kind: nested, sub: &opAttrMessage},
	spaceField:  {name: "space", kind: nested, sub: &blobMessage},
	9:           {name: "dfx_message", kind: text},
}

var opOutputMessage = message{
	1:               {name: "data_type", kind: number},
	2:               {name: "format", kind: number},
	3:               {name: "shape", kind: nested, sub: &shapeMessage},
	4:               {name: "original_op", kind: nested, sub: &originalOpMessage},
	outputDataField: {name: "data", kind: payload},
	6:               {name: "size", kind: number},
	7:               {name: "original_shape", kind: nested, sub: &shapeMessage},
	8:               {name: "sub_format", kind: number},
	9:               {name: "address", kind: number},
	10:              {name: "dim_range", kind: nested, sub: &dimRangeMessage},
	11:              {name: "offset", kind: number},
}

var opInputMessage = message{
	1:              {name: "data_type", kind: number},
	2:              {name: "format", kind: number},
	3:              {name: "shape", kind: nested, sub: &shapeMessage},
	inputDataField: {name: "data", kind: payload},
	5:              {name: "size", kind: number},
	6:              {name: "original_shape", kind: nested, sub: &shapeMessage},
	7:              {name: "sub_format", kind: number},
	8:              {name: "address", kind: number},
	9:              {name: "offset", kind: number},
	10:             {name: "arg_index", kind: number},
	11:             {name: "input_type", kind: number},
}

var originalOpMessage = message{
	1: {name: "name", kind: text},
	2: {name: "output_index", kind: number},
	3: {name: "data_type", kind: number},
	4: {name: "format", kind: number},
}

var shapeMessage = message{
	1: {name: "dim", kind: numbers},
}

var dimRangeMessage = message{
	1: {name: "dim_start", kind: number},
	2: {name: "dim_end", kind: number},
}

// blobMessage is OpBuffer (whose first field is buffer_type) and Workspace.
var blobMessage = message{
	1:             {name: "type", kind: number},
	blobDataField: {name: "data", kind: payload},
	3:             {name: "size", kind: number},
}

var opAttrMessage = message{
	1: {name: "name", kind: text},
	2: {name: "value", kind: text},
}
