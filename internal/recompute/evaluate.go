package recompute

import (
	"cmp"
	"context"
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// mostHypotheses bounds how many values of attributes are tried.
const mostHypotheses = 400

// result is how the outputs differ from what a formula gives with some attributes.
type result struct {
	attrs   Attributes
	tallies []*tally
	// top is the largest finite product or sum of a cell.
	top float64
	// inside are the largest values between inputs and outputs.
	inside largestInside
	// why says why the attributes do not go with the shapes, zero if they do.
	why lang.Sentence
	// cells that were computed, of so many.
	cells, of int64
	products  []product
	few       bool    // only a sample was computed
	damage    *damage // of a product if only some rows were computed, else nil
	// how says how much was computed, empty for all; scanned is what projections show, nil
	// without.
	how     string
	scanned *projected
	// shape is what rounding cannot make of differences inside the wide bound.
	shape structure
	// length says that an output has another length than the values of the inputs make, zero if none has.
	length lang.Sentence
}

// count sums a count of all outputs.
func (r *result) count(what func(t *tally) int64) (n int64) {
	for _, t := range r.tallies {
		n += what(t)
	}
	return n
}

func (r *result) bad() int64     { return r.count(func(t *tally) int64 { return t.bad }) }
func (r *result) beyond() int64  { return r.count(func(t *tally) int64 { return t.beyond }) }
func (r *result) checked() int64 { return r.count(func(t *tally) int64 { return t.checked }) }

// judge finds out what an operator computed.
type judge struct {
	ctx     context.Context
	op      *Operator
	formula *formula
	machine machine
	// moot are attributes that nothing depends on for these inputs.
	moot []string
	// strange: only a number that nobody chooses explains the elements.
	strange bool
	// worst is the place of the worst element of the first output that is not explained by what
	// explains most, 0 before that is known; place is that around which elements are looked at.
	worst, place int64
	// expected is kept of the outputs, nil for nothing; so is where the bad elements lie.
	expected *Expectation
	damage   *damage
	sampled  map[string]*sums // products of samples
	hits     []rowOf          // rows of a large product that its sums hit, for other hypotheses
}

// errTooLarge is the error of an operator that cannot be cut into what memory holds.
var errTooLarge = lang.Errorf("the operator cannot be cut into parts that memory holds")

// run compares the outputs with what the formula gives, in all cells, or in few of them.
func (j *judge) run(h Attributes, few bool) (*result, error) {
	r := &result{attrs: h, inside: noInside()}
	err := cmp.Or(j.passes(r, few), j.ctx.Err())
	if err == nil && r.why.IsZero() {
		r.shape = r.structure(j.op.Outputs[0].DType)
	}
	return r, err
}

// passes computes the outputs, all at a time or one after the other.
func (j *judge) passes(r *result, few bool) error {
	p := &problem{Operator: j.op.cast(r.attrs)}
	switch {
	case j.formula.linear != nil:
		return j.linearRun(r, few)
	case !j.formula.each:
		return j.pass(p, r, few)
	}
	p = p.parts()
	for k, t := range j.op.Outputs {
		part := *j.op
		part.Outputs = []*Tensor{t}
		p.Operator, p.output = &part, k
		if err := j.pass(p, r, few); err != nil || !r.why.IsZero() {
			return err
		}
	}
	return nil
}

// parts is the problem of a formula that has one output at a time.
func (p *problem) parts() *problem {
	q := &problem{ctx: p.ctx, Operator: p.Operator, outputs: len(p.Outputs)}
	for _, t := range p.Outputs {
		q.shapes = append(q.shapes, t.Shape)
	}
	return q
}

// fewCells is how many cells are computed to choose between attributes.
const fewCells = 3

// pass computes the cells of the outputs of a problem.
func (j *judge) pass(p *problem, r *result, few bool) error {
	cutting := j.formula.cut(p, r.attrs)
	if r.why = cutting.why; !r.why.IsZero() {
		return nil
	}
	g, ok := cutting.cut()
	if !ok {
		return errTooLarge
	}
	in, out, err := feedsOf(p, cutting)
	if err != nil {
		return err
	}
	first := len(r.tallies)
	for _, t := range p.Outputs {
		one := newTally(t.DType, j.formula.class)
		for _, a := range r.attrs {
			if a.Source == FromFit {
				one.slack = fitSlack
			}
		}
		r.tallies = append(r.tallies, one)
	}
	n := g.cells()
	if n == 0 {
		return nil
	}
	step := int64(1)
	if few && n > fewCells {
		step = n / fewCells
	}
	if size := p.Outputs[0].elements(); !few && p.Budget > 0 && size > p.Budget {
		step = min(n, (size+p.Budget-1)/p.Budget)
		r.how = "sampled"
	}
	if !few && g.most > 0 && n > g.most && !p.Full {
		step = max(step, (n+g.most-1)/g.most|1) // odd, so that it is another row of each head
		r.how = "sampled"
	}
	if step == 1 && !few {
		done, err := j.byCode(p, r.attrs, cutting, r.tallies[first])
		if done {
			r.cells, r.of = r.cells+n, r.of+n
		}
		if done || err != nil {
			return err
		}
	}
	s := &sweep{judge: j, problem: p, grid: g, in: in, out: out, result: r, tallies: r.tallies[first:]}
	r.of += n
	for i := int64(0); i < n && r.why.IsZero(); i += step {
		if err := s.cell(i); err != nil {
			return err
		}
		r.cells++
	}
	if k := g.with(j.worst); few && k%step != 0 && r.why.IsZero() {
		return s.cell(k)
	}
	return nil
}

// sweep compares the cells of the outputs of a problem, one after the other.
type sweep struct {
	*judge
	*problem
	*grid
	in, out []*feed
	result  *result
	tallies []*tally // of the outputs of the problem
}

// cell computes the formula in a cell and compares the outputs. It sets the reason of the result
// where the attributes do not fit the shapes.
func (s *sweep) cell(i int64) error {
	if err := s.judge.ctx.Err(); err != nil {
		return err
	}
	m := &s.judge.machine
	c, err := s.grid.read(m, s.problem, s.result.attrs, s.grid.cell(i), s.in, s.out)
	if err != nil {
		return err
	}
	if c.compute(s.formula); m.err != nil {
		s.result.why = lang.Error(m.err)
		return nil //nolint:nilerr // it is the reason of the result
	}
	for k, y := range c.got {
		if k >= len(c.outputs) || c.outputs[k] == nil {
			continue
		}
		var tie func(i int) bool
		if s.formula.class == Quantised {
			tie = c.tie
		}
		t := s.tallies[k].empty()
		t.wild, t.above = !c.selects && s.formula.class != Move, m.top > math.MaxFloat32
		t.mark = s.collector(s.output+k, c.outputs[k], y, t, c.offsets[k])
		t.add(c.outputs[k], y, c.wild, tie, c.offsets[k])
		s.addLength(c, k, t)
		s.tallies[k].merge(t, 1)
	}
	s.result.add(m)
	return nil
}

// addLength counts missing and surplus elements of an output as wrong. CANN may dump all memory that was reserved
// for an output: surplus elements behind right ones prove nothing there.
func (s *sweep) addLength(c *computed, k int, t *tally) {
	l := c.lengths[k]
	if l == nil {
		return
	}
	why := lang.Say("%d positions of axis %d, want %d", l.got, l.axis, l.want)
	if l.got > l.want && !s.Called && t.bad == 0 {
		s.result.why = why
		return
	}
	s.result.length = why
	t.bad, t.checked = t.bad+l.elements, t.checked+l.elements
}

// add adds what a machine knows of a cell.
func (r *result) add(m *machine) {
	r.top, r.products = max(r.top, m.top), append(r.products, m.products...)
	for i, v := range m.inside {
		r.inside.take(insideClass(i), v)
	}
}

func feedsOf(p *problem, c *cutting) (in, out []*feed, err error) {
	for k, t := range p.Inputs {
		f, err := newFeed(t, c.in[k])
		if err != nil {
			return nil, nil, err
		}
		in = append(in, f)
	}
	for k, v := range c.out {
		f, err := newFeed(p.Outputs[k], v)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, f)
	}
	return in, out, nil
}

// computed is a cell: what the formula gives, and what the NPU has.
type computed struct {
	*call
	outputs []*Array
	// offsets give the place of an element of the cell in each output.
	offsets []func(i int) int64
	// wild is set where an input of the cell is not finite.
	wild bool
	// lengths has an entry for each output: nil if its length is right. Of an output with another length the
	// common part is compared.
	lengths []*otherLength
}

// otherLength is an axis of an output whose length is got and should be want. elements counts the missing or
// surplus elements.
type otherLength struct {
	axis      int
	got, want int64
	elements  int64
}

// read reads a cell of all tensors.
func (g *grid) read(m *machine, p *problem, h Attributes, box cell, in, out []*feed) (*computed, error) {
	m.reset()
	m.top, m.inside = 0, noInside()
	c := &computed{call: &call{machine: m, attrs: h, lo: box.lo, free: g.free, axis: g.axis}}
	for k, f := range in {
		if f == nil {
			c.inputs, c.types = append(c.inputs, nil), append(c.types, tensor.Undefined)
			continue
		}
		c.types = append(c.types, p.Inputs[k].DType)
		lo, hi := box.box(f.shape, func(i int) span { return g.free[i].in[k] })
		x, err := f.read(m, lo, hi)
		if err != nil {
			return nil, &TensorError{tensor.Input, k, err}
		}
		m.inexact = m.inexact || f.inexact
		if p.Inputs[k] == p.Saved && isFloat(p.Saved.DType) {
			x = x.unrounded(p.Saved.DType)
		}
		c.inputs = append(c.inputs, x)
		c.wild = c.wild || !finite(x.v)
	}
	for k, f := range out {
		lo, hi := box.box(f.shape, func(i int) span { return g.free[i].out[k] })
		y, err := f.read(m, lo, hi)
		if err != nil {
			return nil, &TensorError{tensor.Output, k, err}
		}
		c.got, c.shapes, c.dtypes = append(c.got, y), append(c.shapes, y.shape), append(c.dtypes, p.Outputs[k].DType)
		c.offsets = append(c.offsets, func(i int) int64 {
			offset, strides := int64(0), f.strides
			for axis, at := range c.got[k].shape.Coordinates(int64(i)) {
				offset += (lo[axis] + at) * strides[axis]
			}
			return offset
		})
	}
	return c, nil
}

// compute computes the formula in a cell.
func (c *computed) compute(f *formula) {
	m := c.machine
	c.outputs = f.compute(c.call)
	c.lengths = make([]*otherLength, len(c.got))
	for k, y := range c.got {
		if m.err != nil || k >= len(c.outputs) || c.outputs[k] == nil {
			continue
		}
		if x := c.outputs[k]; len(x.v) != len(y.v) {
			if m.counts && c.shorten(k) {
				continue
			}
			if shape, ok := broadcast(x.shape, y.shape); !ok || !shape.Equal(y.shape) {
				m.fail("an output of shape %s, want %s", y.shape, x.shape)
				continue
			}
			c.outputs[k] = x.expand(y.shape)
		}
	}
}

// shorten cuts a computed output and the NPU's output to their common length, if they differ in the length of
// one axis, and reports whether they do.
func (c *computed) shorten(k int) bool {
	x, y, axis := c.outputs[k], c.got[k], -1
	if len(x.shape) != len(y.shape) {
		return false
	}
	for i, n := range x.shape {
		if n != y.shape[i] && axis >= 0 {
			return false
		}
		if n != y.shape[i] {
			axis = i
		}
	}
	want, got := x.shape[axis], y.shape[axis]
	both := min(want, got)
	c.lengths[k] = &otherLength{axis, got, want, max(x.shape.Elements(), y.shape.Elements()) / max(want, got) * (max(want, got) - both)}
	c.outputs[k], c.got[k] = x.part(axis, 0, both), y.part(axis, 0, both)
	return true
}

// finite reports whether all of some numbers are.
func finite(v []float64) bool {
	for _, x := range v {
		if x-x != 0 {
			return false
		}
	}
	return true
}

// sampled are some elements of a cell: what a formula gives, what the NPU has, and the wide
// bound.
type sampled struct{ v, got, tol []float64 }

// sample returns elements of a cell for a value of an attribute; nil where it does not fit.
func (j *judge) sample(h Attributes, name string, x float64) (*sampled, error) {
	c, err := j.someCell(h.with(Attributes{name: {Number(x), FromFit}}))
	if err != nil || c == nil {
		return nil, err
	}
	s, t := new(sampled), newTally(j.op.Outputs[0].DType, j.formula.class)
	n := len(c.got[0].v)
	_, b := c.outputs[0].errs()
	for i := 0; i < n; i += max(1, n/fitElements) {
		v, got := c.outputs[0].v[i], c.got[0].v[i]
		s.v, s.got, s.tol = append(s.v, v), append(s.got, got), append(s.tol, t.allowed(v, b[i], got))
	}
	return s, nil
}

// someCell computes the cell at the place that is looked at, nil where the attributes do not
// fit.
func (j *judge) someCell(h Attributes) (*computed, error) {
	p := &problem{Operator: j.op.cast(h)}
	cutting := j.formula.cut(p, h)
	if !cutting.why.IsZero() {
		return nil, nil
	}
	g, ok := cutting.cut()
	if !ok {
		return nil, errTooLarge
	}
	in, out, err := feedsOf(p, cutting)
	if err != nil {
		return nil, err
	}
	c, err := g.read(&j.machine, p, h, g.cell(g.with(j.place)), in, out)
	if err != nil {
		return nil, err
	}
	if c.compute(j.formula); c.err != nil || len(c.outputs) == 0 {
		return nil, j.ctx.Err() // or the attributes do not go with the shapes
	}
	return c, j.ctx.Err()
}

// TensorError is an error of a tensor of an operator.
type TensorError struct {
	Kind  tensor.Kind
	Index int
	Err   error
}

// Error returns the error.
func (e *TensorError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *TensorError) Unwrap() error { return e.Err }

// IsZero reports whether all elements of a tensor are 0.
func IsZero(ctx context.Context, t *Tensor) (bool, error) {
	f, err := newFeed(t, view{shape: t.Shape})
	for first := int64(0); err == nil && first < t.elements(); first += cellElements {
		var part []float64
		if part, err = f.values64(first, min(cellElements, t.elements()-first)); err == nil {
			err = ctx.Err()
		}
		if slices.ContainsFunc(part, func(x float64) bool { return x != 0 }) {
			return false, err
		}
	}
	return err == nil, err
}

// wholeOf reads all elements of a tensor.
func wholeOf(t *Tensor) ([]float64, error) {
	f, err := newFeed(t, view{shape: t.Shape})
	if err != nil {
		return nil, err
	}
	return f.values64(0, t.elements())
}

// best returns the attributes that explain most of some elements of the output: offset is
// where choice i, of so many, has the element at coordinates from, -1 for a constant.
func (p *problem) best(total int64, keep int, offset func(i int64, coord []int64) int64, attrs func(i int64) Attributes) (all []Attributes) {
	x, err := wholeOf(p.Inputs[0])
	out := p.Outputs[0]
	if err != nil || p.Inputs[0].elements() > mostElements {
		return nil
	}
	f, err := newFeed(out, view{shape: out.Shape})
	if err != nil {
		return nil
	}
	type sample struct {
		coord []int64
		v     float64
	}
	var samples []sample
	state := uint64(1)
	for range samplesOfSlices {
		at := int64(random(&state) % uint64(out.elements()))
		v, err := f.values64(at, 1)
		if err != nil {
			return nil
		}
		samples = append(samples, sample{out.Shape.Coordinates(at), v[0]})
	}
	type choice struct {
		i    int64
		hits int
	}
	var best []choice
	for i := range total {
		if p.stopped() {
			return nil
		}
		hits := 0
		for _, s := range samples {
			if k := offset(i, s.coord); k < 0 && s.v == 0 || k >= 0 && x[k] == s.v {
				hits++
			}
		}
		at := len(best)
		for at > 0 && best[at-1].hits < hits {
			at--
		}
		if at < keep {
			best = slices.Insert(best, at, choice{i, hits})
			best = best[:min(len(best), keep)]
		}
	}
	for _, b := range best {
		all = append(all, attrs(b.i))
	}
	return all
}

// random returns the next of a sequence of pseudo-random numbers (splitmix64).
func random(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
