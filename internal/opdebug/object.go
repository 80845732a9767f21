package opdebug

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// object is a JSON object whose members keep their order and their place.
type object struct {
	path    string
	offset  int64
	members []*member
	index   map[string]*member
}

// member is one member of an object.
type member struct {
	key    string
	path   string
	offset int64 // of the value, in the file
	raw    []byte
	read   bool
}

// parseRoot reads the object that a file consists of.
func parseRoot(data []byte) (*object, error) {
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, &JSONError{Offset: syntax.Offset, Err: err}
		}
		return nil, &JSONError{Err: err}
	}
	return (&member{raw: data}).object()
}

// object reads the member as an object. The value is valid JSON.
func (m *member) object() (*object, error) {
	d := json.NewDecoder(bytes.NewReader(m.raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, m.mismatch("an object")
	}
	o := &object{path: m.path, offset: m.offset, index: map[string]*member{}}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, &JSONError{Path: m.path, Offset: m.offset, Err: err}
		}
		rest := m.raw[d.InputOffset():]
		skip := len(rest) - len(bytes.TrimLeft(rest, " \t\r\n:"))
		c := &member{key: fmt.Sprint(t), offset: m.offset + d.InputOffset() + int64(skip)}
		c.path = strings.TrimPrefix(m.path+"."+c.key, ".")
		if err := d.Decode((*json.RawMessage)(&c.raw)); err != nil {
			return nil, &JSONError{Path: c.path, Offset: c.offset, Err: err}
		}
		if o.has(c.key) {
			return nil, &JSONError{Path: c.path, Offset: c.offset, Found: "a second value", Wanted: "one"}
		}
		o.members = append(o.members, c)
		o.index[c.key] = c
	}
	return o, nil
}

func (o *object) has(key string) bool { return o.index[key] != nil }

// isArray reports whether the member of this key is an array.
func (o *object) isArray(key string) bool {
	m := o.index[key]
	return m != nil && bytes.HasPrefix(m.raw, []byte("["))
}

// take returns the member of this key and marks it as read.
func (o *object) take(key string) (*member, error) {
	m := o.index[key]
	if m == nil {
		return nil, &JSONError{Path: o.path, Offset: o.offset, Found: "no such key", Wanted: strconv.Quote(key)}
	}
	m.read = true
	return m, nil
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
	for _, m := range o.members {
		if !m.read {
			out = append(out, strconv.Quote(m.path))
		}
	}
	return out
}

// numbers reads the member as one number, or as an array of n if n is not 1.
func (m *member) numbers(n int) ([]uint64, error) {
	if n == 1 {
		v, err := m.number(64)
		return []uint64{v}, err
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(m.raw, &raws); err != nil || len(raws) != n {
		return nil, m.mismatch(fmt.Sprintf("an array of %d numbers", n))
	}
	out := make([]uint64, n)
	for i, raw := range raws {
		v, err := (&member{path: m.path, offset: m.offset, raw: raw}).number(64)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// number reads the member as an unsigned number of so many bits: a decimal
// number, or a string in hex.
func (m *member) number(bits int) (uint64, error) {
	text, base := string(m.raw), 10
	if hex, ok := strings.CutPrefix(text, `"0x`); ok {
		text, base = strings.TrimSuffix(hex, `"`), 16
	}
	v, err := strconv.ParseUint(text, base, bits)
	if err != nil {
		return 0, m.mismatch(fmt.Sprintf(`a whole number of %d bits or its "0x" string`, bits))
	}
	return v, nil
}

// mismatch is the error for a member that is not what it should be.
func (m *member) mismatch(wanted string) error {
	const most = 40
	found := strings.Join(strings.Fields(strings.ToValidUTF8(string(m.raw[:min(len(m.raw), most)]), "")), " ")
	if len(m.raw) > most {
		found += "..."
	}
	return &JSONError{Path: m.path, Offset: m.offset, Found: found, Wanted: wanted}
}
