package pickle

import (
	"fmt"
	"math/big"

	"dumptool/internal/lang"
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

// Sequence is a list, tuple or set; items are in file order. A set has each item once.
type Sequence struct {
	Kind  Kind
	Items []any

	positions positions // positions of the items of a set
}

// Dict is a dict in file order.
type Dict struct {
	Items []Item

	positions positions
}

// Item is an entry of a Dict.
type Item struct {
	Key, Value any
}

// positions maps the identities of keys to indexes in Items.
type positions map[any]int

// positionOf returns the position of a key; a new key gets the position next.
func (p *positions) positionOf(m *machine, key any, next int) (at int, found bool) {
	id, err := keyIdentity(key, 0)
	if err != nil {
		m.failWith(err)
		return 0, false
	}
	switch id := id.(type) { // types that identity allocates
	case bytesKey:
		m.chargeMemory(len(id))
	case longKey:
		m.chargeMemory(len(id))
	case tupleKey:
		m.chargeMemory(len(id))
	}
	if m.err != nil {
		return 0, false
	}
	if at, found = (*p)[id]; !found {
		m.chargeMemory(keyMemory)
		if *p == nil {
			m.chargeMemory(2 * keyMemory)
			*p = make(positions)
		}
		(*p)[id] = next
		at = next
	}
	return at, found
}

// maxKey is the largest key, in bytes.
const maxKey = 1 << 16

// Identities of keys that Go compares differently than Python.
type (
	bytesKey string
	longKey  string
	tupleKey string
	nameKey  string
	nanKey   struct{}
)

// keyIdentity returns a value that is equal for equal keys in Python, such as 1, 1.0 and True. above
// is the number of tuples around it.
func keyIdentity(v any, above int) (any, error) {
	switch v := v.(type) {
	case nil, int64:
		return v, nil
	case string:
		return v, keyLimit(len(v))
	case []byte:
		return bytesKey(v), keyLimit(len(v))
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case *big.Int:
		return longKey(v.String()), nil
	case float64:
		switch n := int64(v); {
		case v != v:
			return nanKey{}, nil
		case v >= -1<<63 && v < 1<<63 && float64(n) == v:
			return n, nil
		}
		return v, nil
	case *Sequence:
		if v.Kind == Tuple {
			return tupleIdentity(v, above+1)
		}
	case *Name:
		if v.isValue {
			return nameKey(v.String()), nil
		}
	}
	return nil, lang.Errorf("found a %s as a key, wanted str, int or another plain value", TypeName(v))
}

// tupleIdentity returns a text of the items' identities with their types.
func tupleIdentity(s *Sequence, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	var b []byte
	for _, item := range s.Items {
		id, err := keyIdentity(item, depth)
		if err != nil {
			return nil, err
		}
		if b = fmt.Appendf(b, "%T%#v,", id, id); len(b) > maxKey {
			return nil, keyLimit(len(b))
		}
	}
	return tupleKey(b), nil
}

func keyLimit(size int) error {
	if size > maxKey {
		return lang.Errorf("found a key of more than %d bytes, wanted a shorter one", maxKey)
	}
	return nil
}

// maxDepth is the deepest nesting of values.
const maxDepth = 100

var errTooDeep = lang.Errorf("found values nested deeper than %d", maxDepth)

// checker checks a value: it may share values, but not contain itself or a callable.
type checker struct {
	height map[any]int // by visited value; 0 while visiting
}

// depth returns the depth of v. above is the number of values around v.
func (c *checker) depth(v any, above int) (int, error) {
	switch v := v.(type) {
	case *Name:
		if !v.isValue {
			return 0, v.refusal()
		}
		return 0, nil
	case *Sequence, *Dict:
	default:
		return 0, nil
	}
	h, seen := c.height[v]
	switch {
	case seen && h == 0:
		return 0, lang.Errorf("found a value that contains itself")
	case above+max(h, 1) > maxDepth:
		return 0, errTooDeep
	case seen:
		return h, nil
	}
	c.height[v] = 0
	h, err := c.maxChildDepth(v, above+1)
	if err != nil {
		return 0, err
	}
	c.height[v] = h + 1
	return h + 1, nil
}

// maxChildDepth returns the largest depth of v's children.
func (c *checker) maxChildDepth(v any, above int) (deepest int, err error) {
	visit := func(x any) bool {
		var h int
		h, err = c.depth(x, above)
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

// TypeName returns the Python name of the type of v.
func TypeName(v any) string {
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
	case *Name:
		return "name " + v.String()
	}
	return "value"
}
