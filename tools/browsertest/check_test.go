package browsertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dumptool/internal/dumptest"

	"github.com/chromedp/chromedp"
)

// wrongRank is a run of four ranks and two steps, of which rank 0 computes one operator wrong in step 0. Eight calls of
// an embedding are without a verdict.
const wrongRank = "bda.IdentityOp.forward.0"

// checkedPage makes the page of a check of that run.
func checkedPage(t *testing.T) string {
	t.Helper()
	archive, err := filepath.Abs("../../testdata/golden/ranks/tp4_qkv_op_rows/trees.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	dir := dumptest.Untar(t, archive)
	run(t, dir, "check", "run", "-out", "out", "--format", "html", "-q")
	return filepath.Join(dir, "out", "check.html")
}

// TestCheck opens the page of a check: the wrong operator with computed values beside the values of the NPU, the
// matrix of ranks and steps, and operators without a verdict by reason. The command of the page extracts the operator.
func TestCheck(t *testing.T) {
	file := checkedPage(t)
	b := open(t, file, view{})
	want := func(what, expression, want string) {
		t.Helper()
		if got := eval[string](b, expression); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", what, got, want)
		}
	}
	want("verdict", `document.querySelector(".stamp").textContent`, "WRONG")
	want("panel", `document.querySelector("#panel h2").textContent`, wrongRank)
	want("wrong elements", `document.querySelector("#panel .keys dd").textContent`, "12.5 %")
	want("strip", `document.querySelector("#metric option:checked").value`, "score")
	want("ranks of the matrix", `[...document.querySelectorAll("#rounds text")].filter(e => e.getAttribute("text-anchor") === "end").map(e => e.textContent).join(" ")`, "0 1–3")
	// 16 of 128 elements are wrong, all in row 0. The last of the sides are the computed values.
	want("map", `[...document.querySelectorAll("#panel .heat")].map(e => e.getBoundingClientRect().height > 0).join()`, "true")
	want("computed", `(document.querySelector("#panel .switch button:last-child").click(), document.querySelector("#panel .values caption").textContent)`, "Computed")
	want("worst", `document.querySelector("#panel .values .worst").title`, "computed ")
	want("neighbours", `document.querySelectorAll("#panel svg.flow .nearbox").length > 2 ? "drawn" : ""`, "drawn")
	want("without a verdict", `document.querySelector("#without summary").textContent`, "8 ×")
	b.do(chromedp.Click("#without summary", chromedp.ByQuery), chromedp.WaitVisible("#without .list", chromedp.ByQuery))
	want("unfolded", `String(document.querySelectorAll("#without li").length)`, "8")

	// The report of a bug has the verdict, the evidence and both commands.
	b.do(chromedp.Evaluate(`Object.defineProperty(navigator, "clipboard", { value: { writeText: text => { window.copied = text; return Promise.resolve(); } } })`, nil),
		chromedp.Click("#copy-report", chromedp.ByQuery))
	for _, word := range []string{"WRONG: rank 0", "CALC_ERROR: 16 elements beyond the bound", "$ dumptool check run\n"} {
		want("report of a bug", "window.copied", word)
	}
	// Alone nobody knows its formula, which its peers give: there is no command.
	want("commands", `String(document.querySelectorAll("#panel .cmd").length)`, "0")
	b.quiet()
	for _, width := range []int{1280, 390} {
		for _, lang := range []string{"en", "zh"} {
			b := open(t, file, view{width: width, height: 900, dark: width == 390, language: map[string]string{"en": "en-US", "zh": "zh-CN"}[lang]})
			if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > width {
				t.Errorf("the page is %d pixels wide, of %d", wide, width)
			}
			b.none("cut", "cut()")
			b.none("faint", "faint()")
			b.onlyWords(lang)
			b.quiet()
			b.shot(fmt.Sprintf("check-%d-%s", width, lang))
		}
	}
}

// TestExtract runs the command of the panel, which extracts the operator.
func TestExtract(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "check", goldenRun(t, "recompute/op5_conv2d_f32_zero_block"), "-out", "out", "--format", "html", "-q")
	b := open(t, filepath.Join(dir, "out", "check.html"), view{})
	command := eval[string](b, `[...document.querySelectorAll("#panel .cmd code")].pop().textContent`)
	shell := exec.Command("sh", "-c", command)
	shell.Dir = dir
	shell.Env = append(os.Environ(), "PATH="+filepath.Dir(binaryFile)+string(os.PathListSeparator)+os.Getenv("PATH"))
	text, err := shell.CombinedOutput()
	if _, missing := os.Stat(filepath.Join(dir, "repro", "op5", "op.json")); missing != nil {
		t.Errorf("%s: %v, %v\n%s", command, err, missing, text)
	}
	b.quiet()
}

// TestCheckBeside: a page with a comparison and a check shows the rows of each in its tab, in the state in which it was
// left.
func TestCheckBeside(t *testing.T) {
	b := open(t, everyTab(t), view{})
	panel := func() string {
		return eval[string](b, `document.querySelector("#panel h2").textContent + " " + document.querySelector("#rows [aria-selected=true]").dataset.row`)
	}
	b.do(chromedp.Evaluate(`document.querySelector("#rows .row").click()`, nil))
	compared := panel()
	b.do(chromedp.Click("#to-check", chromedp.ByQuery))
	if checked := panel(); checked == compared || !strings.Contains(checked, "forward") {
		t.Errorf("the tab of check shows %q, the comparison %q", checked, compared)
	}
	b.do(chromedp.Click("#to-overflow", chromedp.ByQuery), chromedp.Click("#to-run", chromedp.ByQuery))
	if again := panel(); again != compared {
		t.Errorf("the comparison shows %q, before %q", again, compared)
	}
	b.quiet()
}

// TestOtherRun: an operator of a check leads to its row of the comparison, and back.
func TestOtherRun(t *testing.T) {
	page := checkedPage(t)
	dir := filepath.Dir(filepath.Dir(page))
	run(t, dir, "check", "run", "-out", "out", "--format", "json", "-q")
	run(t, dir, "compare", "--cpu", "ref", "--npu", "run", "-out", "out", "--format", "json", "-q")
	run(t, dir, "report", "out/compare.json", "out/check.json", "-out", "page.html")
	b := open(t, filepath.Join(dir, "page.html"), view{})
	shown := func() (tab, op string) {
		return eval[string](b, `document.querySelector("[role=tab][aria-selected=true]").id`), eval[string](b, `document.querySelector("#panel h2").textContent`)
	}
	b.do(chromedp.Click("#to-check", chromedp.ByQuery))
	for _, want := range []string{"to-run", "to-check"} {
		_, before := shown()
		b.do(chromedp.Click("#other", chromedp.ByQuery))
		if tab, op := shown(); tab != want || !strings.HasPrefix(op, before) && !strings.HasPrefix(before, op) || !strings.Contains(op, wrongRank) {
			t.Errorf("%s leads to %s of %s, want %s", before, op, tab, want)
		}
	}
	b.quiet()
}
