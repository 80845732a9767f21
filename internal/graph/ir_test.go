package graph

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"dumptool/internal/tensor"
)

// describe prints the important facts of a graph, one node a line.
func describe(g *IR) string {
	var b strings.Builder
	for i := range g.Nodes {
		n := &g.Nodes[i]
		fmt.Fprintf(&b, "%s %s %s", g.Label(n), n.Type, n.Name)
		if f, via := g.Script(n); via != ViaNone {
			fmt.Fprintf(&b, " %s:%d-%d %q %s", g.Text(f.Path), f.Line, f.End, g.Text(f.Code), via)
		}
		for k := range g.InputCount(n) {
			b.WriteString(" <")
			for _, s := range g.Producers(n, k) {
				if s.Node >= 0 {
					fmt.Fprintf(&b, " %s:%d", g.Label(&g.Nodes[s.Node]), s.Output)
				} else {
					fmt.Fprintf(&b, " %s", g.Params[s.Param].Name)
				}
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

const irHead = "# IR entry: @g\n%para1_x: <Tensor[Float32], (2)>\nsubgraph @g() {\n"

// node returns the text of a node in the format of the newest writer.
func node(line string, comments ...string) string {
	text := "  " + line + "\n      : (<Tensor[Float32], (2)>) -> (<Tensor[Float32], (2)>)\n"
	for _, c := range comments {
		text += "      # " + c + "\n"
	}
	return text
}

// TestReadIR reads single nodes in the formats of all writers; the golden trees of dumptool find
// have whole files.
func TestReadIR(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want, err string }{
		"operands": {
			text: irHead + node(`%0(a) = Add(%para1_x, "a) %5, (", (1, 2), I64(3), %7)`, "Fullname with scope: (A/Add-op1)") +
				node("%1(b) = Sub(%0, %0)", "Fullname with scope: (A/Sub-op2)") + "}\n",
			want: "%0 Add A/Add-op1 < x < < < <\n%1 Sub A/Sub-op2 < %0:0 < %0:0\n",
		},
		"text without quotes": {
			text: irHead + node(`%0(a) = Print(%para1_x, a( {b) primitive_attrs: {x: y}`, "Fullname with scope: (A/Print-op1)") + "}\n",
			want: "%0 Print A/Print-op1 < x <\n",
		},
		"tuples": {
			text: irHead + node("%0 = A(%para1_x)", "Fullname with scope: (A-op0)") + node("%1 = MakeTuple(%0, %para1_x)") +
				node("%2 = TupleGetItem(%1, 1)") + node("%3 = Depend(%2, %0)") + node("%4 = B(%3, %1)", "Fullname with scope: (B-op4)") +
				node("%5 = TupleGetItem(%0, 2)") + node("%6 = UpdateState(U, %0)") + node("%7 = C(%5, %6)") + "}\n",
			want: "%0 A A-op0 < x\n%1 MakeTuple  < %0:0 < x\n%2 TupleGetItem  < %0:0 x <\n%3 Depend  < x < %0:0\n%4 B B-op4 < x < %0:0 x\n%5 TupleGetItem  < %0:0 <\n%6 UpdateState  < < %0:0\n%7 C  < %0:2 <\n",
		},
		"other subgraphs": {
			text: irHead + node("%0(n1) = A(%para1_x)") + "}\nsubgraph @h parent: [subgraph @g](%para2_y) {\n" + node("%0(n2) = B($(@g:n1), %para2_y, $(@g:para1_x), $(@g:nobody), @g)") + "}\n",
			want: "%0 A  < x\n%0 B  < %0:0 < y < x < <\n",
		},
		"calls": {
			text: irHead + node("%0 = call @h(%para1_x)") + node("%1 = %0[@FuncUnion(@a, @b)](%0)") + node("%2 = $(@g:x)(%1)") + node("%3 = DoSignaturePrimitive::S-Prim-mul(%2)") + "}\n",
			want: "%0 call  < x\n%1 call  < %0:0\n%2 call  < %1:0\n%3 DoSignaturePrimitive::S-Prim-mul  < %2:0\n",
		},
		"locations": {
			text: irHead +
				node("%0 = A()", "Fullname with scope: (A-op0)", "In file /u/a.py:7~9, 8~25/        x = y  /  2 / # no/#label", "In file /usr/mindspore/nn/l.py:3/f()/") +
				node("%1 = B()", "In file /u/a b(1).py(8)/x = 'http://h:80/p'/") +
				node("%2 = C()", "Fullname with scope: (C-op0)", "In file /u/a.py:5~90, 1~2/def construct(self):/", "In file /u/a.py:6/") +
				node("%3 = D()", "Fullname with scope: (D-op0)", "In file /u/a.py:no/") +
				node("%4 = E()", "Corresponding code candidate:", " - In file /u/a.py:5/a/<~~This line of code can be shared by multiple nodes, and may be duplicated./") + "}\n",
			want: "%0 A A-op0 /u/a.py:7-9 \"x = y / 2 / # no\" own\n%1 B  /u/a b(1).py:8-8 \"x = 'http://h:80/p'\" own\n%2 C C-op0 /u/a.py:6-6 \"\" own\n%3 D D-op0\n%4 E  /u/a.py:5-5 \"a\" fused\n",
		},
		"a user's folder mindspore": {
			text: irHead + node("%0 = A()", "In file /home/u/mindspore/train.py:3/a/", "In file /x/site-packages/mindspore/train.py:4/b/") + "}\n",
			want: "%0 A  /home/u/mindspore/train.py:3-3 \"a\" own\n",
		},
		"gradients": {
			text: irHead + node(`%0 = A() cnode_primal_attrs: {unique_id: "17"}`, "In file /u/a.py:3/a/") + node(`%1 = B() cnode_primal_attrs: {forward_unique_id: "17"}`) +
				node(`%2 = C() cnode_primal_attrs: {forward_unique_id: "18"}`) + "}\n",
			want: "%0 A  /u/a.py:3-3 \"a\" own\n%1 B  /u/a.py:3-3 \"a\" forward\n%2 C \n",
		},
		"line feeds in attributes": {
			text: irHead + "  %0 = A(%para1_x) primitive_attrs: {s: \"a\n}b\", unique_id: \"3\"}\n      : (<Tensor[Float32], (2)>) -> (<Tensor[Float32], (2)>)\n      # Fullname with scope: (A-op0)\n}\n",
			want: "%0 A A-op0 < x\n",
		},
		"scope only":   {text: irHead + node("%0 = A()", "scope: (Default/net)") + "}\n", want: "%0 A Default/net\n"},
		"bytes":        {text: irHead + node("%0 = A()", "Fullname with scope: (A\xff-op0)") + "}\n", want: "%0 A A\ufffd-op0\n"},
		"numbers":      {text: irHead + node("%99999999999 = A()") + node("%2147483647 = B(%2147483647)") + node("%3 = C(%2147483647)") + "}\n", want: "%2147483647 B  <\n%3 C  < %2147483647:0\n"},
		"cut":          {text: irHead + node("%0 = A()", "Fullname with scope: (A-op0)") + "  %1 = B(%0", want: "%0 A A-op0\n", err: "the file ends inside a subgraph"},
		"cut name":     {text: irHead + node("%0 = A()", "Fullname with scope: (A-op0)") + node("%1 = B($(@g:z))", "Fullname with sc"), want: "%0 A A-op0\n", err: "the file ends inside a subgraph"},
		"empty":        {err: "the file is empty at byte 0"},
		"other text":   {text: "hello\n%\n%x\n", err: `neither "IR entry" nor "subgraph @" found`},
		"gzip":         {text: "\x1f\x8b\x08\x00\x00", err: `neither "IR entry"`},
		"sorted":       {text: "%1 : Tensor(F32)[2] = Primitive::Sub{prim_type=1}(%para1, 1)\n", err: "MS_DEV_SAVE_GRAPHS_SORT_MODE"},
		"no subgraph":  {text: "# IR entry: @g\n", want: ""},
		"odd brackets": {text: irHead + node("%0 = A)(%1]") + node("%1 = (") + node("%2 = $(@") + node("%3 = %0[") + "}\n", want: "%0 A)  <\n%1  \n%2 call  <\n%3 call \n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, err := ReadIR(iotest.OneByteReader(strings.NewReader(test.text)))
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if diff := cmp.Diff(test.want, describe(g)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestIRLongLine: a line of 100 MB takes at most 16 MiB, and its neighbours are read.
func TestIRLongLine(t *testing.T) {
	t.Parallel()
	long := io.LimitReader(neverEnding('x'), 100<<20)
	in := io.MultiReader(strings.NewReader(irHead+"  %0 = A() {"), long, strings.NewReader("}\n      # Fullname with scope: (A-op0)\n"+node("%1 = B(%0)")+"}\n"))
	g, err := ReadIR(in)
	if want := "%0 A A-op0\n%1 B  < %0:0\n"; err != nil || describe(g) != want || len(g.Warnings) != 1 {
		t.Errorf("error %v, warnings %q, graph\n%s", err, g.Warnings, describe(g))
	}
}

type neverEnding byte

func (b neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

// TestIRReadError: a read error ends the graph before the error's place.
func TestIRReadError(t *testing.T) {
	t.Parallel()
	text := irHead + node("%0 = A()", "Fullname with scope: (A-op0)") + node("%1 = B(%0)")
	g, err := ReadIR(io.MultiReader(strings.NewReader(text), iotest.ErrReader(iotest.ErrTimeout)))
	if err != iotest.ErrTimeout || describe(g) != "%0 A A-op0\n" { //nolint:errorlint // same value
		t.Errorf("error %v, graph\n%s", err, describe(g))
	}
}

func TestIRTypes(t *testing.T) {
	t.Parallel()
	float32s := TensorType{DType: "Float32", Shape: tensor.Shape{2, 3}}
	for text, want := range map[string][2][]TensorType{
		": (<Tensor[Float32]x[const vector][2, 3]>) -> (<Tensor[Float32]x[const vector][2, 3]>)":                                                                                                               {{float32s}, {float32s}},
		": (<Ref[Tensor(F32)], (2, 3)>, <UMonad, NoShape>) -> (<Tensor[Float32], (2, 3)>, <Tensor(I64), ()>)":                                                                                                  {{float32s, {DType: "UMonad"}}, {float32s, {DType: "Int64", Shape: tensor.Shape{}}}},
		": (<Ref[Tensor[Float32]], (2, 3), ref_key=:w>) -> (<Tensor[Bool], (-1)>)":                                                                                                                             {{float32s}, {{DType: "Bool", Shape: tensor.Shape{-1}}}},
		": (<Tensor[Float32], (2, 3)>) -> (<Tensor[Float32], (2, 3)>)\n      : (<Float16xNC1HWC0[const vector][2, 1, 4, 4, 16]>) -> (<Complex64xFRACTAL_NZ(2, 3)>)\n      : (<Tensor[Int8], (9)>) -> (<x, y>)": {{{"Float16", "NC1HWC0", tensor.Shape{2, 1, 4, 4, 16}, tensor.Shape{2, 3}}}, {{"Complex64", "FRACTAL_NZ", tensor.Shape{2, 3}, tensor.Shape{2, 3}}}},
		": (, ) -> ()": {},
		": (<Tensor[Float32], (a)>, <Tensor[, <<>) -> (": {{{DType: "Float32"}}, nil},
	} {
		file := "#\n  %0 = A(%1)\n      " + text + "\n      # Fullname with scope: (A-op0)\n  %1 = B()\n"
		inputs, outputs := new(IR).Types(strings.NewReader(file), &Node{Offset: 2})
		if diff := cmp.Diff(want, [2][]TensorType{inputs, outputs}); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}

func TestParseSaved(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]SavedFile{
		"ms_output_trace_code_graph_3.ir":         {0, 3, -1, false},
		"ms_output_trace_code_graph_12.pb":        {0, 12, -1, true},
		"trace_code_graph_0":                      {1, 0, -1, false},
		"trace_code_graph_0063":                   {1, -1, 63, false},
		"trace_code_graph_0063.ir":                {1, -1, 63, false},
		"trace_code_graph_1_0063.ir":              {1, 1, 63, false},
		"graph_build_0_0136.ir":                   {2, 0, 136, false},
		"hwopt_d_end_graph_0_0043.ir":             {3, 0, 43, false},
		"hwopt_common_before_graph_0_0013.ir":     {4, 0, 13, false},
		"18_execute_0161.ir":                      {5, -1, 161, false},
		"17_validate_0155.ir":                     {6, -1, 155, false},
		"17_validate.ir":                          {6, -1, -1, false},
		"snippet.ir":                              {OtherStage, -1, -1, false},
		"ms_output_trace_code_graph_99999999.ir":  {0, 99999999, -1, false},
		"ms_output_trace_code_graph_999999999999": {},
		"ms_execution_order_graph_0.csv":          {},
		"00_bootstrap_0001.dot":                   {},
		"net.pb":                                  {},
	} {
		if got, ok := ParseSaved(name); got != want || ok != (want != SavedFile{}) {
			t.Errorf("%s: %+v %v, want %+v", name, got, ok, want)
		}
	}
}

// protoNode is a node of debug_graph.proto.
func protoNode(number, opType, fullName, source string, inputs ...string) []byte {
	var b []byte
	for _, in := range inputs {
		b = appendMessage(b, nodeInput, appendMessage(nil, inputName, []byte(in)))
	}
	b = appendMessage(b, nodeName, []byte(number))
	b = appendMessage(b, nodeType, []byte(opType))
	b = appendMessage(b, nodeFullName, []byte(fullName))
	return appendMessage(b, nodeSource, []byte(source))
}

func appendMessage(b []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), value)
}

func TestReadIRProto(t *testing.T) {
	t.Parallel()
	number := appendMessage(appendMessage(nil, constKey, []byte("cst1")), constValue, protowire.AppendVarint(protowire.AppendTag(nil, valueInt, protowire.VarintType), 1))
	word := appendMessage(appendMessage(nil, constKey, []byte("cst2")), constValue, appendMessage(nil, valueText, []byte("2")))
	tensorOf := appendMessage(protowire.AppendVarint(protowire.AppendTag(nil, typeElem, protowire.VarintType), 10), tensorShape,
		appendMessage(nil, 1, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 5)))
	first := appendMessage(protoNode("1", "A", "A-op0", "      # In file /u/a.py(3)/x/\n      # In file /u/t.py(4)/y/\n", "w", "cst1"), nodeOutput, appendMessage(nil, typeTensor, tensorOf))
	control := appendMessage(nil, nodeInput, protowire.AppendVarint(protowire.AppendTag(appendMessage(nil, inputName, []byte("1")), inputEdge, protowire.VarintType), 1))
	var graph []byte
	for _, n := range [][]byte{first, protoNode("2", tupleGetItem, "T-op1", "", "1", "cst1"), protoNode("3", "B", "B-op2", "", "2", "9"), protoNode("4", tupleGetItem, "", "", "1", "cst2"), append(control, protoNode("5", "C", "C-op3", "", "4")...), nil} {
		graph = appendMessage(graph, graphNode, n)
	}
	graph = appendMessage(graph, graphParam, appendMessage(nil, paramName, []byte("w")))
	graph = appendMessage(appendMessage(graph, graphConst, number), graphConst, word)
	file := appendMessage(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1), modelGraph, graph)
	const want = "1 A A-op0 /u/a.py:3-3 \"x\" own < w <\n2 TupleGetItem T-op1 < 1:0 <\n3 B B-op2 < 1:1 <\n4 TupleGetItem  < 1:0 <\n5 C C-op3 < < 1:2\n   \n"
	read := func(b []byte) (*IR, error) { return ReadIRProto(bytes.NewReader(b), int64(len(b))) }
	g, err := read(file)
	if diff := cmp.Diff(want, strings.ReplaceAll(describe(g), "  \n", "   \n")); diff != "" || err != nil {
		t.Errorf("error %v\n%s", err, diff)
	}
	if _, outputs := g.Types(bytes.NewReader(file), &g.Nodes[0]); len(outputs) != 1 || outputs[0].DType != "Float16" || !outputs[0].Shape.Equal(tensor.Shape{5}) {
		t.Errorf("types %+v", outputs)
	}
	// Cut anywhere, the complete nodes before the cut are read.
	for size := range file {
		g, err := read(file[:size])
		if err == nil && size != 2 || len(g.Nodes) > 0 && (g.Nodes[0].Name != "A-op0" || len(g.Nodes) > 6) {
			t.Errorf("%d bytes: %d nodes, error %v", size, len(g.Nodes), err)
		}
	}
	for text, wanted := range map[string]string{
		"":                         "the file is empty",
		"\n\xff\xff":               "ends inside a message",
		"\x00":                     "field number 0",
		"\x0b":                     "wire type 3",
		"\x22\x7f":                 "the file is truncated",
		"\x22\x02\x0a\x02\x08\x01": "inside a message with",
		"\x08\x01":                 "no graph found",
		"\x22\x03\x0a\x01\x0a":     "at byte 4",
		"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff": "more than 64 bits",
	} {
		if g, err := read([]byte(text)); err == nil || !strings.Contains(err.Error(), wanted) || len(g.Nodes) > 0 {
			t.Errorf("%q: error %v, want %q", text, err, wanted)
		}
	}
}

// goldenIRs returns the graphs of the golden trees.
func goldenIRs(t testing.TB, ext string) map[string][]byte {
	t.Helper()
	root := filepath.Join("..", "..", "testdata", "golden", "mindspore")
	all := make(map[string][]byte)
	for _, pattern := range []string{"*/*" + ext, "*/graphs/*" + ext, "*/*/graphs/*" + ext, "*/*/*/graphs/*" + ext} {
		names, _ := filepath.Glob(filepath.Join(root, pattern))
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = data
		}
	}
	if len(all) < 3 {
		t.Fatalf("%d files", len(all))
	}
	return all
}

// checkIR checks invariants of every graph.
func checkIR(t *testing.T, g *IR, file []byte) {
	t.Helper()
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Offset < 0 || n.Offset > int64(len(file)) || n.Offset == int64(len(file)) && !g.Proto || int(n.Subgraph) >= len(g.Subgraphs) {
			t.Fatalf("node %d: offset %d of %d, subgraph %d of %d", i, n.Offset, len(file), n.Subgraph, len(g.Subgraphs))
		}
		if !g.Proto && file[n.Offset] != ' ' && file[n.Offset] != '\t' && file[n.Offset] != '%' {
			t.Fatalf("node %d: no node at byte %d", i, n.Offset)
		}
		for k := range g.InputCount(n) {
			for _, s := range g.Producers(n, k) {
				if s.Node >= len(g.Nodes) || s.Param >= len(g.Params) || (s.Node < 0) == (s.Param < 0) {
					t.Fatalf("node %d: producer %+v", i, s)
				}
				g.FollowViews(s)
			}
		}
		if i < 20 {
			g.Types(bytes.NewReader(file), n)
		}
	}
	_ = describe(g)
	for i := range min(len(g.Params), 20) {
		g.Readers(i)
	}
}

// shortIR shortens a graph, possibly damaged, to the first two nodes and the last one of every
// subgraph. The last node's text runs on to the next subgraph.
func shortIR(data []byte) []byte {
	g, _ := ReadIR(bytes.NewReader(data))
	var short []byte
	var from int64
	for i := 2; i+1 < len(g.Nodes); i++ {
		if this, next := &g.Nodes[i], &g.Nodes[i+1]; this.Subgraph == g.Nodes[i-2].Subgraph && this.Subgraph == next.Subgraph {
			short = append(short, data[from:this.Offset]...)
			from = next.Offset
		}
	}
	return append(short, data[from:]...)
}

// FuzzReadIR: the reader never panics.
func FuzzReadIR(f *testing.F) {
	for _, data := range goldenIRs(f, ".ir") {
		f.Add(shortIR(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		g, _ := ReadIR(bytes.NewReader(data))
		checkIR(t, g, data)
	})
}

// FuzzReadIRProto: the reader never panics.
func FuzzReadIRProto(f *testing.F) {
	for _, data := range goldenIRs(f, ".pb") {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		g, _ := ReadIRProto(bytes.NewReader(data), int64(len(data)))
		checkIR(t, g, data)
	})
}

// TestIRCut: cut a graph anywhere: the complete nodes before the cut equal those of the whole file,
// and a cut inside a subgraph is an error.
func TestIRCut(t *testing.T) {
	t.Parallel()
	for name, data := range goldenIRs(t, ".ir") {
		whole, wholeErr := ReadIR(bytes.NewReader(data))
		lines := strings.SplitAfter(describe(whole), "\n")
		for size := 0; size < len(data); size += 113 {
			g, err := ReadIR(bytes.NewReader(data[:size]))
			wanted := 0 // complete nodes before the cut
			for wanted+1 < len(whole.Nodes) && whole.Nodes[wanted+1].Offset <= int64(size) {
				wanted++
			}
			if len(g.Nodes) < wanted || len(g.Nodes) > wanted+1 {
				t.Fatalf("%s: %d bytes: %d nodes, want %d or one more", name, size, len(g.Nodes), wanted)
			}
			if got := strings.SplitAfter(describe(g), "\n"); wholeErr == nil && len(whole.Subgraphs) == 1 && !slices.Equal(got[:wanted], lines[:wanted]) {
				t.Fatalf("%s: %d bytes: nodes\n%s", name, size, cmp.Diff(lines[:wanted], got[:wanted]))
			}
			if len(g.Nodes) > 0 && err == nil && bytes.Count(data[:size], []byte("\nsubgraph @")) > bytes.Count(data[:size], []byte("\n}")) {
				t.Fatalf("%s: %d bytes: no error", name, size)
			}
		}
	}
}

// TestIRProtoCut: TestIRCut for graphs in protobuf.
func TestIRProtoCut(t *testing.T) {
	t.Parallel()
	for name, data := range goldenIRs(t, ".pb") {
		whole, _ := ReadIRProto(bytes.NewReader(data), int64(len(data)))
		for size := 0; size < len(data); size += 23 {
			g, err := ReadIRProto(bytes.NewReader(data[:size]), int64(size))
			wanted := 0
			for wanted < len(whole.Nodes) && whole.Nodes[wanted].Offset+int64(whole.Nodes[wanted].length) <= int64(size) {
				if wanted < len(g.Nodes) && g.Nodes[wanted].Name != whole.Nodes[wanted].Name {
					t.Fatalf("%s: %d bytes: node %d is %s", name, size, wanted, g.Nodes[wanted].Name)
				}
				wanted++
			}
			if len(g.Nodes) != wanted || wanted > 0 && err == nil && size < len(data)-100 {
				t.Fatalf("%s: %d bytes: %d nodes, want %d, error %v", name, size, len(g.Nodes), wanted, err)
			}
		}
	}
}

// TestIRForeign: the text reader refuses protobuf, and the protobuf reader text.
func TestIRForeign(t *testing.T) {
	t.Parallel()
	for name, data := range goldenIRs(t, ".ir") {
		if g, err := ReadIRProto(bytes.NewReader(data), int64(len(data))); err == nil || len(g.Nodes) > 0 {
			t.Errorf("%s as protobuf: %d nodes, error %v", name, len(g.Nodes), err)
		}
	}
	for name, data := range goldenIRs(t, ".pb") {
		if g, err := ReadIR(bytes.NewReader(data)); err == nil || len(g.Nodes) > 0 {
			t.Errorf("%s as text: %d nodes, error %v", name, len(g.Nodes), err)
		}
	}
}

// TestIRProtoLong: a message longer than any node is skipped, and its neighbours are read.
func TestIRProtoLong(t *testing.T) {
	t.Parallel()
	const long = 100 << 20
	before := appendMessage(nil, graphNode, protoNode("1", "A", "A-op0", ""))
	head := protowire.AppendVarint(protowire.AppendTag(nil, graphNode, protowire.BytesType), long)
	after := appendMessage(nil, graphNode, protoNode("2", "B", "B-op1", "", "1"))
	size := len(before) + len(head) + long + len(after)
	top := protowire.AppendVarint(protowire.AppendTag(nil, modelGraph, protowire.BytesType), uint64(size))
	in := io.MultiReader(bytes.NewReader(top), bytes.NewReader(before), bytes.NewReader(head), io.LimitReader(neverEnding('x'), long), bytes.NewReader(after))
	g, err := ReadIRProto(in, int64(len(top)+size))
	if want := "1 A A-op0\n2 B B-op1 < 1:0\n"; err != nil || describe(g) != want || g.Misfits.Count != 1 {
		t.Errorf("error %v, misfits %v, graph\n%s", err, g.Misfits.First, describe(g))
	}
}

// TestDeepTuples checks that nested tuples use no stack: nested as deep as a file has nodes, they
// would overflow it.
func TestDeepTuples(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	const depth = 100_000
	g := &IR{Nodes: make([]Node, depth+2), inputs: make([]ref, depth+1)}
	g.Nodes[0].Type = "Add"
	for i := range depth + 1 {
		n := &g.Nodes[i+1]
		n.Type, g.inputs[i] = makeTuple, ref(i)
		n.inputs.from, n.inputs.to = int32(i), int32(i+1)
	}
	last := &g.Nodes[depth+1]
	last.Type = "Print"
	if diff := cmp.Diff([]Source{{Node: 0, Param: -1}}, g.Producers(last, 0)); diff != "" {
		t.Error(diff)
	}
}
