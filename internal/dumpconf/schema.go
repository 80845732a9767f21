package dumpconf

import (
	"slices"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// Schema is a kind of configuration file.
type Schema int

// Values of Schema.
const (
	SchemaUnknown   Schema = iota
	SchemaACL              // acl.json for aclInit and aclmdlSetDump
	SchemaMindSpore        // the file named by MINDSPORE_DUMP_CONFIG
	SchemaGE               // ge.exec.* options as flat JSON
	SchemaTF               // TensorFlow adapter options as flat JSON
	SchemaMsprobe          // config.json of msprobe
)

var schemaNames = [...]string{"unknown", "acl", "mindspore", "ge", "tf", "msprobe"}

// String returns the short name of the schema.
func (s Schema) String() string { return schemaNames[s] }

// Detect returns the schema of a document by its keys. Without a known key it is ACL: any object is
// an acl.json, possibly without dump.
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
	case has("task") && (has("level") || has("dump_path")) && !has("data"): // "data" marks a dump.json
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

// IsConfiguration reports whether a text has keys of a configuration. Other JSON is not a
// configuration, although Detect returns SchemaACL for it.
func IsConfiguration(src []byte) bool {
	root := jsonpos.Parse(src).Root
	if root == nil || root.Kind != jsonpos.Object {
		return false
	}
	return Detect(root) != SchemaACL || slices.ContainsFunc(root.Members, func(m jsonpos.Member) bool { return lang.Nearest(m.Key, []string{"dump"}) != "" })
}

// otherRuntimeKeys lists keys of acl.json beside "dump".
var otherRuntimeKeys = []string{"profiler", "max_opqueue_num", "err_msg_mode", "defaultDevice", "StackSize", "event_mode"}

// CheckContent returns an error for a JSON object that has keys, none of them of a configuration.
func CheckContent(name string, src []byte) error {
	root := jsonpos.Parse(src).Root
	if root == nil || root.Kind != jsonpos.Object || len(root.Members) == 0 || IsConfiguration(src) ||
		slices.ContainsFunc(root.Members, func(m jsonpos.Member) bool { return slices.Contains(otherRuntimeKeys, m.Key) }) {
		return nil
	}
	return lang.Errorf("%s is JSON, but no dump configuration: it has none of the keys dump, common_dump_settings, task and ge.exec.*; --schema gives its kind", name)
}

// KeyType is the required type of a key's value.
type KeyType int

// The types of values.
const (
	TypeString  KeyType = iota
	TypeUint            // a number without sign, fraction and exponent
	TypeBool            // true or false
	TypeObject          // {...}
	TypeStrings         // an array of strings
	TypeUints           // an array of numbers as TypeUint
	TypeObjects         // an array of objects
	TypeAny             // not checked
)

var keyTypes = [...]struct {
	name    Text
	kind    jsonpos.Kind
	element KeyType // of an array
}{
	TypeString:  {Text{EN: "a string"}, jsonpos.String, TypeAny},
	TypeUint:    {Text{EN: "a non-negative integer without quotes"}, jsonpos.Number, TypeAny},
	TypeBool:    {Text{EN: "true or false without quotes"}, jsonpos.Bool, TypeAny},
	TypeObject:  {Text{EN: "an object"}, jsonpos.Object, TypeAny},
	TypeStrings: {Text{EN: "an array of strings"}, jsonpos.Array, TypeString},
	TypeUints:   {Text{EN: "an array of non-negative integers"}, jsonpos.Array, TypeUint},
	TypeObjects: {Text{EN: "an array of objects"}, jsonpos.Array, TypeObject},
	TypeAny:     {name: Text{EN: "any value"}},
}

// String returns a description of the type with its article.
func (t KeyType) String() string { return keyTypes[t].name.String() }

// Text returns the description in both languages.
func (t KeyType) Text() Text { return keyTypes[t].name }

// Key documents a key of a configuration for checks, profiles, explanations and translations.
type Key struct {
	Name     string
	Type     KeyType
	Values   []string // allowed values; nil for any
	Default  string   // the effective value if the key is absent, if it is one value
	Since    Version  // the first release whose documentation shows it; zero if unknown
	Until    Version  // the first release without it; zero for none
	Doc      Text     // its purpose; empty for keys that no profile offers
	Question Text     // the question for its value; empty for keys not worth asking

	rule        string             // the id of the rule that reports mistyped and unknown values
	since       map[string]Version // values newer than the key
	hasOwnRule  bool               // a separate rule checks Values
	isCommaList bool               // Values form one comma-separated string
	isRequired  bool               // required in some release
	members     *keyTable          // the keys of its object or objects
}

// isNewerThan reports whether the target release lacks the key.
func (k *Key) isNewerThan(target Version) bool {
	return !k.Since.IsNewest() && target.lacks(k.Since)
}

// keyTable lists the keys of one kind of object.
type keyTable struct {
	name          string // the key whose value is the object
	description   Text   // description of the object
	keys          []Key
	allowsUnknown bool // unknown keys are legal
	nulls         bool // null means an absent string
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

// keyTables returns the key tables of a schema, outermost first; nil for schemas without unknown-key
// checks.
func keyTables(s Schema) []*keyTable {
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

// Profile is a purpose for which New makes a configuration.
type Profile struct {
	Name   string
	About  Text
	Schema Schema
	Since  Version // the first release that supports it; zero for every release
	Fields []Field // in file order

	hasList bool     // has a dump_list
	next    []string // keys of the texts with next steps
}

// Field is a key of a profile that users can set.
type Field struct {
	Key     string  // in the file
	Flag    string  // on the command line, without dashes
	Type    KeyType // TypeString, TypeUint, TypeBool, TypeStrings or TypeUints
	Values  []string
	Default []string // written if no value is given; nil omits the key
	// Placeholder: Default stands for a value that only the user knows.
	Placeholder bool
	About       Text
	// Question asks for the value; empty for fields not worth asking.
	Question Text

	row     *Key
	table   *keyTable
	isFixed bool // not offered: its value defines the profile
	// preset computes the value from Default and other settings.
	preset func(b *builder, values []string) []string
}

// Profiles returns all profiles. Files for older releases contain fewer of the fields.
func Profiles() []Profile {
	all := profiles()
	for i := range all {
		all[i].Fields = slices.DeleteFunc(all[i].Fields, func(f Field) bool { return f.isFixed })
	}
	return all
}

// profiles returns all profiles, including fixed fields.
func profiles() []Profile {
	acl, ms, msprobe := aclProfiles(), mindSporeProfiles(), msprobeProfile()
	for i := range acl {
		acl[i].Schema = SchemaACL
	}
	for i := range ms {
		ms[i].Schema = SchemaMindSpore
	}
	return append(append(acl, ms...), msprobe)
}

// field returns a key as a field with default values. Values of a key of objects are their names.
func (t *keyTable) field(name string, values ...string) Field {
	k := t.find(name)
	f := Field{
		Key: name, Flag: strings.ReplaceAll(name, "_", "-"), Type: k.Type, Values: slices.Clone(k.Values), Default: slices.Clone(values),
		About: k.Doc, Question: k.Question, row: k, table: t,
	}
	switch k.Type {
	case TypeBool:
		f.Values = []string{"true", "false"}
	case TypeObjects:
		f.Type = TypeStrings
	}
	return f
}

// withValues returns the field with a choice of values.
func (f Field) withValues(values ...string) Field {
	f.Values = slices.Clone(values)
	return f
}

// asStrings returns the field with type TypeStrings.
func (f Field) asStrings() Field {
	f.Type = TypeStrings
	return f
}

// withEmptyDefault returns the field with an empty list as default.
func (f Field) withEmptyDefault() Field {
	f.Default = []string{}
	return f
}

// asFixed returns the field as not offered.
func (f Field) asFixed() Field {
	f.isFixed = true
	return f
}

// withPreset returns the field with a computed default.
func (f Field) withPreset(preset func(b *builder, values []string) []string) Field {
	f.preset = preset
	return f
}

func (f Field) withPlaceholder(values ...string) Field {
	f.Default, f.Placeholder = values, true
	return f
}

// valuesIf returns values if the condition holds, else nil, which omits the field.
func valuesIf(condition bool, values []string) []string {
	if !condition {
		return nil
	}
	return values
}

// wantsNumbers reports whether the values of the field are numbers.
func (f *Field) wantsNumbers() bool { return f.Type == TypeUint || f.Type == TypeUints }

// isList reports whether the field takes several values.
func (f *Field) isList() bool { return f.Type == TypeStrings || f.Type == TypeUints }

// Split parses an answer into values. Lists split at commas outside of brackets. It returns nil for
// an empty answer.
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
