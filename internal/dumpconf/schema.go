package dumpconf

import (
	"slices"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// Schema is a sort of configuration file.
type Schema int

// The schemas.
const (
	SchemaUnknown   Schema = iota
	SchemaACL              // acl.json for aclInit and aclmdlSetDump
	SchemaMindSpore        // the file MINDSPORE_DUMP_CONFIG names
	SchemaGE               // ge.exec.* options as flat JSON
	SchemaTF               // TensorFlow adapter options as flat JSON
	SchemaMsprobe          // config.json of msprobe; checked, and nothing else
)

var schemaNames = [...]string{"unknown", "acl", "mindspore", "ge", "tf", "msprobe"}

// String returns the short name of the schema.
func (s Schema) String() string { return schemaNames[s] }

// Detect finds out what a document is by its keys. What has no known key is
// ACL: any object is an acl.json, possibly one without dump.
func Detect(root *jsonpos.Value) Schema {
	if root == nil || root.Kind != jsonpos.Object {
		return SchemaACL
	}
	has := func(key string) bool { return root.Get(key) != nil }
	switch {
	case has("dump"):
		return SchemaACL
	case has("common_dump_settings"):
		return SchemaMindSpore
	case has("task") && (has("level") || has("dump_path")) && !has("data"): // which a dump.json has
		return SchemaMsprobe
	}
	blocks := mindSporeRoot.names()
	for _, m := range root.Members {
		switch {
		case strings.HasPrefix(m.Key, "ge.exec."):
			return SchemaGE
		case slices.Contains(blocks, lang.Nearest(m.Key, blocks)):
			return SchemaMindSpore
		case lang.Nearest(m.Key, []string{"dump"}) != "":
			return SchemaACL
		}
	}
	if has("enable_dump") || has("enable_dump_debug") {
		return SchemaTF
	}
	return SchemaACL
}

// IsConfiguration reports whether the keys of a text are those of a configuration: other
// JSON is none, though Detect takes it for an acl.json.
func IsConfiguration(src []byte) bool {
	root := jsonpos.Parse(src).Root
	if root == nil || root.Kind != jsonpos.Object {
		return false
	}
	return Detect(root) != SchemaACL || slices.ContainsFunc(root.Members, func(m jsonpos.Member) bool { return lang.Nearest(m.Key, []string{"dump"}) != "" })
}

// KeyType is the type a key's value must have.
type KeyType int

// The types of values.
const (
	TypeString  KeyType = iota
	TypeUint            // a number without sign, fraction and exponent
	TypeBool            // true or false
	TypeObject          // {...}
	TypeStrings         // an array of strings
	TypeUints           // an array of such numbers
	TypeObjects         // an array of objects
	TypeAny             // not looked at
)

var keyTypes = [...]struct {
	name    Text
	kind    jsonpos.Kind
	element KeyType // of an array
}{
	TypeString:  {Text{EN: "a string", ZH: "字符串"}, jsonpos.String, TypeAny},
	TypeUint:    {Text{EN: "a non-negative integer without quotes", ZH: "不带引号的非负整数"}, jsonpos.Number, TypeAny},
	TypeBool:    {Text{EN: "true or false without quotes", ZH: "不带引号的 true 或 false"}, jsonpos.Bool, TypeAny},
	TypeObject:  {Text{EN: "an object", ZH: "对象"}, jsonpos.Object, TypeAny},
	TypeStrings: {Text{EN: "an array of strings", ZH: "字符串数组"}, jsonpos.Array, TypeString},
	TypeUints:   {Text{EN: "an array of non-negative integers", ZH: "非负整数数组"}, jsonpos.Array, TypeUint},
	TypeObjects: {Text{EN: "an array of objects", ZH: "对象数组"}, jsonpos.Array, TypeObject},
	TypeAny:     {name: Text{EN: "any value", ZH: "任意值"}},
}

// String describes the type with its article.
func (t KeyType) String() string { return keyTypes[t].name.EN }

// Text describes the type in both languages.
func (t KeyType) Text() Text { return keyTypes[t].name }

// Key is all that is known about a key of a configuration: checks, profiles,
// explanations and translations read it here.
type Key struct {
	Name    string
	Type    KeyType
	Values  []string // what it may be; nil for any
	Default string   // what it is without the key, where that is one value
	Since   Version  // the release whose documentation first shows it; zero when unknown
	Until   Version  // the release that does not know it any more; zero for none
	Doc     Text     // what it is for; empty for keys that no profile offers
	Ask     Text     // what to ask for it; empty for keys that are not worth asking

	rule     string             // reports a value of the wrong type or out of Values
	since    map[string]Version // of those of Values that came later than the key
	ownCheck bool               // a rule of its own compares with Values
	commas   bool               // Values are written as one string, with commas between
	required bool               // in some release at least
	inside   *keyTable          // the keys of its object or objects
	as       string             // the key of acl.json that means the same
	carried  bool               // a translation loses nothing with the key
}

// newerThan reports whether a release does not know the key.
func (k *Key) newerThan(target Version) bool {
	return !k.Since.IsNewest() && target.lacks(k.Since)
}

// keyTable is the keys of one sort of object.
type keyTable struct {
	name  string // of the key whose value the object is
	where Text   // the object in words
	keys  []Key
	open  bool // other keys are legal
	nulls bool // null stands for no string
}

func (t *keyTable) find(name string) *Key {
	for i := range t.keys {
		if t.keys[i].Name == name {
			return &t.keys[i]
		}
	}
	return nil
}

func (t *keyTable) names() []string {
	names := make([]string, len(t.keys))
	for i, k := range t.keys {
		names[i] = k.Name
	}
	return names
}

// tables returns the keys of a schema, a table for each sort of object, from the
// outside in; nothing for schemas that are not checked.
func tables(s Schema) []*keyTable {
	switch s {
	case SchemaACL:
		return []*keyTable{&aclRoot, &aclDump, &aclItem, &aclBlacklist, &aclRange}
	case SchemaMindSpore:
		return []*keyTable{&mindSporeRoot, &mindSporeCommon, &mindSporeE2E, &mindSporeAsync}
	case SchemaGE:
		return []*keyTable{&geOptions}
	case SchemaTF:
		return []*keyTable{&tfOptions}
	default:
		return nil
	}
}

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
