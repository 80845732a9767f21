package diagnose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// normalize is a batch norm: every column gets a mean of 0 and a deviation of 1. It amplifies
// rounding if the mean is far larger than the deviation.
func normalize(width int) func([][]float64) []float64 {
	return func(inputs [][]float64) []float64 {
		x := inputs[0]
		out := make([]float64, len(x))
		n := float64(len(x) / width)
		for c := range width {
			var mean, squares float64
			for i := c; i < len(x); i += width {
				mean += x[i] / n
			}
			for i := c; i < len(x); i += width {
				squares += (x[i] - mean) * (x[i] - mean) / n
			}
			for i := c; i < len(x); i += width {
				out[i] = (x[i] - mean) / math.Sqrt(squares+1e-5)
			}
		}
		return out
	}
}

// softmax over rows of the last axis.
func softmax(width int, scale float64) func([][]float64) []float64 {
	return func(inputs [][]float64) []float64 {
		out := make([]float64, len(inputs[0]))
		for row := 0; row < len(out); row += width {
			highest, sum := math.Inf(-1), 0.0
			for _, v := range inputs[0][row : row+width] {
				highest = math.Max(highest, scale*v)
			}
			for i, v := range inputs[0][row : row+width] {
				out[row+i] = math.Exp(scale*v - highest)
				sum += out[row+i]
			}
			for i := row; i < row+width; i++ {
				out[i] /= sum
			}
		}
		return out
	}
}

// shiftedBy adds a constant to every column at the end of an operator, in proportion to its
// output in the reference run.
func shiftedBy(rng *rand.Rand, width int, std float64, apply func([][]float64) []float64) func([][]float64) []float64 {
	bias := normal(rng, width, std, 0)
	scaled := false
	return func(inputs [][]float64) []float64 {
		out := apply(inputs)
		if !scaled {
			size := rms(out)
			for c := range bias {
				bias[c] *= size
			}
			scaled = true
		}
		for i := range out {
			out[i] += bias[i%width]
		}
		return out
	}
}

// deepNet returns a typical chain: products, convolutions, norms, activations, residuals and
// softmax.
func deepNet(rng *rand.Rand, shape tensor.Shape, length int, bias float64) []layer {
	width := int(shape[len(shape)-1])
	net := []layer{{name: "input"}}
	flat := false // after a softmax: a norm would amplify without bound
	for i := 1; i < length; i++ {
		l := layer{name: fmt.Sprintf("op%d", i), inputs: []int{i - 1}}
		kind := rng.IntN(9)
		switch {
		case kind < 3:
			l.apply, l.sums = shiftedBy(rng, width, bias, matmul(rng, width)), true
		case kind == 3:
			l.apply, l.sums = convolve(rng), true
		case kind == 4 && !flat:
			l.apply, l.sums = normalize(width), true
		case kind == 5 && i > 2:
			l.inputs, l.apply = []int{i - 1, rng.IntN(i - 1)}, add
		case kind == 6 && !flat && i > length/2:
			l.apply, flat = softmax(width, 1), true
		default:
			l.apply = relu
		}
		net = append(net, l)
	}
	return net
}

// injected are faults that hardware and compilers cause.
func injected() []fault {
	return []fault{
		{name: "a zeroed tile", values: func(s *goodPair) []float64 {
			out := slices.Clone(s.npu)
			width := int(s.shape[1])
			for row := len(out) / width / 4; row < len(out)/width/2; row++ {
				clear(out[row*width+width/2 : (row+1)*width])
			}
			return out
		}},
		{name: "zero output", code: finding.ZeroOutput, values: elementwise(func(float64) float64 { return 0 })},
		{name: "half scale", code: finding.Scale, values: elementwise(func(v float64) float64 { return v / 2 })},
		{name: "NaN", code: finding.NPUNaN, values: func(s *goodPair) []float64 {
			out := slices.Clone(s.npu)
			for range 5 {
				out[s.rng.IntN(len(out))] = math.NaN()
			}
			return out
		}},
		{name: "saturation", values: func(s *goodPair) []float64 {
			most := 0.6 * rms(s.ref)
			return clip(s.npu, -most, most)
		}},
		{name: "wrong layout", values: ordered(1, 0)},
		{name: "stale buffer", code: finding.Duplicate, values: func(s *goodPair) []float64 {
			return s.earlier[max(0, len(s.earlier)-2)]
		}},
		{name: "bias", code: finding.Offset, values: func(s *goodPair) []float64 {
			out, bias := slices.Clone(s.npu), 0.5*rms(s.ref)
			for i := range out {
				out[i] += bias
			}
			return out
		}},
		{name: "shifted", code: finding.Shift, values: moved(func(_ *goodPair, i int) int { return i + 1 })},
	}
}

// TestOrigin injects one fault into deep networks, in which some good operators fail by
// accumulated rounding: the injected operator is the first bad one, and its inputs do not
// explain it.
func TestOrigin(t *testing.T) {
	const nets = 63 / min(calibration, 3) // the same number for each fault
	engines := newComparer()
	judged, noisy, missed := 0, 0, 0
	for seed := range uint64(nets) {
		rng := rand.New(rand.NewPCG(seed, 11))
		r := deepRun(rng, seed, tensor.Float16)
		f, at := injected()[seed%9], 2+rng.IntN(len(r.layers)-2)
		ops := r.rows(t, engines, rng, &f, at)
		if ops[at].Status != record.Fail {
			continue // the fault is within the limits
		}
		judged++
		if slices.ContainsFunc(ops[:at], func(op testRow) bool { return op.Status == record.Fail }) {
			noisy++
		}
		for _, graph := range []record.Flow{nil, r.graph()} {
			v := conclude(ops, graph)
			name := fmt.Sprintf("net %d, %s in op%d, graph %t", seed, f.name, at, graph != nil)
			if v.FirstBad != at {
				missed++
				t.Logf("%s: first bad is %d: %v", name, v.FirstBad, v.rows[v.FirstBad].findings)
			}
			got := v.rows[at].findings
			if finding.Has(got, finding.LayerInputBad) || finding.Has(got, finding.Accumulated) || f.code != "" && got[0].Code != f.code && got[0].Code != finding.CalcError {
				t.Errorf("%s: %v, want %s", name, got, f.code)
			}
		}
	}
	t.Logf("%d nets, %d of them with failing rows before the fault: missed %d of %d", judged, noisy, missed, 2*judged)
	if noisy < nets/4 {
		t.Errorf("only %d nets have failing rows before the fault: the test shows little", noisy)
	}
	if missed*50 > 2*judged {
		t.Errorf("missed %d of %d, more than 2 %%", missed, 2*judged)
	}
}

// deepRun returns a deep network and its input.
func deepRun(rng *rand.Rand, seed uint64, d tensor.DType) run {
	shape := tensor.Shape{48, 32}
	r := run{
		shape: shape, npu: d, limits: metrics.Limits{Atol: 0.005, Rtol: 0.2}, sloppy: []float64{0.001, 0.003, 0.004}[seed/9%3],
		data: normal(rng, count(shape), []float64{1, 3}[seed%2], 0.2),
	}
	for i, v := range r.data {
		r.data[i] = round16(v)
	}
	r.layers = deepNet(rng, shape, 10+rng.IntN(15), 0.5)
	return r
}

// TestCleanDeepNets: there is only rounding, amplified by norms. Means are up to a few hundred
// times the deviations.
func TestCleanDeepNets(t *testing.T) {
	engines := newComparer()
	failing, large, codes := 0, 0, map[finding.Code]int{}
	judge := func(name string, r run, rng *rand.Rand) {
		ops := r.rows(t, engines, rng, nil, 0)
		for _, graph := range []record.Flow{nil, r.graph()} {
			for i, op := range conclude(ops, graph).rows {
				if ops[i].Status != record.Fail {
					continue
				}
				failing++
				if m := ops[i].Result.MeanRel; m.IsDefined() && m.Value() > badMeanRel {
					large++
				}
				codes[op.findings[0].Code]++
				if finding.Has(op.findings, finding.CalcError) {
					t.Errorf("%s, %s: %v", name, ops[i].Op, op.findings)
				}
			}
		}
	}
	const nets uint64 = 100 / min(calibration, 4)
	for seed := range nets {
		d := []tensor.DType{tensor.Float16, tensor.BFloat16}[seed%2]
		rng := rand.New(rand.NewPCG(seed, 12))
		r := deepRun(rng, seed, d)
		if seed%4 > 1 {
			r.sloppy = 0
		}
		if seed%3 == 0 {
			r.layers = normChain(rng, r.shape, d)
		}
		judge(fmt.Sprintf("net %d of %s", seed, d), r, rng)
	}
	t.Logf("%d failing rows, %d with a mean relative error beyond 1; first codes %v", failing, large, codes)
	if large < 10 {
		t.Errorf("only %d rows have a mean relative error beyond 1: the test shows little", large)
	}
}

// normChain is a chain of products and norms whose columns have means much larger than their
// deviations.
func normChain(rng *rand.Rand, shape tensor.Shape, d tensor.DType) []layer {
	width := int(shape[len(shape)-1])
	net := []layer{{name: "input"}}
	mean := 20.0
	if d == tensor.Float16 {
		mean = 150
	}
	for i := 1; i < 9; i++ {
		l := layer{name: fmt.Sprintf("op%d", i), inputs: []int{i - 1}}
		switch i % 4 {
		case 1:
			l.apply, l.sums = shiftedBy(rng, width, mean, matmul(rng, width)), true
		case 2:
			l.apply = normalize(width)
		case 3:
			l.apply = relu
		default:
			l.apply = convolve(rng)
		}
		net = append(net, l)
	}
	return net
}
