package diagnose

import (
	"fmt"
	"math"
	"strings"

	"dumptool/internal/compare/engine"
	"dumptool/internal/tensor"
)

// bothNonFinite counts the pairs that are NaN or the same infinity.
func bothNonFinite(r *engine.Result) int64 {
	return r.Classes[engine.NaN][engine.NaN] + r.Classes[engine.PosInf][engine.PosInf] + r.Classes[engine.NegInf][engine.NegInf]
}

// npuNonFinite counts the NaN and infinities of the NPU whose reference is
// finite.
func npuNonFinite(r *engine.Result) int64 {
	return r.Classes[engine.NaN][engine.Finite] + r.Classes[engine.PosInf][engine.Finite] + r.Classes[engine.NegInf][engine.Finite]
}

// refNonFinite counts the NaN and infinities of the reference whose NPU element
// is finite, and those that are NaN.
func refNonFinite(r *engine.Result) (all, nan int64) {
	nan = r.Classes[engine.Finite][engine.NaN]
	return nan + r.Classes[engine.Finite][engine.PosInf] + r.Classes[engine.Finite][engine.NegInf], nan
}

// modelNaN is HPAA's rule (d), and its counterpart: a reference without numbers
// where the NPU has them.
func modelNaN(r *engine.Result) found {
	var parts []string
	all, nan := refNonFinite(r)
	if nan > 0 {
		parts = append(parts, fmt.Sprintf("the reference is NaN at %d elements where the NPU is finite", nan))
	}
	if all > nan {
		parts = append(parts, fmt.Sprintf("the reference is infinite at %d elements where the NPU is finite", all-nan))
	}
	if both := bothNonFinite(r); both > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d elements are NaN or the same infinity on both sides: the model makes them "+
			"(an infinite parameter, log or sqrt of a negative number, 0/0)", both, r.Total))
	}
	if len(parts) == 0 {
		return found{}
	}
	return found{High, strings.Join(parts, "; ")}
}

// onlyModelNaN is for pairs that have nothing else.
func onlyModelNaN(p *pair) (found, error) {
	if p.errors > 0 {
		return found{}, nil
	}
	return modelNaN(p.result), nil
}

// onlyReferenceNaN is for pairs whose errors are all in the reference.
func onlyReferenceNaN(p *pair) (found, error) {
	if all, _ := refNonFinite(p.result); all == 0 || all != p.errors {
		return found{}, nil
	}
	return modelNaN(p.result), nil
}

// largestRef is the largest finite magnitude of the reference.
func largestRef(r *engine.Result) float64 {
	return math.Max(math.Abs(r.Ref.Min.Value), math.Abs(r.Ref.Max.Value))
}

// fp16Max is the largest finite float16.
const fp16Max = 65504

// overflowOf tells an overflow of float16 from other causes of NaN and infinity.
func overflowOf(r *engine.Result) found {
	bad := npuNonFinite(r)
	if bad == 0 {
		return found{}
	}
	confidence := High
	if r.NPUDType != tensor.Float16 {
		confidence = Low // an intermediate may have been float16
	}
	if largest := largestRef(r); largest > fp16Max {
		return foundf(confidence, "%d of %d NPU elements are NaN or infinite where the reference is finite, "+
			"and the reference reaches %.6g > %d", bad, r.Total, largest, fp16Max)
	}
	if r.NPU.Saturated > 0 && r.NPUDType == tensor.Float16 {
		return foundf(confidence, "%d of %d NPU elements are NaN or infinite where the reference is finite, "+
			"and %d are at the limit %d of float16", bad, r.Total, r.NPU.Saturated, fp16Max)
	}
	return found{}
}

// overflowed is HPAA's rule (e) where the numbers are beyond float16.
func overflowed(p *pair) (found, error) {
	r := p.result
	if f := overflowOf(r); f.evidence != "" {
		return f, nil
	}
	if largest := largestRef(r); r.NPUDType == tensor.Float16 && r.SaturatedErrors > 0 && largest > fp16Max {
		return foundf(Medium, "%d errors are at the limit %d of float16, the reference reaches %.6g", r.SaturatedErrors, fp16Max, largest), nil
	}
	return found{}, nil
}

// npuNaNOf is HPAA's rule (e).
func npuNaNOf(r *engine.Result) found {
	bad := npuNonFinite(r)
	if bad == 0 {
		return found{}
	}
	return foundf(High, "%d of %d NPU elements are NaN or infinite where the reference is finite, "+
		"the reference stays below %.6g: look for large products and tiny divisors in the inputs", bad, r.Total, largestRef(r))
}

func npuNaN(p *pair) (found, error) { return npuNaNOf(p.result), nil }

// minFlushed is the number of errors from which it is no chance that a sum
// cancels to nothing.
const minFlushed = 4

// underflow holds if the errors are zeros and subnormal numbers where the
// reference is small but not that small.
func underflow(p *pair) (found, error) {
	format, ok := precisionOf(p.request.NPUDType)
	if !ok || p.errors == 0 {
		return found{}, nil
	}
	// A sum of products that each underflow may be larger than each.
	small := format.minNormal * 1024
	flushed, errors := 0, p.knownErrors()
	for _, offset := range errors {
		n, r, err := p.at(offset)
		if err != nil {
			return found{}, err
		}
		if n < format.minNormal && r > n && r < small {
			flushed++
		}
	}
	if flushed < minFlushed || flushed*10 < len(errors)*9 {
		return found{}, nil
	}
	return foundf(Medium, "%d of %d errors looked at are 0 or subnormal in %s where the reference is below %.3g; "+
		"%d elements are where the reference is normal", flushed, len(errors), p.request.NPUDType, small, p.result.Underflowed), nil
}

// at returns the magnitudes of the elements at an offset.
func (p *pair) at(offset int64) (n, r float64, err error) {
	var value [1]complex128
	if err := p.npu.values(value[:], offset); err != nil {
		return 0, 0, err
	}
	n = magnitude(value[0])
	if err := p.ref.values(value[:], offset); err != nil {
		return 0, 0, err
	}
	return n, magnitude(value[0]), nil
}
