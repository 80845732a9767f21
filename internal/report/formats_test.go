package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/check"
	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/convert"
	"dumptool/internal/dumpconf"
	"dumptool/internal/dumpdir"
	"dumptool/internal/find"
	"dumptool/internal/graph"
	"dumptool/internal/hpaa"
	"dumptool/internal/inspect"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/show"
	"dumptool/internal/tensor"
)

// sample is a result for reports.
type sample struct {
	// name is the prefix of its golden files, command the command whose document keys
	// docs/json-documents.md lists.
	name, command string
	result        any
}

// samples has a result of every reported type.
var samples = []sample{
	{"compare", "", made(everything())},
	{"detail", "", rowOf(failing("net/conv1"))},
	{"judge", "", judged()},
	{"version", "", Version{"v1", "go1.26", "linux", "arm64"}},
	{"operators", "", threeOperators()},
	{"checked_types", "", check.Types("LayerNorm", "Conv2D", "GatherV2")},
	{"check", "", checked()},
	{"explain", "", &ConfigExplanation{"a.json", sampleExplanation(), nil}},
	{"analyze", "overflow analyze", twoRecords()},
	{"scan", "overflow scan", scanned()},
	{"headroom", "overflow scan --headroom", headroomOfThree()},
	{"checkpoints", "compare checkpoints", twoCheckpoints()},
	{"watch", "overflow watch", overwritten()},
	{"determinism", "compare determinism", drifted()},
	{"perf", "perf", performance()},
	{"checked", "check", checkedOperators()},
	{"find", "find --json", found()},
	{"inspect", "inspect --json, a line for each file", inspectedFile()},
	{"run", "PATH --json, and the line of a run of inspect --json", twoRounds()},
	{"show", "show --format json", shownWindow()},
	{"convert", "convert --json, a line for each file", converted()},
	{"convert_shard", "convert --shard", &convert.Document{Schema: convert.Schema}},
	{"import", "hpaa import --json", imported()},
}

// made is the name of the program in reports.
func made(r *record.Report) *record.Report {
	r.Tool, r.Args = "dumptool v1", []string{"--atol=1"}
	return r
}

func rowOf(row record.Row) *record.Row { return &row }

// failed is an error with a text.
func failed(text string) lang.Failure { return lang.AsFailure(errors.New(text)) }

// inspectedFile has a tensor with statistics, an unreadable one, and a buffer.
func inspectedFile() *inspect.File {
	f := &inspect.File{Schema: inspect.Schema, Entry: &dumpdir.File{Folder: &dumpdir.Folder{Path: "d/Add.a.1.2.3"}, Name: "Add.a.1.2.3"}, Container: "binary v2", OpType: "Add", OpName: "a",
		Buffers: []inspect.Blob{{Size: 32}}, Warnings: []lang.Sentence{lang.Plain("data_len is odd")}}
	good := inspect.Tensor{Kind: tensor.Input, DType: "float16", Format: new(tensor.ND), Shape: inspect.Shape{3}, OriginalShape: tensor.Shape{}, Groups: new(int64), Size: 6,
		Stats: &inspect.Stats{NaN: new(int64(0)), Inf: new(int64(1)), PosInf: new(int64(1)), NegInf: new(int64(0)), Extremes: tensor.Extremes[tensor.Number]{Min: new(tensor.Number(1)), Max: new(tensor.Number(2)), Mean: new(tensor.Number(1.5))}}}
	bad := inspect.Tensor{Kind: tensor.Output, DType: "float32", Format: new(tensor.NC1HWC0), Shape: inspect.Shape{1, 1, 2, 2, 16}, OriginalShape: tensor.Shape{1, 3, 2, 2}, Groups: new(int64), Err: failed("too short")}
	f.Inputs, f.Outputs = []inspect.Tensor{good}, []inspect.Tensor{bad}
	return f
}

// shownWindow is a part of a tensor beside its reference; one element exceeds the limits.
func shownWindow() *show.Window {
	values := func(all ...float64) (list []metrics.Value) {
		for _, x := range all {
			list = append(list, metrics.Value{DType: tensor.Float32, Real: x})
		}
		return list
	}
	side := show.Side{File: "d/a\x1b.npy", Name: "output 0", DType: tensor.Float32, StoredFormat: tensor.ND, StoredShape: tensor.Shape{3, 4}}
	return &show.Window{Schema: show.Schema, Tensor: side, Reference: &side, Shape: tensor.Shape{3, 4}, Format: tensor.ND, At: []int64{1, 1}, Atol: 0.005, Rtol: 0.2,
		First: []int64{1, 0}, Columns: 2, Rows: []show.Row{{Index: 1, Values: values(1, 2), Reference: values(1, 3), Marks: []show.Mark{"", show.Beyond}}}}
}

// twoRounds is a run of two rounds with different orders; one lacks a step.
func twoRounds() *inspect.Overview {
	at := func(rank, step string) dumpdir.Coordinates {
		return dumpdir.Coordinates{Rank: rank, Step: step, Graph: "0", Model: "net"}
	}
	file := func(role dumpdir.Role, size int64) *dumpdir.File {
		return &dumpdir.File{Folder: &dumpdir.Folder{Path: "d\x1b", Dir: "."}, Role: role, Size: size}
	}
	ops := func(n int) (all []*dumpdir.Op) {
		for range n {
			all = append(all, new(dumpdir.Op))
		}
		return all
	}
	run := &dumpdir.Run{
		Paths: []string{"d\x1b"}, Producers: []dumpdir.Producer{dumpdir.MindSpore, dumpdir.Arrays},
		Rounds: []*dumpdir.Round{
			{At: at("0", "3"), Ops: ops(2), Order: dumpdir.Order{SourceCoverage: dumpdir.SourceCoverage{Source: lang.Plain("timestamps of the dumps"), Known: 2, Of: 2}}},
			{At: at("1", "10"), Ops: ops(3), Order: dumpdir.Order{SourceCoverage: dumpdir.SourceCoverage{Source: lang.Plain("natural order of names"), Of: 3, Rejected: []lang.Sentence{lang.Plain("x.csv: knows 1 of 3 operators")}}},
				Flow: dumpdir.Flow{SourceCoverage: dumpdir.SourceCoverage{Source: lang.Plain("graph f.json"), Known: 3, Of: 3}}},
		},
		Files: []*dumpdir.File{file(dumpdir.Tensors, 5), file(dumpdir.Side, 7), file(dumpdir.Tensors, 6)},
		Problems: []dumpdir.Problem{{Kind: dumpdir.MissingStep, At: dumpdir.Coordinates{Rank: "1", Step: "3"}, Err: failed("rank 1 has no step 3, other ranks have")},
			{Kind: dumpdir.Cut, Path: "d/a", Err: failed("the file is empty")}},
		Warnings: []lang.Sentence{lang.Plain("d/mapping.csv: line 2: no comma")},
	}
	o, _ := inspect.NewOverview(context.Background(), run, nil)
	o.Run.Reference, o.Run.NPU, o.Run.Types = "gold en", run.Paths[0], []inspect.TypeCount{{Type: "float16", Tensors: 3}}
	o.Run.Configurations = []inspect.Configuration{{Path: "d/acl.json", Schema: "acl", Errors: 1}}
	o.Suggest()
	return o
}

// threeOperators: one with statistics, an unreadable one, and one from a table with operator names
// only.
func threeOperators() *inspect.Operators {
	first := inspectedFile().Inputs[0]
	return &inspect.Operators{Rows: []*inspect.Operator{
		{Name: "net/conv1", Type: "Conv2D", Times: 4, Files: 4, Bytes: 400, Inputs: 2, Outputs: 1, First: &first, Stats: &inspect.Stats{NaN: new(int64(2)), PosInf: new(int64(0)), NegInf: new(int64(0)), Extremes: tensor.Extremes[tensor.Number]{Min: new(tensor.Number(-1)), Max: new(tensor.Number(0.5))}}},
		{Name: "net/relu\n1", Type: "ReLU", Times: 4, Files: 4, Failed: 1, Bytes: 300, Inputs: 1, Outputs: 1},
		{Name: "Functional.relu.0.forward", Times: 1},
	}}
}

// found has an operator of two ranks with a file each, one matched by a part of its name, and a
// parameter.
func found() *find.SearchResult {
	at := func(rank int, match find.Match, confidence find.Confidence) find.TreePosition {
		ir := fmt.Sprintf("rank_%d/graphs/g.ir", rank)
		return find.TreePosition{Match: match, Confidence: confidence, Rank: &rank, Graph: new(int), IR: jsonpos.NullableText(ir)}
	}
	number := func(n int) *int { return &n }
	said := new(dumpdir.Statistics)
	said.Values.Set(dumpdir.Max, 1.5)
	said.Values.Set(dumpdir.NaNs, 2)
	conv := func(rank int) find.Result {
		return &find.Operator{
			TreePosition: at(rank, find.MatchLine, find.High), IRLine: number(57), GraphNode: find.GraphNode{Node: "%4", Subgraph: "g"}, OpType: "Conv2D", OpName: "Default/net/Conv2D-op515",
			Order: number(4), OrderTotal: number(21), Source: "/home/u/resnet.py:88", SourceVia: "own", Code: "x = self.conv1(x)",
			Files: []string{fmt.Sprintf("rank_%d/a\nb.npy", rank)}, Ambiguous: []string{}, Statistics: []string{"s.csv#2"},
			Inputs: []find.Input{{Slot: find.Slot{TensorType: graph.TensorType{DType: "Float16", Format: "NC1HWC0", Shape: tensor.Shape{2, 1, 3, 3, 16}}}, From: []find.Link{{Name: "Default/TransData-op1", Index: 1}}, Via: []string{}},
				{Slot: find.Slot{Index: 1}, From: []find.Link{{Name: "Default/Cast-op2"}}, Via: []string{"Default/Cast-op2"}, End: []find.Link{{Name: "param:conv1.weight"}}}, {Slot: find.Slot{Index: 2}}},
			Outputs: []find.Output{{Slot: find.Slot{TensorType: graph.TensorType{DType: "Float16", Shape: tensor.Shape{}}}, To: []find.Link{{Name: "Default/ReLU-op3", Index: 1}}}},
			Stack:   []find.Frame{{File: "/home/u/resnet.py", Line: 88, LineEnd: 90, Code: "x = self.conv1(x)", Kind: "own"}, {File: "nn/conv.py", Line: 3, LineEnd: 3, Library: true, Kind: "fused"}},
			Rows:    []find.Row{{Kind: tensor.Input, Statistics: said}},
		}
	}
	relu := &find.Operator{TreePosition: at(0, find.MatchPart, find.Low), OpType: "call", Files: []string{}, Ambiguous: []string{"c.npy"}, Source: "nn/x.py:3", SourceVia: "library"}
	weight := &find.Parameter{TreePosition: at(0, find.MatchParam, find.Medium), Param: "conv1.weight", Number: number(2), Files: []string{"w.npy"},
		Consumers: []find.Consumer{{GraphNode: find.GraphNode{Node: "%4"}, OpName: "Default/net/Conv2D-op515", Input: 1, Via: []string{"Default/Cast-op2"}, Files: []string{"a.npy"}}}}
	offset := int64(17)
	return &find.SearchResult{Schema: find.Schema, Query: "conv\x1b", Kind: find.Op, Results: []find.Result{conv(0), conv(1), relu, weight}, More: 2, Graphs: 2,
		Unreadable: []find.Unreadable{{Path: "g.ir", Error: lang.Plain("the file is cut"), Offset: &offset}}, Notes: []lang.Sentence{lang.Plain("ids repeat")}}
}

// converted has a converted tensor and one that failed.
func converted() *convert.Result {
	r := &convert.Result{Schema: convert.FileSchema, Rows: []convert.Row{{Kind: "input", Path: "out/<a>.npy"}, {Kind: "output", Index: 1, Err: failed("too short")}}}
	r.Job.File = &dumpdir.File{Folder: &dumpdir.Folder{Path: "d/Add.a.1.2.3"}}
	return r
}

// imported has an output of two pieces, one without an array, and other files.
func imported() *hpaa.Result {
	return &hpaa.Result{
		Schema: hpaa.Schema,
		Rows: []*hpaa.Row{
			{Node: "net/<a>", Output: 1, Label: "net/<a>:1", Pieces: []*hpaa.Piece{{File: "d/0"}, {File: "d/1"}}, Path: "npu/a_1.npy",
				Array: &hpaa.Array{File: "npu/a_1.npy", DType: tensor.BFloat16, Shape: tensor.Shape{2, 3}, Axis: new(1)}, Cropped: 1, Notes: []string{"cropped 1"}},
			{Node: "b", Round: 7, Label: "b", Pieces: []*hpaa.Piece{{File: "d/2\n"}}, Path: "npu/b.npy", PieceError: &hpaa.PieceError{Code: hpaa.BadHex, Problem: lang.Plain("line 1")}},
			{Node: "c", Label: "c", Pieces: []*hpaa.Piece{{File: "d/3"}}, Path: "npu/c.npy", PieceError: &hpaa.PieceError{Code: hpaa.DuplicatePiece, Problem: lang.Plain("piece 0 comes twice")}},
			{Node: "d", Label: "d", Pieces: []*hpaa.Piece{{File: "d/4"}}, Path: "npu/d.npy", PieceError: &hpaa.PieceError{Code: hpaa.NotInModel, Problem: lang.Plain("the reference has no such tensor")}},
		},
		Others: []hpaa.UnusedFile{{File: "README", Why: lang.Say("not described")}},
		Read:   []string{"net/<a>", "net/<a>", "b", "c", "d"}, Unknown: []string{"d", "b"}, Order: []string{"b", "net/<a>"},
		Sums: []hpaa.Sum{{File: "d/0", MD5: "00"}}, Warnings: []lang.Sentence{lang.Say("odd")},
	}
}

// readers parse each format as other programs do.
var readers = map[string]func(text []byte) error{
	"text": func(text []byte) error { return nil },
	"md":   func(text []byte) error { return nil },
	"csv":  parseCSV, "hpaa": parseCSV, "msaccucmp": parseCSV, "msprobe": parseCSV,
	"json":  func(text []byte) error { return json.Unmarshal(text, new(map[string]any)) },
	"junit": func(text []byte) error { return xml.Unmarshal(text, new(junitSuites)) },
	"sarif": func(text []byte) error { return json.Unmarshal(text, new(sarifLog)) },
	"html":  parsePage,
}

// pageBlocks matches the data blocks of a page; pageParts lists the parts of every page.
var (
	pageBlocks = regexp.MustCompile(`(?s)<script type="application/json" id="\w+">(.*?)</script>`)
	pageParts  = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>|'sha256-[^']*'|&#39;sha256-.*?&#39;`)
)

// parsePage reads the data of a page.
func parsePage(text []byte) error {
	blocks := pageBlocks.FindAllSubmatch(text, -1)
	if len(blocks) == 0 {
		return errors.New("a page without data")
	}
	for _, b := range blocks {
		if err := json.Unmarshal(b[1], new(map[string]any)); err != nil {
			return err
		}
	}
	return nil
}

// checked has a file with errors and one that could not be read.
func checked() *ConfigChecks {
	src := []byte("{\"dump\": {\"dump_path\": \"/d\", \"dump_mode\": \"All\",\n\"dump_debug\": \"on\", \"dump_lits\": [{}]}}")
	return &ConfigChecks{Tool: "dumptool v1", Checks: dumpconf.Checks{
		Files:  []dumpconf.FileCheck{{Name: "a b.json", Before: dumpconf.Check("a b.json", src, dumpconf.Options{})}},
		Failed: []string{"open c.json: no such file or directory"},
	}}
}

// parseCSV parses a table and checks that all lines have the same number of cells.
func parseCSV(text []byte) error {
	_, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	return err
}

// TestFormats writes a result of every type in each of its formats, parses it as other programs do,
// and compares it with a golden sample.
func TestFormats(t *testing.T) {
	t.Parallel()
	var opt Options
	for _, f := range Formats() {
		if f.Name == "" || f.Purpose == "" || len(f.Writers) == 0 || readers[f.Name] == nil {
			t.Errorf("format %q lacks a name, what it is for, a writer, or a reader here", f.Name)
			continue
		}
		for _, w := range f.Writers {
			i := slices.IndexFunc(samples, func(s sample) bool { return reflect.TypeOf(s.result) == w.result })
			if i < 0 {
				t.Fatalf("no sample of %v", w.result)
			}
			sample := samples[i]
			t.Run(f.Name+"/"+sample.name, func(t *testing.T) {
				t.Parallel()
				text := []byte(rendered(t, func(out io.Writer) error { return w.write(out, sample.result, opt) }))
				if err := readers[f.Name](text); err != nil {
					t.Errorf("cannot be read: %v", err)
				}
				if f.Name == pageFormat {
					text = pageParts.ReplaceAll(text, []byte("..."))
				}
				wantFile(t, filepath.Join("testdata", "formats", sample.name+"."+f.Name), string(text))
			})
		}
	}
}

// checkedOperators are golden operators that were recomputed.
func checkedOperators() *check.Report {
	run, err := dumpdir.Open(context.Background(), []string{"../../testdata/golden/recompute/op53_relu6_f32_zero_block", "../../testdata/golden/recompute/op10_groupnorm_bf16_clean",
		"../../testdata/golden/recompute/op48_sigmoid_f32_clean", "../../testdata/golden/recompute/op1_fusedmuladd_bf16_scale"}, dumpdir.Options{NoRaw: true})
	if err != nil {
		panic(err)
	}
	r, err := check.Run(context.Background(), run, check.Options{Seed: 1, Workers: 1})
	if err != nil {
		panic(err)
	}
	return r
}

// TestFormatNames checks the names used in help and flags.
func TestFormatNames(t *testing.T) {
	t.Parallel()
	if got, want := FormatNames[*conclude.Judgement](), []string{"text", "csv", "json"}; !slices.Equal(got, want) {
		t.Errorf("formats %q, want %q", got, want)
	}
	names, files := map[string]bool{}, map[string]bool{}
	for _, f := range Formats() {
		if names[f.Name] {
			t.Errorf("two formats are called %s", f.Name)
		}
		names[f.Name] = true
		for _, w := range f.Writers {
			if w.File != "" && files[w.File] && f.Name != HPAAFormat { // the same table as csv, with fewer columns
				t.Errorf("two reports are called %s", w.File)
			}
			files[w.File] = true
		}
	}
	help := FormatHelp[*record.Report]()
	for _, f := range FormatsOf[*record.Report]() {
		if !strings.Contains(help, "  "+f.Name+" ") || !strings.Contains(help, f.Writers[0].File) || !strings.Contains(help, f.Purpose+"\n") {
			t.Errorf("the help lacks %s:\n%s", f.Name, help)
		}
	}
}
