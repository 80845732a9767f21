package dumpconf

import "dumptool/internal/jsonpos"

// Configurations are made of values without places, whose members keep their order.

func jsonString(s string) *jsonpos.Value { return &jsonpos.Value{Kind: jsonpos.String, Text: s} }

// jsonWord is a number or a boolean.
func jsonWord(s string) *jsonpos.Value { return &jsonpos.Value{Kind: jsonpos.Number, Text: s} }

// jsonArray is an array with an element for each value.
func jsonArray(values []string, element func(string) *jsonpos.Value) *jsonpos.Value {
	a := &jsonpos.Value{Kind: jsonpos.Array}
	for _, v := range values {
		a.Elems = append(a.Elems, element(v))
	}
	return a
}

func jsonObject() *jsonpos.Value { return &jsonpos.Value{Kind: jsonpos.Object} }

// add adds a member to an object and returns its value.
func add(o *jsonpos.Value, key string, value *jsonpos.Value) *jsonpos.Value {
	o.Members = append(o.Members, jsonpos.Member{Key: key, Value: value})
	return value
}

// document writes a value as a file: indented, with a newline at the end.
func document(v *jsonpos.Value) []byte { return append(appendJSON(nil, v, "\n"), '\n') }

// appendJSON writes a value whose last line starts with line. Arrays of objects have
// lines of their own, other arrays one.
func appendJSON(b []byte, v *jsonpos.Value, line string) []byte {
	inner := line + "  "
	switch v.Kind {
	case jsonpos.String:
		return append(b, jsonpos.Quote(v.Text)...)
	case jsonpos.Array:
		before, between, after := "", ", ", ""
		if len(v.Elems) > 0 && len(v.Elems[0].Members) > 0 {
			before, between, after = inner, ","+inner, line
		}
		b = append(b, '[')
		for _, e := range v.Elems {
			b = appendJSON(append(b, before...), e, inner)
			before = between
		}
		return append(append(b, after...), ']')
	case jsonpos.Object:
		if len(v.Members) == 0 {
			return append(b, "{}"...)
		}
		before := "{" + inner
		for _, m := range v.Members {
			b = append(b, before+jsonpos.Quote(m.Key)+": "...)
			b = appendJSON(b, m.Value, inner)
			before = "," + inner
		}
		return append(append(b, line...), '}')
	default:
		return append(b, v.Text...)
	}
}
