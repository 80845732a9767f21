package graph

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// The compiler's graph: JSON as atc writes it (--mode=1) and msaccucmp reads it, or protobuf text
// as GE writes it (ge_proto_*.txt): graph[].op[]. The reader streams the file and keeps only names,
// inputs and origins of operators, so that weights in the file cost no memory. Unknown keys are
// skipped.

// maxFusion is the largest accepted file, in bytes.
const maxFusion = 1 << 30

// maxWarnings is the number of warnings that are kept.
const maxWarnings = 100

// ReadFusion reads the compiler's graph. Errors name the place in the document.
func ReadFusion(in io.Reader) (*Graph, error) { return readFusion(in, false) }

func readFusion(in io.Reader, attributes bool) (*Graph, error) {
	buffered := bufio.NewReaderSize(in, 64<<10)
	head, _ := buffered.Peek(buffered.Size())
	g, err := new(Graph), error(nil)
	if isText(head) {
		err = readText(g, io.LimitReader(buffered, maxFusion), attributes)
	} else {
		r := &fusionReader{Reader: jsonpos.NewReader(buffered, maxFusion), graph: g, keep: attributes}
		err = r.readDocument()
	}
	if err != nil {
		return nil, lang.Errorf("fusion graph: %w", err)
	}
	return g, nil
}

type fusionReader struct {
	*jsonpos.Reader
	graph *Graph
	// number of graphs, over all "graph" keys
	sections int
	keep     bool // keep attributes of operators
}

// readMember reads an object and calls read for the wanted member.
func (r *fusionReader) readMember(wanted string, read func() error) error {
	return r.Object(func(key string) error {
		if key == wanted {
			return read()
		}
		return r.Skip()
	})
}

func (r *fusionReader) readDocument() error {
	found := false
	err := r.readMember("graph", func() error {
		found = true
		return r.Array(func(int) error { return r.readSection() })
	})
	switch {
	case err != nil:
		return err
	case !found:
		return lang.Errorf(`found no "graph" in the document, wanted an array of graphs`)
	}
	return r.End()
}

func (r *fusionReader) readSection() error {
	section := r.sections
	r.sections++
	return r.readMember("op", func() error {
		return r.Array(func(i int) error { return r.readOp(section, i) })
	})
}

func (r *fusionReader) readOp(section, index int) error {
	op := Op{Section: section}
	err := r.Object(func(key string) error {
		switch key {
		case "name":
			return r.readText(&op.Name)
		case "type":
			return r.readText(&op.Type)
		case "id":
			return r.readID(&op)
		case "input":
			op.Inputs = nil
			return r.readList(func() error { return r.readInput(&op) })
		case "output_desc":
			op.Outputs = nil
			return r.readList(func() error { return r.readOutput(&op) })
		case "attr":
			if r.keep {
				return r.readOpAttributes(&op)
			}
		}
		return r.Skip()
	})
	if err != nil {
		return err
	}
	return r.graph.addFused(op, index)
}

// addFused adds the operator at index in its section; a repeated name is a warning.
func (g *Graph) addFused(op Op, index int) error {
	if op.Name == "" {
		return lang.Errorf("graph[%d].op[%d]: found no name, wanted a text", op.Section, index)
	}
	if old, added := g.add(op); !added && len(g.Warnings) < maxWarnings {
		g.Warnings = append(g.Warnings,
			lang.Say("graph[%d].op[%d]: duplicate operator %q, the first counts (graph %d)", op.Section, index, op.Name, old.Section))
	}
	return nil
}

// readList reads an array; null is an empty array.
func (r *fusionReader) readList(element func() error) error {
	if r.Kind() == jsonpos.Null {
		return r.Skip()
	}
	return r.Array(func(int) error { return element() })
}

// readText reads a string; null is an empty string.
func (r *fusionReader) readText(s *string) error {
	v, err := r.Value()
	if err != nil {
		return err
	}
	if v.Kind != jsonpos.String && v.Kind != jsonpos.Null {
		return r.Mismatch(v, "a string")
	}
	*s = v.Text
	return nil
}

// readID reads the position in the execution order: a number, or a string with a number.
func (r *fusionReader) readID(op *Op) error {
	v, err := r.Value()
	if err != nil || v.Kind == jsonpos.Null {
		return err
	}
	op.ID, err = strconv.ParseInt(v.Text, 10, 64)
	op.HasID = err == nil
	if err != nil || v.Kind != jsonpos.Number && v.Kind != jsonpos.String {
		return r.Mismatch(v, "an integer")
	}
	return nil
}

// readInput reads an entry of the inputs.
func (r *fusionReader) readInput(op *Op) error {
	v, err := r.Value()
	if err != nil {
		return err
	}
	if v.Kind != jsonpos.String && v.Kind != jsonpos.Null || !op.addInput(v.Text) {
		return r.Mismatch(v, inputForm)
	}
	return nil
}

// inputForm describes the entries that addInput accepts.
const inputForm = "operator:output"

// addInput adds an entry operator:output. Output -1 is a control edge and left out; an empty entry is an unconnected
// input.
func (op *Op) addInput(text string) bool {
	if text == "" {
		op.Inputs = append(op.Inputs, Producer{Output: -1})
		return true
	}
	colon := strings.LastIndexByte(text, ':')
	output, err := strconv.ParseInt(text[colon+1:], 10, 32)
	if colon <= 0 || err != nil || output < -1 {
		return false
	}
	if output >= 0 {
		op.Inputs = append(op.Inputs, Producer{text[:colon], int(output)})
	}
	return true
}

// readOutput reads the description of an output; its attributes hold the origin.
func (r *fusionReader) readOutput(op *Op) error {
	op.Outputs = append(op.Outputs, Origin{})
	if r.Kind() == jsonpos.Null {
		return r.Skip()
	}
	return r.readMember("attr", func() error { return r.readAttributes(&op.Outputs[len(op.Outputs)-1]) })
}

// readAttributes reads an array of {key, value} or an object.
func (r *fusionReader) readAttributes(o *Origin) error {
	switch r.Kind() {
	case jsonpos.Null:
		return r.Skip()
	case jsonpos.Object:
		return r.Object(func(key string) error {
			v, err := r.Value()
			if err != nil {
				return err
			}
			return r.readAttribute(o, key, v)
		})
	}
	return r.Array(func(int) error {
		v, err := r.Value()
		if err != nil {
			return err
		}
		key, value := v.Get("key"), v.Get("value")
		if key == nil || value == nil {
			return nil
		}
		return r.readAttribute(o, key.Value.Text, value.Value)
	})
}

// readAttribute copies an attribute of an origin to o; other attributes are ignored.
func (r *fusionReader) readAttribute(o *Origin, key string, v *jsonpos.Value) error {
	if !isOrigin(key) {
		return nil
	}
	all, err := r.scalarValues(v)
	if err != nil {
		return err
	}
	texts := make([]string, len(all))
	for i, item := range all {
		texts[i] = item.Text
	}
	if bad, wanted := o.setAttribute(key, texts); wanted != "" {
		return r.Mismatch(all[bad], wanted)
	}
	return nil
}

// Attributes of an output that name the corresponding result of the model.
const (
	originName   = "_datadump_origin_name"
	originFormat = "_datadump_origin_format"
	originOutput = "_datadump_origin_output_index"
	originShape  = "origin_shape"
)

func isOrigin(key string) bool {
	return key == originName || key == originFormat || key == originOutput || key == originShape
}

// setAttribute copies the values of an attribute. For a wrong value it returns the index and a description of the expected
// value.
func (o *Origin) setAttribute(key string, values []string) (bad int, wanted string) {
	if key == originShape {
		o.Shape = nil
		for i, text := range values {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return i, "an integer"
			}
			o.Shape = append(o.Shape, n)
		}
		return 0, ""
	}
	switch {
	case len(values) == 0 || values[0] == "":
		return 0, ""
	case len(values) > 1:
		return 1, "one value"
	case key == originName:
		o.Op = values[0]
	case key == originFormat:
		o.Format = values[0]
	default:
		index, err := strconv.ParseUint(values[0], 10, 31)
		if err != nil {
			return 0, "the number of an output"
		}
		o.Output = int(index)
	}
	return 0, ""
}

// scalarValues returns the texts or numbers of an attribute: plain, in an array, or in GE's form {"s":
// ...}, {"i": ...}, {"list": {"s": [...]}}.
func (r *fusionReader) scalarValues(v *jsonpos.Value) ([]*jsonpos.Value, error) {
	plain := v
	if v.Kind == jsonpos.Object {
		plain = firstOf(v, "s", "i", "f", "b")
		if list := firstOf(v, "list"); plain == nil && list != nil {
			if list.Kind != jsonpos.Object {
				return nil, r.Mismatch(list, "an object")
			}
			plain = firstOf(list, "s", "i", "b")
		}
	}
	if plain == nil || plain.Kind == jsonpos.Null {
		return nil, nil
	}
	all := []*jsonpos.Value{plain}
	if plain.Kind == jsonpos.Array {
		all = plain.Elems
	}
	for _, item := range all {
		if !slices.Contains([]jsonpos.Kind{jsonpos.String, jsonpos.Number, jsonpos.Bool}, item.Kind) {
			return nil, r.Mismatch(item, "a string or a number")
		}
	}
	return all, nil
}

// firstOf returns the first present member other than null.
func firstOf(v *jsonpos.Value, keys ...string) *jsonpos.Value {
	for _, key := range keys {
		if m := v.Get(key); m != nil && m.Value.Kind != jsonpos.Null {
			return m.Value
		}
	}
	return nil
}
