package dumpconf

import "dumptool/internal/jsonpos"

// What a configuration is written from: objects, arrays, strings, and raw for numbers
// and booleans. An object keeps its members in the order in which they were set.
type (
	jsonObject struct{ members []jsonMember }
	jsonMember struct {
		key   string
		value any
	}
	jsonArray []any
	jsonRaw   string
)

// set adds a member.
func (o *jsonObject) set(key string, value any) {
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

// arrayOf is an array with an element for each value.
func arrayOf[T any](values []string, element func(string) T) jsonArray {
	a := make(jsonArray, len(values))
	for i, v := range values {
		a[i] = element(v)
	}
	return a
}

// texts is an array of strings.
func texts(values []string) jsonArray {
	return arrayOf(values, func(v string) string { return v })
}

// document writes an object as a file: indented, with a newline at the end.
func document(o *jsonObject) []byte { return append(appendJSON(nil, o, "\n"), '\n') }

// appendJSON writes a value whose last line starts with line. Arrays of objects have
// lines of their own, other arrays one.
func appendJSON(b []byte, value any, line string) []byte {
	inner := line + "  "
	switch v := value.(type) {
	case string:
		b = append(b, jsonpos.Quote(v)...)
	case jsonRaw:
		b = append(b, v...)
	case jsonArray:
		before, between, after := "", ", ", ""
		if len(v) > 0 {
			if o, ok := v[0].(*jsonObject); ok && len(o.members) > 0 {
				before, between, after = inner, ","+inner, line
			}
		}
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				before = between
			}
			b = appendJSON(append(b, before...), e, inner)
		}
		b = append(append(b, after...), ']')
	case *jsonObject:
		if len(v.members) == 0 {
			return append(b, "{}"...)
		}
		before := "{" + inner
		for _, m := range v.members {
			b = append(b, before+jsonpos.Quote(m.key)+": "...)
			b = appendJSON(b, m.value, inner)
			before = "," + inner
		}
		b = append(append(b, line...), '}')
	}
	return b
}
