package limits

import (
	"math"
	"slices"
	"strings"

	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
)

// NaNPolicy says how elements that are not finite count.
type NaNPolicy string

// The policies.
const (
	// NaNStrict makes every pair of different classes an error and warns of NaN
	// on both sides.
	NaNStrict NaNPolicy = "strict"
	// NaNEqual is NaNStrict without the warning.
	NaNEqual NaNPolicy = "equal"
	// NaNHPAA compares after HPAA's replacement: NaN by 0, infinities by the
	// largest value of the NPU's type.
	NaNHPAA NaNPolicy = "hpaa"
	// NaNIgnore leaves out pairs with a non-finite side, with a warning.
	NaNIgnore NaNPolicy = "ignore"
)

// NaNPolicies lists the policies.
func NaNPolicies() []NaNPolicy { return []NaNPolicy{NaNStrict, NaNEqual, NaNHPAA, NaNIgnore} }

// Gates are limits on metrics of a whole tensor, nil for no gate. An undefined metric does not break a gate (the
// elements decide), with two exceptions: a mean relative error without a value because the reference is 0 wherever
// the tensors differ breaks MaxMeanRel, and a metric without a value because squares of the values leave the range of
// float64 breaks its gate unless the tensors are equal.
type Gates struct {
	MinCos, MaxRED, MaxMeanRel, MinSQNR, MaxULP *float64
}

// VerdictMode is the criterion for failing tensors.
type VerdictMode string

// The modes.
const (
	// ByEvidence fails a tensor whose operator adds an error that neither its inputs nor
	// rounding explain, and the tensors damaged by such an error.
	ByEvidence VerdictMode = "evidence"
	// ByLimits fails a tensor with elements beyond atol and rtol.
	ByLimits VerdictMode = "limits"
	// ByStatistics fails a tensor by its statistics or digests, if a side has no elements. It
	// cannot be requested.
	ByStatistics VerdictMode = "statistics"
)

// VerdictModes lists the modes.
func VerdictModes() []VerdictMode { return []VerdictMode{ByEvidence, ByLimits} }

// Verdict has the options that decide when a tensor is bad.
type Verdict struct {
	Mode VerdictMode
	// ModeReason is the reason why the mode is not evidence, if the user did not choose a mode.
	ModeReason lang.Sentence
	NaN        NaNPolicy
	// MaxErrorRatio is the share of error elements (0 to 1) that still passes.
	MaxErrorRatio float64
	Gates         Gates
	// HF32 says whether products of float32 have inputs rounded to 11 bits.
	HF32 HF32
	// Flow is the source of the data flow.
	Flow FlowSource
}

// FlowSource is a source of the data flow: see diagnose.
type FlowSource = diagnose.FlowFrom

// FlowAuto uses files and the equality of tensors.
const FlowAuto = diagnose.FlowAuto

// FlowSources lists the sources.
func FlowSources() []FlowSource { return diagnose.FlowSources() }

// HF32 says how to judge products of float32: see diagnose.
type HF32 = diagnose.HF32

// The values that commands name.
const (
	HF32Auto = diagnose.HF32Auto
	HF32On   = diagnose.HF32On
)

// HF32Modes lists the values.
func HF32Modes() []HF32 { return diagnose.HF32Modes() }

// ChooseMode sets the mode if the user did not: limits if the user set any limit, since a
// limit is meant as a gate, else evidence. config has the limits of operators, nil for none;
// an entry without a number sets no limit.
func (o *Options) ChooseMode(config *sidefile.OpConfig) {
	v := &o.Verdict
	if v.Mode != "" {
		return
	}
	isSet := func(l sidefile.OpLimits) bool { return l.Atol != nil || l.Rtol != nil }
	var given []string
	for _, x := range []struct {
		name string
		set  bool
	}{
		{"--atol", o.Limits.Atol != nil}, {"--rtol", o.Limits.Rtol != nil}, {"--int-tol", o.Limits.IntTol != nil},
		{"--max-error-ratio", v.MaxErrorRatio > 0}, {"--profile " + string(o.Limits.Profile), o.Limits.Profile != ProfileHPAA},
		{"op_config", config != nil && slices.ContainsFunc(config.Entries, isSet)},
	} {
		if x.set {
			given = append(given, x.name)
		}
	}
	v.Mode = ByEvidence
	if len(given) > 0 {
		v.Mode = ByLimits
		v.ModeReason = lang.Say("judged by limits, because limits are given: %s (--verdict evidence judges by evidence instead)", strings.Join(given, ", "))
	}
}

// The thresholds of the bias warning: the least number of elements, and |mean d| as a share of the root mean square
// of d (0 to 1).
const (
	warnBiasCount = 1000
	warnBias      = 0.25
)

// facts are the numbers that decide about a compared row.
type facts struct {
	total, bothFinite, mismatch, nanBoth, saturatedBoth int64
	// relUndefined counts the pairs with r = 0 and d != 0.
	relUndefined                  int64
	cos, red, meanRel, sqnr, ulps metrics.Metric
	meanD, rmse                   metrics.Metric
	integer                       bool // the NPU tensor has an integer type
	squaresOverflow               bool // the sides differ, but squares of the values leave the range of float64
	looksLikeMask                 bool // the largest magnitudes are negative, as in attention masks
}

func factsOf(res *metrics.Result) *facts {
	_, float := precisionOf(res.NPUDType)
	return &facts{
		total: res.Total, bothFinite: res.CountBothFinite(), mismatch: res.Mismatch.Count,
		nanBoth: res.Classes[metrics.NaN][metrics.NaN], saturatedBoth: res.SaturatedBoth,
		relUndefined: res.RelUndefined,
		cos:          res.Cosine, red: res.RED, meanRel: res.MeanRel, sqnr: res.SQNR, ulps: res.ULPMax.Metric,
		meanD: res.MeanD, rmse: res.RMSE, integer: !float, squaresOverflow: res.LacksSquares() && res.MaxAbs.Value() > 0,
		looksLikeMask: res.NPU.Max.IsDefined() && res.NPU.Max.Value() < -res.NPU.Min.Value(),
	}
}

// Judge sets the status of a compared row, its errors under the policy, and the
// reasons that follow from the numbers alone.
func (o *Verdict) Judge(row *record.Row, res *metrics.Result) {
	f := factsOf(res)
	row.Errors, row.First = o.countErrors(res)
	broken := o.failedGates(f)
	row.Pair.Reasons = append(row.Pair.Reasons, broken...)
	if len(broken) > 0 || o.FailsOnClass() && f.mismatch > 0 || record.Share(row.Errors, o.denominator(f)) > o.MaxErrorRatio {
		row.Pair.Status, row.Pair.Reasons = record.Fail, append(row.Pair.Reasons, o.replacedReasons(res)...)
	} else if row.Pair.Status = record.Pass; len(o.warnings(f)) > 0 {
		row.Pair.Reasons = append(row.Pair.Reasons, o.warnings(f)...)
		row.Pair.Status = record.Warn
	}
}

// FailsOnClass reports whether a pair of different classes always fails, whatever the limits.
func (o *Verdict) FailsOnClass() bool { return o.NaN == NaNStrict || o.NaN == NaNEqual }

// denominator returns the number of elements in the denominator of the error share.
func (o *Verdict) denominator(f *facts) int64 {
	if o.NaN == NaNIgnore {
		return f.bothFinite
	}
	return f.total
}

// countErrors returns the number of errors under the policy, and the first error.
func (o *Verdict) countErrors(res *metrics.Result) (int64, *metrics.Element) {
	switch o.NaN {
	case NaNHPAA:
		return res.HPAA.Count, res.HPAA.First
	case NaNIgnore:
		return res.Beyond.Count, res.Beyond.First
	}
	first := res.Beyond.First
	if m := res.Mismatch.First; first == nil || m != nil && m.Offset < first.Offset {
		first = m
	}
	return res.StrictErrors(), first
}

// failedGates returns a reason for every gate that does not hold. It also returns a reason if the policy leaves
// nothing to compare although elements are of different classes.
func (o *Verdict) failedGates(f *facts) []finding.Finding {
	reasons := o.Gates.failedGates(f)
	if o.NaN == NaNIgnore && f.bothFinite == 0 && f.mismatch > 0 {
		reasons = append(reasons, finding.Finding{Code: finding.NPUNaN, Confidence: finding.High,
			Evidence: lang.Say("nothing to compare: no pair is finite on both sides; in %d of %d pairs the two sides differ in class (NaN, +inf, -inf, finite)", f.mismatch, f.total)})
	}
	return reasons
}

// replacedReasons returns the reason of a failing row with errors in elements that the policy hpaa
// replaced: rounding cannot cause these errors.
func (o *Verdict) replacedReasons(res *metrics.Result) []finding.Finding {
	n := res.HPAA.Count - res.Beyond.Count
	if o.NaN != NaNHPAA || res.Mismatch.Count == 0 || n <= 0 {
		return nil
	}
	return []finding.Finding{{Code: finding.NPUNaN, Confidence: finding.High,
		Evidence: lang.Say("%d of %d elements are errors because a side is NaN or infinite: the policy hpaa compares it as a number", n, res.Total)}}
}

// failedGates returns a reason for every gate that does not hold.
func (g *Gates) failedGates(f *facts) []finding.Finding {
	var reasons []finding.Finding
	broken := func(evidence lang.Sentence) {
		reasons = append(reasons, finding.Finding{Code: finding.Gate, Confidence: finding.High, Evidence: evidence})
	}
	for _, gate := range []struct {
		name   string
		op     string
		limit  *float64
		metric metrics.Metric
		lacks  bool // the metric is undefined because squares are out of range
	}{
		{"cosine", ">=", g.MinCos, f.cos, f.squaresOverflow},
		{"red", "<=", g.MaxRED, f.red, f.squaresOverflow},
		{"mean_rel", "<=", g.MaxMeanRel, f.meanRel, false},
		{"sqnr", ">=", g.MinSQNR, f.sqnr, f.squaresOverflow},
		{"ulp", "<=", g.MaxULP, f.ulps, false},
	} {
		v := gate.metric.Value()
		switch {
		case gate.limit == nil || !gate.metric.IsDefined() && !gate.lacks:
		case !gate.metric.IsDefined():
			broken(lang.Say("squares of the values exceed the range of float64: no metric for the gate %s%s%g", gate.name, gate.op, *gate.limit))
		case gate.op == ">=" && !(v >= *gate.limit), gate.op == "<=" && !(v <= *gate.limit):
			broken(lang.Say("%s %.6g breaks the gate %[1]s%[3]s%[4]g", gate.name, v, gate.op, *gate.limit))
		}
	}
	if g.MaxMeanRel != nil && !f.meanRel.IsDefined() && f.relUndefined > 0 {
		broken(lang.Say("%d elements differ from a reference of 0: no mean relative error for the gate mean_rel<=%g", f.relUndefined, *g.MaxMeanRel))
	}
	return reasons
}

// warnings returns reasons for caution about a tensor that passes.
func (o *Verdict) warnings(f *facts) []finding.Finding {
	var reasons []finding.Finding
	warn := func(code finding.Code, confidence finding.Confidence, evidence lang.Sentence) {
		reasons = append(reasons, finding.Finding{Code: code, Confidence: confidence, Evidence: evidence})
	}
	if f.total >= warnBiasCount && f.ulps.Value() > 1 && f.meanD.IsDefined() && math.Abs(f.meanD.Value()) >= warnBias*f.rmse.Value() && f.rmse.Value() > 0 {
		warn(finding.Bias, finding.Medium, lang.Say("the differences have a bias: mean %.3g, %.3g x their root mean square",
			f.meanD.Value(), math.Abs(f.meanD.Value())/f.rmse.Value()))
	}
	if f.nanBoth > 0 && o.NaN == NaNStrict {
		warn(finding.ModelNaN, finding.High, lang.Say("%d elements are NaN on both sides", f.nanBoth))
	}
	if f.saturatedBoth > 0 && !f.looksLikeMask && !f.integer { // integers are clamped on purpose
		warn(finding.Saturation, finding.Medium, lang.Say("%d elements are at the limit of the type on both sides", f.saturatedBoth))
	}
	if left := f.total - f.bothFinite; left > 0 && o.NaN == NaNIgnore {
		warn(finding.NPUNaN, finding.High, lang.Say("%d pairs that are not finite were skipped", left))
	}
	return reasons
}
