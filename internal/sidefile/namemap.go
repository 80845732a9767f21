package sidefile

import (
	"fmt"
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"

	"dumptool/internal/filename"
)

// NameMap says which operator of the NPU belongs to which of the reference,
// where the names alone do not.
type NameMap struct {
	Entries []MapEntry

	ref, npu filename.Index
}

// MapEntry is a pair of names.
type MapEntry struct {
	Ref, NPU string
	// Place is where the entry stands in the text, such as line 1, column 2.
	Place string
}

// ParseNameMap parses a dict of JSON or Python with the names of the reference
// as keys and those of the NPU as values. An empty text is an empty map. Names
// that come twice, on either side, are an error.
func ParseNameMap(text string) (*NameMap, error) {
	m := new(NameMap)
	s := &scanner{text: strings.TrimPrefix(text, "\ufeff")}
	if s.space(); s.pos == len(s.text) {
		return m, nil
	}
	err := m.parse(s)
	if err != nil {
		return nil, fmt.Errorf("name map: %w", err)
	}
	return m, nil
}

func (m *NameMap) parse(s *scanner) error {
	if !s.take('{') {
		return s.expected("{")
	}
	err := s.list('}', func() error {
		ref, refPos, err := s.str()
		if err != nil {
			return err
		}
		if !s.take(':') {
			return s.expected("a colon")
		}
		npu, npuPos, err := s.str()
		if err != nil {
			return err
		}
		return m.add(ref, npu, s.place(refPos), s.place(npuPos))
	})
	if err != nil {
		return err
	}
	return s.end()
}

// ParseDataMapping parses a mapping of YAML with the names of the NPU as keys and
// those of the reference as values, the other way round than a name map: msprobe's
// data_mapping.yaml. Names that come twice, on either side, are an error.
func ParseDataMapping(text []byte) (*NameMap, error) {
	m := new(NameMap)
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("data mapping: %w", err)
	}
	if len(doc.Content) == 0 {
		return m, nil
	}
	top := doc.Content[0]
	place := func(n *yaml.Node) string { return fmt.Sprintf("line %d, column %d", n.Line, n.Column) }
	if top.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("data mapping: %s: found no mapping, want NPU names with those of the reference behind a colon", place(top))
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		npu, ref := top.Content[i], top.Content[i+1]
		if npu.Kind != yaml.ScalarNode || ref.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("data mapping: %s: want a name, and one behind its colon", place(npu))
		}
		if err := m.add(ref.Value, npu.Value, place(ref), place(npu)); err != nil {
			return nil, fmt.Errorf("data mapping: %w", err)
		}
	}
	return m, nil
}

func (m *NameMap) add(ref, npu, refPlace, npuPlace string) error {
	switch {
	case ref == "":
		return fmt.Errorf("%s: an empty name of the reference", refPlace)
	case npu == "":
		return fmt.Errorf("%s: an empty name of the NPU", npuPlace)
	}
	i := len(m.Entries)
	if old, added := m.ref.Add(ref, i); !added {
		return fmt.Errorf("%s: the reference's %q was mapped before, at %s", refPlace, ref, m.Entries[old].Place)
	}
	if old, added := m.npu.Add(npu, i); !added {
		return fmt.Errorf("%s: the NPU's %q was mapped before, from %q at %s", npuPlace, npu, m.Entries[old].Ref, m.Entries[old].Place)
	}
	m.Entries = append(m.Entries, MapEntry{ref, npu, refPlace})
	return nil
}

// FindRef returns the entry of the reference's operator with the first of names
// that the map has, exact or as in file names; FindNPU that of the NPU's.
func (m *NameMap) FindRef(names ...string) (*MapEntry, bool) { return m.find(&m.ref, names) }

// FindNPU is FindRef for the NPU.
func (m *NameMap) FindNPU(names ...string) (*MapEntry, bool) { return m.find(&m.npu, names) }

func (m *NameMap) find(index *filename.Index, names []string) (*MapEntry, bool) {
	if i, ok := index.Find(names...); ok {
		return &m.Entries[i], true
	}
	return nil, false
}

// Missing returns a text for every name of the map that its side lacks. The
// operators of a side are given by their names, the best first.
func (m *NameMap) Missing(ref, npu iter.Seq[[]string]) []string {
	inRef, inNPU := found(&m.ref, ref), found(&m.npu, npu)
	var missing []string
	for i, e := range m.Entries {
		if !inRef[i] {
			missing = append(missing, fmt.Sprintf("%s: the reference has no %q", e.Place, e.Ref))
		}
		if !inNPU[i] {
			missing = append(missing, fmt.Sprintf("%s: the NPU has no %q", e.Place, e.NPU))
		}
	}
	return missing
}

// found returns the numbers of index that operators have.
func found(index *filename.Index, ops iter.Seq[[]string]) map[int]bool {
	all := make(map[int]bool)
	for names := range ops {
		if k, ok := index.Find(names...); ok {
			all[k] = true
		}
	}
	return all
}
