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

var keyTypeNames = [...]string{
	"a string", "a non-negative integer without quotes", "true or false without quotes", "an object",
	"an array of strings", "an array of non-negative integers", "an array of objects",
}

// String describes the type with its article.
func (t KeyType) String() string {
	if t < 0 || int(t) >= len(keyTypeNames) {
		return "unknown"
	}
	return keyTypeNames[t]
}

// Key describes a key that a configuration may have.
type Key struct {
	Name    string
	Type    KeyType
	Values  []string // what an enumerated string may be; nil for any
	Default string   // what counts when the key is absent, in words or as written
	Since   Version  // the release whose documentation first shows it; zero when unknown
	About   string   // what it does, one line

	rule string // reports a value of the wrong type or out of Values
}

// keyTable is the keys of one sort of object.
type keyTable struct {
	where string // the object in words
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

// KeyTable is the keys one sort of object may have.
type KeyTable struct {
	Where string // the object in words
	Keys  []Key
}

// Keys returns all keys of a schema, a table for each sort of object, from
// the outside in. It returns nil for schemas that are not checked.
func Keys(s Schema) []KeyTable {
	var out []KeyTable
	for _, t := range tables(s) {
		out = append(out, KeyTable{Where: t.where, Keys: append([]Key(nil), t.keys...)})
	}
	return out
}

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
