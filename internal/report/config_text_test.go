package report

import (
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/dumpconf"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/ui"
)

// findingsText returns findings as shown on a terminal of this width.
func findingsText(width int, name string, r *dumpconf.Report) string {
	var b strings.Builder
	Text{Width: width}.printerTo(&b).printFindings(name, r)
	return b.String()
}

func TestConfigText(t *testing.T) {
	t.Parallel()
	const want = `a\nb.json:2:15: error: must be a string [ACL010, EP0001]
    2 |     "dump_step": 5,
      |                  ^
      = suggestion: "5"
a\nb.json:3:2: warning: unknown key \x1b[2J [ACL006]
    3 |     "路径": "/模型",
      |     ^~~~~~
a\nb.json:4:2: info: given twice [ACL008]
    4 |     "dump_step": "0||1"
      |     ^~~~~~~~~~~
a\nb.json:2:2: note: first here
    2 |     "dump_step": 5,
      |     ^~~~~~~~~~~
`
	got := findingsText(0, "a\nb.json", sampleReport(t))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestConfigTextNarrow(t *testing.T) {
	t.Parallel()
	r := sampleReport(t)
	r.Findings = r.Findings[:1]
	r.Findings[0].Message = lang.Plain("a message that needs 模型模型 more than one line of the terminal")
	const want = `a.json:2:15: error: a message that needs
    模型模型 more than one line of the
    terminal [ACL010, EP0001]
    2 |     "dump_step": 5,
      |                  ^
      = suggestion: "5"
`
	if diff := cmp.Diff(want, findingsText(40, "a.json", r)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestConfigTextWidths checks that no line is wider than the terminal.
func TestConfigTextWidths(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("很长的名字", 40) + strings.Repeat("name\t", 40)
	text := `{"dump": {"dump_path": "/d", "dump_list": [{"layer": ["` + long + ` ", "` + long + ` ", ""]}], "dump_mode": "` + long + `",}}`
	r := dumpconf.Check("x.json", []byte(text), dumpconf.Options{})
	if len(r.Findings) < 4 {
		t.Fatalf("%d findings", len(r.Findings))
	}
	for width := 40; width <= 160; width++ {
		got := findingsText(width, strings.Repeat("文件夹/", 30)+"x.json", r)
		for line := range strings.Lines(got) {
			if n := ui.Columns.StringWidth(strings.TrimSuffix(line, "\n")); n > width && !isCommand(line) {
				t.Fatalf("%d columns on a terminal of %d: %q", n, width, line)
			}
		}
	}
}

// TestConfigTextUTF16: places in UTF-16 files are found in the decoded text.
func TestConfigTextUTF16(t *testing.T) {
	t.Parallel()
	text := "{\"模型😀\": 1, \"dump\": {\n \"dump_path\": \"/d\", \"dump_debug\": \"😀on\"}}"
	src := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		src = binary.LittleEndian.AppendUint16(src, unit)
	}
	r := dumpconf.Check("x.json", src, dumpconf.Options{})
	got := findingsText(0, "x.json", r)
	const want = `    2 |  "dump_path": "/d", "dump_debug": "😀on"}}
      |                                   ^~~~~~
`
	if !strings.Contains(got, want) {
		t.Errorf("got\n%swant in it\n%s", got, want)
	}
}

// TestConfigTextWithoutText has files without a line to show.
func TestConfigTextWithoutText(t *testing.T) {
	t.Parallel()
	tests := map[string][]byte{
		"empty":     nil,
		"binary":    []byte("\x7fELF\x00\x00\x01\x02"),
		"too large": make([]byte, dumpconf.MaxSize+1),
	}
	for name, src := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := dumpconf.Check("x.json", src, dumpconf.Options{})
			got := findingsText(0, "x.json", r)
			if !strings.HasPrefix(got, "x.json:1:") || strings.Contains(got, "\n ") || strings.Contains(got, "\x00") {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestConfigPlacesEnd(t *testing.T) {
	t.Parallel()
	text := "ab\n模型\ncd"
	p := configTextOf(&dumpconf.Report{Doc: jsonpos.Parse([]byte(text))})
	tests := map[string]struct {
		part         string
		line, column int
	}{
		"one line":  {"模型", 2, 3},
		"two lines": {"b\n模", 2, 2},
		"all":       {text, 3, 3},
		"newline":   {"\n", 2, 1},
	}
	for name, tt := range tests {
		line, column := p.end(configPlace(t, text, tt.part, 1))
		if line != tt.line || column != tt.column {
			t.Errorf("%s: ends at %d:%d, want %d:%d", name, line, column, tt.line, tt.column)
		}
	}
}

// unmark returns a text without its two marks, and their places.
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

// TestExcerptWidth checks on arbitrary text that no line is too wide, that the mark is below the
// place, and that a fitting line is whole.
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
		if width := ui.Columns.StringWidth(e.line); width > room {
			t.Fatalf("line of %d columns, room for %d: %q", width, room, e.line)
		}
		// The end of a line that fills the width is one column beyond it.
		if width := ui.Columns.StringWidth(e.mark); width > room+1 {
			t.Fatalf("mark of %d columns, room for %d", width, room)
		}
		// Above the mark is the place, unless it does not fit.
		caret := strings.IndexByte(e.mark, '^')
		shown := afterColumns(e.line, caret)
		want := firstShown(place + after)
		if !strings.HasPrefix(shown, want) && !strings.HasPrefix(shown, "…") && strings.TrimSpace(want) != "" {
			t.Fatalf("above the mark stands %q, want %q", shown, want)
		}
	})
}

// afterColumns returns the text after the first columns.
func afterColumns(text string, columns int) string {
	for i, r := range text {
		if columns <= 0 && ui.Columns.RuneWidth(r) > 0 {
			return text[i:]
		}
		columns -= ui.Columns.RuneWidth(r)
	}
	return ""
}

// firstShown returns the first character of a text as shown.
func firstShown(text string) string {
	r, _ := utf8.DecodeRuneInString(text)
	switch {
	case text == "" || r == '\n' || strings.HasPrefix(text, "\r\n"):
		return ""
	case r == '\t':
		return " "
	case ui.Columns.RuneWidth(r) == 0 && r != 0 && r != '\x1b' && r != '\r' && r != 0x202e && r != 0xfeff:
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

// TestExcerptOfLongLine: an excerpt of a line of megabytes is fast: the rest is not read.
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

// sampleExplanation has a section with lines of several sorts.
func sampleExplanation() *dumpconf.Explanation {
	return &dumpconf.Explanation{
		Schema: dumpconf.SchemaACL, Active: true,
		Sections: []dumpconf.Section{
			{Name: "what", Title: dumpconf.Text{EN: "What is dumped", ZH: "dump 什么"}, Lines: []dumpconf.Text{
				{EN: "outputs of all operators of the models that run", ZH: "所有模型中所有算子的输出张量和统计信息"},
				{EN: "name \x1b[2J", ZH: "名称 \x1b[2J"},
			}},
			{Name: "read", Title: dumpconf.Text{EN: "How to read it", ZH: "如何解析"}, Lines: []dumpconf.Text{{EN: "a - b", ZH: "a - 乙"}}},
		},
		Patterns: []string{"/d/{time}/x"},
	}
}

func TestConfigExplanation(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		printer Text
		want    string
	}{
		"wide": {Text{}, `a\n.json (acl)

What is dumped
  - outputs of all operators of the models that run
  - name \x1b[2J

How to read it
  - a - b
`},
		"narrow": {Text{Width: 24}, `a\n.json (acl)

What is dumped
  - outputs of all
    operators of the
    models that run
  - name \x1b[2J

How to read it
  - a - b
`},
		"chinese": {Text{Lang: Chinese, Width: 24}, `a\n.json (acl)

dump 什么
  - 所有模型中所有算子的
    输出张量和统计信息
  - 名称 \x1b[2J

如何解析
  - a - 乙
`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := rendered(t, func(w io.Writer) error {
				return tt.printer.WriteConfigExplanation(w, &ConfigExplanation{Name: "a\n.json", Explanation: sampleExplanation()})
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestConfigExplanationWidths(t *testing.T) {
	t.Parallel()
	src := `{"dump": {"dump_path": "/data/很长的文件夹/dump", "dump_mode": "all", "dump_list": [{"layer": ["` +
		strings.Repeat("算子", 100) + `"]}], "dump_lits": 1}}`
	opt := dumpconf.Options{}
	e := dumpconf.Explain(dumpconf.Check("a.json", []byte(src), opt), opt)
	for width := 40; width <= 160; width++ {
		for _, lang := range []Lang{English, Chinese} {
			got := rendered(t, func(w io.Writer) error {
				return Text{Lang: lang, Width: width}.WriteConfigExplanation(w, &ConfigExplanation{Name: "a.json", Explanation: e})
			})
			for line := range strings.Lines(got) {
				if n := ui.Columns.StringWidth(strings.TrimSuffix(line, "\n")); n > width && !isCommand(line) {
					t.Fatalf("%d columns on a terminal of %d: %q", n, width, line)
				}
			}
		}
	}
}

func TestConfigExplanationJSON(t *testing.T) {
	t.Parallel()
	const want = `{"file":"a.json","schema":"acl","active":true,` +
		`"error":{"rule":"ACL010","severity":"error","path":"dump.dump_step","line":2,"column":15,"message":"must be a string","code":"EP0001","suggestion":"\"5\""},` +
		`"sections":[{"name":"what","title":"What is dumped","lines":["outputs of all operators of the models that run","name \u001b[2J"]},` +
		`{"name":"read","title":"How to read it","lines":["a - b"]}],"patterns":["/d/{time}/x"],"commands":[]}` + "\n"
	text := func(e *ConfigExplanation) string {
		return rendered(t, func(w io.Writer) error { return WriteConfigExplanationJSON(w, e) })
	}
	refused := &sampleReport(t).Findings[0]
	if diff := cmp.Diff(want, text(&ConfigExplanation{"a.json", sampleExplanation(), refused})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	const empty = `{"file":"-","schema":"unknown","active":false,"sections":[],"patterns":[],"commands":[]}` + "\n"
	if got := text(&ConfigExplanation{Name: "-", Explanation: new(dumpconf.Explanation)}); got != empty {
		t.Errorf("got %s, want %s", got, empty)
	}
}
