package pairing

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadRuntime(t *testing.T) {
	pickled, err := os.ReadFile("../../pickle/testdata/consumers2.pickle") // of lists, not numbers
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"":                                       nil,
		"b,2\na,1\nc,10\n":                       {"a", "b", "c"},
		"b\t2\r\na 1\r\nc:1.5\r\n":               {"a", "c", "b"},
		"b, 2\n\na ,\t1":                         {"a", "b"},
		"x,1\ny,1\nz,0":                          {"z", "x", "y"},
		"a:b:2\na/b 1":                           {"a/b", "a:b"},
		"name,time\nb,2\na,1":                    {"a", "b"},
		"b\na\nc":                                {"b", "a", "c"},
		"\ufeffb\na\nb":                          {"b", "a"},
		"a,5\nb,3\na,1":                          {"a", "b"},
		"a,9007199254740993\nb,9007199254740992": {"b", "a"},
		"a,9007199254740993\nb,9007199254740992.0": {"b", "a"},
		"a,-1\nb,-2e0\nc,-1.5":                     {"b", "c", "a"},
		"n a n":                                    {"n a n"},
		"\x80\x02}(X\x01\x00\x00\x00bK\x02X\x01\x00\x00\x00aG?\xf0\x00\x00\x00\x00\x00\x00u.": {"a", "b"},
		"\x80\x02](X\x01\x00\x00\x00bX\x01\x00\x00\x00ae.":                                    {"b", "a"},
	} {
		o, err := ReadRuntime(strings.NewReader(text), "f")
		if err != nil || o.Source != "runtime file f" {
			t.Errorf("%q: %+v, %v", text, o, err)
			continue
		}
		if diff := cmp.Diff(want, o.Names); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
	for text, want := range map[string]string{
		"a,1\nb\n":               `runtime file: line 2 "b" has no number although lines before it have one`,
		"a\nb\nc,1\n":            `line 3 "c,1" has a number although lines before it have none`,
		"a,1\nb,nan\n":           `line 2 "b,nan" has no number`,
		"a,1\nb,inf\n":           "has no number",
		"a,1\n,2\n":              "has no number",
		string(pickled):          "want a name with a number",
		"\x80\x02N.":             "neither a dict nor a list",
		"\x80\x02](Ne.":          "want a name",
		"\x80\x02cos\nsystem\n.": "refused",
	} {
		// The caller puts the path in front, once.
		o, err := ReadRuntime(strings.NewReader(text), "f.rt")
		if o != nil || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "f.rt") {
			t.Errorf("%q: %v, %v, want %s", text, o, err, want)
		}
	}
}

func FuzzRuntime(f *testing.F) {
	for _, s := range []string{"b,2\na,1", "b\na", "a:1\nb", "t\na 1", "\x80\x02](X\x01\x00\x00\x00be.", "a,1e999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ReadExecutionOrder(strings.NewReader(text), "f")
		o, err := ReadRuntime(strings.NewReader(text), "f")
		if err != nil {
			if o != nil {
				t.Error("an order along with an error")
			}
			return
		}
		sorted := slices.Clone(o.Names)
		slices.Sort(sorted)
		if n := len(slices.Compact(sorted)); n != len(o.Names) || n > len(text) {
			t.Errorf("%d different names of %d in %q", n, len(o.Names), text)
		}
	})
}

func TestReadExecutionOrder(t *testing.T) {
	for text, want := range map[string][]string{
		"Default/b,1\nDefault/a,2,3\n\n":        {"Default/b", "Default/a"},
		"NodeExecutionOrder-PerStep\nb\na\nb\n": {"b", "a"},
		"\ufeff\"x,y\"\r\na \"quoted\"\r\n":     {"x,y", `a "quoted"`},
		"":                                      nil,
	} {
		o, err := ReadExecutionOrder(strings.NewReader(text), "g.csv")
		if err != nil || o.Source != "execution order g.csv" {
			t.Errorf("%q: %+v, %v", text, o, err)
			continue
		}
		if diff := cmp.Diff(want, o.Names); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
	o, err := ReadExecutionOrder(strings.NewReader("\"a\nb"), "g.csv")
	if o != nil || err == nil || !strings.HasPrefix(err.Error(), "execution order: line 1 has a quote") {
		t.Errorf("%v, %v", o, err)
	}
}

func TestCompareNatural(t *testing.T) {
	sorted := []string{"", "1", "2", "10", "a", "op", "op2", "op02", "op2a", "op10", "op10_1", "op10_2", "op10_10", "op_1", "opa", "op" + "é"}
	// Equal numbers: the shorter rest, then the bytes decide.
	sorted[6], sorted[7] = "op02", "op2"
	for i, a := range sorted {
		for j, b := range sorted {
			got := CompareNatural(a, b)
			if (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%q and %q compare as %d", a, b, got)
			}
		}
	}
}

func items() []OrderItem {
	return []OrderItem{
		{[]string{"op10"}, 30},
		{[]string{"op2"}, 0},
		{[]string{"net/a", "net_a"}, 10},
		{[]string{"b"}, 20},
		{[]string{"b"}, 20},
	}
}

func nodes(t *testing.T, text string) *NodeOrder {
	t.Helper()
	o, err := ReadRuntime(strings.NewReader(text), "r")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestFindOrder(t *testing.T) {
	all := OrderSources{
		Runtime: nodes(t, "b\nnet_a"), Execution: nodes(t, "net/a\nb\nop2\nop10"),
		Fusion:     mustFusion(t, `{"graph":[{"op":[{"name":"b","id":9},{"name":"op10","id":8}]}]}`),
		FusionFile: "g.json",
	}
	useless := OrderSources{Runtime: nodes(t, "x\ny")}
	for _, test := range []struct {
		sources OrderSources
		by      OrderBy
		source  string
		places  []int
	}{
		{all, Auto, "runtime file r, 3 of 5 tensors listed", []int{3, 2, 1, 0, 0}},
		{all, ByExecution, "runtime file r, 5 of 5 tensors listed", []int{3, 2, 0, 1, 1}},
		{all, ByFusion, "fusion graph g.json, 3 of 5 tensors listed", []int{0, 3, 2, 1, 1}},
		{all, ByTimestamp, "timestamps of the NPU's dumps, 4 of 5 tensors have one", []int{2, 3, 0, 1, 1}},
		{all, ByName, "natural order of names", []int{3, 2, 1, 0, 0}},
		{useless, Auto, "timestamps of the NPU's dumps, 4 of 5 tensors have one", []int{2, 3, 0, 1, 1}},
	} {
		o, err := test.sources.Find(test.by, items())
		if err != nil || o.Source != test.source {
			t.Errorf("%q: %+v, %v", test.by, o, err)
			continue
		}
		if diff := cmp.Diff(test.places, o.Places); diff != "" {
			t.Errorf("%q:\n%s", test.by, diff)
		}
	}
	o, err := new(OrderSources).Find(Auto, []OrderItem{{Names: []string{"b"}}, {Names: []string{"a"}}})
	if err != nil || o.By != ByName {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestFindOrderMissing(t *testing.T) {
	none := new(OrderSources)
	useless := &OrderSources{Runtime: nodes(t, "x")}
	plain := []OrderItem{{Names: []string{"a"}}}
	for _, test := range []struct {
		sources *OrderSources
		by      OrderBy
		want    string
	}{
		{none, ByRuntime, `the order "runtime" was asked for, but there is no file`},
		{none, ByExecution, `the order "execution" was asked for`},
		{none, ByFusion, `the order "fusion" was asked for`},
		{none, ByTimestamp, "no tensor has a timestamp"},
		{useless, ByRuntime, "runtime file r lists none of the 1 tensors"},
		{none, "random", `order "random", want runtime`},
	} {
		if o, err := test.sources.Find(test.by, plain); o != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, %v", test.by, o, err)
		}
	}
}
