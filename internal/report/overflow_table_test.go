package report

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/overflow"
	"dumptool/internal/tensor"
)

// readCSV reads a table as a list of maps by column.
func readCSV(t *testing.T, text string) []map[string]string {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range line {
			if cell != "" {
				row[lines[0][i]] = cell
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// TestAnalysisCSV: one line per tensor, and one for a record without tensors. Cells are quoted if
// needed.
func TestAnalysisCSV(t *testing.T) {
	t.Parallel()
	r := twoRecords()
	r.Records[1].Op = &overflow.Operator{Type: "A,B", Name: "\"x\"\ny", File: "f", MatchedBy: overflow.ByTimestamp, Guess: true}
	text := rendered(t, func(w io.Writer) error { return WriteAnalysisCSV(w, r) })
	add := map[string]string{"record": "d/Opdebug.Node_OpDebug.57.563.1732082705016774", "device": "0", "rank": "0", "step": "3", "model": "net",
		"timestamp": "1732082705016774", "time": "2024-11-20 06:05:05.016774", "acc_type": "AI Core", "task_id": "57", "stream_id": "563",
		"block": "1", "pc_start": "0x1008005b0000", "status": "0x20", "causes": "floating-point computation overflowed", "verdict": "came in",
		"op_type": "Add", "op_name": "Default/Add-op0", "op_file": "d/Add.Default_Add-op0.57.563.1732082705016000", "matched_by": "payload ids",
		"dtype": "float16", "format": "ND", "shape": "3", "count": "3", "nan": "0", "+inf": "1", "-inf": "0", "saturated": "0",
		"min": "1", "max": "2", "mean": "1.5", "first_bad": "2", "coordinates": "2"}
	input, output := map[string]string{"tensor": "input 0"}, map[string]string{"tensor": "output 0"}
	for k, v := range add {
		input[k], output[k] = v, v
	}
	lost := map[string]string{"record": "d/Opdebug.Node_OpDebug.7.1732082705016999", "device": "1", "rank": "1", "timestamp": "1732082705016999",
		"time": "2024-11-20 06:05:05.016999", "acc_type": "AIC", "task_id": "7", "stream_id": "3", "context_id": "0", "thread_id": "1",
		"core_id": "2", "block": "15", "pc_start": "0x0", "status": "0x0 0x20 0x0 0x100",
		"causes":  "floating-point computation overflowed; conversion from FP32 or INT32 to FP16 overflowed",
		"verdict": "cannot tell", "op_type": "A,B", "op_name": "\"x\"\ny", "op_file": "f", "matched_by": "nearest timestamp"}
	if diff := cmp.Diff([]map[string]string{input, output, lost}, readCSV(t, text)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(text, `,"A,B","""x""`) {
		t.Errorf("not quoted:\n%s", text)
	}
}

// TestScanCSV: one line per tensor, errors in their own column.
func TestScanCSV(t *testing.T) {
	t.Parallel()
	rows := readCSV(t, rendered(t, func(w io.Writer) error { return WriteScanCSV(w, scanned()) }))
	if len(rows) != 3 {
		t.Fatalf("%d lines", len(rows))
	}
	for i, want := range []map[string]string{
		{"tensor": "output 0", "first": "true", "bad": "true", "first_bad": "2", "verdict": "cannot tell"},
		{"tensor": "output 1", "first": "true", "bad": "false", "error": "too short"},
		{"file": "x.npy", "timestamp": "0", "time": "", "first": "false", "bad": "false", "dtype": "int32", "saturated": "1", "shape": ""},
	} {
		for column, cell := range want {
			if rows[i][column] != cell {
				t.Errorf("line %d: %s is %q, want %q", i, column, rows[i][column], cell)
			}
		}
	}
}

func TestMarkdownEscapes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Default_network__backbone-op1": "Default_network__backbone-op1",
		"/_a_/b_":                       `/\_a\_/b\_`,
		"a|b":                           `a\|b`,
		"a\nb\x1b[0m":                   `a\\nb\\x1b\[0m`,
		"**x** `y` [z](w)":              "\\*\\*x\\*\\* \\`y\\` \\[z\\](w)",
		"<b>&amp;":                      "&lt;b>&amp;amp;",
		`C:\x`:                          `C:\\x`,
		"~~a~~ $b$":                     `\~\~a\~\~ \$b\$`,
		"溢出":                            "溢出",
	} {
		if got := escapeMarkdown(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// TestAnalysisMarkdown: names from files do not become markup.
func TestAnalysisMarkdown(t *testing.T) {
	t.Parallel()
	r := twoRecords()
	r.Records[0].Op.Name = "a|b\n# c"
	if text, want := rendered(t, func(w io.Writer) error { return english.WriteAnalysisMarkdown(w, r) }), `: \[Add\] a\|b\\n# c`; !strings.Contains(text, want) {
		t.Errorf("no %s in\n%s", want, text)
	}
}

// object is a JSON object with its keys in order.
type object struct {
	keys   []string
	values map[string]json.RawMessage
}

func parseObject(t *testing.T, text []byte) object {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		t.Fatalf("no object: %v, %v in %s", open, err, text)
	}
	o := object{values: map[string]json.RawMessage{}}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
		o.keys = append(o.keys, key.(string))
		o.values[key.(string)] = value
	}
	return o
}

// elements returns the objects of an array.
func (o object) elements(t *testing.T, key string) []object {
	t.Helper()
	var raw []json.RawMessage
	if err := json.Unmarshal(o.values[key], &raw); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	var all []object
	for _, r := range raw {
		all = append(all, parseObject(t, r))
	}
	return all
}

func analysisJSON(t *testing.T, r *overflow.Report) object {
	t.Helper()
	return parseObject(t, []byte(rendered(t, func(w io.Writer) error { return writeDocument(w, r) })))
}

// wantKeys fails unless o has all wanted keys.
func wantKeys(t *testing.T, o object, want ...string) {
	t.Helper()
	for _, key := range want {
		if o.values[key] == nil {
			t.Errorf("no key %s in %v", key, o.keys)
		}
	}
}

func wantValue(t *testing.T, o object, key, want string) {
	t.Helper()
	var compact strings.Builder
	for line := range strings.Lines(string(o.values[key])) {
		compact.WriteString(strings.TrimSpace(line))
	}
	if compact.String() != want {
		t.Errorf("%s is %s, want %s", key, compact.String(), want)
	}
}

// TestAnalysisJSON: the keys that scripts rely on.
func TestAnalysisJSON(t *testing.T) {
	t.Parallel()
	o := analysisJSON(t, twoRecords())
	wantKeys(t, o, "schema", "records", "problems", "first")
	wantValue(t, o, "first", `{"0": 0,"1": 1}`)
	records := o.elements(t, "records")
	if len(records) != 2 {
		t.Fatalf("%d records", len(records))
	}
	for _, r := range records {
		wantKeys(t, r, "file", "device", "step", "timestamp", "acc_type", "model_id", "stream_id", "task_id", "context_id", "thread_id",
			"status", "causes", "op", "tensors", "verdict", "advice")
	}
	for _, p := range o.elements(t, "problems") {
		wantKeys(t, p, "file", "error")
	}
	add, lost := records[0], records[1]
	for key, want := range map[string]string{
		"device": `"0"`, "step": `"3"`, "timestamp": "1732082705016774", "acc_type": `"AI Core"`, "model_id": "514", "context_id": "null",
		"status": "[32]", "verdict": `"came in"`, "time": `"2024-11-20 06:05:05.016774"`, "model": `"net"`, "block": "1", "core_id": "",
		"pc_start": `"0x1008005b0000"`, "advice": `[{"en": "go upstream","zh": "向上游查找"}]`,
		"causes": `[{"mask": "0x20","en": "floating-point computation overflowed","zh": "浮点计算有溢出"}]`,
		"op": `{"type": "Add","name": "Default/Add-op0","file": "d/Add.Default_Add-op0.57.563.1732082705016000",` +
			`"matched_by": "payload ids"}`,
	} {
		wantValue(t, add, key, want)
	}
	for key, want := range map[string]string{
		"step": `""`, "acc_type": `"AIC"`, "context_id": "0", "thread_id": "1", "status": "[0,32,0,256]", "op": "null", "tensors": "[]",
		"advice": "[]", "core_id": "2", "block": "15", "warnings": `["data_len is odd"]`,
		"causes": `[{"mask": "0x20","en": "floating-point computation overflowed","zh": "浮点计算有溢出","word": 1},` +
			`{"mask": "0x100","en": "conversion from FP32 or INT32 to FP16 overflowed","zh": "FP32 转 FP16 或 32 位有符号整数转 FP16 溢出","word": 3}]`,
	} {
		wantValue(t, lost, key, want)
	}
}

// TestTensorJSON: NaN and infinities are text, and unread tensors have no numbers.
func TestTensorJSON(t *testing.T) {
	t.Parallel()
	r := addRecord()
	r.Tensors = []overflow.Tensor{infinite(tensor.Output), {Kind: tensor.Output, Index: 1, Shape: tensor.Shape{2}, Fault: overflow.Fault{Error: "cut off"}}}
	tensors := analysisJSON(t, &overflow.Report{Records: []overflow.Record{r}}).elements(t, "records")[0].elements(t, "tensors")
	wantKeys(t, tensors[0], "kind", "index", "dtype", "format", "shape", "original_shape", "count", "nan", "pos_inf", "neg_inf", "saturated",
		"min", "max", "mean", "first_bad", "bad")
	wantValue(t, tensors[0], "first_bad", `{"index": 2,"coord": [2],"value": "inf"}`)
	wantKeys(t, tensors[1], "kind", "index", "dtype", "format", "shape", "original_shape", "bad", "error")
}

// TestScanJSON checks the whole report of a scan.
func TestScanJSON(t *testing.T) {
	t.Parallel()
	got := rendered(t, func(w io.Writer) error { return writeDocument(w, scanned()) })
	o := parseObject(t, []byte(got))
	wantKeys(t, o, "schema", "files", "tensors", "bad_files", "rows", "problems", "orders")
	rows := o.elements(t, "rows")
	for _, row := range rows {
		wantKeys(t, row, "file", "device", "step", "timestamp", "op_type", "op_name", "first")
	}
	wantValue(t, rows[0], "first", "true")
	wantValue(t, rows[0], "verdict", `"cannot tell"`)
	if _, ok := rows[1].values["verdict"]; ok {
		t.Error("a good file has a verdict")
	}
	wantValue(t, rows[1].elements(t, "tensors")[0], "first_bad", "null")
	if diff := cmp.Diff("}\n", got[len(got)-2:]); diff != "" {
		t.Error(diff)
	}
}
