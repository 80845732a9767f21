package metrics

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"

	"dumptool/internal/compare/metrics/kernel"
)

// histograms count the pairs of a segment by |d| and by |d|/|r|. Tables have no cells for
// subnormal numbers: maps count these.
type histograms struct {
	tables       *kernel.Tables
	abs, rel     binRange
	absSubnormal map[int32]int64 // by bins
	relSubnormal map[int32]int64
	bins         []HistogramBin // reused buffer
}

// binRange is a range of bins of a table, both ends included. It leaves out bin 0, which
// counts zeros. It is empty at first.
type binRange struct{ first, last uint }

func emptyRange() binRange { return binRange{first: kernel.Bins} }

func (b *binRange) add(first, last uint) { b.first, b.last = min(b.first, first), max(b.last, last) }

// moveSubnormals moves pairs with a subnormal |d| or |d|/|r|, just counted by the tables, to the maps. Only
// differences of float64 and complex128 may be subnormal.
func (h *histograms) moveSubnormals(rel, abs []float64, quotients bool) {
	move := func(bins *map[int32]int64, table []uint32, values []float64) {
		for i, x := range values {
			if x > 0 && x < 0x1p-1022 {
				if *bins == nil {
					*bins = map[int32]int64{}
				}
				kernel.Drop(table, i, kernel.Bin(x))
				(*bins)[binNumber(kernel.Bin(x*0x1p100))-800]++
			}
		}
	}
	move(&h.absSubnormal, h.tables.Abs[:], abs)
	if quotients {
		move(&h.relSubnormal, h.tables.Rel[:], rel)
	}
}

// firstBin is the bin of 1 in a table.
const firstBin = 1023 * 8

// binNumber returns the number of a bin of a table.
func binNumber(bin uint) int32 { return int32(bin) - firstBin }

// takeCounts returns the counts of a table in a range of bins together with the subnormal ones, in
// the memory of list, and clears the table.
func (h *histograms) takeCounts(list []HistogramBin, table []uint32, filled binRange, subnormal map[int32]int64) Histogram {
	bins := h.bins[:0]
	if len(subnormal) > 0 {
		for _, k := range slices.Sorted(maps.Keys(subnormal)) {
			bins = append(bins, HistogramBin{Bin: k, Count: subnormal[k]})
		}
	}
	zeros := kernel.Take(table, 0)
	for bin := filled.first; bin <= filled.last; bin++ {
		if n := kernel.Take(table, bin); n > 0 {
			bins = append(bins, HistogramBin{Bin: binNumber(bin), Count: n})
		}
	}
	h.bins = bins
	return Histogram{Zeros: zeros, Bins: append(list[:0], bins...)}
}

// drainInto moves the histograms to a partial result.
func (h *histograms) drainInto(p *Partial) {
	p.absHistogram = h.takeCounts(p.lists.abs, h.tables.Abs[:], h.abs, h.absSubnormal)
	p.relHistogram = h.takeCounts(p.lists.rel, h.tables.Rel[:], h.rel, h.relSubnormal)
	*h = histograms{tables: h.tables, bins: h.bins, abs: emptyRange(), rel: emptyRange()}
}

// mergedWith returns the sum of two histograms.
func (h Histogram) mergedWith(g Histogram) Histogram {
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

// quantiles returns quantiles of the values: the middle of the bin that reaches the share, at
// most largest. Bins at powers of two are the widest, an eighth of their lower edge; the
// middle, the geometric mean of both edges, is at most 6.1 % off.
func (h *Histogram) quantiles(largest float64) (q Quantiles) {
	total := h.Zeros
	for _, b := range h.Bins {
		total += b.Count
	}
	if total == 0 {
		return q
	}
	seen, bins, last := h.Zeros, h.Bins, NumberOf(0)
	at := func(share float64) Metric {
		rank, before := int64(math.Ceil(share*float64(total))), len(bins)
		var b HistogramBin
		for seen < rank && len(bins) > 0 {
			b, bins = bins[0], bins[1:]
			seen += b.Count
		}
		switch {
		case seen < rank:
			return NumberOf(largest)
		case len(bins) < before:
			last = NumberOf(min(rootOfEdge(b.Bin)*rootOfEdge(b.Bin+1), largest))
		}
		return last
	}
	return Quantiles{P50: at(0.5), P90: at(0.9), P95: at(0.95), P99: at(0.99), P999: at(0.999)}
}

// lowerEdges yields the lower edge of each bin and its count, starting with 0 and the zeros.
func (h *Histogram) lowerEdges() iter.Seq2[float64, int64] {
	return func(yield func(float64, int64) bool) {
		if !yield(0, h.Zeros) {
			return
		}
		for _, b := range h.Bins {
			if !yield(math.Ldexp(1+float64(float64(b.Bin&7)/8), int(b.Bin>>3)), b.Count) {
				return
			}
		}
	}
}

// rootOfEdge returns the root of the lower edge of a bin.
func rootOfEdge(k int32) float64 {
	octave := int(k >> 3)
	return math.Ldexp(math.Sqrt(math.Ldexp(1+float64(float64(k&7)/8), octave&1)), octave>>1)
}
