package graph

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"dumptool/internal/jsonpos"
	"dumptool/internal/tensor"
)

// TensorType is the type of an input or output in a graph.
type TensorType struct {
	// DType is the element type as written in the file, such as Float16; for a value that is no
	// tensor its type, such as UMonad.
	DType jsonpos.NullableText `json:"dtype"`
	// Format is the layout on the device, such as NC1HWC0; empty if the file has none.
	Format jsonpos.NullableText `json:"format"`
	// Shape is the shape on the device if Format is a layout of the device; nil if unknown. Unknown
	// dimensions are -1.
	Shape tensor.Shape `json:"shape"`
	// Host is the shape on the host if Shape is one on the device; nil if unknown.
	Host tensor.Shape `json:"-"`
}

// typeLines limits the search for types behind the start of a node, in bytes.
const typeLines = 1 << 20

// Types reads the types of a node again from the graph's file. Types on the device override types
// on the host. Unreadable types are nil; a graph in protobuf has types of outputs only.
func (g *IR) Types(in io.ReaderAt, n *Node) (inputs, outputs []TensorType) {
	if g.Proto {
		return nil, protoTypes(in, n)
	}
	lines := lineReader{in: bufio.NewReader(io.NewSectionReader(in, n.Offset, typeLines))}
	if _, _, err := lines.next(); err != nil {
		return nil, nil
	}
	for found := 0; found < 2; {
		line, _, err := lines.next()
		if err != nil {
			break
		}
		text, isColon := bytes.CutPrefix(bytes.TrimLeft(line, " \t"), []byte(":"))
		text = bytes.TrimLeft(text, " ")
		if !isColon || !isTypes(text) {
			if found > 0 {
				break
			}
			continue
		}
		in, out := parseTypes(text)
		// The device line may lack a format that the host line has.
		inputs, outputs = mergeTypes(inputs, in), mergeTypes(outputs, out)
		found++
	}
	return inputs, outputs
}

func mergeTypes(host, device []TensorType) []TensorType {
	if len(device) == 0 || len(host) > 0 && len(host) != len(device) {
		return host
	}
	for i := range device {
		switch {
		case len(host) == 0:
		case device[i].Format == "":
			device[i] = host[i]
		default:
			device[i].Host = host[i].Shape
		}
	}
	return device
}

// parseTypes reads (<type>, <type>) -> (<type>).
func parseTypes(b []byte) (inputs, outputs []TensorType) {
	list, depth, from := &inputs, 0, 0
	for i, c := range b {
		switch {
		case c == '<':
			if depth++; depth == 1 {
				from = i + 1
			}
		case c == '>' && depth > 0:
			if depth--; depth == 0 {
				*list = append(*list, parseType(string(b[from:i])))
			}
		case c == '>' && i > 0 && b[i-1] == '-':
			list = &outputs
		}
	}
	return inputs, outputs
}

// parseType parses a type: Tensor[Float32], (2, 3); Tensor[Float32]x[const vector][2, 3];
// Float16xNC1HWC0(2, 1); Float16xNC1HWC0[const vector][2, 1]; UMonad, NoShape.
func parseType(s string) TensorType {
	t := TensorType{}
	var dtype, rest string
	if at := strings.Index(s, "Tensor["); at >= 0 {
		dtype, rest, _ = strings.Cut(s[at+len("Tensor["):], "]")
	} else if at := strings.Index(s, "Tensor("); at >= 0 {
		dtype, rest, _ = strings.Cut(s[at+len("Tensor("):], ")")
		dtype = shortTypes.Replace(dtype)
	} else if device, after, ok := cutDeviceType(s); ok {
		end := strings.IndexAny(after, "([,")
		if end < 0 {
			end = len(after)
		}
		dtype, t.Format, rest = device, jsonpos.NullableText(after[:end]), after[end:]
	} else {
		dtype, _, _ = strings.Cut(s, ",")
	}
	t.DType = jsonpos.NullableText(dtype)
	if _, after, found := strings.Cut(rest, "[const vector]"); found {
		rest = after
	}
	open := strings.IndexAny(rest, "([")
	if open < 0 {
		return t
	}
	end := strings.IndexAny(rest[open:], ")]")
	if end < 0 {
		return t
	}
	t.Shape = parseDims(rest[open+1 : open+end])
	return t
}

// shortTypes expands the abbreviated types of some writers.
var shortTypes = strings.NewReplacer("BF", "BFloat", "F", "Float", "I", "Int", "U", "UInt", "C", "Complex")

// cutDeviceType splits Float16xNC1HWC0 into type and rest.
func cutDeviceType(s string) (dtype, rest string, ok bool) {
	for i := range s {
		if s[i] != 'x' {
			continue
		}
		if _, ok := tensor.ParseDType(strings.ToLower(s[:i])); ok {
			return s[:i], s[i+1:], true
		}
	}
	return "", "", false
}

// parseDims parses dimensions, nil if one is no number.
func parseDims(s string) tensor.Shape {
	shape := tensor.Shape{}
	for word := range strings.SplitSeq(s, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		d, err := strconv.ParseInt(word, 10, 64)
		if err != nil || d < -1 {
			return nil
		}
		shape = append(shape, d)
	}
	return shape
}

// protoNames lists the types of debug_graph.proto by number.
var protoNames = [...]string{
	1: "Bool", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float16", "Float32", "Float64", "String",
	31: "Tuple", 32: "List", 43: "UMonad", 44: "IOMonad",
}

func protoTypes(in io.ReaderAt, n *Node) []TensorType {
	b := make([]byte, n.length)
	if _, err := in.ReadAt(b, n.Offset); err != nil {
		return nil
	}
	var types []TensorType
	_ = eachField(b, func(field protowire.Number, value []byte, _ uint64) error {
		if field == nodeOutput {
			types = appendProtoType(types, value, 0)
		}
		return nil
	})
	return types
}

// appendProtoType appends a type, or all types of a tuple.
func appendProtoType(types []TensorType, b []byte, depth int) []TensorType {
	const maxDepth, sequence = 8, 3
	t, isTuple := TensorType{}, false
	name := func(v uint64) jsonpos.NullableText {
		if v < uint64(len(protoNames)) {
			return jsonpos.NullableText(protoNames[v])
		}
		return ""
	}
	_ = eachField(b, func(field protowire.Number, value []byte, v uint64) error {
		switch field {
		case tensorElem: // in a type message, the field is the type itself
			t.DType = name(v)
		case typeTensor:
			t.Shape = tensor.Shape{}
			return eachField(value, func(field protowire.Number, value []byte, v uint64) error {
				switch field {
				case typeElem:
					t.DType = name(v)
				case tensorShape:
					return eachField(value, func(_ protowire.Number, dim []byte, _ uint64) error {
						size := int64(-1)
						err := eachField(dim, func(field protowire.Number, _ []byte, v uint64) error {
							if field == 1 {
								size = int64(v)
							}
							return nil
						})
						t.Shape = append(t.Shape, size)
						return err
					})
				}
				return nil
			})
		case sequence:
			isTuple = true
			if depth < maxDepth {
				return eachField(value, func(_ protowire.Number, elem []byte, _ uint64) error {
					types = appendProtoType(types, elem, depth+1)
					return nil
				})
			}
		}
		return nil
	})
	if isTuple {
		return types
	}
	return append(types, t)
}
