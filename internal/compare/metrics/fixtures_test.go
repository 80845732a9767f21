package metrics

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dumptool/internal/tensor"
)

var (
	nan = math.NaN()
	inf = math.Inf(1)
)

// store returns elements of a type with the given values, which the type holds exactly or
// rounds as numpy does.
func store(d tensor.DType, values ...float64) memory {
	m := memory{size: d.UnitSize()}
	for _, x := range values {
		switch d {
		case tensor.Float16:
			code := uint16(math.Float64bits(x) >> 48 & 0x8000)
			switch {
			case x != x:
				code |= 0x7e00
			default:
				var magnitude [1]int64
				form := codesOf(d)
				form.round(magnitude[:], []float64{math.Abs(x)})
				code |= uint16(magnitude[0])
			}
			m.data = binary.LittleEndian.AppendUint16(m.data, code)
		case tensor.Float32:
			m.data = binary.LittleEndian.AppendUint32(m.data, math.Float32bits(float32(x)))
		case tensor.Float64:
			m.data = binary.LittleEndian.AppendUint64(m.data, math.Float64bits(x))
		case tensor.Int8, tensor.Uint8:
			m.data = append(m.data, byte(int64(x)))
		case tensor.Int32:
			m.data = binary.LittleEndian.AppendUint32(m.data, uint32(int32(x)))
		default:
			panic("no values of " + d.String())
		}
	}
	return m
}

// compareValues compares float32 values with values of a type.
func compareValues(t *testing.T, d tensor.DType, limits Limits, n, r []float64) *Result {
	t.Helper()
	refType := tensor.Float32
	if d != tensor.Float16 {
		refType = d
	}
	result, err := Compare(t.Context(), Request{
		Shape: tensor.Shape{int64(len(n))}, RefDType: refType, NPUDType: d, Limits: limits,
	}, store(refType, r...), store(d, n...))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// near reports whether a metric has a value; NaN stands for undefined.
func near(m Metric, want, tolerance float64) bool {
	if math.IsNaN(want) {
		return !m.IsDefined()
	}
	return m.IsDefined() && (m.Value() == want || math.Abs(m.Value()-want) <= tolerance*math.Abs(want))
}

// TestHPAAFixtures uses float64 on both sides if float16 would round the values; infinities
// are replaced as for float16.
func TestHPAAFixtures(t *testing.T) {
	for _, c := range []struct {
		name            string
		dtype           tensor.DType
		n, r            []float64
		errors          [3]int64 // by mode
		maxAbs, meanAbs float64
		maxRel, meanRel float64
		mean, std, rms  float64
	}{
		{"A", tensor.Float16, []float64{1, 2, 3, 4.5}, []float64{1, 2, 3, 4}, [3]int64{0, 0, 1}, 0, 0, 0.125, 0.03125, 2.5, 1.118034, 2.738613},
		{"B", tensor.Float64, []float64{1.3, 2, 0.004, -0.006}, []float64{1, 2, 0, 0}, [3]int64{2, 2, 3}, 0.3, 0.153, 0.3, 0.15, 0.75, 0.829156, 1.118034},
		{"C", tensor.Float16, []float64{nan, inf, 3, -inf}, []float64{1, 2, 3, 4}, [3]int64{3, 3, 3}, 65508, 43670.333333, 32751, 12282.25, 2.5, 1.118034, 2.738613},
		{"D", tensor.Float16, []float64{nan}, []float64{nan}, [3]int64{}, 0, 0, nan, nan, 0, 0, 0},
		{"E", tensor.Float64, []float64{1.203}, []float64{1}, [3]int64{0, 1, 1}, 0, 0, 0.203, 0.203, 1, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			for mode, want := range c.errors {
				r := compareValues(t, c.dtype, Limits{0.005, 0.2, Mode(mode)}, c.n, c.r)
				if r.HPAA.Count != want {
					t.Errorf("mode %d: %d errors, want %d", mode, r.HPAA.Count, want)
				}
				if mode != 0 {
					continue
				}
				h := &r.HPAA
				if !near(NumberOf(h.MaxAbs), c.maxAbs, 1e-6) || !near(NumberOf(h.MeanAbs), c.meanAbs, 1e-6) ||
					!near(h.MaxRel.Metric, c.maxRel, 1e-6) || !near(h.MeanRel, c.meanRel, 1e-6) ||
					!near(h.Mean, c.mean, 1e-6) || !near(h.Std, c.std, 1e-6) || !near(h.RMS, c.rms, 1e-6) {
					t.Errorf("%+v, want %+v", h, c)
				}
			}
		})
	}
}

func TestHPAAReplacedElement(t *testing.T) {
	r := compareValues(t, tensor.Float16, hpaaLimits, []float64{nan, inf, 3, -inf}, []float64{1, 2, 3, 4})
	first, last := r.HPAA.First, r.HPAA.Last
	if first.Offset != 0 || first.Abs != 1 || first.Rel != 1 || !math.IsNaN(first.NPU.Real) {
		t.Errorf("first %+v, want the NaN at 0 as a 0", first)
	}
	if last.Offset != 3 || last.Abs != 65508 || last.Rel != 16377 || last.NPU.Real != -inf {
		t.Errorf("last %+v, want -inf at 3 as -65504", last)
	}
	if r.Mismatch.First.Offset != 0 || !math.IsNaN(r.Mismatch.First.Abs) || r.StrictErrors() != 3 {
		t.Errorf("mismatch %+v", r.Mismatch)
	}
}

// TestPeerFixtures has inputs of other comparers, with their results, or the true values where
// those were wrong.
func TestPeerFixtures(t *testing.T) {
	const f = tensor.Float64
	for _, c := range []struct {
		name                                                     string
		n, r                                                     []float64
		cosine, maxAbs, accRel, red, meanAbs, rmse, maxRel, mean float64
	}{
		{"larger", []float64{1, 2, 3, 4.5}, []float64{1, 2, 3, 4}, .998295, .5, .125, .091287, .125, .25, .125, .03125},
		{"zero", []float64{0, 0, 0, 0}, []float64{1, 2, 3, 4}, 0, 4, 4, 1, 2.5, 2.738613, 1, 1},
		{"zero reference", []float64{1, 2, 3, 4}, []float64{0, 0, 0, 0}, 0, 4, nan, inf, 2.5, 2.738613, nan, nan},
		{"negated", []float64{1, -2, 3}, []float64{-1, 2, -3}, -1, 6, 6, 2, 4, 4.320494, 2, 2},
		{"constant", []float64{5, 5, 5, 5}, []float64{7, 7, 7, 7}, 1, 2, 1.142857, .285714, 2, 2, .285714, .285714},
		{"tiny reference", []float64{1, 1}, []float64{1e-17, 1e-17}, 1, 1, 2e17, 1e17, 1, 1, 1e17, 1e17},
		{"both zero", []float64{0, 0}, []float64{0, 0}, 1, 0, nan, 0, 0, 0, nan, nan},
		{"one", []float64{5}, []float64{1}, 1, 4, 4, 4, 4, 4, 4, 4},
		{"1e20", []float64{1e20, 1e20}, []float64{1e20, 1e20}, 1, 0, 0, 0, 0, 0, 0, 0},
		{"1e300", []float64{1e300, 2e300}, []float64{1e300, 2e300}, nan, 0, 0, nan, 0, 0, 0, 0},
		{"1e-300", []float64{1e-300, 2e-300}, []float64{1e-300, 4e-300}, nan, 2e-300, .5, nan, 1e-300, nan, .5, .25},
		{"zeros, then 1e-300", append(make([]float64, 3000), 1e-300), append(make([]float64, 3000), 2e-300), nan, 1e-300, .5, nan, 1e-300 / 3001, nan, .5, .5},
		{"largest", []float64{-math.MaxFloat64}, []float64{math.MaxFloat64}, nan, inf, inf, nan, inf, nan, inf, inf},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compareValues(t, f, hpaaLimits, c.n, c.r)
			for _, m := range []struct {
				name string
				got  Metric
				want float64
			}{
				{"cosine", r.Cosine, c.cosine}, {"max_abs", r.MaxAbs.Metric, c.maxAbs}, {"acc_rel", r.AccRel, c.accRel},
				{"red", r.RED, c.red}, {"mean_abs", r.MeanAbs, c.meanAbs}, {"rmse", r.RMSE, c.rmse},
				{"max_rel", r.MaxRel.Metric, c.maxRel}, {"mean_rel", r.MeanRel, c.mean},
			} {
				if !near(m.got, m.want, 2e-6) {
					t.Errorf("%s = %v, want %v", m.name, m.got, m.want)
				}
			}
		})
	}
}

// TestConventions has metrics whose formulas divide by zero.
func TestConventions(t *testing.T) {
	for _, c := range []struct {
		name                                                                       string
		n, r                                                                       []float64
		red, diff1, linf, cosine, pearson, sqnr, snr, psnr, scale, bias, p50, ulps float64
		zero                                                                       Zero
		undefined                                                                  int64
	}{
		{"both zero", []float64{0, 0}, []float64{0, 0}, 0, 0, 0, 1, nan, inf, inf, inf, nan, nan, 0, 0, BothZero, 0},
		{"zero reference", []float64{1, 2}, []float64{0, 0}, inf, inf, inf, 0, nan, -inf, -inf, -inf, nan, 1, math.Sqrt(1.125), 16384, OneZero, 2},
		{"zero npu", []float64{0, 0}, []float64{1, 2}, 1, 1, 1, 0, nan, 0, 0, 20 * math.Log10(2/math.Sqrt(2.5)), 0, -1, math.Sqrt(1.125), 16384, OneZero, 0},
		{"equal", []float64{1, 2}, []float64{1, 2}, 0, 0, 0, 1, 1, inf, inf, inf, 1, nan, 0, 0, NoneZero, 0},
		{"constant", []float64{3, 3}, []float64{2, 2}, .5, .5, .5, 1, nan, 20 * math.Log10(2), inf, 20 * math.Log10(2), 1.5, 1, 1, 512, NoneZero, 0},
		{"negative zero", []float64{math.Copysign(0, -1), 1}, []float64{0, 1}, 0, 0, 0, 1, 1, inf, inf, inf, 1, nan, 0, 0, NoneZero, 0},
		{"none finite", []float64{nan}, []float64{inf}, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, NoneZero, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compareValues(t, tensor.Float16, hpaaLimits, c.n, c.r)
			for _, m := range []struct {
				name string
				got  Metric
				want float64
			}{
				{"red", r.RED, c.red}, {"diff1", r.Diff1, c.diff1}, {"linf_rel", r.LinfRel, c.linf},
				{"cosine", r.Cosine, c.cosine}, {"pearson", r.Pearson, c.pearson}, {"sqnr", r.SQNR, c.sqnr},
				{"snr", r.SNR, c.snr}, {"psnr", r.PSNR, c.psnr}, {"scale", r.Scale, c.scale}, {"bias", r.Bias, c.bias},
				{"p50", r.AbsQuantiles.P50, c.p50}, {"ulp_max", r.ULPMax.Metric, c.ulps},
			} {
				if !near(m.got, m.want, 1e-12) {
					t.Errorf("%s = %v, want %v", m.name, m.got, m.want)
				}
			}
			if r.CosineZero != c.zero || r.RelUndefined != c.undefined {
				t.Errorf("zero %d, undefined %d, want %d, %d", r.CosineZero, r.RelUndefined, c.zero, c.undefined)
			}
		})
	}
}

func TestEmpty(t *testing.T) {
	e, err := New(Request{Shape: tensor.Shape{0, 3}, RefDType: tensor.Float32, NPUDType: tensor.Float16})
	if err != nil {
		t.Fatal(err)
	}
	if e.Segments() != 0 {
		t.Errorf("%d segments, want 0", e.Segments())
	}
	r := e.NewMerger().Finish()
	if r.Total != 0 || r.Start != nil || r.Cosine.IsDefined() || r.RED.IsDefined() || r.Ref.Mean.IsDefined() || r.HPAA.Mean.IsDefined() || r.Margin.IsDefined() {
		t.Errorf("%+v", r)
	}
}

// TestClassPairs has all 16 pairs of classes.
func TestClassPairs(t *testing.T) {
	values := [4]float64{Finite: 1, PosInf: inf, NegInf: -inf, NaN: nan}
	replaced := [4]float64{Finite: 1, PosInf: 65504, NegInf: -65504, NaN: 0}
	for cn, n := range values {
		for cr, ref := range values {
			r := compareValues(t, tensor.Float16, hpaaLimits, []float64{n}, []float64{ref})
			var classes Classes
			classes[cn][cr] = 1
			var strict, hpaa int64
			if cn != cr {
				strict = 1
			}
			if d := math.Abs(replaced[cn] - replaced[cr]); !(d <= 0.005+0.2*math.Abs(replaced[cr])) {
				hpaa = 1
			}
			if r.Classes != classes || r.StrictErrors() != strict || r.Mismatch.Count != strict || r.Differ != strict ||
				r.HPAA.Count != hpaa || r.HPAA.NonFinite != (cn != int(Finite)) || int64(len(r.ErrorOffsets)) != strict {
				t.Errorf("%v against %v: %+v", n, ref, r)
			}
			if r.HPAA.Mean.Value() != replaced[cr] || r.MaxAbs.IsDefined() != (cn == 0 && cr == 0) {
				t.Errorf("%v against %v: HPAA %+v, max %v", n, ref, r.HPAA, r.MaxAbs)
			}
		}
	}
}

func TestCounts(t *testing.T) {
	n := []float64{65504, 65504, inf, -65504, 0, 0x1p-20, 0x1p-20, 0, 1, 0}
	r := []float64{65504, 1e6, 1e6, 1, 1, 1, 0x1p-20, 0x1p-20, 65520, 0}
	got := compareValues(t, tensor.Float16, Limits{}, n, r)
	for name, c := range map[string][2]int64{
		"overflowed":       {got.Overflowed, 3},
		"underflowed":      {got.Underflowed, 2},
		"saturated both":   {got.SaturatedBoth, 1},
		"saturated npu":    {got.NPU.Saturated, 3},
		"saturated ref":    {got.Ref.Saturated, 1},
		"saturated errors": {got.SaturatedErrors, 1},
		"subnormal npu":    {got.NPU.Subnormal, 2},
		"subnormal ref":    {got.Ref.Subnormal, 0},
		"zeros npu":        {got.NPU.Zeros, 3},
		"zeros ref":        {got.Ref.Zeros, 1},
		"zero tail":        {got.ZeroTail, 1},
		"+inf":             {got.NPU.PosInf, 1},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %d, want %d", name, c[0], c[1])
		}
	}
}

func TestWrapped(t *testing.T) {
	r, err := Compare(t.Context(), Request{Shape: tensor.Shape{6}, RefDType: tensor.Int32, NPUDType: tensor.Int8},
		store(tensor.Int32, 300, -129, 127, 128, 128, 5), store(tensor.Int8, 44, 127, 127, -128, 127, 6))
	if err != nil {
		t.Fatal(err)
	}
	if r.WrappedErrors != 3 || r.SaturatedErrors != 1 || r.Beyond.Count != 5 || r.SaturatedBoth != 1 || r.NPU.Saturated != 4 {
		t.Errorf("%d wrapped, %d saturated, %d errors, %d both, %d npu", r.WrappedErrors, r.SaturatedErrors, r.Beyond.Count, r.SaturatedBoth, r.NPU.Saturated)
	}
}

func TestWideIntegers(t *testing.T) {
	for _, c := range []struct {
		n, r     int64
		unsigned bool
		want     float64
	}{
		{1<<53 + 1, 1 << 53, false, 1},
		{math.MinInt64, math.MaxInt64, false, 1<<64 - 1},
		{-1, 1, false, 2},
		{-1, 0, true, math.MaxUint64},
		{-1, -2, true, 1},
	} {
		d := tensor.Int64
		if c.unsigned {
			d = tensor.Uint64
		}
		n, r := binary.LittleEndian.AppendUint64(nil, uint64(c.n)), binary.LittleEndian.AppendUint64(nil, uint64(c.r))
		got, err := Compare(t.Context(), Request{Shape: tensor.Shape{1}, RefDType: d, NPUDType: d}, memory{r, 8}, memory{n, 8})
		if err != nil {
			t.Fatal(err)
		}
		if got.MaxAbs.Value() != c.want || got.Beyond.Count != 1 || got.Beyond.First.NPU.Int != uint64(c.n) || got.Differ != 1 {
			t.Errorf("%d - %d: %+v, want %v", c.n, c.r, got.MaxAbs, c.want)
		}
	}
}

func TestNewErrors(t *testing.T) {
	good := Request{Shape: tensor.Shape{4}, RefDType: tensor.Float32, NPUDType: tensor.Float16}
	for name, change := range map[string]func(r *Request){
		"ref type":      func(r *Request) { r.RefDType = tensor.String },
		"npu type":      func(r *Request) { r.NPUDType = 99 },
		"shape":         func(r *Request) { r.Shape = tensor.Shape{-1} },
		"shape too big": func(r *Request) { r.Shape = tensor.Shape{1 << 40, 1 << 40} },
		"atol":          func(r *Request) { r.Limits.Atol = nan },
		"rtol":          func(r *Request) { r.Limits.Rtol = -1 },
		"inf":           func(r *Request) { r.Limits.Rtol = inf },
		"mode":          func(r *Request) { r.Limits.Mode = 3 },
		"top":           func(r *Request) { r.Top = -1 },
	} {
		req := good
		change(&req)
		if e, err := New(req); err == nil || e != nil {
			t.Errorf("%s: engine %v, error %v", name, e, err)
		}
	}
}

// broken is a reader that fails.
type broken struct{ err error }

func (b broken) ReadElements([]byte, int64) error { return b.err }

func TestReaderErrors(t *testing.T) {
	failure := errors.New("disk on fire")
	req := Request{Shape: tensor.Shape{4}, RefDType: tensor.Float32, NPUDType: tensor.Float16}
	good := memory{make([]byte, 16), 4}
	for _, c := range []struct {
		ref, npu Reader
		side     string
	}{
		{broken{failure}, good, RefSide},
		{good, broken{failure}, NPUSide},
		{memory{make([]byte, 15), 4}, good, RefSide},
		{good, memory{make([]byte, 7), 2}, NPUSide},
	} {
		r, err := Compare(t.Context(), req, c.ref, c.npu)
		side, ok := errors.AsType[*SideError](err)
		if r != nil || !ok || side.Side != c.side {
			t.Errorf("result %v, error %v, want one of the %s", r, err, c.side)
		}
	}
}

// TestQuantiles compares quantiles with the quantiles of the sorted values.
func TestQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		r := make([]float64, 2000)
		n := make([]float64, len(r))
		for i := range n {
			n[i] = math.Exp(3 * rng.NormFloat64())
		}
		res := compareValues(t, tensor.Float64, hpaaLimits, n, r)
		slices.Sort(n)
		for share, got := range map[float64]Metric{0.5: res.AbsQuantiles.P50, 0.9: res.AbsQuantiles.P90, 0.999: res.AbsQuantiles.P999} {
			want := n[int(math.Ceil(share*float64(len(n))))-1]
			if !near(got, want, 0.061) {
				t.Errorf("quantile %g is %v, want %g within 6.1 %%", share, got, want)
			}
		}
	}
}

// TestEqualTensors: no rounding shows in the metrics of two equal tensors.
func TestEqualTensors(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		values := make([]float64, 1+rng.IntN(300))
		for i := range values {
			values[i] = rng.NormFloat64()
		}
		res := compareValues(t, tensor.Float64, hpaaLimits, values, values)
		if res.Cosine != NumberOf(1) || len(values) > 2 && res.Pearson != NumberOf(1) {
			t.Fatalf("cosine %v, Pearson %v", res.Cosine, res.Pearson)
		}
	}
}

// codesOf returns the codes of a binary floating-point type.
func codesOf(d tensor.DType) codes {
	f, _ := tensor.FloatOf(d)
	return codes{Float: f}
}
