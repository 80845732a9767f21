package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"dumptool/internal/jsonpos"
)

// object is an object of compare.json: its keys in their order, each with where its value
// is. One list says what is written and what is read. Struct tags cannot: the document has
// facts, verdicts and what follows from both between each other.
type object []member

// member is a key and a pointer to its value, or the object that is its value. A nil list
// is written as an empty one; a key with ",omitempty" behind it is left out where its value
// is zero or an empty list.
type member struct {
	key string
	at  any
}

// streamed is a value that reads itself piece by piece.
type streamed interface {
	read(in *jsonpos.Reader) error
}

const omitEmpty = ",omitempty"

// name is the key in the document.
func (m *member) name() string { return strings.TrimSuffix(m.key, omitEmpty) }

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	err := o.encode(&b)
	return b.Bytes(), err
}

// encode writes the object, into a buffer that has nothing else.
func (o object) encode(b *bytes.Buffer) error {
	b.Reset()
	out := json.NewEncoder(b)
	out.SetEscapeHTML(false) // the encoder around this one may want it
	b.WriteByte('{')
	for i := range o {
		m := &o[i]
		value := reflect.Indirect(reflect.ValueOf(m.at))
		list := value.Kind() == reflect.Slice
		empty := value.IsZero() || (list || value.Kind() == reflect.Map) && value.Len() == 0
		if z, ok := m.at.(interface{ IsZero() bool }); ok {
			empty = z.IsZero()
		}
		if empty && strings.HasSuffix(m.key, omitEmpty) {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + m.name() + `":`)
		if empty && list {
			b.WriteString("[]")
			continue
		}
		if err := out.Encode(m.at); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // the end of the line
	}
	b.WriteByte('}')
	return nil
}

// read implements streamed. Keys that are not known are passed over, and so is null.
func (o object) read(in *jsonpos.Reader) error {
	seen, last := make([]bool, len(o)), 0
	return in.Object(func(key string) error {
		i := o.index(strings.ToLower(key), last)
		if i < 0 {
			return in.Skip()
		}
		if seen[i] {
			return fmt.Errorf("key %q stands twice", o[i].name())
		}
		seen[i], last = true, i
		if in.Kind() == jsonpos.Null {
			return in.Skip()
		}
		if value, ok := o[i].at.(streamed); ok {
			return value.read(in)
		}
		return in.Decode(o[i].at)
	})
}

// index is the place of a key, -1 for none. The search begins at some place: keys mostly
// come in their order.
func (o object) index(key string, from int) int {
	for k := range o {
		if i := (from + k) % len(o); o[i].name() == key {
			return i
		}
	}
	return -1
}

// marshal is a value in JSON, without escapes for HTML.
func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return jsonpos.Visible(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), err
}
