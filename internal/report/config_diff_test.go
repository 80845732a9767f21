package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/dumpconf"
)

func TestConfigDiff(t *testing.T) {
	t.Parallel()
	const want = "--- a/conf/a.json\n+++ b/conf/a.json\n" +
		"@@ -1,3 +1,3 @@\n {\n-  \"a\": 5,\n-}\n\\ No newline at end of file\n+  \"a\": \"5\"\n+}\n"
	got := ConfigDiff("conf/a.json", []byte("{\n  \"a\": 5,\n}"), []byte("{\n  \"a\": \"5\"\n}\n"))
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := ConfigDiff("a", []byte("x"), []byte("x")); got != nil {
		t.Errorf("the same text has the change %q", got)
	}
}

func TestConfigDiffNames(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"a.json":      "--- a/a.json\n+++ b/a.json\n",
		"/tmp/a.json": "--- a/tmp/a.json\n+++ b/tmp/a.json\n",
		"a b.json":    "--- a/a b.json\t\n+++ b/a b.json\t\n",
		"模型.json":     "--- a/模型.json\n+++ b/模型.json\n",
		"a\n\"\\\xff": `--- "a/a\012\"\\\377"` + "\n" + `+++ "b/a\012\"\\\377"` + "\n",
	}
	for name, want := range tests {
		got := string(ConfigDiff(name, []byte("1\n"), []byte("2\n")))
		if want += "@@ -1,1 +1,1 @@\n-1\n+2\n"; got != want {
			t.Errorf("%q: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// applyDiff applies a unified diff of one file, the way patch does without
// any tolerance: every line that is kept or removed must be there.
func applyDiff(before, change []byte) ([]byte, error) {
	if len(change) == 0 {
		return before, nil
	}
	old := bytes.SplitAfter(before, []byte("\n"))
	lines := bytes.SplitAfter(change, []byte("\n"))
	if len(lines) < 3 || !bytes.HasPrefix(lines[0], []byte("--- ")) || !bytes.HasPrefix(lines[1], []byte("+++ ")) {
		return nil, fmt.Errorf("no heading in %q", change)
	}
	var out []byte
	at := 0
	var last *[]byte // to cut the newline from
	for _, line := range lines[2:] {
		if len(line) == 0 {
			continue
		}
		switch body := line[1:]; line[0] {
		case '@':
			var from, count, to, added int
			if _, err := fmt.Sscanf(string(line), "@@ -%d,%d +%d,%d @@", &from, &count, &to, &added); err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			if count == 0 {
				from++ // the line after which something is added
			}
			for ; at < from-1; at++ {
				out = append(out, old[at]...)
			}
		case ' ', '-':
			if at >= len(old) || strings.TrimSuffix(string(old[at]), "\n") != strings.TrimSuffix(string(body), "\n") {
				return nil, fmt.Errorf("line %d is not %q", at+1, body)
			}
			if line[0] == ' ' {
				out = append(out, body...)
				last = &out
			} else {
				last = nil
			}
			at++
		case '+':
			out = append(out, body...)
			last = &out
		case '\\':
			if last != nil {
				*last = bytes.TrimSuffix(*last, []byte("\n"))
			}
		default:
			return nil, fmt.Errorf("line %q", line)
		}
	}
	for ; at < len(old); at++ {
		out = append(out, old[at]...)
	}
	return out, nil
}

func TestConfigDiffRoundTrip(t *testing.T) {
	t.Parallel()
	text := rapid.Map(rapid.SliceOf(rapid.SampledFrom([]string{"{\n", "}\n", "},\n", "\n", "\"a\": 1,\n", "\"b\": 2\r\n", "- x\n", "+ y\n", "模型\n"})),
		func(lines []string) string { return strings.Join(lines, "") })
	rapid.Check(t, func(t *rapid.T) {
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		if rapid.Bool().Draw(t, "open before") {
			before += "end"
		}
		if rapid.Bool().Draw(t, "open after") {
			after += "end"
		}
		got, err := applyDiff([]byte(before), ConfigDiff("a.json", []byte(before), []byte(after)))
		if err != nil || string(got) != after {
			t.Fatalf("applied: %q, %v", got, err)
		}
	})
}

// TestConfigDiffOfRepair checks the changes that repairs make.
func TestConfigDiffOfRepair(t *testing.T) {
	t.Parallel()
	files := []string{
		"{\n \"dump\": {\n  \"dump_path\": '/d', // folder\n  \"dump_debug\": true,\n },\n}\n",
		"\ufeff{'dump': {\"dump_path\": \"/d\",}}",
		"{\r\n\"dump\": {\"dump_path\": \"/d\", \"dump_step\": 5,}\r\n}",
	}
	for _, text := range files {
		fixed, _ := dumpconf.Repair("x.json", []byte(text), dumpconf.Options{})
		if string(fixed) == text {
			t.Errorf("%q is not repaired", text)
		}
		got, err := applyDiff([]byte(text), ConfigDiff("x.json", []byte(text), fixed))
		if err != nil || !bytes.Equal(got, fixed) {
			t.Errorf("%q: applied %q, %v, want %q", text, got, err, fixed)
		}
	}
}
