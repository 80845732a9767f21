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

// TestReadAgain: a report that passed over what compare.json shows alone, and reads it again,
// writes the document that one writes which kept it, with and without the rows that passed.
func TestReadAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rep, firsts, counts := &record.Report{Findings: record.NoFindings()}, []int{}, []int{}
		if rapid.Bool().Draw(t, "shard") {
			rep.Shard = &shard.Spec{Index: 1, Of: 3}
		}
		for k := range rapid.IntRange(1, 4).Draw(t, "rounds") {
			round := record.Round{Name: fmt.Sprintf("rank %d", k), Findings: record.NoFindings()}
			rep.Rounds = append(rep.Rounds, round)
			firsts = append(firsts, len(rep.Rows))
			counts = append(counts, rapid.IntRange(0, 3).Draw(t, "rows"))
			for i := range counts[k] {
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
		kept, err := record.ReadKept(bytes.NewReader(text), false, func(*record.Row) {})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range kept.All() {
			if row.Second != nil || row.Patterns != nil || row.Result != nil && row.Result.Joint != nil {
				t.Fatalf("%s has what is passed over", row.Name())
			}
		}
		size := int64(len(text))
		kept.Again = func(i int) ([]record.Row, error) {
			return kept.ReadAgain(firsts[i], kept.Rows[firsts[i]:firsts[i]+counts[i]], false, func(offset int64) (io.ReadCloser, error) {
				return io.NopCloser(io.NewSectionReader(bytes.NewReader(text), offset, size-offset)), nil
			})
		}
		for name, of := range map[string][2]*record.Report{"all": {whole, kept.Report}, "bad": {whole.BadRows(), kept.BadRows()}} {
			if diff := cmp.Diff(string(written(t, of[0])), string(written(t, of[1]))); diff != "" {
				t.Fatalf("%s rows: - kept, + read again\n%s", name, diff)
			}
		}
		if size -= int64(len("]\n}\n") + 10); rep.Len() > 0 && kept.Write(io.Discard) == nil {
			t.Fatal("a document that was cut meanwhile is no error")
		}
	})
}
