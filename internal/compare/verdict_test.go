package compare

import (
	"fmt"
	"math"
	"testing"

	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// TestNothingLeft excludes all pairs: then the classes decide.
func TestNothingLeft(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		ref, npu []float64
		want     record.Status
	}{
		{[]float64{1, 2}, []float64{nan, nan}, record.Fail}, {[]float64{1, nan}, []float64{nan, nan}, record.Fail},
		{[]float64{nan, nan}, []float64{nan, nan}, record.Warn}, {[]float64{1, 2}, []float64{1, nan}, record.Warn}, {nil, nil, record.Pass},
	} {
		bounds, verdict := metrics.Limits{Atol: 1}, limits.Verdict{NaN: limits.NaNIgnore, MaxErrorRatio: 1}
		res := compared(t, tensor.Float16, bounds, tt.ref, tt.npu)
		if row := judged(verdict, res); row.Status != tt.want {
			t.Errorf("%v beside %v: %s %v, want %s", tt.npu, tt.ref, row.Status, row.Reasons, tt.want)
		}
		if row := again(t, documentOf(t, res, bounds, verdict), bounds, verdict); row.Status != tt.want {
			t.Errorf("judged again: %v beside %v: %s %v, want %s", tt.npu, tt.ref, row.Status, row.Reasons, tt.want)
		}
	}
}

// TestZeroReferenceGate has an undefined mean relative error.
func TestZeroReferenceGate(t *testing.T) {
	verdict := limits.Verdict{NaN: limits.NaNStrict, MaxErrorRatio: 1, Gates: limits.Gates{MaxMeanRel: ptr(0.5)}}
	for _, tt := range []struct {
		ref, npu []float64
		want     bool
	}{
		{[]float64{0, 0}, []float64{0, 3}, true}, {[]float64{0, 0}, []float64{0, 0}, false}, {[]float64{0, 2}, []float64{3, 2}, false},
	} {
		res := compared(t, tensor.Float16, metrics.Limits{}, tt.ref, tt.npu)
		row := judged(verdict, res)
		if broken := row.Status == record.Fail && hasCode(row.Reasons, finding.Gate); broken != tt.want {
			t.Errorf("%v beside %v: %s %v, want the gate broken: %v", tt.npu, tt.ref, row.Status, row.Reasons, tt.want)
		}
		if got := again(t, documentOf(t, res, metrics.Limits{}, verdict), metrics.Limits{}, verdict); got.Status != row.Status {
			t.Errorf("%v beside %v: judged %s, is %s", tt.npu, tt.ref, got.Status, row.Status)
		}
	}
}

// classValues has an element of each class, in the order of metrics.Class.
var classValues = []float64{2, math.Inf(1), math.Inf(-1), math.NaN()}

func judged(o limits.Verdict, res *metrics.Result) record.Row {
	rows := []record.Row{{Result: res}}
	o.Judge(&rows[0], res)
	rows[0].Verdict = record.Verdict{Status: rows[0].Pair.Status, Reasons: rows[0].Pair.Reasons}
	return rows[0]
}

// TestClassPairs judges every pair of classes, among 63 good elements, by every policy.
func TestClassPairs(t *testing.T) {
	const largest = 65504
	bounds := metrics.Limits{Atol: 0.005, Rtol: 0.2}
	// HPAA's replacement, then numpy's isclose.
	replaced := func(v float64) float64 {
		switch {
		case math.IsNaN(v):
			return 0
		case math.IsInf(v, 0):
			return math.Copysign(largest, v)
		}
		return v
	}
	for _, policy := range limits.NaNPolicies() {
		for i, n := range classValues {
			for k, r := range classValues {
				t.Run(fmt.Sprintf("%s/%v beside %v", policy, n, r), func(t *testing.T) {
					ref, npu := make([]float64, 64), make([]float64, 64)
					for i := range ref {
						ref[i], npu[i] = 3, 3
					}
					ref[17], npu[17] = r, n
					row := judged(limits.Verdict{NaN: policy}, compared(t, tensor.Float16, bounds, ref, npu))
					var want record.Status
					errors := int64(0)
					switch policy {
					case limits.NaNStrict, limits.NaNEqual:
						want = record.Pass
						if i != k {
							want, errors = record.Fail, 1
						} else if math.IsNaN(n) && policy == limits.NaNStrict {
							want = record.Warn
						}
					case limits.NaNHPAA:
						a, b := replaced(n), replaced(r)
						want = record.Pass
						if !(math.Abs(a-b) <= 0.005+0.2*math.Abs(b)) {
							want, errors = record.Fail, 1
						}
					case limits.NaNIgnore:
						want = record.Pass
						if i != 0 || k != 0 {
							want = record.Warn
						}
					}
					if row.Status != want || row.Errors != errors {
						t.Errorf("%s with %d errors (%v), want %s with %d", row.Status, row.Errors, row.Reasons, want, errors)
					}
					if errors == 1 && (row.First == nil || row.First.Offset != 17) {
						t.Errorf("first error is %+v, want offset 17", row.First)
					}
				})
			}
		}
	}
}

func TestErrorRatio(t *testing.T) {
	ref, npu := ramp(100), ramp(100)
	for i := range 10 {
		npu[i*7] *= 2
	}
	res := compared(t, tensor.Float32, metrics.Limits{Rtol: 0.2}, ref, npu)
	for ratio, want := range map[float64]record.Status{0: record.Fail, 0.0999: record.Fail, 0.1: record.Pass, 0.5: record.Pass, 1: record.Pass} {
		if row := judged(limits.Verdict{NaN: limits.NaNStrict, MaxErrorRatio: ratio}, res); row.Status != want || row.Errors != 10 {
			t.Errorf("ratio %g: %s with %d errors, want %s with 10", ratio, row.Status, row.Errors, want)
		}
	}
	// The share does not allow differences of class.
	npu[50] = math.NaN()
	res = compared(t, tensor.Float32, metrics.Limits{Rtol: 0.2}, ref, npu)
	if row := judged(limits.Verdict{NaN: limits.NaNStrict, MaxErrorRatio: 1}, res); row.Status != record.Fail || row.Errors != 11 {
		t.Errorf("class difference: %s with %d errors, want FAIL with 11", row.Status, row.Errors)
	}
	// Excluded elements do not count in the share: 1 of 2 is wrong.
	res = compared(t, tensor.Float32, metrics.Limits{}, []float64{1, 2, 3, 4}, []float64{1, 9, math.NaN(), math.NaN()})
	if row := judged(limits.Verdict{NaN: limits.NaNIgnore, MaxErrorRatio: 0.4}, res); row.Status != record.Fail {
		t.Errorf("half of the finite pairs are wrong: %s, want FAIL", row.Status)
	}
}

func TestGates(t *testing.T) {
	loose := metrics.Limits{Atol: 100}
	// d = 0, 0, 0, 0.5: the cosine is 0.998295, RED sqrt(0.25/30), the mean relative error 0.125/4, and SQNR 10
	// log10(30/0.25); 0.5 is 128 ulp of float16 at 4.
	res := compared(t, tensor.Float16, loose, []float64{1, 2, 3, 4}, []float64{1, 2, 3, 4.5})
	red, sqnr := math.Sqrt(0.25/30), 10*math.Log10(120)
	tests := []struct {
		name  string
		gates limits.Gates
		holds bool
	}{
		{"cos", limits.Gates{MinCos: ptr(0.9982)}, true}, {"cos", limits.Gates{MinCos: ptr(0.9984)}, false},
		{"red", limits.Gates{MaxRED: ptr(red + 1e-9)}, true}, {"red", limits.Gates{MaxRED: ptr(red - 1e-9)}, false},
		{"mean rel", limits.Gates{MaxMeanRel: ptr(0.03125)}, true}, {"mean rel", limits.Gates{MaxMeanRel: ptr(0.03124)}, false},
		{"sqnr", limits.Gates{MinSQNR: ptr(sqnr - 1e-9)}, true}, {"sqnr", limits.Gates{MinSQNR: ptr(sqnr + 1e-9)}, false},
		{"ulp", limits.Gates{MaxULP: ptr(128.0)}, true}, {"ulp", limits.Gates{MaxULP: ptr(127.0)}, false},
		{"two", limits.Gates{MinCos: ptr(0.9), MaxULP: ptr(1.0)}, false},
	}
	for _, tt := range tests {
		row := judged(limits.Verdict{NaN: limits.NaNStrict, Gates: tt.gates}, res)
		if failed := row.Status == record.Fail; failed == tt.holds || hasCode(row.Reasons, finding.Gate) == tt.holds {
			t.Errorf("%s: %s %v, want the gate to hold: %v", tt.name, row.Status, row.Reasons, tt.holds)
		}
	}
	// An undefined metric breaks no gate: no element is finite, or there is none.
	all := limits.Gates{MinCos: ptr(1.0), MaxRED: ptr(0.0), MaxMeanRel: ptr(0.0), MinSQNR: ptr(1e9), MaxULP: ptr(0.0)}
	nan := math.NaN()
	for _, v := range [][]float64{{nan, nan}, {}} {
		row := judged(limits.Verdict{NaN: limits.NaNEqual, Gates: all}, compared(t, tensor.Float16, loose, v, v))
		if row.Status != record.Pass {
			t.Errorf("%v: %s %v, want PASS", v, row.Status, row.Reasons)
		}
	}
	// An infinite metric is defined: every number differs from a reference of zeros.
	row := judged(limits.Verdict{NaN: limits.NaNStrict, Gates: limits.Gates{MaxRED: ptr(10.0)}}, compared(t, tensor.Float16, loose, []float64{0, 0}, []float64{1, 0}))
	if row.Status != record.Fail {
		t.Errorf("zero reference: %s, want FAIL", row.Status)
	}
}

func TestWarnings(t *testing.T) {
	shifted := func(n int, by float64) (ref, npu []float64) {
		ref, npu = ramp(n), ramp(n)
		for i := range npu {
			npu[i] += by
		}
		return ref, npu
	}
	tests := []struct {
		name string
		make func() (ref, npu []float64)
		d    tensor.DType
		l    metrics.Limits
		code finding.Code // empty for PASS
	}{
		{"equal", func() ([]float64, []float64) { return shifted(10, 0) }, tensor.Float32, metrics.Limits{}, ""},
		{"half of the limit", func() ([]float64, []float64) { return shifted(10, 0.5) }, tensor.Float32, metrics.Limits{Atol: 1}, ""},
		{"more than half", func() ([]float64, []float64) { return shifted(10, 0.625) }, tensor.Float32, metrics.Limits{Atol: 1}, ""},
		{"999 to one side", func() ([]float64, []float64) { return shifted(999, 0.125) }, tensor.Float32, metrics.Limits{Atol: 1}, ""},
		{"1000 to one side", func() ([]float64, []float64) { return shifted(1000, 0.125) }, tensor.Float32, metrics.Limits{Atol: 1}, finding.Bias},
		{"1000 to both sides", func() ([]float64, []float64) {
			ref, npu := shifted(1000, 0.125)
			for i := range 500 {
				npu[i] -= 0.25
			}
			return ref, npu
		}, tensor.Float32, metrics.Limits{Atol: 1}, ""},
		{"NaN on both sides", func() ([]float64, []float64) {
			ref, npu := shifted(4, 0)
			ref[1], npu[1] = math.NaN(), math.NaN()
			return ref, npu
		}, tensor.Float32, metrics.Limits{}, finding.ModelNaN},
		{"saturated on both sides", func() ([]float64, []float64) { return []float64{65504, 1}, []float64{65504, 1} }, tensor.Float16, metrics.Limits{}, finding.Saturation},
	}
	for _, tt := range tests {
		ref, npu := tt.make()
		row := judged(limits.Verdict{NaN: limits.NaNStrict}, compared(t, tt.d, tt.l, ref, npu))
		want := record.Warn
		if tt.code == "" {
			want = record.Pass
		}
		if row.Status != want || tt.code != "" && !hasCode(row.Reasons, tt.code) || len(row.Reasons) > 1 {
			t.Errorf("%s: %s %v, want %s %s alone", tt.name, row.Status, row.Reasons, want, tt.code)
		}
	}
}
