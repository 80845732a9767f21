package plan

import (
	"testing"

	"dumptool/internal/compare/record"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestOperatorsByModule: a call is inside the modules that construct.json names, also if construct.json gives a module
// no parent. Without construct.json there are no modules.
func TestOperatorsByModule(t *testing.T) {
	rows := []record.Row{
		{Op: "linear", Modules: []string{"fc", "net"}},
		{Op: "linear", Modules: []string{"fc", "net"}},
		{Op: "all_reduce", Modules: []string{"fc"}},
		{Op: "fc"},
		{Op: "other"},
		{Op: "norm of the reference", NPUOp: "norm"},
		{Op: "mul", Modules: []string{"norm"}},
	}
	want := map[string][]string{"fc": {"linear", "all_reduce"}, "norm of the reference": {"mul"}}
	if diff := gocmp.Diff(want, OperatorsByModule(rows)); diff != "" {
		t.Error(diff)
	}
	if got := OperatorsByModule([]record.Row{{Op: "fc"}, {Op: "linear", Script: "net.py:3"}}); got != nil {
		t.Errorf("without construct.json: %v", got)
	}
}
