package compare

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"dumptool/internal/compare/execute"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/tensor"
)

// TestPictures draws the failing rows in their order; a row whose tensor was removed since the run adds an error.
func TestPictures(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c", "d"} {
		bad := 9.0
		if name == "b" {
			bad = 2
		}
		write(t, filepath.Join(dir, "cpu", name+".npy"), array(tensor.Float32, tensor.Shape{3}, 1, 2, 3))
		write(t, filepath.Join(dir, "npu", name+".npy"), array(tensor.Float32, tensor.Shape{3}, 1, bad, 3))
	}
	opt := exactly(filepath.Join(dir, "cpu"), filepath.Join(dir, "npu"))
	opt.Pictures = &execute.PictureOptions{Bins: metrics.BinLimits{Min: 1, Max: 8}, Plots: true}
	plan, err := New(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := plan.Execute(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rep := plan.Conclude(parts)
	if err := os.Remove(filepath.Join(dir, "npu", "c.npy")); err != nil {
		t.Fatal(err)
	}
	var drawn []string
	draw := func(row int, p *metrics.Pictures) func() error {
		return func() error {
			drawn = append(drawn, rep.Rows[row].Op)
			if p.Errors != 1 || len(p.Sample.Errors) != 1 || p.Sample.Errors[0] != (metrics.SampledError{Offset: 1, Abs: 7, Rel: 3.5}) {
				t.Errorf("%s: %+v", rep.Rows[row].Op, p)
			}
			return nil
		}
	}
	failed, err := plan.Pictures(t.Context(), rep, parts, nil, draw)
	if err != nil || len(failed) != 1 || !errors.Is(failed[0], fs.ErrNotExist) {
		t.Errorf("failed %v, error %v", failed, err)
	}
	if len(drawn) != 2 || drawn[0] != "a" || drawn[1] != "d" {
		t.Errorf("drawn %v, want a and d", drawn)
	}
	drawn = nil
	if failed, err := plan.Pictures(canceled(), rep, parts, nil, draw); err == nil || failed != nil || drawn != nil {
		t.Errorf("canceled: drawn %v, failed %v, error %v", drawn, failed, err)
	}
}
