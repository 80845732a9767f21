package dumpconf

import (
	"fmt"
	"strconv"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// span is a range of the text with its JSON path.
type span struct {
	path       string
	start, end int
}

// Setting is a key, or an element of an array, with its value in a configuration.
type Setting struct {
	Path   string          // like dump.dump_list[0].layer; empty if absent
	Member *jsonpos.Member // nil if absent, and for elements
	Node   *jsonpos.Value  // nil if absent
	OK     bool            // the value has the right type

	// The value; zero for a wrong type.
	Value   string    // strings, numbers and booleans
	Uint    uint64    // numbers
	Elems   []Setting // arrays of strings and numbers
	Objects []*Object // the object, or the array's objects

	key *Key
}

// Present reports whether the key is present, with any value.
func (s Setting) Present() bool { return s.Node != nil }

func (s Setting) isTrue() bool { return s.Value == "true" }

// isEmpty reports whether the value is an empty string or array.
func (s Setting) isEmpty() bool { return s.OK && s.Node.Text == "" && len(s.Node.Elems) == 0 }

// isFilled reports whether the value is an array with elements.
func (s Setting) isFilled() bool { return s.OK && len(s.Node.Elems) > 0 }

// isAbsentOrEmpty reports whether the key is absent or empty.
func (s Setting) isAbsentOrEmpty() bool { return !s.Present() || s.isEmpty() }

// isWrongType reports whether the value has the wrong type.
func (s Setting) isWrongType() bool { return s.Present() && !s.OK }

// orDefault returns the value, or the runtime's default.
func (s Setting) orDefault() string {
	if s.Value != "" {
		return s.Value
	}
	return s.key.Default
}

// keySpan returns the place of the key, or of the element.
func (s Setting) keySpan() span {
	if s.Member == nil {
		return s.valueSpan()
	}
	return span{s.Path, s.Member.KeyStart, s.Member.KeyEnd}
}

// valueSpan returns the place of the value.
func (s Setting) valueSpan() span {
	if s.Node == nil {
		return span{}
	}
	return span{s.Path, s.Node.Start, s.Node.End}
}

// spanIn returns the place of the value, or of its object if the value is missing.
func (s Setting) spanIn(o *Object) span {
	if s.Present() {
		return s.valueSpan()
	}
	return o.keySpan()
}

// valuesOf returns the values of the settings with the right type.
func valuesOf(settings []Setting) []string {
	var out []string
	for _, s := range settings {
		if s.OK {
			out = append(out, s.Value)
		}
	}
	return out
}

// Object is an object of a configuration.
type Object struct {
	Path   string
	Member *jsonpos.Member // nil for the top level and for elements
	Node   *jsonpos.Value  // nil if absent or no object

	table    *keyTable
	settings []Setting // present keys, in table order
}

// setting returns the setting of a key.
func (o *Object) setting(name string) Setting {
	for _, s := range o.settings {
		if s.key.Name == name {
			return s
		}
	}
	k := o.table.find(name)
	if k == nil {
		panic("no key " + name + " in " + o.table.description.String())
	}
	return Setting{key: k}
}

// child returns the object that is the value of a key.
func (o *Object) child(name string) *Object {
	if s := o.setting(name); len(s.Objects) > 0 {
		return s.Objects[0]
	}
	return &Object{Path: jsonpos.JoinPath(o.Path, name), table: o.table.find(name).members}
}

// Present reports whether the object is present.
func (o *Object) Present() bool { return o.Node != nil }

// isFilled reports whether the object has members.
func (o *Object) isFilled() bool { return o.Present() && len(o.Node.Members) > 0 }

// presentSettings returns the present settings of the given keys.
func (o *Object) presentSettings(names ...string) []Setting {
	var out []Setting
	for _, name := range names {
		if s := o.setting(name); s.Present() {
			out = append(out, s)
		}
	}
	return out
}

// keySpan returns the place for findings about missing members: the key, or the opening bracket.
func (o *Object) keySpan() span {
	switch {
	case o.Member != nil:
		return span{o.Path, o.Member.KeyStart, o.Member.KeyEnd}
	case o.Node != nil:
		return span{o.Path, o.Node.Start, min(o.Node.Start+1, o.Node.End)}
	default:
		return span{path: o.Path}
	}
}

// insertion returns the edit that adds a first member, formatted like the next member. It returns
// nil for empty objects.
func (o *Object) insertion(src []byte, name, value string) []jsonpos.Edit {
	if !o.isFilled() || o.Node.Get(name) != nil {
		return nil
	}
	first := o.Node.Members[0].KeyStart
	gap := string(src[min(o.Node.Start+1, first):first])
	if gap == "" || strings.Trim(gap, " \t\r\n") != "" {
		gap = " "
	}
	text := jsonpos.Quote(name) + ": " + jsonpos.Quote(value) + "," + gap
	return []jsonpos.Edit{{Offset: first, Text: text}}
}

// decoder reads a document into settings and collects the misfits.
type decoder struct {
	target     Version // newer keys and values are skipped; zero for none
	typeErrors []typeError
	unknown    []unknownKey
	enums      []Setting // strings of keys with known values
	used       []Setting // known keys, without their values
}

// typeError is a value of the wrong type.
type typeError struct {
	Setting
	wantType KeyType
}

// unknownKey is a key that the table of its object lacks.
type unknownKey struct {
	object *Object
	member *jsonpos.Member
}

// span returns the place of the key.
func (u unknownKey) span() span {
	return span{jsonpos.JoinPath(u.object.Path, u.member.Key), u.member.KeyStart, u.member.KeyEnd}
}

// readDocument reads a document; anything but an object is empty.
func (d *decoder) readDocument(root *jsonpos.Value, table *keyTable) *Object {
	if root == nil || root.Kind != jsonpos.Object {
		return &Object{table: table}
	}
	return d.readObject(Setting{Node: root}, table)
}

// readObject reads the object of a setting.
func (d *decoder) readObject(at Setting, table *keyTable) *Object {
	o := &Object{Path: at.Path, Member: at.Member, Node: at.Node, table: table}
	for i := range o.Node.Members {
		m := &o.Node.Members[i]
		if k := table.find(m.Key); k != nil {
			d.used = append(d.used, Setting{Path: jsonpos.JoinPath(o.Path, m.Key), Member: m, Node: m.Value, key: k})
		} else {
			d.unknown = append(d.unknown, unknownKey{o, m})
		}
	}
	for i := range table.keys {
		k := &table.keys[i]
		m := o.Node.Get(k.Name)
		if m == nil || k.isNewerThan(d.target) || table.nulls && k.Type == TypeString && m.Value.Kind == jsonpos.Null {
			continue
		}
		s := Setting{Path: jsonpos.JoinPath(o.Path, k.Name), Member: m, Node: m.Value, key: k}
		d.readValue(&s, k.Type)
		if since, hasSince := k.since[s.Value]; !hasSince || !d.target.lacks(since) {
			o.settings = append(o.settings, s)
		}
	}
	return o
}

// readValue reads a value of a type.
func (d *decoder) readValue(s *Setting, want KeyType) {
	if want == TypeAny {
		return
	}
	s.Value, s.OK = s.Node.Text, s.Node.Kind == keyTypes[want].kind
	if want == TypeUint && s.OK {
		_, err := strconv.ParseUint(s.Value, 10, 64)
		s.OK = err == nil
	}
	if !s.OK {
		d.noteWrongType(s, want)
	} else if want == TypeString && s.key.Values != nil && !s.key.hasOwnRule {
		d.enums = append(d.enums, *s)
		if best := lang.Nearest(s.Value, s.key.Values); best != "" && lang.DiffersOnlyInForm(best, s.Value) {
			s.Value = best
		}
	}
	switch {
	case !s.OK:
	case want == TypeUint:
		s.Uint, _ = strconv.ParseUint(s.Value, 10, 64)
	case want == TypeObject:
		s.Objects = []*Object{d.readObject(*s, s.key.members)}
	case keyTypes[want].kind == jsonpos.Array:
		d.readElements(s, keyTypes[want].element)
	}
}

// readElements reads the elements of an array; elements of the wrong type are dropped from Objects.
func (d *decoder) readElements(s *Setting, want KeyType) {
	if want != TypeObject {
		s.Elems = make([]Setting, 0, len(s.Node.Elems))
	}
	for i, node := range s.Node.Elems {
		e := Setting{Path: fmt.Sprintf("%s[%d]", s.Path, i), Node: node, key: s.key}
		d.readValue(&e, want)
		s.Objects = append(s.Objects, e.Objects...)
		if want != TypeObject {
			s.Elems = append(s.Elems, e)
		}
	}
}

// noteWrongType notes a value of the wrong type. The obviously intended value is kept, so that other rules
// see the repaired configuration. A missing value is reported by the parser.
func (d *decoder) noteWrongType(s *Setting, want KeyType) {
	s.Value = ""
	if s.Node.Kind != jsonpos.Invalid {
		m := typeError{*s, want}
		d.typeErrors = append(d.typeErrors, m)
		s.Value = strings.Trim(m.intendedValue(), `"`)
	}
	s.OK = s.Value != ""
}

// partSpan returns the place of n bytes at an offset of a string's value, or the whole string if it
// contains escapes.
func partSpan(s Setting, offset, n int) span {
	p := s.valueSpan()
	if p.end-p.start == len(s.Value)+2 {
		p.start += 1 + offset
		p.end = p.start + n
	}
	return p
}

// longestShown is the number of characters of a value in messages.
const longestShown = 60

func shorten(s string) string { return jsonpos.Shorten(s, longestShown) }

// quoteShort quotes a value for a message.
func quoteShort(s string) string { return strconv.Quote(shorten(s)) }

// joinValues joins values for a message.
func joinValues(values []string) string { return strings.Join(values, ", ") }
