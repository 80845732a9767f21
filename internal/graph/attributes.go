package graph

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"bufio"

	"dumptool/internal/jsonpos"
)

// Attribute is the value of an operator's attribute: the text of a scalar, or the texts of the
// elements of a list. Nested lists are flattened.
type Attribute struct {
	Values []string
	// List marks a list, even with a single element.
	List bool
}

// maxValues is the number of elements that are kept of an attribute. A longer list is replaced by a text with this
// number.
const maxValues = 4096

// maxDepth is the deepest accepted nesting of lists.
const maxDepth = 8

// OriginalNames is the only GE attribute with a leading underscore that is kept: the names of the
// model's operators that were merged into this operator.
const OriginalNames = "_datadump_original_op_names"

// ReadFusionAttributes reads the compiler's graph with the attributes of its operators.
func ReadFusionAttributes(in io.Reader) (*Graph, error) { return readFusion(in, true) }

// storeAttribute stores an attribute, unless its name shows that it cannot affect the result of the operator.
func (op *Op) storeAttribute(key string, a *Attribute) {
	if key == "" || a == nil || strings.HasPrefix(key, "_") && key != OriginalNames {
		return
	}
	if op.Attributes == nil {
		op.Attributes = map[string]Attribute{}
	}
	if n := len(a.Values); n > maxValues {
		a = &Attribute{Values: []string{fmt.Sprintf("a list of more than %d values", maxValues)}}
	}
	op.Attributes[key] = *a
}

// Fused reports whether several operators of the model were merged into this one; nil if the graph
// does not say.
func (op *Op) Fused() *bool {
	names, ok := op.Attributes[OriginalNames]
	if !ok || len(names.Values) == 0 {
		return nil
	}
	fused := len(names.Values) > 1
	return &fused
}

// valueKeys lists the members that hold the value of an attribute, in JSON and in text.
var valueKeys = []string{"s", "i", "f", "b", "list", "list_list_int", "list_list_i", "list_i", "list_list_float", "list_list_f", "list_f"}

// readOpAttributes reads an operator's attributes: an array of {key, value}, or an object.
func (r *fusionReader) readOpAttributes(op *Op) error {
	one := func(key string) error {
		a := &Attribute{}
		err := r.readValue(a, 0)
		op.storeAttribute(key, a)
		return err
	}
	switch r.Kind() {
	case jsonpos.Null:
		return r.Skip()
	case jsonpos.Object:
		return r.Object(one)
	}
	return r.Array(func(int) error {
		var key string
		var a *Attribute
		err := r.Object(func(member string) error {
			switch {
			case member == "key" && r.Kind() == jsonpos.String:
				return r.readText(&key)
			case member == "value":
				a = &Attribute{}
				return r.readValue(a, 0)
			}
			return r.Skip()
		})
		op.storeAttribute(key, a)
		return err
	})
}

// readValue reads the value of an attribute; unknown forms are skipped.
func (r *fusionReader) readValue(a *Attribute, depth int) error {
	switch kind := r.Kind(); {
	case depth > maxDepth || kind == jsonpos.Null:
		return r.Skip()
	case kind == jsonpos.Array:
		a.List = true
		return r.Array(func(int) error { return r.readValue(a, depth+1) })
	case kind == jsonpos.Object:
		return r.Object(func(key string) error {
			if !slices.Contains(valueKeys, key) {
				return r.Skip()
			}
			a.List = a.List || strings.HasPrefix(key, "list")
			return r.readValue(a, depth+1)
		})
	}
	_, text, err := r.Scalar()
	a.add(text)
	return err
}

// add adds an element. It stores at most one element more than maxValues; the extra element marks a
// list as too long.
func (a *Attribute) add(text string) {
	if len(a.Values) <= maxValues {
		a.Values = append(a.Values, strings.Clone(text))
	}
}

// readOpAttribute reads the key and value of an operator's attribute in protobuf text.
func (r *textReader) readOpAttribute(op *Op) error {
	var key string
	a := &Attribute{}
	depth := 0
	var value func(field []byte) error
	value = func(field []byte) error {
		switch name := string(field); {
		case !slices.Contains(valueKeys, name):
			return r.skip()
		case strings.HasPrefix(name, "list"):
			if a.List = true; depth == maxDepth {
				return r.skip()
			}
			depth++
			defer func() { depth-- }()
			return r.readAttributeValue(a, value)
		}
		return r.readScalars(func(text string) string {
			a.add(text)
			return ""
		})
	}
	err := r.readMessage(func(field []byte) error {
		switch string(field) {
		case "key":
			return r.readString(&key)
		case "value":
			return r.readMessage(value)
		}
		return r.skip()
	})
	op.storeAttribute(key, a)
	return err
}

// readAttributeValue reads a field whose value is a message, or one or several numbers.
func (r *textReader) readAttributeValue(a *Attribute, read func(field []byte) error) error {
	if _, err := r.nextIfAny(":"); err != nil {
		return err
	}
	c, err := r.peek()
	if err == nil && c != '{' && c != '<' {
		return r.readScalars(func(text string) string {
			a.add(text)
			return ""
		})
	}
	if err != nil {
		return err
	}
	return r.readMessage(read)
}

// primitiveMark precedes the attributes of a node's primitive.
var primitiveMark = []byte(" primitive_attrs: {")

// Attributes reads the attributes of a node again from the graph's file, for example kernel_size:
// (3, 3), pad_mode: pad. Graphs in protobuf return nil.
func (g *IR) Attributes(in io.ReaderAt, n *Node) map[string]Attribute {
	if g.Proto {
		return nil
	}
	lines := lineReader{in: bufio.NewReader(io.NewSectionReader(in, n.Offset, typeLines))}
	line, _, err := lines.next()
	if err != nil {
		return nil
	}
	at := bytes.Index(line, primitiveMark)
	if at < 0 {
		return nil
	}
	inner := line[at+len(primitiveMark)-1:]
	end := closingBracket(inner)
	if end < 0 {
		return nil
	}
	op := Op{}
	for _, part := range splitOperands(nil, inner[1:end]) {
		key, value, ok := strings.Cut(string(part), ":")
		if ok {
			op.storeAttribute(strings.TrimSpace(key), irValue(strings.TrimSpace(value)))
		}
	}
	return op.Attributes
}

// irValue parses a value as MindSpore prints it: I64(2), (I64(3), I64(3)), [const vector][3, 3],
// "NCHW", Bool(1).
func irValue(text string) *Attribute {
	a := &Attribute{}
	text = strings.TrimPrefix(text, "[const vector]")
	inner := text
	if n := len(text); n > 1 && (text[0] == '(' || text[0] == '[') {
		inner, a.List = text[1:n-1], true
	}
	for _, part := range splitOperands(nil, []byte(inner)) {
		a.add(irScalar(string(part)))
	}
	return a
}

// irScalar strips the type and the quotes from a scalar.
func irScalar(text string) string {
	if open := strings.IndexByte(text, '('); open > 0 && strings.HasSuffix(text, ")") {
		text = text[open+1 : len(text)-1]
	}
	return strings.Trim(strings.TrimSpace(text), `"`)
}
