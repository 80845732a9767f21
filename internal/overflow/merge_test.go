package overflow_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/overflow"
	"dumptool/internal/report"
	"dumptool/internal/shard"
)

// partsOf writes the one part of some work, whose rows are lines of JSON.
func partsOf(t testing.TB, dir, kind string, rows ...string) *shard.Listing {
	t.Helper()
	w, err := shard.Create(dir, shard.Head{Kind: kind, Of: 1, Rows: len(rows)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for i, row := range rows {
		if err := w.Write(i, json.RawMessage(row)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	l, err := shard.List([]string{dir}, shard.Head{})
	if err != nil || l.Err() != nil {
		t.Fatal(err, l.Err())
	}
	return l
}

// merged merges parts of either kind and prints the report in all formats.
func merged(t testing.TB, l *shard.Listing) error {
	t.Helper()
	if l.Head.Kind == overflow.ScanKind {
		r, in, err := overflow.MergeScan(l)
		if err == nil {
			_ = r.Outcome(in)
			printed(t, r)
		}
		return err
	}
	r, in, err := overflow.MergeAnalysis(l)
	if err == nil {
		_ = r.Outcome(in, true)
		printed(t, r)
	}
	return err
}

func printed[R any](t testing.TB, r R) {
	t.Helper()
	for _, format := range report.FormatNames[R]() {
		if err := report.Write(io.Discard, format, r, report.Options{}); err != nil && format != "html" {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// sampleRows are the rows of parts of the sample tree.
func sampleRows(t testing.TB, kind string) []string {
	t.Helper()
	run, err := dumpdir.Open(t.Context(), []string{filepath.Join("..", "..", "testdata", "sample")}, dumpdir.Options{NoRaw: true})
	if err != nil {
		t.Fatal(err)
	}
	write := overflow.ScanPart
	if kind == overflow.AnalyzeKind {
		write = overflow.AnalyzePart
	}
	part, err := write(t.Context(), run, overflow.Options{All: true}, overflow.Part{Spec: shard.Spec{Of: 1}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(part.Path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var rows []string
	for _, line := range lines[1 : len(lines)-1] {
		var row shard.Row
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, string(row.Data))
	}
	return rows
}

// A row that does not hold what it should is an error, whatever it holds.
func TestMergeBadRows(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{overflow.ScanKind, overflow.AnalyzeKind} {
		if err := merged(t, partsOf(t, t.TempDir(), kind)); err == nil {
			t.Errorf("%s: no row says what was listed", kind)
		}
		for _, row := range []string{`1`, `"a"`, `[]`, `{"File":1}`, `{"Tensors":[{"Stats":{"Min":"x"}}]}`, `{"Timestamp":-1}`} {
			for _, rows := range [][]string{{row}, {"{}", row}} {
				if err := merged(t, partsOf(t, t.TempDir(), kind, rows...)); err == nil && len(rows) == 2 && !strings.Contains(row, "Tensors") {
					t.Errorf("%s: row %s is good", kind, row)
				}
			}
		}
	}
}

// Whatever the rows of complete parts hold, merging them ends with a report or an error.
func FuzzMerge(f *testing.F) {
	for i, kind := range []string{overflow.ScanKind, overflow.AnalyzeKind} {
		rows := sampleRows(f, kind)
		for _, row := range rows[1:] {
			f.Add(i == 1, rows[0], row)
		}
	}
	f.Add(false, `{"Files":-1,"Orders":[{}],"Problems":[{"Err":null}]}`, `{"Read":[{"Tensors":[{"Stats":{"Saturated":1,"Count":1},"DType":1,"Values":{"max":"NaN"}}]}]}`)
	f.Add(false, `{}`, `{"Read":[{"Tensors":[{"Stats":{"Saturated":1,"Count":1},"DType":1,"Values":{}}]}]}`)
	f.Add(false, `{}`, `{"Read":[{"Tensors":[{"Stats":{"Saturated":1,"Max":1},"DType":1,"Values":{}}]}]}`)
	f.Add(true, `{}`, `{"Op":{},"Area":{"Status":[256]},"Producers":[{"Output":-1,"Tensors":[{"Err":{"EN":"x"}}]}]}`)
	dir := f.TempDir() // to make one for each takes longer than the rest
	f.Fuzz(func(t *testing.T, analysis bool, first, row string) {
		kind := overflow.ScanKind
		if analysis {
			kind = overflow.AnalyzeKind
		}
		if strings.ContainsAny(first+row, "\n") || !json.Valid([]byte(first)) || !json.Valid([]byte(row)) {
			return // no rows of a part
		}
		_ = merged(t, partsOf(t, dir, kind, first, row, row))
	})
}
