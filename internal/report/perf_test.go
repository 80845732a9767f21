package report

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/perf"
	"dumptool/internal/ui"
)

// performance is a report with an operator of every class, every status and finding, cores, runs, a
// problem on each side and hostile names.
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

// TestPerfChinese: the Chinese texts of a performance report have no English but the words of the
// tables.
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

// TestPerfWidth: the output fits the terminal.
func TestPerfWidth(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 60, 80, 120} {
		for _, l := range []Lang{English, Chinese} {
			got := rendered(t, func(w io.Writer) error { return Text{Lang: l, Width: width}.WritePerf(w, performance()) })
			for line := range strings.Lines(got) {
				if n := ui.Columns.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%d columns, want %d: %s", n, width, line)
				}
			}
		}
	}
}

// perfKeys lists the keys of a performance document, perfOperatorKeys the keys of an operator
// besides its counters.
const (
	perfKeys = `schema files sort thresholds mhz peak_bpc total_mcu_cycle baseline_files baseline_total_mcu_cycle missing operators
		hidden top cores relation runs missing_columns unknown_columns read problems notes`
	perfOperatorKeys = `name rank occurrence at file line share_of_total cumulative class confidence evidence unit derived status
		baseline_mcu_cycle base_mte_pld_byte base_l1_conflict_cycle base_im_conflict_cycle growth slowest_core mean imbalance
		advice explanation advice_text extra`
)

// TestPerfDocument: the JSON has the facts of the report, and every key is documented.
func TestPerfDocument(t *testing.T) {
	t.Parallel()
	r := performance()
	text := []byte(rendered(t, func(w io.Writer) error { return WritePerfJSON(w, r) }))
	var d struct {
		Schema        string
		Total         int64 `json:"total_mcu_cycle"`
		BaselineTotal int64 `json:"baseline_total_mcu_cycle"`
		Relation      perf.Relation
		Hidden        [][2]string
		Problems      [][4]any
		Read          [][3]any
		Notes         []perf.Note
		Operators     []map[string]any
	}
	var top map[string]json.RawMessage
	if err := cmp.Or(json.Unmarshal(text, &d), json.Unmarshal(text, &top)); err != nil {
		t.Fatal(err)
	}
	if d.Schema != perf.Schema || d.Total != r.Total || d.BaselineTotal != r.BaselineSummary.Total || d.Relation != r.Relation ||
		len(d.Operators) != len(r.Operators) || len(d.Hidden) != len(r.Hidden) || len(d.Problems) != 2 || len(d.Read) != len(r.Operators) || len(d.Notes) != len(r.Notes) {
		t.Errorf("%+v", d)
	}
	known := strings.Fields(perfOperatorKeys)
	for _, c := range perf.Columns() {
		known = append(known, c.String())
	}
	number := func(n perf.Count) any {
		if !n.Known {
			return nil
		}
		return float64(n.N)
	}
	for i, o := range r.Operators {
		got := d.Operators[i]
		for _, c := range perf.Columns() {
			if n, ok := got[c.String()]; !ok || n != number(o.Get(c)) {
				t.Errorf("%s: %s is %v, want %v", o.Name, c, n, o.Get(c))
			}
		}
		if got["name"] != o.Name || got["occurrence"] != float64(o.Occurrence) || got["class"] != string(o.Class) || got["status"] != string(o.Status) ||
			got["growth"] != number(o.Growth()) || len(got["advice"].([]any)) != len(o.Advice) || got["explanation"].(map[string]any)["en"] != o.Text.Text().String() || (got["slowest_core"] == nil) != (o.Cores == nil) {
			t.Errorf("%s: %+v", o.Name, got)
		}
		for key := range got {
			if !slices.Contains(known, key) {
				t.Errorf("operators of the document have no %s", key)
			}
		}
	}
	for key := range top {
		if !slices.Contains(strings.Fields(perfKeys), key) {
			t.Errorf("the document has no %s", key)
		}
	}
}
