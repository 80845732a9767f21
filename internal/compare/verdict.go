package compare

import (
	"fmt"
	"math"

	"dumptool/internal/compare/engine"
)

// NaNPolicy says what elements mean that are not finite.
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
	// NaNIgnore leaves pairs out that are not finite; they are a warning.
	NaNIgnore NaNPolicy = "ignore"
)

// NaNPolicies lists the policies.
func NaNPolicies() []NaNPolicy { return []NaNPolicy{NaNStrict, NaNEqual, NaNHPAA, NaNIgnore} }

// Gates are limits on metrics of a whole tensor, nil where there is none. A
// metric that is undefined breaks no gate; the elements decide then.
type Gates struct {
	MinCos, MaxRED, MaxMeanRel, MinSQNR, MaxULP *float64
}

// JudgeOptions say what is good.
type JudgeOptions struct {
	Mode    engine.Mode
	Limits  LimitOptions
	Verdict VerdictOptions
}

// VerdictOptions say when a tensor is bad.
type VerdictOptions struct {
	NaN NaNPolicy
	// MaxErrorRatio is the share of error elements that still passes.
	MaxErrorRatio float64
	Gates         Gates
}

// The bounds of warnings: a tensor that passes is close to failing when its
// worst element uses more than half of its limit, and its differences have a
// direction when the sign test says so by 6 standard deviations.
const (
	warnMargin    = 0.5
	warnBiasZ     = 6
	warnBiasCount = 1000
)

// judge sets the status of a compared row, its errors under the policy, and the
// reasons that the numbers alone give.
func (o *VerdictOptions) judge(row *Row) {
	res := row.Result
	row.Errors, row.First = o.errors(res)
	broken := o.Gates.broken(res)
	row.Reasons = append(row.Reasons, broken...)
	classes := o.NaN == NaNStrict || o.NaN == NaNEqual
	switch {
	case ratio(row.Errors, o.judged(res)) > o.MaxErrorRatio, classes && res.Mismatch.Count > 0, len(broken) > 0:
		row.Status = Fail
		return
	}
	row.Status = Pass
	if w := o.warnings(res); len(w) > 0 {
		row.Reasons = append(row.Reasons, w...)
		row.Status = Warn
	}
}

// judged is the number of elements of which errors are a share.
func (o *VerdictOptions) judged(res *engine.Result) int64 {
	if o.NaN == NaNIgnore {
		return res.BothFinite()
	}
	return res.Total
}

func ratio(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// errors returns the errors under the policy, and the first of them.
func (o *VerdictOptions) errors(res *engine.Result) (int64, *engine.Element) {
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

// gateMetrics are the metrics that gates are about.
type gateMetrics struct{ cos, red, meanRel, sqnr, ulp engine.Metric }

// broken returns a reason for every gate that does not hold.
func (g *Gates) broken(res *engine.Result) []Reason {
	return g.check(gateMetrics{res.Cosine, res.RED, res.MeanRel, res.SQNR, res.ULPMax.Metric})
}

// check holds metrics against the gates.
func (g *Gates) check(m gateMetrics) []Reason {
	var reasons []Reason
	for _, gate := range []struct {
		flag   string
		limit  *float64
		metric engine.Metric
		least  bool // the limit is a minimum
	}{
		{"min-cos", g.MinCos, m.cos, true},
		{"max-red", g.MaxRED, m.red, false},
		{"max-mean-rel", g.MaxMeanRel, m.meanRel, false},
		{"min-sqnr", g.MinSQNR, m.sqnr, true},
		{"max-ulp", g.MaxULP, m.ulp, false},
	} {
		if gate.limit == nil || !gate.metric.Defined {
			continue
		}
		v := gate.metric.Value
		relation, ok := "above", v <= *gate.limit
		if gate.least {
			relation, ok = "below", v >= *gate.limit
		}
		if !ok {
			reasons = append(reasons, Reason{GateBroken, High, fmt.Sprintf("%.6g is %s --%s %g", v, relation, gate.flag, *gate.limit)})
		}
	}
	return reasons
}

// warnings are the reasons not to be content with a tensor that passes.
func (o *VerdictOptions) warnings(res *engine.Result) []Reason {
	var reasons []Reason
	warn := func(code Code, confidence Confidence, format string, args ...any) {
		reasons = append(reasons, Reason{code, confidence, fmt.Sprintf(format, args...)})
	}
	if m := res.Margin; m.Defined && m.Value > warnMargin {
		warn(MarginCode, High, "the worst element uses %.3g of its limit, more than %g", m.Value, warnMargin)
	}
	if z := res.BiasZ; z.Defined && math.Abs(z.Value) > warnBiasZ && res.BiasCount >= warnBiasCount {
		warn(BiasCode, Medium, "%d differences lean to one side: z = %.3g, beyond %d", res.BiasCount, z.Value, warnBiasZ)
	}
	if n := res.Classes[engine.NaN][engine.NaN]; n > 0 && o.NaN == NaNStrict {
		warn(ModelNaN, High, "%d elements are NaN on both sides", n)
	}
	if res.SaturatedBoth > 0 {
		warn(Saturation, Medium, "%d elements are at the limit of the type on both sides", res.SaturatedBoth)
	}
	if left := res.Total - res.BothFinite(); left > 0 && o.NaN == NaNIgnore {
		warn(NPUNaN, High, "%d pairs that are not finite were left out", left)
	}
	return reasons
}
