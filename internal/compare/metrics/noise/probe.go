package noise

import "dumptool/internal/tensor"

// Probe is a small part of the reference. It suffices to find out whether the reference is a
// function of other tensors, and which.
type Probe struct {
	// Values are the elements on a grid, in C order. The places of the grid on an axis depend
	// only on the length of the axis and the number of axes.
	Values Column `json:"values,omitempty"`
	// RowMean and RowStd are the means and standard deviations of the rows that contain grid
	// places; empty if rows share a bin or are planes.
	RowMean []float64 `json:"row_mean,omitempty"`
	RowStd  []float64 `json:"row_std,omitempty"`
}

// maxProbe is the maximum number of elements of a probe.
const maxProbe = 64

// gridPlaces has the maximum number of grid places on each axis, for tensors of up to four
// axes. If there are more axes, the first ones are joined.
var gridPlaces = [...][]int64{{}, {64}, {8, 8}, {2, 4, 8}, {2, 4, 2, 4}}

// maxAxes is the maximum number of axes of a grid.
const maxAxes = len(gridPlaces) - 1

// Grid returns the number of places on each axis of the grid of a shape, and the number of
// axes of the grid.
func Grid(shape tensor.Shape) (grid [maxAxes]int64, axes int) {
	if len(shape) > maxAxes {
		shape = joinLeadingAxes(shape)
	}
	for i, length := range shape {
		grid[i] = min(length, gridPlaces[len(shape)][i])
	}
	return grid, len(shape)
}

// joinLeadingAxes returns a shape with the first axes joined if there are more than four.
func joinLeadingAxes(shape tensor.Shape) tensor.Shape {
	if len(shape) <= maxAxes {
		return shape
	}
	first, rest := shape[:len(shape)-maxAxes+1], shape[len(shape)-maxAxes+1:]
	return append(tensor.Shape{first.Elements()}, rest...)
}

// appendPlaces appends the offsets of the grid places of a shape, in rising order.
func appendPlaces(offsets []int64, shape tensor.Shape) []int64 {
	if shape.Elements() == 0 {
		return offsets
	}
	offsets = append(offsets, 0)
	shape = joinLeadingAxes(shape)
	grid, axes := Grid(shape)
	for i, picks := range grid[:axes] {
		length, before := shape[i], len(offsets)
		for k := before - 1; k >= 0; k-- { // from the end: each offset expands to several, at higher indexes
			first := offsets[k] * length
			for p := picks - 1; p >= 0; p-- {
				// The middles of equal parts; (2p+1)*length could overflow.
				at := length/(2*picks)*(2*p+1) + length%(2*picks)*(2*p+1)/(2*picks)
				to := k*int(picks) + int(p)
				for len(offsets) <= to {
					offsets = append(offsets, 0)
				}
				offsets[to] = first + at
			}
		}
	}
	return offsets
}

// probe copies the elements of a block that are on the grid.
func (c *Collector) probe(first int64, r []float64) {
	for c.probedTo < len(c.places) && c.places[c.probedTo] < first {
		c.probedTo++ // places in earlier segments
	}
	for end := first + int64(len(r)); c.probedTo < len(c.places) && c.places[c.probedTo] < end; c.probedTo++ {
		c.probes[c.probedTo] = float32(r[c.places[c.probedTo]-first])
	}
}

// mergeProbe copies the elements of the next segment.
func (c *Collector) mergeProbe(next *Collector) {
	for i := c.probedTo; i < next.probedTo; i++ {
		c.probes[i] = next.probes[i]
	}
	c.probedTo = max(c.probedTo, next.probedTo)
}

// finishProbe returns the probe with the numbers of the rows that contain grid places.
func (c *Collector) finishProbe() Probe {
	p := Probe{Values: append([]float32(nil), c.probes[:len(c.places)]...)}
	grid, axes := Grid(c.request.Shape)
	if c.rows.fold != 1 || axes < 2 || c.rows.stride != c.row {
		return p
	}
	rows := len(c.places) / int(max(grid[axes-1], 1))
	both := make([]float64, 2*rows)
	p.RowMean, p.RowStd = both[:rows:rows], both[rows:]
	for i := range rows {
		row := c.places[i*int(grid[axes-1])] / c.row
		p.RowMean[i], p.RowStd[i] = c.means[row], c.stds[row]
	}
	return p
}
