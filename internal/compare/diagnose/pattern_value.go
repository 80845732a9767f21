package diagnose

import (
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

func zeroOutput(p *pair) lang.Sentence {
	r := p.result
	if p.errors == 0 || r.NPU.Zeros != r.Total || r.Ref.Zeros == r.Total {
		return lang.Sentence{}
	}
	return lang.Sayf("all %d NPU elements are 0, the reference has %d zeros", "%d 个 NPU 元素全部为 0，标杆有 %d 个 0", r.Total, r.Ref.Zeros)
}

func constOutput(p *pair) lang.Sentence {
	r := p.result
	low, high := r.NPU.Min, r.NPU.Max
	constant := low.Defined && low.Value == high.Value && r.NPU.NaN+r.NPU.PosInf+r.NPU.NegInf == 0
	if p.errors == 0 || !constant || r.Total < 2 || r.Complex || r.Ref.Min.Value == r.Ref.Max.Value {
		return lang.Sentence{}
	}
	return lang.Sayf("all %d NPU elements are %s, the reference ranges from %s to %s", "%d 个 NPU 元素全部为 %s，标杆范围为 %s 到 %s",
		r.Total, element(low.Value), element(r.Ref.Min.Value), element(r.Ref.Max.Value))
}

func wrapped(p *pair) lang.Sentence {
	if n := p.result.WrappedErrors; n > 0 && n*100 >= p.errors*99 {
		return lang.Sayf("%d of %d errors are the reference modulo 2^%d, where it is beyond the range of %s",
			"%d/%d 个错误元素等于标杆对 2^%d 取模，标杆超出 %s 的范围",
			n, p.errors, p.request.NPUDType.Bits(), p.request.NPUDType)
	}
	return lang.Sentence{}
}

func saturated(p *pair) lang.Sentence {
	if n := p.result.SaturatedErrors; n > 0 && n*100 >= p.errors*99 {
		return lang.Sayf("%d of %d errors are at the limit of %s, where the reference is beyond it",
			"%d/%d 个错误元素达到 %s 的极限，标杆超出该极限",
			n, p.errors, p.request.NPUDType)
	}
	return lang.Sentence{}
}

// The limits of a factor: the residual is relative to the reference.
const (
	maxResidual = 0.05
	minChange   = 0.02
)

// scaleFits reports whether n is about s*r, not by a few large elements alone.
func (p *pair) scaleFits() (s, residual float64, ok bool) {
	r := p.result
	s, residual = r.Scale.Value, r.ScaleResidual.Value
	if p.errors == 0 || !r.Scale.Defined || residual >= maxResidual || math.Abs(s-1) <= minChange || s == 0 {
		return s, residual, false
	}
	f := p.fitOf(func(r complex128) complex128 { return complex(float64(s*real(r)), float64(s*imag(r))) })
	return s, residual, f.closerThanHalf() && f.varied()
}

// fitOf compares the NPU elements of the sample with a function of the reference.
func (p *pair) fitOf(want func(r complex128) complex128) (f fit) {
	s := p.sample()
	for i, n := range s.n {
		f.add(p, n, s.r[i], n, want(s.r[i]))
	}
	return f
}

// closerThanHalf is closer for a hypothesis with numbers of its own that are
// not exact.
func (f *fit) closerThanHalf() bool {
	return f.tried >= 4 && f.wrong > 0 && f.better > 9*f.worse && f.after <= 0.5*f.before
}

func negated(p *pair) lang.Sentence {
	s, residual, ok := p.scaleFits()
	if !ok || math.Abs(s+1) > minChange {
		return lang.Sentence{}
	}
	return lang.Sayf("NPU = %s x reference, residual %s < %g", "NPU = %s x 标杆，残差 %s < %g", element(s), number(residual), maxResidual)
}

func scaled(p *pair) lang.Sentence {
	s, residual, ok := p.scaleFits()
	if _, deviation := p.displacement(); !ok || deviation*4 < residual*p.rms() {
		return lang.Sentence{}
	}
	return lang.Sayf("NPU = %s x reference, residual %s < %g%s", "NPU = %s x 标杆，残差 %s < %g%s", element(s), number(residual), maxResidual, scaleName(s, p.request.Shape))
}

// rms of the reference, 0 when it is undefined.
func (p *pair) rms() float64 { return p.result.Ref.RMS.Value }

// displacement is an offset between n and r: the mean and the deviation of d, which is
// infinite where no offset fits.
func (p *pair) displacement() (mean, deviation float64) {
	r := p.result
	mean, deviation = r.MeanD.Value, r.StdD.Value
	// The reference may be about 0 everywhere.
	small := math.Max(maxResidual*p.rms(), 0.01*math.Abs(mean))
	if r.Complex || !r.MeanD.Defined || !r.StdD.Defined || math.Abs(mean) <= 5*deviation || deviation > small {
		return 0, math.Inf(1)
	}
	return mean, deviation
}

func displaced(p *pair) lang.Sentence {
	mean, deviation := p.displacement()
	residual := p.result.ScaleResidual
	if p.errors == 0 || math.IsInf(deviation, 1) || residual.Defined && residual.Value*p.rms()*4 < deviation { // a factor explains it much better
		return lang.Sentence{}
	}
	if f := p.fitOf(func(r complex128) complex128 { return r + complex(mean, 0) }); !f.closerThanHalf() {
		return lang.Sentence{}
	}
	return lang.Sayf("NPU = reference %+.6g, |mean d| > 5 x std of d (%s), rms of the reference %s",
		"NPU = 标杆 %+.6g，|d 的均值| > 5 x d 的标准差(%s)，标杆的均方根 %s",
		mean, number(deviation), number(p.rms()))
}

// The limits of a bias: of its z score, and of the elements that differ.
const (
	minBiasZ  = 6
	minBiased = 1000
)

// biased holds if the signs of the differences are not balanced.
func biased(p *pair) lang.Sentence {
	r, side := p.result, lang.Text{EN: "small", ZH: "小"}
	if p.errors == 0 || !r.BiasZ.Defined || math.Abs(r.BiasZ.Value) <= minBiasZ || r.BiasCount < minBiased {
		return lang.Sentence{}
	}
	if r.Bias.Value > 0 {
		side = lang.Text{EN: "large", ZH: "大"}
	}
	return lang.Sayf("%s %% of the %d differing elements are too %s, |z| = %s > %d (one-sided rounding or a lost term?)",
		"%s %% 的差异元素(共 %d 个)偏%s，|z| = %s > %d(单向舍入或缺少一项？)",
		number(100*(1+math.Abs(r.Bias.Value))/2), r.BiasCount, side, number(math.Abs(r.BiasZ.Value)), minBiasZ)
}

// scaleName names a factor near a number that faults are made of, as
// "; 1/2 (halved?)"; it says nothing where the factor is near none.
func scaleName(s float64, shape tensor.Shape) lang.Sentence {
	near := func(x float64) bool { return math.Abs(float64(s/x)-1) < 0.01 }
	switch {
	case near(0.5):
		return lang.Sayf("; about 1/2 (halved?)", "；约 1/2(被减半？)")
	case near(2):
		return lang.Sayf("; about 2 (added twice?)", "；约 2(重复相加？)")
	case near(1. / 255), near(1. / 256), near(255), near(256):
		return lang.Sayf("; about 256 or 1/256 (normalization of 8-bit data?)", "；约 256 或 1/256(8 位数据的归一化？)")
	}
	for e := 2; e <= 16; e++ {
		if near(math.Ldexp(1, e)) {
			return lang.Sayf("; about 2^%d (quantization scale?)", "；约 2^%d(量化 scale？)", e)
		}
		if near(math.Ldexp(1, -e)) {
			return lang.Sayf("; about 2^-%d (quantization scale, or 1/sqrt(%d) of an attention?)", "；约 2^-%d(量化 scale，或 attention 的 1/sqrt(%d)？)", e, int64(1)<<(2*e))
		}
	}
	lengths := slices.DeleteFunc(slices.Clone(shape), func(n int64) bool { return n <= 1 })
	for _, k := range append(lengths, 64, 128, 256, 32, 16) {
		root := math.Sqrt(float64(k))
		switch {
		case near(1 / root), near(root):
			return lang.Sayf("; about sqrt(%d) or 1/sqrt(%d) (attention?)", "；约 sqrt(%d) 或 1/sqrt(%d)(attention？)", k, k)
		case near(1 / float64(k)), near(float64(k)):
			return lang.Sayf("; about %d or 1/%d (mean for sum?)", "；约 %d 或 1/%d(求和与求均值混淆？)", k, k)
		}
	}
	return lang.Sentence{}
}
