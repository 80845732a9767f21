package metrics

import (
	"math"
	"slices"
	"sort"

	"dumptool/internal/exact"
)

// BinLimits bound the number of bins of a histogram.
type BinLimits struct{ Min, Max int }

// Grid divides the range between two values into bins of equal width. Bin i holds the values from edge i up to edge
// i+1, the last bin its upper edge too. Edges are computed as by numpy.linspace, so the counts equal
// numpy.histogram's.
type Grid struct {
	// Low and High are the outer edges, the smallest and the largest value.
	Low, High float64
	// Log: the bins have equal width in log10 of the values.
	Log bool
	// Count is the number of bins, 0 if there are no values.
	Count int
}

// newGrid returns the grid for n values; known is a sorted sample of these values. The bin width is 2 IQR / cbrt(n)
// (Freedman and Diaconis, On the histogram as a density estimator, 1981). If the quartiles are equal, the number of
// bins is ceil(log2 n) + 1 (Sturges).
func (l BinLimits) newGrid(low, high float64, n int64, known []float64, log bool) Grid {
	g := Grid{Low: low, High: high, Log: log}
	if n == 0 {
		return g
	}
	g.Count = 1
	if low == high || n < 2 {
		return g
	}
	if log {
		known = slices.Clone(known)
		for i, x := range known {
			known[i] = exact.Log10(x)
		}
	}
	scale := g.scale()
	low, high = float64(g.coordinate(low)*scale), float64(g.coordinate(high)*scale)
	bins := math.Ceil(exact.Log2(float64(n))) + 1
	if spread := interpolatedQuantile(known, 0.75, scale) - interpolatedQuantile(known, 0.25, scale); spread > 0 {
		bins = math.Ceil((high - low) / spread * exact.Exp(exact.Log(float64(n))/3) / 2)
	}
	g.Count = int(min(max(bins, float64(l.Min)), float64(l.Max)))
	for g.Count > 1 && !g.rises() {
		g.Count /= 2 // there are fewer float64 values than bins between the edges
	}
	return g
}

// interpolatedQuantile returns the quantile p of sorted values times scale, interpolated as
// numpy.quantile does; 0 without values.
func interpolatedQuantile(sorted []float64, p, scale float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := float64(p * float64(len(sorted)-1))
	i := int(at)
	low := float64(sorted[i] * scale)
	if i+1 == len(sorted) {
		return low
	}
	return low + float64((float64(sorted[i+1]*scale)-low)*(at-float64(i)))
}

// scale returns a power of two that keeps the width of the grid finite.
func (g *Grid) scale() float64 {
	if math.IsInf(g.High-g.Low, 0) {
		return 0.5
	}
	return 1
}

// coordinate returns the coordinate of a value on the axis of the bins.
func (g *Grid) coordinate(x float64) float64 {
	if g.Log {
		return exact.Log10(x)
	}
	return x
}

// edges returns the edges times the scale; in log10 if Log is set.
func (g *Grid) edges() []float64 {
	scale := g.scale()
	low, high := float64(g.coordinate(g.Low)*scale), float64(g.coordinate(g.High)*scale)
	edges := make([]float64, g.Count+1)
	step := (high - low) / float64(g.Count)
	for i := range edges {
		if step != 0 {
			edges[i] = low + float64(float64(i)*step)
		} else { // the step underflows: as in numpy.linspace
			edges[i] = low + float64(float64(i)/float64(g.Count)*(high-low))
		}
	}
	edges[g.Count] = high
	return edges
}

// rises reports whether the edges rise strictly.
func (g *Grid) rises() bool {
	edges := g.edges()
	for i := range g.Count {
		if !(edges[i] < edges[i+1]) {
			return false
		}
	}
	return true
}

// binner counts values in a grid.
type binner struct {
	Grid
	edges           []float64
	low, factor, by float64
	// guess holds the bin of a value, or its bitwise complement if a neighbouring bin is also possible. The index of
	// a guess is the top bits of the value if Log is set (edges are then values, not logarithms), else the distance
	// of the value from the lowest edge, in guesses.
	guess []int16
	first uint64 // the top bits of a value with guess 0
}

// guessShift drops all bits except the sign, the exponent and four bits of the fraction.
const guessShift = 48

func newBinner(g Grid) *binner {
	if g.Count == 0 {
		return nil
	}
	if !g.Log {
		return newPieceBinner(g, g.edges())
	}
	b := &binner{Grid: g, edges: g.edges(), by: g.scale()}
	b.convertEdges()
	return b
}

// guesses is the number of guesses for each bin: most guesses are then exact.
const guesses = 16

// newPieceBinner returns a binner with the range of a grid and other edges.
func newPieceBinner(g Grid, edges []float64) *binner {
	last := len(edges) - 2
	count := float64(guesses * (last + 1))
	b := &binner{Grid: g, edges: edges, by: g.scale(), low: edges[0], factor: count / (edges[last+1] - edges[0])}
	if math.IsInf(b.factor, 0) {
		return b
	}
	place := func(bin int) float64 { return float64((edges[bin] - b.low) * b.factor) }
	bin := 0
	for k := float64(0); k <= count; k++ {
		for bin < last && place(bin+1) <= k {
			bin++
		}
		b.guess = append(b.guess, int16(bin))
	}
	const rounding = 1e-3 // an upper bound of the rounding error of place
	for bin := 1; bin <= last; bin++ {
		at := place(bin)
		for k := int(max(at-rounding, 0)); k <= int(min(at+rounding, count)); k++ {
			b.guess[k] = min(b.guess[k], ^b.guess[k])
		}
	}
	return b
}

// convertEdges converts edges in log10 to edges of the values: each edge becomes the smallest value whose logarithm
// is not below it.
func (b *binner) convertEdges() {
	low, high := math.Float64bits(b.Low), math.Float64bits(b.High)
	for i := 1; i < b.Count; i++ {
		edge := b.edges[i]
		b.edges[i] = math.Float64frombits(low + uint64(sort.Search(int(high-low), func(k int) bool {
			return exact.Log10(math.Float64frombits(low+uint64(k))) >= edge
		})))
	}
	b.edges[0], b.edges[b.Count] = b.Low, b.High
	b.first = low >> guessShift
	bin := 0
	for k := b.first; k <= high>>guessShift; k++ {
		for bin+1 < b.Count && b.edges[bin+1] <= math.Float64frombits(k<<guessShift) {
			bin++
		}
		guess := int16(bin)
		if bin+1 < b.Count && b.edges[bin+1] < math.Float64frombits((k+1)<<guessShift) {
			guess = ^guess
		}
		b.guess = append(b.guess, guess)
	}
}

// add counts the values inside the range of the grid.
func (b *binner) add(counts []int64, values []float64) {
	var bins [blockElements]int16
	for len(values) > 0 {
		part := values[:min(len(values), blockElements)]
		b.findBins(bins[:len(part)], part)
		for _, k := range bins[:len(part)] {
			if k >= 0 {
				counts[k]++
			}
		}
		values = values[len(part):]
	}
}

// findBins sets bins to the bins of values, -1 for values outside the grid.
func (b *binner) findBins(bins []int16, values []float64) {
	bins = bins[:len(values)]
	low, high, by, from, factor, guess := b.Low, b.High, b.by, b.low, b.factor, b.guess
	for k, x := range values {
		if !(x >= low && x <= high) {
			bins[k] = -1
			continue
		}
		var place uint64
		if b.Log {
			place = math.Float64bits(x)>>guessShift - b.first
		} else {
			x = float64(x * by)
			place = uint64(int64((x - from) * factor))
		}
		bin := int16(-1)
		if place < uint64(len(guess)) {
			bin = guess[place]
		}
		if bin < 0 {
			bin = b.search(int(^bin), x)
		}
		bins[k] = bin
	}
}

// search returns the bin of a value inside the grid, starting at a bin nearby.
func (b *binner) search(bin int, x float64) int16 {
	for bin > 0 && x < b.edges[bin] {
		bin--
	}
	for bin+2 < len(b.edges) && x >= b.edges[bin+1] {
		bin++
	}
	return int16(bin)
}
