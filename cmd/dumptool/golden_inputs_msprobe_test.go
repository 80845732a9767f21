package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// msprobeRoot has trees of msprobe, with the results of msprobe's rules.
var msprobeRoot = filepath.Join(inputsRoot, "msprobe")

// msprobeGolden holds the expectations of each case by name.
type msprobeGolden struct {
	Cases  []struct{ ID, Kind, Path, NPU, Golden, Mode string }
	Expect map[string]*msprobeExpect
}

type msprobeExpect struct {
	Rows        []msprobeExpected
	OnlyBench   []string          `json:"only_bench"`
	ScriptLines map[string]string `json:"script_lines"`
	Parents     map[string]*string
	Error       string
	Tensors     []struct{ Name, Error string }
}

// msprobeExpected is a value of the NPU and its partner.
type msprobeExpected struct {
	API, NPU string
	Bench    *string
	Result   string
	Reasons  []string
	Message  string
	Metrics  []any
	Stats    map[string][2]any
	MD5      []string
}

func readMSProbeGolden(t *testing.T) *msprobeGolden {
	t.Helper()
	golden := new(msprobeGolden)
	readJSON(t, filepath.Join(msprobeRoot, "expect.json"), golden)
	return golden
}

// TestMSProbeGolden compares the golden trees of msprobe: pairs, metrics and results of
// every value, script lines and modules.
func TestMSProbeGolden(t *testing.T) {
	t.Parallel()
	golden := readMSProbeGolden(t)
	for _, c := range golden.Cases {
		if c.Kind != "compare" {
			continue
		}
		want := golden.Expect[c.ID]
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			at := func(path string) string { return filepath.Join(inputsRoot, filepath.FromSlash(path)) }
			if r := runArgs(t, "compare", "--cpu", at(c.Golden), "--npu", at(c.NPU), "--format", "msprobe,json", "-out", out); r.code != 1 {
				t.Fatalf("exit %d: %s", r.code, r.err)
			}
			rows := readTable(t, filepath.Join(out, "compare_result.csv"))
			if len(rows) != len(want.Rows) {
				t.Fatalf("%d rows, want %d", len(rows), len(want.Rows))
			}
			for i, row := range rows {
				checkMSProbeRow(t, c.Mode, row, &want.Rows[i])
			}
			checkMSProbeDocument(t, filepath.Join(out, "compare.json"), want)
		})
	}
}

// readTable reads a CSV file as maps from titles to cells.
func readTable(t *testing.T, path string) (rows []map[string]string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range records[1:] {
		row := make(map[string]string)
		for i, title := range records[0] {
			row[title] = record[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func checkMSProbeRow(t *testing.T, mode string, got map[string]string, want *msprobeExpected) {
	t.Helper()
	bench := "N/A"
	if want.Bench != nil {
		bench = *want.Bench
	}
	if got["NPU Name"] != want.NPU || got["Bench Name"] != bench || got["Result"] != want.Result {
		t.Errorf("%s with %s is %s, want %s with %s to be %s", got["NPU Name"], got["Bench Name"], got["Result"], want.NPU, bench, want.Result)
	}
	// The classes of the reasons, and no other ones.
	var reasons []string
	for part := range strings.SplitSeq(got["Err_message"], "; ") {
		if class, _, _ := strings.Cut(part, ":"); strings.HasPrefix(class, "error ") || strings.HasPrefix(class, "warning ") {
			reasons = append(reasons, class)
		}
	}
	slices.Sort(reasons)
	if sorted := slices.Sorted(slices.Values(want.Reasons)); !slices.Equal(reasons, sorted) {
		t.Errorf("%s: reasons %q, want %q", want.NPU, reasons, sorted)
	}
	if !strings.Contains(got["Err_message"], want.Message) {
		t.Errorf("%s: message %q, want %q", want.NPU, got["Err_message"], want.Message)
	}
	for i, title := range []string{"Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio"} {
		if mode == "tensor" && want.Metrics != nil {
			tolerance := 1e-9
			if i == 0 {
				tolerance = 1e-7
			}
			wantCell(t, want.NPU+" "+title, got[title], want.Metrics[i], tolerance)
		}
	}
	for i, name := range []string{"NPU MD5", "BENCH MD5"} {
		if want.MD5 != nil && got[name] != want.MD5[i] {
			t.Errorf("%s: %s %s, want %s", want.NPU, name, got[name], want.MD5[i])
		}
	}
	if mode != "statistics" {
		return
	}
	for name, titles := range map[string][2]string{"Max": {"Max diff", "MaxRelativeErr"}, "Min": {"Min diff", "MinRelativeErr"},
		"Mean": {"Mean diff", "MeanRelativeErr"}, "Norm": {"L2norm diff", "NormRelativeErr"}} {
		if stats, ok := want.Stats[name]; ok {
			wantCell(t, want.NPU+" "+titles[0], got[titles[0]], stats[0], 1e-9)
			wantCell(t, want.NPU+" "+titles[1], got[titles[1]], stats[1], 1e-9)
		}
	}
}

// wantCell compares a cell with a number or a word; a percentage is a share.
func wantCell(t *testing.T, name, got string, want any, tolerance float64) {
	t.Helper()
	number, isNumber := want.(float64)
	if !isNumber {
		if got != fmt.Sprint(want) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
		return
	}
	text, percent := strings.CutSuffix(got, "%")
	x, err := strconv.ParseFloat(text, 64)
	if percent {
		x /= 100
	}
	if err != nil || math.Abs(x-number) > tolerance*max(1, math.Abs(number)) {
		t.Errorf("%s is %q, want %v", name, got, want)
	}
}

// checkMSProbeDocument checks what compare.json says of calls.
func checkMSProbeDocument(t *testing.T, path string, want *msprobeExpect) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Rows []struct {
			Op      string
			NPUOp   string  `json:"npu_op"`
			NPUFile *string `json:"npu_file"`
			Script  string
			Modules []string
		}
		Coverage struct {
			RefOnly []string `json:"ref_only"`
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for _, row := range document.Rows {
		api := row.Op
		if parent, ok := want.Parents[row.NPUOp]; ok && parent != nil {
			api = row.NPUOp
		}
		if row.NPUFile == nil {
			continue
		}
		if _, backward := want.Parents[api]; !backward { // of the reference's name
			continue
		}
		if row.Script != want.ScriptLines[api] {
			t.Errorf("%s: script %q, want %q", api, row.Script, want.ScriptLines[api])
		}
		parent := ""
		if n := len(row.Modules); n > 0 {
			parent = row.Modules[n-1]
		}
		if p := want.Parents[api]; p == nil && parent != "" || p != nil && parent != *p {
			t.Errorf("%s is in %q", api, row.Modules)
		}
	}
	only := make(map[string]bool)
	for _, name := range document.Coverage.RefOnly {
		api, _, _ := strings.Cut(name, ":")
		only[api] = true
	}
	for _, api := range want.OnlyBench {
		if !only[api] {
			t.Errorf("%s is not among those of the reference only, %v", api, only)
		}
	}
	if len(only) != len(want.OnlyBench) {
		t.Errorf("in the reference only %v, want %q", only, want.OnlyBench)
	}
}

// TestMSProbeGoldenBad: an unusable dump.json is refused, and a missing file is an error of its
// tensor.
func TestMSProbeGoldenBad(t *testing.T) {
	t.Parallel()
	golden := readMSProbeGolden(t)
	for _, c := range golden.Cases {
		want := golden.Expect[c.ID]
		path := filepath.Join(inputsRoot, filepath.FromSlash(c.Path))
		switch c.Kind {
		case "refuse":
			for _, args := range [][]string{{"inspect", "--json", path}, {"convert", "-d", path, "-out", t.TempDir()}, {"compare", "--cpu", path, "--npu", path}} {
				if r := runArgs(t, args...); r.code != 3 || !strings.Contains(r.out+r.err, want.Error) {
					t.Errorf("%s: %s: exit %d, %s%s", c.ID, args[0], r.code, r.out, r.err)
				}
			}
		case "read":
			for _, args := range [][]string{{"inspect", "--json", path}, {"compare", "--cpu", path, "--npu", path, "--format", "json"}} {
				r := runArgs(t, args...)
				for _, x := range want.Tensors {
					text := map[string]string{"path": "is not a file name", "missing": "missing"}[x.Error]
					// A missing tensor with statistics gives a warning.
					if r.code != 3 || !strings.Contains(r.out, strings.TrimSuffix(x.Name, ".output.0")) || !strings.Contains(r.out+r.err, text) {
						t.Errorf("%s: %s: exit %d, want %s of %s: %s%s", c.ID, args[0], r.code, text, x.Name, r.out, r.err)
					}
				}
			}
		}
	}
}
