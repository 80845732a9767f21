package compare

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dumptool/internal/compare/engine"
	"dumptool/internal/compare/pairing"
	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
)

// ruled is a row with a share of errors and a largest error.
func ruled(op string, s Status, errors int64, maxAbs float64) Row {
	return Row{Op: op, Kind: "output", Status: s, Errors: errors,
		Result: &engine.Result{Total: 100, MaxAbs: engine.Extreme{Metric: engine.Metric{Value: maxAbs, Defined: true}}, NPUCRC: 0xabc}}
}

// mixed is a failing row of which some pairs are of two classes.
func mixed(errors, mismatch int64, maxAbs float64) Row {
	row := ruled("x", Fail, errors, maxAbs)
	row.Result.Mismatch.Count = mismatch
	return row
}

// undefinedMax is a failing row without a finite pair.
func undefinedMax() Row {
	row := ruled("x", Fail, 10, 0)
	row.Result.MaxAbs = engine.Extreme{}
	return row
}

// TestBaselineTwins has rows of one name: two NPU operators with one origin, and
// two outputs of one of them. Each keeps its own entry, also in a file.
func TestBaselineTwins(t *testing.T) {
	twins := func(errors ...int64) *Report {
		rep := &Report{}
		for i, n := range errors {
			row := ruled("conv", Fail, n, 1)
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
	if diff := cmp.Diff(&BaselineResult{Known: []int{0, 1, 2}}, b.apply(twins(10, 20, 30), 1)); diff != "" {
		t.Errorf("the same run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&BaselineResult{Known: []int{0, 2}, Worse: []int{1}}, b.apply(twins(10, 21, 30), 1)); diff != "" {
		t.Errorf("the second is worse (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&BaselineResult{Known: []int{0, 1}, Missing: []string{"conv:output:0"}}, b.apply(twins(10, 20), 1)); diff != "" {
		t.Errorf("one is missing (-want +got):\n%s", diff)
	}
}

// TestBaselineOfPart updates a baseline by runs of a part of the tensors.
func TestBaselineOfPart(t *testing.T) {
	dir := t.TempDir()
	ref, npu := filepath.Join(dir, "ref"), filepath.Join(dir, "npu")
	for _, op := range []string{"a", "b", "c", "d"} {
		write(t, filepath.Join(ref, op+".npy"), array(tensor.Float32, tensor.Shape{2}, 1, 2))
		for _, round := range []string{"0", "1"} {
			write(t, filepath.Join(npu, round, op+".npy"), array(tensor.Float32, tensor.Shape{2}, 1, 9))
		}
	}
	opt := exactly(ref, npu)
	opt.Order.By = pairing.ByName
	full := NewBaseline(runAll(t, opt))
	if len(full.Rows) != 8 {
		t.Fatalf("%d entries, want 8", len(full.Rows))
	}
	set := func(names ...string) *pairing.NameSet {
		s, err := pairing.NewNameSet(names)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, change := range map[string]func(*PairOptions){
		"ops":       func(o *PairOptions) { o.Ops = set("b") },
		"skip keys": func(o *PairOptions) { o.SkipKeys = []string{"c"} },
		"excluded":  func(o *PairOptions) { o.Exclude = set("a", "d") },
		"round":     func(o *PairOptions) { o.Rounds.First = true },
		"both":      func(o *PairOptions) { o.Rounds.Number, o.Ops = ptr(1), set("a") },
		"no round":  func(o *PairOptions) { o.Rounds.Number = ptr(7) },
	} {
		part := opt
		part.Baseline, part.Slack = full, 1
		change(&part.Pair)
		rep := runAll(t, part)
		if b := rep.Baseline; len(b.Missing)+len(b.New)+len(b.Worse) > 0 {
			t.Errorf("%s: missing %v, new %v, worse %v", name, b.Missing, b.New, b.Worse)
		}
		if diff := cmp.Diff(full, full.Update(rep)); diff != "" {
			t.Errorf("%s: updated baseline (-want +got):\n%s", name, diff)
		}
	}
	// What is gone is told and dropped, what is unreadable keeps its entry.
	for _, round := range []string{"0", "1"} {
		if err := os.Remove(filepath.Join(npu, round, "b.npy")); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(npu, round, "c.npy"), []byte("broken"))
	}
	opt.Baseline, opt.Slack = full, 1
	rep := runAll(t, opt)
	if diff := cmp.Diff([]string{"b:output:0@0", "b:output:0@1"}, rep.Baseline.Missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	want := &Baseline{Schema: full.Schema}
	for _, e := range full.Rows {
		if e.Op != "b" {
			want.Rows = append(want.Rows, e)
		}
	}
	if diff := cmp.Diff(want, full.Update(rep)); diff != "" {
		t.Errorf("updated baseline (-want +got):\n%s", diff)
	}
}

func TestBaselineRules(t *testing.T) {
	one := 1.0
	known := []BaselineEntry{{Op: "x", Status: Fail, ErrorRatio: 0.1, MaxAbs: &one}}
	tests := []struct {
		name string
		old  []BaselineEntry
		row  Row
		want BaselineResult
	}{
		{"new failure of a new row", nil, ruled("x", Fail, 1, 1), BaselineResult{New: []int{0}}},
		{"new failure of a good row", []BaselineEntry{{Op: "x", Status: Pass}}, ruled("x", Fail, 1, 1), BaselineResult{New: []int{0}}},
		{"new failure of a skipped row", []BaselineEntry{{Op: "x", Status: Skip}}, ruled("x", Fail, 1, 1), BaselineResult{New: []int{0}}},
		{"known", known, ruled("x", Fail, 10, 1), BaselineResult{Known: []int{0}}},
		{"smaller", known, ruled("x", Fail, 1, 0.1), BaselineResult{Known: []int{0}}},
		{"within the slack", known, ruled("x", Fail, 15, 1.5), BaselineResult{Known: []int{0}}},
		{"more errors", known, ruled("x", Fail, 16, 1), BaselineResult{Worse: []int{0}}},
		{"a larger error", known, ruled("x", Fail, 10, 1.51), BaselineResult{Worse: []int{0}}},
		{"the largest error was not known", []BaselineEntry{{Op: "x", Status: Fail, ErrorRatio: 0.1}}, ruled("x", Fail, 10, 9), BaselineResult{Known: []int{0}}},
		{"errors became NaN", known, mixed(10, 3, 0.1), BaselineResult{Worse: []int{0}}},
		{"as many NaN", []BaselineEntry{{Op: "x", Status: Fail, ErrorRatio: 0.1, MaxAbs: &one, ClassMismatch: 4}}, mixed(10, 6, 0.1), BaselineResult{Known: []int{0}}},
		{"more NaN", []BaselineEntry{{Op: "x", Status: Fail, ErrorRatio: 0.1, MaxAbs: &one, ClassMismatch: 4}}, mixed(10, 7, 0.1), BaselineResult{Worse: []int{0}}},
		{"no largest error any more", known, undefinedMax(), BaselineResult{Worse: []int{0}}},
		{"the NPU's name changed", []BaselineEntry{{Op: "x", NPUOp: "x_fused", Status: Fail, ErrorRatio: 0.1, MaxAbs: &one}}, ruled("x", Fail, 10, 1),
			BaselineResult{Known: []int{0}}},
		{"fixed", known, ruled("x", Pass, 0, 0), BaselineResult{Fixed: []int{0}}},
		{"fixed with a warning", known, ruled("x", Warn, 0, 0), BaselineResult{Fixed: []int{0}}},
		{"good then and now", []BaselineEntry{{Op: "x", Status: Pass}}, ruled("x", Pass, 0, 0), BaselineResult{}},
		{"another kind of failure", known, Row{Op: "x", Kind: "output", Status: ShapeMismatch}, BaselineResult{Worse: []int{0}}},
		{"could not be compared before", []BaselineEntry{{Op: "x", Status: ShapeMismatch}}, ruled("x", Fail, 10, 1), BaselineResult{Known: []int{0}}},
		{"still another shape", []BaselineEntry{{Op: "x", Status: ShapeMismatch}}, Row{Op: "x", Kind: "output", Status: ShapeMismatch}, BaselineResult{Known: []int{0}}},
		{"missing", append(known, BaselineEntry{Op: "y", Output: 2, Round: "1", Status: Pass}), ruled("x", Fail, 10, 1),
			BaselineResult{Known: []int{0}, Missing: []string{"y:output:2@1"}}},
		{"unmatched is missing", known, Row{Op: "x", Kind: "output", Status: UnmatchedRef}, BaselineResult{Missing: []string{"x:output:0"}}},
		{"unreadable is not missing", known, Row{Op: "x", Kind: "output", Status: Error}, BaselineResult{}},
		{"an input is something else", known, Row{Op: "x", Kind: "input", Status: Fail, Result: &engine.Result{Total: 1}},
			BaselineResult{New: []int{0}, Missing: []string{"x:output:0"}}},
	}
	for _, tt := range tests {
		rows := []Row{tt.row}
		got := (&Baseline{Rows: tt.old}).apply(&Report{Rows: rows}, 1.5)
		if diff := cmp.Diff(&tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if rows[0].Known != (len(tt.want.Known) == 1) {
			t.Errorf("%s: the row is known: %v", tt.name, rows[0].Known)
		}
	}
}

func TestBaselineRoundTrip(t *testing.T) {
	rep := &Report{Rows: []Row{
		ruled("a/b", Fail, 25, 0.5), ruled("c", Pass, 0, 0), {Op: "d", Kind: "input", Output: 3, Round: "step/1", Status: ShapeMismatch},
		{Op: "e", Kind: "output", Status: Skip}, {Op: "f", Kind: "output", Status: UnmatchedRef}, {Op: "\"<\n\u2028", Kind: "output", Status: Error},
	}}
	want := &Baseline{Schema: "dumptool/baseline/1", Rows: []BaselineEntry{
		{Op: "a/b", Status: Fail, ErrorRatio: 0.25, MaxAbs: ptr(0.5), Digest: "00000abc"},
		{Op: "c", Status: Pass, MaxAbs: ptr(0.0), Digest: "00000abc"},
		{Op: "d", Kind: "input", Output: 3, Round: "step/1", Status: ShapeMismatch},
		{Op: "\"<\n\u2028", Status: Error},
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
	// Held against itself, nothing is new.
	r := got.apply(rep, 1)
	if diff := cmp.Diff(&BaselineResult{Known: []int{0, 2}}, r); diff != "" {
		t.Errorf("the same run (-want +got):\n%s", diff)
	}
}

// malformedBaselines are files that are no baselines, with a part of the error.
func malformedBaselines() map[string]string {
	return map[string]string{
		"":    "not a baseline",
		"[]":  "not a baseline",
		"nul": "not a baseline",
		`{"schema": "dumptool/baseline/1", "rows": [`:   "not a baseline",
		`{"schema": "dumptool/baseline/1", "rows": 3}`:  "not a baseline",
		`{"schema": "dumptool/baseline/2", "rows": []}`: "dumptool/baseline/2",
		`{"rows": []}`: "schema",
		`{"schema": "dumptool/baseline/1", "rows": []} x`:                                                                             "more after",
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
	rep := &Report{Rows: []Row{ruled("a", Fail, 1, 1), ruled("b", Pass, 0, 0), {Op: "c", Status: Ambiguous}}}
	rep.Baseline = &BaselineResult{File: "old.json", New: []int{0}, Missing: []string{"d:output:0"}}
	rep.Adopt("new.json")
	if b := rep.Baseline; b.File != "new.json" || !b.Updated || len(b.Missing) != 0 {
		t.Errorf("baseline %+v, want that of new.json without missing rows", b)
	}
	for i, want := range []bool{true, false, true} {
		if rep.Rows[i].Known != want {
			t.Errorf("row %d is known: %v, want %v", i, rep.Rows[i].Known, want)
		}
	}
	rep = &Report{}
	if rep.Adopt("new.json"); rep.Baseline == nil || !rep.Baseline.Updated {
		t.Errorf("baseline %+v of a run that had none, want an updated one", rep.Baseline)
	}
}
