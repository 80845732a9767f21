package graph

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"dumptool/internal/lang"
)

// Field numbers of a graph in protobuf, from MindSpore's debug_graph.proto; anf_ir.proto shares
// them.
const (
	modelGraph = 4

	graphNode, graphParam, graphConst = 1, 3, 5

	nodeInput, nodeName, nodeType, nodeScope = 1, 2, 3, 4
	nodeOutput, nodeFullName, nodeSource     = 6, 8, 9

	inputName, inputEdge = 1, 2 // an edge other than 0 is a control edge

	paramName = 1

	constKey, constValue  = 1, 2
	valueInt, valueText   = 3, 7
	typeTensor            = 2
	typeElem, tensorShape = 1, 2
	tensorElem            = 1
)

// maxMessage is the longest accepted message, in bytes; longer messages are skipped.
const maxMessage = 64 << 20

// ReadIRProto reads a graph of size bytes from protobuf. Like ReadIR it returns the complete nodes
// before a truncation.
func ReadIRProto(in io.Reader, size int64) (*IR, error) {
	r := &protoReader{in: bufio.NewReaderSize(in, irBuffer), size: size, graph: newIR(), consts: make(map[Text]int64)}
	r.graph.Proto = true
	r.graph.Subgraphs = []string{""}
	err := r.read()
	r.resolve()
	r.graph.texts.index = nil
	return r.graph, err
}

type protoReader struct {
	in     *bufio.Reader
	size   int64
	offset int64
	buf    []byte
	graph  *IR
	names  arena
	found  bool // the graph's field was found
	// consts maps names of constants to values, noNumber for other types.
	consts map[Text]int64
}

const noNumber = -1

// misfit records a field of the message at offset that does not fit.
func (r *protoReader) misfit(offset int64, found, wanted string) {
	r.graph.Misfits.Add(0, offset, []byte(found), wanted)
}

var errCutProto = lang.Errorf("the file ends inside a message")

// fail returns an error with its place.
func (r *protoReader) fail(offset int64, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errCutProto
	}
	return &IRError{offset, lang.Error(err)}
}

func (r *protoReader) read() error {
	if r.size == 0 {
		return &IRError{0, lang.Say("the file is empty")}
	}
	err := r.readFields(r.size, func(number protowire.Number, length int64) error {
		if number != modelGraph {
			return r.skip(length)
		}
		r.found = true
		return r.readFields(r.offset+length, r.readGraphField)
	})
	if err == nil && !r.found {
		err = &IRError{0, lang.Say("no graph found, want a graph as in debug_graph.proto")}
	}
	return err
}

// readFields reads the fields up to the offset end. read must consume length bytes of a
// length-delimited field; numbers are skipped.
func (r *protoReader) readFields(end int64, read func(number protowire.Number, length int64) error) error {
	for r.offset < end {
		start := r.offset
		tag, err := r.varint()
		if err != nil {
			return r.fail(start, err)
		}
		number, kind := protowire.DecodeTag(tag)
		if number < 1 {
			return &IRError{start, lang.Say("found the field number %d, want one from 1", number)}
		}
		length := int64(0)
		switch kind {
		case protowire.VarintType:
			if _, err := r.varint(); err != nil {
				return r.fail(start, err)
			}
			continue
		case protowire.Fixed32Type:
			length = 4
		case protowire.Fixed64Type:
			length = 8
		case protowire.BytesType:
			n, err := r.varint()
			if err != nil {
				return r.fail(start, err)
			}
			if n > uint64(end-r.offset) {
				if r.offset >= r.size || n > uint64(r.size-r.offset) {
					// Read the complete nodes of the truncated graph.
					if number == modelGraph && end == r.size && !r.found {
						r.found = true
						if err := r.readFields(r.size, r.readGraphField); err != nil {
							return err
						}
					}
					return &IRError{start, lang.Say("a message of %d bytes where %d are left: the file is truncated", n, r.size-r.offset)}
				}
				return &IRError{start, lang.Say("a message of %d bytes inside a message with %d bytes left", n, end-r.offset)}
			}
			if err := read(number, int64(n)); err != nil {
				return err
			}
			continue
		default:
			return &IRError{start, lang.Say("found the wire type %d, want 0, 1, 2 or 5", kind)}
		}
		if err := r.skip(length); err != nil {
			return err
		}
	}
	return nil
}

func (r *protoReader) varint() (uint64, error) {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		b, err := r.in.ReadByte()
		if err != nil {
			return 0, err
		}
		r.offset++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, nil
		}
	}
	return 0, lang.Errorf("found a number of more than 64 bits")
}

func (r *protoReader) skip(length int64) error {
	for length > 0 {
		n, err := r.in.Discard(int(min(length, maxMessage)))
		r.offset += int64(n)
		length -= int64(n)
		if err != nil {
			return r.fail(r.offset, err)
		}
	}
	return nil
}

// readBytes reads length bytes, valid until the next read.
func (r *protoReader) readBytes(length int64) ([]byte, error) {
	if int64(cap(r.buf)) < length {
		r.buf = make([]byte, length)
	}
	n, err := io.ReadFull(r.in, r.buf[:length])
	r.offset += int64(n)
	if err != nil {
		return nil, r.fail(r.offset, err)
	}
	return r.buf[:length], nil
}

// readGraphField reads a field of the graph.
func (r *protoReader) readGraphField(number protowire.Number, length int64) error {
	offset := r.offset
	if number != graphNode && number != graphParam && number != graphConst {
		return r.skip(length)
	}
	if length > maxMessage {
		r.misfit(offset, fmt.Sprintf("a message of %d bytes", length), fmt.Sprintf("at most %d", maxMessage))
		return r.skip(length)
	}
	b, err := r.readBytes(length)
	if err != nil {
		return err
	}
	switch number {
	case graphNode:
		err = r.readNode(b, offset)
	case graphParam:
		err = eachField(b, func(field protowire.Number, value []byte, _ uint64) error {
			if field == paramName && r.isText(offset, "name", value) {
				p := Param{Name: r.names.copyString(value), Number: int32(len(r.graph.Params) + 1)}
				r.graph.Params = append(r.graph.Params, p)
			}
			return nil
		})
	case graphConst:
		err = r.readConstant(b)
	}
	if err != nil {
		return &IRError{offset, lang.Error(err)}
	}
	return nil
}

// isText reports whether a field is a text, else records a misfit.
func (r *protoReader) isText(offset int64, name string, value []byte) bool {
	if value == nil {
		r.misfit(offset, name+" as a number", "a text")
	}
	return value != nil
}

// nodeFields names the text fields of a node.
var nodeFields = map[protowire.Number]string{
	nodeInput: "input", nodeName: "name", nodeType: "op_type", nodeScope: "scope", nodeFullName: "full_name", nodeSource: "source_address",
}

// eachField calls read for every field of a message in memory: value holds a length-delimited field
// and is nil for others, n holds a varint.
func eachField(b []byte, read func(number protowire.Number, value []byte, n uint64) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var value []byte
		var v uint64
		switch kind {
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if err := read(number, value, v); err != nil {
			return err
		}
	}
	return nil
}

// readNode reads a node. Its inputs are names until resolve.
func (r *protoReader) readNode(b []byte, offset int64) error {
	g := r.graph
	if len(g.Nodes) >= maxIndex || len(g.inputs) >= maxIndex/2 {
		return lang.Errorf("more nodes than any graph has")
	}
	n := Node{
		Offset: offset, Number: -1, item: -1, innerFirst: true, length: int32(len(b)),
		inputs: span{int32(len(g.inputs)), int32(len(g.inputs))}, frames: span{int32(len(g.frames)), int32(len(g.frames))},
	}
	var scope, source []byte
	err := eachField(b, func(field protowire.Number, value []byte, _ uint64) error {
		if name := nodeFields[field]; name != "" && !r.isText(offset, name, value) {
			return nil
		}
		switch field {
		case nodeInput:
			return r.readInput(value)
		case nodeName:
			if v, rest, ok := cutNumber(value); ok && len(rest) == 0 {
				n.Number = v
			}
		case nodeType:
			n.Type = g.Text(g.texts.add(value, nil))
		case nodeScope:
			scope = value
		case nodeFullName:
			n.Name = r.names.copyString(value)
		case nodeSource:
			source = value
		}
		return nil
	})
	if err != nil {
		g.inputs = g.inputs[:n.inputs.from]
		return err
	}
	n.inputs.to = int32(len(g.inputs))
	if n.Name == "" && len(scope) > 0 {
		n.Name, n.scopeOnly = r.names.copyString(scope), true
	}
	kind, stack := Own, uint16(0)
	for line := range bytes.Lines(source) {
		if at := bytes.Index(line, []byte("Corresponding ")); at >= 0 {
			kind = Fused
			if bytes.HasPrefix(line[at:], []byte("Corresponding forward ")) {
				kind = Forward
			}
			if stack < 1<<16-1 {
				stack++
			}
		}
		if bad := g.addLocations(&n, line, kind, stack); bad != nil {
			g.Misfits.Add(0, offset, bad, wantLocation)
		}
	}
	g.Nodes = append(g.Nodes, n)
	return nil
}

// readInput keeps the name of an input; noRef for a control edge.
func (r *protoReader) readInput(b []byte) error {
	name := noRef
	err := eachField(b, func(field protowire.Number, value []byte, v uint64) error {
		switch {
		case field == inputName:
			name = ref(r.graph.texts.add(value, nil))
		case field == inputEdge && v != 0:
			name = noRef
		}
		return nil
	})
	r.graph.inputs = append(r.graph.inputs, name)
	return err
}

// readConstant keeps a constant.
func (r *protoReader) readConstant(b []byte) error {
	var key []byte
	number := int64(noNumber)
	err := eachField(b, func(field protowire.Number, value []byte, _ uint64) error {
		switch field {
		case constKey:
			key = value
		case constValue:
			return eachField(value, func(field protowire.Number, text []byte, v uint64) error {
				switch field {
				case valueInt:
					number = int64(v)
				case valueText:
					number = int64(constantIndex(text))
				}
				return nil
			})
		}
		return nil
	})
	r.consts[r.graph.texts.add(key, nil)] = number
	return err
}

// resolve replaces the names of inputs by their sources.
func (r *protoReader) resolve() {
	g := r.graph
	refs := make(map[ref]ref)
	add := func(name []byte, to ref) {
		if t, ok := g.texts.index[string(name)]; ok {
			if _, known := refs[ref(t)]; !known {
				refs[ref(t)] = to
			}
		}
	}
	var digits []byte
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Number >= 0 {
			digits = strconv.AppendInt(digits[:0], int64(n.Number), 10)
			add(digits, ref(i))
		}
	}
	for i := range g.Params {
		add([]byte(g.Params[i].Name), paramRef(i))
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		inputs := g.inputs[n.inputs.from:n.inputs.to]
		if n.Type == tupleGetItem && len(inputs) > 1 && inputs[1] >= 0 {
			if item, ok := r.consts[Text(inputs[1])]; ok && 0 <= item && item <= maxIndex {
				n.item = int32(item)
			}
		}
		for k, name := range inputs {
			to, ok := refs[name]
			if !ok || to >= 0 && int(to) >= i { // constants have no source; nodes read only earlier nodes
				to = noRef
			}
			if _, isConst := r.consts[Text(name)]; name >= 0 && to == noRef && !isConst {
				r.misfit(n.Offset, "input "+g.Text(Text(name)), "a node before, a parameter or a constant")
			}
			inputs[k] = to
		}
	}
}
