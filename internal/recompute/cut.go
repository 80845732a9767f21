package recompute

import (
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// view is how a formula sees a tensor: in another shape, or at strides from an offset on.
type view struct {
	shape   tensor.Shape
	strides []int64 // nil for the elements in their order
	offset  int64
	// source gives the elements, nil for those of the tensor.
	source layout.Source
}

// span is how an axis of a tensor follows an axis that is cut: element i of that one goes
// with element begin+i of the tensor, if there is one.
type span struct {
	axis  int // -1 for a tensor that is not cut
	begin int64
}

// free is an axis along which a formula may be cut.
type free struct {
	size    int64
	in, out []span
}

// cutting is how a formula sees the tensors of an operator, and what may be cut.
type cutting struct {
	// outputs behind out are not judged.
	in, out []view
	free    []free
	// axis is one along which inputs lie behind each other.
	axis int
	// pointwise is set where an element of the output depends on what lies at its own place.
	pointwise bool
	// most is how many cells are computed unless all are wanted, 0 for all.
	most int64
	// why says why the attributes do not go with the shapes, zero if they do.
	why lang.Sentence
}

// adds reports whether a formula with attributes h may have sums: it neither copies, chooses nor converts
// elements, and an output element depends on more than the elements at its own place.
func (f *formula) adds(op *Operator, h Attributes) bool {
	switch f.class {
	case Move, Exact, Converted, Integral:
		return false
	case Linear, Reduced:
		return true
	}
	return !f.cut(&problem{Operator: op}, h).pointwise
}

// cutter is the column of a formula that says how it may be cut.
type cutter func(p *problem, h Attributes) *cutting

func misfit(format string, args ...any) *cutting { return &cutting{why: lang.Say(format, args...)} }

// seen are the tensors as they are, with nothing cut.
func seen(p *problem) *cutting {
	c := new(cutting)
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

// uncut formulas see whole tensors.
func uncut(p *problem, _ Attributes) *cutting { return seen(p) }

// flat formulas see the first input and output as a row of elements.
func flat(p *problem, h Attributes) *cutting {
	n := p.Inputs[0].elements()
	if n != p.Outputs[0].elements() {
		return misfit("%d elements of %d", p.Outputs[0].elements(), n)
	}
	c := seen(p)
	c.in[0].shape, c.out[0].shape, c.pointwise = tensor.Shape{n}, tensor.Shape{n}, true
	return c.along([]int{0}, right)
}

// elementwise formulas may be cut along all axes of the output, to which inputs are
// broadcast.
func elementwise(p *problem, _ Attributes) *cutting {
	c, all := seen(p), tensor.Shape(nil)
	for k, t := range p.Inputs {
		if t == nil {
			continue
		}
		s, ok := broadcast(all, t.Shape)
		if !ok {
			return misfit("input %d of shape %s, others of %s", k, t.Shape, all)
		}
		all = s
	}
	if !all.Equal(p.Outputs[0].Shape) {
		if all.Elements() != p.Outputs[0].elements() {
			return misfit("inputs give the shape %s, the output has %s", all, p.Outputs[0].Shape)
		}
		c.out[0].shape = all
	}
	c.pointwise = true
	return c.along(upTo(len(all)), right)
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// follow says which axis of a tensor of shape s goes with axis k of a shape of so many axes,
// -1 for none.
type follow func(s tensor.Shape, k int, whole tensor.Shape) int

// right aligns shapes at their last axes, as numpy broadcasts.
func right(s tensor.Shape, k int, whole tensor.Shape) int {
	if k -= len(whole) - len(s); k >= 0 && s[k] == whole[max(0, k+len(whole)-len(s))] {
		return k
	}
	return -1
}

// same aligns tensors of the same rank; others are seen whole.
func same(s tensor.Shape, k int, whole tensor.Shape) int {
	if len(s) == len(whole) && s[k] == whole[k] {
		return k
	}
	return -1
}

// along cuts axes of the first output where how finds them in the others.
func (c *cutting) along(axes []int, how follow) *cutting {
	whole := c.out[0].shape
	for _, k := range axes {
		if whole[k] == 1 {
			continue
		}
		f := free{size: whole[k]}
		for _, v := range c.in {
			f.in = append(f.in, span{axis: how(v.shape, k, whole)})
		}
		for _, v := range c.out {
			f.out = append(f.out, span{axis: how(v.shape, k, whole)})
		}
		c.free = append(c.free, f)
	}
	return c
}

// lines are cut along all axes of the first input but those of an attribute, which are 1 in
// an output of a number a line.
func lines(p *problem, h Attributes) *cutting {
	axes, ok := h["axes"].Value.Integers()
	if !ok {
		return misfit("attribute %s is %q, want axes", "axes", h["axes"].Value)
	}
	return keeping(axes...)(p, h)
}

// keeping is lines along known axes.
func keeping(axes ...int64) cutter {
	return func(p *problem, _ Attributes) *cutting {
		x, c := p.Inputs[0].Shape, seen(p)
		rest, kept := upTo(len(x)), slices.Clone(x)
		for _, k := range axes {
			if k < 0 || k >= int64(len(x)) {
				return misfit("axis %d of shape %s", k, x)
			}
			kept[k] = 1
			rest = slices.DeleteFunc(rest, func(r int) bool { return r == int(k) })
		}
		for i := range slices.Clone(c.out) {
			switch s := &c.out[i].shape; {
			case s.Elements() == x.Elements():
				*s = x
			case s.Elements() == kept.Elements():
				*s = kept
			case i > 0 && s.Elements() == 0: // it was not asked for
				c.out = c.out[:i]
				return c.alongOf(x, rest)
			default:
				return misfit("output %d of shape %s, of inputs of %s", i, *s, x)
			}
		}
		return c.alongOf(x, rest)
	}
}

// alongOf cuts axes of a shape, in place of the shape of the first output.
func (c *cutting) alongOf(x tensor.Shape, axes []int) *cutting {
	out := c.out[0].shape
	c.out[0].shape = x
	c.along(axes, same)
	c.out[0].shape = out
	return c
}

// moved sees the first input so that the output is a copy of it.
func moved(see func(p *problem, h Attributes) (view, lang.Sentence)) cutter {
	return func(p *problem, h Attributes) *cutting {
		c := seen(p)
		v, why := see(p, h)
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
		return c.along(upTo(len(v.shape)), right)
	}
}

// biasCut sees the bias along an axis.
func biasCut(p *problem, h Attributes) *cutting {
	c, x := seen(p), p.Inputs[0].Shape
	k, ok := axisIn(h, len(x))
	if !ok || x[k] != p.Inputs[1].elements() || !x.Equal(p.Outputs[0].Shape) {
		return misfit("axis %s of shape %s, a bias of %d", h["axis"].Value, x, p.Inputs[1].elements())
	}
	c.in[1].shape = slices.Repeat(tensor.Shape{1}, len(x))
	c.in[1].shape[k] = x[k]
	return c.along(upTo(len(x)), right)
}

// images are cut along the first axis.
func images(p *problem, _ Attributes) *cutting {
	if !p.Inputs[0].Shape.Equal(p.Outputs[0].Shape) {
		return misfit("the output has the shape %s, the input %s", p.Outputs[0].Shape, p.Inputs[0].Shape)
	}
	return seen(p).along(upTo(min(1, len(p.Inputs[0].Shape))), same)
}

const (
	// cellElements is about the most elements of a tensor that a formula sees at a time, most
	// what one that cannot be cut may have.
	cellElements, mostElements = 1 << 15, 1 << 22
)

// grid is how a cutting is cut: cells have size elements along each free axis.
type grid struct {
	*cutting
	size, count []int64
}

// cut chooses cells that are small enough, the last axes longest; ok is false if there are
// none.
func (c *cutting) cut() (g *grid, ok bool) {
	g = &grid{cutting: c, size: make([]int64, len(c.free)), count: make([]int64, len(c.free))}
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
	if largest() > mostElements {
		return nil, false
	}
	for f := len(g.size) - 1; f >= 0; f-- {
		room := max(1, cellElements/max(1, largest()))
		g.size[f] = max(1, min(c.free[f].size, room))
		g.count[f] = (c.free[f].size + g.size[f] - 1) / g.size[f]
	}
	return g, true
}

// cells is the number of cells.
func (g *grid) cells() int64 {
	n := int64(1)
	for _, k := range g.count {
		n *= k
	}
	return n
}

// cell is a box of elements along the free axes.
type cell struct{ lo, hi []int64 }

// cell returns a cell by its number.
func (g *grid) cell(i int64) cell {
	c := cell{make([]int64, len(g.size)), make([]int64, len(g.size))}
	for f := len(g.size) - 1; f >= 0; f-- {
		c.lo[f] = i % g.count[f] * g.size[f]
		c.hi[f] = min(c.lo[f]+g.size[f], g.free[f].size)
		i /= g.count[f]
	}
	return c
}

// with returns the number of the cell that an element of the first output lies in.
func (g *grid) with(offset int64) (i int64) {
	if len(g.free) == 0 { // the output may be empty
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

// box is the part of a tensor that goes with a cell.
func (c *cell) box(shape tensor.Shape, spans func(f int) span) (lo, hi []int64) {
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

// feed reads boxes of a tensor as it is seen.
type feed struct {
	shape   tensor.Shape
	strides []int64 // of the tensor that is seen
	source  layout.Source
	decoder tensor.Decoder
	buffers layout.Buffers
	raw     []byte
	host    []byte
	values  []float64
	inexact bool // an integer beyond 2^53 was read
	rounded tensor.Float
}

// shifted is a source that begins at an offset of another one.
type shifted struct {
	layout.Source
	offset int64
}

// ReadElements reads from the offset on.
func (s shifted) ReadElements(dst []byte, first int64) error {
	return s.Source.ReadElements(dst, first+s.offset)
}

// newFeed returns a feed of a tensor, nil for none.
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
		f.source = shifted{f.source, v.offset}
	}
	if v.strides == nil {
		f.strides = v.shape.Strides()
		return f, nil
	}
	plan, err := layout.Strided(v.shape, v.strides)
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
	x := m.exact(shape, m.alloc(int(shape.Elements())))
	if len(x.v) == 0 {
		return x, nil
	}
	strides, first, last := f.shape.Strides(), int64(0), int64(0)
	for k, s := range strides {
		first += lo[k] * s
		last += (hi[k] - 1) * s
	}
	// The elements of a run lie beside each other.
	inner, run := len(shape), int64(1)
	for whole := true; inner > 0 && whole; whole = shape[inner] == f.shape[inner] {
		inner--
		run *= shape[inner]
	}
	outer := shape[:inner]
	if inner == 0 {
		return x, f.into(x.v, first)
	}
	if span := last - first + 1; span <= 4*int64(len(x.v)) || span <= 4*cellElements {
		all, err := f.values64(first, span)
		if err != nil {
			return nil, err
		}
		walk(outer, strides[:inner], func(i, offset int) { copy(x.v[int64(i)*run:][:run], all[offset:]) })
		return x, nil
	}
	var failed error
	walk(outer, strides[:inner], func(i, offset int) {
		if failed == nil && m.stopped() {
			failed = m.err
		}
		if failed == nil {
			var part []float64
			if part, failed = f.values64(first+int64(offset), run); failed == nil {
				copy(x.v[int64(i)*run:], part)
			}
		}
	})
	return x, failed
}

// values64 returns elements that lie beside each other; they are valid until the next call.
func (f *feed) values64(first, n int64) ([]float64, error) {
	f.values = resize(f.values, int(n))
	return f.values, f.into(f.values, first)
}

// into sets dst to elements that lie beside each other.
func (f *feed) into(dst []float64, first int64) error {
	f.raw = resize(f.raw, len(dst)*f.decoder.UnitSize())
	if err := f.source.ReadElements(f.raw, first); err != nil {
		return err
	}
	f.decode(dst, f.raw)
	return nil
}

// decode sets dst to stored elements.
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
