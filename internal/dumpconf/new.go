package dumpconf

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// Values maps keys of a profile to wanted values. Keys other than lists have one value; numbers and
// booleans are written as in JSON.
type Values map[string][]string

// NewFile is a generated configuration.
type NewFile struct {
	Text   []byte  // indented JSON, deterministic
	Next   []Text  // next steps for the user, one sentence each
	Report *Report // the check of Text: no errors, maybe hints
}

// RefusedError reports why a configuration with the given values would not work.
type RefusedError struct {
	Findings []Finding // errors of the check of the configuration
}

// Error returns the first error, in the words of its rule.
func (e *RefusedError) Error() string { return e.Text().String() }

// Text returns the first error in both languages.
func (e *RefusedError) Text() Text {
	f := &e.Findings[0]
	if f.Path == "" || strings.Contains(f.Message.String(), lastPart(f.Path)) {
		return f.Message.Text()
	}
	return lang.Say("%s: %s", f.Path, f.Message).Text()
}

// New makes the configuration of a profile. Missing values get a default or a placeholder. Of the
// options it uses the target version, product, backend and devices. It fails for unknown profiles
// and keys, for profiles newer than the target version and, with a RefusedError, if the check of
// the result has errors.
func New(profile string, values Values, opt Options) (*NewFile, error) {
	all := profiles()
	i := slices.IndexFunc(all, func(p Profile) bool { return p.Name == profile })
	if i < 0 {
		names := make([]string, len(all))
		for i, p := range all {
			names[i] = p.Name
		}
		return nil, lang.Errorf("unknown profile %s, want one of %s", quoteShort(profile), joinValues(names))
	}
	p := &all[i]
	if target := opt.TargetVersion; !p.Since.IsNewest() && target.IsBefore(p.Since) {
		return nil, lang.Errorf("profile %s needs version %v or later, the target is %v", profile, p.Since, target)
	}
	opt = Options{Schema: p.Schema, TargetVersion: opt.TargetVersion, SoC: opt.SoC, Backend: opt.Backend, Devices: opt.Devices}
	b := &builder{Profile: p, opt: opt, userValues: values, fieldValues: make([][]string, len(p.Fields))}
	if err := b.checkValues(); err != nil {
		return nil, err
	}
	file := &NewFile{Text: append(appendJSON(nil, b.build(), "\n"), '\n')}
	file.Report = Check("", file.Text, opt)
	if err := errorsOf(file.Report); err != nil {
		return nil, err
	}
	b.addPlaceholderSteps()
	for _, key := range p.next {
		b.nextStep(key)
	}
	if possible := Explain(file.Report, opt).readText; possible != (Text{}) {
		b.steps = append(b.steps, possible)
	}
	file.Next = b.steps
	return file, nil
}

// errorsOf returns the errors of a report as a *RefusedError, or nil.
func errorsOf(r *Report) error {
	if bad := r.errors(); bad != nil {
		return &RefusedError{bad}
	}
	return nil
}

// builder builds one configuration.
type builder struct {
	*Profile
	opt         Options
	userValues  Values
	fieldValues [][]string // values of each field, nil to omit it
	steps       []Text
}

// checkValues checks values for which the check of the finished file would be wrong or silent.
func (b *builder) checkValues() error {
	var keys []string
	for _, f := range b.Fields {
		if !f.isFixed {
			keys = append(keys, f.Key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b.userValues)) {
		i := slices.IndexFunc(b.Fields, func(f Field) bool { return f.Key == key && !f.isFixed })
		if i < 0 {
			return lang.Errorf("profile %s has no key %s, want one of %s", b.Name, quoteShort(key), joinValues(keys))
		}
		f, values := &b.Fields[i], b.userValues[key]
		if len(values) > 1 && !f.isList() {
			return lang.Errorf("%s takes one value, found %d", key, len(values))
		}
		if err := b.checkField(f, values); err != nil {
			return err
		}
	}
	return nil
}

// shellExpansion matches folders that need expansion by a shell.
var shellExpansion = lang.Pattern(`^~|\$\{|\$[A-Za-z_]`)

// checkField refuses values that the check of the result would report misleadingly.
func (b *builder) checkField(f *Field, values []string) error {
	for _, v := range values {
		since, hasSince := f.row.since[v]
		scene := f.Key == "dump_scene"
		switch {
		case f.Key == "dump_path" && !isRemote(v) && shellExpansion().MatchString(v):
			return lang.Errorf("dump_path %s is used literally by the runtime, which expands neither ~ nor variables: write the full path", quoteShort(v))
		case scene && v == watcherScene:
			return lang.Errorf("profile %s needs dump_scene %s, found %s; use profile %s", b.Name, joinValues(f.Values), quoteShort(v), v)
		case scene && !slices.Contains(f.Values, v):
			return lang.Errorf("profile %s needs dump_scene %s, found %s", b.Name, joinValues(f.Values), quoteShort(v))
		case hasSince && b.opt.TargetVersion.lacks(since):
			return lang.Errorf("%s %s needs version %v or later, the target is %v", f.Key, v, since, b.opt.TargetVersion)
		case f.wantsNumbers() && !isNumber(v) && f.Values != nil:
			return lang.Errorf("%s must be one of %s, found %s", f.Key, joinValues(f.Values), quoteShort(v))
		case f.wantsNumbers() && !isNumber(v):
			return lang.Errorf("%s must be a number such as 0 or 12, found %s", f.Key, quoteShort(v))
		case f.Type == TypeBool && v != "true" && v != "false" && !lang.DiffersOnlyInForm("true", v) && !lang.DiffersOnlyInForm("false", v):
			return lang.Errorf("%s must be true or false, found %s", f.Key, quoteShort(v))
		case !utf8.ValidString(v):
			return lang.Errorf("%s: %s is not UTF-8", f.Key, quoteShort(v))
		}
	}
	return nil
}

// values returns the chosen values of a key.
func (b *builder) values(key string) []string {
	for i, v := range b.fieldValues {
		if v != nil && b.Fields[i].Key == key {
			return v
		}
	}
	return nil
}

// value returns the only chosen value of a key, or empty.
func (b *builder) value(key string) string {
	if v := b.values(key); len(v) > 0 {
		return v[0]
	}
	return ""
}

// isGiven reports whether the key was given.
func (b *builder) isGiven(key string) bool { return len(b.userValues[key]) > 0 }

// valuesOf returns the values of a field; nil omits it. Defaults of keys that the target version does
// not know are omitted.
func (b *builder) valuesOf(f *Field) []string {
	if b.isGiven(f.Key) && !f.isFixed {
		return b.userValues[f.Key]
	}
	since, until := f.row.Since, f.row.Until
	switch target := b.opt.TargetVersion; {
	case !since.IsNewest() && target.IsBefore(since), !until.IsNewest() && !target.IsBefore(until):
		return nil
	case f.preset != nil:
		return f.preset(b, f.Default)
	default:
		return f.Default
	}
}

// jsonValue returns the JSON value of a field.
func (f *Field) jsonValue(values []string) *jsonpos.Value {
	switch {
	case f.row.isCommaList:
		return jsonString(strings.Join(values, ","))
	case f.row.Type == TypeObjects:
		return jsonArray(values, func(v string) *jsonpos.Value {
			o := jsonObject()
			addMember(o, "name", jsonString(v))
			return o
		})
	case f.isList():
		return jsonArray(values, f.jsonElement)
	default:
		return f.jsonElement(values[0])
	}
}

// jsonElement returns the JSON of one value. An invalid number or boolean becomes a string, which the
// check refuses in its own words.
func (f *Field) jsonElement(v string) *jsonpos.Value {
	if (f.wantsNumbers() || f.row.Type == TypeAny) && isNumber(v) || f.Type == TypeBool && (v == "true" || v == "false") {
		return &jsonpos.Value{Kind: jsonpos.Number, Text: v}
	}
	return jsonString(v)
}

// isNumber reports whether v is a number in MindSpore's syntax.
func isNumber(v string) bool { return isDigits(v) && (v == "0" || v[0] != '0') }

// build returns the configuration.
func (b *builder) build() *jsonpos.Value {
	root := jsonObject()
	for i := range b.Fields {
		b.fieldValues[i] = b.valuesOf(&b.Fields[i])
	}
	for i := range b.Fields {
		f := &b.Fields[i]
		if b.fieldValues[i] != nil && f.table != &aclItem {
			addMember(b.addObject(root, f.table), f.Key, f.jsonValue(b.fieldValues[i]))
		}
		if b.hasList && f.Key == "dump_path" {
			addMember(root.Get("dump").Value, "dump_list", b.dumpList())
		}
	}
	return root
}

// addObject returns the object of a table of keys, and adds it to the root if it is missing.
func (b *builder) addObject(root *jsonpos.Value, t *keyTable) *jsonpos.Value {
	name := t.name
	switch {
	case t == &msprobeRoot:
		return root
	case t == &msprobeTask:
		name = b.value("task")
	}
	if m := root.Get(name); m != nil {
		return m.Value
	}
	return addMember(root, name, jsonObject())
}

// dumpList returns dump_list: an item for each model, or one for all models.
func (b *builder) dumpList() *jsonpos.Value {
	items := &jsonpos.Value{Kind: jsonpos.Array}
	if b.value("dump_op_switch") == "on" && b.opt.TargetVersion.IsBefore(sinceCANN82) {
		return items
	}
	models := b.values("model_name")
	for i := range max(1, len(models)) {
		o := jsonObject()
		if len(models) > 0 {
			addMember(o, "model_name", jsonString(models[i]))
		}
		for j := range b.Fields {
			f := &b.Fields[j]
			if v := b.fieldValues[j]; f.table == &aclItem && v != nil && f.Key != "model_name" {
				addMember(o, f.Key, f.jsonValue(v))
			}
		}
		items.Elems = append(items.Elems, o)
	}
	return items
}

// printable returns s on one line, without control characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError || r == 0x2028 || r == 0x2029 || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}

// quoteJSON returns s as a JSON string for a message.
func quoteJSON(s string) string { return jsonpos.Quote(shorten(printable(s))) }

// addStep adds a next step.
func (b *builder) addStep(key string, args ...any) {
	b.steps = append(b.steps, text(key, args...))
}

// addPlaceholderSteps adds a step for each remaining placeholder.
func (b *builder) addPlaceholderSteps() {
	for i, f := range b.Fields {
		if f.Placeholder && !b.isGiven(f.Key) && b.fieldValues[i] != nil {
			b.addStep("next.placeholder", f.Key, joinValues(b.fieldValues[i]))
		}
	}
}

// nextStep adds the step of a key with its arguments. A key may stand for several steps.
func (b *builder) nextStep(key string) {
	path := b.value("dump_path")
	switch {
	case key == "next.folder" && path == "": // the environment decides
	case key == "next.folder" && isRemote(path):
		b.addStep("next.remote-folder", printable(path))
	case key == "next.folder":
		b.addStep(key, lang.ShellLine([]string{"mkdir", "-p", lang.PathArgument(path)}))
	case key == "next.analyze":
		b.addStep(key, lang.CommandLine("overflow", "analyze", "-d", lang.PathArgument(localPath(path))))
	case key == "next.exception-folder":
		b.addStep(key, text("where.exception-order"))
	case key == "next.large-model" && b.opt.TargetVersion.IsBefore(sinceCANN70):
		b.addStep("next.large-model-old")
	case key == "next.large-network" && b.opt.TargetVersion.IsBefore(sinceMS16):
		b.addStep("next.large-network-old")
	case key == "next.ms-files":
		b.addStep(key, printable(b.value("path")))
	case key == nextOfBackend:
		b.addBackendSteps()
	default:
		b.addStep(key)
	}
}

// nextOfBackend stands for the steps that depend on the dumping component.
const nextOfBackend = "backend"

// addBackendSteps adds the steps that depend on the dumping component.
func (b *builder) addBackendSteps() {
	target := b.opt.TargetVersion
	switch {
	case b.opt.needsMsprobe():
		b.addStep("next.left-to-msprobe")
		return
	case b.isWrittenByFramework() && b.opt.lacksE2EDump():
		b.addStep("next.no-e2e-dump")
		return
	case b.isWrittenByFramework():
		b.addStep("next.sink-mode")
		return
	case target.IsBefore(sinceMS23): // the device dumps by default
		return
	case target.IsBefore(sinceMS24):
	case target.IsNewest():
		b.addStep("next.o2-until-26")
	case target.IsBefore(sinceMS26):
		b.addStep("next.o2-only")
	default:
		b.addStep("next.release-without-e2e")
		return
	}
	if !b.opt.isKernelByKernel() {
		b.addStep("environment.sink-size")
	}
}

// isWrittenByFramework reports whether MindSpore itself writes the dump: the file has e2e_dump_settings.
func (b *builder) isWrittenByFramework() bool {
	for i, v := range b.fieldValues {
		if v != nil && b.Fields[i].table == &mindSporeE2E {
			return true
		}
	}
	return false
}

// localPath returns the folder of a path, also on another host.
func localPath(path string) string {
	if !isRemote(path) {
		return path
	}
	_, folder, _ := strings.Cut(path, ":")
	return folder
}

// Configurations are built from JSON values without positions; members keep their order.

func jsonString(s string) *jsonpos.Value { return &jsonpos.Value{Kind: jsonpos.String, Text: s} }

// jsonArray returns an array with an element for each value.
func jsonArray(values []string, element func(string) *jsonpos.Value) *jsonpos.Value {
	a := &jsonpos.Value{Kind: jsonpos.Array}
	for _, v := range values {
		a.Elems = append(a.Elems, element(v))
	}
	return a
}

func jsonObject() *jsonpos.Value { return &jsonpos.Value{Kind: jsonpos.Object} }

// addMember appends a member to an object and returns its value.
func addMember(o *jsonpos.Value, key string, value *jsonpos.Value) *jsonpos.Value {
	o.Members = append(o.Members, jsonpos.Member{Key: key, Value: value})
	return value
}

// appendJSON formats a value; line is a newline and the indentation of the value's last line.
// Arrays of objects take several lines, other arrays one.
func appendJSON(b []byte, v *jsonpos.Value, line string) []byte {
	inner := line + "  "
	switch v.Kind {
	case jsonpos.String:
		return append(b, jsonpos.Quote(v.Text)...)
	case jsonpos.Array:
		before, between, after := "", ", ", ""
		if len(v.Elems) > 0 && len(v.Elems[0].Members) > 0 {
			before, between, after = inner, ","+inner, line
		}
		b = append(b, '[')
		for _, e := range v.Elems {
			b = appendJSON(append(b, before...), e, inner)
			before = between
		}
		return append(append(b, after...), ']')
	case jsonpos.Object:
		if len(v.Members) == 0 {
			return append(b, "{}"...)
		}
		before := "{" + inner
		for _, m := range v.Members {
			b = append(b, before+jsonpos.Quote(m.Key)+": "...)
			b = appendJSON(b, m.Value, inner)
			before = "," + inner
		}
		return append(append(b, line...), '}')
	default:
		return append(b, v.Text...)
	}
}
