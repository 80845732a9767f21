package npy

// walk goes through the indices of some axes in Fortran order and tells the
// C-order position of each.
type walk struct {
	axes    []int64
	strides []int64
	index   []int64
	at      int64   // position of index
	taken   []int64 // positions returned last
}

func newWalk(axes []int64) *walk {
	w := &walk{axes: axes, strides: make([]int64, len(axes)), index: make([]int64, len(axes))}
	step := int64(1)
	for i := len(axes) - 1; i >= 0; i-- {
		w.strides[i] = step
		step *= axes[i]
	}
	return w
}

// take returns the next n positions; they are valid until the next call.
func (w *walk) take(n int64) []int64 {
	w.taken = w.taken[:0]
	for range n {
		w.taken = append(w.taken, w.at)
		w.next()
	}
	return w.taken
}

// next goes to the next index, after the last one to the first.
func (w *walk) next() {
	for i, n := range w.axes {
		w.index[i]++
		w.at += w.strides[i]
		if w.index[i] < n {
			return
		}
		w.index[i] = 0
		w.at -= n * w.strides[i]
	}
}
