package verdict

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/exact"
)

// isSoftmax reports whether the logarithms of the elements differ from the input by a constant in each row.
func isSoftmax(out *Output, in *noise.Noise) bool {
	return out.Softmax && differsByRowConstant(out, in, exact.Log)
}

func isLogSoftmax(out *Output, in *noise.Noise) bool {
	above := func(y float32) bool { return !(y <= 0) }
	return !slices.ContainsFunc(out.Probe.Values, above) && differsByRowConstant(out, in, func(y float64) float64 { return y })
}

// differsByRowConstant reports whether f(y)-x is constant within each row.
func differsByRowConstant(out *Output, in *noise.Noise, f func(float64) float64) bool {
	if len(out.Shape) == 0 {
		return false
	}
	grid, axes := noise.Grid(out.Shape)
	columns := int(grid[axes-1])
	compared := 0
	for first := 0; first < len(out.Probe.Values); first += columns {
		low, high := math.Inf(-1), math.Inf(1)
		for i := first; i < first+columns; i++ {
			x, y := float64(in.Probe.Values[i]), f(float64(out.Probe.Values[i]))
			if math.IsInf(y, -1) || x <= -9000 || y < -80 { // too small to be significant
				continue
			}
			off := float64(functionPrecision * (1 + math.Abs(x) + math.Abs(y)))
			low, high = max(low, y-x-off), min(high, y-x+off)
			if !(low <= high) {
				return false
			}
			compared++
		}
	}
	return compared >= leastProbe
}

// isRowMean reports whether the elements are the means of rows, multiplied by times.
func isRowMean(out *Output, in *noise.Noise, times float64) bool {
	last := len(in.Shape) - 1
	if last < 1 || len(out.Shape) != len(in.Shape) || out.Shape[last] != 1 || !slices.Equal(out.Shape[:last], in.Shape[:last]) || len(in.Probe.RowMean) != len(out.Probe.Values) {
		return false
	}
	for g, mean := range in.Probe.RowMean {
		y, made := float64(out.Probe.Values[g]), float64(mean*times)
		if !(math.Abs(y-made) <= functionPrecision*(math.Abs(y)+float64(in.Probe.RowStd[g]*times))) {
			return false
		}
	}
	return true
}

// sumPrecision is the relative difference between sums over all elements in different orders.
const sumPrecision = 1e-9

// hasSameElements reports whether the output has the elements of the inputs, judged by their number, largest magnitude
// and sums.
func hasSameElements(out *noise.Noise, in ...*noise.Noise) bool {
	var count int64
	var most, squares, plain, size float64
	for _, n := range in {
		weight := float64(n.Count)
		count += n.Count
		most = max(most, n.RefMax)
		squares += float64(weight * float64(n.RefRMS*n.RefRMS))
		plain += float64(weight * n.RefMean)
		size += float64(weight * n.RefRMS)
	}
	weight := float64(out.Count)
	return out.Count == count && out.Count == out.Elements && out.RefMax == most && out.RefStd > 0 &&
		math.Abs(squares-float64(weight*float64(out.RefRMS*out.RefRMS))) <= sumPrecision*squares &&
		math.Abs(plain-float64(weight*out.RefMean)) <= sumPrecision*size
}

// channelsOfProbe calls f with the elements of each channel until f returns false. The slices are valid until the
// next call. The result is false if the channels have too few elements.
func channelsOfProbe(out *Output, in *noise.Noise, f func(x, y []float64) bool) bool {
	if out.channelSize < leastLine {
		return false
	}
	for c := range out.channels {
		out.x, out.y = out.x[:0], out.y[:0]
		for first := c * out.adjacent; first < len(out.Probe.Values); first += out.channels * out.adjacent {
			for i := first; i < min(first+out.adjacent, len(out.Probe.Values)); i++ {
				out.x, out.y = append(out.x, float64(in.Probe.Values[i])), append(out.y, float64(out.Probe.Values[i]))
			}
		}
		if !f(out.x, out.y) {
			return false
		}
	}
	return out.channels > 0
}

// leastLine is the least number of collinear points that show a line.
const leastLine = 5

// addsToChannels reports whether each channel gets its own constant added.
func addsToChannels(out *Output, in *noise.Noise) bool {
	return channelsOfProbe(out, in, func(x, y []float64) bool {
		low, high := math.Inf(-1), math.Inf(1)
		for i := range x {
			off := float64(2 * refPrecision * (math.Abs(x[i]) + math.Abs(y[i])))
			low, high = max(low, y[i]-x[i]-off), min(high, y[i]-x[i]+off)
		}
		return low <= high
	})
}

// isLine reports whether y = ax + b within the precision of references.
func isLine(x, y []float64) bool {
	if len(x) < leastLine {
		return false
	}
	low, high := 0, 0
	for i := range x {
		if !(math.Abs(x[i]) < math.Inf(1)) || !(math.Abs(y[i]) < math.Inf(1)) {
			return false
		}
		if x[i] < x[low] {
			low = i
		}
		if x[i] > x[high] {
			high = i
		}
	}
	if x[low] == x[high] {
		return false
	}
	slope := (y[high] - y[low]) / (x[high] - x[low])
	for i := range x {
		made := y[low] + float64(slope*(x[i]-x[low]))
		off := float64(math.Abs(slope)*(math.Abs(x[i])+math.Abs(x[low])+math.Abs(x[high]))) + math.Abs(y[i]) + math.Abs(y[low]) + math.Abs(y[high])
		if !(math.Abs(made-y[i]) <= 4*refPrecision*off) {
			return false
		}
	}
	return true
}

// normPrecision is the relative precision of norms: the epsilon that prevents a division by 0 is not known.
const normPrecision = 2e-3

// isNormalised reports whether rows are scaled to a spread of 1, and to a mean of 0 if centred, and each channel is
// then mapped by a line of its own.
func isNormalised(out *Output, in *noise.Noise, centred bool) bool {
	p := &in.Probe
	if len(out.Shape) < 2 || len(out.Shape) > 4 || len(p.RowMean) < leastLine {
		return false
	}
	grid, axes := noise.Grid(out.Shape)
	columns := int(grid[axes-1])
	for c := range columns {
		x, y := out.x[:0], out.y[:0]
		for g := range p.RowMean {
			v, std := float64(p.Values[g*columns+c]), p.RowStd[g]
			if centred {
				v -= p.RowMean[g]
			} else {
				std = hypot(std, p.RowMean[g])
			}
			if std == 0 {
				return false
			}
			x, y = append(x, v/std), append(y, float64(out.Probe.Values[g*columns+c]))
		}
		out.x, out.y = x, y
		if !isNearLine(x, y, centred) {
			return false
		}
	}
	return true
}

// isNearLine reports whether y is near its least-squares line over x. Without a constant the line goes through 0.
func isNearLine(x, y []float64, constant bool) bool {
	var mx, my float64
	if constant {
		for i := range x {
			mx, my = mx+x[i]/float64(len(x)), my+y[i]/float64(len(x))
		}
	}
	var xx, xy, yy, rest float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xx, xy, yy = xx+float64(dx*dx), xy+float64(dx*dy), yy+float64(dy*dy)
	}
	if xx == 0 || yy == 0 {
		return false
	}
	for i := range x {
		d := y[i] - my - float64(xy/xx*(x[i]-mx))
		rest += float64(d * d)
	}
	return rest <= normPrecision*normPrecision*yy
}
