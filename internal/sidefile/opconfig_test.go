package sidefile

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadOpConfig(t *testing.T) {
	v := func(f float64) *float64 { return &f }
	for text, want := range map[string][]OpLimits{
		"":                                    nil,
		"op_name,atol,rtol\n":                 nil,
		"op_name,atol,rtol\na,0.1,0\nb,NA,\n": {{"a", 2, v(0.1), v(0), ""}, {"b", 3, nil, nil, ""}},
		"\ufeffOP_NAME,Atol,RTOL,mode\r\na/b, na ,1e-3,topk:5\r\n": {{"a/b", 2, nil, v(1e-3), "topk:5"}},
		"a,1,2\n\n\nb,3,4,set":              {{"a", 1, v(1), v(2), ""}, {"b", 4, v(3), v(4), "set"}},
		"rtol,op_name\n0.5,a\n,b":           {{"a", 2, nil, v(0.5), ""}, {"b", 3, nil, nil, ""}},
		"op_name,atol\n\"a,\"\"b\"\"\",1\n": {{`a,"b"`, 2, v(1), nil, ""}},
		"a,\nb,,,,\n,,\n \n":                {{"a", 1, nil, nil, ""}, {"b", 2, nil, nil, ""}},
		"a,1,1,NA":                          {{"a", 1, v(1), v(1), ""}},
	} {
		c, err := ReadOpConfig(strings.NewReader(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, c.Entries); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
}

var badConfigs = []struct{ text, want string }{
	{"a,x,1", `line 1: atol is "x", want a finite number of 0 or more, or NA`},
	{"op_name,atol,rtol\na,1,-1", `line 2: rtol is "-1"`},
	{"a,inf,1", `"inf"`},
	{"a,nan,1", `"nan"`},
	{"a,1e999,1", `"1e999"`},
	{"a,1,1,set,extra", `cell 5 is "extra", want 4 columns`},
	{"op_name,atol\na,1,2", `line 2: cell 3 is "2", want 2 columns`},
	{",1,1", "the name is empty"},
	{"a,1,1\nb,1,1\na,2,2", `line 3: "a" has limits in line 1 already`},
	{"op_name,atol,tolerance\n", `line 1: column "tolerance", want op_name, atol, rtol, mode`},
	{"op_name,atol,Atol\n", `duplicate column "Atol"`},
	{"a,\"1", "line 1"},
	{"a,1,1\nhello\n", `line 2: "hello" is one column, want op_name, atol, rtol, mode`},
	{"op_name,atol\nhello\n", `line 2: "hello" is one column, want op_name, atol`},
	{"op_name\n", `line 1: the columns are op_name, want atol or rtol among them`},
	{"op_name,mode\na,set", `line 1: the columns are op_name, mode, want atol or rtol among them`},
	{"a,1,1\nb\x00c,1,1", `line 2: cell 1 is "b\x00c", want UTF-8 text without control characters`},
	{"a\x1b[2J,1,1", `line 1: cell 1 is "a\x1b[2J"`},
	{"\"a\nb\",1,1", `line 1: cell 1 is "a\nb"`},
	{"a,1,\x00", `line 1: cell 3 is "\x00"`},
	{"\xff\xfea\x00,\x001\x00", `line 1: cell 1 is "\xff\xfea\x00"`},
	{"\u009bx,1", `line 1: cell 1 is`},
}

func TestReadOpConfigBad(t *testing.T) {
	for _, test := range badConfigs {
		c, err := ReadOpConfig(strings.NewReader(test.text))
		if c != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, %v, want %s", test.text, c, err, test.want)
		}
	}
}

func TestOpConfigFind(t *testing.T) {
	c, err := ReadOpConfig(strings.NewReader("a/b,1,1\nc,2,2\nd/e,3,3\nd.e,4,4\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string]int{"a/b": 1, "a_b": 1, "a.b": 1, "c": 2, "d/e": 3, "d.e": 4, "d_e": 0, "x": 0, "": 0} {
		if e, ok := c.Find(name); e.Line != line || ok != (line > 0) {
			t.Errorf("%q: %+v, %v", name, e, ok)
		}
	}
	if e, _ := c.Find("x", "c"); e.Line != 2 {
		t.Errorf("the second name: %+v", e)
	}
	unused := c.FindUnused(slices.Values([][]string{{"a/b"}, {"c"}}))
	if diff := cmp.Diff([]string{"d/e", "d.e"}, unused); diff != "" {
		t.Error(diff)
	}
}

func TestWriteOpConfig(t *testing.T) {
	names := []string{"conv1", "a,b", `q"`, "conv1", "卷积", "a\x00b", "", "\xff", "a\nb"}
	var b strings.Builder
	if err := WriteOpConfig(&b, slices.Values(names)); err != nil {
		t.Fatal(err)
	}
	want := "op_name,atol,rtol\nconv1,NA,NA\n\"a,b\",NA,NA\n\"q\"\"\",NA,NA\n卷积,NA,NA\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	c, err := ReadOpConfig(strings.NewReader(b.String()))
	if err != nil || len(c.Entries) != 4 || c.Entries[1].Name != "a,b" || c.Entries[2].Atol != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

func FuzzOpConfig(f *testing.F) {
	f.Add("\ufeffop_name,atol,rtol\r\na,NA,1\r\n")
	for _, test := range badConfigs {
		f.Add(test.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ReadOpConfig(strings.NewReader(text))
		if err != nil {
			if c != nil {
				t.Error("limits along with an error")
			}
			return
		}
		for _, e := range c.Entries {
			if got, ok := c.Find(e.Name); !ok || got.Line != e.Line {
				t.Errorf("%+v is not found", e)
			}
			for _, v := range []*float64{e.Atol, e.Rtol} {
				if v != nil && (!(*v >= 0) || *v-*v != 0) {
					t.Errorf("limit %v", *v)
				}
			}
		}
	})
}
