package dumpconf

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// Values are what somebody wants the keys of a profile to be. Keys that are
// no lists have one value; numbers and booleans are as JSON writes them.
type Values map[string][]string

// Made is a configuration that was made.
type Made struct {
	Text   []byte  // indented JSON, the same for the same values
	Next   []Text  // what to do with it, one sentence each, in this order
	Report *Report // the check of Text: it has no errors, but may have hints
}

// RefusedError says why a configuration with the values that were given would
// not work.
type RefusedError struct {
	Findings []Finding // the errors that a check of it finds
}

// Error returns the first of the errors, in the words of the rule.
func (e *RefusedError) Error() string { return e.Text().EN }

// Text is the first of the errors in both languages.
func (e *RefusedError) Text() Text {
	f := &e.Findings[0]
	if f.Path == "" || strings.Contains(f.Message.String(), lastOf(f.Path)) {
		return f.Message.Text()
	}
	return lang.Sayf("%s: %s", "%s: %s", f.Path, f.Message).Text()
}

// New makes the configuration of a profile. What is not given has its default
// or a placeholder. Of the options it uses the target version, the product, the
// backend and the devices. It fails for unknown profiles and keys, for profiles
// that the target version cannot do, and, with a RefusedError, where the check
// of the result has errors.
func New(profile string, values Values, opt Options) (*Made, error) {
	all := templates()
	i := slices.IndexFunc(all, func(t template) bool { return t.name == profile })
	if i < 0 {
		names := make([]string, len(all))
		for i, t := range all {
			names[i] = t.name
		}
		return nil, fmt.Errorf("profile %s is not known, want one of %s", show(profile), list(names))
	}
	t := &all[i]
	if target := opt.TargetVersion; !t.since.IsNewest() && target.Before(t.since) {
		return nil, fmt.Errorf("profile %s needs version %v or later, the target is %v", profile, t.since, target)
	}
	opt = Options{Schema: t.schema, TargetVersion: opt.TargetVersion, SoC: opt.SoC, Backend: opt.Backend, Devices: opt.Devices}
	b := &builder{template: t, opt: opt, given: values, chosen: make([][]string, len(t.keys))}
	if err := b.accept(); err != nil {
		return nil, err
	}
	made := &Made{Text: document(b.build())}
	made.Report = Check("", made.Text, opt)
	if refused := errorsOf(made.Report); refused != nil {
		return nil, refused
	}
	b.placeholders()
	for _, key := range t.next {
		b.next(key)
	}
	made.Next = b.steps
	return made, nil
}

// errorsOf returns the errors of a report, or nil.
func errorsOf(r *Report) error {
	if bad := r.errors(); bad != nil {
		return &RefusedError{bad}
	}
	return nil
}

// builder builds one configuration.
type builder struct {
	template *template
	opt      Options
	given    Values
	chosen   [][]string // values of each key of the template, nil for none
	steps    []Text
}

// accept checks the values that were given, as far as the check of the result
// does not.
func (b *builder) accept() error {
	for _, key := range slices.Sorted(maps.Keys(b.given)) {
		i := slices.IndexFunc(b.template.keys, func(k templateKey) bool { return k.Key == key && !k.fixed })
		if i < 0 {
			return fmt.Errorf("profile %s has no key %s, want one of %s", b.template.name, show(key), list(b.offered()))
		}
		k, values := &b.template.keys[i], b.given[key]
		if len(values) > 1 && !k.many() {
			return fmt.Errorf("%s takes one value, found %d", key, len(values))
		}
		if err := b.acceptable(k, values); err != nil {
			return err
		}
	}
	return nil
}

// offered returns the keys of the profile that can be given.
func (b *builder) offered() []string {
	var keys []string
	for _, k := range b.template.keys {
		if !k.fixed {
			keys = append(keys, k.Key)
		}
	}
	return keys
}

// values returns what is written for a key.
func (b *builder) values(key string) []string {
	for i, v := range b.chosen {
		if v != nil && b.template.keys[i].Key == key {
			return v
		}
	}
	return nil
}

// value returns the only value that is written for a key, or nothing.
func (b *builder) value(key string) string {
	if v := b.values(key); len(v) > 0 {
		return v[0]
	}
	return ""
}

// wants reports whether a key was given.
func (b *builder) wants(key string) bool { return len(b.given[key]) > 0 }

// choose finds out what is written for a key; nil leaves it out. Defaults that
// the target version does not know are left out.
func (b *builder) choose(k *templateKey) []string {
	if b.wants(k.Key) && !k.fixed {
		return b.given[k.Key]
	}
	switch {
	case !k.since.IsNewest() && b.opt.TargetVersion.Before(k.since):
		return nil
	case k.preset != nil:
		return k.preset(b)
	default:
		return k.Default
	}
}

// node is the JSON of a key's values.
func (k *templateKey) node(values []string) any {
	switch {
	case k.joined:
		return strings.Join(values, ",")
	case k.named:
		return arrayOf(values, func(v string) *jsonObject { return &jsonObject{[]jsonMember{{"name", v}}} })
	case k.many():
		return arrayOf(values, k.element)
	default:
		return k.element(values[0])
	}
}

// element is the JSON of one value. What is no number or boolean where the key wants
// one becomes a string, which the check refuses in its own words.
func (k *templateKey) element(v string) any {
	if k.wantsNumbers() && isNumber(v) || k.Type == TypeBool && (v == "true" || v == "false") {
		return jsonRaw(v)
	}
	return v
}

// isNumber reports whether v is a number as MindSpore wants it.
func isNumber(v string) bool { return isDigits(v) && (v == "0" || v[0] != '0') }

// build makes the configuration.
func (b *builder) build() *jsonObject {
	root := &jsonObject{}
	for i := range b.template.keys {
		b.chosen[i] = b.choose(&b.template.keys[i])
	}
	for i := range b.template.keys {
		k := &b.template.keys[i]
		if b.chosen[i] != nil && k.block != inItem {
			root.child(k.block.name).set(k.Key, k.node(b.chosen[i]))
		}
		if b.template.listed && k.Key == "dump_path" {
			root.child("dump").set("dump_list", b.items())
		}
	}
	return root
}

// items is dump_list: an item for each model, or one for all.
func (b *builder) items() jsonArray {
	models := b.values("model_name")
	if b.value("dump_op_switch") == "on" && b.opt.TargetVersion.Before(sinceCANN82) {
		return jsonArray{}
	}
	var out jsonArray
	for i := range max(1, len(models)) {
		o := &jsonObject{}
		if len(models) > 0 {
			o.set("model_name", models[i])
		}
		for j := range b.template.keys {
			k := &b.template.keys[j]
			if v := b.chosen[j]; k.block == inItem && v != nil && k.Key != "model_name" {
				o.set(k.Key, k.node(v))
			}
		}
		out = append(out, o)
	}
	return out
}

// shellWord returns a word as a shell reads it.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(shellSafe, r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(printable(s), "'", `'\''`) + "'"
}

const shellSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%"

// printable returns a text on one line, without control characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError || r == 0x2028 || r == 0x2029 || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}

// quoted is a JSON string for a message.
func quoted(s string) string { return jsonpos.Quote(shorten(printable(s))) }
