package dumpconf

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// validationStep is a step of validation in the ACL runtime. It stops at the first error, and some settings
// make it skip later stages.
type validationStep int

const (
	stageLint   validationStep = iota // the runtime has no such check
	stageLimits                       // size and nesting, before parsing
	stageParse
	stageDump
	stageTypes     // of the keys of dump
	stageListTypes // of arrays and their members
	stageValues    // enumerated strings
	stageScene     // conflicts of dump_scene; with an exception scene, validation ends here
	stagePath
	stageDebug // conflicts of dump_debug; with dump_debug on, validation ends here
	stageStep
	stageList
	stageStats
)

// rule checks one thing and documents it. message is a format for the arguments that run passes to
// the reporter.
type rule struct {
	id       string
	severity Severity // the highest, if findings differ
	code     string   // the runtime's code, for findings of this severity
	stage    validationStep
	checks   string // the fault, for the documentation
	message  Text
	// guess marks rules about missing, ignored or unknown settings, which cannot be known in a text
	// with damaged quotes or brackets.
	guess bool
	// For explanations: why the setting of a warning has no effect, or another caution, if needs
	// holds for the settings as the target reads them.
	ignored, caution Text
	condition        func(a *ACL) bool // nil for always

	// The check, with or without the settings of its schema; one is set.
	run    func(r *reporter)
	acl    func(a *ACL, r *reporter)
	item   func(it *Object, r *reporter) // for each item of dump_list
	ms     func(m *MindSpore, r *reporter)
	engine func(e *EngineOptions, r *reporter)
}

// sentenceMessage is the message of rules whose checks pass whole sentences.
var sentenceMessage = Text{EN: "%s"}

// ruleGroup holds rules for some schemas.
type ruleGroup struct {
	schemas []Schema
	rules   []rule
}

// ruleGroups lists all rules, in the order of application.
var ruleGroups = []ruleGroup{
	{[]Schema{SchemaMsprobe}, msprobeRules},
	{[]Schema{SchemaACL, SchemaGE, SchemaTF, SchemaMsprobe}, syntaxRules},
	{[]Schema{SchemaACL, SchemaMindSpore, SchemaGE, SchemaTF, SchemaMsprobe}, fileRules},
	{[]Schema{SchemaACL, SchemaMindSpore, SchemaGE, SchemaTF}, targetRules},
	{[]Schema{SchemaACL}, slices.Concat(aclShapeRules, aclValueRules, aclPathRules, aclStepRules, aclSceneRules, aclWatcherRules,
		aclListRules, aclStatsRules, aclEnvironmentRules)},
	{[]Schema{SchemaMindSpore}, slices.Concat(mindSporeShapeRules, mindSporeCommonRules, mindSporeIterationRules, mindSporeDataRules,
		mindSporeDebugRules, mindSporeKernelRules, mindSporeE2ERules, mindSporeBackendRules, mindSporeOldRules, mindSporeTreeRules)},
	{[]Schema{SchemaGE}, geRules},
	{[]Schema{SchemaGE, SchemaTF}, engineRules},
	{[]Schema{SchemaTF}, tfRules},
}

// eachRule yields the rules of a schema, all for SchemaUnknown, with their order.
func eachRule(schema Schema) iter.Seq2[int, *rule] {
	return func(yield func(int, *rule) bool) {
		order := 0
		for _, g := range ruleGroups {
			for i := range g.rules {
				order++
				if (schema == SchemaUnknown || slices.Contains(g.schemas, schema)) && !yield(order, &g.rules[i]) {
					return
				}
			}
		}
	}
}

func ruleOf(id string) *rule {
	for _, r := range eachRule(SchemaUnknown) {
		if r.id == id {
			return r
		}
	}
	panic("no rule " + id)
}

// RuleInfo documents a rule.
type RuleInfo struct {
	ID       string
	Severity Severity // the highest, if findings of the rule differ
	Checks   string   // the fault that the rule finds
}

// Rules returns all rules, ordered by id.
func Rules() []RuleInfo {
	var out []RuleInfo
	for _, r := range eachRule(SchemaUnknown) {
		out = append(out, RuleInfo{r.id, r.severity, r.checks})
	}
	slices.SortFunc(out, func(a, b RuleInfo) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// maxPerRule bounds the findings of a rule in a report.
const maxPerRule = 100

// reporter adds the findings of one rule, up to maxPerRule.
type reporter struct {
	*check
	rule  *rule
	order int // of the rule
	count int

	dropped Finding // receives findings beyond maxPerRule
}

// apply runs the check of the rule.
func (r *reporter) apply() {
	switch {
	case r.rule.acl != nil:
		r.rule.acl(r.ACL, r)
	case r.rule.item != nil:
		for _, it := range r.ACL.items() {
			r.rule.item(it, r)
		}
	case r.rule.ms != nil:
		r.rule.ms(r.MindSpore, r)
	case r.rule.engine != nil:
		r.rule.engine(r.Engine, r)
	default:
		r.rule.run(r)
	}
}

// isFull reports whether further findings are dropped.
func (r *reporter) isFull() bool {
	r.More = r.More || r.count >= maxPerRule
	return r.count >= maxPerRule
}

// nearestWord calls lang.Nearest unless the finding would be dropped.
func (r *reporter) nearestWord(word string, words []string) string {
	if r.isFull() {
		return ""
	}
	return lang.Nearest(word, words)
}

// report reports a finding with the severity of the rule.
func (r *reporter) report(s span, args ...any) *Finding {
	return r.reportAs(r.rule.severity, s, args...)
}

func (r *reporter) reportIf(condition bool, s span, args ...any) *Finding {
	if !condition {
		return &r.dropped
	}
	return r.report(s, args...)
}

// reportAs reports a finding with another severity.
func (r *reporter) reportAs(severity Severity, s span, args ...any) *Finding {
	if r.isFull() {
		return &r.dropped
	}
	r.count++
	f := &Finding{
		rule: r.rule, Rule: r.rule.id, Severity: severity, Code: r.rule.code, Path: s.path,
		TextRange: TextRange{Offset: s.start, Length: s.end - s.start},
		Message:   lang.Say(r.rule.message.EN, args...),
		stage:     r.rule.stage, order: r.order,
	}
	if severity != r.rule.severity {
		f.Code, f.stage = "", stageLint // the runtime does not reject this
	}
	if reason := r.check.unreachedReason(f.stage); !reason.IsZero() {
		f.Severity = min(f.Severity, Warning)
		f.Code, f.Ignored, f.stage = "", reason, stageLint
	}
	r.findings = append(r.findings, f)
	return f
}

// reportTypes reports values of the wrong type, for the keys of this rule.
func (r *reporter) reportTypes() {
	for _, m := range r.read.typeErrors {
		if m.key.rule != r.rule.id {
			continue
		}
		text, hint := m.intendedValue(), lang.Sentence{}
		if text != "" {
			hint = lang.Say("; write %s", text)
		}
		f := r.report(m.valueSpan(), lang.Say("%s must be %s, found %s%s", jsonpos.Quote(lastPart(m.Path)), m.wantType, m.describeFound(), hint)).suggest(text)
		if text != "" {
			f.Edits = replaceEdit(m.valueSpan(), text)
		}
	}
}

// reportValues reports invalid values, for the keys of this rule.
func (r *reporter) reportValues() {
	r.reportTypes()
	r.reportEnums()
}

// reportEnums reports strings outside of Values, for the keys of this rule.
func (r *reporter) reportEnums() {
	for _, e := range r.read.enums {
		if e.key.rule == r.rule.id {
			r.reportEnum(e)
		}
	}
}

// reportEnum reports a string that is not among the values of its key.
func (r *reporter) reportEnum(e Setting) {
	if slices.Contains(e.key.Values, e.Value) {
		return
	}
	best, hint := r.nearestWord(e.Value, e.key.Values), lang.Sentence{}
	exact := best != "" && lang.DiffersOnlyInForm(best, e.Value)
	switch {
	case exact:
		hint = lang.Say("; write %s exactly so", jsonpos.Quote(best))
	case best != "":
		hint = didYouMean(best)
	}
	f := r.report(e.valueSpan(), lang.Say("%s is no value of %s; allowed are %s%s", quoteShort(e.Value), e.key.Name, joinValues(e.key.Values), hint)).suggest(best)
	if exact {
		f.repair(e, best)
	}
}

// didYouMean returns a hint at another word.
func didYouMean(word string) lang.Sentence {
	return lang.Say("; did you mean %s?", jsonpos.Quote(word))
}

func (f *Finding) suggest(text string) *Finding {
	f.Suggestion = text
	return f
}

// repair suggests a string as the value, and adds the edit.
func (f *Finding) repair(s Setting, text string) {
	f.suggest(text).Edits = replaceEdit(s.valueSpan(), jsonpos.Quote(text))
}

// suggestMember suggests a member of an object, and adds the edit.
func (r *reporter) suggestMember(f *Finding, o *Object, key, value string) {
	f.suggest(jsonpos.Quote(key) + ": " + jsonpos.Quote(value)).Edits = o.insertion(r.Doc.Source(), key, value)
}

// replaceEdit returns the edit that replaces a span by a text.
func replaceEdit(s span, text string) []jsonpos.Edit {
	return []jsonpos.Edit{{Offset: s.start, Length: s.end - s.start, Text: text}}
}

// lastPart returns the last part of a path, including its index.
func lastPart(path string) string {
	if i := strings.LastIndexByte(path, '.'); i >= 0 && !strings.HasSuffix(path, `"]`) {
		return path[i+1:]
	}
	return strings.TrimSuffix(strings.TrimPrefix(path, `["`), `"]`)
}

// describeFound describes a value of the wrong type.
func (m *typeError) describeFound() any {
	switch m.Node.Kind {
	case jsonpos.String:
		return lang.Say("the string %s", quoteShort(m.Node.Text))
	case jsonpos.Number, jsonpos.Bool:
		return Text{EN: shorten(m.Node.Text), ZH: " " + shorten(m.Node.Text)}
	default:
		return m.Node.Kind
	}
}

// intendedValue returns the obviously intended value, or empty.
func (m *typeError) intendedValue() string {
	text, kind := m.Node.Text, m.Node.Kind
	switch {
	case m.wantType == TypeString && kind == jsonpos.Bool && slices.Equal(m.key.Values, onOff):
		if text == "true" {
			return `"on"`
		}
		return `"off"`
	case m.wantType == TypeString && kind == jsonpos.Number && isDigits(text) && len(text) < 10 &&
		(m.key.Values == nil || m.key.hasOwnRule || slices.Contains(m.key.Values, text)):
		return jsonpos.Quote(text)
	case m.wantType == TypeUint && kind == jsonpos.String && isDigits(text) && len(text) < 10 && (text == "0" || text[0] != '0'):
		return text
	case m.wantType == TypeBool && kind == jsonpos.String && (strings.EqualFold(text, "true") || strings.EqualFold(text, "false")):
		return strings.ToLower(text)
	default:
		return ""
	}
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

var syntaxRules = []rule{
	{id: "ACL001", severity: Error, code: "EP0004", stage: stageParse, checks: "the file is not strict JSON", message: sentenceMessage,
		run: (*reporter).reportSyntax},
	{id: "ACL003", severity: Error, code: "EP0004", stage: stageParse, checks: "the top level is not an object",
		guess: true, message: Text{EN: "the top level must be an object {...}, found %s"},
		run: func(r *reporter) {
			if r.root != nil && r.root.Kind != jsonpos.Object && r.root.Kind != jsonpos.Invalid {
				r.report(r.wholeText(), r.root.Kind)
			}
		}},
}

// reportSyntax reports the problems of the JSON parser. An empty file is an acl.json without dump.
func (r *reporter) reportSyntax() {
	if len(r.Doc.Source()) == 0 && r.Schema == SchemaACL {
		return
	}
	for _, p := range r.Doc.Problems {
		at := span{"", p.Offset, p.Offset + p.Length}
		if p.Cause == jsonpos.TooMany {
			r.reportAs(Warning, at, p.Message).syntax = true // the runtime may accept it
			continue
		}
		if p.Cause == jsonpos.ByteOrderMark {
			f := r.reportAs(Warning, at, lang.Say("%s; the runtimes skip it, other programs may not", p.Message))
			f.Edits, f.syntax = p.Edits, true
			continue
		}
		f := r.report(at, lang.Say("not valid JSON: %s", p.Message))
		f.Edits, f.syntax = p.Edits, true
		f.wholeFile = p.Cause == jsonpos.UTF16
		f.Suggestion = p.Repaired
		if len(p.Edits) == 1 && p.Edits[0].Text != "" && !f.wholeFile {
			f.Suggestion = shorten(p.Edits[0].Text)
		}
	}
}

// sizeRule is the only rule for files that are too large to read.
const sizeRule = "ACL002"

var tooLargeMessage = Text{EN: "the file is larger than 10 MiB, which the runtime does not read; nothing else was checked"}

// maxBrackets is the deepest nesting of each bracket that the ACL runtime accepts.
const maxBrackets = 10

var fileRules = []rule{
	{id: sizeRule, severity: Error, code: "ACL_ERROR_PARSE_FILE", stage: stageLimits, checks: "the file is larger or nested more deeply than the runtime accepts", message: sentenceMessage,
		run: func(r *reporter) {
			for _, b := range []string{"{}", "[]"} {
				if at := tooDeep(r.Doc.Source(), b[0], b[1]); at >= 0 && r.Schema == SchemaACL {
					r.report(span{"", at, at + 1}, lang.Say("more than %d levels of \"%c\"; the runtime counts them in the text, also inside strings", maxBrackets, b[0]))
				}
			}
		}},
	{id: "ACL008", severity: Warning, checks: "a key occurs twice in one object",
		message: Text{EN: "the key %s is given twice; the runtime uses this value, not the value in line %d, column %d"},
		ignored: Text{EN: "given twice; only the last one counts"},
		run:     func(r *reporter) { r.reportDuplicates(r.root, "") }},
	{id: "ACL091", severity: Warning, checks: "a key or value is newer than the target version",
		message: Text{EN: "%s needs version %v or later; version %v %s it"},
		ignored: Text{EN: "not supported by the target version, which is older"},
		run: func(r *reporter) {
			target := r.opt.TargetVersion
			for _, u := range r.read.used {
				r.reportIf(u.key.isNewerThan(target), u.keySpan(), u.key.Name, u.key.Since, target, Text{EN: "ignores"})
			}
			if r.ACL == nil {
				return
			}
			scene := r.ACL.setting("dump_scene")
			if since, hasSince := scene.key.since[scene.Value]; hasSince && target.lacks(since) && !scene.key.isNewerThan(target) {
				r.report(scene.valueSpan(), "dump_scene "+jsonpos.Quote(scene.Value), since, target, Text{EN: "rejects"})
			}
		}},
}

// tooDeep returns the offset of the first bracket nested too deeply, or -1. Like the runtime it
// also counts brackets in strings.
func tooDeep(src []byte, opening, closing byte) int {
	depth := 0
	for i, b := range src {
		switch {
		case b == opening:
			if depth++; depth > maxBrackets {
				return i
			}
		case b == closing && depth > 0:
			depth--
		}
	}
	return -1
}

// reportDuplicates reports repeated keys in a value and its descendants.
func (r *reporter) reportDuplicates(v *jsonpos.Value, path string) {
	if v == nil {
		return
	}
	for i, e := range v.Elems {
		if len(e.Members)+len(e.Elems) > 0 {
			r.reportDuplicates(e, fmt.Sprintf("%s[%d]", path, i))
		}
	}
	for first, again := range v.EachRepeated() {
		if r.isFull() {
			return
		}
		line, column := r.Doc.Position(first.KeyStart)
		f := r.report(span{jsonpos.JoinPath(path, again.Key), again.KeyStart, again.KeyEnd}, quoteShort(again.Key), line, column)
		f.Related = r.relatedRange(first.KeyStart, first.KeyEnd, Text{EN: "this value is not used"})
	}
	for i := range v.Members {
		r.reportDuplicates(v.Members[i].Value, jsonpos.JoinPath(path, v.Members[i].Key))
	}
}

// knownProducts lists examples of product names for messages.
var knownProducts = []string{"A2", "A3", "Ascend310P", "Ascend910", "Ascend910B", "cpu", "gpu"}

// productName matches product names without their brand.
var productName = lang.Pattern(`^(a[235]|cpu|gpu|[2-9][0-9]{2}.*)$`)

// targetRules check the target options against the file.
var targetRules = []rule{
	{id: "CFG002", severity: Warning, checks: "a product that is not known",
		message: Text{EN: "%s is no known product, so nothing is checked for it; known are %s"},
		run: func(r *reporter) {
			r.reportIf(r.opt.SoC != "" && !productName().MatchString(r.opt.soc()), r.wholeText(), quoteShort(r.opt.SoC), strings.Join(knownProducts, ", "))
		}},
	{id: "CFG003", severity: Info, checks: "a backend or product that means nothing for the schema",
		message: Text{EN: "%s applies to MindSpore only, and this file is for %s"},
		run: func(r *reporter) {
			other := r.Schema != SchemaMindSpore
			r.reportIf(other && r.opt.Backend != "", r.wholeText(), lang.Say("the backend %s", quoteShort(r.opt.Backend)), r.Schema)
			r.reportIf(other && r.opt.hasNoNPU(), r.wholeText(), lang.Say("the product %s", quoteShort(r.opt.SoC)), r.Schema)
		}},
	{id: "CFG004", severity: Warning, checks: "an acl.json with settings of MindSpore",
		message: Text{EN: "the ACL runtime does not read common_dump_settings, and MindSpore not \"dump\": make two files"},
		run: func(r *reporter) {
			if m := r.root.Get("common_dump_settings"); m != nil && r.Schema == SchemaACL {
				r.report(span{m.Key, m.KeyStart, m.KeyEnd})
			}
		}},
}
