package diagnose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// layer is an operator of a small network: a function of earlier outputs.
type layer struct {
	name   string
	inputs []int // layers; none for the first
	apply  func(inputs [][]float64) []float64
	sums   bool // the outputs are sums of many products
}

// matmul multiplies rows of the last axis by a matrix, like a pointwise
// convolution.
func matmul(rng *rand.Rand, width int) func([][]float64) []float64 {
	weights := normal(rng, width*width, 1/math.Sqrt(float64(width)), 0)
	return func(inputs [][]float64) []float64 {
		x := inputs[0]
		out := make([]float64, len(x))
		for row := 0; row < len(x); row += width {
			for j := range width {
				for k := range width {
					out[row+j] += x[row+k] * weights[k*width+j]
				}
			}
		}
		return out
	}
}

// convolve mixes neighbouring elements.
func convolve(rng *rand.Rand) func([][]float64) []float64 {
	taps := normal(rng, 5, 0.45, 0)
	return func(inputs [][]float64) []float64 {
		x := inputs[0]
		out := make([]float64, len(x))
		for i := range out {
			for t, w := range taps {
				if at := i + t - 2; at >= 0 && at < len(x) {
					out[i] += w * x[at]
				}
			}
		}
		return out
	}
}

func relu(inputs [][]float64) []float64 {
	out := make([]float64, len(inputs[0]))
	for i, v := range inputs[0] {
		out[i] = v
		if v < 0 {
			out[i] = 0.1 * v // leaky, so that values do not vanish
		}
	}
	return out
}

func add(inputs [][]float64) []float64 {
	out := make([]float64, len(inputs[0]))
	for i, v := range inputs[0] {
		out[i] = 0.7 * (v + inputs[1][i])
	}
	return out
}

// randomNet returns a chain of layers with some residuals.
func randomNet(rng *rand.Rand, shape tensor.Shape, length int) []layer {
	width := int(shape[len(shape)-1])
	net := []layer{{name: "input"}}
	for i := 1; i < length; i++ {
		l := layer{name: fmt.Sprintf("op%d", i), inputs: []int{i - 1}}
		switch kind := rng.IntN(4); {
		case kind == 0:
			l.apply = convolve(rng)
		case kind == 1:
			l.apply = relu
		case kind == 2 && i > 2:
			l.inputs, l.apply = []int{i - 1, rng.IntN(i - 1)}, add
		default:
			l.apply = matmul(rng, width)
		}
		net = append(net, l)
	}
	return net
}

// run is a network with a reference run in float64 and an NPU run that rounds after each layer,
// to float16 or the given type.
type run struct {
	shape  tensor.Shape
	layers []layer
	data   []float64 // of the input
	limits metrics.Limits
	npu    tensor.DType
	// sloppy is the additional error of sums on the NPU, relative to the rms of their tensor:
	// partial sums are rounded too.
	sloppy float64
}

// rows compares all layers; the fault, unless nil, is inserted at layer at.
func (r *run) rows(t *testing.T, engines comparer, rng *rand.Rand, f *fault, at int) []testRow {
	t.Helper()
	k := kind{tensor.Float16, tensor.Float32}
	if r.npu != tensor.Undefined {
		k.npu = r.npu
	}
	refs, npus := make([][]float64, len(r.layers)), make([][]float64, len(r.layers))
	stored := make([][2]memory, len(r.layers))
	ops := make([]testRow, len(r.layers))
	req := metrics.Request{Shape: r.shape, NPUDType: k.npu, RefDType: k.ref, Limits: r.limits}
	for i, l := range r.layers {
		if l.apply == nil {
			refs[i], npus[i] = r.data, r.data
		} else {
			refs[i], npus[i] = l.apply(pick(refs, l.inputs)), l.apply(pick(npus, l.inputs))
		}
		if l.sums && r.sloppy > 0 {
			off := r.sloppy * rms(refs[i])
			for j := range npus[i] {
				npus[i][j] += off * rng.NormFloat64()
			}
		}
		npu := memory{store(k.npu, npus[i]), 2}
		if f != nil && i == at {
			npu = f.inject(&goodPair{rng: rng, shape: r.shape, kind: k, ref: refs[i], npu: npus[i], earlier: npus[:i]})
		}
		npus[i] = decoded(t, k.npu, npu.data)
		stored[i] = [2]memory{{store(k.ref, refs[i]), 4}, npu}
		result := engines.compare(t, req, stored[i][0], npu)
		ops[i] = rowOf(l.name, record.Pass, result)
		ops[i].Order = i
		if result.StrictErrors() > 0 {
			ops[i].Status, ops[i].Pair.Status = record.Fail, record.Fail
		}
	}
	for i := range ops {
		if ops[i].Status == record.Fail {
			in := Tensors{Result: ops[i].Result, Request: req, Ref: stored[i][0], NPU: stored[i][1]}
			var err error
			if ops[i].Patterns, ops[i].Uneven, err = Examine(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
	}
	return ops
}

func rms(values []float64) float64 {
	var squares float64
	for _, v := range values {
		squares += v * v
	}
	return math.Sqrt(squares / float64(len(values)))
}

func pick(all [][]float64, indexes []int) [][]float64 {
	var some [][]float64
	for _, i := range indexes {
		some = append(some, all[i])
	}
	return some
}

func decoded(t *testing.T, d tensor.DType, data []byte) []float64 {
	t.Helper()
	decoder, err := tensor.NewDecoder(d)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float64, len(data)/decoder.UnitSize())
	host := make([]byte, len(values)*decoder.Host().Size())
	decoder.Decode(host, data)
	tensor.Float64s(values, host, decoder.Host())
	return values
}

// graph of the layers, from a consumer map.
func (r *run) graph() record.Flow {
	consumers := make(map[string][]string)
	for _, l := range r.layers {
		for _, i := range l.inputs {
			consumers[r.layers[i].name] = append(consumers[r.layers[i].name], l.name)
		}
	}
	return fromConsumers(consumers)
}

// TestCleanNets judges networks without a fault. Half of them have large values and HPAA's
// limits, the others limits too tight for float16, so that rows fail: no failure may be called a
// calculation error.
func TestCleanNets(t *testing.T) {
	const nets = 1000 / calibration
	failing, alarms, patterns := 0, 0, 0
	codes := map[finding.Code]int{}
	engines := newComparer()
	for seed := range uint64(nets) {
		rng := rand.New(rand.NewPCG(seed, 77))
		shape := []tensor.Shape{{16, 24}, {1, 6, 7, 8}, {30, 10}}[seed%3]
		r := run{shape: shape, limits: metrics.Limits{Atol: 0.005, Rtol: 0.2}, data: normal(rng, count(shape), 60, 0)}
		if seed%2 == 0 {
			r.limits, r.data = metrics.Limits{Atol: 1e-5, Rtol: 1e-3}, normal(rng, count(shape), 1, 0)
		}
		for i, v := range r.data {
			r.data[i] = round16(v)
		}
		r.layers = randomNet(rng, shape, 6)
		ops := r.rows(t, engines, rng, nil, 0)
		for _, graph := range []record.Flow{nil, r.graph()} {
			v := conclude(ops, graph)
			for i := range ops {
				if ops[i].Status == record.Fail && graph != nil {
					failing++
					codes[v.rows[i].findings[0].Code]++
				}
				for _, f := range v.rows[i].findings {
					switch f.Code {
					case finding.CalcError:
						alarms++
						t.Errorf("net %d, %s: %s", seed, ops[i].Op, f.Evidence)
					case finding.Accumulated, finding.LayerInputBad, finding.Unknown, finding.Bias:
					default:
						patterns++
						t.Logf("net %d, %s: %s %s", seed, ops[i].Op, f.Code, f.Evidence)
					}
				}
			}
		}
	}
	t.Logf("%d nets, %d failing rows: %d called CALC_ERROR, %d patterns found; first codes %v", nets, failing, alarms, patterns, codes)
	if failing < nets {
		t.Errorf("only %d rows fail: the test shows nothing", failing)
	}
}

// TestFaultyNets inserts every fault into an operator of a network: it must be the first bad one,
// with and without a graph.
func TestFaultyNets(t *testing.T) {
	for _, f := range faults() {
		if f.changesRef {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			runs, engines := 0, newComparer()
			for seed := range uint64(6) {
				rng := rand.New(rand.NewPCG(seed, 3))
				shape := []tensor.Shape{{2, 6, 7, 8}, {40, 18}, {5, 9, 16}, {1, 4, 5, 6, 7}, {50, 50}, {3, 8, 8, 12}}[seed]
				at := 1 + int(seed)%5
				s := goodPair{shape: shape, kind: kind{tensor.Float16, tensor.Float32}, ref: normal(rng, count(shape), 1, 0)}
				if f.needs != nil && !f.needs(&s) {
					continue
				}
				runs++
				r := run{shape: shape, limits: metrics.Limits{Atol: 0.005, Rtol: 0.2}, layers: randomNet(rng, shape, 7)}
				r.data = normal(rng, count(shape), 1.5, 0.3)
				for i, v := range r.data {
					r.data[i] = round16(v)
				}
				ops := r.rows(t, engines, rng, &f, at)
				for _, graph := range []record.Flow{nil, r.graph()} {
					checkFaulty(t, fmt.Sprintf("seed %d, fault in %s, graph %t", seed, ops[at].Op, graph != nil), &f, ops, graph, at)
				}
			}
			if runs == 0 {
				t.Error("no network for this fault")
			}
		})
	}
}

func checkFaulty(t *testing.T, name string, f *fault, ops []testRow, graph record.Flow, at int) {
	t.Helper()
	v := conclude(ops, graph)
	if v.FirstBad != at {
		t.Fatalf("%s: first bad is %d, want %d", name, v.FirstBad, at)
	}
	if v.LastGood != at-1 {
		t.Errorf("%s: last good is %d, want %d", name, v.LastGood, at-1)
	}
	if got := v.rows[at].findings; !finding.Has(got, f.code) && !finding.Has(ops[at].Patterns, f.code) || finding.Has(got, finding.LayerInputBad) || finding.Has(got, finding.Unknown) ||
		finding.Has(got, finding.Accumulated) && f.code != finding.Bias {
		t.Errorf("%s: findings %v, want %s", name, got, f.code)
	}
	for i := range ops {
		badInput := slices.ContainsFunc(v.rows[i].reads(), func(in int) bool { return ops[in].Status == record.Fail })
		if i > at && ops[i].Status == record.Fail && finding.Has(v.rows[i].findings, finding.LayerInputBad) != badInput {
			t.Errorf("%s: %s, bad input %t: %v", name, ops[i].Op, badInput, v.rows[i].findings)
		}
		if i < at && len(v.rows[i].findings) > 0 {
			t.Errorf("%s: %s is good: %v", name, ops[i].Op, v.rows[i].findings)
		}
	}
	if len(v.Chain) == 0 || v.Chain[0] != at {
		t.Errorf("%s: chain %v does not begin at %d", name, v.Chain, at)
	}
	last := len(ops) - 1
	if bad := ops[last].Status == record.Fail && v.Chain[len(v.Chain)-1] == last; bad && !v.OutputsBad {
		t.Errorf("%s: the output %d is bad but not among the bad outputs", name, last)
	}
}

// TestCalcErrors inserts faults without a pattern of their own into a network: the documented
// rules find them.
func TestCalcErrors(t *testing.T) {
	tests := []struct {
		fault fault
		text  string
	}{
		{fault{name: "unrelated values", values: func(s *goodPair) []float64 {
			return normal(s.rng, len(s.npu), 1, 0)
		}}, "Pearson"},
		{fault{name: "garbage", values: func(s *goodPair) []float64 {
			return normal(s.rng, len(s.npu), 500, 100)
		}}, "mean relative error"},
		{fault{name: "a bad tile", values: func(s *goodPair) []float64 {
			out := slices.Clone(s.npu)
			spoiled(s.rng, s.shape, out, region{1, 16, 24})
			return out
		}}, "errors concentrate in [16, 24) of axis 1 (length 24): mean |d| is "},
	}
	for _, test := range tests {
		t.Run(test.fault.name, func(t *testing.T) {
			engines := newComparer()
			for seed := range uint64(10) {
				rng := rand.New(rand.NewPCG(seed, 3))
				r := run{shape: tensor.Shape{40, 24}, limits: metrics.Limits{Atol: 0.005, Rtol: 0.2}}
				r.layers, r.data = randomNet(rng, r.shape, 7), normal(rng, 40*24, 1.5, 0.3)
				for i, v := range r.data {
					r.data[i] = round16(v)
				}
				at := 1 + int(seed)%5
				ops := r.rows(t, engines, rng, &test.fault, at)
				for _, graph := range []record.Flow{nil, r.graph()} {
					v := conclude(ops, graph)
					if v.FirstBad != at {
						t.Fatalf("seed %d: first bad is %d, want %d", seed, v.FirstBad, at)
					}
					got := v.rows[at].findings
					if got[0].Code != finding.CalcError || !strings.Contains(got[0].Evidence.String(), test.text) {
						t.Errorf("seed %d: %v, want CALC_ERROR by %q", seed, got, test.text)
					}
				}
			}
		})
	}
}
