package dumpfmt

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

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

// skeleton is a DumpData message without its tensor bytes.
type skeleton struct {
	msg      *dumppb.DumpData
	spans    [spaceField + 1][]span // by field number of DumpData, in file order
	warnings []lang.Sentence
}

// walker reads a message into a skeleton.
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
	w := &walker{scanner: s, walkOptions: opt, skeleton: skeleton{msg: new(dumppb.DumpData)}}
	if err := w.message(dumpDataMessage, end, w.msg, nil); err != nil {
		return nil, err
	}
	return &w.skeleton, nil
}

// message reads the fields up to end into a message. The bytes of a payload field go
// into sp instead; it is nil for DumpData itself.
func (w *walker) message(m message, end int64, into any, sp *span) error {
	for w.off < end {
		at := w.off
		tag, err := w.varint("field tag", end)
		if err != nil {
			return err
		}
		if err := w.spend(fieldCost); err != nil {
			return err
		}
		num, typ := protowire.DecodeTag(tag)
		f := m.find(num)
		switch {
		case sp == nil && w.cut && w.cutOff(f, num, typ, end):
			if f.kind == nested {
				f.open(into)
			} else {
				*f.text(into) = ""
			}
			return nil
		case f == nil:
			err = w.skipUnknown(at, num, typ, end)
		case !f.fits(typ):
			err = broken(at, lang.Say(f.name), lang.Sentence{}, lang.Say("has wire type %d", typ))
		case typ == protowire.VarintType:
			var v uint64
			v, err = w.varint(f.name, end)
			f.set(into, v)
		case f.kind == payload:
			err = w.payload(f, end, sp)
		case f.kind == nested && sp == nil:
			err = w.descriptor(f, num, end, into)
		case f.kind == nested:
			err = w.nested(f, end, into, sp)
		default:
			err = w.copy(f, end, into)
		}
		if err != nil {
			return err
		}
	}
	return nil
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

// descriptor reads a message field of DumpData. An error in it names it with its index.
func (w *walker) descriptor(f *field, num protowire.Number, end int64, into any) error {
	if err := w.spend(descriptorCost); err != nil {
		return err
	}
	sp := span{at: w.off}
	if err := w.nested(f, end, into, &sp); err != nil {
		if fe, ok := errors.AsType[*FormatError](err); ok {
			fe.What = lang.Say("%s %d %s", lang.Say(f.name), len(w.spans[num]), fe.What)
		}
		return err
	}
	w.spans[num] = append(w.spans[num], sp)
	return nil
}

// nested reads a message field.
func (w *walker) nested(f *field, end int64, into any, sp *span) error {
	n, err := w.length(f.name, end)
	if err != nil {
		return err
	}
	if err := w.spend(messageCost); err != nil {
		return err
	}
	return w.message(*f.sub, w.off+n, f.open(into), sp)
}

// copy reads a text or a run of packed numbers.
func (w *walker) copy(f *field, end int64, into any) error {
	n, err := w.length(f.name, end)
	if err != nil {
		return err
	}
	cost := int64(textCost)
	if f.kind == numbers {
		cost = numbersCost
	}
	if err := w.spend(min(n, memoryBudget) * cost); err != nil {
		return err
	}
	if f.kind == text {
		b, err := w.bytes(n)
		*f.text(into) = string(b)
		return err
	}
	for end := w.off + n; w.off < end; {
		v, err := w.varint(f.name, end)
		if err != nil {
			return err
		}
		f.set(into, v)
	}
	return nil
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
// the public dump_data.proto of the Ascend toolkit. These tables say what the
// walker must check, where it puts a value, and which fields hold tensor bytes.
// The generated code would need a copy of the message without these bytes, and
// three times as long.

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
	set  func(m any, v uint64) // sets a number, or adds one to numbers
	text func(m any) *string   // where a text is
	sub  *message              // of a nested one
	open func(m any) any       // returns a nested message, which it makes
}

// numberAt is a field with a number, of a message with room for it.
func numberAt[M any, N int32 | uint32 | uint64](name string, at func(*M) *N) field {
	return field{name: name, kind: number, set: func(m any, v uint64) { *at(m.(*M)) = N(v) }}
}

// textAt is a field with a text.
func textAt[M any](name string, at func(*M) *string) field {
	return field{name: name, kind: text, text: func(m any) *string { return at(m.(*M)) }}
}

// nestedAt is a field with a message.
func nestedAt[M, S any](name string, sub *message, at func(*M) **S) field {
	return field{name: name, kind: nested, sub: sub, open: func(m any) any {
		s := at(m.(*M))
		if *s == nil {
			*s = new(S)
		}
		return *s
	}}
}

// listAt is a field with a message that a message has several of.
func listAt[M, S any](name string, sub *message, at func(*M) *[]*S) field {
	return field{name: name, kind: nested, sub: sub, open: func(m any) any {
		list, s := at(m.(*M)), new(S)
		*list = append(*list, s)
		return s
	}}
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
	1:           textAt("version", func(m *dumppb.DumpData) *string { return &m.Version }),
	2:           numberAt("dump_time", func(m *dumppb.DumpData) *uint64 { return &m.DumpTime }),
	outputField: listAt("output", &opOutputMessage, func(m *dumppb.DumpData) *[]*dumppb.OpOutput { return &m.Output }),
	inputField:  listAt("input", &opInputMessage, func(m *dumppb.DumpData) *[]*dumppb.OpInput { return &m.Input }),
	bufferField: listAt("buffer", &bufferMessage, func(m *dumppb.DumpData) *[]*dumppb.OpBuffer { return &m.Buffer }),
	6:           textAt("op_name", func(m *dumppb.DumpData) *string { return &m.OpName }),
	attrField:   listAt("attr", &opAttrMessage, func(m *dumppb.DumpData) *[]*dumppb.OpAttr { return &m.Attr }),
	spaceField:  listAt("space", &workspaceMessage, func(m *dumppb.DumpData) *[]*dumppb.Workspace { return &m.Space }),
	9:           textAt("dfx_message", func(m *dumppb.DumpData) *string { return &m.DfxMessage }),
}

var opOutputMessage = message{
	1:               numberAt("data_type", func(m *dumppb.OpOutput) *int32 { return &m.DataType }),
	2:               numberAt("format", func(m *dumppb.OpOutput) *uint32 { return &m.Format }),
	3:               nestedAt("shape", &shapeMessage, func(m *dumppb.OpOutput) **dumppb.Shape { return &m.Shape }),
	4:               nestedAt("original_op", &originalOpMessage, func(m *dumppb.OpOutput) **dumppb.OriginalOp { return &m.OriginalOp }),
	outputDataField: {name: "data", kind: payload},
	6:               numberAt("size", func(m *dumppb.OpOutput) *uint64 { return &m.Size }),
	7:               nestedAt("original_shape", &shapeMessage, func(m *dumppb.OpOutput) **dumppb.Shape { return &m.OriginalShape }),
	8:               numberAt("sub_format", func(m *dumppb.OpOutput) *int32 { return &m.SubFormat }),
	9:               numberAt("address", func(m *dumppb.OpOutput) *uint64 { return &m.Address }),
	10:              listAt("dim_range", &dimRangeMessage, func(m *dumppb.OpOutput) *[]*dumppb.DimRange { return &m.DimRange }),
	11:              numberAt("offset", func(m *dumppb.OpOutput) *uint64 { return &m.Offset }),
}

var opInputMessage = message{
	1:              numberAt("data_type", func(m *dumppb.OpInput) *int32 { return &m.DataType }),
	2:              numberAt("format", func(m *dumppb.OpInput) *uint32 { return &m.Format }),
	3:              nestedAt("shape", &shapeMessage, func(m *dumppb.OpInput) **dumppb.Shape { return &m.Shape }),
	inputDataField: {name: "data", kind: payload},
	5:              numberAt("size", func(m *dumppb.OpInput) *uint64 { return &m.Size }),
	6:              nestedAt("original_shape", &shapeMessage, func(m *dumppb.OpInput) **dumppb.Shape { return &m.OriginalShape }),
	7:              numberAt("sub_format", func(m *dumppb.OpInput) *int32 { return &m.SubFormat }),
	8:              numberAt("address", func(m *dumppb.OpInput) *uint64 { return &m.Address }),
	9:              numberAt("offset", func(m *dumppb.OpInput) *uint64 { return &m.Offset }),
	10:             numberAt("arg_index", func(m *dumppb.OpInput) *uint32 { return &m.ArgIndex }),
	11:             numberAt("input_type", func(m *dumppb.OpInput) *uint32 { return &m.InputType }),
}

var originalOpMessage = message{
	1: textAt("name", func(m *dumppb.OriginalOp) *string { return &m.Name }),
	2: numberAt("output_index", func(m *dumppb.OriginalOp) *uint32 { return &m.OutputIndex }),
	3: numberAt("data_type", func(m *dumppb.OriginalOp) *int32 { return &m.DataType }),
	4: numberAt("format", func(m *dumppb.OriginalOp) *uint32 { return &m.Format }),
}

var shapeMessage = message{
	1: {name: "dim", kind: numbers, set: addDim},
}

// addDim adds a dimension to a shape, which has mostly at most usualRank.
func addDim(shape any, v uint64) {
	const usualRank = 6
	s := shape.(*dumppb.Shape)
	if s.Dim == nil {
		s.Dim = make([]uint64, 0, usualRank)
	}
	s.Dim = append(s.Dim, v)
}

var dimRangeMessage = message{
	1: numberAt("dim_start", func(m *dumppb.DimRange) *uint64 { return &m.DimStart }),
	2: numberAt("dim_end", func(m *dumppb.DimRange) *uint64 { return &m.DimEnd }),
}

var bufferMessage = message{
	1:             numberAt("type", func(m *dumppb.OpBuffer) *int32 { return &m.BufferType }),
	blobDataField: {name: "data", kind: payload},
	3:             numberAt("size", func(m *dumppb.OpBuffer) *uint64 { return &m.Size }),
}

var workspaceMessage = message{
	1:             numberAt("type", func(m *dumppb.Workspace) *int32 { return &m.Type }),
	blobDataField: {name: "data", kind: payload},
	3:             numberAt("size", func(m *dumppb.Workspace) *uint64 { return &m.Size }),
}

var opAttrMessage = message{
	1: textAt("name", func(m *dumppb.OpAttr) *string { return &m.Name }),
	2: textAt("value", func(m *dumppb.OpAttr) *string { return &m.Value }),
}
