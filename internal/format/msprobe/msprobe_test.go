package msprobe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"dumptool/internal/jsonpos"
	"dumptool/internal/tensor"
)

const golden = "../../../testdata/golden/inputs/msprobe"

// readAll returns the entries of a text.
func readAll(text string) (Header, []*Entry, error) {
	var all []*Entry
	h, err := Read(strings.NewReader(text), func(e *Entry) { all = append(all, e) })
	return h, all, err
}

// example is a rank of PyTorch with the oddities that msprobe writes.
const example = `{"task": "tensor", "level": "mix", "framework": "pytorch", "dump_data_dir": null, "data": {
 "Functional.relu.0.forward": {
  "input_args": [{"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2], "Max": 1.0, "Min": -2, "Mean": null, "Norm": 2.236, "requires_grad": true, "data_name": "Functional.relu.0.forward.input.0.pt"},
                 null, [{"type": "int", "value": 1}, [{"type": "slice", "value": [null, 2, "it's"]}]]],
  "input_kwargs": {"inplace": {"type": "bool", "value": false}, "deep": {"a": {"type": "str", "value": "x\ny"}}},
  "is_recompute": true,
  "output": [{"type": "torch.Tensor", "dtype": "torch.bool", "shape": [], "Max": true, "Min": false, "md5": "83dcefb7"}],
  "parameters": {"weight": {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [1, 0], "Max": NaN, "Min": -Infinity, "Mean": Infinity, "Norm": 1e400}}},
 "Module.fc.Linear.parameters_grad.1": {"weight": [null], "bias": [null, {"type": "float", "value": NaN}]},
 "Distributed.batch_isend_irecv.0.forward": {"input_args": [{"class_type": "torch.distributed.P2POp", "tensor": {"type": "torch.Tensor", "dtype": "torch.int64", "shape": [3]}, "op": "isend", "peer": 1}], "output": []},
 "loss.0.debug": {"type": "mindspore.Tensor", "dtype": "Float32", "shape": [1]}
}}`

// TestIsDump: only an object with a task and a level before its data is a dump.json, whatever else JSON may be.
func TestIsDump(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"task": "tensor", "level": "L1", "data": {`:               true,
		`{"level": "L1", "x": [1, {"y": 2}], "task": "", "data": [`: true,
		`{"data": {}, "task": "tensor", "level": "L1"}`:             false,
		`{"task": "tensor", "level": "L1", "data": 1}`:              false,
		`[1, 2]`: false, `["task", "level", "data", {`: false, `[[]]`: false, `{}`: false, `{} {}`: false, `12.5`: false, `"task"`: false, ``: false, `{"task"`: false,
	} {
		if got := IsDump([]byte(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestRead(t *testing.T) {
	h, entries, err := readAll(example)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Header{"tensor", "mix", "pytorch"}); h != want {
		t.Errorf("%+v, want %+v", h, want)
	}
	var got []string
	for _, e := range entries {
		for _, l := range e.Leaves {
			what := "None"
			switch {
			case l.Tensor != nil:
				what = fmt.Sprint(l.Tensor.ElementType(), l.Tensor.Shape)
			case l.Value != nil:
				what = l.Value.Type + " " + l.Value.Text
			}
			got = append(got, fmt.Sprintf("%s %s:%d %s = %s", l.Name, l.Kind, l.Index, l.Path, what))
		}
	}
	want := []string{
		"Functional.relu.0.forward.input.0 input:0 0 = float16 (2,)",
		"Functional.relu.0.forward.input.1 input:1 1 = None",
		"Functional.relu.0.forward.input.2.0 input:2 2.0 = int 1",
		`Functional.relu.0.forward.input.2.1.0 input:2 2.1.0 = slice [None, 2, "it's"]`,
		"Functional.relu.0.forward.input.inplace input:3 inplace = bool False",
		"Functional.relu.0.forward.input.deep.a input:4 deep.a = str x\ny",
		"Functional.relu.0.forward.parameters.weight parameter:0 weight = float32 (1, 0)",
		"Functional.relu.0.forward.output.0 output:0 0 = bool ()",
		"Module.fc.Linear.parameters_grad.1.weight gradient:0 weight = None",
		"Module.fc.Linear.parameters_grad.1.bias.0 gradient:1 bias.0 = None",
		"Module.fc.Linear.parameters_grad.1.bias.1 gradient:1 bias.1 = float nan",
		"Distributed.batch_isend_irecv.0.forward.input.0 input:0 0 = int64 (3,)",
		"loss.0.debug output:0  = float32 (1,)",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	first, weight, out := entries[0].Leaves[0].Tensor, entries[0].Leaves[6].Tensor, entries[0].Leaves[7].Tensor
	if n := first.Min; n != (Number{Kind: jsonpos.Number, Value: -2, Int: true}) || first.Max.Int || first.Mean.Kind != jsonpos.Null {
		t.Errorf("%+v", first)
	}
	if !*first.RequiresGrad || first.DataName != "Functional.relu.0.forward.input.0.pt" || out.RequiresGrad != nil || out.Digest != "83dcefb7" {
		t.Errorf("%+v %+v", first, out)
	}
	if !math.IsNaN(weight.Max.Value) || !math.IsInf(weight.Min.Value, -1) || !math.IsInf(weight.Mean.Value, 1) || !math.IsInf(weight.Norm.Value, 1) {
		t.Errorf("%+v", weight)
	}
	if out.Max != (Number{Kind: jsonpos.Bool, Value: 1}) || out.Norm.Kind != jsonpos.Invalid {
		t.Errorf("%+v", out)
	}
}

// TestGroups: groups of communications, and invalid members.
func TestGroups(t *testing.T) {
	const tensor0 = `{"type": "torch.Tensor", "dtype": "torch.int64", "shape": [3]}`
	call := func(args, kwargs string) []Leaf {
		t.Helper()
		_, entries, err := readAll(`{"task": "tensor", "data": {"Distributed.x.0.forward": {"input_args": [` + args + `], "input_kwargs": {` + kwargs + `}}}}`)
		if err != nil {
			t.Fatal(err)
		}
		return entries[0].Leaves
	}
	for _, c := range []struct {
		ranks, odd string
		want       []int
	}{
		{"[0, 3, 5]", "", []int{0, 3, 5}}, {"[7]", "", []int{7}},
		{"[]", "group_ranks at offset", nil}, {"[0, 0]", "group_ranks at offset", nil}, {"[0, -1]", "group_ranks at offset", nil},
		{"[0, 1.5]", "group_ranks at offset", nil}, {`["0"]`, "group_ranks at offset", nil}, {"[0, [1]]", "group_ranks at offset", nil},
		{`"0,1"`, "group_ranks at offset", nil}, {"null", "group_ranks at offset", nil}, {"{}", "group_ranks at offset", nil},
	} {
		l := call("", `"group": {"type": "torch.ProcessGroup", "group_ranks": `+c.ranks+`, "group_id": "77849d8c"}`)[0]
		if l.Value == nil || !slices.Equal(l.Value.Group, c.want) || !strings.HasPrefix(l.Value.Odd.String(), c.odd) || (c.odd == "") != l.Value.Odd.IsZero() {
			t.Errorf("%s: %+v", c.ranks, l.Value)
		}
	}
	for _, c := range []struct {
		members, odd string
		want         *P2P
	}{
		{`"op": "isend", "peer": 1, "tag": 4, "group_id": "x"`, "", &P2P{"isend", 1, 4}},
		{`"op": "irecv", "peer": 0`, "", &P2P{"irecv", 0, 0}},
		{`"op": "irecv", "peer": -1`, "the peer", nil}, {`"op": "irecv", "peer": "1"`, "peer at offset", nil}, {`"op": "isend", "peer": 1, "tag": 0.5`, "the tag", nil},
		{`"op": 3, "peer": 1`, "", nil}, {`"peer": 1`, "", nil},
	} {
		l := call(`{"class_type": "torch.distributed.P2POp", "tensor": `+tensor0+`, `+c.members+`}`, "")[0]
		if diff := gocmp.Diff(c.want, l.P2P); diff != "" || l.Tensor == nil || !strings.HasPrefix(l.Tensor.Odd.String(), c.odd) || (c.odd == "") != l.Tensor.Odd.IsZero() {
			t.Errorf("%s: %s %+v", c.members, diff, l.Tensor)
		}
	}
	_, entries, err := readAll(`{"task": "tensor", "data": {"a": {"input_args": [{"type": "g", "group_ranks": [1, 2]}, {"type": "g", "group_ranks": [1, 2]}]}}}`)
	if l := entries[0].Leaves; err != nil || &l[0].Value.Group[0] != &l[1].Value.Group[0] {
		t.Error("groups of the same ranks do not share them", err)
	}
}

// TestReadGolden: the values of the golden trees are the values that msprobe compares.
func TestReadGolden(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(golden, "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Cases  []struct{ ID, Kind, NPU string }
		Expect map[string]struct {
			Rows []struct {
				API, NPU string
				DType    [2]*string
				Shape    [2]tensor.Shape
				MD5      []string
			}
			ScriptLines map[string]string `json:"script_lines"`
			Parents     map[string]*string
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all.Cases {
		if c.Kind != "compare" {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			want := all.Expect[c.ID]
			dir := filepath.Join(golden, "..", filepath.FromSlash(c.NPU), "step0", "rank0")
			var entries []*Entry
			inFile(t, filepath.Join(dir, DumpName), func(in io.Reader) error {
				_, err := Read(in, func(e *Entry) { entries = append(entries, e) })
				return err
			})
			i := 0
			for _, e := range entries {
				for _, l := range e.Leaves {
					row := want.Rows[i]
					i++
					if e.API != row.API || l.Name != row.NPU {
						t.Fatalf("%s of %s, want %s of %s", l.Name, e.API, row.NPU, row.API)
					}
					if row.DType[0] == nil {
						continue
					}
					if l.Tensor == nil || l.Tensor.DType != *row.DType[0] || !l.Tensor.Shape.Equal(row.Shape[0]) {
						t.Errorf("%s: %+v, want %s%v", l.Name, l.Tensor, *row.DType[0], row.Shape[0])
					}
					if len(row.MD5) > 0 && l.Tensor.Digest != row.MD5[0] {
						t.Errorf("%s: digest %s, want %s", l.Name, l.Tensor.Digest, row.MD5[0])
					}
				}
			}
			if i != len(want.Rows) {
				t.Errorf("%d values, want %d", i, len(want.Rows))
			}
			inFile(t, filepath.Join(dir, StackName), func(in io.Reader) error {
				stacks, err := ReadStack(in)
				got := make(map[string]string)
				for api, s := range stacks {
					got[api] = s.Script
				}
				if diff := gocmp.Diff(want.ScriptLines, got); diff != "" {
					t.Error(diff)
				}
				return err
			})
			inFile(t, filepath.Join(dir, ConstructName), func(in io.Reader) error {
				parents, err := ReadConstruct(in)
				for api, parent := range want.Parents {
					modules := parents.Modules(api)
					if parent == nil && len(modules) > 0 || parent != nil && (len(modules) == 0 || modules[len(modules)-1] != *parent) {
						t.Errorf("%s is in %q", api, modules)
					}
				}
				return err
			})
		})
	}
}

func inFile(t *testing.T, path string, read func(io.Reader) error) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := read(f); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func TestReadRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "offset 0: line 1, column 1: found the end of the file, wanted an object"},
		{"list", "[]", `offset 0: line 1, column 1: found "[", wanted an object`},
		{"no data", `{"task": "tensor"}`, `found no "data"`},
		{"no task", `{"data": {}}`, `found no "task"`},
		{"task null", `{"task": null, "data": {}}`, `found no "task"`},
		{"task number", `{"task": 1, "data": {}}`, `offset 9: task, line 1, column 10: found "1", wanted a text`},
		{"data list", `{"task": "tensor", "data": []}`, `offset 27: data, line 1, column 28: found "[", wanted an object`},
		{"entry list", `{"task": "t", "data": {"A": []}}`, `offset 28: data.A, line 1, column 29: found "[", wanted an object`},
		{"leaf number", `{"task": "t", "data": {"A": {"output": [1]}}}`, `data.A.output[0], line 1, column 41: found "1", wanted a tensor`},
		{"rank", `{"task": "t", "data": {"A": {"output": [{"type": "T", "shape": [` + strings.Repeat("1,", 32) + `1]}]}}}`, `more than 32 dimensions`},
		{"name number", `{"task": "t", "data": {"A": {"output": [{"type": "T", "data_name": 3}]}}}`, `found "3", wanted a text`},
		{"grad list", `{"task": "t", "data": {"A": {"output": [{"type": "T", "requires_grad": []}]}}}`, `found "["`},
		{"deep", `{"task": "t", "data": {"A": {"output": ` + strings.Repeat("[", 1100), `more than 1000 levels`},
		{"many", `{"task": "t", "data": {"A": {"output": [` + strings.Repeat("null,", 1<<20) + `null]}}}`, `the memory allowed for a file`},
		{"cut in the first entry", `{"task": "tensor", "data": {"A": {"input_args": [{`, `offset 50: data.A.input_args[0]`},
		{"trailing", `{"task": "tensor", "data": {}} x`, `wanted the end of the file`},
	} {
		h, entries, err := readAll(c.text)
		var cut *CutError
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &cut) || h != (Header{}) {
			t.Errorf("%s: %+v, %d entries, error %v, want %s", c.name, h, len(entries), err, c.want)
		}
	}
	for _, name := range []string{"cut", "nodata", "list", "notask"} {
		text, err := os.ReadFile(filepath.Join(golden, "bad", "msprobe_"+name, DumpName))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := readAll(string(text)); err == nil || errors.As(err, new(*CutError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReadCut: the complete entries of every prefix of a file are read, and the error has the
// offset of its end.
func TestReadCut(t *testing.T) {
	_, whole, err := readAll(example)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(example) {
		var ends []int // ends of the complete entries
		for i := range whole {
			next := len(example)
			if i+1 < len(whole) {
				next = strings.Index(example, `"`+whole[i+1].API+`"`)
			}
			end := strings.LastIndexByte(example[:next], '}')
			if i+1 == len(whole) { // the ends of data and of the document follow
				end = strings.LastIndexByte(example[:len(example)-2], '}')
			}
			if end < n {
				ends = append(ends, end)
			}
		}
		h, entries, err := readAll(example[:n])
		var cut *CutError
		switch {
		case err == nil:
			t.Fatalf("%d bytes: no error", n)
		case len(entries) != len(ends):
			t.Fatalf("%d bytes: %d entries, want %d", n, len(entries), len(ends))
		case len(entries) == 0:
			continue
		case !errors.As(err, &cut) || cut.Entries != len(entries) || h.Task != "tensor" || !strings.Contains(err.Error(), "offset "):
			t.Fatalf("%d bytes: %+v, %v", n, h, err)
		}
		for i, e := range entries {
			if diff := gocmp.Diff(whole[i], e, gocmp.Comparer(sameFloat)); diff != "" {
				t.Fatalf("%d bytes: %s", n, diff)
			}
		}
	}
}

func sameFloat(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// TestReadMemory: numbers in a file take no memory, and entries are not kept after the callback.
func TestReadMemory(t *testing.T) {
	const entries = 20000
	text := `{"task": "t", "data": {"A": {"output": []}`
	one := `, "B%d": {"output": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [9223372036854775807, 9223372036854775807], "Max": 1e308}]}`
	in := make([]io.Reader, 0, entries+2)
	in = append(in, strings.NewReader(text))
	for i := range entries {
		in = append(in, strings.NewReader(fmt.Sprintf(one, i)))
	}
	in = append(in, strings.NewReader("}}"))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n := 0
	if _, err := Read(io.MultiReader(in...), func(*Entry) { n++ }); err != nil || n != entries+1 {
		t.Fatal(n, err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("%d bytes are kept", grown)
	}
}

func TestReadStack(t *testing.T) {
	stacks, err := ReadStack(strings.NewReader(`{
 "A": ["File /usr/lib/python3/site-packages/torch/nn.py, line 5, in call, \n f()", "File C:\\work\\my site-packages\\net.py, line 12, in forward, \n x = f()"],
 "B": ["File /opt/site-packages/a.py, line 1, in f, \n g", "no line"],
 "0": [["C", "D"], ["File \"/home/a, line 3/b.py\", line 42, in <module>, \n x"]],
 "1": [[], ["File x.py, line 1, in f"]],
 "E": [], "F": [["G"]], "H": [1, null, {"a": []}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for api, s := range stacks {
		got[api] = s.Script
	}
	// The path of C contains text like the number of a line.
	want := map[string]string{"A": "net.py:12", "B": "a.py:1", "C": "a:3", "D": "a:3", "E": "", "G": "", "H": ""}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "[]", `{"A": {}}`, `{"A": ["x"`, `{"A": []} x`, `{"0": [["A"], ["x", `} {
		if stacks, err := ReadStack(strings.NewReader(bad)); err == nil || stacks != nil || !strings.Contains(err.Error(), "offset ") {
			t.Errorf("%q: %v, error %v", bad, stacks, err)
		}
	}
}

func TestReadConstruct(t *testing.T) {
	parents, err := ReadConstruct(strings.NewReader(`{"A": "M", "M": "N", "N": null, "B": ["M", 0], "loop": "loop2", "loop2": "loop", "megatron_micro_step_number": 3, "C": [null, 1]}`))
	if err != nil {
		t.Fatal(err)
	}
	for api, want := range map[string][]string{"A": {"N", "M"}, "B": {"N", "M"}, "N": nil, "C": nil, "other": nil, "loop": {"loop", "loop2"}} {
		if got := parents.Modules(api); !slices.Equal(got, want) {
			t.Errorf("%s is in %q, want %q", api, got, want)
		}
	}
	for _, bad := range []string{"", "[]", `{"A": {}}`, `{"A": true}`, `{"A": "x"`} {
		if parents, err := ReadConstruct(strings.NewReader(bad)); err == nil || parents != nil || !strings.Contains(err.Error(), "offset ") {
			t.Errorf("%q: %v, error %v", bad, parents, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(example)
	for _, name := range []string{"statistics/npu/step0/rank0", "md5/bench/step0/rank0", "bad/msprobe_escape", "bad/msprobe_cut", "bad/msprobe_list"} {
		for _, file := range []string{DumpName, StackName, ConstructName} {
			if text, err := os.ReadFile(filepath.Join(golden, filepath.FromSlash(name), file)); err == nil {
				f.Add(string(text))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, entries, err := readAll(text)
		var cut *CutError
		switch {
		case err == nil && h.Task == "":
			t.Error("no task")
		case err != nil && (errors.As(err, &cut) != (h != Header{}) || cut != nil && cut.Entries != len(entries)):
			t.Errorf("%+v, %d entries, error %v", h, len(entries), err)
		}
		for _, e := range entries {
			for _, l := range e.Leaves {
				if l.Tensor != nil && l.Value != nil || l.Index < 0 || !strings.HasPrefix(l.Name, e.API) {
					t.Errorf("%+v of %s", l, e.API)
				}
			}
		}
		if parents, err := ReadConstruct(strings.NewReader(text)); err == nil {
			for api := range parents {
				parents.Modules(api)
			}
		}
		if stacks, err := ReadStack(strings.NewReader(text)); err != nil && stacks != nil {
			t.Error("stacks with an error")
		}
	})
}

// TestReadOdd: invalid members of a tensor are left out and reported, and the others are read.
func TestReadOdd(t *testing.T) {
	for _, c := range []struct{ members, odd, shape string }{
		{`"shape": "x"`, "shape at offset OFFSET, want a list", "()"},
		{`"shape": [2, "x"]`, `the dimension "x", want a whole number`, "()"},
		{`"shape": [[2]]`, "shape at offset OFFSET, want whole numbers", "()"},
		{`"shape": [-1]`, `the dimension "-1", want a whole number`, "()"},
		{`"shape": [2.5]`, `the dimension "2.5", want a whole number`, "()"},
		{`"shape": [9223372036854775808]`, `the dimension "9223372036854775808", want a whole number`, "()"},
		{`"shape": [4294967296, 4294967296]`, `the shape (4294967296, 4294967296), want fewer than 2^63 elements`, "()"},
		{`"shape": [2], "Max": []`, "a statistic at offset OFFSET, want a number", "(2,)"},
		{`"shape": [2], "Max": 1, "Max_except_inf_nan": 3, "Min_except_inf_nan": -2.5`, "", "(2,)"},
	} {
		const before = `{"task": "t", "data": {"A": {"output": [{"type": "T", "dtype": "D", `
		_, entries, err := readAll(before + c.members + `}]}, "B": {"output": [null]}}}`)
		if err != nil || len(entries) != 2 || len(entries[0].Leaves) != 1 || entries[0].Leaves[0].Tensor == nil {
			t.Fatalf("%s: %d entries, error %v", c.members, len(entries), err)
		}
		one := entries[0].Leaves[0].Tensor
		at := max(strings.Index(c.members, `"x"`), strings.Index(c.members, `[2]]`), strings.Index(c.members, `[]`))
		c.odd = strings.Replace(c.odd, "OFFSET", strconv.Itoa(len(before)+at), 1)
		if one.Odd.String() != c.odd || fmt.Sprint(one.Shape) != c.shape {
			t.Errorf("%s: %q, shape %v, want %q, %s", c.members, one.Odd, one.Shape, c.odd, c.shape)
		}
		if c.odd == "" && (one.Finite.Max.Value != 3 || one.Finite.Min.Value != -2.5) {
			t.Errorf("%+v", one)
		}
	}
}
