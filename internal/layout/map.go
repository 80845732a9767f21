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

// strides returns the host stride of each axis, in elements.
func (m *Map) strides() []int64 {
	strides := make([]int64, len(m.Axes))
	for i, a := range m.Axes {
		strides[i] = a.Stride
	}
	return strides
}

// hostOrder returns the axes of more than one position, innermost first.
func (m *Map) hostOrder() []int {
	var axes []int
	for i, a := range m.Axes {
		if a.Size != 1 {
			axes = append(axes, i)
		}
	}
	slices.SortFunc(axes, func(x, y int) int { return cmp.Compare(m.Axes[x].Stride, m.Axes[y].Stride) })
	return axes
}

// blockGranules returns, for every axis, the number of positions in a block of the layout and the
// device stride from one block to the next. The map must have a block.
func (m *Map) blockGranules() (granule, top []int64) {
	for i, s := range m.blocks.at(0).spans {
		granule = append(granule, min(s.granule(), max(1, m.Axes[i].Size)))
		top = append(top, s.levels[len(s.levels)-1].stride)
	}
	return granule, top
}

// axisRange is a range of positions of one axis.
type axisRange struct{ lo, hi int64 }

// eachBox cuts the elements [lo, hi) of the host array into at most two boxes an axis and calls
// f with each. The ranges are valid during the call only.
func (m *Map) eachBox(hostOrder []int, lo, hi int64, f func([]axisRange) error) error {
	ranges := make([]axisRange, len(m.Axes))
	for i, a := range m.Axes {
		ranges[i] = axisRange{0, a.Size}
	}
	return m.eachBoxWithin(hostOrder, ranges, lo, hi, f)
}

// eachBoxWithin is eachBox with the axes outside hostOrder fixed at one position, from which lo
// and hi count.
func (m *Map) eachBoxWithin(hostOrder []int, ranges []axisRange, lo, hi int64, f func([]axisRange) error) error {
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
		return m.eachBoxWithin(inner, ranges, from, to, f)
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

// clip returns the part of the block inside the ranges, with positions counted from the first
// corner of the ranges.
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

// level is one digit of a mixed-radix position: size positions, stride device elements apart.
// The last level of an axis has size 0, which means no bound.
type level struct {
	size   int64
	stride int64
}

// span is the piece of a host axis in a block: count positions from start. The digits of
// shift+k give the device offset of position start+k.
type span struct {
	start, count, shift int64
	levels              []level
}

// block is a box of host elements, one span an axis, whose device offset is
// base plus the sum over the axes.
type block struct {
	base  int64
	spans []span
}

// blockList makes the blocks of a map one by one. A grouped layout has a block for each group,
// too many to keep.
type blockList struct {
	n  int64
	at func(i int64) block
	// inHost returns a range of blocks that includes every block with positions in the ranges
	// of the host axes; inDevice does so for the device offsets [lo, hi). nil means all blocks.
	inHost   func(ranges []axisRange) (from, to int64)
	inDevice func(lo, hi int64) (from, to int64)
}

// newBlockList makes a list of a few blocks.
func newBlockList(blocks ...block) blockList {
	for _, b := range blocks {
		for i := range b.spans {
			b.spans[i] = b.spans[i].mergeLevels()
		}
	}
	return blockList{n: int64(len(blocks)), at: func(i int64) block { return blocks[i] }}
}

// eachInHost calls f with the blocks that may touch ranges of the host axes.
func (l blockList) eachInHost(ranges []axisRange, f func(block) error) error {
	if l.inHost == nil {
		return l.walkRange(0, l.n, f)
	}
	from, to := l.inHost(ranges)
	return l.walkRange(from, to, f)
}

// eachInDevice calls f with the blocks that may touch device offsets [lo, hi).
func (l blockList) eachInDevice(lo, hi int64, f func(block) error) error {
	if l.inDevice == nil {
		return l.walkRange(0, l.n, f)
	}
	from, to := l.inDevice(lo, hi)
	return l.walkRange(from, to, f)
}

func (l blockList) walkRange(from, to int64, f func(block) error) error {
	for i := max(0, from); i < min(to, l.n); i++ {
		if err := f(l.at(i)); err != nil {
			return err
		}
	}
	return nil
}

// linearAxis is a whole axis of n positions, stride device elements apart.
func linearAxis(n, stride int64) span {
	return span{count: n, levels: []level{{0, stride}}}
}

// splitAxis is a whole axis of n positions that is cut in pieces of size: inner is
// the stride inside a piece, outer the stride from piece to piece.
func splitAxis(n, size, inner, outer int64) span {
	return span{count: n, levels: []level{{size, inner}, {0, outer}}}
}

// mergeLevels merges neighbouring levels whose strides continue each other, so that granules are as
// small as the layout allows.
func (s span) mergeLevels() span {
	merged := []level{s.levels[0]}
	for _, l := range s.levels[1:] {
		last := &merged[len(merged)-1]
		if l.stride == last.size*last.stride {
			if last.size *= l.size; l.size == 0 {
				last.size = 0
			}
			continue
		}
		merged = append(merged, l)
	}
	s.levels = merged
	return s
}

// granule returns the number of neighbouring positions in all bounded levels.
func (s span) granule() int64 {
	n := int64(1)
	for _, l := range s.levels[:len(s.levels)-1] {
		n *= l.size
	}
	return n
}

// clip returns the part of the span in the axis range [lo, hi), with start
// counted from lo; ok is false when there is none.
func (s span) clip(lo, hi int64) (span, bool) {
	from, to := max(s.start, lo), min(s.start+s.count, hi)
	if from >= to {
		return span{}, false
	}
	s.shift += from - s.start
	s.start = from - lo
	s.count = to - from
	return s, true
}

// run is a piece of an axis with plain strides: its first position, the device
// offset there, and its loops, innermost first.
type run struct {
	pos, off int64
	loops    []axisLoop
}

// axisLoop is n steps, each step axis positions and stride device elements wide.
type axisLoop struct {
	n, step, stride int64
}

// digitRuns cuts the positions [a, b) of a mixed-radix number into runs: at most a head, a middle and a tail for each
// level.
func digitRuns(levels []level, a, b int64) []run {
	if a >= b {
		return nil
	}
	top := levels[len(levels)-1]
	if len(levels) == 1 {
		return []run{{pos: a, off: a * top.stride, loops: []axisLoop{{b - a, 1, top.stride}}}}
	}
	lower := levels[:len(levels)-1]
	place := int64(1)
	for _, l := range lower {
		place *= l.size
	}
	inside := func(q, from, to int64) []run {
		part := digitRuns(lower, from, to)
		for i := range part {
			part[i].pos += q * place
			part[i].off += q * top.stride
		}
		return part
	}
	first, last := a/place, (b-1)/place
	if first == last {
		return inside(first, a-first*place, b-first*place)
	}
	var all []run
	if a > first*place {
		all = append(all, inside(first, a-first*place, place)...)
		first++
	}
	end := b / place
	if end > first {
		full := inside(first, 0, place)
		for i := range full {
			full[i].loops = append(full[i].loops, axisLoop{end - first, place, top.stride})
		}
		all = append(all, full...)
	}
	if b > end*place {
		all = append(all, inside(end, 0, b-end*place)...)
	}
	return all
}

// box is a set of elements with plain strides on both sides, counted in elements. It is the unit
// of work of the copy kernels.
type box struct {
	host, dev int64 // offsets of the first element
	dims      []dim
}

// dim is one loop of a box.
type dim struct {
	n, host, dev int64
}

// eachBox calls f with every box of the block. hostStride is the host stride of each axis, in
// elements. The box is valid during the call only.
func (b block) eachBox(hostStride []int64, f func(box) error) error {
	axes := make([][]run, len(b.spans))
	for i, s := range b.spans {
		axes[i] = digitRuns(s.levels, s.shift, s.shift+s.count)
		for k := range axes[i] {
			axes[i][k].pos += s.start - s.shift
		}
	}
	return combineRuns(axes, hostStride, box{dev: b.base, dims: make([]dim, 0, 16)}, f)
}

// combineRuns combines the runs of the axes: one box for each choice of a run per axis.
func combineRuns(axes [][]run, hostStride []int64, done box, f func(box) error) error {
	if len(axes) == 0 {
		done.dims = slices.Clone(done.dims) // the next box shares the leading loops
		return f(done.coalesce())
	}
	for _, r := range axes[0] {
		next := box{done.host + r.pos*hostStride[0], done.dev + r.off, done.dims}
		for _, l := range r.loops {
			next.dims = append(next.dims, dim{l.n, l.step * hostStride[0], l.stride})
		}
		if err := combineRuns(axes[1:], hostStride[1:], next, f); err != nil {
			return err
		}
	}
	return nil
}

// coalesce drops loops of one step, sorts the others by host stride and joins
// loops that continue each other on both sides.
func (b box) coalesce() box {
	dims := slices.DeleteFunc(b.dims, func(d dim) bool { return d.n == 1 })
	slices.SortFunc(dims, func(x, y dim) int {
		if x.host != y.host {
			return int(min(1, max(-1, x.host-y.host)))
		}
		return int(min(1, max(-1, x.dev-y.dev)))
	})
	joined := dims[:0]
	for _, d := range dims {
		if k := len(joined) - 1; k >= 0 &&
			d.host == joined[k].n*joined[k].host && d.dev == joined[k].n*joined[k].dev {
			joined[k].n *= d.n
			continue
		}
		joined = append(joined, d)
	}
	b.dims = joined
	return b
}

// swap exchanges host and device.
func (b box) swap() box {
	s := box{host: b.dev, dev: b.host, dims: slices.Clone(b.dims)}
	for i, d := range s.dims {
		s.dims[i] = dim{d.n, d.dev, d.host}
	}
	return s.coalesce()
}

// eachPart calls f with the parts of the box whose host offsets lie in [lo, hi). The host stride of
// a loop must exceed the extent of the loops nested in it, as in every box of a layout.
func (b box) eachPart(lo, hi int64, f func(box) error) error {
	extent := int64(1)
	for _, d := range b.dims {
		extent += (d.n - 1) * d.host
	}
	if b.host >= hi || b.host+extent <= lo {
		return nil
	}
	if b.host >= lo && b.host+extent <= hi {
		return f(b)
	}
	outer := b.dims[len(b.dims)-1]
	inner := box{dims: b.dims[:len(b.dims)-1]}
	reach := extent - (outer.n-1)*outer.host
	// Steps [from, to) touch the range, steps [whole, end) lie in it entirely.
	from := max(0, ceilDiv(lo-b.host-reach+1, outer.host))
	to := min(outer.n, ceilDiv(hi-b.host, outer.host))
	whole := min(to, max(from, ceilDiv(lo-b.host, outer.host)))
	end := max(whole, min(to, floorDiv(hi-b.host-reach, outer.host)+1))
	at := func(i int64) box {
		return box{host: b.host + i*outer.host, dev: b.dev + i*outer.dev, dims: inner.dims}
	}
	for i := from; i < whole; i++ {
		if err := at(i).eachPart(lo, hi, f); err != nil {
			return err
		}
	}
	if end > whole {
		part := at(whole)
		part.dims = append(slices.Clone(inner.dims), dim{end - whole, outer.host, outer.dev})
		if err := f(part.coalesce()); err != nil {
			return err
		}
	}
	for i := end; i < to; i++ {
		if err := at(i).eachPart(lo, hi, f); err != nil {
			return err
		}
	}
	return nil
}

// ceilDiv and floorDiv divide towards plus and minus infinity; b > 0.
func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
