package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/dumpconf"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

func TestConfigURI(t *testing.T) {
	t.Parallel()
	c := &ConfigChecks{Folder: "/data/src"}
	tests := map[string]string{
		"acl.json":                "acl.json",
		"./conf/../acl.json":      "acl.json",
		"a b%#?.json":             "a%20b%25%23%3F.json",
		"模型.json":                 "%E6%A8%A1%E5%9E%8B.json",
		"a:b.json":                "./a:b.json",
		"../acl.json":             "../acl.json",
		"/data/src/conf/acl.json": "conf/acl.json",
		"/data/source/acl.json":   "file:///data/source/acl.json",
		"-":                       "stdin",
	}
	for name, want := range tests {
		if got := c.uri(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

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

// applyDiff applies a unified diff of one file strictly: every kept or removed line must be there.
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
	var last *[]byte // line to cut the newline from
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
				from++ // lines are added after this one
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

// TestConfigDiffOfRepair checks the diffs of repairs.
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

// configPlace returns the n-th place of part in text, counted from 1.
func configPlace(t *testing.T, text, part string, n int) dumpconf.TextRange {
	t.Helper()
	offset := 0
	for i := range n {
		if i > 0 {
			offset += len(part)
		}
		at := strings.Index(text[offset:], part)
		if at < 0 {
			t.Fatalf("%q is not %d times in %q", part, n, text)
		}
		offset += at
	}
	before := text[:offset]
	line := strings.Count(before, "\n")
	start := strings.LastIndexByte(before, '\n') + 1
	return dumpconf.TextRange{Line: line + 1, Column: len([]rune(before[start:])) + 1, Offset: offset, Length: len(part)}
}

const sampleConfig = "{\"dump\": {\n\t\"dump_step\": 5,\n\t\"路径\": \"/模型\",\n\t\"dump_step\": \"0||1\"\n}}\n"

// sampleReport has a finding of every sort.
func sampleReport(t *testing.T) *dumpconf.Report {
	t.Helper()
	return &dumpconf.Report{
		Name: "a.json", Schema: dumpconf.SchemaACL, Doc: jsonpos.Parse([]byte(sampleConfig)),
		Findings: []dumpconf.Finding{
			{
				Rule: "ACL010", Severity: dumpconf.Error, Code: "EP0001", Path: "dump.dump_step",
				TextRange: configPlace(t, sampleConfig, "5", 1), Message: lang.Plain("must be a string"), Suggestion: `"5"`,
			},
			{
				Rule: "ACL006", Severity: dumpconf.Warning, Path: "dump.路径",
				TextRange: configPlace(t, sampleConfig, `"路径"`, 1), Message: lang.Plain("unknown key \x1b[2J"),
			},
			{
				Rule: "ACL008", Severity: dumpconf.Info, Path: "dump.dump_step", Ignored: lang.Plain("no step <counts>"),
				TextRange: configPlace(t, sampleConfig, `"dump_step"`, 2), Message: lang.Plain("given twice"),
				Related: []dumpconf.RelatedPlace{{TextRange: configPlace(t, sampleConfig, `"dump_step"`, 1), Message: lang.Plain("first here")}},
			},
		},
	}
}

// checkJSON returns the line of a checked file.
func checkJSON(t *testing.T, name string, r *dumpconf.Report) string {
	t.Helper()
	checks := &ConfigChecks{Checks: dumpconf.Checks{Files: []dumpconf.FileCheck{{Name: name, Before: r}}}}
	return strings.TrimSuffix(rendered(t, func(w io.Writer) error { return WriteConfigChecksJSON(w, checks) }), "\n")
}

func TestConfigJSON(t *testing.T) {
	t.Parallel()
	const want = `{"file":"a \"b\".json","schema":"acl","findings":[` +
		`{"rule":"ACL010","severity":"error","path":"dump.dump_step","line":2,"column":15,"message":"must be a string","code":"EP0001","suggestion":"\"5\""},` +
		`{"rule":"ACL006","severity":"warning","path":"dump.路径","line":3,"column":2,"message":"unknown key \u001b[2J","code":""},` +
		`{"rule":"ACL008","severity":"info","path":"dump.dump_step","line":4,"column":2,"message":"given twice","code":"","ignored":"no step <counts>",` +
		`"related":[{"line":2,"column":2,"message":"first here"}]}]}`
	if diff := cmp.Diff(want, checkJSON(t, `a "b".json`, sampleReport(t))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestConfigJSONWithoutFindings(t *testing.T) {
	t.Parallel()
	r := sampleReport(t)
	r.Findings, r.Schema = nil, dumpconf.SchemaMindSpore
	const want = `{"file":"-","schema":"mindspore","findings":[]}`
	if got := checkJSON(t, "-", r); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
