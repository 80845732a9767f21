package layout

// windows cuts a host array in ranges: step positions of one axis, with the
// axes inside it whole. It has size positions, stride elements each.
type windows struct{ size, stride, step int64 }

// end is where the window ends that the element first lies in.
func (w windows) end(first int64) int64 {
	at := first / w.stride % w.size
	next := min((at/w.step+1)*w.step, w.size)
	return first/w.stride*w.stride + (next-at)*w.stride
}

// windows chooses the ranges for reading: at least minTile bytes, and more
// where that would take parts of blocks, or short runs, from the device buffer.
func (m *Map) windows(hostOrder []int, unit int64, limits sizes) windows {
	w := windows{size: 1, stride: 1, step: 1}
	if m.blocks.n == 0 {
		return w
	}
	granule, top := m.granules()
	most := windowTiles * limits.maxTile / unit
	for k, a := range hostOrder {
		size, stride := m.Axes[a].Size, m.Axes[a].Stride
		w = windows{size: size, stride: stride, step: size}
		// A run ends at the latest at the next position of an outer axis.
		run := limits.goodRun
		for _, o := range hostOrder[k+1:] {
			run = min(run, top[o]*unit)
		}
		whole := size * stride
		if whole*unit > limits.minTile && (whole > most || run == limits.goodRun) {
			w.step = m.step(w, granule[a], top[a], unit, limits)
			break
		}
	}
	return w
}

// step chooses how many positions of the axis are in a window: whole blocks of
// granule positions, or equal parts of a block that alone is too large.
func (m *Map) step(w windows, granule, top, unit int64, limits sizes) int64 {
	most := max(1, windowTiles*limits.maxTile/unit/w.stride)
	step := min(w.size, max(1, limits.minTile/unit/w.stride))
	if most < granule {
		return ceilDiv(granule, ceilDiv(granule, most))
	}
	for step < most && top*ceilDiv(step, granule)*unit < limits.goodRun {
		step = min(2*step, most)
	}
	step = max(granule, step/granule*granule)
	return ceilDiv(ceilDiv(w.size, ceilDiv(w.size, step)), granule) * granule
}
