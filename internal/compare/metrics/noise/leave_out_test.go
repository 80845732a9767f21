package noise

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dumptool/internal/tensor"
)

// TestLeaveOut compares ExcludeWorstRows with a slow computation if a bin is a row; if a bin has several
// rows, it compares with the rows that are not off.
func TestLeaveOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for _, rows := range []int{1, 7, 30, 500} {
		const width = 24
		n, r := make([]float64, rows*width), make([]float64, rows*width)
		squares, largest := make([]float64, rows), make([]float64, rows)
		for i := range n {
			row := i / width
			r[i] = float64(float32(rng.NormFloat64()))
			d := 1e-9 * rng.NormFloat64()
			if row%50 == 3 {
				d = rng.NormFloat64()
			}
			n[i] = r[i] + d
			d = n[i] - r[i]
			squares[row] += d * d
			largest[row] = max(largest[row], math.Abs(d))
		}
		for _, k := range []int{0, 1, 3, 10, rows} {
			if rows > MaxGroups && k < rows/50 {
				continue // bins of several rows do not show which of the rows are off
			}
			c := NewCollector(&Request{Shape: tensor.Shape{int64(rows), width}, Type: typeOf(t, tensor.Float32), Mask: math.Inf(-1), Groups: MaxGroups})
			c.Add(0, n, r)
			got := c.Finish(func(func(float64, int64) bool) {})
			order := make([]int, rows)
			for i := range order {
				order[i] = i
			}
			slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, squares[b]-squares[a])) })
			out := min(k, rows)
			if rows > MaxGroups {
				out = rows / 50 // the rows that are off
			}
			var sum, most float64
			for _, row := range order[out:] {
				sum, most = sum+squares[row], max(most, largest[row])
			}
			want := math.Sqrt(sum / float64(max((rows-out)*width, 1)))
			left := got.ExcludeWorstRows(int64(k))
			if left != int64(out*width) || math.Abs(got.RMS-want) > 1e-6*want || rows <= MaxGroups && math.Abs(got.Max-most) > 1e-6*most {
				t.Errorf("%d of %d rows: %d elements left out, rms %g, max %g of the rest; want %d, %g, %g", k, rows, left, got.RMS, got.Max, out*width, want, most)
			}
		}
	}
}
