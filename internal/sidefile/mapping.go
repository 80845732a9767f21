package sidefile

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"dumptool/internal/lang"
)

// CallEntry maps a function of MindSpore to a function of PyTorch, in msprobe's names:
// Functional.gather and Torch.index_select.
type CallEntry struct {
	MindSpore, PyTorch string
	// Inputs and Outputs map positions or names of values in MindSpore's call to PyTorch's call;
	// nil if they are equal. Values that are not in the map have no partner.
	Inputs, Outputs map[string]string
	Place           Position
}

// ParseMapping parses the mappings of msprobe, in YAML. The contents of a document decide its kind:
//
//   - data mapping: "NPU: reference" for names of calls or of their values, in the reverse order of a
//     name map;
//   - cell mapping: the same for names of modules and their classes, or for parts of these names, which
//     are replaced;
//   - layer mapping: classes of modules, each with "NPU: reference" for the names of modules in it;
//   - API mapping: ms_api and pt_api, functions of MindSpore and PyTorch, with the positions of their
//     values (ms_args, pt_args, ms_outputs, pt_outputs), one entry or a list.
//
// Repeated names, on either side, are an error.
func ParseMapping(text []byte) (*NameMap, error) {
	m := new(NameMap)
	in := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc yaml.Node
		err := in.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return m, nil
		}
		if err == nil && len(doc.Content) > 0 {
			err = m.addDocument(doc.Content[0])
		}
		if err != nil {
			return nil, lang.Errorf("mapping: %w", err)
		}
	}
}

func placeOf(n *yaml.Node) Position { return Position{n.Line, n.Column} }

func (m *NameMap) addDocument(top *yaml.Node) error {
	switch {
	case top.Kind == yaml.SequenceNode:
		for _, n := range top.Content {
			if err := m.addCall(n); err != nil {
				return err
			}
		}
		return nil
	case top.Kind != yaml.MappingNode:
		return lang.Errorf("%s: found no mapping, want NPU names, each followed by a colon and the reference name", placeOf(top))
	case hasKey(top, "ms_api") || hasKey(top, "pt_api"):
		return m.addCall(top)
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		npu, ref := top.Content[i], top.Content[i+1]
		err := lang.Errorf("%s: want two names with a colon between them", placeOf(npu))
		switch {
		case npu.Kind != yaml.ScalarNode:
		case ref.Kind == yaml.ScalarNode:
			err = m.addPair(npu, ref)
		case ref.Kind == yaml.MappingNode:
			err = m.addLayer(npu, ref)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func hasKey(n *yaml.Node, key string) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return true
		}
	}
	return false
}

// addPair adds an entry of a data mapping or a cell mapping. Several classes of the NPU may map to one
// class of the reference.
func (m *NameMap) addPair(npu, ref *yaml.Node) error {
	if isPartOfCell(npu.Value) {
		m.Cells = append(m.Cells, MapEntry{ref.Value, npu.Value, placeOf(ref)})
		if _, known := m.ref.Find(ref.Value); known && isClass(npu.Value) {
			return nil
		}
	}
	return m.add(ref.Value, npu.Value, placeOf(ref), placeOf(npu))
}

// callWords are words in the names of calls and of their values.
var callWords = []string{"forward", "backward", "parameters_grad"}

// isPartOfCell reports whether a name may be a module without the prefix Cell or Module, or a part
// of such a name.
func isPartOfCell(name string) bool {
	parts := strings.Split(name, ".")
	return name != "" && parts[0] != "Cell" && parts[0] != "Module" && !slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(callWords, p) })
}

// isClass reports whether the last component of a name is a class.
func isClass(name string) bool {
	r, _ := utf8.DecodeRuneInString(name[strings.LastIndexByte(name, '.')+1:])
	return unicode.IsUpper(r)
}

// addLayer adds a section of a layer mapping.
func (m *NameMap) addLayer(class, names *yaml.Node) error {
	if m.Layers == nil {
		m.Layers = make(map[string]map[string]string)
	}
	if m.Layers[class.Value] != nil {
		return lang.Errorf("%s: a second section %q", placeOf(class), class.Value)
	}
	section := make(map[string]string)
	m.Layers[class.Value] = section
	for i := 0; i+1 < len(names.Content); i += 2 {
		npu, ref := names.Content[i], names.Content[i+1]
		switch {
		case npu.Kind != yaml.ScalarNode || ref.Kind != yaml.ScalarNode || npu.Value == "" || ref.Value == "":
			return lang.Errorf("%s: want two layer names with a colon between them", placeOf(npu))
		case section[npu.Value] != "":
			return lang.Errorf("%s: %q was mapped before in %q", placeOf(npu), npu.Value, class.Value)
		}
		section[npu.Value] = ref.Value
	}
	return nil
}

// addCall adds an entry of an API mapping.
func (m *NameMap) addCall(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return lang.Errorf("%s: want an entry with ms_api and pt_api", placeOf(n))
	}
	e := CallEntry{Place: placeOf(n)}
	places := make(map[string][]string)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch name := strings.TrimSuffix(key.Value, "s"); {
		case key.Value == "ms_api" && value.Kind == yaml.ScalarNode:
			e.MindSpore = value.Value
		case key.Value == "pt_api" && value.Kind == yaml.ScalarNode:
			e.PyTorch = value.Value
		case slices.Contains([]string{"ms_arg", "pt_arg", "ms_output", "pt_output"}, name) && value.Kind == yaml.SequenceNode:
			list, err := parsePositions(value)
			if err != nil {
				return err
			}
			places[name] = list
		default:
			return lang.Errorf("%s: found %q, want ms_api, pt_api, ms_args, pt_args, ms_outputs or pt_outputs", placeOf(key), key.Value)
		}
	}
	if e.MindSpore == "" || e.PyTorch == "" {
		return lang.Errorf("%s: an entry without ms_api or pt_api", e.Place)
	}
	if slices.ContainsFunc(m.Calls, func(old CallEntry) bool { return old.MindSpore == e.MindSpore }) {
		return lang.Errorf("%s: %q was mapped before", e.Place, e.MindSpore)
	}
	var err error
	if e.Inputs, err = joinPositions(&e, "args", places["ms_arg"], places["pt_arg"]); err == nil {
		e.Outputs, err = joinPositions(&e, "outputs", places["ms_output"], places["pt_output"])
	}
	m.Calls = append(m.Calls, e)
	return err
}

// parsePositions parses a list of distinct positions.
func parsePositions(list *yaml.Node) (all []string, err error) {
	for _, n := range list.Content {
		if _, err := strconv.ParseUint(n.Value, 10, 16); err != nil || slices.Contains(all, n.Value) {
			return nil, lang.Errorf("%s: found %q, want positions of values, each once", placeOf(n), n.Value)
		}
		all = append(all, n.Value)
	}
	return all, nil
}

// joinPositions maps MindSpore's positions to PyTorch's.
func joinPositions(e *CallEntry, of string, ms, pt []string) (map[string]string, error) {
	if len(ms) != len(pt) {
		return nil, lang.Errorf("%s: %d ms_%s and %d pt_%s, want equally many", e.Place, len(ms), of, len(pt), of)
	}
	if len(ms) == 0 {
		return nil, nil
	}
	places := make(map[string]string, len(ms))
	for i := range ms {
		places[ms[i]] = pt[i]
	}
	return places, nil
}

// markCells marks entries of a cell mapping whose text occurs in the names of a side's modules.
func (m *NameMap) markCells(has map[int]bool, ops iter.Seq[[]string], text func(*MapEntry) string) {
	left := make(map[int]string)
	for i := range m.Cells {
		k, ok := m.npu.Find(m.Cells[i].NPU)
		if ok && !has[k] && m.Entries[k].Place == m.Cells[i].Place {
			left[k] = text(&m.Cells[i])
		}
	}
	if len(left) == 0 {
		return
	}
	for names := range ops {
		for k, text := range left {
			if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, text) }) {
				has[k] = true
				delete(left, k)
			}
		}
	}
}
