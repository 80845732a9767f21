package recompute

import (
	"cmp"
	"context"
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// maxHypotheses limits the tried combinations of attribute values, to bound the time of an operator.
const maxHypotheses = 400

// result compares the outputs with a formula under one set of attributes.
type result struct {
	attrs   Attributes
	tallies []*tally
	// maxMagnitude is the largest finite product or sum that was computed.
	maxMagnitude float64
	// largest holds the largest values between inputs and outputs.
	largest largestValues
	// why says why the attributes do not fit the shapes, zero if they do.
	why lang.Sentence
	// cells is the number of cells that were computed, total the number of all cells.
	cells, total int64
	products     []product
	isSample     bool    // only a sample was computed
	damage       *damage // where bad elements lie, if only some rows of a product were computed, else nil
	// how says how much was computed: empty for all, else sampled or projected. scanned is the result of a
	// projection, nil without one.
	how     string
	scanned *projectionResult
	// systematic is an error within the wide bound that rounding cannot cause.
	systematic systematic
	// length says that an output has another length than follows from the values of the inputs, zero if none has.
	length lang.Sentence
}

// count adds up a count over all outputs.
func (r *result) count(what func(t *tally) int64) (n int64) {
	for _, t := range r.tallies {
		n += what(t)
	}
	return n
}

func (r *result) countBad() int64     { return r.count(func(t *tally) int64 { return t.bad }) }
func (r *result) countBeyond() int64  { return r.count(func(t *tally) int64 { return t.beyond }) }
func (r *result) countChecked() int64 { return r.count(func(t *tally) int64 { return t.checked }) }

// judge finds out what an operator computed. It holds the state of one call of Judge.
type judge struct {
	ctx     context.Context
	op      *Operator
	formula *formula
	machine machine
	// irrelevant lists attributes that do not change the result for these inputs.
	irrelevant []string
	// implausibleFit: the elements are explained only by a fitted number that has more digits than people choose.
	implausibleFit bool
	// worstOffset is the offset of the worst unexplained element of the first output under the best attributes, 0 before it
	// is known. around is the offset whose cell is used to fit a number, sampled the index in that cell of an element
	// that the sample has to contain.
	worstOffset, fitOffset int64
	sampled                int
	// fewestBad is the number of bad elements in the sample of the best hypothesis, 0 while no hypothesis was sampled.
	// The sample of a hypothesis ends as soon as it has more.
	fewestBad int64
	// expected collects the computed outputs, damage the places of bad elements; nil if not wanted.
	expected   *Expectation
	damage     *damage
	cachedSums map[string]*sums // sums of products of the sampled elements, by a key of the attributes
	hits       []rowIndex       // rows of a large product whose projection shows an error; further hypotheses compute them too
}

// errTooLarge: the operator cannot be cut into parts that fit in memory.
var errTooLarge = lang.Errorf("the operator cannot be divided into parts that fit into memory")

// evaluateAttributes compares the outputs with the formula under attributes h, in all cells or in a sample.
func (j *judge) evaluateAttributes(h Attributes, few bool) (*result, error) {
	r := &result{attrs: h, largest: newLargestValues()}
	err := cmp.Or(j.evaluate(r, few), j.ctx.Err())
	if err == nil && r.why.IsZero() {
		r.systematic = r.findSystematic(j.op.Outputs[0].DType, j.formula.class)
	}
	return r, err
}

// evaluate computes the outputs, all at once or one after the other.
func (j *judge) evaluate(r *result, few bool) error {
	p := &problem{Operator: j.op.castInputs(r.attrs)}
	switch {
	case j.formula.linear != nil:
		return j.compareProduct(r, few)
	case !j.formula.hasSeparateOutputs:
		return j.evaluateCells(p, r, few)
	}
	p = p.withSingleOutputs()
	for k, t := range j.op.Outputs {
		part := *j.op
		part.Outputs = []*Tensor{t}
		p.Operator, p.output = &part, k
		if err := j.evaluateCells(p, r, few); err != nil || !r.why.IsZero() {
			return err
		}
	}
	return nil
}

// withSingleOutputs returns the problem of a formula that computes one output at a time.
func (p *problem) withSingleOutputs() *problem {
	q := &problem{ctx: p.ctx, Operator: p.Operator, outputs: len(p.Outputs)}
	for _, t := range p.Outputs {
		q.shapes = append(q.shapes, t.Shape)
	}
	return q
}

// fewCells is the number of cells in a sample for ranking hypotheses.
const fewCells = 3

// evaluateCells computes the cells of the outputs of a problem.
func (j *judge) evaluateCells(p *problem, r *result, few bool) error {
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
	n := g.cellCount()
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
	if !few && g.maxCells > 0 && n > g.maxCells && !p.Full {
		step = max(step, (n+g.maxCells-1)/g.maxCells|1) // odd, so that each attention head has other rows
		r.how = "sampled"
	}
	if step == 1 && !few {
		done, err := j.compareCodes(p, r.attrs, cutting, r.tallies[first])
		if done {
			r.cells, r.total = r.cells+n, r.total+n
		}
		if done || err != nil {
			return err
		}
	}
	s := &cellSweep{judge: j, problem: p, grid: g, in: in, out: out, result: r, tallies: r.tallies[first:]}
	r.total += n
	for i := int64(0); i < n && r.why.IsZero(); i += step {
		if err := s.cell(i); err != nil {
			return err
		}
		if r.cells++; few && j.fewestBad > 0 && r.countBad() > j.fewestBad {
			return nil
		}
	}
	if k := g.cellAt(j.worstOffset); few && k%step != 0 && r.why.IsZero() {
		return s.cell(k)
	}
	return nil
}

// cellSweep compares the cells of a problem's outputs, one after the other.
type cellSweep struct {
	*judge
	*problem
	*grid
	in, out []*feed
	result  *result
	tallies []*tally // of the problem's outputs
}

// cell computes the formula in cell i and compares the outputs. If the attributes do not fit the shapes, the reason
// goes to the result.
func (s *cellSweep) cell(i int64) error {
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
		return nil //nolint:nilerr // the reason goes to the result
	}
	for k, y := range c.got {
		if k >= len(c.outputs) || c.outputs[k] == nil {
			continue
		}
		var tie func(i int) bool
		if s.formula.class == Quantised {
			tie = c.isTie
		}
		t := s.tallies[k].newLike()
		t.mustShowNaN, t.overflowsFloat32 = !c.selects && s.formula.class != Move, m.maxMagnitude > math.MaxFloat32
		t.mark = s.newCollector(s.output+k, c.outputs[k], y, t, c.offsets[k])
		t.add(c.outputs[k], y, c.nonFinite, tie, c.offsets[k])
		s.addLength(c, k, t)
		s.tallies[k].merge(t, 1)
	}
	s.result.merge(m)
	return nil
}

// addLength counts missing and surplus elements of an output as bad. CANN may dump all memory reserved for an output:
// surplus elements after right ones prove nothing there.
func (s *cellSweep) addLength(c *evaluatedCell, k int, t *tally) {
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

// merge merges the maxima and products of a cell.
func (r *result) merge(m *machine) {
	r.maxMagnitude, r.products = max(r.maxMagnitude, m.maxMagnitude), append(r.products, m.products...)
	for i, v := range m.largest {
		r.largest.keepLarger(intermediateClass(i), v)
	}
}

func feedsOf(p *problem, c *cutRule) (in, out []*feed, err error) {
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

// evaluatedCell is a cell with the computed outputs and the outputs of the NPU.
type evaluatedCell struct {
	*call
	outputs []*Array
	// offsets convert the index of an element in the cell to its offset in each output.
	offsets []func(i int) int64
	// nonFinite: an input of the cell has NaN or infinities.
	nonFinite bool
	// lengths has an entry for each output, nil if its length is right. If it is wrong, only the common part is
	// compared.
	lengths []*lengthMismatch
}

// lengthMismatch is an axis of an output with length got instead of want. elements counts the missing or surplus
// elements.
type lengthMismatch struct {
	axis      int
	got, want int64
	elements  int64
}

// read reads one cell of all inputs and outputs.
func (g *grid) read(m *machine, p *problem, h Attributes, box cell, in, out []*feed) (*evaluatedCell, error) {
	m.reset()
	m.maxMagnitude, m.largest = 0, newLargestValues()
	c := &evaluatedCell{call: &call{machine: m, attrs: h, lo: box.lo, free: g.free, axis: g.axis}}
	for k, f := range in {
		if f == nil {
			c.inputs, c.types = append(c.inputs, nil), append(c.types, tensor.Undefined)
			continue
		}
		c.types = append(c.types, p.Inputs[k].DType)
		lo, hi := box.boxOf(f.shape, func(i int) span { return g.free[i].in[k] })
		x, err := f.read(m, lo, hi)
		if err != nil {
			return nil, &TensorError{tensor.Input, k, err}
		}
		m.inexact = m.inexact || f.inexact
		if p.Inputs[k] == p.Saved && isFloat(p.Saved.DType) {
			x = x.withRounding(p.Saved.DType)
		}
		c.inputs = append(c.inputs, x)
		c.nonFinite = c.nonFinite || !isAllFinite(x.v)
	}
	for k, f := range out {
		lo, hi := box.boxOf(f.shape, func(i int) span { return g.free[i].out[k] })
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

// compute computes the formula in the cell and adapts the shapes of its outputs to the shapes of the NPU's outputs.
func (c *evaluatedCell) compute(f *formula) {
	m := c.machine
	c.outputs = f.compute(c.call)
	c.lengths = make([]*lengthMismatch, len(c.got))
	for k, y := range c.got {
		if m.err != nil || k >= len(c.outputs) || c.outputs[k] == nil {
			continue
		}
		if x := c.outputs[k]; len(x.v) != len(y.v) {
			if m.dynamicLength && c.shorten(k) {
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

// shorten cuts the computed output and the NPU's output to their common length if they differ in one axis only, and
// reports whether they do.
func (c *evaluatedCell) shorten(k int) bool {
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
	c.lengths[k] = &lengthMismatch{axis, got, want, max(x.shape.Elements(), y.shape.Elements()) / max(want, got) * (max(want, got) - both)}
	c.outputs[k], c.got[k] = x.slice(axis, 0, both), y.slice(axis, 0, both)
	return true
}

// isAllFinite reports whether no element is NaN or infinite.
func isAllFinite(v []float64) bool {
	for _, x := range v {
		if x-x != 0 {
			return false
		}
	}
	return true
}

// cellSample holds some elements of a cell: computed, of the NPU, and the wide bound.
type cellSample struct{ v, got, tol []float64 }

// sampleAttribute computes elements of a cell with the value x for an attribute; nil if the attributes do not fit the shapes.
func (j *judge) sampleAttribute(h Attributes, name string, x float64) (*cellSample, error) {
	c, err := j.computeCell(h.merge(Attributes{name: {Number(x), FromFit}}))
	if err != nil || c == nil {
		return nil, err
	}
	return j.sampleCell(c), nil
}

// sampleCell returns about sampleElements elements of a cell, evenly spaced, among them j.sampled.
func (j *judge) sampleCell(c *evaluatedCell) *cellSample {
	s, t := new(cellSample), newTally(j.op.Outputs[0].DType, j.formula.class)
	n := len(c.got[0].v)
	_, b := c.outputs[0].errorBounds()
	step := max(1, n/sampleElements)
	for i := j.sampled % step; i < n; i += step {
		v, got := c.outputs[0].v[i], c.got[0].v[i]
		s.v, s.got, s.tol = append(s.v, v), append(s.got, got), append(s.tol, t.tolerance(v, b[i], got))
	}
	return s
}

// computeCell computes the cell at offset around; nil if the attributes do not fit the shapes.
func (j *judge) computeCell(h Attributes) (*evaluatedCell, error) {
	p := &problem{Operator: j.op.castInputs(h)}
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
	c, err := g.read(&j.machine, p, h, g.cell(g.cellAt(j.fitOffset)), in, out)
	if err != nil {
		return nil, err
	}
	if c.compute(j.formula); c.err != nil || len(c.outputs) == 0 {
		return nil, j.ctx.Err() // nil if the attributes do not fit the shapes
	}
	return c, j.ctx.Err()
}

// TensorError is an error of reading an input or output of an operator, with its kind and index.
type TensorError struct {
	Kind  tensor.Kind
	Index int
	Err   error
}

func (e *TensorError) Error() string { return e.Err.Error() }

func (e *TensorError) Unwrap() error { return e.Err }

// IsZero reports whether all elements of a tensor are 0.
func IsZero(ctx context.Context, t *Tensor) (bool, error) {
	f, err := newFeed(t, view{shape: t.Shape})
	for first := int64(0); err == nil && first < t.elements(); first += cellElements {
		var part []float64
		if part, err = f.readValues(first, min(cellElements, t.elements()-first)); err == nil {
			err = ctx.Err()
		}
		if slices.ContainsFunc(part, func(x float64) bool { return x != 0 }) {
			return false, err
		}
	}
	return err == nil, err
}

// Values reads all elements of a tensor.
func (t *Tensor) Values() ([]float64, error) {
	f, err := newFeed(t, view{shape: t.Shape})
	if err != nil {
		return nil, err
	}
	return f.readValues(0, t.elements())
}

// findBestMatches compares choices 0 to total-1 on random output elements and returns the attributes of the best ones, at
// most keep. offset returns the offset in the first input from which choice i copies the output element at coord, -1 for a
// zero.
func (p *problem) findBestMatches(total int64, keep int, offset func(i int64, coord []int64) int64, attrs func(i int64) Attributes) (all []Attributes) {
	x, err := p.Inputs[0].Values()
	out := p.Outputs[0]
	if err != nil || p.Inputs[0].elements() > maxElements {
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
	for range sliceSamples {
		at := int64(nextRandom(&state) % uint64(out.elements()))
		v, err := f.readValues(at, 1)
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
		if p.isStopped() {
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

// nextRandom returns the next pseudo-random number (splitmix64).
func nextRandom(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
