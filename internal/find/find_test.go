package find

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumptest"
)

func TestParseQuery(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Query{
		"resnet.py:88":             {Kind: Line, path: "resnet.py", from: 88, to: 88},
		"src/./resnet.py(88)":      {Kind: Line, path: "src/resnet.py", from: 88, to: 88},
		"resnet.py:88-92":          {Kind: Line, path: "resnet.py", from: 88, to: 92},
		"resnet.py:92~88":          {Kind: Line, path: "resnet.py", from: 88, to: 92},
		"resnet.txt:88":            {},
		"%4":                       {Kind: Node, number: 4},
		"@g:h:%12":                 {Kind: Node, number: 12, subgraph: "g:h", inGraph: true},
		"@:%1":                     {Kind: Node, number: 1, inGraph: true},
		"#17":                      {Kind: Order, number: 17},
		"order:17":                 {Kind: Order, number: 17},
		"515":                      {Kind: ID, id: "515"},
		"op515_2":                  {Kind: ID, id: "515_2"},
		"op":                       {},
		"%para2_conv1.weight":      {Kind: Param, number: 2, name: "conv1.weight"},
		"para2":                    {Kind: Param, number: 2},
		"x = self.conv1(x)":        {},
		"conv1.weight":             {},
		"resnet.py:99999999999999": {},
	} {
		q, err := ParseQuery(text, Auto)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := *q
		got.Text = ""
		if got.Kind == Auto {
			got = Query{} // tried values do not count
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
	for text, by := range map[string]Kind{"": Auto, " ": Auto, "#0": Auto, "order:0": Auto, "resnet.py": Line, "x": Node, "17": Order, "relu": ID, "y": "color"} {
		if q, err := ParseQuery(text, by); err == nil || q != nil {
			t.Errorf("%q by %q: no error", text, by)
		}
	}
}

func TestMatching(t *testing.T) {
	t.Parallel()
	for query, codes := range map[string]map[string]bool{
		"conv1(x)":        {"x = self.conv1(x)": true, "x = myconv1(x)": false, "conv1 ( x )": true, "conv1(xy)": false, "conv1(x).y": true},
		"self.conv1( x )": {"x=self.conv1(x)": true},
		"return  x":       {"return x": true, "returnx": false, "return xs": false, "return (x)": false},
		"a = b":           {"ba = b": false, "ba = b; a = b": true},
		"":                {"x": false},
	} {
		for code, want := range codes {
			if got := occursInCode(plainCode(code), plainCode(query)); got != want {
				t.Errorf("%q in %q: %v, want %v", query, code, got, want)
			}
		}
	}
	for _, test := range []struct {
		scope, part string
		want        bool
	}{
		{"Default/net/conv1", "net", true}, {"Default/net/conv1", "net/conv1", true}, {"Default/net/conv1", "conv", false},
		{"Default/net/conv1", "et/conv1", false}, {"Default/net", "/net/", true}, {"Default", "", false},
	} {
		if got := hasSegments(test.scope, test.part); got != test.want {
			t.Errorf("%q in %q: %v", test.part, test.scope, got)
		}
	}
	q := Query{path: "src/net.py"}
	for script, want := range map[string]bool{"/home/u/src/net.py": true, "src/net.py": true, "/home/u/xsrc/net.py": false, `C:\u\src\net.py`: true, "net.py": false} {
		if q.matchesPath(script) != want {
			t.Errorf("%s: %v", script, !want)
		}
	}
	q.path = "/src/net.py"
	if q.matchesPath("/home/src/net.py") || !q.matchesPath("/src/net.py") {
		t.Error("an absolute path has to be equal")
	}
}

// smallTree makes a tree of two ranks with one graph each.
func smallTree(t testing.TB, nodes int) string {
	t.Helper()
	dir := t.TempDir()
	for rank := range 2 {
		var b strings.Builder
		b.WriteString("# IR entry: @g\n%para1_w: <Ref[Tensor[Float32]], (2), ref_key=w>\nsubgraph @g() {\n")
		for i := range nodes {
			input := "%para1_w"
			if i > 0 {
				input = fmt.Sprintf("%%%d", i-1)
			}
			fmt.Fprintf(&b, "  %%%d(n) = Op%d(%s)\n      : (<Tensor[Float32], (2)>) -> (<Tensor[Float32], (2)>)\n", i, i%3, input)
			fmt.Fprintf(&b, "      # Fullname with scope: (Default/net/layer%d/Op%d-op%d)\n      # In file /u/net.py:%d/x = f%d(x)/\n", i%5, i%3, i, 10+i, i)
		}
		b.WriteString("}\n")
		folder := filepath.Join(dir, fmt.Sprintf("rank_%d", rank), "graphs")
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "ms_output_trace_code_graph_0.ir"), []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func ask(t testing.TB, query string, opt Options) *SearchResult {
	t.Helper()
	q, err := ParseQuery(query, Auto)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Run(context.Background(), q, opt)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestEveryName: the full name of an operator finds only that operator, on all ranks.
func TestEveryName(t *testing.T) {
	t.Parallel()
	const nodes = 30
	dir := smallTree(t, nodes)
	for i := range nodes {
		name := fmt.Sprintf("Default/net/layer%d/Op%d-op%d", i%5, i%3, i)
		for _, query := range []string{name, strings.ReplaceAll(name, "/", "--"), fmt.Sprintf("op%d", i), fmt.Sprintf("%%%d", i), fmt.Sprintf("net.py:%d", 10+i), fmt.Sprintf("f%d( x )", i)} {
			a := ask(t, query, Options{Paths: []string{dir}})
			if len(a.Results) != 2 || string(a.Results[0].(*Operator).OpName) != name || *a.Results[1].Position().Rank != 1 || a.Results[0].Position().Confidence != High {
				t.Errorf("%s: %d results", query, len(a.Results))
			}
		}
	}
}

// TestLimit: the limit cuts the list and reports the rest, for any number of workers.
func TestLimit(t *testing.T) {
	t.Parallel()
	dir := smallTree(t, 30)
	for _, limit := range []int{1, 7, 10, 11, 19, 20, 21} {
		for _, workers := range []int{1, 4} {
			a := ask(t, "Op1", Options{Paths: []string{dir}, Limit: limit, Workers: workers})
			if want := min(limit, 20); len(a.Results) != want || a.More != 20-want {
				t.Errorf("limit %d: %d results and %d more", limit, len(a.Results), a.More)
			}
		}
	}
}

// TestLevels: producers and consumers follow the hits, level by level.
func TestLevels(t *testing.T) {
	t.Parallel()
	dir := smallTree(t, 30)
	a := ask(t, "%10", Options{Paths: []string{filepath.Join(dir, "rank_0")}, Up: 2, Down: 3})
	var got []string
	for _, r := range a.Results {
		op := r.(*Operator)
		got = append(got, fmt.Sprintf("%s%s%d", op.Node, op.Match, op.Level))
	}
	if want := []string{"%10node0", "%9up1", "%8up2", "%11down1", "%12down2", "%13down3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestParamReaders follows a weight to its readers.
func TestParamReaders(t *testing.T) {
	t.Parallel()
	a := ask(t, "w", Options{Paths: []string{smallTree(t, 3)}})
	if len(a.Results) != 2 || a.Kind != Param {
		t.Fatalf("%+v", a)
	}
	if readers := a.Results[0].(*Parameter).Consumers; len(readers) != 1 || readers[0].Node != "%0" {
		t.Errorf("%+v", a)
	}
}

// FuzzQuery: a query gives results with places or an error, never a panic.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{"net.py:12", "f3(x)", "Op1", "op7", "%4", "#1", "para1", "Default/net/layer1/Op1-op1", "layer2", "rank_0/graphs", "Op1.Default_net_layer1_Op1-op1.1.2.1624605159829577"} {
		f.Add(q)
	}
	dir := filepath.Join(smallTree(f, 12), "rank_0")
	f.Fuzz(func(t *testing.T, text string) {
		q, err := ParseQuery(text, Auto)
		if err != nil {
			return
		}
		a, err := Run(context.Background(), q, Options{Paths: []string{dir}, All: len(text)%2 == 0, Stack: true, Up: 1, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		for i := range a.Results {
			if p := a.Results[i].Position(); p.Match == "" || p.Confidence == "" || p.IR == "" {
				t.Errorf("%q: %+v", text, p)
			}
		}
	})
}

// TestAlikeRanks: a rank gives the same answer as alone, although alike graphs are read once, for
// any number of workers.
func TestAlikeRanks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const ranks = 6
	for rank := range ranks {
		var b bytes.Buffer
		if err := dumptest.WriteGraph(&b, 40, rank); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		switch rank {
		case 2: // results show the types of the rank's own file
			text = strings.ReplaceAll(text, "(32, 64, 56, 56)", "(16, 64, 56, 56)")
		case 3:
			text = text[:len(text)/2]
		case 4:
			text = strings.Replace(text, "backbone_0.py:17,", "backbone_0.py:18,", 1)
		}
		folder := filepath.Join(dir, fmt.Sprintf("rank_%d", rank), "graphs")
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "ms_output_trace_code_graph_0.ir"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, query := range []string{"backbone_0.py:17", "Conv2D-op3", "%7", "x", "self.conv2d(x, self.weight)", "nothing", "conv.py:104"} {
		opt := Options{Paths: []string{dir}, Workers: 1, Stack: true, Up: 1}
		want := ask(t, query, opt)
		for opt.Workers = range 5 {
			if diff := cmp.Diff(asJSON(t, want), asJSON(t, ask(t, query, opt))); diff != "" {
				t.Errorf("%s with %d workers:\n%s", query, opt.Workers, diff)
			}
		}
		alone := []Result{}
		for rank := range ranks {
			only, err := dumpdir.ParseNumbers(fmt.Sprint(rank))
			if err != nil {
				t.Fatal(err)
			}
			opt.Rounds = dumpdir.Selection{dumpdir.ByRank: only}
			alone = append(alone, ask(t, query, opt).Results...)
		}
		slices.SortStableFunc(alone, func(a, b Result) int {
			return slices.Index(matchOrder, a.Position().Match) - slices.Index(matchOrder, b.Position().Match)
		})
		for i := range alone { // one rank alone may be more certain
			alone[i].Position().Confidence = ""
		}
		for i := range want.Results {
			want.Results[i].Position().Confidence = ""
		}
		if diff := cmp.Diff(asJSON(t, alone), asJSON(t, want.Results)); diff != "" {
			t.Errorf("%s: a rank alone answers otherwise:\n%s", query, diff)
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
