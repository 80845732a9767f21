package pair

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dumptool/internal/dumpdir"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// roundOf returns a round with calls of these names, each with one output.
func roundOf(framework string, apis ...string) *dumpdir.Round {
	r := &dumpdir.Round{Header: msprobe.Header{Framework: framework}}
	for _, api := range apis {
		leaf := msprobe.Leaf{Name: api + ".output.0", Kind: tensor.Output, Path: "0"}
		r.Calls = append(r.Calls, &dumpdir.Call{Entry: msprobe.Entry{API: api, Leaves: []msprobe.Leaf{leaf}}})
	}
	return r
}

// atStep returns a round of a step.
func atStep(step string, r *dumpdir.Round) *dumpdir.Round {
	r.At.Step = step
	return r
}

// inside puts calls of a round into modules, by place: CALL, MODULE, ...
func inside(r *dumpdir.Round, places ...int) *dumpdir.Round {
	for i := 0; i < len(places); i += 2 {
		r.Calls[places[i]].Modules = []string{r.Calls[places[i+1]].API}
	}
	return r
}

// TestFunctions: every name has a single row and is a name of msprobe, and no value has two
// translations.
func TestFunctions(t *testing.T) {
	if len(renamings()) != len(functions) || len(functions) < 150 {
		t.Errorf("%d names in %d rows", len(renamings()), len(functions))
	}
	for _, f := range functions {
		for _, name := range append(strings.Fields(f.pytorch), f.mindspore) {
			word, rest, _ := strings.Cut(name, ".")
			if !slices.Contains([]string{"Functional", "Torch", "Tensor", "NPU", "Distributed", "Mint", "MintFunctional", "Primitive"}, word) || rest == "" || strings.Contains(rest, ".") {
				t.Errorf("%s: %s is no name of a function", f.mindspore, name)
			}
		}
		if f.pytorch == "" {
			t.Errorf("%s has no name in PyTorch", f.mindspore)
		}
		for _, places := range []string{f.inputs, f.outputs} {
			all, seen := parseAssignments(places), map[string]bool{}
			for from, to := range all {
				if from == "" || to == "" || to != "-" && seen[to] || len(all) != len(strings.Fields(places)) {
					t.Errorf("%s: %q", f.mindspore, places)
				}
				seen[to] = true
			}
		}
	}
}

// TestValues: the arguments of MindSpore's functions get the places of PyTorch's
// arguments.
func TestValues(t *testing.T) {
	nameMap, err := sidefile.ParseMapping([]byte("- ms_api: Functional.own\n  pt_api: Torch.own\n  ms_args: [0, 2]\n  pt_args: [1, 0]\n"))
	if err != nil {
		t.Fatal(err)
	}
	ref := roundOf("pytorch", "Torch.index_select.0.forward", "Torch.svd.0.forward", "Torch.svd.0.backward", "Torch.own.0.forward", "Module.n.LayerNorm.forward.0", "Torch.sum.0.forward", "Distributed.all_gather_into_tensor.0.forward")
	npu := roundOf("mindspore", "Functional.gather.0.forward", "Functional.svd.0.forward", "Functional.svd.0.backward", "Functional.own.0.forward", "Cell.n.LayerNorm.forward.0", "Functional.sum.0.forward", "Distributed.all_gather_into_tensor.0.forward")
	calls := NewCalls(ref, npu, CallOptions{Map: nameMap})
	for _, test := range []struct {
		call       int
		kind       tensor.Kind
		ref, npu   string
		sameAsThis bool
	}{
		{0, tensor.Input, "0", "0", true}, {0, tensor.Input, "2", "1", true}, {0, tensor.Input, "1", "2", true}, {0, tensor.Input, "1", "1", false}, {0, tensor.Input, "index", "input_indices", true},
		{1, tensor.Output, "1", "0", true}, {1, tensor.Output, "0.x", "1.x", true}, {1, tensor.Output, "2", "2", true}, {1, tensor.Input, "0", "0", true},
		{2, tensor.Input, "1", "0", true}, {2, tensor.Output, "0", "0", true},
		{3, tensor.Input, "1", "0", true}, {3, tensor.Input, "0", "2", true}, {3, tensor.Input, "1", "1", false}, {3, tensor.Output, "0", "0", true},
		{4, tensor.Parameter, "weight", "gamma", true}, {4, tensor.Gradient, "bias", "beta", true}, {4, tensor.Input, "0", "0", true},
		{5, tensor.Input, "dim", "axis", true}, {5, tensor.Input, "1.0", "1.0", true},
		{6, tensor.Input, "1", "0", true}, {6, tensor.Output, "0", "0", true},
	} {
		key := func(r *dumpdir.Round, path string, npu bool) string {
			return calls.Key(r.Calls[test.call].API, &msprobe.Leaf{Name: "x", Kind: test.kind, Path: path}, npu)
		}
		if got := key(ref, test.ref, false) == key(npu, test.npu, true); got != test.sameAsThis {
			t.Errorf("%s %s %s and %s of PyTorch: %v", npu.Calls[test.call].API, test.kind, test.npu, test.ref, got)
		}
	}
}

func TestCalls(t *testing.T) {
	const (
		relu0f, relu1f = "Functional.relu.0.forward", "Functional.relu.1.forward"
		relu0b, relu1b = "Functional.relu.0.backward", "Functional.relu.1.backward"
		fc0b, fc1b     = "Module.fc.Linear.backward.0", "Module.fc.Linear.backward.1"
		grad           = "Module.fc.Linear.parameters_grad"
		other          = "Module.fc2.Linear.parameters_grad"
	)
	for _, test := range []struct {
		name     string
		ref, npu *dumpdir.Round
		nameMap  string
		want     string // NPU=REF ...
		fuzzy    bool
	}{
		{"literal", roundOf("pytorch", relu0f, grad, "x.0.debug"), roundOf("pytorch", grad, relu1f, relu0f, "x.0.debug", "x.1.debug"), "",
			relu0f + "=" + relu0f + " " + grad + "=" + grad + " x.0.debug=x.0.debug", false},
		{"a forward call is computed again", roundOf("pytorch", relu0f, relu0b), roundOf("pytorch", relu0f, relu1f, relu1b), "",
			relu0f + "=" + relu0f + " " + relu1b + "=" + relu0b, false},
		{"the same numbers in another order", roundOf("pytorch", relu0b, relu1b), roundOf("pytorch", relu1b, relu0b), "",
			relu0b + "=" + relu0b + " " + relu1b + "=" + relu1b, false},
		{"modules count for themselves", roundOf("pytorch", fc1b, relu0b), roundOf("pytorch", fc0b, relu0b, fc1b), "",
			relu0b + "=" + relu0b + " " + fc0b + "=" + fc1b, false},
		{"gradients of parameters, by the number of the step", roundOf("pytorch", grad+".0"), roundOf("pytorch", grad+".1"), "",
			grad + ".1=" + grad + ".0", false},
		{"gradients of parameters of two steps", roundOf("pytorch", grad+".0", grad+".1", other+".0"), roundOf("pytorch", grad+".3", other+".0", grad+".4"), "",
			grad + ".3=" + grad + ".0 " + grad + ".4=" + grad + ".1 " + other + ".0=" + other + ".0", false},
		{"MindSpore and PyTorch", roundOf("pytorch", "Module.fc.Linear.forward.0", "Torch.add.0.forward", relu0f), roundOf("mindspore", "Cell.fc.Linear.forward.0", "Mint.add.0.forward", "MintFunctional.relu.0.forward", "Primitive.add.0.forward"), "",
			"Cell.fc.Linear.forward.0=Module.fc.Linear.forward.0 Mint.add.0.forward=Torch.add.0.forward MintFunctional.relu.0.forward=" + relu0f, false},
		{"both of MindSpore", roundOf("", "Cell.a.A.forward.0", "Mint.add.0.forward"), roundOf("", "Cell.a.A.forward.0", "Torch.add.0.forward"), "",
			"Cell.a.A.forward.0=Cell.a.A.forward.0", false},
		{"map", roundOf("pytorch", relu0f, relu1f), roundOf("pytorch", relu0f, relu1f), `{"` + relu0f + `": "` + relu1f + `", "` + relu1f + `.output.0": "` + relu0f + `.output.0"}`,
			relu0f + "=" + relu1f + " " + relu1f + "=" + relu0f, false},
		{"a map of modules", roundOf("pytorch", "Module.fc1.Linear.forward.0", "Module.fc1.Linear.forward.1", fc0b), roundOf("mindspore", "Cell.dense.Dense.forward.0", "Cell.dense.Dense.forward.1", "Cell.x.X.forward.0"),
			`{"Module.fc1.Linear": "Cell.dense.Dense"}`, "Cell.dense.Dense.forward.0=Module.fc1.Linear.forward.0 Cell.dense.Dense.forward.1=Module.fc1.Linear.forward.1", false},
		{"calls that are left over, by their order", roundOf("pytorch", relu0f, "Functional.relu.3.forward", "Torch.add.0.forward"), roundOf("pytorch", relu0f, relu1f, "Functional.relu.2.forward", "Torch.mul.0.forward"), "",
			relu0f + "=" + relu0f + " " + relu1f + "=Functional.relu.3.forward", true},
		{"the number of the step", atStep("0", roundOf("pytorch", "loss.0.debug", relu0f)), atStep("7", roundOf("pytorch", "loss.7.debug", "Functional.relu.7.forward")), "",
			"loss.7.debug=loss.0.debug Functional.relu.7.forward=" + relu0f, false},
		{"another number than the step's", atStep("0", roundOf("pytorch", "loss.0.debug", relu0f)), atStep("7", roundOf("pytorch", "loss.6.debug", relu1f)), "", "", false},
		{"numbers that only some have in common", roundOf("pytorch", relu0f, relu1f), roundOf("pytorch", relu1f, "Functional.relu.2.forward"), "",
			relu1f + "=" + relu1f, false},
		{"two functions of MindSpore are one of PyTorch", roundOf("pytorch", relu0f, relu1f), roundOf("mindspore", "MintFunctional.relu.0.forward", relu0f), "",
			"MintFunctional.relu.0.forward=" + relu0f + " " + relu0f + "=" + relu1f, false},
		{"one function of MindSpore may be two of PyTorch", roundOf("pytorch", "Torch.sigmoid.0.forward", "Functional.sigmoid.0.forward"), roundOf("mindspore", "Functional.sigmoid.0.forward"), "", "", false},
		{"the one that is called as often", roundOf("pytorch", "Torch.sigmoid.0.forward", "Functional.sigmoid.0.forward", "Functional.sigmoid.1.forward"), roundOf("mindspore", "Functional.sigmoid.0.forward"), "",
			"Functional.sigmoid.0.forward=Torch.sigmoid.0.forward", false},
		{"the one that no other function is", roundOf("pytorch", "Torch.add.0.forward", "Tensor.__add__.0.forward"), roundOf("mindspore", "Functional.add.0.forward", "Mint.add.0.forward"), "",
			"Functional.add.0.forward=Tensor.__add__.0.forward Mint.add.0.forward=Torch.add.0.forward", false},
		{"names that mean something else there", roundOf("pytorch", "Torch.transpose.0.forward", "Torch.permute.0.forward", "Torch.equal.0.forward", "Torch.eq.0.forward"),
			roundOf("mindspore", "Functional.transpose.0.forward", "Functional.swapaxes.0.forward", "Functional.equal.0.forward"), "",
			"Functional.transpose.0.forward=Torch.permute.0.forward Functional.swapaxes.0.forward=Torch.transpose.0.forward Functional.equal.0.forward=Torch.eq.0.forward", false},
		{"the reference is of MindSpore", roundOf("mindspore", "Cell.fc.Dense.forward.0", "Functional.abs.0.backward"), roundOf("pytorch", "Module.fc.Linear.forward.0", "Torch.abs.0.backward"), "",
			"Module.fc.Linear.forward.0=Cell.fc.Dense.forward.0 Torch.abs.0.backward=Functional.abs.0.backward", false},
		{"a map to the reference's names of MindSpore", roundOf("mindspore", "Cell.fc.Dense.forward.0", "Functional.abs.0.forward"), roundOf("pytorch", "Module.head.Linear.forward.0", "Torch.abs.0.forward"), `{"Cell.fc.Dense": "Module.head.Linear"}`,
			"Module.head.Linear.forward.0=Cell.fc.Dense.forward.0 Torch.abs.0.forward=Functional.abs.0.forward", false},
		{"API mapping", roundOf("pytorch", "Torch.abs.0.forward", "Torch.neg.0.forward"), roundOf("mindspore", "Functional.abs.0.forward"), "ms_api: Functional.abs\npt_api: Torch.neg",
			"Functional.abs.0.forward=Torch.neg.0.forward", false},
		{"cell mapping by names", roundOf("pytorch", "Module.fc1.Linear.forward.0", "Module.fc2.Linear.forward.0"), roundOf("mindspore", "Cell.dense.Dense.forward.0", "Cell.fc2.Dense.forward.0"), "dense.Dense: fc1.Linear\n",
			"Cell.dense.Dense.forward.0=Module.fc1.Linear.forward.0 Cell.fc2.Dense.forward.0=Module.fc2.Linear.forward.0", false},
		{"cell mapping by a part", roundOf("pytorch", "Module.a.TELinear.forward.0", "Module.b.TELinear.backward.0"), roundOf("pytorch", "Module.a.MindSpeedTELinear.forward.0", "Module.b.MindSpeedTELinear.backward.3"), "MindSpeedTELinear: TELinear\n",
			"Module.a.MindSpeedTELinear.forward.0=Module.a.TELinear.forward.0 Module.b.MindSpeedTELinear.backward.3=Module.b.TELinear.backward.0", false},
		{"layer mapping", roundOf("pytorch", "Module.module.Net.forward.0", "Module.module.layers.0.self_attention.SelfAttention.forward.0", "Module.module.layers.0.self_attention.query_key_value.Linear.forward.0", "Module.module.attention.X.forward.0"),
			roundOf("mindspore", "Cell.network_with_loss.Net.forward.0", "Cell.network_with_loss.layers.0.attention.ParallelAttention.forward.0", "Cell.network_with_loss.layers.0.attention.qkv_proj.Dense.forward.0", "Cell.qkv_proj.X.forward.0"),
			"TopLayer:\n  network_with_loss: module\nNet:\n  attention: self_attention\nParallelAttention:\n  qkv_proj: query_key_value\n",
			"Cell.network_with_loss.Net.forward.0=Module.module.Net.forward.0 Cell.network_with_loss.layers.0.attention.ParallelAttention.forward.0=Module.module.layers.0.self_attention.SelfAttention.forward.0 " +
				"Cell.network_with_loss.layers.0.attention.qkv_proj.Dense.forward.0=Module.module.layers.0.self_attention.query_key_value.Linear.forward.0", false},
		{"functions in layers of other names", inside(roundOf("pytorch", "Module.a.A.forward.0", relu0f, "Module.b.B.forward.0", relu1f), 1, 0, 3, 2), inside(roundOf("mindspore", "Cell.y.B.forward.0", relu0f, "Cell.x.A.forward.0", relu1f), 1, 0, 3, 2),
			"Cell:\n  x: a\n  y: b\n", "Cell.y.B.forward.0=Module.b.B.forward.0 Cell.x.A.forward.0=Module.a.A.forward.0 " + relu0f + "=" + relu1f + " " + relu1f + "=" + relu0f, false},
	} {
		var nameMap *sidefile.NameMap
		if test.nameMap != "" {
			parse := sidefile.ParseNameMap
			if test.nameMap[0] != '{' {
				parse = func(text string) (*sidefile.NameMap, error) { return sidefile.ParseMapping([]byte(text)) }
			}
			var err error
			if nameMap, err = parse(test.nameMap); err != nil {
				t.Fatal(err)
			}
		}
		calls := NewCalls(test.ref, test.npu, CallOptions{Map: nameMap, Fuzzy: test.fuzzy})
		tensors := func(r *dumpdir.Round, npu bool) (all []Tensor) {
			for i, c := range r.Calls {
				all = append(all, Tensor{ID: i, FileOp: c.API, Kind: tensor.Output, Call: calls.Key(c.API, &c.Leaves[0], npu)})
			}
			return all
		}
		res := Match(tensors(test.ref, false), tensors(test.npu, true), Options{Calls: calls, Map: nameMap})
		var got []string
		for _, p := range res.Pairs {
			got = append(got, test.npu.Calls[p.NPU].API+"="+test.ref.Calls[p.Ref].API)
		}
		slices.Sort(got)
		want := strings.Fields(test.want)
		slices.Sort(want)
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || len(res.Ambiguous) > 0 {
			t.Errorf("%s: %s, ambiguous %v", test.name, diff, res.Ambiguous)
		}
		if len(res.Pairs)+len(res.UnmatchedNPU) != len(test.npu.Calls) || len(res.Pairs)+len(res.UnmatchedRef) != len(test.ref.Calls) {
			t.Errorf("%s: unmatched %v %v", test.name, res.UnmatchedRef, res.UnmatchedNPU)
		}
	}
	if NewCalls(roundOf("pytorch"), roundOf("pytorch", relu0f), CallOptions{}) != nil || NewCalls(nil, roundOf("pytorch", relu0f), CallOptions{}) != nil {
		t.Error("calls of one side only")
	}
}

// modulesOf returns a round of modules, each a line "NAME INPUT OUTPUT" with shapes such as 2x3.
func modulesOf(t *testing.T, lines ...string) *dumpdir.Round {
	t.Helper()
	r := roundOf("pytorch")
	for _, line := range lines {
		words := strings.Fields(line)
		c := &dumpdir.Call{Entry: msprobe.Entry{API: words[0]}}
		for k, kind := range []tensor.Kind{tensor.Input, tensor.Output} {
			shape := side(t, "x.npy shape="+words[k+1])[0].Shape
			c.Leaves = append(c.Leaves, msprobe.Leaf{Name: words[0] + "." + string(kind) + ".0", Kind: kind, Path: "0", Tensor: &msprobe.Tensor{Shape: shape}})
		}
		r.Calls = append(r.Calls, c)
	}
	return r
}

// TestPlaces: modules of different classes are partners only if nothing but the class differs.
func TestPlaces(t *testing.T) {
	const linear, parallel = "Module.l.fc.Linear.forward.0", "Module.l.fc.ColumnParallelLinear.forward.0"
	for name, test := range map[string]struct {
		ref, npu []string
		want     string // NPU=REF ...
	}{
		"classes differ":            {lines(linear+" 2x3 2x4", "Module.l.act.GELU.forward.0 2x4 2x4"), lines(parallel+" 3x2 2x4", "Module.l.act.SiLU.forward.0 2x4 2x4"), parallel + "=" + linear + " Module.l.act.SiLU.forward.0=Module.l.act.GELU.forward.0"},
		"calls by their numbers":    {lines(linear+" 2 2", "Module.l.fc.Linear.forward.1 2 2"), lines("Module.l.fc.ColumnParallelLinear.forward.1 2 2"), "Module.l.fc.ColumnParallelLinear.forward.1=Module.l.fc.Linear.forward.1"},
		"backward too":              {lines("Module.l.fc.Linear.backward.3 2 2"), lines("Module.l.fc.ColumnParallelLinear.backward.0 2 2"), "Module.l.fc.ColumnParallelLinear.backward.0=Module.l.fc.Linear.backward.3"},
		"the class comes first":     {lines(linear + " 2 2"), lines(linear+" 2 2", parallel+" 2 2"), linear + "=" + linear},
		"a wrapper of one side":     {lines(linear + " 2 2"), lines("Module.module.DDP.forward.0 2 2", "Module.module.module.Net.forward.0 2 2", "Module.module.module.l.fc.Linear.forward.0 2 2"), "Module.module.module.l.fc.Linear.forward.0=" + linear},
		"wrappers around it":        {lines("Module.module.l.fc.Linear.forward.0 2x3 2"), lines(parallel + " 2x3 2"), parallel + "=Module.module.l.fc.Linear.forward.0"},
		"wrappers of both":          {lines("Module.module.l.fc.Linear.forward.0 2 2"), lines("Module.module.l.fc.ColumnParallelLinear.forward.0 2 2"), "Module.module.l.fc.ColumnParallelLinear.forward.0=Module.module.l.fc.Linear.forward.0"},
		"a member of that name":     {lines(linear+" 2 2", "Module.module.Linear.forward.0 2 2"), lines("Module.module.l.fc.Linear.forward.0 2 3", "Module.module.module.Linear.forward.0 2 2"), "Module.module.module.Linear.forward.0=Module.module.Linear.forward.0"},
		"another place":             {lines(linear + " 2 2"), lines("Module.l.gate.ColumnParallelLinear.forward.0 2 2"), ""},
		"two of one place":          {lines(linear + " 2 2"), lines(parallel+" 2 2", "Module.l.fc.RowParallelLinear.forward.0 2 2"), ""},
		"other inputs":              {lines(linear + " 2x3 2x4"), lines(parallel + " 2x5 2x4"), ""},
		"other outputs":             {lines(linear + " 2x3 2x4"), lines(parallel + " 2x3 2x2"), ""},
		"another direction":         {lines(linear + " 2 2"), lines("Module.l.fc.ColumnParallelLinear.backward.0 2 2"), ""},
		"functions have no place":   {lines("Functional.gelu.0.forward 2 2"), lines("Functional.silu.0.forward 2 2"), ""},
		"a suffix of two branches":  {lines("Module.a.fc.Linear.forward.0 2 2", "Module.b.fc.Linear.forward.0 2 2"), lines("Module.fc.ColumnParallelLinear.forward.0 2 2"), ""},
		"swapped places of a shape": {lines("Module.a.Linear.forward.0 2 2", "Module.b.Norm.forward.0 2 2"), lines("Module.b.TELinear.forward.0 2 2", "Module.a.TENorm.forward.0 2 2"), "Module.b.TELinear.forward.0=Module.b.Norm.forward.0 Module.a.TENorm.forward.0=Module.a.Linear.forward.0"},
	} {
		ref, npu := modulesOf(t, test.ref...), modulesOf(t, test.npu...)
		for _, places := range []bool{true, false} {
			calls := NewCalls(ref, npu, CallOptions{Places: places})
			tensors := func(r *dumpdir.Round, npu bool) (all []Tensor) {
				for i, c := range r.Calls {
					l := &c.Leaves[1]
					class, _ := calls.ClassesAtPlace(c.API, npu)
					all = append(all, Tensor{ID: i, FileOp: c.API, Kind: tensor.Output, Call: calls.Key(c.API, l, npu), AtPlace: class != "", Shape: l.Tensor.Shape})
				}
				return all
			}
			var got []string
			for _, p := range Match(tensors(ref, false), tensors(npu, true), Options{Calls: calls}).Pairs {
				if pair := npu.Calls[p.NPU].API + "=" + ref.Calls[p.Ref].API; places || p.Rule != RuleCall {
					got = append(got, pair)
				}
			}
			want := strings.Fields(test.want)
			if !places {
				want = nil
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, places %v: %s", name, places, diff)
			}
		}
	}
}
