package diagnose

import (
	"fmt"
	"math"
	"strings"

	"dumptool/internal/tensor"
)

func zeroOutput(p *pair) (found, error) {
	r := p.result
	if p.errors == 0 || r.NPU.Zeros != r.Total || r.Ref.Zeros == r.Total {
		return found{}, nil
	}
	return foundf(High, "all %d NPU elements are 0, of the reference %d are", r.Total, r.Ref.Zeros), nil
}

func constOutput(p *pair) (found, error) {
	r := p.result
	low, high := r.NPU.Min, r.NPU.Max
	constant := low.Defined && low.Value == high.Value && r.NPU.NaN+r.NPU.PosInf+r.NPU.NegInf == 0
	if p.errors == 0 || !constant || r.Total < 2 || r.Complex || r.Ref.Min.Value == r.Ref.Max.Value {
		return found{}, nil
	}
	return foundf(High, "all %d NPU elements are %.6g, the reference goes from %.6g to %.6g",
		r.Total, low.Value, r.Ref.Min.Value, r.Ref.Max.Value), nil
}

func wrapped(p *pair) (found, error) {
	if n := p.result.WrappedErrors; n > 0 && n*100 >= p.errors*99 {
		return foundf(Medium, "%d of %d errors are the reference modulo 2^%d: the NPU wraps around where the reference exceeds %s",
			n, p.errors, p.request.NPUDType.Bits(), p.request.NPUDType), nil
	}
	return found{}, nil
}

func saturated(p *pair) (found, error) {
	if n := p.result.SaturatedErrors; n > 0 && n*100 >= p.errors*99 {
		return foundf(Medium, "%d of %d errors are at the limit of %s where the reference is beyond it",
			n, p.errors, p.request.NPUDType), nil
	}
	return found{}, nil
}

// minStale is the RED from which a tensor may be another one.
const minStale = 0.1

func duplicate(p *pair) (found, error) {
	r := p.result
	// Equal tensors that hold one value, or none, tell nothing; and of a stale
	// tensor and the one that it was, the second agrees with its reference.
	if p.input.OtherNPUDigests == nil || p.errors == 0 || r.RED.Defined && r.RED.Value < minStale || !r.Complex && r.NPU.Min.Value == r.NPU.Max.Value {
		return found{}, nil
	}
	others := p.input.OtherNPUDigests(r.NPUCRC, r.NPUSum, r.Total)
	if len(others) == 0 {
		return found{}, nil
	}
	more := ""
	if len(others) > 3 {
		others, more = others[:3], fmt.Sprintf(" and %d more", len(others)-3)
	}
	return foundf(Medium, "the NPU tensor is that of %s%s (CRC-32C %08x) although the references differ: a buffer that was not written",
		strings.Join(others, ", "), more, r.NPUCRC), nil
}

// The limits of a factor: the residual is relative to the reference.
const (
	maxResidual = 0.05
	minChange   = 0.02
)

// scaleFits reports whether n is about s*r, not by a few large elements alone.
func (p *pair) scaleFits() (s, residual float64, ok bool, err error) {
	r := p.result
	s, residual = r.Scale.Value, r.ScaleResidual.Value
	if p.errors == 0 || !r.Scale.Defined || residual >= maxResidual || math.Abs(s-1) <= minChange || s == 0 {
		return s, residual, false, nil
	}
	sample, err := p.sample()
	if err != nil {
		return s, residual, false, err
	}
	var f fit
	for i, n := range sample.n {
		f.add(p, n, sample.r[i], n, complex(s, 0)*sample.r[i])
	}
	return s, residual, f.closerThanHalf() && f.varied(), nil
}

// closerThanHalf is closer for a hypothesis with numbers of its own that are
// not exact.
func (f *fit) closerThanHalf() bool {
	return f.tried >= 4 && f.wrong > 0 && f.better > 9*f.worse && f.after <= 0.5*f.before
}

func negated(p *pair) (found, error) {
	s, residual, ok, err := p.scaleFits()
	if err != nil || !ok || math.Abs(s+1) > minChange {
		return found{}, err
	}
	return foundf(Medium, "n = %.4f r, residual %.2g < %g", s, residual, maxResidual), nil
}

func scaled(p *pair) (found, error) {
	s, residual, ok, err := p.scaleFits()
	if err != nil || !ok || p.displacement().residual*4 < residual*p.rms() {
		return found{}, err
	}
	name := scaleName(s, p.request.Shape)
	return foundf(Medium, "n = s r with s = %.6g%s, residual %.2g < %g", s, name, residual, maxResidual), nil
}

// rms of the reference, 0 when it is undefined.
func (p *pair) rms() float64 { return p.result.Ref.RMS.Value }

// displacement is an offset between n and r.
type displacement struct {
	mean     float64 // of d
	residual float64 // deviation of d, infinite when no offset fits
}

func (p *pair) displacement() displacement {
	r := p.result
	if r.Complex || !r.MeanD.Defined || !r.StdD.Defined {
		return displacement{residual: math.Inf(1)}
	}
	mean, std := r.MeanD.Value, r.StdD.Value
	// The reference may be about 0 everywhere.
	small := math.Max(maxResidual*p.rms(), 0.01*math.Abs(mean))
	if math.Abs(mean) <= 5*std || std > small {
		return displacement{residual: math.Inf(1)}
	}
	return displacement{mean, std}
}

func displaced(p *pair) (found, error) {
	dev := p.displacement()
	if p.errors == 0 || math.IsInf(dev.residual, 1) {
		return found{}, nil
	}
	if residual := p.result.ScaleResidual; residual.Defined && residual.Value*p.rms()*4 < dev.residual {
		return found{}, nil // a factor explains it much better
	}
	sample, err := p.sample()
	if err != nil {
		return found{}, err
	}
	var f fit
	for i, n := range sample.n {
		f.add(p, n, sample.r[i], n, sample.r[i]+complex(dev.mean, 0))
	}
	if !f.closerThanHalf() {
		return found{}, nil
	}
	return foundf(Medium, "n = r %+.6g: |mean d| > 5 x the deviation %.2g of d, which is small against the rms %.4g of the reference",
		dev.mean, dev.residual, p.rms()), nil
}

// biased holds if the signs of the differences are not balanced.
func biased(p *pair) (found, error) {
	r := p.result
	if p.errors == 0 || !r.BiasZ.Defined || math.Abs(r.BiasZ.Value) <= 6 || r.BiasCount < 1000 {
		return found{}, nil
	}
	return foundf(Low, "%.1f %% of the %d differing elements are too %s, z = %.1f beyond 6: one-sided rounding or a lost term",
		50*(1+math.Abs(r.Bias.Value)), r.BiasCount, direction(r.Bias.Value), r.BiasZ.Value), nil
}

func direction(bias float64) string {
	if bias > 0 {
		return "large"
	}
	return "small"
}

// scaleName names a factor near a number that faults are made of, as " (about
// 1/2: a hint)"; empty when it is near none.
func scaleName(s float64, shape tensor.Shape) string {
	near := func(x float64) bool { return math.Abs(s/x-1) < 0.01 }
	switch {
	case near(0.5):
		return " (about 1/2: a half-valued result)"
	case near(2):
		return " (about 2: added twice)"
	case near(1. / 255), near(1. / 256), near(255), near(256):
		return " (about 256 or 1/256: a normalization of 8-bit data)"
	}
	for e := 2; e <= 16; e++ {
		if near(math.Ldexp(1, e)) {
			return fmt.Sprintf(" (about 2^%d: a quantization scale)", e)
		}
		if near(math.Ldexp(1, -e)) {
			return fmt.Sprintf(" (about 1/2^%d: a quantization scale, or 1 over the square root of %d as in an attention)", e, int64(1)<<(2*e))
		}
	}
	for _, k := range append(lengths(shape), 64, 128, 256, 32, 16) {
		root := math.Sqrt(float64(k))
		switch {
		case near(1 / root), near(root):
			return fmt.Sprintf(" (about the square root of %d, or 1 over it, as in an attention)", k)
		case near(1 / float64(k)), near(float64(k)):
			return fmt.Sprintf(" (about %d, or 1 over it: a mean for a sum)", k)
		}
	}
	return ""
}

// lengths are the lengths of the axes beyond 1.
func lengths(shape tensor.Shape) []int64 {
	var all []int64
	for _, n := range shape {
		if n > 1 {
			all = append(all, n)
		}
	}
	return all
}
