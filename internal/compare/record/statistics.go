package record

import (
	"math"
	"strconv"

	"dumptool/internal/compare/metrics"
)

// Statistics are what is known of the two tensors of a row whose elements are not all
// there: the row is judged by them. Of a row without a partner the other side is empty.
type Statistics struct {
	// Tensor is where the tensor stands in its call, such as input.1, parameters.weight;
	// empty where the output of a file says all there is to say.
	Tensor string `json:"tensor,omitempty"`
	// Unread is set for a tensor that the operator does not read: it is written to.
	// RequiresGrad is that of PyTorch, Exponent is that of the power that made the tensor,
	// 0 for what none made.
	Unread       bool    `json:"unread,omitempty"`
	RequiresGrad bool    `json:"requires_grad,omitempty"`
	Exponent     float64 `json:"exponent,omitempty"`

	Ref SideStatistics `json:"ref"`
	NPU SideStatistics `json:"npu"`
}

// SideStatistics are the numbers about one tensor, undefined where nobody says them:
// NaN and infinities stand for themselves. Digest is a sum of the elements, empty for
// none.
type SideStatistics struct {
	Max    metrics.Metric `json:"max"`
	Min    metrics.Metric `json:"min"`
	Mean   metrics.Metric `json:"mean"`
	Norm   metrics.Metric `json:"norm"`
	Digest string         `json:"digest,omitempty"`
	// Call is the place of the call among those of its run, and Leaf that of the tensor
	// among those of its call, from 0.
	Call int `json:"call"`
	Leaf int `json:"leaf"`
}

// StatisticNumbers are the numbers about a tensor, by name.
var StatisticNumbers = []StatisticNumber{
	{"max", func(s *SideStatistics) metrics.Metric { return s.Max }},
	{"min", func(s *SideStatistics) metrics.Metric { return s.Min }},
	{"mean", func(s *SideStatistics) metrics.Metric { return s.Mean }},
	{"norm", func(s *SideStatistics) metrics.Metric { return s.Norm }},
}

// StatisticNumber is one of the numbers about a tensor.
type StatisticNumber struct {
	Name string
	Of   func(*SideStatistics) metrics.Metric
}

// Place is where the tensor of a row stands in its call, as msprobe names it: input.1.
func (s *Statistics) Place(row *Row) string {
	if s.Tensor != "" {
		return s.Tensor
	}
	return row.Kind + "." + strconv.Itoa(row.Output)
}

// Equal reports whether all numbers of both sides are the same.
func (s *Statistics) Equal() bool {
	for _, n := range StatisticNumbers {
		a, b := n.Of(&s.Ref), n.Of(&s.NPU)
		if a != b && !(a.Defined && b.Defined && a.Value != a.Value && b.Value != b.Value) { // NaN equals NaN
			return false
		}
	}
	return s.Ref.Digest == s.NPU.Digest
}

// ByDigest reports whether both sides have digests of one kind, which decide alone.
func (s *Statistics) ByDigest() bool {
	return s.Ref.Digest != "" && len(s.Ref.Digest) == len(s.NPU.Digest)
}

// NormRatio is the norm of the NPU beside that of the reference: 1 where both are 0,
// undefined where one is not known, or that of the reference is not finite.
func (s *Statistics) NormRatio() metrics.Metric {
	ref, npu := s.Ref.Norm, s.NPU.Norm
	switch {
	case !ref.Defined || !npu.Defined || !(ref.Value >= 0) || ref.Value > math.MaxFloat64 || npu.Value < 0:
		return metrics.Metric{}
	case ref.Value == npu.Value:
		return metrics.Metric{Value: 1, Defined: true}
	}
	return metrics.Metric{Value: npu.Value / ref.Value, Defined: true}
}

// Judged reports whether the tensors of the row were compared, element by element or
// by statistics.
func (r *Row) Judged() bool {
	return r.Compared() || r.Statistics != nil && r.RefFile != "" && r.NPUFile != ""
}
