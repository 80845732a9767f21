package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dumptool/internal/dumptest"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// smallNet is a network of which runs of many rounds are written quickly. Layers 9 and 10 are in
// another order by their letters.
func smallNet(bad int) net {
	n := net{shape: []int{2, 4, 18, 20}, bad: bad}
	for layer := 9; layer < 12; layer++ {
		for _, op := range []string{"conv1_Conv2D", "bn1_BNInfer", "relu1_Relu"} {
			n.ops = append(n.ops, fmt.Sprintf("net_backbone_layer%d_%s-op%d", layer, op, len(n.ops)+1))
		}
	}
	return n
}

// rounds compares runs of a small network, of which bad says where each goes wrong, and
// returns the folder of the reports.
func rounds(t testing.TB, ranks, steps int, bad func(rank, step int) int) string {
	t.Helper()
	return roundsOf(t, ranks, steps, func(rank, step int) net { return smallNet(bad(rank, step)) })
}

// roundsOf compares runs of several ranks and steps and returns the folder of the reports.
func roundsOf(t testing.TB, ranks, steps int, network func(rank, step int) net) string {
	t.Helper()
	dir := t.TempDir()
	for rank := range ranks {
		for step := range steps {
			one := filepath.Join(dir, "one")
			network(rank, step).write(t, one)
			for _, side := range []string{"cpu", "npu"} {
				to := filepath.Join(dir, side, fmt.Sprintf("rank_%d", rank))
				if err := os.MkdirAll(to, 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(filepath.Join(one, side), filepath.Join(to, fmt.Sprintf("step%d", step))); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	run(t, dir, "compare", "--cpu", "cpu", "--npu", "npu", "-out", "out", "--format", "html,json", "-q")
	return filepath.Join(dir, "out")
}

// overflowRecords is a document of overflow analyze with some records of five operators.
func overflowRecords(count int) string {
	var all []string
	for i := range count {
		all = append(all, fmt.Sprintf(`{"file":"Opdebug.%d","rank":"%d","step":"%d","time":"2026-01-02 03:04:05","verdict":"produced here","reason":"the inputs are finite","op":{"type":"Add","name":"net/layer%d/Add","file":"Add.%d"},
			"causes":[{"mask":"0x20","en":"overflow in the vector unit","zh":"向量单元溢出"}],"advice":[{"en":"scale the loss","zh":"缩放损失"}],"tensors":[{"kind":"output","index":0,"dtype":"float16","shape":[2,3],"nan":null,"pos_inf":3,"neg_inf":0,"saturated":null,"min":null,"max":2,"bad":true}]}`, i, i%4, i/4%3, i%5, i))
	}
	return `{"schema":"dumptool/overflow/1","records":[` + strings.Join(all, ",") + `],"problems":[{"file":"cut","error":"too short"}],"first":{}}`
}

// everyTab makes a page with all tabs: two runs, and documents of other commands.
func everyTab(t *testing.T) string {
	t.Helper()
	before := rounds(t, 2, 2, func(int, int) int { return 2 })
	after := rounds(t, 3, 2, func(rank, step int) int { return map[bool]int{true: 4, false: -1}[rank == 1 && step == 1] })
	for name, text := range map[string]string{
		"overflow.json":    overflowRecords(800),
		"determinism.json": `{"schema":"dumptool/determinism/1","runs":["a","b"],"tensors":2,"differing":1,"first":"net/drift:output:0","rows":[{"op":"net/drift","kind":"output","output":0,"status":"FAIL","distinct":2,"places":"same","runs":[{"differ":0},{"differ":3,"max_abs":0.5,"max_ulp":9}]}]}`,
	} {
		if err := os.WriteFile(filepath.Join(after, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := filepath.Abs("../../testdata/golden/ranks/tp2_link/trees.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	run(t, after, "check", filepath.Join(dumptest.Untar(t, archive), "run"), "--format", "json", "-out", ".", "-q")
	run(t, after, "report", filepath.Join(before, "compare.json"), "compare.json", "overflow.json", "determinism.json", "check.json", "-out", "all.html", "-q")
	return filepath.Join(after, "all.html")
}

// TestMatrix chooses rounds in the matrix: by pointer and by keys.
func TestMatrix(t *testing.T) {
	dir := rounds(t, 5, 3, func(rank, step int) int {
		switch {
		case rank == 4 && step == 2:
			return 5
		case (rank == 1 || rank == 2) && step > 0:
			return 2
		}
		return -1
	})
	b := open(t, filepath.Join(dir, "report.html"), view{})
	want := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	rows := `[...document.querySelectorAll("#rounds text")].filter(e => e.getAttribute("text-anchor") === "end").map(e => e.textContent).join(" ")`
	want("rows of the matrix", eval[string](b, rows), "0 1–2 3 4") // equal neighbours are one
	crosses := eval[string](b, `(document.querySelector("#rounds .sign.bad").getAttribute("d").match(/M/g) || []).length + ""`)
	want("bad cells", crosses, "3")
	want("the first round", eval[string](b, `document.querySelector("#panel h2").textContent`), "net_backbone_layer9_relu1_Relu-op3")
	// The second cell of the last row, by keys: rank 4 step 1 passes, step 2 fails.
	b.do(chromedp.Focus("#rounds", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowRight))
	read := eval[string](b, `document.querySelector("#rounds + p").textContent`)
	for _, word := range []string{"rank 4", "step 2", "FAIL", "layer10_relu1_Relu-op6"} {
		if !strings.Contains(read, word) {
			t.Errorf("the matrix reads out %q, want %s in it", read, word)
		}
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	want("after Enter", eval[string](b, `document.querySelector("#panel h2").textContent`), "net_backbone_layer10_relu1_Relu-op6")
	if head := eval[string](b, `document.querySelector("#panel .panelhead p").textContent`); !strings.Contains(head, "#5 of 9") {
		t.Errorf("the panel says %q, want the place within the round: #5 of 9", head)
	}
	commands := eval[[]string](b, `[...document.querySelectorAll("#panel .cmd code")].map(e => e.textContent)`)
	for _, c := range commands {
		for _, word := range []string{"--rank=4", "--step=2", "--cpu=cpu", "--npu=npu", "layer10_relu1_Relu-op6"} {
			if !strings.Contains(c, word) {
				t.Errorf("the command %q is without %s", c, word)
			}
		}
	}
	// A click on the first cell.
	x := eval[float64](b, `document.querySelector("#rounds svg").getBoundingClientRect().left + 84 + 10`)
	y := eval[float64](b, `document.querySelector("#rounds svg").getBoundingClientRect().top + 16 + 9`)
	b.do(chromedp.MouseClickXY(x, y))
	want("after a click", eval[string](b, `[...document.querySelectorAll("#chips b")].pop().textContent`), "9")
	b.quiet()
	b.shot("matrix")

	// A command of the page shows one operator.
	run(t, filepath.Dir(dir), strings.Fields(commands[0])[1:]...)
}

// TestTree opens modules, of which layers stand in the order of their numbers, and zooms.
func TestTree(t *testing.T) {
	file, _ := compared(t, smallNet(4))
	b := open(t, file, view{})
	names := eval[[]string](b, `[...document.querySelectorAll("#tree .modulename bdi")].map(e => e.textContent)`)
	if got := strings.Join(names, " "); got != "backbone_layer9 backbone_layer10 backbone_layer11" {
		t.Errorf("modules %q, want those of the layers 9, 10 and 11", got)
	}
	if text := eval[string](b, `document.querySelectorAll("#tree .modulename")[1].textContent`); !strings.Contains(text, "FAIL") || !strings.Contains(text, "of 3 bad") {
		t.Errorf("the second module says %q", text)
	}
	b.do(chromedp.Click(`#tree [data-module$="layer10"].modulename`, chromedp.ByQuery))
	if shown := eval[string](b, `document.getElementById("shown").textContent`); shown != "3 of 9 tensors" {
		t.Errorf("a module shows %q, want 3 of 9 tensors", shown)
	}
	b.do(chromedp.Click(`#tree [data-module$="layer10"].fold`, chromedp.ByQuery))
	if n := eval[int](b, `document.querySelectorAll("#tree .leaf").length`); n != 3 {
		t.Errorf("%d operators below the module, want 3", n)
	}
	b.do(chromedp.Click("#whole", chromedp.ByQuery))
	if shown := eval[string](b, `document.getElementById("shown").textContent`); shown != "9 of 9 tensors" {
		t.Errorf("the whole network shows %q", shown)
	}

	// What all names begin with stands once above the table; no row loses its layer.
	const shown = `[...document.querySelectorAll("#table .row .c-name")].map(e => e.textContent).join(" ")`
	if begin := eval[string](b, `[...document.querySelectorAll(".begin b")].map(e => e.textContent).join(" ")`); begin != "net_backbone_" {
		t.Errorf("names begin with %q, want net_backbone_ once", begin)
	}
	for _, width := range []int64{1280, 390, 330} {
		b.do(emulation.SetDeviceMetricsOverride(width, 900, 1, width < 640))
		names := eval[string](b, shown)
		for layer, times := range map[string]int{"layer9": 3, "layer10": 3, "layer11": 3, "net_backbone": 0} {
			if n := strings.Count(names, layer); n != times {
				t.Errorf("%d pixels: %s %d times in %q, want %d", width, layer, n, names, times)
			}
		}
	}
	b.quiet()
}

// TestWindow: the window has the values around the worst place.
func TestWindow(t *testing.T) {
	file, _ := compared(t, smallNet(4))
	b := open(t, file, view{})
	if size := eval[string](b, `document.querySelectorAll(".values tbody tr").length + " x " + document.querySelectorAll(".values tbody tr:first-child td").length`); size != "16 x 16" {
		t.Errorf("the window is %s, want 16 x 16", size)
	}
	// The framed cell has the largest difference of all, of which the list of worst elements
	// has the digits.
	cell := eval[string](b, `document.querySelector(".values .worst").title`)
	worst := eval[[]string](b, `[...[...document.querySelectorAll("#panel table.t tbody tr")].find(r => r.children.length >= 4 && /^\(/.test(r.children[0].textContent)).children].map(c => c.textContent)`)
	for _, text := range worst[1:3] {
		if !strings.Contains(cell, text) {
			t.Errorf("the worst cell is %q, want %s in it as in the list of the worst elements %q", cell, text, worst)
		}
	}
	b.quiet()
}

// TestBefore drops a second document onto a page, and what is none.
func TestBefore(t *testing.T) {
	before := rounds(t, 2, 1, func(int, int) int { return 2 })
	after := rounds(t, 2, 1, func(rank, _ int) int { return []int{2, 5}[rank] })
	b := open(t, filepath.Join(before, "report.html"), view{})
	notes := filepath.Join(t.TempDir(), "notes.json")
	if err := os.WriteFile(notes, []byte(`{"schema":"other"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	drop := func(file string) {
		t.Helper()
		// The same function that a drop calls, with a file that the browser opened.
		b.do(chromedp.Evaluate(`document.body.insertAdjacentHTML("beforeend", "<input type=file id=chosen>")`, nil))
		b.do(chromedp.SetUploadFiles("#chosen", []string{file}, chromedp.ByQuery))
		b.do(chromedp.Evaluate(`(() => {
			const input = document.getElementById("chosen"), data = new DataTransfer();
			data.items.add(input.files[0]);
			input.remove();
			document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
		})()`, nil))
	}
	drop(notes)
	b.do(chromedp.WaitVisible("#notice", chromedp.ByQuery))
	if text := eval[string](b, `document.getElementById("notice").textContent`); text != "notes.json is not a document of the schema dumptool/compare/2" {
		t.Errorf("the page says %q", text)
	}
	drop(filepath.Join(after, "compare.json"))
	b.do(chromedp.WaitVisible("#twostrips svg", chromedp.ByQuery))
	title := eval[string](b, `document.querySelector("h1").textContent`)
	if title != "Origins: 1 gone, 1 new, 1 the same" {
		t.Errorf("dropped: %q", title)
	}
	b.quiet()
	b.shot("dropped")

	// The command makes the same page.
	run(t, after, "report", filepath.Join(before, "compare.json"), "compare.json", "-out", "both.html", "-q")
	b = open(t, filepath.Join(after, "both.html"), view{hash: "tab=before"})
	if again := eval[string](b, `document.querySelector("h1").textContent`); again != title {
		t.Errorf("the command says %q, the page where the second was dropped %q", again, title)
	}
	if n := eval[int](b, `document.querySelectorAll("#twostrips svg").length`); n != 2 {
		t.Errorf("%d strips, want 2", n)
	}
	b.quiet()
}

// TestOverflow: 800 records are five groups, which a search and the matrix narrow.
func TestOverflow(t *testing.T) {
	file := everyTab(t)
	b := open(t, file, view{hash: "tab=overflow"})
	shown := func() string { return eval[string](b, `document.getElementById("ov-shown").textContent`) }
	if shown() != "5 of 5 groups" || eval[string](b, `document.querySelector("h1").textContent`) != "Overflow records: 800" {
		t.Errorf("%s", shown())
	}
	cells := eval[[]string](b, `[...document.querySelectorAll("#ov-groups tr.badrow td")].map(e => e.textContent)`)
	if got := strings.Join(cells, " "); got != "output 0 float16 (2, 3) – 3 0 – – 2" {
		t.Errorf("the tensor says %q: what is not known is a dash", got)
	}
	b.do(chromedp.SendKeys("#ov-search", "layer3", chromedp.ByQuery))
	if shown() != "1 of 5 groups" {
		t.Errorf("the search shows %s", shown())
	}
	b.quiet()
}

// TestPaper prints a page of each of the first 50 failing operators.
func TestPaper(t *testing.T) {
	file, d := compared(t, deep(200))
	b := open(t, file, view{})
	b.do(chromedp.Evaluate(`window.dispatchEvent(new Event("beforeprint"))`, nil))
	if n, want := eval[int](b, `document.querySelectorAll("#prints .panel").length`), min(50, d.count("FAIL")); n != want || want == 0 {
		t.Errorf("%d operators on paper, want %d", n, want)
	}
	b.do(chromedp.Evaluate(`window.dispatchEvent(new Event("afterprint"))`, nil))
	if eval[bool](b, `document.getElementById("prints") !== null`) {
		t.Error("what is for paper stays in the page")
	}
	pdf, _, err := page.PrintToPDF().Do(b.executor())
	if err != nil || len(pdf) == 0 {
		t.Error(err)
	}
	b.quiet()
}

// TestHelp opens the help by its key.
func TestHelp(t *testing.T) {
	file, _ := compared(t, smallNet(4))
	b := open(t, file, view{})
	b.do(chromedp.KeyEvent("?"), chromedp.WaitVisible("#help", chromedp.ByQuery), chromedp.KeyEvent(kb.Escape), chromedp.WaitNotPresent("#help", chromedp.ByQuery))
	b.quiet()
}
