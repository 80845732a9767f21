package dumpconf

import (
	"bytes"
	"strings"

	"dumptool/internal/dumpconf/jsonpos"
)

// jsonNode is a value of a configuration that is written.
type jsonNode interface {
	write(b *bytes.Buffer, indent int)
}

// jsonText is a string, jsonRaw is written as it is: a number or a boolean.
type (
	jsonText   string
	jsonRaw    string
	jsonArray  []jsonNode
	jsonMember struct {
		key   string
		value jsonNode
	}
	// jsonObject keeps its members in the order in which they were set.
	jsonObject struct{ members []jsonMember }
)

// set adds a member.
func (o *jsonObject) set(key string, value jsonNode) {
	o.members = append(o.members, jsonMember{key, value})
}

// child returns the object that is the value of a key, which it adds when it
// is not there.
func (o *jsonObject) child(key string) *jsonObject {
	for _, m := range o.members {
		if c, ok := m.value.(*jsonObject); ok && m.key == key {
			return c
		}
	}
	c := &jsonObject{}
	o.set(key, c)
	return c
}

// texts is an array of strings.
func texts(values []string) jsonArray {
	a := make(jsonArray, len(values))
	for i, v := range values {
		a[i] = jsonText(v)
	}
	return a
}

// document writes an object as a file: indented, with a newline at the end.
func document(o *jsonObject) []byte {
	var b bytes.Buffer
	o.write(&b, 0)
	b.WriteByte('\n')
	return b.Bytes()
}

func (s jsonText) write(b *bytes.Buffer, _ int) { b.WriteString(jsonpos.Quote(string(s))) }
func (s jsonRaw) write(b *bytes.Buffer, _ int)  { b.WriteString(string(s)) }

func newline(b *bytes.Buffer, indent int) {
	b.WriteByte('\n')
	b.WriteString(strings.Repeat("  ", indent))
}

// write puts arrays of objects on lines of their own, other arrays on one.
func (a jsonArray) write(b *bytes.Buffer, indent int) {
	b.WriteByte('[')
	lines := false
	for i, v := range a {
		o, isObject := v.(*jsonObject)
		if i == 0 {
			lines = isObject && len(o.members) > 0
		}
		switch {
		case i > 0 && lines:
			b.WriteByte(',')
		case i > 0:
			b.WriteString(", ")
		}
		if lines {
			newline(b, indent+1)
		}
		v.write(b, indent+1)
	}
	if lines {
		newline(b, indent)
	}
	b.WriteByte(']')
}

func (o *jsonObject) write(b *bytes.Buffer, indent int) {
	b.WriteByte('{')
	for i, m := range o.members {
		if i > 0 {
			b.WriteByte(',')
		}
		newline(b, indent+1)
		b.WriteString(jsonpos.Quote(m.key) + ": ")
		m.value.write(b, indent+1)
	}
	if len(o.members) > 0 {
		newline(b, indent)
	}
	b.WriteByte('}')
}
