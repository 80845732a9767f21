package recompute

import (
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// whole keeps all elements of a tensor that is not too large, for several hypotheses.
type whole struct {
	feed *feed
	all  []float64
	err  error
}

const mostKept = 1 << 21

func keep(t *Tensor) *whole {
	w := &whole{}
	w.feed, w.err = newFeed(t, view{shape: t.Shape})
	if n := t.elements(); w.err == nil && n <= mostKept {
		var v []float64
		v, w.err = w.feed.values64(0, n)
		w.all = v
	}
	return w
}

// run returns n elements from first on; they are valid until the next call.
func (w *whole) run(first, n int64) ([]float64, error) {
	if w.err != nil {
		return nil, w.err
	}
	if w.all != nil {
		return w.all[first : first+n], nil
	}
	return w.feed.values64(first, n)
}

// kept returns what is kept of a tensor.
func (o *Operator) kept(t *Tensor) *whole {
	if o.wholes == nil {
		o.wholes = map[*Tensor]*whole{}
	}
	w, ok := o.wholes[t]
	if !ok {
		w = keep(t)
		o.wholes[t] = w
	}
	return w
}

// matrix is the last two axes of a tensor, of so many matrices before them.
type matrix struct {
	t          *whole
	before     tensor.Shape
	rows, cols int64
	turned     bool // rows are columns of what is stored
}

func matrixOf(o *Operator, t *Tensor, turned bool) matrix {
	s := t.Shape
	if len(s) == 1 {
		s = tensor.Shape{1, s[0]}
	}
	m := matrix{o.kept(t), s[:len(s)-2], s[len(s)-2], s[len(s)-1], turned}
	if turned {
		m.rows, m.cols = m.cols, m.rows
	}
	return m
}

// row sets dst to a row of a matrix.
func (m *matrix) row(part, row int64, dst []float64) error {
	base := part * m.rows * m.cols
	if !m.turned {
		v, err := m.t.run(base+row*m.cols, m.cols)
		copy(dst, v)
		return err
	}
	for k := range dst {
		v, err := m.t.run(base+int64(k)*m.rows+row, 1)
		if err != nil {
			return err
		}
		dst[k] = v[0]
	}
	return nil
}

// turnedRows sets dst to rows of a matrix that is stored by columns.
func (m *matrix) turnedRows(part, row, n int64, dst []float64) error {
	for k := range m.cols {
		v, err := m.t.run(part*m.rows*m.cols+k*m.rows+row, n)
		if err != nil {
			return err
		}
		for i, x := range v {
			dst[int64(i)*m.cols+k] = x
		}
	}
	return nil
}

// partOf is the matrix that goes with a part of a broadcast shape.
func partOf(all, own tensor.Shape, part int64) int64 {
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

// matMul is a product of matrices, with others before them that are broadcast.
func matMul(p *problem, h Attributes) (*linear, lang.Sentence) {
	if p.rank() == 0 || len(p.Inputs[1].Shape) == 0 {
		return nil, lang.Say("matrices of %s and %s", p.Inputs[0].Shape, p.Inputs[1].Shape)
	}
	t1, _ := h["transpose_x1"].Value.Number()
	t2, _ := h["transpose_x2"].Value.Number()
	a, b := matrixOf(p.Operator, p.Inputs[0], t1 != 0), matrixOf(p.Operator, p.Inputs[1], t2 != 0)
	if len(p.Inputs[1].Shape) == 1 {
		b.rows, b.cols, b.turned = p.Inputs[1].Shape[0], 1, false
	}
	before, ok := broadcast(a.before, b.before)
	if !ok || a.cols != b.rows {
		return nil, lang.Say("matrices of %s and %s", p.Inputs[0].Shape, p.Inputs[1].Shape)
	}
	l := &linear{parts: before.Elements(), rows: a.rows, k: a.cols, n: b.cols, byColumn: b.turned}
	if out := p.Outputs[0]; out.elements() != l.parts*l.rows*l.n || len(out.Shape) > 1 && out.Shape[len(out.Shape)-1] != l.n && l.n != 1 {
		return nil, lang.Say("the output has the shape %s", out.Shape)
	}
	l.left = func(part, row int64, dst []float64) error { return a.row(partOf(before, a.before, part), row, dst) }
	if a.turned {
		l.block = func(part, row, n int64, dst []float64) error {
			return a.turnedRows(partOf(before, a.before, part), row, n, dst)
		}
	}
	l.right = func(part, from, to int64) ([]float64, error) {
		each := b.cols
		if b.turned {
			each = b.rows
		}
		return b.t.run(partOf(before, b.before, part)*b.rows*b.cols+from*each, (to-from)*each)
	}
	l.offset = func(part, row, column int64) int64 { return (part*l.rows+row)*l.n + column }
	adds := l.scale(h)
	if bias := p.input(2); bias != nil && bias.elements() > 0 && h["added"].Value.Text != "no" && adds {
		w := p.kept(bias)
		switch bias.elements() {
		case l.n:
			l.columns = func(int64) ([]float64, error) { return w.run(0, l.n) }
		case l.parts * l.rows * l.n:
			l.same = append(l.same, w)
		default:
			return nil, lang.Say("a bias of shape %s", bias.Shape)
		}
	}
	return l, lang.Sentence{}
}

// fullyConnected is a product with weights of a row for each result; what is before the axis
// makes the rows.
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
	q.Inputs[0], q.Inputs[1] = p.reshaped(x, flat.Shape), p.reshaped(w, weights.Shape)
	out := p.Outputs[0]
	if out.elements() != flat.Shape[0]*n {
		return nil, lang.Say("the output has the shape %s", out.Shape)
	}
	q.Outputs = []*Tensor{p.reshaped(out, tensor.Shape{flat.Shape[0], n})}
	p.kept(x) // both keep in one place
	q.wholes = p.wholes
	return matMul(&problem{Operator: &q}, h.with(Attributes{"transpose_x1": {Number(0), FromDefault}, "transpose_x2": {Number(1), FromDefault}}))
}

// quantMatMul is a product of integers whose columns are scaled to floating point, and may be rounded to
// integers again. Of a bias integers are added before that, other numbers after it.
func quantMatMul(p *problem, h Attributes) (*linear, lang.Sentence) {
	p.kept(p.Inputs[0]) // all keep in one place
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
	if l.scales, why = ofColumns(p.Inputs[2], l.n); !why.IsZero() {
		return nil, why
	}
	if t := p.input(5); t != nil && t.elements() > 0 {
		if l.rowScales, why = ofColumns(t, l.parts*l.rows); !why.IsZero() {
			return nil, why
		}
	}
	for _, t := range []*Tensor{bias, p.input(4)} {
		if t == nil || t.elements() == 0 || !isFloat(t.DType) {
			continue
		}
		shifts, why := ofColumns(t, l.n)
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

// hasOffsets reports whether scales that are kept in 64 bits have offsets in them, in 9 bits from the 37th on.
func hasOffsets(t *Tensor) bool {
	v, err := wholeOf(t)
	return t.DType.Bits() == 64 && (err != nil || slices.ContainsFunc(v, func(x float64) bool { return uint64(math.Abs(x))>>37&0x1ff != 0 }))
}

// ofColumns reads a number for each of n columns, or one for all.
func ofColumns(t *Tensor, n int64) ([]float64, lang.Sentence) {
	v, err := scalesOf(t)
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

// reshaped is a tensor in another shape, always the same one.
func (o *Operator) reshaped(t *Tensor, s tensor.Shape) *Tensor {
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

// transposes lists which factors may be turned.
var transposes = choice("transpose_x1 transpose_x2", func(p *problem) (all []Attributes) {
	for _, t := range [][2]float64{{0, 0}, {0, 1}, {1, 0}, {1, 1}} {
		h := Attributes{"transpose_x1": {Number(t[0]), FromValues}, "transpose_x2": {Number(t[1]), FromValues}}
		if _, why := matMul(p, h); why.IsZero() {
			all = append(all, h)
		}
	}
	return all
})

// added says whether the bias is: a module may hand it on in place of adding it.
var added = choice("added", func(p *problem) []Attributes {
	if bias := p.input(2); !p.Open || bias == nil || bias.elements() == 0 {
		return []Attributes{{}}
	}
	return texts("added", "yes no").choices(p)
}).withKind(fixedKind)

// extras finds the bias and what is added to every element among the inputs after the
// weights.
func (l *linear) extras(p *problem) lang.Sentence {
	out := p.Outputs[0]
	for _, t := range p.Inputs[2:] {
		if t == nil || t.elements() == 0 {
			continue
		}
		w := p.kept(t)
		switch {
		case l.columns == nil && t.elements() == out.Shape[1]:
			l.columns = func(part int64) ([]float64, error) { return w.run(part*l.n, l.n) }
		case t.Shape.Equal(out.Shape):
			l.same = append(l.same, w)
		default:
			return lang.Say("an input of shape %s", t.Shape)
		}
	}
	return lang.Sentence{}
}

// readTransposes takes the names of batches for those of matrices.
func readTransposes(_ *problem, raw Attributes) Attributes {
	for i, name := range []string{"transpose_x1", "transpose_x2"} {
		for _, also := range [][2]string{{"adj_x1", "adj_x2"}, {"transpose_a", "transpose_b"}, {"transpose_x", "transpose_weight"}} {
			if v, ok := raw[also[i]]; ok {
				raw = raw.with(Attributes{name: v})
			}
		}
	}
	return raw
}
