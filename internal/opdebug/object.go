package opdebug

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"dumptool/internal/jsonpos"
)

// member is a value of a JSON text with the keys that lead to it.
type member struct {
	*jsonpos.Value
	src  []byte
	path string
}

// object is a member that is an object, and which of its keys were read.
type object struct {
	member
	read map[string]bool
}

// parseRoot reads the object that a file consists of, or its member "record" of
// the extended form.
func parseRoot(data []byte) (*object, error) {
	doc := jsonpos.Parse(data)
	if !doc.Valid() { // by stricter rules: what encoding/json accepts is read
		var raw json.RawMessage
		var syntax *json.SyntaxError
		if err := json.Unmarshal(data, &raw); errors.As(err, &syntax) {
			return nil, &JSONError{Offset: syntax.Offset, Err: err}
		}
	}
	root := cmp.Or(doc.Root, &jsonpos.Value{End: len(data)})
	if record := root.Get("record"); record != nil && record.Value.Kind == jsonpos.Object {
		root = record.Value
	}
	return member{Value: root, src: data}.object()
}

// object returns the member as an object, whose keys must be different.
func (m member) object() (*object, error) {
	if m.Kind != jsonpos.Object {
		return nil, m.mismatch("an object")
	}
	o := &object{member: m, read: map[string]bool{}}
	for _, again := range m.Repeated() {
		return nil, &JSONError{Path: o.pathOf(again.Key), Offset: int64(again.Value.Start), Found: "a second value", Wanted: "one"}
	}
	return o, nil
}

func (o *object) pathOf(key string) string { return strings.TrimPrefix(o.path+"."+key, ".") }

func (o *object) has(key string) bool { return o.Get(key) != nil }

// take returns the member of this key and marks it as read.
func (o *object) take(key string) (member, error) {
	m := o.Get(key)
	if m == nil {
		return member{}, &JSONError{Path: o.path, Offset: int64(o.Start), Found: "no such key", Wanted: strconv.Quote(key)}
	}
	o.read[key] = true
	return member{m.Value, o.src, o.pathOf(key)}, nil
}

// object returns the member of this key as an object.
func (o *object) object(key string) (*object, error) {
	m, err := o.take(key)
	if err != nil {
		return nil, err
	}
	return m.object()
}

// unread returns the paths of the members that were not taken.
func (o *object) unread() []string {
	var out []string
	for i := range o.Members {
		if key := o.Members[i].Key; !o.read[key] {
			out = append(out, strconv.Quote(o.pathOf(key)))
		}
	}
	return out
}

// numbers reads the member as one number, or as an array of n if n is not 1.
func (m member) numbers(n int) ([]uint64, error) {
	if n == 1 {
		v, err := m.number(64)
		return []uint64{v}, err
	}
	if m.Kind != jsonpos.Array || len(m.Elems) != n {
		return nil, m.mismatch(fmt.Sprintf("an array of %d numbers", n))
	}
	out := make([]uint64, n)
	for i, e := range m.Elems {
		v, err := member{e, m.src, m.path}.number(64)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// number reads the member as an unsigned number of so many bits: a decimal
// number, or a string in hex.
func (m member) number(bits int) (uint64, error) {
	text, base := m.Text, 10
	if m.Kind == jsonpos.String {
		var hex bool
		if text, hex = strings.CutPrefix(text, "0x"); !hex {
			text = ""
		}
		base = 16
	}
	v, err := strconv.ParseUint(text, base, bits)
	if err != nil {
		return 0, m.mismatch(fmt.Sprintf(`a whole number of %d bits or its "0x" string`, bits))
	}
	return v, nil
}

// mismatch is the error for a member that is not what it should be.
func (m member) mismatch(wanted string) error {
	const most = 40
	raw := m.src[m.Start:m.End]
	found := strings.Join(strings.Fields(strings.ToValidUTF8(string(raw[:min(len(raw), most)]), "")), " ")
	if len(raw) > most {
		found += "..."
	}
	return &JSONError{Path: m.path, Offset: int64(m.Start), Found: found, Wanted: wanted}
}
