package layout

import (
	"cmp"
	"slices"

	"dumptool/internal/tensor"
)

// Axis is one host axis of a Map: its size, and its stride in the host array
// in elements.
type Axis struct {
	Size, Stride int64
}

// Map says where every element of a dense host array lies in a device buffer.
type Map struct {
	Device tensor.Shape
	Axes   []Axis
	blocks blockList
}

// elements is the number of elements of the host array.
func (m *Map) elements() int64 {
	n := int64(1)
	for _, a := range m.Axes {
		n *= a.Size
	}
	return n
}

// strides are those of the axes in the host array.
func (m *Map) strides() []int64 {
	strides := make([]int64, len(m.Axes))
	for i, a := range m.Axes {
		strides[i] = a.Stride
	}
	return strides
}

// order returns the axes of more than one position, innermost first.
func (m *Map) order() []int {
	var axes []int
	for i, a := range m.Axes {
		if a.Size != 1 {
			axes = append(axes, i)
		}
	}
	slices.SortFunc(axes, func(x, y int) int { return cmp.Compare(m.Axes[x].Stride, m.Axes[y].Stride) })
	return axes
}

// granules returns, for every axis, how many positions a block of the layout
// holds, and the device stride from one block to the next. There is a block.
func (m *Map) granules() (granule, top []int64) {
	for i, s := range m.blocks.at(0).spans {
		granule = append(granule, min(s.granule(), max(1, m.Axes[i].Size)))
		top = append(top, s.levels[len(s.levels)-1].stride)
	}
	return granule, top
}

// axisRange is a range of positions of one axis.
type axisRange struct{ lo, hi int64 }

// eachBox cuts the elements [lo, hi) of the host array in boxes, at most two an
// axis, and calls f with each. The ranges are only valid during the call.
func (m *Map) eachBox(hostOrder []int, lo, hi int64, f func([]axisRange) error) error {
	ranges := make([]axisRange, len(m.Axes))
	for i, a := range m.Axes {
		ranges[i] = axisRange{0, a.Size}
	}
	return m.boxesWithin(hostOrder, ranges, lo, hi, f)
}

// boxesWithin is eachBox for one position of the axes that are not in
// hostOrder; lo and hi count from there.
func (m *Map) boxesWithin(hostOrder []int, ranges []axisRange, lo, hi int64, f func([]axisRange) error) error {
	if lo >= hi {
		return nil
	}
	if len(hostOrder) == 0 {
		return f(ranges)
	}
	inner, a := hostOrder[:len(hostOrder)-1], hostOrder[len(hostOrder)-1]
	stride := m.Axes[a].Stride
	defer func() { ranges[a] = axisRange{0, m.Axes[a].Size} }()
	// part is the piece [from, to) of one position of the axis.
	part := func(at, from, to int64) error {
		ranges[a] = axisRange{at, at + 1}
		return m.boxesWithin(inner, ranges, from, to, f)
	}
	first, end := ceilDiv(lo, stride), hi/stride
	if first > end {
		return part(end, lo-end*stride, hi-end*stride)
	}
	if lo < first*stride {
		if err := part(first-1, lo-(first-1)*stride, stride); err != nil {
			return err
		}
	}
	if first < end {
		ranges[a] = axisRange{first, end}
		if err := f(ranges); err != nil {
			return err
		}
	}
	return part(end, 0, hi-end*stride)
}

// clip returns the part of the block inside the ranges, counted from their
// corner.
func (b block) clip(ranges []axisRange) (block, bool) {
	part := block{base: b.base, spans: make([]span, len(b.spans))}
	for i, s := range b.spans {
		var ok bool
		if part.spans[i], ok = s.clip(ranges[i].lo, ranges[i].hi); !ok {
			return block{}, false
		}
	}
	return part, true
}
