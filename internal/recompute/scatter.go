package recompute

import (
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// fitUpdates returns updates in a shape: broadcast to it, or their leading elements along each axis, as scatter reads
// them.
func (c *call) fitUpdates(shape tensor.Shape, u *Array) *Array {
	for len(u.shape) > len(shape) && u.shape[0] == 1 {
		u = u.reshape(u.shape[1:]...)
	}
	if len(u.shape) == len(shape) && !slices.Contains(u.shape, 1) && !u.shape.Equal(shape) {
		from, strides := make([]int, shape.Elements()), u.shape.Strides()
		for k, n := range shape {
			if n > u.shape[k] {
				return c.fail("updates of shape %s for indices of shape %s", u.shape, shape)
			}
		}
		walkElements(shape, strides, func(i, offset int) { from[i] = offset })
		return u.gatherFrom(shape, 0, func(i int) int { return from[i] })
	}
	return u.expand(shape)
}

// scatter returns x after updates: element i of u is written, or added, at offset to[i]. If several updates are
// written to one element, every one is accepted.
func (c *call) scatter(x *Array, to []int, u *Array, add bool) *Array {
	if c.err != nil || len(u.v) < len(to) {
		return x
	}
	z := c.array(x.shape)
	a, b := x.errorBounds()
	copy(z.v, x.v)
	copy(z.narrow, a)
	copy(z.wide, b)
	ua, ub := u.errorBounds()
	count, size := map[int]int{}, map[int]float64{}
	for i, k := range to {
		switch {
		case add:
			z.v[k] += u.v[i]
			z.narrow[k], z.wide[k] = z.narrow[k]+ua[i], z.wide[k]+ub[i]
			count[k]++
			size[k] += math.Abs(u.v[i])
		case count[k] > 0 && len(c.got) > 0 && len(c.got[0].v) == len(z.v) && c.chooseCloser(c.got[0].v[k], z.v[k], u.v[i]) == z.v[k]:
		default:
			z.v[k], z.narrow[k], z.wide[k] = u.v[i], ua[i], ub[i]
			count[k]++
		}
	}
	for k, n := range size {
		s := n + math.Abs(x.v[k])
		z.narrow[k] += float64(c.narrow.u * float64(count[k]) * s)
		z.wide[k] += float64(c.wide.u * float64(count[k]) * s)
	}
	return z.clearNonFinite()
}

// chooseCloser returns x or y, whichever is closer to the NPU's element got.
func (c *call) chooseCloser(got, x, y float64) float64 {
	if math.Abs(got-x) <= math.Abs(got-y) {
		return x
	}
	return y
}

// toIndices converts an array of indices to integers from 0 to n-1; negative indices count from the end.
func (c *call) toIndices(index *Array, n int64) []int {
	all := make([]int, len(index.v))
	for i, v := range index.v {
		if v < 0 {
			v += float64(n)
		}
		if v != math.Trunc(v) || v < 0 || v >= float64(n) {
			c.fail("index %v of %d elements", index.v[i], n)
			return nil
		}
		all[i] = int(v)
	}
	return all
}

// offsetsAt returns offsets in x: an index replaces the coordinate along the attribute axis, the other coordinates
// are the coordinates of the index itself.
func (c *call) offsetsAt(x, index *Array) []int {
	k, ok := axisAttribute(c.attrs, len(x.shape))
	if c.err != nil || !ok || len(index.shape) != len(x.shape) {
		c.fail("indices of shape %s for axis %s of shape %s", index.shape, c.attrs["axis"].Value, x.shape)
		return nil
	}
	for i, n := range index.shape {
		if i != k && n > x.shape[i] {
			c.fail("indices of shape %s for axis %d of shape %s", index.shape, k, x.shape)
			return nil
		}
	}
	places := c.toIndices(index, x.shape[k])
	if c.err != nil {
		return nil
	}
	strides := x.shape.Strides()
	along := int(strides[k])
	strides[k] = 0
	all := make([]int, len(places))
	walkElements(index.shape, strides, func(i, offset int) { all[i] = offset + places[i]*along })
	return all
}

// writeRows adds or copies rows of updates to the rows along an axis that the indices select.
func (c *call) writeRows(add bool) *Array {
	x, index, u := c.input(0), c.input(1), c.input(2)
	k, ok := axisAttribute(c.attrs, len(x.shape))
	if c.err != nil || !ok {
		return c.fail("axis %s of shape %s", c.attrs["axis"].Value, x.shape)
	}
	places := c.toIndices(index, x.shape[k])
	shape := slices.Clone(x.shape)
	if shape[k] = int64(len(places)); c.isTooLarge(shape) {
		return x
	}
	u = u.expand(shape).times(c.numberAttribute("alpha"))
	if c.err != nil {
		return x
	}
	strides := x.shape.Strides()
	along, inner := int(strides[k]), int(shape[k+1:].Elements())
	strides[k] = 0
	to := make([]int, shape.Elements())
	walkElements(shape, strides, func(i, offset int) { to[i] = offset + places[i/inner%len(places)]*along })
	return c.scatter(x, to, u, add)
}

// isTooLarge reports, as an error of the call, whether a shape has more than maxElements. Indices can make large
// tensors from small ones.
func (c *call) isTooLarge(shape tensor.Shape) bool {
	n, ok := shape.Count()
	if ok && n <= maxElements {
		return false
	}
	c.fail("the shape %s has more than %d elements", shape, maxElements)
	return true
}

// scatterReduce combines the elements of x, unless include_self is false, with the updates at their places.
func scatterReduce(c *call) *Array {
	x, to := c.input(0), c.offsetsAt(c.input(0), c.input(1))
	u := c.fitUpdates(c.input(1).shape, c.input(2))
	if c.err != nil || len(u.v) < len(to) {
		return x
	}
	terms := make(map[int][]float64, len(to))
	for i, k := range to {
		if _, has := terms[k]; !has && c.isAttributeTrue("include_self") {
			terms[k] = []float64{x.v[k]}
		}
		terms[k] = append(terms[k], u.v[i])
	}
	z := c.array(x.shape)
	for k, v := range x.v {
		all, ok := terms[k]
		if !ok {
			z.set(k, v, 0, 0)
			continue
		}
		size := 0.0
		for _, t := range all[1:] {
			size += math.Abs(t)
		}
		switch v = all[0]; c.textAttribute("reduce") {
		case "amax":
			v = slices.MaxFunc(all, compareNumbers)
			size = 0
		case "amin":
			v, size = slices.Min(all), 0
		case "prod":
			for _, t := range all[1:] {
				v = float64(v * t)
			}
			size = math.Abs(v)
		default:
			size += math.Abs(v)
			for _, t := range all[1:] {
				v += t
			}
			if c.textAttribute("reduce") == "mean" {
				v, size = v/float64(len(all)), size/float64(len(all))
				if !isFloat(c.dtypes[0]) {
					v = math.Floor(v)
				}
			}
		}
		n := float64(len(all) + 1)
		z.set(k, v, float64(c.narrow.u*n*size), float64(c.wide.u*n*size))
	}
	return z
}

// readBagMode converts the number of a mode in torch.embedding_bag to its name.
func readBagMode(_ *problem, raw Attributes) Attributes {
	names := []string{"sum", "mean", "max"}
	if n, ok := integerAttribute(raw, "mode"); ok && n >= 0 && int(n) < len(names) {
		return raw.merge(Attributes{"mode": {Text(names[n]), raw["mode"].Source}})
	}
	return raw
}

// embeddingBag returns the sum, mean or largest elements of the rows of each bag: the rows of a matrix of indices, or
// the parts of a list of indices that begin at the offsets. Rows with the index padding_idx do not count.
func embeddingBag(c *call) *Array {
	index, x := c.input(0), c.input(1)
	if c.err != nil || len(x.shape) != 2 || len(index.shape) == 1 && !c.hasInput(2) {
		return c.fail("indices of shape %s for rows of shape %s", index.shape, x.shape)
	}
	places := c.toIndices(index, x.shape[0])
	var begins []int
	switch {
	case len(index.shape) == 2:
		for i := range int(index.shape[0]) {
			begins = append(begins, i*int(index.shape[1]))
		}
	default:
		begins = c.toIndices(c.input(2), int64(len(places))+1)
		if c.isAttributeTrue("include_last_offset") && len(begins) > 0 {
			begins = begins[:len(begins)-1]
		}
	}
	padding, hasPadding := integerAttribute(c.attrs, "padding_idx")
	if padding < 0 {
		padding += x.shape[0]
	}
	var bags []*Array
	for i, begin := range begins {
		end := len(places)
		if i+1 < len(begins) {
			end = begins[i+1]
		}
		if c.isStopped() || begin > end {
			return c.fail("a bag from %d to %d", begin, end)
		}
		var kept []int
		for k := begin; k < end; k++ {
			if !hasPadding || int64(places[k]) != padding {
				kept = append(kept, k)
			}
		}
		width := int(x.shape[1])
		if len(kept) == 0 {
			bags = append(bags, c.number(0).expand(tensor.Shape{1, x.shape[1]}))
			continue
		}
		rows := x.gatherFrom(tensor.Shape{int64(len(kept)), x.shape[1]}, 0, func(i int) int { return places[kept[i/width]]*width + i%width })
		if c.hasInput(3) {
			weights := c.input(3).reshape(-1, 1)
			rows = rows.mul(weights.gatherFrom(tensor.Shape{int64(len(kept)), 1}, 0, func(i int) int { return kept[i] }))
		}
		switch c.textAttribute("mode") {
		case "sum":
			bags = append(bags, rows.sum(0))
		case "max":
			bags = append(bags, rows.largest(0))
		default:
			bags = append(bags, rows.mean(0))
		}
	}
	if len(bags) == 0 {
		return c.exactArray(tensor.Shape{0, x.shape[1]}, nil)
	}
	return cat(0, bags...)
}

// maxUnpool writes the elements at their places in the planes of a larger image of zeros.
func maxUnpool(c *call) *Array {
	x, index, out := c.input(0), c.input(1), c.shapes[0]
	if c.err != nil || len(out) != len(x.shape) || len(x.shape) < 3 || !index.shape.Equal(x.shape) {
		return c.fail("places of shape %s for elements of %s in images of %s", index.shape, x.shape, out)
	}
	plane, own := out[2:].Elements(), int(x.shape[2:].Elements())
	to := c.toIndices(index, plane)
	for i := range to {
		to[i] += i / own * int(plane)
	}
	return c.scatter(c.number(0).expand(out), to, x, false)
}
