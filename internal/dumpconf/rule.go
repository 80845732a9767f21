package dumpconf

import (
	"iter"
	"slices"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// stage is when the ACL runtime looks at something. It stops at the first
// error, and some settings make it skip the later stages.
type stage int

const (
	stageLint   stage = iota // never
	stageLimits              // size and nesting, before parsing
	stageParse
	stageDump
	stageTypes     // of the keys of dump
	stageListTypes // of arrays and their members
	stageValues    // enumerated strings
	stageScene     // conflicts of dump_scene; an exception scene ends here
	stagePath
	stageDebug // conflicts of dump_debug; dump_debug on ends here
	stageStep
	stageList
	stageStats
)

// rule is one thing to check, with all that is known about it. The message is a
// format whose arguments run passes to the reporter.
type rule struct {
	id       string
	severity Severity // the worst, when findings differ
	code     string   // of the runtime, for findings of this severity
	stage    stage
	checks   string // what is wrong, for the documentation
	message  Text
	// guess says that the rule is about what is missing, ignored or unknown, which
	// cannot be known of a text whose quotes or brackets are damaged.
	guess bool
	// An explanation of the file says why the setting of a warning has no effect, or
	// what else to mind, where needs holds for the settings as the target reads them.
	ignored, mind Text
	needs         func(a *ACL) bool // nil for always

	// What finds it, with what its schema is read into or without.
	run    func(r *reporter)
	acl    func(a *ACL, r *reporter)
	item   func(it *Object, r *reporter) // each of dump_list
	ms     func(m *MindSpore, r *reporter)
	engine func(e *EngineOptions, r *reporter)
}

// asSaid is the message of rules whose findings are said where they are found.
var asSaid = Text{EN: "%s", ZH: "%s"}

// ruleGroup is rules for some schemas.
type ruleGroup struct {
	schemas []Schema
	rules   []rule
}

// ruleGroups are all rules, in the order in which they are applied.
var ruleGroups = []ruleGroup{
	{[]Schema{SchemaMsprobe}, msprobeRules},
	{[]Schema{SchemaACL, SchemaGE, SchemaTF, SchemaMsprobe}, syntaxRules},
	{[]Schema{SchemaACL, SchemaMindSpore, SchemaGE, SchemaTF, SchemaMsprobe}, fileRules},
	{[]Schema{SchemaACL, SchemaMindSpore, SchemaGE, SchemaTF}, targetRules},
	{[]Schema{SchemaACL}, slices.Concat(aclShapeRules, aclValueRules, aclPathRules, aclStepRules, aclSceneRules, aclWatcherRules,
		aclListRules, aclStatsRules, aclSurroundingsRules)},
	{[]Schema{SchemaMindSpore}, slices.Concat(mindSporeShapeRules, mindSporeCommonRules, mindSporeIterationRules, mindSporeDataRules,
		mindSporeDebugRules, mindSporeKernelRules, mindSporeE2ERules, mindSporeBackendRules, mindSporeOldRules, mindSporeTreeRules)},
	{[]Schema{SchemaGE}, geRules},
	{[]Schema{SchemaGE, SchemaTF}, engineRules},
	{[]Schema{SchemaTF}, tfRules},
}

// rules are the rules of a schema, or with SchemaUnknown all, and their places in the order.
func rules(of Schema) iter.Seq2[int, *rule] {
	return func(yield func(int, *rule) bool) {
		order := 0
		for _, g := range ruleGroups {
			for i := range g.rules {
				order++
				if (of == SchemaUnknown || slices.Contains(g.schemas, of)) && !yield(order, &g.rules[i]) {
					return
				}
			}
		}
	}
}

// ruleOf returns the rule of an id.
func ruleOf(id string) *rule {
	for _, r := range rules(SchemaUnknown) {
		if r.id == id {
			return r
		}
	}
	panic("no rule " + id)
}

// RuleInfo documents a rule.
type RuleInfo struct {
	ID       string
	Severity Severity // the worst, when findings of the rule differ
	Checks   string   // what is wrong when the rule has a finding
}

// Rules returns all rules, ordered by id.
func Rules() []RuleInfo {
	var out []RuleInfo
	for _, r := range rules(SchemaUnknown) {
		out = append(out, RuleInfo{r.id, r.severity, r.checks})
	}
	slices.SortFunc(out, func(a, b RuleInfo) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// maxPerRule bounds the findings of a rule: who has more has seen enough.
const maxPerRule = 100

// reporter adds the findings of one rule, up to maxPerRule.
type reporter struct {
	*check
	rule  *rule
	order int // of the rule
	count int

	dropped Finding // takes what is not listed
}

// apply looks for what the rule is about.
func (r *reporter) apply() {
	switch {
	case r.rule.acl != nil:
		r.rule.acl(r.acl, r)
	case r.rule.item != nil:
		for _, it := range r.acl.items() {
			r.rule.item(it, r)
		}
	case r.rule.ms != nil:
		r.rule.ms(r.ms, r)
	case r.rule.engine != nil:
		r.rule.engine(r.engine, r)
	default:
		r.rule.run(r)
	}
}

// full reports whether further findings are dropped.
func (r *reporter) full() bool {
	r.more = r.more || r.count >= maxPerRule
	return r.count >= maxPerRule
}

// nearest is lang.Nearest; it does not search for findings that are dropped.
func (r *reporter) nearest(word string, words []string) string {
	if r.full() {
		return ""
	}
	return lang.Nearest(word, words)
}

// at reports something with the severity of the rule.
func (r *reporter) at(s span, args ...any) *Finding { return r.as(r.rule.severity, s, args...) }

// when is at, if something is so.
func (r *reporter) when(is bool, s span, args ...any) *Finding {
	if !is {
		return &r.dropped
	}
	return r.at(s, args...)
}

// as reports something with another severity.
func (r *reporter) as(severity Severity, s span, args ...any) *Finding {
	if r.full() {
		return &r.dropped
	}
	r.count++
	f := &Finding{
		rule: r.rule, Rule: r.rule.id, Severity: severity, Code: r.rule.code, Path: s.path,
		Place:   Place{Offset: s.start, Length: s.end - s.start},
		Message: lang.Sayf(r.rule.message.EN, r.rule.message.ZH, args...),
		stage:   r.rule.stage, order: r.order,
	}
	if severity != r.rule.severity {
		f.Code, f.stage = "", stageLint // not what the runtime rejects
	}
	if reason := r.check.ignored(f.stage); !reason.IsZero() {
		f.Severity = min(f.Severity, Warning)
		f.Code, f.Ignored, f.stage = "", reason, stageLint
	}
	r.findings = append(r.findings, f)
	return f
}

// mistyped reports the values of the wrong type that are this rule's.
func (r *reporter) mistyped() {
	for _, m := range r.read.mistyped {
		if m.key.rule != r.rule.id {
			continue
		}
		text, hint := m.repaired(), lang.Sentence{}
		if text != "" {
			hint = lang.Sayf("; write %s", "；请写 %s", text)
		}
		f := r.at(m.valueSpan(), lang.Sayf("%s must be %s, found %s%s", "%s 必须为%s，实际为%s%s", jsonpos.Quote(lastOf(m.Path)), m.want, m.found(), hint)).suggest(text)
		if text != "" {
			f.Edits = replace(m.valueSpan(), text)
		}
	}
}

// values reports the values of this rule's keys that are none.
func (r *reporter) values() {
	r.mistyped()
	r.enums()
}

// enums reports strings that are not among the values of their key, when the
// key is this rule's.
func (r *reporter) enums() {
	for _, e := range r.read.enums {
		if e.key.rule == r.rule.id {
			r.enum(e)
		}
	}
}

// enum reports a string that is not among the values of its key.
func (r *reporter) enum(e Setting) {
	if slices.Contains(e.key.Values, e.Value) {
		return
	}
	best, hint := r.nearest(e.Value, e.key.Values), lang.Sentence{}
	exact := best != "" && lang.SameButForm(best, e.Value)
	switch {
	case exact:
		hint = lang.Sayf("; write %s exactly so", "；请严格写为 %s", jsonpos.Quote(best))
	case best != "":
		hint = didYouMean(best)
	}
	f := r.at(e.valueSpan(), lang.Sayf("%s is no value of %s; allowed are %s%s", "%s 不是 %s 的取值，可选值为 %s%s", show(e.Value), e.key.Name, list(e.key.Values), hint)).suggest(best)
	if exact {
		f.repair(e, best)
	}
}

// didYouMean is a hint at another word.
func didYouMean(word string) lang.Sentence {
	return lang.Sayf("; did you mean %s?", "；是否指 %s？", jsonpos.Quote(word))
}

// suggest says what to write instead.
func (f *Finding) suggest(text string) *Finding {
	f.Suggestion = text
	return f
}

// repair suggests a string in place of a value, and does it.
func (f *Finding) repair(s Setting, text string) {
	f.suggest(text).Edits = replace(s.valueSpan(), jsonpos.Quote(text))
}

// insert suggests a member of an object, and adds it.
func (r *reporter) insert(f *Finding, o *Object, key, value string) {
	f.suggest(jsonpos.Quote(key) + ": " + jsonpos.Quote(value)).Edits = o.insertion(r.doc.Source(), key, value)
}

// replace is the edit that puts a text in a place.
func replace(s span, text string) []jsonpos.Edit {
	return []jsonpos.Edit{{Offset: s.start, Length: s.end - s.start, Text: text}}
}

// lastOf returns the last part of a path, with its index.
func lastOf(path string) string {
	if i := strings.LastIndexByte(path, '.'); i >= 0 && !strings.HasSuffix(path, `"]`) {
		return path[i+1:]
	}
	return strings.TrimSuffix(strings.TrimPrefix(path, `["`), `"]`)
}

// found describes the value that has the wrong type.
func (m *mistyped) found() any {
	switch m.Node.Kind {
	case jsonpos.String:
		return lang.Sayf("the string %s", "字符串 %s", show(m.Node.Text))
	case jsonpos.Number, jsonpos.Bool:
		return Text{EN: shorten(m.Node.Text), ZH: " " + shorten(m.Node.Text)}
	default:
		return m.Node.Kind
	}
}

// repaired returns the value as it is surely meant, or nothing.
func (m *mistyped) repaired() string {
	text, kind := m.Node.Text, m.Node.Kind
	switch {
	case m.want == TypeString && kind == jsonpos.Bool && slices.Equal(m.key.Values, onOff):
		if text == "true" {
			return `"on"`
		}
		return `"off"`
	case m.want == TypeString && kind == jsonpos.Number && isDigits(text) && len(text) < 10 &&
		(m.key.Values == nil || m.key.ownCheck || slices.Contains(m.key.Values, text)):
		return jsonpos.Quote(text)
	case m.want == TypeUint && kind == jsonpos.String && isDigits(text) && len(text) < 10 && (text == "0" || text[0] != '0'):
		return text
	case m.want == TypeBool && kind == jsonpos.String && (strings.EqualFold(text, "true") || strings.EqualFold(text, "false")):
		return strings.ToLower(text)
	default:
		return ""
	}
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
