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

// ParseSchema is the inverse of String.
func ParseSchema(name string) (Schema, bool) {
	i := slices.Index(schemaNames[:], strings.ToLower(name))
	return Schema(max(i, 0)), i >= 0
}

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
