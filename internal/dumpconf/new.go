package dumpconf

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"dumptool/internal/dumpconf/jsonpos"
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
func (e *RefusedError) Error() string {
	f := &e.Findings[0]
	if f.Path == "" || strings.Contains(f.Message, lastOf(f.Path)) {
		return f.Message
	}
	return f.Path + ": " + f.Message
}

// New makes the configuration of a profile. What is not given has its default
// or a placeholder. Of the options it uses the target version, the product, the
// backend and the devices. It fails for unknown profiles and keys, for profiles
// that the target version cannot do, and, with a RefusedError, where the check
// of the result has errors.
func New(profile string, values Values, opt Options) (*Made, error) {
	all := recipes()
	i := slices.IndexFunc(all, func(r recipe) bool { return r.name == profile })
	if i < 0 {
		names := make([]string, len(all))
		for i, r := range all {
			names[i] = r.name
		}
		return nil, fmt.Errorf("profile %s is not known, want one of %s", show(profile), list(names))
	}
	r := &all[i]
	if target := opt.TargetVersion; !r.since.IsNewest() && target.Before(r.since) {
		return nil, fmt.Errorf("profile %s needs version %v or later, the target is %v", profile, r.since, target)
	}
	opt = Options{Schema: r.schema, TargetVersion: opt.TargetVersion, SoC: opt.SoC, Backend: opt.Backend, Devices: opt.Devices}
	m := &making{recipe: r, opt: opt, given: values, settled: make([][]string, len(r.parts))}
	if err := m.accept(); err != nil {
		return nil, err
	}
	made := &Made{Text: document(m.build())}
	made.Report = Check("", made.Text, opt)
	if refused := errorsOf(made.Report); refused != nil {
		return nil, refused
	}
	made.Next = append(m.replacements(), r.steps(m)...)
	return made, nil
}

// errorsOf returns the errors of a report, or nil.
func errorsOf(r *Report) error {
	var bad []Finding
	for i := range r.Findings {
		if r.Findings[i].Severity == Error {
			bad = append(bad, r.Findings[i])
		}
	}
	if bad == nil {
		return nil
	}
	return &RefusedError{bad}
}

// making is the making of one configuration.
type making struct {
	recipe  *recipe
	opt     Options
	given   Values
	settled [][]string // what is written of each part of the recipe, nil for nothing
}

// accept checks the values that were given, as far as the check of the result
// does not.
func (m *making) accept() error {
	for _, key := range sortedKeys(m.given) {
		i := slices.IndexFunc(m.recipe.parts, func(g ingredient) bool { return g.Key == key && !g.fixed })
		if i < 0 {
			return fmt.Errorf("profile %s has no key %s, want one of %s", m.recipe.name, show(key), list(m.offered()))
		}
		f, values := &m.recipe.parts[i], m.given[key]
		if len(values) > 1 && f.Type != TypeStrings && f.Type != TypeUints {
			return fmt.Errorf("%s takes one value, found %d", key, len(values))
		}
		if err := m.acceptable(f, values); err != nil {
			return err
		}
		for _, v := range values {
			if !utf8.ValidString(v) {
				return fmt.Errorf("%s: %s is not UTF-8", key, show(v))
			}
		}
	}
	return nil
}

func sortedKeys(v Values) []string {
	keys := make([]string, 0, len(v))
	for k := range v {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// offered returns the keys of the profile that can be given.
func (m *making) offered() []string {
	var keys []string
	for _, g := range m.recipe.parts {
		if !g.fixed {
			keys = append(keys, g.Key)
		}
	}
	return keys
}

// values returns what is written for a key.
func (m *making) values(key string) []string {
	for i, v := range m.settled {
		if v != nil && m.recipe.parts[i].Key == key {
			return v
		}
	}
	return nil
}

// value returns the only value that is written for a key, or nothing.
func (m *making) value(key string) string {
	if v := m.values(key); len(v) > 0 {
		return v[0]
	}
	return ""
}

// wants reports whether a key was given.
func (m *making) wants(key string) bool { return len(m.given[key]) > 0 }

// settle finds out what is written for a key; nil leaves it out. Defaults that
// the target version does not know are left out.
func (m *making) settle(g *ingredient) []string {
	if m.wants(g.Key) && !g.fixed {
		return m.given[g.Key]
	}
	values := g.Default
	if g.preset != nil {
		values = g.preset(m)
	}
	if since := m.since(g); !since.IsNewest() && m.opt.TargetVersion.Before(since) {
		return nil
	}
	return values
}

// since returns the release that first knew a key.
func (m *making) since(g *ingredient) Version {
	for _, t := range tables(m.recipe.schema) {
		if t != blockTable(g.block) {
			continue
		}
		if k := t.find(g.Key); k != nil {
			return k.Since
		}
	}
	return Version{}
}

func blockTable(block string) *keyTable {
	switch block {
	case inDump:
		return &aclDump
	case inItem:
		return &aclItem
	case inCommon:
		return &mindSporeCommon
	case inE2E:
		return &mindSporeE2E
	default:
		return &mindSporeAsync
	}
}

// replacements tells which placeholders are left.
func (m *making) replacements() []Text {
	var out []Text
	for i := range m.recipe.parts {
		g := &m.recipe.parts[i]
		if g.Placeholder && !m.wants(g.Key) && m.settled[i] != nil {
			v := list(m.settled[i])
			out = append(out, Text{
				EN: fmt.Sprintf("replace the placeholder %s of %s", v, g.Key),
				ZH: fmt.Sprintf("请替换 %s 的占位值 %s", g.Key, v),
			})
		}
	}
	return out
}

// node is the JSON of a key's values.
func (g *ingredient) node(values []string) jsonNode {
	switch {
	case g.joined:
		return jsonText(strings.Join(values, ","))
	case g.named:
		a := make(jsonArray, len(values))
		for i, v := range values {
			a[i] = &jsonObject{members: []jsonMember{{"name", jsonText(v)}}}
		}
		return a
	case g.Type == TypeStrings:
		return texts(values)
	case g.Type == TypeUints:
		a := make(jsonArray, len(values))
		for i, v := range values {
			a[i] = literal(v, isNumber(v))
		}
		return a
	case g.Type == TypeUint:
		return literal(values[0], isNumber(values[0]))
	case g.Type == TypeBool:
		return literal(values[0], values[0] == "true" || values[0] == "false")
	default:
		return jsonText(values[0])
	}
}

// literal is a value that JSON writes without quotes. Anything else becomes a
// string, which the check refuses in its own words.
func literal(v string, ok bool) jsonNode {
	if ok {
		return jsonRaw(v)
	}
	return jsonText(v)
}

// isNumber reports whether v is a number as MindSpore wants it.
func isNumber(v string) bool { return isDigits(v) && (v == "0" || v[0] != '0') }

// build makes the configuration.
func (m *making) build() *jsonObject {
	root := &jsonObject{}
	blocks := map[string]string{inDump: "dump", inCommon: "common_dump_settings", inE2E: "e2e_dump_settings", inAsync: "async_dump_settings"}
	for i := range m.recipe.parts {
		m.settled[i] = m.settle(&m.recipe.parts[i])
	}
	for i := range m.recipe.parts {
		g := &m.recipe.parts[i]
		if m.settled[i] != nil && g.block != inItem {
			root.child(blocks[g.block]).set(g.Key, g.node(m.settled[i]))
		}
		if m.recipe.listed && g.Key == "dump_path" {
			root.child("dump").set("dump_list", m.items())
		}
	}
	return root
}

// items is dump_list: an item for each model, or one for all.
func (m *making) items() jsonArray {
	models := m.values("model_name")
	if m.value("dump_op_switch") == "on" && m.opt.TargetVersion.Before(sinceCANN82) {
		return jsonArray{}
	}
	var out jsonArray
	for i := range max(1, len(models)) {
		o := &jsonObject{}
		if len(models) > 0 {
			o.set("model_name", jsonText(models[i]))
		}
		for k := range m.recipe.parts {
			g := &m.recipe.parts[k]
			if v := m.settled[k]; g.block == inItem && v != nil && g.Key != "model_name" {
				o.set(g.Key, g.node(v))
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
