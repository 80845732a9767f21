package record

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// wholeRow is a row with a result, some of whose numbers compare.json leaves out.
func wholeRow() *Row {
	one := metrics.Element{Offset: 1, Ref: metrics.Value{DType: tensor.Float32, Real: 1}, NPU: metrics.Value{DType: tensor.Float32, Real: math.NaN()}, Abs: math.NaN(), Rel: math.NaN()}
	res := &metrics.Result{Total: 4, RefDType: tensor.Float32, NPUDType: tensor.Float32, Start: &one}
	res.Classes[metrics.Finite][metrics.Finite], res.Classes[metrics.NaN][metrics.Finite] = 2, 1
	res.Classes[metrics.PosInf][metrics.PosInf] = 1
	res.Mismatch.Count, res.Mismatch.First, res.Mismatch.Last = 1, &one, &one
	res.Listed, res.ErrorOffsets = []metrics.Element{one, one}, []int64{1}
	// A ratio of two numbers may be infinite.
	res.RelHistogram = metrics.Histogram{Zeros: 1, Bins: []metrics.HistogramBin{{Bin: 8 * 1024, Count: 1}}}
	return &Row{Op: "a", Kind: "output", Status: Fail, ByLimits: Fail, Shape: tensor.Shape{4}, RefDType: tensor.Float32, NPUDType: tensor.Float32,
		Notes: []lang.Sentence{lang.Sayf("flat", "展平"), lang.Plain("x")}, Result: res.Pack()}
}

// TestWhole: a whole row is read as it was written, and nothing else is.
func TestWhole(t *testing.T) {
	row := wholeRow()
	data, err := json.Marshal(Whole{row})
	if err != nil {
		t.Fatal(err)
	}
	var got Whole
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(got)
	if err != nil || string(again) != string(data) {
		t.Errorf("read and written again, %v:\n%s\nwant\n%s", err, again, data)
	}
	if n := got.Notes[0].Text(); n.ZH != "展平" || n.EN != "flat" {
		t.Errorf("note %+v", n)
	}
	res := got.Result.Unpack()
	if bins := res.RelHistogram.Bins; len(bins) != 1 || bins[0].Bin != 8*1024 {
		t.Errorf("bins %v, want that of infinity", bins)
	}
	if res.Mismatch.First == nil || res.Beyond.First != nil || len(res.Listed) != 2 || res.Classes != row.Result.Unpack().Classes {
		t.Errorf("result %+v", res)
	}
	for _, tt := range []struct{ from, to, want string }{
		{`"classes":[2,`, `"classes":[2,0,`, "17 classes of pairs, want 16"},
		{`"classes":[2,`, `"classes":[5,`, "5 pairs of a class, of 4 elements"},
		{`"classes":[2,`, `"classes":[-2,`, "-2 pairs of a class"},
		{`"offsets":[1]`, `"offsets":[4]`, "element 4, of 4 elements"},
		{`"listed":[[1,`, `"listed":[[4,`, "element 4, of 4 elements"},
		{`"listed":[[1,`, `"listed":[[1,1,`, "list of 6 numbers, want 5"},
		{`"listed":[[1,1,`, `"listed":[[1,[1,2],`, "element [1,2] of the type float32"},
		{`"notes_zh":["展平","x"]`, `"notes_zh":["展平"]`, "2 notes, and 1 in Chinese"},
		{`"zeros":[0,1]`, `"zeros":[0,5]`, "0 and 5 zeros, of 4 elements"},
	} {
		if !strings.Contains(string(data), tt.from) {
			t.Fatalf("no %s in %s", tt.from, data)
		}
		if err := json.Unmarshal([]byte(strings.Replace(string(data), tt.from, tt.to, 1)), new(Whole)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.to, err, tt.want)
		}
	}
}

// TestSaid: sentences keep both languages.
func TestSaid(t *testing.T) {
	data, err := json.Marshal(Said{lang.Plain("a"), lang.Sayf("b %d", "乙 %d", 1)})
	if err != nil || string(data) != `["a",["b 1","乙 1"]]` {
		t.Fatalf("%s, %v", data, err)
	}
	var s Said
	if err := json.Unmarshal(data, &s); err != nil || len(s) != 2 || s[1].Text().ZH != "乙 1" {
		t.Errorf("%v, %v", s, err)
	}
	if err := json.Unmarshal([]byte(`[["a"],3]`), &s); err == nil {
		t.Error("3 is a sentence")
	}
}
