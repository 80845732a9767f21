package recompute

import (
	"slices"
	"strings"

	"dumptool/internal/tensor"
)

// whole keeps all elements of a tensor that is not too large, for several hypotheses.
type whole struct {
	t    *Tensor
	feed *feed
	all  []float64
	err  error
}

const mostKept = 1 << 21

func keep(t *Tensor) *whole {
	w := &whole{t: t}
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
func matMul(p *problem, h Attributes) (*linear, string) {
	t1, _ := h["transpose_x1"].Value.Number()
	t2, _ := h["transpose_x2"].Value.Number()
	a, b := matrixOf(p.Operator, p.Inputs[0], t1 != 0), matrixOf(p.Operator, p.Inputs[1], t2 != 0)
	if len(p.Inputs[1].Shape) == 1 {
		b.rows, b.cols, b.turned = p.Inputs[1].Shape[0], 1, false
	}
	before, ok := broadcast(a.before, b.before)
	if !ok || a.cols != b.rows {
		return nil, "matrices of " + p.Inputs[0].Shape.String() + " and " + p.Inputs[1].Shape.String() + " do not fit"
	}
	l := &linear{parts: before.Elements(), rows: a.rows, k: a.cols, n: b.cols, byColumn: b.turned}
	if out := p.Outputs[0]; out.elements() != l.parts*l.rows*l.n || len(out.Shape) > 1 && out.Shape[len(out.Shape)-1] != l.n && l.n != 1 {
		return nil, "the output has the shape " + out.Shape.String()
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
	if bias := p.input(2); bias != nil && bias.elements() > 0 {
		w := p.kept(bias)
		switch bias.elements() {
		case l.n:
			l.columns = func(int64) ([]float64, error) { return w.run(0, l.n) }
		case l.parts * l.rows * l.n:
			l.same = append(l.same, w)
		default:
			return nil, "a bias of shape " + bias.Shape.String()
		}
	}
	return l, ""
}

// fullyConnected is a product with weights of a row for each result; what is before the axis
// makes the rows.
func fullyConnected(p *problem, h Attributes) (*linear, string) {
	x, w := p.Inputs[0], p.Inputs[1]
	if len(w.Shape) < 2 {
		return nil, "weights of shape " + w.Shape.String()
	}
	n, k := w.Shape[0], w.Shape[1:].Elements()
	if k == 0 || x.elements()%k != 0 {
		return nil, "weights of shape " + w.Shape.String() + " for " + x.Shape.String()
	}
	flat, weights := *x, *w
	flat.Shape, weights.Shape = tensor.Shape{x.elements() / k, k}, tensor.Shape{n, k}
	q := *p.Operator
	q.Inputs = slices.Clone(q.Inputs)
	q.Inputs[0], q.Inputs[1] = p.reshaped(x, flat.Shape), p.reshaped(w, weights.Shape)
	out := p.Outputs[0]
	if out.elements() != flat.Shape[0]*n {
		return nil, "the output has the shape " + out.Shape.String()
	}
	q.Outputs = []*Tensor{p.reshaped(out, tensor.Shape{flat.Shape[0], n})}
	q.wholes = p.kept(x).shared(p.Operator)
	return matMul(&problem{Operator: &q}, h.with(Attributes{"transpose_x1": {Number(0), FromDefault}, "transpose_x2": {Number(1), FromDefault}}))
}

// shared is what is kept of all tensors of an operator.
func (w *whole) shared(o *Operator) map[*Tensor]*whole { return o.wholes }

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
var transposes = attribute{names: []string{"transpose_x1", "transpose_x2"}, closed: true, choices: func(p *problem) (all []Attributes) {
	for _, t := range [][2]float64{{0, 0}, {0, 1}, {1, 0}, {1, 1}} {
		h := Attributes{"transpose_x1": {Number(t[0]), FromValues}, "transpose_x2": {Number(t[1]), FromValues}}
		if _, why := matMul(p, h); why == "" {
			all = append(all, h)
		}
	}
	return all
}}

// window is the geometry of a convolution or pool: by axes, what lies between windows, what
// stands before the input, and what lies between elements of a window.
type window struct{ stride, before, dilation, kernel []int64 }

// windowOf reads a geometry of so many axes.
func windowOf(h Attributes, kernel []int64) (w window, ok bool) {
	w.kernel = kernel
	for name, to := range map[string]*[]int64{"strides": &w.stride, "pads": &w.before, "dilations": &w.dilation} {
		if *to, ok = h[name].Value.Integers(); !ok || len(*to) != len(kernel) {
			return w, false
		}
	}
	return w, true
}

// extent is how many elements a window spans along an axis.
func (w *window) extent(axis int) int64 { return (w.kernel[axis]-1)*w.dilation[axis] + 1 }

// fits reports whether windows over n elements along an axis give so many outputs, with less
// padding than a window is long.
func (w *window) fits(axis int, n, out int64) bool {
	s, before, e := w.stride[axis], w.before[axis], w.extent(axis)
	if s < 1 || w.dilation[axis] < 1 || before < 0 || before >= e && before > 0 {
		return false
	}
	after := (out-1)*s + e - n - before // what has to stand behind
	return after < e+s && after > -s
}

// conv2D is a convolution: pixels are rows, groups parts, filters columns.
func conv2D(p *problem, h Attributes) (*linear, string) {
	x, w, out := p.Inputs[0].Shape, p.Inputs[1].Shape, p.Outputs[0].Shape
	axes := len(x) - 2
	if axes < 1 || len(w) != len(x) || len(out) != len(x) || w[1] == 0 || x[1]%w[1] != 0 || out[1] != w[0] || x[0] != out[0] {
		return nil, "weights of shape " + w.String() + " for " + x.String()
	}
	groups := x[1] / w[1]
	if g, ok := h["groups"].Value.Number(); ok && int64(g) != groups || groups == 0 || w[0]%groups != 0 {
		return nil, "groups and shapes do not fit"
	}
	g, ok := windowOf(h, w[2:])
	if !ok {
		return nil, "strides, pads and dilations of another number of axes"
	}
	for i := range axes {
		if !g.fits(i, x[2+i], out[2+i]) {
			return nil, "strides, pads and dilations do not give the output's size"
		}
	}
	pixels := out[2:].Elements()
	l := &linear{parts: groups, rows: x[0] * pixels, k: w[1:].Elements(), n: w[0] / groups, byColumn: true}
	image := p.kept(p.Inputs[0])
	weights := p.kept(p.Inputs[1])
	l.left = func(part, row int64, dst []float64) error {
		at := out[2:].Coordinates(row % pixels)
		return g.patch(image, x, (row/pixels*x[1]+part*w[1])*x[2:].Elements(), w[1], at, dst)
	}
	l.right = func(part, from, to int64) ([]float64, error) {
		return weights.run((part*l.n+from)*l.k, (to-from)*l.k)
	}
	l.offset = func(part, row, column int64) int64 {
		return (row/pixels*out[1]+part*l.n+column)*pixels + row%pixels
	}
	l.places, l.run = corners(out[2:]), pixels
	same := func(v []int64, n int64) bool { return !slices.ContainsFunc(v, func(k int64) bool { return k != n }) }
	l.winograd = axes == 2 && same(g.kernel, 3) && same(g.stride, 1) && same(g.dilation, 1) && groups == 1
	return l, l.extras(p)
}

// corners are the corners of an image.
func corners(s tensor.Shape) (all []int64) {
	for bits := range 1 << len(s) {
		at := int64(0)
		for k, n := range s {
			at *= n
			if bits>>k&1 == 1 {
				at += n - 1
			}
		}
		all = append(all, at)
	}
	return all
}

// extras finds the bias and what is added to every element among the inputs after the
// weights.
func (l *linear) extras(p *problem) string {
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
			return "an input of shape " + t.Shape.String()
		}
	}
	return ""
}

// patch sets dst to the elements below a window, by channels; what is outside is 0.
func (w *window) patch(image *whole, x tensor.Shape, base, channels int64, at []int64, dst []float64) error {
	axes := len(w.kernel)
	last := axes - 1
	size := x[2:].Elements()
	strides := x[2:].Strides()
	i := 0
	outer := tensor.Shape(w.kernel[:last]).Elements()
	for c := range channels {
		for o := range outer {
			offset, inside := base+c*size, true
			for k, q := range tensor.Shape(w.kernel[:last]).Coordinates(o) {
				place := at[k]*w.stride[k] - w.before[k] + q*w.dilation[k]
				inside = inside && place >= 0 && place < x[2+k]
				offset += place * strides[k]
			}
			begin := at[last]*w.stride[last] - w.before[last]
			line := dst[i : i+int(w.kernel[last])]
			i += len(line)
			clear(line)
			first, end := max(0, begin), min(x[2+last], begin+w.extent(last))
			if !inside || first >= end {
				continue
			}
			v, err := image.run(offset+first, end-first)
			if err != nil {
				return err
			}
			for q := range line {
				if place := begin + int64(q)*w.dilation[last]; place >= first && place < end {
					line[q] = v[place-first]
				}
			}
		}
	}
	return nil
}

const mostStride, mostGeometries = 8, 400

// geometries lists the strides, paddings and distances that give an output of a size, with
// the likely first: small steps, and as much padding on both sides.
func geometries(n, k, out int64, dilations []int64) (all [][3]int64) {
	for _, d := range dilations {
		if d > 1 && k == 1 {
			continue
		}
		e := (k-1)*d + 1
		for s := int64(1); s <= mostStride; s++ {
			need, apart := (out-1)*s+e-n, s+1 // how far both paddings may differ
			if out == 1 {
				apart = mostStride
			}
			for before := int64(0); before == 0 || before < e; before++ {
				after := need - before
				// The windows reach the end but for less than a step, and are not behind it.
				if out == 1 && s > 1 && after > 1-s {
					continue // the steps do not matter
				}
				if after > -s && after < max(e, 1) && after <= before+apart && before <= max(after, 0)+apart && len(all) < mostGeometries {
					all = append(all, [3]int64{s, before, d})
				}
			}
		}
	}
	return all
}

// convGeometry lists the geometries of a convolution.
var convGeometry = attribute{names: []string{"strides", "pads", "dilations"}, closed: true, choices: func(p *problem) (all []Attributes) {
	x, w, out := p.Inputs[0].Shape, p.Inputs[1].Shape, p.Outputs[0].Shape
	if len(x) < 3 || len(w) != len(x) || len(out) != len(x) {
		return nil
	}
	return windows(x[2:], w[2:], out[2:], []int64{1, 2, 3, 4, 6})
}}

// windows joins the geometries of all axes: those with equal steps.
func windows(x, kernel, out tensor.Shape, dilations []int64) (all []Attributes) {
	joined := [][][3]int64{nil}
	for k := range x {
		var next [][][3]int64
		for _, before := range joined {
			for _, g := range geometries(x[k], kernel[k], out[k], dilations) {
				if k > 0 && (g[0] != before[0][0] && x[k] > 1 && out[k] > 1 && out[0] > 1 || g[2] != before[0][2] && kernel[k] > 1 && kernel[0] > 1) {
					continue
				}
				next = append(next, append(slices.Clip(before), g))
			}
		}
		joined = next
	}
	odd := func(g [][3]int64) int64 {
		score := 8 * (g[0][2] - 1)
		for k := range g {
			e := (kernel[k]-1)*g[k][2] + 1
			after := (out[k]-1)*g[k][0] + e - x[k] - g[k][1]
			if d := after - g[k][1]; d > 0 {
				score += d
			} else if d <= -g[k][0] {
				score -= d
			}
			if g[k][1] != g[0][1] {
				score++
			}
			if x[k] == out[k] && g[k][0] == 1 && 2*g[k][1] == e-1 {
				score-- // the size stays
			}
		}
		return score
	}
	slices.SortStableFunc(joined, func(a, b [][3]int64) int { return int(odd(a) - odd(b)) })
	for _, g := range joined[:min(len(joined), mostHypotheses)] {
		var s, b, d []int64
		for _, one := range g {
			s, b, d = append(s, one[0]), append(b, one[1]), append(d, one[2])
		}
		all = append(all, Attributes{"strides": {integers(s...), FromShape}, "pads": {integers(b...), FromShape}, "dilations": {integers(d...), FromShape}})
	}
	return all
}

// products are the formulas that multiply matrices.
var products = []formula{
	{name: "MatMul", class: Linear, inputs: "x1 x2 bias?", linear: matMul, read: readTransposes, attrs: []attribute{transposes, activation}},
	{name: "FullyConnection", class: Linear, inputs: "x w bias?", linear: fullyConnected, attrs: []attribute{activation}},
	{name: "Conv2D", class: Linear, inputs: "x w more*?", linear: conv2D, read: readWindow, attrs: []attribute{convGeometry, kept("groups"), activation}},
}

// readTransposes takes the names of batches for those of matrices.
func readTransposes(_ *problem, raw Attributes) Attributes {
	for i, name := range []string{"transpose_x1", "transpose_x2"} {
		for _, also := range [][2]string{{"adj_x1", "adj_x2"}, {"transpose_a", "transpose_b"}} {
			if v, ok := raw[also[i]]; ok {
				raw = raw.with(Attributes{name: v})
			}
		}
	}
	return raw
}

// readWindow takes the geometry of the axes of an image from lists of all axes, or of one
// number, and paddings from pairs or their name.
func readWindow(p *problem, raw Attributes) Attributes {
	axes := p.rank() - 2
	raw = raw.with(nil)
	if axes < 1 || len(p.Outputs[0].Shape) != p.rank() {
		return raw
	}
	format := raw["data_format"].Value.Text
	spatial := func(v []int64) []int64 {
		switch {
		case len(v) == axes:
			return v
		case len(v) == 1:
			return slices.Repeat(v, axes)
		case len(v) == axes+2 && len(format) == len(v) && format[len(format)-1] == 'C':
			return v[1 : axes+1]
		case len(v) == axes+2:
			return v[2:]
		}
		return nil
	}
	pads := func(v []int64) []int64 {
		if len(v) != 2*axes || axes == 1 {
			return spatial(v)
		}
		var before []int64
		for i := range axes {
			before = append(before, v[2*i])
		}
		return before
	}
	way, word := Attribute{}, ""
	for _, w := range []struct {
		to, names string
		take      func([]int64) []int64
	}{
		{"strides", "strides stride", spatial}, {"dilations", "dilations dilation", spatial},
		{"ksize", "ksize window kernel_size", spatial}, {"pads", "pads pad_list pad padding padding_mode pad_mode", pads},
	} {
		for name := range fieldsOf(w.names) {
			x, ok := raw[name]
			if !ok {
				continue
			}
			delete(raw, name)
			if x.Value.IsText() {
				if w.to == "pads" {
					way, word = x, strings.ToUpper(x.Value.Text)
				}
				continue
			}
			if v, ok := x.Value.Integers(); ok && raw[w.to].Source == "" {
				if s := w.take(v); s != nil {
					raw[w.to] = Attribute{integers(s...), x.Source}
				}
			}
		}
	}
	p.pad(raw, word, way)
	return raw
}

// pad sets what stands before each axis where a word says it.
func (p *problem) pad(raw Attributes, word string, way Attribute) {
	if v, ok := raw["pads"].Value.Integers(); ok && slices.ContainsFunc(v, func(n int64) bool { return n < 0 }) {
		word, way = "SAME", raw["pads"] // as CANN writes it
	}
	x, out := p.Inputs[0].Shape[2:], p.Outputs[0].Shape[2:]
	before := make([]int64, len(x))
	switch {
	case word == "VALID":
	case strings.HasPrefix(word, "SAME"):
		kernel, ok := raw["ksize"].Value.Integers()
		if w := p.input(1); w != nil && len(w.Shape) == len(x)+2 {
			kernel, ok = w.Shape[2:], true
		}
		strides, hasStrides := raw["strides"].Value.Integers()
		if !ok || !hasStrides || len(strides) != len(x) || len(kernel) != len(x) {
			return
		}
		for k := range x {
			d := int64(1)
			if v, ok := raw["dilations"].Value.Integers(); ok && len(v) == len(x) {
				d = v[k]
			}
			need := max(0, (out[k]-1)*strides[k]+(kernel[k]-1)*d+1-x[k])
			if before[k] = need / 2; word == "SAME_LOWER" {
				before[k] = need - need/2
			}
		}
	default:
		return
	}
	raw["pads"] = Attribute{integers(before...), way.Source}
}

// tie reports whether an element lies where rounding may go either way.
func (c *call) tie(i int) bool { return c.ties != nil && c.ties[i] }
