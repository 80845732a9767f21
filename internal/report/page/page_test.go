package page

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// comparisonOf returns a comparison of rows with these names. The second row fails.
func comparisonOf(names ...string) *Comparison {
	r := &record.Report{Verdict: "evidence", Findings: record.NoFindings(), Args: []string{"--cpu=a/golden", "--npu=b/dumps"}}
	for i, name := range names {
		result := &metrics.Result{Total: 10, MeanRel: metrics.NumberOf(0.25), Cosine: metrics.NumberOf(0.75), RefDType: tensor.Float32, NPUDType: tensor.Float16}
		row := record.Row{Op: name, OpType: "Conv2D", Kind: "output", Pair: record.PairVerdict{Status: record.Pass}, Verdict: record.Verdict{Status: record.Pass}, RefFile: name, NPUFile: name, Shape: tensor.Shape{2, 5}, Order: i, Result: result}
		if i == 1 {
			row.Pair.Status, row.Status, row.Errors, row.Evidence = record.Fail, record.Fail, 5, &record.Evidence{Level: record.IsOrigin, Score: 12}
			row.Reasons = []finding.Finding{{Code: finding.CalcError, Confidence: finding.High, Evidence: lang.Say("%s", lang.Text{EN: "wrong: " + name, ZH: "错误：" + name})}}
			r.Findings.FirstBad, r.Findings.FirstDamaged = 1, 1
		}
		r.Rows = append(r.Rows, row)
	}
	return &Comparison{Report: r, Headline: lang.Text{EN: "FAIL: " + strings.Join(names, " "), ZH: "FAIL：" + strings.Join(names, " ")}, Labels: names}
}

// written renders a page.
func written(t testing.TB, c *Comparison, opt Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, c, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var dataBlock = regexp.MustCompile(`(?s)<script type="application/json" id="(\w+)">(.*?)</script>`)

// blocksOf returns the data blocks of a page, all of them JSON.
func blocksOf(t testing.TB, text string) map[string]map[string]any {
	t.Helper()
	blocks := map[string]map[string]any{}
	for _, m := range dataBlock.FindAllStringSubmatch(text, -1) {
		var block map[string]any
		if err := json.Unmarshal([]byte(m[2]), &block); err != nil {
			t.Fatalf("block %s: %v", m[1], err)
		}
		blocks[m[1]] = block
	}
	return blocks
}

// TestWrite: the page has the rows as columns, and needs no other files.
func TestWrite(t *testing.T) {
	t.Parallel()
	text := written(t, comparisonOf("net/a/x", "net/b/y", "net/b/z"), Options{})
	blocks := blocksOf(t, text)
	run := blocks["data"]["run"].(map[string]any)
	cols := run["cols"].(map[string]any)
	want := map[string]string{
		"name": `["net/a/x","net/b/y","net/b/z"]`, "mark": `[1,5,1]`, "err": `[0,5,0]`, "total": `[10,10,10]`, "cosd": `[0.25,0.25,0.25]`,
		"score": `[null,12,null]`, "reason": `[-1,0,-1]`, "mod": `{"at":[0,1,1],"table":["a","b"]}`, "shape": `{"at":[0,0,0],"table":["(2, 5)"]}`,
	}
	for key, value := range want {
		if got, _ := json.Marshal(cols[key]); string(got) != value {
			t.Errorf("column %s is %s, want %s", key, got, value)
		}
	}
	if blocks["data"]["title"] != "golden · dumps" {
		t.Errorf("title %q", blocks["data"]["title"])
	}
	reasons, _ := json.Marshal(blocks["d0"]["1"].(map[string]any)["reasons"])
	if want := `[{"c":"CALC_ERROR","k":"high","t":{"en":"wrong: net/b/y","zh":"错误：net/b/y"}}]`; string(reasons) != want {
		t.Errorf("reasons %s, want %s", reasons, want)
	}
	if again := written(t, comparisonOf("net/a/x", "net/b/y", "net/b/z"), Options{}); again != text {
		t.Error("another page of the same rows")
	}
	if n := strings.Count(text, "<script"); n != len(blocks)+1 {
		t.Errorf("%d scripts, want one beside %d blocks of data", n, len(blocks))
	}
}

// hostile are strings that are no sensible names.
var hostile = []string{
	`</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"'&<!--`, "javascript:alert(1)", "a\x00b\x1b[31m\u202e\u2066\u2028", "\xff\xfe",
	strings.Repeat("长", 300), "", "'; rm -rf ~; '", `\u003c`, "../../etc/passwd", "<!--<script>",
}

// TestHostileNames: no name becomes markup, and all names are in the data.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	text := written(t, comparisonOf(hostile...), Options{Title: hostile[0]})
	checkNames(t, text, hostile)
	for _, markup := range []string{"<img", "onerror=window", "pwned=1</script>"} {
		if rest := dataBlock.ReplaceAllString(text, ""); strings.Contains(rest, "<"+strings.TrimPrefix(markup, "<")) {
			t.Errorf("%q stands in the page", markup)
		}
	}
}

// checkNames checks that a page has the names, and that no name adds an element.
func checkNames(t testing.TB, text string, names []string) {
	t.Helper()
	blocks := blocksOf(t, text)
	if n := strings.Count(strings.ToLower(text), "<script"); n != len(blocks)+1 {
		t.Errorf("%d scripts, want one beside %d blocks of data", n, len(blocks))
	}
	if n := strings.Count(text, "</script"); n != len(blocks)+1 {
		t.Errorf("%d ends of scripts, want one beside %d blocks of data", n, len(blocks))
	}
	got := blocks["data"]["run"].(map[string]any)["cols"].(map[string]any)["name"].([]any)
	for i, name := range names {
		if want := strings.ToValidUTF8(name, "\ufffd"); strings.ReplaceAll(got[i].(string), "\ufffd", "") != strings.ReplaceAll(want, "\ufffd", "") {
			t.Errorf("name %d is %q, want %q", i, got[i], want)
		}
	}
}

// FuzzPage reads documents. A page of a readable document can be written, and no name adds an
// element.
func FuzzPage(f *testing.F) {
	var whole bytes.Buffer
	if err := comparisonOf(hostile[0], hostile[3], hostile[9]).Write(&whole); err != nil {
		f.Fatal(err)
	}
	// Null values are left out; most fields of a row are null.
	seed := regexp.MustCompile(`"\w+":null,`).ReplaceAll(whole.Bytes(), nil)
	if _, err := record.Read(bytes.NewReader(seed)); err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add(seed[:len(seed)/2])
	f.Add(bytes.Replace(seed, []byte(`"total":10`), []byte(`"total":-1`), 1))
	f.Add(bytes.Replace(seed, []byte(`"PASS"`), []byte(`"</script>"`), 1))
	f.Add(bytes.Replace(seed, []byte(`"first_bad":1`), []byte(`"first_bad":9`), 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := record.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		names := []string{}
		for i := range r.Rows {
			names = append(names, r.Rows[i].Op)
		}
		all := strings.Join(names, " ")
		checkNames(t, written(t, &Comparison{Report: r, Headline: lang.Text{EN: all, ZH: all}, Labels: names}, Options{Title: all}), names)
	})
}

// TestPolicy: the policy allows the script and the style of the page.
func TestPolicy(t *testing.T) {
	t.Parallel()
	text := written(t, comparisonOf("a", "b"), Options{})
	policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(text)
	if policy == nil {
		t.Fatal("no policy")
	}
	allowed := strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(policy[1])
	for _, element := range []string{"script", "style"} {
		content := regexp.MustCompile(`(?s)<` + element + `>(.*?)</` + element + `>`).FindStringSubmatch(text)
		if content == nil || !strings.Contains(allowed, element+"-src "+sourceHash([]byte(content[1]))) {
			t.Errorf("the policy %s is not of the %s", allowed, element)
		}
	}
	for _, bad := range []string{"unsafe", "http", "*", "eval"} {
		if strings.Contains(allowed, bad) {
			t.Errorf("the policy %s has %s", allowed, bad)
		}
	}
	for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "fetch(", "XMLHttp", "import("} {
		if strings.Contains(string(assets().script), bad) {
			t.Errorf("the script has %s", bad)
		}
	}
}

// TestWords: the script uses words of the page only.
func TestWords(t *testing.T) {
	t.Parallel()
	text, err := files.ReadFile("js/" + words + ".js")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^  (\w+): "(.*)",?$`).FindAllStringSubmatch(string(text), -1) {
		known[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`say\("(\w+)"[,)]`).FindAllStringSubmatch(string(assets().script), -1) {
		if !known[m[1]] {
			t.Errorf("the script says %s, which is no word", m[1])
		}
	}
}

// TestNumbers: numbers have four digits, and non-numbers a word.
func TestNumbers(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(numberList{metrics.NumberOf(1.23456e-7), metrics.NumberOf(-70000), {}, metrics.NumberOf(math.NaN()), metrics.NumberOf(math.Inf(1)), metrics.NumberOf(math.Inf(-1)), metrics.NumberOf(0)})
	if want := `[1.235e-07,-7e+04,null,"nan","inf","-inf",0]`; err != nil || string(got) != want {
		t.Errorf("%s, error %v, want %s", got, err, want)
	}
}

// TestModules: modules come from the run, from folders in names, or from common prefixes of rows.
func TestModules(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		names, want []string
		paths       []int
	}{
		{[]string{"net/a/x", "net/a/y", "网/b/c/z"}, []string{"net|a", "net|a", "网|b|c"}, []int{6, 6, 6}},
		{[]string{"net/a/x", "net/a/y", "net/b/c/z"}, []string{"a", "a", "b|c"}, []int{6, 6, 8}},
		{[]string{"layer1_conv1", "layer1_conv2", "layer1_bn", "head_fc", "x"}, []string{"layer1", "layer1", "layer1", "", ""}, []int{7, 7, 7, 0, 0}},
		{[]string{"a.b.x", "a.b.y", "a.b.z", "a.c.x", "q"}, []string{"a|b", "a|b", "a|b", "a", ""}, []int{4, 4, 4, 2, 0}},
		{[]string{"one"}, []string{""}, []int{0}},
		{[]string{"/", "//", "_", "a_"}, []string{"", "|", "", ""}, []int{1, 2, 0, 0}},
	} {
		r := &record.Report{}
		for _, name := range test.names {
			r.Rows = append(r.Rows, record.Row{Op: name})
		}
		rows := rowsOf(r)
		got, paths := rows.modules.modulesOf(rows.ops)
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], separator, "|")
		}
		if !slices.Equal(got, test.want) || !slices.Equal(paths, test.paths) {
			t.Errorf("modules of %q are %q behind %v, want %q behind %v", test.names, got, paths, test.want, test.paths)
		}
	}
}

// TestSize: a page of many bad rows stays within its size, and has the details of the most
// important rows.
func TestSize(t *testing.T) {
	t.Parallel()
	c := comparisonOf(slices.Repeat([]string{"some/operator/with/a/name"}, 8000)...)
	for i := range c.Rows {
		if i != 4000 {
			c.Rows[i].Status, c.Rows[i].Evidence = record.Warn, nil
		}
	}
	c.Headline = lang.Text{EN: "FAIL: 1 origin", ZH: "FAIL：1 个起源"}
	c.Rows[4000].Status, c.Rows[4000].Evidence = record.Fail, &record.Evidence{Level: record.IsOrigin}
	text := written(t, c, Options{})
	blocks := blocksOf(t, text)
	if len(text) > 4_000_000 || len(text) < 3_500_000 {
		t.Errorf("%d bytes", len(text))
	}
	with := 0
	for name, block := range blocks {
		if name != "data" {
			with += len(block)
		}
	}
	if left := blocks["data"]["run"].(map[string]any)["no_detail"].(float64); left <= 0 || int(left)+with != 8000 {
		t.Errorf("%v rows without details, %d with", left, with)
	}
	if blocks["d0"]["4000"] == nil {
		t.Error("the origin has no detail")
	}
}

// TestCells unpacks packed cells.
func TestCells(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for range 500 {
		want := make([]byte, random.IntN(2000))
		for range random.IntN(60) * min(len(want), 1) {
			want[random.IntN(len(want))] = byte(random.Uint32())
		}
		text, err := cells(want).MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		packed, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil {
			t.Fatal(err)
		}
		got := []byte{}
		for ; len(packed) > 0; packed = packed[1:] {
			if got = append(got, packed[0]); packed[0] != 0 {
				continue
			}
			got = append(got, make([]byte, packed[1]-1)...)
			packed = packed[1:]
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%v is packed to %q", want, text)
		}
	}
}

// TestDumps: the numbers of compared rounds add up.
func TestDumps(t *testing.T) {
	t.Parallel()
	mindspore := []record.Software{{Name: "mindspore", Version: "1.8.1", File: "config.json"}}
	got := dumpsOf([]record.ListedRound{
		{Paired: true, Dumps: record.Dumps{Files: 2, Bytes: 10, Software: mindspore}},
		{Dumps: record.Dumps{Files: 7, Bytes: 70, Oldest: 1, Newest: 1 << 60}},
		{Paired: true, Dumps: record.Dumps{Files: 1, Bytes: 5, Oldest: 1624605159829577, Newest: 1624605160000000, Software: mindspore}},
		{Paired: true, Dumps: record.Dumps{Files: 1, Bytes: 5, Oldest: 1624605159000000, Newest: 1624605159000000}},
	})
	want := record.Dumps{Files: 4, Bytes: 20, Oldest: 1624605159000000, Newest: 1624605160000000, Software: mindspore}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := dumpsOf(nil); !reflect.DeepEqual(got, record.Dumps{}) {
		t.Errorf("of nothing %+v", got)
	}
}

// TestTitles: sides with equal names get different titles.
func TestTitles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ cpu, npu, want, noPaths string }{
		{"golden/cpu", "/data/npu/", "cpu · npu", "cpu · npu"},
		{"/data/golden/run", "/data/new/run", "golden/run · new/run", "run (CPU) · run (NPU)"},
		{"run", "/data/run", "run · data/run", "run (CPU) · run (NPU)"},
		{"s3://bucket/a/run", "s3://bucket/b/run/", "a/run · b/run", "run (CPU) · run (NPU)"},
		{"/data/run", "/data/run", "/data/run · /data/run", "run (CPU) · run (NPU)"},
	} {
		args := []string{"--cpu=" + test.cpu, "--npu=" + test.npu}
		if got := titleOf(args, false); got != test.want {
			t.Errorf("%s and %s are %q, want %q", test.cpu, test.npu, got, test.want)
		}
		if got := titleOf(args, true); got != test.noPaths {
			t.Errorf("without paths %s and %s are %q, want %q", test.cpu, test.npu, got, test.noPaths)
		}
	}
}
