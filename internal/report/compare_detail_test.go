package report

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

func TestCompareJSON(t *testing.T) {
	for name, r := range map[string]*record.Report{"everything": everything(), "empty": reportOf(), "one": reportOf(passing("a"))} {
		r.Tool, r.Args = "dumptool", []string{"compare", "<a>"}
		text := rendered(t, r.Write)
		back, err := record.Read(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		if diff := cmp.Diff(text, rendered(t, back.Write)); diff != "" {
			t.Errorf("%s is written again as (-want +got):\n%s", name, diff)
		}
		rows := 0
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, `    {"op":`) {
				rows++
			}
		}
		if rows != len(r.Rows) || !strings.HasPrefix(text, "{\n  \"schema\": \"dumptool/compare/2\",\n") || !strings.HasSuffix(text, "]\n}\n") {
			t.Errorf("%s: %d lines of rows, want %d, in\n%s", name, rows, len(r.Rows), text)
		}
		if name == "everything" && !strings.Contains(text, "of the inputs 0.001 < 0.1") {
			t.Errorf("%s: evidence is escaped for HTML", name)
		}
	}
}

func TestCompareJSONNames(t *testing.T) {
	for _, name := range nasty {
		rep := nastyReport(name)
		back, err := record.Read(strings.NewReader(rendered(t, rep.Write)))
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if want := strings.ToValidUTF8(rep.Rows[0].Op, "\ufffd"); name != "\xff\xfe" && back.Rows[0].Op != want {
			t.Errorf("op is %q, want %q", back.Rows[0].Op, want)
		}
	}
}

func TestCompareDetailCSV(t *testing.T) {
	row := failing("conv")
	got := rendered(t, func(w io.Writer) error { return WriteCompareDetailCSV(w, &row) })
	want := `index,axis0,axis1,npu_value,ref_value,abs_diff,relative_diff
0,0,0,1.3,1,0.30000000000000004,0.30000000000000004
3,1,1,-0.006,0,0.006,NA
2,1,0,0.004,0,0.004,NA
1,0,1,2,2,0,0
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	row.Shape = tensor.Shape{}
	if got := rendered(t, func(w io.Writer) error { return WriteCompareDetailCSV(w, &row) }); !strings.HasPrefix(got, "index,npu_value,ref_value,abs_diff,relative_diff\n0,1.3,1,") {
		t.Errorf("a scalar gives %s", got)
	}
}

func TestCompareDetailJSON(t *testing.T) {
	row := failing("conv")
	row.Status = record.Pass // every status has details
	text := rendered(t, func(w io.Writer) error { return WriteCompareDetailJSON(w, &row) })
	var got struct {
		Worst []struct {
			NPU metrics.Metric `json:"npu"`
		} `json:"worst"`
		Axes []struct {
			Bins [][]float64 `json:"bins"`
		} `json:"axes"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Worst) != 4 || len(got.Axes) != 1 || got.Worst[1].NPU.Value() != -0.006 || got.Axes[0].Bins[0][1] != 1 {
		t.Errorf("got %s", text)
	}
}

func TestCompareDetailText(t *testing.T) {
	row := failing("net/conv")
	row.Notes = []lang.Sentence{lang.Plain("squeezed")}
	got := rendered(t, func(w io.Writer) error { return Text{}.WriteCompareDetail(w, &row) })
	for _, want := range []string{
		"FAIL: net/conv (Conv2D)\n\nFiles           reference: cpu/net/conv.npy\n                NPU: npu/net/conv.npy\nPaired by       stem\nNotes           squeezed\n",
		"Limits          atol 0.005, rtol 0.2 (profile hpaa)\n",
		"STATISTIC  REFERENCE    NPU\nmin                1      1\n",
		"METRIC      VALUE  AT\nmax_abs       0.3   0\n",
		"COORDINATES  OFFSET  REFERENCE     NPU    ABS  REL\n(0, 0)            0          1     1.3    0.3  0.3\n(1, 1)            3          0  -0.006  0.006    -\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	row = uncompared("net/torn", record.Error)
	got = rendered(t, func(w io.Writer) error { return Text{}.WriteCompareDetail(w, &row) })
	if !strings.HasPrefix(got, "ERROR: net/torn\n") || !strings.Contains(got, "Error           32 bytes at 0x80, found 7\n") {
		t.Errorf("a row without a result gives\n%s", got)
	}
}
