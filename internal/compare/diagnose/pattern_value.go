package diagnose

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// npuNonFinite counts the elements that are NaN or infinite on the NPU and finite in the reference.
func npuNonFinite(r *metrics.Result) int64 {
	return r.Classes[metrics.NaN][metrics.Finite] + r.Classes[metrics.PosInf][metrics.Finite] + r.Classes[metrics.NegInf][metrics.Finite]
}

// refNonFinite counts the elements that are finite on the NPU: all where the reference is NaN or infinite, nan where it
// is NaN.
func refNonFinite(r *metrics.Result) (all, nan int64) {
	nan = r.Classes[metrics.Finite][metrics.NaN]
	return nan + r.Classes[metrics.Finite][metrics.PosInf] + r.Classes[metrics.Finite][metrics.NegInf], nan
}

// modelNaN returns evidence of NaN and infinities that the model itself makes, on both sides or
// in the reference.
func modelNaN(r *metrics.Result) lang.Sentence {
	var parts []lang.Sentence
	all, nan := refNonFinite(r)
	if nan > 0 {
		parts = append(parts, lang.Say("%d of %d elements are NaN in the reference and finite on the NPU", nan, r.Total))
	}
	if all > nan {
		parts = append(parts, lang.Say("%d of %d elements are infinite in the reference and finite on the NPU", all-nan, r.Total))
	}
	if both := r.Classes[metrics.NaN][metrics.NaN] + r.Classes[metrics.PosInf][metrics.PosInf] + r.Classes[metrics.NegInf][metrics.NegInf]; both > 0 {
		parts = append(parts, lang.Say("%d of %d elements are NaN or the same infinity on both sides "+
			"(infinite parameter, log or sqrt of a negative number, 0/0?)", both, r.Total))
	}
	return lang.Join(parts, semicolon)
}

// testModelNaN is modelNaN for pairs without errors.
func testModelNaN(p *pair) lang.Sentence {
	if p.errors > 0 {
		return lang.Sentence{}
	}
	return modelNaN(p.result)
}

// testReferenceNaN is modelNaN for pairs with NaN or infinity in the reference at every error.
func testReferenceNaN(p *pair) lang.Sentence {
	if all, _ := refNonFinite(p.result); all == 0 || all != p.errors {
		return lang.Sentence{}
	}
	return modelNaN(p.result)
}

// halfOverflow returns evidence of NaN and infinities caused by numbers beyond
// float16.
func halfOverflow(r *metrics.Result) lang.Sentence {
	bad := npuNonFinite(r)
	if bad == 0 {
		return lang.Sentence{}
	}
	if largest := r.Ref.Largest(); largest > tensor.MaxFloat16 {
		return lang.Say("%s; max |reference| is %s > %d, the float16 maximum",
			nonFiniteText(r), element(largest), tensor.MaxFloat16)
	}
	if r.NPU.Saturated > 0 && r.NPUDType == tensor.Float16 {
		return lang.Say("%s; %d NPU elements are at the float16 maximum %d",
			nonFiniteText(r), r.NPU.Saturated, tensor.MaxFloat16)
	}
	return lang.Sentence{}
}

func nonFiniteText(r *metrics.Result) lang.Sentence {
	return lang.Say("%d of %d NPU elements are NaN or infinite where the reference is finite", npuNonFinite(r), r.Total)
}

// overflowConfidence is low if the NPU type is not float16: then only an intermediate
// may have been float16.
func overflowConfidence(r *metrics.Result) finding.Confidence {
	switch {
	case r.NPUDType != tensor.Float16:
		return finding.Low
	case npuNonFinite(r) == 0:
		return finding.Medium
	default:
		return finding.High
	}
}

func testOverflow(p *pair) lang.Sentence {
	r := p.result
	p.confidence = overflowConfidence(r)
	if text := halfOverflow(r); !text.IsZero() {
		return text
	}
	if largest := r.Ref.Largest(); r.NPUDType == tensor.Float16 && r.SaturatedErrors > 0 && largest > tensor.MaxFloat16 {
		return lang.Say("%d errors are at the float16 maximum %d; max |reference| is %s", r.SaturatedErrors, tensor.MaxFloat16, element(largest))
	}
	return lang.Sentence{}
}

// npuNaN returns evidence of NaN and infinities on the NPU alone.
func npuNaN(r *metrics.Result) lang.Sentence {
	if npuNonFinite(r) == 0 {
		return lang.Sentence{}
	}
	return lang.Say("%s, with max |reference| %s (large products or tiny divisors in the inputs?)", nonFiniteText(r), element(r.Ref.Largest()))
}

func testNPUNaN(p *pair) lang.Sentence { return npuNaN(p.result) }

// minFlushed is the number of errors from which on exact cancellation is no
// explanation.
const minFlushed = 4

// testUnderflow tests whether the errors are zeros and subnormal numbers beside small, but larger
// references.
func testUnderflow(p *pair) lang.Sentence {
	format, ok := precisionOf(p.request.NPUDType)
	if !ok || p.errors == 0 {
		return lang.Sentence{}
	}
	// A sum of products that all underflow may exceed each product.
	small := format.minNormal * 1024
	flushed, errors := 0, p.knownErrors()
	n, r := p.pairsAt(errors)
	for i := range errors {
		if n, r := magnitude(n[i]), magnitude(r[i]); n < format.minNormal && r > n && r < small {
			flushed++
		}
	}
	if flushed < minFlushed || flushed*10 < len(errors)*9 {
		return lang.Sentence{}
	}
	return lang.Say("%d of %d inspected errors are 0 or subnormal in %s, with |reference| < %s; the reference is a normal number at %d such elements",
		flushed, len(errors), p.request.NPUDType, number(small), p.result.Underflowed)
}

func testZeroOutput(p *pair) lang.Sentence {
	r := p.result
	if p.errors == 0 || r.NPU.Zeros != r.Total || r.Ref.Zeros == r.Total {
		return lang.Sentence{}
	}
	return lang.Say("all %d NPU elements are 0, the reference has %d zeros", r.Total, r.Ref.Zeros)
}

func testConstOutput(p *pair) lang.Sentence {
	r := p.result
	low, high := r.NPU.Min, r.NPU.Max
	constant := low.IsDefined() && low.Value() == high.Value() && r.NPU.NaN+r.NPU.PosInf+r.NPU.NegInf == 0
	if p.errors == 0 || !constant || r.Total < 2 || r.Complex || r.Ref.Min.Value() == r.Ref.Max.Value() {
		return lang.Sentence{}
	}
	return lang.Say("all %d NPU elements are %s, the reference ranges from %s to %s",
		r.Total, element(low.Value()), element(r.Ref.Min.Value()), element(r.Ref.Max.Value()))
}

func testWrapped(p *pair) lang.Sentence {
	if n := p.result.WrappedErrors; n > 0 && n*100 >= p.errors*99 {
		return lang.Say("%d of %d errors are the reference modulo 2^%d, where it is beyond the range of %s",
			n, p.errors, p.request.NPUDType.Bits(), p.request.NPUDType)
	}
	return lang.Sentence{}
}

func testSaturated(p *pair) lang.Sentence {
	if n := p.result.SaturatedErrors; n > 0 && n*100 >= p.errors*99 {
		return lang.Say("%d of %d errors are at the limit of %s, where the reference is beyond it",
			n, p.errors, p.request.NPUDType)
	}
	return lang.Sentence{}
}

// Limits of a factor; the residual is relative to the reference.
const (
	maxResidual = 0.05
	minChange   = 0.02
)

// fitScale reports whether n is about s*r, not only due to a few large elements.
func (p *pair) fitScale() (s, residual float64, ok bool) {
	r := p.result
	s, residual = r.Scale.Value(), r.ScaleResidual.Value()
	if p.errors == 0 || !r.Scale.IsDefined() || residual >= maxResidual || math.Abs(s-1) <= minChange || s == 0 {
		return s, residual, false
	}
	f := p.tryFunction(func(r complex128) complex128 { return complex(float64(s*real(r)), float64(s*imag(r))) })
	return s, residual, f.isCloserThanHalf() && f.isVaried()
}

// tryFunction compares the NPU elements of the sample with a function of the reference.
func (p *pair) tryFunction(want func(r complex128) complex128) (f hypothesisFit) {
	s := p.sample()
	for i, n := range s.n {
		f.add(p, n, s.r[i], n, want(s.r[i]))
	}
	return f
}

// isCloserThanHalf is a weaker closeness test, for hypotheses with estimated
// numbers.
func (f *hypothesisFit) isCloserThanHalf() bool {
	return f.tried >= 4 && f.wrong > 0 && f.better > 9*f.worse && f.after <= 0.5*f.before
}

func testNegated(p *pair) lang.Sentence {
	s, residual, ok := p.fitScale()
	if !ok || math.Abs(s+1) > minChange {
		return lang.Sentence{}
	}
	return lang.Say("NPU = %s x reference, residual %s < %g", element(s), number(residual), maxResidual)
}

func testScaled(p *pair) lang.Sentence {
	s, residual, ok := p.fitScale()
	if _, deviation := p.fitOffset(); !ok || deviation*4 < residual*p.rms() {
		return lang.Sentence{}
	}
	return lang.Say("NPU = %s x reference, residual %s < %g%s", element(s), number(residual), maxResidual, scaleName(s, p.request.Shape))
}

// rms returns the root mean square of the reference, 0 if undefined.
func (p *pair) rms() float64 { return p.result.Ref.RMS.Value() }

// fitOffset returns an offset between n and r: the mean and the deviation of d. deviation is
// infinite if no offset fits.
func (p *pair) fitOffset() (mean, deviation float64) {
	r := p.result
	mean, deviation = r.MeanD.Value(), r.StdD.Value()
	// The reference may be about 0 everywhere.
	small := math.Max(maxResidual*p.rms(), 0.01*math.Abs(mean))
	if r.Complex || !r.MeanD.IsDefined() || !r.StdD.IsDefined() || math.Abs(mean) <= 5*deviation || deviation > small {
		return 0, math.Inf(1)
	}
	return mean, deviation
}

func testDisplaced(p *pair) lang.Sentence {
	mean, deviation := p.fitOffset()
	residual := p.result.ScaleResidual
	if p.errors == 0 || math.IsInf(deviation, 1) || residual.IsDefined() && residual.Value()*p.rms()*4 < deviation { // a factor explains it much better
		return lang.Sentence{}
	}
	if f := p.tryFunction(func(r complex128) complex128 { return r + complex(mean, 0) }); !f.isCloserThanHalf() {
		return lang.Sentence{}
	}
	return lang.Say("NPU = reference %+.6g, |mean d| > 5 x std of d (%s), rms of the reference %s",
		mean, number(deviation), number(p.rms()))
}

// Limits of a bias: the minimum |z|, and the minimum number of differing elements.
const (
	minBiasZ  = 6
	minBiased = 1000
)

// testBiased tests whether the signs of the differences are unbalanced.
func testBiased(p *pair) lang.Sentence {
	r, side := p.result, lang.Text{EN: "small"}
	if p.errors == 0 || !r.BiasZ.IsDefined() || math.Abs(r.BiasZ.Value()) <= minBiasZ || r.BiasCount < minBiased {
		return lang.Sentence{}
	}
	if r.Bias.Value() > 0 {
		side = lang.Text{EN: "large"}
	}
	return lang.Say("%s %% of the %d differing elements are too %s, |z| = %s > %d (one-sided rounding or a lost term?)",
		number(100*(1+math.Abs(r.Bias.Value()))/2), r.BiasCount, side, number(math.Abs(r.BiasZ.Value())), minBiasZ)
}

// scaleName names a factor near a typical number of a fault, as "; 1/2 (halved?)"; empty if
// there is none.
func scaleName(s float64, shape tensor.Shape) lang.Sentence {
	near := func(x float64) bool { return math.Abs(float64(s/x)-1) < 0.01 }
	switch {
	case near(0.5):
		return lang.Say("; about 1/2 (halved?)")
	case near(2):
		return lang.Say("; about 2 (added twice?)")
	case near(1. / 255), near(1. / 256), near(255), near(256):
		return lang.Say("; about 256 or 1/256 (normalization of 8-bit data?)")
	}
	for e := 2; e <= 16; e++ {
		if near(math.Ldexp(1, e)) {
			return lang.Say("; about 2^%d (quantization scale?)", e)
		}
		if near(math.Ldexp(1, -e)) {
			return lang.Say("; about 2^-%d (quantization scale, or 1/sqrt(%d) of an attention?)", e, int64(1)<<(2*e))
		}
	}
	lengths := slices.DeleteFunc(slices.Clone(shape), func(n int64) bool { return n <= 1 })
	for _, k := range append(lengths, 64, 128, 256, 32, 16) {
		root := math.Sqrt(float64(k))
		switch {
		case near(1 / root), near(root):
			return lang.Say("; about sqrt(%d) or 1/sqrt(%d) (attention?)", k, k)
		case near(1 / float64(k)), near(float64(k)):
			return lang.Say("; about %d or 1/%d (mean for sum?)", k, k)
		}
	}
	return lang.Sentence{}
}
