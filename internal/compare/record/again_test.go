package record_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/shard"
	"dumptool/internal/tensor"
)

// TestTogether: writers that share what is read again see all rows of their report, each time
// that they go through them, and all of these are read as often as the most eager one goes
// through them.
func TestTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rep := &record.Report{Findings: record.NoFindings(), Rounds: []record.Round{{Name: "rank 0", Findings: record.NoFindings()}}}
		for i := range rapid.SampledFrom([]int{0, 1, 64, 65, 130}).Draw(t, "rows") {
			status := rapid.SampledFrom([]record.Status{record.Pass, record.Fail}).Draw(t, "status")
			row := record.Row{Op: fmt.Sprintf("op%d", i), Kind: "output", Round: "rank 0", Pair: record.Judged{Status: status}, Shape: tensor.Shape{2, 3}, RefDType: tensor.Float16, NPUDType: tensor.Float16}
			row.Status, row.Result = status, documentResult()
			rep.Rows = append(rep.Rows, row)
		}
		rep.Count()
		text := written(t, rep)
		var reads atomic.Int64
		open := func(offset int64) (io.ReadCloser, error) {
			reads.Add(1)
			return io.NopCloser(bytes.NewReader(text[offset:])), nil
		}
		kept, err := record.ReadKept("compare.json", open, record.Shown, func(*record.Report, int, *record.Row) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		whole, bad, keptBad := rep.Len(), rep.BadRows(), kept.BadRows()
		if kept.Passed.Rows == 0 && whole > 0 {
			return // all is there
		}
		most, writers, ended := 0, []func(){}, 0
		for range rapid.IntRange(0, 4).Draw(t, "writers") {
			times, entire := rapid.IntRange(0, 3).Draw(t, "times"), rapid.Bool().Draw(t, "entire")
			until, onlyBad := rapid.IntRange(0, whole).Draw(t, "until"), rapid.Bool().Draw(t, "bad rows")
			most = max(most, times)
			writers = append(writers, func() {
				of, want := kept, rep
				if onlyBad {
					of, want = keptBad, bad
				}
				for k := range times {
					n := 0
					for i, row := range of.Each(entire) {
						if row.Op != want.Row(i).Op || i != n {
							t.Fatalf("row %d is %s, want %s at %d", i, row.Op, want.Row(i).Op, n)
						}
						if n++; k == 0 && n > until {
							break
						}
					}
					if n < want.Len() && (k > 0 || n <= until) {
						t.Fatalf("%d rows of %d", n, want.Len())
					}
				}
				ended++
			})
		}
		reads.Store(0)
		kept.Together(writers)
		if n := int(reads.Load()); ended != len(writers) || kept.AgainFailed() != nil || n > most*len(kept.Again.Chunks) {
			t.Fatalf("%d of %d writers ended, %v, after %d reads", ended, len(writers), kept.AgainFailed(), n)
		}
	})
}

// TestReadAgain: a report that kept some of its rows without what compare.json shows alone,
// and reads all again, writes the document that one writes which kept them, with and without
// the rows that passed.
func TestReadAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rep := &record.Report{Findings: record.NoFindings()}
		if rapid.Bool().Draw(t, "shard") {
			rep.Shard = &shard.Spec{Index: 1, Of: 3}
		}
		for k := range rapid.IntRange(1, 3).Draw(t, "rounds") {
			round := record.Round{Name: fmt.Sprintf("rank %d", k), Findings: record.NoFindings()}
			rep.Rounds = append(rep.Rounds, round)
			for i := range rapid.SampledFrom([]int{0, 1, 1, 2, 2, 3, 3, 66}).Draw(t, "rows") {
				row := record.Row{Op: fmt.Sprintf("op%d", i), Kind: "output", Round: round.Name}
				row.Status = rapid.SampledFrom([]record.Status{record.Pass, record.Fail, record.Skip}).Draw(t, "status")
				if row.Pair.Status = row.Status; row.Status != record.Skip {
					row.Result, row.Shape, row.RefDType, row.NPUDType = documentResult(), tensor.Shape{2, 3}, tensor.Float16, tensor.Float16
					row.Second = &record.Second{RMS: 0.5}
					row.Patterns = []finding.Finding{{Code: finding.Bias, Confidence: finding.High}}
				}
				rep.Rows = append(rep.Rows, row)
			}
		}
		rep.Count()
		text := written(t, rep)
		whole, err := record.Read(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		some := rapid.Bool().Draw(t, "some that passed")
		size, as := int64(len(text)), rapid.SampledFrom([]record.Reading{0, record.Grids, record.Drawn, record.Shown}).Draw(t, "as")
		open := func(offset int64) (io.ReadCloser, error) {
			return io.NopCloser(io.NewSectionReader(bytes.NewReader(text), offset, size-offset)), nil
		}
		kept, err := record.ReadKept("compare.json", open, as, func(_ *record.Report, i int, _ *record.Row) bool { return some && i%2 == 0 })
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole.Len() {
			if is, want := kept.Row(i).Name(), whole.Row(i).Name(); kept.Len() != whole.Len() || is != want {
				t.Fatalf("row %d of %d is %s, want %s of %d", i, kept.Len(), is, want, whole.Len())
			}
		}
		for _, row := range kept.All() {
			if row.Second != nil || row.Patterns != nil {
				t.Fatalf("%s has what is passed over", row.Name())
			}
		}
		for i, row := range kept.Each(false) {
			if want := whole.Row(i); row.Name() != want.Name() || row.Status != want.Status || row.Compared() != want.Compared() {
				t.Fatalf("row %d is %s %s, want %s %s", i, row.Name(), row.Status, want.Name(), want.Status)
			}
		}
		for name, of := range map[string][2]*record.Report{"all": {whole, kept}, "bad": {whole.BadRows(), kept.BadRows()}} {
			if diff := cmp.Diff(string(written(t, of[0])), string(written(t, of[1]))); diff != "" {
				t.Fatalf("%s rows: - kept, + read again\n%s", name, diff)
			}
			some := rapid.SliceOfDistinct(rapid.IntRange(0, max(0, of[0].Len()-1)), rapid.ID[int]).Draw(t, "some rows")
			some = slices.DeleteFunc(some, func(i int) bool { return i >= of[0].Len() })
			var want, got []string
			for _, i := range slices.Sorted(slices.Values(some)) {
				want = append(want, fmt.Sprint(i, detailed(t, of[0].Row(i))))
			}
			err := of[1].Fetch(some, record.Entire, func(i int, row *record.Row) { got = append(got, fmt.Sprint(i, detailed(t, row))) })
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Fatalf("%s rows: %v, - kept, + fetched\n%s", name, err, diff)
			}
		}
		if size -= int64(len("]\n}\n") + 10); rep.Len() == 0 {
			return
		}
		for range kept.Each(false) {
		}
		if kept.Write(io.Discard) == nil || kept.AgainFailed() == nil {
			t.Fatal("a document that was cut meanwhile is no error")
		}
	})
}

// detailed is all that a document has of a row.
func detailed(t *rapid.T, row *record.Row) string {
	text, err := json.Marshal(record.Detail{Row: row})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
