package noise

import (
	"slices"

	"dumptool/internal/compare/metrics/kernel"
)

// bins has the sums of all bins of a grouping.
type bins struct {
	grouping
	quads []kernel.Quad      // sums of columns, four in each Quad
	tile  tile               // elements not yet added to quads
	list  []kernel.GroupSums // sums of bins that are not columns, from bin first on
	first int
	cursor
}

// cursor is the position of the next element: its bin, and the number of elements to the end
// of the run in that bin. Columns do not use it.
type cursor struct {
	bin  int
	left int64
}

// reset returns empty bins in the memory of b.
func (b bins) reset(g grouping) bins {
	b = bins{grouping: g, cursor: cursor{left: g.total}, quads: b.quads[:0], list: b.list[:0], tile: b.tile.reset(0)}
	if b.hasColumns() {
		b.tile = b.tile.reset(b.count)
		b.quads = appendZeros(b.quads, (g.bins+3)/4)
	}
	return b
}

// appendZeros appends count zeros to s.
func appendZeros[T any](s []T, count int) []T {
	have := len(s)
	s = slices.Grow(s, count)[:have+count]
	clear(s[have:])
	return s
}

// hasColumns reports whether each bin is one position of the last axis, so that successive
// elements are in different bins.
func (b *bins) hasColumns() bool { return b.stride == 1 && b.fold == 1 && b.count > 1 }

// seek moves the cursor to the element at an offset. The first call is for the start of a
// segment. If bins repeat within the tensor, the list has all bins; otherwise it starts at
// the current bin and grows in order.
func (b *bins) seek(offset int64) {
	group := offset / b.stride % b.count
	b.bin = int(group / b.fold)
	b.left = (min(int64(b.bin)*b.fold+b.fold, b.count)-group)*b.stride - offset%b.stride
	if len(b.list) > 0 {
		return
	}
	if cap(b.list) < b.bins { // at most maxKept, whatever the shape
		b.list = make([]kernel.GroupSums, 0, b.bins)
	}
	if b.first = b.bin; b.count*b.stride < b.total {
		b.first = 0
		b.list = appendZeros(b.list, b.bins)
	}
}

// next moves the cursor to the next bin.
func (b *bins) next() {
	if b.bin++; b.bin == b.bins {
		b.bin = 0
	}
	if b.left = b.run; b.bin == b.bins-1 {
		b.left = b.lastRun
	}
}

// add merges the sums of runs into their bins. It changes the numbers of bins to indexes in
// the list.
func (b *bins) add(bins []int32, sums []kernel.GroupSums) {
	for i, bin := range bins {
		k := int(bin) - b.first
		bins[i] = int32(k)
		switch {
		case k == len(b.list):
			b.list = append(b.list, kernel.GroupSums{Shift: sums[i].Shift})
		case b.list[k].Count == 0:
			b.list[k].Shift = sums[i].Shift
		}
	}
	kernel.MergeAll(b.list, bins, sums)
}

// reserve returns the part of the list into which the sums of runs can be written directly, and
// the previous sums of its first bin, to be merged by the caller. It returns nil if runs share
// bins or do not extend the end of the list.
func (b *bins) reserve(bins []int32) (sums []kernel.GroupSums, before kernel.GroupSums) {
	at, count := int(bins[0])-b.first, len(bins)
	if int(bins[count-1]-bins[0]) != count-1 || at < len(b.list)-1 || at > len(b.list) {
		return nil, before
	}
	if at < len(b.list) {
		before = b.list[at]
	}
	b.list = b.list[:at+count]
	return b.list[at:], before
}

// quadOf returns the sums of four bins, or of the remaining ones. lanes is scratch memory.
func (b *bins) quadOf(bin int, lanes *kernel.Quad) *kernel.Quad {
	if b.hasColumns() {
		return &b.quads[bin/4]
	}
	left := b.list[bin-b.first:]
	if len(left) >= 4 {
		lanes.Gather((*[4]kernel.GroupSums)(left))
		return lanes
	}
	for k := range left {
		lanes.Set(k, &left[k])
	}
	return lanes
}

// addColumns adds elements from offset first on, each to the bin of its column. before is the
// number of elements that were added earlier.
func (b *bins) addColumns(first, before int64, n, r []float64, floor float64) {
	width := int(b.count)
	column := int(first % b.count)
	for i := range min(max(b.count-before, 0), int64(len(r))) {
		k := (column + int(i)) % width
		b.quads[k/4].Shift[k%4] = r[i]
	}
	if b.tile.limit == 0 {
		kernel.AddColumns(b.quads, column, width, n, r, floor)
		return
	}
	if column > 0 && b.tile.open == 0 { // the first row of a segment
		k := min(width-column, len(n))
		kernel.AddColumns(b.quads, column, width, n[:k], r[:k], floor)
		n, r = n[k:], r[k:]
	}
	b.tile.add(b.quads, n, r, floor)
}

// closeColumns flushes the tile and sets the number of elements in each column for the
// offsets first to end, end excluded.
func (b *bins) closeColumns(first, end int64, floor float64) {
	b.tile.flush(b.quads, floor)
	for k := range b.bins {
		b.quads[k/4].Counts[k%4] = float64(columnsBefore(end, b.count, int64(k)) - columnsBefore(first, b.count, int64(k)))
	}
}

// columnsBefore returns the number of offsets below end in a column.
func columnsBefore(end, width, column int64) int64 { return (end - column + width - 1) / width }

// exclude subtracts the rounding error of an excluded pair, which was added with r = 0.
func (b *bins) exclude(offset int64, floor float64) {
	bin := int(offset / b.stride % b.count / b.fold)
	if square := float64(floor * floor); b.hasColumns() {
		b.quads[bin/4].UU[bin%4] -= square
	} else {
		b.list[bin-b.first].UU -= square
	}
}

// merge adds the bins of the next segment.
func (b *bins) merge(next *bins) {
	for i := range next.quads {
		q, p := &b.quads[i], &next.quads[i]
		for k := range 4 {
			sums, more := q.At(k), p.At(k)
			sums.Merge(&more)
			q.Set(k, &sums)
		}
	}
	if len(b.list) == 0 {
		b.first = next.first
	}
	shared := min(max(b.first+len(b.list)-next.first, 0), len(next.list))
	for i := range next.list[:shared] {
		b.list[next.first-b.first+i].Merge(&next.list[i])
	}
	b.list = append(b.list, next.list[shared:]...)
}
