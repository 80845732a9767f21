package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestMixedPrecision compares networks without faults in which the products of matrices are
// bfloat16 and the norms float32, all of them kept as float32: each is judged by the numbers
// that it holds.
func TestMixedPrecision(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"mindspore", "msaccucmp", "msprobe"} {
		folder := filepath.Join("..", "..", "testdata", "golden", "verdict", "amp_bf16_"+tool)
		r := runArgs(t, "compare", "--cpu", filepath.Join(folder, "cpu"), "--npu", filepath.Join(folder, "npu"), "--format", "json")
		var doc struct {
			Summary struct {
				EffectiveType *string `json:"effective_type"`
				Origins       []struct{ Row string }
			}
			Rows []struct{ Op, Status, Type, Kind string }
		}
		if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
			t.Fatalf("%s: exit %d, %v: %s", tool, r.code, err, r.err)
		}
		if r.code != exitOK || len(doc.Summary.Origins) > 0 || doc.Summary.EffectiveType != nil {
			t.Errorf("%s: exit %d, origins %v, effective type %v; want 0 and none", tool, r.code, doc.Summary.Origins, doc.Summary.EffectiveType)
		}
		products, norms := 0, 0
		for _, row := range doc.Rows {
			if row.Kind != "output" {
				continue
			}
			want := ""
			if name := strings.ToLower(row.Op); strings.Contains(name, "matmul") || strings.Contains(name, "linear") {
				want = "bfloat16"
				products++
			} else {
				norms++
			}
			if row.Type != want || row.Status == "FAIL" || row.Status == "WARN" {
				t.Errorf("%s: %s is %s of type %q, want %q", tool, row.Op, row.Status, row.Type, want)
			}
		}
		if products != 4 || norms != 4 {
			t.Errorf("%s: %d products and %d norms, want 4 of each", tool, products, norms)
		}
	}
}
