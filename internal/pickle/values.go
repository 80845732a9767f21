package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
)

// Kind is the Python type of a Sequence.
type Kind uint8

// The kinds.
const (
	List Kind = iota + 1
	Tuple
	Set
	FrozenSet
)

// String returns the name of the type.
func (k Kind) String() string {
	names := [...]string{List: "list", Tuple: "tuple", Set: "set", FrozenSet: "frozenset"}
	if int(k) < len(names) && k > 0 {
		return names[k]
	}
	return fmt.Sprintf("kind %d", k)
}

// Sequence is a list, tuple or set; the items of a set stand in the order of
// the file, each once.
type Sequence struct {
	Kind  Kind
	Items []any

	ids table
}

// Dict is a dict in the order of the file. A key that comes again replaces the
// value, as in Python.
type Dict struct {
	Items []Item

	ids table
}

// Item is an entry of a Dict.
type Item struct {
	Key, Value any
}

func (d *Dict) set(key, value any) error {
	id, err := identity(key)
	if err != nil {
		return err
	}
	if i, found := d.ids.put(id); found {
		d.Items[i].Value = value
		return nil
	}
	d.Items = append(d.Items, Item{key, value})
	return nil
}

func (s *Sequence) add(v any) error {
	id, err := identity(v)
	if err != nil {
		return err
	}
	if _, found := s.ids.put(id); !found {
		s.Items = append(s.Items, v)
	}
	return nil
}

// table finds the position of an identity. Small ones are a list: a file can
// hold millions of tiny dicts.
type table struct {
	list  []string
	index map[string]int
}

const smallTable = 8

// put returns the position of id, and whether it was there before.
func (t *table) put(id string) (pos int, found bool) {
	if t.index != nil {
		if pos, found = t.index[id]; !found {
			pos = len(t.index)
			t.index[id] = pos
		}
		return pos, found
	}
	for i, s := range t.list {
		if s == id {
			return i, true
		}
	}
	t.list = append(t.list, id)
	if n := len(t.list); n > smallTable {
		t.index = make(map[string]int, 2*n)
		for i, s := range t.list {
			t.index[s] = i
		}
		t.list = nil
	}
	return max(len(t.list), len(t.index)) - 1, false
}

// maxKey is how many bytes the identity of a key may have.
const maxKey = 1 << 16

// identity returns a text that two values share if they are the same key in
// Python: 1, 1.0 and True are.
func identity(v any) (string, error) {
	b, err := appendIdentity(nil, v)
	return string(b), err
}

func appendIdentity(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		b = append(b, 'n')
	case string:
		b = appendText(b, 's', v)
	case []byte:
		b = appendText(b, 'b', string(v))
	case bool:
		n := int64(0)
		if v {
			n = 1
		}
		b = appendInt(b, n)
	case int64:
		b = appendInt(b, v)
	case *big.Int:
		b = appendText(b, 'l', string(v.Bytes())+strconv.Itoa(v.Sign()))
	case float64:
		if n := int64(v); v >= -1<<63 && v < 1<<63 && float64(n) == v {
			return appendInt(b, n), nil
		}
		b = binary.BigEndian.AppendUint64(append(b, 'f'), math.Float64bits(v))
	case *Sequence:
		return appendTuple(b, v)
	default:
		return nil, fmt.Errorf("a %s as a key, want str, int or another plain value", typeName(v))
	}
	return limited(b)
}

func limited(b []byte) ([]byte, error) {
	if len(b) > maxKey {
		return nil, fmt.Errorf("a key of more than %d bytes", maxKey)
	}
	return b, nil
}

func appendTuple(b []byte, s *Sequence) ([]byte, error) {
	if s.Kind != Tuple {
		return nil, fmt.Errorf("a %s as a key, want str, int or another plain value", s.Kind)
	}
	b = binary.AppendUvarint(append(b, '('), uint64(len(s.Items)))
	for _, item := range s.Items {
		var err error
		if b, err = appendIdentity(b, item); err != nil {
			return nil, err
		}
	}
	return limited(b)
}

func appendInt(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(append(b, 'i'), uint64(n))
}

func appendText(b []byte, tag byte, s string) []byte {
	return append(binary.AppendUvarint(append(b, tag), uint64(len(s))), s...)
}

// maxDepth is how deep values may be nested.
const maxDepth = 100

// checker walks what a pickle made: it may share values, but not contain
// itself or leave a callable behind.
type checker struct {
	height map[any]int // of what has been walked; 0 while it is
}

// walk returns how deep v is nested. above is how many values it is in.
func (c *checker) walk(v any, above int) (int, error) {
	switch v := v.(type) {
	case *global:
		return 0, v.refuse()
	case *Sequence, *Dict:
	default:
		return 0, nil
	}
	h, seen := c.height[v]
	switch {
	case seen && h == 0:
		return 0, errors.New("a value that contains itself")
	case above+max(h, 1) > maxDepth:
		return 0, fmt.Errorf("values nested deeper than %d", maxDepth)
	case seen:
		return h, nil
	}
	c.height[v] = 0
	h, err := c.children(v, above+1)
	if err != nil {
		return 0, err
	}
	c.height[v] = h + 1
	return h + 1, nil
}

// children returns the largest depth of what is in v.
func (c *checker) children(v any, above int) (deepest int, err error) {
	visit := func(x any) bool {
		var h int
		h, err = c.walk(x, above)
		deepest = max(deepest, h)
		return err == nil
	}
	switch v := v.(type) {
	case *Sequence:
		for _, x := range v.Items {
			if !visit(x) {
				break
			}
		}
	case *Dict:
		for _, item := range v.Items {
			if !visit(item.Key) || !visit(item.Value) {
				break
			}
		}
	}
	return deepest, err
}

// typeName is the Python name of the type of v.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case []byte:
		return "bytes"
	case *Sequence:
		return v.Kind.String()
	case *Dict:
		return "dict"
	case *global:
		return "name " + v.name()
	}
	return "value"
}
