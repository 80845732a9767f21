package dumpconf

import (
	"slices"
	"strings"
)

// Profile is a purpose for which a configuration can be made.
type Profile struct {
	Name   string
	About  Text
	Schema Schema
	Since  Version // the release that can do it; zero for every release
	Fields []Field // in the order of the file

	listed bool     // has a dump_list
	next   []string // keys of the texts that say what to do with it
}

// Field is a key of a profile that can be given a value.
type Field struct {
	Key     string  // of the file
	Flag    string  // of a command line, without dashes
	Type    KeyType // TypeString, TypeUint, TypeBool, TypeStrings or TypeUints
	Values  []string
	Default []string // what is written when nothing is given; nil leaves the key out
	// Placeholder says that Default only stands for something that only the
	// user knows.
	Placeholder bool
	About       Text
	// Question is what to ask somebody who gives no values. It is empty for
	// fields that are not worth asking.
	Question Text

	row   *Key
	table *keyTable
	fixed bool // not offered: it makes the profile what it is
	// preset replaces Default, which it gets, where that depends on other things.
	preset func(b *builder, values []string) []string
}

// Profiles returns all profiles. What they contain in a file for an older
// release is less.
func Profiles() []Profile {
	all := profiles()
	for i := range all {
		all[i].Fields = slices.DeleteFunc(all[i].Fields, func(f Field) bool { return f.fixed })
	}
	return all
}

// profiles returns all profiles with the fields that are fixed.
func profiles() []Profile {
	acl, ms := aclProfiles(), mindSporeProfiles()
	for i := range acl {
		acl[i].Schema = SchemaACL
	}
	for i := range ms {
		ms[i].Schema = SchemaMindSpore
	}
	return append(acl, ms...)
}

// field returns a key as a field with these values when nothing is given. Of objects
// only the name can be given.
func (t *keyTable) field(name string, values ...string) Field {
	k := t.find(name)
	f := Field{
		Key: name, Flag: strings.ReplaceAll(name, "_", "-"), Type: k.Type, Values: slices.Clone(k.Values), Default: slices.Clone(values),
		About: k.Doc, Question: k.Ask, row: k, table: t,
	}
	switch k.Type {
	case TypeBool:
		f.Values = []string{"true", "false"}
	case TypeObjects:
		f.Type = TypeStrings
	}
	return f
}

// oneOf returns a field with these values to choose from.
func (f Field) oneOf(values ...string) Field {
	f.Values = slices.Clone(values)
	return f
}

// asList returns a field that takes several values.
func (f Field) asList() Field {
	f.Type = TypeStrings
	return f
}

// orEmpty returns a field that is an empty list when nothing is given.
func (f Field) orEmpty() Field {
	f.Default = []string{}
	return f
}

// fix returns a field that is not offered.
func (f Field) fix() Field {
	f.fixed = true
	return f
}

// by returns a field whose value depends on other things.
func (f Field) by(preset func(b *builder, values []string) []string) Field {
	f.preset = preset
	return f
}

// holding returns a field with a placeholder.
func (f Field) holding(values ...string) Field {
	f.Default, f.Placeholder = values, true
	return f
}

// onlyIf returns the values of a field that is left out otherwise.
func onlyIf(is bool, values []string) []string {
	if !is {
		return nil
	}
	return values
}

// wantsNumbers reports whether the values of the field are numbers.
func (f *Field) wantsNumbers() bool { return f.Type == TypeUint || f.Type == TypeUints }

// isList reports whether the field takes a list of values.
func (f *Field) isList() bool { return f.Type == TypeStrings || f.Type == TypeUints }

// Split turns what was answered into values: of lists, the pieces between
// commas that are not in brackets. It returns nil for an empty answer.
func (f *Field) Split(answer string) []string {
	answer = strings.TrimSpace(answer)
	switch {
	case answer == "":
		return nil
	case !f.isList():
		return []string{answer}
	}
	var out []string
	depth, start := 0, 0
	take := func(end int) {
		if piece := strings.TrimSpace(answer[start:end]); piece != "" {
			out = append(out, piece)
		}
		start = end + 1
	}
	for i := range len(answer) {
		switch answer[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		case ',':
			if depth == 0 {
				take(i)
			}
		}
	}
	if start < len(answer) {
		take(len(answer))
	}
	return out
}
