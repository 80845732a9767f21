package dumpconf

import (
	"fmt"
	"strconv"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// decoder reads a document into settings and notes what does not fit.
type decoder struct {
	target   Version // keys that are newer are passed over; zero for none
	mistyped []mistyped
	unknown  []unknownKey
	enums    []enumerated
	used     []used
}

// mistyped is a value of the wrong type.
type mistyped struct {
	key  *Key
	at   span
	node *jsonpos.Value
	want KeyType
}

// unknownKey is a key that its object does not have.
type unknownKey struct {
	in     Object
	member *jsonpos.Member
}

// enumerated is a string of a key whose values are known.
type enumerated struct {
	key *Key
	Setting[string]
}

// used is a known key that is there.
type used struct {
	key *Key
	at  span
}

// top is the top level of a document. Of what is no object nothing is read.
func (d *decoder) top(root *jsonpos.Value, table *keyTable) Object {
	if root == nil || root.Kind != jsonpos.Object {
		return Object{table: table}
	}
	o := Object{Node: root, table: table}
	d.keys(o)
	return o
}

// object reads the value of a key as an object.
func (d *decoder) object(in Object, name string, table *keyTable) Object {
	out := Object{Path: jsonpos.JoinPath(in.Path, name), table: table}
	switch s, k := known[struct{}](d, in, name); {
	case !s.Present():
	case s.Node.Kind != jsonpos.Object:
		d.wrong(k, s.valueSpan(), s.Node, TypeObject)
	default:
		out.Key, out.Node = s.Key, s.Node
		d.keys(out)
	}
	return out
}

// keys notes which keys of an object are known and which are not.
func (d *decoder) keys(o Object) {
	for i := range o.Node.Members {
		m := &o.Node.Members[i]
		if k := o.table.find(m.Key); k != nil {
			d.used = append(d.used, used{k, span{jsonpos.JoinPath(o.Path, m.Key), m.KeyStart, m.KeyEnd}})
		} else {
			d.unknown = append(d.unknown, unknownKey{o, m})
		}
	}
}

// wrong notes a value of the wrong type and returns what is surely meant, if
// anything is. A value that is missing altogether has been reported as such.
func (d *decoder) wrong(k *Key, at span, node *jsonpos.Value, want KeyType) (meant string, ok bool) {
	if node.Kind == jsonpos.Invalid {
		return "", false
	}
	m := mistyped{k, at, node, want}
	d.mistyped = append(d.mistyped, m)
	meant = strings.Trim(m.repaired(), `"`)
	return meant, meant != ""
}

// lookup finds a key without reading its value.
func lookup[T any](o Object, name string) Setting[T] {
	s := Setting[T]{Path: jsonpos.JoinPath(o.Path, name)}
	if m := o.Node.Get(name); m != nil {
		s.Key, s.Node = m, m.Value
	}
	return s
}

// known finds a key that the target version knows.
func known[T any](d *decoder, o Object, name string) (Setting[T], *Key) {
	s, k := lookup[T](o, name), o.table.find(name)
	if k.newerThan(d.target) {
		return Setting[T]{Path: s.Path}, k
	}
	return s, k
}

func (d *decoder) str(o Object, name string) Setting[string] {
	s, k := known[string](d, o, name)
	if s.Present() {
		d.asString(&s, k)
	}
	return s
}

// asString reads a string. What is surely meant counts as the value, so that
// other rules see the configuration as it will be.
func (d *decoder) asString(s *Setting[string], k *Key) {
	if s.Node.Kind != jsonpos.String {
		s.Value, s.OK = d.wrong(k, s.valueSpan(), s.Node, TypeString)
		return
	}
	s.Value, s.OK = s.Node.Text, true
	if k.Values == nil {
		return
	}
	d.enums = append(d.enums, enumerated{k, *s})
	if best := lang.Nearest(s.Value, k.Values); best != "" && lang.SameButForm(best, s.Value) {
		s.Value = best
	}
}

func (d *decoder) uint(o Object, name string) Setting[uint64] {
	s, k := known[uint64](d, o, name)
	if s.Present() {
		d.asUint(&s, k)
	}
	return s
}

func (d *decoder) asUint(s *Setting[uint64], k *Key) {
	var err error
	if s.Node.Kind == jsonpos.Number {
		s.Value, err = strconv.ParseUint(s.Node.Text, 10, 64)
	}
	if s.OK = s.Node.Kind == jsonpos.Number && err == nil; s.OK {
		return
	}
	if meant, ok := d.wrong(k, s.valueSpan(), s.Node, TypeUint); ok {
		s.Value, err = strconv.ParseUint(meant, 10, 64)
		s.OK = err == nil
	}
}

func (d *decoder) boolean(o Object, name string) Setting[bool] {
	s, k := known[bool](d, o, name)
	switch {
	case !s.Present():
	case s.Node.Kind != jsonpos.Bool:
		meant, ok := d.wrong(k, s.valueSpan(), s.Node, TypeBool)
		s.Value, s.OK = meant == "true", ok
	default:
		s.Value, s.OK = s.Node.IsTrue(), true
	}
	return s
}

// array reads the value of a key as an array. The function reads an element;
// it is called for each.
func array[T any](d *decoder, o Object, name string, read func(k *Key, path string, node *jsonpos.Value) T) Setting[[]T] {
	s, k := known[[]T](d, o, name)
	switch {
	case !s.Present():
	case s.Node.Kind != jsonpos.Array:
		d.wrong(k, s.valueSpan(), s.Node, k.Type)
	default:
		s.OK = true
		s.Value = make([]T, 0, len(s.Node.Elems))
		for i, node := range s.Node.Elems {
			s.Value = append(s.Value, read(k, fmt.Sprintf("%s[%d]", s.Path, i), node))
		}
	}
	return s
}

func (d *decoder) strings(o Object, name string) Setting[[]Setting[string]] {
	return array(d, o, name, func(k *Key, path string, node *jsonpos.Value) Setting[string] {
		s := Setting[string]{Path: path, Node: node}
		d.asString(&s, k)
		return s
	})
}

func (d *decoder) uints(o Object, name string) Setting[[]Setting[uint64]] {
	return array(d, o, name, func(k *Key, path string, node *jsonpos.Value) Setting[uint64] {
		s := Setting[uint64]{Path: path, Node: node}
		d.asUint(&s, k)
		return s
	})
}

// objects reads an array of objects; elements that are none are left out.
func objects[T any](d *decoder, o Object, name string, table *keyTable, read func(Object) T) Setting[[]T] {
	all := array(d, o, name, func(k *Key, path string, node *jsonpos.Value) *T {
		if node.Kind != jsonpos.Object {
			d.wrong(k, span{path, node.Start, node.End}, node, TypeObject)
			return nil
		}
		in := Object{Path: path, Node: node, table: table}
		d.keys(in)
		v := read(in)
		return &v
	})
	s := Setting[[]T]{Path: all.Path, Key: all.Key, Node: all.Node, OK: all.OK}
	for _, v := range all.Value {
		if v != nil {
			s.Value = append(s.Value, *v)
		}
	}
	return s
}
