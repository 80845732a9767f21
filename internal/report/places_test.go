package report

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
)

// command is a workflow command, parsed as a GitHub runner does.
type command struct {
	name       string
	properties map[string]string
	data       string
}

// parseCommands reads workflow commands: ::NAME KEY=VALUE,KEY=VALUE::DATA, one per line. Like the
// runner's ActionCommand it ends properties at the first "::" after the name.
func parseCommands(text string) (all []command, err error) {
	unescape := func(s string, of ...string) string {
		for i := 0; i < len(of); i += 2 {
			s = strings.ReplaceAll(s, of[i], of[i+1])
		}
		return strings.ReplaceAll(s, "%25", "%")
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		head, data, ok := strings.Cut(strings.TrimPrefix(line, "::"), "::")
		if !ok || !strings.HasPrefix(line, "::") {
			return nil, fmt.Errorf("no command: %q", line)
		}
		name, list, _ := strings.Cut(head, " ")
		c := command{name: name, properties: map[string]string{}, data: unescape(data, "%0D", "\r", "%0A", "\n")}
		for _, property := range strings.Split(list, ",") {
			key, value, ok := strings.Cut(property, "=")
			if !ok || key == "" {
				return nil, fmt.Errorf("no property: %q in %q", property, line)
			}
			c.properties[key] = unescape(value, "%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",")
		}
		all = append(all, c)
	}
	return all, nil
}

// oddReport has failing rows with names and texts that commands must escape.
func oddReport() *record.Report {
	rows := []record.Row{failing("net/a,b:c::100%\r\nd"), failing("net/conv1"), failing("net/relu1"), failing("net/known"), failing("net/warn")}
	rows[0].Reasons = []finding.Finding{{Code: finding.NPUNaN, Evidence: lang.Plain("50% are NaN\nsecond, line::\x1b")}}
	rows[1].Script = "train/net.py:17"
	rows[2].Downstream, rows[3].Known = true, true
	rows[4].Status, rows[4].Verdict.Reasons = record.Warn, nil
	for i := range rows[1:] {
		rows[i+1].NPUFile = fmt.Sprintf("npu/%d", i)
	}
	rows[0].NPUFile, rows[4].NPUFile = "dumps/a b,c%.npy", "s3://bucket/run/x 1:output:0"
	return made(&record.Report{Rows: rows})
}

func TestAnnotations(t *testing.T) {
	t.Parallel()
	text := rendered(t, func(out io.Writer) error { return Write(out, "github", oddReport(), Options{}) })
	all, err := parseCommands(text)
	if err != nil || len(all) != 5 || strings.ContainsAny(text, "\r\x1b") {
		t.Fatalf("%d commands, %v:\n%q", len(all), err, text)
	}
	for i, want := range []command{
		{name: "error", properties: map[string]string{"file": "dumps/a b,c%.npy"}}, {name: "error", properties: map[string]string{"file": "train/net.py", "line": "17"}},
		{name: "notice"}, {name: "notice"}, {name: "warning", properties: map[string]string{"file": "s3://bucket/run/x 1"}},
	} {
		if all[i].name != want.name {
			t.Errorf("command %d is %s, want %s", i, all[i].name, want.name)
		}
		for key, value := range want.properties {
			if all[i].properties[key] != value {
				t.Errorf("command %d: %s is %q, want %q", i, key, all[i].properties[key], value)
			}
		}
	}
	if title := all[0].properties["title"]; !strings.Contains(title, "net/a,b:c::100%") {
		t.Errorf("title %q", title)
	}
	if data := all[0].data; !strings.Contains(data, "50% are NaN\nsecond, line::\\x1b") {
		t.Errorf("text %q", data)
	}
}

// TestSARIFOfPlaces checks logs of comparisons and of overflow against the standard.
func TestSARIFOfPlaces(t *testing.T) {
	t.Parallel()
	results, _ := checkSARIF(t, []byte(rendered(t, func(out io.Writer) error { return Write(out, "sarif", oddReport(), Options{}) })))
	if len(results) != 5 {
		t.Fatalf("%d results", len(results))
	}
	keys := map[string]bool{}
	for i, want := range []string{"error", "error", "note", "note", "warning"} {
		if level := dig(t, results[i], "level"); level != want {
			t.Errorf("result %d has the level %v, want %s", i, level, want)
		}
		uri := dig(t, results[i], "locations", 0, "physicalLocation", "artifactLocation", "uri").(string)
		if u, err := url.Parse(uri); err != nil || strings.ContainsAny(uri, " \n") || u.Path == "" {
			t.Errorf("result %d has the uri %q, %v", i, uri, err)
		}
		keys[dig(t, results[i], "partialFingerprints", "tensor/v1").(string)] = true
	}
	if len(keys) != 5 {
		t.Errorf("%d fingerprints of 5 results", len(keys))
	}
	if line := dig(t, results[1], "locations", 0, "physicalLocation", "region", "startLine"); line != 17.0 {
		t.Errorf("line %v, want 17", line)
	}
	for _, write := range []func(io.Writer) error{
		func(out io.Writer) error { return Write(out, "sarif", twoRecords(), Options{}) },
		func(out io.Writer) error { return Write(out, "sarif", scanned(), Options{}) },
		func(out io.Writer) error { return Write(out, "sarif", made(everything()), Options{}) },
	} {
		if results, rules := checkSARIF(t, []byte(rendered(t, write))); len(results) == 0 || len(rules) == 0 {
			t.Errorf("%d results by %d rules", len(results), len(rules))
		}
	}
}

// TestJSONLines: each line is a row of the document, without pictures.
func TestJSONLines(t *testing.T) {
	t.Parallel()
	report := made(everything())
	text := rendered(t, func(out io.Writer) error { return Write(out, "jsonl", report, Options{}) })
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != report.Len() {
		t.Fatalf("%d lines of %d rows", len(lines), report.Len())
	}
	for i, line := range lines {
		var row map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		var op string
		if err := json.Unmarshal(row["op"], &op); err != nil || op != report.Rows[i].Op || string(row["status"]) != `"`+string(report.Rows[i].Status)+`"` {
			t.Errorf("line %d is of %q, %s, %v", i, op, row["status"], err)
		}
		if string(row["pictures"]) != "null" || row["noise"] != nil {
			t.Errorf("line %d has pictures or noise", i)
		}
	}
}

// TestFileOf: the file of a tensor is the part of its place before the tensor.
func TestFileOf(t *testing.T) {
	for name, want := range map[string]string{
		"":                              "",
		"npu/b.npy":                     "npu/b.npy",
		"s3://dumps/b.npy":              "s3://dumps/b.npy",
		"npu/MatMul.fc.3.1.17":          "npu/MatMul.fc.3.1.17",
		"npu/MatMul.fc.3.1.17:output:0": "npu/MatMul.fc.3.1.17",
		"npu/odd:name:input:12":         "npu/odd:name",
		"run/a.h5:/op/0/output/x":       "run/a.h5",
		"run/w.npz:layer.0:output:1":    "run/w.npz",
		"run/call:parameter:weight":     "run/call",
	} {
		if is := fileOf(name); is != want {
			t.Errorf("the file of %s is %s, want %s", name, is, want)
		}
	}
}
