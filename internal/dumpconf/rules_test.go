package dumpconf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ruleCase is a text with a mark at each place where a rule has something to
// say; without marks the rule must be silent.
type ruleCase struct {
	rule    string
	text    string
	target  string // version
	opt     Options
	name    string   // of the file; "" for none
	message string   // a part of the message of the first finding
	wants   Severity // of the first finding; checked when severity is set
	checked bool
}

// warns and informs say that the severity is another than that of the rule.
func (c ruleCase) warns() ruleCase   { c.wants, c.checked = Warning, true; return c }
func (c ruleCase) informs() ruleCase { c.wants, c.checked = Info, true; return c }

func allCases() []ruleCase {
	return slices.Concat(fileCases(), aclShapeCases(), aclPathCases(), aclStepCases(), aclSceneCases(),
		aclListCases(), aclFilterCases(), mindSporeShapeCases(), mindSporeCommonCases(), mindSporeDataCases(),
		mindSporeDebugCases(), mindSporeKernelCases(), mindSporeE2ECases(), engineCases(),
		targetCases(), oldMindSporeCases(), enginePathCases())
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
			if !strings.Contains(first.Message, c.message) || first.Message == "" {
				t.Errorf("message %q, want %q in it", first.Message, c.message)
			}
			if strings.Contains(first.Message, "%!") {
				t.Errorf("message %q", first.Message)
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

// TestEveryRuleHasCases wants a text that has a finding and one that has none
// for every rule of the table.
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
	id := regexp.MustCompile(`^(ACL0[0-9]{2}|MS0[0-9]{2}|GE0[0-9]{2}|TF00[0-9]|CFG00[0-9])$`)
	seen := map[string]bool{}
	for _, r := range Rules() {
		if !id.MatchString(r.ID) || seen[r.ID] {
			t.Errorf("rule id %q is malformed or given twice", r.ID)
		}
		seen[r.ID] = true
		if r.Checks == "" || len(r.Schemas) == 0 || r.Severity < Info || r.Severity > Error {
			t.Errorf("rule %s lacks something: %+v", r.ID, r)
		}
	}
	if !slices.IsSortedFunc(Rules(), func(a, b RuleInfo) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("rules are not in order")
	}
}

// TestKeysHaveRules wants that a wrong type or value of every key is somebody's
// business.
func TestKeysHaveRules(t *testing.T) {
	known := map[string]bool{}
	for _, r := range Rules() {
		known[r.ID] = true
	}
	for _, s := range []Schema{SchemaACL, SchemaMindSpore, SchemaGE, SchemaTF} {
		for _, table := range Keys(s) {
			for _, k := range table.Keys {
				if !known[k.rule] || k.About == "" || table.Where == "" {
					t.Errorf("key %s of %s: rule %q, about %q", k.Name, table.Where, k.rule, k.About)
				}
			}
		}
	}
	if Keys(SchemaMsprobe) != nil {
		t.Error("keys of a schema that is not checked")
	}
}
