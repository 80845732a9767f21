package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// unmark returns a text without its two marks, and where these stand.
func unmark(t *testing.T, marked string) (text []byte, start, end int) {
	t.Helper()
	before, rest, ok := strings.Cut(marked, "«")
	place, after, ok2 := strings.Cut(rest, "»")
	if !ok || !ok2 {
		t.Fatalf("%q has no « »", marked)
	}
	return []byte(before + place + after), len(before), len(before) + len(place)
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text       string
		room       int
		line, mark string
	}{
		"plain":         {"a\n{\"b\": «12»}\nc", 40, `{"b": 12}`, `      ^~`},
		"empty place":   {"{\"b\"«» 1}", 40, `{"b" 1}`, `    ^`},
		"end of text":   {"{\n«»", 40, ``, `^`},
		"end of line":   {"{«»\n}", 40, `{`, ` ^`},
		"several lines": {"{«\"a\":\n1»}", 40, `{"a":`, ` ^~~~`},
		"tabs":          {"\t\t«\"a\"»\t: 1", 40, `        "a"    : 1`, `        ^~~`},
		"wide":          {`"模型": «"路径"»`, 40, `"模型": "路径"`, `        ^~~~~~`},
		"wide mark":     {`{«，»`, 40, `{，`, ` ^~`},
		"crlf":          {"{\r\n  «1»\r\n}", 40, `  1`, `  ^`},
		"old mac":       {"1\r«2»", 40, `1\r2`, `   ^`},
		"control":       {"\x1b[31m«x»\x00", 40, `\x1b[31mx\x00`, `        ^`},
		"bad utf-8":     {"\"\xff«\xfe»\"", 40, `"\xff\xfe"`, `     ^~~~`},
		"direction":     {"\u202e«1»", 40, `\u202e1`, `      ^`},
		"mark of utf8":  {"«\ufeff»{}", 40, `\ufeff{}`, `^~~~~~`},
		"fits exactly":  {"«12345678»", 8, `12345678`, `^~~~~~~~`},
		"cut right":     {"«a»bcdefghijklmnop", 10, `abcdefghi…`, `^`},
		"cut left":      {"abcdefghijklmno«p»", 10, `…ijklmnop`, `        ^`},
		"cut both":      {"abcdefghijklmnopqrst«u»vwxyzabcdefghijkl", 10, `…stuvwxyz…`, `   ^`},
		"long place":    {"ab«cdefghijklmnopq»r", 10, `abcdefghi…`, `  ^~~~~~~`},
		"wide cut":      {"«一»二三四五六", 8, `一二三…`, `^~`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, start, end := unmark(t, tt.text)
			got := newExcerpt(text, start, end, tt.room)
			if want := (excerpt{tt.line, tt.mark}); got != want {
				t.Errorf("got\n%s\n%s\nwant\n%s\n%s", got.line, got.mark, want.line, want.mark)
			}
		})
	}
}

// TestExcerptWidth checks on arbitrary text that no line is too wide, that
// the mark stands below the place, and that a line that fits is whole.
func TestExcerptWidth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		runes := rapid.SliceOf(rapid.SampledFrom([]rune("ab \"{}:,,\t\n\r\x00\x1b模型，、é\u0301\u202e\ufeff😀"))).Draw(t, "text")
		if rapid.Bool().Draw(t, "long") {
			runes = append(runes, []rune(strings.Repeat("x型", 200))...)
		}
		start := rapid.IntRange(0, len(runes)).Draw(t, "start")
		end := rapid.IntRange(start, len(runes)).Draw(t, "end")
		room := rapid.IntRange(8, 160).Draw(t, "room")
		before, place, after := string(runes[:start]), string(runes[start:end]), string(runes[end:])
		e := newExcerpt([]byte(before+place+after), len(before), len(before)+len(place), room)
		if width := metric.StringWidth(e.line); width > room {
			t.Fatalf("line of %d columns, room for %d: %q", width, room, e.line)
		}
		// The end of a line that fills the room is one column beyond it.
		if width := metric.StringWidth(e.mark); width > room+1 {
			t.Fatalf("mark of %d columns, room for %d", width, room)
		}
		// What stands above the mark is the place, unless it does not fit.
		caret := strings.IndexByte(e.mark, '^')
		shown := afterColumns(e.line, caret)
		want := firstShown(place + after)
		if !strings.HasPrefix(shown, want) && !strings.HasPrefix(shown, "…") && strings.TrimSpace(want) != "" {
			t.Fatalf("above the mark stands %q, want %q", shown, want)
		}
	})
}

// afterColumns returns what follows the first columns of a text.
func afterColumns(text string, columns int) string {
	for i, r := range text {
		if columns <= 0 && metric.RuneWidth(r) > 0 {
			return text[i:]
		}
		columns -= metric.RuneWidth(r)
	}
	return ""
}

// firstShown returns how the first character of a text is shown.
func firstShown(text string) string {
	r, _ := utf8.DecodeRuneInString(text)
	switch {
	case text == "" || r == '\n' || strings.HasPrefix(text, "\r\n"):
		return ""
	case r == '\t':
		return " "
	case metric.RuneWidth(r) == 0 && r != 0 && r != '\x1b' && r != '\r' && r != 0x202e && r != 0xfeff:
		return ""
	}
	switch r {
	case '\r':
		return `\r`
	case 0:
		return `\x00`
	case 0x1b:
		return `\x1b`
	case 0x202e:
		return `\u202e`
	case 0xfeff:
		return `\ufeff`
	}
	return string(r)
}

// TestExcerptOfLongLine checks that an excerpt of a line of megabytes does not
// take the time to read them.
func TestExcerptOfLongLine(t *testing.T) {
	t.Parallel()
	line := []byte(strings.Repeat(`"model",`, 1<<20))
	for i := range 5000 {
		e := newExcerpt(line, len(line)/2+8*i, len(line), 80)
		if e.mark[0] != ' ' || !strings.HasPrefix(e.line, "…") || !strings.HasSuffix(e.line, "…") {
			t.Fatalf("got %+v", e)
		}
	}
}
