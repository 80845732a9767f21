package diagnose

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/compare/verdict"
)

// TestRulesInDocs compares the tables of rules in docs/verdict.md with the lists in the code: number, name and
// consequence in both languages, the conditions in English.
func TestRulesInDocs(t *testing.T) {
	t.Parallel()
	var names, english []string
	levels := [...]string{verdict.Clean: "explained", verdict.Suspect: "suspected", verdict.Origin: "origin"}
	for _, r := range verdict.Rules() {
		then := strings.TrimSpace(levels[r.Level] + " " + r.Kind.String())
		names = append(names, fmt.Sprintf("%d | %s | %s | %s", len(names)+1, r.Name, r.On, then))
		english = append(english, r.Says)
	}
	for _, r := range Rules() {
		names = append(names, fmt.Sprintf("%d | %s | %s |", len(names)+1, r.Name, r.Group))
		english = append(english, r.Description)
	}
	row := regexp.MustCompile(`(?m)^\| (\d+) \| ([a-z-]+) \|([^|]*)\| (.*) \|([^|]*)\|$`)
	for _, page := range []string{"verdict.md", "zh/verdict.md"} {
		text, err := os.ReadFile("../../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		var found, says []string
		for _, m := range row.FindAllStringSubmatch(string(text), -1) {
			found = append(found, strings.TrimSpace(fmt.Sprintf("%s | %s | %s | %s", m[1], m[2], strings.TrimSpace(m[3]), strings.TrimSpace(m[5]))))
			says = append(says, m[4])
		}
		if diff := cmp.Diff(names, found); diff != "" {
			t.Errorf("%s (-code +page):\n%s", page, diff)
		}
		if page == "verdict.md" {
			if diff := cmp.Diff(english, says); diff != "" {
				t.Errorf("%s (-code +page):\n%s", page, diff)
			}
		}
	}
}

// TestRuleNames: a name stands for one rule, since rules are switched off by name.
func TestRuleNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	add := func(name string) {
		if seen[name] {
			t.Errorf("two rules have the name %q", name)
		}
		seen[name] = true
	}
	for _, r := range verdict.Rules() {
		add(r.Name)
	}
	for _, r := range Rules() {
		add(r.Name)
	}
}
