package compare

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// TestMasked compares an attention on a padded batch: masked positions may differ, other positions may not.
func TestMasked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		damaged  func(batch, position int) bool // 0 on the NPU
		mask     []float64
		status   record.Status
		excluded int64
	}{
		{"padded", func(_, i int) bool { return i < 2 }, []float64{0, 0, 1, 1, 1, 0, 0, 1, 1, 1}, record.Warn, 4},
		{"a position that counts", func(b, i int) bool { return i < 2 || b == 1 && i == 3 }, []float64{0, 0, 1, 1, 1, 0, 0, 1, 1, 1}, record.Fail, 4},
		{"not padded", func(_, i int) bool { return i < 2 }, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, record.Fail, 0},
		{"a mask that is added", func(_, i int) bool { return i < 2 }, []float64{-65504, -1e9, 0, 0, 0, -3e38, -3e38, 0, 0, 0}, record.Warn, 4},
		{"a mask of infinities", func(_, i int) bool { return i < 2 }, []float64{math.Inf(-1), math.Inf(-1), 0, 0, 0, math.Inf(-1), math.Inf(-1), 0, 0, 0}, record.Warn, 4},
		{"a bias that is added", func(_, i int) bool { return i < 2 }, []float64{-5, -5, 0, 0, 0, -5, -5, 0, 0, 0}, record.Fail, 0},
		{"lengths", func(b, i int) bool { return i >= 3-b }, []float64{3, 2}, record.Warn, 5},
		{"lengths, and a position that counts", func(b, i int) bool { return i >= 2 }, []float64{3, 2}, record.Fail, 5},
		{"no mask", func(_, i int) bool { return i < 2 }, []float64{0, 0, 1, 2, 1, 0, 0, 1, 1, 1}, record.Fail, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const batch, length, width = 2, 5, 16
			rng := rand.New(rand.NewPCG(1, 2))
			dir := t.TempDir()
			shape := tensor.Shape{batch, length, width}
			x := gaussian(rng, batch*length*width, 0, 1)
			y := gaussian(rng, batch*length*width, 0, 1)
			for _, side := range []string{"ref", "npu"} {
				values := append([]float64(nil), y...)
				for i := range values {
					if row := i / width; side == "npu" && tt.damaged(row/length, row%length) {
						values[i] = 0
					}
				}
				for name, data := range map[string][]byte{
					"0_attend.input.0.npy":  array(tensor.Float32, shape, x...),
					"0_attend.input.1.npy":  maskArray(tt.mask, batch, length),
					"0_attend.output.0.npy": array(tensor.Float32, shape, values...),
				} {
					if err := os.MkdirAll(filepath.Join(dir, side), 0o777); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(dir, side, name), data, 0o666); err != nil {
						t.Fatal(err)
					}
				}
			}
			opt := exactly(filepath.Join(dir, "ref"), filepath.Join(dir, "npu"))
			opt.Judge.Verdict.Mode, opt.Pair.Inputs = limits.ByEvidence, true
			p, parts := executed(t, opt)
			rep := p.Conclude(parts)
			if err := p.ComputeAgain(context.Background(), rep, parts); err != nil {
				t.Fatal(err)
			}
			for i := range rep.Rows {
				row := &rep.Rows[i]
				if row.Kind != string(tensor.Output) {
					continue
				}
				if row.Status != tt.status || hasCode(row.Reasons, finding.Unread) != (tt.status == record.Warn) {
					t.Errorf("%s: %s %v, want %s", row.Name(), row.Status, row.Reasons, tt.status)
				}
				if m := row.Masked; (m == nil) != (tt.excluded == 0) || m != nil && (m.Excluded != tt.excluded || m.Positions != 10) {
					t.Errorf("%s: %+v, want %d of 10 positions excluded", row.Name(), m, tt.excluded)
				}
			}
		})
	}
}

// maskArray returns integers for a mask or lengths, float32 for an additive mask.
func maskArray(mask []float64, batch, length int64) []byte {
	switch {
	case int64(len(mask)) == batch:
		return array(tensor.Int64, tensor.Shape{batch}, mask...)
	case slices.Min(mask) < 0:
		return array(tensor.Float32, tensor.Shape{batch, length}, mask...)
	}
	return array(tensor.Int64, tensor.Shape{batch, length}, mask...)
}
