package align

import (
	"cmp"
	"slices"
	"strings"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/lists"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// order is an order of axes in which the NPU tensor has the shape of the reference.
type order struct {
	format tensor.Format
	plan   *layout.Plan // nil for the stored elements
}

// convertReference converts a reference in a device layout to host order. It returns the axis order
// of the reference, nil if unknown.
func (g *Aligner) convertReference(a *Alignment, format *tensor.Format) (*tensor.Format, error) {
	ref, npu := a.Ref.tensor, a.NPU.tensor
	if layout.IsHost(ref.Format) {
		if format == nil && ref.Format != tensor.ND && ref.isFromDump() {
			format = &ref.Format
		}
		return format, nil
	}
	var first error
	for _, f := range hostOrders(ref.Tensor, format) {
		plan, err := g.plan(ref, f, nil)
		if err == nil {
			a.Ref.plan, a.Ref.Shape = plan, plan.Shape
			a.note(lang.Say("reference %s to %s", ref.Format, plan.Format))
			return &f, nil
		}
		first = cmp.Or(first, err)
	}
	if npu.Format == ref.Format && npu.Stored.Equal(ref.Stored) {
		a.note(lang.Say("compared in %s with its padding: %v", ref.Format, first))
		return &ref.Format, nil
	}
	return nil, first
}

func (a *Alignment) note(s lang.Sentence) { a.Notes = append(a.Notes, s) }

// plan plans the conversion of a tensor to a host order.
func (g *Aligner) plan(t *Tensor, target tensor.Format, shape tensor.Shape) (*layout.Plan, error) {
	return layout.NewPlan(layout.Request{
		DType: t.DType, Source: t.Format, Shape: t.Stored, C0: t.C0, Groups: t.Groups,
		Original: t.OriginalShape, OriginalFormat: t.OriginalFormat,
		Target: target, TargetShape: shape, Order: g.OriginalFormat,
	})
}

// hostOrders lists possible axis orders of a tensor, the most likely first.
func hostOrders(t *tensorfile.Tensor, known *tensor.Format) []tensor.Format {
	if known != nil {
		return []tensor.Format{*known}
	}
	all := []tensor.Format{tensor.NCHW, tensor.NHWC, tensor.HWCN, tensor.NCDHW, tensor.NDHWC, tensor.DHWCN, tensor.ND}
	orders := make([]tensor.Format, 0, len(all))
	if layout.IsHost(t.Format) && t.Format != tensor.ND {
		orders = append(orders, t.Format)
	}
	if f := t.OriginalFormat; f != nil && layout.IsHost(*f) && !slices.Contains(orders, *f) {
		orders = append(orders, *f)
	}
	for _, f := range all {
		if !slices.Contains(orders, f) {
			orders = append(orders, f)
		}
	}
	return orders
}

// matchNPU selects a view of the NPU tensor with the shape of the reference: the stored elements, else the first plan
// with this shape, else the first plan with this shape apart from axes of length 1, else the first plan.
func (g *Aligner) matchNPU(a *Alignment, format *tensor.Format) error {
	t, want := a.NPU.tensor, a.Ref.Shape
	if isComparedAsStored(a, format) {
		g.findOtherOrders(a, format)
		return nil
	}
	c := g.listCandidates(t, want, format)
	// A dump has its original shape. For other files, a reference with the stored shape shows
	// that both sides are unconverted.
	isStoredOrder := !layout.IsHost(t.Format) && t.Stored.Equal(want)
	switch {
	case len(c.fits) > 0 && (t.isFromDump() || !isStoredOrder):
		a.NPU.plan = c.fits[0].plan
	case isStoredOrder:
		a.note(lang.Say("compared in the layout %s: the reference has the shape of the stored tensor", t.Format))
		return nil
	case c.squeezed != nil:
		a.NPU.plan = c.squeezed
	case c.otherShape != nil:
		a.NPU.plan = c.otherShape
	default:
		return c.firstError
	}
	a.NPU.Shape = a.NPU.plan.Shape
	a.setOrders(c.fits)
	a.noteOrder()
	return nil
}

// isComparedAsStored reports whether to compare the stored elements of the NPU tensor: both sides are in one device
// layout, or the tensor is in host order and names no order other than the reference's.
func isComparedAsStored(a *Alignment, format *tensor.Format) bool {
	t := a.NPU.tensor
	if !layout.IsHost(t.Format) {
		return format != nil && *format == t.Format
	}
	if t.Format == tensor.ND || !t.hasSureOrder() {
		return true
	}
	return t.Stored.Equal(a.Ref.Shape) && (format == nil || *format == t.Format)
}

// candidates are views of an NPU tensor, one for each order of axes.
type candidates struct {
	// fits have the shape of the reference.
	fits []order
	// squeezed is the first plan with this shape apart from axes of length 1, other the first
	// plan with another shape; nil for none.
	squeezed, otherShape *layout.Plan
	// firstError is the error of the first impossible order.
	firstError error
}

// listCandidates lists the views of the NPU tensor, in the order of hostOrders.
func (g *Aligner) listCandidates(t *Tensor, want tensor.Shape, format *tensor.Format) (c candidates) {
	first := func(to **layout.Plan, plan *layout.Plan) {
		if *to == nil {
			*to = plan
		}
	}
	var plan *layout.Plan
	var err error
	orders := hostOrders(t.Tensor, format)
	c.fits = make([]order, 0, len(orders))
	for _, f := range orders {
		if plan == nil || !plan.AnyOrder {
			plan, err = g.plan(t, f, nil)
		}
		if (err != nil || !plan.Shape.Equal(want)) && len(t.OriginalShape) == 0 && !layout.IsHost(t.Format) {
			// Without an original shape, elements outside the shape of the reference are padding.
			if q, e := g.plan(t, f, want); e == nil && q.Shape.Equal(want) {
				plan, err = q, nil
			}
		}
		switch {
		case err != nil:
			c.firstError = cmp.Or(c.firstError, err)
		case plan.Shape.Equal(want):
			if !plan.AnyOrder {
				f = plan.Format
			}
			if f != tensor.ND || len(c.fits) == 0 {
				c.fits = append(c.fits, order{f, plan})
			}
		case squeeze(plan.Shape).Equal(squeeze(want)):
			first(&c.squeezed, plan)
		default:
			first(&c.otherShape, plan)
		}
	}
	return c
}

// findOtherOrders looks for more orders of axes in which a tensor compared as stored has the shape
// of the reference, if the order of the tensor is known and the order of the reference is not.
func (g *Aligner) findOtherOrders(a *Alignment, format *tensor.Format) {
	t := a.NPU.tensor
	if format != nil || !layout.IsHost(t.Format) || t.Format == tensor.ND || !t.hasSureOrder() {
		return
	}
	a.setOrders(slices.Concat([]order{{format: t.Format}}, slices.DeleteFunc(g.listCandidates(t, a.Ref.Shape, nil).fits, func(o order) bool {
		return o.format == t.Format || o.format == tensor.ND
	})))
}

// setOrders keeps the fitting orders of axes if their views differ.
func (a *Alignment) setOrders(fits []order) {
	fits = slices.CompactFunc(fits, func(a, b order) bool { return a.format == b.format })
	if len(fits) > 1 && !isSymmetric(a.Ref.Shape) {
		a.fittingOrders = fits
	}
}

// noteOrder notes the axis order of the view, and that it is a guess if another order fits.
func (a *Alignment) noteOrder() {
	a.orderNote = len(a.Notes)
	if t := a.NPU.tensor; !a.NPU.plan.Copies() || !layout.IsHost(t.Format) {
		a.note(conversionNote(t.Format, a.NPU.plan.Format))
	}
	if len(a.fittingOrders) > 1 {
		a.note(lang.Say("the shape fits %s too (--ref-format)", a.fittingOrders[1].format))
	}
	a.orderNotes = len(a.Notes) - a.orderNote
}

// conversionNote is the note of a conversion of the NPU tensor.
func conversionNote(from, to tensor.Format) lang.Sentence {
	return lang.Say("NPU %s to %s", from, to)
}

// Orders returns the number of fitting axis orders of the NPU tensor: more than 1 if the order is a guess.
func (a *Alignment) Orders() int {
	if a.Status != "" {
		return 1
	}
	return max(1, len(a.fittingOrders))
}

// HasSameView reports whether order i of the NPU tensor has the elements in the same places as the
// order in use.
func (a *Alignment) HasSameView(i int) bool {
	used, other := a.NPU.plan, a.fittingOrders[i].plan
	return used != nil && other != nil && used.AnyOrder && other.AnyOrder
}

// WithAxisOrder returns the alignment in axis order i, 0 for the order in use, with a note of the flag that confirms
// it. Both alignments share the open files.
func (a *Alignment) WithAxisOrder(i int) *Alignment {
	o := a.fittingOrders[i]
	names := lists.Map(a.fittingOrders, func(other order) string { return other.format.String() })
	used := *a
	used.NPU.plan = o.plan
	used.Notes = slices.Concat(a.Notes[:a.orderNote], []lang.Sentence{
		conversionNote(a.NPU.tensor.Format, o.format),
		lang.Say("the shape fits %s: the tensors agree best as %s (--ref-format %s decides)", strings.Join(names, ", "), o.format, o.format),
	}, a.Notes[a.orderNote+a.orderNotes:])
	return &used
}

// isSymmetric reports whether at most one axis has more than one position: then all orders of axes
// are the same.
func isSymmetric(s tensor.Shape) bool { return len(squeeze(s)) <= 1 }

// squeeze drops the axes of length 1.
func squeeze(s tensor.Shape) tensor.Shape {
	return slices.DeleteFunc(slices.Clone(s), func(d int64) bool { return d == 1 })
}

// transpose applies the permutation that the user gave for the operator.
func (g *Aligner) transpose(op string, a *Alignment) error {
	perm, ok := g.Transpose[op]
	if !ok {
		return nil
	}
	plan, err := layout.Transpose(a.NPU.Shape, perm)
	if err != nil {
		return lang.Errorf("--transpose: %w", err)
	}
	a.NPU.second, a.NPU.Shape = plan, plan.Shape
	a.note(lang.Say("NPU tensor transposed by %v", perm))
	return nil
}

// reconcileShapes applies the options to shapes that differ.
func (g *Aligner) reconcileShapes(a *Alignment, p Pair) {
	want, got := a.Ref.Shape, a.NPU.Shape
	n, m := elementCount(want), elementCount(got)
	a.Shape = want
	switch {
	case p.Tokens != nil && p.Part == nil && a.selectRows(p.Tokens):
		n = elementCount(a.Shape)
	case got.Equal(want):
	case n == m && squeeze(got).Equal(squeeze(want)):
		a.note(lang.Say("without axes of length 1: the NPU shape is %v", got))
	case n == m && p.Ref.Raw != p.NPU.Raw && (len(got) == 1 || len(want) == 1):
		// A raw file has the shape of the other side.
		if len(want) == 1 {
			a.Shape = got
		}
	case g.applyAutoLayout(a):
	case n == m && g.Force:
		a.Forced = true
		a.note(lang.Say("compared in storage order (--force): the NPU shape is %v", got))
	case g.cropPadding(a):
	default:
		a.Status = record.ShapeMismatch
		code := finding.SizeMismatch
		if n == m {
			code = finding.ShapeDiffers
		}
		switch {
		case p.Tokens != nil:
			a.Status, code = record.Skip, finding.BatchMixed
		case g.Rows && a.cropToCommon(p.Trailing):
			a.Status = ""
		}
		a.Reasons = append(a.Reasons, finding.Finding{Code: code, Confidence: finding.High, Evidence: lang.Say("reference is %v, NPU is %v", want, got)})
		if perms := permutations(want, got); len(perms) > 0 {
			a.Reasons = append(a.Reasons, finding.Finding{Code: finding.Layout, Confidence: finding.Medium, Evidence: lang.Say(
				"the NPU's axes in the order %v have the reference's shape (--auto-layout, --transpose)", perms[0])})
		}
		return
	}
	if max := g.MaxElements; max > 0 && max < n {
		a.Partial = true
		a.Shape = tensor.Shape{max}
		a.note(lang.Say("only the first %d of %d elements", max, n))
	}
}

// elementCount returns the number of elements of a checked shape.
func elementCount(s tensor.Shape) int64 {
	n, _ := s.Count()
	return n
}

// cropToCommon restricts both sides to the common part of the only axis whose lengths differ; false if
// there is no such axis.
func (a *Alignment) cropToCommon(trailing bool) bool {
	ref, npu := a.Ref.Shape, a.NPU.Shape
	if len(ref) != len(npu) || a.Ref.second != nil || a.NPU.second != nil {
		return false
	}
	axis := -1
	for k := range ref {
		switch {
		case ref[k] == npu[k]:
		case axis >= 0 || min(ref[k], npu[k]) == 0:
			return false
		default:
			axis = k
		}
	}
	if axis < 0 {
		return false
	}
	c := &record.CommonPart{Axis: axis, Ref: ref[axis], NPU: npu[axis], Trailing: trailing}
	both := min(c.Ref, c.NPU)
	for _, v := range []*View{&a.Ref, &a.NPU} {
		runs, first := make([][]layout.Run, len(v.Shape)), int64(0)
		if trailing {
			first = v.Shape[axis] - both
		}
		runs[axis] = []layout.Run{{From: first, N: both}}
		plan, err := layout.Pick(v.Shape, runs)
		if err != nil {
			return false
		}
		v.second, a.Shape = plan, plan.Shape
	}
	a.Common = c
	return true
}

// cropPadding cuts the padding of an NPU tensor longer than the reference on one axis.
func (g *Aligner) cropPadding(a *Alignment) bool {
	want, got := a.Ref.Shape, a.NPU.Shape
	if !g.CropPadding || len(want) != len(got) || a.NPU.second != nil {
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
	a.NPU.second, a.isCropped = plan, true
	a.note(lang.Say("without padding: the NPU shape is %v", got))
	return true
}
