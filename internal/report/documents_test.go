package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/report/page"
)

// FuzzDocuments: every document that can be read can be shown.
func FuzzDocuments(f *testing.F) {
	var whole strings.Builder
	if err := everything().Write(&whole); err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{whole.String(), `{"schema":"dumptool/overflow/1","records":[{"op":"</script>"}]}`, `{"runs":[],"schema":"dumptool/determinism/1"}`,
		`{"schema":"dumptool/perf/1","operators":[{"name":"</script>","mcu_cycle":null,"explanation":{"en":"a","zh":"b"}}],"problems":[[2,"x"]]}`,
		`{"schema":"dumptool/overflow_scan/1"} x`, `{"schema":1}`, `[`, ``} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := &Documents{Documents: page.Documents{}}
		open := func(offset int64) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text[offset:])), nil }
		if err := d.add("a.json", open); err != nil {
			return
		}
		if d.Comparison == nil && d.Documents["overflow"] == nil && d.Documents["determinism"] == nil && d.Documents["perf"] == nil {
			t.Fatal("nothing was read")
		}
		if d.Comparison != nil { // two comparisons: before and after
			if err := d.add("b.json", open); err != nil || d.Before == nil {
				t.Errorf("a second comparison: %v", err)
			}
		}
		if err := d.add("b.json", open); !errors.As(err, new(*TwiceError)) {
			t.Errorf("once more: %v", err)
		}
		if d.Comparison == nil {
			d.Comparison = reportOf()
		}
		if err := d.WritePage(io.Discard, "", nil, Options{}); err != nil {
			t.Error(err)
		}
	})
}

func TestReadDocuments(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "compare.json")
	if err := os.WriteFile(path, []byte(rendered(t, everything().Write)), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := ReadDocuments([]string{path})
	if err != nil || len(d.Comparison.Rows) != len(everything().Rows) || d.CountPlots() != 0 {
		t.Fatalf("%v, error %v", d, err)
	}
	checkShown(t, rendered(t, everything().Write), Options{})
	if d, err := ReadDocuments([]string{path, path}); err != nil || d.Before == nil {
		t.Errorf("before and after: %v", err)
	}
	if _, err := ReadDocuments([]string{path, path, path}); !errors.As(err, new(*TwiceError)) || !strings.Contains(err.Error(), path) {
		t.Errorf("three: %v", err)
	}
}

// checkShown: the page of a document does not show the keys that reading for the page skips.
func checkShown(t rapid.TB, text string, opt Options) {
	t.Helper()
	whole, err := record.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	shown, err := record.ReadShown(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var want, got strings.Builder
	if err := writePage(&want, whole, opt); err != nil {
		t.Fatal(err)
	}
	if err := (&Documents{Comparison: shown}).WritePage(&got, "", nil, opt); err != nil {
		t.Fatal(err)
	}
	if want.String() != got.String() {
		t.Errorf("the page of a document that is read for it is another one:\n%s", cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(got.String(), "\n")))
	}
}

// TestShown: a document gives the same page as the report that wrote it.
func TestShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := reportOf()
		r.Verdict = rapid.SampledFrom([]string{evidenceMethod, limitsMethod}).Draw(t, "verdict")
		r.Args = []string{"--cpu=a/golden", "--npu=/b/dumps"}
		names := []string{"net/a/conv", "net/b/conv", "layer1_x", "layer1_y", "layer1_z", "plain"}
		for k := range rapid.IntRange(1, 3).Draw(t, "rounds") {
			round := record.Round{Findings: record.NoFindings(), OrderKnown: true}
			if rapid.Bool().Draw(t, "named") {
				round.Name, round.RoundCoordinates = fmt.Sprint("rank ", k), record.RoundCoordinates{Rank: fmt.Sprint(k)}
			}
			first := len(r.Rows)
			for range rapid.IntRange(0, 20).Draw(t, "rows") {
				row := passing(rapid.SampledFrom(names).Draw(t, "op"))
				row.Round, row.RoundCoordinates, row.Output = round.Name, round.RoundCoordinates, rapid.IntRange(0, 1).Draw(t, "output")
				row.RefFile, row.NPUFile = fmt.Sprintf("a/golden/%d/x", k), fmt.Sprintf("/b/dumps/%d/y:output:1", k)
				if rapid.IntRange(0, 3).Draw(t, "modules") == 0 {
					row.Modules = []string{"model", fmt.Sprint("layer", k)}
				}
				if rapid.IntRange(0, 5).Draw(t, "twin") == 0 {
					row.NPUOp = "other"
				}
				if rapid.Bool().Draw(t, "inputs") {
					row.Inputs = []int{first}
				}
				if rapid.Bool().Draw(t, "bits") {
					row.Result.RefCRC, row.Result.NPUCRC = 7, 7
				}
				row.Status = rapid.SampledFrom([]record.Status{record.Pass, record.Pass, record.Pass, record.Pass, record.Rounding, record.Fail, record.Warn, record.Skip}).Draw(t, "status")
				if row.Pair.Status = row.Status; row.Status != record.Pass {
					row.Reasons = []finding.Finding{{Code: finding.CalcError, Confidence: finding.High}}
				}
				switch row.Status {
				case record.Skip:
					row.Result, row.Shape = nil, nil
				case record.Fail:
					if round.Findings.FirstBad < 0 {
						round.Findings.FirstBad = len(r.Rows)
					}
					row.Evidence = &record.Evidence{Level: record.IsOrigin, Score: 2, FedBy: []int{}}
				}
				r.Rows = append(r.Rows, row)
			}
			if r.Findings.FirstBad < 0 {
				r.Findings = round.Findings
			}
			r.Rounds = append(r.Rounds, round)
		}
		if n := len(r.Rows); n > 0 && rapid.Bool().Draw(t, "baseline") {
			r.Baseline = &record.Baseline{File: "b.json", Fixed: []int{rapid.IntRange(0, n-1).Draw(t, "fixed")}}
		}
		r.Count()
		var text strings.Builder
		if err := r.Write(&text); err != nil {
			t.Fatal(err)
		}
		checkShown(t, text.String(), Options{Page: page.Options{NoPaths: rapid.Bool().Draw(t, "no paths")}})
	})
}
