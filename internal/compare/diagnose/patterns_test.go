package diagnose

import (
	"fmt"
	"maps"
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

// diagnosed compares and diagnoses a pair.
func diagnosed(t *testing.T, req metrics.Request, ref, npu memory) (*metrics.Result, []finding.Finding) {
	t.Helper()
	result, err := metrics.Compare(t.Context(), req, ref, npu)
	if err != nil {
		t.Fatal(err)
	}
	return result, patternsOf(t, result, req, ref, npu)
}

// patternsOf examines a pair, as the only one of a run.
func patternsOf(t *testing.T, result *metrics.Result, req metrics.Request, ref, npu memory) []finding.Finding {
	t.Helper()
	return patternsBeside(t, Tensors{Result: result, Request: req, Ref: ref, NPU: npu})
}

// patternsBeside examines a pair in a run in which other operators have equal NPU tensors but
// different references.
func patternsBeside(t *testing.T, in Tensors, others ...string) []finding.Finding {
	t.Helper()
	rows := []testRow{rowOf("op", record.Fail, in.Result)}
	var err error
	if rows[0].Patterns, rows[0].Uneven, err = Examine(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	for _, name := range others {
		other := *in.Result
		other.RefCRC++
		rows = append(rows, rowOf(name, record.Pass, &other))
	}
	return newNetwork(rows, Network{IsOrdered: true}).rows[0].patterns()
}

// distribution returns the values of good tensors.
type distribution struct {
	name   string
	values func(*rand.Rand, int) []float64
}

func distributions() []distribution {
	return []distribution{
		{"normal", func(rng *rand.Rand, n int) []float64 { return normal(rng, n, 3, 0.5) }},
		{"relu", func(rng *rand.Rand, n int) []float64 {
			values := normal(rng, n, 3, 0)
			for i, v := range values {
				values[i] = math.Max(0, v)
			}
			return values
		}},
		{"smooth", func(rng *rand.Rand, n int) []float64 {
			values := normal(rng, n, 0.01, 0)
			for i := range values {
				values[i] += 2*math.Sin(float64(i)/7.3) + 3*math.Sin(float64(i)/61) + math.Cos(float64(i)/1.9)
			}
			return values
		}},
		{"sparse", func(rng *rand.Rand, n int) []float64 {
			values := normal(rng, n, 3, 0)
			for i := range values {
				if rng.IntN(10) > 0 {
					values[i] = 0
				}
			}
			return values
		}},
		{"positive", func(rng *rand.Rand, n int) []float64 {
			values := make([]float64, n)
			for i := range values {
				values[i] = 0.5 + 3*rng.Float64()
			}
			return values
		}},
	}
}

// shapes are small, odd and large; the largest tensors are not read at once.
func shapes() []tensor.Shape {
	return []tensor.Shape{
		{200}, {17, 13}, {64, 128}, {5, 7, 11}, {1, 3, 9, 7}, {2, 8, 14, 15}, {1, 8, 16, 20}, {1, 4, 3, 6, 5}, {70001}, {96, 700},
	}
}

// TestFaults: every injected fault is found first, possibly with its
// siblings.
func TestFaults(t *testing.T) {
	kinds := []kind{{tensor.Float16, tensor.Float32}, {tensor.Float32, tensor.Float32}, {tensor.Float16, tensor.Float16}}
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			runs, engines := 0, newComparer()
			for seed := range 3 {
				for i, shape := range shapes() {
					// Each seed and shape gets two distributions, in turn; few are large.
					wanted := 2 / min(calibration, 2)
					if count(shape) > 50000 {
						wanted = max(0, 1-seed)
					}
					for _, d := range []int{(seed + i) % 5, (seed + i + 2) % 5}[:wanted] {
						s := &goodPair{rng: rand.New(rand.NewPCG(uint64(seed), 1)), shape: shape, kind: kinds[seed]}
						s.ref = distributions()[d].values(s.rng, count(shape))
						s.npu = noisy(s.rng, s.ref)
						if f.needs != nil && !f.needs(s) {
							continue
						}
						runs++
						npu := f.inject(s)
						ref := memory{store(s.kind.ref, s.ref), s.kind.ref.UnitSize()}
						req := request(shape, s.kind)
						findings := patternsOf(t, engines.compare(t, req, ref, npu), req, ref, npu)
						checkFindings(t, fmt.Sprintf("seed %d shape %s %s", seed, shape, distributions()[d].name), findings, f.code, f.siblings)
					}
				}
			}
			if runs == 0 {
				t.Error("no tensor for this fault")
			}
		})
	}
}

func checkFindings(t *testing.T, name string, findings []finding.Finding, code finding.Code, siblings []finding.Code) {
	t.Helper()
	if len(findings) == 0 || findings[0].Code != code {
		t.Errorf("%s: got %v, want %s first", name, findings, code)
		return
	}
	size := 0
	for _, f := range findings {
		if size += len(f.Evidence.String()); size > 1<<10 {
			t.Errorf("%s: evidence of %d bytes, want at most 1 KiB", name, size)
		}
		if f.Evidence.IsZero() || f.Confidence == "" {
			t.Errorf("%s: %s without evidence or confidence", name, f.Code)
		}
		if f.Code != code && !slices.Contains(siblings, f.Code) {
			t.Errorf("%s: %s beside %s: %s", name, f.Code, code, f.Evidence)
		}
	}
}

// TestMoreCodes has the codes that need types other than float.
func TestMoreCodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	shape := tensor.Shape{16, 32}
	wide := make([]float64, count(shape))
	for i := range wide {
		wide[i] = math.Round(90 * rng.NormFloat64())
	}
	small := make([]float64, count(shape))
	for i := range small {
		small[i] = 0x1p-14 * (1 + float64(i%29))
	}
	half := slices.Clone(small)
	for i := range half {
		if rng.IntN(3) == 0 {
			half[i] = 0
		}
	}
	words := make([]float64, len(wide))
	for i, v := range wide {
		words[i] = 200 * v
	}
	tests := []struct {
		name     string
		kind     kind
		limits   metrics.Limits
		ref, npu []float64
		want     []finding.Code
	}{
		{"int8 saturates", kind{tensor.Int8, tensor.Int32}, metrics.Limits{}, wide, clip(wide, -128, 127), []finding.Code{finding.Saturation}},
		{"int8 wraps", kind{tensor.Int8, tensor.Int32}, metrics.Limits{}, wide, wide, []finding.Code{finding.Wrap}},
		{"int16 wraps", kind{tensor.Int16, tensor.Int32}, metrics.Limits{}, words, words, []finding.Code{finding.Wrap}},
		{"float16 underflows", kind{tensor.Float16, tensor.Float32}, metrics.Limits{Rtol: 1e-3, Atol: 1e-5}, small, half, []finding.Code{finding.Underflow}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			req := metrics.Request{Shape: shape, NPUDType: test.kind.npu, RefDType: test.kind.ref, Limits: test.limits}
			ref := memory{store(test.kind.ref, test.ref), test.kind.ref.UnitSize()}
			npu := memory{store(test.kind.npu, test.npu), test.kind.npu.UnitSize()}
			_, findings := diagnosed(t, req, ref, npu)
			checkFindings(t, test.name, findings, test.want[0], test.want[1:])
		})
	}
}

func clip(values []float64, low, high float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = math.Max(low, math.Min(high, v))
	}
	return out
}

// TestModelNaN: both sides have NaN at the same places.
func TestModelNaN(t *testing.T) {
	values := normal(rand.New(rand.NewPCG(3, 4)), 100, 1, 0)
	values[7], values[8] = math.NaN(), math.Inf(-1)
	m := memory{store(tensor.Float32, values), 4}
	k := kind{tensor.Float32, tensor.Float32}
	_, findings := diagnosed(t, request(tensor.Shape{100}, k), m, m)
	checkFindings(t, "equal", findings, finding.ModelNaN, nil)
	if findings[0].Confidence != finding.High {
		t.Errorf("confidence %s of a documented rule", findings[0].Confidence)
	}
}

// TestDuplicate: operators with the same NPU tensor are named.
func TestDuplicate(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	k := kind{tensor.Float32, tensor.Float32}
	ref := memory{store(tensor.Float32, normal(rng, 100, 1, 0)), 4}
	npu := memory{store(tensor.Float32, normal(rng, 100, 1, 0)), 4}
	req := request(tensor.Shape{100}, k)
	result, _ := diagnosed(t, req, ref, npu)
	in := Tensors{Result: result, Request: req, Ref: ref, NPU: npu}
	findings := patternsBeside(t, in, "conv1", "conv2", "conv3", "conv4")
	checkFindings(t, "stale", findings, finding.Duplicate, nil)
	if want := "conv1:output:0, conv2:output:0, conv3:output:0 and 1 more"; !strings.Contains(findings[0].Evidence.String(), want) {
		t.Errorf("evidence %q does not name %q", findings[0].Evidence, want)
	}
}

// TestFaultless: tensors that are merely wrong (unrelated values, loud noise, outliers on one
// side) show no specific pattern.
func TestFaultless(t *testing.T) {
	makers := map[string]func(*rand.Rand, []float64) []float64{
		"unrelated": func(rng *rand.Rand, ref []float64) []float64 { return normal(rng, len(ref), 3, 0.5) },
		"noise": func(rng *rand.Rand, ref []float64) []float64 {
			out := slices.Clone(ref)
			for i := range out {
				out[i] += 0.5 * rng.NormFloat64()
			}
			return out
		},
		"reference outliers": func(rng *rand.Rand, ref []float64) []float64 {
			out := noisy(rng, ref)
			for i := 0; i < len(ref); i++ {
				if rng.IntN(40) == 0 {
					ref[i] = 300 + 100*rng.Float64()
				}
			}
			return out
		},
		"NPU outliers": func(rng *rand.Rand, ref []float64) []float64 {
			out := noisy(rng, ref)
			for i := range out {
				if rng.IntN(40) == 0 {
					out[i] = 400 * rng.NormFloat64()
				}
			}
			return out
		},
		"near 1": func(rng *rand.Rand, ref []float64) []float64 {
			for i := range ref {
				ref[i] = 1 + 0.05*rng.NormFloat64()
			}
			out := noisy(rng, ref)
			for i := range out {
				if rng.IntN(30) == 0 {
					ref[i] = 50
				}
			}
			return out
		},
	}
	k := kind{tensor.Float16, tensor.Float32}
	const seeds uint64 = 25 / min(calibration, 3)
	pairs, alarms := 0, 0
	engines := newComparer()
	for _, name := range slices.Sorted(maps.Keys(makers)) {
		for seed := range seeds {
			for _, shape := range []tensor.Shape{{60}, {16, 16}, {4, 5, 6, 7}, {1, 3, 17, 19}} {
				rng := rand.New(rand.NewPCG(seed, 9))
				ref := normal(rng, count(shape), 3, 0.5)
				npu := makers[name](rng, ref)
				req, refMemory, npuMemory := request(shape, k), memory{store(k.ref, ref), 4}, memory{store(k.npu, npu), 2}
				result := engines.compare(t, req, refMemory, npuMemory)
				pairs++
				for _, f := range patternsOf(t, result, req, refMemory, npuMemory) {
					if f.Code != finding.Bias {
						alarms++
						t.Errorf("%s, seed %d, shape %s: %s: %s", name, seed, shape, f.Code, f.Evidence)
					}
				}
			}
		}
	}
	t.Logf("%d false alarms in %d pairs", alarms, pairs)
}

// codesAt diagnoses a pair of float16 and float32 whose NPU tensor another operator
// also has.
func codesAt(t *testing.T, ref, npu []float64) []finding.Code {
	t.Helper()
	k := kind{tensor.Float16, tensor.Float32}
	req, r, n := request(tensor.Shape{int64(len(ref))}, k), memory{store(k.ref, ref), 4}, memory{store(k.npu, npu), 2}
	result, _ := diagnosed(t, req, r, n)
	in := Tensors{Result: result, Request: req, Ref: r, NPU: n}
	findings := patternsBeside(t, in, "other")
	return codesOf(findings)
}

// TestUninformative: passing beside small references proves nothing, and a constant tensor is no
// duplicate.
func TestUninformative(t *testing.T) {
	const n = 4096
	filled := func(value func(i int) float64) []float64 {
		all := make([]float64, n)
		for i := range all {
			all[i] = value(i)
		}
		return all
	}
	constant := func(v float64) []float64 { return filled(func(int) float64 { return v }) }
	zero, nan, inf := constant(0), math.NaN(), math.Inf(1)
	mask := filled(func(i int) float64 { return float64(i % 7 / 3 % 2) })
	masked := filled(func(i int) float64 {
		if i%5 == 0 {
			return nan
		}
		return 1
	})
	wide := filled(func(i int) float64 { return 1 + float64(i%100) })
	beyond := filled(func(i int) float64 { return 1e5 + float64(i) })
	tiny := filled(func(i int) float64 { return 1e-4 * math.Sin(float64(i)) })
	tests := []struct {
		name     string
		ref, npu []float64
		want     finding.Code // the first code
		never    []finding.Code
	}{
		{"a mask against zeros", zero, mask, "", []finding.Code{finding.Endian, finding.DTypeMisread, finding.Shift, finding.Layout, finding.Scale}},
		{"ones and NaN against zeros", zero, masked, finding.NPUNaN, []finding.Code{finding.Endian, finding.DTypeMisread}},
		{"ones against tiny numbers", tiny, constant(1), finding.ConstOutput, []finding.Code{finding.Endian, finding.DTypeMisread, finding.Duplicate}},
		{"one value against another", constant(3), constant(6), "", []finding.Code{finding.Scale, finding.Duplicate, finding.Endian, finding.DTypeMisread}},
		{"all NaN", wide, constant(nan), finding.NPUNaN, []finding.Code{finding.Duplicate}},
		{"all infinite", wide, constant(inf), finding.NPUNaN, []finding.Code{finding.Duplicate}},
		{"one value", wide, constant(7), finding.ConstOutput, []finding.Code{finding.Duplicate}},
		{"all at the limit", beyond, constant(65504), finding.Saturation, []finding.Code{finding.Duplicate, finding.ConstOutput}},
	}
	for _, test := range tests {
		got := codesAt(t, test.ref, test.npu)
		if test.want != "" && (len(got) == 0 || got[0] != test.want) {
			t.Errorf("%s: %v, want %s first", test.name, got, test.want)
		}
		for _, code := range test.never {
			if slices.Contains(got, code) {
				t.Errorf("%s: %v, never %s", test.name, got, code)
			}
		}
	}
}

// TestZerosOfAnyShape: zeros agree in every order of axes, which proves nothing.
func TestZerosOfAnyShape(t *testing.T) {
	m := memory{make([]byte, 4*600), 4}
	req := request(tensor.Shape{20, 30}, kind{tensor.Float32, tensor.Float32})
	findings, uneven, err := Examine(t.Context(), Tensors{Request: req, Ref: m, NPU: m, NPUShape: tensor.Shape{30, 20}})
	if err != nil || len(findings) > 0 || uneven != nil {
		t.Errorf("%v, uneven %v, error %v", findings, uneven, err)
	}
}

// TestNearlyItsReference: of two equal tensors, the one that agrees with its reference is not
// stale.
func TestNearlyItsReference(t *testing.T) {
	ref := normal(rand.New(rand.NewPCG(1, 8)), 500, 1, 0)
	npu := slices.Clone(ref)
	npu[17] += 0.5
	if got := codesAt(t, ref, npu); slices.Contains(got, finding.Duplicate) {
		t.Errorf("%v", got)
	}
	if got := codesAt(t, normal(rand.New(rand.NewPCG(2, 8)), 500, 1, 0), npu); len(got) == 0 || got[0] != finding.Duplicate {
		t.Errorf("%v, want %s first", got, finding.Duplicate)
	}
}

// TestPassedOn: the next operator passes a scaled tensor on unchanged.
func TestPassedOn(t *testing.T) {
	ref := normal(rand.New(rand.NewPCG(1, 8)), 500, 1, 0)
	npu := slices.Clone(ref)
	for i := range npu {
		npu[i] /= 2
	}
	if got := codesAt(t, ref, npu); len(got) != 1 || got[0] != finding.Scale {
		t.Errorf("%v, want %s", got, finding.Scale)
	}
}

// TestReferenceNaN: the reference has NaN where the NPU has a number.
func TestReferenceNaN(t *testing.T) {
	ref := normal(rand.New(rand.NewPCG(1, 9)), 400, 1, 0)
	npu := noisy(rand.New(rand.NewPCG(2, 9)), ref)
	for i := 3; i < 400; i += 8 {
		ref[i] = math.NaN()
	}
	ref[11] = math.Inf(-1)
	k := kind{tensor.Float32, tensor.Float32}
	req := request(tensor.Shape{400}, k)
	_, findings := diagnosed(t, req, memory{store(k.ref, ref), 4}, memory{store(k.npu, npu), 4})
	checkFindings(t, "reference", findings, finding.ModelNaN, []finding.Code{finding.Stride})
	for _, want := range []string{"49 of 400 elements are NaN in the reference", "1 of 400 elements are infinite in the reference"} {
		if len(findings) > 0 && !strings.Contains(findings[0].Evidence.String(), want) {
			t.Errorf("%q lacks %q", findings[0].Evidence, want)
		}
	}
	if findings[0].Confidence != finding.High {
		t.Errorf("confidence %s", findings[0].Confidence)
	}
	npu[9] = math.NaN() // with an error of the NPU it comes second
	_, findings = diagnosed(t, req, memory{store(k.ref, ref), 4}, memory{store(k.npu, npu), 4})
	checkFindings(t, "both", findings, finding.NPUNaN, []finding.Code{finding.ModelNaN, finding.Stride, finding.Tail})
	if !finding.Has(findings, finding.ModelNaN) {
		t.Errorf("%v without %s", findings, finding.ModelNaN)
	}
}
