package diagnose

import (
	"testing"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// ofLengths gives a row another length on the NPU.
func ofLengths(row testRow, ref, npu int64) testRow {
	row.Common = &record.CommonPart{Ref: ref, NPU: npu}
	row.Status, row.Pair.Status = record.ShapeMismatch, record.Pass
	row.Reasons = []finding.Finding{{Code: finding.SizeMismatch}}
	return row
}

// TestLengths: a length may differ in an input of the network, in tensors computed from it, and where
// values decide it. There the common part decides.
func TestLengths(t *testing.T) {
	out := func(op, opType string) testRow { return measured(op, opType, rounding) }
	computed := func(row testRow, status string) testRow {
		row.Self = &record.RecomputedOutput{Status: status}
		if status == "wrong" {
			row.Self.Why = []finding.Finding{{Code: finding.ShapeDiffers, Confidence: finding.High, Evidence: lang.Plain("7 positions of axis 0, want 8")}}
		}
		return row
	}
	same := func(op string) testRow { return asInput(measured(op, "Relu", 0), tensor.Input) }
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
		{"an input behind a fault", []testRow{same("a"), measured("a", "Relu", faulty), ofLengths(in("b"), 5, 8)}, record.ShapeMismatch, finding.SizeMismatch, "a"},
		{"an input behind an output, as long as the padding", []testRow{ofLengths(in("a"), 5, 8), ofLengths(out("a", "Relu"), 5, 8), ofLengths(in("b"), 5, 8)}, record.Pass, "", ""},
		{"a box more", []testRow{in("a"), ofLengths(out("a", "nms"), 7, 8)}, record.Warn, finding.IndexTie, ""},
		{"1 in 20 boxes", []testRow{in("a"), ofLengths(out("a", "nms"), 38, 40)}, record.Warn, finding.IndexTie, ""},
		{"more than 1 in 20 boxes", []testRow{in("a"), ofLengths(out("a", "nms"), 37, 39)}, record.ShapeMismatch, finding.SizeMismatch, "a"},
		{"places of a mask, of CANN", []testRow{out("a", "Greater"), ofLengths(out("b", "MaskedSelect"), 7, 8)}, record.Warn, finding.IndexTie, ""},
		{"half of the boxes, right for its own inputs", []testRow{in("a"), computed(ofLengths(out("a", "nms"), 20, 40), "ok")}, record.Warn, finding.IndexTie, ""},
		{"half of the boxes, right for equal inputs", []testRow{same("a"), computed(ofLengths(out("a", "nms"), 20, 40), "ok")}, record.ShapeMismatch, finding.SizeMismatch, "a"},
		{"a box more, wrong", []testRow{in("a"), computed(ofLengths(out("a", "nms"), 7, 8), "wrong")}, record.ShapeMismatch, finding.ShapeDiffers, "a"},
		{"right, but of a length that no values decide", []testRow{in("a"), computed(ofLengths(out("a", "Relu"), 7, 8), "ok")}, record.ShapeMismatch, finding.SizeMismatch, "a"},
		{"two lengths joined", []testRow{in("a"), computed(ofLengths(out("a", "nms"), 20, 40), "ok"), computed(ofLengths(out("b", "Concat"), 30, 50), "ok")}, record.Pass, "", ""},
		{"two lengths joined wrongly", []testRow{in("a"), computed(ofLengths(out("a", "nms"), 20, 40), "ok"), computed(ofLengths(out("b", "Concat"), 30, 50), "wrong")}, record.ShapeMismatch, finding.ShapeDiffers, "b"},
		{"other numbers where the lengths meet again", []testRow{in("a"), computed(ofLengths(out("a", "nms"), 20, 40), "ok"), computed(measured("b", "Concat", faulty), "ok")}, record.Rounding, "", ""},
		{"other numbers of it, wrong", []testRow{in("a"), computed(ofLengths(out("a", "nms"), 20, 40), "ok"), computed(measured("b", "Concat", faulty), "wrong")}, record.Fail, finding.ShapeDiffers, "b"},
	} {
		j := judgedBy(inOrder(tt.rows...), Network{IsOrdered: true})
		got := &j.rows[len(tt.rows)-1]
		if got.Status != tt.status || j.names(j.Origins()) != tt.origins || tt.code != "" && !finding.Has(got.Reasons, tt.code) || tt.status == record.Pass && len(got.Reasons) > 0 {
			t.Errorf("%s: %s by %v, origins %q, want %s by %q, origins %q", tt.name, got.Status, got.Reasons, j.names(j.Origins()), tt.status, tt.code, tt.origins)
		}
		if counts := tt.status != record.ShapeMismatch; got.Common != nil && got.Common.Counts != counts {
			t.Errorf("%s: counts %t, want %t", tt.name, got.Common.Counts, counts)
		}
	}
}
