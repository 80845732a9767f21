package dumpconf

import (
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/dumpconf/jsonpos"
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

// rule is one thing to check. The message is a format whose arguments run
// passes to the reporter.
type rule struct {
	id       string
	severity Severity // the worst, when findings differ
	code     string   // of the runtime
	stage    stage
	checks   string // what is wrong, for the documentation
	message  string
	run      func(c *check, r *reporter)
}

// ruleGroup is rules for some schemas.
type ruleGroup struct {
	schemas []Schema
	rules   []rule
}

func ruleGroups() []ruleGroup {
	acl := []Schema{SchemaACL}
	mindSpore := []Schema{SchemaMindSpore}
	engine := []Schema{SchemaGE, SchemaTF}
	return []ruleGroup{
		{[]Schema{SchemaMsprobe}, msprobeRules()},
		{[]Schema{SchemaACL, SchemaGE, SchemaTF}, syntaxRules()},
		{[]Schema{SchemaACL, SchemaMindSpore, SchemaGE, SchemaTF}, fileRules()},
		{[]Schema{SchemaACL, SchemaMindSpore, SchemaGE, SchemaTF}, targetRules()},
		{acl, aclShapeRules()},
		{acl, aclValueRules()},
		{acl, aclPathRules()},
		{acl, aclStepRules()},
		{acl, aclSceneRules()},
		{acl, aclWatcherRules()},
		{acl, aclListRules()},
		{acl, aclFilterRules()},
		{acl, aclStatsRules()},
		{acl, aclSurroundingsRules()},
		{mindSpore, mindSporeShapeRules()},
		{mindSpore, mindSporeCommonRules()},
		{mindSpore, mindSporeIterationRules()},
		{mindSpore, mindSporeDataRules()},
		{mindSpore, mindSporeDebugRules()},
		{mindSpore, mindSporeKernelRules()},
		{mindSpore, mindSporeE2ERules()},
		{mindSpore, mindSporeBackendRules()},
		{mindSpore, mindSporeOldRules()},
		{[]Schema{SchemaGE}, geRules()},
		{engine, engineRules()},
		{[]Schema{SchemaTF}, tfRules()},
	}
}

// RuleInfo documents a rule.
type RuleInfo struct {
	ID       string
	Severity Severity // the worst, when findings of the rule differ
	Code     string   // the runtime's own error code, or empty
	Checks   string   // what is wrong when the rule has a finding
	Schemas  []Schema
}

// Rules returns all rules, ordered by id.
func Rules() []RuleInfo {
	var out []RuleInfo
	for _, g := range ruleGroups() {
		for i := range g.rules {
			r := &g.rules[i]
			out = append(out, RuleInfo{r.id, r.severity, r.code, r.checks, slices.Clone(g.schemas)})
		}
	}
	slices.SortFunc(out, func(a, b RuleInfo) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// maxPerRule bounds the findings of a rule: who has more has seen enough.
const maxPerRule = 100

// reporter adds the findings of one rule.
type reporter struct {
	c     *check
	rule  *rule
	order int // of the rule
	count int
}

// full reports whether further findings would be dropped.
func (r *reporter) full() bool {
	if r.count >= maxPerRule {
		r.c.more = true
		return true
	}
	return false
}

// at reports something with the severity of the rule.
func (r *reporter) at(s spot, args ...any) *Finding { return r.as(r.rule.severity, s, args...) }

// as reports something with another severity.
func (r *reporter) as(severity Severity, s spot, args ...any) *Finding {
	f := &Finding{
		Rule: r.rule.id, Severity: severity, Code: r.rule.code, Path: s.path,
		Place:   Place{Offset: s.start, Length: s.end - s.start},
		Message: fmt.Sprintf(r.rule.message, args...),
		stage:   r.rule.stage, order: r.order,
	}
	if severity != r.rule.severity {
		f.Code, f.stage = "", stageLint // not what the runtime rejects
	}
	if reason := r.c.ignored(f.stage); reason != "" {
		f.Severity = min(f.Severity, Warning)
		f.Code, f.Ignored, f.stage = "", reason, stageLint
	}
	if !r.full() {
		r.count++
		r.c.findings = append(r.c.findings, f)
	}
	return f
}

// mistyped reports the values of the wrong type that are this rule's.
func (r *reporter) mistyped() {
	for _, m := range r.c.read.mistyped {
		if m.key.rule != r.rule.id || r.full() {
			continue
		}
		text, hint := m.repaired(), ""
		if text != "" {
			hint = "; write " + text
		}
		f := r.at(m.at, fmt.Sprintf("%s must be %s, found %s%s", jsonpos.Quote(lastOf(m.at.path)), m.want, m.found(), hint))
		f.Suggestion = text
		if text != "" {
			f.Edits = replace(m.at, text)
		}
	}
}

// enums reports strings that are not among the values of their key, when the
// key is this rule's.
func (r *reporter) enums() {
	for _, e := range r.c.read.enums {
		if e.key.rule == r.rule.id && !slices.Contains(e.key.Values, e.Value) && !r.full() {
			r.enum(e)
		}
	}
}

// enum reports a string that is not among the values of its key.
func (r *reporter) enum(e enumerated) {
	best := nearest(e.Value, e.key.Values)
	hint := ""
	switch {
	case best != "" && sameButForm(best, e.Value):
		hint = "; write " + jsonpos.Quote(best) + " exactly so"
	case best != "":
		hint = "; did you mean " + jsonpos.Quote(best) + "?"
	}
	f := r.at(e.valueSpot(), fmt.Sprintf("%s is no value of %s; allowed are %s%s", show(e.Value), e.key.Name, list(e.key.Values), hint))
	f.Suggestion = best
	if best != "" && sameButForm(best, e.Value) {
		f.Edits = replace(e.valueSpot(), jsonpos.Quote(best))
	}
}

// replace is the edit that puts a text in a place.
func replace(s spot, text string) []jsonpos.Edit {
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
func (m *mistyped) found() string {
	switch m.node.Kind {
	case jsonpos.String:
		return "the string " + show(m.node.Text)
	case jsonpos.Number, jsonpos.Bool:
		return shorten(m.node.Text)
	default:
		return m.node.Kind.String()
	}
}

// repaired returns the value as it is surely meant, or nothing.
func (m *mistyped) repaired() string {
	text, kind := m.node.Text, m.node.Kind
	switch {
	case m.want == TypeString && kind == jsonpos.Bool && slices.Equal(m.key.Values, onOff):
		if text == "true" {
			return `"on"`
		}
		return `"off"`
	case m.want == TypeString && kind == jsonpos.Number && isDigits(text) && len(text) < 10 &&
		(m.key.Values == nil || slices.Contains(m.key.Values, text)):
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
