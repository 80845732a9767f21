package sidefile

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dumptool/internal/lang"
)

func TestParseNameMap(t *testing.T) {
	for text, want := range map[string][]MapEntry{
		"":                                 nil,
		" \n":                              nil,
		"{}":                               nil,
		`{"cpu_name":"npu_name","b":"2"}`:  {{"cpu_name", "npu_name", Position{1, 2}}, {"b", "2", Position{1, 24}}},
		"{'a/b': u'c' ,\n 'd' : \"e\" , }": {{"a/b", "c", Position{1, 2}}, {"d", "e", Position{2, 2}}},
		`{'it\'s': "\u5377\x41\/\\", r"a\b": "\ud83d\ude00"}`: {{"it's", "卷A/\\", Position{1, 2}}, {`a\b`, "😀", Position{1, 29}}},
		"\ufeff{\"a\":\"\\U0001F600\"}":                       {{"a", "😀", Position{1, 2}}},
	} {
		m, err := ParseNameMap(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, m.Entries); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
}

var badMaps = []struct{ text, want string }{
	{"a", `line 1, column 1: found 'a', want {`},
	{"[]", "want {"},
	{"{", "the text ends, want a text in quotes"},
	{"{a:b}", "line 1, column 2: found 'a', want a text in quotes"},
	{"{1:2}", "found '1'"},
	{"{'a'}", "found '}', want a colon"},
	{"{'a':1}", "line 1, column 6: found '1', want a text in quotes"},
	{"{'a':['b']}", "found '[', want a text in quotes"},
	{"{'a':'b' 'c':'d'}", "found '\\'', want a comma or '}'"},
	{"{'a':'b'} x", "found 'x', want nothing more"},
	{"{'a':'b'", "the text ends, want a comma"},
	{"{,}", "found ',', want a text"},
	{"{'a", "line 1, column 2: the text has no closing quote"},
	{"{'a\n':'b'}", "no closing quote in its line"},
	{"{'a\\", "ends in an escape"},
	{`{'\q':'b'}`, `escape "\\q"`},
	{`{'\u12':'b'}`, "escape"},
	{`{'\ud800':'b'}`, "want one of Python or JSON that is a character"},
	{`{'\ud800\u0041':'b'}`, "want one of Python or JSON that is a character"},
	{`{'\U7fffffff':'b'}`, "want one of Python or JSON that is a character"},
	{"{u", "found 'u'"},
	{"{b'a':'b'}", "found 'b'"},
	{"{'':'b'}", "empty name of the reference"},
	{"{'a':''}", "empty name of the NPU"},
	{"{'a':'b',\n'a':'c'}", `line 2, column 1: the reference's "a" was mapped before, at line 1, column 2`},
	{"{'a':'b','c':'b'}", `line 1, column 14: the NPU's "b" was mapped before, from "a" at line 1, column 2`},
}

func TestParseNameMapBad(t *testing.T) {
	for _, test := range badMaps {
		m, err := ParseNameMap(test.text)
		if m != nil || err == nil || !strings.HasPrefix(err.Error(), "name map: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, %v, want %s", test.text, m, err, test.want)
		}
	}
}

func english(sentences []lang.Sentence) (all []string) {
	for _, s := range sentences {
		all = append(all, s.String())
	}
	return all
}

func TestNameMapMissing(t *testing.T) {
	m, err := ParseNameMap("{'a/b':'n1','c':'n2','d':'n3'}")
	if err != nil {
		t.Fatal(err)
	}
	ref := slices.Values([][]string{{"a_b"}, {"d"}})
	npu := slices.Values([][]string{{"x", "n1"}, {"n2"}})
	want := []string{`line 1, column 13: the reference has no "c"`, `line 1, column 22: the NPU has no "n3"`}
	if diff := cmp.Diff(want, english(m.Missing(ref, npu))); diff != "" {
		t.Error(diff)
	}
}

func TestParseList(t *testing.T) {
	for _, test := range []struct {
		values []string
		want   []string
	}{
		{nil, nil},
		{[]string{""}, nil},
		{[]string{"a, b,,a", "c"}, []string{"a", "b", "c"}},
		{[]string{`["a,b", 'c',]`, "('d', u'e')", "[]"}, []string{"a,b", "c", "d", "e"}},
	} {
		got, err := ParseList(test.values...)
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", test.values, err, diff)
		}
	}
	for value, want := range map[string]string{
		"[a]":     "line 1, column 2: found 'a', want a text in quotes",
		"['a'":    "want a comma",
		"['a')":   "want a comma or ']'",
		"['a'] b": "want nothing more",
		"['']":    "an empty name",
		"[1]":     "found '1'",
	} {
		if got, err := ParseList(value); got != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %s", value, got, err, want)
		}
	}
}

func FuzzNameMap(f *testing.F) {
	for _, test := range badMaps {
		f.Add(test.text)
	}
	f.Add(`{"cpu_name":"npu_name","b":"\u0032"}`)
	f.Fuzz(func(t *testing.T, text string) {
		ParseList(text)
		m, err := ParseNameMap(text)
		if err != nil {
			if m != nil {
				t.Error("a map along with an error")
			}
			return
		}
		ref, npu := make(map[string]bool), make(map[string]bool)
		for _, e := range m.Entries {
			if e.Ref == "" || e.NPU == "" || ref[e.Ref] || npu[e.NPU] {
				t.Errorf("%q gives %+v", text, m.Entries)
			}
			ref[e.Ref], npu[e.NPU] = true, true
		}
		if n := strings.Count(text, ":"); len(m.Entries) > n {
			t.Errorf("%d entries of %d colons", len(m.Entries), n)
		}
	})
}

// mappings are examples of all kinds from msprobe's manual.
const mappings = `
ParallelAttention:  # a layer
  qkv_proj: query_key_value
  out_proj: dense
TopLayer:
  network: module
fc2.Dense: fc2.Linear
MindSpeedTELinear: TELinear
OtherTELinear: TELinear
Module.a: Module.b
---
# functions
- ms_api: Functional.abs
  pt_api: Torch.abs
  ms_args: [0, 2]
  pt_args: [1, 0]
  ms_outputs: [0]
  pt_output: [0]
- ms_api: Functional.neg
  pt_api: Torch.neg
`

func FuzzMapping(f *testing.F) {
	f.Add(mappings)
	f.Add("a: b\n'a': c")
	f.Add("x: &x [a]\ny: *x")
	f.Add("ms_api: a\npt_api: b\nms_args: [0]\npt_args: [1]")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMapping([]byte(text))
		if (m == nil) == (err == nil) {
			t.Errorf("%v along with %v", m, err)
		}
		if err != nil {
			return
		}
		for _, e := range append(slices.Clone(m.Entries), m.Cells...) {
			if e.Ref == "" || e.NPU == "" || e.Place == (Position{}) {
				t.Errorf("%q gives %+v", text, e)
			}
		}
		for _, e := range m.Calls {
			if e.MindSpore == "" || e.PyTorch == "" {
				t.Errorf("%q gives %+v", text, e)
			}
		}
	})
}

func TestParseMapping(t *testing.T) {
	m, err := ParseMapping([]byte("# NPU: reference\nCell.fc.Dense: Module.fc.Linear\n\"a b\": 'c: d'\n7: 8\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []MapEntry{{"Module.fc.Linear", "Cell.fc.Dense", Position{2, 16}}, {"c: d", "a b", Position{3, 8}}, {"8", "7", Position{4, 4}}}
	if diff := cmp.Diff(want, m.Entries); diff != "" {
		t.Error(diff)
	}
	if m, err := ParseMapping([]byte("# nothing\n")); err != nil || len(m.Entries) != 0 {
		t.Errorf("%v, error %v", m, err)
	}
	m, err = ParseMapping([]byte(mappings))
	if err != nil {
		t.Fatal(err)
	}
	wantMap := &NameMap{
		Cells:  []MapEntry{{"fc2.Linear", "fc2.Dense", Position{7, 12}}, {"TELinear", "MindSpeedTELinear", Position{8, 20}}, {"TELinear", "OtherTELinear", Position{9, 16}}},
		Calls:  []CallEntry{{"Functional.abs", "Torch.abs", map[string]string{"0": "1", "2": "0"}, map[string]string{"0": "0"}, Position{13, 3}}, {"Functional.neg", "Torch.neg", nil, nil, Position{19, 3}}},
		Layers: map[string]map[string]string{"ParallelAttention": {"qkv_proj": "query_key_value", "out_proj": "dense"}, "TopLayer": {"network": "module"}},
	}
	if diff := cmp.Diff(wantMap, m, cmpopts.IgnoreUnexported(NameMap{}), cmpopts.IgnoreFields(NameMap{}, "Entries")); diff != "" {
		t.Error(diff)
	}
	if len(m.Entries) != 3 { // the second class with one name has no entry
		t.Errorf("entries %v", m.Entries)
	}
	ref, npu := slices.Values([][]string{{"Module.fc2.Linear.forward.0"}, {"x.TELinear"}}), slices.Values([][]string{{"Cell.fc2.Dense.forward.0"}})
	want2 := []string{`line 8, column 20: the NPU has no "MindSpeedTELinear"`, `line 10, column 11: the reference has no "Module.b"`, `line 10, column 11: the NPU has no "Module.a"`}
	if diff := cmp.Diff(want2, english(m.Missing(ref, npu))); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		"ms_api: a": "without ms_api or pt_api",
		"- [a]":     "want an entry with ms_api and pt_api",
		"- {ms_api: a, pt_api: b}\n- {ms_api: a, pt_api: c}":       `"a" was mapped before`,
		"{ms_api: a, pt_api: b, ms_args: [0], pt_args: []}":        "1 ms_args and 0 pt_args, want equally many",
		"{ms_api: a, pt_api: b, ms_args: [0, 0], pt_args: [0, 1]}": `found "0", want positions of values, each once`,
		"{ms_api: a, pt_api: b, ms_args: [x], pt_args: [0]}":       `found "x"`,
		"{ms_api: a, pt_api: b, ms_args: 0}":                       `found "ms_args", want ms_api`,
		"A: {b: c}\nA: {d: e}":                                     `a second section "A"`,
		"A: {b: c, b: d}":                                          `"b" was mapped before in "A"`,
		"a":                                                        "line 1, column 1: found no mapping",
		"- a: b":                                                   `line 1, column 3: found "a", want ms_api`,
		"a: [b]":                                                   "line 1, column 1: want two names",
		"a: {b: [c]}":                                              "want two layer names",
		"a:":                                                       "an empty name of the reference",
		"'': b":                                                    "an empty name of the NPU",
		"a: b\nc: b":                                               `line 2, column 4: the reference's "b" was mapped before, at line 1, column 4`,
		"a: b\n'a': c":                                             `the NPU's "a" was mapped before, from "b" at line 1, column 4`,
		"a: b: c":                                                  "mapping values are not allowed",
		"x: &x [a]\ny: *x":                                         "want two names",
		"a: b\n\tc: d":                                             "yaml",
		strings.Repeat("[", 20000):                                 "yaml",
	} {
		if _, err := ParseMapping([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: error %v, want %q", text, err, want)
		}
	}
}
