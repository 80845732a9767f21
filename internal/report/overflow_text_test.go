package report

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/overflow"
	"dumptool/internal/tensor"
	"dumptool/internal/ui"
)

var update = flag.Bool("update", false, "rewrite the texts in testdata")

// wideReport has long names, large numbers and many dimensions.
func wideReport() *overflow.Report {
	r := twoRecords()
	add := &r.Records[0]
	add.Op.Name = "Gradients/Default/network/" + strings.Repeat("layer/", 20) + "算子"
	add.Op.File = "/" + strings.Repeat("long_folder/", 15) + strings.Repeat("x", 200) + "/目录/Add.a.1.2"
	wide := infinite(tensor.Output)
	wide.Shape = tensor.Shape{1, 1, 1, 1, 1, 1, 1, 3}
	wide.Stats.NaN, wide.Stats.Saturated = counted(int64(123456789012)), counted(int64(123456789012))
	wide.Stats.Min, wide.Stats.FirstBad.Coord = number(-3.40282e38), []int64{0, 0, 0, 0, 0, 0, 0, 2}
	add.Tensors = append(add.Tensors, wide)
	return r
}

// TestAnalysisText compares the report with testdata, at the widths of common terminals and without
// one, in both languages.
func TestAnalysisText(t *testing.T) {
	t.Parallel()
	for _, lang := range []Lang{English, Chinese} {
		for _, width := range []int{0, 80, 160} {
			name := fmt.Sprintf("analysis_%s_%d.txt", lang, width)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				compareText(t, name, func(w io.Writer) error { return Text{Lang: lang, Width: width}.WriteAnalysis(w, twoRecords()) })
			})
		}
	}
}

func TestScanText(t *testing.T) {
	t.Parallel()
	for _, lang := range []Lang{English, Chinese} {
		name := fmt.Sprintf("scan_%s_80.txt", lang)
		compareText(t, name, func(w io.Writer) error { return Text{Lang: lang, Width: 80}.WriteScan(w, scanned()) })
	}
}

func compareText(t *testing.T, name string, render func(io.Writer) error) {
	t.Helper()
	got, path := rendered(t, render), filepath.Join("testdata", name)
	wantFile(t, path, got)
}

// wantFile compares a text with its file; -update writes the file first.
func wantFile(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is another (-update writes it), -want +got:\n%s", path, diff)
	}
}

// manyRecords has 22 records of one operator and one of another, on ranks 2 to 4 in steps 0 to 7,
// with one combination missing.
func manyRecords() *overflow.Report {
	r := &overflow.Report{Total: 24}
	for step := range 8 {
		for rank := 2; rank < 5; rank++ {
			if rank == 2 && step == 0 {
				continue
			}
			one := addRecord()
			one.Rank, one.Step = fmt.Sprint(rank), fmt.Sprint(step)
			r.Records = append(r.Records, one)
		}
	}
	last := &r.Records[len(r.Records)-1]
	last.Op = &overflow.Operator{Type: "Mul", Name: "m", MatchedBy: overflow.ByTimestamp, Guess: true}
	last.Verdict, r.Records[3].Verdict = overflow.CannotTell, overflow.ProducedHere
	return r
}

// TestGroups: many records give a line for each operator, and the first in full.
func TestGroups(t *testing.T) {
	t.Parallel()
	text := rendered(t, func(w io.Writer) error { return Text{}.WriteAnalysis(w, manyRecords()) })
	head, _, _ := strings.Cut(text, "\n\n")
	want := `24 overflow records of 2 operators, in the order of step and rank:
  [Add] Default/Add-op0  22 x: ranks 2-4, steps 0-7, first rank 3 step 0, status 0x20, produced here 1 x, came in 21 x
  [Mul] m (a guess)  1 x: rank 4, step 7, status 0x20, cannot tell`
	if diff := cmp.Diff(want, head); diff != "" {
		t.Error(diff)
	}
	for _, part := range []string{"\n#1 rank 3, step 0: [Add] Default/Add-op0\n", "\n22 more are not shown in full (--all shows all)\n", "\n1 more not shown (-n all shows all)\n"} {
		if strings.Count(text, part) != 1 {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	all := manyRecords()
	all.All = true
	if text := rendered(t, func(w io.Writer) error { return Text{}.WriteAnalysis(w, all) }); strings.Count(text, "\n#") != 23 {
		t.Errorf("not all records in\n%s", text)
	}
	few := manyRecords()
	few.Records = few.Records[:maxShown]
	if text := rendered(t, func(w io.Writer) error { return Text{}.WriteAnalysis(w, few) }); strings.Count(text, "\n#") != maxShown {
		t.Errorf("not all records in\n%s", text)
	}
}

// TestManyProblems: of many problems of one sort texts show the first.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	r := &overflow.ScanReport{}
	for i := range 30 {
		r.Problems = append(r.Problems, overflow.Problem{Kind: dumpdir.MissingStep, Fault: overflow.Fault{Error: fmt.Sprintf("no step %d", i)}})
	}
	text := rendered(t, func(w io.Writer) error { return Text{}.WriteScan(w, r) })
	if !strings.HasPrefix(text, "In the folders:\n  no step 0\n") || !strings.HasSuffix(text, "\n  no step 19\n  10 more (--all shows all)\n") {
		t.Error(text)
	}
	r.All = true
	if text := rendered(t, func(w io.Writer) error { return Text{}.WriteScan(w, r) }); !strings.HasSuffix(text, "\n  no step 29\n") {
		t.Error(text)
	}
}

// TestOrders: sources of one kind share a line.
func TestOrders(t *testing.T) {
	t.Parallel()
	r := scanned()
	r.Orders = []overflow.OrderSource{
		{By: dumpdir.ByExecution, Source: "execution order a.csv", NumKnown: 3, Total: 4, Rounds: 2},
		{By: dumpdir.ByExecution, Source: "execution order b.csv", NumKnown: 4, Total: 4, Rounds: 1},
		{By: dumpdir.ByName, Source: "natural order of names", Total: 5, Rounds: 1},
	}
	text := rendered(t, func(w io.Writer) error { return Text{}.WriteScan(w, r) })
	want := "Execution order: execution order a.csv, ... (2), 7 of 8 operators known, in 3 rounds\nExecution order: unknown, by name\n\n"
	if !strings.HasPrefix(text, want) {
		t.Errorf("%s\nwant %s", text, want)
	}
}

// TestTextWidth: no line is wider than the terminal, except long file names, and nothing is lost.
func TestTextWidth(t *testing.T) {
	t.Parallel()
	for _, lang := range []Lang{English, Chinese} {
		for width := 24; width <= 240; width++ {
			text := rendered(t, func(w io.Writer) error { return Text{Lang: lang, Width: width}.WriteAnalysis(w, wideReport()) }) +
				rendered(t, func(w io.Writer) error { return Text{Lang: lang, Width: width}.WriteScan(w, scanned()) }) +
				rendered(t, func(w io.Writer) error { return Text{Lang: lang, Width: width}.WriteAnalysis(w, manyRecords()) }) +
				rendered(t, func(w io.Writer) error {
					return Text{Lang: lang, Width: width}.WriteAnalysis(w, &overflow.Report{Dumps: 1})
				})
			for line := range strings.Lines(text) {
				if line = strings.TrimSuffix(line, "\n"); ui.Columns.StringWidth(line) > width && !oneName(line) {
					t.Fatalf("%s: %d columns of %d: %s", lang, ui.Columns.StringWidth(line), width, line)
				}
			}
			joined := strings.Join(strings.Fields(text), "")
			for _, part := range []string{wideReport().Records[0].Op.File, "123456789012", "[0,0,0,0,0,0,0,2]", "-3.40282e+38"} {
				if !strings.Contains(joined, part) {
					t.Fatalf("%s, %d columns: %s is lost in\n%s", lang, width, part, text)
				}
			}
		}
	}
}

// TestChinesePunctuation: Chinese texts have Chinese punctuation; names, paths and messages are
// unchanged.
func TestChinesePunctuation(t *testing.T) {
	t.Parallel()
	text := rendered(t, func(w io.Writer) error { return Text{Lang: Chinese}.WriteAnalysis(w, twoRecords()) })
	for line := range strings.Lines(text) {
		for i, c := range line {
			before := []rune(line[:i])
			if strings.ContainsRune(",:;", c) && len(before) > 0 && ui.Columns.RuneWidth(before[len(before)-1]) > 1 {
				t.Errorf("%c after a Chinese character: %s", c, line)
			}
		}
	}
}

// TestTextEscapes: names from files cannot control the terminal.
func TestTextEscapes(t *testing.T) {
	t.Parallel()
	r := twoRecords()
	r.Records[0].Op.Name, r.Records[0].Op.File, r.Records[0].File = "a\x1b[2Jb", "c\x1b[0md\ne", "f\rg"
	text := rendered(t, func(w io.Writer) error { return Text{}.WriteAnalysis(w, r) })
	if strings.ContainsAny(text, "\x1b\r") || !strings.Contains(text, `dump: c\x1b[0md\ne`+"\n") {
		t.Errorf("%q", text)
	}
}

// TestGuess: a guessed operator is marked at all places that name it.
func TestGuess(t *testing.T) {
	t.Parallel()
	r := twoRecords()
	r.Records[0].Op.MatchedBy, r.Records[0].Op.Guess = overflow.ByTimestamp, true
	text := rendered(t, func(w io.Writer) error { return Text{}.WriteAnalysis(w, r) })
	if n := strings.Count(text, "[Add] Default/Add-op0 (a guess)"); n != 2 {
		t.Errorf("%d marks, want 2, in\n%s", n, text)
	}
	zh := rendered(t, func(w io.Writer) error { return Text{Lang: Chinese}.WriteAnalysis(w, r) })
	if !strings.Contains(zh, "[Add] Default/Add-op0（推测）") || !strings.Contains(zh, "匹配依据：时间最接近\n") {
		t.Errorf("no mark in\n%s", zh)
	}
	md := rendered(t, func(w io.Writer) error { return english.WriteAnalysisMarkdown(w, r) })
	if !strings.Contains(md, "\n### #1 FIRST of rank 0, step 3: \\[Add\\] Default/Add-op0 (a guess)\n") {
		t.Errorf("no mark in\n%s", md)
	}
}

// TestNoRecords: without records the report gives the usual explanations.
func TestNoRecords(t *testing.T) {
	t.Parallel()
	for _, lang := range []Lang{English, Chinese} {
		text := rendered(t, func(w io.Writer) error {
			return Text{Lang: lang, Width: 0}.WriteAnalysis(w, &overflow.Report{Dumps: 3, Problems: twoRecords().Problems})
		})
		for _, hint := range overflow.NothingFound {
			if !strings.Contains(text, "  - "+lang.Text(hint)+"\n") {
				t.Errorf("no %q in\n%s", lang.Text(hint), text)
			}
		}
		if !strings.Contains(text, "d/zero") || !strings.Contains(text, "d/cut") {
			t.Errorf("problems are missing in\n%s", text)
		}
	}
	unreadable := &overflow.Report{Problems: twoRecords().Problems[1:]}
	text := rendered(t, func(w io.Writer) error { return Text{}.WriteAnalysis(w, unreadable) })
	if want := "Could not be read:\n  d/cut: 2048 bytes at 0x50, found 10\n"; text != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

// TestVerdictsTranslated: every verdict and every rule has a Chinese name.
func TestVerdictsTranslated(t *testing.T) {
	t.Parallel()
	for _, v := range []overflow.Verdict{overflow.ProducedHere, overflow.CameIn, overflow.ProcessOverflow, overflow.CannotTell} {
		if _, ok := lang.Lookup(string(v)); !ok {
			t.Errorf("verdict %s", v)
		}
	}
	for _, r := range []overflow.Rule{overflow.ByPayload, overflow.ByModulo, overflow.ByFileName, overflow.ByTimestamp} {
		if _, ok := lang.Lookup(string(r)); !ok {
			t.Errorf("rule %s", r)
		}
	}
}

func TestBreakPath(t *testing.T) {
	t.Parallel()
	cases := []struct {
		path  string
		width int
		want  []string
	}{
		{"a/b", 10, []string{"a/b"}},
		{"folder/other/name", 14, []string{"folder/other/", "name"}},
		{"long_name.with.dots", 12, []string{"long_name.with.dots"}},
		{"a/b/long_name.with.dots/c", 6, []string{"a/b/", "long_name.with.dots/", "c"}},
		{"/目录/目录", 6, []string{"/目录/", "目录"}},
		{"//a//", 1, []string{"/", "/", "a/", "/"}},
		{"", 1, []string{""}},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, breakPath(c.path, c.width)); diff != "" {
			t.Errorf("%s: %s", c.path, diff)
		}
	}
}
