package compare

import (
	"path/filepath"
	"testing"

	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/engine"
	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
)

// TestTrim keeps of a run what its reports show, whatever the details were.
func TestTrim(t *testing.T) {
	dir := t.TempDir()
	good := ramp(300)
	bad := append([]float64{}, good...)
	for i := range bad {
		bad[i] += 100 * float64(1+i%2)
	}
	for name, npu := range map[string][]float64{"bad": bad, "good": good} {
		write(t, filepath.Join(dir, "ref", name+".npy"), array(tensor.Float32, tensor.Shape{300}, good...))
		write(t, filepath.Join(dir, "npu", name+".npy"), array(tensor.Float32, tensor.Shape{300}, npu...))
	}
	opt := exactly(filepath.Join(dir, "ref"), filepath.Join(dir, "npu"))
	rep := runAll(t, opt)
	opt.Keep = true
	whole := runAll(t, opt)
	for i := range rep.Rows {
		row, res := &rep.Rows[i], rep.Rows[i].Result
		if res.WorstRel != nil || res.AbsHistogram.Bins != nil || res.RelHistogram.Bins != nil || res.ErrorOffsets != nil {
			t.Errorf("%s keeps details that no report has", row.Op)
		}
		for _, a := range res.Axes {
			if len(a.Bins) > foldedBins {
				t.Errorf("%s keeps %d bins of an axis, want at most %d", row.Op, len(a.Bins), foldedBins)
			}
		}
		if diff := cmp.Diff(NewDocumentRow(&whole.Rows[i]), NewDocumentRow(row)); diff != "" {
			t.Errorf("document of %s (-with details +trimmed):\n%s", row.Op, diff)
		}
	}
	if fail := &rep.Rows[0]; fail.Status != Fail || len(fail.Result.Worst) != opt.Top || len(fail.Result.Listed) != opt.List {
		t.Errorf("%s %s has %d worst and %d listed elements, want FAIL with %d and %d", fail.Op, fail.Status,
			len(fail.Result.Worst), len(fail.Result.Listed), opt.Top, opt.List)
	}
}

// TestFoldEven folds an axis only where that hides nothing from the diagnosis.
func TestFoldEven(t *testing.T) {
	even := engine.AxisProfile{Size: 1000, Fold: 1}
	uneven := engine.AxisProfile{Size: 1000, Fold: 1}
	for i := range 1000 {
		even.Bins = append(even.Bins, engine.AxisBin{Count: 10, Errors: 5, SumAbs: 5, SumRel: 5})
		bin := engine.AxisBin{Count: 10}
		if i >= 500 && i < 520 {
			bin = engine.AxisBin{Count: 10, Errors: 10, SumAbs: 100, SumRel: 100}
		}
		uneven.Bins = append(uneven.Bins, bin)
	}
	for name, a := range map[string]engine.AxisProfile{"even": even, "uneven": uneven} {
		errors := int64(0)
		for _, bin := range a.Bins {
			errors += bin.Errors
		}
		res := &engine.Result{Total: 10000, Axes: []engine.AxisProfile{a}, Beyond: engine.Errors{Count: errors}}
		before := diagnose.Uneven(res)
		if (len(before) > 0) != (name == "uneven") {
			t.Fatalf("%s: %d findings", name, len(before))
		}
		foldEven(res)
		if diff := cmp.Diff(before, diagnose.Uneven(res)); diff != "" {
			t.Errorf("%s: findings (-before +after):\n%s", name, diff)
		}
		if folded := len(res.Axes[0].Bins) <= foldedBins; folded != (name == "even") {
			t.Errorf("%s has %d bins", name, len(res.Axes[0].Bins))
		}
		var count, found int64
		for _, bin := range foldAxis(&a).Bins {
			count, found = count+bin.Count, found+bin.Errors
		}
		if count != 10000 || found != errors {
			t.Errorf("%s: folded to %d elements with %d errors, want 10000 with %d", name, count, found, errors)
		}
	}
}
