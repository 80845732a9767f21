package check

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/recompute"
)

var update = flag.Bool("update", false, "write testdata/torch/formulas.txt")

// TestTorchCalls: calls that PyTorch 1.13 computed (testdata/torch/gen.py with seed 1) are right, and the
// same calls with a damaged part of their output are not. formulas.txt lists the formulas of the calls,
// which need no case by hand.
func TestTorchCalls(t *testing.T) {
	t.Parallel()
	formulas := map[string]bool{}
	for tree, want := range map[string][]recompute.Status{"clean": {recompute.OK}, "part": {recompute.Wrong, recompute.Misfit}} {
		r := checked(t, Options{}, filepath.Join(dumptest.Untar(t, filepath.Join("testdata", "torch", tree+".tar.gz")), tree))
		if len(r.Operators) < 200 || len(r.Problems) > 0 {
			t.Fatalf("%s: %d calls, problems %v", tree, len(r.Operators), r.Problems)
		}
		for i := range r.Operators {
			o := &r.Operators[i]
			if !slices.Contains(want, o.Status) {
				t.Errorf("%s: %s is %s %s", tree, o.Op, o.Status, o.Reason)
			}
			_, rows := recompute.CallsOf(o.Op, "pytorch")
			for _, row := range rows {
				formulas[row.Formula] = true
			}
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

// TestFusedCalls: calls of fused functions of torch_npu whose values follow from their documents
// (testdata/fused/gen.py) are right, the same calls with a block of zeros, shifted rows or another scale are not,
// and nothing is WRONG without the arguments of the calls.
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
