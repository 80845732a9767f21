package pairing

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/tensor"
)

// fused is a graph as GE writes it; a TransData follows the convolution and
// stands for the same result.
const fused = `{"name":"model","graph":[{"name":"g","op":[
{"name":"data","type":"Data","id":0,"output_desc":[{"attr":[{"key":"_datadump_origin_name","value":{"s":"input:x"}},{"key":"_datadump_origin_output_index","value":{"i":0}}]}]},
{"name":"cast","type":"Cast","id":1,"input":["data:0"]},
{"name":"net/conv1relu1","type":"Conv2D","id":"3","input":["cast:0","","weights:0","data:-1"],"attr":[
  {"key":"_datadump_original_op_names","value":{"list":{"s":["net/conv1","net/relu1"],"val_type":1}}},
  {"key":"_L1_fusion_sub_graph_no","value":{"s":"7"}},{"key":"_datadump_is_multiop","value":{"b":true}}],
 "output_desc":[{"shape":{"dim":[1,2]},"attr":[
  {"key":"_datadump_origin_name","value":{"s":"net/relu1"}},{"key":"_datadump_origin_output_index","value":{"i":"1"}},
  {"key":"_datadump_origin_format","value":{"s":"NHWC"}},{"key":"origin_shape","value":{"list":{"i":[1,8,8,64]}}}]},{}]},
{"name":"trans","type":"TransData","id":2,"input":["net/conv1relu1:0"],"output_desc":[{"attr":{"_datadump_origin_name":"net/relu1","_datadump_origin_output_index":1}}]},
{"name":"late","type":"Add","input":["trans:0","net/conv1relu1:1"],"dst_index":[[[0]]]}
]}],"version":[1,{"a":2}]}`

func mustFusion(t *testing.T, text string) *Fusion {
	t.Helper()
	f, err := ReadFusion(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestReadFusion(t *testing.T) {
	f := mustFusion(t, fused)
	want := FusionOp{
		Name: "net/conv1relu1", Type: "Conv2D", ID: 3, HasID: true,
		Inputs:    []Producer{{"cast", 0}, {"", -1}, {"weights", 0}},
		Outputs:   []Origin{{"net/relu1", 1, "NHWC", tensor.Shape{1, 8, 8, 64}}, {}},
		Originals: []string{"net/conv1", "net/relu1"}, L1Group: "7", MultiOp: true,
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
	// The cast has no origin and is looked through.
	if o, ok := f.InputOrigin(0, "net/conv1relu1"); !ok || o.Op != "input:x" {
		t.Errorf("input 0: %+v, %v", o, ok)
	}
	for _, input := range []int{-1, 1, 2, 3} {
		if o, ok := f.InputOrigin(input, "net/conv1relu1"); ok {
			t.Errorf("input %d: %+v", input, o)
		}
	}
	g := f.Graph()
	late, _ := g.Find("late")
	if diff := cmp.Diff([]Producer{{"trans", 0}, {"net/conv1relu1", 1}}, late); diff != "" || g.Len() != 5 {
		t.Errorf("%d producers\n%s", g.Len(), diff)
	}
	if diff := cmp.Diff([]string{"data", "cast", "trans", "net/conv1relu1", "late"}, f.order()); diff != "" {
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
	want := []string{`graph[1].op[0]: the operator "a" comes again, the first counts (graph 0)`}
	if diff := cmp.Diff(want, f.Warnings); diff != "" || len(f.Ops) != 2 || f.Ops[1].Graph != 1 {
		t.Errorf("%+v\n%s", f.Ops, diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, f.order()); diff != "" {
		t.Error(diff)
	}
}

func oneOp(op string) string { return `{"graph":[{"op":[` + op + `]}]}` }

func attr(key, value string) string {
	return oneOp(`{"name":"a","output_desc":[{"attr":[{"key":"` + key + `","value":` + value + `}]}]}`)
}

var badFusions = []struct{ text, want string }{
	{"", "document, byte 0: unexpected EOF"},
	{"[]", `found "[", want "{"`},
	{"{}", `no "graph"`},
	{`{"graph":{}}`, `graph, byte 10: found "{", want "["`},
	{`{"graph":[7]}`, `graph[0], byte 11: found "7", want "{"`},
	{`{"graph":[{"op":"x"}]}`, `graph[0].op`},
	{`{"graph":[{"op":[{"name":"a"},7]}]}`, "graph[0].op[1]"},
	{`{"graph":[]} x`, "document"},
	{`{"graph":[]}{}`, "want nothing more"},
	{`{"graph":[{"op":[{"name":"a"}`, "unexpected EOF"},
	{oneOp(`{"type":"x"}`), "name is missing"},
	{oneOp(`{"name":""}`), "name is missing"},
	{oneOp(`{"name":7}`), "name"},
	{oneOp(`{"name":"a","id":1.5}`), "id is 1.5, want an integer"},
	{oneOp(`{"name":"a","id":{}}`), "want an integer"},
	{oneOp(`{"name":"a","input":["b"]}`), `operator "a": input[0] is "b", want operator:output`},
	{oneOp(`{"name":"a","input":["b:-2"]}`), "want operator:output"},
	{oneOp(`{"name":"a","input":[":0"]}`), "want operator:output"},
	{oneOp(`{"name":"a","input":[7]}`), "graph[0].op[0]"},
	{oneOp(`{"name":"a","attr":7}`), "graph[0].op[0]"},
	{attr("_datadump_origin_output_index", `{"i":-1}`), `output_desc[0]: _datadump_origin_output_index is "-1"`},
	{attr("_datadump_origin_output_index", `{"list":{"i":[1,2]}}`), "has 2 values, want one"},
	{attr("_datadump_origin_name", `{"s":{}}`), "want texts or numbers"},
	{attr("_datadump_origin_name", `{"list":7}`), "want texts or numbers"},
	{attr("_datadump_origin_name", `[[]]`), "want texts or numbers"},
	{attr("origin_shape", `{"list":{"i":[1.5]}}`), `origin_shape has "1.5", want integers`},
	{`{"deep":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `,"graph":[]}`, "exceeded max depth"},
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
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ReadFusion(strings.NewReader(text))
		if err != nil {
			if g != nil {
				t.Error("a graph along with an error")
			}
			return
		}
		if n := len(g.order()); n != len(g.Ops) || g.Graph().Len() > n {
			t.Errorf("%d of %d operators in order", n, len(g.Ops))
		}
		for _, op := range g.Ops {
			if op.Name == "" || g.find(op.Name) == nil {
				t.Errorf("operator %+v", op)
			}
			for i := range op.Inputs {
				g.InputOrigin(i, op.Name)
			}
		}
	})
}

func TestReadConsumers(t *testing.T) {
	// The pickle was made by Python from this.
	b, err := os.ReadFile("../../pickle/testdata/consumers4.pickle")
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
		add, _ := g.Find("add")
		if diff := cmp.Diff([]Producer{{"bn1", -1}, {"relu1", -1}}, add); diff != "" || g.Len() != 4 {
			t.Errorf("%s: %d nodes\n%s", name, g.Len(), diff)
		}
		if p, ok := g.Find("conv1"); p != nil || !ok {
			t.Errorf("%s: conv1 reads %v, %v", name, p, ok)
		}
		if _, ok := g.Find("conv2"); ok {
			t.Errorf("%s: knows conv2", name)
		}
	}
}

func TestReadConsumersBad(t *testing.T) {
	for data, want := range map[string]string{
		"":                 "no STOP opcode",
		"N.":               "want a dict",
		"{\"a\":7}":        `node "a"`,
		"{\"a\":[7]}":      `node "a"`,
		"{\"a\":[]} x":     "document",
		"{\"a\":[]":        "unexpected EOF",
		"}(I1\n]u.":        "want a name with a list",
		"}(Va\nVb\nu.":     "want a name with a list",
		"}(Va\n](I1\neu.":  `node "a" has a child that is a int64`,
		"cos\nsystem\n)R.": `refused: GLOBAL at 0x0 wants "os.system"`,
		manyEdges():        "edges in",
	} {
		g, err := ReadConsumers(strings.NewReader(data))
		if g != nil || err == nil || !strings.HasPrefix(err.Error(), "consumer map: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, %v, want %s", data, g, err, want)
		}
	}
}

// manyEdges is a pickle in which all nodes share one long list.
func manyEdges() string {
	var b strings.Builder
	b.WriteString("](" + strings.Repeat("Va\n", 100) + "ep0\n0}(")
	for i := range 100 {
		b.WriteString("V" + strings.Repeat("n", i+1) + "\ng0\n")
	}
	return b.String() + "u."
}
