package noise

import (
	"slices"

	"dumptool/internal/compare/metrics/kernel"
)

// bins are the sums of the bins of a grouping, four in a quad.
type bins struct {
	grouping
	first int // the quad that quads begins with
	quads []kernel.Quad
}

// reset returns bins of nothing in the memory of b.
func (b bins) reset(g grouping) bins {
	b = bins{grouping: g, first: -1, quads: b.quads[:0]}
	if b.columns() {
		return b.all()
	}
	return b
}

// all returns bins where each one exists, for elements that come back to the first.
func (b bins) all() bins {
	b.reach(0, b.bins)
	return b
}

// columns reports whether neighbours are in different bins, as those of a last axis
// are.
func (b *bins) columns() bool { return b.stride == 1 && b.fold == 1 }

// reach makes the bins from first up to end exist.
func (b *bins) reach(first, end int) {
	if b.first < 0 {
		b.first = first / 4
	}
	have := len(b.quads)
	if more := (end+3)/4 - b.first - have; more > 0 {
		b.quads = slices.Grow(b.quads, more)[:have+more]
		clear(b.quads[have:])
	}
}

// add adds the sums of pairs to a bin that is not before the first one.
func (b *bins) add(bin int, s *kernel.GroupSums) {
	b.reach(bin, bin+1)
	q := &b.quads[bin/4-b.first]
	sums := q.At(bin)
	sums.Merge(s)
	q.Set(bin, &sums)
}

// at returns the sums of a bin.
func (b *bins) at(bin int) kernel.GroupSums { return b.quads[bin/4-b.first].At(bin) }

// addColumns adds elements from an offset on, each to its own bin. before is how
// many elements are there already.
func (b *bins) addColumns(first, before int64, n, r []float64, floor float64) {
	width := int(b.count)
	column := int(first % b.count)
	for i := range min(max(b.count-before, 0), int64(len(r))) {
		k := (column + int(i)) % width
		b.quads[k/4].Shift[k%4] = r[i]
	}
	kernel.AddColumns(b.quads, column, width, n, r, floor)
}

// countColumns sets how many of the elements from first up to end are in each bin.
func (b *bins) countColumns(first, end int64) {
	for k := range b.bins {
		b.quads[k/4].Counts[k%4] = float64(columnsBefore(end, b.count, int64(k)) - columnsBefore(first, b.count, int64(k)))
	}
}

// columnsBefore returns how many offsets below end are in a column.
func columnsBefore(end, width, column int64) int64 { return (end - column + width - 1) / width }

// exclude takes out the rounding error of an element of r = 0 that does not count.
func (b *bins) exclude(offset int64, floor float64) {
	bin, _ := b.bin(offset)
	b.quads[bin/4-b.first].UU[bin%4] -= float64(floor * floor)
}

// merge adds the bins of the elements that follow.
func (b *bins) merge(next *bins) {
	if len(next.quads) == 0 {
		return
	}
	b.reach(4*next.first, 4*(next.first+len(next.quads)))
	for i := range next.quads {
		q, p := &b.quads[next.first-b.first+i], &next.quads[i]
		for k := range 4 {
			sums, more := q.At(k), p.At(k)
			sums.Merge(&more)
			q.Set(k, &sums)
		}
	}
}
