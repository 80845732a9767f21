package recompute

import (
	"maps"
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

func identity(x *Array) *Array { return x }

// axisAttribute returns the attribute axis; ok is false if it is not an axis of the rank.
func axisAttribute(h Attributes, rank int) (int, bool) {
	all, ok := h["axis"].Value.Integers()
	if !ok || len(all) != 1 {
		return 0, false
	}
	return int(all[0]), all[0] >= 0 && all[0] < int64(rank)
}

// padShape returns a shape with axes of length 1 in front up to the rank, nil if the shape has more axes.
func padShape(s tensor.Shape, rank int) tensor.Shape {
	if len(s) > rank {
		return nil
	}
	return slices.Concat(slices.Repeat(tensor.Shape{1}, rank-len(s)), s)
}

func permutedView(x tensor.Shape, perm []int) (view, lang.Sentence) {
	v, seen := view{shape: tensor.Shape{}, strides: []int64{}}, make([]bool, len(x))
	for _, k := range perm {
		if k < 0 || k >= len(x) || seen[k] || len(perm) != len(x) {
			return v, lang.Say("perm does not fit the shape %s", x)
		}
		seen[k] = true
		v.shape, v.strides = append(v.shape, x[k]), append(v.strides, x.Strides()[k])
	}
	if len(perm) != len(x) {
		return v, lang.Say("perm does not fit the shape %s", x)
	}
	return v, lang.Sentence{}
}

// listPermutations lists the permutations of axes that give the output's shape.
func listPermutations(p *problem) (all []Attributes) {
	x, out := p.Inputs[0].Shape, p.Outputs[0].Shape
	if !slices.Equal(slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(out))) {
		return nil // ensures that every partial permutation can be completed
	}
	perm, used := make([]int, 0, len(x)), make([]bool, len(x))
	var next func()
	next = func() {
		if len(all) == maxHypotheses {
			return
		}
		if len(perm) == len(x) {
			all = append(all, Attributes{"perm": {integers(perm...), FromValues}})
			return
		}
		for k, n := range x {
			if !used[k] && n == out[len(perm)] {
				used[k], perm = true, append(perm, k)
				next()
				used[k], perm = false, perm[:len(perm)-1]
			}
		}
	}
	next()
	return all
}

// concatCut is the cutter of concatenations. With pack, inputs are stacked along a new axis.
func concatCut(pack bool) cutter {
	return func(p *problem, h Attributes) *cutRule {
		c, out := wholeTensors(p), p.Outputs[0].Shape
		k, ok := axisAttribute(h, len(out))
		if !ok {
			return misfit("axis %s of shape %s", h["axis"].Value, out)
		}
		at := int64(0)
		begins := make([]int64, len(c.in))
		for i := range c.in {
			s := c.in[i].shape
			switch {
			case len(s) == len(out)-1: // stack, or vstack of vectors
				s = slices.Insert(slices.Clone(s), k, 1)
			case s.Equal(tensor.Shape{0}): // PyTorch ignores it beside tensors of any rank
				s = slices.Clone(out)
				s[k] = 0
			}
			if len(s) != len(out) {
				return misfit("input %d has the shape %s, the output %s", i, s, out)
			}
			begins[i] = -at
			at += s[k]
			for a, n := range s {
				if a != k && n != out[a] {
					return misfit("input %d has the shape %s, the output %s", i, s, out)
				}
			}
			c.in[i].shape = s
		}
		if at != out[k] {
			return misfit("the inputs have %d elements along axis %d, the output has %d", at, k, out[k])
		}
		for a, n := range out {
			f := freeAxis{size: n, out: []span{{axis: a}}}
			for i := range c.in {
				s := span{axis: a}
				if a == k {
					s.begin = begins[i]
				}
				f.in = append(f.in, s)
			}
			c.free = append(c.free, f)
		}
		c.axis = k
		return c
	}
}

func (c *call) cat() *Array { return cat(c.axis, c.inputs...) }

// splitView returns the view of the current output's part of the input.
func splitView(p *problem, h Attributes) (view, lang.Sentence) {
	x := p.Inputs[0].Shape
	k, ok := axisAttribute(h, len(x))
	if !ok {
		return view{}, lang.Say("the axis does not fit")
	}
	at, begin := int64(0), int64(0)
	for i, s := range p.shapes {
		if len(s) != len(x) {
			return view{}, lang.Say("an output has another rank")
		}
		for a := range s {
			if a != k && s[a] != x[a] {
				return view{}, lang.Say("an output has another shape")
			}
		}
		if i == p.output {
			begin = at
		}
		at += s[k]
	}
	if at != x[k] {
		return view{}, lang.Say("the outputs have another size")
	}
	return view{shape: p.Outputs[0].Shape, strides: x.Strides(), offset: begin * x.Strides()[k]}, lang.Sentence{}
}

// sliceView returns the view of elements from begin on with strides.
func sliceView(p *problem, h Attributes) (view, lang.Sentence) {
	begin, ok := h["begin"].Value.Integers()
	steps, isList := h["strides"].Value.Integers()
	x, out := p.Inputs[0].Shape, p.Outputs[0].Shape
	if kept, ok := h["shape"].Value.Integers(); ok && len(kept) == len(x) {
		out = kept // the shape before axes of length 1 were dropped
	}
	if !ok || !isList || len(begin) != len(x) || len(steps) != len(x) || len(out) != len(x) {
		return view{}, lang.Say("begin and strides do not fit the shapes")
	}
	v, source := view{shape: out, strides: slices.Clone(x.Strides())}, p.Inputs[0]
	for k, n := range out {
		if steps[k] < 0 {
			begin[k], steps[k] = x[k]-1-begin[k], -steps[k]
			source = source.reverse(k)
			v.source = source.Source
		}
		if steps[k] < 1 || begin[k] < 0 || n > 0 && (begin[k] >= x[k] || (n-1) > (x[k]-1-begin[k])/steps[k]) {
			return view{}, lang.Say("the slice exceeds the input")
		}
		v.offset += begin[k] * v.strides[k]
		v.strides[k] *= steps[k]
	}
	return v, lang.Sentence{}
}

// reverse returns the tensor with the elements along an axis in reverse order.
func (t *Tensor) reverse(axis int) *Tensor {
	n := t.Shape[axis]
	rows := make([]int64, min(n, maxElements))
	for i := range rows {
		rows[i] = n - 1 - int64(i)
	}
	one := *t
	one.Source = &gatheredSource{source: t, inner: t.Shape[axis+1:].Elements(), size: n, rows: rows}
	return &one
}

// maxSlices limits the slices of a tensor that are tried, on sliceSamples random elements each; the maxKeptSlices
// best become hypotheses. If there are more slices, only strides up to maxStep are tried.
const (
	maxSlices, sliceSamples, maxStep = 60000, 48, 4
	maxKeptSlices                    = 3
)

// listSlices lists the slices that explain most of some output elements. The output may have other axes of length 1
// than the input.
func listSlices(p *problem) (all []Attributes) {
	for _, shape := range listSliceShapes(p.Inputs[0].Shape, p.Outputs[0].Shape) {
		of, out := *p, *p.Outputs[0]
		out.Shape = shape
		of.Operator = p.WithInputs(p.Inputs)
		of.Outputs = []*Tensor{&out}
		for _, a := range of.matchSlices() {
			all = append(all, a.merge(Attributes{"shape": {integers(shape...), FromValues}}))
		}
	}
	return all
}

// listSliceShapes lists the shapes that a slice of x may have had before axes of length 1 were dropped or added.
func listSliceShapes(x, out tensor.Shape) (all []tensor.Shape) {
	if len(x) == len(out) {
		all = append(all, out)
	}
	long := slices.DeleteFunc(slices.Clone(out), func(n int64) bool { return n == 1 })
	var add func(s, rest tensor.Shape)
	add = func(s, rest tensor.Shape) {
		k := len(s)
		switch {
		case len(rest) > len(x)-k || len(all) == maxAlignments:
		case k == len(x):
			if !s.Equal(out) {
				all = append(all, slices.Clone(s))
			}
		default:
			if len(rest) > 0 && rest[0] <= x[k] {
				add(append(s, rest[0]), rest[1:])
			}
			add(append(s, 1), rest)
		}
	}
	add(make(tensor.Shape, 0, len(x)), long)
	return all
}

// maxAlignments limits the ways to omit axes: all ways for 8 axes.
const maxAlignments = 70

// matchSlices lists the slices of the input that explain the largest share of a sample of output elements, for an output
// of the same rank.
func (p *problem) matchSlices() []Attributes {
	x, out := p.Inputs[0].Shape, p.Outputs[0].Shape
	choices, total := listSteps(x, out, math.MaxInt64)
	if total > maxSlices {
		choices, total = listSteps(x, out, maxStep)
	}
	if total > maxSlices || total == 0 {
		return nil
	}
	sizes := make(tensor.Shape, len(x))
	for k := range choices {
		sizes[k] = int64(len(choices[k]))
	}
	at := func(i int64) (begin, steps []int64) {
		for k, c := range sizes.Coordinates(i) {
			begin, steps = append(begin, choices[k][c][0]), append(steps, choices[k][c][1])
		}
		return begin, steps
	}
	return p.findBestMatches(total, maxKeptSlices, func(i int64, coord []int64) int64 {
		begin, steps := at(i)
		offset := int64(0)
		for k, s := range x.Strides() {
			offset += (begin[k] + coord[k]*steps[k]) * s
		}
		return offset
	}, func(i int64) Attributes {
		begin, steps := at(i)
		return Attributes{"begin": {integers(begin...), FromValues}, "strides": {integers(steps...), FromValues}}
	})
}

// listSteps lists begin and step of each axis that give the output's shape, with steps up to largest, and counts
// their combinations. It stops counting above maxSlices.
func listSteps(x, out tensor.Shape, largest int64) (choices [][][2]int64, total int64) {
	total, choices = 1, make([][][2]int64, len(x))
	for k, n := range out {
		most := int64(1)
		if n > 1 {
			most = min(largest, (x[k]-1)/(n-1))
		}
		for step := int64(1); step <= most && len(choices[k]) <= maxSlices; step++ {
			for begin := int64(0); begin+(n-1)*step < x[k] && len(choices[k]) <= maxSlices; begin++ {
				choices[k] = append(choices[k], [2]int64{begin, step})
			}
		}
		if total *= int64(len(choices[k])); total > maxSlices {
			return nil, total
		}
	}
	return choices, total
}

// listPads lists the possible paddings before the input along each axis.
func listPads(p *problem) []Attributes {
	x, out := p.Inputs[0].Shape, p.Outputs[0].Shape
	if len(x) != len(out) {
		return nil
	}
	sizes, total := make(tensor.Shape, len(x)), int64(1)
	for k := range x {
		sizes[k] = out[k] - x[k] + 1
		if total *= sizes[k]; sizes[k] < 1 || total > maxSlices {
			return nil
		}
	}
	return p.findBestMatches(total, 2, func(i int64, coord []int64) int64 {
		before, offset := sizes.Coordinates(i), int64(0)
		for k, s := range x.Strides() {
			if coord[k] < before[k] || coord[k] >= before[k]+x[k] {
				return -1
			}
			offset += (coord[k] - before[k]) * s
		}
		return offset
	}, func(i int64) Attributes { return Attributes{"before": {integers(sizes.Coordinates(i)...), FromValues}} })
}

func padCut(p *problem, h Attributes) *cutRule {
	c, x, out := wholeTensors(p), p.Inputs[0].Shape, p.Outputs[0].Shape
	before, ok := h["before"].Value.Integers()
	if !ok || len(before) != len(x) || len(out) != len(x) {
		return misfit("paddings %s of shape %s", h["before"].Value, x)
	}
	mode := h["mode"].Value.Text
	reflects := slices.Contains(reflectingModes, mode)
	for k, n := range out {
		if most := max(before[k], n-x[k]-before[k]); reflects && (before[k] < 0 || before[k]+x[k] > n) || reflects && x[k] == 0 && n > 0 || mode == "reflect" && most >= x[k] || mode == "symmetric" && most > x[k] {
			return misfit("paddings %s of shape %s cannot give %s", h["before"].Value, x, out)
		}
		if n == x[k] || !reflects {
			c.free = append(c.free, freeAxis{size: n, in: []span{{axis: k, begin: -before[k]}}, out: []span{{axis: k}}})
		}
	}
	for i := range c.free {
		for range p.Inputs[1:] {
			c.free[i].in = append(c.free[i].in, span{axis: -1})
		}
	}
	return c
}

// paddingModes maps a mode to the index of the element that replaces an index outside 0..n-1.
var paddingModes = map[string]func(at, n int64) int64{
	"reflect": func(at, n int64) int64 { return max(at, -at) - max(0, 2*(at-(n-1))) },
	"edge":    clampIndex, "replicate": clampIndex,
	"symmetric": func(at, n int64) int64 { return max(at, -1-at) - max(0, 2*(at-n)+1) },
	"circular":  func(at, n int64) int64 { return (at%n + n) % n },
}

func clampIndex(at, n int64) int64 { return min(max(at, 0), n-1) }

// reflectingModes are the modes that read elements of the input, possibly far away.
var reflectingModes = slices.Sorted(maps.Keys(paddingModes))

// pad returns the part of the padded input that lies in the cell.
func pad(c *call) *Array {
	x, shape := c.input(0), c.shapes[0]
	before := c.integerAttributes("before")
	if c.err != nil {
		return x
	}
	from := make([]int, shape.Elements())
	strides, fill := x.shape.Strides(), 0.0
	padding := paddingModes[c.textAttribute("mode")]
	if padding == nil {
		fill = c.numberAttribute("value")
	}
	lo := make([]int64, len(shape)) // first index of the cell along each axis
	for i, f := range c.free {
		lo[f.out[0].axis] = c.lo[i]
	}
	walkElements(shape, make([]int64, len(shape)), func(i, _ int) {
		if i%cellElements == 0 && c.isStopped() || c.err != nil {
			return
		}
		offset := int64(0)
		for k, at := range shape.Coordinates(int64(i)) {
			at += lo[k] - max(lo[k], int64(before[k]))
			if n := x.shape[k]; padding != nil && (at < 0 || at >= n) {
				at = padding(at, n)
			}
			if at < 0 || at >= x.shape[k] {
				offset = -1
				break
			}
			offset += at * strides[k]
		}
		from[i] = int(offset)
	})
	return x.gatherFrom(shape, fill, func(i int) int { return from[i] })
}

// readPads reads the paddings before each axis from pairs.
func readPads(p *problem, raw Attributes) Attributes {
	pairs, ok := raw["paddings"]
	if !ok || len(pairs.Value.Numbers) != 2*p.rank() {
		return raw
	}
	before := make([]float64, p.rank())
	for k := range before {
		before[k] = pairs.Value.Numbers[2*k]
	}
	return raw.merge(Attributes{"before": {Numbers(before...), pairs.Source}})
}

// readSlice derives begin, strides and the shape before axes were dropped from begin, end, strides and masks. If it
// cannot, as for an ellipsis, begin and strides stay unknown.
func readSlice(p *problem, raw Attributes) Attributes {
	x := p.Inputs[0].Shape
	list := func(name string) ([]int64, bool) {
		v, ok := raw[name].Value.Integers()
		return v, ok && len(v) == len(x)
	}
	mask := func(name string, k int) bool {
		n, _ := raw[name].Value.Number()
		return int64(n)>>k&1 == 1
	}
	from := raw["begin"].Source
	raw = raw.merge(nil)
	begin, ok := list("begin")
	steps, hasSteps := list("strides")
	if !hasSteps {
		steps = slices.Repeat([]int64{1}, len(x))
	}
	end, hasEnd := list("end")
	size, hasSize := list("size")
	unknown := func() Attributes {
		delete(raw, "begin")
		delete(raw, "strides")
		return raw
	}
	ellipsis, _ := raw["ellipsis_mask"].Value.Number()
	newAxes, _ := raw["new_axis_mask"].Value.Number()
	if !ok || ellipsis != 0 || newAxes != 0 || !hasEnd && !hasSize {
		return unknown()
	}
	begin, shape := slices.Clone(begin), make([]int64, len(x))
	for k, n := range x {
		b, step := begin[k], steps[k]
		if step == 0 || n > maxElements {
			return unknown()
		}
		first, stop := int64(0), n // in the direction of the step
		if step < 0 {
			first, stop = n-1, -1
		}
		low, high := min(first, stop), max(first, stop)
		clip := func(at int64) int64 {
			if at < 0 {
				at += n
			}
			return min(max(at, low), high)
		}
		if b = clip(b); mask("begin_mask", k) {
			b = first
		}
		switch {
		case mask("shrink_axis_mask", k):
			stop = b + step
		case hasSize && size[k] >= 0:
			stop = min(n, b+size[k])
		case hasEnd && !mask("end_mask", k):
			stop = clip(end[k])
		}
		begin[k], shape[k] = b, 0
		if length := stop - b; length != 0 && length > 0 == (step > 0) {
			shape[k] = (max(length, -length)-1)/max(step, -step) + 1
		}
	}
	return raw.merge(Attributes{"begin": {integers(begin...), from}, "strides": {integers(steps...), from}, "shape": {integers(shape...), from}})
}
