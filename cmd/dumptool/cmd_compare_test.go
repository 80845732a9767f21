package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/dumptest"
	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

// makeNpy makes "npy FILE TYPE SHAPE VALUE...": an array of a numpy type that repeats the values.
// SHAPE has commas.
func makeNpy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: npy file type shape value...")
	}
	data, err := npyFile(args[1], args[2], args[3:]...)
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o777))
	ts.Check(os.WriteFile(path, data, 0o666))
}

// npyFile returns the bytes of a .npy file.
func npyFile(dtype, dims string, values ...string) ([]byte, error) {
	i := slices.IndexFunc(tensor.Hosts(), func(h tensor.Host) bool { return h.String() == dtype })
	if i < 0 {
		return nil, fmt.Errorf("no type %s", dtype)
	}
	host, shape := tensor.Hosts()[i], tensor.Shape{}
	count := 1
	for dim := range strings.SplitSeq(dims, ",") {
		d, err := strconv.Atoi(dim)
		if err != nil {
			return nil, err
		}
		shape, count = append(shape, int64(d)), count*d
	}
	data, err := npy.AppendHeader(nil, host, shape)
	if err != nil {
		return nil, err
	}
	for k := range count {
		if data, err = appendElement(data, host, values[k%len(values)]); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// appendElement appends an element in its file format.
func appendElement(data []byte, host tensor.Host, text string) ([]byte, error) {
	order := binary.LittleEndian
	switch host {
	case tensor.HostFloat16, tensor.HostFloat32, tensor.HostFloat64:
		v, err := strconv.ParseFloat(text, 64)
		switch host {
		case tensor.HostFloat16:
			data = order.AppendUint16(data, dumptest.Half(float32(v)))
		case tensor.HostFloat32:
			data = order.AppendUint32(data, math.Float32bits(float32(v)))
		default:
			data = order.AppendUint64(data, math.Float64bits(v))
		}
		return data, err
	}
	v, err := strconv.ParseInt(text, 10, 64)
	return append(data, order.AppendUint64(nil, uint64(v))[:host.Size()]...), err
}

// writeNpy writes an array for a test in this process.
func writeNpy(t *testing.T, path, dtype, dims string, values ...string) {
	t.Helper()
	data, err := npyFile(dtype, dims, values...)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o777)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// hpaaFixture is a pair of tensors and its cells in HPAA's table, computed by hand from HPAA's
// manual: limits 0.005 and 0.2, float16 on the NPU.
type hpaaFixture struct {
	npu, ref string
	// errors holds the numbers of errors by the three readings of the limits.
	errors [3]int
	// cells holds the cells of the table for isclose.
	cells map[string]string
}

var hpaaFixtures = map[string]hpaaFixture{
	"A": {"1 2 3 4.5", "1 2 3 4", [3]int{0, 0, 1}, map[string]string{
		"nan/inf": "False", "errors/total": "0/4", "1st_diff_offset/offset_dim/data_shape": "NA/NA/(4,)", "max_abs_err": "0", "mean_abs_err": "0",
		"max_abs_total": "0.125", "mean_abs_total": "0.03125", "mean": "2.5", "std": "1.118034", "rms": "2.738613", "cos_sim": "0.998295"}},
	"B": {"1.3 2 0.004 -0.006", "1 2 0 0", [3]int{2, 2, 3}, map[string]string{
		"nan/inf": "False", "errors/total": "2/4", "1st_diff_offset/offset_dim/data_shape": "0/(0,)/(4,)", "max_abs_err": "0.3", "mean_abs_err": "0.153",
		"max_abs_total": "0.3", "mean_abs_total": "0.15", "mean": "0.75", "std": "0.829156", "rms": "1.118034", "cos_sim": "0.993648"}},
	"C": {"NaN Inf 3 -Inf", "1 2 3 4", [3]int{3, 3, 3}, map[string]string{
		"nan/inf": "True", "errors/total": "3/4", "1st_diff_offset/offset_dim/data_shape": "0/(0,)/(4,)", "max_abs_err": "65508", "mean_abs_err": "43670.333333",
		"max_abs_total": "32751", "mean_abs_total": "12282.25", "mean": "2.5", "std": "1.118034", "rms": "2.738613"}},
	"D": {"NaN", "NaN", [3]int{0, 0, 0}, map[string]string{
		"nan/inf": "True", "errors/total": "0/1", "1st_diff_offset/offset_dim/data_shape": "NA/NA/(1,)", "max_abs_err": "0", "mean_abs_err": "0",
		"mean": "0", "std": "0", "rms": "0"}},
	"E": {"1.203", "1", [3]int{0, 1, 1}, map[string]string{
		"nan/inf": "False", "errors/total": "0/1", "1st_diff_offset/offset_dim/data_shape": "NA/NA/(1,)", "max_abs_err": "0", "mean_abs_err": "0",
		"max_abs_total": "0.203", "mean_abs_total": "0.203", "mean": "1", "std": "0", "rms": "1"}},
}

// TestCompareHPAAFixtures compares the worked examples of HPAA's table, with HPAA's own treatment
// of NaN and infinities. The NPU's values are float16, which stores 1.3 and the like to only four
// digits.
func TestCompareHPAAFixtures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, f := range hpaaFixtures {
		npu, ref := strings.Fields(f.npu), strings.Fields(f.ref)
		writeNpy(t, filepath.Join(dir, "npu", name+".npy"), "float16", strconv.Itoa(len(npu)), npu...)
		writeNpy(t, filepath.Join(dir, "cpu", name+".npy"), "float32", strconv.Itoa(len(ref)), ref...)
	}
	for i, mode := range []string{"isclose", "both-exceeded", "either-exceeded"} {
		out := filepath.Join(dir, mode)
		r := runArgs(t, "compare", "--cpu", filepath.Join(dir, "cpu"), "--npu", filepath.Join(dir, "npu"), "--nan-policy", "hpaa",
			"--tol-mode", mode, "--hpaa-version", "successor", "-out", out)
		if r.code != exitFinding {
			t.Fatalf("%s: exit %d: %s", mode, r.code, r.err)
		}
		cells := readCells(t, filepath.Join(out, "cpu_vs_npu.csv"))
		for name, f := range hpaaFixtures {
			if got, want := cells[name]["errors/total"], fmt.Sprintf("%d/%d", f.errors[i], len(strings.Fields(f.npu))); got != want {
				t.Errorf("%s, %s: errors/total is %s, want %s", name, mode, got, want)
			}
			if mode != "isclose" {
				continue
			}
			for column, want := range f.cells {
				if got := cells[name][column]; !sameCell(got, want, 2e-3) {
					t.Errorf("%s: %s is %s, want %s", name, column, got, want)
				}
			}
		}
	}
}

// sameCell compares cells: numbers within a relative gap and six decimals, all else as text.
func sameCell(got, want string, gap float64) bool {
	g, err1 := strconv.ParseFloat(got, 64)
	w, err2 := strconv.ParseFloat(want, 64)
	if err1 != nil || err2 != nil || math.IsNaN(w) || math.IsInf(w, 0) {
		return strings.EqualFold(got, want)
	}
	return math.Abs(g-w) <= gap*math.Abs(w)+1e-6
}

// peerFixture is a pair of tensors and msaccucmp's output for it.
type peerFixture struct {
	npu, ref, dtype string
	// same are the cells equal to msaccucmp's. differ are the cells in which msaccucmp is wrong: it
	// drops elements whose reference is 0, and squares in float32.
	same, differ map[string]string
}

var peerFixtures = map[string]peerFixture{
	"close": {"1 2 3 4.5", "1 2 3 4", "float32", map[string]string{
		"CosineSimilarity": "0.998295", "MaxAbsoluteError": "0.5", "AccumulatedRelativeError": "0.125", "RelativeEuclideanDistance": "0.091287",
		"KullbackLeiblerDivergence": "0.002961", "MeanAbsoluteError": "0.125", "RootMeanSquareError": "0.25", "MaxRelativeError": "0.125",
		"MeanRelativeError": "0.03125", "StandardDeviation": "(2.625;1.293),(2.500;1.118)"}, nil},
	"zero_npu": {"0", "1 2 3 4", "float32", map[string]string{
		"CosineSimilarity": "NaN", "MaxAbsoluteError": "4", "AccumulatedRelativeError": "4", "RelativeEuclideanDistance": "1",
		"KullbackLeiblerDivergence": "3.668468", "MeanAbsoluteError": "2.5", "RootMeanSquareError": "2.738613", "MaxRelativeError": "1",
		"MeanRelativeError": "1"}, nil},
	"zero_ref": {"1 2 3 4", "0", "float32", map[string]string{
		"CosineSimilarity": "NaN", "MaxAbsoluteError": "4", "MeanAbsoluteError": "2.5", "RootMeanSquareError": "2.738613",
		"KullbackLeiblerDivergence": "0.374889"},
		map[string]string{"AccumulatedRelativeError": "0", "RelativeEuclideanDistance": "0", "MaxRelativeError": "0", "MeanRelativeError": "0"}},
	"negated": {"1 -2 3", "-1 2 -3", "float32", map[string]string{
		"CosineSimilarity": "-1", "MaxAbsoluteError": "6", "AccumulatedRelativeError": "6", "RelativeEuclideanDistance": "2",
		"KullbackLeiblerDivergence": "9.982507", "MeanAbsoluteError": "4", "RootMeanSquareError": "4.320494", "MaxRelativeError": "2", "MeanRelativeError": "2"}, nil},
	"constant": {"5", "7", "float32", map[string]string{
		"CosineSimilarity": "1", "MaxAbsoluteError": "2", "AccumulatedRelativeError": "1.142857", "RelativeEuclideanDistance": "0.285714",
		"KullbackLeiblerDivergence": "0", "MeanAbsoluteError": "2", "RootMeanSquareError": "2", "MaxRelativeError": "0.285714", "MeanRelativeError": "0.285714"}, nil},
	"tiny_ref": {"1", "1e-17", "float64", map[string]string{
		"MaxAbsoluteError": "1", "MeanAbsoluteError": "1", "RootMeanSquareError": "1"},
		map[string]string{"AccumulatedRelativeError": "0", "RelativeEuclideanDistance": "0", "MaxRelativeError": "0", "MeanRelativeError": "0"}},
	"huge": {"1e20", "1e20", "float32", map[string]string{
		"MaxAbsoluteError": "0", "AccumulatedRelativeError": "0", "RelativeEuclideanDistance": "0", "KullbackLeiblerDivergence": "0",
		"MeanAbsoluteError": "0"}, map[string]string{"CosineSimilarity": "0"}},
	"long": {"16777217", "16777216", "int64", map[string]string{"CosineSimilarity": "1"},
		map[string]string{"MaxAbsoluteError": "0", "MeanAbsoluteError": "0"}},
}

// TestCompareMsaccucmpFixtures compares with recorded runs of msaccucmp: equal where msaccucmp is
// right, different where it is wrong.
func TestCompareMsaccucmpFixtures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, f := range peerFixtures {
		npu, ref := strings.Fields(f.npu), strings.Fields(f.ref)
		n := max(len(npu), len(ref))
		if n == 1 {
			n = 4
		}
		writeNpy(t, filepath.Join(dir, "npu", name+".npy"), f.dtype, strconv.Itoa(n), npu...)
		writeNpy(t, filepath.Join(dir, "cpu", name+".npy"), f.dtype, strconv.Itoa(n), ref...)
	}
	r := runArgs(t, "compare", filepath.Join(dir, "cpu"), filepath.Join(dir, "npu"), "--format", "msaccucmp")
	if r.code != exitFinding {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	cells := cellsByColumn(t, r.out, "NPUDump")
	for name, f := range peerFixtures {
		row := cells[name]
		for column, want := range f.same {
			if got := row[column]; !sameCell(got, want, 2e-6) {
				t.Errorf("%s: %s is %q, want %s", name, column, got, want)
			}
		}
		for column, wrong := range f.differ {
			if got, found := row[column]; !found || sameCell(got, wrong, 0) {
				t.Errorf("%s: %s is %q as in msaccucmp, which is wrong there", name, column, got)
			}
		}
	}
}

// TestCompareWorkers checks that no byte of any report depends on the number of
// workers.
func TestCompareWorkers(t *testing.T) {
	t.Parallel()
	golden := filepath.Join("..", "..", "testdata", "golden", "compare")
	var first map[string][]byte
	for _, workers := range []string{"1", "2", "8"} {
		out := filepath.Join(t.TempDir(), "out")
		r := runArgs(t, "compare", "--cpu", filepath.Join(golden, "cpu"), "--npu", filepath.Join(golden, "npu"), "-j", workers,
			"--format", "text,hpaa,json,junit,md,msaccucmp", "--extra-columns", "-out", out)
		if r.code != exitFinding {
			t.Fatalf("-j %s: exit %d: %s", workers, r.code, r.err)
		}
		files := readDir(t, out)
		if first == nil {
			first = files
		}
		if len(files) < 25 || !maps.EqualFunc(files, first, slices.Equal[[]byte]) {
			t.Errorf("-j %s: %d files, not those of -j 1", workers, len(files))
		}
	}
}

// TestCompareFlagsInHelp checks that every flag of compare stands in a group of
// the help that tells what it is about, and that no line is too long.
func TestCompareFlagsInHelp(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t)
	walk(newCompareCommand(a), func(cmd *cobra.Command) {
		for f := range (help{}).flagsByGroup(cmd) {
			if !slices.Contains(groups, f) {
				t.Errorf("%s: there is no group %q", cmd.CommandPath(), f)
			}
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Annotations[groupKey] == nil {
				t.Errorf("%s: --%s stands in no group", cmd.CommandPath(), f.Name)
			}
		})
		r := runArgs(t, append(strings.Fields(cmd.CommandPath()), "--help-all")...)
		for line := range strings.Lines(r.out) {
			if len(line) > 81 {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), len(line)-1, line)
			}
		}
	})
}

// TestCompareExamples checks that the command lines of the help texts have no
// mistake: without their files all of them end with status 3, not 2.
func TestCompareExamples(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t)
	checked := 0
	walk(newCompareCommand(a), func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			words := strings.Fields(strings.NewReplacer("known.json", os.DevNull, "--wait 6h", "").Replace(line))
			r := runArgs(t, words[1:]...)
			if r.code == exitUsage && !strings.Contains(r.err, os.DevNull) || r.code == exitOK {
				t.Errorf("%s: exit %d: %s", strings.TrimSpace(line), r.code, r.err)
			}
			checked++
		}
	})
	if checked < 8 {
		t.Errorf("%d examples", checked)
	}
}

// TestCompareJSONArgs checks that the report names the paths of both sides and the flags
// that matter, and not those that cannot change it.
func TestCompareJSONArgs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeNpy(t, filepath.Join(dir, "a.npy"), "float32", "4", "1")
	r := runArgs(t, "compare", filepath.Join(dir, "a.npy"), filepath.Join(dir, "a.npy"), "--format", "json", "-atol=0.5", "-j", "3")
	var doc struct{ Args []string }
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil || r.code != exitOK {
		t.Fatalf("exit %d: %v: %s", r.code, err, r.err)
	}
	path := filepath.Join(dir, "a.npy")
	if want := []string{"--atol=0.5", "--cpu=" + path, "--npu=" + path}; !slices.Equal(doc.Args, want) {
		t.Errorf("args are %q, want %q", doc.Args, want)
	}
}

// TestFusionText: -f takes a graph as protobuf text, and ignores a graph of other operators.
func TestFusionText(t *testing.T) {
	t.Parallel()
	network := filepath.Join("..", "..", "testdata", "network")
	for _, test := range []struct {
		text, source, warning string
	}{
		{`graph { op { name: "conv1" id: 0 } op { name: "relu1" id: 1 input: "conv1:0" } op { name: "conv2" id: 2 input: "relu1:0" } }`, "fusion graph", ""},
		{`graph { op { name: "bert/a" } op { name: "bert/b" input: "bert/a:0" } }`, "unknown", "0 of its 2 operators occur in this run"},
		{`{"graph": [{"op": [{"name": "bert/a"}]}]}`, "unknown", "0 of its 1 operators occur in this run"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "ge_proto_00001_Build.txt")
		writeTo(t, path, []byte(test.text))
		r := runArgs(t, "compare", "--cpu", filepath.Join(network, "cpu"), "--npu", filepath.Join(network, "npu"), "-f", path, "--out", filepath.Join(dir, "out"))
		var inputs string
		for line := range strings.Lines(r.out) {
			if strings.HasPrefix(line, "Inputs") {
				inputs = line
			}
		}
		all := strings.Join(strings.Fields(r.out), " ")
		if r.code != exitFinding || !strings.Contains(inputs, test.source) || !strings.Contains(all, test.warning) || test.warning == "" && strings.Contains(all, "occur in") {
			t.Errorf("%s: exit %d, %s", test.text, r.code, r.out)
		}
	}
}
