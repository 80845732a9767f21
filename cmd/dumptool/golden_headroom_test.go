package main

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"
)

// TestHeadroomGolden: overflow scan --headroom finds the margins that numpy computes from the tensors of clean
// bfloat16 runs, and names the operator at which the float16 run overflows first.
func TestHeadroomGolden(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cann_healthy", "cann_overflows", "msprobe_healthy", "msprobe_overflows"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("..", "..", "testdata", "golden", "headroom", name)
			var want struct {
				Rows      map[string]map[string]float64
				Overflows []string
				First     *string
			}
			readGolden(t, filepath.Join(dir, "expect.json"), &want)
			out, code := runIn(t, dir, "overflow", "scan", "run", "--headroom", "--json")
			var got struct {
				Counts map[string]int
				First  *int
				Rows   []struct {
					Status  string
					OpName  string `json:"op_name"`
					Margins []struct {
						Where string
						Bits  float64
					}
				}
			}
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if code != min(1, len(want.Overflows)) || got.Counts["OVERFLOWS"] != len(want.Overflows) || len(got.Rows) != len(want.Rows) {
				t.Errorf("exit %d, %v of %d rows, want %d of %d", code, got.Counts, len(got.Rows), len(want.Overflows), len(want.Rows))
			}
			if (got.First == nil) != (want.First == nil) || want.First != nil && got.Rows[*got.First].OpName != *want.First {
				t.Errorf("the first row is %v, want %v", got.First, want.First)
			}
			for _, row := range got.Rows {
				bits := map[string]float64{}
				for _, m := range row.Margins {
					bits[m.Where] = m.Bits
				}
				for where, b := range want.Rows[row.OpName] {
					if !(math.Abs(bits[where]-b) < 1e-9) {
						t.Errorf("%s: %s %v bits, want %v", row.OpName, where, bits[where], b)
					}
				}
			}
		})
	}
}
