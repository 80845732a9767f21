package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
)

// table parses CSV into a list of rows, each a map from the column's name.
func table(t *testing.T, text string) []map[string]string {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range line {
			row[lines[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

func TestCompareCSV(t *testing.T) {
	second := failing("conv")
	second.Output = 1
	r := reportOf(passing("relu"), uncompared("gone", record.UnmatchedRef), failing("conv"), second, broken("log"))
	got := rendered(t, func(w io.Writer) error { return WriteCompareCSV(w, r, Options{HPAA: CSVOptions{}}) })
	want := `op_name,nan/inf,errors/total,1st_diff_offset/offset_dim/data_shape,ref_value,npu_value,max_abs_err,mean_abs_err,max_abs_total,mean_abs_total,mean,std,rms
"relu(atol=0.005,rtol=0.2)",False,0/4,"NA/NA/(4,)",1.000000,1.000000,0,0,0.125,0.03125,2.5,1.118033988749895,2.7386127875258306
"conv(atol=0.005,rtol=0.2)",False,2/4,"0/(0, 0)/(2, 2)",1.000000,1.300000,0.3,0.153,0.3,0.15,0.75,0.82915619758885,1.118033988749895
"conv:1(atol=0.005,rtol=0.2)",False,2/4,"0/(0, 0)/(2, 2)",1.000000,1.300000,0.3,0.153,0.3,0.15,0.75,0.82915619758885,1.118033988749895
"log(atol=0.005,rtol=0.2)",True,3/4,"0/(0,)/(4,)",1.000000,nan,65508,43670.333333333336,32751,12282.25,2.5,1.118033988749895,2.7386127875258306
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCompareCSVOptions(t *testing.T) {
	row := failing("conv")
	row.RoundCoordinates = record.RoundCoordinates{Rank: "3", Step: "12", Graph: "1", Model: "=net"}
	r := reportOf(row)
	got := rendered(t, func(w io.Writer) error {
		return WriteCompareCSV(w, r, Options{HPAA: CSVOptions{Successor: true, ExtraColumns: true, BOM: true}})
	})
	if !strings.HasPrefix(got, "\ufeffop_name,nan/inf,errors/total,cos_sim,1st_diff_offset/offset_dim/data_shape,") ||
		!strings.Contains(got, ",rms,status,reason,max_abs_all,mean_abs_all,pearson,red,cos,rel_undefined,order,dtype_ref,dtype_npu,errors,total,ratio,score,shape,ref_file,npu_file,rank,step,graph,model\n") {
		t.Errorf("header of %s", got)
	}
	cells := table(t, got)[0]
	for name, want := range map[string]string{"cos_sim": "0.993648", "status": "FAIL", "reason": "CALC_ERROR;LIMITS", "max_abs_all": "0.3",
		"mean_abs_all": "0.0775", "pearson": "0.988877", "cos": "0.993648", "rel_undefined": "2", "order": "0", "dtype_ref": "float32", "dtype_npu": "float16",
		"rank": "3", "step": "12", "graph": "1", "model": "'=net"} {
		if cells[name] != want {
			t.Errorf("%s is %q, want %q", name, cells[name], want)
		}
	}
}

func TestCompareCSVNames(t *testing.T) {
	first, again, input := passing("=cmd()"), passing("=cmd()"), passing("a\"b,\nc")
	first.Round, again.Round, input.Kind = "0", "1", "input"
	lone := passing("-x")
	lone.Round = "0"
	rows := table(t, rendered(t, func(w io.Writer) error {
		return WriteCompareCSV(w, reportOf(first, again, input, lone), Options{HPAA: CSVOptions{}})
	}))
	var names []string
	for _, row := range rows {
		names = append(names, row["op_name"])
	}
	const limits = "(atol=0.005,rtol=0.2)"
	want := []string{"'=cmd()@0" + limits, "'=cmd()@1" + limits, "a\"b,\nc:input:0" + limits, "'-x" + limits}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValueText(t *testing.T) {
	half := func(x float64) metrics.Value { return float(tensor.Float16, x) }
	for _, c := range []struct {
		value metrics.Value
		want  string
	}{
		{half(0), "0.000000"}, {half(1e-7), "1e-07"}, {half(-1.23456789012e-8), "-1.23456789e-08"}, {half(-0.5), "-0.500000"},
		{half(math.NaN()), "nan"}, {half(math.Inf(1)), "inf"}, {half(math.Inf(-1)), "-inf"}, {half(6e-7), "0.000001"},
		{metrics.Value{DType: tensor.Int64, Int: 1<<53 + 1, Real: 1 << 53}, "9007199254740993.000000"},
		{metrics.Value{DType: tensor.Bool, Int: 1, Real: 1}, "1.000000"},
		{metrics.Value{DType: tensor.Complex64, Real: 1, Imag: -2}, "1.000000-2.000000j"},
		{metrics.Value{DType: tensor.Complex64, Real: 1, Imag: 2}, "1.000000+2.000000j"},
	} {
		if got := hpaaElement(c.value); got != c.want {
			t.Errorf("%v is %q, want %q", c.value, got, c.want)
		}
	}
}

// goldenCase holds the expected cells of a golden pair.
type goldenCase struct {
	Total, Errors              int64
	First                      *int64
	Coord                      []int64
	Shape                      tensor.Shape
	NaNInf                     bool           `json:"nan_inf"`
	Ref                        metrics.Metric `json:"ref_value"`
	NPU                        metrics.Metric `json:"npu_value"`
	MaxErr                     float64        `json:"max_abs_err"`
	MeanErr                    float64        `json:"mean_abs_err"`
	MaxRel                     metrics.Metric `json:"max_abs_total"`
	MeanRel                    metrics.Metric `json:"mean_abs_total"`
	Mean, Std, RMS, Cosine     metrics.Metric
	RED, Pearson, MaxAbs, RMSE metrics.Metric
}

// TestGoldenCells: the table agrees with numpy's numbers of the golden pairs.
func TestGoldenCells(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "golden", "compare", "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string]goldenCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 20 {
		t.Fatalf("%d golden cases", len(cases))
	}
	for name, c := range cases {
		if c.Total == 0 {
			continue
		}
		shown := &metrics.Element{Ref: float(tensor.Float64, c.Ref.Value()), NPU: float(tensor.Float64, c.NPU.Value())}
		result := &metrics.Result{Total: c.Total, Start: shown, Cosine: c.Cosine, HPAA: metrics.HPAA{NonFinite: c.NaNInf,
			Errors: metrics.Errors{Count: c.Errors, MaxAbs: c.MaxErr, MeanAbs: c.MeanErr}, MaxRel: metrics.Extreme{Metric: c.MaxRel},
			MeanRel: c.MeanRel, Mean: c.Mean, Std: c.Std, RMS: c.RMS}}
		place := "NA/NA"
		if c.First != nil {
			shown.Offset = *c.First
			result.HPAA.First = shown
			place = fmt.Sprintf("%d/%s", *c.First, tensor.Shape(c.Coord))
		}
		row := table(t, rendered(t, func(w io.Writer) error {
			return WriteCompareCSV(w, reportOf(record.Row{Op: name, Shape: c.Shape, Result: result, Limits: hpaaLimits}), Options{HPAA: CSVOptions{Successor: true}})
		}))[0]
		for column, want := range map[string]string{"op_name": name + "(atol=0.005,rtol=0.2)", "errors/total": fmt.Sprintf("%d/%d", c.Errors, c.Total),
			"1st_diff_offset/offset_dim/data_shape": place + "/" + c.Shape.String(), "nan/inf": strings.ToUpper(fmt.Sprint(c.NaNInf)[:1]) + fmt.Sprint(c.NaNInf)[1:]} {
			if row[column] != want {
				t.Errorf("%s: %s is %q, want %q", name, column, row[column], want)
			}
		}
		for column, want := range map[string]metrics.Metric{"max_abs_err": metrics.NumberOf(c.MaxErr), "mean_abs_err": metrics.NumberOf(c.MeanErr),
			"max_abs_total": c.MaxRel, "mean_abs_total": c.MeanRel, "mean": c.Mean, "std": c.Std, "rms": c.RMS, "cos_sim": c.Cosine} {
			sameNumber(t, name+": "+column, row[column], want, 1e-9*math.Abs(want.Value()))
		}
		sameNumber(t, name+": ref_value", row["ref_value"], c.Ref, max(5e-7, 1e-9*math.Abs(c.Ref.Value())))
		sameNumber(t, name+": npu_value", row["npu_value"], c.NPU, max(5e-7, 1e-9*math.Abs(c.NPU.Value())))
	}
}

// sameNumber reports whether a cell is a number within a gap.
func sameNumber(t *testing.T, name, cell string, want metrics.Metric, gap float64) {
	t.Helper()
	if !want.IsDefined() {
		if cell != "NA" {
			t.Errorf("%s is %q, want NA", name, cell)
		}
		return
	}
	got, err := strconv.ParseFloat(cell, 64)
	same := got == want.Value() || math.IsNaN(got) && math.IsNaN(want.Value()) || math.Abs(got-want.Value()) <= gap
	if err != nil || !same {
		t.Errorf("%s is %q, want %v", name, cell, want.Value())
	}
}

func TestOpErrors(t *testing.T) {
	row := failing("conv")
	for _, c := range []struct {
		opt  OpErrors
		want string
	}{
		{OpErrors{Count: 128}, "0,1,1.3,0.30000000000000004,0.30000000000000004\n3,0,-0.006,0.006,NA\n"},
		{OpErrors{Count: 1}, "0,1,1.3,0.30000000000000004,0.30000000000000004\n"},
		{OpErrors{Worst: true}, "0,1,1.3,0.30000000000000004,0.30000000000000004\n3,0,-0.006,0.006,NA\n"},
		{OpErrors{Worst: true, Mode: metrics.EitherExceeded}, "0,1,1.3,0.30000000000000004,0.30000000000000004\n3,0,-0.006,0.006,NA\n2,0,0.004,0.004,NA\n"},
		{OpErrors{Worst: true, Mode: metrics.BothExceeded}, "0,1,1.3,0.30000000000000004,0.30000000000000004\n3,0,-0.006,0.006,NA\n"},
	} {
		got := rendered(t, func(w io.Writer) error { return WriteOpErrors(w, &row, c.opt) })
		if diff := cmp.Diff("index,std_value,npu_value,abs_diff,relative_diff\n"+c.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.opt, diff)
		}
	}
	row = broken("log")
	got := rendered(t, func(w io.Writer) error { return WriteOpErrors(w, &row, OpErrors{Worst: true}) })
	if want := "index,std_value,npu_value,abs_diff,relative_diff\n0,1,nan,NA,NA\n1,2,inf,NA,NA\n3,4,-inf,NA,NA\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	row = uncompared("gone", record.UnmatchedRef)
	if got := rendered(t, func(w io.Writer) error { return WriteOpErrors(w, &row, OpErrors{}) }); strings.Count(got, "\n") != 1 {
		t.Errorf("a row without a result gives %s", got)
	}
}

// TestManyDigits has numbers with very many digits: from 1e15 on they have an exponent, below 6
// decimals as HPAA and msaccucmp print them.
func TestManyDigits(t *testing.T) {
	for x, want := range map[float64][2]string{
		1e300: {"1e+300", "1.000000e+300"}, -2.5e15: {"-2.5e+15", "-2.500000e+15"}, 1 << 53: {"9.007199254740992e+15", "9.007199e+15"},
		999999999999999: {"999999999999999.000000", "999999999999999.000000"}, 0.5: {"0.500000", "0.500000"},
	} {
		if got := hpaaNumber(x); got != want[0] {
			t.Errorf("cell of %g is %s, want %s", x, got, want[0])
		}
		if got := sixDecimals(x); got != want[1] {
			t.Errorf("msaccucmp's cell of %g is %s, want %s", x, got, want[1])
		}
	}
	if got := thousandths(1e300); got != "1.000000e+300" {
		t.Errorf("mean of 1e300 is %s", got)
	}
}

// TestInvalidUTF8 has names and reasons in invalid UTF-8.
func TestInvalidUTF8(t *testing.T) {
	bad, skipped := failing("a\xffb"), uncompared("c\xfe", record.Skip, finding.Finding{Code: finding.SkipKey, Evidence: lang.Plain("matches \"\xfe\"")})
	bad.OpType, bad.NPUOp = "Conv\xff", "=n\xff"
	r := reportOf(bad, skipped)
	for name, write := range map[string]func(io.Writer) error{
		"cpu_vs_npu": func(w io.Writer) error { return WriteCompareCSV(w, r, Options{HPAA: CSVOptions{ExtraColumns: true}}) },
		"msaccucmp":  func(w io.Writer) error { return WriteCompareMsaccucmp(w, r) },
		"op_names": func(w io.Writer) error {
			names := NewFileNames()
			names.Stem("a\xffb")
			return names.WriteTable(w)
		},
	} {
		text := rendered(t, write)
		if !utf8.ValidString(text) || !strings.Contains(text, "a\ufffdb") {
			t.Errorf("%s: %q, want U+FFFD for what is no UTF-8", name, text)
		}
	}
}

// TestIsOpErrors recognises files of element errors.
func TestIsOpErrors(t *testing.T) {
	row := failing("a")
	full := rendered(t, func(w io.Writer) error { return WriteOpErrors(w, &row, OpErrors{}) })
	header, _, _ := strings.Cut(full, "\n")
	for text, want := range map[string]bool{full: true, header + "\n": true, header: false, "": false, "x" + full: false, header + ",mine\n": false} {
		if got := isOpErrors(strings.NewReader(text)); got != want {
			t.Errorf("%q lists errors: %v, want %v", text, got, want)
		}
	}
}
