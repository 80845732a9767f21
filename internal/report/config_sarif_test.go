package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumpconf"
)

// jsonMap and jsonList are parts of a JSON document.
type (
	jsonMap  = map[string]any
	jsonList = []any
)

// dig returns the value at a path of keys and indices.
func dig(t *testing.T, v any, path ...any) any {
	t.Helper()
	for i, step := range path {
		switch step := step.(type) {
		case string:
			o, _ := v.(jsonMap)
			inner, ok := o[step]
			if !ok {
				t.Fatalf("no %v in %v", path[:i+1], v)
			}
			v = inner
		case int:
			l, _ := v.(jsonList)
			if step >= len(l) {
				t.Fatalf("no %v in %v", path[:i+1], v)
			}
			v = l[step]
		}
	}
	return v
}

// checkSARIF checks the requirements of the standard and of code scanning on a log.
func checkSARIF(t *testing.T, text []byte) (results, rules jsonList) {
	t.Helper()
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if v := dig(t, doc, "version"); v != "2.1.0" {
		t.Errorf("version is %v", v)
	}
	if s, _ := dig(t, doc, "$schema").(string); !strings.HasSuffix(s, "sarif-schema-2.1.0.json") {
		t.Errorf("$schema is %q", s)
	}
	if n := len(dig(t, doc, "runs").(jsonList)); n != 1 {
		t.Errorf("%d runs", n)
	}
	if name := dig(t, doc, "runs", 0, "tool", "driver", "name"); name != "dumptool" {
		t.Errorf("driver is %v", name)
	}
	results = dig(t, doc, "runs", 0, "results").(jsonList)
	rules = dig(t, doc, "runs", 0, "tool", "driver", "rules").(jsonList)
	var ids []string
	for _, r := range rules {
		ids = append(ids, dig(t, r, "id").(string))
		if dig(t, r, "shortDescription", "text") == "" {
			t.Errorf("rule %v has no description", r)
		}
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("rules %v, want each once and in order", ids)
	}
	levels := []any{"error", "warning", "note"}
	for _, r := range results {
		index := int(dig(t, r, "ruleIndex").(float64))
		if index >= len(ids) || ids[index] != dig(t, r, "ruleId") {
			t.Errorf("ruleIndex %d of %v is wrong", index, dig(t, r, "ruleId"))
		}
		if !slices.Contains(levels, dig(t, r, "level")) || dig(t, r, "message", "text") == "" {
			t.Errorf("result %v", r)
		}
		checkRegion(t, dig(t, r, "locations", 0))
		related, _ := r.(jsonMap)["relatedLocations"].(jsonList)
		for i, l := range related {
			checkRegion(t, l)
			if dig(t, l, "id") != float64(i) || dig(t, l, "message", "text") == "" {
				t.Errorf("related location %v", l)
			}
		}
	}
	return results, rules
}

func checkRegion(t *testing.T, location any) {
	t.Helper()
	if uri := dig(t, location, "physicalLocation", "artifactLocation", "uri"); uri == "" {
		t.Error("no uri")
	}
	if _, ok := dig(t, location, "physicalLocation").(jsonMap)["region"]; !ok { // a file without lines
		return
	}
	region := dig(t, location, "physicalLocation", "region")
	line, column := dig(t, region, "startLine").(float64), dig(t, region, "startColumn").(float64)
	end, sameLine := dig(t, region, "endColumn").(float64), true
	if endLine, ok := region.(jsonMap)["endLine"].(float64); ok {
		sameLine = endLine == line
		if endLine < line {
			t.Errorf("region %v ends before it starts", region)
		}
	}
	if line < 1 || column < 1 || end < 1 || sameLine && end < column {
		t.Errorf("region %v", region)
	}
}

func sarif(t *testing.T, c *ConfigChecks) []byte {
	t.Helper()
	return []byte(rendered(t, func(w io.Writer) error { return WriteConfigChecksSARIF(w, c) }))
}

func TestConfigSARIF(t *testing.T) {
	t.Parallel()
	text := sarif(t, &ConfigChecks{Tool: "dumptool v1.2.3", Checks: dumpconf.Checks{Failed: []string{"c.json: no such file"}, Files: []dumpconf.FileCheck{
		{Name: "conf/a b.json", Before: sampleReport(t)}, {Name: "b.json", Before: sampleReport(t)},
	}}})
	results, rules := checkSARIF(t, text)
	if len(results) != 6 || len(rules) != 3 {
		t.Fatalf("%d results, %d rules", len(results), len(rules))
	}
	got := fmt.Sprint(results[0])
	want := "map[level:error locations:[map[physicalLocation:map[artifactLocation:map[uri:conf/a%20b.json] " +
		"region:map[endColumn:16 startColumn:15 startLine:2]]]] message:map[text:must be a string] " +
		`properties:map[code:EP0001 path:dump.dump_step suggestion:"5"] ruleId:ACL010 ruleIndex:2]`
	if got != want {
		t.Errorf("first result\n%s\nwant\n%s", got, want)
	}
	if level := dig(t, results[2], "level"); level != "note" {
		t.Errorf("a hint has level %v", level)
	}
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	run := dig(t, doc, "runs", 0)
	if v := dig(t, run, "tool", "driver", "version"); v != "v1.2.3" {
		t.Errorf("version %v", v)
	}
	if dig(t, run, "invocations", 0, "executionSuccessful") != false {
		t.Error("a run with an unreadable file is successful")
	}
	if m := dig(t, run, "invocations", 0, "toolExecutionNotifications", 0, "message", "text"); m != "c.json: no such file" {
		t.Errorf("notification %v", m)
	}
}

func TestConfigSARIFEmpty(t *testing.T) {
	t.Parallel()
	results, rules := checkSARIF(t, sarif(t, &ConfigChecks{}))
	if len(results) != 0 || len(rules) != 0 {
		t.Errorf("results %v, rules %v", results, rules)
	}
}

// TestConfigSARIFOfRules checks logs of files with all sorts of mistakes.
func TestConfigSARIFOfRules(t *testing.T) {
	t.Parallel()
	files := []string{
		"", "\x7fELF\x00", "\xff\xfe{\x00}\x00", "\xef\xbb\xbf{}", "[1,\n2", "{'dump': {}}",
		`{"dump": {"dump_path": "a b", "dump_mode": "All", "dump_list": [{"layer": ["x", "x"]}], "dump_path": 1}}`,
		"{\"common_dump_settings\": {\n\"dump_mode\": \"0\"}}", `{"ge.exec.enableDump": "2"}`,
	}
	checks, want := &ConfigChecks{}, 0
	for _, text := range files {
		r := dumpconf.Check("x.json", []byte(text), dumpconf.Options{})
		want += len(r.Findings)
		checks.Files = append(checks.Files, dumpconf.FileCheck{Name: "x.json", Before: r})
	}
	if results, _ := checkSARIF(t, sarif(t, checks)); len(results) != want || want < 10 {
		t.Errorf("%d results of %d findings", len(results), want)
	}
}
