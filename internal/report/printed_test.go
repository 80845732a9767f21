package report

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"dumptool/internal/check"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/dumptest"
	"dumptool/internal/lang"
	"dumptool/internal/recompute"
	"dumptool/internal/shard"
	"dumptool/internal/sidefile"
	"dumptool/internal/ui"
)

// lineWith returns the line of a text with a mark, from the mark on.
func lineWith(t *testing.T, text, mark string) string {
	t.Helper()
	for line := range strings.Lines(text) {
		if _, behind, found := strings.Cut(strings.TrimSuffix(line, "\n"), mark); found {
			return behind
		}
	}
	t.Fatalf("no %q in %s", mark, text)
	return ""
}

// TestPrintedCommands: a shell parses the printed commands as intended, for any names of files and
// operators, in both languages and at any width.
func TestPrintedCommands(t *testing.T) {
	t.Parallel()
	for _, name := range dumptest.HardNames() {
		path := lang.PathArgument(name)
		r := &check.Report{Paths: []string{name, "b"}, Operators: []check.Operator{{Op: name, Type: "Relu", Verdict: recompute.Verdict{Status: recompute.Wrong}, At: dumpdir.Coordinates{Rank: "1", Step: "2"}}},
			Origin: shard.Origin{Argv: []string{"--attr=" + name, "--attr=x.y=1", "--rank=1", "--ops=x"}}}
		r.Summary = check.Summary{Operators: 1, First: new(int)}
		f := *betweenRanks().Findings[0]
		f.Op, f.Step, f.Members = name, "2", []int{0, 1, 4}
		for _, l := range []Lang{English, Chinese} {
			for _, width := range []int{0, 80} {
				var b, of strings.Builder
				text := Text{Lang: l, Width: width}
				if err := text.WriteCheck(&b, r); err != nil {
					t.Fatal(err)
				}
				p := text.printerTo(&of)
				p.facts([]summaryItem{{label: "x", lines: p.findingLines(&f, []string{name})}})
				broken := "\n" + pad("", labelWidth) + textIndent
				out := strings.NewReplacer(broken+"dumptool", " dumptool", broken+"eval", " eval").Replace(b.String() + of.String())
				if ui.Escape(strings.ReplaceAll(out, "\n", "")) != strings.ReplaceAll(out, "\n", "") || !utf8.ValidString(out) {
					t.Errorf("%q: a terminal does not show all of %q", name, out)
				}
				again := lineWith(t, out, map[Lang]string{English: "reproduce: ", Chinese: "复现："}[l])
				want := slices.Concat([]string{"check", path, "b", "--attr=" + name, "--attr=x.y=1", "--rank", "1", "--step", "2"}, lang.Flag("--ops", dumpdir.OpsText(name)), []string{"--extract", "repro"})
				if got := dumptest.ShellArgs(t, again); !slices.Equal(got, want) {
					t.Errorf("%s: %q, want %q", again, got, want)
				}
				look := lineWith(t, out, map[Lang]string{English: "look at it: ", Chinese: "查看："}[l])
				want = slices.Concat([]string{"inspect", path, "--rank", "0-1|4", "--step", "2"}, lang.Flag("--ops", dumpdir.OpsText(name)), []string{"--stats"})
				if got := dumptest.ShellArgs(t, look); !slices.Equal(got, want) {
					t.Errorf("%s: %q, want %q", look, got, want)
				}
			}
		}
	}
}

// TestPrintedMap: the printed map of names contains the name.
func TestPrintedMap(t *testing.T) {
	t.Parallel()
	for _, name := range dumptest.HardNames() {
		row := passing("a")
		row.Op, row.Status = name, record.Ambiguous
		var b strings.Builder
		p := Text{Lang: English}.printerTo(&b)
		p.facts(p.problemFacts(reportOf(row)))
		args := dumptest.ShellArgs(t, "dumptool "+lineWith(t, b.String(), "pairs these tensors: "))
		in, err := (&sidefile.Files{NameMap: args[1]}).Load()
		if err != nil || len(in.NameMap.Entries) != 1 || in.NameMap.Entries[0].Ref != name {
			t.Errorf("%q: %q: %v", name, args, err)
		}
	}
}
