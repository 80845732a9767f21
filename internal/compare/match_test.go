package compare

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/dumptest"
	"dumptool/internal/filename"
	"dumptool/internal/graph"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// tree writes files below a folder, .npy files or dumps by their names. All contain 1, 2, 3.
func tree(t testing.TB, dir string, names ...string) string {
	t.Helper()
	for _, name := range names {
		data := array(tensor.Float32, tensor.Shape{3}, ramp(3)...)
		if n := filename.Parse(filepath.Base(name)); n.IsDump() {
			data = outputDump(t, n.OpName, tensor.Float32, tensor.Shape{3}, ramp(3)...)
		}
		write(t, filepath.Join(dir, name), data)
	}
	return dir
}

func names(t testing.TB, all ...string) *dumpdir.NameSet {
	t.Helper()
	s, err := dumpdir.NewNameSet(all)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMatching(t *testing.T) {
	onlyA, onlyB, renamed := names(t, "a"), names(t, "b"), nameMap(t, `{"a": "x"}`)
	const stamp, later = ".1.2.1600000000000000", ".1.2.1600000000000001"
	tests := []struct {
		name     string
		ref, npu []string
		change   func(*conclude.Options)
		want     []string
		// tensors of the reference, compared tensors
		coverage [2]int
	}{
		{"names", []string{"a.npy", "b.npy"}, []string{"Add.a" + stamp, "Mul.b" + stamp}, nil,
			[]string{"a:output:0 PASS name", "b:output:0 PASS name"}, [2]int{2, 2}},
		{"unmatched", []string{"a.npy", "b.npy"}, []string{"a.npy", "c.npy"}, nil,
			[]string{"a:output:0 PASS stem", "b:output:0 UNMATCHED_REF", "c:output:0 UNMATCHED_NPU"}, [2]int{2, 1}},
		{"natural order", []string{"op10.npy", "op9.npy", "op2.npy"}, []string{"op10.npy", "op9.npy", "op2.npy"}, nil,
			[]string{"op2:output:0 PASS stem", "op9:output:0 PASS stem", "op10:output:0 PASS stem"}, [2]int{3, 3}},
		{"skip key", []string{"aSpan.npy", "b.npy"}, []string{"aSpan.npy", "b.npy"},
			func(o *conclude.Options) { o.Pair.SkipKeys = []string{"Span"} },
			[]string{"aSpan:output:0 SKIP", "b:output:0 PASS stem"}, [2]int{1, 1}},
		{"excluded", []string{"ab.npy", "a.npy"}, []string{"ab.npy", "a.npy"},
			func(o *conclude.Options) { o.Pair.Exclude = onlyA },
			[]string{"a:output:0 SKIP", "ab:output:0 PASS stem"}, [2]int{1, 1}},
		{"ops", []string{"a.npy", "b.npy"}, []string{"a.npy", "b.npy", "c.npy"},
			func(o *conclude.Options) { o.Pair.Ops = onlyB },
			[]string{"b:output:0 PASS stem"}, [2]int{1, 1}},
		{"superseded", []string{"a.0.1600000000000000.npy", "a.0.1600000000000009.npy"}, []string{"Add.a" + stamp, "Add.a" + later}, nil,
			[]string{"a:output:0 PASS name"}, [2]int{1, 1}},
		{"a shape behind a name", []string{"a_3.npy", "b_3x1.npy", "c_1_3.npy", "d_1x3.npy"}, []string{"a.npy", "b.npy", "c.npy", "Add.d" + stamp}, nil,
			[]string{"a_3:output:0 PASS suffix", "b:output:0 UNMATCHED_NPU", "b_3x1:output:0 UNMATCHED_REF", "c:output:0 UNMATCHED_NPU", "c_1_3:output:0 UNMATCHED_REF",
				"d:output:0 UNMATCHED_NPU", "d_1x3:output:0 UNMATCHED_REF"}, [2]int{4, 1}},
		{"a shape behind the NPU's name", []string{"a.npy", "b.npy"}, []string{"Add.a_3" + stamp, "b_4.npy"}, nil,
			[]string{"a:output:0 PASS suffix", "b:output:0 UNMATCHED_REF", "b_4:output:0 UNMATCHED_NPU"}, [2]int{2, 1}},
		{"rounds", []string{"a.npy"}, []string{"0/a.npy", "1/a.npy", "10/a.npy", "9/a.npy"}, nil,
			[]string{"a:output:0@0 PASS stem", "a:output:0@1 PASS stem", "a:output:0@9 PASS stem", "a:output:0@10 PASS stem"}, [2]int{1, 1}},
		{"first round", []string{"a.npy"}, []string{"2/a.npy", "10/a.npy"}, func(o *conclude.Options) { o.Pair.Rounds.First = true },
			[]string{"a:output:0 PASS stem"}, [2]int{1, 1}},
		{"last round", []string{"a.npy"}, []string{"2/a.npy", "10/a.npy"}, func(o *conclude.Options) { o.Pair.Rounds.Last = true },
			[]string{"a:output:0 PASS stem"}, [2]int{1, 1}},
		{"a round by number", []string{"a.npy", "b.npy"}, []string{"2/a.npy", "10/a.npy", "2/b.npy"}, func(o *conclude.Options) { o.Pair.Rounds.Number = ptr(1) },
			[]string{"a:output:0 PASS stem", "b:output:0 UNMATCHED_REF"}, [2]int{2, 1}},
		{"cards below another folder", []string{"0/a.npy", "1/a.npy"}, []string{"run/0/a.npy", "run/1/a.npy"}, nil,
			[]string{"a:output:0@0 PASS stem", "a:output:0@1 PASS stem"}, [2]int{2, 2}},
		{"cards of other names", []string{"x/a.npy", "y/a.npy"}, []string{"v/a.npy", "w/a.npy"}, nil, []string{}, [2]int{2, 0}},
		{"the reference's round is gone", []string{"0/a.npy"}, []string{"0/a.npy", "1/a.npy"}, nil,
			[]string{"a:output:0@0 PASS stem", "a:output:0@1 PASS stem"}, [2]int{1, 1}},
		{"cards of one name", []string{"0/a.npy", "1/a.npy"}, []string{"0/a.npy", "1/a.npy"}, nil,
			[]string{"a:output:0@0 PASS stem", "a:output:0@1 PASS stem"}, [2]int{2, 2}},
		{"inputs of the NPU alone", []string{"a.npy"}, []string{"a.npy", "Add.a.1.2.1600000000000000.input.0.npy"}, nil,
			[]string{"a:output:0 PASS stem"}, [2]int{1, 1}},
		{"inputs asked for", []string{"a.npy"}, []string{"a.npy", "Add.a.1.2.1600000000000000.input.0.npy"}, func(o *conclude.Options) { o.Pair.Inputs = true },
			[]string{"a:input:0 UNMATCHED_NPU", "a:output:0 PASS stem"}, [2]int{1, 1}},
		{"a map", []string{"a.npy", "b.npy"}, []string{"x.npy", "b.npy"}, func(o *conclude.Options) { o.SideFiles.NameMap = renamed },
			[]string{"a:output:0 PASS map", "b:output:0 PASS stem"}, [2]int{2, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			opt := exactly(tree(t, filepath.Join(dir, "ref"), tt.ref...), tree(t, filepath.Join(dir, "npu"), tt.npu...))
			opt.OrderBy = dumpdir.ByName
			if tt.change != nil {
				tt.change(&opt)
			}
			rep := runAll(t, opt)
			if diff := cmp.Diff(tt.want, lines(rep)); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			c := &rep.Coverage
			if got := [2]int{c.Reference, c.Compared}; got != tt.coverage {
				t.Errorf("coverage %v, want %v", got, tt.coverage)
			}
			for status, list := range map[record.Status][]string{record.UnmatchedRef: c.RefOnly, record.UnmatchedNPU: c.NPUOnly, record.Skip: c.Skipped, record.Error: c.Unread} {
				if len(list) != rep.Counts[status] {
					t.Errorf("coverage lists %v for %d rows of %s", list, rep.Counts[status], status)
				}
			}
			if tt.name == "superseded" && len(c.Superseded) != 2 {
				t.Errorf("superseded %v, want one of each side", c.Superseded)
			}
		})
	}
}

// TestHeaderOfAnotherName has dumps whose headers all name one operator, different from the operators of the file
// names.
func TestHeaderOfAnotherName(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		name := fmt.Sprintf("fracz_%d", i)
		write(t, filepath.Join(dir, "ref", name+".npy"), array(tensor.Float32, tensor.Shape{3}, ramp(3)...))
		write(t, filepath.Join(dir, "npu", fmt.Sprintf("Conv2D.%s.%d.16.162460515982902%d", name, i, i)), outputDump(t, "fz", tensor.Float32, tensor.Shape{3}, ramp(3)...))
	}
	opt := exactly(filepath.Join(dir, "ref"), filepath.Join(dir, "npu"))
	rep := runAll(t, opt)
	want := []string{"fracz_0:output:0 PASS name", "fracz_1:output:0 PASS name", "fracz_2:output:0 PASS name"}
	if diff := cmp.Diff(want, lines(rep)); diff != "" || len(rep.Coverage.Superseded) > 0 {
		t.Errorf("superseded %v, rows (-want +got):\n%s", rep.Coverage.Superseded, diff)
	}
	if notes := fmt.Sprint(rep.Rows[0].Notes); !strings.Contains(notes, `the header of the NPU's file names "fz"`) {
		t.Errorf("notes %q do not have the header's name", notes)
	}
	// The order may have operators by the headers' name.
	order, err := sidefile.ReadRuntime(strings.NewReader("fz 1\n"), "node_runtime.file")
	if err != nil {
		t.Fatal(err)
	}
	opt.OrderBy, opt.SideFiles.Runtime = dumpdir.ByRuntime, order
	if rep := runAll(t, opt); !strings.Contains(rep.OrderSource.String(), "3 of 3") {
		t.Errorf("order from %q, want that all tensors are listed", rep.OrderSource)
	}
}

// TestDistinctRows has several rows for one result of the model: no two have the same name and NPU operator.
func TestDistinctRows(t *testing.T) {
	g, err := graph.ReadFusion(strings.NewReader(`{"graph": [{"op": [
		{"name": "conv", "id": 1, "output_desc": [{"attr": [{"key": "_datadump_origin_name", "value": {"s": "conv"}}, {"key": "_datadump_origin_output_index", "value": {"i": 0}}]},
			{"attr": [{"key": "_datadump_origin_name", "value": {"s": "pool"}}, {"key": "_datadump_origin_output_index", "value": {"i": 0}}]},
			{"attr": [{"key": "_datadump_origin_name", "value": {"s": "pool"}}, {"key": "_datadump_origin_output_index", "value": {"i": 0}}]}]},
		{"name": "trans", "id": 2, "output_desc": [{"attr": [{"key": "_datadump_origin_name", "value": {"s": "conv"}}, {"key": "_datadump_origin_output_index", "value": {"i": 0}}]}]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out := func() dumptest.TensorContent {
		return dumped(tensor.Float32, tensor.ND, tensor.Shape{3}, nil, stored(tensor.Float32, ramp(3)...))
	}
	npu := filepath.Join(dir, "npu")
	write(t, filepath.Join(npu, "Conv2D.conv.1.2.1600000000000000"), dumpOf(t, "conv", nil, []dumptest.TensorContent{out(), out(), out()}))
	tree(t, npu, "TransData.trans.2.2.1600000000000001", "Add.x.3.2.1600000000000002", "Cast.x.4.2.1600000000000003",
		"Mul.y.5.2.1600000000000004.7.1.0", "Mul.y.5.2.1600000000000005.7.1.1", "alone.npy")
	opt := exactly(tree(t, filepath.Join(dir, "ref"), "conv.npy", "pool.npy", "alone.npy"), npu)
	opt.SideFiles.Fusion, opt.OrderBy = g, dumpdir.ByName
	got := map[string]int{}
	rep := runAll(t, opt)
	for i := range rep.Rows {
		got[rep.Rows[i].Name()+" "+rep.Rows[i].NPUOp]++
	}
	want := map[string]int{
		"alone:output:0 ": 1, "conv:output:0 conv": 1, "conv:output:0 trans": 1, "pool:output:0 conv:output:1": 1, "pool:output:0 conv:output:2": 1,
		"x:output:0 Add.x:output:0": 1, "x:output:0 Cast.x:output:0": 1, "y:output:0 Mul.y:output:0:0": 1, "y:output:0 Mul.y:output:0:1": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// TestOtherRounds counts the rounds that --round excludes.
func TestOtherRounds(t *testing.T) {
	dir := t.TempDir()
	opt := exactly(tree(t, filepath.Join(dir, "ref"), "a.npy", "b.npy"), tree(t, filepath.Join(dir, "npu"), "0/a.npy", "1/a.npy", "2/a.npy", "1/b.npy"))
	opt.Pair.Rounds.Last = true
	p, rep := planned(t, opt)
	if diff := cmp.Diff([]string{"0", "1"}, rep.Listed.Others); diff != "" || len(p.Pairs) != 2 {
		t.Errorf("%d pairs, left out (-want +got):\n%s", len(p.Pairs), diff)
	}
}

func nameMap(t testing.TB, text string) *sidefile.NameMap {
	t.Helper()
	m, err := sidefile.ParseNameMap(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMissingNames: a name map's entries without an operator cause warnings only.
func TestMissingNames(t *testing.T) {
	dir := t.TempDir()
	opt := exactly(tree(t, filepath.Join(dir, "ref"), "a.npy"), tree(t, filepath.Join(dir, "npu"), "a.npy"))
	opt.SideFiles.NameMap = nameMap(t, `{"no": "a", "a": "none"}`)
	rep, err := compareAll(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	var stale []string
	for _, w := range rep.Warnings {
		if strings.HasPrefix(w.String(), "--map-node-dict: ") {
			stale = append(stale, w.String())
		}
	}
	want := []string{`--map-node-dict: line 1, column 2: the reference has no "no"`, `--map-node-dict: line 1, column 13: the NPU has no "none"`}
	if !slices.Equal(stale, want) {
		t.Errorf("warnings %q, want %q", stale, want)
	}
}

func TestNothing(t *testing.T) {
	dir := t.TempDir()
	full := tree(t, filepath.Join(dir, "full"), "a.npy")
	empty := filepath.Dir(write(t, filepath.Join(dir, "empty", "notes.md"), []byte("nothing\n")))
	for _, opt := range []conclude.Options{exactly(full, empty), exactly(empty, full)} {
		if rep, err := compareAll(context.Background(), opt); !errors.Is(err, plan.ErrNothing) || rep != nil || !strings.Contains(err.Error(), empty) {
			t.Errorf("error %v, want that %s holds nothing", err, empty)
		}
	}
}

// TestTwoFiles compares single files, which need no common names.
func TestTwoFiles(t *testing.T) {
	const f = tensor.Float32
	threes, fours := array(f, tensor.Shape{3}, ramp(3)...), array(f, tensor.Shape{4}, ramp(4)...)
	// content returns a dump with inputs and outputs of these lengths.
	content := func(in, out []int64) []byte {
		var all [2][]dumptest.TensorContent
		for i, sizes := range [][]int64{in, out} {
			for _, n := range sizes {
				all[i] = append(all[i], dumped(f, tensor.ND, tensor.Shape{n}, nil, stored(f, ramp(int(n))...)))
			}
		}
		return dumpOf(t, "conv", all[0], all[1])
	}
	type tensors = []int64
	tests := []struct {
		name             string
		refName, npuName string
		ref, npu         []byte
		want             []string
	}{
		{"arrays", "x.npy", "y.npy", threes, threes, []string{"x:output:0 PASS files"}},
		{"arrays of two indexes", "x.1.1600000000000000.npy", "x.2.1600000000000000.npy", threes, threes, []string{"x:output:1 PASS files"}},
		{"a dump of one output", "x.npy", dumpName, threes, content(tensors{4}, tensors{3}), []string{"x:output:0 PASS files"}},
		{"the index tells", "x.1.1600000000000000.npy", dumpName, fours, content(nil, tensors{3, 4}),
			[]string{"conv:output:0 UNMATCHED_NPU", "x:output:1 PASS files"}},
		{"an input", "Conv2D.conv.1.2.1600000000000000.input.0.npy", dumpName, fours, content(tensors{4}, tensors{3}),
			[]string{"conv:input:0 PASS files", "conv:output:0 UNMATCHED_NPU"}},
		{"two dumps", dumpName, dumpName, content(tensors{4}, tensors{3}), content(tensors{4}, tensors{3}),
			[]string{"conv:input:0 PASS files", "conv:output:0 PASS files"}},
		{"an output more", dumpName, dumpName, content(nil, tensors{3, 4}), content(nil, tensors{3}),
			[]string{"conv:output:0 PASS files", "conv:output:1 UNMATCHED_REF"}},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		opt := exactly(write(t, filepath.Join(dir, "ref", tt.refName), tt.ref), write(t, filepath.Join(dir, "npu", tt.npuName), tt.npu))
		opt.OrderBy = dumpdir.ByName
		if diff := cmp.Diff(tt.want, lines(runAll(t, opt))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestFusion pairs by the compiler's graph, which has the axis order of the reference; the shape does not determine
// the order.
func TestFusion(t *testing.T) {
	g, err := graph.ReadFusion(strings.NewReader(`{"graph": [{"op": [{"name": "fused", "type": "Conv2D", "id": 1, "output_desc": [{"attr": [
		{"key": "_datadump_origin_name", "value": {"s": "model/conv"}},
		{"key": "_datadump_origin_output_index", "value": {"i": 0}},
		{"key": "_datadump_origin_format", "value": {"s": "NHWC"}}]}]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	a := axes{1, 3, 1, 3, 3}
	nhwc, values := hostArray("NHWC", a)
	device, data := deviceArray(tensor.NC1HWC0, a)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "ref", "model_conv.0.1600000000000000.npy"), array(tensor.Float16, nhwc, values...))
	write(t, filepath.Join(dir, "npu", "Conv2D.fused.1.2.1600000000000000"), dumpOf(t, "fused", nil,
		[]dumptest.TensorContent{dumped(tensor.Float16, tensor.NC1HWC0, device, nil, stored(tensor.Float16, data...))}))
	opt := exactly(filepath.Join(dir, "ref"), filepath.Join(dir, "npu"))
	opt.SideFiles.Fusion = g
	rep := runAll(t, opt)
	if diff := cmp.Diff([]string{"model_conv:output:0 PASS fusion"}, lines(rep)); diff != "" {
		t.Errorf("rows (-want +got):\n%s\n%v", diff, rep.Rows[0].Reasons)
	}
	if rep.Rows[0].NPUOp != "fused" {
		t.Errorf("operator of the NPU is %q, want fused", rep.Rows[0].NPUOp)
	}
}

func TestOrders(t *testing.T) {
	runtime, err := sidefile.ReadRuntime(strings.NewReader("c 1\na 2\nb 3\n"), "node_runtime.file")
	if err != nil {
		t.Fatal(err)
	}
	execution, err := sidefile.ReadExecutionOrder(strings.NewReader("b\nc\na\n"), "order.csv")
	if err != nil {
		t.Fatal(err)
	}
	fusion, err := graph.ReadFusion(strings.NewReader(`{"graph": [{"op": [{"name": "c", "id": 7}, {"name": "b", "id": 8}, {"name": "a", "id": 9}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// The clocks of the two runs differ: the order is by the NPU's.
	ref := tree(t, filepath.Join(dir, "ref"), "a.0.1600000000000001.npy", "b.0.1600000000000002.npy", "c.0.1600000000000003.npy")
	npu := tree(t, filepath.Join(dir, "npu"), "Add.a.1.2.1700000000000002", "Add.b.1.2.1700000000000001", "Add.c.1.2.1700000000000003")
	fusion.Source = "fusion graph graph.json"
	plain := tree(t, filepath.Join(dir, "plain"), "a.npy", "b.npy", "c.npy")
	tests := []struct {
		by       dumpdir.OrderSource
		npu      string
		want     string
		inSource string
	}{
		{dumpdir.Auto, npu, "cab", "node_runtime.file"}, {dumpdir.ByRuntime, npu, "cab", "node_runtime.file"},
		{dumpdir.ByExecution, npu, "bca", "order.csv"}, {dumpdir.ByFusion, npu, "cba", "graph.json"},
		{dumpdir.ByTimestamp, npu, "bac", "timestamp"}, {dumpdir.ByTimestamp, plain, "abc", "timestamp"}, {dumpdir.ByName, npu, "abc", "name"},
	}
	for _, tt := range tests {
		opt := exactly(ref, tt.npu)
		opt.OrderBy = tt.by
		opt.SideFiles = sidefile.Inputs{Runtime: runtime, Execution: execution, Fusion: fusion}
		rep := runAll(t, opt)
		got := ""
		for i := range rep.Rows {
			got += rep.Rows[i].Op
		}
		if got != tt.want || !strings.Contains(rep.OrderSource.String(), tt.inSource) {
			t.Errorf("by %q: %s from %q, want %s from %s", tt.by, got, rep.OrderSource, tt.want, tt.inSource)
		}
	}
	opt := exactly(ref, npu)
	opt.OrderBy = dumpdir.ByRuntime
	var missing *plan.OrderError
	if _, err := compareAll(context.Background(), opt); !errors.As(err, &missing) {
		t.Errorf("error %v, want one of a missing source", err)
	}
}

// TestUnreadable has unreadable files with and without a partner.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	ref, npu := tree(t, filepath.Join(dir, "ref"), "a.npy", "b.npy"), tree(t, filepath.Join(dir, "npu"), "b.npy")
	write(t, filepath.Join(npu, "Add.a.1.2.1600000000000000"), []byte("broken"))
	write(t, filepath.Join(npu, "Add.z.1.2.1600000000000000"), []byte("broken"))
	opt := exactly(ref, npu)
	opt.OrderBy = dumpdir.ByName
	rep := runAll(t, opt)
	want := []string{"a:output:0 ERROR name", "b:output:0 PASS stem", "z:output:0 ERROR"}
	if diff := cmp.Diff(want, lines(rep)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a:output:0", "z:output:0"}, rep.Coverage.Unread); diff != "" {
		t.Errorf("unread (-want +got):\n%s", diff)
	}
}
