package dumpdir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/filename"
	"dumptool/internal/graph"
)

// goldenTree makes the tree of testdata/golden/mindspore, from the list of the names of its dumps.
func goldenTree(t *testing.T, name string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(to, os.DirFS(filepath.Join("..", "..", "testdata", "golden", "mindspore", name))); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join(to, "dumps.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for file := range strings.FieldsSeq(string(list)) {
		path := filepath.Join(to, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// TestGraphs compares the graph data of dumped operators with the results of an independent
// program.
func TestGraphs(t *testing.T) {
	t.Parallel()
	type edge struct {
		OpName string `json:"op_name"`
		Inputs []any
	}
	var edges map[string][]edge
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "golden", "mindspore", "edges.json"))
	if err == nil {
		err = json.Unmarshal(data, &edges)
	}
	if err != nil {
		t.Fatal(err)
	}
	for tree, scripts := range map[string]map[string]string{
		"v1_async":     {"Conv2D-op523": "backbone.py:72"},
		"v1_sync_host": {"Conv2D-op538": "resnet.py:77", "Conv2DBackpropFilter-op547": ""},
		"v13_sync":     {"Conv2D-op526_2": "resnet.py:92", "Conv2DBackpropFilter-op535_2": "resnet.py:92", "FusionOp_MulAdd-op537_2": "resnet.py:98"},
		"v20_sync":     {"Conv2D-op537": "smallnet.py:69", "Sub-op550": "smallnet.py:77"},
		"v24_sync":     {"Conv2D-op0": "backbone.py:91", "Conv2DBackpropFilter-op0": "backbone.py:91"},
		"pb_only":      {"Conv2D-op517": "smallnet.py:69", "ApplyMomentum-op529": "run_train.py:78"},
	} {
		t.Run(tree, func(t *testing.T) {
			t.Parallel()
			run, err := Open(t.Context(), []string{goldenTree(t, tree)}, Options{Graphs: true})
			if err != nil {
				t.Fatal(err)
			}
			checked := 0
			for _, round := range run.Rounds {
				checked += checkFlow(t, round, func(yield func(name string, inputs []any)) {
					for _, e := range edges[tree] {
						yield(e.OpName, e.Inputs)
					}
				})
				for _, op := range round.Ops {
					for name, want := range scripts {
						if strings.HasSuffix(op.Name, name) && op.Script() != want {
							t.Errorf("%s: %s has the line %q, want %q", round.At, op.Name, op.Script(), want)
						}
					}
				}
			}
			if checked < 3 {
				t.Errorf("%d inputs checked", checked)
			}
		})
	}
}

// checkFlow checks the edges between dumped operators.
func checkFlow(t *testing.T, round *Round, edges func(func(name string, inputs []any))) (checked int) {
	t.Helper()
	dumped := func(name string) *Op {
		i := slices.IndexFunc(round.Ops, func(op *Op) bool {
			last := name[strings.LastIndexByte(name, '/')+1:]
			return filename.SameNormalised(op.Name, name) || op.Name == last
		})
		if i < 0 {
			return nil
		}
		return round.Ops[i]
	}
	edges(func(name string, inputs []any) {
		op := dumped(name)
		if op == nil || round.At.Graph == "1" {
			return
		}
		node := round.Flow.Graph.Find(op.Name)
		if node == nil {
			t.Errorf("%s is not in the graph", op.Name)
			return
		}
		for _, in := range inputs {
			for _, from := range in.([]any)[1].([]any) {
				producer := dumped(from.([]any)[0].(string))
				if producer == nil {
					continue
				}
				checked++
				if !slices.ContainsFunc(node.Producers(), func(p graph.Producer) bool { return p.Op == producer.Name }) {
					t.Errorf("%s is not fed by %s, but by %v", op.Name, producer.Name, node.Inputs)
				}
			}
		}
	})
	return checked
}

// TestGraphOrder: without an order file the graph gives the order; a truncated graph is a problem
// of the run.
func TestGraphOrder(t *testing.T) {
	t.Parallel()
	dir := goldenTree(t, "v20_sync")
	if err := os.RemoveAll(filepath.Join(dir, "rank_0", "execution_order")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "rank_0", "graphs", "ms_output_trace_code_graph_0.ir")
	for problems, size := range []int64{0, 9000} { // the whole file, then a part
		if size > 0 {
			if err := os.Truncate(file, size); err != nil {
				t.Fatal(err)
			}
		}
		run, err := Open(t.Context(), []string{dir}, Options{Graphs: true})
		if err != nil {
			t.Fatal(err)
		}
		round := run.Rounds[len(run.Rounds)-1] // the first is the round of constants
		if round.Order.By != ByIR || !strings.HasSuffix(round.Ops[0].Name, "TransData-op533") || !strings.HasSuffix(round.Ops[3].Name, "Conv2D-op537") {
			t.Errorf("order by %s: %s, %s", round.Order.By, round.Ops[0].Name, round.Ops[3].Name)
		}
		if n := len(run.Problems); n != problems {
			t.Errorf("%d problems, want %d: %v", n, problems, run.Problems)
		}
		if run, err := Open(t.Context(), []string{dir}, Options{}); err != nil || run.Rounds[len(run.Rounds)-1].Order.By == ByIR {
			t.Errorf("graphs were read that were not asked for, error %v", err)
		}
	}
}

// TestUndumped: operators without a dump are in the flow with their names, up to eight levels above
// a dumped operator, and each once.
func TestUndumped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("# IR entry: @g\n%para1_x: <Tensor[Float32], (4)>\nsubgraph @g() {\n")
	const nodes = 30
	for i := range nodes {
		inputs := "%para1_x"
		if i > 0 {
			inputs = fmt.Sprintf("%%%d, %%%d", i-1, max(0, i-2))
		}
		name := fmt.Sprintf("Default/Op-op%d", i)
		switch i {
		case 28:
			name = "Default/Op-op27" // twice in the graph
		case 26:
			name = ""
		}
		fmt.Fprintf(&b, "  %%%d(n) = Op(%s)\n      : (<Tensor[Float32], (4)>) -> (<Tensor[Float32], (4)>)\n", i, inputs)
		if name != "" {
			fmt.Fprintf(&b, "      # Fullname with scope: (%s)\n", name)
		}
	}
	b.WriteString("}\n")
	for name, text := range map[string]string{
		"rank_0/graphs/ms_output_trace_code_graph_0.ir":                                     b.String(),
		"rank_0/Net/0/0/Op.Default_Op-op3.0.0.1624605159829571.output.0.DefaultFormat.npy":  "x",
		"rank_0/Net/0/0/Op.Default_Op-op29.0.0.1624605159829572.output.0.DefaultFormat.npy": "x",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 { // in the same order every time
		run, err := Open(t.Context(), []string{dir}, Options{Graphs: true})
		if err != nil {
			t.Fatal(err)
		}
		g := run.Rounds[0].Flow.Graph
		var names []string
		for _, op := range g.Ops {
			names = append(names, op.Name)
		}
		// Each level goes up by one or two nodes.
		want := "Default_Op-op3 Default_Op-op29 Default/Op-op0 Default/Op-op1 Default/Op-op2"
		for i := 29 - 2*9; i < 29; i++ {
			switch i {
			case 26:
				want += " @g:%26"
			case 27:
				want += " @g:%27"
			case 28: // the first one found has the name
				want += " Default/Op-op27"
			default:
				want += fmt.Sprintf(" Default/Op-op%d", i)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Fatalf("operators\n%s, want\n%s", got, want)
		}
		if p := g.Find("Default_Op-op29").Producers(); !slices.Equal(p, []graph.Producer{{Op: "Default/Op-op27"}, {Op: "@g:%27"}}) {
			t.Errorf("fed by %v", p)
		}
	}
}

// TestGraphFiles: of texts that are alike one is parsed, others are parsed each, and no graph is
// kept after its last file.
func TestGraphFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var names []string
	for rank := range 8 {
		var b bytes.Buffer
		if err := dumptest.WriteGraph(&b, 50, rank); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		switch rank {
		case 5:
			text = strings.Replace(text, "Conv2D-op7)", "Conv2D-op8)", 1) // of the same size
		case 6:
			text = strings.Replace(text, "Conv2D-op7)", "Conv2D-op77)", 1)
		case 7:
			text = ""
		}
		name := filepath.Join(dir, fmt.Sprint(rank))
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	files := NewGraphFiles()
	for _, name := range names {
		files.Expect(name)
	}
	files.Expect(filepath.Join(dir, "nosuch"))
	graphs, errs := make([]*graph.IR, len(names)), make([]error, len(names))
	// The first file of a size is the shared one: rank 0.
	graphs[0], errs[0] = files.Read(names[0], false)
	var reading sync.WaitGroup
	for i, name := range names[1:] {
		reading.Go(func() { graphs[i+1], errs[i+1] = files.Read(name, false) })
	}
	reading.Wait()
	distinct := make(map[*graph.IR]bool)
	for i, g := range graphs {
		distinct[g] = true
		if wantName := map[int]string{5: "Conv2D-op8", 6: "Conv2D-op77"}[i]; i < 7 && (errs[i] != nil || len(g.Nodes) != 50 || wantName != "" && !strings.HasSuffix(g.Nodes[7].Name, wantName)) {
			t.Errorf("rank %d: error %v", i, errs[i])
		}
	}
	if errs[7] == nil || len(distinct) != 4 {
		t.Errorf("error %v, %d graphs", errs[7], len(distinct))
	}
	for size, share := range files.files {
		if share.g != nil {
			t.Errorf("a graph of %d bytes is kept", size)
		}
	}
	if _, err := files.Read(filepath.Join(dir, "nosuch"), false); err == nil {
		t.Error("no error")
	}
}
