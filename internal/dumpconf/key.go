package dumpconf

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
)

var keyTypeNames = [...]Text{
	{EN: "a string", ZH: "字符串"}, {EN: "a non-negative integer without quotes", ZH: "不带引号的非负整数"},
	{EN: "true or false without quotes", ZH: "不带引号的 true 或 false"}, {EN: "an object", ZH: "对象"},
	{EN: "an array of strings", ZH: "字符串数组"}, {EN: "an array of non-negative integers", ZH: "非负整数数组"}, {EN: "an array of objects", ZH: "对象数组"},
}

// String describes the type with its article.
func (t KeyType) String() string { return keyTypeNames[t].EN }

// Text describes the type in both languages.
func (t KeyType) Text() Text { return keyTypeNames[t] }

// Key describes a key that a configuration may have.
type Key struct {
	Name   string
	Type   KeyType
	Values []string // what an enumerated string may be; nil for any
	Since  Version  // the release whose documentation first shows it; zero when unknown

	rule string // reports a value of the wrong type or out of Values
}

// newerThan reports whether a release does not know the key.
func (k *Key) newerThan(target Version) bool {
	return !k.Since.IsNewest() && target.lacks(k.Since)
}

// keyTable is the keys of one sort of object.
type keyTable struct {
	where Text // the object in words
	keys  []Key
	open  bool // other keys are legal
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
