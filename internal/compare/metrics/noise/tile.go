package noise

import "dumptool/internal/compare/metrics/kernel"

const (
	// tileElements is the approximate number of elements of a tile.
	tileElements = 1 << 15
	// tileRows is the maximum number of rows of a tile. If a block has blockRows rows, no tile
	// is needed.
	tileRows, blockRows = 16, 8
)

// tile buffers rows, so that each column gets many numbers at once: the sums of all columns do not fit in the L1
// cache.
type tile struct {
	n, r   []float64
	width  int // columns
	stride int // distance of rows in elements
	limit  int // maximum number of rows, 0 if the tile is not used
	rows   int // complete rows
	open   int // elements of the incomplete row
}

// reset returns an empty tile in the memory of t.
func (t tile) reset(width int64) tile {
	t = tile{n: t.n, r: t.r}
	if width <= blockElements/blockRows || width > tileElements/2 {
		return t
	}
	t.width = int(width)
	// An odd number of cache lines: the elements of a column do not fall in one
	// set of the cache.
	t.stride = (t.width+7)/8*8 | 8
	t.limit = min(tileRows, tileElements/t.stride)
	if size := t.limit * t.stride; size > len(t.n) {
		t.n, t.r = make([]float64, size), make([]float64, size)
	}
	return t
}

// add appends elements to the incomplete row and the next ones.
func (t *tile) add(quads []kernel.Quad, n, r []float64, floor float64) {
	for len(n) > 0 {
		at := t.rows*t.stride + t.open
		k := copy(t.n[at:at+t.width-t.open], n)
		copy(t.r[at:at+k], r)
		n, r = n[k:], r[k:]
		if t.open += k; t.open < t.width {
			return
		}
		t.open = 0
		if t.rows++; t.rows == t.limit {
			t.flush(quads, floor)
		}
	}
}

// flush adds all elements to the sums of their columns.
func (t *tile) flush(quads []kernel.Quad, floor float64) {
	if t.rows > 0 {
		size := (t.rows-1)*t.stride + t.width
		kernel.AddRows(quads, t.width, t.stride, t.n[:size], t.r[:size], floor)
	}
	if t.open > 0 {
		at := t.rows * t.stride
		kernel.AddColumns(quads, 0, t.width, t.n[at:at+t.open], t.r[at:at+t.open], floor)
	}
	t.rows, t.open = 0, 0
}
