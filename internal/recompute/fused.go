package recompute

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// geGlu returns one half of x times the gelu of the other half, and the gelu.
func geGlu(c *call) []*Array {
	a, b := c.halves()
	if c.isAttributeTrue("activate_left") {
		a, b = b, a
	}
	form := "none"
	if c.isAttributeTrue("tanh") {
		form = "tanh"
	}
	g := gelu(b, form)
	return []*Array{a.mul(g), g}
}

// readGeGlu reads the form of the gelu from a number.
func readGeGlu(_ *problem, raw Attributes) Attributes {
	if a, ok := raw["approximate"]; ok {
		return raw.merge(Attributes{"tanh": a})
	}
	return raw
}

// groupImageCut is the cutter along images. The moments of groups have one row for each image.
func groupImageCut(p *problem, h Attributes) *cutRule {
	c := imageCut(p, h)
	if !c.why.IsZero() {
		return c
	}
	c.free = nil
	x := p.Inputs[0].Shape
	n, _ := integerAttribute(h, "num_groups")
	for i, t := range p.Outputs[1:] {
		if len(x) < 2 || t.elements() != x[0]*n {
			c.out = c.out[:i+1]
			break
		}
		c.out[i+1].shape = slices.Concat(tensor.Shape{x[0], n}, slices.Repeat(tensor.Shape{1}, len(x)-2))
	}
	return c.cutAlong(firstIntegers(min(1, len(x))), alignSameRank)
}

// maskedSoftmax is a softmax over the elements whose mask is 0. Rows without such elements are not defined and copied
// from the NPU.
func maskedSoftmax(c *call) *Array {
	x := c.input(0).times(c.numberAttribute("scale"))
	last := len(x.shape) - 1
	if c.err != nil || !c.hasInput(1) {
		return softmax(x, false, last)
	}
	unmasked := c.input(1).mapSteps(func(v float64) float64 { return boolToFloat(v == 0) }).expand(x.shape)
	y := softmax(unmasked.selectWhere(x, c.number(math.Inf(-1))), false, last)
	if c.err == nil {
		y.copyEmptyRows(c.got[0], unmasked)
	}
	return y
}

// reshapedView returns a view of the first input with its axes permuted, before (transpose_first) or after a reshape.
func reshapedView(p *problem, h Attributes) (view, lang.Sentence) {
	perm, _ := h["perm"].Value.Integers()
	first, _ := h["transpose_first"].Value.Number()
	if first != 0 {
		return permutedView(p.Inputs[0].Shape, toInts(perm))
	}
	shape, ok := h["shape"].Value.Integers()
	if n, fits := tensor.Shape(shape).Count(); !ok || !fits || n != p.Inputs[0].elements() {
		return view{}, lang.Say("%d elements in the shape %s", p.Inputs[0].elements(), tensor.Shape(shape))
	}
	return permutedView(shape, toInts(perm))
}

// parameterCut is the elementwise cutter for parameters that lie along one axis.
func parameterCut(p *problem, h Attributes) *cutRule {
	x := p.Inputs[0].Shape
	k, ok := axisAttribute(h, len(x))
	if !ok || !x.Equal(p.Outputs[0].Shape) {
		return misfit("scales of shape %s for %s", p.Inputs[1].Shape, x)
	}
	c := wholeTensors(p)
	for i, t := range p.Inputs[1:] {
		switch {
		case t == nil:
			continue
		case t.elements() == 1:
			c.in[1+i].shape = nil
		case len(t.Shape) == 1 && t.Shape[0] != x[k]:
			return misfit("scales of shape %s for %s", t.Shape, x)
		case len(t.Shape) == 1:
			c.in[1+i].shape = slices.Repeat(tensor.Shape{1}, len(x))
			c.in[1+i].shape[k] = x[k]
		}
		if s, ok := broadcast(x, c.in[1+i].shape); !ok || !s.Equal(x) {
			return misfit("scales of shape %s for %s", t.Shape, x)
		}
	}
	return c.cutAlong(firstIntegers(len(x)), alignRight)
}

// readQuant reads the spellings of rounding modes, and the axis of kernels that multiply: -2 stays, all other values
// mean the last axis.
func readQuant(_ *problem, raw Attributes) Attributes {
	raw = raw.merge(nil)
	if mode, ok := raw["round_mode"]; ok {
		for _, name := range []string{"round", "floor", "ceil", "trunc"} {
			if strings.HasPrefix(strings.ToLower(mode.Value.Text), name) {
				mode.Value = Text(name)
			}
		}
		raw["round_mode"] = mode
	}
	if divides, known := raw["div_mode"].Value.Number(); known && divides == 0 {
		if axis, ok := raw["axis"]; ok && axis.Value.String() != "-2" {
			raw["axis"] = Attribute{Number(-1), axis.Source}
		}
	}
	return raw
}

// roundToIntegers rounds to the integer type of the first output. Elements close to a half are ties; for NaN any
// integer is accepted.
func (c *call) roundToIntegers(x *Array) *Array {
	mode := c.textAttribute("round_mode")
	round := roundings[map[string]string{"": "rint", "round": "rint"}[mode]]
	if round == nil {
		round = roundings[mode]
	}
	if c.err != nil || round == nil {
		return c.fail("rounding %q", mode)
	}
	step := 0x1p-18
	switch c.types[0] {
	case tensor.Float16:
		step = 0x1p-10
	case tensor.BFloat16:
		step = 0x1p-7
	}
	c.ties = make([]bool, len(x.v))
	low, high := integerRange(c.dtypes[0])
	z := c.exactArray(x.shape, c.alloc(len(x.v)))
	for i, q := range x.v {
		off := float64(math.Abs(q)*step) + 1e-6
		c.ties[i] = round(q-off) != round(q+off)
		if z.v[i] = min(max(round(q), low), high); q != q && len(c.got[0].v) == len(z.v) {
			z.v[i] = c.got[0].v[i]
		}
	}
	return z
}

// quantiseWithScales multiplies by scales or divides by them (div_mode), adds offsets and rounds.
func quantiseWithScales(c *call) *Array {
	x, scale := c.input(0), c.input(1)
	if c.isAttributeTrue("div_mode") {
		x = x.div(scale)
	} else {
		x = c.mulScale(x, scale)
	}
	if c.hasInput(2) {
		x = x.add(c.input(2))
	}
	return c.roundToIntegers(x)
}

// mulScale multiplies by a scale, or by its square if sqrt_mode says that the scale is a square root.
func (c *call) mulScale(x, scale *Array) *Array {
	if x = x.mul(scale); c.isAttributeTrue("sqrt_mode") {
		x = x.mul(scale)
	}
	return x
}

// dynamicQuant scales each line so that its largest absolute value becomes the largest integer. It also returns the
// scales.
func dynamicQuant(c *call) []*Array {
	x := c.input(0)
	if c.hasInput(1) {
		x = x.mul(c.input(1))
	}
	if c.err != nil || len(x.shape) == 0 {
		return []*Array{c.fail("lines of shape %s", x.shape)}
	}
	_, high := integerRange(c.dtypes[0])
	scale := x.abs().largest(len(x.shape) - 1).times(1 / high)
	y := c.roundToIntegers(x.div(scale))
	widened := c.array(scale.shape) // float32, computed from float16 or bfloat16
	for i, v := range scale.v {
		widened.set(i, v, 0x1p-20*math.Abs(v), 0x1p-10*math.Abs(v))
	}
	return []*Array{y, widened}
}

// weightScales convert integer weights to numbers, scale*(weight + offset), with one scale for all weights, for each
// column, or for each group of rows of a column.
type weightScales struct {
	scale, offset []float64
	group, groups int64
}

// weightScalesOf reads the scales of a matrix of weights with k rows and n columns.
func weightScalesOf(p *problem, h Attributes, k, n int64) (*weightScales, lang.Sentence) {
	var err error
	w := &weightScales{group: k}
	if w.scale, err = readScales(p.Inputs[2]); err != nil {
		return nil, lang.Error(err)
	}
	if t := p.input(3); t != nil && t.elements() > 0 {
		if w.offset, err = readScales(t); err != nil {
			return nil, lang.Error(err)
		}
	}
	if size, ok := integerAttribute(h, "antiquant_group_size"); ok && size > 0 {
		w.group = size
	}
	w.groups = (k + w.group - 1) / max(1, w.group)
	if all := int64(len(w.scale)); all != 1 && all != w.groups*n || w.offset != nil && len(w.offset) != len(w.scale) {
		return nil, lang.Say("scales of shape %s", p.Inputs[2].Shape)
	}
	return w, lang.Sentence{}
}

// weightValue converts a weight. Scales are stored in the order of the weights, by columns or by rows.
func (w *weightScales) weightValue(weight float64, row, column, n int64, byColumn bool) float64 {
	at := row/w.group*n + column
	switch {
	case len(w.scale) == 1:
		at = 0
	case byColumn:
		at = column*w.groups + row/w.group
	}
	if w.offset != nil {
		weight += w.offset[at]
	}
	return float64(weight * w.scale[at])
}

// weightQuantMatMul is a product with integer weights that have scales.
func weightQuantMatMul(p *problem, h Attributes) (*linear, lang.Sentence) {
	p.cached(p.Inputs[0]) // both operators share one cache
	q := *p.Operator
	q.Inputs = []*Tensor{p.Inputs[0], p.Inputs[1], p.input(4)}
	l, why := matMul(&problem{Operator: &q}, h)
	if !why.IsZero() {
		return nil, why
	}
	scales, why := weightScalesOf(p, h, l.k, l.n)
	if !why.IsZero() {
		return nil, why
	}
	right := l.right
	l.right = func(part, from, to int64) ([]float64, error) {
		v, err := right(part, from, to)
		if err != nil {
			return nil, err
		}
		v = slices.Clone(v)
		for i, weight := range v {
			row, column := from+int64(i)/l.n, int64(i)%l.n
			if l.byColumn {
				row, column = int64(i)%l.k, from+int64(i)/l.k
			}
			v[i] = scales.weightValue(weight, row, column, l.n, l.byColumn)
		}
		return v, nil
	}
	l.factors = math.Ldexp(1, -formatOf(p.Inputs[0].DType).Mantissa-1)
	return l, lang.Sentence{}
}

// groupedMatMul multiplies groups of rows, each by its own matrix. Rows after the last group are not computed.
func groupedMatMul(p *problem, h Attributes) (*linear, lang.Sentence) {
	x, w, out := p.Inputs[0], p.Inputs[1], p.Outputs[0]
	if len(x.Shape) != 2 || len(w.Shape) != 2 && len(w.Shape) != 3 || len(p.Outputs) != 1 {
		return nil, lang.Say("matrices of %s and %s", x.Shape, w.Shape)
	}
	if act := h["act_type"].Value; act.String() != "0" {
		return nil, lang.Say("activation %q", act)
	}
	turned, _ := h["transpose_x2"].Value.Number()
	weights := matrixOf(p.Operator, w, turned != 0)
	ends, why := groupEnds(p, h, weights.before.Elements())
	if !why.IsZero() {
		return nil, why
	}
	if weights.rows != x.Shape[1] || !out.Shape.Equal(tensor.Shape{x.Shape[0], weights.cols}) {
		return nil, lang.Say("matrices of %s and %s", x.Shape, w.Shape)
	}
	rows := p.cached(x)
	groupOf := func(row int64) int64 { return int64(slices.IndexFunc(ends, func(end int64) bool { return row < end })) }
	// Every row is a part. alpha 1 prevents projections, which would project every part.
	l := &linear{parts: ends[len(ends)-1], rows: 1, k: weights.rows, n: weights.cols, byColumn: weights.transposed, alpha: 1, beta: 1}
	l.left = func(part, _ int64, dst []float64) error {
		v, err := rows.readRun(part*l.k, l.k)
		copy(dst, v)
		return err
	}
	l.right = func(part, from, to int64) ([]float64, error) {
		each := l.n
		if l.byColumn {
			each = l.k
		}
		return weights.t.readRun(groupOf(part)*l.k*l.n+from*each, (to-from)*each)
	}
	l.offset = func(part, _, column int64) int64 { return part*l.n + column }
	if bias := p.input(2); bias != nil && bias.elements() > 0 {
		if bias.elements() != int64(len(ends))*l.n {
			return nil, lang.Say("a bias of shape %s", bias.Shape)
		}
		all := p.cached(bias)
		l.columns = func(part int64) ([]float64, error) { return all.readRun(groupOf(part)*l.n, l.n) }
	}
	return l, lang.Sentence{}
}

// groupEnds returns the row at which each group ends, from a list of ends or of lengths.
func groupEnds(p *problem, h Attributes, groups int64) ([]int64, lang.Sentence) {
	rows := p.Inputs[0].Shape[0]
	list := h["groups_of_rows"].Value
	if t := p.input(3); t != nil && t.elements() > 0 {
		v, err := valueOf(t)
		if err != nil || v == nil {
			return nil, lang.Error(cmp.Or(err, errTooLarge))
		}
		list = *v
	}
	ends, ok := list.Integers()
	if len(ends) == 0 && groups == 1 {
		return []int64{rows}, lang.Sentence{}
	}
	lengths, _ := h["group_list_type"].Value.Number()
	at := int64(0)
	for i, n := range ends {
		if lengths == 1 && n >= 0 && n <= rows {
			n += at
		}
		ok = ok && n >= at && n <= rows
		at, ends[i] = n, n
	}
	if !ok || int64(len(ends)) != groups || at == 0 || lengths > 1 {
		return nil, lang.Say("groups %s of %d rows for %d matrices", list, rows, groups)
	}
	return ends, lang.Sentence{}
}
