package check

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/finding"
	"dumptool/internal/graph"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// floats is a tensor of float32.
func floats(values ...float32) dumptest.TensorContent {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return dumptest.TensorContent{Payload: dumptest.Bytes(data), StoredDType: int32(tensor.Float32),
		StoredFormat: tensor.FormatWord(tensor.ND), Shape: []uint64{uint64(len(values))}}
}

// dump writes the dump of an operator and returns its path.
func dump(t *testing.T, dir, typ, name string, at int, inputs, outputs []dumptest.TensorContent) string {
	t.Helper()
	path := filepath.Join(dir, fmt.Sprintf("%s.%s.%d.1.%d", typ, name, at, 1700000000000000+at))
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := dumptest.Write(f, &dumptest.Content{Container: dumpfmt.BinaryV2, OpName: name, Inputs: inputs, Outputs: outputs}); err != nil {
		t.Fatal(err)
	}
	return path
}

// feeds is a graph in which abs feeds neg.
const feeds = `{"name": "g", "graph": [{"name": "g", "op": [
	{"name": "data", "type": "Data", "output_desc": [{}]},
	{"name": "abs", "type": "Abs", "input": ["data:0"]},
	{"name": "neg", "type": "Neg", "input": ["abs:0"]}]}]}`

// checkedBy checks a folder with a graph.
func checkedBy(t *testing.T, text, dir string) map[string]*Operator {
	t.Helper()
	g, err := graph.ReadFusionAttributes(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	run, err := dumpdir.Open(context.Background(), []string{dir}, dumpdir.Options{NoRaw: true, Graphs: true, Attributes: true, Sources: dumpdir.Sources{Fusion: g}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), run, Options{Seed: 1, Graph: true})
	if err != nil || len(r.Problems) > 0 {
		t.Fatal(err, r.Problems)
	}
	all := map[string]*Operator{}
	for i := range r.Operators {
		all[r.Operators[i].Op] = &r.Operators[i]
	}
	return all
}

// ramp returns n numbers, none of them zero.
func ramp(n int, factor float32) (all []float32) {
	for i := range n {
		all = append(all, factor*(float32(i)+.5))
	}
	return all
}

// TestInputChanged: an input that differs from its producer's output proves no fault, in whole or in part. A fault
// with unchanged inputs does.
func TestInputChanged(t *testing.T) {
	t.Parallel()
	one := func(v []float32) []dumptest.TensorContent { return []dumptest.TensorContent{floats(v...)} }
	const n = 64
	x := ramp(n, 1)
	part := slices.Clone(x)
	copy(part[48:], ramp(16, -7)) // overwritten by another operator
	wrong := ramp(n, -1)
	wrong[3], wrong[60] = 100, 100
	for _, c := range []struct {
		name           string
		written, input []float32
		output         []float32
		want           recompute.Status
		reason         recompute.Reason
	}{
		{"sound", x, x, ramp(n, -1), recompute.OK, ""},
		{"a fault", x, x, wrong, recompute.Wrong, recompute.ByCalcError},
		{"overwritten", x, ramp(n, 3), ramp(n, -1), recompute.Undecided, recompute.InputChanged},
		{"overwritten in part", x, part, ramp(n, -1), recompute.Undecided, recompute.InputChanged},
		{"overwritten in part, and a fault", x, part, wrong, recompute.Wrong, ""},
		{"right with what was dumped", ramp(n, 5), x, ramp(n, -1), recompute.OK, ""},
	} {
		dir := t.TempDir()
		dump(t, dir, "Abs", "abs", 1, one(c.written), one(c.written))
		dump(t, dir, "Neg", "neg", 2, one(c.input), one(c.output))
		o := checkedBy(t, feeds, dir)["neg"]
		if o == nil || o.Status != c.want || c.reason != "" && o.Reason != c.reason {
			t.Errorf("%s: %+v, want %s %s", c.name, o, c.want, c.reason)
			continue
		}
		if named := strings.Contains(o.Evidence.String(), "input 0 differs from the output of abs"); named != (c.want == recompute.Undecided) {
			t.Errorf("%s: says %q", c.name, o.Evidence)
		}
	}
}

// TestInPlace: an output in the memory of its input overwrites the input.
func TestInPlace(t *testing.T) {
	t.Parallel()
	for apart, want := range map[uint64]recompute.Reason{0: recompute.InPlace, 128: recompute.InPlace, 256: recompute.ByCalcError} {
		dir := t.TempDir()
		in, out := floats(ramp(64, -1)...), floats(ramp(64, -1)...)
		in.Address, out.Address = 4096, 4096+apart
		dump(t, dir, "Neg", "neg", 1, []dumptest.TensorContent{in}, []dumptest.TensorContent{out})
		o := &checked(t, Options{}, dir).Operators[0]
		if undecided := o.Status == recompute.Undecided; undecided != (want == recompute.InPlace) || undecided && o.Reason != want {
			t.Errorf("%d bytes apart: %s %s, want %s", apart, o.Status, o.Reason, want)
		}
	}
}

// TestInputOfProducer: outputs of producers substitute missing inputs, all of them or none, with medium confidence.
func TestInputOfProducer(t *testing.T) {
	t.Parallel()
	const n = 64
	x, y := floats(ramp(n, 1)...), floats(ramp(n, -1)...)
	dir := t.TempDir()
	fresh := func(c dumptest.TensorContent, v []float32) []dumptest.TensorContent {
		c.Payload = floats(v...).Payload
		return []dumptest.TensorContent{c}
	}
	wrong := ramp(n, -1)
	wrong[5] = 9
	dump(t, dir, "Abs", "abs", 1, fresh(x, ramp(n, 1)), fresh(x, ramp(n, 1)))
	dump(t, dir, "Neg", "neg", 2, nil, fresh(y, ramp(n, -1)))
	dump(t, dir, "Neg", "bad", 3, nil, fresh(y, wrong))
	dump(t, dir, "Add", "add", 4, nil, fresh(y, ramp(n, 2)))
	dump(t, dir, "Add", "weighted", 5, nil, fresh(y, ramp(n, 2)))
	all := checkedBy(t, `{"name": "g", "graph": [{"name": "g", "op": [
		{"name": "abs", "type": "Abs", "input": ["data:0"]},
		{"name": "neg", "type": "Neg", "input": ["abs:0"]},
		{"name": "bad", "type": "Neg", "input": ["abs:0"]},
		{"name": "add", "type": "Add", "input": ["abs:0", "abs:0"]},
		{"name": "weighted", "type": "Add", "input": ["abs:0", "weight:0"]}]}]}`, dir)
	for name, want := range map[string]recompute.Status{"neg": recompute.OK, "bad": recompute.Wrong, "add": recompute.OK, "weighted": recompute.Undecided} {
		o := all[name]
		if o == nil || o.Status != want {
			t.Errorf("%s: %+v, want %s", name, o, want)
			continue
		}
		if want == recompute.Undecided {
			if o.Reason != recompute.NoInputs || len(o.Inputs) > 0 {
				t.Errorf("%s: %s with %d inputs", name, o.Reason, len(o.Inputs))
			}
			continue
		}
		if o.Confidence != finding.Medium || !slices.Contains(o.Notes, recompute.StandIn) || o.Inputs[0].From != "abs" {
			t.Errorf("%s: %s, notes %v, from %q", name, o.Confidence, o.Notes, o.Inputs[0].From)
		}
	}
}
