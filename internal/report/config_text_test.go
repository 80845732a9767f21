package report

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/dumpconf"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// findingsText returns findings as a terminal of some width shows them.
func findingsText(width int, name string, r *dumpconf.Report) string {
	var b strings.Builder
	Text{Width: width}.to(&b).findings(name, r)
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
			if n := metric.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("%d columns on a terminal of %d: %q", n, width, line)
			}
		}
	}
}

// TestConfigTextUTF16 checks that places in UTF-16 files are found in the text
// that was read from them.
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

// TestConfigTextWithoutText checks files of which no line can be shown.
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
