package record

import (
	"math"
	"slices"
	"strconv"

	"dumptool/internal/compare/metrics"
)

// Statistics has the statistics of the two tensors of a row without elements, which decide its status. In a row
// without a partner the other side is empty.
type Statistics struct {
	// Tensor is the position of the tensor in its call, such as input.1 or parameters.weight; empty if it follows
	// from kind and index of the row.
	Tensor string `json:"tensor,omitempty"`
	// Unread: the operator only writes to the tensor. RequiresGrad is PyTorch's requires_grad. Exponent is the
	// exponent of the power operator that produced the tensor, 0 for others.
	Unread       bool    `json:"unread,omitempty"`
	RequiresGrad bool    `json:"requires_grad,omitempty"`
	Exponent     float64 `json:"exponent,omitempty"`

	Ref SideStatistics `json:"ref"`
	NPU SideStatistics `json:"npu"`
}

// SideStatistics has the statistics of one tensor. Numbers that were not dumped are undefined; others may be NaN or
// infinite. Digest is a checksum of the elements, empty for none.
type SideStatistics struct {
	Max    metrics.Metric `json:"max"`
	Min    metrics.Metric `json:"min"`
	Mean   metrics.Metric `json:"mean"`
	Norm   metrics.Metric `json:"norm"`
	Digest string         `json:"digest,omitempty"`
	// Call is the index of the call in its run, Leaf the index of the tensor in its call.
	Call int `json:"call"`
	Leaf int `json:"leaf"`
}

// StatisticNumbers are the statistics of a tensor, by name.
var StatisticNumbers = []StatisticNumber{
	{"max", func(s *SideStatistics) metrics.Metric { return s.Max }},
	{"min", func(s *SideStatistics) metrics.Metric { return s.Min }},
	{"mean", func(s *SideStatistics) metrics.Metric { return s.Mean }},
	{"norm", func(s *SideStatistics) metrics.Metric { return s.Norm }},
}

// StatisticNumber is a statistic of a tensor.
type StatisticNumber struct {
	Name string
	Of   func(*SideStatistics) metrics.Metric
}

// Place returns the position of the row's tensor in its call, as msprobe names it: input.1.
func (s *Statistics) Place(row *Row) string {
	if s.Tensor != "" {
		return s.Tensor
	}
	return row.Kind + "." + strconv.Itoa(row.Output)
}

// hasNumbers reports whether some statistic is defined and not NaN on both sides, or both sides have
// digests.
func (s *Statistics) hasNumbers() bool {
	return s.HasComparableDigests() || slices.ContainsFunc(StatisticNumbers, func(n StatisticNumber) bool {
		a, b := n.Of(&s.Ref), n.Of(&s.NPU)
		return a.IsDefined() != b.IsDefined() || a.IsDefined() && !(math.IsNaN(a.Value()) && math.IsNaN(b.Value()))
	})
}

// Equal reports whether all numbers of both sides are the same.
func (s *Statistics) Equal() bool {
	for _, n := range StatisticNumbers {
		a, b := n.Of(&s.Ref), n.Of(&s.NPU)
		if !a.Equal(b) {
			return false
		}
	}
	return s.Ref.Digest == s.NPU.Digest
}

// HasComparableDigests reports whether both sides have digests of one kind, which decide alone.
func (s *Statistics) HasComparableDigests() bool {
	return s.Ref.Digest != "" && len(s.Ref.Digest) == len(s.NPU.Digest)
}

// NormRatio returns the norm of the NPU divided by the norm of the reference: 1 if both are 0,
// undefined if one is unknown or the norm of the reference is not finite.
func (s *Statistics) NormRatio() metrics.Metric {
	ref, npu := s.Ref.Norm, s.NPU.Norm
	switch {
	case !ref.IsDefined() || !npu.IsDefined() || !(ref.Value() >= 0) || ref.Value() > math.MaxFloat64 || npu.Value() < 0:
		return metrics.Metric{}
	case ref.Value() == npu.Value():
		return metrics.NumberOf(1)
	}
	return metrics.NumberOf(npu.Value() / ref.Value())
}
