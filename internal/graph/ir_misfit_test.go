package graph

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

// TestNoMisfits: a valid graph has no misfits, in any dialect.
func TestNoMisfits(t *testing.T) {
	t.Parallel()
	seen := 0
	err := filepath.WalkDir(filepath.Join("..", "..", "testdata"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.Contains(path, "broken") {
			return err
		}
		s, ok := ParseSaved(e.Name())
		if !ok {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if info, _ := e.Info(); s.Proto {
			g, err := ReadIRProto(f, info.Size())
			return firstMisfit(t, path, g, err, &seen)
		}
		g, err := ReadIR(f)
		return firstMisfit(t, path, g, err, &seen)
	})
	if err != nil || seen < 20 {
		t.Fatalf("%d graphs read, error %v", seen, err)
	}
}

func firstMisfit(t *testing.T, path string, g *IR, err error, seen *int) error {
	t.Helper()
	*seen++
	if err != nil || g.Misfits.Count > 0 {
		t.Errorf("%s: error %v, %d misfits: %v", path, err, g.Misfits.Count, g.Misfits.First)
	}
	return nil
}

// TestMisfits: skipped lines and parts are listed with line number and expectation.
func TestMisfits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"of a node": {
			text: irHead + node("%0 = A()", "Fullname with scope: (A-op0)", "In file /u/a.py line 3", "Fullname with scope A", "anything else") + "      => scope\n}\n",
			want: `line 7: found "/u/a.py line 3", want a line of a script such as net.py:88/code/
line 8: found "Fullname with scope A", want a name in brackets
line 10: found "=> scope", want a line of a node: its types, name or place in a script
`,
		},
		"types of another form": {
			text: irHead + "  %0 = A()\n      types <Tensor>\n      # Fullname with scope: (A-op0)\n  %1 = B(%0)\n      : Tensor\n}\n",
			want: `line 5: found "types <Tensor>", want a line of a node: its types, name or place in a script
line 8: found "Tensor", want (types) or (name)
`,
		},
		"attributes with line feeds": {text: irHead + "  %0 = A() {s: \"x\ny\"}\n      : () -> (<Tensor[Float32], (2)>)\n      : (A-op0)\n}\n"},
		"operands": {
			text: irHead + node("%0 = A(%0, %para9_y, U, \"%7\", %x)") + "}\n",
			want: "line 4: found \"%0\", want a node or parameter defined above\nline 4: found \"%x\", want a node or parameter defined above\n",
		},
		"nodes": {
			text: irHead + "  %0: A()\n  % = B()\n  Returns\n  C\n  }\n...\n  Return(%0)\n      : (<Tensor[Float32], (2)>)\n      what\n}\n",
			want: `line 4: found "%0: A()", want %4(name) = Operator(operands)
line 5: found "% = B()", want %4(name) = Operator(operands)
line 6: found "Returns", want %4(name) = Operator(operands)
line 7: found "C", want %4(name) = Operator(operands)
line 8: found "}", want %4(name) = Operator(operands)
`,
		},
		"head": {
			text: "# IR entry: @g\nKey : value\nno key\n%para x\n}\nsubgraph attr:\nsubgraph @g() {\n}\n",
			want: `line 3: found "no key", want a line of the head such as KEY: VALUE, or a subgraph
line 4: found "%para x", want a line of the head such as KEY: VALUE, or a subgraph
line 5: found "}", want a line of the head such as KEY: VALUE, or a subgraph
`,
		},
		"no graph": {text: "a\nb\n%1\n"},
		"sorted":   {text: "%1 : Tensor(F32)[2] = Primitive::Sub{prim_type=1}(%para1, 1)\nx\n"},
	} {
		g, _ := ReadIR(strings.NewReader(test.text))
		if diff := cmp.Diff(test.want, misfitText(g)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if strings.Contains(test.text, "A-op0") && (len(g.Nodes) == 0 || g.Nodes[0].Name != "A-op0") {
			t.Errorf("%s: the node has no name", name)
		}
	}
}

func misfitText(g *IR) string {
	var b strings.Builder
	for i := range g.Misfits.First {
		b.WriteString(g.Misfits.First[i].String() + "\n")
	}
	return b.String()
}

// TestProtoMisfits: fields that are no text, invalid source locations, and inputs without a
// producer.
func TestProtoMisfits(t *testing.T) {
	t.Parallel()
	text := func(b []byte, field protowire.Number, value string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), value)
	}
	var one []byte
	one = protowire.AppendVarint(protowire.AppendTag(one, nodeFullName, protowire.VarintType), 7)
	one = text(text(text(one, nodeName, "1"), nodeInput, string(text(nil, inputName, "x"))), nodeSource, "      # In file /u/a.py\n")
	one = text(one, nodeInput, string(text(nil, inputName, "cst1")))
	one = protowire.AppendVarint(protowire.AppendTag(one, 99, protowire.VarintType), 7) // field of a later version
	graph := text(text(nil, graphNode, string(one)), graphConst, string(text(nil, constKey, "cst1")))
	file := string(text(nil, modelGraph, string(graph)))
	g, err := ReadIRProto(strings.NewReader(file), int64(len(file)))
	want := `byte 4: found "full_name as a number", want a text
byte 4: found "/u/a.py", want a line of a script such as net.py:88/code/
byte 4: found "input x", want a node before, a parameter or a constant
`
	if diff := cmp.Diff(want, misfitText(g)); err != nil || diff != "" {
		t.Errorf("error %v\n%s", err, diff)
	}
}
