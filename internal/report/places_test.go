package report

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
)

// oddReport has failing rows with names and texts that a log must escape.
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
