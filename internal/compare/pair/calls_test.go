package pair

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"dumptool/internal/dumpdir"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// roundOf is a round with calls of these names, each with one output.
func roundOf(framework string, apis ...string) *dumpdir.Round {
	r := &dumpdir.Round{Header: msprobe.Header{Framework: framework}}
	for _, api := range apis {
		leaf := msprobe.Leaf{Name: api + ".output.0", Kind: tensor.Output, Path: "0"}
		r.Calls = append(r.Calls, &dumpdir.Call{Entry: msprobe.Entry{API: api, Leaves: []msprobe.Leaf{leaf}}})
	}
	return r
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
	} {
		var nameMap *sidefile.NameMap
		if test.nameMap != "" {
			var err error
			if nameMap, err = sidefile.ParseNameMap(test.nameMap); err != nil {
				t.Fatal(err)
			}
		}
		calls := NewCalls(test.ref, test.npu, nameMap, test.fuzzy)
		tensors := func(r *dumpdir.Round, npu bool) (all []Tensor) {
			for i, c := range r.Calls {
				all = append(all, Tensor{ID: i, FileOp: c.API, Kind: tensor.Output, Call: calls.Key(c.API, &c.Leaves[0], npu)})
			}
			return all
		}
		res := Match(tensors(test.ref, false), tensors(test.npu, true), Options{Calls: true, Map: nameMap})
		var got []string
		for _, p := range res.Pairs {
			got = append(got, test.npu.Calls[p.NPU].API+"="+test.ref.Calls[p.Ref].API)
		}
		slices.Sort(got)
		want := strings.Fields(test.want)
		slices.Sort(want)
		if diff := gocmp.Diff(want, got); diff != "" || len(res.Ambiguous) > 0 {
			t.Errorf("%s: %s, ambiguous %v", test.name, diff, res.Ambiguous)
		}
		if len(res.Pairs)+len(res.UnmatchedNPU) != len(test.npu.Calls) || len(res.Pairs)+len(res.UnmatchedRef) != len(test.ref.Calls) {
			t.Errorf("%s: unmatched %v %v", test.name, res.UnmatchedRef, res.UnmatchedNPU)
		}
	}
	if NewCalls(roundOf("pytorch"), roundOf("pytorch", relu0f), nil, true) != nil || NewCalls(nil, roundOf("pytorch", relu0f), nil, true) != nil {
		t.Error("calls of one side only")
	}
}
