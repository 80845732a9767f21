package compare

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/plan"
	"dumptool/internal/dumpdir"
	"dumptool/internal/tensor"
)

// TestBaselineOfPart updates a baseline by runs over a part of the tensors.
func TestBaselineOfPart(t *testing.T) {
	dir := t.TempDir()
	ref, npu := filepath.Join(dir, "ref"), filepath.Join(dir, "npu")
	for _, op := range []string{"a", "b", "c", "d"} {
		write(t, filepath.Join(ref, op+".npy"), array(tensor.Float32, tensor.Shape{2}, 1, 2))
		for _, round := range []string{"0", "1"} {
			write(t, filepath.Join(npu, round, op+".npy"), array(tensor.Float32, tensor.Shape{2}, 1, 9))
		}
	}
	opt := exactly(ref, npu)
	opt.OrderBy = dumpdir.ByName
	full := conclude.NewBaseline(runAll(t, opt))
	if len(full.Rows) != 8 {
		t.Fatalf("%d entries, want 8", len(full.Rows))
	}
	set := func(names ...string) *dumpdir.NameSet {
		s, err := dumpdir.NewNameSet(names)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, change := range map[string]func(*plan.PairOptions){
		"ops":       func(o *plan.PairOptions) { o.Ops = set("b") },
		"skip keys": func(o *plan.PairOptions) { o.SkipKeys = []string{"c"} },
		"excluded":  func(o *plan.PairOptions) { o.Exclude = set("a", "d") },
		"round":     func(o *plan.PairOptions) { o.Rounds.First = true },
		"both":      func(o *plan.PairOptions) { o.Rounds.Number, o.Ops = new(1), set("a") },
		"no round":  func(o *plan.PairOptions) { o.Rounds.Number = new(7) },
	} {
		part := opt
		part.Baseline, part.Slack = full, 1
		change(&part.Pair)
		plan, rep := planned(t, part)
		if b := rep.Baseline; len(b.Missing)+len(b.New)+len(b.Worse) > 0 {
			t.Errorf("%s: missing %v, new %v, worse %v", name, b.Missing, b.New, b.Worse)
		}
		if diff := cmp.Diff(full, full.Update(rep, &plan.opt.Pair)); diff != "" {
			t.Errorf("%s: updated baseline (-want +got):\n%s", name, diff)
		}
	}
	// Missing tensors are reported and dropped; unreadable tensors keep their entries.
	for _, round := range []string{"0", "1"} {
		if err := os.Remove(filepath.Join(npu, round, "b.npy")); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(npu, round, "c.npy"), []byte("broken"))
	}
	opt.Baseline, opt.Slack = full, 1
	plan, rep := planned(t, opt)
	if diff := cmp.Diff([]string{"b:output:0@0", "b:output:0@1"}, rep.Baseline.Missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	want := &conclude.Baseline{Schema: full.Schema}
	for _, e := range full.Rows {
		if e.Op != "b" {
			want.Rows = append(want.Rows, e)
		}
	}
	if diff := cmp.Diff(want, full.Update(rep, &plan.opt.Pair)); diff != "" {
		t.Errorf("updated baseline (-want +got):\n%s", diff)
	}
}
