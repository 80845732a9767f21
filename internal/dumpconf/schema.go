package dumpconf

import (
	"slices"
	"strings"

	"dumptool/internal/dumpconf/jsonpos"
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
	SchemaMsprobe          // config.json of msprobe; recognised, not checked
)

var schemaNames = [...]string{"unknown", "acl", "mindspore", "ge", "tf", "msprobe"}

// String returns the short name of the schema.
func (s Schema) String() string {
	if s < 0 || int(s) >= len(schemaNames) {
		return schemaNames[SchemaUnknown]
	}
	return schemaNames[s]
}

// ParseSchema is the inverse of String.
func ParseSchema(name string) (Schema, bool) {
	i := slices.Index(schemaNames[:], strings.ToLower(name))
	return Schema(max(i, 0)), i >= 0
}

// Detect finds out what a document is by its keys. What cannot be told is
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
	case has("task") && has("level") && has("dump_path"):
		return SchemaMsprobe
	}
	blocks := mindSporeRoot.names()
	for _, m := range root.Members {
		switch {
		case strings.HasPrefix(m.Key, "ge.exec."):
			return SchemaGE
		case slices.Contains(blocks, nearest(m.Key, blocks)):
			return SchemaMindSpore
		case nearest(m.Key, []string{"dump"}) != "":
			return SchemaACL
		}
	}
	if has("enable_dump") || has("enable_dump_debug") {
		return SchemaTF
	}
	return SchemaACL
}
