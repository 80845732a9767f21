package check

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/recompute"
)

// TestBackwardWithoutForward: an UNDECIDED backward call names the missing forward call, tensor, or
// dump.json.
func TestBackwardWithoutForward(t *testing.T) {
	t.Parallel()
	const relu, linear = "Functional.relu.0.backward", "Functional.linear.0.backward"
	for _, c := range []struct {
		name, without string // prefix of files to delete
		old, other    string // replacement in dump.json
		op            string
		status        recompute.Status
		reason        recompute.Reason
		says          string
	}{
		{name: "whole", op: relu, status: recompute.OK},
		{name: "no forward", old: `"Functional.relu.0.forward"`, other: `"Functional.prelu.0.forward"`, op: relu, status: recompute.Undecided, reason: recompute.NoInputs, says: "no forward call"},
		{name: "no input", without: "Functional.relu.0.forward.input.0", op: relu, status: recompute.Undecided, reason: recompute.NoInputs, says: "Functional.relu.0.forward.input.0 was not dumped"},
		{name: "one gradient", without: "Functional.linear.0.forward.input.1", op: linear, status: recompute.Undecided, reason: recompute.NoInputs, says: "Functional.linear.0.forward.input.1 was not dumped"},
		{name: "names only", without: "dump.json", op: linear, status: recompute.OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(dumptest.Untar(t, filepath.Join("testdata", "backward", "clean.tar.gz")), "clean", "step0", "rank0")
			list := filepath.Join(root, "dump.json")
			text, err := os.ReadFile(list)
			if err != nil {
				t.Fatal(err)
			}
			if c.old != "" {
				text = bytes.ReplaceAll(text, []byte(c.old), []byte(c.other))
			}
			if err := os.WriteFile(list, text, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, dir := range []string{root, filepath.Join(root, "dump_tensor_data")} {
				files, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range files {
					if c.without != "" && strings.HasPrefix(f.Name(), c.without) {
						if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			r := checked(t, Options{}, root)
			for i := range r.Operators {
				o := &r.Operators[i]
				if o.Op != c.op {
					continue
				}
				if o.Status != c.status || o.Reason != c.reason || !strings.Contains(o.Evidence.String(), c.says) {
					t.Errorf("%s is %s %s %q", o.Op, o.Status, o.Reason, o.Evidence)
				}
				return
			}
			t.Errorf("%s is not there", c.op)
		})
	}
}
