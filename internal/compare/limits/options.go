package limits

import (
	"fmt"
	"math"
	"slices"
	"unique"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/tensor"
)

// Options decide whether a pair is good.
type Options struct {
	Mode    metrics.Mode
	Limits  Tolerances
	Verdict Verdict
}

// TolModes are the names of the tolerance modes, in the order of metrics.Mode.
func TolModes() []string { return []string{"isclose", "both-exceeded", "either-exceeded"} }

// TolMode returns the mode with this name.
func TolMode(name string) (metrics.Mode, bool) {
	i := slices.Index(TolModes(), name)
	return metrics.Mode(max(i, 0)), i >= 0
}

// Profile names a set of limits.
type Profile string

// The profiles.
const (
	// ProfileHPAA has one pair of limits for all types, as HPAA does.
	ProfileHPAA Profile = "hpaa"
	// ProfileDType has limits by the less precise of the two element types, for a single
	// operator.
	ProfileDType Profile = "dtype"
	// ProfileTorch has the limits of torch.testing.assert_close.
	ProfileTorch Profile = "torch"
	// ProfileExact accepts only equal classes and equal values.
	ProfileExact Profile = "exact"
)

// Profiles lists the profiles.
func Profiles() []Profile { return []Profile{ProfileHPAA, ProfileDType, ProfileTorch, ProfileExact} }

// The limits of HPAA (manual of run_precision_analysis.py).
const (
	hpaaAtol = 0.005
	hpaaRtol = 0.2
)

// precision has the limits of an element type. rank orders the types from the most
// precise to the least.
type precision struct {
	dtype      tensor.DType
	rank       int
	rtol, atol float64
}

// torchRank is the rank of the least precise type with limits in torch.
const torchRank = 3

// precisions lists the floating-point types. The wider types have the limits of
// torch.testing.assert_close, the types of 8 bits and less one ulp and the smallest
// subnormal.
var precisions = []precision{
	{tensor.Float64, 0, 1e-7, 1e-7}, {tensor.Complex128, 0, 1e-7, 1e-7},
	{tensor.Float32, 1, 1.3e-6, 1e-5}, {tensor.Complex64, 1, 1.3e-6, 1e-5},
	{tensor.Float16, 2, 1e-3, 1e-5}, {tensor.Complex32, 2, 1e-3, 1e-5},
	{tensor.BFloat16, 3, 1.6e-2, 1e-5},
	{tensor.Float8E4M3FN, 4, 1.0 / 8, 1.0 / 512},
	{tensor.HiFloat8, 5, 1.0 / 4, 1.0 / (1 << 16)}, {tensor.Float8E5M2, 5, 1.0 / 4, 1.0 / (1 << 16)},
	{tensor.Float6E2M3, 6, 1.0 / 8, 1.0 / 8}, {tensor.Float6E3M2, 7, 1.0 / 4, 1.0 / 16},
	{tensor.Float4E1M2, 8, 1.0 / 4, 1.0 / 4}, {tensor.Float4E2M1, 9, 1.0 / 2, 1.0 / 2},
	{tensor.Float8E8M0, 10, 1, 0},
}

// precisionOf returns the entry of a floating-point type; ok is false for
// integers and bool, which are exact.
func precisionOf(d tensor.DType) (precision, bool) {
	i := slices.IndexFunc(precisions, func(p precision) bool { return p.dtype == d })
	if i < 0 {
		return precision{}, false
	}
	return precisions[i], true
}

// Tolerances are the sources of the limits of a row, by rising priority: the profile, the
// command line, the configuration of the operator.
type Tolerances struct {
	Profile Profile
	// Atol and Rtol are set on the command line, nil if not.
	Atol, Rtol *float64
	// IntTol is the limit for pairs of integers; nil for the limit of the profile.
	IntTol *float64
	// Accum is the number of products that are summed in an element: the rtol of a profile is
	// multiplied by its square root. 0 and 1 change nothing.
	Accum float64
}

// Limits returns the limits of a pair. configAtol and configRtol are the values of
// op_config.csv, nil if it has none.
func (o *Tolerances) Limits(ref, npu tensor.DType, configAtol, configRtol *float64) record.Limits {
	rtol, atol := o.profileLimits(ref, npu)
	source := unique.Make("profile " + string(o.Profile)).Value() // interned: one string for all rows
	l := record.Limits{Atol: atol, Rtol: rtol, AtolSource: source, RtolSource: source}
	if o.Accum > 1 && rtol > 0 {
		l.Rtol *= math.Sqrt(o.Accum)
		l.RtolSource = fmt.Sprintf("%s x sqrt(%g)", source, o.Accum)
	}
	if _, float := precisionOf(ref); o.IntTol != nil && !float {
		if _, float := precisionOf(npu); !float {
			l = record.Limits{Atol: *o.IntTol, AtolSource: "int-tol", RtolSource: "int-tol"}
		}
	}
	if o.Atol != nil {
		l.Atol, l.AtolSource = *o.Atol, "command line"
	}
	if o.Rtol != nil {
		l.Rtol, l.RtolSource = *o.Rtol, "command line"
	}
	if configAtol != nil {
		l.Atol, l.AtolSource = *configAtol, "op_config"
	}
	if configRtol != nil {
		l.Rtol, l.RtolSource = *configRtol, "op_config"
	}
	return l
}

// profileLimits returns the limits of the profile for a pair of types.
func (o *Tolerances) profileLimits(ref, npu tensor.DType) (rtol, atol float64) {
	switch o.Profile {
	case ProfileHPAA:
		return hpaaRtol, hpaaAtol
	case ProfileExact:
		return 0, 0
	}
	var known []precision
	for _, d := range []tensor.DType{ref, npu} {
		if p, ok := precisionOf(d); ok {
			known = append(known, p)
		}
	}
	if len(known) == 0 {
		return 0, 0
	}
	low := known[0]
	for _, p := range known[1:] {
		if p.rank > low.rank {
			low = p
		}
	}
	if o.Profile == ProfileTorch {
		// torch uses the larger value of each, and is exact for all other types.
		for _, p := range known {
			if p.rank <= torchRank {
				rtol, atol = max(rtol, p.rtol), max(atol, p.atol)
			}
		}
		return rtol, atol
	}
	return low.rtol, low.atol
}
