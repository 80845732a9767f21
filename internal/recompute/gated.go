package recompute

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"dumptool/internal/tensor"
)

// product returns the product of the elements of lines along axes.
func (x *Array) product(axes ...int) *Array {
	m := x.m
	return x.reduce(axes, func(z *Array, line int, r row) {
		v, ea, eb := 1.0, 0.0, 0.0
		for i, s := range r.v {
			size, before := math.Abs(s), math.Abs(v)
			v *= s
			ea = float64(ea*(size+r.a[i])) + float64(before*r.a[i]) + float64(m.narrow.u*math.Abs(v)) + m.narrow.eta
			eb = float64(eb*(size+r.b[i])) + float64(before*r.b[i]) + float64(m.wide.u*math.Abs(v)) + m.wide.eta
			m.trackMagnitude(v)
		}
		z.set(line, v, ea, eb)
	})
}

// diagonal is the offset of the diagonal that bounds a triangle: 0 first, then by distance from 0.
var diagonal = closedAttribute("diagonal", func(p *problem) (all []Attributes) {
	if p.rank() < 2 {
		return nil
	}
	x := p.Inputs[0].Shape
	for k := range min(maxHypotheses/2, max(x[len(x)-1], x[len(x)-2])) {
		all = append(all, Attributes{"diagonal": {Number(float64(k)), FromValues}})
		if k > 0 {
			all = append(all, Attributes{"diagonal": {Number(-float64(k)), FromValues}})
		}
	}
	return all
})

// triangle keeps the elements of matrices for which belongs is true, and sets the others to 0.
func triangle(belongs func(row, column, diagonal int) bool) func(c *call) *Array {
	return func(c *call) *Array {
		x, diagonal := c.input(0), int(c.numberAttribute("diagonal"))
		if c.err != nil || len(x.shape) < 2 {
			return c.fail("a triangle of shape %s", x.shape)
		}
		rows, columns := int(x.shape[len(x.shape)-2]), int(x.shape[len(x.shape)-1])
		return x.gatherFrom(x.shape, 0, func(i int) int {
			if !belongs(i/columns%rows, i%columns, diagonal) {
				return -1
			}
			return i
		})
	}
}

// matricesCut is the cutter along all axes except the last two.
func matricesCut(p *problem, _ Attributes) *cutRule {
	x := p.Inputs[0].Shape
	if len(x) < 2 || !x.Equal(p.Outputs[0].Shape) {
		return misfit("the output has the shape %s, the input %s", p.Outputs[0].Shape, x)
	}
	return wholeTensors(p).cutAlong(firstIntegers(len(x)-2), alignSameRank)
}

// halvedAxis is the axis with twice the length in the input.
var halvedAxis = axisChoice(func(p *problem, k int) bool {
	x, out := p.Inputs[0].Shape, p.Outputs[0].Shape
	return len(x) == len(out) && x[k] == 2*out[k]
})

// halvesCut is the cutter along all axes except the axis of the halves.
func halvesCut(p *problem, h Attributes) *cutRule {
	x, out := p.Inputs[0].Shape, p.Outputs[0].Shape
	k, ok := axisAttribute(h, len(x))
	half := slices.Clone(x)
	if !ok || x[k]%2 != 0 {
		return misfit("halves of axis %s of shape %s", h["axis"].Value, x)
	}
	if half[k] /= 2; !half.Equal(out) {
		return misfit("the output has the shape %s, want %s", out, half)
	}
	return wholeTensors(p).cutAlong(slices.Delete(firstIntegers(len(x)), k, k+1), alignSameRank)
}

// halves returns the two halves of the input along an axis.
func (c *call) halves() (a, b *Array) {
	x := c.input(0)
	k, ok := axisAttribute(c.attrs, len(x.shape))
	if c.err != nil || !ok {
		x = c.fail("axis %s", c.attrs["axis"].Value)
		return x, x
	}
	shape, strides := slices.Clone(x.shape), x.shape.Strides()
	shape[k] /= 2
	offsets := make([]int, shape.Elements())
	walkElements(shape, strides, func(i, offset int) { offsets[i] = offset })
	part := func(begin int) *Array {
		return x.gatherFrom(shape, 0, func(i int) int { return offsets[i] + begin })
	}
	return part(0), part(int(shape[k] * strides[k]))
}

// evenLineCut is the cutter wholeLineCut for a last axis of even length.
func evenLineCut(p *problem, h Attributes) *cutRule {
	if rank := p.rank(); rank > 0 && p.Inputs[0].Shape[rank-1]%2 != 0 {
		return misfit("halves of shape %s", p.Inputs[0].Shape)
	}
	return wholeLineCut(p, h)
}

// wholeLineCut is the elementwise cutter without the last axis.
func wholeLineCut(p *problem, h Attributes) *cutRule {
	c := elementwiseCut(p, h)
	c.pointwise = false
	if x := p.Inputs[0].Shape; c.why.IsZero() && (len(x) == 0 || !x.Equal(p.Outputs[0].Shape)) {
		return misfit("the output has the shape %s, the input %s", p.Outputs[0].Shape, x)
	}
	if !c.why.IsZero() {
		return c
	}
	c.free = nil
	return c.cutAlong(firstIntegers(len(c.out[0].shape)-1), alignRight)
}

// rotation says which elements of a line form the pairs that are rotated.
var rotation = textAttribute("mode", strings.Join(rotations, " "))

// rotations are the modes in the order of their numbers. Pairs are elements at the same position of the two halves of
// a line, neighbours, elements of the two halves of each half, and neighbours whose results are split into the two
// halves.
var rotations = []string{"half", "interleave", "quarter", "interleave-half"}

// readRotation reads CANN's name of the attribute, and converts the number of a mode.
func readRotation(_ *problem, raw Attributes) Attributes {
	mode, ok := raw["rotary_mode"]
	if !ok {
		mode, ok = raw["mode"]
	}
	if n, isNumber := mode.Value.Number(); isNumber && n == math.Trunc(n) && n >= 0 && n < float64(len(rotations)) {
		mode.Value = Text(rotations[int(n)])
	}
	if !ok {
		return raw
	}
	return raw.merge(Attributes{"mode": mode})
}

// rotate rotates pairs of elements, in one of the modes of rotations.
func (c *call) rotate(x, cos, sin *Array) *Array {
	mode := slices.Index(rotations, c.textAttribute("mode"))
	if c.err != nil || mode < 0 || len(x.shape) == 0 || x.shape[len(x.shape)-1]%2 != 0 || mode == 2 && x.shape[len(x.shape)-1]%4 != 0 {
		return c.fail("rotation %q of shape %s", c.textAttribute("mode"), x.shape)
	}
	n := int(x.shape[len(x.shape)-1])
	if mode == 3 {
		x = x.gatherFrom(x.shape, 0, func(i int) int {
			at := i % n
			return i - at + 2*at%n + 2*at/n
		})
	}
	apart := []int{n / 2, 1, n / 4, n / 2}[mode] // distance of the elements of a pair
	isFirst := func(i int) bool { return i%n/apart%2 == 0 }
	turned := x.gatherFrom(x.shape, 0, func(i int) int {
		if isFirst(i) {
			return i + apart
		}
		return i - apart
	})
	for i := range turned.v {
		if isFirst(i) {
			turned.v[i] = -turned.v[i]
		}
	}
	return x.mul(cos).add(turned.mul(sin))
}

// tokensCut is the cutter along tokens, with all tokens flattened to rows. Outputs are the weights of the selected
// experts and their indices.
func tokensCut(p *problem, _ Attributes) *cutRule {
	x, w, outs := p.Inputs[0].Shape, p.Inputs[1].Shape, p.Outputs
	if len(x) < 2 || len(w) != 2 || x[len(x)-1] != w[1] {
		return misfit("tokens of shape %s, experts of shape %s", x, w)
	}
	tokens := x[:len(x)-1].Elements()
	if len(outs) != 2 || isFloat(outs[1].DType) || !outs[1].Shape.Equal(outs[0].Shape) || len(outs[0].Shape) < 2 ||
		outs[0].Shape[:len(outs[0].Shape)-1].Elements() != tokens || outs[0].Shape[len(outs[0].Shape)-1] > w[0] {
		return misfit("outputs do not have the shapes of weights and indices of selected experts (%d experts, %d tokens)", w[0], tokens)
	}
	c := wholeTensors(p)
	c.in[0].shape = tensor.Shape{tokens, w[1]}
	for i := range c.out {
		c.out[i].shape = tensor.Shape{tokens, outs[0].Shape[len(outs[0].Shape)-1]}
	}
	c.free = []freeAxis{{size: tokens, in: []span{{axis: 0}, {axis: -1}}, out: []span{{axis: 0}, {axis: 0}}}}
	return c
}

// topKRouter selects for each token the experts whose rows have the largest products with it. If rounding decides
// between experts, the NPU's choice is accepted.
func topKRouter(c *call) []*Array {
	x, w := c.input(0), c.input(1)
	if c.err != nil {
		return nil
	}
	logits := x.productWithRows(w).roundBetweenSteps()
	most := int(c.shapes[0][1])
	picked := logits.rankColumns(c.got[1], most)
	if c.err != nil {
		return nil
	}
	chosen := func(of *Array) *Array {
		experts := int(of.shape[1])
		return of.gatherFrom(c.shapes[0], 0, func(i int) int { return i/most*experts + int(picked.v[i]) })
	}
	switch c.textAttribute("mode") {
	case "all":
		return []*Array{chosen(softmax(logits, false, 1)), picked}
	case "sigmoid":
		return []*Array{chosen(sigmoid(logits)), picked}
	case "sigmoid_share":
		s := chosen(sigmoid(logits))
		return []*Array{s.div(s.sum(1)), picked}
	}
	return []*Array{softmax(chosen(logits), false, 1), picked}
}

// productWithRows returns the products of the rows of two matrices.
func (x *Array) productWithRows(w *Array) *Array {
	m, rows, inner := x.m, int(w.shape[0]), int(w.shape[1])
	z := m.array(tensor.Shape{x.shape[0], w.shape[0]})
	n := 1 + 2*math.Sqrt(float64(inner))
	for i := range z.v {
		if i%rows == 0 && m.isStopped() {
			break
		}
		a, b := x.v[i/rows*inner:][:inner], w.v[i%rows*inner:][:inner]
		sum, size := 0.0, 0.0
		for k, v := range a {
			p := float64(v * b[k])
			sum, size = sum+p, size+math.Abs(p)
		}
		m.trackMagnitude(sum)
		z.set(i, sum, float64(m.narrow.acc*n*size), float64((float64(m.wide.acc*n)+float64(2*m.wide.inp))*size))
	}
	return z
}

// rankColumns returns the columns of the largest elements of each row in descending order. The NPU's order is accepted if
// rounding may produce it.
func (x *Array) rankColumns(got *Array, most int) *Array {
	if x.m.err != nil {
		return x
	}
	columns := int(x.shape[1])
	_, tol := x.errorBounds()
	out := x.m.exactArray(got.shape, x.m.alloc(len(got.v)))
	for row := range int(x.shape[0]) {
		if x.m.isStopped() {
			break
		}
		v, e := x.v[row*columns:][:columns], tol[row*columns:][:columns]
		order := got.v[row*most:][:most]
		if !isPossibleRanking(v, e, order) {
			all := firstIntegers(columns)
			slices.SortStableFunc(all, func(i, k int) int { return cmp.Compare(v[k], v[i]) })
			order = make([]float64, most)
			for i := range order {
				order[i] = float64(all[i])
			}
		}
		for i, k := range order {
			out.v[row*most+i] = k
		}
	}
	return out
}

// isPossibleRanking reports whether an order may be the descending order of the largest elements, within their errors.
func isPossibleRanking(v, tol, order []float64) bool {
	unranked := firstIntegers(len(v))
	for _, at := range order {
		k := slices.Index(unranked, int(at))
		if at != math.Trunc(at) || k < 0 {
			return false
		}
		unranked = slices.Delete(unranked, k, k+1)
		for _, other := range unranked {
			if v[other]-tol[other] > v[int(at)]+tol[int(at)] {
				return false
			}
		}
	}
	return true
}
