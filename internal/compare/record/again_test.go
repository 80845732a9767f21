package record_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/compare/record"
	"dumptool/internal/shard"
	"dumptool/internal/tensor"
)

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
					row.Patterns = []record.Finding{{Code: record.Bias, Confidence: record.High}}
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
		kept, err := record.ReadKept(bytes.NewReader(text), false, func(_ *record.Report, i int, _ *record.Row) bool { return some && i%2 == 0 })
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole.Len() {
			if is, want := kept.Row(i).Name(), whole.Row(i).Name(); kept.Len() != whole.Len() || is != want {
				t.Fatalf("row %d of %d is %s, want %s of %d", i, kept.Len(), is, want, whole.Len())
			}
		}
		for _, row := range kept.All() {
			if row.Second != nil || row.Patterns != nil || row.Result != nil && row.Result.Joint != nil {
				t.Fatalf("%s has what is passed over", row.Name())
			}
		}
		size := int64(len(text))
		kept.Again = &record.Again{Chunks: kept.Chunks()}
		kept.Again.Read = func(i int, as record.Reading) ([]record.Row, error) {
			return kept.ReadAgain(kept.Again.Chunks[i], as, func(offset int64) (io.ReadCloser, error) {
				return io.NopCloser(io.NewSectionReader(bytes.NewReader(text), offset, size-offset)), nil
			})
		}
		for i, row := range kept.Each(false) {
			if want := whole.Row(i); row.Name() != want.Name() || row.Status != want.Status || row.Compared() != want.Compared() {
				t.Fatalf("row %d is %s %s, want %s %s", i, row.Name(), row.Status, want.Name(), want.Status)
			}
		}
		for name, of := range map[string][2]*record.Report{"all": {whole, kept.Report}, "bad": {whole.BadRows(), kept.BadRows()}} {
			if diff := cmp.Diff(string(written(t, of[0])), string(written(t, of[1]))); diff != "" {
				t.Fatalf("%s rows: - kept, + read again\n%s", name, diff)
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
