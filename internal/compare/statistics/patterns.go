package statistics

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// pattern is what the differences of a tensor of the NPU look like, empty for nothing that
// has a name.
func (v *value) pattern() string { return pattern(v.ref, v.npu, &v.difference) }

// pattern compares four numbers with those of the reference. The first rule that holds
// decides.
func pattern(ref, npu *numbers, d *difference) string {
	most := ref.magnitude()
	switch {
	case !ref.normed() || !npu.normed() || most == 0 || !npu.finite():
		return ""
	case isFloat16(npu) && npu.magnitude() == largestHalf && most < largestHalf:
		return string(record.Saturation)
	case npu.magnitude() == 0:
		return string(record.ZeroOutput)
	}
	k := 0.0
	if ref.Norm.Value != 0 {
		k = npu.Norm.Value / ref.Norm.Value
	}
	within := max(0.02*math.Abs(k-1), 4*rounding[npu.dtype], alike)
	is := func(x, r, k float64) bool { return math.Abs(x-float64(k*r)) <= within*max(math.Abs(k), 1)*most }
	switch {
	case math.Abs(k-1) > 1e-4 && is(npu.Max.Value, ref.Max.Value, k) && is(npu.Min.Value, ref.Min.Value, k) &&
		(!ref.Mean.Defined || !npu.Mean.Defined || math.Abs(npu.Mean.Value-float64(k*ref.Mean.Value)) <= max(within, 0.02)*ref.rms()*k):
		return fmt.Sprintf("%s x%.4g", record.Scale, k)
	case math.Abs(k-1) < 0.02 && math.Abs(ref.Max.Value+ref.Min.Value) > 4*within*most && is(npu.Max.Value, ref.Min.Value, -1) && is(npu.Min.Value, ref.Max.Value, -1):
		return "SIGN"
	case d.max != 0 && math.Abs(d.max-d.min) <= 0.05*math.Abs(d.max) && math.Abs(d.shift-d.max) <= 0.05*math.Abs(d.max):
		return fmt.Sprintf("%s %+.4g", record.Offset, d.max)
	case k < 1 && (d.max == 0 || d.min == 0) && d.norm > 0.01:
		return "PART"
	}
	return ""
}

func isFloat16(x *numbers) bool { return x.dtype == tensor.Float16 }

// kinds are the patterns that leave no doubt, and those whose code has another name.
var kinds = map[string]struct {
	code    record.Code
	certain bool
}{
	"SCALE": {record.Scale, true}, "SIGN": {record.Negated, true}, "SATURATION": {record.Saturation, true},
	"PART": {code: record.StatisticsDiffer}, "VALUE": {code: record.StatisticsDiffer}, "NAN": {code: record.NPUNaN}, "CONSTANT": {code: record.ConstOutput},
}

// kindOf is the code of a pattern, and whether that leaves no doubt.
func kindOf(pattern string) (code record.Code, certain bool) {
	word, _, _ := strings.Cut(pattern, " ")
	kind := kinds[word]
	return cmp.Or(kind.code, record.Code(word)), kind.certain
}

// text are the numbers of a side.
func (x *numbers) text() lang.Sentence {
	if !x.known() {
		return lang.Sayf("digest %s", "摘要 %s", x.Digest)
	}
	return lang.Sayf("max %s min %s mean %s norm %s", "max %s min %s mean %s norm %s", short(x.Max), short(x.Min), short(x.Mean), short(x.Norm))
}

// text are the numbers of both sides.
func (v *value) text() lang.Sentence {
	if v.shape {
		return lang.Sayf("shape %v, reference %v", "形状 %v，标杆 %v", v.npu.shape, v.ref.shape)
	}
	return lang.Sayf("%s; reference %s", "%s；标杆 %s", v.npu.text(), v.ref.text())
}
