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

// Options say what is good.
type Options struct {
	Mode    metrics.Mode
	Limits  Tolerances
	Verdict Verdict
}

// TolModes are the names of the tolerance modes, in the order of metrics.Mode.
func TolModes() []string { return []string{"isclose", "both-exceeded", "either-exceeded"} }

// TolMode returns the mode of a name.
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
	// ProfileDType goes by the less precise of the two element types: limits for
	// a single operator.
	ProfileDType Profile = "dtype"
	// ProfileTorch has the limits of torch.testing.assert_close.
	ProfileTorch Profile = "torch"
	// ProfileExact accepts equal classes and equal values only.
	ProfileExact Profile = "exact"
)

// Profiles lists the profiles.
func Profiles() []Profile { return []Profile{ProfileHPAA, ProfileDType, ProfileTorch, ProfileExact} }

// The limits of HPAA (manual of run_precision_analysis.py).
const (
	hpaaAtol = 0.005
	hpaaRtol = 0.2
)

// precision is what a profile says about an element type. rank orders the types
// from the most precise to the least.
type precision struct {
	dtype      tensor.DType
	rank       int
	rtol, atol float64
}

// torchRank is the rank of the least precise type that torch has limits for.
const torchRank = 3

// precisions are the floating-point types. The limits of the wider types are
// those of torch.testing.assert_close; those of the 8-bit types are a unit in the
// last place and the smallest subnormal.
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

// Tolerances say where the limits of a row come from: the configuration of
// the operator, then the command line, then the profile.
type Tolerances struct {
	Profile Profile
	// Atol and Rtol are those of the command line, nil where it has none.
	Atol, Rtol *float64
	// IntTol is the limit for pairs of integers; nil for that of the profile.
	IntTol *float64
	// Accum widens the rtol of a profile by its square root: the number of
	// products that are added up in an element. 0 and 1 leave it.
	Accum float64
}

// Limits returns the limits of a pair. config holds what op_config.csv says,
// nil where it says nothing.
func (o *Tolerances) Limits(ref, npu tensor.DType, configAtol, configRtol *float64) record.Limits {
	rtol, atol := o.profile(ref, npu)
	source := unique.Make("profile " + string(o.Profile)).Value() // all rows have it
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

// profile returns the limits of the profile for a pair of types.
func (o *Tolerances) profile(ref, npu tensor.DType) (rtol, atol float64) {
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
		// torch takes the larger of each, and is exact for all other types.
		for _, p := range known {
			if p.rank <= torchRank {
				rtol, atol = max(rtol, p.rtol), max(atol, p.atol)
			}
		}
		return rtol, atol
	}
	return low.rtol, low.atol
}
