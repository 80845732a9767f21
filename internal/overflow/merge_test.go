package overflow_test

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/overflow"
	"dumptool/internal/report"
	"dumptool/internal/shard"
)

// printed prints a report in all formats.
func printed[R any](t testing.TB, r R) {
	t.Helper()
	for _, format := range report.FormatNames[R]() {
		if err := report.Write(io.Discard, format, r, report.Options{}); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// documents returns the documents of a scan and an analysis of a shard of the sample tree.
func documents(t testing.TB) (scan, analysis []byte) {
	t.Helper()
	open := func() *dumpdir.Run {
		run, err := dumpdir.Open(t.Context(), []string{filepath.Join("..", "..", "testdata", "sample")}, dumpdir.Options{NoRaw: true})
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	opt := overflow.Options{All: true, Shard: shard.Spec{Index: 0, Of: 1}}
	s, err := overflow.Scan(t.Context(), open(), opt)
	if err != nil {
		t.Fatal(err)
	}
	a, err := overflow.Analyze(t.Context(), open(), opt)
	if err != nil {
		t.Fatal(err)
	}
	var texts [2]bytes.Buffer
	if report.Write(&texts[0], "json", s, report.Options{}) != nil || report.Write(&texts[1], "json", a, report.Options{}) != nil {
		t.Fatal("no document")
	}
	return texts[0].Bytes(), texts[1].Bytes()
}

// FuzzMerge: merging any documents gives a report that prints in all formats, or an error.
func FuzzMerge(f *testing.F) {
	scan, analysis := documents(f)
	f.Add(false, scan)
	f.Add(true, analysis)
	f.Add(false, []byte(`{"rows":[{"tensors":[{"count":1,"bad":true,"from_statistics":true}]},{"tensors":[{"bad_statistic":"nan"}]}],"orders":[{}],"problems":[{}],"rounds":[{},{"rank":"1","unfinished":true}]}`))
	f.Add(true, []byte(`{"records":[{"acc_type":"AIC","status":[256],"op":{},"producers":[{"tensors":[{"error":"x"}]}],"context_id":1}],"problems":null}`))
	f.Fuzz(func(t *testing.T, isAnalysis bool, text []byte) {
		docs := []shard.Document{{Path: "a", Rank: "7"}, {Path: "b"}}
		if isAnalysis {
			var a, b overflow.Report
			if json.Unmarshal(text, &a) != nil || json.Unmarshal(text, &b) != nil {
				return
			}
			if r, err := overflow.MergeAnalyses(docs, []*overflow.Report{&a, &b}); err == nil {
				_ = r.Outcome(true)
				printed(t, r)
			}
			return
		}
		var a, b overflow.ScanReport
		if json.Unmarshal(text, &a) != nil || json.Unmarshal(text, &b) != nil {
			return
		}
		if r, err := overflow.MergeScans(docs, []*overflow.ScanReport{&a, &b}); err == nil {
			_ = r.Outcome(true)
			printed(t, r)
		}
	})
}
