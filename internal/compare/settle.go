package compare

import (
	"errors"
	"fmt"
	"slices"

	"dumptool/internal/compare/engine"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// ShapeOptions say what may be done to tensors whose shapes differ.
type ShapeOptions struct {
	// Force compares tensors of one size flat.
	Force bool
	// CropPadding compares the common part when the NPU tensor is longer on one
	// axis; the rest has to be zero.
	CropPadding bool
	// AutoLayout permutes the axes of an NPU tensor when one known permutation
	// gives the reference's shape.
	AutoLayout bool
	// Transpose permutes the axes of the NPU tensors of an operator.
	Transpose map[string][]int
	// RefFormat is the axis order of the reference, nil when the tensors tell;
	// OriginalFormat that of the original shapes in dumps.
	RefFormat, OriginalFormat *tensor.Format
	// MaxElements compares only so many leading elements, 0 for all.
	MaxElements int64
	// StrictDType makes different element types a mismatch.
	StrictDType bool
	// RefDType and NPUDType are the types of raw files whose names tell none;
	// Undefined for the type of the other side.
	RefDType, NPUDType tensor.DType
}

// settled is a pair that is ready to be compared, or known not to be.
type settled struct {
	ref, npu view
	// shape is what is compared: equal on both sides, or flat.
	shape tensor.Shape
	notes []string
	// forced is set when the shapes differ all the same, partial when not all
	// elements are compared.
	forced, partial bool
	// cropped is set when padding was cut off, which has to be zero.
	cropped bool
	// status is set for a pair that cannot be compared; reasons tell why.
	status  Status
	reasons []Reason
}

// sideError says which side of a pair could not be read.
type sideError struct {
	side string
	path string
	err  error
}

func (e *sideError) Error() string { return fmt.Sprintf("%s: %v", e.side, withPath(e.path, e.err)) }
func (e *sideError) Unwrap() error { return e.err }

// settler settles pairs.
type settler struct {
	opt     ShapeOptions
	version int
}

// settle opens both sides of a pair, finds a common order of axes and applies
// the shape policy. format is the axis order that the reference is known to
// have, nil when it is not known.
func (s *settler) settle(op string, ref, npu *place, format *tensor.Format) (*settled, error) {
	p := &settled{ref: view{place: ref}, npu: view{place: npu}}
	refOpen, npuOpen, err := s.openBoth(p)
	if err != nil {
		return nil, err
	}
	defer func() {
		_, _ = refOpen.Close(), npuOpen.Close() // only read
	}()
	for _, side := range []struct {
		view *view
		o    *opened
		name string
	}{{&p.ref, refOpen, "reference"}, {&p.npu, npuOpen, "NPU"}} {
		side.view.dtype, side.view.shape = side.o.t.DType, side.o.shape
		if _, err := tensor.NewDecoder(side.o.t.DType); err != nil {
			return nil, &sideError{side.name, side.view.place.path, err}
		}
	}
	if s.opt.RefFormat != nil {
		format = s.opt.RefFormat
	}
	format, err = s.hostReference(p, refOpen, npuOpen, format)
	if err != nil {
		return nil, &sideError{"reference", ref.path, err}
	}
	if err := s.matchNPU(p, npuOpen, format); err != nil {
		return nil, &sideError{"NPU", npu.path, err}
	}
	if err := s.transpose(op, p); err != nil {
		return nil, &sideError{"NPU", npu.path, err}
	}
	s.shapes(p)
	if p.status == "" && p.ref.dtype != p.npu.dtype && s.opt.StrictDType {
		p.status = DTypeMismatch
		p.reasons = append(p.reasons, Reason{DTypeCode, High,
			fmt.Sprintf("reference is %s, NPU is %s (--strict-dtype)", p.ref.dtype, p.npu.dtype)})
	}
	return p, nil
}

// openBoth opens both sides. A raw file is opened last: the other side says
// what it holds.
func (s *settler) openBoth(p *settled) (ref, npu *opened, err error) {
	sides := []*view{&p.ref, &p.npu}
	names := []string{"reference", "NPU"}
	files := make([]*opened, 2)
	types := []tensor.DType{s.opt.RefDType, s.opt.NPUDType}
	told := func(i int) bool { return types[i] != tensor.Undefined || sides[i].place.told() }
	order := []int{0, 1}
	if p.ref.place.raw && (!p.npu.place.raw || !told(0) && told(1)) {
		order = []int{1, 0}
	}
	for n, i := range order {
		v := sides[i]
		if v.place.raw {
			if n == 1 {
				v.hint = hintOf(files[order[0]])
			}
			if types[i] != tensor.Undefined {
				v.hint.DType = types[i]
			}
		}
		if files[i], err = v.place.open(s.version, v.hint); err != nil {
			if n == 1 {
				_ = files[order[0]].Close()
			}
			return nil, nil, &sideError{names[i], v.place.path, withTypes(v, dtypeFlags[i], err)}
		}
	}
	return files[0], files[1], nil
}

// hintOf is what a tensor tells about the raw file that it is compared with: a
// device layout tells its original shape only.
func hintOf(o *opened) tensorfile.RawHint {
	if layout.IsHost(o.t.Format) {
		return tensorfile.RawHint{DType: o.t.DType, Shape: o.shape}
	}
	hint := tensorfile.RawHint{DType: o.t.DType}
	if len(o.t.OriginalShape) > 0 {
		hint.Shape, hint.Format = o.t.OriginalShape, o.t.OriginalFormat
	}
	return hint
}

// hostReference brings a reference that is a dump in a device layout into host
// order, and returns the axis order of the reference where it is known.
func (s *settler) hostReference(p *settled, ref, npu *opened, format *tensor.Format) (*tensor.Format, error) {
	if layout.IsHost(ref.t.Format) {
		if format == nil && ref.t.Format != tensor.ND && ref.file.Dump != nil {
			format = &ref.t.Format
		}
		return format, nil
	}
	var first error
	for _, f := range hostOrders(ref.t, format) {
		plan, err := s.plan(ref, f, nil)
		if err == nil {
			p.ref.plan, p.ref.shape = plan, plan.Shape
			p.notes = append(p.notes, fmt.Sprintf("reference %s to %s", ref.t.Format, plan.Format))
			return &f, nil
		}
		first = keepFirst(first, err)
	}
	if npu.t.Format == ref.t.Format && npu.shape.Equal(ref.shape) {
		p.notes = append(p.notes, fmt.Sprintf("compared in %s with its padding: %v", ref.t.Format, first))
		return &ref.t.Format, nil
	}
	return nil, first
}

// keepFirst keeps the first of several errors.
func keepFirst(first, err error) error {
	if first != nil {
		return first
	}
	return err
}

// plan plans the conversion of a tensor to a host order.
func (s *settler) plan(o *opened, target tensor.Format, shape tensor.Shape) (*layout.Plan, error) {
	return layout.NewPlan(layout.Request{
		DType: o.t.DType, Source: o.t.Format, Shape: o.shape, C0: o.t.C0, Groups: o.t.Groups,
		Original: o.t.OriginalShape, OriginalFormat: o.t.OriginalFormat,
		Target: target, TargetShape: shape, Order: s.opt.OriginalFormat,
	})
}

// hostOrders are the axis orders in which a tensor may be wanted, the most
// likely one first.
func hostOrders(t *tensorfile.Tensor, known *tensor.Format) []tensor.Format {
	if known != nil {
		return []tensor.Format{*known}
	}
	var orders []tensor.Format
	if layout.IsHost(t.Format) && t.Format != tensor.ND {
		orders = append(orders, t.Format)
	}
	if f := t.OriginalFormat; f != nil && layout.IsHost(*f) && !slices.Contains(orders, *f) {
		orders = append(orders, *f)
	}
	for _, f := range []tensor.Format{tensor.NCHW, tensor.NHWC, tensor.HWCN, tensor.NCDHW, tensor.NDHWC, tensor.DHWCN, tensor.ND} {
		if !slices.Contains(orders, f) {
			orders = append(orders, f)
		}
	}
	return orders
}

// matchNPU finds the view of the NPU tensor that has the reference's shape: as
// it is stored if it is in host order, or converted.
func (s *settler) matchNPU(p *settled, npu *opened, format *tensor.Format) error {
	want := p.ref.shape
	t := npu.t
	host := layout.IsHost(t.Format)
	named := host && t.Format != tensor.ND && npu.file.Dump != nil
	if !host && format != nil && *format == t.Format { // both as they are stored
		return nil
	}
	if host && npu.shape.Equal(want) && (format == nil || !named || *format == t.Format) || host && !named {
		return nil
	}
	var first error
	var fallback, loose *layout.Plan
	var fits []tensor.Format
	for _, f := range hostOrders(t, format) {
		plan, err := s.plan(npu, f, nil)
		if (err != nil || !plan.Shape.Equal(want)) && len(t.OriginalShape) == 0 && !host {
			// Without an original shape the padding is told by the reference.
			if q, e := s.plan(npu, f, want); e == nil && q.Shape.Equal(want) {
				plan, err = q, nil
			}
		}
		switch {
		case err != nil:
			first = keepFirst(first, err)
		case plan.Shape.Equal(want):
			if len(fits) == 0 {
				p.npu.plan, p.npu.shape = plan, plan.Shape
			}
			if plan.Format != tensor.ND || len(fits) == 0 {
				fits = append(fits, plan.Format)
			}
		case squeeze(plan.Shape).Equal(squeeze(want)):
			loose = either(loose, plan)
		default:
			fallback = either(fallback, plan)
		}
	}
	if len(fits) == 0 && !host && npu.shape.Equal(want) {
		p.notes = append(p.notes, fmt.Sprintf("compared as it lies in %s: the reference has the shape of the stored tensor", t.Format))
		return nil
	}
	if plan := either(loose, fallback); len(fits) == 0 {
		if plan == nil {
			return first
		}
		p.npu.plan, p.npu.shape = plan, plan.Shape
	}
	if !p.npu.plan.Copies() || !host {
		p.notes = append(p.notes, fmt.Sprintf("NPU %s to %s", t.Format, p.npu.plan.Format))
	}
	if fits = slices.Compact(fits); len(fits) > 1 && !symmetric(want) {
		p.notes = append(p.notes, fmt.Sprintf("the shape fits %s too (--ref-format)", fits[1]))
	}
	return nil
}

func either(a, b *layout.Plan) *layout.Plan {
	if a != nil {
		return a
	}
	return b
}

// symmetric reports whether at most one axis has more than one position, so
// that every order of axes is the same.
func symmetric(s tensor.Shape) bool { return len(squeeze(s)) <= 1 }

// squeeze drops the axes of length 1.
func squeeze(s tensor.Shape) tensor.Shape {
	return slices.DeleteFunc(slices.Clone(s), func(d int64) bool { return d == 1 })
}

// transpose applies the permutation that the user gave for the operator.
func (s *settler) transpose(op string, p *settled) error {
	perm, ok := s.opt.Transpose[op]
	if !ok {
		return nil
	}
	plan, err := layout.Transpose(p.npu.shape, perm)
	if err != nil {
		return fmt.Errorf("--transpose: %w", err)
	}
	p.npu.then, p.npu.shape = plan, plan.Shape
	p.notes = append(p.notes, fmt.Sprintf("NPU transposed %v", perm))
	return nil
}

// shapes applies the shape policy.
func (s *settler) shapes(p *settled) {
	want, got := p.ref.shape, p.npu.shape
	n, m := count(want), count(got)
	p.shape = want
	switch {
	case got.Equal(want):
	case n == m && squeeze(got).Equal(squeeze(want)):
		p.notes = append(p.notes, fmt.Sprintf("squeezed: NPU is %v", got))
	case n == m && p.ref.place.raw != p.npu.place.raw && (len(got) == 1 || len(want) == 1):
		// A raw file tells no shape: it has the other side's.
		if len(want) == 1 {
			p.shape = got
		}
	case s.autoLayout(p):
	case n == m && s.opt.Force:
		p.forced = true
		p.notes = append(p.notes, fmt.Sprintf("forced: NPU is %v", got))
	case s.crop(p):
	default:
		p.status = ShapeMismatch
		code := SizeMismatch
		if n == m {
			code = ShapeCode
		}
		p.reasons = append(p.reasons, Reason{code, High, fmt.Sprintf("reference is %v, NPU is %v", want, got)})
		if perms := permutations(want, got); len(perms) > 0 {
			p.reasons = append(p.reasons, Reason{LayoutCode, Medium, fmt.Sprintf(
				"the NPU's axes in the order %v have the reference's shape (--auto-layout, --transpose)", perms[0])})
		}
		return
	}
	if max := s.opt.MaxElements; max > 0 && max < n {
		p.partial = true
		p.shape = tensor.Shape{max}
		p.notes = append(p.notes, fmt.Sprintf("only the first %d of %d elements", max, n))
	}
}

// count is the number of elements of a shape that has been checked before.
func count(s tensor.Shape) int64 {
	n, _ := s.Count()
	return n
}

// autoLayout applies the only known permutation that gives the reference's
// shape.
func (s *settler) autoLayout(p *settled) bool {
	perms := permutations(p.ref.shape, p.npu.shape)
	if !s.opt.AutoLayout || len(perms) != 1 || p.npu.then != nil {
		return false
	}
	plan, err := layout.Transpose(p.npu.shape, perms[0])
	if err != nil {
		return false
	}
	p.npu.then = plan
	p.notes = append(p.notes, fmt.Sprintf("NPU %v transposed %v", p.npu.shape, perms[0]))
	p.npu.shape = plan.Shape
	return true
}

// crop cuts the padding of an NPU tensor that is longer on one axis.
func (s *settler) crop(p *settled) bool {
	want, got := p.ref.shape, p.npu.shape
	if !s.opt.CropPadding || len(want) != len(got) || p.npu.then != nil {
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
	p.npu.then, p.cropped = plan, true
	p.notes = append(p.notes, fmt.Sprintf("cropped: NPU is %v", got))
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

// request returns what the engine needs to know about the pair.
func (p *settled) request(l Limits, mode engine.Mode) engine.Request {
	return engine.Request{
		Shape: p.shape, RefDType: p.ref.dtype, NPUDType: p.npu.dtype,
		Limits: engine.Limits{Atol: l.Atol, Rtol: l.Rtol, Mode: mode},
	}
}

// errorCode names the reason of a pair that could not be read.
func errorCode(err error) Code {
	var unsupported *tensor.UnsupportedType
	if errors.As(err, &unsupported) {
		return UnsupportedCode
	}
	return ReadError
}
