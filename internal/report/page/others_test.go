package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Documents of other commands; the page shows a part of each.
const (
	overflowDocument = `{"schema":"dumptool/overflow/1","records":[{"file":"/home/user/run/Opdebug.1","rank":"0","verdict":"came in","op":{"type":"Add","name":"net/Add-op0","file":"/home/user/run/Add.1","matched_by":"ids"},
		"causes":[{"mask":"0x20","en":"overflow","zh":"溢出"}],"tensors":[{"kind":"input","index":0,"min":null,"max":2,"bad":true}]}],"problems":[],"first":{"0":0}}`
	scanDocument        = `{"schema":"dumptool/overflow_scan/1","rows":[{"file":"a.npy","op_type":"Add","op_name":"a","tensors":[]}],"problems":[{"file":"b","error":"cut"}]}`
	determinismDocument = `{"schema":"dumptool/determinism/1","runs":["/home/user/a","/home/user/b"],"tensors":2,"differing":1,"rows":[{"op":"same","status":"PASS"},{"op":"net/drift","kind":"output","status":"FAIL","runs":[{"differ":0},{"differ":3,"max_abs":"nan"}]}]}`
)

// checkDocument has a correct operator and a wrong one.
const checkDocument = `{"schema":"dumptool/check/1","summary":{"headline":"WRONG: a","counts":{"ok":1,"wrong":1},"judged":2,"operators":2,"bytes":1,"undecided":{}},
	"operators":[{"op":"b","op_type":"Relu","status":"OK","attributes":{},"outputs":[]},{"op":"a","op_type":"Conv2D","file":"/home/user/secret/a","status":"WRONG","reason":"SHIFT","fed_by":[0,7,-1],"attributes":{"strides":{"value":[1,1],"source":"graph"}},
	"outputs":[{"elements":10,"checked":10,"how":"all","bad":3,"worst_ratio":"inf","worst":[{"offset":7,"coord":[1,2],"computed":2,"npu":1.5}]}]}],"ranks":null,"problems":[]}`

// TestOthers: a page shows records, scanned files and differing tensors, also without a comparison.
func TestOthers(t *testing.T) {
	t.Parallel()
	for _, overflow := range []string{overflowDocument, scanDocument} {
		blocks := blocksOf(t, written(t, nil, Options{Documents: Documents{"overflow": json.RawMessage(overflow), "determinism": json.RawMessage(determinismDocument)}}))
		d := blocks["data"]
		if d["run"] != nil || len(d["overflow"].(map[string]any)["groups"].([]any)) != 1 || len(d["determinism"].(map[string]any)["rows"].([]any)) != 1 {
			t.Errorf("the page has %v", d)
		}
	}
}

// TestCheck: a page of a check has its operators as rows, and the details of the wrong ones first.
func TestCheck(t *testing.T) {
	t.Parallel()
	text := written(t, nil, Options{Documents: Documents{"check": json.RawMessage(checkDocument)}})
	blocks := blocksOf(t, text)
	d := blocks["data"]["check"].(map[string]any)
	for key, want := range map[string]string{"name": `["b","a"]`, "mark": `[1,5]`, "status": `[0,2]`, "err": `[-1,3]`, "total": `[-1,10]`, "score": `[null,"inf"]`, "reason": `[-1,0]`, "flow": `[0,1]`, "round": `[0,0]`} {
		if got, _ := json.Marshal(d["cols"].(map[string]any)[key]); string(got) != want {
			t.Errorf("column %s is %s, want %s", key, got, want)
		}
	}
	if round := d["rounds"].([]any)[0].(map[string]any); round["status"] != "WRONG" || round["find"].(map[string]any)["bad"] != 1.0 {
		t.Errorf("round %v, want WRONG by row 1", round)
	}
	for key, want := range map[string]string{"attrs": `[{"n":"strides","s":{"en":"graph","zh":"图"},"v":"1,1"}]`, "w": `[{"at":[1,2],"d":[0.5,0.25],"n":"1.5","r":"2"}]`} {
		if got, _ := json.Marshal(blocks["d0"]["1"].(map[string]any)[key]); string(got) != want {
			t.Errorf("the detail has %s: %s, want %s", key, got, want)
		}
	}
	for _, word := range []string{"<h1>WRONG: a</h1>", "SHIFT: "} { // without a script
		if !strings.Contains(text, word) {
			t.Errorf("the page lacks %s", word)
		}
	}
	many := `{"schema":"dumptool/check/2","summary":{"counts":{}},"operators":[` + strings.Repeat(`{"op":"x","status":"UNDECIDED","reason":"ATTRS","evidence":"`+strings.Repeat("why ", 150)+`"},`, 12000) + `{"op":"late","status":"WRONG"}]}`
	text = written(t, nil, Options{Documents: Documents{"check": json.RawMessage(many)}})
	if blocks = blocksOf(t, text); blocks["d0"]["12000"] == nil || blocks["data"]["check"].(map[string]any)["no_detail"] == 0.0 || len(text) > 4_000_000 {
		t.Errorf("%d bytes: operators without a verdict leave no room for the wrong one", len(text))
	}
}

// TestOverflowGroups: records of one operator with one cause and verdict form a group, counted by
// rank and step. Unknown counts stay unknown.
func TestOverflowGroups(t *testing.T) {
	t.Parallel()
	var records []string
	for i := range 800 {
		records = append(records, fmt.Sprintf(`{"file":"Opdebug.%d","rank":"%d","step":"%d","verdict":"produced here","op":{"type":"Add","name":"Add%d"},"causes":[{"mask":"0x20","en":"overflow","zh":"溢出"}],"tensors":[{"kind":"output","nan":null,"pos_inf":3}]}`, i, i%4, i/4%2, i%5))
	}
	o, err := overflowOf(Documents{"overflow": json.RawMessage(`{"schema":"dumptool/overflow/1","records":[` + strings.Join(records, ",") + `]}`)})
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Groups) != 5 || o.Total != 800 || o.Left != 0 {
		t.Fatalf("%d groups of %d records, %d left, want 5 of 800", len(o.Groups), o.Total, o.Left)
	}
	for i, g := range o.Groups {
		sum := 0
		for _, p := range g.Places {
			sum += p.Count
		}
		if g.Count != 160 || sum != 160 || len(g.Places) != 8 || len(g.Files) != maxNamed || g.First.Op.Name != fmt.Sprintf("Add%d", i) {
			t.Errorf("group %d: %d records of %s, %d in %d places", i, g.Count, g.First.Op.Name, sum, len(g.Places))
		}
		if x := g.First.Tensors[0]; x.NaN != nil || x.PosInf == nil || *x.PosInf != 3 {
			t.Errorf("group %d: counts %v and %v, want none and 3", i, x.NaN, x.PosInf)
		}
	}
	for i, want := range [][]string{{"0"}, {"1"}, {"2"}, {"3"}, nil} { // the first record of each rank
		if !slices.Equal(o.Groups[i].FirstOf, want) {
			t.Errorf("group %d is the first of the ranks %q, want %q", i, o.Groups[i].FirstOf, want)
		}
	}
}

// TestOthersMalformed: documents of another form are errors, and no page is written.
func TestOthersMalformed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`[]`, `{"records":3}`, `{"records":[{"op":"x"}]}`, `{"rows":[{"tensors":[{"nan":1.5}]}]}`, `{"runs":[1],"records":[1]}`, `{`} {
		for _, kind := range []string{"overflow", "determinism", "check"} {
			var b bytes.Buffer
			if err := Write(&b, nil, Options{Documents: Documents{kind: json.RawMessage(text)}}); err != nil && b.Len() > 0 {
				t.Errorf("%s: %v, and %d bytes", text, err, b.Len())
			}
		}
		if (Documents{"overflow": json.RawMessage(text)}).Check() == nil && (Documents{"determinism": json.RawMessage(text)}).Check() == nil {
			t.Errorf("%s is taken for both documents", text)
		}
	}
}

// TestNoPaths: with NoPaths the page has no folders, and operators keep their names.
func TestNoPaths(t *testing.T) {
	t.Parallel()
	c := comparisonOf("net/a/x", "net/b/y")
	c.Args = []string{"--cpu=/home/user/golden", "--npu=secret/dumps", "--mapping=s3://secret/of/us.json", "--map-node-dict=/home/user/run/../secret/names.json"}
	for i := range c.Rows {
		c.Rows[i].RefFile, c.Rows[i].NPUFile = "/home/user/golden/x.npy", "secret/dumps/x.npy"
	}
	c.Rows[1].NPUFile = "s3://secret/bucket/x.npy"
	before := comparisonOf("net/a/x")
	before.Args = c.Args
	c.Before, c.Paths = before.Report, [2]string{"/home/old/compare.json", "/home/new/compare.json"}
	opt := Options{Documents: Documents{"overflow": json.RawMessage(overflowDocument), "determinism": json.RawMessage(determinismDocument), "check": json.RawMessage(checkDocument)}}
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
