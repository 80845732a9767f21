package jsonpos

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"

	"dumptool/internal/lang"
)

// Struct reads an object into the struct that v points to, one field at a time. Tags and letter case count as in
// encoding/json; null and unknown keys are skipped. Unlike Decode, it rejects repeated keys, holds the text of only
// one field in memory, and needs embedded pointers that are not nil. A key in own, in lower case, is read by its
// function.
func (r *Reader) Struct(v any, own map[string]func() error) error {
	to := reflect.ValueOf(v).Elem()
	fields := fieldsOf(to.Type())
	seen := make(map[string]bool, len(fields))
	return r.Object(func(key string) error {
		key = strings.ToLower(key)
		read, field := own[key], fields[key]
		if read == nil && field == nil {
			return r.Skip()
		}
		if seen[key] {
			return r.WithPlace(lang.Errorf("duplicate key %q", key))
		}
		seen[key] = true
		switch {
		case r.Kind() == Null:
			return r.Skip()
		case read != nil:
			return read()
		}
		return r.Decode(to.FieldByIndex(field).Addr().Interface())
	})
}

// structFields caches the indexes of struct fields by key in lower case.
var structFields sync.Map // from reflect.Type to map[string][]int

func fieldsOf(t reflect.Type) map[string][]int {
	if known, ok := structFields.Load(t); ok {
		fields, _ := known.(map[string][]int)
		return fields
	}
	fields := map[string][]int{}
	addFields(fields, t, nil)
	structFields.Store(t, fields)
	return fields
}

// addFields adds the fields of a struct embedded at an index of another struct. Of two fields with the same key the
// field of the outer struct counts.
func addFields(fields map[string][]int, t reflect.Type, at []int) {
	for i := range t.NumField() {
		f, index := t.Field(i), append(slices.Clip(at), i)
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Anonymous && inner.Kind() == reflect.Struct {
			addFields(fields, inner, index)
		} else if key := strings.ToLower(cmp.Or(name, f.Name)); name != "-" && f.IsExported() && (fields[key] == nil || len(index) < len(fields[key])) {
			fields[key] = index
		}
	}
}
