package record

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// fullRow is a row with something in every field that is set aside.
func fullRow() *Row {
	r := wholeRow()
	defined := func(x float64) metrics.Metric { return metrics.Metric{Value: x, Defined: true} }
	r.NPUOp, r.OpType, r.Round, r.At, r.Script, r.Modules = "b", "Conv2D", "rank 1", At{"1", "2", "3", "4"}, "net.py:7", []string{"m", ""}
	r.Reasons = []Finding{{CalcError, High, lang.Sayf("100 %d", "百", 1), Facts(nil).Int("axis", 1).Flag("x", true)}, {Code: Unknown}}
	r.Downstream, r.Partial, r.Forced, r.Known, r.Output, r.Order, r.Errors = true, true, true, true, 3, -1, 1<<40
	r.RefFile, r.NPUFile, r.RefPath, r.NPUPath, r.Key, r.Rule, r.Module = "a.npy", "b.npy:output:1", "a.npy", "b.npy", "k", "name", "x/y"
	r.RefShape, r.NPUShape, r.Inputs = tensor.Shape{}, tensor.Shape{1, 4}, []int{0, 7}
	r.Limits = Limits{0.1, 0.2, "atol", "rtol"}
	r.First = &metrics.Element{Offset: 2, Ref: metrics.Value{DType: tensor.Int64, Real: 1, Imag: 2, Int: 1<<64 - 1}, Abs: 1, Rel: 2}
	r.Evidence = &Evidence{Class: "c", Kind: "k", Level: 2, RMS: 1, RefRMS: 2, Rounding: 3, Expected: 4, Propagated: 5, Own: 6, Score: 7, Rows: 8, Channels: 9,
		Peak: 10, ScaleZ: 11, Noise: 12, Damaged: true, BiasOfInputs: true, FedBy: []int{5}}
	r.Standard = &Standard{Name: "cann-eco", Rule: "float", Type: "float16", Status: Pass, Right: 1, Checks: []Check{{Name: "mere", Value: 1, Relation: "<", Limit: 2, Holds: true}}}
	r.Statistics = &Statistics{Ref: SideStatistics{Max: defined(1), Digest: "d"}}
	r.Err = errors.New("unreadable")
	return r
}

// TestRowCode: a row that was set aside is the row.
func TestRowCode(t *testing.T) {
	same := cmp.Options{
		cmp.Comparer(func(a, b lang.Sentence) bool { return a.Text() == b.Text() }),
		cmp.Comparer(func(a, b Facts) bool { return a.Equal(b) }),
		cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }),
	}
	for name, row := range map[string]*Row{"full": fullRow(), "empty": {}, "whole": wholeRow(), "no shape": {Op: "a", Shape: tensor.Shape{}, Reasons: []Finding{}}} {
		text := AppendRow([]byte("x"), row)[1:]
		got, err := DecodeRow(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(row, got, same); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for n := range text {
			if _, err := DecodeRow(text[:n]); err == nil {
				t.Fatalf("%s: %d of %d bytes are a row", name, n, len(text))
			}
		}
	}
}

// FuzzDecodeRow reads any bytes as a row.
func FuzzDecodeRow(f *testing.F) {
	f.Add(AppendRow(nil, fullRow()))
	f.Add(AppendRow(nil, new(Row)))
	f.Fuzz(func(t *testing.T, data []byte) {
		row, err := DecodeRow(data)
		if err != nil {
			return
		}
		if _, err := DecodeRow(AppendRow(nil, row)); err != nil {
			t.Error(err)
		}
	})
}
