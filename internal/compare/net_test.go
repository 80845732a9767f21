package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/graph"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// netLength is the number of operators of the test network, a chain; faultAt is the faulty operator.
const (
	netLength = 12
	faultAt   = 6
)

func netShape() tensor.Shape { return tensor.Shape{2, 16, 12, 10} }

// netNames returns the names of the operators in execution order, which is not their alphabetical order.
func netNames() []string {
	var names []string
	for i := range netLength {
		names = append(names, fmt.Sprintf("op%d", (i*5+3)%netLength))
	}
	return names
}

// netLayer computes an operator of the chain.
func netLayer(i int, x []float64) []float64 {
	out := make([]float64, len(x))
	switch i % 3 {
	case 0: // mixes neighbours
		for k := range x {
			out[k] = 0.8*x[k] + 0.4*x[(k+1)%len(x)] - 0.45*x[(k+37)%len(x)]
		}
	case 1: // a leaky rectifier
		for k, v := range x {
			out[k] = 1.2 * max(v, 0.3*v)
		}
	default: // adds elements with different weights
		for k := range x {
			out[k] = 0.7*x[k] + 0.7*x[(k+121*(1+k%5))%len(x)]*math.Cos(float64(k%11))
		}
	}
	return out
}

// netFault changes the output of an operator on the NPU before it is rounded to float16; before is the NPU's output
// three operators earlier.
type netFault struct {
	code  finding.Code
	apply func(good, before []float64) []float64
	// large: the operator has large outputs, some beyond float16.
	large bool
	// both: the reference has the fault, too.
	both bool
}

func each(f func(i int, v float64) float64) func(good, _ []float64) []float64 {
	return func(good, _ []float64) []float64 {
		out := make([]float64, len(good))
		for i, v := range good {
			out[i] = f(i, v)
		}
		return out
	}
}

func netFaults() []netFault {
	rng := rand.New(rand.NewPCG(5, 6))
	n := 2 * 16 * 12 * 10
	return []netFault{
		{code: finding.ZeroOutput, apply: each(func(int, float64) float64 { return 0 })},
		{code: finding.ConstOutput, apply: each(func(int, float64) float64 { return 3 })},
		{code: finding.ZeroTail, apply: each(func(i int, v float64) float64 {
			if i >= n*3/4 {
				return 0
			}
			return v
		})},
		{code: finding.Tail, apply: each(func(i int, v float64) float64 {
			if i >= n*3/4 {
				return 20 * rng.NormFloat64()
			}
			return v
		})},
		{code: finding.Scale, apply: each(func(_ int, v float64) float64 { return v / 2 })},
		{code: finding.Offset, apply: each(func(_ int, v float64) float64 { return v + 11 })},
		{code: finding.Negated, apply: each(func(_ int, v float64) float64 { return -v })},
		{code: finding.Shift, apply: func(good, _ []float64) []float64 { return slices.Concat(good[8:], good[:8]) }},
		{code: finding.Layout, apply: func(good, _ []float64) []float64 { // NHWC data with an NCHW shape
			out := make([]float64, 0, len(good))
			s := netShape()
			for n := range s[0] {
				for hw := range s[2] * s[3] {
					for c := range s[1] {
						out = append(out, good[(n*s[1]+c)*s[2]*s[3]+hw])
					}
				}
			}
			return out
		}},
		{code: finding.Duplicate, apply: func(_, before []float64) []float64 { return slices.Clone(before) }},
		{code: finding.Bias, apply: each(func(_ int, v float64) float64 {
			if rng.IntN(3) == 0 {
				return v - math.Abs(v)*rng.Float64()
			}
			return v
		})},
		{code: finding.Saturation, large: true, apply: each(func(_ int, v float64) float64 { return max(-65504, min(65504, v)) })},
		{code: finding.OverflowFP16, large: true, apply: each(func(_ int, v float64) float64 { return v })},
		{code: finding.NPUNaN, apply: each(func(i int, v float64) float64 {
			if i%97 == 5 {
				return math.NaN()
			}
			return v
		})},
		{code: finding.ModelNaN, both: true, apply: each(func(i int, v float64) float64 {
			if i%97 == 5 {
				return math.NaN()
			}
			return v
		})},
	}
}

// roundHalf rounds to float16.
func roundHalf(v []float64) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = tensor.Float16To64(halfBits(v[i]))
	}
	return out
}

// times multiplies some elements.
func times(factor float64, which []bool, v []float64) []float64 {
	out := slices.Clone(v)
	for i := range out {
		if which[i] {
			out[i] *= factor
		}
	}
	return out
}

// netRun returns the outputs of all operators in both runs.
func netRun(f *netFault) (refs, npus [][]float64) {
	rng := rand.New(rand.NewPCG(7, 8))
	ref := make([]float64, 2*16*12*10)
	for i := range ref {
		ref[i] = rng.NormFloat64()
	}
	npu := roundHalf(ref)
	large := make([]bool, len(ref))
	for i := range netLength {
		if f != nil && f.large && i == faultAt+1 {
			ref, npu = times(1/40000.0, large, ref), times(1/40000.0, large, npu)
		}
		ref, npu = netLayer(i, ref), netLayer(i, npu)
		if f != nil && f.large && i == faultAt {
			for k, v := range ref {
				large[k] = k%7 == 0 && math.Abs(v) > 1
			}
			ref, npu = times(40000, large, ref), times(40000, large, npu)
		}
		if f != nil && i == faultAt {
			var before []float64
			if i >= 3 {
				before = npus[i-3]
			}
			npu = f.apply(npu, before)
			if f.both {
				ref = f.apply(ref, nil)
			}
		}
		npu = roundHalf(npu)
		refs, npus = append(refs, ref), append(npus, npu)
	}
	return refs, npus
}

// writeNet writes a run to folders: the reference and, for the NPU, arrays or
// dumps with timestamps.
func writeNet(t *testing.T, dir string, f *netFault) (ref, arrays, dumps string) {
	t.Helper()
	ref, arrays, dumps = filepath.Join(dir, "ref"), filepath.Join(dir, "arrays"), filepath.Join(dir, "dumps")
	refs, npus := netRun(f)
	for i, name := range netNames() {
		write(t, filepath.Join(ref, name+".npy"), array(tensor.Float32, netShape(), refs[i]...))
		write(t, filepath.Join(arrays, name+".npy"), array(tensor.Float16, netShape(), npus[i]...))
		write(t, filepath.Join(dumps, fmt.Sprintf("Op.%s.1.2.%d", name, 1600000000000000+i)), outputDump(t, name, tensor.Float16, netShape(), npus[i]...))
	}
	return ref, arrays, dumps
}

// netOptions returns options for each source of the order or the graph.
func netOptions(t *testing.T, ref, arrays, dumps string) map[string]conclude.Options {
	t.Helper()
	var runtime, consumers []string
	all := netNames()
	for i, name := range all {
		runtime = append(runtime, fmt.Sprintf("%s,%d\n", name, i*10))
		if i > 0 {
			consumers = append(consumers, fmt.Sprintf("%q: [%q]", all[i-1], name))
		}
	}
	order, err := sidefile.ReadRuntime(strings.NewReader(strings.Join(runtime, "")), "node_runtime.file")
	if err != nil {
		t.Fatal(err)
	}
	graph, err := graph.ReadConsumers(strings.NewReader("{" + strings.Join(consumers, ",") + "}"))
	if err != nil {
		t.Fatal(err)
	}
	byRuntime, byTime, byGraph := hpaa(ref, arrays), hpaa(ref, dumps), hpaa(ref, arrays)
	byRuntime.SideFiles.Runtime = order
	byGraph.OrderBy = dumpdir.ByName
	graph.Source = "consumer map consumers.json"
	byGraph.SideFiles = sidefile.Inputs{Consumers: graph}
	return map[string]conclude.Options{"runtime": byRuntime, "timestamps": byTime, "consumers": byGraph}
}

func TestFaultyNets(t *testing.T) {
	bad := netNames()[faultAt]
	for _, f := range netFaults() {
		t.Run(string(f.code), func(t *testing.T) {
			ref, arrays, dumps := writeNet(t, t.TempDir(), &f)
			for how, opt := range netOptions(t, ref, arrays, dumps) {
				opt.Judge.Verdict.Mode = limits.ByEvidence
				if rep := runAll(t, opt); f.both {
					wantOrigins(t, rep, "")
				} else if wantOrigins(t, rep, bad); rep.Findings.FirstBad >= 0 && !hasCode(rep.Rows[rep.Findings.FirstBad].Reasons, f.code) {
					t.Errorf("%s, by evidence: reasons %v, want %s", how, rep.Rows[rep.Findings.FirstBad].Reasons, f.code)
				}
				opt.Judge.Verdict.Mode = limits.ByLimits
				rep := runAll(t, opt)
				if f.both { // the fault is the model's: nothing fails
					i := slices.IndexFunc(rep.Rows, func(r record.Row) bool { return r.Op == bad })
					if rep.Findings.FirstBad >= 0 || rep.Rows[i].Status != record.Warn || !hasCode(rep.Rows[i].Reasons, f.code) {
						t.Errorf("%s: first bad %d, %s %v; want a warning of %s alone", how, rep.Findings.FirstBad, rep.Rows[i].Status, rep.Rows[i].Reasons, f.code)
					}
					continue
				}
				if rep.Findings.FirstBad < 0 {
					t.Errorf("%s: nothing is bad", how)
					continue
				}
				row := &rep.Rows[rep.Findings.FirstBad]
				if row.Op != bad || row.Status != record.Fail {
					t.Errorf("%s: the first bad operator is %s, want %s", how, row.Op, bad)
				}
				if !hasCode(row.Reasons, f.code) {
					t.Errorf("%s: reasons %v, want %s", how, row.Reasons, f.code)
				}
				if f.code == finding.NPUNaN && how != "consumers" && (rep.Findings.FirstNaN < 0 || rep.Rows[rep.Findings.FirstNaN].Op != bad) {
					t.Errorf("%s: the first NaN is in row %d, want %s", how, rep.Findings.FirstNaN, bad)
				}
				if (!rep.GraphSource.IsZero()) != (how == "consumers") {
					t.Errorf("%s: the graph is from %q", how, rep.GraphSource)
				}
			}
		})
	}
}

func TestCleanNet(t *testing.T) {
	ref, arrays, dumps := writeNet(t, t.TempDir(), nil)
	for how, opt := range netOptions(t, ref, arrays, dumps) {
		opt.Judge.Verdict.Mode = limits.ByEvidence
		wantOrigins(t, runAll(t, opt), "")
		opt.Judge.Verdict.Mode = limits.ByLimits
		rep := runAll(t, opt)
		if len(rep.Rows) != netLength || rep.Counts[record.Fail] > 0 || rep.Findings.FirstBad >= 0 {
			t.Errorf("%s: %v, first bad %d; want nothing to fail", how, lines(rep), rep.Findings.FirstBad)
		}
		for i := range rep.Rows {
			if hasCode(rep.Rows[i].Reasons, finding.CalcError) {
				t.Errorf("%s: CALC_ERROR in a good network: %v", how, rep.Rows[i].Reasons)
			}
		}
	}
}
