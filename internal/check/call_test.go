package check

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumptest"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/jsonpos"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// torchArchive has runs of PyTorch's calls, each in three types, with what is wrong in them.
var torchArchive = filepath.Join(golden, "torch.tar.gz")

// TestTorch compares the verdicts on calls of PyTorch with the expected ones.
func TestTorch(t *testing.T) {
	t.Parallel()
	calls := dumptest.Untar(t, torchArchive)
	for _, dtype := range []string{"f16", "bf16", "f32"} {
		t.Run(dtype, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(calls, "torch_"+dtype)
			text, err := os.ReadFile(filepath.Join(dir, "truth.json"))
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Calls []struct {
					Call, Expect, Extent string
					Bad                  int64
				}
			}
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			rows := map[string]*Operator{}
			r := checked(t, Options{}, filepath.Join(dir, "run"))
			for i := range r.Operators {
				rows[r.Operators[i].Op] = &r.Operators[i]
			}
			if len(rows) != len(want.Calls) || len(r.Problems) > 0 {
				t.Fatalf("%d of %d calls, problems %v", len(rows), len(want.Calls), r.Problems)
			}
			for _, c := range want.Calls {
				o := rows[c.Call]
				bad := int64(0)
				for _, out := range o.Outputs {
					bad += out.Bad
				}
				healthy := c.Expect != "WRONG" && (o.Status == recompute.OK || o.Status == recompute.Low)
				if !healthy && string(o.Status) != c.Expect || bad != c.Bad || c.Extent != "" && string(o.Extent) != c.Extent {
					t.Errorf("%s: %s %s with %d bad elements, want %s %s with %d", c.Call, o.Status, o.Extent, bad, c.Expect, c.Extent, c.Bad)
				}
			}
		})
	}
}

// TestExtract: an extracted wrong call has as many wrong elements as its row.
func TestExtract(t *testing.T) {
	t.Parallel()
	cases := 0
	checked(t, Options{ExtractMost: 1 << 20, Extract: func(c *Case) {
		cases++
		for k, out := range c.Row.Outputs {
			if c.Piece == nil || c.Piece.Values[k] == nil {
				t.Errorf("%s: output %d was not computed", c.Row.Op, k)
				continue
			}
			bad := int64(0)
			for i, y := range elements(t, c.Piece.Outputs[k]) {
				v, off := c.Piece.Values[k][i], c.Piece.Bounds[k][i]
				if !(math.Abs(y-v) <= off*(1+1e-9)) && y != v && (y == y || v == v) {
					bad++
				}
			}
			if math.Abs(float64(bad-out.Bad)) > 1 {
				t.Errorf("%s: %d wrong elements, the row has %d", c.Row.Op, bad, out.Bad)
			}
		}
	}}, filepath.Join(dumptest.Untar(t, torchArchive), "torch_f32", "run"))
	if cases < 10 {
		t.Errorf("%d cases", cases)
	}
}

// elements reads float32.
func elements(t *testing.T, x *recompute.Tensor) []float64 {
	t.Helper()
	if x.Stored != tensor.Float32 {
		return nil
	}
	raw := make([]byte, 4*x.Shape.Elements())
	if err := x.Source.ReadElements(raw, 0); err != nil {
		t.Fatal(err)
	}
	all := make([]float64, x.Shape.Elements())
	for i := range all {
		all[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
	}
	return all
}

// callOf returns a call with arguments: T is a tensor, everything else a value, and "name=" makes a keyword.
func callOf(api string, args ...string) *dumpdir.Call {
	c := &dumpdir.Call{Entry: msprobe.Entry{API: api}}
	for i, a := range args {
		key, text, named := strings.Cut(a, "=")
		if !named {
			key, text = string(rune('0'+i)), a
		}
		l := msprobe.Leaf{Kind: tensor.Input, Path: key}
		switch {
		case text == "T":
			l.Tensor = &msprobe.Tensor{}
		case text == "None":
		case strings.Trim(text, "0123456789.-") == "":
			l.Value = &msprobe.Value{Kind: jsonpos.Number, Text: text}
		case text == "True" || text == "False":
			l.Value = &msprobe.Value{Kind: jsonpos.Bool, Text: text}
		default:
			l.Value = &msprobe.Value{Kind: jsonpos.String, Text: text}
		}
		c.Leaves = append(c.Leaves, l)
	}
	return c
}

// TestBind binds the arguments of calls, in the orders of PyTorch's documentation.
func TestBind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		api       string
		args      []string
		formula   string // empty for an unknown call
		inputs    string
		raw       string
		framework string
	}{
		{"Torch.add.0.forward", []string{"T", "T"}, "Add", "x1 x2", "", "pytorch"},
		{"Torch.add.0.forward", []string{"T", "T", "alpha=2"}, "Axpy", "x1 x2", "alpha=2", "pytorch"},
		{"Tensor.__rsub__.0.forward", []string{"T", "3"}, "Sub", "x1 x2", "", "pytorch"},
		{"Functional.layer_norm.0.forward", []string{"T", "64", "T", "None", "eps=0.001"}, "LayerNorm", "gamma x", "epsilon=0.001 normalized_shape=64", "pytorch"},
		{"Functional.layer_norm.0.forward", []string{"T", "64"}, "LayerNorm", "x", "epsilon=1e-05 normalized_shape=64", "pytorch"},
		{"Functional.batch_norm.0.forward", []string{"T", "T", "T", "T", "T", "False", "0.1", "0.001"}, "BNInfer", "mean offset scale variance x", "activation=none epsilon=0.001 is_training=0", "pytorch"},
		{"Functional.batch_norm.0.forward", []string{"T", "T", "T", "T", "T", "True"}, "BatchNorm", "offset scale x", "epsilon=1e-05 is_training=1", "pytorch"},
		{"Torch.batch_norm.0.forward", []string{"T", "T", "T", "T", "T", "False", "0.1", "0.001", "True"}, "BNInfer", "mean offset scale variance x", "activation=none epsilon=0.001 is_training=0", "pytorch"},
		{"Functional.embedding.0.forward", []string{"T", "T"}, "Gather", "indices x", "axis=0", "pytorch"},
		{"Functional.embedding.0.forward", []string{"T", "T", "None", "1.0"}, "", "", "", "pytorch"}, // with a norm, the rows change
		{"Torch.std.0.forward", []string{"T", "False"}, "ReduceStd", "x", "correction=0", "pytorch"},
		{"Torch.std.0.forward", []string{"T", "1", "False"}, "ReduceStd", "x", "axes=1 correction=0", "pytorch"},
		{"Torch.max.0.forward", []string{"T", "T"}, "Maximum", "x1 x2", "", "pytorch"},
		{"Torch.clamp_min.0.forward", []string{"T", "0"}, "Maximum", "x1 x2", "", "pytorch"},
		{"Torch.max.0.forward", []string{"T", "1"}, "ReduceMax", "x", "axes=1", "pytorch"},
		{"Torch.sum.0.forward", []string{"T", "axis=1", "keepdims=True"}, "ReduceSum", "x", "axes=1", "pytorch"}, // numpy's names
		{"Torch.swapaxes.0.forward", []string{"T", "axis0=0", "axis1=2"}, "Transpose", "x", "swap0=0 swap1=2", "pytorch"},
		{"Torch.flatten.0.forward", []string{"input=T", "start_dim=1"}, "Identity", "x", "", "pytorch"},
		{"Torch.matmul.0.forward", []string{"T", "other=T"}, "MatMul", "x1 x2", "transpose_x1=0 transpose_x2=0", "pytorch"},
		{"Torch.split.0.forward", []string{"tensor=T", "split_size_or_sections=2", "dim=1"}, "Split", "x", "axis=1", "pytorch"},
		{"Torch.meshgrid.0.forward", []string{"T", "T", "indexing=xy"}, "Meshgrid", "x", "indexing=xy", "pytorch"},
		{"Functional.max_pool2d.0.forward", []string{"T", "2"}, "MaxPool", "x", "ceil_mode=0 dilation=1 kernel_size=2 padding=0 spatial_axes=2", "pytorch"},
		{"Functional.embedding_bag.0.forward", []string{"T", "T", "T", "mode=sum"}, "EmbeddingBag", "indices offsets x", "include_last_offset=0 mode=sum", "pytorch"},
		{"Torch.round.0.forward", []string{"T", "decimals=2"}, "RoundTo", "x", "decimals=2", "pytorch"},
		{"Torch.round.0.forward", []string{"T"}, "Rint", "x", "", "pytorch"},
		{"Tensor.permute.0.forward", []string{"T", "0", "2", "1"}, "Transpose", "x", "perm=0,2,1", "pytorch"},
		{"Functional.relu_.0.forward", []string{"T", "inplace=True"}, "Relu", "x", "", "pytorch"},
		{"Functional.softplus.0.forward", []string{"T", "beta=2"}, "Softplus", "x", "beta=2 threshold=20", "pytorch"},
		{"Torch.div.0.forward", []string{"T", "T", "rounding_mode=floor"}, "FloorDiv", "x1 x2", "", "pytorch"},
		{"Torch.topk.0.forward", []string{"T", "3", "0"}, "TopK", "x", "axis=0 largest=1 sorted=1", "pytorch"},
		{"Functional.relu.0.backward", []string{"T"}, "", "", "", "pytorch"},
		{"Functional.nobody_knows.0.forward", []string{"T"}, "", "", "", "pytorch"},
		{"Module.fc1.Linear.forward.0", []string{"T", "weight=T", "bias=T"}, "MatMul", "bias x1 x2", "transpose_x1=0 transpose_x2=1", "pytorch"},
		{"Functional.conv2d.0.forward", []string{"T", "T", "None", "2", "pad", "1", "1", "1"}, "Conv2D", "w x", "activation=none dilation=1 groups=1 padding=pad stride=2", "mindspore"},
		{"Functional.softmax.0.forward", []string{"T"}, "Softmax", "x", "axes=-1", "mindspore"},
		{"Functional.pad.0.forward", []string{"T", "1"}, "", "", "", "mindspore"},
		{"Mint.softmax.0.forward", []string{"T", "1"}, "Softmax", "x", "axes=1", "mindspore"},
	} {
		c := callOf(test.api, test.args...)
		_, rows := recompute.CallsOf(test.api, test.framework)
		var got boundCall
		for i, ok := 0, false; i < len(rows) && !ok; i++ {
			if got, ok = bind(&rows[i], arguments(c), msprobe.IsModule(test.api), true); !ok {
				got = boundCall{}
			}
		}
		var inputs, raw []string
		for name := range got.inputs {
			inputs = append(inputs, name)
		}
		for name, a := range got.attributes {
			raw = append(raw, name+"="+a.Value.String())
		}
		slices.Sort(inputs)
		slices.Sort(raw)
		if got.formula != test.formula || strings.Join(inputs, " ") != test.inputs || strings.Join(raw, " ") != test.raw {
			t.Errorf("%s %v: %s of %v with %v, want %s of %s with %s", test.api, test.args, got.formula, inputs, raw, test.formula, test.inputs, test.raw)
		}
	}
}

// TestNamesOnly: if the call is known from file names only, no default is assumed and attributes stay open. Modules
// have no arguments that a dump would have.
func TestNamesOnly(t *testing.T) {
	t.Parallel()
	for api, raw := range map[string]string{"Functional.leaky_relu.0.forward": "", "NPU.npu_fusion_attention.0.forward": "masked pse_type", "Functional.gelu.0.forward": "", "Module.fc1.Linear.forward.0": "transpose_x1 transpose_x2"} {
		isModule := msprobe.IsModule(api)
		_, rows := recompute.CallsOf(api, "pytorch")
		given := arguments(callOf(api, "T", "T", "T"))
		if !strings.Contains(api, "attention") {
			delete(given, "2")
			delete(given, "1")
		}
		if isModule {
			given["weight"] = given["0"]
		}
		got, ok := bind(&rows[0], given, isModule, false)
		if names := strings.Join(slices.Sorted(maps.Keys(got.attributes)), " "); !ok || names != raw || got.open == isModule {
			t.Errorf("%s: %t, open %t, known %s, want %s", api, ok, got.open, names, raw)
		}
	}
}

// TestPlaces: the table of calls names existing formulas, and each tensor argument is an input of its formula.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, name := range recompute.CallNames() {
		for _, api := range []string{"Torch." + name + ".0.forward", "Module.x." + name + ".forward.0", "Cell.x." + name + ".forward.0"} {
			framework := "pytorch"
			if strings.HasPrefix(api, "Cell") {
				framework = "mindspore"
			}
			_, rows := recompute.CallsOf(api, framework)
			for _, row := range rows {
				for _, a := range row.Arguments {
					if a.Tensor && a.Name != "-" && !recompute.IsInput(row.Formula, a.Name) {
						t.Errorf("%s: %s has no input %s", name, row.Formula, a.Name)
					}
				}
				if !slices.ContainsFunc(row.Arguments, func(a recompute.Argument) bool { return recompute.IsInput(row.Formula, a.Name) }) {
					t.Errorf("%s: %s has no input", name, row.Formula)
				}
			}
		}
	}
}

// TestReturnedBias: a linear layer of Megatron with skip_bias_add returns its bias as a second output and does not
// add it. Another second output has no formula.
func TestReturnedBias(t *testing.T) {
	t.Parallel()
	bias := []float32{5, 6, 7}
	for name, c := range map[string]struct {
		y, second []float32
		want      recompute.Status
	}{
		"returned":        {[]float32{1, 2, 3, 3, 4, 7}, bias, recompute.OK},
		"added":           {[]float32{6, 8, 10, 8, 10, 14}, bias, recompute.Misfit},
		"another output":  {[]float32{6, 8, 10, 8, 10, 14}, []float32{5, 6, 8}, recompute.Undecided},
		"a wrong product": {[]float32{1, 2, 3, 3, 4, -7}, bias, recompute.Misfit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "dump_tensor_data"), 0o755); err != nil {
				t.Fatal(err)
			}
			const module = "Module.m.ColumnParallelLinear.forward.0"
			text := fmt.Sprintf(`{"task": "tensor", "level": "L0", "framework": "pytorch", "dump_data_dir": "dump_tensor_data", "data": {%q: {"input_args": [%s], "input_kwargs": {}, "parameters": {"weight": %s, "bias": %s}, "output": [%s, %s]}}}`, module,
				leaf(t, dir, module+".input.0", []float32{1, 2, 3, 4}, 2, 2), leaf(t, dir, module+".parameters.weight", []float32{1, 0, 0, 1, 1, 1}, 3, 2), leaf(t, dir, module+".parameters.bias", bias),
				leaf(t, dir, module+".output.0", c.y, 2, 3), leaf(t, dir, module+".output.1", c.second))
			if err := os.WriteFile(filepath.Join(dir, "dump.json"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			r := checked(t, Options{}, dir)
			if len(r.Problems) > 0 || len(r.Operators) != 1 || r.Operators[0].Status != c.want {
				t.Fatalf("%+v, problems %v", r.Operators, r.Problems)
			}
			var inputs []string // in the order of the call, not of the formula
			for _, in := range r.Operators[0].Inputs {
				inputs = append(inputs, fmt.Sprintf("%d %s %v", in.Index, in.Name, in.Shape))
			}
			if diff := gocmp.Diff([]string{"0 input.0 (2, 2)", "1 parameters.weight (3, 2)", "2 parameters.bias (3,)"}, inputs); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRoundedInside: a module of the user whose class ends in Linear may round its product to float16, as autocast
// does; torch.nn.Linear does not.
func TestRoundedInside(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 9)) //nolint:gosec // test data
	const rows, n, k = 16, 32, 24
	numbers := func(count int) []float32 {
		all := make([]float32, count)
		for i := range all {
			all[i] = float32(r.NormFloat64())
		}
		return all
	}
	x, w, y := numbers(rows*k), numbers(n*k), make([]float32, rows*n)
	for i := range y {
		sum := 0.0
		for j := range k {
			sum += float64(float64(x[i/n*k+j]) * float64(w[i%n*k+j]))
		}
		f, e := math.Frexp(sum)
		y[i] = float32(math.Ldexp(math.RoundToEven(math.Ldexp(f, 11)), e-11))
	}
	for class, want := range map[string]recompute.Status{"ColumnParallelLinear": recompute.Low, "Linear": recompute.Wrong} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "dump_tensor_data"), 0o755); err != nil {
			t.Fatal(err)
		}
		module := "Module.m." + class + ".forward.0"
		text := fmt.Sprintf(`{"task": "tensor", "level": "L0", "framework": "pytorch", "dump_data_dir": "dump_tensor_data", "data": {%q: {"input_args": [%s], "input_kwargs": {}, "parameters": {"weight": %s}, "output": [%s]}}}`, module,
			leaf(t, dir, module+".input.0", x, rows, k), leaf(t, dir, module+".parameters.weight", w, n, k), leaf(t, dir, module+".output.0", y, rows, n))
		if err := os.WriteFile(filepath.Join(dir, "dump.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if o := checked(t, Options{}, dir).Operators[0]; o.Status != want {
			t.Errorf("%s: %s %s, want %s", class, o.Status, o.Reason, want)
		}
	}
}
