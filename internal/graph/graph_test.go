package graph

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"dumptool/internal/tensor"
)

// fused is a graph as GE writes it. The TransData after the convolution stands for the same result.
//
//go:embed testdata/fused.json
var fused string

func mustFusion(t *testing.T, text string) *Graph {
	t.Helper()
	f, err := ReadFusion(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestReadFusion(t *testing.T) {
	f := mustFusion(t, fused)
	want := Op{
		Name: "net/conv1relu1", Type: "Conv2D", ID: 3, HasID: true,
		Inputs:  []Producer{{"cast", 0}, {"", -1}, {"weights", 0}},
		Outputs: []Origin{{"net/relu1", 1, "NHWC", tensor.Shape{1, 8, 8, 64}}, {}},
	}
	if diff := cmp.Diff(want, f.Ops[2]); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"net/conv1relu1", "net_conv1relu1"} {
		if o, ok := f.Origin(0, "unknown", name); !ok || o.Op != "net/relu1" || o.Output != 1 {
			t.Errorf("%s: %+v, %v", name, o, ok)
		}
	}
	for _, test := range []struct {
		op     string
		output int
	}{{"net/conv1relu1", 1}, {"net/conv1relu1", 2}, {"net/conv1relu1", -1}, {"late", 0}, {"none", 0}, {"", 0}} {
		if o, ok := f.Origin(test.output, test.op); ok {
			t.Errorf("%+v: %+v", test, o)
		}
	}
	// The cast has no origin: InputOrigin looks through it.
	if o, ok := f.InputOrigin(0, "net/conv1relu1"); !ok || o.Op != "input:x" {
		t.Errorf("input 0: %+v, %v", o, ok)
	}
	for _, input := range []int{-1, 1, 2, 3} {
		if o, ok := f.InputOrigin(input, "net/conv1relu1"); ok {
			t.Errorf("input %d: %+v", input, o)
		}
	}
	for op, want := range map[string][]Producer{
		"late":           {{"trans", 0}, {"net/conv1relu1", 1}},
		"net_conv1relu1": {{"cast", 0}, {"weights", 0}},
		"data":           {},
	} {
		if diff := cmp.Diff(want, f.Find(op).Producers(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s:\n%s", op, diff)
		}
	}
	if diff := cmp.Diff([]string{"data", "cast", "trans", "net/conv1relu1", "late"}, f.Order()); diff != "" {
		t.Error(diff)
	}
}

func TestFusionCycle(t *testing.T) {
	f := mustFusion(t, `{"graph":[{"op":[{"name":"a","type":"Cast","input":["b:0"]},{"name":"b","type":"TransData","input":["a:0"]}]}]}`)
	if o, ok := f.InputOrigin(0, "a"); ok {
		t.Errorf("%+v", o)
	}
}

func TestFusionTwice(t *testing.T) {
	f := mustFusion(t, `{"graph":[{"op":[{"name":"a","id":2}]},{"op":[{"name":"a","id":1},{"name":"b","id":0}]}]}`)
	want := []string{`graph[1].op[0]: duplicate operator "a", the first counts (graph 0)`}
	if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(f.Warnings)); diff != "" || len(f.Ops) != 2 || f.Ops[1].Section != 1 {
		t.Errorf("%+v\n%s", f.Ops, diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, f.Order()); diff != "" {
		t.Error(diff)
	}
}

func oneOp(op string) string { return `{"graph":[{"op":[` + op + `]}]}` }

func attr(key, value string) string {
	return oneOp(`{"name":"a","output_desc":[{"attr":[{"key":"` + key + `","value":` + value + `}]}]}`)
}

var badFusions = []struct{ text, want string }{
	{"", "line 1, column 1: found the end of the file, wanted an object"},
	{"[]", `found "[", wanted an object`},
	{"{}", `no "graph"`},
	{`{"graph":{}}`, `graph, line 1, column 10: found "{", wanted an array`},
	{`{"graph":[7]}`, `graph[0], line 1, column 11: found "7", wanted an object`},
	{`{"graph":[{"op":"x"}]}`, `graph[0].op`},
	{`{"graph":[{"op":[{"name":"a"},7]}]}`, "graph[0].op[1]"},
	{`{"graph":[]} x`, `line 1, column 14: found "x", wanted the end of the file`},
	{`{"graph":[]}{}`, "wanted the end of the file"},
	{`{"graph":[{"op":[{"name":"a"}`, "graph[0].op, line 1, column 30: found the end of the file"},
	{oneOp(`{"type":"x"}`), "graph[0].op[0]: found no name"},
	{oneOp(`{"name":""}`), "graph[0].op[0]: found no name"},
	{oneOp(`{"name":7}`), "name"},
	{oneOp(`{"name":"a","id":1.5}`), "graph[0].op[0].id, line 1, column 35: found 1.5, wanted an integer"},
	{oneOp(`{"name":"a","id":{}}`), "found an object, wanted an integer"},
	{oneOp(`{"name":"a","input":["b"]}`), `graph[0].op[0].input[0], line 1, column 39: found "b", wanted operator:output`},
	{oneOp(`{"name":"a","input":["b:-2"]}`), "wanted operator:output"},
	{oneOp(`{"name":"a","input":[":0"]}`), "wanted operator:output"},
	{oneOp(`{"name":"a","input":[7]}`), "graph[0].op[0]"},
	{oneOp(`{"name":"a","output_desc":[{"attr":7}]}`), "graph[0].op[0].output_desc[0].attr"},
	{attr("_datadump_origin_output_index", `{"i":-1}`), `graph[0].op[0].output_desc[0].attr[0].value.i, line 1, column 106: found -1, wanted the number of an output`},
	{attr("_datadump_origin_output_index", `{"list":{"i":[1,2]}}`), ".attr[0].value.list.i[1], line 1, column 117: found 2, wanted one value"},
	{attr("_datadump_origin_name", `{"s":{}}`), "wanted a string or a number"},
	{attr("_datadump_origin_name", `{"list":7}`), "value.list, line 1, column 101: found 7, wanted an object"},
	{attr("_datadump_origin_name", `[[]]`), "wanted a string or a number"},
	{attr("origin_shape", `{"list":{"i":[1.5]}}`), `value.list.i[0], line 1, column 98: found 1.5, wanted an integer`},
	{`{"deep":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `,"graph":[]}`, "more than 1000 levels of brackets"},
}

func TestReadFusionBad(t *testing.T) {
	for _, test := range badFusions {
		f, err := ReadFusion(strings.NewReader(test.text))
		if f != nil || err == nil || !strings.HasPrefix(err.Error(), "fusion graph: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.80q: %v, %v, want %s", test.text, f, err, test.want)
		}
	}
}

func FuzzFusion(f *testing.F) {
	f.Add(fused)
	for _, test := range badFusions {
		if len(test.text) < 1000 {
			f.Add(test.text)
		}
	}
	f.Fuzz(checkFusion)
}

// checkFusion reads an arbitrary text as a graph.
func checkFusion(t *testing.T, text string) {
	t.Helper()
	g, err := ReadFusion(strings.NewReader(text))
	if err != nil {
		if g != nil {
			t.Error("a graph along with an error")
		}
		return
	}
	if n := len(g.Order()); n != len(g.Ops) {
		t.Errorf("%d of %d operators in order", n, len(g.Ops))
	}
	for _, op := range g.Ops {
		if op.Name == "" || g.Find(op.Name) == nil {
			t.Errorf("operator %+v", op)
		}
		for i := range op.Inputs {
			g.InputOrigin(i, op.Name)
		}
	}
}

func TestReadConsumers(t *testing.T) {
	// Python made the pickle from these values.
	b, err := os.ReadFile("../pickle/testdata/consumers4.pickle")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"pickle": b,
		"json":   []byte(`{"conv1":["bn1"],"bn1":["relu1","add"],"relu1":["add"],"add":[]}`),
	} {
		g, err := ReadConsumers(bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff([]Producer{{"bn1", -1}, {"relu1", -1}}, g.Find("add").Producers()); diff != "" || len(g.Ops) != 4 {
			t.Errorf("%s: %d nodes\n%s", name, len(g.Ops), diff)
		}
		if op := g.Find("conv1"); op == nil || len(op.Producers()) > 0 {
			t.Errorf("%s: conv1 is %+v", name, op)
		}
		if op := g.Find("conv2"); op != nil {
			t.Errorf("%s: knows conv2", name)
		}
	}
}

func TestReadConsumersBad(t *testing.T) {
	for data, want := range map[string]string{
		"":                 "no STOP opcode",
		"N.":               "wanted a dict",
		"{\"a\":7}":        `a, line 1, column 6: found "7", wanted an array`,
		"{\"a\":[7]}":      "a[0], line 1, column 7: found 7, wanted the name of an operator",
		"{\"a\":[]} x":     "wanted the end of the file",
		"{\"a\":[]":        "line 1, column 8: found the end of the file",
		"}(I1\n]u.":        "wanted a name with a list",
		"}(Va\nVb\nu.":     "wanted a name with a list",
		"}(Va\n](I1\neu.":  `node "a": found a child that is a int`,
		"cos\nsystem\n)R.": `refused: GLOBAL at 0x0 wants "os.system"`,
		manyEdges():        "edges in",
	} {
		g, err := ReadConsumers(strings.NewReader(data))
		if g != nil || err == nil || !strings.HasPrefix(err.Error(), "consumer map: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, %v, want %s", data, g, err, want)
		}
	}
}

// manyEdges returns a pickle in which all nodes share one long list.
func manyEdges() string {
	var b strings.Builder
	b.WriteString("](" + strings.Repeat("Va\n", 100) + "ep0\n0}(")
	for i := range 100 {
		b.WriteString("V" + strings.Repeat("n", i+1) + "\ng0\n")
	}
	return b.String() + "u."
}

func TestTopological(t *testing.T) {
	for text, want := range map[string]string{
		`{"d":["b"],"b":["c","a"],"c":["a"]}`: "d b c a",
		`{"b":["c"],"a":["c"]}`:               "b a c",
		`{"a":["b"],"b":["c"],"c":["b"]}`:     "a b c",
		`{"b":["a"],"a":["b"]}`:               "b a",
		`{"a":["a"]}`:                         "a",
		`{"x":["z","z"],"y":["z"]}`:           "x y z",
		`{}`:                                  "",
	} {
		g, err := ReadConsumers(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(g.Topological(), " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	g, err := ReadFusion(strings.NewReader(`{"graph":[{"op":[{"name":"c","id":1,"input":["a:0"]},{"name":"a","id":2},{"name":"b","id":0}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "a", "c"}, g.Topological()); diff != "" {
		t.Error(diff)
	}
}

// TestTopologicalMatchesASlowSearch: the next operator is the first ready one in execution order; in a cycle, the
// first remaining one.
func TestTopologicalMatchesASlowSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(t, "operators")
		g := new(Graph)
		for i := range n {
			g.add(Op{Name: fmt.Sprint(i), ID: int64(rapid.IntRange(0, 3).Draw(t, "id")), HasID: rapid.Bool().Draw(t, "has id")})
		}
		for range rapid.IntRange(0, 2*n).Draw(t, "edges") {
			g.addEdge(fmt.Sprint(rapid.IntRange(0, n-1).Draw(t, "from")), fmt.Sprint(rapid.IntRange(0, n-1).Draw(t, "to")))
		}
		left := g.Order()
		want := []string{}
		for len(left) > 0 {
			next := slices.IndexFunc(left, func(name string) bool {
				return !slices.ContainsFunc(g.Find(name).Inputs, func(p Producer) bool { return p.Op != name && slices.Contains(left, p.Op) })
			})
			next = max(next, 0)
			want = append(want, left[next])
			left = slices.Delete(left, next, next+1)
		}
		if diff := cmp.Diff(want, g.Topological()); diff != "" {
			t.Error(diff)
		}
		for i, name := range want {
			if place, ok := g.TopologicalIndex("none", name); place != i || !ok {
				t.Errorf("%s has the place %d, want %d", name, place, i)
			}
		}
		if _, ok := g.TopologicalIndex("none"); ok {
			t.Error("an operator that the graph lacks has a place")
		}
	})
}
