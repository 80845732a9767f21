package graph

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fusedText is the graph fused as protobuf text.
//
//go:embed testdata/fused.pbtxt
var fusedText string

// TestReadText: text and JSON of a graph give the same result.
func TestReadText(t *testing.T) {
	want := mustFusion(t, fused)
	for name, in := range map[string]io.Reader{
		"at once":    strings.NewReader(fusedText),
		"in a line":  strings.NewReader(strings.ReplaceAll(strings.ReplaceAll(fusedText[strings.IndexByte(fusedText, '\n')+1:], "\n", " "), "  ", " ")),
		"in pieces":  iotest.OneByteReader(strings.NewReader(fusedText)),
		"of Windows": strings.NewReader(strings.ReplaceAll(fusedText, "\n", "\r\n")),
	} {
		got, err := ReadFusion(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want.Ops, got.Ops, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if diff := cmp.Diff(want.Order(), got.Order()); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestTextTwice(t *testing.T) {
	g := mustFusion(t, "graph { op { name: 'a' id: 2 } } graph { op { name: 'a' } op { name: 'b' } }")
	want := []string{`graph[1].op[0]: duplicate operator "a", the first counts (graph 0)`}
	if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(g.Warnings)); diff != "" || len(g.Ops) != 2 || g.Ops[1].Section != 1 {
		t.Errorf("%+v\n%s", g.Ops, diff)
	}
	if g := mustFusion(t, "graph { }"); len(g.Ops) > 0 {
		t.Errorf("%+v", g.Ops)
	}
}

func textOp(fields string) string { return "graph {\nop {\nname: 'a' " + fields + " } }" }

func textAttr(key, value string) string {
	return textOp("output_desc { attr { key: '" + key + "' value { " + value + " } } }")
}

var badTexts = []struct{ text, want string }{
	{"name: 'model'", `no "graph" in the document`},
	{"# nothing", `no "graph"`},
	{"graph", `line 1: found the end of the file, wanted "{"`},
	{"graph: 7", `line 1: found "7", wanted "{"`},
	{"graph {", "line 1: found the end of the file, wanted the name of a field"},
	{"graph { op {\n\nname: 'a' }", "line 3: found the end of the file, wanted the name of a field"},
	{"graph { op { name: 'a' } > ", `found ">", wanted the name of a field`},
	{"graph { op { type: 'x' } }", "line 1: graph[0].op[0]: found no name"},
	{textOp("type: 7"), `line 3: found "7", wanted a string`},
	{textOp("id: x"), `line 3: found "x", wanted an integer`},
	{textOp("id: }"), `line 3: found "}", wanted a value`},
	{textOp("input: 'b'"), `line 3: found "b", wanted operator:output`},
	{textOp("input: 'b:-2'"), "wanted operator:output"},
	{textOp("input: ['b:0', 'c']"), `found "c", wanted operator:output`},
	{textOp("input: ['b:0'"), `found "}", wanted a value`},
	{textOp("output_desc: 7"), `found "7", wanted "{"`},
	{textOp("x: \x00"), "found a zero byte, wanted text"},
	{textOp("x: ~"), `found "~", wanted a value`},
	{textOp("~: 1"), `found "~", wanted the name of a field`},
	{textOp("x { ~ }"), `found "~", wanted a value`},
	{textOp("x: 'abc\n'"), "line 3: found the end of the line, wanted the end of a string"},
	{textOp("type: 'abc"), "wanted the end of a string"},
	{textOp(`type: 'a\q'`), "found the escape"},
	{textOp(`type: 'a\x'`), "found the escape"},
	{textOp(`type: 'a\777'`), "found the escape"},
	{textOp("type: '" + strings.Repeat("x", maxText+1) + "'"), "a string of more than 65536 bytes"},
	{textOp(strings.Repeat("x", maxText+1) + ": 1"), "a word of more than 65536 bytes"},
	{textAttr("_datadump_origin_output_index", "i: -1"), `found _datadump_origin_output_index "-1", wanted the number of an output`},
	{textAttr("_datadump_origin_output_index", "list { i: 1 i: 2 }"), `"2", wanted one value`},
	{textAttr("origin_shape", "list { f: 1.5 }"), `"1.5", wanted an integer`},
}

func TestReadTextBad(t *testing.T) {
	for _, test := range badTexts {
		g, err := ReadFusion(strings.NewReader(test.text))
		if g != nil || err == nil || !strings.HasPrefix(err.Error(), "fusion graph: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.80q: %v, %v, want %s", test.text, g, err, test.want)
		}
	}
	disk := errors.New("disk")
	if _, err := ReadFusion(io.MultiReader(strings.NewReader(fusedText[:200]), iotest.ErrReader(disk))); !errors.Is(err, disk) {
		t.Errorf("error %v", err)
	}
	// Weights are skipped, at any length.
	mustFusion(t, textOp("data: '"+strings.Repeat(`\000`, maxText)+"'"))
}

// TestTextTruncated: the text, cut at any byte before the end of the graph, is an error.
func TestTextTruncated(t *testing.T) {
	end := strings.Index(fusedText, "\n}\nversion") + 2
	for n := range end {
		if g, err := ReadFusion(strings.NewReader(fusedText[:n])); err == nil {
			t.Fatalf("%d bytes are read as %d operators", n, len(g.Ops))
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add(fusedText)
	for _, test := range badTexts {
		if len(test.text) < 1000 {
			f.Add(test.text)
		}
	}
	f.Fuzz(checkFusion)
}

// BenchmarkText reads a graph of 10 MB, mostly attributes.
func BenchmarkText(b *testing.B) {
	start, end := strings.Index(fusedText, "  op {"), strings.LastIndex(fusedText, "\n}\n")
	text := "graph {\n" + strings.Repeat(fusedText[start:end], 10<<20/(end-start)) + "\n}\n"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := ReadFusion(strings.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}
