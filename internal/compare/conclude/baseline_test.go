package conclude

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
)

// ruled returns a row with a number of errors and a largest error.
func ruled(op string, s record.Status, errors int64, maxAbs float64) record.Row {
	return record.Row{Op: op, Kind: "output", Verdict: record.Verdict{Status: s}, Errors: errors,
		Result: &metrics.Result{Total: 100, MaxAbs: metrics.Extreme{Metric: metrics.NumberOf(maxAbs)}, NPUCRC: 0xabc}}
}

// change changes the result of a row.
func change(row *record.Row, by func(r *metrics.Result)) {
	result := *row.Result
	by(&result)
	row.Result = &result
}

// mixed returns a failing row with some pairs of different classes.
func mixed(errors, mismatch int64, maxAbs float64) record.Row {
	row := ruled("x", record.Fail, errors, maxAbs)
	change(&row, func(r *metrics.Result) { r.Mismatch.Count = mismatch })
	return row
}

// undefinedMax returns a failing row without a finite pair.
func undefinedMax() record.Row {
	row := ruled("x", record.Fail, 10, 0)
	change(&row, func(r *metrics.Result) { r.MaxAbs = metrics.Extreme{} })
	return row
}

// TestBaselineTwins has rows of the same name: two NPU operators with the same origin, and two outputs of the first.
// Each row keeps its own entry, also in a file.
func TestBaselineTwins(t *testing.T) {
	twins := func(errors ...int64) *record.Report {
		rep := &record.Report{}
		for i, n := range errors {
			row := ruled("conv", record.Fail, n, 1)
			row.NPUOp = []string{"conv_relu", "conv_trans", "conv_trans"}[i]
			rep.Rows = append(rep.Rows, row)
		}
		return rep
	}
	var buf bytes.Buffer
	if err := NewBaseline(twins(10, 20, 30)).Write(&buf); err != nil {
		t.Fatal(err)
	}
	b, err := ReadBaseline(buf.Bytes())
	if err != nil {
		t.Fatalf("%v in\n%s", err, buf.String())
	}
	if diff := cmp.Diff(&record.Baseline{Known: []int{0, 1, 2}}, b.compare(twins(10, 20, 30), nil, 1)); diff != "" {
		t.Errorf("the same run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&record.Baseline{Known: []int{0, 2}, Worse: []int{1}}, b.compare(twins(10, 21, 30), nil, 1)); diff != "" {
		t.Errorf("the second is worse (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&record.Baseline{Known: []int{0, 1}, Missing: []string{"conv:output:0"}}, b.compare(twins(10, 20), nil, 1)); diff != "" {
		t.Errorf("one is missing (-want +got):\n%s", diff)
	}
}

func TestBaselineRules(t *testing.T) {
	one := 1.0
	known := []BaselineEntry{{RowKey: record.RowKey{Op: "x"}, Status: record.Fail, ErrorRatio: 0.1, MaxAbs: &one}}
	tests := []struct {
		name string
		old  []BaselineEntry
		row  record.Row
		want record.Baseline
	}{
		{"new failure of a new row", nil, ruled("x", record.Fail, 1, 1), record.Baseline{New: []int{0}}},
		{"new failure of a good row", []BaselineEntry{{RowKey: record.RowKey{Op: "x"}, Status: record.Pass}}, ruled("x", record.Fail, 1, 1), record.Baseline{New: []int{0}}},
		{"new failure of a skipped row", []BaselineEntry{{RowKey: record.RowKey{Op: "x"}, Status: record.Skip}}, ruled("x", record.Fail, 1, 1), record.Baseline{New: []int{0}}},
		{"known", known, ruled("x", record.Fail, 10, 1), record.Baseline{Known: []int{0}}},
		{"smaller", known, ruled("x", record.Fail, 1, 0.1), record.Baseline{Known: []int{0}}},
		{"within the slack", known, ruled("x", record.Fail, 15, 1.5), record.Baseline{Known: []int{0}}},
		{"more errors", known, ruled("x", record.Fail, 16, 1), record.Baseline{Worse: []int{0}}},
		{"a larger error", known, ruled("x", record.Fail, 10, 1.51), record.Baseline{Worse: []int{0}}},
		{"the largest error was not known", []BaselineEntry{{RowKey: record.RowKey{Op: "x"}, Status: record.Fail, ErrorRatio: 0.1}}, ruled("x", record.Fail, 10, 9), record.Baseline{Known: []int{0}}},
		{"errors became NaN", known, mixed(10, 3, 0.1), record.Baseline{Worse: []int{0}}},
		{"as many NaN", []BaselineEntry{{RowKey: record.RowKey{Op: "x"}, Status: record.Fail, ErrorRatio: 0.1, MaxAbs: &one, ClassMismatch: 4}}, mixed(10, 6, 0.1), record.Baseline{Known: []int{0}}},
		{"more NaN", []BaselineEntry{{RowKey: record.RowKey{Op: "x"}, Status: record.Fail, ErrorRatio: 0.1, MaxAbs: &one, ClassMismatch: 4}}, mixed(10, 7, 0.1), record.Baseline{Worse: []int{0}}},
		{"no largest error any more", known, undefinedMax(), record.Baseline{Worse: []int{0}}},
		{"the NPU's name changed", []BaselineEntry{{RowKey: record.RowKey{Op: "x", NPUOp: "x_fused"}, Status: record.Fail, ErrorRatio: 0.1, MaxAbs: &one}}, ruled("x", record.Fail, 10, 1),
			record.Baseline{Known: []int{0}}},
		{"fixed", known, ruled("x", record.Pass, 0, 0), record.Baseline{Fixed: []int{0}}},
		{"fixed with a warning", known, ruled("x", record.Warn, 0, 0), record.Baseline{Fixed: []int{0}}},
		{"good then and now", []BaselineEntry{{RowKey: record.RowKey{Op: "x"}, Status: record.Pass}}, ruled("x", record.Pass, 0, 0), record.Baseline{}},
		{"another kind of failure", known, record.Row{Op: "x", Kind: "output", Verdict: record.Verdict{Status: record.ShapeMismatch}}, record.Baseline{Worse: []int{0}}},
		{"could not be compared before", []BaselineEntry{{RowKey: record.RowKey{Op: "x"}, Status: record.ShapeMismatch}}, ruled("x", record.Fail, 10, 1), record.Baseline{Known: []int{0}}},
		{"still another shape", []BaselineEntry{{RowKey: record.RowKey{Op: "x"}, Status: record.ShapeMismatch}}, record.Row{Op: "x", Kind: "output", Verdict: record.Verdict{Status: record.ShapeMismatch}}, record.Baseline{Known: []int{0}}},
		{"missing", append(known, BaselineEntry{RowKey: record.RowKey{Op: "y", Output: 2, Round: "1"}, Status: record.Pass}), ruled("x", record.Fail, 10, 1),
			record.Baseline{Known: []int{0}, Missing: []string{"y:output:2@1"}}},
		{"unmatched is missing", known, record.Row{Op: "x", Kind: "output", Verdict: record.Verdict{Status: record.UnmatchedRef}}, record.Baseline{Missing: []string{"x:output:0"}}},
		{"unreadable is not missing", known, record.Row{Op: "x", Kind: "output", Verdict: record.Verdict{Status: record.Error}}, record.Baseline{}},
		{"an input is something else", known, record.Row{Op: "x", Kind: "input", Verdict: record.Verdict{Status: record.Fail}, Result: &metrics.Result{Total: 1}},
			record.Baseline{New: []int{0}, Missing: []string{"x:output:0"}}},
	}
	for _, tt := range tests {
		rows := []record.Row{tt.row}
		got := (&Baseline{Rows: tt.old}).compare(&record.Report{Rows: rows}, nil, 1.5)
		if diff := cmp.Diff(&tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if rows[0].Known != (len(tt.want.Known) == 1) {
			t.Errorf("%s: the row is known: %v", tt.name, rows[0].Known)
		}
	}
}

func TestBaselineRoundTrip(t *testing.T) {
	rep := &record.Report{Rows: []record.Row{
		ruled("a/b", record.Fail, 25, 0.5), ruled("c", record.Pass, 0, 0), {Op: "d", Kind: "input", Output: 3, Round: "step/1", Verdict: record.Verdict{Status: record.ShapeMismatch}},
		{Op: "e", Kind: "output", Verdict: record.Verdict{Status: record.Skip}}, {Op: "f", Kind: "output", Verdict: record.Verdict{Status: record.UnmatchedRef}}, {Op: "\"<\n\u2028", Kind: "output", Verdict: record.Verdict{Status: record.Error}},
	}}
	want := &Baseline{Schema: "dumptool/baseline/1", Rows: []BaselineEntry{
		{RowKey: record.RowKey{Op: "a/b"}, Status: record.Fail, ErrorRatio: 0.25, MaxAbs: new(0.5), Digest: "00000abc"},
		{RowKey: record.RowKey{Op: "c"}, Status: record.Pass, MaxAbs: new(0.0), Digest: "00000abc"},
		{RowKey: record.RowKey{Op: "d", Kind: "input", Output: 3, Round: "step/1"}, Status: record.ShapeMismatch},
		{RowKey: record.RowKey{Op: "\"<\n\u2028"}, Status: record.Error},
	}}
	b := NewBaseline(rep)
	if diff := cmp.Diff(want, b); diff != "" {
		t.Errorf("baseline of a report (-want +got):\n%s", diff)
	}
	var buf bytes.Buffer
	if err := b.Write(&buf); err != nil {
		t.Fatal(err)
	}
	got, err := ReadBaseline(buf.Bytes())
	if err != nil {
		t.Fatalf("%v in\n%s", err, buf.String())
	}
	if diff := cmp.Diff(b, got); diff != "" {
		t.Errorf("after a round trip (-want +got):\n%s", diff)
	}
	// A run compared with itself has nothing new.
	r := got.compare(rep, nil, 1)
	if diff := cmp.Diff(&record.Baseline{Known: []int{0, 2}}, r); diff != "" {
		t.Errorf("the same run (-want +got):\n%s", diff)
	}
}

// malformedBaselines are invalid baseline files, with a part of the error.
func malformedBaselines() map[string]string {
	return map[string]string{
		"":    "not a baseline",
		"[]":  "not a baseline",
		"nul": "not a baseline",
		`{"schema": "dumptool/baseline/1", "rows": [`:   "not a baseline",
		`{"schema": "dumptool/baseline/1", "rows": 3}`:  "not a baseline",
		`{"schema": "dumptool/baseline/2", "rows": []}`: "dumptool/baseline/2",
		`{"rows": []}`: "schema",
		`{"schema": "dumptool/baseline/1", "rows": []} x`:                                                                             "unexpected data after",
		`{"schema": "dumptool/baseline/1", "row": []}`:                                                                                "row",
		`{"schema": "dumptool/baseline/1", "rows": [{"op": "x"}]}`:                                                                    "unknown status",
		`{"schema": "dumptool/baseline/1", "rows": [{"op": "x", "status": "GOOD"}]}`:                                                  "GOOD",
		`{"schema": "dumptool/baseline/1", "rows": [{"op": "x", "status": "PASS"}, {"op": "x", "status": "FAIL"}]}`:                   "twice",
		`{"schema": "dumptool/baseline/1", "rows": [{"op": "x", "status": "PASS", "kind": "output"}, {"op": "x", "status": "FAIL"}]}`: "twice",
		`{"schema": "dumptool/baseline/1", "rows": [{"op": "x", "status": "PASS", "output": 1e99}]}`:                                  "not a baseline",
	}
}

func TestMalformedBaselines(t *testing.T) {
	for text, want := range malformedBaselines() {
		if b, err := ReadBaseline([]byte(text)); err == nil || b != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error about %q", text, err, want)
		}
	}
}

func FuzzReadBaseline(f *testing.F) {
	for text := range malformedBaselines() {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"schema": "dumptool/baseline/1", "rows": [{"op": "a", "output": 1, "status": "FAIL", "error_ratio": 0.5, "max_abs": 1e300, "digest": "0"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := ReadBaseline(data)
		if (err == nil) != (b != nil) {
			t.Fatalf("baseline %v with error %v", b, err)
		}
		if err != nil {
			return
		}
		var buf bytes.Buffer
		if err := b.Write(&buf); err != nil {
			t.Fatal(err)
		}
		again, err := ReadBaseline(buf.Bytes())
		if err != nil {
			t.Fatalf("%v in what was written: %s", err, buf.String())
		}
		if diff := cmp.Diff(len(b.Rows), len(again.Rows)); diff != "" {
			t.Fatalf("rows after a round trip (-want +got):\n%s", diff)
		}
	})
}

func TestAdopt(t *testing.T) {
	rep := &record.Report{Rows: []record.Row{ruled("a", record.Fail, 1, 1), ruled("b", record.Pass, 0, 0), {Op: "c", Verdict: record.Verdict{Status: record.Ambiguous}}}}
	rep.Baseline = &record.Baseline{File: "old.json", New: []int{0}, Missing: []string{"d:output:0"}}
	Adopt(rep, "new.json")
	if b := rep.Baseline; b.File != "new.json" || !b.Updated || len(b.Missing) != 0 {
		t.Errorf("baseline %+v, want that of new.json without missing rows", b)
	}
	for i, want := range []bool{true, false, true} {
		if rep.Rows[i].Known != want {
			t.Errorf("row %d is known: %v, want %v", i, rep.Rows[i].Known, want)
		}
	}
	rep = &record.Report{}
	if Adopt(rep, "new.json"); rep.Baseline == nil || !rep.Baseline.Updated {
		t.Errorf("baseline %+v of a run that had none, want an updated one", rep.Baseline)
	}
}
