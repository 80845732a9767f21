package check

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dumptool/internal/recompute"
)

// leaf writes an array, or a vector if it has no axes, as an .npy file and returns its entry in dump.json.
func leaf(t *testing.T, dir, name string, v []float32, axes ...int) string {
	t.Helper()
	if len(axes) == 0 {
		axes = []int{len(v)}
	}
	shape := strings.Trim(strings.ReplaceAll(fmt.Sprint(axes), " ", ", "), "[]")
	header := "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + ",), }"
	for len(header) < 117 {
		header += " "
	}
	data := append([]byte("\x93NUMPY\x01\x00\x76\x00"), header+"\n"...)
	sum, squares := 0.0, 0.0
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		sum, squares = sum+float64(x), squares+float64(float64(x)*float64(x))
	}
	if err := os.WriteFile(filepath.Join(dir, "dump_tensor_data", name+".npy"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	n := float64(len(v))
	return fmt.Sprintf(`{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [%s], "Max": %g, "Min": %g, "Mean": %g, "Norm": %g, "data_name": "%s.npy"}`,
		shape, slices.Max(v), slices.Min(v), sum/n, math.Sqrt(squares), name)
}

// TestInside: a module without a formula is OK if its output equals the output of a call inside, and all calls inside
// were dumped: they read only the inputs of the module, parameters, and outputs of each other.
func TestInside(t *testing.T) {
	t.Parallel()
	const module, scale, negate, norm = "Module.m.Odd.forward.0", "Torch.mul.0.forward", "Torch.neg.0.forward", "Functional.layer_norm.0.forward"
	x, ones := make([]float32, 16), slices.Repeat([]float32{1}, 16)
	for i := range x {
		x[i] = float32(i*i) - 40
	}
	mapped := func(v []float32, f func(float32) float32) []float32 {
		all := slices.Clone(v)
		for i := range all {
			all[i] = f(all[i])
		}
		return all
	}
	opposite, double := func(x float32) float32 { return -x }, func(x float32) float32 { return 2 * x }
	mean, square := float32(0), float32(0)
	for _, v := range x {
		mean += v / 16
	}
	for _, v := range x {
		square += (v - mean) * (v - mean) / 16
	}
	normal := mapped(x, func(x float32) float32 { return (x - mean) / float32(math.Sqrt(float64(square))) })
	type call struct {
		name    string
		in      [][]float32
		out     []float32
		outside bool // of the module
	}
	for name, c := range map[string]struct {
		calls []call
		out   []float32 // of the module
		want  recompute.Status
	}{
		"all calls inside": {[]call{{negate, [][]float32{x}, mapped(x, opposite), false}, {scale, [][]float32{mapped(x, opposite), x}, mapped(x, func(x float32) float32 { return -x * x }), false}},
			mapped(x, func(x float32) float32 { return -x * x }), recompute.OK},
		"a parameter of a call": {[]call{{norm, [][]float32{x, ones}, normal, false}}, normal, recompute.OK},
		"a factor from outside": {[]call{{scale, [][]float32{x, slices.Repeat([]float32{2}, 16)}, mapped(x, double), false}}, mapped(x, double), recompute.Undecided},
		"a call before the last is missing": {[]call{{negate, [][]float32{mapped(x, double)}, mapped(x, func(x float32) float32 { return -2 * x }), false}},
			mapped(x, func(x float32) float32 { return -2 * x }), recompute.Undecided},
		"a call behind the last is missing": {[]call{{negate, [][]float32{x}, mapped(x, opposite), false}}, mapped(x, func(x float32) float32 { return -2 * x }), recompute.Undecided},
		"the call is outside":               {[]call{{negate, [][]float32{x}, mapped(x, opposite), true}}, mapped(x, opposite), recompute.Undecided},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "dump_tensor_data"), 0o755); err != nil {
				t.Fatal(err)
			}
			var data, construct []string
			entry := func(name, module string, in [][]float32, out []float32) {
				var args []string
				for i, v := range in {
					args = append(args, leaf(t, dir, fmt.Sprintf("%s.input.%d", name, i), v))
				}
				if name == norm {
					args = slices.Insert(args, 1, `[{"type": "int", "value": 16}]`)
				}
				data = append(data, fmt.Sprintf(`%q: {"input_args": [%s], "input_kwargs": {}, "output": [%s]}`, name, strings.Join(args, ", "), leaf(t, dir, name+".output.0", out)))
				construct = append(construct, fmt.Sprintf(`%q: %s`, name, module))
			}
			for _, one := range c.calls {
				if one.outside {
					entry(one.name, "null", one.in, one.out)
				} else {
					entry(one.name, strconv.Quote(module), one.in, one.out)
				}
			}
			entry(module, "null", [][]float32{x}, c.out)
			for file, text := range map[string]string{
				"dump.json":      `{"task": "tensor", "level": "mix", "framework": "pytorch", "dump_data_dir": "dump_tensor_data", "data": {` + strings.Join(data, ",\n") + "}}",
				"construct.json": "{" + strings.Join(construct, ", ") + "}",
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			r := checked(t, Options{}, dir)
			i := slices.IndexFunc(r.Operators, func(o Operator) bool { return o.Op == module })
			if i < 0 || len(r.Problems) > 0 {
				t.Fatalf("%+v, problems %v", r.Operators, r.Problems)
			}
			if o := &r.Operators[i]; o.Status != c.want || slices.Contains(o.Notes, recompute.OfInnerCalls) != (c.want == recompute.OK) {
				t.Errorf("%s %s %v, want %s", o.Status, o.Reason, o.Notes, c.want)
			}
			for i := range r.Operators { // the test writes right results
				if o := &r.Operators[i]; o.Op != module && o.Status != recompute.OK {
					t.Errorf("%s: %s %s", o.Op, o.Status, o.Evidence)
				}
			}
		})
	}
}
