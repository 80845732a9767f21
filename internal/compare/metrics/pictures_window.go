package metrics

import (
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/tensor"
)

// WindowSize is the maximum number of rows, and of columns, of a Window.
const WindowSize = 16

// Window is a cut-out of both tensors around their largest difference. It covers the last two
// axes longer than 1; the other axes have the position of that difference. A tensor with
// only one such axis is cut into lines of WindowSize consecutive elements; RowAxis and
// ColumnAxis are then the same.
type Window struct {
	// Place is the offset of the largest difference, in C order.
	Place      int64 `json:"place"`
	RowAxis    int   `json:"row_axis"`
	ColumnAxis int   `json:"col_axis"`
	// Row and Column are the positions of the first value on these axes. If both are the same
	// axis, Row is 0.
	Row     int64 `json:"row"`
	Column  int64 `json:"col"`
	Rows    int   `json:"rows"`
	Columns int   `json:"cols"`
	// Ref and NPU are the values row by row, magnitudes for complex elements. The last line of a single axis may be
	// shorter than the others.
	Ref noise.Column `json:"ref"`
	NPU noise.Column `json:"npu"`

	offsets []int64 // of the first value in each row
}

// newWindow returns the window around a place, without values; nil for no elements.
func newWindow(shape tensor.Shape, total, place int64) *Window {
	if total == 0 {
		return nil
	}
	var axes []int // longer than 1
	for i, size := range shape {
		if size > 1 {
			axes = append(axes, i)
		}
	}
	w := &Window{Place: place, Rows: 1}
	if len(axes) < 2 {
		if len(axes) == 1 {
			w.RowAxis, w.ColumnAxis = axes[0], axes[0]
		}
		const most = WindowSize * WindowSize
		w.Column = windowStart(place, total, most)
		count := min(total, most)
		w.Rows, w.Columns = int((count+WindowSize-1)/WindowSize), int(min(count, WindowSize))
		for k := range int64(w.Rows) {
			w.offsets = append(w.offsets, w.Column+k*WindowSize)
		}
		w.Ref, w.NPU = make(noise.Column, count), make(noise.Column, count)
		return w
	}
	w.RowAxis, w.ColumnAxis = axes[len(axes)-2], axes[len(axes)-1]
	rows, columns := shape[w.RowAxis], shape[w.ColumnAxis]
	line := place / columns // axes between the two have length 1
	w.Row, w.Column = windowStart(line%rows, rows, WindowSize), windowStart(place%columns, columns, WindowSize)
	w.Rows, w.Columns = int(min(rows, WindowSize)), int(min(columns, WindowSize))
	for k := range int64(w.Rows) {
		w.offsets = append(w.offsets, (line-line%rows+w.Row+k)*columns+w.Column)
	}
	w.Ref, w.NPU = make(noise.Column, w.Rows*w.Columns), make(noise.Column, w.Rows*w.Columns)
	return w
}

// windowStart returns the start of a window of at most most positions around place.
func windowStart(place, size, most int64) int64 { return max(0, min(place-most/2, size-most)) }

// add copies the values of a block that are in the window.
func (w *Window) add(b *block) {
	if w == nil {
		return
	}
	for row, offset := range w.offsets {
		at := row * w.Columns
		if offset >= b.first+int64(b.count) || offset+int64(w.Columns) <= b.first {
			continue
		}
		for k := range int64(min(w.Columns, len(w.Ref)-at)) {
			if i := offset + k - b.first; i >= 0 && i < int64(b.count) {
				w.Ref[at+int(k)], w.NPU[at+int(k)] = float32(b.r.values[i]), float32(b.n.values[i])
			}
		}
	}
}
