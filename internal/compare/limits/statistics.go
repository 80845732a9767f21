package limits

import (
	"math"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
)

// JudgeStatistics sets the status of a row by its own statistics and the limits.
func JudgeStatistics(row *record.Row) {
	s := row.Statistics
	row.Pair.Status = record.Pass
	fail := func(code finding.Code, evidence lang.Sentence) {
		row.Pair.Status = record.Fail
		row.Pair.Reasons = append(row.Pair.Reasons, finding.Finding{Code: code, Confidence: finding.Medium, Evidence: evidence})
	}
	if s.HasComparableDigests() {
		if s.Ref.Digest != s.NPU.Digest {
			fail(finding.DigestDiffers, lang.Say("digest %s, the reference has %s", s.NPU.Digest, s.Ref.Digest))
		}
		return
	}
	if isLost(s.NPU.Max, s.Ref.Max) || isLost(s.NPU.Min, s.Ref.Min) {
		fail(finding.NPUNaN, lang.Say("NPU max %s and min %s, reference max %s and min %s",
			s.NPU.Max, s.NPU.Min, s.Ref.Max, s.Ref.Min))
		return
	}
	_, float := precisionOf(row.NPUDType)
	for _, n := range []struct {
		name     string
		ref, npu metrics.Metric
	}{{"norm", s.Ref.Norm, s.NPU.Norm}, {"max", s.Ref.Max, s.NPU.Max}, {"min", s.Ref.Min, s.NPU.Min}} {
		d := math.Abs(n.npu.Value() - n.ref.Value())
		beyond := d > row.Limits.Atol && d > row.Limits.Rtol*max(math.Abs(n.ref.Value()), math.Abs(n.npu.Value())) || d > 0 && !float && n.name != "norm"
		if n.ref.IsDefined() && n.npu.IsDefined() && beyond {
			fail(finding.StatisticsDiffer, lang.Say("%s %s, the reference has %s", n.name, n.npu, n.ref))
			return
		}
	}
}

// isLost reports whether a number is finite in the reference and not finite on the NPU.
func isLost(npu, ref metrics.Metric) bool {
	finite := func(m metrics.Metric) bool { return !math.IsNaN(m.Value()) && !math.IsInf(m.Value(), 0) }
	return npu.IsDefined() && ref.IsDefined() && !finite(npu) && finite(ref)
}
