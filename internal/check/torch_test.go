package check

import (
	"cmp"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/recompute"
)

var update = flag.Bool("update", false, "write testdata/torch/formulas.txt")

// torchTrees are calls that PyTorch 1.13 computed, written by gen.py in their folder with seed 1: healthy calls, and
// the same calls with a damaged part of their output.
var torchTrees = []struct {
	folder, tree string
	calls        int // at least
	want         []recompute.Status
	isJudged     func(op string) bool
}{
	{"torch", "clean", 200, []recompute.Status{recompute.OK}, func(string) bool { return true }},
	{"torch", "part", 200, []recompute.Status{recompute.Wrong, recompute.Misfit}, func(string) bool { return true }},
	{"special", "clean", 700, []recompute.Status{recompute.OK}, func(string) bool { return true }},
	{"special", "part", 300, []recompute.Status{recompute.Wrong, recompute.Misfit}, func(string) bool { return true }},
	{"backward", "clean", 300, []recompute.Status{recompute.OK}, isOfTraining},
	{"backward", "part", 300, []recompute.Status{recompute.Wrong, recompute.Misfit}, isOfTraining},
}

func isBackwardName(op string) bool { return strings.Contains(op, ".backward") }

// isOfTraining reports whether an operator is a backward call or a step of an optimiser.
func isOfTraining(op string) bool { return isBackwardName(op) || strings.Contains(op, "_apply_") }

// TestTorchCalls: healthy calls of PyTorch are right, and damaged calls are not. formulas.txt lists the formulas that
// these calls test.
func TestTorchCalls(t *testing.T) {
	t.Parallel()
	formulas := map[string]bool{}
	for _, c := range torchTrees {
		r := checked(t, Options{}, filepath.Join(dumptest.Untar(t, filepath.Join("testdata", c.folder, c.tree+".tar.gz")), c.tree))
		if len(r.Operators) < c.calls || len(r.Problems) > 0 {
			t.Fatalf("%s/%s: %d calls, problems %v", c.folder, c.tree, len(r.Operators), r.Problems)
		}
		for i := range r.Operators {
			o := &r.Operators[i]
			if c.isJudged(o.Op) && !slices.Contains(c.want, o.Status) {
				t.Errorf("%s/%s: %s is %s %s", c.folder, c.tree, o.Op, o.Status, o.Reason)
			}
			for _, out := range o.Outputs {
				if isBackwardName(o.Op) && out.Checked == 0 {
					t.Errorf("%s/%s: gradient %d of %s was not computed again", c.folder, c.tree, out.Index, o.Op)
				}
			}
			maps.Copy(formulas, formulasOf(o.Op))
		}
	}
	list := strings.Join(slices.Sorted(maps.Keys(formulas)), "\n") + "\n"
	const path = "testdata/torch/formulas.txt"
	if *update {
		if err := os.WriteFile(path, []byte(list), 0o644); err != nil { //nolint:gosec // a file of the project
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != list {
		t.Errorf("%s is another (-update writes it): %v", path, err)
	}
}

// TestCallsByNames: without dump.json no healthy call is WRONG and at most 5 % are MISFITs, and no damaged call is
// right. Slices and numbers that were not dumped are found from the values.
func TestCallsByNames(t *testing.T) {
	t.Parallel()
	found := strings.Fields("Tensor.__getitem__.0.forward Tensor.__getitem__.1.forward Torch.narrow.0.forward Tensor.narrow.0.forward Tensor.select.0.forward Tensor.__sub__.0.forward Tensor.__mul__.0.forward")
	for tree, never := range map[string][]recompute.Status{"clean": {recompute.Wrong}, "part": {recompute.OK, recompute.Low}} {
		r := checked(t, Options{}, filepath.Join(dumptest.Untar(t, filepath.Join("testdata", "torch", tree+".tar.gz")), tree, "step0", "rank0", "dump_tensor_data"))
		if len(r.Operators) < 200 || len(r.Problems) > 0 {
			t.Fatalf("%s: %d calls, problems %v", tree, len(r.Operators), r.Problems)
		}
		judged, misfits := 0, 0
		for i := range r.Operators {
			o := &r.Operators[i]
			if slices.Contains(never, o.Status) || tree == "clean" && slices.Contains(found, o.Op) && o.Status != recompute.OK {
				t.Errorf("%s: %s is %s %s %v", tree, o.Op, o.Status, o.Reason, o.Attributes)
			}
			if o.Status != recompute.Undecided {
				judged++
			}
			if o.Status == recompute.Misfit {
				misfits++
			}
		}
		if n := len(r.Operators); 10*judged < 8*n || tree == "clean" && 20*misfits > n {
			t.Errorf("%s: of %d calls %d are judged, %d MISFITs", tree, n, judged, misfits)
		}
	}
}

// TestFusedCalls: fused calls of torch_npu whose values follow from their documentation (testdata/fused/gen.py) are
// right. The same calls with a block of zeros, shifted rows or another scale are not right. Without the arguments of
// the calls nothing is WRONG.
func TestFusedCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tree, part string
		want       []recompute.Status
	}{
		{"clean", "", []recompute.Status{recompute.OK}},
		{"faulty", "", []recompute.Status{recompute.Wrong, recompute.Misfit}},
		{"clean", filepath.Join("step0", "rank0", "dump_tensor_data"), []recompute.Status{recompute.OK, recompute.Low, recompute.Misfit, recompute.Undecided}},
	} {
		r := checked(t, Options{}, filepath.Join(dumptest.Untar(t, filepath.Join("testdata", "fused", c.tree+".tar.gz")), c.tree, c.part))
		if len(r.Operators) < 150 || len(r.Problems) > 0 {
			t.Fatalf("%s: %d calls, problems %v", c.tree, len(r.Operators), r.Problems)
		}
		for i := range r.Operators {
			if o := &r.Operators[i]; !slices.Contains(c.want, o.Status) {
				t.Errorf("%s/%s: %s is %s %s", c.tree, c.part, o.Op, o.Status, o.Reason)
			}
		}
	}
}

// formulasOf returns the formulas that a call of PyTorch may have.
func formulasOf(op string) map[string]bool {
	all := map[string]bool{}
	_, rows := recompute.CallsOf(msprobe.ParseName(op).InDirection(msprobe.Forward), "pytorch")
	for _, row := range rows {
		if !isBackwardName(op) {
			all[row.Formula] = true
			continue
		}
		for _, a := range row.Arguments {
			if g, ok := recompute.GradientOf(row.Formula, a.Name); ok {
				all[cmp.Or(g.Formula, "MoveGrad")] = true
			}
		}
	}
	return all
}
