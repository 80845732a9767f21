package recompute

import (
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// cachedTensor reads a tensor and keeps all elements if they are few, because several hypotheses read them.
type cachedTensor struct {
	feed *feed
	all  []float64
	err  error
}

// maxCached limits the elements of a cached tensor (16 MB).
const maxCached = 1 << 21

func newCachedTensor(t *Tensor) *cachedTensor {
	w := &cachedTensor{}
	w.feed, w.err = newFeed(t, view{shape: t.Shape})
	if n := t.elements(); w.err == nil && n <= maxCached {
		var v []float64
		v, w.err = w.feed.readValues(0, n)
		w.all = v
	}
	return w
}

// readRun returns n elements from first on. The slice is valid until the next call.
func (w *cachedTensor) readRun(first, n int64) ([]float64, error) {
	if w.err != nil {
		return nil, w.err
	}
	if w.all != nil {
		return w.all[first : first+n], nil
	}
	return w.feed.readValues(first, n)
}

// cached returns the cached form of a tensor.
func (o *Operator) cached(t *Tensor) *cachedTensor {
	if o.cache == nil {
		o.cache = map[*Tensor]*cachedTensor{}
	}
	w, ok := o.cache[t]
	if !ok {
		w = newCachedTensor(t)
		o.cache[t] = w
	}
	return w
}

// matrix is a stack of matrices: the last two axes of a tensor. before is the shape of the other axes.
type matrix struct {
	t          *cachedTensor
	before     tensor.Shape
	rows, cols int64
	transposed bool // the tensor stores the columns of the matrix as rows
}

func matrixOf(o *Operator, t *Tensor, turned bool) matrix {
	s := t.Shape
	if len(s) == 1 {
		s = tensor.Shape{1, s[0]}
	}
	m := matrix{o.cached(t), s[:len(s)-2], s[len(s)-2], s[len(s)-1], turned}
	if turned {
		m.rows, m.cols = m.cols, m.rows
	}
	return m
}

// copyRow copies a row of a matrix to dst.
func (m *matrix) copyRow(part, row int64, dst []float64) error {
	base := part * m.rows * m.cols
	if !m.transposed {
		v, err := m.t.readRun(base+row*m.cols, m.cols)
		copy(dst, v)
		return err
	}
	for k := range dst {
		v, err := m.t.readRun(base+int64(k)*m.rows+row, 1)
		if err != nil {
			return err
		}
		dst[k] = v[0]
	}
	return nil
}

// copyTransposedRows copies n rows of a transposed matrix to dst.
func (m *matrix) copyTransposedRows(part, row, n int64, dst []float64) error {
	for k := range m.cols {
		v, err := m.t.readRun(part*m.rows*m.cols+k*m.rows+row, n)
		if err != nil {
			return err
		}
		for i, x := range v {
			dst[int64(i)*m.cols+k] = x
		}
	}
	return nil
}

// broadcastIndex returns the index in a shape own, which is broadcast to all, of element part of all.
func broadcastIndex(all, own tensor.Shape, part int64) int64 {
	coord := all.Coordinates(part)
	at := int64(0)
	for i, n := range own {
		c := coord[len(all)-len(own)+i]
		if n == 1 {
			c = 0
		}
		at = at*n + c
	}
	return at
}

// matMul is a product of stacks of matrices, which are broadcast to each other.
func matMul(p *problem, h Attributes) (*linear, lang.Sentence) {
	if p.rank() == 0 || len(p.Inputs[1].Shape) == 0 {
		return nil, lang.Say("matrices of %s and %s", p.Inputs[0].Shape, p.Inputs[1].Shape)
	}
	t1, _ := h["transpose_x1"].Value.Number()
	t2, _ := h["transpose_x2"].Value.Number()
	left, right := matrixOf(p.Operator, p.Inputs[0], t1 != 0), matrixOf(p.Operator, p.Inputs[1], t2 != 0)
	if len(p.Inputs[1].Shape) == 1 {
		right.rows, right.cols, right.transposed = p.Inputs[1].Shape[0], 1, false
	}
	before, ok := broadcast(left.before, right.before)
	if !ok || left.cols != right.rows {
		return nil, lang.Say("matrices of %s and %s", p.Inputs[0].Shape, p.Inputs[1].Shape)
	}
	l := &linear{parts: before.Elements(), rows: left.rows, k: left.cols, n: right.cols, byColumn: right.transposed}
	if out := p.Outputs[0]; out.elements() != l.parts*l.rows*l.n || len(out.Shape) > 1 && out.Shape[len(out.Shape)-1] != l.n && l.n != 1 {
		return nil, lang.Say("the output has the shape %s", out.Shape)
	}
	l.left = func(part, row int64, dst []float64) error {
		return left.copyRow(broadcastIndex(before, left.before, part), row, dst)
	}
	if left.transposed {
		l.block = func(part, row, n int64, dst []float64) error {
			return left.copyTransposedRows(broadcastIndex(before, left.before, part), row, n, dst)
		}
	}
	l.right = func(part, from, to int64) ([]float64, error) {
		each := right.cols
		if right.transposed {
			each = right.rows
		}
		return right.t.readRun(broadcastIndex(before, right.before, part)*right.rows*right.cols+from*each, (to-from)*each)
	}
	l.offset = func(part, row, column int64) int64 { return (part*l.rows+row)*l.n + column }
	adds := l.setFactors(h)
	if bias := p.input(2); bias != nil && bias.elements() > 0 && h["added"].Value.Text != "no" && adds {
		out := p.Outputs[0].Shape
		if all, ok := broadcast(bias.Shape, out); bias.elements() != l.n || ok && all.Equal(out) && len(bias.Shape) > 0 && bias.Shape[len(bias.Shape)-1] != l.n {
			return l, l.addBroadcast(bias, out)
		}
		w := p.cached(bias)
		l.columns = func(int64) ([]float64, error) { return w.readRun(0, l.n) }
	}
	return l, lang.Sentence{}
}

// addBroadcast adds a tensor to the product. The tensor has as many elements as the output, or is broadcast to the output.
func (l *linear) addBroadcast(t *Tensor, out tensor.Shape) lang.Sentence {
	v := view{shape: out}
	if t.elements() != out.Elements() {
		if all, ok := broadcast(t.Shape, out); !ok || !all.Equal(out) {
			return lang.Say("a bias of shape %s", t.Shape)
		}
		shape := padShape(t.Shape, len(out))
		v.strides = shape.Strides()
		for k, n := range shape {
			if n == 1 {
				v.strides[k] = 0
			}
		}
	}
	f, err := newFeed(t, v)
	if err != nil {
		return lang.Error(err)
	}
	l.addends = append(l.addends, f)
	return lang.Sentence{}
}

// fullyConnected is a product with a weight row for each output; the input is flattened to rows.
func fullyConnected(p *problem, h Attributes) (*linear, lang.Sentence) {
	x, w := p.Inputs[0], p.Inputs[1]
	if len(w.Shape) < 2 {
		return nil, lang.Say("weights of shape %s", w.Shape)
	}
	n, k := w.Shape[0], w.Shape[1:].Elements()
	if k == 0 || x.elements()%k != 0 {
		return nil, lang.Say("weights of shape %s for %s", w.Shape, x.Shape)
	}
	flat, weights := *x, *w
	flat.Shape, weights.Shape = tensor.Shape{x.elements() / k, k}, tensor.Shape{n, k}
	q := *p.Operator
	q.Inputs = slices.Clone(q.Inputs)
	q.Inputs[0], q.Inputs[1] = p.viewAs(x, flat.Shape), p.viewAs(w, weights.Shape)
	out := p.Outputs[0]
	if out.elements() != flat.Shape[0]*n {
		return nil, lang.Say("the output has the shape %s", out.Shape)
	}
	q.Outputs = []*Tensor{p.viewAs(out, tensor.Shape{flat.Shape[0], n})}
	p.cached(x) // both operators share one cache
	q.cache = p.cache
	return matMul(&problem{Operator: &q}, h.merge(Attributes{"transpose_x1": {Number(0), FromDefault}, "transpose_x2": {Number(1), FromDefault}}))
}

// quantMatMul is a product of integers whose columns are scaled to floating point and may be rounded to integers
// again. An integer bias is added before the scaling, a floating-point bias after it.
func quantMatMul(p *problem, h Attributes) (*linear, lang.Sentence) {
	p.cached(p.Inputs[0]) // all operators share one cache
	q := *p.Operator
	q.Inputs = slices.Clone(p.Inputs[:2])
	bias := p.input(3)
	if bias != nil && !isFloat(bias.DType) {
		q.Inputs = append(q.Inputs, bias)
	}
	l, why := matMul(&problem{Operator: &q}, h)
	if !why.IsZero() {
		return nil, why
	}
	if l.scales, why = readColumnNumbers(p.Inputs[2], l.n); !why.IsZero() {
		return nil, why
	}
	if t := p.input(5); t != nil && t.elements() > 0 {
		if l.rowScales, why = readColumnNumbers(t, l.parts*l.rows); !why.IsZero() {
			return nil, why
		}
	}
	for _, t := range []*Tensor{bias, p.input(4)} {
		if t == nil || t.elements() == 0 || !isFloat(t.DType) {
			continue
		}
		shifts, why := readColumnNumbers(t, l.n)
		if !why.IsZero() {
			return nil, why
		}
		for i, v := range l.shifts {
			shifts[i] += v
		}
		l.shifts = shifts
	}
	if d := p.Outputs[0].DType; !isFloat(d) && (d.Bits() > 8 || hasOffsets(p.Inputs[2])) {
		return nil, lang.Say("scales of shape %s", p.Inputs[2].Shape)
	}
	return l, lang.Sentence{}
}

// hasOffsets reports whether scales of 64 bits hold offsets for asymmetric quantisation, in bits 37 to 45.
func hasOffsets(t *Tensor) bool {
	v, err := t.Values()
	return t.DType.Bits() == 64 && (err != nil || slices.ContainsFunc(v, func(x float64) bool { return uint64(math.Abs(x))>>37&0x1ff != 0 }))
}

// readColumnNumbers reads n numbers, or one number and repeats it.
func readColumnNumbers(t *Tensor, n int64) ([]float64, lang.Sentence) {
	v, err := readScales(t)
	switch {
	case err != nil:
		return nil, lang.Error(err)
	case len(v) == 1:
		return slices.Repeat(v, int(n)), lang.Sentence{}
	case int64(len(v)) != n:
		return nil, lang.Say("scales of shape %s", t.Shape)
	}
	return v, lang.Sentence{}
}

// viewAs returns a view of a tensor in another shape. Repeated calls return the same view, so that its cached
// elements are found.
func (o *Operator) viewAs(t *Tensor, s tensor.Shape) *Tensor {
	if t.Shape.Equal(s) {
		return t
	}
	if o.views == nil {
		o.views = map[*Tensor]*Tensor{}
	}
	if v, ok := o.views[t]; ok && v.Shape.Equal(s) {
		return v
	}
	v := *t
	v.Shape = s
	o.views[t] = &v
	return &v
}

// transposes lists the transpositions of the factors that fit the shapes.
var transposes = closedAttribute("transpose_x1 transpose_x2", func(p *problem) (all []Attributes) {
	for _, t := range [][2]float64{{0, 0}, {0, 1}, {1, 0}, {1, 1}} {
		h := Attributes{"transpose_x1": {Number(t[0]), FromValues}, "transpose_x2": {Number(t[1]), FromValues}}
		if _, why := matMul(p, h); why.IsZero() {
			all = append(all, h)
		}
	}
	return all
})

// biasAdded says whether the bias is added: a module may return the bias unadded instead.
var biasAdded = closedAttribute("added", func(p *problem) []Attributes {
	if bias := p.input(2); !p.Open || bias == nil || bias.elements() == 0 {
		return []Attributes{{}}
	}
	return textAttribute("added", "yes no").choices(p)
}).withKind(fixedKind)

// addExtras adds the inputs after the weights: the bias, and tensors of the output's shape.
func (l *linear) addExtras(p *problem) lang.Sentence {
	out := p.Outputs[0]
	for _, t := range p.Inputs[2:] {
		if t == nil || t.elements() == 0 {
			continue
		}
		switch {
		case l.columns == nil && t.elements() == out.Shape[1]:
			w := p.cached(t)
			l.columns = func(part int64) ([]float64, error) { return w.readRun(part*l.n, l.n) }
		case t.Shape.Equal(out.Shape):
			if why := l.addBroadcast(t, out.Shape); !why.IsZero() {
				return why
			}
		default:
			return lang.Say("an input of shape %s", t.Shape)
		}
	}
	return lang.Sentence{}
}

// readTransposes maps other names of the transpositions to the names of the formula.
func readTransposes(_ *problem, raw Attributes) Attributes {
	for i, name := range []string{"transpose_x1", "transpose_x2"} {
		for _, also := range [][2]string{{"adj_x1", "adj_x2"}, {"transpose_a", "transpose_b"}, {"transpose_x", "transpose_weight"}} {
			if v, ok := raw[also[i]]; ok {
				raw = raw.merge(Attributes{name: v})
			}
		}
	}
	return raw
}
