package record_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// TestBadRows: passed rows are left out and counted. The remaining report has the other rows, and the rows that
// anything names, with the same names and links.
func TestBadRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "rows")
		rep := &record.Report{Findings: record.NoFindings(), Verdict: "evidence"}
		index := func(label string) int { return rapid.IntRange(-1, n-1).Draw(t, label) }
		for i := range n {
			row := record.Row{Op: fmt.Sprintf("op%d", i), Kind: "output", Verdict: record.Verdict{Status: rapid.SampledFrom(record.Statuses()).Draw(t, "status")}}
			if rapid.Bool().Draw(t, "good") {
				row.Status = record.Pass
			}
			row.Pair.Status = row.Status
			if row.Status == record.Pass || row.Status == record.Fail {
				row.Result, row.Shape, row.RefDType, row.NPUDType = documentResult(), tensor.Shape{2, 3}, tensor.Float16, tensor.Float16
			}
			if row.Status == record.Fail && rapid.Bool().Draw(t, "origin") {
				row.Evidence = &record.Evidence{Level: record.IsOrigin}
				rep.Origins = append(rep.Origins, i)
			}
			if k := index("input"); k >= 0 {
				row.Inputs = []int{k}
				row.Reasons = []finding.Finding{{Code: finding.LayerInputBad, Confidence: finding.High, Facts: finding.Facts(nil).Int(finding.InputRow, int64(k))}}
			}
			rep.Rows = append(rep.Rows, row)
		}
		rep.Findings.FirstBad, rep.Findings.LastGood, rep.Findings.LargestJump = index("bad"), index("good"), index("jump")
		if k := index("fixed"); k >= 0 {
			rep.Baseline = &record.Baseline{Fixed: []int{k}}
		}
		rep.Count()
		whole, left := written(t, rep), written(t, rep.BadRows())
		if again := written(t, rep); !bytes.Equal(again, whole) {
			t.Fatalf("the whole report became\n%s\nof\n%s", again, whole)
		}
		a, err := record.Read(bytes.NewReader(whole))
		if err != nil {
			t.Fatal(err)
		}
		b, err := record.Read(bytes.NewReader(left))
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(a.Counts, b.Counts) || len(b.Rows)+b.LeftOut != n || a.LeftOut != 0 || b.Total() != n {
			t.Fatalf("counts %v, %d rows and %d left out; want %v, %d rows", b.Counts, len(b.Rows), b.LeftOut, a.Counts, n)
		}
		name := func(r *record.Report, i int) string {
			if i < 0 {
				return ""
			}
			return r.Rows[i].Op
		}
		names := func(r *record.Report, rows []int) (all []string) {
			for _, i := range rows {
				all = append(all, name(r, i))
			}
			return all
		}
		said := func(r *record.Report) []any {
			f := &r.Findings
			all := []any{name(r, f.FirstBad), name(r, f.LastGood), name(r, f.LargestJump), names(r, r.Origins), names(r, r.WorstRows())}
			if r.Baseline != nil {
				all = append(all, names(r, r.Baseline.Fixed))
			}
			return all
		}
		if diff := cmp.Diff(said(a), said(b)); diff != "" {
			t.Fatalf("(-all +bad):\n%s", diff)
		}
		at := map[string]int{}
		for i := range b.Rows {
			at[b.Rows[i].Op] = i
		}
		for i := range a.Rows {
			row := &a.Rows[i]
			k, ok := at[row.Op]
			if !ok && row.Status != record.Pass {
				t.Fatalf("%s (%s) is left out", row.Op, row.Status)
			}
			if !ok {
				continue
			}
			if row.IsOrigin() && !slices.Equal(names(a, row.Inputs), names(b, b.Rows[k].Inputs)) {
				t.Fatalf("%s reads %v, want %v", row.Op, names(b, b.Rows[k].Inputs), names(a, row.Inputs))
			}
			if row.Status != record.Pass && len(row.Reasons) > 0 {
				x, _ := row.Reasons[0].Facts.Get(finding.InputRow)
				y, _ := b.Rows[k].Reasons[0].Facts.Get(finding.InputRow)
				if name(a, int(x)) != name(b, int(y)) {
					t.Fatalf("%s: bad input %s, want %s", row.Op, name(b, int(y)), name(a, int(x)))
				}
			}
		}
	})
}

// TestLeftOutRefused: no document leaves out fewer rows than none.
func TestLeftOutRefused(t *testing.T) {
	_, err := record.Read(strings.NewReader(`{"schema":"dumptool/compare/1","left_out":-1,"rows":[]}`))
	if err == nil || !strings.Contains(err.Error(), "left_out is -1") {
		t.Errorf("error %v", err)
	}
}
