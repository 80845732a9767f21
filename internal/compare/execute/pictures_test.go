package execute

import (
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
)

// TestKeptPictures: pictures stop at the row that reaches a sixteenth of the compared elements, or the minimum; with
// AllPictures they do not stop.
func TestKeptPictures(t *testing.T) {
	const large = 1 << 23
	for _, tt := range []struct {
		asked, rows, passed int
		want                int
	}{
		{200, 1, 0, 1},
		{200, 5, 0, 2},                // of 2^23 elements each
		{1, 5, 0, 1},                  // limited by Kept
		{200, 10, 54, 4},              // a sixteenth of 64
		{record.AllPictures, 5, 0, 5}, // all failing rows
		{0, 5, 0, 0},
	} {
		rep := &record.Report{}
		for i := range tt.rows + tt.passed {
			row := record.Row{Op: "op", Output: i, Result: &metrics.Result{}}
			row.Result.Total = large
			if row.Status = record.Pass; i < tt.rows {
				row.Status = record.Fail
			}
			rep.Rows = append(rep.Rows, row)
		}
		rep.Findings.FirstBad, rep.Findings.FirstDamaged = -1, -1
		if kept := (&PictureOptions{Kept: tt.asked}).keptRows(rep); len(kept) != tt.want {
			t.Errorf("%d asked for of %d and %d: %v, want %d", tt.asked, tt.rows, tt.passed, kept, tt.want)
		}
	}
}
