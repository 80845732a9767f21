package diagnose

import (
	"testing"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// ofLengths gives a row another length on the NPU.
func ofLengths(row testRow, ref, npu int64) testRow {
	row.Common = &record.Common{Ref: ref, NPU: npu}
	row.Status, row.Pair.Status = record.ShapeMismatch, record.Pass
	row.Reasons = []finding.Finding{{Code: finding.SizeMismatch}}
	return row
}

// TestLengths: a length may differ in an input of the network, in tensors computed from it, and where
// values decide it. There the common part decides.
func TestLengths(t *testing.T) {
	out := func(op, opType string) testRow { return measured(op, opType, rounding) }
	in := func(op string) testRow { return asInput(out(op, "Relu"), tensor.Input) }
	for _, tt := range []struct {
		name    string
		rows    []testRow
		status  record.Status // of the last row
		code    finding.Code
		origins string
	}{
		{"a padded input", []testRow{ofLengths(in("a"), 5, 8)}, record.Pass, "", ""},
		{"computed from one", []testRow{ofLengths(in("a"), 5, 8), ofLengths(out("a", "Relu"), 5, 8)}, record.Pass, "", ""},
		{"twice as long", []testRow{ofLengths(in("a"), 5, 8), ofLengths(out("a", "Relu"), 5, 8), ofLengths(out("b", "Repeat"), 10, 16)}, record.Pass, "", ""},
		{"another length than the padding", []testRow{ofLengths(in("a"), 5, 8), ofLengths(out("a", "Relu"), 5, 7)}, record.ShapeMismatch, finding.SizeMismatch, "a"},
		{"of equal inputs", []testRow{in("a"), ofLengths(out("a", "Relu"), 5, 8)}, record.ShapeMismatch, finding.SizeMismatch, "a"},
		{"an input behind an output", []testRow{in("a"), out("a", "Relu"), ofLengths(in("b"), 5, 8)}, record.ShapeMismatch, finding.SizeMismatch, "b"},
		{"an input behind an output, as long as the padding", []testRow{ofLengths(in("a"), 5, 8), ofLengths(out("a", "Relu"), 5, 8), ofLengths(in("b"), 5, 8)}, record.Pass, "", ""},
		{"a box more", []testRow{in("a"), ofLengths(out("a", "nms"), 7, 8)}, record.Warn, finding.IndexTie, ""},
		{"1 in 20 boxes", []testRow{in("a"), ofLengths(out("a", "nms"), 38, 40)}, record.Warn, finding.IndexTie, ""},
		{"more than 1 in 20 boxes", []testRow{in("a"), ofLengths(out("a", "nms"), 37, 39)}, record.ShapeMismatch, finding.SizeMismatch, "a"},
	} {
		j := judgedBy(inOrder(tt.rows...), Network{Ordered: true})
		got := &j.rows[len(tt.rows)-1]
		if got.Status != tt.status || j.names(j.Origins()) != tt.origins || tt.code != "" && !finding.Has(got.Reasons, tt.code) || tt.status == record.Pass && len(got.Reasons) > 0 {
			t.Errorf("%s: %s by %v, origins %q, want %s by %q, origins %q", tt.name, got.Status, got.Reasons, j.names(j.Origins()), tt.status, tt.code, tt.origins)
		}
		if counts := tt.status != record.ShapeMismatch; got.Common != nil && got.Common.Counts != counts {
			t.Errorf("%s: counts %t, want %t", tt.name, got.Common.Counts, counts)
		}
	}
}
