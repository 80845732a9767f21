package diagnose

import (
	"cmp"
	"math"
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// How far the numbers of a tensor and of its reference may be apart in a row that the tensor
// belongs to. Of 2 unrelated tensors of one distribution each of the 4 numbers is that near in
// 1 of 20 cases; 2 swapped ones take 8.
const (
	// swapSpread is the share of the standard error of a mean or a deviation.
	swapSpread = 0.1
	// swapRounding is the share of the largest magnitude by which an element may be off: of
	// bfloat16 rounding is 0.002.
	swapRounding = 0.005
	// minSwapped is the number of elements below which four numbers prove nothing.
	minSwapped = 16
)

// findSwapped finds failing rows of which each has the NPU tensor of the other: two files that
// were swapped. A row with several such partners has none.
func (n *network) findSwapped() {
	var compared, shaped []*row
	for i := range n.rows {
		switch r := &n.rows[i]; {
		case r.mayBeSwapped():
			compared = append(compared, r)
		case r.status == record.ShapeMismatch && !r.compared && len(r.source.Patterns) == 0 && !r.source.RefShape.Equal(r.source.NPUShape):
			shaped = append(shaped, r)
		}
	}
	highest := func(r *row) float64 { return r.result().Ref.Max.Value() }
	slices.SortStableFunc(compared, func(a, b *row) int { return cmp.Compare(highest(a), highest(b)) })
	partners := make(map[*row][]*row)
	for _, a := range compared {
		npu := &a.result().NPU
		span := float64(2 * swapRounding * largestOf(npu))
		first, _ := slices.BinarySearchFunc(compared, npu.Max.Value()-span, func(b *row, v float64) int { return cmp.Compare(highest(b), v) })
		for _, b := range compared[first:] {
			if highest(b) > npu.Max.Value()+span {
				break
			}
			if a.isSwappedWith(b) {
				partners[a] = append(partners[a], b)
			}
		}
	}
	for i, a := range shaped {
		for _, b := range shaped[i+1:] {
			if a.operator != b.operator && a.source.NPUShape.Equal(b.source.RefShape) && b.source.NPUShape.Equal(a.source.RefShape) {
				partners[a], partners[b] = append(partners[a], b), append(partners[b], a)
			}
		}
	}
	for a, others := range partners {
		if len(others) == 1 && len(partners[others[0]]) == 1 {
			a.swapped = a.swap(others[0])
		}
	}
}

// mayBeSwapped reports whether a failing row may have the NPU tensor of another one, as far as
// it alone tells.
func (r *row) mayBeSwapped() bool {
	if !r.mayBeDuplicate() {
		return false
	}
	res := r.result()
	isReal := func(s *metrics.SideStats) bool {
		return s.Mean.Defined() && s.Std.Defined() && s.Std.Value() > 0 && s.Min.Defined() && s.Max.Defined()
	}
	return res.Total >= minSwapped && !res.Complex && isFloating(res.RefDType) && isFloating(res.NPUDType) && isReal(&res.Ref) && isReal(&res.NPU)
}

// isFloating reports whether a type is one of floating-point numbers.
func isFloating(d tensor.DType) bool {
	_, ok := precisionOf(d)
	return ok
}

// isSwappedWith reports whether each of two rows has the numbers of the other's reference on the
// NPU. References whose extremes are alike, such as those of masks, tell nothing.
func (r *row) isSwappedWith(o *row) bool {
	a, b := r.result(), o.result()
	return r.operator != o.operator && a.Total == b.Total && !sameExtremes(&a.Ref, &b.Ref) &&
		sameNumbers(&a.NPU, &b.Ref, a.Total) && sameNumbers(&b.NPU, &a.Ref, a.Total) && !contradict(a, b) && !contradict(b, a)
}

// sameNumbers reports whether two sides may hold the same n elements, apart from rounding.
func sameNumbers(a, b *metrics.SideStats, n int64) bool {
	std, root := b.Std.Value(), math.Sqrt(float64(n))
	near := func(x, y metrics.Metric, most float64) bool { return math.Abs(x.Value()-y.Value()) <= most }
	return a.NaN == b.NaN && a.PosInf == b.PosInf && a.NegInf == b.NegInf && math.Abs(float64(a.Zeros-b.Zeros)) <= float64(swapSpread*root) &&
		near(a.Mean, b.Mean, swapSpread*std/root) && near(a.Std, b.Std, swapSpread*std/root) && sameExtremes(a, b)
}

// sameExtremes reports whether two sides have the same least and largest number, apart from rounding.
func sameExtremes(a, b *metrics.SideStats) bool {
	most := float64(swapRounding * max(largestOf(a), largestOf(b)))
	return math.Abs(a.Min.Value()-b.Min.Value()) <= most && math.Abs(a.Max.Value()-b.Max.Value()) <= most
}

// largestOf is the largest magnitude of a side.
func largestOf(s *metrics.SideStats) float64 {
	return max(math.Abs(s.Min.Value()), math.Abs(s.Max.Value()))
}

// contradict reports whether the first errors of two results stand at one place, and there the
// NPU has in the first what the reference of the second has not.
func contradict(a, b *metrics.Result) bool {
	x, y := a.Beyond.First, b.Beyond.First
	if x == nil || y == nil || x.Offset != y.Offset {
		return false
	}
	return math.Abs(x.NPU.Real-y.Ref.Real) > float64(swapRounding*max(largestOf(&b.Ref), math.Abs(y.Ref.Real)))
}

// swap is the finding for two rows, each with the tensor of the other.
func (r *row) swap(o *row) []finding.Finding {
	var found []finding.Finding
	if r.compared {
		found = single(finding.Swapped, finding.Medium, lang.Sayf("mean, deviation, minimum and maximum of the NPU tensor are those of the reference of %s, and the reverse: its own is probably in %s (files swapped?)",
			"NPU 张量的均值、标准差、最小值和最大值与 %s 的标杆相同，反之亦然：它自己的张量很可能在 %s 中(文件互换？)", o.source.Name(), o.source.NPUFile))
	} else {
		found = single(finding.Swapped, finding.Low, lang.Sayf("the NPU tensor has the shape of the reference of %s, and the reverse: its own is probably in %s (files swapped?)",
			"NPU 张量的 shape 与 %s 的标杆相同，反之亦然：它自己的张量很可能在 %s 中(文件互换？)", o.source.Name(), o.source.NPUFile))
	}
	found[0].Facts = found[0].Facts.Int(finding.OtherRow, int64(o.index))
	return found
}
