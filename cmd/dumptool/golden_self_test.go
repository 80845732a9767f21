package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// selfRoot has small networks whose operators have their inputs in the dump.
var selfRoot = filepath.Join("..", "..", "testdata", "golden", "recompute", "nets")

// selfRow is a document's row of a recomputed operator.
type selfRow struct {
	Op, Status string
	Origin     bool
	Reasons    []struct{ Code string }
	Self       *struct{ Status, Reason string }
}

// TestSelf compares networks whose operators are recomputed: each judgement agrees with the slow
// program, faults are origins, no healthy operator is named. The document is the same for any
// number of workers, when judged alone and after a merge.
func TestSelf(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(selfRoot, "*"))
	if err != nil || len(folders) != 9 {
		t.Fatalf("%d networks, want 9, error %v", len(folders), err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			var truth struct {
				netTruth
				Self map[string]struct{ Expect string }
			}
			readJSON(t, filepath.Join(folder, "truth.json"), &truth)
			line := append(truth.compare(folder), "--format", "json")
			one := runArgs(t, append(line, "--check", "all", "-j", "1")...)
			rowsOfAll := selfRows(t, one)
			rows := map[string]selfRow{}
			for _, row := range rowsOfAll {
				want, computed := truth.Self[row.Op]
				if computed != (row.Self != nil) || computed && row.Self.Status != strings.ToLower(want.Expect) {
					t.Errorf("%s is by itself %v, want %v", row.Op, row.Self, want)
				}
				rows[row.Op] = row
			}
			faulty := map[string]bool{}
			for _, f := range truth.Faults {
				faulty[f.Op] = true
				if row := rows[f.Op]; f.Visible && !row.Origin {
					t.Errorf("%s is faulty and no origin: %v", f.Op, row)
				}
			}
			for op, row := range rows {
				if row.Origin && !faulty[op] {
					t.Errorf("%s is healthy, and an origin: %v", op, row.Reasons)
				}
			}
			for _, row := range selfRows(t, runArgs(t, append(line, "--check", "suspects")...)) { // recomputed rows are suspects, or in doubt
				if row.Origin != rows[row.Op].Origin || row.Status != rows[row.Op].Status {
					t.Errorf("of suspects %s is %v, want %v", row.Op, row, rows[row.Op])
				}
			}
			if truth.Clean && one.code != exitOK {
				t.Errorf("a healthy network ends with %d", one.code)
			}
			if many := runArgs(t, append(line, "--check", "all", "-j", "3")...); withoutArgs(many.out) != withoutArgs(one.out) {
				t.Error("another document with three workers")
			}
			path := filepath.Join(t.TempDir(), "compare.json")
			if err := os.WriteFile(path, []byte(one.out), 0o600); err != nil {
				t.Fatal(err)
			}
			var again struct{ Rows []selfRow }
			if r := runArgs(t, "compare", "judge", path, "--format", "json"); json.Unmarshal([]byte(r.out), &again) != nil || len(again.Rows) != len(rowsOfAll) {
				t.Fatalf("judge: exit %d: %s%s", r.code, r.out, r.err)
			}
			for i, row := range again.Rows {
				if row.Status != rowsOfAll[i].Status {
					t.Errorf("judge: %s is %s, want %s", row.Op, row.Status, rowsOfAll[i].Status)
				}
			}
		})
	}
}

// selfRows returns the rows of a comparison that wrote its document.
func selfRows(t *testing.T, r result) []selfRow {
	t.Helper()
	var doc struct{ Rows []selfRow }
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
		t.Fatalf("exit %d: %v: %s", r.code, err, r.err)
	}
	return doc.Rows
}

// withoutArgs returns a document without its arguments and everything derived from them.
func withoutArgs(document string) string {
	var kept []string
	for line := range strings.SplitSeq(document, "\n") {
		if key := strings.TrimSpace(line); !strings.HasPrefix(key, `"args"`) && !strings.HasPrefix(key, `"options"`) && !strings.HasPrefix(key, `"run_id"`) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
