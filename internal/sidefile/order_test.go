package sidefile

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadRuntime(t *testing.T) {
	pickled, err := os.ReadFile("../pickle/testdata/consumers2.pickle") // of lists, not numbers
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
		// The caller adds the path, once.
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

func TestReadIterations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		numbers []uint64
		misfits string
	}{
		"":                                  {},
		"0\n1\n2\n":                         {numbers: []uint64{0, 1, 2}},
		"5\r\n6\r\n\r\n0":                   {numbers: []uint64{5, 6, 0}},
		"iteration\n3,\n \"4\"\n-1\n":       {numbers: []uint64{3, 4}, misfits: "1 4"},
		"99999999999999999999\n1 2\n\x00\n": {misfits: "1 2 3"},
	} {
		got, err := ReadIterations(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, m := range got.Misfits.First {
			lines = append(lines, strings.TrimPrefix(m.Position(), "line "))
		}
		if !slices.Equal(got.Numbers, want.numbers) || strings.Join(lines, " ") != want.misfits {
			t.Errorf("%q: %v, misfits in lines %v", text, got.Numbers, lines)
		}
	}
	if _, err := ReadIterations(strings.NewReader(strings.Repeat("1\n", maxSize/2+1))); err == nil {
		t.Error("a file that is too large: no error")
	}
}

// FuzzReadIterations: every line is a number, a misfit or empty.
func FuzzReadIterations(f *testing.F) {
	for _, text := range []string{"", "0\n1\n", "a\n\r\n3,\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ReadIterations(strings.NewReader(text))
		if err != nil {
			return
		}
		if n := len(got.Numbers) + got.Misfits.Count; n > strings.Count(text, "\n")+1 {
			t.Errorf("%d numbers and misfits of %q", n, text)
		}
	})
}
