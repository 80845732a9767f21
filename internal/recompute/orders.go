package recompute

import (
	"cmp"
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// extremeAndIndex returns the preferred element (the largest or the smallest) of each line and its index.
func extremeAndIndex(by preference) func(c *call) []*Array {
	return func(c *call) []*Array {
		return c.withIndices(c.input(0).reducePreferred(by, c.integerAttributes("axes")...), 1)
	}
}

// argExtreme returns the index of the preferred element of each line, and the element.
func argExtreme(by preference) func(c *call) []*Array {
	return func(c *call) []*Array {
		all := c.withIndices(c.input(0).reducePreferred(by, c.integerAttributes("axes")...), 0)
		slices.Reverse(all)
		return all
	}
}

// orderStatistic returns an element of each line and its index. f selects it from the sorted line.
func orderStatistic(f func(c *call, line []float64) float64) func(c *call) []*Array {
	return func(c *call) []*Array {
		return c.withIndices(c.input(0).reduce(c.integerAttributes("axes"), func(z *Array, line int, r row) {
			if all := slices.SortedFunc(slices.Values(r.v), compareNumbers); len(all) > 0 {
				z.set(line, f(c, all), 0, 0)
			}
		}), 1)
	}
}

// compareNumbers orders numbers as PyTorch sorts them: NaN is the largest.
func compareNumbers(x, y float64) int {
	if x != x || y != y {
		return -cmp.Compare(x, y)
	}
	return cmp.Compare(x, y)
}

// medianOfLine returns the lower of two middle elements, NaN if the line has a NaN.
func medianOfLine(_ *call, line []float64) float64 {
	if last := line[len(line)-1]; last != last {
		return last
	}
	return line[(len(line)-1)/2]
}

func kthOfLine(c *call, line []float64) float64 {
	k := c.numberAttribute("k")
	if k != math.Trunc(k) || k < 1 || k > float64(len(line)) {
		c.fail("k is %v, but lines have %d elements", k, len(line))
		return 0
	}
	return line[int(k)-1]
}

// modeOfLine returns the most frequent number, the smallest of several.
func modeOfLine(_ *call, line []float64) (most float64) {
	best, n := 0, 0
	for i, v := range line {
		if n++; i > 0 && compareNumbers(v, line[i-1]) != 0 {
			n = 1
		}
		if n > best {
			best, most = n, v
		}
	}
	return most
}

// withIndices returns the best elements of lines, and as output k, if the NPU has it, their indices. It is the NPU's
// index if an equal element is there, else the first index.
func (c *call) withIndices(best *Array, k int) []*Array {
	if c.err != nil || k >= len(c.got) || len(c.got[k].v) != len(best.v) {
		return []*Array{best}
	}
	x, got, z := c.input(0), c.got[k], best.mapSteps(func(float64) float64 { return 0 })
	x.eachLine(c.integerAttributes("axes"), func(line, first int, offsets []int) {
		isBest := func(i int) bool { return compareNumbers(x.v[first+offsets[i]], best.v[line]) == 0 }
		at := slices.IndexFunc(firstIntegers(len(offsets)), isBest)
		if y := got.v[line]; y >= 0 && y < float64(len(offsets)) && y == math.Trunc(y) && isBest(int(y)) {
			at = int(y)
		}
		z.v[line] = float64(at)
	})
	return []*Array{best, z}
}

// cumulate returns the preferred element of each line up to each position, and its index: the NPU's index if an equal
// element is there, else the last one.
func cumulate(by preference) func(c *call) []*Array {
	return func(c *call) []*Array {
		x := c.input(0)
		best, places := c.exactArray(x.shape, c.alloc(len(x.v))), c.exactArray(x.shape, c.alloc(len(x.v)))
		x.eachLine(c.integerAttributes("axes"), func(_, first int, offsets []int) {
			at := 0
			for i, k := range offsets {
				if v := x.v[first+k]; i == 0 || by.choose(v, x.v[first+offsets[at]]) == v || v != v {
					at = i
				}
				best.v[first+k], places.v[first+k] = x.v[first+offsets[at]], float64(at)
				if len(c.got) < 2 || len(c.got[1].v) != len(x.v) {
					continue
				}
				if y := c.got[1].v[first+k]; y >= 0 && y <= float64(i) && y == math.Trunc(y) && compareNumbers(x.v[first+offsets[int(y)]], best.v[first+k]) == 0 {
					places.v[first+k] = y
				}
			}
		})
		return []*Array{best, places}
	}
}

func cumsum(c *call) *Array {
	x, axes := c.input(0), c.integerAttributes("axes")
	z := c.array(x.shape)
	if c.err != nil {
		return z
	}
	x.eachLine(axes, func(_, first int, offsets []int) {
		sum, size := 0.0, 0.0
		n := 1 + 2*math.Sqrt(float64(len(offsets)))
		for i := range offsets {
			k := first + offsets[i]
			if c.isAttributeTrue("reverse") {
				k = first + offsets[len(offsets)-1-i]
			}
			v := x.v[k]
			before, sizeBefore := sum, size
			sum, size = sum+v, size+math.Abs(v)
			if c.isAttributeTrue("exclusive") {
				z.set(k, before, float64(c.narrow.u*n*sizeBefore), float64(c.wide.u*n*sizeBefore))
			} else {
				z.set(k, sum, float64(c.narrow.u*n*size), float64(c.wide.u*n*size))
			}
		}
	})
	return z
}

// unique returns the distinct elements, in the order of their first occurrence or sorted.
func unique(c *call) *Array {
	x := c.input(0)
	if c.err != nil {
		return x
	}
	c.dynamicLength = true
	seen, first := make(map[float64]bool, len(x.v)), []int(nil)
	for i, v := range x.v {
		if v != v || !seen[v] { // no NaN equals another
			seen[v], first = true, append(first, i)
		}
	}
	if c.isAttributeTrue("sorted") {
		slices.SortFunc(first, func(i, k int) int { return compareNumbers(x.v[i], x.v[k]) })
	}
	return x.gatherFrom(tensor.Shape{int64(len(first))}, 0, func(i int) int { return first[i] })
}

// rankedAxis is the axis along which the output may be shorter than the input.
var rankedAxis = closedAttribute("axis", func(p *problem) (all []Attributes) {
	for k := p.rank() - 1; k >= 0; k-- {
		if h := (Attributes{"axis": {integers(k), FromShape}}); rankedCut(p, h).why.IsZero() {
			all = append(all, h)
		}
	}
	return all
})

// rankedCut is the cutter along all axes except the axis along which the output may be shorter.
func rankedCut(p *problem, h Attributes) *cutRule {
	c, x, out := wholeTensors(p), p.Inputs[0].Shape, p.Outputs[0].Shape
	k, ok := axisAttribute(h, len(x))
	if !ok || len(out) != len(x) || out[k] > x[k] || !slices.Equal(x[:k], out[:k]) || !slices.Equal(x[k+1:], out[k+1:]) {
		return misfit("the output has the shape %s, the input %s", out, x)
	}
	return c.cutAlong(slices.Delete(firstIntegers(len(x)), k, k+1), alignSameRank)
}

// topK returns the first elements of each sorted line and their indices, in the NPU's order if the operator does not
// sort.
func topK(c *call) []*Array {
	x, shape := c.input(0), c.shapes[0]
	axis, ok := axisAttribute(c.attrs, len(x.shape))
	if c.err != nil || !ok {
		return []*Array{c.fail("axis %s", c.attrs["axis"].Value)}
	}
	z, got := c.exactArray(shape, c.alloc(int(shape.Elements()))), c.got[0]
	at := c.exactArray(shape, c.alloc(len(z.v)))
	firsts := make([]int, 0, len(z.v))
	z.eachLine([]int{axis}, func(_, first int, _ []int) { firsts = append(firsts, first) })
	stride := int(shape[axis+1:].Elements())
	x.eachLine([]int{axis}, func(line, first int, offsets []int) {
		in := sortLine(x, first, offsets, c.isAttributeTrue("largest"))
		places := firstIntegers(int(shape[axis]))
		for i := range places {
			places[i] = firsts[line] + i*stride
		}
		if !c.isAttributeTrue("sorted") {
			places = sortLine(got, 0, places, c.isAttributeTrue("largest"))
		}
		in = in[:len(places)]
		if len(c.got) > 1 && len(c.got[1].v) == len(z.v) {
			in = sortedOrder(x, c.got[1], places, first, offsets, in)
		}
		for i, to := range places {
			z.v[to], at.v[to] = x.v[in[i]], float64(slices.Index(offsets, in[i]-first))
		}
	})
	return []*Array{z, at}
}

// sortLine returns the offsets of the elements of a line in sorted order.
func sortLine(x *Array, first int, lineOffsets []int, largest bool) []int {
	all := make([]int, len(lineOffsets))
	for i, k := range lineOffsets {
		all[i] = first + k
	}
	slices.SortFunc(all, func(i, k int) int {
		if largest {
			i, k = k, i
		}
		return compareNumbers(x.v[i], x.v[k])
	})
	return all
}

// gatherView returns the view of the rows that the indices select.
func gatherView(p *problem, h Attributes) (view, lang.Sentence) {
	x, index := p.Inputs[0], p.Inputs[1]
	k, ok := axisAttribute(h, len(x.Shape))
	batch := countBatchAxes(h, index.Shape)
	if !ok || index.elements() > maxElements || batch < 0 || batch > k || !slices.Equal(x.Shape[:max(0, min(batch, k))], index.Shape[:max(0, batch)]) {
		return view{}, lang.Say("the axis does not fit")
	}
	all, err := index.Values()
	if err != nil {
		return view{}, lang.Error(err)
	}
	rows := &gatheredSource{source: x, inner: x.Shape[k+1:].Elements(), size: x.Shape[k], rows: make([]int64, len(all)), batch: x.Shape[batch:k].Elements(), repeats: index.Shape[batch:].Elements()}
	for i, n := range all {
		if n < 0 {
			n += float64(x.Shape[k])
		}
		if n != math.Trunc(n) || n < 0 || n >= float64(x.Shape[k]) {
			return view{}, lang.Say("an index is outside of the input")
		}
		rows.rows[i] = int64(n)
	}
	return view{shape: slices.Concat(x.Shape[:k], tensor.Shape{rows.repeats}, x.Shape[k+1:]), source: rows}, lang.Sentence{}
}

// countBatchAxes returns the number of leading axes that the input and the indices share, -1 if the attribute does not
// fit.
func countBatchAxes(h Attributes, index tensor.Shape) int {
	a, ok := h["batch_dims"]
	n, whole := a.Value.Integers()
	switch {
	case !ok:
		return 0
	case !whole || len(n) != 1:
		return -1
	case n[0] < 0:
		n[0] += int64(len(index))
	}
	if n[0] < 0 || n[0] > int64(len(index)) {
		return -1
	}
	return int(n[0])
}

// readIndexedAxes reads the indexed axes from a list of flags for all axes.
func readIndexedAxes(_ *problem, raw Attributes) Attributes {
	flags, ok := raw["indexed_sizes"]
	if !ok {
		return raw
	}
	axes := Value{List: true}
	for k, is := range flags.Value.Numbers {
		if is != 0 {
			axes.Numbers = append(axes.Numbers, float64(k))
		}
	}
	return raw.merge(Attributes{"axes": {axes, flags.Source}})
}

// indexedAxes lists sets of axes, as many as there are indices, in the order of listAxisSets.
var indexedAxes = closedAttribute("axes", func(p *problem) (all []Attributes) {
	if p.rank() > maxAxes {
		return nil
	}
	for _, s := range listAxisSets(p.rank()) {
		if len(s) == len(p.Inputs)-1 {
			all = append(all, Attributes{"axes": {integers(s...), FromValues}})
		}
	}
	return all
})

// selectIndexed selects elements of the first input by indices along some axes, which are broadcast to each other.
func selectIndexed(c *call) *Array {
	x, axes := c.input(0), c.integerAttributes("axes")
	if c.err != nil || len(axes) != len(c.inputs)-1 || len(axes) == 0 || !slices.IsSorted(axes) || axes[0] < 0 || axes[len(axes)-1] >= len(x.shape) {
		return c.fail("%d indices of axes %s of shape %s", len(c.inputs)-1, c.attrs["axes"].Value, x.shape)
	}
	for k := range axes {
		if c.types[k+1] == tensor.Bool {
			return c.fail("indices of type %s", c.types[k+1])
		}
	}
	shape, from := c.indexOffsets(x, axes, c.inputs[1:])
	if c.err != nil {
		return x
	}
	return x.gatherFrom(shape, 0, func(i int) int { return from[i] })
}

// indexOffsets returns the shape of x indexed along axes, and the offset in x of each element. The axes of the indices,
// which are broadcast to each other, replace the indexed axes if these are adjacent, else they come first.
func (c *call) indexOffsets(x *Array, axes []int, indices []*Array) (tensor.Shape, []int) {
	indexShape := tensor.Shape(nil)
	for _, index := range indices {
		s, ok := broadcast(indexShape, index.shape)
		if !ok {
			c.fail("indices of shape %s and shape %s do not broadcast", index.shape, indexShape)
			return nil, nil
		}
		indexShape = s
	}
	strides, base := x.shape.Strides(), make([]int64, indexShape.Elements()) // offset for each element of the indices
	for k, axis := range axes {
		for i, at := range c.toIndices(indices[k].expand(indexShape), x.shape[axis]) {
			base[i] += int64(at) * strides[axis]
		}
	}
	if c.err != nil {
		return nil, nil
	}
	place := axes[0]
	if axes[len(axes)-1]-axes[0] != len(axes)-1 {
		place = 0
	}
	var others tensor.Shape
	var otherStrides []int64
	for k, n := range x.shape {
		if !slices.Contains(axes, k) {
			others, otherStrides = append(others, n), append(otherStrides, strides[k])
		}
	}
	shape := slices.Concat(others[:place], indexShape, others[place:])
	if c.isTooLarge(shape) {
		return nil, nil
	}
	offsets := make([]int, shape.Elements())
	inner := others[place:].Elements()
	walkElements(others, otherStrides, func(i, offset int) {
		before, after := int64(i)/inner, int64(i)%inner
		for k, at := range base {
			offsets[(before*int64(len(base))+int64(k))*inner+after] = offset + int(at)
		}
	})
	return shape, offsets
}

// gatheredSource is a source of selected rows of another source, block by block.
type gatheredSource struct {
	source      *Tensor
	inner, size int64 // elements of a row, rows of a block
	rows        []int64
	// batch is the number of consecutive blocks with the same rows, each the number of these rows; with batch 0 all
	// blocks have the same rows.
	batch, repeats int64
}

// ReadElements implements layout.Source.
func (g *gatheredSource) ReadElements(dst []byte, first int64) error {
	unit := int64(g.source.Stored.UnitSize())
	for len(dst) > 0 {
		row, at := first/g.inner, first%g.inner
		n := min(g.inner-at, int64(len(dst))/unit)
		block, place := row/int64(len(g.rows)), g.rows[row%int64(len(g.rows))]
		if g.batch > 0 {
			block = row / g.repeats
			place = g.rows[block/g.batch*g.repeats+row%g.repeats]
		}
		if err := g.source.Source.ReadElements(dst[:n*unit], (block*g.size+place)*g.inner+at); err != nil {
			return err
		}
		dst, first = dst[n*unit:], first+n
	}
	return nil
}

func oneHot(c *call) *Array {
	x, shape := c.input(0), c.shapes[0]
	k, ok := axisAttribute(c.attrs, len(shape))
	if c.err != nil || !ok {
		return c.fail("axis %s", c.attrs["axis"].Value)
	}
	classes := make([]float64, shape[k])
	for i := range classes {
		classes[i] = float64(i)
	}
	s := slices.Repeat(tensor.Shape{1}, len(shape))
	s[k] = shape[k]
	on, off := c.number(1), c.number(0)
	if c.hasInput(1) {
		on = c.input(1)
	}
	if c.hasInput(2) {
		off = c.input(2)
	}
	return x.compare(c.exactArray(s, classes), func(x, y float64) bool { return x == y }).selectWhere(on, off)
}
