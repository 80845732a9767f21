package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/opdebug"
	"dumptool/internal/overflow"
	"dumptool/internal/tensor"
)

var inf = math.Inf(1)

func compat(t *testing.T, records ...overflow.Record) string {
	t.Helper()
	return rendered(t, func(w io.Writer) error { return WriteAnalysisCompat(w, &overflow.Report{Records: records}) })
}

// TestCompat has the sample of section 5.3 of the overflow notes, then a record with four status
// words and without a dump.
func TestCompat(t *testing.T) {
	t.Parallel()
	want := `=================================================[1]==================================================
[Add] Default/Add-op0
 [AI Core][TaskId:57][StreamId:563][Status:32]
 [timestamp:1732082705016774]
 Add.Default_Add-op0.57.563.1732082705016000.input.0.npy
 -[Format: ND] [Shape: (3,)] [Dtype: float16] [Max: inf] [Min: 1.0] [Mean: inf]
 Add.Default_Add-op0.57.563.1732082705016000.output.0.npy
 -[Format: ND] [Shape: (3,)] [Dtype: float16] [Max: inf] [Min: 1.0] [Mean: inf]
=================================================[2]==================================================
 [AIC][TaskId:7][StreamId:3][Status:[0, 32, 0, 256]]
 [timestamp:1732082705016999]
`
	if diff := cmp.Diff(want, compat(t, addRecord(), lostRecord())); diff != "" {
		t.Error(diff)
	}
}

// TestCompatAreas: one line per overflowed unit; the IDs of a record with a lost status are printed
// too.
func TestCompatAreas(t *testing.T) {
	t.Parallel()
	r := addRecord()
	r.Units = append([]opdebug.Area{{Unit: opdebug.DHA, TaskID: 1, StreamID: 2, Status: []uint64{0x900}}}, r.Units...)
	text := compat(t, r)
	if want := " [DHA Atomic Add][TaskId:1][StreamId:2][Status:2304]\n [AI Core][TaskId:57][StreamId:563][Status:32]\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	lost := lostRecord()
	lost.Units[0].Status = nil
	if text, want := compat(t, lost), " [AIC][TaskId:7][StreamId:3][Status:[]]\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// TestCompatNoStream: dump names of old releases have no stream ID.
func TestCompatNoStream(t *testing.T) {
	t.Parallel()
	r := addRecord()
	r.Op.FileName = "Add.Default_Add-op0.57.1732082705016000"
	if text, want := compat(t, r), "\n Add.Default_Add-op0.57.1732082705016000.output.0.npy\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// TestCompatTensors: inputs before outputs, by number; unreadable tensors are left out.
func TestCompatTensors(t *testing.T) {
	t.Parallel()
	r := addRecord()
	r.Op.FileName = "x"
	r.Tensors = nil
	for _, i := range []int{10, 2} {
		for _, kind := range []tensor.Kind{tensor.Output, tensor.Input} {
			x := infinite(kind)
			x.Index = i
			r.Tensors = append(r.Tensors, x)
		}
	}
	r.Tensors = append(r.Tensors, overflow.Tensor{Kind: tensor.Output, Index: 3, Fault: overflow.Fault{Error: "cut off"}})
	var names []string
	for line := range strings.Lines(compat(t, r)) {
		if strings.HasPrefix(line, " x.") {
			names = append(names, strings.TrimSpace(line))
		}
	}
	if diff := cmp.Diff([]string{"x.input.2.npy", "x.input.10.npy", "x.output.2.npy", "x.output.10.npy"}, names); diff != "" {
		t.Error(diff)
	}
	if r.Tensors[0].Kind != tensor.Output {
		t.Error("the report's own tensors were sorted")
	}
}

// TestCompatNumbers compares with numpy's max, min and mean.
func TestCompatNumbers(t *testing.T) {
	t.Parallel()
	n := number
	cases := []struct {
		name  string
		dtype tensor.DType
		shape tensor.Shape
		stats tensor.Stats
		want  string
	}{
		{"finite", tensor.Float16, tensor.Shape{2, 2}, tensor.Stats{Count: 4, Min: n(-65504), Max: n(0.0999755859375), Mean: n(40.2212)},
			"[Shape: (2, 2)] [Dtype: float16] [Max: 0.1] [Min: -65500.0] [Mean: 40.22]"},
		{"bfloat16", tensor.BFloat16, tensor.Shape{1}, tensor.Stats{Count: 1, Min: n(1), Max: n(1), Mean: n(1)},
			"[Shape: (1,)] [Dtype: float32] [Max: 1.0] [Min: 1.0] [Mean: 1.0]"},
		{"scalar", tensor.Float32, tensor.Shape{}, tensor.Stats{Count: 1, Min: n(1e-5), Max: n(1e-5), Mean: n(1e-5)},
			"[Shape: ()] [Dtype: float32] [Max: 1e-05] [Min: 1e-05] [Mean: 1e-05]"},
		{"flat", tensor.Float64, tensor.Shape{2}, tensor.Stats{Count: 2, Min: n(1), Max: n(1e16), Mean: n(5e15)},
			"[Shape: (2,)] [Dtype: float64] [Max: 1e+16] [Min: 1.0] [Mean: 5000000000000000.0]"},
		{"NaN", tensor.Float32, tensor.Shape{3}, tensor.Stats{Count: 3, NaN: 1, PosInf: 1, Min: n(1), Max: n(1), Mean: n(1)},
			"[Max: nan] [Min: nan] [Mean: nan]"},
		{"both infinities", tensor.Float32, tensor.Shape{3}, tensor.Stats{Count: 3, NegInf: 1, PosInf: 1, Min: n(1), Max: n(1), Mean: n(1)},
			"[Max: inf] [Min: -inf] [Mean: nan]"},
		{"negative infinity", tensor.Float32, tensor.Shape{2}, tensor.Stats{Count: 2, NegInf: 1, Min: n(1), Max: n(1), Mean: n(1)},
			"[Max: 1.0] [Min: -inf] [Mean: -inf]"},
		{"all infinite", tensor.Float32, tensor.Shape{2}, tensor.Stats{Count: 2, NegInf: 2}, "[Max: -inf] [Min: -inf] [Mean: -inf]"},
		{"empty", tensor.Float32, tensor.Shape{0}, tensor.Stats{}, "[Shape: (0,)] [Dtype: float32] [Max: nan] [Min: nan] [Mean: nan]"},
		{"int8", tensor.Int8, tensor.Shape{2}, tensor.Stats{Count: 2, Min: n(-128), Max: n(127), Mean: n(-0.5)},
			"[Dtype: int8] [Max: 127] [Min: -128] [Mean: -0.5]"},
		{"int64", tensor.Int64, tensor.Shape{2}, tensor.Stats{Count: 2, Min: n(math.MinInt64), Max: n(math.MaxInt64), Mean: n(0)},
			"[Max: 9223372036854775807] [Min: -9223372036854775808] [Mean: 0.0]"},
		{"uint64", tensor.Uint64, tensor.Shape{2}, tensor.Stats{Count: 2, Min: n(0), Max: n(math.MaxUint64), Mean: n(9.223372036854775807e18)},
			"[Max: 18446744073709551615] [Min: 0] [Mean: 9.223372036854776e+18]"},
		{"bool", tensor.Bool, tensor.Shape{2}, tensor.Stats{Count: 2, Min: n(0), Max: n(1), Mean: n(0.5)},
			"[Dtype: bool] [Max: True] [Min: False] [Mean: 0.5]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := addRecord()
			r.Tensors = []overflow.Tensor{{Kind: tensor.Output, DType: c.dtype.String(), Format: "ND", Shape: c.shape, Stats: &overflow.Stats{
				NaN: &c.stats.NaN, PosInf: &c.stats.PosInf, NegInf: &c.stats.NegInf, Min: c.stats.Min, Max: c.stats.Max, Mean: c.stats.Mean}}}
			if text := compat(t, r); !strings.Contains(text, c.want) {
				t.Errorf("no %s in\n%s", c.want, text)
			}
		})
	}
}

// TestNumpyText compares with numpy's own output.
func TestNumpyText(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/numpy_text.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct{ Host, Hex, Text string }
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	hosts := map[string]tensor.Host{}
	for _, h := range tensor.Hosts() {
		hosts[h.String()] = h
	}
	if len(rows) < 1000 {
		t.Errorf("%d rows, want more than 1000", len(rows))
	}
	for _, row := range rows {
		var raw []byte
		if _, err := fmt.Sscanf(row.Hex, "%x", &raw); err != nil {
			t.Fatal(err)
		}
		var x [1]float64
		tensor.Float64s(x[:], raw, hosts[row.Host])
		if got := numpyText(x[0], hosts[row.Host]); got != row.Text {
			t.Errorf("%s %s: got %s, want %s", row.Host, row.Hex, got, row.Text)
		}
	}
}

// TestNearestHalf: numpyText rounds a mean, still a float64, to the nearest float16.
func TestNearestHalf(t *testing.T) {
	t.Parallel()
	for x, want := range map[float64]string{65519.9: "65500.0", 65520: "inf", -65520: "-inf", 2049: "2048.0", 2051: "2052.0",
		math.Ldexp(1, -25): "0.0", math.Ldexp(3, -26): "6e-08", 1.0 / 3: "0.3333"} {
		if got := numpyText(x, tensor.HostFloat16); got != want {
			t.Errorf("%v: got %s, want %s", x, got, want)
		}
	}
}
