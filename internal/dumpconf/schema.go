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
