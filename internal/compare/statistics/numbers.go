package statistics

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

const (
	// printedPrecision is the maximum relative difference of numbers that are equal as printed.
	printedPrecision = 1e-5
	// readingPrecision is the maximum relative difference between the norms or means of two readings of one tensor.
	readingPrecision = 3e-5
	// resolved is the smallest relative rounding error that statistics show. integers is the maximum relative
	// difference of the norms and means of equal integers, which are summed in float32.
	resolved = 1e-6
	integers = 2e-6
	// products is the smallest relative rounding error of matrix products: HF32 and TF32 are no faults.
	products = 0x1p-12
)

// sideStatistics are the statistics of a tensor on one side, with its type and shape.
type sideStatistics struct {
	record.SideStatistics
	dtype tensor.DType
	shape tensor.Shape
	n     float64 // elements, 1 where the shape is not known
	// normRounding is the relative rounding error of the norm and the mean if they were computed in 16 bits, else 0.
	normRounding float64
}

func newSideStatistics(s record.SideStatistics, dtype tensor.DType, shape tensor.Shape) *sideStatistics {
	x := &sideStatistics{SideStatistics: s, dtype: dtype, shape: shape, n: 1}
	for _, d := range shape {
		x.n *= float64(d)
	}
	return x
}

// hasRange reports whether the largest and smallest element are known; finite reports whether both are finite, so
// that all elements are.
func (x *sideStatistics) hasRange() bool { return x.Max.IsDefined() && x.Min.IsDefined() }

func (x *sideStatistics) isFinite() bool {
	return x.hasRange() && isFinite(x.Max.Value()) && isFinite(x.Min.Value())
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// isFloat reports whether the elements are floating-point numbers.
func (x *sideStatistics) isFloat() bool { return rounding[x.dtype] > 0 }

// rounding is half a unit in the last place of 1 in a type; integers have none.
var rounding = map[tensor.DType]float64{
	tensor.Float16: 0x1p-11, tensor.BFloat16: 0x1p-8, tensor.Float32: 0x1p-24, tensor.Complex64: 0x1p-24, tensor.Float64: 0x1p-53, tensor.Complex128: 0x1p-53,
}

// magnitude is the largest magnitude of the elements, 0 if it is not known.
func (x *sideStatistics) magnitude() float64 {
	if !x.hasRange() {
		return 0
	}
	return max(math.Abs(x.Max.Value()), math.Abs(x.Min.Value()))
}

// hasNorm reports whether the norm is known. A norm that was computed in float16 saturates at 65504 and counts as
// unknown.
func (x *sideStatistics) hasNorm() bool {
	return x.Norm.IsDefined() && isFinite(x.Norm.Value()) && !(x.normRounding > 0 && x.Norm.Value() >= 0.99*tensor.MaxFloat16)
}

// rms is the root mean square of the elements; half of the largest magnitude if the norm is not known.
func (x *sideStatistics) rms() float64 {
	switch {
	case !x.hasRange() || x.n == 0:
		return 0
	case !x.hasNorm():
		return x.magnitude() / 2
	}
	return x.Norm.Value() / math.Sqrt(x.n)
}

// deviation is the standard deviation of the elements, at least 1e-4 of the root mean square.
func (x *sideStatistics) deviation() float64 {
	r := x.rms()
	if !isFinite(x.Mean.Value()) {
		return r
	}
	return math.Sqrt(max(float64(r*r)-float64(x.Mean.Value()*x.Mean.Value()), 1e-8*r*r))
}

// masked is the largest element that stands for minus infinity in a mask. Masks are filled with the smallest number
// of a type, -65504, -1e9 or -inf.
const masked = -9000

// isMask reports whether the tensor is a mask, or scores to which a mask was added.
func (x *sideStatistics) isMask() bool {
	return x.isFloat() && x.hasRange() && x.Min.Value() <= masked && (x.Max.Value() <= masked || -x.Min.Value() >= 64*max(math.Abs(x.Max.Value()), 1e-3))
}

// withFill returns a mask with the fill value of another mask, so that the shares of masked elements can be compared.
func (x *sideStatistics) withFill(with *sideStatistics) *sideStatistics {
	y := *x
	y.SideStatistics = with.SideStatistics
	if x.Max.Value() > masked || with.Max.Value() > masked {
		y.Max = x.Max
	}
	k := with.Min.Value() / x.Min.Value()
	if isFinite(k*x.Mean.Value()) && isFinite(with.Mean.Value()) && isFinite(k*x.Norm.Value()) && isFinite(with.Norm.Value()) {
		y.Mean, y.Norm = metrics.NumberIf(k*x.Mean.Value(), x.Mean.IsDefined()), metrics.NumberIf(k*x.Norm.Value(), x.Norm.IsDefined())
	}
	return &y
}

// scale is the root mean square of the elements; of a mask, the largest unmasked element, at least 1.
func (x *sideStatistics) scale() float64 {
	if x.isMask() {
		return max(math.Abs(x.Max.Value()), 1)
	}
	return x.rms()
}

// isConstant reports whether the tensor has several elements, all equal.
func (x *sideStatistics) isConstant() bool {
	return x.n > 1 && x.hasRange() && x.Max.Value() == x.Min.Value()
}

// isSameReading reports whether two tensors of one side are readings of one tensor: max and min are equal, norm and mean
// nearly so.
func isSameReading(a, b *sideStatistics) bool {
	switch {
	case a == nil || b == nil || a.n != b.n:
		return false
	case !a.hasRange() || !b.hasRange():
		return a.Digest != "" && a.Digest == b.Digest
	case a.Digest != "" && b.Digest != "" && a.dtype == b.dtype && a.shape.Equal(b.shape) && !a.isFloat():
		return a.Digest == b.Digest
	case !a.isFinite():
		return isEqual(a.Max.Value(), b.Max.Value()) && isEqual(a.Min.Value(), b.Min.Value())
	case a.Max.Value() != b.Max.Value() || a.Min.Value() != b.Min.Value():
		return false
	}
	within := readingPrecision + float64(2*max(a.normRounding, b.normRounding))
	if a.hasNorm() && b.hasNorm() && math.Abs(a.Norm.Value()-b.Norm.Value()) > within*max(a.Norm.Value(), b.Norm.Value()) {
		return false
	}
	return !a.Mean.IsDefined() || !b.Mean.IsDefined() ||
		!(math.Abs(a.Mean.Value()-b.Mean.Value()) > within*max(a.rms(), b.rms(), math.Abs(a.Mean.Value())))
}

// isEqual reports whether two numbers are equal; NaN equals NaN.
func isEqual(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// mark is the key of a tensor in a memory: two readings of one tensor have the same mark; see near.
type mark struct {
	n, max, min float64
	digest      string
}

func (x *sideStatistics) memoryKey() mark {
	if !x.hasRange() {
		return mark{n: x.n, digest: x.Digest}
	}
	m := mark{n: x.n, max: x.Max.Value(), min: x.Min.Value()}
	for _, v := range []*float64{&m.max, &m.min} {
		if math.IsNaN(*v) { // NaN equals nothing, not even as a key of a map
			*v, m.digest = 0, m.digest+"NaN"
		}
	}
	return m
}

// difference is the error between two tensors as their statistics show it.
type difference struct {
	// norm is the relative difference of the norms. mean is the difference of the means relative to the root mean
	// square. bounds is the larger difference of max and min relative to the largest magnitude. z is the largest of
	// norm, mean and bounds.
	norm, mean, bounds, z float64
	// max, min and shift are the signed differences of max, min and mean: NPU minus reference.
	max, min, shift float64
	isSame          bool // no number differs
	hasOtherShape   bool // the shapes differ
	isLost          bool // the value is finite in the reference only
}

// differenceOf computes the difference between a tensor and its reference.
func differenceOf(ref, npu *sideStatistics) difference {
	d := difference{hasOtherShape: ref.shape != nil && npu.shape != nil && !ref.shape.Equal(npu.shape)}
	digests := hasSameDigestKind(ref, npu)
	if digests && (!ref.hasRange() || ref.dtype == npu.dtype) {
		d.isSame = ref.Digest == npu.Digest
	}
	if !ref.hasRange() || !npu.hasRange() {
		d.isSame = d.isSame || (ref.Digest == "" || npu.Digest == "") && !ref.hasRange() && !npu.hasRange()
		return d
	}
	equal := isEqual(ref.Max.Value(), npu.Max.Value()) && isEqual(ref.Min.Value(), npu.Min.Value()) && isEqual(ref.Norm.Value(), npu.Norm.Value()) && isEqual(ref.Mean.Value(), npu.Mean.Value()) &&
		ref.Norm.IsDefined() == npu.Norm.IsDefined() && ref.Mean.IsDefined() == npu.Mean.IsDefined()
	d.isSame = !d.hasOtherShape && (d.isSame || equal) && !(digests && ref.dtype == npu.dtype && ref.Digest != npu.Digest)
	if ref.isMask() && npu.isMask() && math.Abs(npu.Min.Value()-ref.Min.Value()) > printedPrecision*math.Abs(ref.Min.Value()) {
		npu = npu.withFill(ref)
	}
	if !ref.isFinite() || !npu.isFinite() {
		d.isLost = ref.isFinite()
		return d
	}
	if most := max(ref.magnitude(), npu.magnitude()); most > 0 {
		d.max, d.min = npu.Max.Value()-ref.Max.Value(), npu.Min.Value()-ref.Min.Value()
		d.bounds = max(math.Abs(d.max), math.Abs(d.min)) / most
	}
	if rms := max(ref.rms(), npu.rms()); rms > 0 {
		if ref.hasNorm() && npu.hasNorm() {
			d.norm = math.Abs(npu.Norm.Value()-ref.Norm.Value()) / max(npu.Norm.Value(), ref.Norm.Value())
		}
		if ref.Mean.IsDefined() && npu.Mean.IsDefined() && isFinite(ref.Mean.Value()) && isFinite(npu.Mean.Value()) {
			d.shift = npu.Mean.Value() - ref.Mean.Value()
			d.mean = math.Abs(d.shift) / rms
		}
	}
	d.z = max(d.norm, d.mean, d.bounds)
	if !ref.isFloat() && !d.hasOtherShape && d.bounds == 0 && d.norm < integers && d.mean < integers && !digests {
		d.isSame, d.z = true, 0
	}
	return d
}

// faultPattern names the form of the differences of a tensor, empty if it has no name.
func (v *value) faultPattern() string { return errorPattern(v.ref, v.npu, &v.difference) }

// errorPattern names the form in which four numbers differ from the numbers of the reference. The first rule that holds
// decides.
func errorPattern(ref, npu *sideStatistics, d *difference) string {
	most := ref.magnitude()
	switch {
	case !ref.hasNorm() || !npu.hasNorm() || most == 0 || !npu.isFinite():
		return ""
	case isFloat16(npu) && npu.magnitude() == tensor.MaxFloat16 && most < tensor.MaxFloat16:
		return string(finding.Saturation)
	case npu.magnitude() == 0:
		return string(finding.ZeroOutput)
	}
	k := 0.0
	if ref.Norm.Value() != 0 {
		k = npu.Norm.Value() / ref.Norm.Value()
	}
	within := max(0.02*math.Abs(k-1), 4*rounding[npu.dtype], printedPrecision)
	is := func(x, r, k float64) bool { return math.Abs(x-float64(k*r)) <= within*max(math.Abs(k), 1)*most }
	switch {
	case math.Abs(k-1) > max(1e-4, 2*within) && is(npu.Max.Value(), ref.Max.Value(), k) && is(npu.Min.Value(), ref.Min.Value(), k) &&
		(!ref.Mean.IsDefined() || !npu.Mean.IsDefined() || math.Abs(npu.Mean.Value()-float64(k*ref.Mean.Value())) <= max(within, 0.02)*ref.rms()*k):
		return fmt.Sprintf("%s x%.4g", finding.Scale, k)
	case math.Abs(k-1) < 0.02 && math.Abs(ref.Max.Value()+ref.Min.Value()) > 4*within*most && is(npu.Max.Value(), ref.Min.Value(), -1) && is(npu.Min.Value(), ref.Max.Value(), -1):
		return "SIGN"
	case d.max != 0 && math.Abs(d.max-d.min) <= 0.05*math.Abs(d.max) && math.Abs(d.shift-d.max) <= 0.05*math.Abs(d.max):
		return fmt.Sprintf("%s %+.4g", finding.Offset, d.max)
	case k < 1 && (d.max == 0 || d.min == 0) && d.norm > 0.01:
		return "PART"
	}
	return ""
}

func isFloat16(x *sideStatistics) bool { return x.dtype == tensor.Float16 }

// kinds are the patterns whose finding has another code, or that leave no doubt.
var kinds = map[string]struct {
	code    finding.Code
	certain bool
}{
	"SCALE": {finding.Scale, true}, "SIGN": {finding.Negated, true}, "SATURATION": {finding.Saturation, true},
	"PART": {code: finding.StatisticsDiffer}, "VALUE": {code: finding.StatisticsDiffer}, "NAN": {code: finding.NPUNaN}, "CONSTANT": {code: finding.ConstOutput},
}

// kindOf returns the code of a pattern, and whether the pattern leaves no doubt.
func kindOf(pattern string) (code finding.Code, certain bool) {
	word, _, _ := strings.Cut(pattern, " ")
	kind := kinds[word]
	return cmp.Or(kind.code, finding.Code(word)), kind.certain
}

// text formats the statistics of one side.
func (x *sideStatistics) text() lang.Sentence {
	if !x.hasRange() {
		return lang.Say("digest %s", x.Digest)
	}
	return lang.Say("max %s min %s mean %s norm %s", formatNumber(x.Max), formatNumber(x.Min), formatNumber(x.Mean), formatNumber(x.Norm))
}

// text formats the statistics of both sides.
func (v *value) text() lang.Sentence {
	if v.hasOtherShape {
		return lang.Say("shape %v, reference %v", v.npu.shape, v.ref.shape)
	}
	return lang.Say("%s; reference %s", v.npu.text(), v.ref.text())
}
