package jsonpos

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// mark marks the position of a problem in test texts. It is removed before parsing, and its line and column are
// counted independently of the tested code.
const mark = "§"

// unmark removes the marks and returns their places as "line:column".
func unmark(text string) (string, []string) {
	var places []string
	line, column := 1, 1
	for _, r := range text {
		switch {
		case string(r) == mark:
			places = append(places, fmt.Sprintf("%d:%d", line, column))
		case r == '\n':
			line, column = line+1, 1
		case r != '\ufeff':
			column++
		}
	}
	return strings.ReplaceAll(text, mark, ""), places
}

// outline writes a value in a form that shows kinds and decoded text.
func outline(v *Value) string {
	switch {
	case v == nil:
		return "nil"
	case v.Kind == Object:
		parts := make([]string, len(v.Members))
		for i, m := range v.Members {
			parts[i] = m.Key + ":" + outline(m.Value)
		}
		return "{" + strings.Join(parts, " ") + "}"
	case v.Kind == Array:
		parts := make([]string, len(v.Elems))
		for i, e := range v.Elems {
			parts[i] = outline(e)
		}
		return "[" + strings.Join(parts, " ") + "]"
	case v.Kind == String:
		return "<" + v.Text + ">"
	case v.Kind == Null:
		return "null"
	case v.Kind == Invalid:
		return "?"
	default:
		return v.Text
	}
}

// apply applies edits, the larger of two that overlap.
func apply(src []byte, problems []Problem) []byte {
	var edits []Edit
	for _, p := range problems {
		edits = append(edits, p.Edits...)
	}
	slices.SortFunc(edits, func(a, b Edit) int {
		return cmp.Or(b.Length-a.Length, a.Offset-b.Offset, strings.Compare(a.Text, b.Text))
	})
	var taken []Edit
	for _, e := range edits {
		if !slices.ContainsFunc(taken, func(t Edit) bool {
			return e == t || t.Offset < e.End() && e.Offset < t.End() && t.Length > 0 && (e.Length > 0 || t.Offset < e.Offset)
		}) {
			taken = append(taken, e)
		}
	}
	slices.SortFunc(taken, func(a, b Edit) int {
		return cmp.Or(b.Offset-a.Offset, b.Length-a.Length, strings.Compare(b.Text, a.Text))
	})
	out := slices.Clone(src)
	for _, e := range taken {
		out = slices.Concat(out[:e.Offset], []byte(e.Text), out[e.End():])
	}
	return out
}

// checkRepair: a text has edits for all problems or for none, and the edits make it valid without
// changing its value.
func checkRepair(t *testing.T, d *Document) {
	t.Helper()
	without := func(p Problem) bool { return len(p.Edits) == 0 }
	if slices.ContainsFunc(d.Problems, without) {
		if !slices.ContainsFunc(d.Problems, func(p Problem) bool { return !without(p) }) {
			return
		}
		t.Errorf("edits for some problems only: %+v", d.Problems)
	}
	if _, damaged := d.Damage(); damaged || d.More {
		t.Errorf("edits for a part of the text: %+v", d.Problems)
	}
	fixed := apply(d.Source(), d.Problems)
	if !json.Valid(fixed) {
		t.Errorf("repaired to %q, which is not valid", fixed)
	}
	again := Parse(fixed)
	if !again.Valid() {
		t.Errorf("repaired to %q, which has problems: %+v", fixed, again.Problems)
	}
	if got, want := outline(again.Root), outline(d.Root); got != want {
		t.Errorf("repaired text reads %s, want %s", got, want)
	}
}

// TestSureRepairs expects only repairs that need no guess.
func TestSureRepairs(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"a":1,}`, `{"a":1}`},
		{"{'a': 'on', b: True, \"c\"：[None，False]\n\"d\": 'x y/z.w' # it's\n}", "{\"a\": \"on\", \"b\": true, \"c\":[null,false],\n\"d\": \"x y/z.w\"\n}"},
		{"[{}\n{}]", "[{},\n{}]"},
		{"{“a”：1}", `{"a":1}`},
		{"\ufeff{} // x", "{}"},
		{"[{}\n\"a\"]", ""},            // never two objects
		{"[\"/data/\"\n\"dump\"]", ""}, // perhaps one broken string
		{`{"a":1 "b":2}`, ""},
		{`{"a":1,,"b":2}`, ""},
		{`{"a":1;"b":2}`, ""},
		{`{"a"=1}`, ""},
		{`{"a":on}`, ""},
		{`{"a":/data//dump}`, ""},
		{`{"a":TRUE}`, ""},
		{`{a-b:1}`, ""},
		{`{"a":'x, y'}`, ""},
		{"{\"a\":1} # 5\" wide", ""},
		{`{"a":"D:\data"}`, ""},
		{"{\"a\":\"x\ty\"}", ""},
		{`{"a":1,"b":[1,}`, ""},
		{`{"a":1,} /* x`, ""},
		{`{"a":"x,"b":1,}`, ""},
	} {
		d := Parse([]byte(c.text))
		checkRepair(t, d)
		got := ""
		if len(d.Problems) == 0 {
			t.Errorf("%q: no problem found", c.text)
		} else if len(d.Problems[0].Edits) > 0 {
			got = string(apply([]byte(c.text), d.Problems))
		}
		if got != c.want {
			t.Errorf("%q: repaired to %q, want %q", c.text, got, c.want)
		}
	}
}

// TestOneQuoteMissing removes each quote of a text in turn.
func TestOneQuoteMissing(t *testing.T) {
	const text = "{\"dump\": {\"dump_path\": \"/d\", # all\n  \"dump_list\": [{\"layer\": [\"a\", \"b\"]}],\n  \"dump_mode\": \"all\",}}"
	for i := range text {
		if text[i] != '"' {
			continue
		}
		src := text[:i] + text[i+1:]
		d := Parse([]byte(src))
		n := len(d.Problems)
		if n == 0 || d.Problems[n-1].Cause != OpenString {
			t.Fatalf("%s: problems %+v, want a quote without partner as the last", src, d.Problems)
		}
		if line, _ := d.Position(d.Problems[n-1].Offset); line != 1+strings.Count(text[:i], "\n") {
			t.Errorf("%s: found in line %d", src, line)
		}
		for _, p := range d.Problems {
			if len(p.Edits) > 0 {
				t.Errorf("%s: repair offered: %+v", src, p)
			}
		}
	}
}

// TestRepairedLines: a line with unpaired quotes is shown with the missing quote, if there is only
// one place for it.
func TestRepairedLines(t *testing.T) {
	for text, want := range map[string]string{
		"{\"a\": \"/d,\n\"b\": 1}":                `{"a": "/d",`,
		"{\"a\": 1,\n  b\": \"on\",\r\n\"c\": 2}": `"b": "on",`,
		`{"layer":["a,"b"]}`:                      `{"layer":["a","b"]}`,
		`{"a: {"b": 1}}`:                          `{"a": {"b": 1}}`,
		`{"a": /d", "b": 1}`:                      `{"a": "/d", "b": 1}`,
		`{"a": "x"y}`:                             "", // two quotes, or none
		`{"a": """x"""}`:                          "",
		`[r'/tmp']`:                               "",
		`{"a":1,}`:                                "",
	} {
		d := Parse([]byte(text))
		if got := d.Problems[len(d.Problems)-1].Repaired; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestProblems(t *testing.T) {
	for _, c := range []struct {
		name, text string // with a mark at every problem
		causes     []Cause
		want       string // outline of the values that are read in spite of problems; empty if they are guesses
	}{
		{"trailing comma in object", "{\n \"a\": 1§,\n}", []Cause{TrailingComma}, "{a:1}"},
		{"trailing comma in array", `[1, 2§, ]`, []Cause{TrailingComma}, "[1 2]"},
		{"double comma", `[1,§,2]`, []Cause{ExtraComma}, "[1 2]"},
		{"leading comma", `{§,"a":1}`, []Cause{ExtraComma}, "{a:1}"},
		{"only comma", `[§,]`, []Cause{ExtraComma}, "[]"},
		{"missing comma in object", "{\"a\":1§\n\"b\":2}", []Cause{MissingComma}, "{a:1 b:2}"},
		{"missing comma in array", `["a"§ "b"]`, []Cause{MissingComma}, "[<a> <b>]"},
		{"semicolon", `{"a":1§; "b":2}`, []Cause{MissingComma}, "{a:1 b:2}"},
		{"missing colon", `{"a"§ 1}`, []Cause{MissingColon}, "{a:1}"},
		{"equals sign", `{"a" §= 1}`, []Cause{MissingColon}, "{a:1}"},
		{"full-width equals sign", `{"a" §＝ 1}`, []Cause{MissingColon}, "{a:1}"},
		{"missing value", `{§"a":, "b":2}`, []Cause{MissingValue}, "{a:? b:2}"},
		{"missing colon and value", `{"a"§, "b":2}`, []Cause{MissingValue}, "{a:? b:2}"},
		{"line comments", "{\"a\":1, §// x\n\"b\":2 §# y\n}", []Cause{Comment, Comment}, "{a:1 b:2}"},
		{"block comment", "{§/* x\n */\"a\":1}", []Cause{Comment}, "{a:1}"},
		{"open block comment", "{\"a\":1} §/* x", []Cause{Comment}, "{a:1}"},
		{"comment in place of comma", "{\"a\":\"x\"§§# y\n\"b\":2}", []Cause{Comment, MissingComma}, "{a:<x> b:2}"},
		{"no comment in string", `{"a":"# // /* x"}`, nil, "{a:<# // /* x>}"},
		{"single quotes", `{§'a': §'it\'s "x"'}`, []Cause{SingleQuotes, SingleQuotes}, `{a:<it's "x">}`},
		{"full-width comma and colon", `{"a"§：1§，"b":2}`, []Cause{FullWidth, FullWidth}, "{a:1 b:2}"},
		{"full-width brackets", `§｛"a":§［1§］§｝`, []Cause{FullWidth, FullWidth, FullWidth, FullWidth}, "{a:[1]}"},
		{"typographic quotes", `{§“a”:§“on"}`, []Cause{FullWidth, FullWidth}, "{a:<on>}"},
		{"typographic closing quote", "{\"a\":\"on§”,\n\"b\":1}", []Cause{FullWidth}, "{a:<on> b:1}"},
		{"typographic quotes inside a string", `{"a":"“x”, y"}`, nil, "{a:<“x”, y>}"},
		{"full-width space", "{§\u3000\"a\":1}", []Cause{FullWidth}, "{a:1}"},
		{"no-break space", "{§\u00a0\"a\":1}", []Cause{FullWidth}, "{a:1}"},
		{"unquoted key", `{§a: 1, §$b-c: 2}`, []Cause{UnquotedKey, UnquotedKey}, "{a:1 $b-c:2}"},
		{"unquoted number as key", `{§1: 2}`, []Cause{UnquotedKey}, "{1:2}"},
		{"unquoted value", `{"a": §on, "b": §/home/x}`, []Cause{UnquotedValue, UnquotedValue}, "{a:<on> b:</home/x>}"},
		{"python constants", `[§True, §False, §None]`, []Cause{PythonConstant, PythonConstant, PythonConstant}, "[true false null]"},
		{"shouted constants", `[§TRUE, §NULL]`, []Cause{PythonConstant, PythonConstant}, "[true null]"},
		{"not numbers", `[§NaN, §-Infinity, §Infinity]`, []Cause{NotANumber, NotANumber, NotANumber}, "[? ? ?]"},
		{"bad numbers", `[§01, §+1, §.5, §1., §0x1F, §0|3-5, §-]`, []Cause{BadNumber, BadNumber, BadNumber, BadNumber, BadNumber, BadNumber, BadNumber}, "[? ? ? ? ? ? ?]"},
		{"good numbers", `[0, -0, 1.5, -2e10, 3E-1]`, nil, "[0 -0 1.5 -2e10 3E-1]"},
		{"backslash", `{"a":"x§\d"}`, []Cause{BadEscape}, `{a:<x\d>}`},
		{"windows path", `{"a":"D:§\data\temp\new"}`, []Cause{BadEscape}, `{a:<D:\data\temp\new>}`},
		{"half an escape", `{"a":"§\u12"}`, []Cause{BadEscape}, `{a:<\u12>}`},
		{"lone surrogate", `{"a":"§\ud800"}`, []Cause{BadEscape}, "{a:<\ufffd>}"},
		{"swapped surrogates", `{"a":"§\udc00\ud800"}`, []Cause{BadEscape}, "{a:<\ufffd\ufffd>}"},
		{"good escapes", `{"a":"\"\\\/\u00e9\ud83d\ude00"}`, nil, "{a:<\"\\/é😀>}"},
		{"raw tab", "{\"a\":\"x§\ty\"}", []Cause{ControlChar}, "{a:<x\ty>}"},
		{"control character between values", "{§\x01\"a\":1}", []Cause{ControlChar}, "{a:1}"},
		{"invalid UTF-8", "{\"a\":\"x§\xff\"}", []Cause{BadUTF8}, "{a:<x\ufffd>}"},
		{"open string", "{\"a\": §\"x,\n\"b\": 1}", []Cause{OpenString}, "{a:<x> b:1}"},
		{"open string before brackets", `{"a": §"x}`, []Cause{OpenString}, "{a:<x>}"},
		{"wrong bracket", `{"a": [1, 2§}`, []Cause{WrongBracket}, "{a:[1 2]}"},
		{"superfluous bracket", `{"a": 1§]}`, []Cause{WrongBracket}, "{a:1}"},
		{"truncated", `{"a": [1, {"b": 2§`, []Cause{Truncated}, "{a:[1 {b:2}]}"},
		{"truncated after colon", `{"a":§`, []Cause{Truncated}, "{a:?}"},
		{"truncated after key", `{"a"§`, []Cause{Truncated}, "{a:?}"},
		{"truncated in string", `{"a": §"x`, []Cause{Truncated}, "{a:<x>}"},
		{"extra bracket at the end", `{"a": 1}§}`, []Cause{ExtraData}, "{a:1}"},
		{"extra document", "{} §{}", []Cause{ExtraData}, "{}"},
		{"byte order mark", "§\ufeff{}", []Cause{ByteOrderMark}, "{}"},
		{"position behind a byte order mark", "§\ufeff{§true:1}", []Cause{ByteOrderMark, UnquotedKey}, "{true:1}"},
		{"empty", "§", []Cause{Empty}, "nil"},
		{"blank", " \n §", []Cause{Empty}, "nil"},
		{"a colon in an array", `["a"§:1]`, []Cause{Unexpected}, "[<a> 1]"},
		{"object as key", `{§{"x":1}, "a":1}`, []Cause{Unexpected}, "{a:1}"},
		{"path over two lines", "{\"dump_path\": §\"/data/\n  dump\",\n\"dump_debug\": \"on\"}", []Cause{OpenString}, "{dump_path:</data/> dump:<> dump_debug:<on>}"},
		{"no opening quote", "{\"a\": 1,§,\n dump_op_switch§\": \"on\",\n \"b\": 2}", []Cause{ExtraComma, OpenString}, ""},
		{"no closing quote of a member", `{"layer":[§"a,"b"]}`, []Cause{OpenString}, ""},
		{"text before a quote", `[r§'/tmp']`, []Cause{OpenString}, ""},
		{"text behind a quote", `{"a": §"x"y}`, []Cause{OpenString}, ""},
		{"three quotes", `{"a": §"""x"""}`, []Cause{OpenString}, ""},
		{"member in an array", `["model_name"§:"a"]`, []Cause{Unexpected}, ""},
		{"tuple", `§({},)`, []Cause{Unexpected}, ""},
		{"slashes in a path", "{\"a\": §/data//dump,\n\"b\": 1}", []Cause{UnquotedValue}, "{a:</data//dump> b:1}"},
		{"quote in a comment", "{\"a\": 1, §# it's 5\" wide\n\"b\": 2}", []Cause{Comment}, "{a:1 b:2}"},
		{"garbage", `{"a": §@@@, "b": 1}`, []Cause{Unexpected}, "{a:? b:1}"},
		{"duplicate keys are kept", `{"a":1,"a":2}`, nil, "{a:1 a:2}"},
		{"characters, not bytes", `{"层": "值"§ "b": 1}`, []Cause{MissingComma}, "{层:<值> b:1}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, places := unmark(c.text)
			d := Parse([]byte(text))
			var causes []Cause
			var got []string
			for _, p := range d.Problems {
				line, column := d.Position(p.Offset)
				causes = append(causes, p.Cause)
				got = append(got, fmt.Sprintf("%d:%d", line, column))
			}
			if diff := gocmp.Diff(c.causes, causes); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(places, got); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
			if got := outline(d.Root); c.want != "" && got != c.want {
				t.Errorf("read %s, want %s", got, c.want)
			}
			checkRepair(t, d)
		})
	}
}
