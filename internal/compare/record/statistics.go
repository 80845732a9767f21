package record

import "dumptool/internal/compare/metrics"

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

// Equal reports whether all numbers of both sides are the same.
func (s *Statistics) Equal() bool {
	same := func(a, b metrics.Metric) bool {
		return a == b || a.Defined && b.Defined && a.Value != a.Value && b.Value != b.Value
	}
	return same(s.Ref.Max, s.NPU.Max) && same(s.Ref.Min, s.NPU.Min) && same(s.Ref.Mean, s.NPU.Mean) && same(s.Ref.Norm, s.NPU.Norm) && s.Ref.Digest == s.NPU.Digest
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
func (r *Row) Judged() bool {
	return r.Compared() || r.Statistics != nil && r.RefFile != "" && r.NPUFile != ""
}
