package align

import (
	"fmt"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// transpose applies the permutation that the user gave for the operator.
func (g *Aligner) transpose(op string, a *Alignment) error {
	perm, ok := g.Transpose[op]
	if !ok {
		return nil
	}
	plan, err := layout.Transpose(a.NPU.Shape, perm)
	if err != nil {
		return fmt.Errorf("--transpose: %w", err)
	}
	a.NPU.then, a.NPU.Shape = plan, plan.Shape
	a.note(lang.Sayf("NPU transposed %v", "NPU 按 %v 转置", perm))
	return nil
}

// shapes applies the shape policy.
func (g *Aligner) shapes(a *Alignment, p Pair) {
	want, got := a.Ref.Shape, a.NPU.Shape
	n, m := count(want), count(got)
	a.Shape = want
	switch {
	case got.Equal(want):
	case n == m && squeeze(got).Equal(squeeze(want)):
		a.note(lang.Sayf("squeezed: NPU is %v", "已去掉长度为 1 的轴：NPU 为 %v", got))
	case n == m && p.Ref.Raw != p.NPU.Raw && (len(got) == 1 || len(want) == 1):
		// A raw file has no shape of its own: it has the other side's.
		if len(want) == 1 {
			a.Shape = got
		}
	case g.autoLayout(a):
	case n == m && g.Force:
		a.Forced = true
		a.note(lang.Sayf("forced: NPU is %v", "强制比对：NPU 为 %v", got))
	case g.crop(a):
	default:
		a.Status = record.ShapeMismatch
		code := record.SizeMismatch
		if n == m {
			code = record.ShapeDiffers
		}
		a.Reasons = append(a.Reasons, record.Finding{Code: code, Confidence: record.High, Evidence: lang.Sayf("reference is %v, NPU is %v", "标杆为 %v，NPU 为 %v", want, got)})
		if perms := permutations(want, got); len(perms) > 0 {
			a.Reasons = append(a.Reasons, record.Finding{Code: record.Layout, Confidence: record.Medium, Evidence: lang.Sayf(
				"the NPU's axes in the order %v have the reference's shape (--auto-layout, --transpose)",
				"NPU 的轴按 %v 排列后与标杆 shape 一致(--auto-layout、--transpose)", perms[0])})
		}
		return
	}
	if max := g.MaxElements; max > 0 && max < n {
		a.Partial = true
		a.Shape = tensor.Shape{max}
		a.note(lang.Sayf("only the first %d of %d elements", "仅前 %d 个元素(共 %d 个)", max, n))
	}
}

// count is the number of elements of a shape that has been checked before.
func count(s tensor.Shape) int64 {
	n, _ := s.Count()
	return n
}

// autoLayout applies the only known permutation that gives the reference's
// shape.
func (g *Aligner) autoLayout(a *Alignment) bool {
	perms := permutations(a.Ref.Shape, a.NPU.Shape)
	if !g.AutoLayout || len(perms) != 1 || a.NPU.then != nil {
		return false
	}
	plan, err := layout.Transpose(a.NPU.Shape, perms[0])
	if err != nil {
		return false
	}
	a.NPU.then = plan
	a.note(lang.Sayf("NPU %v transposed %v", "NPU %v 按 %v 转置", a.NPU.Shape, perms[0]))
	a.NPU.Shape = plan.Shape
	return true
}

// crop cuts the padding of an NPU tensor that is longer on one axis.
func (g *Aligner) crop(a *Alignment) bool {
	want, got := a.Ref.Shape, a.NPU.Shape
	if !g.CropPadding || len(want) != len(got) || a.NPU.then != nil {
		return false
	}
	longer := 0
	for i := range want {
		switch {
		case got[i] < want[i]:
			return false
		case got[i] > want[i]:
			longer++
		}
	}
	plan, err := layout.Crop(got, want)
	if longer != 1 || err != nil {
		return false
	}
	a.NPU.then, a.cropped = plan, true
	a.note(lang.Sayf("cropped: NPU is %v", "已裁去填充：NPU 为 %v", got))
	return true
}

// knownPermutations are the orders in which layouts confuse axes: the result's
// axis i is axis perm[i] of the tensor. NCHW and NHWC and HWCN, NCDHW and NDHWC
// and DHWCN, and transposed matrices.
var knownPermutations = [][]int{
	{1, 0},
	{0, 2, 1}, {1, 0, 2}, {2, 0, 1}, {1, 2, 0},
	{0, 3, 1, 2}, {0, 2, 3, 1}, {3, 2, 0, 1}, {2, 3, 1, 0}, {3, 0, 1, 2}, {1, 2, 3, 0}, {0, 1, 3, 2},
	{0, 4, 1, 2, 3}, {0, 2, 3, 4, 1}, {4, 3, 0, 1, 2}, {2, 3, 4, 1, 0}, {0, 1, 2, 4, 3},
}

// permutations lists the known permutations of got that have the shape want.
func permutations(want, got tensor.Shape) [][]int {
	var all [][]int
	for _, perm := range knownPermutations {
		if len(perm) != len(got) || len(perm) != len(want) {
			continue
		}
		fits := true
		for i, p := range perm {
			fits = fits && got[p] == want[i]
		}
		if fits {
			all = append(all, perm)
		}
	}
	return all
}
