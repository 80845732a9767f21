package diagnose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/record"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// rowWith returns a float16 row whose error is a share of its reference.
func rowWith(name string, reference []float64, share float64) testRow {
	half, _ := noise.TypeOf(tensor.Float16)
	shape := tensor.Shape{16, int64(len(reference) / 16)}
	npu := make([]float64, len(reference))
	r := make([]float64, len(reference))
	for i, x := range reference {
		r[i] = float64(float32(x))
		npu[i] = r[i] * (1 + share*math.Cos(float64(i*i)))
	}
	c := noise.NewCollector(&noise.Request{Shape: shape, Type: half, Mask: math.Inf(-1), Groups: 256})
	c.Add(0, npu, r)
	row := good(name)
	row.Noise = c.Finish(func(func(float64, int64) bool) {})
	return row
}

// TestFeed: without a graph the inputs of an operator are found by the values of the references;
// of several candidates the ones with the largest errors count.
func TestFeed(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	draw := func() []float64 {
		values := make([]float64, 16*20)
		for i := range values {
			values[i] = float64(float32(random.NormFloat64()))
		}
		return values
	}
	of := func(f func(x, y float64) float64, x, y []float64) []float64 {
		out := make([]float64, len(x))
		for i := range x {
			out[i] = f(x[i], y[i])
		}
		return out
	}
	x, y, z := draw(), draw(), draw()
	sum := of(func(a, b float64) float64 { return a + b }, x, z)
	relu := of(func(a, _ float64) float64 { return max(a, 0) }, x, x)
	twice := of(func(a, _ float64) float64 { return 2 * a }, x, x)
	for _, tt := range []struct {
		name string
		rows []testRow
		want string // of the last one
	}{
		{"Relu", []testRow{rowWith("x", x, 1e-4), rowWith("y", y, 1e-4), rowWith("z", z, 1e-4), rowWith("relu", relu, 1e-4)}, "x lipschitz"},
		{"Add", []testRow{rowWith("x", x, 1e-4), rowWith("y", y, 1e-4), rowWith("z", z, 1e-4), rowWith("sum", sum, 1e-4)}, "z x lipschitz"},
		{"the worst of two", []testRow{rowWith("x", x, 3e-4), rowWith("again", x, 1e-4), rowWith("relu", relu, 1e-4)}, "x lipschitz"},
		{"computed again", []testRow{rowWith("x", x, 1e-4), rowWith("y", y, 1e-4), rowWith("again", x, 1e-4)}, ""},
		{"a factor that may be a tensor", []testRow{rowWith("x", x, 1e-4), rowWith("y", y, 1e-4), rowWith("twice", twice, 1e-4)}, ""},
		{"nothing of it", []testRow{rowWith("y", y, 1e-4), rowWith("z", z, 1e-4), rowWith("relu", relu, 1e-4)}, ""},
	} {
		j := Judge(inOrder(tt.rows...), Network{IsOrdered: true})
		last := j.judgedOutputs[len(j.judgedOutputs)-1]
		j.judgedOutputs = j.judgedOutputs[:len(j.judgedOutputs)-1]
		got := ""
		if inputs, op, found := j.inferInputs(last); found {
			for _, in := range inputs {
				got += in.source.Op + " "
			}
			got += op.Class.String()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	// A damaged Relu: its input is known, and the excess error is not damage passed on.
	rows := inOrder(rowWith("x", x, 1e-4), rowWith("y", y, 0.01), rowWith("relu", relu, 3e-3))
	j := Judge(rows, Network{IsOrdered: true})
	if !slices.Equal(j.Origins(), []int{2}) {
		t.Fatalf("origins %v, want the last one", j.Origins())
	}
	if text := fmt.Sprint(j.evidence[2].inputsText()); !strings.Contains(text, "by their values") || !strings.Contains(text, "x") {
		t.Errorf("made of %q", text)
	}
	// With a graph the operator is identified by the values of its known inputs.
	known := Network{IsOrdered: true, Graph: record.Flow{"x": nil, "y": nil, "relu": {{Op: "x", Output: -1}}}}
	if j := Judge(rows, known); !slices.Equal(j.Origins(), []int{2}) || j.evidence[2].verdict.Class != optype.Lipschitz {
		t.Errorf("origins %v, the class is %s, want %s", j.Origins(), j.evidence[2].verdict.Class, optype.Lipschitz)
	}
	known.Graph["relu"] = []record.Source{{Op: "y", Output: -1}}
	rows = inOrder(rowWith("x", x, 1e-4), rowWith("y", y, 1e-4), rowWith("relu", relu, 3e-3))
	if j := Judge(rows, known); j.evidence[2].verdict.Class != optype.Unknown {
		t.Errorf("of another input the class is %s, want %s", j.evidence[2].verdict.Class, optype.Unknown)
	}
}
