package recompute

import (
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// view is a tensor as a formula sees it: in another shape, with strides, or from an offset on.
type view struct {
	shape   tensor.Shape
	strides []int64 // nil for C order
	offset  int64
	// source replaces the source of the tensor, unless nil.
	source layout.Source
}

// span says which axis of a tensor is cut together with a free axis: element i of the free axis belongs to element
// begin+i of the axis, if that exists.
type span struct {
	axis  int // -1 if the tensor is not cut along the free axis
	begin int64
}

// freeAxis is an axis along which a formula may be cut into cells, with a span for each input and output.
type freeAxis struct {
	size    int64
	in, out []span
}

// cutRule describes how a formula sees the tensors of an operator and along which axes it may be cut.
type cutRule struct {
	// out has the outputs that are judged; further outputs are not.
	in, out []view
	free    []freeAxis
	// axis is the axis along which the inputs are concatenated.
	axis int
	// pointwise: each output element depends only on the input elements at the same position.
	pointwise bool
	// sums: input elements along the axes that the output lacks are added.
	sums bool
	// maxCells limits the computed cells unless the operator asks for all, 0 for no limit.
	maxCells int64
	// why says why the attributes do not fit the shapes, zero if they do.
	why lang.Sentence
}

// hasSums reports whether a formula with attributes h may have sums: it does not only copy, select or convert
// elements, and an output element depends on input elements at other positions.
func (f *formula) hasSums(op *Operator, h Attributes) bool {
	switch f.class {
	case Move, Converted, Integral:
		return false
	case Linear, Reduced:
		return true
	}
	c := f.cut(&problem{Operator: op}, h)
	return c.sums || f.class != Exact && !c.pointwise
}

// cutter computes the cutting of a formula.
type cutter func(p *problem, h Attributes) *cutRule

func misfit(format string, args ...any) *cutRule { return &cutRule{why: lang.Say(format, args...)} }

// wholeTensors returns the tensors in their own shapes, with no free axes.
func wholeTensors(p *problem) *cutRule {
	c := new(cutRule)
	for _, t := range p.Inputs {
		v := view{}
		if t != nil {
			v.shape = t.Shape
		}
		c.in = append(c.in, v)
	}
	for _, t := range p.Outputs {
		c.out = append(c.out, view{shape: t.Shape})
	}
	return c
}

// uncut is the cutter for formulas that need whole tensors.
func uncut(p *problem, _ Attributes) *cutRule { return wholeTensors(p) }

// flatCut is the cutter that sees the first input and output as one row of elements.
func flatCut(p *problem, h Attributes) *cutRule {
	n := p.Inputs[0].elements()
	if n != p.Outputs[0].elements() {
		return misfit("%d elements of %d", p.Outputs[0].elements(), n)
	}
	c := wholeTensors(p)
	c.in[0].shape, c.out[0].shape, c.pointwise = tensor.Shape{n}, tensor.Shape{n}, true
	return c.cutAlong([]int{0}, alignRight)
}

// elementwiseCut is the cutter along all axes of the output, to which the inputs are broadcast.
func elementwiseCut(p *problem, _ Attributes) *cutRule {
	c, shape := wholeTensors(p), tensor.Shape(nil)
	for k, t := range p.Inputs {
		if t == nil {
			continue
		}
		s, ok := broadcast(shape, t.Shape)
		if !ok {
			return misfit("input %d of shape %s, others of %s", k, t.Shape, shape)
		}
		shape = s
	}
	if !shape.Equal(p.Outputs[0].Shape) {
		if shape.Elements() != p.Outputs[0].elements() {
			return misfit("the shape computed from the inputs is %s, the output has %s", shape, p.Outputs[0].Shape)
		}
		c.out[0].shape = shape
	}
	c.pointwise = true
	return c.cutAlong(firstIntegers(len(shape)), alignRight)
}

func firstIntegers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// axisMapper returns the axis of a tensor of shape s that belongs to axis k of the shape whole, -1 for none.
type axisMapper func(s tensor.Shape, k int, whole tensor.Shape) int

// alignRight aligns shapes at their last axes, as numpy broadcasts.
func alignRight(s tensor.Shape, k int, whole tensor.Shape) int {
	if k -= len(whole) - len(s); k >= 0 && s[k] == whole[max(0, k+len(whole)-len(s))] {
		return k
	}
	return -1
}

// alignSameRank aligns tensors of the same rank; tensors of another rank are not cut.
func alignSameRank(s tensor.Shape, k int, whole tensor.Shape) int {
	if len(s) == len(whole) && s[k] == whole[k] {
		return k
	}
	return -1
}

// cutAlong adds free axes: axes of the first output, and the axes of the other tensors that belong to them.
func (c *cutRule) cutAlong(axes []int, axisOf axisMapper) *cutRule {
	whole := c.out[0].shape
	for _, k := range axes {
		if whole[k] == 1 {
			continue
		}
		f := freeAxis{size: whole[k]}
		for _, v := range c.in {
			f.in = append(f.in, span{axis: axisOf(v.shape, k, whole)})
		}
		for _, v := range c.out {
			f.out = append(f.out, span{axis: axisOf(v.shape, k, whole)})
		}
		c.free = append(c.free, f)
	}
	return c
}

// lineCut is the cutter of the first input along all axes except the attribute axes. Outputs have the same shape, or
// length 1 along these axes.
func lineCut(p *problem, h Attributes) *cutRule {
	axes, ok := h["axes"].Value.Integers()
	if !ok {
		return misfit("attribute %s is %q, want axes", "axes", h["axes"].Value)
	}
	return fixedLineCut(axes...)(p, h)
}

// fixedLineCut returns the cutter lines for known axes.
func fixedLineCut(axes ...int64) cutter {
	return func(p *problem, _ Attributes) *cutRule {
		x, c := p.Inputs[0].Shape, wholeTensors(p)
		freeAxes, kept := firstIntegers(len(x)), slices.Clone(x)
		for _, k := range axes {
			if k < 0 || k >= int64(len(x)) {
				return misfit("axis %d of shape %s", k, x)
			}
			kept[k] = 1
			freeAxes = slices.DeleteFunc(freeAxes, func(r int) bool { return r == int(k) })
		}
		for i := range slices.Clone(c.out) {
			switch s := &c.out[i].shape; {
			case s.Elements() == x.Elements():
				*s = x
			case s.Elements() == kept.Elements():
				*s = kept
			case i > 0 && s.Elements() == 0: // the call did not request it
				c.out = c.out[:i]
				return c.cutAlongShape(x, freeAxes)
			default:
				return misfit("output %d of shape %s, of inputs of %s", i, *s, x)
			}
		}
		return c.cutAlongShape(x, freeAxes)
	}
}

// cutAlongShape is cutAlong with the axes of shape x in place of the first output's shape.
func (c *cutRule) cutAlongShape(x tensor.Shape, axes []int) *cutRule {
	out := c.out[0].shape
	c.out[0].shape = x
	c.cutAlong(axes, alignSameRank)
	c.out[0].shape = out
	return c
}

// copyCut returns a cutter for copies: viewOf returns the view of the first input whose elements are the output.
func copyCut(viewOf func(p *problem, h Attributes) (view, lang.Sentence)) cutter {
	return func(p *problem, h Attributes) *cutRule {
		c := wholeTensors(p)
		v, why := viewOf(p, h)
		if !why.IsZero() {
			return misfit("%s", why)
		}
		if !v.shape.Equal(p.Outputs[0].Shape) {
			if v.shape.Elements() != p.Outputs[0].elements() {
				return misfit("the output has the shape %s, want %s", p.Outputs[0].Shape, v.shape)
			}
			c.out[0].shape = v.shape
		}
		c.in[0] = v
		return c.cutAlong(firstIntegers(len(v.shape)), alignRight)
	}
}

// biasCut is the cutter of BiasAdd: the bias lies along the attribute axis.
func biasCut(p *problem, h Attributes) *cutRule {
	c, x := wholeTensors(p), p.Inputs[0].Shape
	k, ok := axisAttribute(h, len(x))
	if !ok || x[k] != p.Inputs[1].elements() || !x.Equal(p.Outputs[0].Shape) {
		return misfit("axis %s of shape %s, a bias of %d", h["axis"].Value, x, p.Inputs[1].elements())
	}
	c.in[1].shape = slices.Repeat(tensor.Shape{1}, len(x))
	c.in[1].shape[k] = x[k]
	return c.cutAlong(firstIntegers(len(x)), alignRight)
}

// imageCut is the cutter along the first axis.
func imageCut(p *problem, _ Attributes) *cutRule {
	if !p.Inputs[0].Shape.Equal(p.Outputs[0].Shape) {
		return misfit("the output has the shape %s, the input %s", p.Outputs[0].Shape, p.Inputs[0].Shape)
	}
	return wholeTensors(p).cutAlong(firstIntegers(min(1, len(p.Inputs[0].Shape))), alignSameRank)
}

const (
	// cellElements is the approximate number of elements of a tensor in a cell. maxElements limits a tensor that
	// cannot be cut (32 MB of float64).
	cellElements, maxElements = 1 << 15, 1 << 22
)

// grid divides the free axes into cells: size is the number of elements, count the number of cells along each axis.
type grid struct {
	*cutRule
	size, count []int64
}

// cut chooses cells of about cellElements, longest along the last axes. ok is false if even the smallest cells have
// more than maxElements.
func (c *cutRule) cut() (g *grid, ok bool) {
	g = &grid{cutRule: c, size: make([]int64, len(c.free)), count: make([]int64, len(c.free))}
	largest := func() (most int64) {
		for i, v := range append(slices.Clip(c.in), c.out...) {
			n := v.shape.Elements()
			for f, axis := range c.free {
				if s := append(slices.Clip(axis.in), axis.out...)[i]; s.axis >= 0 && v.shape[s.axis] > 0 {
					n = n / v.shape[s.axis] * min(g.size[f], v.shape[s.axis])
				}
			}
			most = max(most, n)
		}
		return most
	}
	for f := range g.size {
		g.size[f] = 1
	}
	if largest() > maxElements {
		return nil, false
	}
	for f := len(g.size) - 1; f >= 0; f-- {
		room := max(1, cellElements/max(1, largest()))
		g.size[f] = max(1, min(c.free[f].size, room))
		g.count[f] = (c.free[f].size + g.size[f] - 1) / g.size[f]
	}
	return g, true
}

// cellCount returns the number of cells.
func (g *grid) cellCount() int64 {
	n := int64(1)
	for _, k := range g.count {
		n *= k
	}
	return n
}

// cell is a box of elements along the free axes, from lo up to but excluding hi.
type cell struct{ lo, hi []int64 }

// cell returns cell i, counted with the last axis fastest.
func (g *grid) cell(i int64) cell {
	c := cell{make([]int64, len(g.size)), make([]int64, len(g.size))}
	for f := len(g.size) - 1; f >= 0; f-- {
		c.lo[f] = i % g.count[f] * g.size[f]
		c.hi[f] = min(c.lo[f]+g.size[f], g.free[f].size)
		i /= g.count[f]
	}
	return c
}

// cellAt returns the index of the cell with the element at an offset of the first output.
func (g *grid) cellAt(offset int64) (i int64) {
	if len(g.free) == 0 { // the output may have no elements
		return 0
	}
	coord := g.out[0].shape.Coordinates(offset)
	for f, axis := range g.free {
		k := int64(0)
		if s := axis.out[0]; s.axis >= 0 {
			k = min(max(0, coord[s.axis]-s.begin)/g.size[f], g.count[f]-1)
		}
		i = i*g.count[f] + k
	}
	return i
}

// boxOf returns the part of a tensor that belongs to a cell.
func (c *cell) boxOf(shape tensor.Shape, spans func(f int) span) (lo, hi []int64) {
	lo, hi = make([]int64, len(shape)), slices.Clone(shape)
	for f := range c.lo {
		if s := spans(f); s.axis >= 0 {
			n := shape[s.axis]
			lo[s.axis] = min(n, max(0, s.begin+c.lo[f]))
			hi[s.axis] = max(lo[s.axis], min(n, s.begin+c.hi[f]))
		}
	}
	return lo, hi
}

// feed reads boxes of a view of a tensor as float64.
type feed struct {
	shape   tensor.Shape
	strides []int64 // of the view
	source  layout.Source
	decoder tensor.Decoder
	buffers layout.Buffers
	raw     []byte
	host    []byte
	values  []float64
	inexact bool // set once an integer beyond 2^53 is read
	rounded tensor.Float
}

// offsetSource is a source that begins at an offset in another source.
type offsetSource struct {
	layout.Source
	offset int64
}

// ReadElements implements layout.Source.
func (s offsetSource) ReadElements(dst []byte, first int64) error {
	return s.Source.ReadElements(dst, first+s.offset)
}

// newFeed returns a feed of a view of a tensor, nil for an absent tensor.
func newFeed(t *Tensor, v view) (*feed, error) {
	if t == nil {
		return nil, nil
	}
	decoder, err := tensor.NewDecoder(t.Stored)
	if err != nil {
		return nil, err
	}
	f := &feed{shape: v.shape, strides: v.strides, source: t.Source, decoder: decoder, rounded: formatOf(t.rounded)}
	if v.source != nil {
		f.source = v.source
	}
	if v.offset != 0 {
		f.source = offsetSource{f.source, v.offset}
	}
	if v.strides == nil {
		f.strides = v.shape.Strides()
		return f, nil
	}
	plan, err := layout.PlanStrided(v.shape, v.strides)
	if err != nil {
		return nil, err
	}
	f.source, err = plan.Reader(f.source, decoder.UnitSize(), &f.buffers)
	return f, err
}

// read returns the elements of a box.
func (f *feed) read(m *machine, lo, hi []int64) (*Array, error) {
	shape := make(tensor.Shape, len(lo))
	for k := range lo {
		shape[k] = hi[k] - lo[k]
	}
	x := m.exactArray(shape, m.alloc(int(shape.Elements())))
	if len(x.v) == 0 {
		return x, nil
	}
	strides, first, last := f.shape.Strides(), int64(0), int64(0)
	for k, s := range strides {
		first += lo[k] * s
		last += (hi[k] - 1) * s
	}
	// run is the number of elements that are contiguous in the tensor.
	inner, run := len(shape), int64(1)
	for whole := true; inner > 0 && whole; whole = shape[inner] == f.shape[inner] {
		inner--
		run *= shape[inner]
	}
	outer := shape[:inner]
	if inner == 0 {
		return x, f.readInto(x.v, first)
	}
	if span := last - first + 1; span <= 4*int64(len(x.v)) || span <= 4*cellElements {
		all, err := f.readValues(first, span)
		if err != nil {
			return nil, err
		}
		walkElements(outer, strides[:inner], func(i, offset int) { copy(x.v[int64(i)*run:][:run], all[offset:]) })
		return x, nil
	}
	var failed error
	walkElements(outer, strides[:inner], func(i, offset int) {
		if failed == nil && m.isStopped() {
			failed = m.err
		}
		if failed == nil {
			var part []float64
			if part, failed = f.readValues(first+int64(offset), run); failed == nil {
				copy(x.v[int64(i)*run:], part)
			}
		}
	})
	return x, failed
}

// readValues returns n contiguous elements. The slice is valid until the next call.
func (f *feed) readValues(first, n int64) ([]float64, error) {
	f.values = resize(f.values, int(n))
	return f.values, f.readInto(f.values, first)
}

// readInto reads contiguous elements.
func (f *feed) readInto(dst []float64, first int64) error {
	f.raw = resize(f.raw, len(dst)*f.decoder.UnitSize())
	if err := f.source.ReadElements(f.raw, first); err != nil {
		return err
	}
	f.decode(dst, f.raw)
	return nil
}

// decode converts stored elements to float64.
func (f *feed) decode(dst []float64, raw []byte) {
	host := f.decoder.Host()
	f.host = resize(f.host, len(dst)*host.Size())
	f.decoder.Decode(f.host, raw)
	tensor.Float64s(dst, f.host, host)
	if f.rounded.Mantissa > 0 {
		f.rounded.RoundAll(dst)
	}
	if host == tensor.HostInt64 || host == tensor.HostUint64 {
		f.inexact = f.inexact || slices.ContainsFunc(dst, func(v float64) bool { return math.Abs(v) > maxInteger })
	}
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
