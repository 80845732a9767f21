package record

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// Most values of a row are structs, lists and pointers of plain numbers and texts: package
// json looks at each piece of their text several times.

// appender is a value that appends itself to JSON.
type appender interface{ AppendJSON(b []byte) []byte }

// appendValue appends what package json would write, without escapes for HTML; ok is false
// for what is left to it.
func appendValue(b []byte, v reflect.Value) (text []byte, ok bool) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return append(b, "null"...), true
		}
		return appendValue(b, v.Elem())
	}
	if !v.CanAddr() {
		return b, false
	}
	switch own := v.Addr().Interface().(type) {
	case appender:
		return own.AppendJSON(b), true
	case json.Marshaler:
		return b, false
	case encoding.TextMarshaler:
		text, err := own.MarshalText()
		if err != nil {
			return b, false
		}
		return appendText(b, string(text))
	}
	switch v.Kind() {
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool()), true
	case reflect.Int, reflect.Int64, reflect.Int32:
		return strconv.AppendInt(b, v.Int(), 10), true
	case reflect.Float64:
		return appendFloat(b, v.Float())
	case reflect.String:
		return appendText(b, v.String())
	case reflect.Slice:
		return appendList(b, v)
	case reflect.Struct:
		return appendStruct(b, v)
	}
	return b, false
}

// appendFloat appends a number as package json does.
func appendFloat(b []byte, x float64) (text []byte, ok bool) {
	a := math.Abs(x)
	switch {
	case !(a <= math.MaxFloat64):
		return b, false
	case a == 0 || a >= 1e-6 && a < 1e21:
		return strconv.AppendFloat(b, x, 'f', -1, 64), true
	}
	b = strconv.AppendFloat(b, x, 'e', -1, 64)
	if n := len(b); n >= 4 && string(b[n-4:n-1]) == "e-0" { // e-9 for e-09
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b, true
}

func appendList(b []byte, v reflect.Value) (text []byte, ok bool) {
	switch {
	case v.Type().Elem().Kind() == reflect.Uint8: // in base64
		return b, false
	case v.IsNil():
		return append(b, "null"...), true
	}
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		if b, ok = appendValue(b, v.Index(i)); !ok {
			return b, false
		}
	}
	return append(b, ']'), true
}

// jsonField is a field of a struct.
type jsonField struct {
	index     int
	key       string // with quotes and colon
	omitEmpty bool
}

// jsonFields has the fields of types of structs, nil for those that are left to package json.
var jsonFields sync.Map // from reflect.Type to []jsonField

func fieldsOfType(t reflect.Type) []jsonField {
	if known, ok := jsonFields.Load(t); ok {
		fields, _ := known.([]jsonField)
		return fields
	}
	var fields []jsonField
	for i := range t.NumField() {
		f := t.Field(i)
		name, rule, _ := strings.Cut(f.Tag.Get("json"), ",")
		key, plain := appendText(nil, name)
		if !plain || name == "" || name == "-" || f.Anonymous || !f.IsExported() || rule != "" && rule != omitEmpty {
			fields = nil
			break
		}
		fields = append(fields, jsonField{i, string(key) + ":", rule == omitEmpty})
	}
	jsonFields.Store(t, fields)
	return fields
}

func appendStruct(b []byte, v reflect.Value) (text []byte, ok bool) {
	fields := fieldsOfType(v.Type())
	if fields == nil {
		return b, false
	}
	b = append(b, '{')
	first := true
	for i := range fields {
		f := &fields[i]
		field := v.Field(f.index)
		if f.omitEmpty && isEmpty(field) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		if b, ok = appendValue(append(b, f.key...), field); !ok {
			return b, false
		}
	}
	return append(b, '}'), true
}

// isEmpty reports what package json leaves out by omitempty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
