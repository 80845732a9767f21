package dumpdir

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/graph"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
)

func list(t *testing.T, text string) *sidefile.Order {
	t.Helper()
	o, err := sidefile.ReadRuntime(strings.NewReader(text), "r")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func readGraph(t *testing.T, source, text string) *graph.Graph {
	t.Helper()
	read := graph.ReadFusion
	if !strings.Contains(text, `"graph"`) {
		read = graph.ReadConsumers
	}
	g, err := read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	g.Source = source
	return g
}

func TestRank(t *testing.T) {
	items := []Item{
		{Names: []string{"op10"}, Moment: Moment{Timestamp: 30, Task: 3, HasTask: true}},
		{Names: []string{"op2"}, Moment: Moment{Timestamp: 40, Task: 9, HasTask: true}},
		{Names: []string{"net/a", "net_a"}, Moment: Moment{Timestamp: 10, Task: 2, HasTask: true}},
		{Names: []string{"b"}, Moment: Moment{Timestamp: 20, Task: 1, HasTask: true}},
		{Names: []string{"b"}, Moment: Moment{Timestamp: 20, Task: 1, HasTask: true}},
	}
	all := Sources{
		Runtime: list(t, "b\nnet_a\nop10"), Execution: list(t, "net/a\nb\nx/op2\nop10"),
		Fusion:    readGraph(t, "fusion graph g.json", `{"graph":[{"op":[{"name":"b","id":9,"input":["op10:0"]},{"name":"op10","id":10}]}]}`),
		Consumers: readGraph(t, "consumer map c", `{"op2":["b"],"b":["net/a"]}`),
	}
	one := func(by OrderSource) Sources {
		s := all
		s.By = by
		return s
	}
	for _, test := range []struct {
		sources Sources
		source  string
		places  []int
	}{
		{one(Auto), "runtime file r, 4 of 5 operators known", []int{2, 3, 1, 0, 0}},
		{one(ByRuntime), "runtime file r, 4 of 5 operators known", []int{2, 3, 1, 0, 0}},
		{one(ByExecution), "runtime file r, 5 of 5 operators known", []int{3, 2, 0, 1, 1}},
		{one(ByFusion), "fusion graph g.json, topological, 3 of 5 operators known", []int{0, 3, 2, 1, 1}},
		{one(ByConsumers), "consumer map c, topological, 4 of 5 operators known", []int{3, 0, 2, 1, 1}},
		{one(ByTimestamp), "timestamps of the dumps, 5 of 5 operators known", []int{2, 3, 0, 1, 1}},
		{one(ByID), "task ids, 5 of 5 operators known", []int{2, 3, 1, 0, 0}},
		{one(ByName), "natural order of names", []int{3, 2, 1, 0, 0}},
		{Sources{Runtime: list(t, "x\nop2"), Execution: list(t, "y")}, "timestamps of the dumps, 5 of 5 operators known", []int{2, 3, 0, 1, 1}},
	} {
		o, places, err := test.sources.Rank(items)
		if err != nil || o.Source.String() != test.source {
			t.Errorf("%q: %+v, %v", test.sources.By, o, err)
			continue
		}
		if diff := cmp.Diff(test.places, places); diff != "" {
			t.Errorf("%q:\n%s", test.sources.By, diff)
		}
	}
	o, _, err := (&Sources{Runtime: list(t, "x\nop2"), Execution: list(t, "y")}).Rank(items)
	want := []lang.Sentence{lang.Plain("runtime file r covers only 1 of 5 operators and is not used"), lang.Plain("runtime file r covers only 0 of 5 operators and is not used")}
	if diff := cmp.Diff(want, o.Rejected); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestWeakOrders: timestamps and ids count only if they can order operators, numbers in names only
// if all names have one.
func TestWeakOrders(t *testing.T) {
	for name, test := range map[string]struct {
		items []Item
		by    OrderSource
	}{
		"one has no timestamp":      {[]Item{{Names: []string{"a"}, Moment: Moment{Timestamp: 2}}, {Names: []string{"b"}}}, ByName},
		"a parameter has none":      {[]Item{{Names: []string{"a"}, Moment: Moment{Timestamp: 2}}, {Names: []string{"c"}, Moment: Moment{Timestamp: 1}}, {Names: []string{"b"}, Passive: true}}, ByTimestamp},
		"equal timestamps":          {[]Item{{Names: []string{"a"}, Moment: Moment{Timestamp: 2}}, {Names: []string{"b"}, Moment: Moment{Timestamp: 2}}}, ByName},
		"equal timestamps, tasks":   {[]Item{{Names: []string{"a"}, Moment: Moment{Timestamp: 2, Task: 4, HasTask: true}}, {Names: []string{"b"}, Moment: Moment{Timestamp: 2, Task: 3, HasTask: true}}}, ByID},
		"task ids of nobody":        {[]Item{{Names: []string{"a"}, Moment: Moment{Task: 65535, HasTask: true}}, {Names: []string{"b"}, Moment: Moment{Task: 65535, HasTask: true}}}, ByName},
		"equal task ids":            {[]Item{{Names: []string{"a"}, Moment: Moment{HasTask: true}}, {Names: []string{"b"}, Moment: Moment{HasTask: true}}}, ByName},
		"numbers":                   {[]Item{{Names: []string{"2_a"}}, {Names: []string{"10.b"}}}, ByNumber},
		"one name has no number":    {[]Item{{Names: []string{"2_a"}}, {Names: []string{"b"}}}, ByName},
		"equal numbers":             {[]Item{{Names: []string{"2_a"}}, {Names: []string{"02_b"}}}, ByName},
		"a number and a letter":     {[]Item{{Names: []string{"2_a"}}, {Names: []string{"3x_b"}}}, ByName},
		"a number that is the name": {[]Item{{Names: []string{"2"}}, {Names: []string{"3"}}}, ByName},
		"nothing":                   {nil, ByName},
	} {
		o, places, err := new(Sources).Rank(test.items)
		if err != nil || o.By != test.by || len(places) != len(test.items) {
			t.Errorf("%s: %+v, %v; want %s", name, o, err, test.by)
		}
	}
}

func TestRankMissing(t *testing.T) {
	plain := []Item{{Names: []string{"a"}}}
	for _, test := range []struct {
		sources Sources
		want    string
	}{
		{Sources{By: ByRuntime}, `order "runtime" was requested, but there is no file with it`},
		{Sources{By: ByDumpJSON}, `order "dump.json" was requested, but the run has no dump.json`},
		{Sources{By: ByTimestamp}, "no operator has a timestamp"},
		{Sources{By: ByRuntime, Runtime: list(t, "x")}, "runtime file r covers none of the 1 operators"},
		{Sources{By: "random"}, `order "random", want dump.json, runtime, execution, ir, fusion, consumers, statistics, sequence, timestamp, id, number or name`},
	} {
		if o, _, err := test.sources.Rank(plain); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, %v", test.sources.By, o, err)
		}
	}
	root := t.TempDir()
	write(t, root, named("rank_0/a.npy"))
	if _, err := Open(context.Background(), []string{root}, Options{Sources: Sources{By: ByFusion}}); err == nil || !strings.HasPrefix(err.Error(), "rank 0: order") {
		t.Errorf("%v", err)
	}
}

// TestOrderOfUser: sources of the user come before sources in the run, and order every round.
func TestOrderOfUser(t *testing.T) {
	root := t.TempDir()
	write(t, root, named("20200808163566/0/m/1/0/A.x.1."+stamp1, "20200808163566/0/m/1/0/A.y.1."+stamp2,
		"20200808163566/0/m/1/1/A.x.1."+stamp1, "20200808163566/0/m/1/1/A.y.1."+stamp2))
	r := openAt(t, root, Options{Sources: Sources{Runtime: sidefile.NewOrder("order file o", []string{"y", "x"})}})
	want := []string{"rank 0 step 0 graph 1 model m: y(*) x(*)", "rank 0 step 1 graph 1 model m: y(*) x(*)"}
	if diff := cmp.Diff(want, rounds(r)); diff != "" {
		t.Error(diff)
	}
	if o := r.Rounds[0].Order; o.By != ByRuntime || !o.IsKnown() || o.Source.String() != "order file o, 2 of 2 operators known" {
		t.Errorf("%+v", o)
	}
	if err := r.SortOperators(Sources{By: ByTimestamp}); err != nil || r.Rounds[0].Ops[0].Name != "x" || r.Rounds[0].Ops[0].Place != 0 || r.Rounds[0].Ops[1].Place != 1 {
		t.Errorf("%v", err)
	}
}

// TestGraphOrders: a consumer map orders arrays from the inputs to the outputs and gives the data
// flow; a graph of other operators is rejected with a message.
func TestGraphOrders(t *testing.T) {
	root := t.TempDir()
	write(t, root, named("a.npy", "b.npy", "c.npy", "d.npy"))
	sources := Sources{Consumers: readGraph(t, "consumer map map", `{"d":["b"],"b":["c","a"],"c":["a"]}`)}
	r := openAt(t, root, Options{Sources: sources})
	if diff := cmp.Diff([]string{": d(o0) b(o0) c(o0) a(o0)"}, rounds(r)); diff != "" {
		t.Error(diff)
	}
	if f := r.Rounds[0].Flow; f.Graph != sources.Consumers || f.Source.String() != "consumer map map, 4 of 4 operators known" {
		t.Errorf("%+v", f)
	}
	other := readGraph(t, "fusion graph f.json", `{"graph":[{"op":[{"name":"p"},{"name":"q"}]}]}`)
	r = openAt(t, root, Options{Sources: Sources{Fusion: other, Consumers: readGraph(t, "consumer map map", `{"a":["y"]}`)}})
	round := r.Rounds[0]
	if round.Order.IsKnown() || round.Flow.Graph != nil {
		t.Errorf("order %+v, flow %+v", round.Order, round.Flow)
	}
	want := []lang.Sentence{lang.Plain("consumer map map has 1 of 4 operators of this run: it is not used for the data flow"), lang.Plain("fusion graph f.json: 0 of its 2 operators occur in this run: it is not used")}
	if diff := cmp.Diff(want, round.Flow.Rejected); diff != "" {
		t.Error(diff)
	}
	if len(round.Order.Rejected) != 0 { // graphs are rejected in Flow
		t.Errorf("rejected %q", round.Order.Rejected)
	}
}

// TestOrderOfPairs: two rounds are ordered by the sources of the NPU's round, else by the sources
// of the reference's.
func TestOrderOfPairs(t *testing.T) {
	ref := open(t, map[string]string{"a.npy": "x", "b.npy": "x", sidefile.RuntimeName: "b\na\n"})
	npu := open(t, named("a.npy", "b.npy"))
	pair := PairRounds(ref.Rounds, npu.Rounds).Pairs[0]
	sources := pair.Sources()
	o, places, err := sources.Rank([]Item{{Names: []string{"a"}}, {Names: []string{"b"}}})
	want := "runtime file " + ref.Paths[0] + "/node_runtime.file, 2 of 2 operators known"
	if err != nil || o.Source.String() != want || places[0] != 1 || places[1] != 0 {
		t.Errorf("%+v, %v, %v", o, places, err)
	}
	if root := ref.Rounds[0].Ops[0].Tensors[0].File.Root(); root != ref.Paths[0] {
		t.Errorf("root %s, want %s", root, ref.Paths[0])
	}
}

// TestRecordedOperators reads a file of torch.utils.dumper: the tensors of an execution are an
// operator, and executions are in the order of their numbers, not of their names.
func TestRecordedOperators(t *testing.T) {
	path := filepath.Join("..", "..", "testdata", "golden", "inputs", "h5", "npu.h5")
	for _, tt := range []struct {
		ops  []string
		want string
	}{
		{nil, "3 5, 5 5, 7 5, 10 2, 13 4, 14 1"},
		{[]string{"NpuConvolutionBackward/5", "EmbeddingBackward"}, "5 5, 13 4"},
		{[]string{"/NpuConvolutionBackward/7/input/grad", "re:.*/mask"}, "7 1, 13 1"},
	} {
		run, err := Open(context.Background(), []string{path}, Options{})
		if err == nil {
			err = run.ReadHeaders(context.Background(), HeaderOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		round := run.Rounds[0]
		if got := round.Order; got.By != BySequence || got.Name != "sequence numbers of the dumps" || got.Known != 6 || got.Of != 6 {
			t.Errorf("order %+v", got)
		}
		var set *NameSet
		if tt.ops != nil {
			if set, err = NewNameSet(tt.ops); err != nil {
				t.Fatal(err)
			}
		}
		if err := run.Choose(context.Background(), Selection{}, set, HeaderOptions{}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, op := range run.Rounds[0].Ops {
			got = append(got, fmt.Sprintf("%s %d", op.Name[strings.LastIndex(op.Name, "/")+1:], len(op.Tensors)))
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%q: operators and their tensors (-want +got):\n%s", tt.ops, diff)
		}
	}
}

// TestRankBySequence orders by the numbers of executions; operators without a number come last.
func TestRankBySequence(t *testing.T) {
	items := []Item{{Names: []string{"c"}, Moment: Moment{Seq: 10}}, {Names: []string{"b"}, Moment: Moment{Seq: 9}}, {Names: []string{"a"}}, {Names: []string{"d"}, Moment: Moment{Seq: 10}}}
	order, places, err := new(Sources).Rank(items)
	if err != nil || order.By != BySequence || order.Known != 3 {
		t.Errorf("order %+v, error %v", order, err)
	}
	if diff := cmp.Diff([]int{1, 0, 2, 1}, places); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	if _, _, err := (&Sources{By: BySequence}).Rank(items[2:3]); err == nil || !strings.Contains(err.Error(), "sequence number") {
		t.Errorf("error %v, want one that there are no numbers", err)
	}
}
