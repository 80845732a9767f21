package report

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"reflect"
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

// TestPerfDocument: a program reads in JSON what the report has, and every key of it is
// documented.
func TestPerfDocument(t *testing.T) {
	t.Parallel()
	r := performance()
	text := rendered(t, func(w io.Writer) error { return WritePerfJSON(w, r) })
	var d perf.Document
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if d.Schema != perf.Schema || d.Total != r.Total || *d.BaselineTotal != r.Before.Total || d.Thresholds != r.Thresholds || *d.Relation != r.Relation ||
		len(d.Operators) != len(r.Operators) || len(d.Hidden) != len(r.Hidden) || len(d.Problems) != 2 || len(d.Read) != len(r.Operators) || len(d.Notes) != len(r.Notes) {
		t.Errorf("%+v", d)
	}
	for i, o := range r.Operators {
		got := &d.Operators[i]
		if got.Name != o.Name || got.Counters != o.Counters || got.Occurrence != o.Occurrence || got.Class != o.Class || got.Status != o.Status ||
			got.Growth != o.Growth() || len(got.Advice) != len(o.Advice) || got.Explanation != o.Says.Text() || (got.SlowestCore == nil) != (o.Cores == nil) {
			t.Errorf("%s: %+v", o.Name, got)
		}
	}
	known := jsonKeys(reflect.TypeFor[perf.Document]())
	ofOperator := jsonKeys(reflect.TypeFor[perf.DocumentOperator]())
	for _, c := range perf.Columns() {
		ofOperator[c.String()] = true
	}
	var all struct{ Operators []map[string]any }
	var top map[string]any
	if err := cmp.Or(json.Unmarshal([]byte(text), &all), json.Unmarshal([]byte(text), &top)); err != nil {
		t.Fatal(err)
	}
	for key := range top {
		if !known[key] {
			t.Errorf("the document has no %s", key)
		}
	}
	for _, o := range all.Operators {
		for key := range o {
			if !ofOperator[key] {
				t.Errorf("operators of the document have no %s", key)
			}
		}
	}
}

// jsonKeys are the keys of a struct in JSON.
func jsonKeys(t reflect.Type) map[string]bool {
	keys := map[string]bool{}
	for i := range t.NumField() {
		keys[t.Field(i).Tag.Get("json")] = true
	}
	return keys
}
