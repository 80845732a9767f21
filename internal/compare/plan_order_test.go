package compare

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumptest"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// readOp is an operator of a small network; input "" is a weight. Missing operators are not dumped.
type readOp struct {
	name    string
	inputs  []string
	shape   tensor.Shape
	missing bool
}

// writeReads writes a run in which every operator adds its inputs. Only the NPU's dumps have inputs. The operator bad
// multiplies a quarter of its output by 1.25 on the NPU; empty for none.
func writeReads(t *testing.T, ops []readOp, bad string) (ref, npu string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 13))
	dir := t.TempDir()
	ref, npu = filepath.Join(dir, "ref"), filepath.Join(dir, "npu")
	values, shapes := map[string][2][]float64{}, map[string]tensor.Shape{}
	for i, op := range ops {
		var out [2][]float64
		var inputs []dumptest.TensorContent
		for _, from := range op.inputs {
			in, shape := values[from], shapes[from]
			if from == "" {
				w := make([]float64, op.shape.Elements())
				for k := range w {
					w[k] = rng.NormFloat64()
				}
				in, shape = [2][]float64{roundHalf(w), roundHalf(w)}, op.shape
			}
			for side := range out {
				for k, v := range in[side] {
					if len(out[side]) <= k {
						out[side] = append(out[side], 0)
					}
					out[side][k] += 0.58 * v
				}
			}
			inputs = append(inputs, dumped(tensor.Float16, tensor.ND, shape, shape, stored(tensor.Float16, in[1]...)))
		}
		if op.name == bad {
			for k := range len(out[1]) / 4 {
				out[1][k] *= 1.25
			}
		}
		out[1] = roundHalf(out[1])
		values[op.name], shapes[op.name] = out, op.shape
		if op.missing {
			continue
		}
		write(t, filepath.Join(ref, op.name+".npy"), array(tensor.Float32, op.shape, out[0]...))
		output := []dumptest.TensorContent{dumped(tensor.Float16, tensor.ND, op.shape, op.shape, stored(tensor.Float16, out[1]...))}
		write(t, filepath.Join(npu, fmt.Sprintf("Add.%s.1.2.%d", op.name, 1600000000000000+i)), dumpOf(t, op.name, inputs, output))
	}
	return ref, npu
}

// flowOf returns the producers of the inputs of each operator.
func flowOf(rep *record.Report) map[string][]string {
	flow := map[string][]string{}
	for i := range rep.Rows {
		for _, in := range rep.Rows[i].Inputs {
			flow[rep.Rows[i].Op] = append(flow[rep.Rows[i].Op], rep.Rows[in].Op)
		}
	}
	return flow
}

// TestFlowByInputsOfOneSide: if only the NPU's dumps have inputs, equal elements determine the producer of each
// input, even with different shapes. An input without a producer is a weight; after an output without a reader it may
// be the output of an operator that was not dumped.
func TestFlowByInputsOfOneSide(t *testing.T) {
	a, b := tensor.Shape{4, 6}, tensor.Shape{3, 8}
	ops := []readOp{
		{name: "first", inputs: []string{""}, shape: a}, {name: "late", inputs: []string{"first"}, shape: a},
		{name: "sum", inputs: []string{"late", ""}, shape: a}, {name: "both", inputs: []string{"sum", "first"}, shape: b},
		{name: "hidden", inputs: []string{"both"}, shape: b, missing: true}, {name: "behind", inputs: []string{"hidden", "late"}, shape: b},
		{name: "last", inputs: []string{"behind"}, shape: b},
	}
	ref, npu := writeReads(t, ops, "")
	opt := hpaa(ref, npu)
	opt.Judge.Verdict.Mode = limits.ByEvidence
	rep := runAll(t, opt)
	// No dumped operator reads "both", so an input of "behind" may be the output of an operator that was not dumped:
	// its producers are unknown.
	want := map[string][]string{"late": {"first"}, "sum": {"late"}, "both": {"sum", "first"}, "last": {"behind"}}
	if got := flowOf(rep); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the flow is %v, want %v", got, want)
	}
	if got := rep.GraphSource.String(); got != "equal tensors, 4 of 6 operators known" {
		t.Errorf("the flow is known from %q", got)
	}
	if n := len(rep.Rows); n != len(ops)-1 {
		t.Errorf("%d rows, want one of each output that was dumped: %v", n, lines(rep))
	}
	for _, flow := range []limits.FlowSource{diagnose.FlowFiles, diagnose.FlowNone} {
		opt.Judge.Verdict.Flow = flow
		rep := runAll(t, opt)
		if got := flowOf(rep); len(got) > 0 || !rep.GraphSource.IsZero() {
			t.Errorf("--flow %s: the flow is %v from %q, want none", flow, got, rep.GraphSource)
		}
		if slices.ContainsFunc(rep.Rows, func(r record.Row) bool { return r.Reads != nil }) {
			t.Errorf("--flow %s reads inputs", flow)
		}
	}
}

// TestFaultInLayer140: a fault in a network of 200 layers, with inputs dumped on the NPU, is attributed to its
// operator without a file of the data flow.
func TestFaultInLayer140(t *testing.T) {
	shape := tensor.Shape{8, 16}
	ops := []readOp{{name: "in", inputs: []string{""}, shape: shape}}
	for i := range 200 {
		x := ops[len(ops)-1].name
		branch := fmt.Sprintf("branch%d", i)
		ops = append(ops, readOp{name: branch, inputs: []string{x, ""}, shape: shape}, readOp{name: fmt.Sprintf("layer%d", i), inputs: []string{x, branch}, shape: shape})
	}
	for _, bad := range []string{"", "branch140", "layer140"} {
		ref, npu := writeReads(t, ops, bad)
		opt := hpaa(ref, npu)
		opt.Judge.Verdict.Mode = limits.ByEvidence
		rep := runAll(t, opt)
		wantOrigins(t, rep, bad)
		if got := rep.GraphSource.String(); !strings.Contains(got, "400 of 401") {
			t.Errorf("the flow is known from %q, want that of all but the first", got)
		}
	}
}

// TestFlowNotRead: an unreadable input causes only a note.
func TestFlowNotRead(t *testing.T) {
	shape := tensor.Shape{4, 6}
	ref, npu := writeReads(t, []readOp{{name: "a", inputs: []string{""}, shape: shape}, {name: "b", inputs: []string{"a"}, shape: shape}}, "")
	out := stored(tensor.Float16, make([]float64, 24)...)
	bad := dumped(tensor.DType(99), tensor.ND, shape, shape, out)
	write(t, filepath.Join(npu, "Add.b.1.2.1600000000000001"), dumpOf(t, "b", []dumptest.TensorContent{bad}, []dumptest.TensorContent{dumped(tensor.Float16, tensor.ND, shape, shape, out)}))
	opt := hpaa(ref, npu)
	opt.Judge.Verdict.Mode = limits.ByEvidence
	rep := runAll(t, opt)
	i := slices.IndexFunc(rep.Rows, func(r record.Row) bool { return r.Op == "b" })
	if row := &rep.Rows[i]; row.Result == nil || len(row.Reads) > 0 || !slices.ContainsFunc(row.Notes, func(s lang.Sentence) bool { return strings.Contains(s.String(), "its inputs are unknown") }) {
		t.Errorf("reads %v, notes %v, compared %v; want none, why, and the outputs compared", row.Reads, row.Notes, row.Result != nil)
	}
}
