package standard

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
	"dumptool/internal/tensor"
)

// memory is a tensor of float64 numbers.
type memory []float64

func (m memory) ReadElements(dst []byte, first int64) error {
	if int(first)+len(dst)/8 > len(m) {
		return fmt.Errorf("element %d of %d", int(first)+len(dst)/8-1, len(m))
	}
	for i := range len(dst) / 8 {
		binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(m[int(first)+i]))
	}
	return nil
}

// request returns a request for float64 numbers with the thresholds of a type.
func request(name Name, d tensor.DType, total int) Request {
	return Request{Options: Options{Name: name}, Total: int64(total),
		RefDType: tensor.Float64, NPUDType: tensor.Float64, ThirdDType: tensor.Float64, Effective: d}
}

func judgeOf(t *testing.T, req Request, ref, npu, third []float64) *record.Standard {
	t.Helper()
	var x metrics.Reader
	if third != nil {
		x = memory(third)
	}
	s, err := Judge(context.Background(), req, new(metrics.Result), memory(ref), memory(npu), x)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkOf returns the check of a standard with this name.
func checkOf(t *testing.T, s *record.Standard, name string) record.Check {
	t.Helper()
	for _, c := range s.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no %s in %+v", name, s)
	return record.Check{}
}

// limits are the thresholds as the standards state them.
var limits = []struct {
	dtype                                tensor.DType
	hf32                                 bool
	eco, tolerance, largest, small, most float64
	// big is a number with an ulp of 1.
	big float64
}{
	{tensor.Float16, false, 1. / 1024, 1. / 1024, 0.1, 1. / 2048, 1. / 65536, 1 << 10},
	{tensor.BFloat16, false, 1. / 128, 1. / 128, 0.1, 1. / 256, 1. / 65536, 1 << 7},
	{tensor.Float32, false, 1. / 8192, 1. / 8192, 0.01, 1. / 16384, 1. / (1 << 30), 1 << 23},
	{tensor.Float32, true, 1. / 2048, 1. / 1024, 0.1, 1. / 4096, 1. / (1 << 28), 1 << 11},
	{tensor.Float8E4M3FN, false, 1. / 8, 1. / 8, 1, 1. / 16, 1. / 64, 1 << 3},
	{tensor.Float8E5M2, false, 1. / 4, 1. / 4, 1, 1. / 8, 1. / 32, 1 << 2},
}

// around returns the previous number, x and the next number.
func around(x float64) [3]float64 {
	return [3]float64{math.Nextafter(x, 0), x, math.Nextafter(x, math.Inf(1))}
}

// numerator returns x with x/1e-7 == q; it exists for every limit and its neighbours.
func numerator(t *testing.T, q float64) float64 {
	t.Helper()
	x := q * 1e-7
	for range 8 {
		x = math.Nextafter(x, 0)
	}
	for range 16 {
		if x/1e-7 == q {
			return x
		}
		x = math.Nextafter(x, 1)
	}
	t.Fatalf("no number divided by 1e-7 is %v", q)
	return 0
}

// TestEcoLimits tests the limits of relative errors with numbers one ulp on either side
// of them.
func TestEcoLimits(t *testing.T) {
	for _, l := range limits {
		for i, want := range []bool{true, false, false} {
			t.Run(fmt.Sprint(l.dtype, l.hf32, i), func(t *testing.T) {
				req := request(Eco, l.dtype, 1)
				req.HF32 = l.hf32
				if got := judgeOf(t, req, []float64{0}, []float64{numerator(t, around(l.eco)[i])}, nil); checkOf(t, got, meanRelative).Holds != want {
					t.Errorf("mean relative error %v: %+v, want %v", around(l.eco)[i], got, want)
				}
				npu := make([]float64, 64)
				npu[9] = -numerator(t, around(10 * l.eco)[i])
				req.Total = 64
				got := judgeOf(t, req, make([]float64, 64), npu, nil)
				if checkOf(t, got, maxRelative).Holds != want || (got.Status == record.Pass) != want {
					t.Errorf("max relative error %v: %+v, want %v", around(10 * l.eco)[i], got, want)
				}
			})
		}
	}
}

func TestMixedLimits(t *testing.T) {
	for _, l := range limits {
		req := request(Mixed, l.dtype, 1)
		req.HF32 = l.hf32
		status := func(ref, npu float64, others int) record.Status {
			req.Total = int64(1 + others)
			r, n := make([]float64, 1+others), make([]float64, 1+others)
			r[others], n[others] = ref, npu
			return judgeOf(t, req, r, n, nil).Status
		}
		for i, want := range []record.Status{record.Pass, record.Pass, record.Fail} {
			if got := status(0, -around(l.tolerance)[i], 0); got != want {
				t.Errorf("%v: error %v of 0: %s, want %s", l.dtype, around(l.tolerance)[i], got, want)
			}
			// The tolerance grows with the reference: for r = 2, d = 2T(1+1) is too much.
			if got, want := status(1, 1+2*l.tolerance, 0), record.Pass; got != want {
				t.Errorf("%v: error %v of 1: %s, want %s", l.dtype, 2*l.tolerance, got, want)
			}
			if got, want := status(1, math.Nextafter(1+2*l.tolerance, 2), 0), record.Fail; got != want {
				t.Errorf("%v: error above %v of 1: %s, want %s", l.dtype, 2*l.tolerance, got, want)
			}
			if got := status(0, around(l.largest)[i], 99); got != want {
				t.Errorf("%v: largest error %v: %s, want %s", l.dtype, around(l.largest)[i], got, want)
			}
			n := l.big + 32
			if got := status(l.big, []float64{math.Nextafter(n, 0), n, math.Nextafter(n, 1e9)}[i], 99); got != want {
				t.Errorf("%v: 32 ulp of %v (%d): %s, want %s", l.dtype, l.big, i, got, want)
			}
		}
		if got := status(0, l.largest, 98); got != record.Fail {
			t.Errorf("%v: 98 of 99 elements within the tolerance: %s", l.dtype, got)
		}
	}
}

// TestLevelLimits tests the ratios of L0 to L2. The reference is so large that relative
// errors are exact.
func TestLevelLimits(t *testing.T) {
	const r = 0x1p60
	for _, tt := range []struct {
		name           Name
		max, mean, rms float64
	}{{L0, 10, 2, 2}, {L1, 5, 1.5, 1.5}, {L2, 2, 1.2, 1.2}} {
		for check, limit := range map[string]float64{maxRelativeRatio: tt.max, meanRelativeRatio: tt.mean, rmsRatio: tt.rms} {
			for i, want := range []bool{true, true, false} {
				d := around(limit)[i] * r
				npu := -(d - r)
				if math.Abs(npu-r) != d {
					t.Fatalf("%v is no error of %v", d, r)
				}
				got := checkOf(t, judgeOf(t, request(tt.name, tt3(tt.name), 1), []float64{r}, []float64{npu}, []float64{2 * r}), check)
				if got.Holds != want || float64(got.Value) != around(limit)[i] {
					t.Errorf("%s %s of %v: %+v, want %v", tt.name, check, around(limit)[i], got, want)
				}
			}
		}
		req := request(tt.name, tensor.Float16, 1)
		// 0/0 counts as 1, x/0 is too much.
		if got := judgeOf(t, req, []float64{1}, []float64{1}, []float64{1}); got.Status != record.Pass {
			t.Errorf("%s without errors: %+v", tt.name, got)
		}
		if got := judgeOf(t, req, []float64{1}, []float64{1.01}, []float64{1}); got.Status != record.Fail {
			t.Errorf("%s with errors beside none: %+v", tt.name, got)
		}
	}
}

// tt3 returns a type for a standard: the ratios are equal for all types.
func tt3(name Name) tensor.DType {
	return map[Name]tensor.DType{L0: tensor.Float16, L1: tensor.BFloat16, L2: tensor.Float32}[name]
}

// TestSmallValues tests the threshold of small values and the limit of their errors.
func TestSmallValues(t *testing.T) {
	for _, l := range limits {
		req := request(L0, l.dtype, 1)
		req.HF32 = l.hf32
		errorsOf := func(ref, npu float64) float64 {
			return checkOf(t, judgeOf(t, req, []float64{ref}, []float64{npu}, []float64{ref}), smallErrors).NPU.Value()
		}
		for i, want := range []float64{0, 0, 1} {
			if got := errorsOf(0, around(l.most)[i]); got != want {
				t.Errorf("%v: %v of 0: %v errors, want %v", l.dtype, around(l.most)[i], got, want)
			}
		}
		for i, want := range []float64{1, 0, 0} {
			if got := errorsOf(-around(l.small)[i], 1); got != want {
				t.Errorf("%v: 1 of %v: %v errors, want %v", l.dtype, -around(l.small)[i], got, want)
			}
		}
	}
	for _, tt := range []struct {
		npu, third int
		want       bool
	}{{0, 0, true}, {2, 0, true}, {3, 0, false}, {2, 1, true}, {3, 1, false}, {6, 3, true}, {7, 3, false}} {
		ref, npu, third := make([]float64, 8), make([]float64, 8), make([]float64, 8)
		for i := range ref {
			if i < tt.npu {
				npu[i] = 1e-4
			}
			if i < tt.third {
				third[i] = 1e-4
			}
		}
		if got := checkOf(t, judgeOf(t, request(L1, tensor.Float16, 8), ref, npu, third), smallErrors); got.Holds != tt.want {
			t.Errorf("%d errors beside %d: %+v, want %v", tt.npu, tt.third, got, tt.want)
		}
	}
}

// nonFiniteTable has the outcome (right, wrong or unclear) of NPU elements that are finite, inf,
// -inf and NaN.
var nonFiniteTable = []struct{ ref, third, npu string }{
	{"f", "f", "-www"}, {"f", "+", "rruu"}, {"f", "-", "ruru"}, {"f", "n", "ruur"},
	{"+", "f", "rruu"}, {"+", "+", "wrww"}, {"+", "-", "urru"}, {"+", "n", "urur"},
	{"-", "f", "ruru"}, {"-", "+", "urru"}, {"-", "-", "wwrw"}, {"-", "n", "uurr"},
	{"n", "f", "ruur"}, {"n", "+", "urur"}, {"n", "-", "uurr"}, {"n", "n", "wwwr"},
}

func TestNonFinite(t *testing.T) {
	values := map[string]float64{"f": 1, "+": math.Inf(1), "-": math.Inf(-1), "n": math.NaN()}
	for _, row := range nonFiniteTable {
		for i, npu := range []string{"f", "+", "-", "n"} {
			for _, name := range Names() {
				want := row.npu[i : i+1]
				var third []float64
				if name.NeedsThird() {
					third = []float64{values[row.third]}
				} else if row.third != row.ref {
					continue // as without a third result
				}
				got := judgeOf(t, request(name, tensor.Float32, 1), []float64{values[row.ref]}, []float64{values[npu]}, third)
				counts, status := [3]int64{}, record.Pass
				switch want {
				case "r":
					counts[0] = 1
				case "w":
					counts[1], status = 1, record.Fail
				case "u":
					counts[2], status = 1, record.Warn
				}
				if counts != [3]int64{got.NonFinite.Right, got.NonFinite.Wrong, got.NonFinite.Unclear} || got.Status != status {
					t.Errorf("%s: reference %s, third %s, NPU %s: %+v, want %s", name, row.ref, row.third, npu, got, want)
				}
				if reasons := Reasons(got); (len(reasons) > 0) != (status != record.Pass) {
					t.Errorf("%s: %s with the reasons %v", name, got.Status, reasons)
				}
			}
		}
	}
	// Beyond the range of the NPU's type an infinity is right, another finite number is not.
	for _, tt := range []struct {
		ref, npu float64
		want     record.Status
	}{{65519, math.Inf(1), record.Fail}, {65520, math.Inf(1), record.Pass}, {-1e9, math.Inf(-1), record.Pass}, {1e9, math.Inf(-1), record.Fail}, {1e9, 65504, record.Fail}} {
		if got := judgeOf(t, request(Eco, tensor.Float16, 1), []float64{tt.ref}, []float64{tt.npu}, nil); got.Status != tt.want {
			t.Errorf("%v for %v: %+v, want %s", tt.npu, tt.ref, got, tt.want)
		}
	}
}

// slow computes the numbers of all standards from the formulas, element by element.
func slow(name Name, l float64, small, smallError float64, ref, npu, third []float64) map[string]float64 {
	var relN, relT, sqN, sqT, maxN, maxT, abs, failN, failT float64
	counted, whole, within := 0., 0., 0.
	for i, r := range ref {
		n, t := npu[i], r
		if third != nil {
			t = third[i]
		}
		if math.IsNaN(n*0) || math.IsNaN(r*0) || math.IsNaN(t*0) {
			if math.IsNaN(n) && math.IsNaN(r) || n == r {
				within++
			}
			continue
		}
		whole++
		dn, dt := math.Abs(n-r), math.Abs(t-r)
		sqN, sqT, abs = sqN+dn*dn, sqT+dt*dt, math.Max(abs, dn)
		if dn <= l+l*math.Abs(r) {
			within++
		}
		if name.NeedsThird() && math.Abs(r) < small {
			if dn > smallError {
				failN++
			}
			if dt > smallError {
				failT++
			}
			continue
		}
		counted++
		relN, relT = relN+dn/(math.Abs(r)+1e-7), relT+dt/(math.Abs(r)+1e-7)
		maxN, maxT = math.Max(maxN, dn/(math.Abs(r)+1e-7)), math.Max(maxT, dt/(math.Abs(r)+1e-7))
	}
	if name.NeedsThird() {
		return map[string]float64{maxRelativeRatio: maxN / maxT, meanRelativeRatio: relN / relT, rmsRatio: math.Sqrt(sqN / sqT), smallErrors: failN / math.Max(failT, 1)}
	}
	if name == Mixed {
		return map[string]float64{shareWithin: within / float64(len(ref)), maxAbs: abs}
	}
	return map[string]float64{meanRelative: relN / counted, maxRelative: maxN}
}

// TestSlow compares the pass with the formulas, over several blocks.
func TestSlow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, l := range limits {
		count := 2*blockElements + 777
		ref, npu, third := make([]float64, count), make([]float64, count), make([]float64, count)
		for i := range ref {
			ref[i] = rng.NormFloat64() * math.Exp2(float64(rng.IntN(16)-12))
			npu[i] = ref[i] * (1 + l.eco*rng.NormFloat64())
			third[i] = ref[i] * (1 + l.eco*rng.NormFloat64())
			switch rng.IntN(5000) {
			case 0:
				ref[i], npu[i], third[i] = math.NaN(), math.NaN(), 1
			case 1:
				npu[i] = math.Inf(1)
			case 2:
				third[i] = math.Inf(-1)
			}
		}
		for _, name := range Names() {
			req := request(name, l.dtype, count)
			req.HF32 = l.hf32
			x := third
			if !name.NeedsThird() {
				x = nil
			}
			got := judgeOf(t, req, ref, npu, x)
			for check, want := range slow(name, l.tolerance, l.small, l.most, ref, npu, x) {
				if c := checkOf(t, got, check); !(math.Abs(float64(c.Value)-want) <= 1e-12*want) {
					t.Errorf("%s of %v: %s is %v, want %v", name, l.dtype, check, c.Value, want)
				}
			}
		}
	}
}

// TestNarrow compares rounding with float32 and with all numbers of float16.
func TestNarrow(t *testing.T) {
	half, single := &table[0].format, &table[2].format
	for h := range uint16(0x7bff) {
		v, next := tensor.Float16To64(h), tensor.Float16To64(h+1)
		even := v
		if h&1 == 1 {
			even = next
		}
		middle := (v + next) / 2
		for x, want := range map[float64]float64{v: v, math.Nextafter(middle, 0): v, middle: even, math.Nextafter(middle, 1e9): next} {
			all := []float64{x, -x}
			half.RoundAll(all)
			if half.Round(x) != want || all[0] != want || all[1] != -want {
				t.Fatalf("%v is %v and %v in float16, want %v", x, half.Round(x), all, want)
			}
		}
		if got := half.Ulp(v); got != next-v {
			t.Fatalf("ulp of %v is %v, want %v", v, got, next-v)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100000 {
		x := math.Float64frombits(uint64(rng.Uint32())<<32 | uint64(rng.Uint32()))
		x = math.Ldexp(math.Copysign(0.5+math.Abs(math.Mod(x, 0.5)), x), rng.IntN(300)-155)
		want := float64(float32(x))
		if math.IsNaN(x) {
			continue
		}
		all := []float64{x}
		single.RoundAll(all)
		if single.Round(x) != want || all[0] != want {
			t.Fatalf("%v is %v and %v in float32, want %v", x, single.Round(x), all[0], want)
		}
	}
}

func TestMoved(t *testing.T) {
	negativeZero := math.Copysign(0, -1)
	for _, tt := range []struct {
		effective tensor.DType
		ref, npu  []float64
		want      float64
	}{
		{tensor.Float64, []float64{1, 2, math.NaN(), negativeZero}, []float64{1, 2, math.NaN(), negativeZero}, 0},
		{tensor.Float64, []float64{1, 2, 0}, []float64{1, math.Nextafter(2, 3), negativeZero}, 2},
		// A reference of another type is rounded to the NPU's type.
		{tensor.Float16, []float64{1 + 0x1p-11, 1 + 0x1p-11, math.NaN(), 1e9, 3}, []float64{1, 1 + 0x1p-10, math.NaN(), math.Inf(1), math.NaN()}, 2},
	} {
		req := request(L2, tt.effective, len(tt.ref))
		req.OpType = "TransposeD"
		if req.UsesThird() {
			t.Error("a transposition needs a third result")
		}
		got := judgeOf(t, req, tt.ref, tt.npu, nil)
		if c := checkOf(t, got, different); float64(c.Value) != tt.want || got.Rule != move || (got.Status == record.Pass) != (tt.want == 0) {
			t.Errorf("%v of %v: %+v, want %v different", tt.npu, tt.ref, got, tt.want)
		}
	}
}

// bytesOf is a tensor of small integers.
type bytesOf []byte

func (b bytesOf) ReadElements(dst []byte, first int64) error {
	copy(dst, b[first:])
	return nil
}

func TestIntegers(t *testing.T) {
	for _, tt := range []struct {
		opType string
		npu    byte
		want   record.Status
		text   string
	}{
		{"", 5, record.Pass, ""},
		{"ArgMax", 6, record.Fail, "largest difference 1 > 0 (integers)"},
		{"AscendQuant", 6, record.Pass, ""},
		{"AscendQuant", 7, record.Fail, "largest difference 2 > 1 (quantised)"},
		{"AscendDequant", 6, record.Fail, "largest difference 1 > 0 (integers)"},
	} {
		ref, npu := bytesOf{1, 5}, bytesOf{1, tt.npu}
		res, err := metrics.Compare(context.Background(), metrics.Request{Shape: tensor.Shape{2}, RefDType: tensor.Int8, NPUDType: tensor.Int8}, ref, npu)
		if err != nil {
			t.Fatal(err)
		}
		req := Request{Options: Options{Name: L0}, OpType: tt.opType, Total: 2, RefDType: tensor.Int8, NPUDType: tensor.Int8, Effective: tensor.Int8}
		got, err := Judge(context.Background(), req, res, ref, npu, nil)
		if err != nil || got.Status != tt.want || req.UsesThird() || !req.Applies() {
			t.Errorf("%s: %d for 5: %+v, %v, want %s", tt.opType, tt.npu, got, err, tt.want)
		}
		if reasons := Reasons(got); len(reasons) > 1 || tt.text != "" && reasons[0].Evidence.String() != tt.text {
			t.Errorf("%s: reasons %v, want %s", tt.opType, reasons, tt.text)
		}
	}
}

func TestReasons(t *testing.T) {
	got := Reasons(judgeOf(t, request(Eco, tensor.Float16, 4), []float64{1, 1, 1, 1}, []float64{1.3, 1, 1, math.Inf(1)}, nil))
	const want = "mean relative error 0.1 > 0.000977 (2^-10), max relative error 0.3 > 0.00977, wrong inf or NaN in 1 element (thresholds of float16)"
	if len(got) != 1 || got[0].Code != finding.NotStandard || got[0].Evidence.String() != want {
		t.Errorf("%+v, want %s", got, want)
	}
	if zh := got[0].Evidence.Text().Chinese(); !strings.Contains(zh, "平均相对误差 0.1 > 0.000977 (2^-10)，最大相对误差 0.3 > 0.00977") {
		t.Errorf("in Chinese %s", zh)
	}
	// Numbers with equal short forms are printed in full; a value equal to its limit says so if it
	// must be below.
	c := record.Check{Name: meanRelative, Value: jsonpos.Float(math.Nextafter(0x1p-10, 1)), Relation: "<", Limit: 0x1p-10}
	if text := failedText(&c).String(); text != "mean relative error 0.00097656250000000022 > 0.0009765625 (2^-10)" {
		t.Error(text)
	}
	c.Value = c.Limit
	if text := failedText(&c).String(); text != "mean relative error 0.000977 >= 0.000977 (2^-10)" {
		t.Error(text)
	}
}

func TestApplies(t *testing.T) {
	for _, tt := range []struct {
		ref, npu tensor.DType
		want     bool
	}{
		{tensor.Float32, tensor.Float16, true}, {tensor.Float64, tensor.Float64, true}, {tensor.Float32, tensor.Bool, true},
		{tensor.Complex64, tensor.Complex64, false}, {tensor.Float32, tensor.HiFloat8, false}, {tensor.Float32, tensor.Float4E2M1, false},
	} {
		req := Request{Options: Options{Name: Eco}, RefDType: tt.ref, NPUDType: tt.npu, Effective: tt.npu}
		if req.Applies() != tt.want {
			t.Errorf("%v and %v: %v, want %v", tt.ref, tt.npu, !tt.want, tt.want)
		}
	}
}

// failing is a tensor that cannot be read.
type failing struct{}

var errRead = errors.New("torn")

func (failing) ReadElements([]byte, int64) error { return errRead }

func TestErrors(t *testing.T) {
	good, bad := memory{1}, failing{}
	for _, sides := range [][3]metrics.Reader{{bad, good, good}, {good, bad, good}, {good, good, bad}} {
		if s, err := Judge(context.Background(), request(L0, tensor.Float16, 1), nil, sides[0], sides[1], sides[2]); s != nil || !errors.Is(err, errRead) {
			t.Errorf("%+v, %v", s, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if s, err := Judge(ctx, request(Eco, tensor.Float16, 1), nil, good, good, nil); s != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", s, err)
	}
	if s := judgeOf(t, request(Mixed, tensor.Float16, 0), nil, nil, nil); s.Status != record.Pass {
		t.Errorf("an empty tensor: %+v", s)
	}
}

func BenchmarkJudge(b *testing.B) {
	const count = 1 << 20
	ref := make(memory, count)
	for i := range ref {
		ref[i] = float64(i%1000) / 7
	}
	for _, name := range Names() {
		b.Run(string(name), func(b *testing.B) {
			b.SetBytes(count)
			var third metrics.Reader
			if name.NeedsThird() {
				third = ref
			}
			for range b.N {
				if _, err := Judge(context.Background(), request(name, tensor.Float16, count), nil, ref, ref, third); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
