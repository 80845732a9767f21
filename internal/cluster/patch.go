package cluster

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"dumptool/internal/lang"
)

// Patch is a part of a manifest that is merged as Kubernetes does (strategic merge): fields replace
// fields, list elements merge by key, null removes a field, "$patch: delete" removes an element or
// the contents of a map, and "$patch: replace" replaces.
type Patch struct {
	file string
	root *yaml.Node
	// name selects the job to patch; empty selects all.
	name string
}

// mergeKeys maps lists that merge element by element to their keys, from the types of Kubernetes
// and Volcano's tasks; all other lists are replaced.
var mergeKeys = map[string]string{
	"containers": "name", "initContainers": "name", "volumes": "name", "env": "name", "imagePullSecrets": "name", "tasks": "name",
	"volumeMounts": "mountPath", "volumeDevices": "devicePath", "ports": "containerPort", "hostAliases": "ip", "topologySpreadConstraints": "topologyKey",
}

// directive is the key of the action on a map or an element.
const directive = "$patch"

// patchFields lists the allowed top-level fields of a patch.
var patchFields = []string{"apiVersion", "kind", "metadata", "spec"}

// ReadPatches reads the patches in a YAML file, one per document.
func ReadPatches(file string, in io.Reader) (all []Patch, err error) {
	decoder := yaml.NewDecoder(in)
	for {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, lang.Errorf("%s: %w", file, err)
		}
		p := Patch{file: file, root: doc.Content[0]}
		if err := p.check(); err != nil {
			return nil, lang.Errorf("%s: %w", file, err)
		}
		all = append(all, p)
	}
}

// check refuses patches that are no part of a job, or cannot be merged.
func (p *Patch) check() error {
	if err := p.root.Decode(new(any)); err != nil { // finds repeated keys
		return err
	}
	if p.root.Kind != yaml.MappingNode {
		return lang.Errorf("line %d: want a part of a job, with spec: and what is below it", p.root.Line)
	}
	for key := range fields(p.root) {
		if !slices.Contains(patchFields, key.Value) {
			return lang.Errorf("line %d: %s: want a part of a job, with %s", key.Line, key.Value, strings.Join(patchFields, ", "))
		}
	}
	if _, meta := field(p.root, "metadata"); meta != nil {
		if _, name := field(meta, "name"); name != nil {
			p.name = name.Value
		}
	}
	return checkNode(p.root)
}

// checkNode refuses control characters, references and unknown directives.
func checkNode(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return lang.Errorf("line %d: patches have no anchors and aliases", n.Line)
	case n.Kind == yaml.ScalarNode:
		if err := checkControl(n.Value); err != nil {
			return lang.Errorf("line %d: %w", n.Line, err)
		}
	case n.Kind == yaml.MappingNode:
		for key, value := range fields(n) {
			known := key.Value == directive && slices.Contains([]string{"replace", "delete", "merge"}, value.Value)
			if strings.HasPrefix(key.Value, "$") && !known {
				return lang.Errorf("line %d: %s: %s is not known here; want $patch: replace, delete or merge", key.Line, key.Value, value.Value)
			}
		}
	}
	for _, c := range n.Content {
		if err := checkNode(c); err != nil {
			return err
		}
	}
	return nil
}

// patched applies the job's patches to a manifest of objects with the given names.
func (j *Job) patched(manifest string, names ...string) (string, error) {
	if len(j.Patches) == 0 {
		return manifest, nil
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	for _, p := range j.Patches {
		if p.name != "" && !slices.Contains(names, p.name) {
			return "", lang.Errorf("%s: is for the job %s, want %s, or no name for all", p.file, p.name, strings.Join(names, " or "))
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(manifest))
	for _, name := range names {
		var doc yaml.Node
		if err := decoder.Decode(&doc); err != nil {
			return "", err
		}
		for _, p := range j.Patches {
			if p.name == "" || p.name == name {
				mergeMap(doc.Content[0], p.root)
			}
		}
		if err := encoder.Encode(&doc); err != nil {
			return "", err
		}
	}
	err := encoder.Close()
	return out.String(), err
}

// fields yields the keys and values of a map.
func fields(n *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// field returns the index and value of a key in a map; nil if absent.
func field(n *yaml.Node, name string) (at int, value *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				return i, n.Content[i+1]
			}
		}
	}
	return -1, nil
}

// told returns the directive of a map or an element, empty for none.
func told(n *yaml.Node) string {
	if _, value := field(n, directive); value != nil {
		return value.Value
	}
	return ""
}

// mergeMap merges a map of a patch into to.
func mergeMap(to, patch *yaml.Node) {
	to.Style = 0
	if told(patch) == "replace" {
		to.Content = plain(patch).Content
		return
	}
	for key, value := range fields(patch) {
		at, old := field(to, key.Value)
		switch {
		case key.Value == directive:
		case value.Tag == "!!null":
			if old != nil {
				to.Content = slices.Delete(to.Content, at, at+2)
			}
		case old != nil && told(value) == "delete":
			to.Content[at+1] = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		case old == nil:
			to.Content = append(to.Content, key, added(key.Value, value))
		case old.Kind == yaml.MappingNode && value.Kind == yaml.MappingNode:
			mergeMap(old, value)
		case old.Kind == yaml.SequenceNode && value.Kind == yaml.SequenceNode && mergeKeys[key.Value] != "":
			mergeList(old, value, mergeKeys[key.Value])
		default:
			to.Content[at+1] = plain(value)
		}
	}
}

// mergeList merges a list of a patch into to, element by element.
func mergeList(to, patch *yaml.Node, key string) {
	to.Style = 0
	if slices.ContainsFunc(patch.Content, func(n *yaml.Node) bool { return told(n) == "replace" && len(n.Content) == 2 }) {
		to.Content = nil
	}
	for _, element := range patch.Content {
		_, wanted := field(element, key)
		at := slices.IndexFunc(to.Content, func(n *yaml.Node) bool {
			_, has := field(n, key)
			return has != nil && wanted != nil && has.Value == wanted.Value
		})
		switch {
		case told(element) == "delete":
			if at >= 0 {
				to.Content = slices.Delete(to.Content, at, at+1)
			}
		case told(element) != "" && len(element.Content) == 2: // a directive for the whole list
		case at >= 0:
			mergeMap(to.Content[at], element)
		default:
			to.Content = append(to.Content, plain(element))
		}
	}
}

// added returns the value of a key that is new.
func added(name string, value *yaml.Node) *yaml.Node {
	if value.Kind == yaml.SequenceNode && mergeKeys[name] != "" {
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: value.Tag}
		mergeList(list, value, mergeKeys[name])
		return list
	}
	return plain(value)
}

// plain copies a part of a patch without directives and nulls.
func plain(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	if n.Kind != yaml.MappingNode {
		for _, x := range n.Content {
			c.Content = append(c.Content, plain(x))
		}
		return &c
	}
	rest := &yaml.Node{Kind: yaml.MappingNode}
	for key, value := range fields(n) {
		if key.Value != directive {
			rest.Content = append(rest.Content, key, value)
		}
	}
	mergeMap(&c, rest)
	return &c
}
