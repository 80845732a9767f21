package report

import (
	"context"
	"io"
	"regexp"
	"strings"
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/perf"
)

// performance is a report with an operator of every class, every status and finding,
// cores, runs, a problem on each side and names that nobody should trust.
func performance() *perf.Report {
	exclude, err := dumpdir.NewNameSet([]string{"net/control", "net/none"})
	if err != nil {
		panic(err)
	}
	r, err := perf.Analyze(context.Background(), perf.Options{
		Paths: []string{"testdata/perf"}, Baseline: "testdata/perf/before", Filter: &dumpdir.NodeFilter{Exclude: exclude},
		Thresholds: perf.DefaultThresholds(), Sort: perf.SortMCU, Top: 8, MHz: 1000, PeakBPC: 64, Mode: perf.ModeDumping,
	})
	if err != nil {
		panic(err)
	}
	return r
}

// TestPerfChinese: nothing of a report of performance for people is left in English but
// the words of the tables.
func TestPerfChinese(t *testing.T) {
	t.Parallel()
	english := regexp.MustCompile(`[a-z]{2,},? [a-z]{2,}`)
	known := strings.NewReplacer(", ", "，") // in lists of names
	for _, width := range []int{0, 80} {
		text := Text{Lang: Chinese, Width: width}
		for _, got := range []string{
			rendered(t, func(w io.Writer) error { return text.WritePerf(w, performance()) }),
			rendered(t, func(w io.Writer) error { return text.WritePerfMarkdown(w, performance()) }),
		} {
			if found := english.FindAllString(known.Replace(got), -1); found != nil {
				t.Errorf("English %q in\n%s", found, got)
			}
		}
	}
}

// TestPerfWidth: what is printed fits a terminal.
func TestPerfWidth(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 60, 80, 120} {
		for _, l := range []Lang{English, Chinese} {
			got := rendered(t, func(w io.Writer) error { return Text{Lang: l, Width: width}.WritePerf(w, performance()) })
			for line := range strings.Lines(got) {
				if n := metric.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%d columns, want %d: %s", n, width, line)
				}
			}
		}
	}
}
