package dumpconf

import (
	"slices"
	"strings"
)

// template is how the file of a profile is built.
type template struct {
	name   string
	schema Schema
	since  Version
	listed bool          // has a dump_list
	keys   []templateKey // in the order of the file
	next   []string      // keys of the texts that say what to do with it
}

func templates() []template {
	return slices.Concat(aclTemplates(), mindSporeTemplates())
}

// block is an object that keys of templates belong to.
type block struct {
	name  string // its key
	table *keyTable
}

var (
	inDump   = &block{"dump", &aclDump}
	inItem   = &block{"dump_list", &aclItem}
	inCommon = &block{"common_dump_settings", &mindSporeCommon}
	inE2E    = &block{"e2e_dump_settings", &mindSporeE2E}
	inAsync  = &block{"async_dump_settings", &mindSporeAsync}
)

// templateKey is a key that a template writes.
type templateKey struct {
	Field
	block  *block
	topic  string  // of its texts
	since  Version // the release that first knew it
	fixed  bool    // not offered: it makes the profile what it is
	joined bool    // written as one string with commas
	named  bool    // written as objects with a name
	// preset replaces Default when that depends on other things.
	preset func(b *builder) []string
}

// key is a key of the block as its table has it, without value. Of objects only the
// name can be given.
func (o *block) key(name string) templateKey {
	known := o.table.find(name)
	k := templateKey{block: o, topic: o.name + "." + name, since: known.Since, Field: Field{
		Key: name, Flag: strings.ReplaceAll(name, "_", "-"), Type: known.Type, Values: known.Values,
	}}
	switch known.Type {
	case TypeBool:
		k.Values = []string{"true", "false"}
	case TypeObjects:
		k.Type, k.named = TypeStrings, true
	}
	return k
}

// about returns a key with the texts of another topic.
func (k templateKey) about(topic string) templateKey {
	k.topic = topic
	return k
}

// oneOf returns a key with these values to choose from.
func (k templateKey) oneOf(values ...string) templateKey {
	k.Values = values
	return k
}

// list returns a key that takes several values.
func (k templateKey) list() templateKey {
	k.Type = TypeStrings
	return k
}

// with returns a key that has these values when nothing is given, which may be an
// empty list.
func (k templateKey) with(values ...string) templateKey {
	k.Default = append([]string{}, values...)
	return k
}

// always returns a key that is not offered.
func (k templateKey) always(values ...string) templateKey {
	k.fixed = true
	return k.with(values...)
}

// by returns a key whose value depends on other things.
func (k templateKey) by(preset func(b *builder) []string) templateKey {
	k.preset = preset
	return k
}

// holding returns a key with a placeholder.
func (k templateKey) holding(values ...string) templateKey {
	k.Default, k.Placeholder = values, true
	return k
}

// wantsNumbers reports whether the values of the key are numbers.
func (k *templateKey) wantsNumbers() bool { return k.Type == TypeUint || k.Type == TypeUints }
