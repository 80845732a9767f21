package record

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"dumptool/internal/jsonpos"
)

// Most values of a row are structs, lists and pointers of plain numbers and texts: package
// json looks at each piece of their text several times.

// appender is a value that appends itself to JSON.
type appender interface{ AppendJSON(b []byte) []byte }

// appendValue appends what package json would write, without escapes for HTML.
func appendValue(b []byte, v reflect.Value) ([]byte, error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		return appendValue(b, v.Elem())
	}
	at := v
	if v.CanAddr() {
		at = v.Addr() // no copy of it
	}
	switch own := at.Interface().(type) {
	case appender:
		return own.AppendJSON(b), nil
	case json.Marshaler:
		return appendMarshalled(b, own)
	case encoding.TextMarshaler:
		text, err := own.MarshalText()
		return jsonpos.AppendText(b, string(text)), err
	}
	switch v.Kind() {
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool()), nil
	case reflect.Int, reflect.Int64, reflect.Int32:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case reflect.Float64:
		return appendFloat(b, v.Float())
	case reflect.String:
		return jsonpos.AppendText(b, v.String()), nil
	case reflect.Slice:
		return appendList(b, v)
	case reflect.Struct:
		if fields := fieldsOfType(v.Type()); fields != nil {
			return appendStruct(b, v, fields)
		}
	}
	return appendMarshalled(b, at.Interface())
}

// appendMarshalled appends what package json writes.
func appendMarshalled(b []byte, value any) ([]byte, error) {
	out := bytes.NewBuffer(b)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// appendFloat appends a number as package json does.
func appendFloat(b []byte, x float64) ([]byte, error) {
	a := math.Abs(x)
	switch {
	case !(a <= math.MaxFloat64):
		return appendMarshalled(b, x)
	case a == 0 || a >= 1e-6 && a < 1e21:
		return strconv.AppendFloat(b, x, 'f', -1, 64), nil
	}
	b = strconv.AppendFloat(b, x, 'e', -1, 64)
	if n := len(b); n >= 4 && string(b[n-4:n-1]) == "e-0" { // e-9 for e-09
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b, nil
}

func appendList(b []byte, v reflect.Value) (_ []byte, err error) {
	switch {
	case v.IsNil():
		return append(b, "null"...), nil
	case v.Type().Elem().Kind() == reflect.Uint8:
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), v.Bytes()), '"'), nil
	}
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendValue(b, v.Index(i)); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

// jsonField is a field of a struct, or of one that is embedded in it.
type jsonField struct {
	index []int
	key   string // with quotes and colon
	rule  string
}

// jsonFields has the fields of types of structs, nil for those that are left to package json.
var jsonFields sync.Map // from reflect.Type to []jsonField

func fieldsOfType(t reflect.Type) []jsonField {
	if known, ok := jsonFields.Load(t); ok {
		fields, _ := known.([]jsonField)
		return fields
	}
	fields, ok := appendFields(nil, t, nil)
	if !ok {
		fields = nil
	}
	jsonFields.Store(t, fields)
	return fields
}

// appendFields appends the fields of a struct, which stands at an index of another one.
func appendFields(fields []jsonField, t reflect.Type, at []int) (_ []jsonField, ok bool) {
	for i := range t.NumField() {
		f, index := t.Field(i), append(slices.Clip(at), i)
		name, rule, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			if fields, ok = appendFields(fields, f.Type, index); !ok {
				return nil, false
			}
			continue
		case name == "" || name == "-" || f.Anonymous || !f.IsExported() || rule != "" && rule != omitEmpty:
			return nil, false
		}
		fields = append(fields, jsonField{index, `"` + name + `":`, rule})
	}
	return fields, true
}

func appendStruct(b []byte, v reflect.Value, fields []jsonField) (_ []byte, err error) {
	b = append(b, '{')
	start := len(b)
	for i := range fields {
		f := &fields[i]
		field := v.Field(f.index[0])
		if len(f.index) > 1 {
			field = v.FieldByIndex(f.index)
		}
		if f.rule == omitEmpty && isEmpty(field) {
			continue
		}
		if len(b) > start {
			b = append(b, ',')
		}
		if b, err = appendValue(append(b, f.key...), field); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
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
