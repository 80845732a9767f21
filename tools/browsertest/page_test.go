package browsertest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// inPage are functions for the page: of what can be seen, what is cut, and what is hard
// to read.
const inPage = `
function texts() {
  const all = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, parent = node.parentElement;
    if (!node.data.trim() || parent.closest("script, noscript, style, option") || !parent.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (box.width > 0 && box.left > -500) all.push({ node, parent, box });
  }
  return all;
}
// cut lists texts that stick out of their card, or of an element that hides them.
function cut() {
  const bad = [];
  for (const { node, parent, box } of texts()) {
    const card = parent.closest(".card, header") || document.body, frame = card.getBoundingClientRect();
    let right = box.right;
    for (let e = parent; e && e !== card; e = e.parentElement) if (getComputedStyle(e).textOverflow === "ellipsis" || getComputedStyle(e).overflowX === "auto") right = Math.min(right, e.getBoundingClientRect().right);
    if (box.left < frame.left - 1 || right > frame.right + 1) bad.push("beyond its card: " + node.data.slice(0, 60));
    if (parent.ownerSVGElement) {
      const svg = parent.ownerSVGElement.getBoundingClientRect();
      if (box.left < svg.left - 1 || box.right > svg.right + 1 || box.top < svg.top - 3 || box.bottom > svg.bottom + 3) bad.push("beyond its chart: " + node.data);
      const rect = parent.parentElement.querySelector("rect");
      if (parent.parentElement.matches(".module") && rect && (box.left < rect.getBoundingClientRect().left - 1 || box.right > rect.getBoundingClientRect().right + 1)) bad.push("beyond its module: " + node.data);
      continue;
    }
    for (let e = parent; e && e !== card; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (style.overflowX === "hidden" && e.scrollWidth > e.clientWidth + 1 && style.textOverflow !== "ellipsis") bad.push("cut: " + node.data);
    }
  }
  return bad;
}
function rgba(text) { const m = text.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; }
function over(top, below) { return [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1); }
function luminance(c) {
  const [r, g, b] = c.map(x => { x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function ground(e) {
  const layers = [];
  for (; e; e = e.parentElement) {
    if (e.matches("g.module")) {
      const style = getComputedStyle(e.querySelector("rect")), c = rgba(style.fill);
      layers.push([c[0], c[1], c[2], c[3] * Number(style.fillOpacity)]);
      continue;
    }
    if (e.matches(".celltext")) { // on the cell of its kind
      const style = getComputedStyle(e.ownerSVGElement.querySelector(".cell." + e.classList[1])), c = rgba(style.fill);
      layers.push([c[0], c[1], c[2], c[3] * Number(style.fillOpacity)]);
      continue;
    }
    const c = rgba(getComputedStyle(e).backgroundColor);
    layers.push(c);
    if (c[3] === 1) break;
  }
  return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
}
// faint lists texts with less contrast than 4.5 : 1.
function faint() {
  const bad = [];
  for (const { node, parent } of texts()) {
    const style = getComputedStyle(parent), below = ground(parent), ink = over(rgba(parent.ownerSVGElement ? style.fill : style.color), below);
    const [a, b] = [luminance(ink.slice(0, 3)), luminance(below.slice(0, 3))].sort((x, y) => y - x), contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) bad.push(contrast.toFixed(2) + ": " + node.data + " " + ink + " on " + below);
  }
  return [...new Set(bad)];
}
// small lists what can be pressed and is lower than a finger needs.
function small() {
  return [...document.querySelectorAll("button, select, input")].filter(e => e.checkVisibility() && !e.matches(".link") && e.getBoundingClientRect().height < 31.5).map(e => e.outerHTML.slice(0, 90));
}
`

func (b *tab) none(what, expression string) {
	b.t.Helper()
	if found := eval[[]string](b, inPage+expression); len(found) > 0 {
		b.t.Errorf("%s: %d\n%s", what, len(found), strings.Join(found[:min(len(found), 12)], "\n"))
	}
}

// noLarger checks the size of a page.
func noLarger(t *testing.T, file string, limit int64) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > limit {
		t.Errorf("the page has %d bytes, want at most %d", info.Size(), limit)
	}
}

// TestLook opens the page in both sizes, themes and languages: nothing is loaded, nothing
// complains, nothing is cut, everything can be read.
func TestLook(t *testing.T) {
	file, d := compared(t, resNet())
	noLarger(t, file, 520_000) // 90 tensors with their windows of values, and 195,000 of scripts, words and styles
	first := d.Rows[*d.Findings.FirstBad].Op
	last := first[strings.Index(first, "bn1"):]
	for _, width := range []int{1280, 390} {
		for _, dark := range []bool{false, true} {
			for _, lang := range []string{"en", "zh"} {
				name := fmt.Sprintf("%d-%s-%s", width, map[bool]string{false: "light", true: "dark"}[dark], lang)
				t.Run(name, func(t *testing.T) {
					b := open(t, file, view{width: width, height: 900, dark: dark, language: map[string]string{"en": "en-US", "zh": "zh-CN"}[lang]})
					if h1 := eval[string](b, `document.querySelector("h1").textContent`); !strings.Contains(h1, first) {
						t.Errorf("the verdict says %q, want %s in it", h1, first)
					}
					if panel := eval[string](b, `document.querySelector("#panel h2").textContent`); !strings.HasSuffix(panel, last) {
						t.Errorf("the panel shows %q, want %s", panel, last)
					}
					if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > width {
						t.Errorf("the page is %d pixels wide, of %d", wide, width)
					}
					b.none("cut", "cut()")
					b.none("faint", "faint()")
					if width < 640 {
						b.none("small", "small()")
					}
					b.onlyWords(lang)
					b.quiet()
					b.shot("look-" + name)
				})
			}
		}
	}
}

// catalogue reads the words of a language.
func catalogue(t testing.TB, lang string) (words []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "internal", "report", "page", "js", "words.en.js"))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile(filepath.Join("..", "..", "internal", "lang", "zh.txt"))
	if err != nil {
		t.Fatal(err)
	}
	chinese := map[string]string{}
	for line := range strings.Lines(string(lines)) {
		english, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		chinese[english] = text
	}
	for _, m := range regexp.MustCompile(`(?m)^  (\w+): "(.*)",?$`).FindAllStringSubmatch(string(page), -1) {
		word := m[2]
		if lang == "zh" {
			word = cmp.Or(chinese["page."+m[1]+"¦"+word], chinese[word], word)
		}
		words = append(words, word)
	}
	return words
}

// onlyWords fails the test if the page has words of the other language.
func (b *tab) onlyWords(lang string) {
	b.t.Helper()
	text := eval[string](b, inPage+`texts().map(x => x.node.data).join("\n")`)
	if lang == "en" {
		if han := regexp.MustCompile(`\p{Han}+`).FindAllString(strings.Replace(text, "中文", "", 1), -1); len(han) > 0 {
			b.t.Errorf("an English page has %q", han)
		}
		return
	}
	own := map[string]bool{}
	for _, word := range catalogue(b.t, "zh") {
		own[word] = true
	}
	lines := strings.Split(text, "\n")
	for _, word := range catalogue(b.t, "en") {
		if own[word] || strings.Contains(word, "{") || word == "English" {
			continue
		}
		for _, line := range lines {
			if strings.TrimSpace(line) == word {
				b.t.Errorf("a Chinese page has %q", word)
			}
		}
	}
}

// TestWork uses the page: keys, chips, search, sorting, strip and modules.
func TestWork(t *testing.T) {
	file, d := compared(t, resNet())
	b := open(t, file, view{})
	first, n := *d.Findings.FirstBad, len(d.Rows)
	row := func() int {
		return eval[int](b, `Number(document.querySelector("#rows [aria-selected=true]").dataset.row)`)
	}
	shown := func() string { return eval[string](b, `document.getElementById("shown").textContent`) }
	press := func(key string) { b.do(chromedp.KeyEvent(key)) }
	bad := func(from, by int) int { // the next failing row
		for i := from + by; i >= 0 && i < n; i += by {
			if d.Rows[i].Status == "FAIL" {
				return i
			}
		}
		return from
	}
	want := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	want("first row", row(), first)

	// The flag stands where the first bad tensor is.
	place := eval[float64](b, `document.getElementById("strip").clientWidth - 70`)*(float64(first)+0.5)/float64(n) + 60
	if x := eval[float64](b, `Number(document.getElementById("flag").getAttribute("x1"))`); x < place-1 || x > place+1 {
		t.Errorf("the flag is at %g, want %g", x, place)
	}
	press("j")
	want("j", row(), bad(first, 1))
	press("k")
	want("k", row(), first)
	press("k")
	want("k at the first", row(), bad(first, -1))

	// Search, chips and sorting.
	press("/")
	want("focus", eval[string](b, "document.activeElement.id"), "search")
	eval[string](b, `document.getElementById("search").value = ""`) // the key / is for the page, which chromedp types all the same
	b.do(chromedp.SendKeys("#search", "layer3 bn1", chromedp.ByQuery))
	matches := 0
	for _, x := range d.Rows {
		if strings.Contains(x.Op, "layer3") && strings.Contains(x.Op, "bn1") {
			matches++
		}
	}
	want("search", shown(), fmt.Sprintf("%d of %d tensors", matches, n))
	press(kb.Escape)
	want("Escape", shown(), fmt.Sprintf("%d of %d tensors", n, n))
	press(kb.Escape)
	for _, only := range eval[[]string](b, `[...document.querySelectorAll("#chips button")].map(e => e.dataset.only)`) {
		count := d.count(only)
		switch only {
		case "all":
			count = n
		case "origin":
			count = 0
			for _, x := range d.Rows {
				if x.Origin {
					count++
				}
			}
		}
		b.do(chromedp.Click(`#chips [data-only="`+only+`"]`, chromedp.ByQuery))
		want("chip "+only, shown(), fmt.Sprintf("%d of %d tensors", count, n))
		want("number of chip "+only, eval[string](b, `document.querySelector('#chips [data-only="`+only+`"] > b').textContent`), fmt.Sprint(count))
	}
	b.do(chromedp.Click(`#chips [data-only=all]`, chromedp.ByQuery), chromedp.Click(`[data-sort=max_abs]`, chromedp.ByQuery))
	sorted := eval[[]float64](b, `[...document.querySelectorAll("#rows .c-max_abs")].slice(0, 9).map(e => Number(e.textContent))`)
	for i := 1; i < len(sorted); i++ {
		if sorted[i] > sorted[i-1] {
			t.Errorf("by max_abs: %v", sorted)
		}
	}
	want("aria-sort", eval[string](b, `document.querySelector(".head .c-max_abs").getAttribute("aria-sort")`), "descending")
	b.do(chromedp.Click(`[data-sort=i]`, chromedp.ByQuery))

	// A click on the strip, and a module by key.
	x := eval[float64](b, `(() => { document.getElementById("strip").scrollIntoView(); const r = document.getElementById("strip").getBoundingClientRect(); return r.left + 60 + (r.width - 70) * 5.5 / `+fmt.Sprint(n)+`; })()`)
	y := eval[float64](b, `document.getElementById("strip").getBoundingClientRect().top + 100`)
	b.do(chromedp.MouseClickXY(x, y))
	want("click on the strip", row(), 5)
	b.do(chromedp.Focus(`.module[aria-label^="layer3"]`, chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	matches = 0
	for _, x := range d.Rows {
		if strings.Contains(x.Op, "layer3") {
			matches++
		}
	}
	want("module", shown(), fmt.Sprintf("%d of %d tensors", matches, n))
	press(kb.Escape)
	want("Escape from the module", shown(), fmt.Sprintf("%d of %d tensors", n, n))

	// The grid says how long it is, and moves by keys.
	want("aria-rowcount", eval[string](b, `document.getElementById("grid").getAttribute("aria-rowcount")`), fmt.Sprint(n+1))
	b.do(chromedp.Focus("#grid", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowDown))
	want("arrow", row(), 6)

	// Languages and themes by button, and every tab.
	b.do(chromedp.Click("#lang", chromedp.ByQuery))
	b.onlyWords("zh")
	b.do(chromedp.Click("#lang", chromedp.ByQuery))
	b.onlyWords("en")
	b.do(chromedp.Click("#theme", chromedp.ByQuery))
	want("theme", eval[string](b, "document.documentElement.dataset.theme"), "dark")
	for _, name := range eval[[]string](b, `[...document.querySelectorAll("[role=tab]")].map(e => e.id)`) {
		b.do(chromedp.Click("#"+name, chromedp.ByQuery))
		want("tab", eval[string](b, `document.querySelector("[role=tab][aria-selected=true]").id`), name)
		b.none("cut in "+name, "cut()")
		b.none("faint in "+name, "faint()")
	}
	b.quiet()
	b.shot("work")
}

// hostile is a name that wants to be markup.
const hostile = `</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"'&<!--`

// TestHostile opens a page of hostile names, with addresses that ask for what is not there.
func TestHostile(t *testing.T) {
	dir := t.TempDir()
	names := []string{hostile, "javascript:alert(1)", "a\u202eb\u0007c", strings.Repeat("长", 300), strings.Repeat("w", 300), "$(reboot)'`"}
	writeSafetensors(t, filepath.Join(dir, "cpu.safetensors"), names, 1)
	writeSafetensors(t, filepath.Join(dir, "npu.safetensors"), names, 2)
	run(t, dir, "compare", "--cpu", "cpu.safetensors", "--npu", "npu.safetensors", "-out", "out", "--format", "html,json", "-q", "--verdict", "limits")
	file, d := readDocument(t, filepath.Join(dir, "out"))
	if len(d.Rows) != len(names) {
		t.Fatalf("%d rows, want %d", len(d.Rows), len(names))
	}
	for _, hash := range []string{"", "row=999999", "row=-1&tab=nothing&lang=xx&theme=<b>&only=%22", "tab=about", hostile, "row=3", "row=4"} {
		for _, width := range []int{1280, 390} {
			if width == 390 && !strings.HasPrefix(hash, "row=") && hash != "" {
				continue // as wide pages
			}
			b := open(t, file, view{width: width, height: 900, hash: hash})
			if eval[bool](b, `"pwned" in window`) {
				t.Error("a name was run")
			}
			if n := eval[int](b, `document.querySelectorAll("main img, main script, main iframe, main a[href^=javascript]").length`); n > 0 {
				t.Errorf("%d elements of a name", n)
			}
			b.none("cut", "cut()")
			if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > width {
				t.Errorf("#%s: the page is %d pixels wide, of %d", hash, wide, width)
			}
			b.quiet()
			b.shot(fmt.Sprintf("hostile-%d", width))
		}
	}
	b := open(t, file, view{})
	text := eval[string](b, `document.getElementById("main").textContent`)
	for _, want := range []string{hostile, `a\u202eb\u0007c`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not show %s", want)
		}
	}
}

// writeSafetensors writes tensors of two elements.
func writeSafetensors(t *testing.T, name string, tensors []string, value float32) {
	t.Helper()
	type entry struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	header := map[string]entry{}
	var data bytes.Buffer
	for _, tensor := range tensors {
		header[tensor] = entry{"F32", []int{2}, [2]int{data.Len(), data.Len() + 8}}
		binary.Write(&data, binary.LittleEndian, []float32{value, 1})
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, uint64(len(text)))
	b.Write(text)
	b.Write(data.Bytes())
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestMany opens a page of many tensors.
func TestMany(t *testing.T) {
	file, d := compared(t, deep(5005))
	noLarger(t, file, 5_000_000)
	b := open(t, file, view{})
	ready := eval[float64](b, `performance.getEntriesByType("navigation")[0].domComplete`)
	nodes := func() int { return eval[int](b, `document.querySelectorAll("*").length`) }
	if nodes() > 3000 {
		t.Errorf("%d elements, want at most 3000", nodes())
	}
	timed := func(what, act string) {
		t.Helper()
		took := eval[float64](b, `(() => { const t = performance.now(); `+act+`; document.body.offsetHeight; return performance.now() - t; })()`)
		t.Logf("%s: %.0f ms", what, took)
	}
	timed("strip", `const m = document.getElementById("metric"); m.value = "max_abs"; m.dispatchEvent(new Event("change"))`)
	timed("search", `const s = document.getElementById("search"); s.value = "op49"; s.dispatchEvent(new Event("input"))`)
	timed("panel", `document.getElementById("next").click()`)
	if nodes() > 3000 {
		t.Errorf("%d elements in the end, want at most 3000", nodes())
	}
	t.Logf("%d rows, %d failing, ready after %.0f ms, %d elements", len(d.Rows), d.count("FAIL"), ready, nodes())
	b.quiet()
	b.shot("many")
}

// TestNoScript: without scripts the verdict is there.
func TestNoScript(t *testing.T) {
	file, d := compared(t, resNet())
	b := open(t, file, view{noScript: true})
	var text string
	b.do(chromedp.Text("main", &text, chromedp.ByQuery))
	for _, want := range []string{"FAIL: ", d.Rows[*d.Findings.FirstBad].Op} {
		if !strings.Contains(text, want) {
			t.Errorf("without scripts the page says %q, want %s in it", text, want)
		}
	}
	b.shot("noscript")
}

// TestPrint prints the page.
func TestPrint(t *testing.T) {
	file, d := compared(t, resNet())
	b := open(t, file, view{dark: true})
	pdf, _, err := page.PrintToPDF().Do(b.executor())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if keep := os.Getenv("SCREENSHOTS"); keep != "" {
		dir = keep
	}
	name := filepath.Join(dir, "page.pdf")
	if err := os.WriteFile(name, pdf, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("pdftotext", "-layout", name, "-").Output()
	if err != nil {
		t.Fatalf("pdftotext (Debian: poppler-utils): %v", err)
	}
	pages := strings.Split(strings.TrimSuffix(string(out), "\f"), "\f")
	if len(pages) < 2 {
		t.Errorf("%d pages, want several", len(pages))
	}
	for i, text := range pages {
		if len(strings.TrimSpace(text)) < 20 {
			t.Errorf("page %d of %d is empty", i+1, len(pages))
		}
	}
	// A page each: what is said of an operator ends with its files.
	begins := slices.IndexFunc(pages, func(text string) bool { return strings.Contains(text, "Where the errors are") })
	for i, text := range pages[begins:] {
		if !strings.Contains(text, "Where the errors are") || !strings.Contains(text, "Paired by") {
			t.Errorf("page %d of %d is not that of one operator:\n%.300s", begins+i+1, len(pages), text)
			break
		}
	}
	all := strings.Join(strings.Fields(string(out)), "")
	for _, row := range []int{*d.Findings.FirstBad, 0, len(d.Rows) - 1} {
		op := d.Rows[row].Op
		if want := op[strings.LastIndex(op, "_")+1:]; !strings.Contains(all, want) {
			t.Errorf("the print lacks %s", want)
		}
	}
}
