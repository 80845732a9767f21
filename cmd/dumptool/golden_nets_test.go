package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/dumptest"
	"dumptool/internal/tensor"
)

// netsArchive has small networks with a simulated NPU, healthy and faulty ones.
var netsArchive = filepath.Join("..", "..", "testdata", "golden", "nets.tar.gz")

// netTruth holds the truth about a network.
type netTruth struct {
	Args   []string
	Clean  bool
	Faults []struct {
		Op       string
		Visible  bool
		Expected []string // operators that may be named for it
	}
}

// compare is the command line that compares the network of a folder.
func (n *netTruth) compare(folder string) []string {
	args := []string{"compare", "--cpu", filepath.Join(folder, "cpu"), "--npu", filepath.Join(folder, "npu")}
	for _, arg := range n.Args {
		if _, err := os.Stat(filepath.Join(folder, arg)); err == nil {
			arg = filepath.Join(folder, arg)
		}
		args = append(args, arg)
	}
	return args
}

// protoRow is a row as judged by the slow reference program with the same rules.
type protoRow struct {
	Op              string
	Level           int
	RD, RR, F, P, O float64
	Score           float64 `json:"B"`
	Rows            float64 `json:"R"`
	Channels        float64 `json:"C"`
	Peak            float64 `json:"T"`
}

// netDocument is what compare --format json prints of a network.
type netDocument struct {
	Summary struct {
		Origins  []struct{ Row string }
		FirstBad *string `json:"first_bad"`
	}
	Rows []netRow
}

type netRow struct {
	Op, Status string
	Shape      tensor.Shape
	Inputs     []int
	Evidence   *struct {
		Class                                                  string
		Level                                                  int
		RMS                                                    float64
		RefRMS                                                 float64 `json:"ref_rms"`
		Rounding, Propagated, Own, Score, Rows, Channels, Peak float64
	}
}

// judgedNet is a network with what compare says of it.
type judgedNet struct {
	name  string
	truth netTruth
	code  int
	doc   netDocument
}

// opOf returns the operator of a row's name.
func opOf(row string) string {
	op, _, _ := strings.Cut(row, ":")
	return op
}

// judgeNets compares all networks whose name has this suffix.
func judgeNets(t *testing.T, ending string, count int) []judgedNet {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(dumptest.Untar(t, netsArchive), "*_"+ending))
	if err != nil || len(folders) != count {
		t.Fatalf("%d networks, want %d, error %v", len(folders), count, err)
	}
	var nets []judgedNet
	for _, folder := range folders {
		n := judgedNet{name: filepath.Base(folder)}
		readJSON(t, filepath.Join(folder, "truth.json"), &n.truth)
		r := runArgs(t, append(n.truth.compare(folder), "--format", "json")...)
		if n.code = r.code; json.Unmarshal([]byte(r.out), &n.doc) != nil {
			t.Fatalf("%s: exit %d, no JSON: %s%s", n.name, r.code, r.out, r.err)
		}
		n.agrees(t, filepath.Join(folder, "proto.json"))
		n.judgedAlike(t, r.out)
		nets = append(nets, n)
	}
	return nets
}

// judgedAlike checks that judging the document alone gives the verdict of the run.
func (n *judgedNet) judgedAlike(t *testing.T, document string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "compare.json")
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	var again netDocument
	if r := runArgs(t, "compare", "judge", path, "--format", "json"); json.Unmarshal([]byte(r.out), &again) != nil {
		t.Fatalf("%s: judge: exit %d, no JSON: %s%s", n.name, r.code, r.out, r.err)
	}
	if len(again.Rows) != len(n.doc.Rows) {
		t.Fatalf("%s: judge has %d rows, want %d", n.name, len(again.Rows), len(n.doc.Rows))
	}
	for i, row := range again.Rows {
		if want := n.doc.Rows[i]; row.Op != want.Op || row.Status != want.Status {
			t.Errorf("%s: judge: %s is %s, want %s %s", n.name, row.Op, row.Status, want.Op, want.Status)
		}
	}
}

// agrees compares every row with the slow program: equal levels, numbers to their six digits,
// numbers of groups within the precision of float32 bins.
func (n *judgedNet) agrees(t *testing.T, proto string) {
	t.Helper()
	var want struct{ Rows []protoRow }
	readJSON(t, proto, &want)
	got := map[string]*netRow{}
	for i := range n.doc.Rows {
		if row := &n.doc.Rows[i]; row.Evidence != nil {
			got[row.Op] = row
		} else if row.Status != "UNMATCHED_REF" {
			t.Errorf("%s: %s is %s without evidence", n.name, row.Op, row.Status)
		}
	}
	if len(got) != len(want.Rows) {
		t.Fatalf("%s: %d rows were compared, want %d", n.name, len(got), len(want.Rows))
	}
	for _, w := range want.Rows {
		row := got[w.Op]
		if row == nil {
			t.Errorf("%s: %s was not compared", n.name, w.Op)
			continue
		}
		e := row.Evidence
		// The reference's values tell more about operators without a type.
		found := e.Level > w.Level && n.isFault(w.Op)
		if e.Level != w.Level && !found {
			t.Errorf("%s: %s has level %d, want %d", n.name, w.Op, e.Level, w.Level)
		}
		// The slow program passes the absolute error of an input of the same shape to an output of any size.
		if e.Class == "unknown" && strings.HasSuffix(w.Op, "_softmaxv21") {
			continue
		}
		near := func(what string, got, want, slack float64) {
			if !(math.Abs(got-want) <= slack*math.Abs(want)) {
				t.Errorf("%s: %s of %s is %v, want %v", n.name, what, w.Op, got, want)
			}
		}
		propagated := 1e-3
		if strings.HasPrefix(n.name, "s13_") && w.Op == "izz_matmul1" {
			propagated = 1e-2 // a channel has a spread of 2e-44, 14 of float32's smallest steps
		}
		near("rms", float64(e.RMS), w.RD, 1e-3)
		near("ref_rms", float64(e.RefRMS), w.RR, 1e-3)
		near("rounding", float64(e.Rounding), w.F, 1e-3)
		if found {
			continue
		}
		if n.scalesDown(row) {
			continue
		}
		near("propagated", float64(e.Propagated), w.P, propagated)
		near("own", float64(e.Own), w.O, 1e-3)
		near("score", float64(e.Score), w.Score, propagated)
		if !n.isFolded(row) {
			near("rows", float64(e.Rows), w.Rows, 1e-2)
			near("channels", float64(e.Channels), w.Channels, 1e-2)
			near("peak", float64(e.Peak), w.Peak, 1e-2)
		}
	}
}

// scalesDown reports whether an unknown operator scales an input of another shape down a lot: the
// slow program counts the input's error unscaled.
func (n *judgedNet) scalesDown(row *netRow) bool {
	inputs := row.Inputs
	for i := range n.doc.Rows { // without a graph those before it
		if &n.doc.Rows[i] == row {
			break
		}
		if len(row.Inputs) == 0 {
			inputs = append(inputs, i)
		}
	}
	return row.Evidence.Class == "unknown" && slices.ContainsFunc(inputs, func(i int) bool {
		in := &n.doc.Rows[i]
		return in.Evidence != nil && !slices.Equal(in.Shape, row.Shape) && row.Evidence.RefRMS < 0.25*in.Evidence.RefRMS
	})
}

// isFolded reports whether a tensor, or a possible source of it, has more rows or channels than are
// kept. The slow program keeps all.
func (n *judgedNet) isFolded(row *netRow) bool {
	folded := func(row *netRow) bool {
		if row.Evidence == nil {
			return false
		}
		last := row.Shape[len(row.Shape)-1]
		channels := last
		if len(row.Shape) >= 4 {
			channels = row.Shape[1]
		}
		return max(row.Shape.Elements()/max(1, last), channels) > noise.MaxGroups
	}
	if len(row.Inputs) == 0 { // those before it may be
		return slices.ContainsFunc(n.doc.Rows, func(r netRow) bool { return folded(&r) })
	}
	return folded(row) || slices.ContainsFunc(row.Inputs, func(i int) bool { return folded(&n.doc.Rows[i]) })
}

// named reports whether the first origin is a faulty operator, and fails if any origin is not.
func (n *judgedNet) named(t *testing.T) bool {
	t.Helper()
	for _, origin := range n.doc.Summary.Origins {
		if !n.isFault(opOf(origin.Row)) {
			t.Errorf("%s: %s is an origin, want none but those of %+v", n.name, origin.Row, n.truth.Faults)
		}
	}
	return len(n.doc.Summary.Origins) > 0
}

// isFault reports whether an operator is faulty.
func (n *judgedNet) isFault(op string) bool {
	for _, f := range n.truth.Faults {
		if slices.Contains(f.Expected, op) {
			return true
		}
	}
	return false
}

// visible reports whether the tensors show a fault.
func (n *judgedNet) visible() bool {
	for _, f := range n.truth.Faults {
		if f.Visible {
			return true
		}
	}
	return false
}

// TestHealthyNets: no operator of a network without faults is accused.
func TestHealthyNets(t *testing.T) {
	t.Parallel()
	rows, warnings := 0, 0
	for _, n := range judgeNets(t, "clean", 14) {
		if n.code != exitOK || len(n.doc.Summary.Origins) > 0 {
			t.Errorf("%s: exit %d, origins %v; want none", n.name, n.code, n.doc.Summary.Origins)
		}
		for _, row := range n.doc.Rows {
			switch row.Status {
			case "UNMATCHED_REF":
				continue
			case "FAIL":
				t.Errorf("%s: %s fails", n.name, row.Op)
			case "WARN":
				warnings++
			}
			rows++
		}
	}
	if 100*warnings >= rows {
		t.Errorf("%d of %d rows are warnings, want less than 1 %%", warnings, rows)
	}
}

// TestFaultyGoldenNets: the visible faults are found, and nothing else.
func TestFaultyGoldenNets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		strength       string
		visible, named int
	}{{"strong", 13, 13}, {"mild", 11, 10}} {
		visible, named := 0, 0
		var missed []string
		for _, n := range judgeNets(t, tt.strength, 14) {
			found := n.named(t)
			if found && (n.code != exitFinding || n.doc.Summary.FirstBad == nil || *n.doc.Summary.FirstBad != n.doc.Summary.Origins[0].Row) {
				t.Errorf("%s: exit %d, first_bad %v, want %d and the first origin", n.name, n.code, n.doc.Summary.FirstBad, exitFinding)
			}
			switch {
			case !n.visible():
				continue
			case found:
				named++
			default:
				missed = append(missed, n.name)
			}
			visible++
		}
		if visible != tt.visible || named < tt.named {
			t.Errorf("%s: %d of %d are found, not %v; want %d of %d", tt.strength, named, visible, missed, tt.named, tt.visible)
		}
	}
}

// TestVerdictKeepsReports: reports for other tools do not depend on the mode of the verdict.
func TestVerdictKeepsReports(t *testing.T) {
	t.Parallel()
	root := dumptest.Untar(t, netsArchive)
	for _, name := range []string{"s1_clean", "s2_mild", "s8_strong", "s10_strong", "s12_strong", "s13_clean"} {
		folder := filepath.Join(root, name)
		var truth netTruth
		readJSON(t, filepath.Join(folder, "truth.json"), &truth)
		reports := map[string]map[string][]byte{}
		for _, mode := range []string{"evidence", "limits"} {
			out := filepath.Join(t.TempDir(), "out")
			if r := runArgs(t, append(truth.compare(folder), "--verdict", mode, "--out", out, "--format", "hpaa,json")...); r.code != exitOK && r.code != exitFinding {
				t.Fatalf("%s: exit %d: %s", name, r.code, r.err)
			}
			files := readDir(t, out)
			var doc netDocument
			readJSON(t, filepath.Join(out, "compare.json"), &doc)
			for _, row := range doc.Rows {
				// Each of the rows beyond the limits has a table of its elements.
				if row.Status == "ROUNDING" && files[row.Op+".csv"] == nil {
					t.Errorf("%s, %s: no table of %s", name, mode, row.Op)
				}
			}
			delete(files, "compare.json")
			reports[mode] = files
		}
		evidence, limits := reports["evidence"], reports["limits"]
		if len(evidence) != len(limits) || len(limits["cpu_vs_npu.csv"]) == 0 {
			t.Errorf("%s: %d files by evidence, %d by limits", name, len(evidence), len(limits))
		}
		for file, want := range limits {
			if got := evidence[file]; !bytes.Equal(got, want) {
				t.Errorf("%s: %s by evidence is\n%s\nwant that by limits\n%s", name, file, got, want)
			}
		}
	}
}

// TestMixedPrecision compares healthy networks with bfloat16 matrix products and float32 norms, all
// stored as float32: each tensor is judged by the precision of its values.
func TestMixedPrecision(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"mindspore", "msaccucmp", "msprobe"} {
		folder := filepath.Join("..", "..", "testdata", "golden", "verdict", "amp_bf16_"+tool)
		r := runArgs(t, "compare", "--cpu", filepath.Join(folder, "cpu"), "--npu", filepath.Join(folder, "npu"), "--format", "json")
		var doc struct {
			Summary struct {
				EffectiveType *string `json:"effective_type"`
				Origins       []struct{ Row string }
			}
			Rows []struct{ Op, Status, Type, Kind string }
		}
		if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
			t.Fatalf("%s: exit %d, %v: %s", tool, r.code, err, r.err)
		}
		if r.code != exitOK || len(doc.Summary.Origins) > 0 || doc.Summary.EffectiveType != nil {
			t.Errorf("%s: exit %d, origins %v, effective type %v; want 0 and none", tool, r.code, doc.Summary.Origins, doc.Summary.EffectiveType)
		}
		products, norms := 0, 0
		for _, row := range doc.Rows {
			if row.Kind != "output" {
				continue
			}
			want := ""
			if name := strings.ToLower(row.Op); strings.Contains(name, "matmul") || strings.Contains(name, "linear") {
				want = "bfloat16"
				products++
			} else {
				norms++
			}
			if row.Type != want || row.Status == "FAIL" || row.Status == "WARN" {
				t.Errorf("%s: %s is %s of type %q, want %q", tool, row.Op, row.Status, row.Type, want)
			}
		}
		if products != 4 || norms != 4 {
			t.Errorf("%s: %d products and %d norms, want 4 of each", tool, products, norms)
		}
	}
}

// TestVerdicts compares small runs that earlier rules judged wrong. Each folder is named after its
// subject, and its why.txt has the expectation.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "testdata", "golden", "verdict")
	var expected map[string]struct {
		Exit    int
		Origins []string
	}
	raw, err := os.ReadFile(filepath.Join(root, "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &expected); err != nil || len(expected) != 20 {
		t.Fatalf("%d cases, %v; want 20", len(expected), err)
	}
	notes := map[string]string{
		"garbage_rows": "rows that are never read", "hf32_conv": "HF32", "random_seed": "random numbers", "relugrad_ties": "not judged", "topk_ties": "different indices in 1 tensor",
	}
	for name, want := range expected {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(root, name)
			command, err := os.ReadFile(filepath.Join(folder, "cmd"))
			if err != nil {
				t.Fatal(err)
			}
			_, line, ok := strings.Cut(string(command), "dumptool compare ")
			if !ok {
				t.Fatalf("no command in %q", command)
			}
			args := []string{"compare"}
			for _, arg := range strings.Fields(line) {
				if !strings.HasPrefix(arg, "--") {
					arg = filepath.Join(folder, arg)
				}
				args = append(args, arg)
			}
			r := runArgs(t, append(args, "--format", "json")...)
			var doc struct {
				Summary struct {
					Origins []struct{ Row string }
					Notes   []string
				}
			}
			if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
				t.Fatalf("exit %d, %v: %s", r.code, err, r.err)
			}
			var origins []string
			for _, o := range doc.Summary.Origins {
				op, _, _ := strings.Cut(o.Row, ":output:")
				origins = append(origins, op)
			}
			if r.code != want.Exit || !slices.Equal(origins, want.Origins) {
				t.Errorf("exit %d, origins %q; want %d, %q", r.code, origins, want.Exit, want.Origins)
			}
			if got := strings.Join(doc.Summary.Notes, "; "); !strings.Contains(got, notes[name]) || notes[name] == "" && got != "" {
				t.Errorf("notes %q, want %q", got, notes[name])
			}
		})
	}
}

// TestHF32: a product with the error of 11-bit inputs is a fault with --hf32=off.
func TestHF32(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "..", "testdata", "golden", "verdict", "hf32_conv")
	args := []string{"compare", "--cpu", filepath.Join(folder, "cpu"), "--npu", filepath.Join(folder, "npu"), "--consumer-map", filepath.Join(folder, "consumer.map")}
	for flag, want := range map[string]int{"": exitOK, "--hf32": exitOK, "--hf32=on": exitOK, "--hf32=auto": exitOK, "--hf32=off": exitFinding} {
		all := args
		if flag != "" {
			all = append(args[:len(args):len(args)], flag)
		}
		if r := runArgs(t, all...); r.code != want {
			t.Errorf("%q: exit %d, want %d: %s", flag, r.code, want, r.out)
		}
	}
}
