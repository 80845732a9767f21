package dumpfmt

import "google.golang.org/protobuf/encoding/protowire"

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
