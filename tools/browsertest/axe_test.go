package browsertest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// axeFile is axe-core, which npm ci brings; it is in no page that dumptool writes.
var axeFile = filepath.Join("node_modules", "axe-core", "axe.min.js")

// axeRun looks at the page by the rules of WCAG 2.1 A and AA.
const axeRun = `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], resultTypes: ["violations", "incomplete"] }).then(r => JSON.stringify({
	violations: r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + " | " + n.failureSummary.slice(0, 300)).join("\n   ")),
	incomplete: r.incomplete.map(v => v.id + " (" + v.nodes.length + "): " + v.nodes[0].html.slice(0, 100))
}))`

// accessible fails the test for what axe-core finds in the page as it stands, and logs what
// it cannot decide.
func (b *tab) accessible(axe, what string) {
	b.t.Helper()
	var loaded, text string
	b.do(chromedp.Evaluate(axe+"\n;axe.version", &loaded),
		chromedp.Evaluate(axeRun, &text, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	var found struct{ Violations, Incomplete []string }
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		b.t.Fatalf("axe-core says %q: %v", text, err)
	}
	for _, v := range found.Violations {
		b.t.Errorf("%s: %s", what, v)
	}
	for _, x := range found.Incomplete {
		b.t.Logf("%s: not decided: %s", what, x)
	}
}

// TestAccessible looks with axe-core at every tab, in both themes and sizes, with the panel
// and the help open.
func TestAccessible(t *testing.T) {
	axe, err := os.ReadFile(axeFile)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("axe-core is missing: npm ci --ignore-scripts in tools/browsertest brings it: %v", err)
		}
		fmt.Println("NOTE: axe-core was LEFT OUT of the tests of report.html: npm ci --ignore-scripts in tools/browsertest brings it")
		return
	}
	file := everyTab(t)
	for _, width := range []int{1280, 390} {
		for _, dark := range []bool{false, true} {
			name := fmt.Sprintf("%d-%s", width, map[bool]string{false: "light", true: "dark"}[dark])
			t.Run(name, func(t *testing.T) {
				b := open(t, file, view{width: width, height: 900, dark: dark})
				for _, key := range eval[[]string](b, `[...document.querySelectorAll("[role=tab]")].map(e => e.id)`) {
					b.do(chromedp.Click("#"+key, chromedp.ByQuery))
					if key == "to-run" {
						b.do(chromedp.Evaluate(`document.querySelector("#tree .fold").click(); document.querySelectorAll("details").forEach(d => d.open = true)`, nil))
					}
					b.accessible(string(axe), key)
					b.none("cut in "+key, "cut()")
					b.none("faint in "+key, "faint()")
					if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > width {
						t.Errorf("%s: the page is %d pixels wide, of %d", key, wide, width)
					}
					b.shot("tab-" + strings.TrimPrefix(key, "to-") + "-" + name)
				}
				b.do(chromedp.Click("#keys", chromedp.ByQuery))
				b.accessible(string(axe), "help")
				b.shot("help-" + name)
				b.quiet()
			})
		}
	}
}
