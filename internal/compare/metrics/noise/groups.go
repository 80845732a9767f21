package noise

import "dumptool/internal/tensor"

const (
	// maxKept is the largest number of groups of a kind that are kept while a pair is
	// computed.
	maxKept = 1 << 16
	// maxColumns is that of groups whose elements do not follow each other. Where there
	// are more, joined of them share a bin: their sums would not fit in a cache.
	maxColumns, joined = 1 << 14, 64
)

// grouping says which group an element is in: that of number offset/stride%count.
// Runs of fold groups share a bin.
type grouping struct {
	total  int64 // elements of the tensor
	stride int64 // elements that follow each other in a group
	count  int64 // groups
	fold   int64
	bins   int
	// run is the number of elements of a bin that follow each other, lastRun that of
	// the last bin.
	run, lastRun int64
}

// newGrouping returns the grouping of no more bins than are kept.
func newGrouping(total, stride, count int64) grouping {
	g := grouping{total: total, stride: stride, count: count, fold: 1}
	if total == 0 {
		return grouping{}
	}
	if count == 1 { // all of them, without a break
		g.stride = total
	}
	if stride == 1 && count > maxColumns {
		g.fold = joined
	}
	for (count+g.fold-1)/g.fold > maxKept {
		g.fold *= 2
	}
	g.bins = int((count + g.fold - 1) / g.fold)
	g.run, g.lastRun = g.fold*g.stride, g.groups(g.bins-1)*g.stride
	return g
}

// rowsOf returns the grouping of the positions of all axes but the last. Where those are
// many rows of few elements, as in pictures, a whole plane of the last two axes is the row:
// so few elements say little, and a row costs as much as a dozen of them. Rows of more
// elements are those of pictures where the plane is square; else they may be what an operator
// normalises.
func rowsOf(shape tensor.Shape) grouping {
	const few, square, many = 32, 64, 4096
	total, length := shape.Elements(), lastAxis(shape)
	if k := len(shape); k >= 4 && total > many*length && (length < few || length < square && shape[k-2] == length) {
		length *= shape[k-2]
	}
	return newGrouping(total, length, total/max(length, 1))
}

// lastAxis returns the length of the last axis, 1 where there is none.
func lastAxis(shape tensor.Shape) int64 {
	if len(shape) == 0 {
		return 1
	}
	return shape[len(shape)-1]
}

// channelsOf returns the grouping by axis 1, or by the last axis where there are
// less than four.
func channelsOf(shape tensor.Shape) grouping {
	total := shape.Elements()
	switch {
	case len(shape) == 0:
		return newGrouping(total, 1, 1)
	case len(shape) < 4:
		return newGrouping(total, 1, shape[len(shape)-1])
	case total == 0:
		return grouping{}
	}
	stride := int64(1)
	for _, d := range shape[2:] {
		stride *= d
	}
	return newGrouping(total, stride, shape[1])
}

// size returns the number of elements of a group.
func (g *grouping) size() int64 { return g.total / max(g.count, 1) }

// groups returns the number of groups in a bin.
func (g *grouping) groups(bin int) int64 {
	return min(g.fold, g.count-int64(bin)*g.fold)
}

// elements returns the number of elements of a bin.
func (g *grouping) elements(bin int) int64 { return g.groups(bin) * g.size() }
