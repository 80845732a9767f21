package record

import "dumptool/internal/compare/metrics"

// Statistics are what is known of the two tensors of a row whose elements are not all
// there: the row is judged by them.
type Statistics struct {
	Ref, NPU SideStatistics
}

// SideStatistics are the numbers about one tensor, undefined where nobody says them:
// NaN and infinities stand for themselves. Digest is a sum of the elements, empty for
// none.
type SideStatistics struct {
	Max, Min, Mean, Norm metrics.Metric
	Digest               string
}

// ByDigest reports whether both sides have digests, which decide alone.
func (s *Statistics) ByDigest() bool { return s.Ref.Digest != "" && s.NPU.Digest != "" }

// RelativeNorm is the difference of the norms as a part of the reference's, undefined
// where a norm is or where the reference is 0.
func (s *Statistics) RelativeNorm() metrics.Metric { return relative(s.Ref.Norm, s.NPU.Norm) }

func relative(ref, npu metrics.Metric) metrics.Metric {
	d := npu.Value - ref.Value
	if d < 0 {
		d = -d
	}
	r := ref.Value
	if r < 0 {
		r = -r
	}
	if !ref.Defined || !npu.Defined || !(d/r >= 0) || r == 0 {
		return metrics.Metric{}
	}
	return metrics.Metric{Value: d / r, Defined: true}
}

// Judged reports whether the tensors of the row were compared, element by element or
// by statistics.
func (r *Row) Judged() bool { return r.Compared() || r.Statistics != nil }

// statisticsJSON are Statistics; a number is null where nobody says it.
type statisticsJSON struct {
	Ref sideStatisticsJSON `json:"ref"`
	NPU sideStatisticsJSON `json:"npu"`
}

type sideStatisticsJSON struct {
	Max    Number `json:"max"`
	Min    Number `json:"min"`
	Mean   Number `json:"mean"`
	Norm   Number `json:"norm"`
	Digest string `json:"digest,omitempty"`
}

func statisticsOf(s *Statistics) *statisticsJSON {
	if s == nil {
		return nil
	}
	side := func(s *SideStatistics) sideStatisticsJSON {
		return sideStatisticsJSON{Number(s.Max), Number(s.Min), Number(s.Mean), Number(s.Norm), s.Digest}
	}
	return &statisticsJSON{side(&s.Ref), side(&s.NPU)}
}

func (j *statisticsJSON) statistics() *Statistics {
	if j == nil {
		return nil
	}
	side := func(j *sideStatisticsJSON) SideStatistics {
		return SideStatistics{metrics.Metric(j.Max), metrics.Metric(j.Min), metrics.Metric(j.Mean), metrics.Metric(j.Norm), j.Digest}
	}
	return &Statistics{side(&j.Ref), side(&j.NPU)}
}
