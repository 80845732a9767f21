package compare

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/tensor"
)

// TestTrim: a run keeps the details that its reports show, and no others.
func TestTrim(t *testing.T) {
	dir := t.TempDir()
	good := ramp(300)
	bad := append([]float64{}, good...)
	for i := range bad {
		bad[i] += 100 * float64(1+i%2)
	}
	for name, npu := range map[string][]float64{"bad": bad, "good": good} {
		write(t, filepath.Join(dir, "ref", name+".npy"), array(tensor.Float32, tensor.Shape{300}, good...))
		write(t, filepath.Join(dir, "npu", name+".npy"), array(tensor.Float32, tensor.Shape{300}, npu...))
	}
	opt := exactly(filepath.Join(dir, "ref"), filepath.Join(dir, "npu"))
	rep := runAll(t, opt)
	opt.Keep = true
	whole := runAll(t, opt)
	for i := range rep.Rows {
		row, res := &rep.Rows[i], rep.Rows[i].Result
		bad := slices.ContainsFunc(slices.Concat(res.AbsHistogram.Bins, res.RelHistogram.Bins), func(b metrics.HistogramBin) bool { return row.Status == record.Pass || b.Bin%4 != 0 })
		if bad || res.ErrorOffsets != nil {
			t.Errorf("%s keeps details that no report has", row.Op)
		}
		for _, a := range res.Axes {
			if len(a.Bins) > 64 {
				t.Errorf("%s keeps %d bins of an axis, want at most %d", row.Op, len(a.Bins), 64)
			}
		}
		if diff := cmp.Diff(jsonOf(t, &whole.Rows[i]), jsonOf(t, row)); diff != "" {
			t.Errorf("document of %s (-with details +trimmed):\n%s", row.Op, diff)
		}
	}
	fail, res := &rep.Rows[0], rep.Rows[0].Result
	if fail.Status != record.Fail || len(res.Worst) != opt.Top || len(res.Listed) != opt.List {
		t.Errorf("%s %s has %d worst and %d listed elements, want FAIL with %d and %d", fail.Op, fail.Status,
			len(res.Worst), len(res.Listed), opt.Top, opt.List)
	}
}

// TestTrimBins compares without bins, which no report will show.
func TestTrimBins(t *testing.T) {
	ref, npu := mixedNet(t)
	opt := hpaa(ref, npu)
	opt.Bins = true
	with := runAll(t, opt)
	opt.Bins = false
	without := runAll(t, opt)
	axes := 0
	for i := range with.Rows {
		if row := &with.Rows[i]; row.IsCompared() {
			axes += len(row.Result.Axes)
			row.Result.Axes, row.Result.AbsHistogram.Bins, row.Result.RelHistogram.Bins = nil, nil, nil
		}
	}
	if axes == 0 {
		t.Fatal("no axes in all rows, want some")
	}
	if diff := sameReports(with, without); diff != "" {
		t.Errorf("a run without bins differs in more than those (-with +without):\n%s", diff)
	}
}

// jsonOf returns a row as in compare.json.
func jsonOf(t *testing.T, row *record.Row) string {
	t.Helper()
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
