package recompute

import (
	"cmp"
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// gatingCut is the cutter along tokens, with all tokens flattened to rows. Outputs are the weights of the selected
// experts, their indices, and a third one with an element for each selected expert or for each expert.
func gatingCut(p *problem, _ Attributes) *cutRule {
	x, outs := p.Inputs[0].Shape, p.Outputs
	if len(x) < 2 || len(outs) < 2 || len(outs[0].Shape) != len(x) || !outs[1].Shape.Equal(outs[0].Shape) || isFloat(outs[1].DType) {
		return misfit("the output has the shape %s, the input %s", outs[0].Shape, x)
	}
	last := len(x) - 1
	tokens, k := x[:last].Elements(), outs[0].Shape[last]
	if k > x[last] || outs[0].elements() != tokens*k {
		return misfit("the output has the shape %s, the input %s", outs[0].Shape, x)
	}
	c := wholeTensors(p)
	c.in[0].shape = tensor.Shape{tokens, x[last]}
	for i, t := range outs {
		switch n := t.Shape[max(0, len(t.Shape)-1):].Elements(); {
		case t.elements() == tokens*n && (n == k || n == x[last]) && (i < 2 || len(x) == 2):
			c.out[i].shape = tensor.Shape{tokens, n}
			continue
		}
		c.out = c.out[:i]
		break
	}
	f := freeAxis{size: tokens, in: []span{{axis: 0}}, out: slices.Repeat([]span{{axis: 0}}, len(c.out))}
	for i, t := range p.Inputs[1:] {
		axis := -1
		if t != nil && t.elements() == tokens && t.DType == tensor.Bool {
			c.in[1+i].shape, axis = tensor.Shape{tokens}, 0
		}
		f.in = append(f.in, span{axis: axis})
	}
	c.free = []freeAxis{f}
	return c
}

// chooseColumns returns the elements of each row of x at the given columns.
func (x *Array) chooseColumns(columns *Array) *Array {
	n, all := int(columns.shape[1]), int(x.shape[1])
	return x.gatherFrom(columns.shape, 0, func(i int) int { return i/n*all + int(columns.v[i]) })
}

// gatingSoftmax returns the largest probabilities of each token, the indices of the experts, and the position of each
// pair if all first choices precede all second choices. A finished token has no expert.
func gatingSoftmax(c *call) []*Array {
	share := softmax(c.input(0), false, 1)
	if c.err != nil {
		return nil
	}
	got := c.got[1]
	if c.hasInput(1) && int64(len(c.input(1).v)) != got.shape[0] {
		return []*Array{c.fail("finished of shape %s, want one bool for each token", c.input(1).shape)}
	}
	picked := share.rankColumns(got, int(got.shape[1]))
	if c.err != nil {
		return nil
	}
	y, rows := share.chooseColumns(picked), c.exactArray(got.shape, c.alloc(len(got.v)))
	n := int(got.shape[1])
	for i := range rows.v {
		token := i / n
		rows.v[i] = float64(int64(i%n)*c.free[0].size + int64(token) + c.lo[0])
		if c.hasInput(1) && c.input(1).v[token] != 0 {
			picked.v[i] = float64(c.input(0).shape[1])
			y.set(i, c.got[0].v[i], 0, 0)
		}
	}
	return []*Array{y, picked, rows}
}

// gatingTopK returns the weights of the experts with the best scores, their indices, and the weights of all experts.
// Experts are selected from the groups with the best scores.
func gatingTopK(c *call) []*Array {
	x := c.input(0)
	if renorm, ok := c.attrs["renorm"].Value.Number(); c.err != nil || ok && renorm != 0 {
		return []*Array{c.fail("attribute renorm is %v, only 0 is supported", renorm)}
	}
	weight := softmax(x, false, 1)
	if c.isAttributeTrue("norm_type") {
		weight = sigmoid(x)
	}
	score := weight
	if c.hasInput(1) {
		bias := c.input(1)
		if int64(len(bias.v)) != x.shape[1] {
			return []*Array{c.fail("a bias of shape %s for %d experts", bias.shape, x.shape[1])}
		}
		score = score.add(bias.reshape(1, -1))
	}
	got := c.got[1]
	score = c.maskGroups(score, got)
	picked := score.rankColumns(got, int(got.shape[1]))
	if c.err != nil {
		return nil
	}
	y := weight.chooseColumns(picked)
	if c.isAttributeTrue("norm_type") {
		y = y.div(y.sum(1).plus(c.numberAttribute("epsilon")))
	}
	return []*Array{y.times(c.numberAttribute("routed_scaling_factor")), picked, weight}
}

// maskGroups sets the scores of experts outside the selected groups to -Inf. A group from which the NPU selected
// experts counts as selected if rounding allows it, other groups only if they are surely among the best.
func (c *call) maskGroups(score, got *Array) *Array {
	groups, maxGroups := int64(c.numberAttribute("group_count")), int(c.numberAttribute("k_group"))
	if groups == 1 || c.err != nil {
		return score
	}
	if groups < 1 || score.shape[1]%groups != 0 || maxGroups < 1 {
		return c.fail("%d groups of shape %s", groups, score.shape)
	}
	size, k := int(score.shape[1]/groups), int(got.shape[1])
	_, tol := score.errorBounds()
	masked := score.gatherFrom(score.shape, 0, func(i int) int { return i })
	for row := range int(score.shape[0]) {
		low, high := make([]float64, groups), make([]float64, groups)
		for g := range low {
			first := row*int(score.shape[1]) + g*size
			low[g], high[g] = groupScore(score.v[first:][:size], tol[first:][:size], c.isAttributeTrue("group_select_mode"))
		}
		for g := range low {
			surely, maybe := 0, 0 // counts of better groups
			for other := range low {
				surely += int(boolToFloat(low[other] > high[g]))
				maybe += int(boolToFloat(other != g && high[other] >= low[g]))
			}
			used := slices.ContainsFunc(got.v[row*k:][:k], func(e float64) bool { return e >= 0 && int(e)/size == g })
			if maybe < maxGroups || used && surely < maxGroups {
				continue
			}
			for i := range size {
				masked.v[row*int(score.shape[1])+g*size+i] = math.Inf(-1)
			}
		}
	}
	return masked
}

// groupScore returns the range in which the score of a group lies: its largest element, or the sum of the two largest
// ones.
func groupScore(v, tol []float64, two bool) (low, high float64) {
	n := 1
	if two {
		n = min(2, len(v))
	}
	lows, highs := make([]float64, len(v)), make([]float64, len(v))
	for i := range v {
		lows[i], highs[i] = v[i]-tol[i], v[i]+tol[i]
	}
	slices.Sort(lows)
	slices.Sort(highs)
	for i := range n {
		low, high = low+lows[len(v)-1-i], high+highs[len(v)-1-i]
	}
	return low, high
}

// columnsCut is the cutter along the last axis of the first output, which floating-point inputs share.
func columnsCut(p *problem, _ Attributes) *cutRule {
	c := wholeTensors(p)
	x, out := p.Inputs[0].Shape, p.Outputs[0].Shape
	if len(x) < 2 || len(out) != 2 || x[len(x)-1] != out[1] {
		return misfit("the output has the shape %s, the input %s", out, x)
	}
	f := freeAxis{size: out[1]}
	for k, t := range p.Inputs {
		axis := -1
		if t != nil && isFloat(t.DType) && len(t.Shape) >= 2 && (k == 0 || k != scalesOfExperts && t.Shape[len(t.Shape)-1] == out[1]) {
			axis = len(t.Shape) - 1
		}
		f.in = append(f.in, span{axis: axis})
	}
	f.out = append([]span{{axis: 1}}, slices.Repeat([]span{{axis: -1}}, len(c.out)-1)...)
	c.free = []freeAxis{f}
	return c
}

// scalesOfExperts is the input of finalizeRouting without columns of the output.
const scalesOfExperts = 4

// initRouting sorts the rows of tokens by their experts. It also returns the new position of each row, and the sorted
// experts. Rows of one expert may be in any order: the NPU's order is used.
func initRouting(c *call) []*Array {
	x, rows, experts := c.input(0), c.input(1), c.input(2)
	if c.err != nil || len(rows.v) != len(experts.v) || len(x.shape) != 2 || x.shape[0] == 0 {
		return []*Array{c.fail("indices of shape %s and shape %s do not broadcast", rows.shape, experts.shape)}
	}
	n := len(rows.v)
	order := firstIntegers(n)
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(experts.v[i], experts.v[k]) })
	from := make([]int, n) // the source row at each position
	expertOf := slices.Repeat([]float64{math.NaN()}, n)
	for place, i := range order {
		row := rows.v[i]
		if row != math.Trunc(row) || row < 0 || row >= float64(n) || expertOf[int(row)] == expertOf[int(row)] {
			return []*Array{c.fail("an index is outside of the input")}
		}
		from[place], expertOf[int(row)] = int(row), experts.v[i]
	}
	if len(c.got) > 1 && len(c.got[1].v) == n {
		if npuOrder, ok := orderOfRows(c.got[1].v, expertOf); ok {
			from = npuOrder
		}
	}
	places, sorted := c.exactArray(tensor.Shape{int64(n)}, c.alloc(n)), c.exactArray(tensor.Shape{int64(n)}, c.alloc(n))
	for place, row := range from {
		places.v[row], sorted.v[place] = float64(place), expertOf[row]
	}
	tokens, columns := int(x.shape[0]), int(x.shape[1])
	shape := c.shapes[0]
	if shape[0] > int64(n) {
		return []*Array{c.fail("%d rows of %d", shape[0], n)}
	}
	y := x.gatherFrom(shape, 0, func(i int) int { return from[i/columns]%tokens*columns + i%columns })
	return []*Array{y, places, sorted}[:len(c.got)]
}

// orderOfRows returns the source row at each position, if positions is a permutation that sorts the rows by expert.
func orderOfRows(places, expertOf []float64) (from []int, ok bool) {
	from = slices.Repeat([]int{-1}, len(places))
	for row, place := range places {
		if place != math.Trunc(place) || place < 0 || place >= float64(len(places)) || from[int(place)] >= 0 {
			return nil, false
		}
		from[int(place)] = row
	}
	return from, slices.IsSortedFunc(from, func(i, k int) int { return cmp.Compare(expertOf[i], expertOf[k]) })
}

// finalizeRouting sums the rows that the experts of a token returned, each plus the bias of its expert and times a
// scale, and adds other inputs. The rows of all first experts precede the rows of all second experts; with
// drop_pad_mode 2 and 3 the rows of a token are adjacent.
func finalizeRouting(c *call) *Array {
	x, index := c.input(0), c.input(5)
	tokens := int(c.shapes[0][0])
	if c.err != nil || tokens == 0 || len(index.v)%tokens != 0 || len(x.shape) < 2 {
		return c.fail("indices of shape %s and shape %s do not broadcast", index.shape, c.shapes[0])
	}
	chosen, columns := len(index.v)/tokens, int(x.shape[len(x.shape)-1])
	shape := tensor.Shape{int64(tokens), int64(chosen), int64(columns)}
	isByToken := c.numberAttribute("drop_pad_mode") >= 2
	if c.isTooLarge(shape) {
		return x
	}
	y := x.gatherFrom(shape, 0, func(i int) int {
		token, k := i/columns/chosen, i/columns%chosen
		at := k*tokens + token
		if isByToken {
			at = token*chosen + k
		}
		return c.rowAt(index.v[at], len(x.v)/columns)*columns + i%columns
	})
	if c.hasInput(3) {
		bias, experts := c.input(3), c.input(6)
		if c.err != nil || len(experts.v) != tokens*chosen || len(bias.v)%columns != 0 {
			return c.fail("indices of shape %s and shape %s do not broadcast", experts.shape, c.shapes[0])
		}
		y = y.add(bias.gatherFrom(shape, 0, func(i int) int { return c.rowAt(experts.v[i/columns], len(bias.v)/columns)*columns + i%columns }))
	}
	if c.hasInput(4) {
		y = y.mul(c.input(4).reshape(int64(tokens), int64(chosen), 1))
	}
	y = y.sum(1).reshape(int64(tokens), int64(columns))
	for k := 1; k <= 2; k++ {
		if c.hasInput(k) {
			y = y.add(c.input(k))
		}
	}
	return y
}

// rowAt converts an index of rows; -1 stands for a row of zeros.
func (c *call) rowAt(index float64, rows int) int {
	switch {
	case index == -1:
		return -1
	case index != math.Trunc(index) || index < 0 || index >= float64(rows):
		c.fail("an index is outside of the input")
		return -1
	}
	return int(index)
}
