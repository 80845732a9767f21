package standard

import (
	"context"
	"fmt"
	"math"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// Options select a standard.
type Options struct {
	Name Name
	// HF32 applies the thresholds of HF32 to float32.
	HF32 bool
}

// Request describes the tensor to judge.
type Request struct {
	Options
	// OpType is the type of the operator, empty if it is not known.
	OpType string
	// Total is the number of elements.
	Total int64
	// RefDType, NPUDType and ThirdDType are the types of the stored elements. Effective is the
	// type of the numbers in the NPU tensor: float32 elements may hold bfloat16 numbers.
	RefDType, NPUDType, ThirdDType, Effective tensor.DType
}

// The rules. Each tensor has one rule.
const (
	float    = "float"
	move     = "move"
	integer  = "integer"
	quantise = "quantise"
)

// rule returns the rule for the tensor.
func (q *Request) rule() string {
	switch {
	case q.NPUDType.Host().Integer() && quantises(q.OpType):
		return quantise
	case q.NPUDType.Host().Integer():
		return integer
	case recompute.TypeOf(q.OpType).Class == optype.Move:
		return move
	}
	return float
}

// hasSameType reports whether equal elements have equal bytes on both sides.
func (q *Request) hasSameType() bool { return q.RefDType == q.NPUDType && q.Effective == q.NPUDType }

// UsesThird reports whether judging the tensor needs a third result.
func (q *Request) UsesThird() bool { return q.Name.NeedsThird() && q.rule() == float }

// Applies reports whether the standard has thresholds for the tensor.
func (q *Request) Applies() bool {
	if q.RefDType.Host().Complex() {
		return false
	}
	return q.NPUDType.Host().Integer() || thresholdsOf(q.Effective, q.HF32) != nil
}

// Judge judges a tensor, for which Applies must be true. res has its metrics; third is nil if
// UsesThird is false. It may read all elements of the tensors.
func Judge(ctx context.Context, req Request, res *metrics.Result, ref, npu, third metrics.Reader) (*record.Standard, error) {
	s := &record.Standard{Name: string(req.Name), Rule: req.rule(), Type: req.NPUDType.String(), Status: record.Pass}
	j := checker{s}
	if s.Rule == integer || s.Rule == quantise {
		j.checkIntegers(res)
	} else {
		t := thresholdsOf(req.Effective, req.HF32)
		s.Type = t.name
		m, err := measure(ctx, &req, t, ref, npu, third)
		if err != nil {
			return nil, err
		}
		s.NonFinite = record.NonFinite{Right: m.right, Wrong: m.wrong, Unclear: m.unclear}
		j.checkFloats(&req, t, m)
	}
	for i := range s.Checks {
		if !s.Checks[i].Holds {
			s.Status = record.Fail
		}
	}
	switch {
	case s.NonFinite.Wrong > 0:
		s.Status = record.Fail
	case s.NonFinite.Unclear > 0 && s.Status == record.Pass:
		s.Status = record.Warn
	}
	return s, nil
}

// checker appends checks to a result.
type checker struct{ *record.Standard }

// check appends a check of a value against its limit.
func (j checker) check(name string, value float64, relation string, limit float64) *record.Check {
	c := record.Check{Name: name, Value: jsonpos.Float(value), Relation: relation, Limit: jsonpos.Float(limit)}
	switch relation {
	case "<":
		c.Holds = value < limit
	case "<=":
		c.Holds = value <= limit
	case ">=":
		c.Holds = value >= limit
	}
	j.Checks = append(j.Checks, c)
	return &j.Checks[len(j.Checks)-1]
}

// checkIntegers judges integers by the metrics alone.
func (j checker) checkIntegers(res *metrics.Result) {
	limit := 0.0
	if j.Rule == quantise {
		limit = maxQuantisedDifference
	}
	j.NonFinite.Wrong = res.Mismatch.Count // the reference is not an integer type
	j.check(maxDifference, res.MaxAbs.Value(), "<=", limit)
}

// checkFloats judges floating-point numbers.
func (j checker) checkFloats(req *Request, t *thresholds, m *measures) {
	switch {
	case j.Rule == move:
		j.check(different, float64(m.different), "<=", 0)
	case req.Name == Eco:
		j.check(meanRelative, m.npu.meanRelative(), "<", t.relative)
		j.check(maxRelative, m.npu.maxRelative, "<", maxFactor*t.relative)
	case req.Name == Mixed:
		share := 1.0
		if m.total > 0 {
			share = float64(m.tolerated+m.right) / float64(m.total)
		}
		j.check(shareWithin, share, ">=", minShare)
		j.check(maxAbs, m.npu.maxAbs, "<=", max(t.largest, ulps*t.format.Ulp(m.npu.maxAbsReference)))
	default:
		l := levels[req.Name]
		j.checkRatio(maxRelativeRatio, m.npu.maxRelative, m.third.maxRelative, l.max)
		j.checkRatio(meanRelativeRatio, m.npu.meanRelative(), m.third.meanRelative(), l.mean)
		j.checkRatio(rmsRatio, m.npu.rms(m.compared), m.third.rms(m.compared), l.rms)
		npu, third := float64(m.npu.smallErrors), float64(m.third.smallErrors)
		c := j.check(smallErrors, npu/max(third, 1), "<=", smallErrorRatio)
		c.NPU, c.Third = metrics.NumberOf(npu), metrics.NumberOf(third)
	}
}

// checkRatio appends a check of the ratio of the errors of the NPU and the third result.
func (j checker) checkRatio(name string, npu, third, limit float64) {
	value := npu / third
	if npu == 0 && third == 0 {
		value = 1
	}
	c := j.check(name, value, "<=", limit)
	c.NPU, c.Third = metrics.NumberOf(npu), metrics.NumberOf(third)
}

// meanRelative returns the mean relative error, 0 without elements.
func (e *sideErrors) meanRelative() float64 { return e.sumRelative / float64(max(e.relativeCount, 1)) }

// rms returns the root mean square error over count elements.
func (e *sideErrors) rms(count int64) float64 {
	return math.Sqrt(e.sumSquares / float64(max(count, 1)))
}

// The names of the checked numbers.
const (
	meanRelative      = "mean_rel"
	maxRelative       = "max_rel"
	shareWithin       = "share_within"
	maxAbs            = "max_abs"
	maxRelativeRatio  = "mare_ratio"
	meanRelativeRatio = "mere_ratio"
	rmsRatio          = "rmse_ratio"
	smallErrors       = "small_errors_ratio"
	different         = "different"
	maxDifference     = "max_diff"
)

// checkText has the texts of the names.
var checkText = map[string]lang.Text{
	meanRelative:      {EN: "mean relative error"},
	maxRelative:       {EN: "max relative error"},
	shareWithin:       {EN: "share of elements within the tolerance"},
	maxAbs:            {EN: "max absolute error"},
	maxRelativeRatio:  {EN: "max relative error / same of the third result"},
	meanRelativeRatio: {EN: "mean relative error / same of the third result"},
	rmsRatio:          {EN: "root mean square error / same of the third result"},
	smallErrors:       {EN: "errors among small values / same of the third result"},
	different:         {EN: "elements that are not bit-equal"},
	maxDifference:     {EN: "largest difference"},
}

// Reasons returns why a tensor does not pass, with the numbers and the thresholds.
func Reasons(s *record.Standard) []finding.Finding {
	var parts []lang.Sentence
	for i := range s.Checks {
		if c := &s.Checks[i]; !c.Holds {
			parts = append(parts, failedText(c))
		}
	}
	if s.NonFinite.Wrong > 0 {
		parts = append(parts, lang.Say("wrong inf or NaN in %s", elements(s.NonFinite.Wrong)))
	}
	if s.NonFinite.Unclear > 0 {
		parts = append(parts, lang.Say("inf or NaN that differ on all three sides in %s", elements(s.NonFinite.Unclear)))
	}
	if len(parts) == 0 {
		return nil
	}
	return []finding.Finding{{Code: finding.NotStandard, Confidence: finding.High,
		Evidence: lang.Say("%s (%s)", lang.Join(parts, lang.Text{EN: ", "}), ruleText(s))}}
}

func elements(n int64) lang.Text { return lang.CountText(int(n), "element") }

// ruleText names the rule of the tensor.
func ruleText(s *record.Standard) lang.Sentence {
	switch s.Rule {
	case move:
		return lang.Say("data movement")
	case integer:
		return lang.Say("integers")
	case quantise:
		return lang.Say("quantised")
	}
	return lang.Say("thresholds of %s", s.Type)
}

// failedText returns a failed check as text: value, relation, limit.
func failedText(c *record.Check) lang.Sentence {
	relation := ">"
	switch {
	case c.Value < c.Limit:
		relation = "<"
	case c.Value == c.Limit:
		relation = ">="
	case c.Value != c.Value:
		relation = "!" + c.Relation
	}
	value, limit := fmt.Sprintf("%.3g", c.Value), fmt.Sprintf("%.3g", c.Limit)
	if value == limit && c.Value != c.Limit {
		value, limit = fmt.Sprintf("%.17g", c.Value), fmt.Sprintf("%.17g", c.Limit)
	}
	if fraction, exp := math.Frexp(float64(c.Limit)); fraction == 0.5 && c.Limit < 1 {
		limit += fmt.Sprintf(" (2^%d)", exp-1)
	}
	text := lang.Say("%s %s %s %s", checkText[c.Name], value, relation, limit)
	if c.NPU.IsDefined() {
		text = lang.Say("%s: %.3g and %.3g", text, c.NPU.Value(), c.Third.Value())
	}
	return text
}
