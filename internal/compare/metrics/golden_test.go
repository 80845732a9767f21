package metrics

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

const goldenDir = "../../../testdata/golden/compare"

// number64 is a float64 that may be missing, null or a text in JSON.
type number64 struct {
	value   float64
	present bool
}

func (n *number64) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "null":
		return nil
	}
	n.present = true
	switch string(text) {
	case `"inf"`:
		n.value = math.Inf(1)
		return nil
	case `"-inf"`:
		n.value = math.Inf(-1)
		return nil
	case `"nan"`:
		n.value = math.NaN()
		return nil
	}
	return json.Unmarshal(text, &n.value)
}

type goldenRow struct {
	Total         int64    `json:"total"`
	Errors        int64    `json:"errors"`
	NaNInf        bool     `json:"nan_inf"`
	First         *int64   `json:"first"`
	RefValue      number64 `json:"ref_value"`
	NPUValue      number64 `json:"npu_value"`
	MaxAbsErr     number64 `json:"max_abs_err"`
	MeanAbsErr    number64 `json:"mean_abs_err"`
	MaxAbsTotal   number64 `json:"max_abs_total"`
	MeanAbsTotal  number64 `json:"mean_abs_total"`
	Mean          number64 `json:"mean"`
	Std           number64 `json:"std"`
	RMS           number64 `json:"rms"`
	MaxAbs        number64 `json:"max_abs"`
	MeanAbs       number64 `json:"mean_abs"`
	RMSE          number64 `json:"rmse"`
	Cosine        number64 `json:"cosine"`
	RED           number64 `json:"red"`
	Pearson       number64 `json:"pearson"`
	ClassMismatch int64    `json:"class_mismatch"`
	NaNBoth       int64    `json:"nan_both"`
	ErrorsStrict  int64    `json:"errors_strict"`
}

func checkMetric(t *testing.T, name string, got Metric, want number64, tolerance float64) {
	t.Helper()
	if got.IsDefined() != want.present {
		t.Errorf("%s = %v, want %+v", name, got, want)
		return
	}
	if !want.present || got.Value() == want.value || math.IsNaN(got.Value()) && math.IsNaN(want.value) {
		return
	}
	if !(math.Abs(got.Value()-want.value) <= tolerance*math.Abs(want.value)) {
		t.Errorf("%s = %v, want %v", name, got.Value(), want.value)
	}
}

func TestGolden(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(goldenDir, "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows map[string]goldenRow
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 30 {
		t.Errorf("%d rows, want 30", len(rows))
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			ref, refType, shape := readNpy(t, filepath.Join(goldenDir, "cpu", name+".npy"))
			npu, npuType, _ := readNpy(t, filepath.Join(goldenDir, "npu", name+".npy"))
			r, err := Compare(t.Context(), Request{
				Shape: shape, RefDType: refType, NPUDType: npuType, Limits: hpaaLimits,
			}, ref, npu)
			if err != nil {
				t.Fatal(err)
			}
			checkGolden(t, r, &row)
		})
	}
}

var hpaaLimits = Limits{Atol: 0.005, Rtol: 0.2}

func checkGolden(t *testing.T, r *Result, row *goldenRow) {
	t.Helper()
	for _, c := range []struct {
		name      string
		got       Metric
		want      number64
		tolerance float64
	}{
		{"max_abs_err", NumberOf(r.HPAA.MaxAbs), row.MaxAbsErr, 1e-9},
		{"mean_abs_err", NumberOf(r.HPAA.MeanAbs), row.MeanAbsErr, 1e-9},
		{"max_abs_total", r.HPAA.MaxRel.Metric, row.MaxAbsTotal, 1e-9},
		{"mean_abs_total", r.HPAA.MeanRel, row.MeanAbsTotal, 1e-9},
		{"mean", r.HPAA.Mean, row.Mean, 1e-9},
		{"std", r.HPAA.Std, row.Std, 1e-9},
		{"rms", r.HPAA.RMS, row.RMS, 1e-9},
		{"max_abs", r.MaxAbs.Metric, row.MaxAbs, 1e-9},
		{"mean_abs", r.MeanAbs, row.MeanAbs, 1e-9},
		{"rmse", r.RMSE, row.RMSE, 1e-9},
		{"cosine", r.Cosine, row.Cosine, 1e-9},
		{"red", r.RED, row.RED, 1e-9},
		{"pearson", r.Pearson, row.Pearson, 1e-7},
	} {
		checkMetric(t, c.name, c.got, c.want, c.tolerance)
	}
	mismatch := r.Mismatch.Count
	if r.Total != row.Total || r.HPAA.Count != row.Errors || r.HPAA.NonFinite != row.NaNInf ||
		mismatch != row.ClassMismatch || r.Classes[NaN][NaN] != row.NaNBoth || r.StrictErrors() != row.ErrorsStrict {
		t.Errorf("total %d, errors %d, nan_inf %v, mismatch %d, nan_both %d, strict %d, want %+v", r.Total, r.HPAA.Count, r.HPAA.NonFinite, mismatch, r.Classes[NaN][NaN], r.StrictErrors(), row)
	}
	first := r.HPAA.First
	if (first == nil) != (row.First == nil) || first != nil && first.Offset != *row.First {
		t.Errorf("first %+v, want %v", first, row.First)
	}
	if first == nil {
		first = r.Start
	}
	if first == nil {
		return
	}
	checkMetric(t, "ref_value", NumberOf(first.Ref.Real), row.RefValue, 0)
	checkMetric(t, "npu_value", NumberOf(first.NPU.Real), row.NPUValue, 0)
}

// readNpy returns a reader of a file's elements.
func readNpy(t *testing.T, path string) (Reader, tensor.DType, tensor.Shape) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	file, err := npy.Open(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, file.Size)
	if _, err := file.Data().ReadAt(data, 0); err != nil && len(data) > 0 {
		t.Fatal(err)
	}
	d := file.Host.DType()
	return memory{data, d.UnitSize()}, d, file.Shape
}
