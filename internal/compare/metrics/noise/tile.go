package noise

import "dumptool/internal/compare/metrics/kernel"

const (
	// tileElements is about the number of elements of a tile.
	tileElements = 1 << 15
	// tileRows is how many rows of a tile are enough, and how many of them in a block
	// need no tile.
	tileRows, blockRows = 16, 8
)

// tile gathers rows until there are enough of them to add many numbers to each
// column at a time: the sums of all columns do not fit in the fastest cache.
type tile struct {
	n, r   []float64
	width  int // columns
	stride int // from a row to the next one
	limit  int // rows, 0 where a tile is no use
	rows   int // that are complete
	open   int // elements of the row after them
}

// reset returns an empty tile in the memory of t.
func (t tile) reset(width int64) tile {
	t = tile{n: t.n, r: t.r}
	if width <= blockElements/blockRows || width > tileElements/2 {
		return t
	}
	t.width = int(width)
	// An odd number of cache lines, so that the rows of a column do not fall in one
	// set of the cache.
	t.stride = (t.width+7)/8*8 | 8
	t.limit = min(tileRows, tileElements/t.stride)
	if size := t.limit * t.stride; size > len(t.n) {
		t.n, t.r = make([]float64, size), make([]float64, size)
	}
	return t
}

// add adds elements from a column on to the open row and the next ones.
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

// flush moves all elements to the sums of their columns.
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
