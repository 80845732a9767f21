package dumpconf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/jsonpos"
)

// ruleCase is a text with a mark at each place where a rule has a finding. Without marks the rule
// must find nothing.
type ruleCase struct {
	rule    string
	text    string
	target  string // version
	opt     Options
	name    string   // of the file; "" for none
	message string   // a part of the first finding's message
	wants   Severity // of the first finding; checked if checked is set
	checked bool
}

// warns and informs set a severity that differs from the rule's.
func (c ruleCase) warns() ruleCase   { c.wants, c.checked = Warning, true; return c }
func (c ruleCase) informs() ruleCase { c.wants, c.checked = Info, true; return c }

func allCases() []ruleCase {
	return slices.Concat(fileCases(), aclShapeCases(), aclPathCases(), aclStepCases(), aclSceneCases(),
		aclListCases(), aclFilterCases(), mindSporeShapeCases(), mindSporeCommonCases(), mindSporeDataCases(),
		mindSporeDebugCases(), mindSporeKernelCases(), mindSporeE2ECases(), engineCases(),
		targetCases(), msprobeCases(), oldMindSporeCases(), enginePathCases(), treeCases())
}

// quotedText matches values and names in a message; english matches words that are no keys.
var (
	quotedText = regexp.MustCompile(`"[^"]*"|\[[^\]]*\]`)
	english    = regexp.MustCompile(`[a-z]{2,} [a-z]+ [a-z]{2,}|\b(is|are|must|the|found|missing)\b`)
)

// checkMessage checks the message of a finding in both languages.
func checkMessage(t *testing.T, m Text) {
	t.Helper()
	checkText(t, m)
	plain := quotedText.ReplaceAllString(m.Chinese(), "")
	for _, name := range hostStatistics { // some are English words
		plain = strings.ReplaceAll(plain, name, "")
	}
	if strings.Contains(m.String()+m.Chinese(), "%!") || english.MatchString(plain) {
		t.Errorf("message %q", m)
	}
}

func TestRules(t *testing.T) {
	severity := map[string]Severity{}
	for _, r := range Rules() {
		severity[r.ID] = r.Severity
	}
	for i, c := range allCases() {
		t.Run(fmt.Sprintf("%s_%d", c.rule, i), func(t *testing.T) {
			text, want := unmark(c.text)
			c.opt.TargetVersion = version(t, c.target)
			report := Check(c.name, []byte(text), c.opt)
			var got []string
			var first *Finding
			for i := range report.Findings {
				f := &report.Findings[i]
				if f.Rule != c.rule {
					continue
				}
				if first == nil {
					first = f
				}
				got = append(got, fmt.Sprintf("%d:%d", f.Line, f.Column))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s\n%s (-want +got):\n%s", text, c.rule, diff)
			}
			if first == nil {
				return
			}
			message := first.Message.Text()
			if !strings.Contains(message.String(), c.message) || message.String() == "" {
				t.Errorf("message %q, want %q in it", message.String(), c.message)
			}
			checkMessage(t, message)
			for _, other := range first.Related {
				checkMessage(t, other.Message.Text())
			}
			if !c.checked {
				c.wants = severity[c.rule]
			}
			if first.Severity != c.wants {
				t.Errorf("severity %v, want %v", first.Severity, c.wants)
			}
		})
	}
}

// TestEveryRuleHasCases: every rule has a case with a finding and one without.
func TestEveryRuleHasCases(t *testing.T) {
	positive, negative := map[string]bool{}, map[string]bool{}
	for _, c := range allCases() {
		if strings.Contains(c.text, mark) {
			positive[c.rule] = true
		} else {
			negative[c.rule] = true
		}
	}
	known := map[string]bool{}
	for _, r := range Rules() {
		known[r.ID] = true
		if !positive[r.ID] {
			t.Errorf("%s has no case with a finding", r.ID)
		}
		if !negative[r.ID] {
			t.Errorf("%s has no case without finding", r.ID)
		}
	}
	for id := range positive {
		if !known[id] {
			t.Errorf("cases for %s, which is no rule", id)
		}
	}
}

func TestRuleTable(t *testing.T) {
	id := regexp.MustCompile(`^(ACL0[0-9]{2}|MS0[0-9]{2}|GE0[0-9]{2}|TF00[0-9]|CFG00[0-9]|MP00[0-9])$`)
	seen := map[string]bool{}
	for _, r := range Rules() {
		if !id.MatchString(r.ID) || seen[r.ID] {
			t.Errorf("rule id %q is malformed or given twice", r.ID)
		}
		seen[r.ID] = true
		if r.Checks == "" || r.Severity < Info || r.Severity > Error {
			t.Errorf("rule %s lacks something: %+v", r.ID, r)
		}
	}
	if !slices.IsSortedFunc(Rules(), func(a, b RuleInfo) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("rules are not in order")
	}
}

// TestKeysHaveRules: for every key some rule reports a wrong type or value.
func TestKeysHaveRules(t *testing.T) {
	known := map[string]bool{}
	for _, r := range Rules() {
		known[r.ID] = true
	}
	for _, s := range []Schema{SchemaACL, SchemaMindSpore, SchemaGE, SchemaTF} {
		for _, table := range keyTables(s) {
			for _, k := range table.keys {
				if !known[k.rule] || table.description.String() == "" {
					t.Errorf("key %s of %s: rule %q", k.Name, table.description, k.rule)
				}
			}
		}
	}
	if keyTables(SchemaMsprobe) != nil {
		t.Error("keys of a schema that is not checked")
	}
}

// TestRuleFacts checks the facts of every rule for checks, explanations and documentation.
func TestRuleFacts(t *testing.T) {
	for _, g := range ruleGroups {
		for _, r := range g.rules {
			if r.checks == "" || r.message.String() == "" || r.message.Chinese() == "" || r.run == nil && r.acl == nil && r.item == nil && r.ms == nil && r.engine == nil {
				t.Errorf("%s lacks a part", r.id)
			}
			for _, text := range []Text{r.ignored, r.caution} {
				if (text.String() == "") != (text.Chinese() == "") {
					t.Errorf("%s: %+v is not in both languages", r.id, text)
				}
			}
			if r.ignored != (Text{}) && r.caution != (Text{}) {
				t.Errorf("%s has a setting that has no effect, and more to mind about it", r.id)
			}
		}
	}
}

// TestGuesses takes members out of the texts of all cases. Rules that then find something must be
// marked as guesses about missing members.
func TestGuesses(t *testing.T) {
	guesses := map[string]bool{}
	for _, g := range ruleGroups {
		for _, r := range g.rules {
			guesses[r.id] = r.guess
		}
	}
	for _, c := range allCases() {
		text, _ := unmark(c.text)
		opt := c.opt
		opt.TargetVersion = version(t, c.target)
		whole := Check(c.name, []byte(text), opt)
		if !whole.Doc.Valid() || len(text) > 2000 {
			continue
		}
		opt.Schema = whole.Schema
		for _, without := range withoutMembers(whole.Doc.Root, text) {
			for _, f := range Check(c.name, []byte(without), opt).Findings {
				if !slices.ContainsFunc(whole.Findings, func(g Finding) bool { return g.Rule == f.Rule }) && !guesses[f.Rule] {
					t.Errorf("%s has a finding in %s but not in %s: it must be a guess", f.Rule, without, text)
					guesses[f.Rule] = true
				}
			}
		}
	}
}

// withoutMembers returns the text once without each member of its objects.
func withoutMembers(v *jsonpos.Value, text string) []string {
	var out []string
	for _, e := range v.Elems {
		out = append(out, withoutMembers(e, text)...)
	}
	for i, m := range v.Members {
		start, end := m.KeyStart, m.Value.End
		if i+1 < len(v.Members) {
			end = v.Members[i+1].KeyStart
		} else if i > 0 {
			start = v.Members[i-1].Value.End
		}
		out = append(out, text[:start]+text[end:])
		out = append(out, withoutMembers(m.Value, text)...)
	}
	return out
}
