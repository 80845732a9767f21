package noise

import "dumptool/internal/tensor"

const (
	// maxKept is the maximum number of bins of a grouping while a pair is
	// computed.
	maxKept = 1 << 16
	// maxColumns is the maximum number of columns with bins of their own. If there are more, columnsPerBin columns share
	// a bin, since their sums would not fit in a cache.
	maxColumns, columnsPerBin = 1 << 14, 64
)

// grouping maps elements to groups: the element at an offset is in group
// offset/stride%count. fold successive groups share a bin.
type grouping struct {
	total  int64 // elements of the tensor
	stride int64 // elements of a group that are contiguous
	count  int64 // groups
	fold   int64
	bins   int
	// run is the number of contiguous elements of a bin, lastRun of the last
	// bin.
	run, lastRun int64
}

// newGrouping returns a grouping with at most maxKept bins.
func newGrouping(total, stride, count int64) grouping {
	g := grouping{total: total, stride: stride, count: count, fold: 1}
	if total == 0 {
		return grouping{}
	}
	if count == 1 { // a single group: everything is contiguous
		g.stride = total
	}
	if stride == 1 && count > maxColumns {
		g.fold = columnsPerBin
	}
	for (count+g.fold-1)/g.fold > maxKept {
		g.fold *= 2
	}
	g.bins = int((count + g.fold - 1) / g.fold)
	g.run, g.lastRun = g.fold*g.stride, g.groups(g.bins-1)*g.stride
	return g
}

// rowGrouping returns the grouping by all axes except the last: rows. If there are many short rows, as in pictures, a
// plane of the last two axes is a row instead: a few elements are not significant, and a row costs as much as a dozen
// elements. Rows of medium length belong to pictures only if the plane is square; otherwise an operator may normalise
// them.
func rowGrouping(shape tensor.Shape) grouping {
	const few, square, many = 32, 64, 4096
	total, length := shape.Elements(), lastAxis(shape)
	if k := len(shape); k >= 4 && total > many*length && (length < few || length < square && shape[k-2] == length) {
		length *= shape[k-2]
	}
	return newGrouping(total, length, total/max(length, 1))
}

// lastAxis returns the length of the last axis, 1 without axes.
func lastAxis(shape tensor.Shape) int64 {
	if len(shape) == 0 {
		return 1
	}
	return shape[len(shape)-1]
}

// channelGrouping returns the grouping by axis 1 for four and more axes, else by the last
// axis.
func channelGrouping(shape tensor.Shape) grouping {
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
