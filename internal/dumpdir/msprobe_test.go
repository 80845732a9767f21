package dumpdir

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

const msprobeGolden = "../../testdata/golden/inputs/msprobe"

// leafJSON is a tensor of dump.json; more are further members.
func leafJSON(more string) string {
	return `{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2]` + more + `}`
}

// TestMSProbeCalls: operators have lines of the script and modules, and calls without tensors are
// kept.
func TestMSProbeCalls(t *testing.T) {
	r := openAt(t, filepath.Join(msprobeGolden, "mindspore", "npu"), Options{})
	if len(r.Problems) > 0 || len(r.Rounds) != 1 || len(r.Rounds[0].Calls) != 18 || r.Rounds[0].Header.Task != "tensor" {
		t.Fatalf("%d rounds, problems %v", len(r.Rounds), r.Problems)
	}
	round := r.Rounds[0]
	if round.At.String() != "rank 0 step 0" || round.Order.By != ByDumpJSON || round.Order.Known != len(round.Ops) {
		t.Errorf("%s, %+v", round.At, round.Order)
	}
	i := slices.IndexFunc(round.Ops, func(o *Op) bool { return o.Name == "Functional.relu.0.forward" })
	op := round.Ops[i]
	if want := []string{"Cell.net.Net.forward.0", "Cell.relu.ReLU.forward.0"}; op.Call.Script != "train_1.py:13" || !slices.Equal(op.Call.Modules, want) || len(op.Call.Stack) != 2 {
		t.Errorf("%+v", op.Call)
	}
	if in := op.Tensors[0]; in.File.Name != "Functional.relu.0.forward.input.0.npy" || in.Leaf.Name != "Functional.relu.0.forward.input.0" || in.Table || *in.Statistics.Number(Max) == 0 {
		t.Errorf("%+v", in)
	}
}

// TestMSProbeFlow: equal digests, or equal types, shapes and statistics, give the producer of an
// input: the last call before, and a function rather than the module around it.
func TestMSProbeFlow(t *testing.T) {
	digest := func(crc string) string { return leafJSON(`, "md5": "` + crc + `"`) }
	stats := func(norm string) string {
		return leafJSON(`, "Max": 3, "Min": -1, "Mean": 1, "Norm": ` + norm)
	}
	call := func(in, out string) string { return `{"input_args": [` + in + `], "output": [` + out + `]}` }
	r := open(t, map[string]string{"dump.json": `{"task": "statistics", "data": {
		"Torch.rand.0.forward": ` + call("", digest("a")) + `,
		"Torch.rand.1.forward": ` + call("", digest("a")+", "+stats("2")) + `,
		"Module.r.Rand.forward.0": ` + call(digest("x"), digest("a")) + `,
		"Torch.add.0.forward": ` + call(digest("a")+", "+stats("2"), digest("b")) + `,
		"Torch.mul.0.forward": ` + call(digest("c")+", "+stats("3")+", "+stats("0"), digest("b")+", "+stats("0")) + `,
		"Torch.sub.0.forward": ` + call(stats("0")+", "+digest("b"), "") + `}}`})
	flow := r.Rounds[0].Flow
	if flow.Graph == nil || flow.Known != 4 || flow.Of != 6 {
		t.Fatalf("%+v", flow)
	}
	got := make(map[string]string)
	for _, op := range flow.Graph.Ops {
		got[op.Name] = fmt.Sprint(op.Inputs)
	}
	want := map[string]string{"Torch.rand.0.forward": "[]", "Torch.rand.1.forward": "[]",
		"Torch.add.0.forward": "[{Torch.rand.1.forward 0} {Torch.rand.1.forward 1}]", "Torch.sub.0.forward": "[{Torch.mul.0.forward 0}]"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMSProbeTasks(t *testing.T) {
	for _, task := range []string{"statistics", "md5", "xor"} {
		r := openAt(t, filepath.Join(msprobeGolden, task, "npu"), Options{})
		if len(r.Problems) > 0 || len(r.Rounds) != 1 {
			t.Fatalf("%s: %d rounds, problems %v", task, len(r.Rounds), r.Problems)
		}
		for _, op := range r.Rounds[0].Ops {
			for _, one := range op.Tensors {
				if hasDigest := one.Statistics.Digest != ""; !one.Table || hasDigest != (task != "statistics") || task == "statistics" && one.Statistics.Values.IsEmpty() {
					t.Errorf("%s: %s: %+v", task, op.Name, one.Statistics)
				}
			}
		}
	}
}

// TestMSProbeFile: the user may give dump.json itself. Its tensors lie beside it and nowhere else.
func TestMSProbeFile(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"dump.json": `{"task": "tensor", "data": {"Torch.add.0.forward": {"input_args": [` +
			leafJSON(`, "data_name": "../../x.npy"`) + `, ` + leafJSON(`, "data_name": "gone.npy"`) + `, ` + leafJSON(`, "data_name": "here.npy"`) + `, ` +
			leafJSON(`, "data_name": ".."`) + `, ` + leafJSON(`, "data_name": "a\u0000b"`) + `, ` + leafJSON(``) + `, ` + leafJSON(`, "data_name": "c:\\x"`) + `]}}}`,
		"dump_tensor_data/here.npy": "x", "stack.json": `{"Torch.add.0.forward": ["File /a/b.py, line 7, in f"]}`,
	})
	for _, path := range []string{root, filepath.Join(root, "dump.json")} {
		r := openAt(t, path, Options{})
		if len(r.Rounds) != 1 || len(r.Rounds[0].Ops) != 1 || r.Single {
			t.Fatalf("%s: %v", path, rounds(r))
		}
		op := r.Rounds[0].Ops[0]
		var got []string
		for _, one := range op.Tensors {
			text := filepath.Base(one.File.Path())
			if one.File.Err != nil {
				text = one.File.Err.Error()
			}
			rel, err := filepath.Rel(root, one.File.Path())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%d %s: %s %v", one.Index, filepath.ToSlash(rel), text, one.Table))
		}
		const name = "Torch.add.0.forward.input."
		want := []string{
			`0 dump.json: ` + name + `0: data_name "../../x.npy" is not a file name false`,
			`1 dump_tensor_data/gone.npy: dump.json: the file of ` + name + `1 is missing: file does not exist false`,
			`2 dump_tensor_data/here.npy: here.npy false`,
			`3 dump.json: ` + name + `3: data_name ".." is not a file name false`,
			`4 dump.json: ` + name + `4: data_name "a\x00b" is not a file name false`,
			`5 dump.json: dump.json true`,
			`6 dump.json: ` + name + `6: data_name "c:\\x" is not a file name false`,
		}
		if diff := gocmp.Diff(want, got); diff != "" || op.Call.Script != "b.py:7" {
			t.Errorf("%s: %s, script %s", path, diff, op.Call.Script)
		}
	}
}

// TestMSProbeLinks: no name in dump.json leads out of the folder by a link.
func TestMSProbeLinks(t *testing.T) {
	base := t.TempDir()
	write(t, base, map[string]string{
		"run/dump.json": `{"task": "tensor", "data": {"Torch.add.0.forward": {"input_args": [` + leafJSON(`, "data_name": "x.npy"`) + `]}}}`,
		"data/x.npy":    "x", "run/data/x.npy": "x",
	})
	root := filepath.Join(base, "run")
	link := filepath.Join(root, "dump_tensor_data")
	for target, want := range map[string]string{"../data": "is outside of", "data": ""} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		err := openAt(t, filepath.Join(root, "dump.json"), Options{}).Rounds[0].Ops[0].Tensors[0].File.Err
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", target, err, want)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMSProbeDamaged: entries before the damage count, and the problem has its place; without a
// usable dump.json the names of the files give the tensors.
func TestMSProbeDamaged(t *testing.T) {
	files := func(dump string) map[string]string {
		return map[string]string{"dump.json": dump, "stack.json": "[", "construct.json": `{"B": 1`,
			"dump_tensor_data/B.output.0.npy": "x", "dump_tensor_data/A.output.0.npy": "x"}
	}
	whole := `"B": {"output": [` + leafJSON(`, "data_name": "B.output.0.npy"`) + `]}`
	r := open(t, files(`{"task": "tensor", "data": {`+whole+`, "A": {"output": [`))
	var got []string
	for _, p := range r.Problems {
		got = append(got, string(p.Kind)+" "+filepath.Base(p.Path))
	}
	if want := []string{"side file stack.json", "side file construct.json", "unreadable dump.json"}; !slices.Equal(got, want) {
		t.Fatalf("problems %q, want %q", got, want)
	}
	if got := rounds(r); !slices.Equal(got, []string{": B(o0) A(o0)"}) || r.Rounds[0].Order.By != ByDumpJSON {
		t.Error(got, r.Rounds[0].Order.By)
	}
	if text := fmt.Sprint(r.Problems[2].Error()); !strings.Contains(text, "offset 161: data.A.output[0]") || !strings.Contains(text, "the 1 whole entries before it are used") {
		t.Error(text)
	}
	r = open(t, files(`{"task": "tensor", "data": {"B": {"output": [`))
	if got := rounds(r); !slices.Equal(got, []string{": A(o0) B(o0)"}) || r.Rounds[0].Order.By != ByName || len(r.Problems) != 1 || r.Problems[0].Kind != Unreadable {
		t.Error(got, r.Rounds[0].Order.By, r.Problems)
	}
	for _, name := range []string{"cut", "nodata", "list", "notask"} {
		path := filepath.Join(msprobeGolden, "bad", "msprobe_"+name, "dump.json")
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
		r, err := Open(context.Background(), []string{path}, Options{})
		if err != nil || len(r.Rounds) > 0 || len(r.Problems) != 1 || r.Problems[0].Kind != Unreadable || !r.Single {
			t.Errorf("%s: %v, %v, problems %v", name, rounds(r), err, r.Problems)
		}
	}
}

// TestMSProbeMissing: statistics replace missing files, with one problem that counts them; a
// missing file without statistics is an error, unless the tensor has no elements.
func TestMSProbeMissing(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"r/step0/rank0/dump.json": `{"task": "tensor", "data": {"Torch.add.0.forward": {"input_args": [` +
			leafJSON(`, "Max": 1, "data_name": "a.npy"`) + `, ` + leafJSON(`, "md5": "0badcafe", "data_name": "b.npy"`) + `, ` +
			leafJSON(`, "Max": null, "Mean": null, "data_name": "c.npy"`) + `, ` + leafJSON(`, "Max": 2, "data_name": "here.npy"`) + `, ` +
			`{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [0, 2], "data_name": "d.npy"}]}}}`,
		"r/step0/rank0/dump_tensor_data/here.npy": "x",
	})
	r := openAt(t, filepath.Join(root, "r"), Options{})
	var got []string
	for _, one := range r.Rounds[0].Ops[0].Tensors {
		got = append(got, fmt.Sprint(one.File.Name, " ", one.Table, " ", one.File.Err != nil))
	}
	if want := []string{"dump.json true false", "dump.json true false", "c.npy false true", "here.npy false false", "dump.json true false"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var problems []string
	for _, p := range r.Problems {
		problems = append(problems, fmt.Sprint(p.Kind, ": ", p.Err))
	}
	want := []string{"no elements: the files of 3 of 5 tensors are missing: their statistics are used",
		"unreadable: dump.json: the file of Torch.add.0.forward.input.2 is missing: file does not exist"}
	if !slices.Equal(problems, want) {
		t.Errorf("%q, want %q", problems, want)
	}
}

// TestMSProbeOdd: impossible values are dropped and reported with their entry, the others count.
func TestMSProbeOdd(t *testing.T) {
	tensorOf := func(dtype, more string) string {
		return `{"type": "torch.Tensor", "dtype": "` + dtype + `", "shape": [2]` + more + `}`
	}
	for _, c := range []struct{ leaf, odd, want string }{
		{tensorOf("torch.float32", `, "Max": null, "Min": null, "Mean": null, "Norm": null`), "", ""},
		{tensorOf("torch.float32", `, "Max": NaN, "Min": -Infinity, "Mean": NaN, "Norm": Infinity`), "", "max NaN min -Inf mean NaN norm +Inf "},
		{tensorOf("torch.float32", `, "Max": Infinity, "Min": -1, "Max_except_inf_nan": 7, "Min_except_inf_nan": -1`), "", "max +Inf min -1 finite max 7 finite min -1 "},
		{tensorOf("torch.bool", `, "Max": true, "Min": false`), "", "max 1 min 0 "},
		{tensorOf("torch.float32", `, "Max": true, "Min": -1`), "max of float32 is a boolean", "min -1 "},
		{tensorOf("torch.float32", `, "Max": "3", "Min": 1`), `max is "3", no number`, "min 1 "},
		{tensorOf("torch.float32", `, "Max": 1, "Min": 2, "Norm": 3`), "max 1 is below min 2", "norm 3 "},
		{tensorOf("torch.float32", `, "Max": 1, "Norm": -3`), "norm -3 is negative", "max 1 "},
		{tensorOf("torch.float32", `, "md5": "0badcaf"`), `md5 "0badcaf" is no digest`, ""},
		{tensorOf("torch.float32", `, "md5": "0x0123456789abcdef"`), "", "0x0123456789abcdef"},
		{`{"type": "torch.Tensor", "shape": [2], "Max": 1}`, "no dtype", "max 1 "},
		{`{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [-2], "Max": 1}`, `the dimension "-2", want a whole number`, "max 1 "},
	} {
		root := t.TempDir()
		write(t, root, map[string]string{
			"r/step0/rank0/dump.json": `{"task": "statistics", "data": {"Torch.add.0.forward": {"input_args": [` + c.leaf + `, ` + leafJSON(`, "Max": 5`) + `]}}}`})
		r := openAt(t, filepath.Join(root, "r"), Options{})
		problems := ""
		for _, p := range r.Problems {
			problems += fmt.Sprint(p.Kind, ": ", p.Err)
		}
		want := ""
		if c.odd != "" {
			want = "side file: statistics: Torch.add.0.forward.input.0: " + c.odd + ", left out"
		}
		tensors := r.Rounds[0].Ops[0].Tensors
		if problems != want || len(tensors) != 2 || *tensors[1].Statistics.Number(Max) != 5 {
			t.Errorf("%s: %q, want %q", c.leaf, problems, want)
			continue
		}
		got := ""
		for what := range statistics {
			v, ok := tensors[0].Statistics.Values.Get(what)
			if !ok {
				continue
			}
			got += fmt.Sprintf("%s %v ", what, v)
		}
		if got += tensors[0].Statistics.Digest; got != c.want {
			t.Errorf("%s: %q, want %q", c.leaf, got, c.want)
		}
	}
}

// TestMSProbeTwice: of two entries of one name the last counts, at the place of the first.
func TestMSProbeTwice(t *testing.T) {
	root := t.TempDir()
	one := func(api, top string) string {
		return `"` + api + `": {"output": [` + leafJSON(`, "Max": `+top) + `]}`
	}
	write(t, root, map[string]string{
		"r/step0/rank0/dump.json":      `{"task": "statistics", "data": {` + one("Torch.b.0.forward", "1") + `, ` + one("Torch.a.0.forward", "2") + `, ` + one("Torch.b.0.forward", "3") + `}}`,
		"r/step0/rank0/construct.json": `{"Torch.a.0.forward": "Module.x.X.forward.0", "Module.x.X.forward.0": "Module.y.Y.forward.0", "Module.y.Y.forward.0": "Module.x.X.forward.0", "Torch.b.0.forward": "Torch.b.0.forward"}`,
	})
	r := openAt(t, filepath.Join(root, "r"), Options{})
	ops := r.Rounds[0].Ops
	if len(ops) != 2 || ops[0].Name != "Torch.b.0.forward" || len(ops[0].Tensors) != 1 || *ops[0].Tensors[0].Statistics.Number(Max) != 3 {
		t.Errorf("%v", rounds(r))
	}
	if modules := ops[1].Call.Modules; !slices.Equal(modules, []string{"Module.y.Y.forward.0", "Module.x.X.forward.0"}) || len(ops[0].Call.Modules) > 0 {
		t.Errorf("modules %q and %q", modules, ops[0].Call.Modules)
	}
	var problems []string
	for _, p := range r.Problems {
		problems = append(problems, p.Err.Error())
	}
	want := []string{"Torch.b.0.forward is listed as its own module (1 call)", "statistics: Torch.b.0.forward: a second entry of this name, want one: the last one counts, as in Python"}
	if !slices.Equal(problems, want) {
		t.Errorf("%q, want %q", problems, want)
	}
}
