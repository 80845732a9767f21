package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// goldenPair is the part of expect.json about a pair, in the names of testdata/golden/compare.
type goldenPair struct {
	Total         int64   `json:"total"`
	Errors        int64   `json:"errors"`
	ErrorsStrict  int64   `json:"errors_strict"`
	NaNInf        bool    `json:"nan_inf"`
	First         *int64  `json:"first"`
	Coord         []int64 `json:"coord"`
	Shape         []int64 `json:"shape"`
	ClassMismatch int64   `json:"class_mismatch"`
	NaNBoth       int64   `json:"nan_both"`
	Status        string  `json:"status"`
}

// comparedRow is a row of compare.json.
type comparedRow struct {
	Op           string                     `json:"op"`
	Status       string                     `json:"status"`
	Shape        []int64                    `json:"shape"`
	Total        int64                      `json:"total"`
	Errors       int64                      `json:"errors"`
	ErrorsStrict int64                      `json:"errors_strict"`
	FirstError   *struct{ Offset int64 }    `json:"first_error"`
	RefValue     json.RawMessage            `json:"ref_value"`
	NPUValue     json.RawMessage            `json:"npu_value"`
	Metrics      map[string]json.RawMessage `json:"metrics"`
	Classes      map[string]int64           `json:"classes"`
}

// goldenMetrics maps names of metrics in expect.json to compare.json. All but Pearson agree to
// 1e-9.
var goldenMetrics = map[string]string{
	"max_abs_err": "err_max_abs", "mean_abs_err": "err_mean_abs", "max_abs_total": "max_rel", "mean_abs_total": "mean_rel",
	"mean": "ref_mean", "std": "ref_std", "rms": "ref_rms", "max_abs": "max_abs", "mean_abs": "mean_abs", "rmse": "rmse",
	"cosine": "cosine", "red": "red", "pearson": "pearson",
}

// goldenColumns maps names in expect.json to columns of cpu_vs_npu.csv.
var goldenColumns = []string{"max_abs_err", "mean_abs_err", "max_abs_total", "mean_abs_total", "mean", "std", "rms"}

// number reads a JSON number or a word for a non-number; ok is false for null.
func goldenNumber(t *testing.T, raw json.RawMessage) (float64, bool) {
	t.Helper()
	if len(raw) == 0 || string(raw) == "null" {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v, true
}

// TestCompareGolden compares the golden pairs and checks every number of compare.json and
// cpu_vs_npu.csv against numpy's.
func TestCompareGolden(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "testdata", "golden", "compare")
	var raw map[string]map[string]json.RawMessage
	readJSON(t, filepath.Join(root, "expect.json"), &raw)
	var want map[string]goldenPair
	readJSON(t, filepath.Join(root, "expect.json"), &want)
	out := filepath.Join(t.TempDir(), "out")
	r := runArgs(t, "compare", "--cpu", filepath.Join(root, "cpu"), "--npu", filepath.Join(root, "npu"), "--atol", "0.005", "--rtol", "0.2", "--rows=full", "-out", out)
	if r.code != exitFinding {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	var doc struct{ Rows []comparedRow }
	readJSON(t, filepath.Join(out, "compare.json"), &doc)
	if len(doc.Rows) != len(want) || len(want) < 30 {
		t.Fatalf("%d rows, want %d", len(doc.Rows), len(want))
	}
	cells := readCells(t, filepath.Join(out, "cpu_vs_npu.csv"))
	for _, row := range doc.Rows {
		w := want[row.Op]
		expect := raw[row.Op]
		check := func(what string, got, want any) {
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %s is %v, want %v", row.Op, what, got, want)
			}
		}
		check("status", row.Status, w.Status)
		check("total", row.Total, w.Total)
		check("shape", row.Shape, w.Shape)
		check("errors", row.Errors, w.Errors)
		check("errors_strict", row.ErrorsStrict, w.ErrorsStrict)
		check("class_mismatch", row.Classes["class_mismatch"], w.ClassMismatch)
		check("nan_both", row.Classes["nan_both"], w.NaNBoth)
		if (row.FirstError == nil) != (w.First == nil) || w.First != nil && row.FirstError.Offset != *w.First {
			t.Errorf("%s: first error %v, want %v", row.Op, row.FirstError, w.First)
		}
		near := func(what string, got, want json.RawMessage, gap float64) {
			g, ok := goldenNumber(t, got)
			v, defined := goldenNumber(t, want)
			if ok != defined || math.IsNaN(g) != math.IsNaN(v) || g != v && math.Abs(g-v) > gap*math.Abs(v) {
				t.Errorf("%s: %s is %s, want %s", row.Op, what, got, want)
			}
		}
		near("ref_value", row.RefValue, expect["ref_value"], 1e-9)
		near("npu_value", row.NPUValue, expect["npu_value"], 1e-9)
		for theirs, ours := range goldenMetrics {
			gap := 1e-9
			if theirs == "pearson" {
				gap = 1e-7
			}
			near(theirs, row.Metrics[ours], expect[theirs], gap)
		}
		cell := cells[row.Op]
		if cell == nil {
			t.Errorf("%s: not in cpu_vs_npu.csv", row.Op)
			continue
		}
		for _, name := range goldenColumns {
			text := json.RawMessage(strings.Replace(cell[name], "NA", "null", 1))
			near("cell "+name, text, expect[name], 1e-9)
		}
		check("cell nan/inf", cell["nan/inf"], strings.ToUpper(strconv.FormatBool(w.NaNInf)[:1])+strconv.FormatBool(w.NaNInf)[1:])
		check("cell errors/total", cell["errors/total"], fmt.Sprintf("%d/%d", w.Errors, w.Total))
		first, coord := "NA", "NA"
		if w.First != nil {
			first, coord = strconv.FormatInt(*w.First, 10), tuple(w.Coord)
		}
		check("cell 1st_diff", cell["1st_diff_offset/offset_dim/data_shape"], first+"/"+coord+"/"+tuple(w.Shape))
	}
}

// tuple prints numbers as Python does.
func tuple(dims []int64) string {
	var parts []string
	for _, d := range dims {
		parts = append(parts, strconv.FormatInt(d, 10))
	}
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func readJSON(t *testing.T, path string, to any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readCells reads cpu_vs_npu.csv: the cells by operator name, without its limits, and by column.
func readCells(t *testing.T, path string) map[string]map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string]map[string]string{}
	for title, cell := range cellsByColumn(t, string(data), "op_name") {
		name, limits, _ := strings.Cut(title, "(")
		if limits != "atol=0.005,rtol=0.2)" {
			t.Errorf("op_name is %q", title)
		}
		cells[name] = cell
	}
	return cells
}

// cellsByColumn reads a table: the cells by the value of the column key, and by column.
func cellsByColumn(t *testing.T, text, key string) map[string]map[string]string {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) < 2 {
		t.Fatalf("%d records: %v", len(records), err)
	}
	cells := map[string]map[string]string{}
	for _, record := range records[1:] {
		cell := map[string]string{}
		for i, title := range records[0] {
			cell[title] = record[i]
		}
		cells[cell[key]] = cell
	}
	return cells
}

// statisticsSummary is the part of compare.json that says where a run with only statistics went
// wrong.
type statisticsSummary struct {
	Summary struct {
		Headline     string
		StartedAlike *bool                         `json:"started_alike"`
		Origins      []struct{ Row string }        `json:"origins"`
		Start        []struct{ Op, Tensor string } `json:"start"`
	}
}

// first returns the first tensor that differs at the start, and the operator of the first origin.
func (s *statisticsSummary) first() (start, origin string) {
	if len(s.Summary.Start) > 0 {
		start = s.Summary.Start[0].Op + "." + s.Summary.Start[0].Tensor
	}
	if len(s.Summary.Origins) > 0 {
		origin = regexp.MustCompile(`:(input|output):\d+$`).ReplaceAllString(s.Summary.Origins[0].Row, "")
	}
	return start, origin
}

// TestStatisticsGolden compares runs with only statistics: healthy ones that resemble faulty ones,
// and one of each kind of fault.
func TestStatisticsGolden(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob(filepath.Join("..", "..", "testdata", "golden", "statistics", "s*"))
	if err != nil || len(cases) != 40 {
		t.Fatalf("%d cases, %v; want 40", len(cases), err)
	}
	for _, folder := range cases {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			var want struct {
				Kind           string
				Exit           int
				StartedAlike   bool `json:"started_alike"`
				Origins, Start []string
			}
			raw, err := os.ReadFile(filepath.Join(folder, "expect.json"))
			if err == nil {
				err = json.Unmarshal(raw, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			out := t.TempDir()
			r := runArgs(t, "compare", "--cpu", filepath.Join(folder, "cpu"), "--npu", filepath.Join(folder, "npu"), "--format", "json", "-out", out)
			judged := runArgs(t, "compare", "judge", filepath.Join(out, "compare.json"), "--format", "json")
			raw, err = os.ReadFile(filepath.Join(out, "compare.json"))
			var got statisticsSummary
			if err == nil {
				err = json.Unmarshal(raw, &got)
			}
			if err != nil {
				t.Fatalf("exit %d, %v: %s", r.code, err, r.err)
			}
			start, origin := got.first()
			if r.code != want.Exit || got.Summary.StartedAlike == nil || *got.Summary.StartedAlike != want.StartedAlike {
				t.Errorf("%s: exit %d, want %d; started alike: want %t: %s", want.Kind, r.code, want.Exit, want.StartedAlike, got.Summary.Headline)
			}
			if (start == "") != (len(want.Start) == 0) || start != "" && !slices.Contains(want.Start, start) {
				t.Errorf("%s: starts at %q, want one of %q", want.Kind, start, want.Start)
			}
			if len(want.Start) == 0 && ((origin == "") != (len(want.Origins) == 0) || origin != "" && !slices.Contains(want.Origins, origin)) {
				t.Errorf("%s: begins at %q, want one of %q", want.Kind, origin, want.Origins)
			}
			if judged.code != want.Exit {
				t.Errorf("%s: judge ends with %d, want %d: %s", want.Kind, judged.code, want.Exit, judged.err)
			}
		})
	}
}
