package diagnose

import (
	"math"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// bothNonFinite counts the pairs that are NaN or the same infinity.
func bothNonFinite(r *metrics.Result) int64 {
	return r.Classes[metrics.NaN][metrics.NaN] + r.Classes[metrics.PosInf][metrics.PosInf] + r.Classes[metrics.NegInf][metrics.NegInf]
}

// npuNonFinite counts the NaN and infinities of the NPU whose reference is
// finite.
func npuNonFinite(r *metrics.Result) int64 {
	return r.Classes[metrics.NaN][metrics.Finite] + r.Classes[metrics.PosInf][metrics.Finite] + r.Classes[metrics.NegInf][metrics.Finite]
}

// refNonFinite counts the NaN and infinities of the reference whose NPU element
// is finite, and those that are NaN.
func refNonFinite(r *metrics.Result) (all, nan int64) {
	nan = r.Classes[metrics.Finite][metrics.NaN]
	return nan + r.Classes[metrics.Finite][metrics.PosInf] + r.Classes[metrics.Finite][metrics.NegInf], nan
}

// modelNaN is the evidence for NaN and infinities that the model itself makes,
// on both sides or in the reference.
func modelNaN(r *metrics.Result) lang.Sentence {
	var parts []lang.Sentence
	all, nan := refNonFinite(r)
	if nan > 0 {
		parts = append(parts, lang.Sayf("%d of %d elements are NaN in the reference and finite on the NPU",
			"%d/%d 个元素标杆为 NaN，NPU 为有限值", nan, r.Total))
	}
	if all > nan {
		parts = append(parts, lang.Sayf("%d of %d elements are infinite in the reference and finite on the NPU",
			"%d/%d 个元素标杆为 inf，NPU 为有限值", all-nan, r.Total))
	}
	if both := bothNonFinite(r); both > 0 {
		parts = append(parts, lang.Sayf("%d of %d elements are NaN or the same infinity on both sides "+
			"(infinite parameter, log or sqrt of a negative number, 0/0?)",
			"%d/%d 个元素两侧同为 NaN 或相同的 inf(参数为 inf、对负数取 log 或 sqrt、0/0？)", both, r.Total))
	}
	return lang.Join(parts, semicolon)
}

// onlyModelNaN is for pairs without errors.
func onlyModelNaN(p *pair) lang.Sentence {
	if p.errors > 0 {
		return lang.Sentence{}
	}
	return modelNaN(p.result)
}

// onlyReferenceNaN is for pairs whose errors are all in the reference.
func onlyReferenceNaN(p *pair) lang.Sentence {
	if all, _ := refNonFinite(p.result); all == 0 || all != p.errors {
		return lang.Sentence{}
	}
	return modelNaN(p.result)
}

// largestRef is the largest finite magnitude of the reference.
func largestRef(r *metrics.Result) float64 {
	return math.Max(math.Abs(r.Ref.Min.Value), math.Abs(r.Ref.Max.Value))
}

// fp16Max is the largest finite float16.
const fp16Max = 65504

// halfOverflow is the evidence for NaN and infinities that come from numbers
// beyond float16.
func halfOverflow(r *metrics.Result) lang.Sentence {
	bad := npuNonFinite(r)
	if bad == 0 {
		return lang.Sentence{}
	}
	if largest := largestRef(r); largest > fp16Max {
		return lang.Sayf("%s; max |reference| is %s > %d, the float16 maximum", "%s；标杆最大绝对值 %s > %d(float16 最大值)",
			nonFiniteText(r), element(largest), fp16Max)
	}
	if r.NPU.Saturated > 0 && r.NPUDType == tensor.Float16 {
		return lang.Sayf("%s; %d NPU elements are at the float16 maximum %d", "%s；%d 个 NPU 元素达到 float16 最大值 %d",
			nonFiniteText(r), r.NPU.Saturated, fp16Max)
	}
	return lang.Sentence{}
}

func nonFiniteText(r *metrics.Result) lang.Sentence {
	return lang.Sayf("%d of %d NPU elements are NaN or infinite where the reference is finite",
		"%d/%d 个 NPU 元素为 NaN 或 inf，而标杆为有限值", npuNonFinite(r), r.Total)
}

// overflowConfidence is low for other types than float16: only an intermediate
// may have been float16.
func overflowConfidence(r *metrics.Result) record.Confidence {
	switch {
	case r.NPUDType != tensor.Float16:
		return record.Low
	case npuNonFinite(r) == 0:
		return record.Medium
	default:
		return record.High
	}
}

func overflowed(p *pair) lang.Sentence {
	r := p.result
	p.confidence = overflowConfidence(r)
	if text := halfOverflow(r); !text.IsZero() {
		return text
	}
	if largest := largestRef(r); r.NPUDType == tensor.Float16 && r.SaturatedErrors > 0 && largest > fp16Max {
		return lang.Sayf("%d errors are at the float16 maximum %d; max |reference| is %s",
			"%d 个错误元素达到 float16 最大值 %d；标杆最大绝对值 %s", r.SaturatedErrors, fp16Max, element(largest))
	}
	return lang.Sentence{}
}

// npuNaN is the evidence for NaN and infinities of the NPU alone.
func npuNaN(r *metrics.Result) lang.Sentence {
	if npuNonFinite(r) == 0 {
		return lang.Sentence{}
	}
	return lang.Sayf("%s, with max |reference| %s (large products or tiny divisors in the inputs?)",
		"%s，标杆最大绝对值 %s(输入中有过大的乘积或过小的除数？)", nonFiniteText(r), element(largestRef(r)))
}

func onlyNPUNaN(p *pair) lang.Sentence { return npuNaN(p.result) }

// minFlushed is the number of errors from which it is no coincidence that a sum
// cancels to nothing.
const minFlushed = 4

// underflow holds if the errors are zeros and subnormal numbers where the
// reference is small, but larger.
func underflow(p *pair) lang.Sentence {
	format, ok := precisionOf(p.request.NPUDType)
	if !ok || p.errors == 0 {
		return lang.Sentence{}
	}
	// A sum of products that each underflow may be larger than each.
	small := format.minNormal * 1024
	flushed, errors := 0, p.knownErrors()
	n, r := p.npu.at(errors), p.ref.at(errors)
	for i := range errors {
		if n, r := magnitude(n[i]), magnitude(r[i]); n < format.minNormal && r > n && r < small {
			flushed++
		}
	}
	if flushed < minFlushed || flushed*10 < len(errors)*9 {
		return lang.Sentence{}
	}
	return lang.Sayf("%d of %d inspected errors are 0 or subnormal in %s, with |reference| < %s; the reference is a normal number at %d such elements",
		"检查的错误元素中 %d/%d 个为 0 或 %s 的非规格化数，|标杆| < %s；其中 %d 个元素的标杆是规格化数",
		flushed, len(errors), p.request.NPUDType, number(small), p.result.Underflowed)
}
