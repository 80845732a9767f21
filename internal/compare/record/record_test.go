package record_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// defined is a metric with a value.
// int64Value is an element of type int64.
func int64Value(x int64) metrics.Value {
	return metrics.Value{DType: tensor.Int64, Real: float64(x), Int: uint64(x)}
}

// halfValue is an element of type float16.
func halfValue(x float64) metrics.Value { return metrics.Value{DType: tensor.Float16, Real: x} }

// documentResult is a result of float16 tensors of shape (2, 3): one error after
// HPAA's replacement, two under the strict policy.
func documentResult() *metrics.Result {
	start := metrics.Element{Ref: halfValue(1), NPU: halfValue(1)}
	beyond := metrics.Element{Offset: 4, Ref: halfValue(2), NPU: halfValue(3), Abs: 1, Rel: 0.5}
	mismatch := metrics.Element{Offset: 1, Ref: halfValue(0), NPU: halfValue(math.NaN()), Abs: math.NaN(), Rel: math.NaN()}
	r := &metrics.Result{Total: 6, Differ: 2, RefDType: tensor.Float16, NPUDType: tensor.Float16, Start: &start,
		Beyond:   metrics.Errors{Count: 1, First: &beyond, Last: &beyond, MaxAbs: 1, MeanAbs: 1},
		Mismatch: metrics.Errors{Count: 1, First: &mismatch, Last: &mismatch},
		HPAA: metrics.HPAA{NonFinite: true, Errors: metrics.Errors{Count: 1, First: &beyond, Last: &beyond, MaxAbs: 1, MeanAbs: 1},
			MaxRel: metrics.Extreme{Metric: metrics.NumberOf(0.5), Offset: 4}, MeanRel: metrics.NumberOf(0.125), Mean: metrics.NumberOf(0.75), Std: metrics.NumberOf(0.5), RMS: metrics.NumberOf(0.9013878188659973)},
		Worst: []metrics.Element{mismatch, beyond}, MaxAbs: metrics.Extreme{Metric: metrics.NumberOf(1), Offset: 4}, MaxRel: metrics.Extreme{Metric: metrics.NumberOf(0.25), Offset: 4},
		MeanRel: metrics.NumberOf(0.0625), RED: metrics.NumberOf(math.Inf(1)), Cosine: metrics.NumberOf(0.96), SQNR: metrics.NumberOf(math.Inf(-1)),
		Ref:    metrics.SideStats{Mean: metrics.NumberOf(0.8), Std: metrics.NumberOf(0.4)},
		RefCRC: 0xabc, NPUCRC: 0xffffffff, RefSum: 1, NPUSum: math.MaxUint64,
		Axes: []metrics.AxisProfile{{Axis: 1, Size: 130, Fold: 1, Bins: make([]metrics.AxisBin, 130)}}}
	for i := range r.Axes[0].Bins {
		r.Axes[0].Bins[i] = metrics.AxisBin{Count: 1, SumAbs: 0.5}
	}
	r.Classes[metrics.Finite][metrics.Finite], r.Classes[metrics.NaN][metrics.Finite] = 5, 1
	return r
}

// documentPictures are pictures of a row.
func documentPictures() *metrics.Pictures {
	sides := func(g metrics.Grid, ref, npu []int64) metrics.SideBins {
		return metrics.SideBins{Edges: g.Edges(), Ref: ref, NPU: npu}
	}
	grid, one, errors := metrics.Grid{Low: -1, High: 3, Count: 2}, metrics.Grid{Low: 1, High: 1, Count: 1}, metrics.Grid{Low: 0.5, High: 1, Count: 1, Log: true}
	inner := sides(one, []int64{3}, []int64{2})
	p := &metrics.Pictures{Total: 6, Errors: 1, OfSample: 4, Every: 1, Values: sides(grid, []int64{4, 2}, []int64{5, 0}),
		Joint: &metrics.Density{Edges: grid.Edges(), Count: 2, Max: 4, Cells: []byte{255, 0, 0, 1}, Inner: &metrics.Density{Edges: one.Edges(), Count: 1, Max: 1, Cells: []byte{255}}},
		Maps:  []metrics.Map{{ColumnAxis: 1, RowFold: 1, ColumnFold: 1, Rows: 2, Columns: 3, LogLow: -3, LogHigh: 0.5, Mean: []byte{0, 1, 2, 3, 4, 255}, Errors: []byte{0, 0, 0, 0, 0, 255}}},
		ULP:   []int64{3, 0, 2}, Diff: metrics.ErrorBins{Abs: metrics.Bins{Edges: errors.Edges(), Log: true, Counts: []int64{1}}},
		Sample: &metrics.ErrorSample{Every: 1, Undefined: 1, NonFinite: make([]byte, metrics.Marks/8), RunLength: 1, NonFiniteErrors: 1,
			Errors: []metrics.SampledError{{Offset: 2, Abs: 1e-300, Rel: math.NaN()}, {Offset: 4, Abs: 1, Rel: 0.5}}}}
	p.Values.Inner, p.Sample.NonFinite[0], p.Sample.NonFinite[1], p.NPUStats.NaN = &inner, 1<<1, 1<<1, 1
	p.Keep(true)
	return p
}

// documentReport has rows of every status.
func documentReport() *record.Report {
	r := &record.Report{Profile: "hpaa", NaNPolicy: "strict", TolMode: "isclose", Verdict: "evidence", Standard: "cann-l0", Effective: "bfloat16", Headline: "FAIL: 1 origin", Origins: []int{2}, OrderSource: lang.Plain("fusion ids"), GraphSource: lang.Plain("graph.json"),
		Counts:   map[record.Status]int{},
		Coverage: record.Coverage{Reference: 4, Compared: 3, RefOnly: []string{"pad:output:0"}},
		Findings: record.Findings{FirstBad: 2, FirstDamaged: 2, LastGood: 0, Suspects: []int{5}, FirstNaN: 2, FirstOverflow: -1, LargestJump: 2, Jump: math.Inf(1), Chain: []int{2}, OutputsBad: true},
		Baseline: &record.Baseline{File: "base.json", New: []int{2}, Missing: []string{"gone:output:0"}},
		Warnings: []lang.Sentence{lang.Plain("a|b\n")}}
	r.Interrupted = true
	for i, status := range record.Statuses() {
		row := record.Row{Op: fmt.Sprintf("op/%d", i), Kind: "output", Output: i % 2, Pair: record.PairVerdict{Status: status}, Verdict: record.Verdict{Status: status}, Order: i, Notes: []lang.Sentence{lang.Plain("squeezed")},
			RefFile: "r.npy", RefDType: tensor.Float16, RefShape: tensor.Shape{2, 3}}
		switch status {
		case record.Pass, record.Warn, record.Fail, record.Partial, record.Rounding:
			row.NPUFile, row.NPUDType, row.Shape, row.Result = "n.npy", tensor.Float16, tensor.Shape{2, 3}, documentResult()
			row.Limits = record.Limits{Atol: 0.005, Rtol: 0.2, AtolSource: "op_config", RtolSource: "command line"}
			row.Errors, row.First = 2, row.Result.Mismatch.First
		case record.Error:
			row.Err = errors.New("torn")
		}
		if status == record.Fail {
			row.Pair.Status, row.Type = record.Pass, "bfloat16"
			row.Evidence = &record.Evidence{Class: "linear", Kind: "SCALE", Level: record.IsOrigin, RMS: 0.5, RefRMS: 2, Rounding: 1e-3, Expected: 0.25, Propagated: 0.2, Own: 0.1,
				Score: 2, Rows: 3, Channels: 4, Peak: 5, ScaleZ: 60, Damaged: true, FedBy: []int{0}}
			row.Standard = &record.Standard{Name: "cann-l0", Rule: "float", Type: "float16", Status: record.Fail, NonFinite: record.NonFinite{Right: 1, Wrong: 2, Unclear: 3},
				Checks: []record.Check{{Name: "mare_ratio", Value: jsonpos.Float(math.Inf(1)), Relation: "<=", Limit: 10, NPU: metrics.NumberOf(0.5), Third: metrics.NumberOf(0)},
					{Name: "max_diff", Relation: "<=", Holds: true}}}
			row.Reasons = []finding.Finding{{Code: finding.NPUNaN, Confidence: finding.High, Evidence: lang.Plain("1 of 6"),
				Facts: finding.Facts{}.Int("count", 1).Number("largest_ref", math.Inf(1)).Int("row", 0).List("perm", []int{1, 0}).Flag("inferred", false)}}
			row.Module, row.Inputs, row.Pictures = "net/op", []int{0, 1}, documentPictures()
		}
		r.Rows = append(r.Rows, row)
		r.Counts[status]++
	}
	r.Rows[2].Round, r.Rows[2].RoundCoordinates = "rank 1 step 2", record.RoundCoordinates{Rank: "1", Step: "2", Graph: "0", Model: "net"}
	r.Rounds = []record.Round{{Name: "rank 1 step 2", RoundCoordinates: r.Rows[2].RoundCoordinates, RefAt: record.RoundCoordinates{Rank: "0", Model: "net"}, Notes: []lang.Sentence{lang.Plain("rank 1 is compared with rank 0")},
		OrderSource: lang.Plain("timestamps"), OrderKnown: true, Counts: map[record.Status]int{record.Fail: 1, record.Pass: 2}, Findings: r.Findings}}
	return r
}

// decode parses JSON into plain maps.
func decode(t *testing.T, v any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var plain map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&plain); err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestDocumentRowKeys(t *testing.T) {
	report := documentReport()
	report.Rows[2].Result.KLD = metrics.NumberOf(0.25)
	row := decode(t, &report.Rows[2])
	n := func(s string) json.Number { return json.Number(s) }
	want := map[string]any{
		"op": "op/2", "output": n("0"), "status": "FAIL",
		"reasons":  []any{map[string]any{"code": "NPU_NAN", "confidence": "high", "evidence": "1 of 6", "facts": map[string]any{"count": n("1"), "largest_ref": "inf", "row": n("0"), "perm": []any{n("1"), n("0")}, "inferred": false}}},
		"ref_file": "r.npy", "npu_file": "n.npy", "shape": []any{n("2"), n("3")}, "dtype_ref": "float16", "dtype_npu": "float16",
		"limits": map[string]any{"atol": n("0.005"), "rtol": n("0.2"), "source": "atol op_config, rtol command line"},
		"total":  n("6"), "errors": n("1"), "errors_strict": n("2"), "error_ratio": n("0.16666666666666666"),
		"first_error": map[string]any{"offset": n("4"), "coord": []any{n("1"), n("1")}},
		"ref_value":   n("2"), "npu_value": n("3"), "order": n("2"), "status_limits": "PASS", "type": "bfloat16", "nan_inf": true, "errors_policy": n("2"),
		"first_error_policy": map[string]any{"offset": n("1"), "coord": []any{n("0"), n("1")}, "ref": n("0"), "npu": "nan", "abs": nil, "rel": nil},
		"first_error_strict": map[string]any{"offset": n("1"), "coord": []any{n("0"), n("1")}, "ref": n("0"), "npu": "nan", "abs": nil, "rel": nil},
		"last_error_strict":  map[string]any{"offset": n("4"), "coord": []any{n("1"), n("1")}, "ref": n("2"), "npu": n("3"), "abs": n("1"), "rel": n("0.5")},
		"digests":            map[string]any{"ref_crc32c": "00000abc", "npu_crc32c": "ffffffff", "ref_sum": "0000000000000001", "npu_sum": "ffffffffffffffff"},
	}
	for key, value := range want {
		if diff := cmp.Diff(value, row[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	metrics := row["metrics"].(map[string]any)
	for key, value := range map[string]any{
		"max_abs": n("1"), "mean_abs": nil, "max_rel": n("0.5"), "mean_rel": n("0.125"), "err_max_abs": n("1"), "err_mean_abs": n("1"),
		"max_rel_finite": n("0.25"), "mean_rel_finite": n("0.0625"), "cosine": n("0.96"), "pearson": nil, "red": "inf", "sqnr_db": "-inf",
		"ref_mean": n("0.75"), "ref_std": n("0.5"), "ref_rms": n("0.9013878188659973"), "ref_mean_finite": n("0.8"), "ref_std_finite": n("0.4"),
		"max_abs_offset": n("4"), "differ": n("2"), "kld": n("0.25"), "rmse": nil, "ulp_max": nil,
	} {
		if got, ok := metrics[key]; !ok || got != value {
			t.Errorf("metrics.%s is %v (there: %t), want %v", key, got, ok, value)
		}
	}
	classes := row["classes"].(map[string]any)
	if classes["both_finite"] != n("5") || classes["nan_vs_finite"] != n("1") || classes["class_mismatch"] != n("1") || classes["nan_both"] != n("0") {
		t.Errorf("classes are %v", classes)
	}
	axis := row["axes"].([]any)[0].(map[string]any)
	if bins := axis["bins"].([]any); len(bins) != 44 || axis["fold"] != n("3") || bins[43].([]any)[2] != n("0.5") || bins[0].([]any)[2] != n("1.5") {
		t.Errorf("130 positions became %d bins of %v: %v", len(bins), axis["fold"], bins)
	}
}

func TestDocumentRound(t *testing.T) {
	report := documentReport()
	doc := decode(t, json.RawMessage(written(t, report)))
	round := doc["rounds"].([]any)[0].(map[string]any)
	for key, want := range map[string]any{
		"round": "rank 1 step 2", "rank": "1", "step": "2", "graph": "0", "model": "net", "status": "FAIL",
		"ref": map[string]any{"rank": "0", "model": "net"}, "notes": []any{"rank 1 is compared with rank 0"},
		"order_source": "timestamps", "order_known": true, "graph_source": "",
		"first_bad": "op/2:output:0@rank 1 step 2", "last_good": "op/0:output:0", "largest_jump": "op/2:output:0@rank 1 step 2", "jump": "inf",
	} {
		if diff := cmp.Diff(want, round[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	row := decode(t, &report.Rows[0])
	for _, key := range []string{"rank", "step", "graph", "model"} {
		if value, ok := row[key]; ok {
			t.Errorf("a row without a round has %s %v", key, value)
		}
	}
}

func TestRoundStatus(t *testing.T) {
	for want, counts := range map[record.Status]map[record.Status]int{
		record.Fail: {record.Pass: 5, record.Warn: 1, record.Fail: 1, record.UnmatchedRef: 3},
		record.Pass: {record.Pass: 5, record.UnmatchedRef: 3, record.Skip: 1},
		record.Skip: {record.Skip: 2}, record.UnmatchedNPU: {record.UnmatchedNPU: 2},
	} {
		if got := (&record.Round{Counts: counts}).Status(); got != want {
			t.Errorf("%v: %s, want %s", counts, got, want)
		}
	}
}

func TestDocumentUncomparedRow(t *testing.T) {
	report := documentReport()
	for i := range report.Rows {
		row := &report.Rows[i]
		plain := decode(t, row)
		if row.IsCompared() {
			if plain["total"] == nil {
				t.Errorf("%s: compared, without a total", row.Status)
			}
			continue
		}
		for _, key := range []string{"total", "errors", "errors_strict", "error_ratio", "first_error", "ref_value", "npu_value", "npu_file", "shape", "dtype_npu"} {
			if value, ok := plain[key]; !ok || value != nil {
				t.Errorf("%s: %s is %v (there: %t), want null", row.Status, key, value, ok)
			}
		}
		for _, object := range []string{"metrics", "classes"} {
			values := plain[object].(map[string]any)
			if len(values) < 10 {
				t.Errorf("%s: %s has %d keys", row.Status, object, len(values))
			}
			for key, value := range values {
				if value != nil {
					t.Errorf("%s: %s.%s is %v, want null", row.Status, object, key, value)
				}
			}
		}
	}
}

func TestDocumentSummary(t *testing.T) {
	d := decode(t, json.RawMessage(written(t, documentReport())))
	summary := d["summary"].(map[string]any)
	for key, want := range map[string]any{
		"pass": json.Number("1"), "unmatched_npu": json.Number("1"), "shape_mismatch": json.Number("1"), "rows": json.Number("12"), "rounding": json.Number("1"), "verdict_mode": "evidence", "effective_type": "bfloat16", "headline": "FAIL: 1 origin",
		"coverage": json.Number("0.75"), "first_bad": "op/2:output:0@rank 1 step 2", "last_good": "op/0:output:0", "first_nan": "op/2:output:0@rank 1 step 2",
		"first_overflow": nil, "largest_jump": "op/2:output:0@rank 1 step 2", "jump": "inf", "outputs_bad": true,
	} {
		if summary[key] != want {
			t.Errorf("summary.%s is %v, want %v", key, summary[key], want)
		}
	}
	if diff := cmp.Diff([]any{"op/2:output:0@rank 1 step 2", "op/1:output:1", "op/7:output:1", "op/11:output:1"}, summary["worst"]); diff != "" {
		t.Errorf("worst (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"op/5:output:1"}, summary["suspects"]); diff != "" {
		t.Errorf("suspects (-want +got):\n%s", diff)
	}
	if d["schema"] != "dumptool/compare/2" || d["interrupted"] != true || d["baseline"].(map[string]any)["missing"].([]any)[0] != "gone:output:0" {
		t.Errorf("head is %v", d)
	}
}

func TestNoErrorShowsTheFirstElement(t *testing.T) {
	row := record.Row{Op: "a", Shape: tensor.Shape{2}, Result: &metrics.Result{Total: 2, Start: &metrics.Element{Ref: int64Value(1<<53 + 1), NPU: int64Value(-1 << 63)}}}
	plain := decode(t, &row)
	if plain["first_error"] != nil || plain["ref_value"] != json.Number("9007199254740993") || plain["npu_value"] != json.Number("-9223372036854775808") {
		t.Errorf("%v, %v, %v", plain["first_error"], plain["ref_value"], plain["npu_value"])
	}
	row = record.Row{Op: "a", Shape: tensor.Shape{0, 2}, Result: new(metrics.Result)}
	plain = decode(t, &row)
	if plain["ref_value"] != nil || plain["total"] != json.Number("0") || plain["error_ratio"] != json.Number("0") {
		t.Errorf("empty: %v, %v, %v", plain["ref_value"], plain["total"], plain["error_ratio"])
	}
}

func TestElementValue(t *testing.T) {
	for _, c := range []struct {
		value metrics.Value
		want  string
	}{
		{metrics.Value{DType: tensor.Uint64, Int: math.MaxUint64}, "18446744073709551615"},
		{metrics.Value{DType: tensor.Int8, Int: math.MaxUint64}, "-1"},
		{metrics.Value{DType: tensor.Bool, Int: 1}, "1"},
		{metrics.Value{DType: tensor.Float64, Real: 1e300}, "1e+300"},
		{metrics.Value{DType: tensor.Float32, Real: math.Inf(-1)}, `"-inf"`},
		{metrics.Value{DType: tensor.Complex64, Real: 1.5, Imag: math.NaN()}, `[1.5,"nan"]`},
	} {
		got := c.value.String()
		if got != c.want {
			t.Errorf("%v prints %s, want %s", c.value, got, c.want)
		}
		var back metrics.Value
		err := json.Unmarshal([]byte(got), &back)
		if err == nil {
			back, err = back.Convert(c.value.DType)
		}
		if err != nil || back.String() != got {
			t.Errorf("%s reads as %s, %v", got, back, err)
		}
	}
	for _, bad := range []string{`"no"`, `true`, `{}`, `[1]`, `[1,2,3]`, `[1,[2]]`, `1e999`, `[null,1]`} {
		var v metrics.Value
		if err := json.Unmarshal([]byte(bad), &v); err == nil {
			t.Errorf("%s was read as %s", bad, v)
		}
	}
	for _, c := range []struct {
		text  string
		dtype tensor.DType
	}{{"1.5", tensor.Int8}, {`"inf"`, tensor.Uint64}, {"1e300", tensor.Int64}, {"[1,2]", tensor.Float16}, {`[1,"nan"]`, tensor.Int32}} {
		var v metrics.Value
		if err := json.Unmarshal([]byte(c.text), &v); err != nil {
			t.Fatal(err)
		}
		if got, err := v.Convert(c.dtype); err == nil {
			t.Errorf("%s is %s of the type %s", c.text, got, c.dtype)
		}
	}
}

func TestFloat(t *testing.T) {
	for text, want := range map[string]float64{"0.25": 0.25, `"-inf"`: math.Inf(-1), "9007199254740993": 1 << 53} {
		var n metrics.Metric
		if err := json.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		if n != metrics.NumberOf(want) {
			t.Errorf("number %s is %v", text, n)
		}
		var v metrics.Value
		if err := json.Unmarshal([]byte(text), &v); err != nil || v.Real != want {
			t.Errorf("element %s is %v, error %v", text, v.Real, err)
		}
	}
	if text := (metrics.Metric{}).String(); text != "NA" {
		t.Errorf("an undefined number is %s", text)
	}
}

func TestRowName(t *testing.T) {
	row := record.Row{Op: "a", Kind: "input", Output: 2, Round: "0/1"}
	if got := row.Name(); got != "a:input:2@0/1" {
		t.Error(got)
	}
	if got := (&record.Row{Op: "a"}).Name(); got != "a:output:0" {
		t.Error(got)
	}
}

// TestOddPlaces: elements outside of the shape do not break anything, and strict
// errors are found on either side.
func TestOddPlaces(t *testing.T) {
	if got := record.Coordinates(tensor.Shape{2, 3}, 6); len(got) != 1 || got[0] != 6 {
		t.Errorf("element 6 of 2x3 is at %v", got)
	}
	if got := record.Coordinates(tensor.Shape{0, 3}, 0); len(got) != 1 {
		t.Errorf("element 0 of 0x3 is at %v", got)
	}
	near, far := &metrics.Element{Offset: 1}, &metrics.Element{Offset: 9}
	for _, c := range []struct{ beyond, mismatch, want *metrics.Element }{{near, far, near}, {far, near, near}, {nil, near, near}, {near, nil, near}, {nil, nil, nil}} {
		r := &metrics.Result{Beyond: metrics.Errors{First: c.beyond}, Mismatch: metrics.Errors{First: c.mismatch}}
		if got := record.FirstStrict(r); got != c.want {
			t.Errorf("first of %v and %v is %v", c.beyond, c.mismatch, got)
		}
	}
}

func TestNumberRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := metrics.NumberOf(rapid.Float64().Draw(t, "x"))
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got metrics.Metric
		if err := json.Unmarshal(text, &got); err != nil || got != want {
			t.Fatalf("%v became %s and %v, %v", want, text, got, err)
		}
		if text[0] != '"' && string(text) != want.String() {
			t.Fatalf("JSON says %s, text %s", text, want)
		}
	})
	if s := jsonpos.FormatFloat(1e6) + jsonpos.FormatFloat(1e-7) + jsonpos.FormatFloat(0.25); s != "10000001e-070.25" {
		t.Error(s)
	}
}

// TestRoundTrip reads a written document: what compare.json keeps is equal, and writing it again gives the same
// bytes.
func TestRoundTrip(t *testing.T) {
	empty := &record.Report{Findings: record.NoFindings()}
	full := documentReport()
	full.Tool, full.Args, full.Files = "dumptool 1", []string{"compare", "--cpu", "a"}, []record.File{{Name: "junit.xml", Size: 12}}
	for name, want := range map[string]*record.Report{"full": full, "empty": empty} {
		text := written(t, want)
		got, err := record.Read(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(string(text), string(written(t, got))); diff != "" {
			t.Errorf("%s is written as (-first +again):\n%s", name, diff)
		}
		kept := []cmp.Option{cmpopts.EquateNaNs(), cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(record.Report{}), cmpopts.IgnoreFields(record.Row{}, "Err", "Result", "Limits", "Shape", "RefShape", "NPUShape")}
		if diff := cmp.Diff(want, got, kept...); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestReadResult reads a result back: the numbers that judgements and tables use are equal.
func TestReadResult(t *testing.T) {
	want := documentReport()
	got, err := record.Read(bytes.NewReader(written(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	lost := []cmp.Option{cmpopts.IgnoreFields(metrics.Result{}, "Start", "Beyond", "Mismatch", "Axes"), cmpopts.IgnoreFields(metrics.Errors{}, "First", "Last")}
	for i := range want.Rows {
		a, b := want.Rows[i].Result, got.Rows[i].Result
		if a == nil || want.Rows[i].Status == record.Pass {
			continue
		}
		if diff := cmp.Diff(a, b, append(lost, cmpopts.EquateNaNs())...); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Rows[i].Status, diff)
		}
		if a.StrictErrors() != b.StrictErrors() || a.Mismatch.Count != b.Mismatch.Count || record.FirstStrict(a).Offset != record.FirstStrict(b).Offset {
			t.Errorf("%d errors, %d of two classes; want %d and %d", b.StrictErrors(), b.Mismatch.Count, a.StrictErrors(), a.Mismatch.Count)
		}
	}
}

// written returns the compare.json of a report.
func written(t rapid.TB, r *record.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// minimal returns a document with the given rows.
func minimal(rows string) string { return `{"schema":"dumptool/compare/1","rows":[` + rows + `]}` }

// goodRow is a valid row.
const goodRow = `{"op":"a","output":0,"status":"FAIL","shape":[2],"total":2,"errors":1,"errors_strict":1,"limits":{"atol":0,"rtol":0.2},"first_error":{"offset":1,"coord":[1]},"metrics":{"max_abs":"inf"}}`

func TestReadRefuses(t *testing.T) {
	if d, err := record.Read(strings.NewReader(minimal(goodRow))); err != nil || len(d.Rows) != 1 || d.Rows[0].Result.MaxAbs.Value() != math.Inf(1) {
		t.Fatalf("the good row gives %v, %v", d, err)
	}
	replace := func(old, new string) string {
		if !strings.Contains(goodRow, old) {
			t.Fatalf("no %s in the row", old)
		}
		return minimal(strings.Replace(goodRow, old, new, 1))
	}
	for _, c := range []struct{ text, want string }{
		{``, "found the end of the file"},
		{`[]`, "wanted an object"},
		{`{}`, `"schema" is missing`},
		{`{"schema":"dumptool/compare/1"}`, `"rows" is missing`},
		{`{"schema":"dumptool/compare/3","rows":[]}`, `schema is "dumptool/compare/3", want "dumptool/compare/2"`},
		{`{"schema":"dumptool/compare/1","rows":{}}`, "wanted an array"},
		{`{"schema":"dumptool/compare/1","rows":[],"ROWS":[]}`, `duplicate key "rows"`},
		{minimal(goodRow) + "x", "wanted the end of the file"},
		{minimal(goodRow)[:60], "found the end of the file"},
		{minimal(`{}`), "row 0 (): no op"},
		{minimal(`{"standard":{"status":"GOOD"},` + strings.TrimPrefix(goodRow, "{")), `standard of the status "GOOD", want PASS, WARN or FAIL`},
		{minimal(goodRow + `,{"op":"b","status":"GOOD"}`), `row 1 (b): status "GOOD" is unknown`},
		{minimal(`{"op":"b","status":"SKIP","output":-1}`), "output -1 is negative"},
		{replace(`"total":2`, `"total":-2`), "total -2 is negative"},
		{replace(`"errors_strict":1,`, ``), "errors_strict is missing"},
		{replace(`"offset":1`, `"offset":2`), "offset 2, of 2 elements"},
		{replace(`[2]`, `[-2]`), "shape (-2,)"},
		{replace(`"max_abs":"inf"`, `"max_abs":"much"`), `"much" is no number`},
		{replace(`"max_abs":"inf"`, `"max_abs":1e400`), "number 1e400 is out of range"},
		{replace(`"total":2`, `"axes":[{"bins":[[1,2,3]]}],"total":2`), "list of 3 numbers, want 4"},
		{replace(`"total":2`, `"axes":[{"bins":[[1,2,null,4]]}],"total":2`), "axis profile: null is no number"},
		{`{"schema":"dumptool/compare/1","findings":{"first_bad":1},"rows":[` + goodRow + `]}`, "finding in row 1 of 1 rows"},
	} {
		if d, err := record.Read(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) || d != nil {
			t.Errorf("%s: error %v, want %q", c.text, err, c.want)
		}
	}
}

// oddRows are rows whose numbers contradict each other, which Read does not check.
func oddRows() []string {
	all := []string{`{"op":"b","status":"SKIP","errors":3,"worst":[{"offset":-1}]}`}
	for _, change := range [][2]string{
		{`"errors":1`, `"errors":3`},
		{`"errors_strict":1`, `"errors_strict":-5`},
		{`{"atol":0,"rtol":0.2}`, `{"atol":-1,"rtol":"nan"}`},
		{`,"metrics":{"max_abs":"inf"}`, ``},
		{`"total":2`, `"joint":[[0,0,-3,2,1,5,1]],"total":2`}, // a key of documents of the schema number 1
		{`"total":2`, `"abs_hist":{"zeros":9,"first":-2000,"counts":[-4,9223372036854775807,5]},"total":2`},
		{`"total":2`, `"classes":{"both_finite":9,"class_mismatch":7},"total":2`},
		{`"total":2`, `"details":{"zeros":[-1,9],"classes":[9,5,0,0,0,0,0,0,0,0,0,0,0,0,0,0]},"total":2`},
	} {
		all = append(all, strings.Replace(goodRow, change[0], change[1], 1))
	}
	return all
}

// TestReadOddNumbers: odd rows can be written after reading, and read again.
func TestReadOddNumbers(t *testing.T) {
	for _, row := range oddRows() {
		d, err := record.Read(strings.NewReader(minimal(row)))
		if err != nil || row == goodRow {
			t.Errorf("%s: error %v", row, err)
			continue
		}
		once := written(t, d)
		again, err := record.Read(bytes.NewReader(once))
		if err != nil {
			t.Errorf("%s: read again: %v", row, err)
			continue
		}
		if twice := written(t, again); !bytes.Equal(once, twice) {
			t.Errorf("%s was written as\n%s\nand then\n%s", row, once, twice)
		}
	}
}

// TestDocumentPictures reads written pictures: they are equal, also the fields that copy numbers of the row.
func TestDocumentPictures(t *testing.T) {
	back, err := record.Read(bytes.NewReader(written(t, documentReport())))
	if err != nil {
		t.Fatal(err)
	}
	want := documentPictures()
	if diff := cmp.Diff(want, back.Rows[2].Pictures, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("pictures (-want +got):\n%s", diff)
	}
	sample, err := back.Rows[2].Pictures.Sample.Unpack(6)
	if err != nil {
		t.Fatal(err)
	}
	if sampled := sample.Errors; len(sampled) != 2 || sampled[0].Offset != 2 || sampled[0].Abs != 1e-300 || !math.IsNaN(sampled[0].Rel) || sampled[1] != (metrics.SampledError{Offset: 4, Abs: 1, Rel: 0.5}) {
		t.Errorf("sampled errors %v", sampled)
	}
	facts := back.Rows[2].Reasons[0].Facts
	if x, ok := facts.Shift(3).Get("row"); !ok || x != 3 {
		t.Errorf("row is %g, %t", x, ok)
	}
	if x, ok := facts.Get("largest_ref"); !ok || !math.IsInf(x, 1) {
		t.Errorf("largest_ref is %g, %t", x, ok)
	}
}

// TestReadRefusesPictures changes one value of pictures to an impossible one.
func TestReadRefusesPictures(t *testing.T) {
	good := string(written(t, documentReport()))
	for _, c := range []struct{ from, to, want string }{
		{`"ref":[4,2],"npu":[5,0]`, `"ref":[4,2],"npu":[-1,0]`, "values.npu: a count of -1"},
		{`"ref":[4,2],"npu":[5,0]`, `"ref":[4,2],"npu":[5]`, "2 bins of the reference and 1 of the NPU"},
		{`"values":{"lo":-1`, `"values":{"lo":5`, "values: 2 bins from 5 to 3"},
		{`"values":{"lo":-1`, `"values":{"lo":"-inf"`, "values: 2 bins from -inf to 3"},
		{`"values":{"lo":-1`, `"values":{"lo":null`, "values: 2 bins from NA to 3"},
		{`"n":2,`, `"n":3,`, "joint: 4 cells of 3 bins"},
		{`"n":2,`, `"n":-2,`, "joint: 4 cells of -2 bins"},
		{`"cells":"/wAAAQ=="`, `"cells":"/wAAA"`, "illegal base64"},
		{`"col_axis":1`, `"col_axis":2`, "maps: axes 0 and 2 of 2"},
		{`"rows":2,"cols":3`, `"rows":3,"cols":3`, "maps: 6 and 6 cells, want 9"},
		{`"rows":2,"cols":3`, `"rows":33,"cols":3`, "maps: 33 rows"},
		{`"row_fold":1`, `"row_fold":0`, "maps: cells of 0 and 1 positions"},
		{`"log_lo":-3`, `"log_lo":3`, "maps: log10 of means from 3 to 0.5"},
		{`"ulp":[3,0,2]`, `"ulp":[` + strings.Repeat("0,", 65) + `0]`, "ulp: 66 counts, want at most 65"},
		{`"diff_hist":{"abs":{"lo":0.5`, `"diff_hist":{"abs":{"lo":0`, "diff_hist.abs: errors from 0 on"},
		{`"errors":{"every":1`, `"errors":{"every":0`, "errors: every 0"},
		{`"sampled":4`, `"sampled":7`, "sampled: 7 of 6 elements, every 1"},
		{`"sampled":4,"every":1`, `"sampled":4`, "sampled: 4 of 6 elements, every 0: want both or none"},
		{`"sampled":4,"every":1`, `"every":1`, "sampled: 0 of 6 elements, every 1: want both or none"},
		{`"run_length":1`, `"run_length":0`, "errors: every 1, runs of 0 elements"},
		{`"offsets":"AgI="`, `"offsets":"AgU="`, "offset 1 is 5 more than 2, in a tensor of 6 elements"},
		{`"offsets":"AgI="`, `"offsets":"AoI="`, "offset 1 is incomplete"},
		{`"offsets":"AgI="`, `"offsets":"Ag=="`, "16 and 8 bytes of errors, want 4 or 8 bytes for each of 1 errors"},
		{`"inputs":[0,1]`, `"inputs":[0,99]`, "row 2 names row 99"},
		{`"row":0,`, `"row":0.5,`, "row 2 names row -1"},
		{`"row":0,`, `"row":"zero",`, `fact "row"`},
		{`"row":0,`, `"count":0,`, `duplicate fact "count"`},
		{`"perm":[1,0]`, `"perm":[1,0.5]`, `fact "perm": no list of whole numbers`},
		{`"status":"PASS"`, `"status":"PASS","rel_hist":{"zeros":0,"first":-3000,"counts":[4]}`, "rel_hist: histogram: 1 bins from -3000 on"},
	} {
		text := strings.Replace(good, c.from, c.to, 1)
		if strings.Contains(c.to, "_hist\":{\"zeros") {
			name := c.to[len(c.from)+2 : len(c.from)+10]
			at := strings.Index(text, c.to)
			text = text[:at+len(c.to)] + strings.Replace(text[at+len(c.to):], `"`+name+`":null`, `"x":0`, 1)
		}
		if text == good {
			t.Errorf("%s is not in the document", c.from)
			continue
		}
		if d, err := record.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), c.want) || d != nil {
			t.Errorf("%s: error %v, want %q", c.to, err, c.want)
		}
	}
}

// TestPictureRows chooses rows: damaged rows, neighbours of the first bad row, the worst rows, other failures and
// warnings.
func TestPictureRows(t *testing.T) {
	r := &record.Report{Verdict: "limits", Findings: record.NoFindings()}
	for i := range 20 {
		r.Rows = append(r.Rows, record.Row{Op: fmt.Sprint(i), Verdict: record.Verdict{Status: record.Pass}, Result: documentResult()})
	}
	for i, code := range map[int]finding.Code{3: finding.Accumulated, 9: finding.CalcError, 10: finding.LayerInputBad, 15: finding.Scale} {
		r.Rows[i].Status, r.Rows[i].Reasons = record.Fail, []finding.Finding{{Code: code}}
	}
	r.Rows[1].Status, r.Rows[9].Result = record.Warn, nil
	r.Findings.FirstBad = 10
	if got, want := r.PictureRows(record.AllPictures), []int{15, 8, 10, 11, 12, 3, 1}; !cmp.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	if got, want := r.PictureRows(3), []int{15, 8, 10}; !cmp.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	r.Verdict, r.Findings.FirstBad = "evidence", -1
	r.Rows[4].Evidence = &record.Evidence{Level: record.IsOrigin}
	if got := r.PictureRows(1); !cmp.Equal(got, []int{4}) {
		t.Errorf("rows %v, want the origin", got)
	}
	if got := r.PictureRows(0); len(got) != 0 {
		t.Errorf("rows %v, want none", got)
	}
}

func FuzzRead(f *testing.F) {
	// One row has all keys. Keys with null are removed, which makes the seed short.
	r := documentReport()
	r.Rows, r.Origins, r.Baseline.New, r.Findings = r.Rows[2:3], []int{0}, []int{0}, record.NoFindings()
	r.Rows[0].Inputs, r.Rows[0].Evidence.FedBy, r.Findings.FirstBad, r.Findings.Chain = []int{0}, []int{0}, 0, []int{0}
	r.Rounds[0].Findings = r.Findings
	seed := regexp.MustCompile(`"\w+":null,`).ReplaceAll(written(f, r), nil)
	if _, err := record.Read(bytes.NewReader(seed)); err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	for _, odd := range oddRows() {
		f.Add([]byte(minimal(odd)))
	}
	for _, text := range []string{minimal(goodRow), minimal(goodRow)[:60], `{"schema":"dumptool/compare/1","findings":{"first_bad":1},"rows":[` + goodRow + `]}`} {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"schema":"dumptool/compare/1","rows":[],"warnings":null,"future":{"a":[1]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := record.Read(bytes.NewReader(data))
		if err != nil {
			if d != nil {
				t.Fatal("a document beside an error")
			}
			return
		}
		once := written(t, d)
		again, err := record.Read(bytes.NewReader(once))
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, once)
		}
		if twice := written(t, again); !bytes.Equal(once, twice) {
			t.Fatalf("written twice:\n%s\n%s", once, twice)
		}
	})
}
