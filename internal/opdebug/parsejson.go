package opdebug

import (
	"fmt"
	"strings"

	"dumptool/internal/jsonpos"
)

// ParseJSON reads a record from its JSON form: the one AppendJSON writes, the one
// MindSpore writes, which is a single line with sorted keys, or an object with
// either as its member "record". The order of keys and white space do not matter.
//
// It returns a *JSONError for what is no such form, an *AccTypeError for an
// unknown accelerator type, and a *MisreadError for the file of a new layout
// record that was read with the old layout, as MindSpore does.
func ParseJSON(data []byte) (*Record, error) {
	root, err := parseRoot(data)
	if err != nil {
		return nil, err
	}
	if root.has("magic") {
		return parseJSONEntry(root)
	}
	r, err := parseJSONAreas(root)
	if err != nil {
		return nil, err
	}
	if misread(r) {
		return nil, rescue(r)
	}
	return r, nil
}

// parseJSONAreas reads the JSON form of the old layout.
func parseJSONAreas(root *object) (*Record, error) {
	r := &Record{Generation: OldLayout}
	for i := range oldLayouts() {
		l := &layouts[i]
		o, err := root.object(l.unit.String())
		if err != nil {
			return nil, err
		}
		a, err := l.parseJSON(o)
		if err != nil {
			return nil, err
		}
		r.Areas = append(r.Areas, a)
		r.warnUnread(o)
	}
	r.warnUnread(root)
	return r, nil
}

// parseJSONEntry reads the JSON form of the new layout.
func parseJSONEntry(root *object) (*Record, error) {
	r := &Record{Generation: NewLayout}
	list, err := r.parseJSONHeader(root)
	if err != nil {
		return nil, err
	}
	unit, err := r.Header.unit()
	if err != nil {
		return nil, err
	}
	data, err := list.object("data")
	if err != nil {
		return nil, err
	}
	words := 1
	if status := data.Get("status"); status != nil && status.Value.Kind == jsonpos.Array {
		words = 4
	}
	l := findLayout(unit, words)
	a, err := l.parseJSON(data)
	if err != nil {
		return nil, err
	}
	r.Areas = []Area{a}
	r.Warnings = r.Header.warnings(l)
	for _, o := range []*object{data, list, root} {
		r.warnUnread(o)
	}
	return r, nil
}

// parseJSONHeader fills the header and returns the object acc_list.
func (r *Record) parseJSONHeader(root *object) (*object, error) {
	list, err := root.object("acc_list")
	if err != nil {
		return nil, err
	}
	o := root
	for i, f := range headerFields {
		if i == len(headerFields)-len(entryFields) {
			o = list
		}
		v, err := o.headerValue(f.name)
		if err != nil {
			return nil, err
		}
		*f.ref(&r.Header) = v
	}
	if r.Header.Magic != Magic {
		m, _ := root.take("magic")
		return nil, m.mismatch(fmt.Sprintf(`"0x%x"`, Magic))
	}
	return list, nil
}

// headerValue reads one word of the header; acc_type may be a name.
func (o *object) headerValue(name string) (uint32, error) {
	m, err := o.take(name)
	if err != nil {
		return 0, err
	}
	if name == accType {
		for u := AIC; u <= SDMA; u++ {
			if m.Kind == jsonpos.String && m.Text == u.String() {
				return uint32(u - AIC), nil
			}
		}
	}
	v, err := m.number(32)
	return uint32(v), err
}

// parseJSON reads an area's fields.
func (l *layout) parseJSON(o *object) (Area, error) {
	a := l.newArea()
	for i := range l.fields {
		f := &l.fields[i]
		name := f.name
		if f.alias != "" && !o.has(name) && o.has(f.alias) {
			name = f.alias
		}
		m, err := o.take(name)
		if err != nil {
			return Area{}, err
		}
		words, err := m.numbers(f.words)
		if err != nil {
			return Area{}, err
		}
		for j, v := range words {
			f.set(&a, j, v)
		}
	}
	return a, nil
}

// warnUnread warns of members that nothing has read.
func (r *Record) warnUnread(o *object) {
	if keys := o.unread(); len(keys) > 0 {
		r.warn("unknown keys %s", strings.Join(keys, ", "))
	}
}
