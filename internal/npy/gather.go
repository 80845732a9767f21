package npy

import (
	"io"
	"slices"
	"sync"

	"dumptool/internal/tensor"
)

// limits bound the memory of a gatherer, in bytes.
type limits struct {
	panel int // output that is gathered at once
	stage int // input that waits to be moved into the panel
	gap   int // unwanted input that is read along rather than skipped
}

// defaultLimits balances the cost of a read call against that of reading a
// few kilobytes too much.
var defaultLimits = limits{panel: 4 << 20, stage: 256 << 10, gap: 4 << 10}

// gatherer reads Fortran-order data in C order.
//
// The output is cut into panels: a range of indices of one axis, the split
// axis, with one index of every axis before it and all of those behind it. The
// file holds a panel as lines: for each index of the axes behind, in Fortran
// order, the range along the split axis at a fixed step. Tiles of some lines
// are read in file order and transposed into the panel.
type gatherer struct {
	r      io.ReaderAt
	size   int64   // bytes of an element
	total  int64   // bytes of the data
	before []int64 // axes before the split axis
	split  int64   // length of the split axis
	behind []int64 // axes behind the split axis
	rows   int64   // indices of the split axis in a panel
	lines  int64   // lines of a panel: the product of behind
	step   int64   // elements in the file from one index of the split axis to the next
	tiles  tiling

	mu    sync.Mutex
	panel []byte // the panel gathered last, empty for none
	start int64  // offset of panel in the output
	tile  tile
}

// newGatherer returns a reader of the data in r, which has two or more axes
// longer than one and no empty axis.
func newGatherer(r io.ReaderAt, shape tensor.Shape, size int, lim limits) *gatherer {
	axes := longAxes(shape)
	at, lines := len(axes)-1, int64(1)
	for at > 0 && lines*axes[at] <= int64(lim.panel/size) {
		lines *= axes[at]
		at--
	}
	g := &gatherer{
		r:      r,
		size:   int64(size),
		total:  product(axes) * int64(size),
		before: axes[:at],
		split:  axes[at],
		behind: axes[at+1:],
		rows:   min(axes[at], max(1, int64(lim.panel/size)/lines)),
		lines:  lines,
		step:   product(axes[:at]),
	}
	g.tiles = g.plan(lim)
	return g
}

// longAxes returns the axes of the shape that are not of length one.
func longAxes(shape tensor.Shape) []int64 {
	return slices.DeleteFunc(slices.Clone(shape), func(n int64) bool { return n == 1 })
}

func product(axes []int64) int64 {
	n := int64(1)
	for _, a := range axes {
		n *= a
	}
	return n
}

// ReadAt copies from the current panel and gathers the next when it ends.
func (g *gatherer) ReadAt(p []byte, off int64) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at >= g.total {
			return n, io.EOF
		}
		if at < g.start || at >= g.start+int64(len(g.panel)) {
			if err := g.gather(at); err != nil {
				g.panel = g.panel[:0]
				return n, err
			}
		}
		n += copy(p[n:], g.panel[at-g.start:])
	}
	return n, nil
}

// gather fills the panel that holds the output offset.
func (g *gatherer) gather(off int64) error {
	row := off / (g.lines * g.size)
	outer, first := row/g.split, row%g.split/g.rows*g.rows
	rows := min(g.rows, g.split-first)
	g.start = (outer*g.split + first) * g.lines * g.size
	g.panel = resize(g.panel, rows*g.lines*g.size)

	from := first * g.step
	stride := g.step
	for i := len(g.before) - 1; i >= 0; i-- {
		stride /= g.before[i]
		from += outer % g.before[i] * stride
		outer /= g.before[i]
	}
	walk := newWalk(g.behind)
	for line := int64(0); line < g.lines; line += g.tiles.lines {
		columns := walk.take(min(g.tiles.lines, g.lines-line))
		for r := int64(0); r < rows; r += g.tiles.rows {
			g.tile.rows, g.tile.lines = min(g.tiles.rows, rows-r), int64(len(columns))
			if err := g.readTile(from + line*g.step*g.split + r*g.step); err != nil {
				return err
			}
			g.moveTile(g.panel[r*g.lines*g.size:], columns)
		}
	}
	return nil
}

// resize returns a slice of n bytes, b itself if it is large enough.
func resize(b []byte, n int64) []byte {
	if int64(cap(b)) < n {
		return make([]byte, n)
	}
	return b[:n]
}
