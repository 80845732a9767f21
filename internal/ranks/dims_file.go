package ranks

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"dumptool/internal/lang"
)

// ParseDims reads a file of dims: YAML with the keys mesh or ranks, layers, reference,
// tensors and replicas. Errors of its content are a *DimsError, which names the file.
func ParseDims(file string, text []byte) (*Dims, error) {
	d := &Dims{sizes: make(map[string]int)}
	err := d.parse(text)
	if wrong, ok := errors.AsType[*DimsError](err); ok {
		wrong.File = file
	}
	if err != nil {
		return nil, err
	}
	for _, r := range d.rules {
		r.file = file
		for _, a := range r.axes {
			for i := range a.cuts {
				a.cuts[i].file = file
			}
		}
	}
	return d, nil
}

// parse reads the text of a file.
func (d *Dims) parse(text []byte) error {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return yamlError(err)
	}
	if len(document.Content) == 0 { // an empty file
		return nil
	}
	root := document.Content[0]
	if err := checkNodes(root, 0); err != nil {
		return err
	}
	var tensors, copies *yaml.Node
	err := eachKey(root, map[string]func(*yaml.Node) error{
		"mesh": d.readMesh, "ranks": d.readRanks, "layers": d.readLayers, "reference": readReference,
		"tensors":  func(n *yaml.Node) error { tensors = n; return nil },
		"replicas": func(n *yaml.Node) error { copies = n; return nil },
	})
	if err == nil && d.Mesh != nil && d.places != nil {
		err = placeOf(root).wrong("found mesh and ranks, want one of them")
	}
	if err == nil && tensors != nil { // when all axes are known
		err = d.readTensors(tensors)
	}
	if err == nil && copies != nil {
		err = d.readReplicas(copies)
	}
	return err
}

// yamlLine is where the reader of YAML says the line.
var yamlLine = lang.Pattern(`^yaml: (?:line (\d+): )?(.*)`)

// yamlError is an error of the reader of YAML with its place.
func yamlError(err error) error {
	text, at := err.Error(), place{line: 1, column: 1}
	if m := yamlLine().FindStringSubmatch(strings.ReplaceAll(text, "\n", " ")); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			at.line = n
		}
		text = m[2]
	}
	return at.wrong("%s", text)
}

// maxDepth is how deep lists and keys may lie in each other.
const maxDepth = 4

// checkNodes refuses what a file of dims does not need: aliases, and a depth beyond
// maxDepth.
func checkNodes(n *yaml.Node, depth int) error {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return placeOf(n).wrong("found an anchor or alias, want none")
	case n.Kind != yaml.ScalarNode && depth > maxDepth:
		return placeOf(n).wrong("found lists or keys that lie deeper than %d in each other", maxDepth)
	}
	for _, child := range n.Content {
		if err := checkNodes(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func placeOf(n *yaml.Node) place { return place{line: n.Line, column: n.Column} }

// eachKey reads the keys of a node, each by its function.
func eachKey(n *yaml.Node, known map[string]func(*yaml.Node) error) error {
	names := slices.Sorted(maps.Keys(known))
	return eachPair(n, func(key, value *yaml.Node) error {
		read := known[key.Value]
		if read == nil {
			return placeOf(key).wrong("found the key %.40q, want one of %s", key.Value, strings.Join(names, ", "))
		}
		return read(value)
	})
}

// eachPair calls f for every key of a node, which has none twice.
func eachPair(n *yaml.Node, f func(key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return placeOf(n).wrong("found %.40q, want keys with values", n.Value)
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			return placeOf(key).wrong("found the key %.40q twice", key.Value)
		}
		seen[key.Value] = true
		if err := f(key, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// eachItem calls f for every item of a list.
func eachItem(n *yaml.Node, f func(item *yaml.Node) error) error {
	if n.Kind != yaml.SequenceNode && n.Tag != "!!null" { // a key without a value is an empty list
		return placeOf(n).wrong("found %.40q, want a list", n.Value)
	}
	for _, item := range n.Content {
		if err := f(item); err != nil {
			return err
		}
	}
	return nil
}

// number reads a whole number from least to most.
func number(n *yaml.Node, least, most int) (int, error) {
	v, err := strconv.Atoi(n.Value)
	if err != nil || n.Kind != yaml.ScalarNode || v < least || v > most {
		return 0, placeOf(n).wrong("found %.40q, want a number from %d to %d", n.Value, least, most)
	}
	return v, nil
}

// word reads a text.
func word(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", placeOf(n).wrong("found a list or keys, want a text")
	}
	return n.Value, nil
}

// maxRank is the largest number that a rank may have, and how many places an axis.
const maxRank = 1 << 20

// readMesh reads sizes of axes and their order.
func (d *Dims) readMesh(n *yaml.Node) error {
	order := defaultOrder
	err := eachPair(n, func(key, value *yaml.Node) (err error) {
		switch {
		case key.Value == "order":
			text, err := word(value)
			order = strings.Split(text, "-")
			return err
		case !slices.Contains(defaultOrder, key.Value):
			return placeOf(key).wrong("found the axis %.40q, want one of %s, or order", key.Value, strings.Join(defaultOrder, ", "))
		}
		d.sizes[key.Value], err = number(value, 1, maxRank)
		return err
	})
	if err != nil {
		return err
	}
	if d.Mesh, err = newMesh(order, d.sizes); err != nil {
		return placeOf(n).wrong("%v", err)
	}
	return nil
}

// readRanks reads the places of single ranks along axes of any names.
func (d *Dims) readRanks(n *yaml.Node) error {
	d.places = make(map[int]map[string]int)
	return eachPair(n, func(key, value *yaml.Node) error {
		rank, err := number(key, 0, maxRank)
		if err != nil {
			return err
		}
		d.places[rank] = make(map[string]int)
		return eachPair(value, func(key, value *yaml.Node) error {
			if !isAxisName(key.Value) {
				return placeOf(key).wrong("found the axis %.40q, want letters, digits and _", key.Value)
			}
			at, err := number(value, 0, maxRank)
			d.places[rank][key.Value] = at
			d.sizes[key.Value] = max(d.sizes[key.Value], at+1)
			return err
		})
	})
}

// readLayers reads the numbers that the layers of stages have in the reference: of each stage
// that of the first, or a list with that of each.
func (d *Dims) readLayers(n *yaml.Node) error {
	d.stages = &dimsRule{place: placeOf(n)}
	const most = 1 << 20
	stage := func(item *yaml.Node) error {
		if item.Kind == yaml.ScalarNode {
			first, err := number(item, 0, most)
			d.layers = append(d.layers, []int{first})
			return err
		}
		d.listed = true
		var all []int
		err := eachItem(item, func(x *yaml.Node) error {
			layer, err := number(x, 0, most)
			all = append(all, layer)
			return err
		})
		d.layers = append(d.layers, all)
		return err
	}
	err := eachKey(n, map[string]func(*yaml.Node) error{"offset": func(n *yaml.Node) error {
		return eachKey(n, map[string]func(*yaml.Node) error{"pp": func(n *yaml.Node) error { return eachItem(n, stage) }})
	}})
	if err == nil && d.listed && slices.ContainsFunc(n.Content[1].Content[1].Content, func(x *yaml.Node) bool { return x.Kind == yaml.ScalarNode }) {
		err = d.stages.wrong("found numbers and lists, want a number or a list for every stage")
	}
	return err
}

// readReference reads the mesh of the reference, which is that of one rank.
func readReference(n *yaml.Node) error {
	return eachPair(n, func(key, value *yaml.Node) error {
		size, err := number(value, 1, maxRank)
		if err == nil && size > 1 {
			return placeOf(value).wrong("found %s=%d, want 1: the reference is of one rank", key.Value, size)
		}
		return err
	})
}

// maxRules is how many rules a file may have.
const maxRules = 10000

// readTensors reads the rules.
func (d *Dims) readTensors(n *yaml.Node) error {
	at := make(map[string]int)
	return eachItem(n, func(item *yaml.Node) error {
		if len(d.rules) == maxRules {
			return placeOf(item).wrong("found more than %d rules", maxRules)
		}
		r := &dimsRule{place: placeOf(item)}
		var text *yaml.Node
		err := eachKey(item, map[string]func(*yaml.Node) error{
			"match": func(n *yaml.Node) (err error) { r.match, err = readPattern(n); return err },
			"dims":  func(n *yaml.Node) (err error) { text = n; r.text, err = word(n); return err },
		})
		switch {
		case err != nil:
			return err
		case r.match == nil || text == nil:
			return r.wrong("found a rule without match or dims, want both")
		case at[r.match.String()] > 0:
			return r.wrong("found a second rule for %.60q, the first is in line %d", r.match.String(), at[r.match.String()])
		}
		at[r.match.String()] = r.line
		d.rules = append(d.rules, r)
		begin := placeOf(text)
		if text.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			begin.column++
		}
		return d.parseRule(r, begin)
	})
}

// readPattern reads a pattern of RE2.
func readPattern(n *yaml.Node) (*regexp.Regexp, error) {
	text, err := word(n)
	if err != nil {
		return nil, err
	}
	const most = 1000
	re, err := regexp.Compile(text)
	switch {
	case err != nil:
		return nil, placeOf(n).wrong("%v", err)
	case text == "" || len(text) > most:
		return nil, placeOf(n).wrong("found a pattern of %d bytes, want 1 to %d", len(text), most)
	}
	return re, nil
}

// readReplicas reads which tensors are equal along which axes.
func (d *Dims) readReplicas(n *yaml.Node) error {
	return eachItem(n, func(item *yaml.Node) error {
		c := &dimsCopies{place: placeOf(item)}
		err := eachKey(item, map[string]func(*yaml.Node) error{
			"match": func(n *yaml.Node) (err error) { c.match, err = readPattern(n); return err },
			"over": func(n *yaml.Node) error {
				return eachItem(n, func(x *yaml.Node) error {
					axis, err := word(x)
					if err != nil {
						return err
					}
					c.over = append(c.over, axis)
					return d.known(axis, placeOf(x))
				})
			},
		})
		if err == nil && (c.match == nil || c.over == nil) {
			return c.wrong("found replicas without match or over, want both")
		}
		d.copied = append(d.copied, c)
		return err
	})
}
