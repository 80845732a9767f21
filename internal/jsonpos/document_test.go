package jsonpos

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"
)

func TestRanges(t *testing.T) {
	src := `{"a": [ "x\n", 12 ], "层":null}`
	d := Parse([]byte(src))
	a, layer := d.Root.Get("a"), d.Root.Get("层")
	for _, c := range []struct {
		start, end int
		want       string
	}{
		{d.Root.Start, d.Root.End, src},
		{a.KeyStart, a.KeyEnd, `"a"`},
		{a.Value.Start, a.Value.End, `[ "x\n", 12 ]`},
		{a.Value.Elems[0].Start, a.Value.Elems[0].End, `"x\n"`},
		{a.Value.Elems[1].Start, a.Value.Elems[1].End, "12"},
		{layer.KeyStart, layer.KeyEnd, `"层"`},
		{layer.Value.Start, layer.Value.End, "null"},
	} {
		if got := src[c.start:c.end]; got != c.want {
			t.Errorf("range %d:%d is %q, want %q", c.start, c.end, got, c.want)
		}
	}
	if m := d.Root.Get("none"); m != nil {
		t.Errorf("Get of a key that is not there = %v", m)
	}
}

func TestGetReturnsTheLast(t *testing.T) {
	d := Parse([]byte(`{"a":false,"a":true}`))
	if m := d.Root.Get("a"); m.Value.Kind != Bool || m.Value.Text != "true" {
		t.Errorf("Get = %v, want the second", outline(m.Value))
	}
}

func TestPosition(t *testing.T) {
	d := Parse([]byte("\ufeff{\r\n \"层\": 1}"))
	for offset, want := range map[int]string{-1: "1:1", 0: "1:1", 3: "1:1", 4: "1:2", 6: "2:1", 7: "2:2", 12: "2:5", 99: "2:9"} {
		line, column := d.Position(offset)
		if got := fmt.Sprintf("%d:%d", line, column); got != want {
			t.Errorf("Position(%d) = %s, want %s", offset, got, want)
		}
	}
}

func TestCursorAgreesWithPosition(t *testing.T) {
	d := Parse([]byte("\ufeff{\"a\":1,\n\n\"层\": \"x\",\"b\":2}\n"))
	for _, order := range [][]int{{0, 3, 4, 5, 9, 12, 13, 16, 20, 25, 99}, {20, 4, 25, 13, 13, 0, 3, 8}} {
		c := d.Cursor()
		for _, offset := range order {
			line, column := c.Position(offset)
			wantLine, wantColumn := d.Position(offset)
			if line != wantLine || column != wantColumn {
				t.Errorf("cursor at %d: %d:%d, want %d:%d", offset, line, column, wantLine, wantColumn)
			}
		}
	}
}

// inUTF16 encodes a text, with or without byte order mark.
func inUTF16(text string, big, mark bool) []byte {
	units := utf16.Encode([]rune(text))
	if mark {
		units = append([]uint16{0xfeff}, units...)
	}
	var out []byte
	for _, u := range units {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return out
}

func TestUTF16(t *testing.T) {
	const text = `{"dump": "值😀"}`
	for _, big := range []bool{false, true} {
		for _, mark := range []bool{false, true} {
			src := inUTF16(text, big, mark)
			d := Parse(src)
			if d.Root != nil || len(d.Problems) != 1 || d.Problems[0].Cause != UTF16 {
				t.Errorf("big %v, mark %v: problems %+v", big, mark, d.Problems)
				continue
			}
			if got := string(apply(src, d.Problems)); got != text {
				t.Errorf("big %v, mark %v: repaired to %q", big, mark, got)
			}
		}
	}
}

func TestNoText(t *testing.T) {
	for name, src := range map[string][]byte{
		"zero in the middle": []byte("{\"a\":\x00}"),
		"zeros":              make([]byte, 100),
		"ELF":                []byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00"),
	} {
		d := Parse(src)
		if len(d.Problems) != 1 || d.Problems[0].Cause != Binary || d.Root != nil {
			t.Errorf("%s: problems %+v, want one of a binary file", name, d.Problems)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name, text string
		cause      Cause
	}{
		{"depth", strings.Repeat("[", 100_000), TooDeep},
		{"depth of objects", strings.Repeat(`{"a":`, 100_000), TooDeep},
		{"values", "[" + strings.Repeat("0,", MaxValues) + "0]", TooMany},
		{"depth after many problems", strings.Repeat("[,", MaxDepth+1), TooDeep},
	} {
		d := Parse([]byte(c.text))
		if n := len(d.Problems); n == 0 || d.Problems[n-1].Cause != c.cause {
			t.Errorf("%s: last problem is not %v", c.name, c.cause)
		}
	}
	full := "[" + strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth)
	if d := Parse([]byte(full)); !d.Valid() {
		t.Errorf("%d levels: %+v", MaxDepth, d.Problems)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	d := Parse([]byte("[" + strings.Repeat(",", 1000) + "]"))
	if len(d.Problems) != MaxProblems || !d.More {
		t.Errorf("%d problems, more %v; want %d and more", len(d.Problems), d.More, MaxProblems)
	}
}

// TestLargeInputs: time and memory are proportional to the size, for texts of 256 KiB that keep the parser busy.
func TestLargeInputs(t *testing.T) {
	const size = 1 << 18
	for name, unit := range map[string]string{
		"values":          "0,",
		"brackets":        "[]",
		"wrong brackets":  `[{]`,
		"commas":          ",",
		"comments":        "#\n",
		"open strings":    "\"a\n",
		"escapes":         `\d`,
		"garbage":         "@",
		"colons":          ":",
		"quotes":          "'",
		"curly quotes":    "“",
		"full-width":      "，",
		"invalid UTF-8":   "\xff",
		"keys":            `"a":1`,
		"brackets in key": `{{`,
		"blanks":          "\"a\n" + strings.Repeat(" ", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			src := []byte("[" + strings.Repeat(unit, size/len(unit)))
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			d := Parse(src)
			runtime.GC()
			runtime.ReadMemStats(&after)
			if d.Valid() {
				t.Error("no problem found")
			}
			if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 128*size {
				t.Errorf("keeps %d KiB for %d KiB", kept>>10, size>>10)
			}
			runtime.KeepAlive(src)
		})
	}
}

func TestQuote(t *testing.T) {
	for _, s := range []string{"", "a", `"\`, "\n\r\t\x01", "层😀", "</x>"} {
		var got string
		if err := json.Unmarshal([]byte(Quote(s)), &got); err != nil || got != s {
			t.Errorf("Quote(%q) = %s, reads %q, %v", s, Quote(s), got, err)
		}
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		Array.String():   "an array",
		Invalid.String(): "nothing",
	} {
		if got != want {
			t.Errorf("name %q, want %q", got, want)
		}
	}
}
