package metrics

import (
	"math"
	"math/bits"
	"slices"

	"dumptool/internal/exact"
)

// DensityBins is the number of bins of a side in a Density.
const DensityBins = 40

// Density counts pairs by the values of both sides, in Count bins of one width each
// between Low and High.
type Density struct {
	Low, High float64
	Count     int
	// Max is the largest number of pairs in a cell.
	Max int64
	// Cells has a byte for each pair of bins, those of the NPU's first bin first: 0
	// for no pairs, else 1 + 254 log(pairs)/log(Max), rounded.
	Cells []byte
}

// sideCounter counts the values of both sides, and the pairs of them.
type sideCounter struct {
	SideBins
	square Grid // of the pairs
	cells  []int64
	// pieces are what the edges of both grids cut the range to: values are looked up once.
	pieces             *binner // nil where nothing is counted
	bins, squares      []int32 // of pieces in the grids
	refs, npus         []int64 // by pieces
	refPieces, nPieces [blockElements]int16
}

func newSideCounter(g Grid) *sideCounter {
	c := &sideCounter{SideBins: SideBins{Grid: g, Ref: make([]int64, g.Count), NPU: make([]int64, g.Count)}}
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
	if all = slices.Compact(all); len(all) == 1 { // both edges of one value
		all = append(all, all[0])
	}
	c.pieces = newPieces(g, all)
	for _, x := range all[:len(all)-1] {
		c.bins = append(c.bins, binOf(edges, x))
		c.squares = append(c.squares, binOf(squares, x))
	}
	c.refs, c.npus = make([]int64, len(c.bins)), make([]int64, len(c.bins))
	c.cells = make([]int64, c.square.Count*c.square.Count)
	return c
}

// binOf is the bin that a number is in, by its lower edge.
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
	c.pieces.sort(refs, b.r.values)
	c.pieces.sort(npus, b.n.values)
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

// finish counts the values by bins.
func (c *sideCounter) finish() {
	if c == nil {
		return
	}
	for piece, bin := range c.bins {
		c.Ref[bin] += c.refs[piece]
		c.NPU[bin] += c.npus[piece]
	}
}

// density is the picture of the pairs.
func (c *sideCounter) density() Density {
	if c.pieces == nil {
		return Density{}
	}
	d := Density{Low: c.Low, High: c.High, Count: c.square.Count, Max: slices.Max(c.cells), Cells: make([]byte, len(c.cells))}
	for i, n := range c.cells {
		if n > 0 {
			d.Cells[i] = share(exact.Log(float64(n)), 0, exact.Log(float64(d.Max)))
		}
	}
	return d
}

// share is a byte for what is there: from 1 for low to 255 for high, and 255 where
// there is one value only.
func share(x, low, high float64) byte {
	if !(low < high) {
		return 255
	}
	return byte(1 + math.Round(254*((x-low)/(high-low))))
}

// What makes a narrow range of values: nearly all lie in less than a part of the
// whole range. Where most values fill the range the pictures need no other.
const (
	narrowShare   = 0.99
	narrowPart    = 20
	narrowOutside = 0.001 // of the values on either side of the range that is shown
)

// narrow returns the range of nearly all of some sorted values, where it is narrow
// beside that from low to high.
func narrow(sorted []float64, low, high float64) (from, to float64, ok bool) {
	if len(sorted) == 0 || !(low < high) {
		return 0, 0, false
	}
	g := Grid{Low: low, High: high}
	scale := g.scale()
	tail := (1 - narrowShare) / 2
	if interpolated(sorted, 1-tail, scale)-interpolated(sorted, tail, scale) >= (float64(high*scale)-float64(low*scale))/narrowPart {
		return 0, 0, false
	}
	from, to = interpolated(sorted, narrowOutside, 1), interpolated(sorted, 1-narrowOutside, 1)
	return from, to, from < to
}

// ULPOctaves is the number of counts of distances in units of the last place.
const ULPOctaves = 65

// countULP counts the pairs, but for some, by their distance in units of the last
// place of the NPU's type, as it is for ULPMax.
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
	b.encode()
	distances := b.codeDistances()
	for _, u := range distances {
		counts[bits.Len64(u)]++
	}
	for _, i := range without {
		counts[bits.Len64(distances[i])]--
	}
}

// octave is the number of bits of a distance.
func octave(x float64) int {
	if !(x < 1<<63) {
		return 64
	}
	return bits.Len64(uint64(x))
}
