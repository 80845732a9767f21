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
func slot(v float64) uint { return uint(math.Float64bits(v) >> 49 & (slots - 1)) }

// counter counts magnitudes by slots. Two tables are used in turn, so that an
// increment need not wait for the one before.
type counter struct {
	even, odd [slots]uint32
	tiny      map[int32]int64 // the bins of subnormal magnitudes
}

// add counts magnitudes, among them zero and infinity.
func (c *counter) add(values []float64) {
	for i := 1; i < len(values); i += 2 {
		c.even[slot(values[i-1])]++
		c.odd[slot(values[i])]++
	}
	if k := len(values) - 1; k&1 == 0 {
		c.even[slot(values[k])]++
	}
}

// splitTiny moves the subnormal ones of values that were added to their bins.
func (c *counter) splitTiny(values []float64) {
	for _, v := range values {
		if v == 0 || v >= 0x1p-1022 {
			continue
		}
		if c.tiny == nil {
			c.tiny = map[int32]int64{}
		}
		c.even[slot(v)]--
		c.tiny[bin(slot(v*0x1p100))-800]++
	}
}

// bin returns the number of the bin that a slot is.
func bin(slot uint) int32 { return int32(slot) - 1023*8 }

// take returns the counts and clears them.
func (c *counter) take() (zeros int64, bins []HistogramBin) {
	for _, k := range slices.Sorted(maps.Keys(c.tiny)) {
		bins = append(bins, HistogramBin{Bin: k, Count: c.tiny[k]})
	}
	c.tiny = nil
	for i := range c.even {
		n := int64(c.even[i] + c.odd[i])
		if n == 0 {
			continue
		}
		if i == 0 {
			zeros = n
		} else {
			bins = append(bins, HistogramBin{Bin: bin(uint(i)), Count: n})
		}
	}
	clear(c.even[:])
	clear(c.odd[:])
	return zeros, bins
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

// quantile returns the upper edge of the bin where a share of the values is
// reached, or the largest value if that is lower.
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
			return defined(min(binEdge(b.Bin+1), largest))
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
