package report

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/check"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpconf"
	"dumptool/internal/lang"
)

func TestLang(t *testing.T) {
	t.Parallel()
	var l Lang
	if err := l.Set("ZH"); err != nil || l != Chinese || l.String() != "zh" || l.Type() != "en|zh" {
		t.Errorf("Set(ZH) = %v, %q", err, l)
	}
	if err := l.Set("de"); err == nil || l != Chinese {
		t.Errorf("Set(de) = %v, %q", err, l)
	}
	text := lang.Text{EN: "e", ZH: "z"}
	if Lang("").Text(text) != "e" || Chinese.Text(text) != "z" {
		t.Error("wrong language")
	}
}

// Coloured output has the same text as plain output, and colours statuses, severities and carets.
func TestColor(t *testing.T) {
	t.Parallel()
	plain := strings.NewReplacer("\x1b[1;31m", "", "\x1b[1;32m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[36m", "", "\x1b[0m", "")
	checks := &ConfigChecks{Checks: dumpconf.Checks{Files: []dumpconf.FileCheck{{
		Name: "error.json", Before: dumpconf.Check("error.json", []byte("{\"dump\": {\"dump_path\": 5,\n \"dump_mode\": \"no\"}}"), dumpconf.Options{}),
	}}}}
	grid := Table[string]{[]Column[string]{
		textColumn("name", func(s string) string { return "op" }), textColumn("status", func(s string) string { return s }), textColumn("last", func(string) string { return "x" }),
	}, []string{"PASS", "SHAPE_MISMATCH"}}.Grid(English)
	for name, tt := range map[string]struct {
		print func(Text) func(io.Writer) error
		want  string
	}{
		"findings": {func(t Text) func(io.Writer) error {
			return func(w io.Writer) error { return t.WriteConfigChecks(w, checks) }
		}, "error.json:1:24: \x1b[1;31merror:\x1b[0m \"dump_path\" must be"},
		"carets": {func(t Text) func(io.Writer) error {
			return func(w io.Writer) error { return t.WriteConfigChecks(w, checks) }
		}, "| " + strings.Repeat(" ", 23) + "\x1b[1;32m^\x1b[0m\n"},
		"grid": {func(t Text) func(io.Writer) error {
			return func(w io.Writer) error { return grid.Print(w, "", t) }
		}, "op    \x1b[32mPASS\x1b[0m            x\nop    \x1b[1;31mSHAPE_MISMATCH\x1b[0m  x\n"},
	} {
		for _, width := range []int{0, 60} {
			colored := rendered(t, tt.print(Text{Width: width, Color: true}))
			if !strings.Contains(colored, tt.want) {
				t.Errorf("%s, width %d: got\n%q\nwant in it\n%q", name, width, colored, tt.want)
			}
			if got, want := plain.Replace(colored), rendered(t, tt.print(Text{Width: width})); got != want {
				t.Errorf("%s, width %d: without colours\n%s\nwant\n%s", name, width, got, want)
			}
		}
	}
}

// inChinese is everything with reasons in Chinese.
func inChinese() *record.Report {
	r := everything()
	r.Warnings, r.OrderSource, r.GraphSource, r.FailedFast = nil, lang.Plain("x"), lang.Plain("y"), true
	for i := range r.Rows {
		row := &r.Rows[i]
		for k := range row.Reasons {
			row.Reasons[k].Evidence = lang.Say("%s", lang.Text{EN: "as it is", ZH: "理由"})
		}
		if row.Err != nil {
			row.Err = errors.New("坏")
		}
		row.Notes = []lang.Sentence{lang.Say("NPU %s to %s", "NHWC", "NCHW"), lang.Say("%s", lang.Text{EN: "--ref-format, which decides)", ZH: "--ref-format)"})}
	}
	return r
}

// TestCompareChinese: no English is left in the Chinese texts of a comparison.
func TestCompareChinese(t *testing.T) {
	english := regexp.MustCompile(`[a-z]{2,},? [a-z]{2,}`)
	reports := map[string]*record.Report{"all": inChinese(), "passing": reportOf(passing("a")), "empty": reportOf()}
	reports["interrupted"] = inChinese()
	reports["interrupted"].Interrupted = true
	reports["fewer"] = reportOf(passing("a"), uncompared("b", record.UnmatchedRef))
	reports["alone"] = reportOf(uncompared("b", record.UnmatchedRef))
	reports["part"] = reportOf(passing("a"))
	reports["part"].Counts[record.Partial] = 1
	reports["known"] = inChinese()
	reports["known"].Baseline.Updated = true
	for name, r := range reports {
		for _, text := range []Text{{Lang: Chinese}, {Lang: Chinese, Width: 100}} {
			got := []string{
				rendered(t, func(w io.Writer) error { return text.WriteCompare(w, r) }),
				rendered(t, func(w io.Writer) error { return text.WriteCompareMarkdown(w, r) }),
			}
			for i := range r.Rows {
				got = append(got, rendered(t, func(w io.Writer) error { return text.WriteCompareDetail(w, &r.Rows[i]) }))
			}
			for _, g := range got {
				if found := english.FindAllString(strings.NewReplacer("profile hpaa", "", "svg width", "").Replace(g), -1); found != nil {
					t.Errorf("%s: English %q in\n%s", name, found, g)
				}
			}
		}
	}
}

// TestProgramsReadEnglish: formats for programs are the same in all languages.
func TestProgramsReadEnglish(t *testing.T) {
	r := inChinese()
	for _, f := range Formats() {
		if slices.Contains([]string{"text", "md"}, f.Name) {
			continue
		}
		for i := range f.Writers {
			var result any
			switch w := &f.Writers[i]; {
			case w.result == FormatsOf[*record.Report]()[0].Writers[0].result:
				result = r
			case w.result == FormatsOf[*record.Row]()[0].Writers[0].result:
				result = &r.Rows[4]
			default:
				continue
			}
			var both [2]bytes.Buffer
			for k, l := range []Lang{English, Chinese} {
				if err := f.Writers[i].write(&both[k], result, Options{Text: Text{Lang: l}}); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(both[0].Bytes(), both[1].Bytes()) || both[0].Len() == 0 {
				t.Errorf("%s of %T depends on the language", f.Name, result)
			}
		}
	}
}

// TestStatusesInDocs: the docs of both languages have every status of a row.
func TestStatusesInDocs(t *testing.T) {
	t.Parallel()
	var statuses []string
	for _, s := range record.Statuses() {
		statuses = append(statuses, string(s))
	}
	for _, s := range check.Statuses {
		statuses = append(statuses, string(s))
	}
	for _, dir := range []string{"../../docs", "../../docs/zh"} {
		var all []byte
		for _, name := range []string{"verdict.md", "check.md", "compare.md", "glossary.md"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, text...)
		}
		for _, status := range statuses {
			if !regexp.MustCompile(`\b` + status + `\b`).Match(all) {
				t.Errorf("%s: no page has the status %s", dir, status)
			}
		}
	}
}
