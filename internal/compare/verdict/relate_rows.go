package verdict

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/exact"
)

// softmaxOf: the logarithms differ from the input by a constant for each row.
func softmaxOf(out, in *noise.Noise) bool { return out.Softmax && rowsDiffer(out, in, exact.Log) }

func logSoftmaxOf(out, in *noise.Noise) bool {
	return rowsDiffer(out, in, func(y float64) float64 { return y }) && slices.Max(out.Probe.Values) <= 0
}

// rowsDiffer reports whether f(y)-x is the same all over each row.
func rowsDiffer(out, in *noise.Noise, f func(float64) float64) bool {
	if len(out.Shape) == 0 {
		return false
	}
	grid := noise.Grid(out.Shape)
	columns := int(grid[len(grid)-1])
	compared := 0
	for first := 0; first < len(out.Probe.Values); first += columns {
		low, high := math.Inf(-1), math.Inf(1)
		for i := first; i < first+columns; i++ {
			x, y := float64(in.Probe.Values[i]), f(float64(out.Probe.Values[i]))
			if math.IsInf(y, -1) || x <= -9000 || y < -80 { // too small to be seen
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

// reduces: elements are the means of rows, times a number.
func reduces(out, in *noise.Noise, times float64) bool {
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

// sumPrecision is that of sums over all elements in another order.
const sumPrecision = 1e-9

// sameElements reports whether the elements are those of the inputs, by their number,
// largest magnitude and sums.
func sameElements(out *noise.Noise, in ...*noise.Noise) bool {
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
