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

	"dumptool/internal/overflow"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

var update = flag.Bool("update", false, "rewrite the texts in testdata")

// wideReport has long names, large numbers and many dimensions.
func wideReport() *overflow.Report {
	r := twoRecords()
	add := &r.Records[0]
	add.Op.Name = "Gradients/Default/network/" + strings.Repeat("layer/", 20) + "算子"
	add.Op.File = "/" + strings.Repeat("long_folder/", 15) + strings.Repeat("x", 200) + "/目录/Add.a.1.2"
	wide := infinite(tensorfile.Output)
	wide.Shape = tensor.Shape{1, 1, 1, 1, 1, 1, 1, 3}
	wide.Census.NaN, wide.Census.Saturated = 123456789012, 123456789012
	wide.Census.Min = number(-3.40282e38)
	add.Tensors = append(add.Tensors, wide)
	return r
}

// TestAnalysisText compares the report with testdata, at the widths of common
// terminals and without one, in both languages.
func TestAnalysisText(t *testing.T) {
	t.Parallel()
	for _, lang := range []Lang{English, Chinese} {
		for _, width := range []int{0, 80, 160} {
			name := fmt.Sprintf("analysis_%s_%d.txt", lang, width)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				compareText(t, name, func(w io.Writer) error { return Text{lang, width}.WriteAnalysis(w, twoRecords()) })
			})
		}
	}
}

func TestScanText(t *testing.T) {
	t.Parallel()
	for _, lang := range []Lang{English, Chinese} {
		name := fmt.Sprintf("scan_%s_80.txt", lang)
		compareText(t, name, func(w io.Writer) error { return Text{lang, 80}.WriteScan(w, scanned()) })
	}
}

func compareText(t *testing.T, name string, render func(io.Writer) error) {
	t.Helper()
	got, path := rendered(t, render), filepath.Join("testdata", name)
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
		t.Error(diff)
	}
}

// TestTextWidth: no line is wider than the terminal, and nothing is lost.
func TestTextWidth(t *testing.T) {
	t.Parallel()
	for _, lang := range []Lang{English, Chinese} {
		for width := 24; width <= 240; width++ {
			text := rendered(t, func(w io.Writer) error { return Text{lang, width}.WriteAnalysis(w, wideReport()) }) +
				rendered(t, func(w io.Writer) error { return Text{lang, width}.WriteScan(w, scanned()) }) +
				rendered(t, func(w io.Writer) error { return Text{lang, width}.WriteAnalysis(w, &overflow.Report{Dumps: 1}) })
			for line := range strings.Lines(text) {
				if n := metric.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
					t.Fatalf("%s: %d columns of %d: %s", lang, n, width, line)
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

// TestChinesePunctuation: what the report says in Chinese has the punctuation
// of Chinese; names, paths and messages are as they are.
func TestChinesePunctuation(t *testing.T) {
	t.Parallel()
	text := rendered(t, func(w io.Writer) error { return Text{Chinese, 0}.WriteAnalysis(w, twoRecords()) })
	for line := range strings.Lines(text) {
		for i, c := range line {
			before := []rune(line[:i])
			if strings.ContainsRune(",:;", c) && len(before) > 0 && isWide(before[len(before)-1]) {
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

// TestGuess: an operator that was guessed is marked wherever its name leads.
func TestGuess(t *testing.T) {
	t.Parallel()
	r := twoRecords()
	r.Records[0].Op.MatchedBy = overflow.ByTimestamp
	text := rendered(t, func(w io.Writer) error { return Text{}.WriteAnalysis(w, r) })
	if n := strings.Count(text, "[Add] Default/Add-op0 (a guess)"); n != 2 {
		t.Errorf("%d marks, want 2, in\n%s", n, text)
	}
	zh := rendered(t, func(w io.Writer) error { return Text{Lang: Chinese}.WriteAnalysis(w, r) })
	if !strings.Contains(zh, "[Add] Default/Add-op0 (推测)") || !strings.Contains(zh, "匹配依据：时间最接近\n") {
		t.Errorf("no mark in\n%s", zh)
	}
	md := rendered(t, func(w io.Writer) error { return WriteAnalysisMarkdown(w, r) })
	if !strings.Contains(md, "Default/Add-op0 (a guess) (first of its device)\n") {
		t.Errorf("no mark in\n%s", md)
	}
}

// TestNoRecords: the usual explanations stand in for records.
func TestNoRecords(t *testing.T) {
	t.Parallel()
	for _, lang := range []Lang{English, Chinese} {
		text := rendered(t, func(w io.Writer) error {
			return Text{lang, 0}.WriteAnalysis(w, &overflow.Report{Dumps: 3, Problems: twoRecords().Problems})
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
		if verdictText[v] == "" {
			t.Errorf("verdict %s", v)
		}
	}
	for _, r := range []overflow.Rule{overflow.ByPayload, overflow.ByModulo, overflow.ByFileName, overflow.ByTimestamp} {
		if ruleText[r] == "" {
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
		{"long_name.with.dots", 12, []string{"long_name.", "with.dots"}},
		{"abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"目录目录", 5, []string{"目录", "目录"}},
		{"目录", 1, []string{"目", "录"}},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, breakPath(c.path, c.width)); diff != "" {
			t.Errorf("%s: %s", c.path, diff)
		}
	}
}
