package page

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// The documents of other commands, of which the page shows a part.
const (
	overflowDocument = `{"schema":"dumptool/overflow/1","records":[{"file":"/home/user/run/Opdebug.1","rank":"0","verdict":"came in","op":{"type":"Add","name":"net/Add-op0","file":"/home/user/run/Add.1","matched_by":"ids"},
		"causes":[{"mask":"0x20","en":"overflow","zh":"溢出"}],"tensors":[{"kind":"input","index":0,"min":"-inf","max":2,"bad":true}]}],"problems":[],"first":{"0":0}}`
	scanDocument        = `{"schema":"dumptool/overflow_scan/1","rows":[{"file":"a.npy","op_type":"Add","op_name":"a","tensors":[]}],"problems":[{"file":"b","error":"cut"}]}`
	determinismDocument = `{"schema":"dumptool/determinism/1","runs":["/home/user/a","/home/user/b"],"tensors":2,"differing":1,"rows":[{"op":"same","status":"PASS"},{"op":"net/drift","kind":"output","status":"FAIL","runs":[{"differ":0},{"differ":3,"max_abs":"nan"}]}]}`
)

// TestOthers: a page shows records, scanned files and tensors that differ, without a
// comparison too.
func TestOthers(t *testing.T) {
	t.Parallel()
	for _, overflow := range []string{overflowDocument, scanDocument} {
		blocks := blocksOf(t, written(t, nil, Options{Overflow: json.RawMessage(overflow), Determinism: json.RawMessage(determinismDocument)}))
		d := blocks["data"]
		if d["run"] != nil || len(d["overflow"].(map[string]any)["records"].([]any)) != 1 || len(d["determinism"].(map[string]any)["rows"].([]any)) != 1 {
			t.Errorf("the page has %v", d)
		}
	}
}

// TestOthersMalformed: documents of another form are errors, and nothing is written.
func TestOthersMalformed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`[]`, `{"records":3}`, `{"records":[{"op":"x"}]}`, `{"rows":[{"tensors":[{"nan":1.5}]}]}`, `{"runs":[1],"records":[1]}`, `{`} {
		for _, opt := range []Options{{Overflow: json.RawMessage(text)}, {Determinism: json.RawMessage(text)}} {
			var b bytes.Buffer
			if err := Write(&b, nil, opt); err != nil && b.Len() > 0 {
				t.Errorf("%s: %v, and %d bytes", text, err, b.Len())
			}
		}
		if (&Options{Overflow: json.RawMessage(text)}).Check() == nil && (&Options{Determinism: json.RawMessage(text)}).Check() == nil {
			t.Errorf("%s is taken for both documents", text)
		}
	}
}

// TestNoPaths: without paths no folder is in the page, and operators keep their names.
func TestNoPaths(t *testing.T) {
	t.Parallel()
	c := comparisonOf("net/a/x", "net/b/y")
	c.Args = []string{"--cpu=/home/user/golden", "--npu=secret/dumps"}
	for i := range c.Rows {
		c.Rows[i].RefFile, c.Rows[i].NPUFile = "/home/user/golden/x.npy", "secret/dumps/x.npy"
	}
	opt := Options{Overflow: json.RawMessage(overflowDocument), Determinism: json.RawMessage(determinismDocument)}
	for _, opt.NoPaths = range []bool{false, true} {
		text := written(t, c, opt)
		if found := strings.Contains(text, "/home") || strings.Contains(text, "secret"); found == opt.NoPaths {
			t.Errorf("NoPaths %v: folders in the page %v", opt.NoPaths, found)
		}
		for _, name := range []string{`"net/a/x"`, `"net/drift"`, "x.npy", "Opdebug.1"} {
			if !strings.Contains(text, name) {
				t.Errorf("NoPaths %v: no %s in the page", opt.NoPaths, name)
			}
		}
	}
}
