package recompute

import (
	"context"
	"math"
	"slices"

	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

const (
	// maxExpected limits the elements of the outputs of a piece, maxExpectedProduct the multiplications and additions
	// of a product.
	maxExpected, maxExpectedProduct = 1 << 22, 1e9
)

// Expectation holds the computed outputs of an operator and their wide bounds; nil stands for an output without
// computed values.
type Expectation struct {
	Values, Bounds [][]float64
	// Bad counts the elements that differ by more than their bound.
	Bad int64
}

// Piece is an operator, or a part of it around the worst element, small enough to be exported. InputCuts and
// OutputCuts say which part of each tensor it has, nil for a whole tensor.
type Piece struct {
	*Operator
	Expectation
	InputCuts, OutputCuts []*PieceRange
}

// PieceRange is the part of a tensor in a piece: its first coordinate, and the shape in which the formula sees the whole
// tensor.
type PieceRange struct {
	From []int64      `json:"from"`
	Of   tensor.Shape `json:"of"`
}

// IsUncut reports whether no tensor of the piece was cut.
func (p *Piece) IsUncut() bool {
	cut := func(c *PieceRange) bool { return c != nil }
	return !slices.ContainsFunc(p.InputCuts, cut) && !slices.ContainsFunc(p.OutputCuts, cut)
}

// PieceOf returns a judged operator with the computed outputs: the whole operator if its tensors take at most
// maxBytes, else the largest part around the worst element. It is nil if no part shows the fault.
func PieceOf(ctx context.Context, op *Operator, v *Verdict, maxBytes int64) (*Piece, error) {
	f := formulaOf(op.Formula)
	if f == nil {
		return nil, nil
	}
	p := &Piece{Operator: op.WithInputs(op.Inputs), InputCuts: make([]*PieceRange, len(op.Inputs)), OutputCuts: make([]*PieceRange, len(op.Outputs))}
	p.Full = true
	if !p.isSmallEnough(f, v.Attributes, maxBytes) {
		if ok, err := p.chooseCut(f, v, maxBytes); !ok || err != nil {
			return nil, err
		}
	}
	e, err := computeOutputs(ctx, p.Operator, f, v.Attributes)
	if e == nil || err != nil || e.Bad == 0 && v.countBad() > 0 {
		return nil, err
	}
	p.Expectation = *e
	return p, nil
}

// countBad counts the bad elements of all outputs.
func (v *Verdict) countBad() (n int64) {
	for _, o := range v.Outputs {
		n += o.Bad
	}
	return n
}

// isSmallEnough reports whether a piece is small enough. Besides the dumped elements each output has its computed values and
// bounds, 12 bytes an element.
func (p *Piece) isSmallEnough(f *formula, h Attributes, maxBytes int64) bool {
	size, elements := int64(0), int64(0)
	for _, t := range p.Inputs {
		if t != nil {
			size += t.elements() * int64(t.Stored.Host().Size())
		}
	}
	for _, t := range p.Outputs {
		size += t.elements() * int64(t.Stored.Host().Size()+12)
		elements += t.elements()
	}
	if size > maxBytes || elements > maxExpected {
		return false
	}
	if f.linear == nil {
		return true
	}
	l, why := f.linear(&problem{Operator: p.Operator}, h)
	return why.IsZero() && l.cost() <= maxExpectedProduct
}

// chooseCut chooses the largest part that fits, longest along the last axes of the formula.
func (p *Piece) chooseCut(f *formula, v *Verdict, maxBytes int64) (bool, error) {
	if f.hasSeparateOutputs || f.cut == nil {
		return false, nil
	}
	c := f.cut(&problem{Operator: p.Operator}, v.Attributes)
	if !c.why.IsZero() || len(c.free) == 0 || !c.isPlain() {
		return false, nil
	}
	whole := p.Operator
	worst := int64(0)
	if all := v.Outputs[0].Elems; len(all) > 0 {
		worst = all[0].Offset
	}
	at := c.out[0].shape.Coordinates(worst)
	box := cell{make([]int64, len(c.free)), make([]int64, len(c.free))}
	grow := func(k int, n int64) bool { // sets n elements along axis k, with the worst element in their middle
		size, place := c.free[k].size, int64(0)
		if axis := c.free[k].out[0].axis; axis >= 0 {
			place = at[axis]
		}
		box.lo[k] = min(max(0, place-n/2), size-n)
		box.hi[k] = box.lo[k] + n
		p.Operator = c.partOf(whole, box)
		return p.isSmallEnough(f, v.Attributes, maxBytes)
	}
	for k := range c.free {
		grow(k, 1)
	}
	if !p.isSmallEnough(f, v.Attributes, maxBytes) {
		return false, nil
	}
	for k := len(c.free) - 1; k >= 0; k-- {
		n := c.free[k].size
		for !grow(k, n) {
			n = (n + 1) / 2
		}
	}
	return true, p.read(c, whole, box)
}

// isPlain reports whether a formula sees all tensors in their own order, so that a part of a tensor is a tensor for
// the same formula.
func (c *cutRule) isPlain() bool {
	isTransformed := func(v view) bool { return v.strides != nil || v.offset != 0 || v.source != nil }
	shifted := func(s span) bool { return s.begin != 0 }
	return !slices.ContainsFunc(c.in, isTransformed) && !slices.ContainsFunc(c.out, isTransformed) &&
		!slices.ContainsFunc(c.free, func(f freeAxis) bool {
			return slices.ContainsFunc(f.in, shifted) || slices.ContainsFunc(f.out, shifted)
		})
}

// partOf returns the operator for a box, with tensors that have shapes but no source yet.
func (c *cutRule) partOf(op *Operator, box cell) *Operator {
	q := op.WithInputs(nil)
	shaped := func(t *Tensor, v view, spans func(f int) span) *Tensor {
		if t == nil {
			return nil
		}
		one := *t
		lo, hi := box.boxOf(v.shape, spans)
		one.Shape = make(tensor.Shape, len(lo))
		for i := range lo {
			one.Shape[i] = hi[i] - lo[i]
		}
		return &one
	}
	for k, t := range op.Inputs {
		q.Inputs = append(q.Inputs, shaped(t, c.in[k], func(f int) span { return c.free[f].in[k] }))
	}
	q.Outputs = nil
	for k, v := range c.out {
		q.Outputs = append(q.Outputs, shaped(op.Outputs[k], v, func(f int) span { return c.free[f].out[k] }))
	}
	return q
}

// read sets the sources of the tensors of a piece.
func (p *Piece) read(c *cutRule, whole *Operator, box cell) error {
	part := func(t, of *Tensor, v view, spans func(f int) span) (*PieceRange, error) {
		if t == nil || t.elements() == of.elements() {
			return nil, nil
		}
		lo, _ := box.boxOf(v.shape, spans)
		first, strides := int64(0), v.shape.Strides()
		for i, n := range lo {
			first += n * strides[i]
		}
		decoder, err := tensor.NewDecoder(t.Stored)
		if err != nil {
			return nil, err
		}
		plan, err := layout.PlanStrided(t.Shape, strides)
		if err != nil {
			return nil, err
		}
		t.Source, err = plan.Reader(offsetSource{of.Source, first}, decoder.UnitSize(), new(layout.Buffers))
		return &PieceRange{lo, v.shape}, err
	}
	for k, t := range p.Inputs {
		var err error
		if p.InputCuts[k], err = part(t, whole.input(k), c.in[k], func(f int) span { return c.free[f].in[k] }); err != nil {
			return err
		}
	}
	for k, t := range p.Outputs {
		var err error
		if p.OutputCuts[k], err = part(t, whole.Outputs[k], c.out[k], func(f int) span { return c.free[f].out[k] }); err != nil {
			return err
		}
	}
	p.Operator = p.WithInputs(p.Inputs) // drops cached elements of the whole tensors
	return nil
}

// ComputeExpected computes the outputs of an operator; nil if they are too large.
func ComputeExpected(ctx context.Context, op *Operator, h Attributes) (*Expectation, error) {
	f := formulaOf(op.Formula)
	total := int64(0)
	for _, t := range op.Outputs {
		total += t.elements()
	}
	if f == nil || total > maxExpected {
		return nil, nil
	}
	if f.linear != nil {
		if l, why := f.linear(&problem{Operator: op}, h); !why.IsZero() || l.cost() > maxWholeProduct {
			return nil, nil
		}
	}
	return computeOutputs(ctx, op, f, h)
}

// computeOutputs computes the outputs of an operator of any size; nil if the attributes do not fit the shapes.
func computeOutputs(ctx context.Context, op *Operator, f *formula, h Attributes) (*Expectation, error) {
	n := len(op.Outputs)
	j := newJudge(ctx, op, f)
	j.expected = &Expectation{Values: make([][]float64, n), Bounds: make([][]float64, n)}
	r, err := j.evaluateAttributes(h, false)
	if err != nil || !r.why.IsZero() {
		return nil, err
	}
	j.expected.Bad = r.countBad()
	return j.expected, nil
}

// newCollector returns a function that records computed values and bounds, or the places of bad elements, as they are
// compared; nil if neither is wanted. If a right element differs by more than its bound, such as one beyond the range
// of its type, its difference is recorded as the bound.
func (j *judge) newCollector(output int, x, y *Array, t *tally, offset func(i int) int64) func(i int, bad bool) {
	e := j.expected
	switch s := j.damage; {
	case s != nil && s.output == output:
		return func(i int, bad bool) { s.add(offset(i), bad) }
	case e == nil:
		return nil
	}
	if e.Values[output] == nil {
		n := j.op.Outputs[output].elements()
		e.Values[output], e.Bounds[output] = make([]float64, n), make([]float64, n)
	}
	_, b := x.errorBounds()
	return func(i int, bad bool) {
		v, at := x.v[i], offset(i)
		bound, d := t.tolerance(v, b[i], y.v[i]), math.Abs(y.v[i]-v)
		switch {
		case bad || d <= bound || v == y.v[i]:
		case d == d:
			bound = d
		default:
			bound = math.Inf(1)
		}
		e.Values[output][at], e.Bounds[output][at] = v, bound
	}
}

// productCut is the cutter of matrix products: batch axes, rows and columns of the result.
func productCut(p *problem, h Attributes) *cutRule {
	c := wholeTensors(p)
	x1, x2, out := c.in[0].shape, c.in[1].shape, c.out[0].shape
	rank := len(out)
	if rank < 2 || len(x1) != rank || len(x2) < 2 {
		return misfit("matrices of %s and %s", x1, x2)
	}
	transposed := func(name string) int {
		t, _ := h[name].Value.Number()
		return int(t)
	}
	addAxis := func(t1, t2, k int) {
		f := freeAxis{size: out[k], in: []span{{axis: t1}, {axis: t2}}, out: []span{{axis: k}}}
		for _, v := range c.in[2:] {
			f.in = append(f.in, span{axis: alignRight(v.shape, k, out)})
		}
		c.free = append(c.free, f)
	}
	for k := range rank - 2 {
		addAxis(alignSameRank(x1, k, out), alignSameRank(x2, k, out), k)
	}
	addAxis(rank-2+transposed("transpose_x1"), -1, rank-2)
	addAxis(-1, len(x2)-1-transposed("transpose_x2"), rank-1)
	return c
}

// convolutionCut is the cutter of convolutions: images and, without groups, filters.
func convolutionCut(p *problem, _ Attributes) *cutRule {
	c := wholeTensors(p)
	x, w, out := c.in[0].shape, c.in[1].shape, c.out[0].shape
	images, filters := freeAxis{size: out[0], in: []span{{axis: 0}, {axis: -1}}, out: []span{{axis: 0}}}, freeAxis{size: out[1], in: []span{{axis: -1}, {axis: 0}}, out: []span{{axis: 1}}}
	for _, v := range c.in[2:] {
		image, filter := -1, 0
		if v.shape.Equal(out) {
			image, filter = 0, 1
		}
		images.in, filters.in = append(images.in, span{axis: image}), append(filters.in, span{axis: filter})
	}
	if c.free = []freeAxis{images}; x[1] == w[1] {
		c.free = append(c.free, filters)
	}
	return c
}
