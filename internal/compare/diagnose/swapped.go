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

// Limits of the distance between the numbers of a tensor and of its own reference. For 2
// unrelated tensors of one distribution, each of the 4 numbers is that close in 1 of 20 cases; 2
// swapped tensors need 8 such numbers.
const (
	// swapSpread is the limit for means and deviations, in standard errors.
	swapSpread = 0.1
	// swapRounding is the limit for an element, as a share of the largest magnitude; rounding to
	// bfloat16 is 0.002.
	swapRounding = 0.005
	// minSwapped is the number of elements below which four numbers prove nothing.
	minSwapped = 16
)

// findSwapped finds pairs of failing rows that have each other's NPU tensor: two swapped files. A
// row with several possible partners gets none.
func (n *dataFlow) findSwapped() {
	var compared, shaped []*row
	for i := range n.rows {
		switch r := &n.rows[i]; {
		case r.mayBeSwapped():
			compared = append(compared, r)
		case r.status == record.ShapeMismatch && !r.isCompared && len(r.source.Patterns) == 0 && !r.source.RefShape.Equal(r.source.NPUShape):
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
			a.swapFindings = a.swapFinding(others[0])
		}
	}
}

// mayBeSwapped reports whether a failing row, looked at alone, may have the NPU tensor of another
// row.
func (r *row) mayBeSwapped() bool {
	if !r.mayBeDuplicate() {
		return false
	}
	res := r.result()
	isReal := func(s *metrics.SideStats) bool {
		return s.Mean.IsDefined() && s.Std.IsDefined() && s.Std.Value() > 0 && s.Min.IsDefined() && s.Max.IsDefined()
	}
	return res.Total >= minSwapped && !res.Complex && isFloating(res.RefDType) && isFloating(res.NPUDType) && isReal(&res.Ref) && isReal(&res.NPU)
}

// isFloating reports whether d is a floating-point type.
func isFloating(d tensor.DType) bool {
	_, ok := precisionOf(d)
	return ok
}

// isSwappedWith reports whether the NPU tensor of each row has the numbers of the other's
// reference. References with similar extremes, such as masks, prove nothing.
func (r *row) isSwappedWith(o *row) bool {
	a, b := r.result(), o.result()
	return r.operator != o.operator && a.Total == b.Total && !hasSameExtremes(&a.Ref, &b.Ref) &&
		mayHaveSameNumbers(&a.NPU, &b.Ref, a.Total) && mayHaveSameNumbers(&b.NPU, &a.Ref, a.Total) && !isContradicted(a, b) && !isContradicted(b, a)
}

// mayHaveSameNumbers reports whether two sides may hold the same n elements, up to rounding.
func mayHaveSameNumbers(a, b *metrics.SideStats, n int64) bool {
	std, root := b.Std.Value(), math.Sqrt(float64(n))
	near := func(x, y metrics.Metric, most float64) bool { return math.Abs(x.Value()-y.Value()) <= most }
	return a.NaN == b.NaN && a.PosInf == b.PosInf && a.NegInf == b.NegInf && math.Abs(float64(a.Zeros-b.Zeros)) <= float64(swapSpread*root) &&
		near(a.Mean, b.Mean, swapSpread*std/root) && near(a.Std, b.Std, swapSpread*std/root) && hasSameExtremes(a, b)
}

// hasSameExtremes reports whether two sides have the same minimum and maximum, up to rounding.
func hasSameExtremes(a, b *metrics.SideStats) bool {
	most := float64(swapRounding * max(largestOf(a), largestOf(b)))
	return math.Abs(a.Min.Value()-b.Min.Value()) <= most && math.Abs(a.Max.Value()-b.Max.Value()) <= most
}

// largestOf returns the largest magnitude of a side.
func largestOf(s *metrics.SideStats) float64 {
	return max(math.Abs(s.Min.Value()), math.Abs(s.Max.Value()))
}

// isContradicted reports whether the first errors of two results are at the same offset, and the NPU
// element of a there differs from the reference of b.
func isContradicted(a, b *metrics.Result) bool {
	x, y := a.Beyond.First, b.Beyond.First
	if x == nil || y == nil || x.Offset != y.Offset {
		return false
	}
	return math.Abs(x.NPU.Real-y.Ref.Real) > float64(swapRounding*max(largestOf(&b.Ref), math.Abs(y.Ref.Real)))
}

// swapFinding returns the finding for a row whose tensor is swapped with o's.
func (r *row) swapFinding(o *row) []finding.Finding {
	var found []finding.Finding
	if r.isCompared {
		found = newFindings(finding.Swapped, finding.Medium, lang.Say("the NPU tensor has the mean, deviation, minimum and maximum of the reference of %s, and the reverse holds: the NPU tensor that belongs here is probably in %s (files swapped?)", o.source.Name(), o.source.NPUFile))
	} else {
		found = newFindings(finding.Swapped, finding.Low, lang.Say("the NPU tensor has the shape of the reference of %s, and the reverse holds: the NPU tensor that belongs here is probably in %s (files swapped?)", o.source.Name(), o.source.NPUFile))
	}
	found[0].Facts = found[0].Facts.Int(finding.OtherRow, int64(o.index))
	return found
}
