package engine

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// A magnitude belongs to the slot that its exponent and the upper three bits of
// its fraction make. The first eight slots hold zero and the subnormal numbers
// of float64, which are counted apart.
const slots = 2048 * 8

// slot returns the slot of a magnitude.
func slot(v float64) uint { return slotOf(math.Float64bits(v)) }

func slotOf(bits uint64) uint { return uint(bits >> 49 & (slots - 1)) }

// subnormal reports whether bits are those of a magnitude below the normal ones.
func subnormal(bits uint64) bool { return bits != 0 && slotOf(bits) < 8 }

// counter counts magnitudes by slots. Every slot is counted in several ways in
// turn, so that an increment need not wait for the one before.
type counter struct {
	counts [slots << wayBits]uint32
	tiny   map[int32]int64 // the bins of subnormal magnitudes
}

// move moves a subnormal magnitude that was counted at an index to its bin.
func (c *counter) move(index uint64, bits uint64) {
	c.counts[index&(slots<<wayBits-1)]--
	addTiny(&c.tiny, bits)
}

func addTiny(tiny *map[int32]int64, bits uint64) {
	if *tiny == nil {
		*tiny = map[int32]int64{}
	}
	(*tiny)[bin(slot(math.Float64frombits(bits)*0x1p100))-800]++
}

// tinyBins returns the bins of subnormal magnitudes in their order.
func tinyBins(tiny map[int32]int64) (bins []HistogramBin) {
	for _, k := range slices.Sorted(maps.Keys(tiny)) {
		bins = append(bins, HistogramBin{Bin: k, Count: tiny[k]})
	}
	return bins
}

// bin returns the number of the bin that a slot is.
func bin(slot uint) int32 { return int32(slot) - 1023*8 }

// take returns the counts and clears them. All but zeros lie in a range.
func (c *counter) take(within slotRange) (h Histogram) {
	h.Bins = tinyBins(c.tiny)
	c.tiny = nil
	h.Zeros = takeSum(c.counts[:1<<wayBits])
	for s := within.first; s <= within.last; s++ {
		if n := takeSum(c.counts[s<<wayBits:][:1<<wayBits]); n > 0 {
			h.Bins = append(h.Bins, HistogramBin{Bin: bin(s), Count: n})
		}
	}
	return h
}

// takeSum returns the sum of counts and clears them.
func takeSum(counts []uint32) int64 {
	var total uint32
	for i, n := range counts {
		total += n
		counts[i] = 0
	}
	return int64(total)
}

// slotRange is a range of slots after the first one, both ends included. It is
// empty at first.
type slotRange struct{ first, last uint }

func emptyRange() slotRange { return slotRange{first: slots} }

func (s *slotRange) add(first, last uint) {
	s.first, s.last = min(s.first, first), max(s.last, last)
}

// merged joins two histograms.
func (h Histogram) merged(g Histogram) Histogram {
	all := slices.Concat(h.Bins, g.Bins)
	slices.SortStableFunc(all, func(x, y HistogramBin) int { return cmp.Compare(x.Bin, y.Bin) })
	bins := all[:0]
	for _, b := range all {
		if k := len(bins); k > 0 && bins[k-1].Bin == b.Bin {
			bins[k-1].Count += b.Count
			continue
		}
		bins = append(bins, b)
	}
	return Histogram{Zeros: h.Zeros + g.Zeros, Bins: bins}
}

// quantile returns the middle of the bin where a share of the values is reached,
// or the largest value if that is lower. The widest bins, those at powers of two,
// are an eighth of their lower edge wide: their middle, the geometric mean of the
// edges, is at most 6.1 % off.
func (h *Histogram) quantile(share, largest float64) Metric {
	total := h.Zeros
	for _, b := range h.Bins {
		total += b.Count
	}
	if total == 0 {
		return Metric{}
	}
	rank := int64(math.Ceil(share * float64(total)))
	seen := h.Zeros
	if seen >= rank {
		return defined(0)
	}
	for _, b := range h.Bins {
		if seen += b.Count; seen >= rank {
			return defined(min(math.Sqrt(binEdge(b.Bin))*math.Sqrt(binEdge(b.Bin+1)), largest))
		}
	}
	return defined(largest)
}

// binEdge returns the lower edge of a bin.
func binEdge(k int32) float64 {
	octave := k >> 3
	return math.Ldexp(1+float64(k&7)/8, int(octave))
}

func (h *Histogram) quantiles(largest float64) Quantiles {
	return Quantiles{
		P50:  h.quantile(0.5, largest),
		P90:  h.quantile(0.9, largest),
		P95:  h.quantile(0.95, largest),
		P99:  h.quantile(0.99, largest),
		P999: h.quantile(0.999, largest),
	}
}
