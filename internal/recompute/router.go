package recompute

import (
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// routers are the formulas of networks of experts: which of them get a token, with which weights.
var routers = []formula{
	{name: "TopKRouter", class: Tabled, inputs: "x weight", cut: tokensCut, compute: topKRouter, attrs: []attribute{{names: []string{"mode"}, closed: true, words: true,
		choices: oneOf("mode", true, Text("chosen"), Text("all"), Text("sigmoid"), Text("sigmoid_share")).choices}}},
}

// tokensCut sees the first input as tokens, along which it is cut. Outputs are the weights of the
// chosen experts and their numbers.
func tokensCut(p *problem, _ Attributes) *cutting {
	x, w, outs := p.Inputs[0].Shape, p.Inputs[1].Shape, p.Outputs
	if len(x) < 2 || len(w) != 2 || x[len(x)-1] != w[1] {
		return misfit("tokens of shape %s, experts of shape %s", x, w)
	}
	tokens := x[:len(x)-1].Elements()
	if len(outs) != 2 || isFloat(outs[1].DType) || !outs[1].Shape.Equal(outs[0].Shape) || len(outs[0].Shape) < 2 ||
		outs[0].Shape[:len(outs[0].Shape)-1].Elements() != tokens || outs[0].Shape[len(outs[0].Shape)-1] > w[0] {
		return misfit("outputs are not the weights and the numbers of some of %d experts for %d tokens", w[0], tokens)
	}
	c := seen(p)
	c.in[0].shape = tensor.Shape{tokens, w[1]}
	for i := range c.out {
		c.out[i].shape = tensor.Shape{tokens, outs[0].Shape[len(outs[0].Shape)-1]}
	}
	c.free = []free{{size: tokens, in: []span{{axis: 0}, {axis: -1}}, out: []span{{axis: 0}, {axis: 0}}}}
	return c
}

// topKRouter gives each token the experts whose rows it has the largest products with. Where
// rounding decides between experts those count that the NPU has.
func topKRouter(c *call) []*Array {
	x, w := c.in(0), c.in(1)
	if c.err != nil {
		return nil
	}
	logits := x.productWithRows(w).stepped()
	most := int(c.shapes[0][1])
	picked := logits.ranking(c.got[1], most)
	chosen := func(of *Array) *Array {
		experts := int(of.shape[1])
		return of.move(c.shapes[0], 0, func(i int) int { return i/most*experts + int(picked.v[i]) })
	}
	switch c.word("mode") {
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

// productWithRows are the products of the rows of two matrices.
func (x *Array) productWithRows(w *Array) *Array {
	m, rows, inner := x.m, int(w.shape[0]), int(w.shape[1])
	z := m.array(tensor.Shape{x.shape[0], w.shape[0]})
	n := 1 + 2*math.Sqrt(float64(inner))
	for i := range z.v {
		a, b := x.v[i/rows*inner:][:inner], w.v[i%rows*inner:][:inner]
		sum, size := 0.0, 0.0
		for k, v := range a {
			p := float64(v * b[k])
			sum, size = sum+p, size+math.Abs(p)
		}
		m.note(sum)
		z.set(i, sum, float64(m.narrow.acc*n*size), float64((float64(m.wide.acc*n)+float64(2*m.wide.inp))*size))
	}
	return z
}

// ranking are the columns of the largest elements of each row, in their order: those that the
// NPU has where rounding may have put them so.
func (x *Array) ranking(got *Array, most int) *Array {
	columns := int(x.shape[1])
	_, tol := x.errs()
	out := x.m.exact(got.shape, x.m.alloc(len(got.v)))
	out.ints = make([]int64, len(got.v))
	for row := range int(x.shape[0]) {
		v, e := x.v[row*columns:][:columns], tol[row*columns:][:columns]
		order := got.v[row*most:][:most]
		if !mayRank(v, e, order) {
			all := upTo(columns)
			slices.SortStableFunc(all, func(i, k int) int { return x.order(row*columns+k, row*columns+i) })
			order = make([]float64, most)
			for i := range order {
				order[i] = float64(all[i])
			}
		}
		for i, k := range order {
			out.v[row*most+i], out.ints[row*most+i] = k, int64(k)
		}
	}
	return out
}

// mayRank reports whether an order of some elements is that of their size, and all others are
// smaller, as far as that is known.
func mayRank(v, tol, order []float64) bool {
	left := upTo(len(v))
	for _, at := range order {
		k := slices.Index(left, int(at))
		if at != math.Trunc(at) || k < 0 {
			return false
		}
		left = slices.Delete(left, k, k+1)
		for _, other := range left {
			if v[other]-tol[other] > v[int(at)]+tol[int(at)] {
				return false
			}
		}
	}
	return true
}
