package report

import (
	"encoding/csv"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/tensor"
)

// takenForOthers matches cells that a spreadsheet reads as a number with an exponent, a date or a
// time.
var takenForOthers = regexp.MustCompile(`^[+-]?\d+(\.\d*)?[eE][+-]?\d+$|^\d{1,4}[-/]\d{1,2}([-/]\d{1,4})?$|^\d{1,2}:\d{2}(:\d{2})?$`)

// TestAddedCells: no cell in the columns after HPAA's is read as a date or a number with an
// exponent.
func TestAddedCells(t *testing.T) {
	t.Parallel()
	var rows []record.Row
	for _, x := range []float64{0, 1e-300, 1e300, 1.5e-7, 123456789012, -0.25, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.NaN()} {
		for _, file := range []string{"1e5", "2-3", "10/11/12", "d/a.npy", "=1", "12:30"} {
			row := failing("net/conv1")
			r := *row.Result
			for _, m := range []*metrics.Metric{&r.MaxAbs.Metric, &r.MeanAbs, &r.Pearson, &r.RED, &r.Cosine} {
				*m = metrics.NumberOf(x)
			}
			row.Result, row.RefFile, row.NPUFile = &r, file, file
			row.Evidence = &record.Evidence{Class: "linear", Score: 1e-9}
			row.Shape = tensor.Shape{1, 64}
			rows = append(rows, row)
		}
	}
	text := printed(t, func(w io.Writer) error {
		return Write(w, "csv", &record.Report{Rows: rows}, Options{HPAA: CSVOptions{ExtraColumns: true}})
	})
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) != len(rows)+1 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	first, shape := slices.Index(records[0], "rms")+1, slices.Index(records[0], "shape")
	if first < 1 || shape < first {
		t.Fatalf("columns %q", records[0])
	}
	for _, cells := range records[1:] {
		for i, cell := range cells[first:] {
			if takenForOthers.MatchString(cell) {
				t.Errorf("column %s has the cell %q", records[0][first+i], cell)
			}
		}
		if cells[shape] != "(1, 64)" {
			t.Errorf("shape %q", cells[shape])
		}
	}
}
