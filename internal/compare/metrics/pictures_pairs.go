package metrics

import (
	"math"
	"math/bits"
	"slices"

	"dumptool/internal/exact"
)

// DensityBins is the number of bins of a side in a Density.
const DensityBins = 40

// Density counts pairs by both values, in Count by Count bins of equal width between Low
// and High.
type Density struct {
	Edges
	Count int `json:"n"`
	// Max is the largest count of a cell.
	Max int64 `json:"max"`
	// Cells has a byte for each cell, row by row, a row for each bin of the NPU: 0 for an
	// empty cell, else 1 + 254 log(pairs)/log(Max), rounded.
	Cells []byte `json:"cells"`
	// Inner counts the pairs in the narrow range of SideBins.Inner, nil without one.
	Inner *Density `json:"inner"`
}

// sideCounter counts the values of both sides, and the pairs by both values.
type sideCounter struct {
	SideBins
	square Grid // of the pairs
	cells  []int64
	// pieces has the edges of both grids, so that each value is looked up once.
	pieces             *binner // nil if there are no values
	bins, squares      []int32 // from a piece to its bin in the two grids
	refs, npus         []int64 // counts by piece
	refPieces, nPieces [blockElements]int16
}

func newSideCounter(g Grid) *sideCounter {
	c := &sideCounter{SideBins: NewSideBins(g)}
	if g.Count == 0 {
		return c
	}
	c.square = Grid{Low: g.Low, High: g.High, Count: 1}
	if g.Low < g.High {
		c.square.Count = DensityBins
	}
	for c.square.Count > 1 && !c.square.rises() {
		c.square.Count /= 2
	}
	edges, squares := g.edges(), c.square.edges()
	all := slices.Concat(edges, squares)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 1 { // Low = High
		all = append(all, all[0])
	}
	c.pieces = newPieceBinner(g, all)
	for _, x := range all[:len(all)-1] {
		c.bins = append(c.bins, binOf(edges, x))
		c.squares = append(c.squares, binOf(squares, x))
	}
	c.refs, c.npus = make([]int64, len(c.bins)), make([]int64, len(c.bins))
	c.cells = make([]int64, c.square.Count*c.square.Count)
	return c
}

// binOf returns the bin of a number, given the edges of the bins.
func binOf(edges []float64, x float64) int32 {
	bin := int32(0)
	for int(bin)+2 < len(edges) && x >= edges[bin+1] {
		bin++
	}
	return bin
}

// add counts a block.
func (c *sideCounter) add(b *block) {
	if c == nil || c.pieces == nil {
		return
	}
	refs, npus, width := c.refPieces[:len(b.r.values)], c.nPieces[:len(b.r.values)], int32(c.square.Count)
	c.pieces.findBins(refs, b.r.values)
	c.pieces.findBins(npus, b.n.values)
	for i, r := range refs {
		n := npus[i]
		if r >= 0 {
			c.refs[r]++
		}
		if n < 0 {
			continue
		}
		if c.npus[n]++; r >= 0 {
			c.cells[c.squares[n]*width+c.squares[r]]++
		}
	}
}

// mergePieces converts counts by piece to counts by bin.
func (c *sideCounter) mergePieces() {
	if c == nil {
		return
	}
	for piece, bin := range c.bins {
		c.Ref[bin] += c.refs[piece]
		c.NPU[bin] += c.npus[piece]
	}
}

// density returns the counts of the pairs as a picture, nil if there are no values.
func (c *sideCounter) density() *Density {
	if c.pieces == nil {
		return nil
	}
	d := &Density{Edges: c.Edges, Count: c.square.Count, Max: slices.Max(c.cells), Cells: make([]byte, len(c.cells))}
	for i, n := range c.cells {
		if n > 0 {
			d.Cells[i] = byteScale(exact.Log(float64(n)), 0, exact.Log(float64(d.Max)))
		}
	}
	return d
}

// byteScale maps x linearly to a byte: low to 1, high to 255; 255 if low = high. 0 is left for
// empty cells.
func byteScale(x, low, high float64) byte {
	if !(low < high) {
		return 255
	}
	return byte(1 + math.Round(254*((x-low)/(high-low))))
}

// A second picture with a narrow range is shown if nearly all values (narrowShare) lie in less
// than a part (1/narrowPart) of the whole range.
const (
	narrowShare   = 0.99
	narrowPart    = 20
	narrowOutside = 0.001 // share of the values on either side outside the range shown
)

// narrowRange returns the range of nearly all of the sorted values, if it is narrow compared
// with the range from low to high.
func narrowRange(sorted []float64, low, high float64) (from, to float64, ok bool) {
	if len(sorted) == 0 || !(low < high) {
		return 0, 0, false
	}
	g := Grid{Low: low, High: high}
	scale := g.scale()
	tail := (1 - narrowShare) / 2
	if interpolatedQuantile(sorted, 1-tail, scale)-interpolatedQuantile(sorted, tail, scale) >= (float64(high*scale)-float64(low*scale))/narrowPart {
		return 0, 0, false
	}
	from, to = interpolatedQuantile(sorted, narrowOutside, 1), interpolatedQuantile(sorted, 1-narrowOutside, 1)
	return from, to, from < to
}

// ULPOctaves is the length of Pictures.ULP during counting.
const ULPOctaves = 65

// countULP counts the pairs, except those at the positions in without, by distance in ulps of
// the NPU's type, as defined for ULPMax.
func (b *block) countULP(counts []int64, without []int32) {
	if b.e.npu.integer {
		distances := b.integerDistances()
		for _, x := range distances {
			counts[octave(x)]++
		}
		for _, i := range without {
			counts[octave(distances[i])]--
		}
		return
	}
	b.setCodes()
	distances := b.codeDistances()
	for _, u := range distances {
		counts[bits.Len64(u)]++
	}
	for _, i := range without {
		counts[bits.Len64(distances[i])]--
	}
}

// octave returns the number of bits of a distance.
func octave(x float64) int {
	if !(x < 1<<63) {
		return 64
	}
	return bits.Len64(uint64(x))
}
