package recompute

import (
	"context"
	bits "encoding/binary"
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// invertPermutation returns the inverse of a permutation of axes, nil if perm is no permutation.
func invertPermutation(perm []int) []int {
	back := slices.Repeat([]int{-1}, len(perm))
	for i, k := range perm {
		if k < 0 || k >= len(perm) {
			return nil
		}
		back[k] = i
	}
	return back
}

// listInversePermutations lists the permutations of the forward call.
func listInversePermutations(p *problem) []Attributes {
	all := listPermutations(p)
	for _, h := range all {
		perm, _ := h["perm"].Value.Integers()
		h["perm"] = Attribute{integers(invertPermutation(toInts(perm))...), h["perm"].Source}
	}
	return all
}

// maxEmbeddingCells limits the computed cells of the gradient of a large embedding.
const maxEmbeddingCells = 1 << 8

// embeddingRowCut is the cutter of the gradient of an embedding: the output as rows along an axis, with the axes
// before and after it flattened.
func embeddingRowCut(p *problem, h Attributes) *cutRule {
	c, out, n := wholeTensors(p), p.Outputs[0].Shape, p.Inputs[0].elements()
	k, ok := axisAttribute(h, len(out))
	if !ok || n == 0 {
		return misfit("axis %s of shape %s", h["axis"].Value, out)
	}
	before, behind := out[:k].Elements(), out[k+1:].Elements()
	if p.Inputs[1].elements() != before*n*behind {
		return misfit("gradients of shape %s for indices of %s and rows of %s", p.Inputs[1].Shape, p.Inputs[0].Shape, out)
	}
	c.in[0].shape, c.in[1].shape, c.out[0].shape = tensor.Shape{n}, tensor.Shape{before, n, behind}, tensor.Shape{before, out[k], behind}
	for axis, size := range c.out[0].shape {
		from := axis
		if axis == 1 {
			from = -1
		}
		c.free = append(c.free, freeAxis{size: size, in: []span{{axis: -1}, {axis: from}}, out: []span{{axis: axis}}})
	}
	c.maxCells = maxEmbeddingCells
	return c
}

// embeddingGrad adds up the gradients of each row that was selected by indices. The padding row has none.
func (c *call) embeddingGrad() *Array {
	indices, dy, shape := c.input(0), c.input(1), c.shapes[0]
	if c.err != nil {
		return dy
	}
	padding, pads := c.attrs["padding_idx"].Value.Number()
	times := map[float64]float64{}
	for _, v := range indices.v {
		times[v]++
	}
	s, n := c.newShareSums(), len(indices.v)
	behind := int(shape[2])
	for i, v := range indices.v {
		row := int(v) - int(c.lo[1])
		if v != math.Trunc(v) || v < 0 {
			return c.fail("index %v", v)
		}
		if row < 0 || row >= int(shape[1]) || pads && v == padding {
			continue
		}
		scale := 1.0
		if c.isAttributeTrue("scale_grad_by_freq") {
			scale = times[v]
		}
		for o := range int(shape[0]) {
			for k := range behind {
				s.add((o*int(shape[1])+row)*behind+k, dy.v[(o*n+i)*behind+k]/scale)
			}
		}
	}
	return s.array()
}

// moveGrad is the formula of gradients of copies. Its inputs are pairs: the index in the source of each copied
// element, offset by firstPlace, and the gradients of these elements. firstPlace distinguishes indices from fill
// values such as 0; 2^52 keeps all indices exact.
const moveGrad, firstPlace = "MoveGrad", 1 << 52

func (c *call) moveGrad() *Array {
	s := c.newShareSums()
	for k := 0; k+1 < len(c.inputs); k += 2 {
		from, dy := c.input(k), c.input(k+1)
		if c.err != nil || len(from.v) != len(dy.v) {
			return c.fail("gradients of shape %s for shape %s", dy.shape, from.shape)
		}
		for i, place := range from.v {
			if at := place - firstPlace; at >= 0 && at < float64(len(s.sum)) {
				s.add(int(at), dy.v[i])
			}
		}
	}
	for i, n := range s.count { // copies are exact
		if n <= 1 {
			s.size[i] = 0
		}
	}
	return s.array()
}

// positionSource is a source whose elements are their own indices, offset by its value.
type positionSource int64

// ReadElements implements layout.Source.
func (p positionSource) ReadElements(dst []byte, first int64) error {
	for i := range len(dst) / 8 {
		bits.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(float64(int64(p)+first+int64(i))))
	}
	return nil
}

// GradientOfMove returns the operator that computes gradient, the gradient of an input of a copy, from grads, the
// gradients of its outputs; nil stands for an output without gradient. If there is no operator the reason says why: the forward call
// is too large, or it is not a correct copy.
func GradientOfMove(ctx context.Context, forward *Operator, input *Tensor, grads []*Tensor, gradient *Tensor) (*Operator, Reason, error) {
	f := formulaOf(forward.Formula)
	if findUnjudgeable(f, forward) != nil {
		return nil, NoAttributes, nil
	}
	if max(input.elements(), forward.Outputs[0].elements()) > maxElements {
		return nil, OverBudget, nil
	}
	j := newJudge(ctx, forward, f)
	best, _, _, err := j.bestHypothesis(j.listHypotheses())
	if err != nil || best == nil || !best.explains() {
		return nil, NoAttributes, err
	}
	inputs := slices.Clone(forward.Inputs)
	for i, t := range inputs {
		switch {
		case t == nil || t != input && !isFloat(t.DType):
		case t == input:
			inputs[i] = &Tensor{DType: tensor.Float64, Stored: tensor.Float64, Shape: t.Shape, Source: positionSource(firstPlace)}
		default:
			inputs[i] = &Tensor{DType: tensor.Float64, Stored: tensor.Float64, Shape: t.Shape, Source: constantSource(0)}
		}
	}
	places, err := computeOutputs(ctx, forward.WithInputs(inputs), f, best.attrs)
	if err != nil || places == nil {
		return nil, NoAttributes, err
	}
	op := &Operator{Formula: moveGrad, Outputs: []*Tensor{gradient}, Attributes: Attributes{}, Called: true, Fused: new(bool)}
	for k, out := range forward.Outputs {
		if k < len(grads) && grads[k] != nil && places.Values[k] != nil {
			from := &Tensor{DType: tensor.Float64, Stored: tensor.Float64, Shape: out.Shape, Source: float64Source(places.Values[k])}
			op.Inputs = append(op.Inputs, from, grads[k])
		}
	}
	return op, NoReason, nil
}

// float64Source is a source of float64 numbers in memory.
type float64Source []float64

// ReadElements implements layout.Source.
func (d float64Source) ReadElements(dst []byte, first int64) error {
	for i := range len(dst) / 8 {
		bits.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(d[first+int64(i)]))
	}
	return nil
}
